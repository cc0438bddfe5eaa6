//===- ControlFlow.cpp - if and conditional expressions -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: an `if` whose condition is known at compile time visits one branch and
// leaves no trace; a run-time condition makes an scf.if. After the branches every
// name is one of:
//   unchanged          the same object on both sides: stays
//   merged             two values of one type: a result of the scf.if
//   in one branch only gone, and a later use says so
//   of two types       gone if it is new (a later use is E0105), E0105 at once if
//                      it had a value before
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/StatementErrors.h"

#include "llvm/Support/SaveAndRestore.h"

namespace py = pybind11;

namespace tilewright {

namespace scf = mlir::scf;
using semantic::Operand;
using semantic::Value;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// A run-time condition as an i1 scalar.
Value FunctionWalker::scalarCondition(const Value &value, const char *construct) {
  Value scalar = value;
  if (value.type.isTile()) {
    if (value.type.numElements() != 1)
      throw tileConditionError(construct, value.type.name());
    scalar = semantic().item(value);
  }
  return scalar.type.scalar.isBool()
             ? scalar
             : semantic().cast(scalar, semantic::DType(semantic::ScalarKind::Int1));
}

std::optional<bool> FunctionWalker::staticCondition(Handle value, const char *construct,
                                                    Value &condition) {
  if (isTensor(value)) {
    condition = scalarCondition(unwrapValue(value), construct);
    return std::nullopt;
  }
  bool isAllowed = value.is_none() || PyBool_Check(value.ptr()) || PyLong_Check(value.ptr());
  if (!isAllowed)
    throw wrongConditionError(construct, Py_TYPE(value.ptr())->tp_name);
  return PyObject_IsTrue(value.ptr()) == 1;
}

//===----------------------------------------------------------------------===//
// The if statement
//===----------------------------------------------------------------------===//

FunctionWalker::Flow FunctionWalker::visitIf(Handle statement, const Rest &rest) {
  py::object testNode = field(statement, f.test);
  py::object test = visitExpression(testNode);
  Value condition;
  currentNode = testNode;
  std::optional<bool> known = staticCondition(test, "if", condition);
  currentNode = statement;
  if (known)
    return visitStatements(field(statement, *known ? f.body : f.orelse), 0, &rest);

  py::object body = field(statement, f.body), orelse = field(statement, f.orelse);
  // Inside a loop, or inside an `if` on trial, a return raises by itself.
  bool mayReturn =
      loopDepth == 0 && mergingDepth == 0 && (containsReturn(body) || containsReturn(orelse));
  if (!mayReturn) {
    visitMergingIf(statement, condition);
    return Flow::Next;
  }
  if (!returnsDirectly(body) && !returnsDirectly(orelse)) {
    // The return may be under a condition that is false now. Assume so; if the
    // assumption fails, drop what was made and start again.
    Scope before = scope.branch();
    mlir::Block *block = opBuilder().getInsertionBlock();
    mlir::Operation *last = block->empty() ? nullptr : &block->back();
    try {
      visitMergingIf(statement, condition);
      return Flow::Next;
    } catch (const ReturnReached &) {
      mergingDepth = 0;
      currentNode = statement;
      scope = std::move(before);
      while (!block->empty() && &block->back() != last)
        block->back().erase();
      opBuilder().setInsertionPointToEnd(block);
    }
  }
  visitReturningIf(statement, condition, rest);
  return Flow::Returned;
}

scf::IfOp FunctionWalker::startIf(const Value &condition) {
  return opBuilder().create<scf::IfOp>(location(), mlir::TypeRange(),
                                       emit::MlirBuilder::unwrap(condition),
                                       /*addThenBlock=*/true, /*addElseBlock=*/true);
}

std::vector<Value> FunctionWalker::finishIf(scf::IfOp op, Branch &first, Branch &second) {
  mlir::Location loc = location();
  std::vector<semantic::Type> types;
  llvm::SmallVector<mlir::Type> mlirTypes;
  for (Branch *branch : {&first, &second}) {
    llvm::SmallVector<mlir::Value> results;
    opBuilder().setInsertionPointToEnd(branch->block);
    for (const Operand &leaf : branch->leaves) {
      Value value = semantic().toValue(leaf); // numbers are made where they are needed
      results.push_back(emit::MlirBuilder::unwrap(value));
      if (branch == &first) {
        types.push_back(value.type);
        mlirTypes.push_back(results.back().getType());
      }
    }
    opBuilder().create<scf::YieldOp>(loc, results);
  }
  // The number of results is known only now: move both bodies to a new op.
  opBuilder().setInsertionPoint(op);
  auto complete =
      opBuilder().create<scf::IfOp>(op.getLoc(), mlirTypes, op.getCondition(), false, false);
  complete.getThenRegion().takeBody(op.getThenRegion());
  // An else without effect on names and without ops need not be.
  bool emptyElse = types.empty() && second.block->getOperations().size() == 1;
  if (!emptyElse)
    complete.getElseRegion().takeBody(op.getElseRegion());
  op.erase();
  opBuilder().setInsertionPointAfter(complete);
  std::vector<Value> results;
  for (auto [type, result] : llvm::zip_equal(types, complete.getResults()))
    results.push_back(emit::MlirBuilder::wrap(type, result));
  return results;
}

/// Joins what the branches made of one name in one tree; false where there is none for both.
bool FunctionWalker::mergeName(Merge &merge, Handle left, Handle right, Branch &first,
                               Branch &second) {
  size_t leftCount = first.leaves.size(), rightCount = second.leaves.size();
  if (ValueTree::merge(left, right, merge.tree, first.leaves, second.leaves))
    return true;
  first.leaves.resize(leftCount, semantic::Literal::integer(0));
  second.leaves.resize(rightCount, semantic::Literal::integer(0));
  return false;
}

/// Gives the scope after the `if` the names that both branches leave alike, and hides
/// those that they do not have both; the rest are merged, their leaves kept in the branches.
std::vector<FunctionWalker::Merge> FunctionWalker::mergeNames(Handle statement, const Scope &before,
                                                              Branch &first, Branch &second) {
  std::vector<Merge> merges;
  std::string inOneBranch =
      fmt::format("it is assigned in one branch of the 'if' in line {} only; assign it before",
                  intField(statement, f.lineno, 0));
  for (auto [id, left] : first.scope.all()) {
    Handle right = second.scope.find(id), old = before.find(id);
    if (!right) {
      scope.hide(id, inOneBranch);
      continue;
    }
    if (right.is(left)) {
      if (!old || !old.is(left))
        scope.set(id, left);
      continue;
    }
    Merge merge{py::reinterpret_borrow<py::object>(id), {}};
    if (mergeName(merge, left, right, first, second)) {
      merges.push_back(std::move(merge));
      continue;
    }
    // What was None before has a value in one branch only.
    if (old && !old.is_none())
      throw makeError(ErrorCode::E0105,
                      fmt::arg("problem", mismatchOfName(py::cast<std::string>(py::str(id)))),
                      fmt::arg("t1", describeValue(left)), fmt::arg("t2", describeValue(right)));
    scope.hideConflict(id, describeValue(left), describeValue(right));
  }
  for (auto [id, right] : second.scope.all())
    if (!first.scope.find(id))
      scope.hide(id, inOneBranch);
  for (const Branch *branch : {&first, &second})
    scope.inheritAbsences(branch->scope);
  return merges;
}

void FunctionWalker::visitMergingIf(Handle statement, const Value &condition) {
  scf::IfOp op = startIf(condition);
  Scope before = scope;
  Branch branches[2] = {{op.thenBlock(), {}, {}, {}}, {op.elseBlock(), {}, {}, {}}};
  PyObject *bodies[2] = {f.body, f.orelse};
  ++mergingDepth;
  for (int i = 0; i < 2; ++i) {
    scope = before.branch();
    opBuilder().setInsertionPointToStart(branches[i].block);
    visitStatements(field(statement, bodies[i]), 0, nullptr);
    branches[i].scope = std::move(scope);
  }
  --mergingDepth;
  currentNode = statement;

  scope = before.branch();
  std::vector<Merge> merges = mergeNames(statement, before, branches[0], branches[1]);
  std::vector<Value> results = finishIf(op, branches[0], branches[1]);
  size_t position = 0;
  for (const Merge &merge : merges)
    scope.set(merge.name, merge.tree.rebuild(results, position));
}

//===----------------------------------------------------------------------===//
// Branches that return
//===----------------------------------------------------------------------===//

/// Visits what comes after an `if` up to the end of the function, inside the
/// branch that the insertion point is in. Where both branches go on and one of
/// them may return further inside, that is made twice, and each such `if` after
/// it doubles it again.
void FunctionWalker::finishRest(const Rest *rest) {
  constexpr int maxRepetitions = 64;
  // Compilers walk regions by recursion: this many, and no more, fit every stack.
  constexpr int maxDepth = 256;
  std::vector<size_t> place;
  for (const Rest *outer = rest; outer; outer = outer->next)
    if (outer == rest || outer->loop)
      place.insert(place.end(), {reinterpret_cast<size_t>(outer->statements.ptr()), outer->index});
  bool isRepeated = rest && ++repetitions[place] > maxRepetitions;
  if (isRepeated || restDepth >= maxDepth)
    throw Error(ErrorCode::E0114,
                isRepeated
                    ? fmt::format("the statements after this 'if' would be repeated more than {} "
                                  "times",
                                  maxRepetitions)
                    : fmt::format("more than {} ifs that may return follow each other", maxDepth),
                "return at the end of a branch, not deeper inside, or set a flag and test it");
  llvm::SaveAndRestore depth(restDepth, restDepth + 1);
  for (; rest; rest = rest->next) {
    Flow flow = rest->loop ? visitIterations(*rest->loop, rest->index, rest->next)
                           : visitStatements(rest->statements, rest->index, rest->next);
    if (flow == Flow::Returned)
      break;
  }
  if (!rest)
    returnValue = nothingReturned();
}

void FunctionWalker::visitReturningIf(Handle statement, const Value &condition, const Rest &rest) {
  scf::IfOp op = startIf(condition);
  Scope before = scope;
  Branch branches[2] = {{op.thenBlock(), {}, {}, {}}, {op.elseBlock(), {}, {}, {}}};
  PyObject *bodies[2] = {f.body, f.orelse};
  for (int i = 0; i < 2; ++i) {
    scope = before.branch();
    currentNode = statement;
    opBuilder().setInsertionPointToStart(branches[i].block);
    if (visitStatements(field(statement, bodies[i]), 0, &rest) == Flow::Next)
      finishRest(&rest);
    branches[i].block = opBuilder().getInsertionBlock();
    branches[i].value = std::move(returnValue);
  }
  currentNode = statement;
  returnValue = mergeReturned(op, branches[0], branches[1]);
}

py::object FunctionWalker::nothingReturned() {
  // An object of no other use: what a function gives that ends without a return.
  return py::reinterpret_borrow<py::object>(Py_NotImplemented);
}

/// A zero of the type of `value`, in the block that the insertion point is in.
static Operand zeroLike(semantic::Semantic &semantic, const Value &value) {
  const semantic::DType &type = value.type.scalar;
  Value zero = semantic.scalarConstant(semantic::Literal::integer(0), type);
  return value.type.isTile() ? semantic.broadcastTo(zero, value.type.shape) : zero;
}

/// The value of the function for both branches of `op`, which it ends. Where one of them
/// runs to the end of the function and the other one returns something, the value is
/// undefined on that way (a zero): callers may know that it is never taken.
py::object FunctionWalker::mergeReturned(scf::IfOp op, Branch &first, Branch &second) {
  bool firstEnds = first.value.is(nothingReturned()),
       secondEnds = second.value.is(nothingReturned());
  if (firstEnds == secondEnds)
    return mergeValue(op, first, second, fmt::format("Return type mismatch: {}() gives", name));
  Branch &returning = firstEnds ? second : first, &other = firstEnds ? first : second;
  std::vector<Value> leaves;
  ValueTree tree =
      ValueTree::flatten(semantic(), returning.value, /*numbersAreLeaves=*/false, leaves);
  opBuilder().setInsertionPointToEnd(other.block);
  for (const Value &leaf : leaves) {
    returning.leaves.push_back(leaf);
    other.leaves.push_back(zeroLike(semantic(), leaf));
  }
  std::vector<Value> results = finishIf(op, first, second);
  size_t position = 0;
  return tree.rebuild(results, position);
}

/// One value for both branches of `op`, which it ends.
py::object FunctionWalker::mergeValue(scf::IfOp op, Branch &first, Branch &second,
                                      const std::string &problem) {
  ValueTree tree;
  if (!ValueTree::merge(first.value, second.value, tree, first.leaves, second.leaves))
    throw makeError(ErrorCode::E0105, fmt::arg("problem", problem),
                    fmt::arg("t1", describeValue(first.value)),
                    fmt::arg("t2", describeValue(second.value)));
  std::vector<Value> results = finishIf(op, first, second);
  size_t position = 0;
  return tree.rebuild(results, position);
}

py::object FunctionWalker::visitIfExp(Handle node) {
  py::object testNode = field(node, f.test);
  py::object test = visitExpression(testNode);
  Value condition;
  currentNode = testNode;
  std::optional<bool> known = staticCondition(test, "if ... else", condition);
  currentNode = node;
  if (known)
    return visitExpression(field(node, *known ? f.body : f.orelse));
  scf::IfOp op = startIf(condition);
  Scope before = scope;
  Branch branches[2] = {{op.thenBlock(), {}, {}, {}}, {op.elseBlock(), {}, {}, {}}};
  PyObject *bodies[2] = {f.body, f.orelse};
  for (int i = 0; i < 2; ++i) {
    scope = before.branch();
    opBuilder().setInsertionPointToStart(branches[i].block);
    branches[i].value = visitExpression(field(node, bodies[i]));
  }
  scope = before;
  return mergeValue(op, branches[0], branches[1],
                    "Ternary expression with dynamic condition has inconsistent types:");
}

} // namespace tilewright
