//===- GridReader.h - The grid of a launch from Python ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_GRIDREADER_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_GRIDREADER_H

#include "runtime/launch/Grid.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// A tuple or list of 1 to 3 integers. Raises E0207.
launch::Grid parseGrid(PyObject *object);
/// What a grid function returns for the dict of bound arguments. Raises E0208, with
/// the function's own exception as the cause, and E0207.
launch::Grid callGrid(PyObject *function, PyObject *bound);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_GRIDREADER_H
