//===- BoundLaunch.h - kernel[grid].bind(...) -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a frozen launch. Arguments are read and the kernel is found once; calling
// the object finds the current stream and launches. It holds its arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_BOUNDLAUNCH_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_BOUNDLAUNCH_H

#include "python/bindings/launch/LaunchRequest.h"

namespace tilewright {

/// Takes over a request that was read; a new reference.
PyObject *makeBoundLaunch(std::unique_ptr<LaunchRequest> request, Entry *entry,
                          const launch::Grid &grid);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_BOUNDLAUNCH_H
