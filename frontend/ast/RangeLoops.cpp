//===- RangeLoops.cpp - for over range and tl.range -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: scf.for for range and tl.range, with the hints of tl.range as attributes.
// Loops.cpp has what the loop carries, Unrolling.cpp tl.static_range.
//
// How: scf.for counts upward by a positive step and compares as signed. A
// descending range runs upward from stop to start, exclusive, with a mirrored
// index, and narrow unsigned bounds get a wider counter.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LoopArguments.h"
#include "frontend/python/LanguageNames.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"

namespace py = pybind11;

namespace tilewright {

namespace scf = mlir::scf;
using emit::MlirBuilder;
using semantic::DType;
using semantic::Literal;
using semantic::Operand;
using semantic::ScalarKind;
using semantic::Value;

struct FunctionWalker::RangeLoop {
  Operand start = Literal::integer(0), stop = Literal::integer(0), step = Literal::integer(1);
  bool descending = false;
  llvm::SmallVector<mlir::NamedAttribute> hints;
};

/// The numbers of a range as values of one type; the step is positive.
struct FunctionWalker::Bounds {
  Value start, stop, step;
  DType type;    // of the counter in the program
  DType counter; // of the counter of scf.for, which may be wider
  bool descending;

  const Value &low() const { return descending ? stop : start; }
  const Value &high() const { return descending ? start : stop; }
};

//===----------------------------------------------------------------------===//
// Reading the call
//===----------------------------------------------------------------------===//

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
    py::object value = visitExpression(iterator); // an undefined name is the better message
    refuse(isTensor(value) ? "ForOverTile" : "ForOverTuple");
  }
  const LanguageNames &names = LanguageNames::get();
  py::object callee = visitCallee(field(iterator, f.func));
  bool isLanguageRange = callee.is(names.rangeClass);
  bool isStatic = callee.is(names.staticRangeClass);
  if (!isLanguageRange && !isStatic && names.builtin(callee) != Builtin::Range)
    refuse(names.kindOfCallee(callee) == CalleeKind::Language ? "ForOverTile" : "ForOverTuple");
  py::dict kwargs;
  py::tuple args = visitArguments(iterator, kwargs);
  if (isStatic)
    return unrollRange(statement, args, kwargs, rest);
  RangeLoop range = readRange(iterator, args, kwargs, isLanguageRange);
  currentNode = statement;
  runRangeLoop(statement, range);
  return Flow::Next;
}

[[noreturn]] static void refuseBound(llvm::StringRef what) {
  throw makeError(
      ErrorCode::E0120,
      fmt::arg("message", fmt::format("range() takes integer scalars, not {}", what.str())),
      fmt::arg("help", "cast the bound with .to(tl.int32)"));
}

Operand FunctionWalker::readBound(Handle object) {
  std::optional<Operand> operand = tryOperand(object);
  if (!operand) {
    py::object bare = unwrapConstexpr(object);
    refuseBound(bare.is_none() ? "None" : Py_TYPE(bare.ptr())->tp_name);
  }
  return *operand;
}

/// Refuses bounds that are no integers.
static void checkBound(const Operand &bound) {
  if (const Value *value = std::get_if<Value>(&bound)) {
    if (value->type.isTile() || !value->type.scalar.isInteger())
      refuseBound(value->type.name());
  } else if (std::get<Literal>(bound).kind == Literal::Kind::Float) {
    refuseBound("a float");
  }
}

/// The parameters of tl.range; the hints stand from the fourth on.
static const char *const rangeParameters[] = {"arg1",
                                              "arg2",
                                              "step",
                                              "num_stages",
                                              "loop_unroll_factor",
                                              "disallow_acc_multi_buffer",
                                              "flatten",
                                              "warp_specialize",
                                              "disable_licm"};

