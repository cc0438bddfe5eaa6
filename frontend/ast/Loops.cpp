//===- Loops.cpp - Carried values, and while ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the names that a loop carries, for every loop that stays one at run time,
// and scf.while for while. RangeLoops.cpp has range and tl.range, Unrolling.cpp
// tl.static_range.
//
// How the carried values are found: every name that the body assigns and that
// has a run-time value before the loop is carried. A compile-time value (a
// constexpr, an argument specialised to 1) stays one as long as the body leaves
// it alone. If the body changes it, what was made of the body is dropped, and
// the body is visited again with the number as a run-time scalar. Values that
// the body assigns on dead paths only are carried without need;
// canonicalisation removes them.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"

#include "frontend/emit/MlirTypes.h"

namespace py = pybind11;

namespace tilewright {

namespace scf = mlir::scf;
using emit::MlirBuilder;
using semantic::Value;

/// Why names are gone after a loop.
static constexpr const char *madeInALoop =
    "it is first assigned inside a loop and does not outlive it; assign it before the loop";

//===----------------------------------------------------------------------===//
// Carried values
//===----------------------------------------------------------------------===//

llvm::SmallVector<mlir::Value> FunctionWalker::unwrapAll(llvm::ArrayRef<Value> values) {
  llvm::SmallVector<mlir::Value> unwrapped;
  for (const Value &value : values)
    unwrapped.push_back(MlirBuilder::unwrap(value));
  return unwrapped;
}

/// The names with run-time values before the loop, whose leaves become `names.initial`.
std::vector<FunctionWalker::Carried> FunctionWalker::carriedNames(LoopNames &names) {
  std::vector<Carried> carried;
  names.initial.clear();
  for (const Object &id : names.assigned) {
    Handle value = scope.find(id);
    if (!value || (names.counter && id.equal(names.counter)))
      continue;
    size_t count = names.initial.size();
    ValueTree tree = ValueTree::flatten(semantic(), value,
                                        names.promotions[py::cast<std::string>(id)], names.initial);
    if (names.initial.size() != count)
      carried.push_back({id, std::move(tree), py::reinterpret_borrow<py::object>(value)});
  }
  return carried;
}

/// Gives the carried names their values of one place: arguments of a block or results.
void FunctionWalker::bindCarried(const LoopNames &names, mlir::ValueRange leaves) {
  std::vector<Value> values;
  for (auto [value, leaf] : llvm::zip_equal(names.initial, leaves))
    values.push_back(MlirBuilder::wrap(value.type, leaf));
  size_t position = 0;
  for (const Carried &entry : names.carried)
    scope.set(entry.name, entry.tree.rebuild(values, position));
}

static Error changedType(py::handle id, py::handle before, py::handle now) {
  std::string type = now ? describeValue(now) : "undefined";
  Error error = makeError(ErrorCode::E0118, fmt::arg("v", py::cast<std::string>(id)),
                          fmt::arg("t1", describeValue(before)), fmt::arg("t2", type));
  if (!isTensor(before) && !isNumber(before))
    error.setHelp(
        fmt::format("only values of the kernel can change in a loop; start it as {}", type));
  return error;
}

/// The carried names' values at the end of the body, as leaves.
llvm::SmallVector<mlir::Value> FunctionWalker::collectCarried(const std::vector<Carried> &carried) {
  std::vector<Value> leaves;
  for (const Carried &entry : carried) {
    Handle now = scope.find(entry.name);
    size_t count = leaves.size();
    if (now && entry.tree.match(semantic(), now, leaves))
      continue;
    leaves.resize(count);
    if (!now)
      scope.explainAbsence(entry.name); // raises where two branches disagree
    throw changedType(entry.name, entry.before, now);
  }
  return unwrapAll(leaves);
}

/// Notes the numbers that the body changed; true if there are any, so that the
/// loop must be made again with them as run-time scalars.
bool FunctionWalker::promoteChanged(LoopNames &names) {
  bool changed = false;
  for (const Object &id : names.assigned) {
    Handle old = names.before.find(id), now = scope.find(id);
    if (!old || !now || old.is(now) || (names.counter && id.equal(names.counter)))
      continue;
    std::set<size_t> &promoted = names.promotions[py::cast<std::string>(id)];
    if (ValueTree::findChangedNumbers(old, now, promoted)) {
      changed = true;
      continue;
    }
    // None, a type or a function cannot change at run time.
    std::vector<Value> leaves;
    ValueTree tree = ValueTree::flatten(semantic(), old, promoted, leaves);
    if (!tree.hasLeaves() && !tree.match(semantic(), now, leaves))
      throw changedType(id, old, now);
  }
  return changed;
}

/// Whether the body hid names that were there before: counters of loops inside it that
/// had another type. They are hidden around it too, and the loop must be made again.
bool FunctionWalker::hideLostNames(Scope &before) {
  std::vector<Object> lost;
  for (auto [id, value] : before.all())
    if (!scope.find(id))
      lost.push_back(py::reinterpret_borrow<Object>(id));
  for (const Object &id : lost)
    before.hide(id, scope.explainAbsence(id)); // raises where two branches disagree
  return !lost.empty();
}

/// Names that the body made do not outlive it.
void FunctionWalker::leaveLoop(const Scope &inner) {
  for (auto [id, value] : inner.all())
    if (!scope.find(id))
      scope.hide(id, madeInALoop);
}

//===----------------------------------------------------------------------===//
// Attempts at a loop
//===----------------------------------------------------------------------===//

void FunctionWalker::startAttempt(LoopNames &names) {
  scope = names.before.branch();
  names.carried = carriedNames(names);
}

/// Whether the body, which was visited, changed what was taken for constant: then `loop`
/// is erased, and another attempt knows better.
bool FunctionWalker::mustRepeat(LoopNames &names, mlir::Operation *loop) {
  if (!promoteChanged(names) && !hideLostNames(names.before))
    return false;
  opBuilder().setInsertionPointAfter(loop);
  loop->erase();
  return true;
}

/// Ends the body with the values for the next iteration, and goes on after the loop.
void FunctionWalker::finishLoop(const LoopNames &names, mlir::Operation *loop) {
  llvm::SmallVector<mlir::Value> yielded = collectCarried(names.carried);
  opBuilder().create<scf::YieldOp>(location(), yielded);
  opBuilder().setInsertionPointAfter(loop);
  Scope inner = std::move(scope);
  scope = names.before.branch();
  bindCarried(names, loop->getResults());
  leaveLoop(inner);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

void FunctionWalker::visitWhile(Handle statement) {
  if (py::len(field(statement, f.orelse)) != 0)
    refuse("WhileElse");
  py::object body = field(statement, f.body), test = field(statement, f.test);
  std::vector<Object> assigned = assignedNames(function, test);
  for (Object &id : assignedNames(function, body))
    assigned.push_back(std::move(id));
  LoopNames names{std::move(assigned), scope, {}};
  scf::WhileOp op;
  do {
    startAttempt(names);
    llvm::SmallVector<mlir::Value> initial = unwrapAll(names.initial);
    mlir::TypeRange types = mlir::ValueRange(initial).getTypes();
    llvm::SmallVector<mlir::Location> locations(initial.size(), location());
    op = opBuilder().create<scf::WhileOp>(location(), types, initial);
    auto enter = [&](mlir::Region &region) {
      mlir::Block *block = opBuilder().createBlock(&region, region.end(), types, locations);
      bindCarried(names, block->getArguments());
    };
    enter(op.getBefore());
    ++loopDepth;
    Value holds = visitWhileTest(test);
    llvm::SmallVector<mlir::Value> forwarded = collectCarried(names.carried);
    opBuilder().create<scf::ConditionOp>(location(), MlirBuilder::unwrap(holds), forwarded);
    enter(op.getAfter());
    visitStatements(body, 0, nullptr);
    --loopDepth;
    currentNode = statement;
  } while (mustRepeat(names, op));
  finishLoop(names, op);
}

Value FunctionWalker::visitWhileTest(Handle test) {
  py::object condition = visitExpression(test);
  Value holds;
  currentNode = test;
  if (std::optional<bool> known = staticCondition(condition, "while", holds))
    holds = semantic().toValue(semantic::Literal::boolean(*known));
  return holds;
}

} // namespace tilewright
