//===- PythonValue.cpp - Language values as Python objects ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/PythonValue.h"
#include "frontend/python/InternedName.h"

#include "ir/support/Error.h"

#include <array>
#include <cstring>
#include <limits>

namespace py = pybind11;

namespace tilewright {

using semantic::DType;
using semantic::Literal;
using semantic::Operand;
using semantic::ScalarKind;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

py::object wrapDType(const DType &type) {
  if (type.isPointer())
    return py::cast(PointerTypeObject{{type}});
  // Kept for good: module teardown may run after Python is gone.
  static std::atomic<PyObject *> objects[static_cast<size_t>(ScalarKind::Pointer)] = {};
  PyObject *object = madeOnce(
      objects[static_cast<size_t>(type.kind())],
      [&] { return py::cast(TypeObject{type}).release().ptr(); },
      [](PyObject *unused) { Py_DECREF(unused); });
  return py::reinterpret_borrow<py::object>(object);
}

py::object wrapType(const semantic::Type &type) {
  return type.isTile() ? py::cast(BlockTypeObject{{type}}) : wrapDType(type.scalar);
}

std::optional<DType> tryDType(py::handle object) {
  py::object plain = unwrapConstexpr(object);
  if (py::isinstance<TypeObject>(plain))
    return py::cast<const TypeObject &>(plain).type.scalar;
  DType parsed;
  if (py::isinstance<py::str>(plain) && DType::parse(py::cast<std::string>(plain), parsed))
    return parsed;
  return std::nullopt;
}

DType toDType(py::handle object, const std::string &what) {
  if (std::optional<DType> type = tryDType(object))
    return *type;
  std::string message = fmt::format("{} must be a dtype, got {}", what,
                                    py::cast<std::string>(py::repr(unwrapConstexpr(object))));
  throw makeError(ErrorCode::E0120, fmt::arg("message", message),
                  fmt::arg("help", "use a type of the language such as tl.float32"));
}

//===----------------------------------------------------------------------===//
// Compile-time values
//===----------------------------------------------------------------------===//

static PyTypeObject *constexprClass = nullptr;

void registerConstexprClass(py::handle type) {
  constexprClass = reinterpret_cast<PyTypeObject *>(type.inc_ref().ptr());
}

bool isConstexpr(py::handle object) {
  return constexprClass && PyObject_TypeCheck(object.ptr(), constexprClass);
}

py::object unwrapConstexpr(py::handle object) {
  static const InternedName valueName("value");
  py::object current = py::reinterpret_borrow<py::object>(object);
  while (isConstexpr(current)) {
    PyObject *inner = PyObject_GetAttr(current.ptr(), valueName);
    if (!inner)
      throw py::error_already_set();
    current = py::reinterpret_steal<py::object>(inner);
  }
  return current;
}

static Literal integerLiteral(PyObject *integer) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred())
      throw py::error_already_set();
    return Literal::integer(value);
  }
  if (overflow > 0) {
    unsigned long long bits = PyLong_AsUnsignedLongLong(integer);
    if (!PyErr_Occurred())
      return Literal::unsigned64(bits);
    PyErr_Clear();
  }
  std::string text = py::cast<std::string>(py::str(py::handle(integer)));
  throw makeError(ErrorCode::E0119, fmt::arg("v", text), fmt::arg("t", "64-bit integers"));
}

/// Scalars of NumPy that are no subclass of a Python number.
static std::optional<Operand> numpyScalar(PyObject *object) {
  const char *name = Py_TYPE(object)->tp_name;
  if (std::strncmp(name, "numpy.", 6) != 0)
    return std::nullopt;
  if (std::strcmp(name, "numpy.bool") == 0 || std::strcmp(name, "numpy.bool_") == 0)
    return Operand(Literal::boolean(PyObject_IsTrue(object) == 1));
  if (std::strncmp(name + 6, "float", 5) == 0 && Py_TYPE(object)->tp_as_number) {
    double value = PyFloat_AsDouble(object);
    if (!PyErr_Occurred())
      return Operand(Literal::floating(value));
    PyErr_Clear();
  }
  return std::nullopt;
}