FunctionWalker::RangeLoop FunctionWalker::readRange(Handle call, const py::tuple &args,
                                                    const py::dict &kwargs, bool isLanguageRange) {
  // Python's range takes the hints of tl.range too, and ignores them as Triton does.
  size_t mostPositional = isLanguageRange ? std::size(rangeParameters) : 3;
  std::vector<py::object> bound = bindRange(isLanguageRange ? "tl.range" : "range", rangeParameters,
                                            mostPositional, args, kwargs);
  RangeLoop range;
  bool hasStart = !bound[1].is_none();
  if (hasStart)
    range.start = readBound(bound[0]);
  range.stop = readBound(bound[hasStart]);
  if (!bound[2].is_none())
    range.step = readBound(bound[2]);
  for (const Operand *operand : {&range.start, &range.stop, &range.step})
    checkBound(*operand);
  readStep(range);
  if (isLanguageRange)
    readHints(range, bound, call);
  return range;
}

/// The direction of the range, which must be known; a step of the run time counts upward.
void FunctionWalker::readStep(RangeLoop &range) {
  const Literal *step = std::get_if<Literal>(&range.step);
  if (!step)
    return;
  if (step->intValue == 0)
    throw makeError(ErrorCode::E0117, fmt::arg("message", "step of 'range' is zero"),
                    fmt::arg("help", "use a step of at least 1, or a negative one to count down"));
  range.descending = step->intValue < 0 && !step->isUnsigned64;
}

void FunctionWalker::readHints(RangeLoop &range, const std::vector<Object> &bound, Handle call) {
  mlir::OpBuilder &builder = opBuilder();
  auto number = [&](size_t index, llvm::StringRef attribute, int64_t ignoredBelow) {
    if (bound[index].is_none())
      return;
    int64_t value = toLoopHint(bound[index], rangeParameters[index]);
    if (value >= ignoredBelow)
      range.hints.push_back(
          builder.getNamedAttr(attribute, builder.getI32IntegerAttr(static_cast<int32_t>(value))));
  };
  auto flag = [&](size_t index, llvm::StringRef attribute) {
    requireStatic(bound[index], call);
    if (PyObject_IsTrue(bound[index].ptr()) == 1)
      range.hints.push_back(builder.getNamedAttr(attribute, builder.getUnitAttr()));
  };
  number(3, ir::loopStagesAttr, 0);
  number(4, ir::loopUnrollAttr, 2); // below 2 means none
  flag(5, ir::loopSingleAccumulatorAttr);
  flag(6, ir::loopFlattenAttr);
  flag(7, ir::loopWarpSpecializeAttr);
  flag(8, ir::loopNoLicmAttr);
}

//===----------------------------------------------------------------------===//
// Bounds and counter
//===----------------------------------------------------------------------===//

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

FunctionWalker::Bounds FunctionWalker::makeBounds(RangeLoop &range) {
  if (range.descending) {
    Literal &step = std::get<Literal>(range.step);
    step.intValue = -step.intValue;
  }
  Bounds bounds;
  bounds.descending = range.descending;
  bounds.start = semantic().toValue(range.start);
  bounds.stop = semantic().toValue(range.stop);
  bounds.step = semantic().toValue(range.step);
  bounds.type = inductionType(semantic(), bounds.start, bounds.stop, bounds.step);
  bool widened = bounds.type.isUnsigned() && bounds.type.bitWidth() < 64;
  bounds.counter = widened ? DType(ScalarKind::Int64) : bounds.type;
  for (Value *bound : {&bounds.start, &bounds.stop, &bounds.step})
    *bound = semantic().cast(semantic().cast(*bound, bounds.type), bounds.counter);
  return bounds;
}

/// What the counter of a loop is if the loop runs no time, of the counter's type: what
/// the name was before, or anything where it was not. Nothing where no one reads it
/// after the loop, or it was something else; `reason` then says so.
std::optional<Value> FunctionWalker::counterBefore(Handle name, const Bounds &bounds,
                                                   std::string &reason) {
  if (!isReadOutsideItsLoops(name))
    return std::nullopt;
  Handle value = scope.find(name);
  if (!value)
    return semantic().cast(bounds.start, bounds.type);
  std::optional<Operand> number = tryOperand(value);
  if (number) {
    Value scalar = semantic().toValue(*number);
    if (!scalar.type.isTile() && scalar.type.scalar.isInteger())
      return semantic().cast(scalar, bounds.type);
  }
  reason = fmt::format("it is {} before the loop that counts with it; use two names",
                       describeValue(value));
  return std::nullopt;
}

