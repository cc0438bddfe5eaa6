//===- GridReader.cpp - The grid of a launch from Python ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/GridReader.h"
#include "ir/support/Error.h"
#include "python/bindings/PythonError.h"
#include "python/bindings/launch/ArgumentReader.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

static std::string reprOf(PyObject *object) {
  PyObject *text = PyObject_Repr(object);
  if (!text) {
    forgetException();
    return Py_TYPE(object)->tp_name;
  }
  return py::str(py::reinterpret_steal<py::object>(text));
}

Grid parseGrid(PyObject *object) {
  Grid grid;
  bool isTuple = PyTuple_Check(object), isList = PyList_Check(object);
  if (!isTuple && !isList)
    raiseInvalidGrid(reprOf(object), "a tuple of 1 to 3 integers is needed");
  Py_ssize_t count = isTuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
  if (count < 1 || count > 3)
    raiseInvalidGrid(reprOf(object), fmt::format("it has {} dimensions", count));
  for (Py_ssize_t axis = 0; axis < count; ++axis) {
    PyObject *item = isTuple ? PyTuple_GET_ITEM(object, axis) : PyList_GET_ITEM(object, axis);
    if (PyLong_CheckExact(item)) {
      // The way of nearly every grid: no text is made unless it is wrong.
      int overflow = 0;
      long long size = PyLong_AsLongLongAndOverflow(item, &overflow);
      if (!overflow && size >= 0 && size <= gridLimits[axis]) {
        grid.size[axis] = static_cast<unsigned>(size);
        continue;
      }
    }
    py::object plain = unwrapHostConstexpr(item);
    if (!PyIndex_Check(plain.ptr()))
      raiseInvalidGrid(reprOf(object),
                       fmt::format("size {} of axis {} is no integer", reprOf(item), axis));
    py::object number = py::reinterpret_steal<py::object>(checked(PyNumber_Index(plain.ptr())));
    int overflow = 0;
    long long size = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    setGridAxis(grid, static_cast<int>(axis),
                overflow ? (overflow > 0 ? INT64_MAX : INT64_MIN) : size, reprOf(object));
  }
  return grid;
}

Grid callGrid(PyObject *function, PyObject *bound) {
  PyObject *result = PyObject_Vectorcall(function, &bound, 1, nullptr);
  if (!result) {
    // The function's own exception stays visible as the cause.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    std::string text = fmt::format("the exception {}: {}", Py_TYPE(value)->tp_name,
                                   std::string(py::str(py::handle(value))));
    PyErr_Restore(type, value, trace);
    throw makeError(ErrorCode::E0208, fmt::arg("t", text));
  }
  py::object owned = py::reinterpret_steal<py::object>(result);
  if (!PyTuple_Check(result) && !PyList_Check(result))
    throw makeError(ErrorCode::E0208, fmt::arg("t", fmt::format("{} ({})", Py_TYPE(result)->tp_name,
                                                                reprOf(result))));
  return parseGrid(result);
}

} // namespace tilewright