std::optional<Operand> tryOperand(py::handle handle) {
  if (isTensor(handle))
    return Operand(unwrapValue(handle));
  PyObject *object = handle.ptr();
  if (PyBool_Check(object))
    return Operand(Literal::boolean(object == Py_True));
  if (PyLong_Check(object))
    return Operand(integerLiteral(object));
  if (PyFloat_Check(object))
    return Operand(Literal::floating(PyFloat_AS_DOUBLE(object)));
  if (isConstexpr(handle))
    return tryOperand(unwrapConstexpr(handle));
  if (std::optional<Operand> scalar = numpyScalar(object))
    return scalar;
  if (PyIndex_Check(object) && !PySequence_Check(object)) {
    py::object integer = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (!integer)
      throw py::error_already_set();
    return Operand(integerLiteral(integer.ptr()));
  }
  return std::nullopt;
}

/// "a str", "None": the class of an object, for messages.
static std::string describe(py::handle object) {
  if (object.is_none())
    return "None";
  return Py_TYPE(object.ptr())->tp_name;
}

Operand toOperand(py::handle object, const std::string &what) {
  if (std::optional<Operand> operand = tryOperand(object))
    return std::move(*operand);
  py::object plain = unwrapConstexpr(object);
  std::string message =
      fmt::format("{} must be a tensor or a number, got {}", what, describe(plain));
  // `pointers = (base + offsets,)`: Python's commas are easily overlooked.
  bool isOneInTuple = PyTuple_Check(plain.ptr()) && PyTuple_Size(plain.ptr()) == 1;
  throw makeError(
      ErrorCode::E0120, fmt::arg("message", message),
      fmt::arg("help", isOneInTuple
                           ? "a value with a comma behind it is a tuple; leave the comma out"
                           : "pass a value of the kernel or a Python number"));
}

semantic::Value toValue(semantic::Semantic &semantic, py::handle object, const std::string &what) {
  if (isTensor(object))
    return unwrapValue(object);
  return semantic.toValue(toOperand(object, what));
}

int64_t toInt(py::handle handle, const std::string &what) {
  py::object object = unwrapConstexpr(handle);
  if (isTensor(object))
    throw makeError(ErrorCode::E0112, fmt::arg("n", what));
  if (!PyIndex_Check(object.ptr())) {
    std::string message = fmt::format("{} must be an int, got {}", what, describe(object));
    throw makeError(ErrorCode::E0120, fmt::arg("message", message),
                    fmt::arg("help", "pass an int that is known at compile time"));
  }
  py::object integer = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!integer)
    throw py::error_already_set();
  Literal literal = integerLiteral(integer.ptr());
  if (literal.isUnsigned64) {
    std::string text = py::cast<std::string>(py::str(integer));
    throw makeError(ErrorCode::E0119, fmt::arg("v", text), fmt::arg("t", "i64"));
  }
  return literal.intValue;
}

int64_t toLoopHint(py::handle handle, const std::string &what) {
  int64_t value = toInt(handle, what);
  if (value < 0 || value > std::numeric_limits<int32_t>::max())
    throw makeError(ErrorCode::E0117,
                    fmt::arg("message", fmt::format("{} of a loop is {}", what, value)),
                    fmt::arg("help", "use 0 or more, or leave it out"));
  return value;
}

std::vector<int64_t> toIntList(py::handle handle, const std::string &what) {
  py::object object = unwrapConstexpr(handle);
  std::vector<int64_t> result;
  if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr())) {
    result.push_back(toInt(object, what));
    return result;
  }
  for (py::handle item : py::reinterpret_borrow<py::sequence>(object))
    result.push_back(toInt(item, what));
  return result;
}

static void warnOfWholeShift(const semantic::Type &type, const Operand &amount) {
  int64_t number = std::get<semantic::Literal>(amount).intValue;
  py::module_::import("tilewright.errors")
      .attr("warn")(errorEntry(ErrorCode::W0124).codeName, py::arg("v") = number,
                    py::arg("n") = type.scalar.bitWidth(), py::arg("t") = type.scalar.longName());
}

semantic::Value applyOperator(semantic::Semantic &semantic, semantic::Arithmetic op,
                              const Operand &lhs, const Operand &rhs) {
  semantic::Value result = semantic.arithmetic(op, lhs, rhs, /*mayCheck=*/true);
  if (semantic.isWholeShift(op, lhs, rhs))
    warnOfWholeShift(result.type, rhs);
  return result;
}

} // namespace tilewright
