//===- FlattenLoops.cpp - A loop over tiles and its inner loop as one -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where tl.range(flatten=True) asks for it, makes one loop of a loop and the
// loop inside it.
//
// Why here: at tile level, before anything is known of layouts; PipelineLoops then
// starts the loads of the next tile while the last products and the results of
// this one are still under way.
//
// How:
//
//     for o in outer:                     for t in 0 .. outer trips * inner trips:
//       before(o)                           if k == 0: kept = before(o)
//       x = init                            x = select(k == 0, init, x)
//       for i in inner: x = body(i, x)      x = body(lower + k * step, x)
//       after(o, x)                         if k == last: after(o, x)
//                                           k, o advance
//
// Scalars that come before the inner loop are kept from its first iteration, and so are
// indices along one axis that one of its loads needs, such as the rows of a block, of
// which a thread has few. Other tiles are made again from them in each iteration, as
// registers are dearer than arithmetic. An inner loop that may not run at all keeps its
// two loops, on a branch.
//
// A variable of the inner loop that advances by the same amount in each iteration, as an
// address along K does, is computed as x0 + k * step. Carried, it would take registers, and
// what is known of its first value (that addresses lie in a row, are aligned) would be lost:
// before the first tile it has none.
//
// Example: rows and columns of a persistent product, which lie within the matrix by
// where(row < M, row, 0), took three instructions for each 16 bytes that are copied, in
// each iteration. An iteration of 128x128x128, by 4 warps on sm_90a, has 212 instructions
// where they are kept, and 295 where they are not (ptxas 13.0, November 2026).
//
// Not handled: memory accesses before the inner loop, several inner loops, bounds of
// the inner loop that change with the outer one, variables of the outer loop that the
// inner one changes.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_FLATTENLOOPS
#include "passes/Passes.h.inc"

/// Words of a tile of indices that is kept, over all threads: both sides of a product are
/// seldom longer, and a thread has one word for each vector of a tile that it copies. A guess.
static constexpr int64_t maxKeptWords = 256;

/// Whether `value` is a tile of few indices along one axis that takes arithmetic: ranges,
/// splats and constants cost next to nothing.
static bool isComputedAxis(Value value) {
  auto tile = llvm::dyn_cast<RankedTensorType>(value.getType());
  if (!tile || tile.getRank() != 1 || !tile.getElementType().isInteger())
    return false;
  unsigned bits = tile.getElementTypeBitWidth();
  return bits >= 32 && tile.getNumElements() * (bits / 32) <= maxKeptWords &&
         !llvm::isa<ir::SplatOp, ir::RangeOp, arith::ConstantOp>(value.getDefiningOp());
}

namespace {

class LoopFlattening {
public:
  LoopFlattening(scf::ForOp outer, const PassContext &context)
      : outer(outer), context(context), builder(outer), loc(outer.getLoc()) {}

  bool run() {
    if (!analyze())
      return false;
    outer->removeAttr(ir::loopFlattenAttr);
    makeTrips();
    if (innerAlwaysRuns) {
      replaceOuter(makeLoop());
    } else {
      // The original stays for inner loops of no iterations: without copies ahead.
      Value some =
          builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sgt, trips.inner, constant(0));
      auto branch =
          builder.create<scf::IfOp>(loc, outer.getResultTypes(), some, /*withElseRegion=*/true);
      for (auto [result, replaced] : llvm::zip(branch.getResults(), outer.getResults()))
        replaced.replaceAllUsesWith(result);
      builder.setInsertionPointToStart(branch.elseBlock());
      Operation *original = builder.clone(*outer);
      original->walk([&](scf::ForOp loop) {
        loop->setAttr(ir::loopStagesAttr, builder.getI32IntegerAttr(1));
      });
      yieldAtEnd(branch.elseBlock(), original->getResults());
      builder.setInsertionPointToStart(branch.thenBlock());
      yieldAtEnd(branch.thenBlock(), makeLoop());
      outer.erase();
    }
    return true;
  }

private:
  scf::ForOp outer, inner;
  const PassContext &context;
  OpBuilder builder;
  Location loc;
  bool innerAlwaysRuns = false;
  /// Iterations of each.
  struct {
    Value outer, inner;
  } trips;
  llvm::SmallVector<Operation *> before, after;
  /// How far each variable of the inner loop goes in an iteration, a tile or a scalar from
  /// outside of it; null for those that are carried.
  llvm::SmallVector<Value> steps;
  /// What all others use of `before`: values from a tile's first iteration, and tiles that
  /// are made again from them in each.
  llvm::SmallVector<Value> kept;
  struct {
    llvm::SmallVector<Operation *> once, inEach;
  } made;

