//===- ExpressionVisitor.cpp - Values of expressions ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one function per class of expression; operators, calls and the
// conditional expression have files of their own. Where all operands are known
// at compile time, Python itself computes.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/NearestName.h"

namespace py = pybind11;

namespace tilewright {

py::object FunctionWalker::visitExpression(Handle node) {
  Handle outer = currentNode;
  currentNode = node;
  py::object result = visitRaw(node, nodes.kind(node));
  // Not restored when an exception passes: the error then stands at `node`.
  currentNode = outer;
  return result;
}

py::object FunctionWalker::visitRaw(Handle node, NodeKind kind) {
  switch (kind) {
  case NodeKind::Constant: {
    py::object value = field(node, f.value);
    if (PyBytes_Check(value.ptr()))
      refuse("Bytes");
    if (PyComplex_Check(value.ptr()))
      refuse("Complex");
    return value;
  }
  case NodeKind::Name:
    return unwrapConstexpr(lookup(field(node, f.id)));
  case NodeKind::Attribute:
    return visitAttribute(node, /*keepWrapper=*/false);
  case NodeKind::Call:
    return visitCall(node);
  case NodeKind::BinOp:
    return visitBinOp(node);
  case NodeKind::UnaryOp:
    return visitUnaryOp(node);
  case NodeKind::Compare:
    return visitCompare(node);
  case NodeKind::BoolOp:
    return visitBoolOp(node);
  case NodeKind::IfExp:
    return visitIfExp(node);
  case NodeKind::Subscript:
    return visitSubscript(node);
  case NodeKind::Slice:
    return visitSlice(node);
  case NodeKind::Tuple:
  case NodeKind::List:
    return py::tuple(visitElements(field(node, f.elts)));
  case NodeKind::JoinedStr:
    return visitJoinedStr(node);
  case NodeKind::ListComp:
    return visitListComp(node);
  case NodeKind::NamedExpr: {
    py::object target = field(node, f.target), valueNode = field(node, f.value);
    py::object value = toAssigned(target, visitExpression(valueNode), valueNode);
    assignName(field(target, f.id), value);
    return value;
  }
  default:
    refuseNode(node);
  }
}

/// Python also goes through what only has `__getitem__`, without an end where that takes
/// every number, as kernels do.
static void requireIterable(py::handle object) {
  if (PyObject_HasAttrString(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr())), "__iter__"))
    return;
  PyErr_Format(PyExc_TypeError, "'%s' object is not iterable", Py_TYPE(object.ptr())->tp_name);
  throw py::error_already_set();
}

