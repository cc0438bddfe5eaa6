//===- ShapeObject.cpp - The Python class of shapes -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the tuple that `x.shape` gives. It equals a list of the same extents.
//
// Why here: tuples and lists are one thing in a kernel, so `x.shape == [M, N]`
// holds where the text of the kernel is known. A function that `exec` has made is
// run as plain Python, whose own tuples equal no list.
//
//===----------------------------------------------------------------------===//

#include "frontend/python/PythonValue.h"

namespace py = pybind11;

namespace tilewright {

namespace {

PyObject *compareShapes(PyObject *lhs, PyObject *rhs, int operation) {
  if (!PyList_Check(rhs))
    return PyTuple_Type.tp_richcompare(lhs, rhs, operation);
  PyObject *items = PyList_AsTuple(rhs);
  if (!items)
    return nullptr;
  PyObject *result = PyTuple_Type.tp_richcompare(lhs, items, operation);
  Py_DECREF(items);
  return result;
}

PyTypeObject *makeClass() {
  // A class that compares for itself does not inherit the hash.
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char *>("Extents; equal to a list of the same numbers.")},
      {Py_tp_richcompare, reinterpret_cast<void *>(compareShapes)},
      {Py_tp_hash, reinterpret_cast<void *>(PyTuple_Type.tp_hash)},
      {0, nullptr}};
  // The sizes of the base class: 0 inherits them.
  static PyType_Spec specification = {"tilewright.language.core.shape", 0, 0, Py_TPFLAGS_DEFAULT,
                                      slots};
  py::tuple bases = py::make_tuple(
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(&PyTuple_Type)));
  PyObject *type = PyType_FromSpecWithBases(&specification, bases.ptr());
  if (!type)
    throw py::error_already_set();
  return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace

py::object wrapShape(const std::vector<int64_t> &extents) {
  static PyTypeObject *type = makeClass();
  py::tuple items(extents.size());
  for (size_t i = 0; i < extents.size(); ++i)
    items[i] = py::int_(extents[i]);
  // By a call, as only tuple.__new__ knows all that a tuple holds: its hash too, from CPython 3.14 on.
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(type))(items);
}

} // namespace tilewright
