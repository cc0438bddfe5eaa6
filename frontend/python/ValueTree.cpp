//===- ValueTree.cpp - Values of any shape across regions -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/ValueTree.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Operand;
using semantic::Semantic;
using semantic::Type;
using semantic::Value;

bool isNumber(py::handle object) {
  return PyBool_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyFloat_Check(object.ptr());
}

std::string describeValue(py::handle object) {
  if (isTensor(object))
    return unwrapValue(object).type.name();
  if (isNumber(object))
    if (std::optional<Operand> operand = tryOperand(object))
      return Semantic::literalType(std::get<semantic::Literal>(*operand)).name();
  if (object.is_none())
    return "None";
  return Py_TYPE(object.ptr())->tp_name;
}

bool isSameConstant(py::handle lhs, py::handle rhs) {
  if (lhs.is(rhs))
    return true;
  // == of tensors, also inside tuples, would make a comparison in the kernel.
  if (Py_TYPE(lhs.ptr()) != Py_TYPE(rhs.ptr()) || isTensor(lhs))
    return false;
  if (PyTuple_Check(lhs.ptr())) {
    Py_ssize_t size = PyTuple_GET_SIZE(lhs.ptr());
    bool same = size == PyTuple_GET_SIZE(rhs.ptr());
    for (Py_ssize_t i = 0; same && i < size; ++i)
      same = isSameConstant(PyTuple_GET_ITEM(lhs.ptr(), i), PyTuple_GET_ITEM(rhs.ptr(), i));
    return same;
  }
  int equal = PyObject_RichCompareBool(lhs.ptr(), rhs.ptr(), Py_EQ);
  if (equal < 0)
    PyErr_Clear(); // classes that cannot be compared are different
  return equal == 1;
}

bool isSameArgument(py::handle lhs, py::handle rhs) {
  if (isTensor(lhs) && isTensor(rhs))
    return unwrapValue(lhs).type == unwrapValue(rhs).type;
  if (!PyTuple_Check(lhs.ptr()) || Py_TYPE(lhs.ptr()) != Py_TYPE(rhs.ptr()))
    return isSameConstant(lhs, rhs);
  Py_ssize_t size = PyTuple_GET_SIZE(lhs.ptr());
  bool same = size == PyTuple_GET_SIZE(rhs.ptr());
  for (Py_ssize_t i = 0; same && i < size; ++i)
    same = isSameArgument(PyTuple_GET_ITEM(lhs.ptr(), i), PyTuple_GET_ITEM(rhs.ptr(), i));
  return same;
}

/// The fields of a tuple or record; null for anything else.
static py::object partsOf(py::handle object, bool &isRecord) {
  isRecord = false;
  if (PyTuple_Check(object.ptr()))
    return py::reinterpret_borrow<py::object>(object);
  PyObject *flatten = PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())),
                                             "__tilewright_flatten__");
  if (!flatten) {
    PyErr_Clear();
    return {};
  }
  isRecord = true;
  return py::tuple(py::reinterpret_steal<py::object>(flatten)(object));
}

static Type operandType(const Operand &operand) {
  if (const Value *value = std::get_if<Value>(&operand))
    return value->type;
  return Type(Semantic::literalType(std::get<semantic::Literal>(operand)));
}

ValueTree ValueTree::flatten(Semantic &semantic, py::handle object,
                             const std::set<size_t> &promoted, std::vector<Value> &leaves) {
  size_t position = 0;
  return flattenFrom(semantic, object, &promoted, leaves, position);
}

ValueTree ValueTree::flatten(Semantic &semantic, py::handle object, bool numbersAreLeaves,
                             std::vector<Value> &leaves) {
  const std::set<size_t> none;
  size_t position = 0;
  return flattenFrom(semantic, object, numbersAreLeaves ? nullptr : &none, leaves, position);
}

ValueTree ValueTree::flattenFrom(Semantic &semantic, py::handle object,
                                 const std::set<size_t> *promoted, std::vector<Value> &leaves,
                                 size_t &position) {
  ValueTree tree;
  if (isTensor(object) || (isNumber(object) && (!promoted || promoted->count(position)))) {
    ++position;
    leaves.push_back(isTensor(object) ? unwrapValue(object) : toValue(semantic, object, "value"));
    tree.kind = Kind::Leaf;
    tree.type = leaves.back().type;
    return tree;
  }
  bool isRecord;
  if (py::object parts = partsOf(object, isRecord)) {
    tree.kind = isRecord ? Kind::Record : Kind::Tuple;
    tree.object = isRecord ? py::reinterpret_borrow<py::object>(object)
                           : py::reinterpret_borrow<py::object>(
                                 reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())));
    for (py::handle part : parts)
      tree.items.push_back(flattenFrom(semantic, part, promoted, leaves, position));
  } else {
    ++position;
    tree.object = py::reinterpret_borrow<py::object>(object);
  }
  return tree;
}

