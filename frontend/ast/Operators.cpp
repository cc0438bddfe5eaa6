//===- Operators.cpp - Operators on values and constants ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: Python computes an operator on two compile-time operands. As soon as
// one operand is a tensor, Semantic says what the operator means.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Arithmetic;
using semantic::Comparison;

namespace {
struct BinaryRow {
  NodeKind kind;
  std::optional<Arithmetic> meaning;
  PyObject *(*python)(PyObject *, PyObject *);
  const char *symbol;
};
} // namespace

static PyObject *power(PyObject *lhs, PyObject *rhs) { return PyNumber_Power(lhs, rhs, Py_None); }

static const BinaryRow *findBinary(NodeKind kind) {
  static const BinaryRow rows[] = {
      {NodeKind::Add, Arithmetic::Add, PyNumber_Add, "+"},
      {NodeKind::Sub, Arithmetic::Sub, PyNumber_Subtract, "-"},
      {NodeKind::Mult, Arithmetic::Mul, PyNumber_Multiply, "*"},
      {NodeKind::Div, Arithmetic::TrueDiv, PyNumber_TrueDivide, "/"},
      {NodeKind::FloorDiv, Arithmetic::FloorDiv, PyNumber_FloorDivide, "//"},
      {NodeKind::Mod, Arithmetic::Mod, PyNumber_Remainder, "%"},
      {NodeKind::BitAnd, Arithmetic::And, PyNumber_And, "&"},
      {NodeKind::BitOr, Arithmetic::Or, PyNumber_Or, "|"},
      {NodeKind::BitXor, Arithmetic::Xor, PyNumber_Xor, "^"},
      {NodeKind::LShift, Arithmetic::LeftShift, PyNumber_Lshift, "<<"},
      {NodeKind::RShift, Arithmetic::RightShift, PyNumber_Rshift, ">>"},
      {NodeKind::Pow, std::nullopt, power, "**"},
  };
  for (const BinaryRow &row : rows)
    if (row.kind == kind)
      return &row;
  return nullptr;
}

static py::object fromPython(PyObject *result) {
  if (!result)
    throw py::error_already_set();
  return unwrapConstexpr(py::reinterpret_steal<py::object>(result));
}

/// Records with operators of their own win over tensors.
static bool isRecord(py::handle object) {
  return !isTensor(object) && PyObject_HasAttrString(object.ptr(), "__tilewright_flatten__");
}

py::object FunctionWalker::visitBinOp(Handle node) {
  py::object lhs = visitExpression(field(node, f.left));
  py::object rhs = visitExpression(field(node, f.right));
  return binaryOperator(nodes.kind(field(node, f.op)), lhs, rhs);
}

py::object FunctionWalker::binaryOperator(NodeKind op, Handle lhs, Handle rhs) {
  if (op == NodeKind::MatMult)
    refuse("MatMult");
  const BinaryRow *row = findBinary(op);
  bool isRunTime = (isTensor(lhs) || isTensor(rhs)) && !isRecord(lhs) && !isRecord(rhs);
  if (!isRunTime)
    return fromPython(row->python(lhs.ptr(), rhs.ptr()));
  if (!row->meaning)
    refuse("PowTile");
  std::string what = fmt::format("operand of '{}'", row->symbol);
  return wrapValue(
      applyOperator(semantic(), *row->meaning, toOperand(lhs, what), toOperand(rhs, what)));
}

