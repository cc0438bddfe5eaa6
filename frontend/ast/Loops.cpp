//===- Loops.cpp - for and while ------------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: scf.for for range and tl.range, scf.while for while. Unrolling.cpp has
// tl.static_range.
//
// How the carried values are found: every name that the body assigns and that
// has a run-time value before the loop is carried. A compile-time value (a
// constexpr, an argument specialised to 1) stays one if the body, as it turns
// out, leaves it alone; if it does not, the body is dropped and visited again
// with the number as a run-time scalar. Values that the body assigns on dead
// paths only are carried for nothing; canonicalisation removes them.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LanguageNames.h"
#include "frontend/ast/LoopArguments.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"

namespace py = pybind11;

namespace tilewright {

namespace arith = mlir::arith;
namespace scf = mlir::scf;
using emit::MlirBuilder;
using semantic::DType;
using semantic::Literal;
using semantic::Operand;
using semantic::ScalarKind;
using semantic::Value;

/// Why names are gone after a loop.
static constexpr const char *madeInALoop =
    "it is first assigned inside a loop and does not outlive it; assign it before the loop";

struct FunctionWalker::Carried {
  Object name;
  ValueTree tree;
  Object before;
};

//===----------------------------------------------------------------------===//
// Carried values
//===----------------------------------------------------------------------===//

std::vector<FunctionWalker::Carried>
FunctionWalker::carriedNames(const std::vector<Object> &assigned, Promotions &promotions,
                             Handle inductionName, std::vector<Value> &initial) {
  std::vector<Carried> carried;
  for (const Object &id : assigned) {
    Handle value = scope.find(id);
    if (!value || (inductionName && id.equal(inductionName)))
      continue;
    size_t count = initial.size();
    ValueTree tree =
        ValueTree::flatten(semantic(), value, promotions[py::cast<std::string>(id)], initial);
    if (initial.size() != count)
      carried.push_back({id, std::move(tree), py::reinterpret_borrow<py::object>(value)});
  }
  return carried;
}

void FunctionWalker::bindCarried(const std::vector<Carried> &carried,
                                 const std::vector<Value> &leaves) {
  size_t position = 0;
  for (const Carried &entry : carried)
    scope.set(entry.name, entry.tree.rebuild(leaves, position));
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
std::vector<Value> FunctionWalker::collectCarried(const std::vector<Carried> &carried) {
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
  return leaves;
}

/// Notes the numbers that the body changed; true if there are any, so that the
/// loop must be made again with them as run-time scalars.
bool FunctionWalker::promoteChanged(const std::vector<Object> &assigned, const Scope &before,
                                    const Scope &after, Handle inductionName,
                                    Promotions &promotions) {
  bool changed = false;
  for (const Object &id : assigned) {
    Handle old = before.find(id), now = after.find(id);
    if (!old || !now || old.is(now) || (inductionName && id.equal(inductionName)))
      continue;
    std::set<size_t> &promoted = promotions[py::cast<std::string>(id)];
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
void FunctionWalker::leaveLoop(const Scope &inner, const char *reason) {
  for (auto [id, value] : inner.all())
    if (!scope.find(id))
      scope.hide(id, reason);
}

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

struct FunctionWalker::RangeLoop {
  Operand start = semantic::Literal::integer(0), stop = semantic::Literal::integer(0),
          step = semantic::Literal::integer(1);
  bool descending = false;
  llvm::SmallVector<mlir::NamedAttribute> hints;
};

FunctionWalker::Flow FunctionWalker::visitFor(Handle statement, const Rest &rest) {
  if (py::len(field(statement, f.orelse)) != 0)
    refuse("ForElse");
  py::object target = field(statement, f.target), iterator = field(statement, f.iter);
  if (nodes.kind(target) != NodeKind::Name) {
    currentNode = target;
    refuse("ForTarget");
  }
  currentNode = iterator;
  if (nodes.kind(iterator) != NodeKind::Call) {
    visitExpression(iterator); // an undefined name is the better message
    refuse("ForOverTuple");
  }
  const LanguageNames &names = LanguageNames::get();
  py::object callee = visitCallee(field(iterator, f.func));
  bool isLanguageRange = callee.is(names.rangeClass);
  bool isStatic = callee.is(names.staticRangeClass);
  if (!isLanguageRange && !isStatic && names.builtin(callee) != Builtin::Range)
    refuse("ForOverTuple");
  py::dict kwargs;
  py::tuple args = visitArguments(iterator, kwargs);
  if (isStatic)
    return unrollRange(statement, args, kwargs, rest);
  RangeLoop range = readRange(iterator, args, kwargs, isLanguageRange);
  currentNode = statement;
  runRangeLoop(statement, range);
  return Flow::Next;
}

FunctionWalker::RangeLoop FunctionWalker::readRange(Handle call, const py::tuple &args,
                                                    const py::dict &kwargs, bool isLanguageRange) {
  static const char *const names[] = {"arg1",
                                      "arg2",
                                      "step",
                                      "num_stages",
                                      "loop_unroll_factor",
                                      "disallow_acc_multi_buffer",
                                      "flatten",
                                      "warp_specialize",
                                      "disable_licm"};
  // Python's range takes the hints of tl.range too, and ignores them as Triton does.
  size_t mostPositional = isLanguageRange ? std::size(names) : 3;
  std::vector<py::object> bound =
      bindRange(isLanguageRange ? "tl.range" : "range", names, mostPositional, args, kwargs);
  RangeLoop range;
  auto refuseBound = [](llvm::StringRef what) {
    throw makeError(
        ErrorCode::E0120,
        fmt::arg("message", fmt::format("range() takes integer scalars, not {}", what.str())),
        fmt::arg("help", "cast the bound with .to(tl.int32)"));
  };
  auto readBound = [&](Handle value) {
    std::optional<Operand> operand = tryOperand(value);
    if (!operand) {
      py::object object = unwrapConstexpr(value);
      refuseBound(object.is_none() ? "None" : Py_TYPE(object.ptr())->tp_name);
    }
    return *operand;
  };
  bool hasStart = !bound[1].is_none();
  if (hasStart)
    range.start = readBound(bound[0]);
  range.stop = readBound(bound[hasStart]);
  if (!bound[2].is_none())
    range.step = readBound(bound[2]);
  for (const Operand *operand : {&range.start, &range.stop, &range.step}) {
    const Value *value = std::get_if<Value>(operand);
    const semantic::Literal *literal = std::get_if<semantic::Literal>(operand);
    bool isInteger = value ? !value->type.isTile() && value->type.scalar.isInteger()
                           : literal->kind != semantic::Literal::Kind::Float;
    if (!isInteger)
      refuseBound(value ? value->type.name() : "a float");
  }
  if (const semantic::Literal *step = std::get_if<semantic::Literal>(&range.step)) {
    if (step->intValue == 0)
      throw makeError(
          ErrorCode::E0117, fmt::arg("message", "step of 'range' is zero"),
          fmt::arg("help", "use a step of at least 1, or a negative one to count down"));
    range.descending = step->intValue < 0 && !step->isUnsigned64;
  }
  if (!isLanguageRange)
    return range;

  mlir::OpBuilder &builder = opBuilder();
  auto number = [&](size_t index, const char *name, llvm::StringRef attribute,
                    int64_t ignoredBelow) {
    if (bound[index].is_none())
      return;
    int64_t value = toLoopHint(bound[index], name);
    if (value >= ignoredBelow)
      range.hints.push_back(
          builder.getNamedAttr(attribute, builder.getI32IntegerAttr(static_cast<int32_t>(value))));
  };
  auto flag = [&](size_t index, llvm::StringRef attribute) {
    requireStatic(bound[index], call);
    if (PyObject_IsTrue(bound[index].ptr()) == 1)
      range.hints.push_back(builder.getNamedAttr(attribute, builder.getUnitAttr()));
  };
  number(3, "num_stages", ir::loopStagesAttr, 0);
  number(4, "loop_unroll_factor", ir::loopUnrollAttr, 2); // below 2 means none
  flag(5, ir::loopSingleAccumulatorAttr);
  flag(6, ir::loopFlattenAttr);
  flag(7, ir::loopWarpSpecializeAttr);
  flag(8, ir::loopNoLicmAttr);
  return range;
}

/// The type of the induction variable: start, stop and step meet by the rules
/// of integer arithmetic.
static DType inductionType(semantic::Semantic &semantic, const Value &start, const Value &stop,
                           const Value &step) {
  DType type = semantic.promote(start, stop, /*isDivisionOrModulo=*/false);
  Value carrier{semantic::Type(type), stop.handle};
  type = semantic.promote(carrier, step, false);
  // The boolean counts too, as the narrowest number a loop can have.
  return type.isBool() ? DType(ScalarKind::Int32) : type;
}

/// What the counter of a loop is if the loop runs no time, of the counter's type: what
/// the name was before, or anything where it was not. Nothing where no one reads it
/// after the loop, or it was something else; `reason` then says so.
std::optional<Value> FunctionWalker::counterBefore(Handle name, const DType &type,
                                                   const Value &start, std::string &reason) {
  if (!isReadOutsideItsLoops(name))
    return std::nullopt;
  Handle value = scope.find(name);
  if (!value)
    return semantic().cast(start, type);
  std::optional<Operand> number = tryOperand(value);
  if (number) {
    Value scalar = semantic().toValue(*number);
    if (!scalar.type.isTile() && scalar.type.scalar.isInteger())
      return semantic().cast(scalar, type);
  }
  reason = fmt::format("it is {} before the loop that counts with it; use two names",
                       describeValue(value));
  return std::nullopt;
}

/// The last value of a counter that the body leaves alone: the start and as many steps as
/// fit. Not carried through the loop, so that passes see the loop as if no one asked.
Value FunctionWalker::counterAfter(const RangeLoop &range, const Bounds &bounds, const Value &start,
                                   const Value &old) {
  using A = semantic::Arithmetic;
  auto compute = [&](A op, const Value &lhs, const Operand &rhs) {
    return semantic().arithmetic(op, lhs, rhs);
  };
  Value extent = compute(A::Sub, compute(A::Sub, bounds.high, bounds.low), Literal::integer(1));
  Value distance = compute(A::Mul, compute(A::FloorDiv, extent, bounds.step), bounds.step);
  Value last = compute(range.descending ? A::Sub : A::Add, start, distance);
  Value ran = semantic().compare(semantic::Comparison::Less, bounds.low, bounds.high);
  return semantic().where(ran, semantic().cast(last, old.type.scalar), old);
}

void FunctionWalker::runRangeLoop(Handle statement, RangeLoop &range) {
  // A descending range runs upward from stop to start, exclusive, and its index
  // is mirrored: i = start + stop - k.
  if (range.descending) {
    semantic::Literal &step = std::get<semantic::Literal>(range.step);
    step.intValue = -step.intValue;
  }
  Value start = semantic().toValue(range.start), stop = semantic().toValue(range.stop);
  Value step = semantic().toValue(range.step);
  DType type = inductionType(semantic(), start, stop, step);
  // scf.for compares as signed: narrow unsigned bounds get a wider counter.
  bool widened = type.isUnsigned() && type.bitWidth() < 64;
  DType counter = widened ? DType(ScalarKind::Int64) : type;
  for (Value *bound : {&start, &stop, &step})
    *bound = semantic().cast(semantic().cast(*bound, type), counter);
  Value low = range.descending ? stop : start, high = range.descending ? start : stop;

  py::object inductionName = field(field(statement, f.target), f.id);
  py::object body = field(statement, f.body);
  std::vector<Object> assigned = assignedNames(function, body);
  Promotions promotions;
  Scope before = scope;
  std::string reason;
  std::optional<Value> old = counterBefore(inductionName, type, start, reason);
  bool isCarried =
      old && llvm::any_of(assigned, [&](const Object &id) { return id.equal(inductionName); });
  while (true) {
    scope = before.branch();
    std::vector<Value> initial;
    std::vector<Carried> carried = carriedNames(assigned, promotions, inductionName, initial);
    if (isCarried) {
      py::object first = wrapValue(*old);
      carried.push_back(
          {inductionName, ValueTree::flatten(semantic(), first, false, initial), first});
    }
    llvm::SmallVector<mlir::Value> initialValues;
    for (const Value &value : initial)
      initialValues.push_back(MlirBuilder::unwrap(value));
    auto op = opBuilder().create<scf::ForOp>(location(), MlirBuilder::unwrap(low),
                                             MlirBuilder::unwrap(high), MlirBuilder::unwrap(step),
                                             initialValues);
    for (mlir::NamedAttribute hint : range.hints)
      op->setAttr(hint.getName(), hint.getValue());
    if (initialValues.empty())
      op.getBody()->getTerminator()->erase();
    opBuilder().setInsertionPointToStart(op.getBody());

    std::vector<Value> inside;
    for (auto [value, argument] : llvm::zip_equal(initial, op.getRegionIterArgs()))
      inside.push_back(MlirBuilder::wrap(value.type, argument));
    bindCarried(carried, inside);
    Value index = MlirBuilder::wrap(counter, op.getInductionVar());
    if (range.descending)
      index = semantic().arithmetic(semantic::Arithmetic::Sub, start,
                                    semantic().arithmetic(semantic::Arithmetic::Sub, index, stop));
    scope.set(inductionName, wrapValue(widened ? semantic().cast(index, type) : index));

    ++loopDepth;
    visitStatements(body, 0, nullptr);
    --loopDepth;
    currentNode = statement;

    if (promoteChanged(assigned, before, scope, inductionName, promotions) ||
        hideLostNames(before)) {
      opBuilder().setInsertionPointAfter(op);
      op.erase();
      continue;
    }
    llvm::SmallVector<mlir::Value> yielded;
    for (const Value &value : collectCarried(carried))
      yielded.push_back(MlirBuilder::unwrap(value));
    opBuilder().create<scf::YieldOp>(location(), yielded);
    opBuilder().setInsertionPointAfter(op);

    Scope inner = std::move(scope);
    scope = before.branch();
    std::vector<Value> results;
    for (auto [value, result] : llvm::zip_equal(initial, op.getResults()))
      results.push_back(MlirBuilder::wrap(value.type, result));
    bindCarried(carried, results);
    leaveLoop(inner, madeInALoop);
    if (!reason.empty())
      scope.hide(inductionName, reason);
    else if (old && !isCarried)
      scope.set(inductionName, wrapValue(counterAfter(range, {low, high, step}, start, *old)));
    return;
  }
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
  Promotions promotions;
  Scope before = scope;
  while (true) {
    scope = before.branch();
    std::vector<Value> initial;
    std::vector<Carried> carried = carriedNames(assigned, promotions, {}, initial);
    llvm::SmallVector<mlir::Value> initialValues;
    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Location> locations;
    for (const Value &value : initial) {
      initialValues.push_back(MlirBuilder::unwrap(value));
      types.push_back(initialValues.back().getType());
      locations.push_back(location());
    }
    auto op = opBuilder().create<scf::WhileOp>(location(), types, initialValues);
    auto enter = [&](mlir::Region &region) {
      mlir::Block *block = opBuilder().createBlock(&region, region.end(), types, locations);
      std::vector<Value> inside;
      for (auto [value, argument] : llvm::zip_equal(initial, block->getArguments()))
        inside.push_back(MlirBuilder::wrap(value.type, argument));
      bindCarried(carried, inside);
    };
    auto values = [&] {
      llvm::SmallVector<mlir::Value> out;
      for (const Value &value : collectCarried(carried))
        out.push_back(MlirBuilder::unwrap(value));
      return out;
    };

    enter(op.getBefore());
    ++loopDepth;
    py::object condition = visitExpression(test);
    Value holds;
    currentNode = test;
    if (std::optional<bool> known = staticCondition(condition, "while", holds))
      holds = semantic().toValue(semantic::Literal::boolean(*known));
    llvm::SmallVector<mlir::Value> forwarded = values();
    opBuilder().create<scf::ConditionOp>(location(), MlirBuilder::unwrap(holds), forwarded);

    enter(op.getAfter());
    visitStatements(body, 0, nullptr);
    --loopDepth;
    currentNode = statement;
    if (promoteChanged(assigned, before, scope, {}, promotions) || hideLostNames(before)) {
      opBuilder().setInsertionPointAfter(op);
      op.erase();
      continue;
    }
    llvm::SmallVector<mlir::Value> yielded = values();
    opBuilder().create<scf::YieldOp>(location(), yielded);
    opBuilder().setInsertionPointAfter(op);

    Scope inner = std::move(scope);
    scope = before.branch();
    std::vector<Value> results;
    for (auto [value, result] : llvm::zip_equal(initial, op.getResults()))
      results.push_back(MlirBuilder::wrap(value.type, result));
    bindCarried(carried, results);
    leaveLoop(inner, madeInALoop);
    return;
  }
}

} // namespace tilewright
