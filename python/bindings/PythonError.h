//===- PythonError.h - Coded errors as Python exceptions --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_PYTHONERROR_H
#define TILEWRIGHT_PYTHON_BINDINGS_PYTHONERROR_H

#include "ir/support/Error.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// The exception of `error`.
pybind11::object exceptionOf(const Error &error);

/// Sets Python's error indicator to the exception of `error`. An exception that
/// is already set becomes its cause.
void setPythonError(const Error &error);

/// Runs `body` at the border to Python: a C++ exception becomes a Python one and
/// the result null. For functions that pybind11 does not wrap.
template <typename Body> PyObject *guarded(Body body) noexcept;

/// Sets the Python exception of the C++ exception in flight.
void setPythonErrorFromCurrentException() noexcept;

template <typename Body> PyObject *guarded(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    setPythonErrorFromCurrentException();
    return nullptr;
  }
}

/// The line of Python that runs now, as a frame of `kernel`.
SourceFrame currentPythonFrame(const std::string &kernel);

/// Forgets what an object of the user's raised when it was asked something: it may raise anything, and then
/// does not tell. What ends a program (KeyboardInterrupt, SystemExit) is no answer of an object, and goes on.
inline void forgetException() {
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
    throw pybind11::error_already_set();
  PyErr_Clear();
}

/// Throws the Python exception that is set; a no-op helper for C calls that
/// return null.
inline PyObject *checked(PyObject *result) {
  if (!result)
    throw pybind11::error_already_set();
  return result;
}

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_PYTHONERROR_H