/// The program's counter for an index of scf.for: start + stop - index where the range
/// descends.
Value FunctionWalker::counterInside(const Bounds &bounds, mlir::Value index) {
  Value counter = MlirBuilder::wrap(bounds.counter, index);
  if (bounds.descending)
    counter = semantic().arithmetic(
        semantic::Arithmetic::Sub, bounds.start,
        semantic().arithmetic(semantic::Arithmetic::Sub, counter, bounds.stop));
  return bounds.counter == bounds.type ? counter : semantic().cast(counter, bounds.type);
}

/// The last value of a counter that the body leaves alone: the start and as many steps as
/// fit. Not carried through the loop, so that passes see the loop as if no one asked.
Value FunctionWalker::counterAfter(const Bounds &bounds, const Value &old) {
  using A = semantic::Arithmetic;
  auto compute = [&](A op, const Value &lhs, const Operand &rhs) {
    return semantic().arithmetic(op, lhs, rhs);
  };
  Value extent = compute(A::Sub, compute(A::Sub, bounds.high(), bounds.low()), Literal::integer(1));
  Value distance = compute(A::Mul, compute(A::FloorDiv, extent, bounds.step), bounds.step);
  Value last = compute(bounds.descending ? A::Sub : A::Add, bounds.start, distance);
  Value ran = semantic().compare(semantic::Comparison::Less, bounds.low(), bounds.high());
  return semantic().where(ran, semantic().cast(last, old.type.scalar), old);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// An scf.for with the insertion point in its body, which has no terminator yet.
scf::ForOp FunctionWalker::startFor(const RangeLoop &range, const Bounds &bounds,
                                    const std::vector<Value> &initial) {
  auto op = opBuilder().create<scf::ForOp>(location(), MlirBuilder::unwrap(bounds.low()),
                                           MlirBuilder::unwrap(bounds.high()),
                                           MlirBuilder::unwrap(bounds.step), unwrapAll(initial));
  for (mlir::NamedAttribute hint : range.hints)
    op->setAttr(hint.getName(), hint.getValue());
  if (initial.empty())
    op.getBody()->getTerminator()->erase();
  opBuilder().setInsertionPointToStart(op.getBody());
  return op;
}

void FunctionWalker::runRangeLoop(Handle statement, RangeLoop &range) {
  Bounds bounds = makeBounds(range);
  py::object counter = field(field(statement, f.target), f.id);
  py::object body = field(statement, f.body);
  LoopNames names{assignedNames(function, body), scope, counter};
  std::string reason;
  std::optional<Value> old = counterBefore(counter, bounds, reason);
  // A body that assigns its counter must carry it, to be read after the loop.
  bool isCarried =
      old && llvm::any_of(names.assigned, [&](const Object &id) { return id.equal(counter); });
  scf::ForOp op;
  do {
    startAttempt(names);
    if (isCarried) {
      py::object first = wrapValue(*old);
      names.carried.push_back(
          {counter, ValueTree::flatten(semantic(), first, false, names.initial), first});
    }
    op = startFor(range, bounds, names.initial);
    bindCarried(names, op.getRegionIterArgs());
    scope.set(counter, wrapValue(counterInside(bounds, op.getInductionVar())));
    ++loopDepth;
    visitStatements(body, 0, nullptr);
    --loopDepth;
    currentNode = statement;
  } while (mustRepeat(names, op));
  finishLoop(names, op);
  if (!reason.empty())
    scope.hide(counter, reason);
  else if (old && !isCarried)
    scope.set(counter, wrapValue(counterAfter(bounds, *old)));
}

} // namespace tilewright