  bool refuse(llvm::StringRef reason) {
    context.remark(outer, {"flatten", false, {}, {}, reason.str()});
    return false;
  }

  bool analyze() {
    for (Operation &op : outer.getBody()->without_terminator()) {
      bool isLoop = false;
      op.walk([&](Operation *nested) { isLoop |= llvm::isa<LoopLikeOpInterface>(nested); });
      if (!isLoop) {
        (inner ? after : before).push_back(&op);
        continue;
      }
      if (inner || !llvm::isa<scf::ForOp>(op))
        return refuse("it contains more than one loop, or not a plain one");
      inner = llvm::cast<scf::ForOp>(op);
    }
    if (!inner)
      return refuse("it contains no loop");
    bool isNested = false;
    inner.getBody()->walk([&](LoopLikeOpInterface) { isNested = true; });
    if (isNested)
      return refuse("its inner loop contains another one");
    for (Value bound : {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
      if (outer->isAncestor(bound.getParentBlock()->getParentOp()))
        return refuse("the bounds of its inner loop change with it");
    if (inner.getInductionVar().getType() != outer.getInductionVar().getType())
      return refuse("the two loops count in different types");
    for (Operation *op : before)
      if (!isMemoryEffectFree(op))
        return refuse("it accesses memory before its inner loop");
    for (BlockArgument variable : inner.getRegionIterArgs())
      steps.push_back(stepOf(variable));
    chooseKept();
    IntegerAttr lower, upper;
    innerAlwaysRuns = matchPattern(inner.getLowerBound(), m_Constant(&lower)) &&
                      matchPattern(inner.getUpperBound(), m_Constant(&upper)) &&
                      lower.getInt() < upper.getInt();
    return true;
  }

  /// What the inner loop adds to `variable` each time, if it is the same for all elements.
  Value stepOf(BlockArgument variable) {
    Operation *next = inner.getTiedLoopYieldedValue(variable)->get().getDefiningOp();
    Value step;
    if (auto address = llvm::dyn_cast_or_null<ir::AddPtrOp>(next)) {
      if (address.getPointer() == variable)
        step = address.getOffset();
    } else if (auto sum = llvm::dyn_cast_or_null<arith::AddIOp>(next)) {
      step = sum.getLhs() == variable   ? sum.getRhs()
             : sum.getRhs() == variable ? sum.getLhs()
                                        : Value();
    }
    if (!step || !inner.isDefinedOutsideOfLoop(step))
      return {};
    return !isTile(step) || isSplat(step) ? step : Value();
  }

  void chooseKept() {
    llvm::SetVector<Value> needed, neededOnce;
    auto isNeeded = [&](Value value) {
      return needed.contains(value) || llvm::any_of(value.getUsers(), [&](Operation *user) {
               return !llvm::is_contained(before, outer.getBody()->findAncestorOpInBlock(*user));
             });
    };
    auto isKept = [&](Value value) {
      return !isTile(value) || (isComputedAxis(value) && isIndexOfOneLoad(value));
    };
    for (Operation *op : llvm::reverse(before)) {
      if (llvm::none_of(op->getResults(), isNeeded))
        continue;
      if (llvm::all_of(op->getResults(), isKept)) {
        llvm::copy_if(op->getResults(), std::back_inserter(kept), isNeeded);
      } else {
        made.inEach.push_back(op);
        addNeeds(op, needed);
      }
    }
    std::reverse(kept.begin(), kept.end());
    neededOnce.insert(kept.begin(), kept.end());
    for (Operation *op : llvm::reverse(before))
      if (llvm::any_of(op->getResults(), [&](Value v) { return neededOnce.contains(v); })) {
        made.once.push_back(op);
        addNeeds(op, neededOnce);
      }
    for (auto *ops : {&made.once, &made.inEach})
      std::reverse(ops->begin(), ops->end());
  }

  /// Whether the inner loop uses `axis` for the address or the mask of one load, and for
  /// nothing else. Users of several layouts would convert it in each iteration; and what only
  /// the ops after the inner loop use is made there.
  bool isIndexOfOneLoad(Value axis) {
    Operation *load = nullptr;
    llvm::SetVector<Value> derived;
    derived.insert(axis);
    for (size_t next = 0; next < derived.size(); ++next)
      for (Operation *user : derived[next].getUsers()) {
        Operation *op = outer.getBody()->findAncestorOpInBlock(*user);
        if (llvm::is_contained(after, op))
          continue;
        if (user == inner || user == inner.getBody()->getTerminator()) {
          if (!followVariables(derived[next], derived))
            return false;
          continue;
        }
        if (llvm::isa<ir::LoadOp>(user) && (!load || load == user))
          load = user;
        else if (isMemoryEffectFree(user) && user->getNumRegions() == 0 &&
                 !user->hasTrait<OpTrait::IsTerminator>())
          derived.insert(user->result_begin(), user->result_end());
        else
          return false;
      }
    return load;
  }

  /// Adds the variables of the inner loop that start as `value` or become it; false where one
  /// of them is carried.
  bool followVariables(Value value, llvm::SetVector<Value> &derived) {
    for (auto [variable, init, yielded, step] :
         llvm::zip(inner.getRegionIterArgs(), inner.getInitArgs(),
                   inner.getBody()->getTerminator()->getOperands(), steps)) {
      if (init != value && yielded != value)
        continue;
      if (!step)
        return false;
      derived.insert(variable);
    }
    return true;
  }

  static void addNeeds(Operation *op, llvm::SetVector<Value> &needed) {
    needed.insert(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), needed);
  }

  Value constant(int64_t value) {
    return builder.create<arith::ConstantOp>(
        loc, builder.getIntegerAttr(inner.getInductionVar().getType(), value));
  }

  Value tripsOf(scf::ForOp loop) {
    Value span = builder.create<arith::SubIOp>(loc, loop.getUpperBound(), loop.getLowerBound());
    Value most = builder.create<arith::SubIOp>(loc, loop.getStep(), constant(1));
    Value count = builder.create<arith::DivSIOp>(
        loc, builder.create<arith::AddIOp>(loc, span, most), loop.getStep());
    return builder.create<arith::MaxSIOp>(loc, count, constant(0));
  }

  void makeTrips() { trips = {tripsOf(outer), tripsOf(inner)}; }

  /// One loop; returns what the variables of the outer loop become.
  llvm::SmallVector<Value> makeLoop() {
    Value zero = constant(0), one = constant(1);
    Value total = builder.create<arith::MulIOp>(loc, trips.outer, trips.inner);
    Value last = builder.create<arith::SubIOp>(loc, trips.inner, one);

    // k, o, variables of the outer loop, of the inner loop, kept values.
    llvm::SmallVector<Value> inits = {zero, outer.getLowerBound()};
    llvm::append_range(inits, outer.getInitArgs());
    for (auto [variable, step] : llvm::zip(inner.getInitArgs(), steps))
      if (!step)
        inits.push_back(startOf(variable.getType()));
    llvm::append_range(inits, startsOfKept());
    auto loop = builder.create<scf::ForOp>(loc, zero, total, one, inits);
    loop->setAttrs(inner->getDiscardableAttrDictionary());
    for (NamedAttribute attr : outer->getDiscardableAttrs())
      if (!loop->hasAttr(attr.getName()))
        loop->setAttr(attr.getName(), attr.getValue());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    makeBody(loop, last);
    unsigned numOuter = outer.getNumRegionIterArgs();
    return llvm::to_vector_of<Value>(loop.getResults().slice(2, numOuter));
  }

  /// A value that the first iteration replaces.
  Value startOf(Type type) {
    if (auto tile = llvm::dyn_cast<RankedTensorType>(type)) {
      Value scalar = startOf(tile.getElementType());
      return builder.createOrFold<ir::SplatOp>(loc, type, scalar);
    }
    if (llvm::isa<ir::PointerType, ir::DescriptorType>(type)) {
      Value null = builder.create<arith::ConstantIntOp>(loc, 0, 64);
      return builder.create<ir::IntToPtrOp>(loc, type, null);
    }
    return builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
  }

  /// As startOf, but where indices in a row are kept these are in a row as well: what is
  /// known of a variable of the loop is what holds of its start too, and the widths of
  /// accesses follow from it.
  llvm::SmallVector<Value> startsOfKept() {
    llvm::SmallVector<Value> starts;
    std::optional<AxisAnalysis> axes;
    for (Value value : kept) {
      auto tile = llvm::dyn_cast<RankedTensorType>(value.getType());
      if (tile && !axes)
        axes.emplace(outer->getParentOfType<func::FuncOp>());
      if (!tile || axes->get(value).contiguity.front() == 1) {
        starts.push_back(startOf(value.getType()));
        continue;
      }
      Type indices = tile.clone(builder.getI32Type());
      Value start = builder.create<ir::RangeOp>(loc, indices, 0, tile.getNumElements());
      starts.push_back(indices == tile ? start : builder.create<arith::ExtSIOp>(loc, tile, start));
    }
    return starts;
  }

  void makeBody(scf::ForOp loop, Value last) {
    auto arguments = loop.getRegionIterArgs();
    unsigned numOuter = outer.getNumRegionIterArgs(), numInner = llvm::count(steps, nullptr);
    Value k = arguments[0], o = arguments[1];
    IRMapping mapping;
    mapping.map(outer.getInductionVar(), o);
    for (auto [index, variable] : llvm::enumerate(outer.getRegionIterArgs()))
      mapping.map(variable, arguments[2 + index]);
    Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, k, constant(0));
    Value isLast = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, k, last);

