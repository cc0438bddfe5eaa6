//===- StatementVisitor.cpp - Statements and assignment -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: visits lists of statements in order, and says what assignment means. A
// Python number becomes a run-time scalar unless the name is annotated
// constexpr; every other value is bound as it is.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/StatementErrors.h"

namespace py = pybind11;

namespace tilewright {

FunctionWalker::Flow FunctionWalker::visitStatements(Handle statements, size_t index,
                                                     const Rest *rest) {
  py::list list = py::reinterpret_borrow<py::list>(statements);
  for (size_t n = list.size(); index < n; ++index) {
    Handle outer = currentNode;
    currentNode = list[index];
    Rest after{statements, index + 1, rest};
    // Statements after a return are never visited.
    if (visitStatement(list[index], after) == Flow::Returned)
      return Flow::Returned;
    currentNode = outer;
  }
  return Flow::Next;
}

FunctionWalker::Flow FunctionWalker::visitStatement(Handle statement, const Rest &rest) {
  switch (nodes.kind(statement)) {
  case NodeKind::Expr: {
    py::object value = field(statement, f.value);
    NodeKind kind = nodes.kind(value);
    if (kind == NodeKind::Call)
      visitCallStatement(value);
    else if (kind != NodeKind::Constant) // a docstring
      visitExpression(value);
    return Flow::Next;
  }
  case NodeKind::Assign:
    visitAssign(statement);
    return Flow::Next;
  case NodeKind::AugAssign:
    visitAugAssign(statement);
    return Flow::Next;
  case NodeKind::AnnAssign:
    visitAnnAssign(statement);
    return Flow::Next;
  case NodeKind::If:
    return visitIf(statement, rest);
  case NodeKind::For:
    return visitFor(statement, rest);
  case NodeKind::While:
    visitWhile(statement);
    return Flow::Next;
  case NodeKind::Return:
    return visitReturn(statement);
  case NodeKind::Assert:
    visitAssert(statement);
    return Flow::Next;
  case NodeKind::Pass:
    return Flow::Next;
  case NodeKind::Import:
    visitImport(statement);
    return Flow::Next;
  default:
    refuseNode(statement);
  }
}

/// `import pdb` where the interpreter is going to run the kernel.
void FunctionWalker::visitImport(Handle statement) {
  for (Handle alias : py::reinterpret_borrow<py::list>(field(statement, f.names))) {
    std::string name = py::cast<std::string>(field(alias, f.name));
    if (!walker.isRehearsal() || !LanguageNames::get().isDebugger(name))
      refuseNode(statement);
    py::object alternative = field(alias, f.asname);
    // `import a.b` binds a, `import a.b as c` binds a.b.
    py::module_ module = py::module_::import(name.c_str());
    if (alternative.is_none())
      scope.set(py::str(name.substr(0, name.find('.'))),
                py::module_::import(name.substr(0, name.find('.')).c_str()));
    else
      scope.set(alternative, module);
  }
}

FunctionWalker::Flow FunctionWalker::visitReturn(Handle statement) {
  if (loopDepth > 0)
    throw makeError(ErrorCode::E0115);
  if (mergingDepth > 0)
    throw ReturnReached{};
  py::object value = field(statement, f.value);
  returnValue = value.is_none() ? py::object(py::none()) : visitExpression(value);
  bool isKernel = walker.stack.size() == 1;
  if (isKernel && !returnValue.is_none())
    throw returnedValueError(describeValue(returnValue));
  return Flow::Returned;
}

void FunctionWalker::visitAssert(Handle statement) {
  py::object test = field(statement, f.test), message = field(statement, f.msg);
  py::object condition = visitExpression(test);
  py::object text =
      message.is_none() ? py::object(py::str(unparse(test))) : visitExpression(message);
  requireStatic(text, message);
  LanguageNames::get().deviceAssert(condition, py::str(text));
}

//===----------------------------------------------------------------------===//
// Assignment
//===----------------------------------------------------------------------===//

py::object FunctionWalker::toRunTime(Handle value) {
  if (isNumber(value))
    return wrapValue(toValue(semantic(), value, "value"));
  // The language's own records (block pointers) know which of their fields are
  // constants.
  bool isRecord = PyTuple_Check(value.ptr()) && !PyTuple_CheckExact(value.ptr()) &&
                  LanguageNames::isOfLanguage(py::type::of(value)) && py::hasattr(value, "_fields");
  if (!PyTuple_Check(value.ptr()) || isRecord)
    return py::reinterpret_borrow<py::object>(value);
  py::tuple items = py::reinterpret_borrow<py::tuple>(value);
  bool hasNumbers = false;
  for (Handle item : items)
    hasNumbers |= isNumber(item) || PyTuple_Check(item.ptr());
  if (!hasNumbers)
    return std::move(items);
  py::tuple converted(items.size());
  for (size_t i = 0; i < items.size(); ++i)
    converted[i] = toRunTime(items[i]);
  py::object type = py::type::of(value);
  return py::hasattr(type, "_make") ? py::object(type.attr("_make")(converted))
                                    : py::object(std::move(converted));
}

void FunctionWalker::assignName(Handle id, Handle value) { scope.set(id, value); }

/// Binds a name, or the elements of a tuple to the names of a tuple.
void FunctionWalker::assignTarget(Handle target, Handle value) {
  currentNode = target;
  switch (nodes.kind(target)) {
  case NodeKind::Name:
    return assignName(field(target, f.id), value);
  case NodeKind::Tuple:
  case NodeKind::List: {
    py::list targets(field(target, f.elts));
    for (Handle item : targets)
      if (nodes.kind(item) == NodeKind::Starred)
        refuse("Starred");
    if (!PyTuple_Check(value.ptr()))
      throw unpackedValueError(describeValue(value), targets.size());
    py::tuple items = py::reinterpret_borrow<py::tuple>(value);
    if (items.size() != targets.size())
      throw unpackedSizeError(items.size(), targets.size());
    for (size_t i = 0; i < items.size(); ++i)
      assignTarget(targets[i], items[i]);
    return;
  }
  case NodeKind::Starred:
    refuse("Starred");
  case NodeKind::Attribute:
    refuse("AttributeTarget");
  case NodeKind::Subscript:
    refuse("SubscriptTarget");
  default:
    refuseNode(target);
  }
}

/// What a name annotated constexpr gets stays as it is: a number is no run-time scalar.
/// A run-time value is taken as well, but not as another value of a name that the loop
/// around it would have to carry (assignedNames).
py::object FunctionWalker::keepConstant(Handle id, Handle value, Handle valueNode) {
  if (loopDepth > 0 && scope.find(id))
    requireStatic(value, valueNode);
  return py::reinterpret_borrow<py::object>(value);
}

/// `value` as the names of `target` hold it: a constant where `x: tl.constexpr` alone, before,
/// said so of the name; else what a run-time variable holds.
py::object FunctionWalker::toAssigned(Handle target, Handle value, Handle valueNode) {
  NodeKind kind = nodes.kind(target);
  if (kind == NodeKind::Name) {
    py::object id = field(target, f.id);
    if (scope.isMarkedConstant(id))
      return keepConstant(id, value, valueNode);
  } else if ((kind == NodeKind::Tuple || kind == NodeKind::List) && PyTuple_Check(value.ptr())) {
    py::list targets(field(target, f.elts));
    py::tuple items = py::reinterpret_borrow<py::tuple>(value), converted(items.size());
    if (items.size() == targets.size()) { // else assignTarget refuses
      for (size_t i = 0; i < items.size(); ++i)
        converted[i] = toAssigned(targets[i], items[i], valueNode);
      return std::move(converted);
    }
  }
  return toRunTime(value);
}

void FunctionWalker::visitAssign(Handle statement) {
  py::list targets(field(statement, f.targets));
  if (targets.size() != 1)
    refuse("ChainedAssign");
  Handle target = targets[0];
  if (nodes.kind(target) == NodeKind::Attribute) {
    // `self.x = value` in the constructor of a record, which checks it; of nothing else.
    py::object value = visitExpression(field(statement, f.value));
    py::object owner = visitExpression(field(target, f.value));
    currentNode = target;
    if (isTensor(owner) || !py::hasattr(py::type::of(owner), "__tilewright_set__"))
      refuse("AttributeTarget");
    owner.attr("__tilewright_set__")(field(target, f.attr), value);
    return;
  }
  py::object value = visitExpression(field(statement, f.value));
  assignTarget(target, toAssigned(target, value, field(statement, f.value)));
}

void FunctionWalker::visitAnnAssign(Handle statement) {
  py::object target = field(statement, f.target), valueNode = field(statement, f.value);
  bool isConstant = isConstexprAnnotation(function, field(statement, f.annotation));
  currentNode = statement;
  if (!isConstant) {
    if (!valueNode.is_none())
      assignTarget(target, toAssigned(target, visitExpression(valueNode), valueNode));
    return;
  }
  if (nodes.kind(target) != NodeKind::Name)
    refuse(nodes.kind(target) == NodeKind::Attribute ? "AttributeTarget" : "SubscriptTarget");
  py::object id = field(target, f.id);
  if (valueNode.is_none()) {
    scope.markConstant(id);
    scope.erase(id);
    return;
  }
  assignName(id, keepConstant(id, visitExpression(valueNode), valueNode));
}

void FunctionWalker::visitAugAssign(Handle statement) {
  py::object target = field(statement, f.target);
  if (nodes.kind(target) != NodeKind::Name)
    refuse(nodes.kind(target) == NodeKind::Attribute ? "AttributeTarget" : "SubscriptTarget");
  py::object id = field(target, f.id);
  py::object old = unwrapConstexpr(lookup(id));
  py::object value = binaryOperator(nodes.kind(field(statement, f.op)), old,
                                    visitExpression(field(statement, f.value)));
  assignName(id, toRunTime(value));
}

} // namespace tilewright
