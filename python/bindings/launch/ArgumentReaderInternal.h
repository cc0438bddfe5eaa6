//===- ArgumentReaderInternal.h - Looking at Python objects -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADERINTERNAL_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADERINTERNAL_H

#include "frontend/python/InternedName.h"
#include "ir/support/Error.h"
#include "python/bindings/PythonError.h"

#include <cstring>

namespace tilewright {

/// Attribute as a new reference, or null without an error set: what belongs to the user may
/// raise anything when it is asked, and then counts as not there.
inline PyObject *tryAttribute(PyObject *object, PyObject *name) {
  PyObject *result = PyObject_GetAttr(object, name);
  if (!result)
    forgetException();
  return result;
}

inline bool moduleStartsWith(PyTypeObject *type, const char *prefix) {
  static const InternedName moduleName("__module__");
  pybind11::object module = pybind11::reinterpret_steal<pybind11::object>(
      tryAttribute(reinterpret_cast<PyObject *>(type), moduleName));
  if (!module || !PyUnicode_Check(module.ptr()))
    return false;
  const char *text = PyUnicode_AsUTF8(module.ptr());
  if (!text) // lone surrogates
    PyErr_Clear();
  size_t length = std::strlen(prefix);
  return text && std::strncmp(text, prefix, length) == 0 &&
         (text[length] == '\0' || text[length] == '.');
}

inline std::string typeNameOf(PyObject *value) { return Py_TYPE(value)->tp_name; }

[[noreturn]] inline void raiseArgumentType(const std::string &name, PyObject *value) {
  Error error = makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", typeNameOf(value)));
  if (moduleStartsWith(Py_TYPE(value), "jax"))
    error.setHelp("in a function that JAX traces, launch by tilewright.jax.call(kernel, ...)");
  throw error;
}

/// The part of a type's name after the last dot.
inline const char *shortTypeName(PyTypeObject *type) {
  const char *dot = std::strrchr(type->tp_name, '.');
  return dot ? dot + 1 : type->tp_name;
}

/// The value of an int of one digit, without a call.
inline bool smallIntValue(PyObject *value, long long &number) {
#if PY_VERSION_HEX >= 0x030C0000
  auto *object = reinterpret_cast<PyLongObject *>(value);
  if (!PyUnstable_Long_IsCompact(object))
    return false;
  number = PyUnstable_Long_CompactValue(object);
  return true;
#else
  Py_ssize_t size = Py_SIZE(value);
  if (size < -1 || size > 1)
    return false;
  number = size * static_cast<long long>(reinterpret_cast<PyLongObject *>(value)->ob_digit[0]);
  return true;
#endif
}

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADERINTERNAL_H
