//===- Guarded.h - C++ that Python calls ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the border of functions of the language that pybind11 does not wrap. A C++
// exception becomes the Python error that pybind11 would make of it. The launcher has
// a border of its own (python/bindings/PythonError.h), which knows internal errors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_GUARDED_H
#define TILEWRIGHT_FRONTEND_PYTHON_GUARDED_H

#include <pybind11/pybind11.h>

namespace tilewright {

/// What `body` returns, or `failure` with Python's error set.
template <typename Body, typename Result> Result guardedResult(Body body, Result failure) {
  try {
    return body();
  } catch (pybind11::error_already_set &error) {
    error.restore();
  } catch (...) {
    pybind11::detail::try_translate_exceptions();
  }
  return failure;
}

/// The object that `body` returns, as CPython's functions give one away, or null.
template <typename Body> PyObject *guardedObject(Body body) {
  return guardedResult([&] { return pybind11::object(body()).release().ptr(); },
                       static_cast<PyObject *>(nullptr));
}

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_GUARDED_H
