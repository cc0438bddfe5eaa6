//===- LaunchExecution.h - From what was read to the driver -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the last steps of a launch: stream, scratch memory, the user's hooks, the
// driver call without the GIL, and the errors that its result stands for.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHEXECUTION_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHEXECUTION_H

#include "python/bindings/launch/LaunchRequest.h"

namespace tilewright {

/// Completes the parameters of a request for the kernel it launches; may encode
/// tensor maps. Once per request.
void finishParameters(LaunchRequest &request, const Entry &entry);

/// Launches on the current stream of the arguments' framework. The request is only
/// read, so a finished one may be launched by many threads.
void launchEntry(const LaunchRequest &request, const Entry &entry, const launch::Grid &grid);

/// Calls the kernel's own hooks with the arguments of a call.
void runPreHooks(DispatcherState &state, PyObject *const *args, size_t numArgs,
                 PyObject *keywordNames);

/// Launches a loaded kernel on arguments that are what it was compiled for.
void launchLoaded(LoadedKernelHandle &handle, const pybind11::object &grid, uint64_t stream,
                  const pybind11::sequence &arguments);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHEXECUTION_H
