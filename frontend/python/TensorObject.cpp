//===- TensorObject.cpp - The Python class of run-time values -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: `tilewright.language.tensor`: number slots, comparisons, indexing and
// properties. The methods (x.to, x.sum, ...) are Python functions that
// language/core.py attaches.
//
// How: slots of the C API instead of pybind11's __add__ methods, which would
// cost a lookup and an argument tuple per operation. Each slot asks the thread's
// context for its Semantic, calls it and wraps the value.
//
//===----------------------------------------------------------------------===//

#include "frontend/python/EvaluationContext.h"
#include "frontend/python/Guarded.h"
#include "frontend/python/PythonValue.h"
#include "ir/support/Error.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Arithmetic;
using semantic::Comparison;
using semantic::Literal;
using semantic::Operand;
using semantic::Value;

namespace {

struct TensorObject {
  PyObject_HEAD Value value;
};

PyTypeObject *tensorClass = nullptr;

const Value &valueOf(PyObject *object) { return reinterpret_cast<TensorObject *>(object)->value; }

PyObject *notImplemented() {
  Py_INCREF(Py_NotImplemented);
  return Py_NotImplemented;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <Arithmetic op> PyObject *binarySlot(PyObject *lhs, PyObject *rhs) {
  return guardedObject([&]() -> py::object {
    std::optional<Operand> left = tryOperand(lhs);
    std::optional<Operand> right = left ? tryOperand(rhs) : std::nullopt;
    // Another class may know what to do with a tensor: aggregates overload
    // operators, and Python asks them next.
    if (!right)
      return py::reinterpret_steal<py::object>(notImplemented());
    return wrapValue(applyOperator(requireContext("an operator").semantic(), op, *left, *right));
  });
}

[[noreturn]] void throwNoOperator(const char *message, const char *help) {
  throw makeError(ErrorCode::E0120, fmt::arg("message", message), fmt::arg("help", help));
}

PyObject *matrixMultiplySlot(PyObject *, PyObject *) {
  return guardedObject([]() -> py::object {
    throwNoOperator("'@' is not defined for tensors", "use tl.dot(a, b)");
  });
}

PyObject *powerSlot(PyObject *, PyObject *, PyObject *) {
  return guardedObject([]() -> py::object {
    throw makeError(ErrorCode::E0102, fmt::arg("stmt", "** on a tile"),
                    fmt::arg("alternative", "multiply, or use tl.exp2 and tl.log2"));
  });
}

PyObject *negativeSlot(PyObject *self) {
  return guardedObject(
      [&] { return wrapValue(requireContext("an operator").semantic().negate(valueOf(self))); });
}

PyObject *positiveSlot(PyObject *self) {
  Py_INCREF(self);
  return self;
}

PyObject *invertSlot(PyObject *self) {
  return guardedObject(
      [&] { return wrapValue(requireContext("an operator").semantic().invert(valueOf(self))); });
}

/// The number in a one-element value, under an evaluator that knows it.
Literal concreteNumber(PyObject *self, const char *what) {
  const Value &value = valueOf(self);
  if (value.type.isTile() && value.type.numElements() != 1) {
    std::string message = fmt::format("{} of {}: one element is required", what, value.type.name());
    throw makeError(ErrorCode::E0116, fmt::arg("message", message),
                    fmt::arg("help", "reduce the tile, or choose per element with tl.where"));
  }
  EvaluationContext *context = currentContext();
  std::optional<Literal> literal = context ? context->concreteScalar(value) : std::nullopt;
  if (!literal) {
    std::string name = fmt::format("{} of a run-time value", what);
    throw makeError(ErrorCode::E0112, fmt::arg("n", name));
  }
  return *literal;
}

int boolSlot(PyObject *self) {
  return guardedResult(
      [&]() -> int {
        Literal literal = concreteNumber(self, "bool()");
        return literal.kind == Literal::Kind::Float ? literal.floatValue != 0
                                                    : literal.intValue != 0;
      },
      -1);
}

py::object integerObject(const Literal &literal) {
  PyObject *result = nullptr;
  if (literal.kind == Literal::Kind::Float)
    result = PyLong_FromDouble(literal.floatValue);
  else if (literal.isUnsigned64)
    result = PyLong_FromUnsignedLongLong(static_cast<unsigned long long>(literal.intValue));
  else
    result = PyLong_FromLongLong(literal.intValue);
  if (!result)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

PyObject *intSlot(PyObject *self) {
  return guardedObject([&] { return integerObject(concreteNumber(self, "int()")); });
}

PyObject *indexSlot(PyObject *self) {
  return guardedObject([&] {
    if (!valueOf(self).type.scalar.isInteger())
      throwNoOperator("only an integer can be an index or a bound", "cast it to tl.int32");
    return integerObject(concreteNumber(self, "an index"));
  });
}

PyObject *floatSlot(PyObject *self) {
  return guardedObject([&]() -> py::object {
    Literal literal = concreteNumber(self, "float()");
    if (literal.kind == Literal::Kind::Float)
      return py::float_(literal.floatValue);
    return py::float_(integerObject(literal));
  });
}

//===----------------------------------------------------------------------===//
// Comparison, indexing, text
//===----------------------------------------------------------------------===//

PyObject *compareSlot(PyObject *self, PyObject *other, int op) {
  return guardedObject([&]() -> py::object {
    static const Comparison comparisons[] = {Comparison::Less,    Comparison::LessEqual,
                                             Comparison::Equal,   Comparison::NotEqual,
                                             Comparison::Greater, Comparison::GreaterEqual};
    std::optional<Operand> right = tryOperand(other);
    if (!right)
      return py::reinterpret_steal<py::object>(notImplemented());
    return wrapValue(
        requireContext("a comparison").semantic().compare(comparisons[op], valueOf(self), *right));
  });
}

bool isFullSlice(py::handle object) {
  if (!PySlice_Check(object.ptr()))
    return false;
  auto *slice = reinterpret_cast<PySliceObject *>(object.ptr());
  return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

/// x[None, :]: None adds an axis, a full slice keeps one. Slices beyond the last
/// dimension keep nothing, and on a scalar they do not count at all: Triton takes
/// `x[:, :]` of a vector, and `x[:, None]` of a scalar as a tile of one element.
PyObject *subscriptSlot(PyObject *self, PyObject *key) {
  return guardedObject([&]() -> py::object {
    py::tuple keys = PyTuple_Check(key) ? py::reinterpret_borrow<py::tuple>(key)
                                        : py::make_tuple(py::handle(key));
    semantic::Semantic &language = requireContext("a subscript").semantic();
    Value result = valueOf(self);
    bool isScalar = result.type.rank() == 0;
    int axis = 0;
    for (py::handle item : keys) {
      py::object plain = unwrapConstexpr(item);
      if (!plain.is_none() && !isFullSlice(plain))
        throwNoOperator("unsupported tensor index: only None and ':' have a meaning",
                        "use tl.gather, masks with tl.where, or load the part you need");
      if (plain.is_none())
        result = language.expandDims(result, axis);
      axis += plain.is_none() || !isScalar;
    }
    return wrapValue(std::move(result));
  });
}

py::object concreteArray(const Value &value) {
  EvaluationContext *context = currentContext();
  return context ? context->concreteArray(value) : py::none();
}

PyObject *reprSlot(PyObject *self) {
  return guardedObject([&]() -> py::object {
    const Value &value = valueOf(self);
    py::object array = concreteArray(value);
    if (array.is_none())
      return py::str(value.type.name());
    return py::str(value.type.name() + "(" + py::cast<std::string>(py::str(array)) + ")");
  });
}

/// print(x) and f"{x}" show the contents alone where there are any.
PyObject *strSlot(PyObject *self) {
  return guardedObject([&]() -> py::object {
    py::object array = concreteArray(valueOf(self));
    return array.is_none() ? py::object(py::str(valueOf(self).type.name()))
                           : py::object(py::str(array));
  });
}

PyObject *formatMethod(PyObject *self, PyObject *specification) {
  return guardedObject([&]() -> py::object {
    const Value &value = valueOf(self);
    EvaluationContext *context = currentContext();
    if (PyUnicode_GetLength(specification) > 0 && value.type.numElements() == 1 && context)
      if (std::optional<Literal> literal = context->concreteScalar(value)) {
        py::object number = literal->kind == Literal::Kind::Float
                                ? py::object(py::float_(literal->floatValue))
                                : integerObject(*literal);
        return py::reinterpret_steal<py::object>(PyObject_Format(number.ptr(), specification));
      }
    return py::reinterpret_steal<py::object>(strSlot(self));
  });
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

PyObject *shapeProperty(PyObject *self, void *) {
  return guardedObject([&] { return wrapShape(valueOf(self).type.shape); });
}

PyObject *dtypeProperty(PyObject *self, void *) {
  return guardedObject([&] { return wrapDType(valueOf(self).type.scalar); });
}

PyObject *typeProperty(PyObject *self, void *) {
  return guardedObject([&] { return wrapType(valueOf(self).type); });
}

PyObject *numelProperty(PyObject *self, void *) {
  return guardedObject([&] { return py::int_(valueOf(self).type.numElements()); });
}

PyObject *transposeProperty(PyObject *self, void *) {
  return guardedObject([&] {
    const Value &value = valueOf(self);
    if (value.type.rank() != 2) {
      std::string message = fmt::format(".T needs two dimensions, got {}", value.type.name());
      throw makeError(ErrorCode::E0121, fmt::arg("message", message),
                      fmt::arg("help", "use tl.permute"));
    }
    return wrapValue(requireContext(".T").semantic().permute(value, {1, 0}));
  });
}

/// Code for Triton passes `x.handle` on; the tensor itself serves there.
PyObject *handleProperty(PyObject *self, void *) {
  Py_INCREF(self);
  return self;
}

//===----------------------------------------------------------------------===//
// The class
//===----------------------------------------------------------------------===//

void deallocate(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<TensorObject *>(self)->value.~Value();
  type->tp_free(self);
  Py_DECREF(type); // instances of heap types own a reference to their type
}

PyObject *refuseNew(PyTypeObject *, PyObject *, PyObject *) {
  PyErr_SetString(PyExc_TypeError, "a tensor is made by functions such as tl.load, tl.full and "
                                   "tl.to_tensor, not by calling tl.tensor");
  return nullptr;
}

Py_hash_t hashSlot(PyObject *self) {
  // Comparison builds values, so equality of Python is identity here.
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(self) >> 4);
}

PyGetSetDef properties[] = {
    {"shape", shapeProperty, nullptr, "Extents as a tuple of ints; () for a scalar.", nullptr},
    {"dtype", dtypeProperty, nullptr, "The scalar type of the elements.", nullptr},
    {"type", typeProperty, nullptr, "A block_type for a tile, else the dtype.", nullptr},
    {"numel", numelProperty, nullptr, "The number of elements.", nullptr},
    {"T", transposeProperty, nullptr, "The transpose of a matrix.", nullptr},
    {"handle", handleProperty, nullptr, "The value for the evaluator.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__format__", formatMethod, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

template <typename Function> void *slot(Function function) {
  return reinterpret_cast<void *>(function);
}

PyTypeObject *makeClass() {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char *>("A run-time value of a kernel: a scalar or a tile.")},
      {Py_tp_dealloc, slot(deallocate)},
      {Py_tp_new, slot(refuseNew)},
      {Py_tp_hash, slot(hashSlot)},
      {Py_tp_repr, slot(reprSlot)},
      {Py_tp_str, slot(strSlot)},
      {Py_tp_richcompare, slot(compareSlot)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_mp_subscript, slot(subscriptSlot)},
      {Py_nb_add, slot(binarySlot<Arithmetic::Add>)},
      {Py_nb_subtract, slot(binarySlot<Arithmetic::Sub>)},
      {Py_nb_multiply, slot(binarySlot<Arithmetic::Mul>)},
      {Py_nb_true_divide, slot(binarySlot<Arithmetic::TrueDiv>)},
      {Py_nb_floor_divide, slot(binarySlot<Arithmetic::FloorDiv>)},
      {Py_nb_remainder, slot(binarySlot<Arithmetic::Mod>)},
      {Py_nb_and, slot(binarySlot<Arithmetic::And>)},
      {Py_nb_or, slot(binarySlot<Arithmetic::Or>)},
      {Py_nb_xor, slot(binarySlot<Arithmetic::Xor>)},
      {Py_nb_lshift, slot(binarySlot<Arithmetic::LeftShift>)},
      {Py_nb_rshift, slot(binarySlot<Arithmetic::RightShift>)},
      {Py_nb_matrix_multiply, slot(matrixMultiplySlot)},
      {Py_nb_power, slot(powerSlot)},
      {Py_nb_negative, slot(negativeSlot)},
      {Py_nb_positive, slot(positiveSlot)},
      {Py_nb_invert, slot(invertSlot)},
      {Py_nb_bool, slot(boolSlot)},
      {Py_nb_int, slot(intSlot)},
      {Py_nb_float, slot(floatSlot)},
      {Py_nb_index, slot(indexSlot)},
      {0, nullptr}};
  static PyType_Spec specification = {"tilewright.language.core.tensor", sizeof(TensorObject), 0,
                                      Py_TPFLAGS_DEFAULT, slots};
  PyObject *type = PyType_FromSpec(&specification);
  // None on the class makes NumPy leave `np.float32(2) * x` to the tensor.
  if (!type || PyObject_SetAttrString(type, "__array_ufunc__", Py_None) < 0)
    throw py::error_already_set();
  return reinterpret_cast<PyTypeObject *>(type);
}

} // namespace

py::handle tensorType() {
  if (!tensorClass)
    tensorClass = makeClass();
  return reinterpret_cast<PyObject *>(tensorClass);
}

bool isTensor(py::handle object) { return Py_TYPE(object.ptr()) == tensorClass; }

py::object wrapValue(Value value) {
  auto *type = reinterpret_cast<PyTypeObject *>(tensorType().ptr());
  PyObject *object = type->tp_alloc(type, 0);
  if (!object)
    throw py::error_already_set();
  new (&reinterpret_cast<TensorObject *>(object)->value) Value(std::move(value));
  return py::reinterpret_steal<py::object>(object);
}

const Value &unwrapValue(py::handle tensor) { return valueOf(tensor.ptr()); }

} // namespace tilewright