py::object FunctionWalker::visitUnaryOp(Handle node) {
  py::object operand = visitExpression(field(node, f.operand));
  NodeKind op = nodes.kind(field(node, f.op));
  if (!isTensor(operand)) {
    switch (op) {
    case NodeKind::Not: {
      int truth = PyObject_IsTrue(operand.ptr());
      if (truth < 0)
        throw py::error_already_set();
      return py::bool_(truth == 0);
    }
    case NodeKind::USub:
      return fromPython(PyNumber_Negative(operand.ptr()));
    case NodeKind::UAdd:
      return fromPython(PyNumber_Positive(operand.ptr()));
    default:
      return fromPython(PyNumber_Invert(operand.ptr()));
    }
  }
  const semantic::Value &value = unwrapValue(operand);
  switch (op) {
  case NodeKind::Not:
    return wrapValue(semantic().logicalNot(value));
  case NodeKind::USub:
    return wrapValue(semantic().negate(value));
  case NodeKind::UAdd:
    return operand;
  default:
    return wrapValue(semantic().invert(value));
  }
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static std::optional<std::pair<Comparison, int>> findComparison(NodeKind kind) {
  switch (kind) {
  case NodeKind::Eq:
    return {{Comparison::Equal, Py_EQ}};
  case NodeKind::NotEq:
    return {{Comparison::NotEqual, Py_NE}};
  case NodeKind::Lt:
    return {{Comparison::Less, Py_LT}};
  case NodeKind::LtE:
    return {{Comparison::LessEqual, Py_LE}};
  case NodeKind::Gt:
    return {{Comparison::Greater, Py_GT}};
  case NodeKind::GtE:
    return {{Comparison::GreaterEqual, Py_GE}};
  default:
    return std::nullopt;
  }
}

/// Identity; types are values, so two objects of one type are the same type.
static bool isIdentical(py::handle lhs, py::handle rhs) {
  if (lhs.is(rhs))
    return true;
  py::handle dtype = LanguageNames::get().dtypeClass;
  if (PyObject_IsInstance(lhs.ptr(), dtype.ptr()) == 1 &&
      PyObject_IsInstance(rhs.ptr(), dtype.ptr()) == 1)
    return lhs.equal(rhs);
  return isNumber(lhs) && isSameConstant(lhs, rhs);
}

static bool isSequence(py::handle object) {
  return py::isinstance<py::tuple>(object) || py::isinstance<py::list>(object);
}

/// Whether a tuple or list has run-time values, which an assignment makes of its numbers.
static bool holdsTensors(py::handle object) {
  return isTensor(object) ||
         (isSequence(object) && std::any_of(object.begin(), object.end(), holdsTensors));
}

static py::object compareOnce(semantic::Semantic &semantic, NodeKind kind, py::handle lhs,
                              py::handle rhs);

/// Sequences are equal where all their elements are; a list equals a tuple, as shapes are
/// either.
static py::object compareSequences(semantic::Semantic &semantic, bool wantsEqual, py::handle lhs,
                                   py::handle rhs) {
  py::object isDifferent = py::bool_(!wantsEqual), all;
  if (py::len(lhs) != py::len(rhs))
    return isDifferent;
  for (auto left = lhs.begin(), right = rhs.begin(); left != lhs.end(); ++left, ++right) {
    py::object holds = compareOnce(semantic, NodeKind::Eq, *left, *right);
    if (isTensor(holds))
      all = all ? wrapValue(semantic.logicalAnd(unwrapValue(all), unwrapValue(holds))) : holds;
    else if (!py::bool_(holds))
      return isDifferent;
  }
  if (!all)
    return py::bool_(wantsEqual);
  return wantsEqual ? all : wrapValue(semantic.logicalNot(unwrapValue(all)));
}

static py::object compareOnce(semantic::Semantic &semantic, NodeKind kind, py::handle lhs,
                              py::handle rhs) {
  if (kind == NodeKind::Is || kind == NodeKind::IsNot)
    return py::bool_(isIdentical(lhs, rhs) == (kind == NodeKind::Is));
  auto [meaning, python] = *findComparison(kind);
  if (isSequence(lhs) && isSequence(rhs) && (holdsTensors(lhs) || holdsTensors(rhs)) &&
      (kind == NodeKind::Eq || kind == NodeKind::NotEq))
    return compareSequences(semantic, kind == NodeKind::Eq, lhs, rhs);
  if ((!isTensor(lhs) && !isTensor(rhs)) || isRecord(lhs) || isRecord(rhs))
    return fromPython(PyObject_RichCompare(lhs.ptr(), rhs.ptr(), python));
  // A tensor is never equal to None, a string or a type.
  bool isEquality = meaning == Comparison::Equal || meaning == Comparison::NotEqual;
  std::optional<semantic::Operand> left = tryOperand(lhs), right = tryOperand(rhs);
  if (isEquality && (!left || !right))
    return py::bool_(meaning == Comparison::NotEqual);
  return wrapValue(semantic.compare(meaning, toOperand(lhs, "operand of a comparison"),
                                    toOperand(rhs, "operand of a comparison")));
}

/// `a < b < c` is `a < b and b < c` with one b.
py::object FunctionWalker::visitCompare(Handle node) {
  py::list operators(field(node, f.ops)), comparators(field(node, f.comparators));
  py::object left = visitExpression(field(node, f.left)), all;
  for (size_t i = 0; i < operators.size(); ++i) {
    NodeKind kind = nodes.kind(operators[i]);
    if (kind == NodeKind::In || kind == NodeKind::NotIn)
      refuse(kind == NodeKind::In ? "In" : "NotIn");
    py::object right = visitExpression(comparators[i]);
    py::object holds = compareOnce(semantic(), kind, left, right);
    if (operators.size() == 1)
      return holds;
    if (isTensor(holds)) {
      all = all && isTensor(all)
                ? wrapValue(semantic().logicalAnd(unwrapValue(all), unwrapValue(holds)))
                : holds;
    } else {
      int truth = PyObject_IsTrue(holds.ptr());
      if (truth < 0)
        throw py::error_already_set();
      if (truth == 0)
        return holds;
      if (!all)
        all = holds;
    }
    left = right;
  }
  return all;
}

} // namespace tilewright