    llvm::SmallVector<Value> keptNow =
        computeKept(isFirst, mapping, arguments.drop_front(2 + numOuter + numInner));
    for (auto [value, now] : llvm::zip(kept, keptNow))
      mapping.map(value, now);
    for (Operation *op : made.inEach)
      builder.clone(*op, mapping);

    Value offset = builder.create<arith::MulIOp>(loc, k, inner.getStep());
    mapping.map(inner.getInductionVar(),
                builder.create<arith::AddIOp>(loc, inner.getLowerBound(), offset));
    ValueRange carried = arguments.slice(2 + numOuter, numInner);
    for (auto [variable, init, step] :
         llvm::zip(inner.getRegionIterArgs(), inner.getInitArgs(), steps)) {
      Value start = mapping.lookupOrDefault(init);
      if (step) {
        mapping.map(variable, advanced(start, mapping.lookupOrDefault(step), variable, k));
        continue;
      }
      mapping.map(variable, builder.create<arith::SelectOp>(loc, isFirst, start, carried.front()));
      carried = carried.drop_front();
    }
    for (Operation &op : inner.getBody()->without_terminator())
      builder.clone(op, mapping);
    llvm::SmallVector<Value> innerNow;
    for (auto [result, yielded, step] :
         llvm::zip(inner.getResults(), inner.getBody()->getTerminator()->getOperands(), steps)) {
      Value now = mapping.lookupOrDefault(yielded);
      mapping.map(result, now);
      if (!step)
        innerNow.push_back(now);
    }