/// `after` is null where its form has already departed from that of `before`;
/// positions must still be counted.
static bool collectChanges(py::handle before, py::handle after, std::set<size_t> &promoted,
                           size_t &position) {
  bool isRecord;
  py::object parts = isTensor(before) ? py::object() : partsOf(before, isRecord);
  if (!parts) {
    bool isChanged = after && isNumber(before) && !isSameConstant(before, after);
    bool isNew = isChanged && promoted.insert(position).second;
    ++position;
    return isNew;
  }
  py::object others = after && !isTensor(after) ? partsOf(after, isRecord) : py::object();
  bool sameForm = others && py::len(others) == py::len(parts);
  bool changed = false;
  size_t i = 0;
  for (py::handle part : parts) {
    py::object other = sameForm ? py::object(others[py::int_(i)]) : py::object();
    ++i;
    changed |= collectChanges(part, other, promoted, position);
  }
  return changed;
}

bool ValueTree::findChangedNumbers(py::handle before, py::handle after,
                                   std::set<size_t> &promoted) {
  size_t position = 0;
  return collectChanges(before, after, promoted, position);
}

bool ValueTree::match(Semantic &semantic, py::handle other, std::vector<Value> &leaves) const {
  bool isRecord;
  switch (kind) {
  case Kind::Constant:
    return isSameConstant(object, other);
  case Kind::Leaf: {
    std::optional<Operand> operand = tryOperand(other);
    if (!operand || operandType(*operand) != type)
      return false;
    leaves.push_back(semantic.toValue(*operand));
    return true;
  }
  case Kind::Tuple:
  case Kind::Record:
    break;
  }
  py::object parts = partsOf(other, isRecord);
  if (!parts || isRecord != (kind == Kind::Record) || py::len(parts) != items.size())
    return false;
  size_t i = 0;
  for (py::handle part : parts)
    if (!items[i++].match(semantic, part, leaves))
      return false;
  return true;
}

py::object ValueTree::rebuild(const std::vector<Value> &leaves, size_t &position) const {
  if (kind == Kind::Constant)
    return object;
  if (kind == Kind::Leaf)
    return wrapValue(leaves[position++]);
  py::tuple parts(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    parts[i] = items[i].rebuild(leaves, position);
  if (kind == Kind::Record)
    return object.attr("__tilewright_unflatten__")(parts);
  // A namedtuple is made from an iterable by _make, a plain tuple is itself.
  return py::hasattr(object, "_make") ? py::object(object.attr("_make")(parts))
                                      : py::object(std::move(parts));
}

bool ValueTree::hasLeaves() const {
  if (kind == Kind::Leaf)
    return true;
  for (const ValueTree &item : items)
    if (item.hasLeaves())
      return true;
  return false;
}

bool ValueTree::merge(py::handle lhs, py::handle rhs, ValueTree &tree,
                      std::vector<Operand> &lhsLeaves, std::vector<Operand> &rhsLeaves) {
  bool eitherRunTime = isTensor(lhs) || isTensor(rhs);
  if (lhs.is(rhs) || (!eitherRunTime && isSameConstant(lhs, rhs))) {
    tree.object = py::reinterpret_borrow<py::object>(lhs);
    return true;
  }
  if (eitherRunTime || (isNumber(lhs) && isNumber(rhs))) {
    std::optional<Operand> left = tryOperand(lhs), right = tryOperand(rhs);
    if (!left || !right || operandType(*left) != operandType(*right))
      return false;
    tree.kind = Kind::Leaf;
    tree.type = operandType(*left);
    lhsLeaves.push_back(*left);
    rhsLeaves.push_back(*right);
    return true;
  }
  bool leftRecord, rightRecord;
  py::object left = partsOf(lhs, leftRecord), right = partsOf(rhs, rightRecord);
  if (!left || !right || Py_TYPE(lhs.ptr()) != Py_TYPE(rhs.ptr()) ||
      py::len(left) != py::len(right))
    return false;
  tree.kind = leftRecord ? Kind::Record : Kind::Tuple;
  tree.object =
      leftRecord
          ? py::reinterpret_borrow<py::object>(lhs)
          : py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(Py_TYPE(lhs.ptr())));
  for (size_t i = 0, n = py::len(left); i < n; ++i) {
    tree.items.emplace_back();
    if (!merge(py::object(left[py::int_(i)]), py::object(right[py::int_(i)]), tree.items.back(),
               lhsLeaves, rhsLeaves))
      return false;
  }
  return true;
}

} // namespace tilewright