/// Elements of a tuple, list or argument list; `*x` is spread.
py::list FunctionWalker::visitElements(Handle elements) {
  py::list values;
  for (Handle element : py::reinterpret_borrow<py::list>(elements)) {
    if (nodes.kind(element) != NodeKind::Starred) {
      values.append(visitExpression(element));
      continue;
    }
    py::object spread = visitExpression(field(element, f.value));
    requireStatic(isTensor(spread) ? spread : py::none(), element);
    requireIterable(spread);
    for (Handle item : spread)
      values.append(unwrapConstexpr(item));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// and, or
//===----------------------------------------------------------------------===//

/// Compile-time operands decide at once or drop out; the others are combined
/// without short circuit, because both sides are already computed.
py::object FunctionWalker::visitBoolOp(Handle node) {
  bool isAnd = nodes.kind(field(node, f.op)) == NodeKind::And;
  std::optional<semantic::Operand> combined;
  py::object lastStatic;
  for (Handle operand : py::reinterpret_borrow<py::list>(field(node, f.values))) {
    py::object value = visitExpression(operand);
    if (!isTensor(value)) {
      int truth = PyObject_IsTrue(value.ptr());
      if (truth < 0)
        throw py::error_already_set();
      if ((truth == 1) != isAnd)
        return value;
      lastStatic = std::move(value);
      continue;
    }
    semantic::Operand right = unwrapValue(value);
    if (!combined)
      combined = right;
    else
      combined =
          isAnd ? semantic().logicalAnd(*combined, right) : semantic().logicalOr(*combined, right);
  }
  return combined ? wrapValue(std::get<semantic::Value>(*combined)) : lastStatic;
}

//===----------------------------------------------------------------------===//
// Subscripts and attributes
//===----------------------------------------------------------------------===//

py::object FunctionWalker::visitSlice(Handle node) {
  auto bound = [&](PyObject *name) -> py::object {
    py::object part = field(node, name);
    if (part.is_none())
      return part;
    py::object value = visitExpression(part);
    requireStatic(value, part);
    return value;
  };
  py::object lower = bound(f.lower), upper = bound(f.upper), step = bound(f.step);
  PyObject *slice = PySlice_New(lower.ptr(), upper.ptr(), step.ptr());
  if (!slice)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(slice);
}

py::object FunctionWalker::visitSubscript(Handle node) {
  py::object base = visitExpression(field(node, f.value));
  py::object indexNode = field(node, f.slice);
  py::object index = visitExpression(indexNode);
  // A tile understands None and full slices and explains anything else; a tuple
  // needs an index that is known now.
  if (!isTensor(base))
    requireStatic(index, indexNode);
  PyObject *item = PyObject_GetItem(base.ptr(), index.ptr());
  if (!item)
    throw py::error_already_set();
  return unwrapConstexpr(py::reinterpret_steal<py::object>(item));
}

py::object FunctionWalker::visitAttribute(Handle node, bool keepWrapper) {
  py::object baseNode = field(node, f.value), attribute = field(node, f.attr);
  py::object base = visitExpression(baseNode);
  PyObject *found = PyObject_GetAttr(base.ptr(), attribute.ptr());
  if (found) {
    py::object value = py::reinterpret_steal<py::object>(found);
    return keepWrapper ? value : unwrapConstexpr(value);
  }
  py::error_already_set problem; // takes it from Python
  // One of our own says more than that the name is missing (E0125).
  if (!problem.matches(PyExc_AttributeError) || py::hasattr(problem.value(), "code"))
    throw problem;
  std::string name = py::cast<std::string>(attribute);
  // constexpr objects are held bare: `BLOCK.value` is BLOCK.
  if (!isTensor(base) && !PyModule_Check(base.ptr()) && name == "value")
    return base;
  bool hasNoAttributes = isNumber(base) || py::isinstance<py::str>(base) || base.is_none();
  if (name == "type" && (hasNoAttributes || PyTuple_Check(base.ptr())))
    return LanguageNames::get().typeOf(base);
  // An int argument may be a number in one specialisation and a scalar in the
  // next; `n.to(tl.int64)` means the same in both.
  if (isNumber(base) && py::hasattr(LanguageNames::get().tensorClass, attribute))
    return wrapValue(toValue(semantic(), base, name)).attr(attribute);
  std::string text = unparse(baseNode) + "." + name;
  std::string near = nearestName(name, py::module_::import("builtins").attr("dir")(base));
  Error error = makeError(ErrorCode::E0104, fmt::arg("n", text), fmt::arg("near", near));
  py::object advice = py::module_::import("tilewright.language.elsewhere").attr("advice");
  std::string instead = py::cast<std::string>(advice(base, attribute));
  if (!instead.empty())
    error.setHelp(instead);
  else if (near.empty())
    error.setHelp("see the list of names in the language reference");
  throw error;
}

//===----------------------------------------------------------------------===//
// Strings, comprehensions
//===----------------------------------------------------------------------===//

py::object FunctionWalker::visitJoinedStr(Handle node) {
  py::list pieces;
  for (Handle part : py::reinterpret_borrow<py::list>(field(node, f.values))) {
    if (nodes.kind(part) != NodeKind::FormattedValue) {
      pieces.append(visitExpression(part));
      continue;
    }
    py::object valueNode = field(part, f.value);
    py::object value = visitExpression(valueNode);
    requireStatic(value, valueNode);
    int conversion = intField(part, f.conversion, -1);
    if (conversion == 'r')
      value = py::repr(value);
    else if (conversion == 's')
      value = py::str(value);
    else if (conversion == 'a')
      value = py::reinterpret_steal<py::object>(PyObject_ASCII(value.ptr()));
    py::object specNode = field(part, f.format_spec);
    py::object spec = specNode.is_none() ? py::object(py::str("")) : visitExpression(specNode);
    PyObject *text = PyObject_Format(value.ptr(), spec.ptr());
    if (!text)
      throw py::error_already_set();
    pieces.append(py::reinterpret_steal<py::object>(text));
  }
  return py::str("").attr("join")(pieces);
}

/// `[f(x) for x in t if c]` over a tuple: a tuple, one element after another.
py::object FunctionWalker::visitListComp(Handle node) {
  py::list generators(field(node, f.generators));
  if (generators.size() != 1)
    refuse("NestedComprehension");
  Handle generator = generators[0];
  py::object iterable = visitExpression(field(generator, f.iter));
  requireStatic(isTensor(iterable) ? iterable : py::none(), field(generator, f.iter));
  requireIterable(iterable);
  py::list results;
  Scope outer = scope;
  scope = outer.branch(); // the loop name stays inside
  for (Handle item : iterable) {
    assignTarget(field(generator, f.target), unwrapConstexpr(item));
    bool keep = true;
    for (Handle test : py::reinterpret_borrow<py::list>(field(generator, f.ifs))) {
      py::object value = visitExpression(test);
      requireStatic(value, test);
      keep = keep && PyObject_IsTrue(value.ptr()) == 1;
    }
    if (keep)
      results.append(visitExpression(field(node, f.elt)));
  }
  scope = outer;
  return py::tuple(results);
}

} // namespace tilewright