    llvm::SmallVector<Value> yielded = advance(k, o, isLast);
    llvm::append_range(yielded, finishTile(isLast, mapping, arguments.slice(2, numOuter)));
    llvm::append_range(yielded, innerNow);
    llvm::append_range(yielded, keptNow);
    builder.create<scf::YieldOp>(loc, yielded);
  }

  /// A variable that starts as `start` and has gone by `step` for `k` times. As many
  /// additions of the step in its own width, or of an offset in 64 bits, come to the same.
  Value advanced(Value start, Value step, BlockArgument variable, Value k) {
    Operation *next = inner.getTiedLoopYieldedValue(variable)->get().getDefiningOp();
    auto address = llvm::dyn_cast<ir::AddPtrOp>(next);
    Value scalar = isTile(step) ? splatScalar(step, builder) : step;
    Type width = address ? builder.getI64Type() : scalar.getType();
    auto resized = [&](Value number, bool isUnsigned) {
      return convertScalarToDtype(builder, loc, number, width, isUnsigned);
    };
    Value way = builder.create<arith::MulIOp>(
        loc, resized(scalar, address && address.getIsUnsigned()), resized(k, false));
    if (auto tile = llvm::dyn_cast<RankedTensorType>(step.getType()))
      way = builder.create<ir::SplatOp>(loc, tile.clone(width), way);
    if (address)
      return builder.create<ir::AddPtrOp>(loc, start, way);
    return builder.create<arith::AddIOp>(loc, start, way);
  }

  llvm::SmallVector<Value> computeKept(Value isFirst, const IRMapping &outside,
                                       ValueRange carried) {
    if (kept.empty())
      return {};
    auto branch = builder.create<scf::IfOp>(loc, TypeRange(carried), isFirst,
                                            /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping(outside);
    for (Operation *op : made.once)
      builder.clone(*op, mapping);
    llvm::SmallVector<Value> values;
    for (Value value : kept)
      values.push_back(mapping.lookup(value));
    yieldAtEnd(branch.thenBlock(), values);
    yieldAtEnd(branch.elseBlock(), carried);
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  /// Makes what comes after the inner loop; gives the outer loop's variables after that.
  llvm::SmallVector<Value> finishTile(Value isLast, IRMapping &mapping, ValueRange carried) {
    auto branch = builder.create<scf::IfOp>(loc, TypeRange(carried), isLast,
                                            /*withElseRegion=*/!carried.empty());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (Operation *op : after)
      builder.clone(*op, mapping);
    llvm::SmallVector<Value> values;
    for (Value yielded : outer.getBody()->getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(yielded));
    if (carried.empty())
      return {};
    yieldAtEnd(branch.thenBlock(), values);
    yieldAtEnd(branch.elseBlock(), carried);
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  llvm::SmallVector<Value> advance(Value k, Value o, Value isLast) {
    Value nextK = builder.create<arith::AddIOp>(loc, k, constant(1));
    Value nextO = builder.create<arith::AddIOp>(loc, o, outer.getStep());
    return {builder.create<arith::SelectOp>(loc, isLast, constant(0), nextK),
            builder.create<arith::SelectOp>(loc, isLast, nextO, o)};
  }

  void yieldAtEnd(Block *block, ValueRange values) {
    OpBuilder::InsertionGuard guard(builder);
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      block->back().erase();
    builder.setInsertionPointToEnd(block);
    builder.create<scf::YieldOp>(loc, values);
  }

  void replaceOuter(llvm::ArrayRef<Value> values) {
    for (auto [result, value] : llvm::zip(outer.getResults(), values))
      result.replaceAllUsesWith(value);
    outer.erase();
  }
};

class FlattenLoopsPass : public impl::FlattenLoopsBase<FlattenLoopsPass> {
public:
  explicit FlattenLoopsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(ir::loopFlattenAttr))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      ++(LoopFlattening(loop, context).run() ? numFlattened : numRefused);
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createFlattenLoops(PassContext context) {
  return std::make_unique<FlattenLoopsPass>(std::move(context));
}

} // namespace tilewright::passes
