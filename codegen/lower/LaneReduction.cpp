//===- LaneReduction.cpp - Reductions within a warp ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/LaneReduction.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::codegen {

static bool isWholeWarp(ArrayRef<uint32_t> masks) {
  uint32_t all = 0;
  for (uint32_t mask : masks)
    all |= mask;
  return all == 31;
}

LogicalResult LaneReduction::fold() {
  plan.foldByHalves(bestHalvings());
  ArrayRef<uint32_t> masks(plan.laneMasks);
  for (uint32_t mask : masks.take_front(plan.numHalvings))
    if (failed(foldHalf(mask)))
      return failure();
  return foldLanes(masks.drop_front(plan.numHalvings));
}

FailureOr<Registers> LaneReduction::combine(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  Registers operands(lhs);
  operands.append(rhs.begin(), rhs.end());
  return lowering.inlineCombine(op.getCombine(), operands);
}

/// One op of two operands that may be swapped: the order of lanes is free.
bool LaneReduction::isCommutative() {
  Block &block = op.getCombine().front();
  if (block.getOperations().size() != 2)
    return false;
  Operation &only = block.front();
  return only.hasTrait<OpTrait::IsCommutative>() ||
         isa<arith::AddFOp, arith::MulFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp>(only);
}

/// "add.s32" where one instruction folds 32-bit integers over a warp; else empty.
StringRef LaneReduction::reduxOperation() {
  Block &block = op.getCombine().front();
  if (!lowering.target.hasIntegerRedux || !isCommutative() ||
      !partials.front().front().getType().isInteger(32))
    return "";
  return TypeSwitch<Operation *, StringRef>(&block.front())
      .Case<arith::AddIOp>([](Operation *) { return "add.s32"; })
      .Case<arith::MinSIOp>([](Operation *) { return "min.s32"; })
      .Case<arith::MaxSIOp>([](Operation *) { return "max.s32"; })
      .Case<arith::MinUIOp>([](Operation *) { return "min.u32"; })
      .Case<arith::MaxUIOp>([](Operation *) { return "max.u32"; })
      .Case<arith::AndIOp>([](Operation *) { return "and.b32"; })
      .Case<arith::OrIOp>([](Operation *) { return "or.b32"; })
      .Case<arith::XOrIOp>([](Operation *) { return "xor.b32"; })
      .Default([](Operation *) { return ""; });
}

/// How many of the lane masks are folded by halves: as many as take the fewest issue slots of a
/// scheduler, of which a shuffle takes two (32 lanes per cycle and multiprocessor, sm_80 to sm_90).
int LaneReduction::bestHalvings() {
  constexpr int shuffle = 2;
  // Steps that wait for selects, and results that are waited for once more where they come back:
  // too long for what two results would save.
  constexpr int waitForHalves = 4, waitForResults = 4;
  int operands = static_cast<int>(op.getSources().size());
  int ordering = isCommutative() ? 0 : 2 * operands;
  int fold = shuffle * operands + ordering +
             static_cast<int>(op.getCombine().front().getOperations().size()) - 1;
  int masks = static_cast<int>(plan.laneMasks.size());
  int log2Results = llvm::Log2_64(plan.groups.size());
  if (isWholeWarp(plan.laneMasks) && !reduxOperation().empty())
    return 0;
  auto cost = [&](int halvings) {
    int results = static_cast<int>(plan.groups.size()), sum = 0;
    if (halvings)
      sum = waitForHalves;
    if (halvings && !plan.needsExchange())
      sum += results * operands * shuffle + (1 << halvings) + waitForResults;
    for (int step = 0; step < halvings; ++step, results /= 2)
      sum += results / 2 * (fold + 2 * operands);
    return sum + (masks - halvings) * results * fold;
  };
  int best = 0;
  for (int halvings = 1; halvings <= std::min(masks, log2Results); ++halvings)
    if (cost(halvings) < cost(best))
      best = halvings;
  return best;
}

Value LaneReduction::hasLaneBit(uint32_t mask) {
  Value bit = lowering.builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(),
                                                   lowering.constantI32(mask));
  return lowering.builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::ne, bit,
                                               lowering.constantI32(0));
}

/// (condition ? high : low, condition ? low : high), value by value.
std::pair<Registers, Registers> LaneReduction::exchangeIf(Value condition, ArrayRef<Value> low,
                                                          ArrayRef<Value> high) {
  std::pair<Registers, Registers> result;
  for (auto [first, second] : llvm::zip(low, high)) {
    auto choose = [&](Value ifTrue, Value ifFalse) {
      return lowering.builder.create<LLVM::SelectOp>(lowering.loc, condition, ifTrue, ifFalse);
    };
    result.first.push_back(choose(second, first));
    result.second.push_back(choose(first, second));
  }
  return result;
}

/// `kept` with what lane ^ mask gives; the lane without the mask comes first where the order counts.
FailureOr<Registers> LaneReduction::combineAcross(uint32_t mask, ArrayRef<Value> kept,
                                                  ArrayRef<Value> given) {
  Registers first(kept), second;
  for (Value value : given)
    second.push_back(lowering.shuffleXor(value, mask));
  if (!isCommutative())
    std::tie(first, second) = exchangeIf(hasLaneBit(mask), first, second);
  return combine(first, second);
}

/// Gives the half of the results to lane ^ mask that it keeps, and combines the other half with
/// what that lane has of it.
LogicalResult LaneReduction::foldHalf(uint32_t mask) {
  Value isUpper = hasLaneBit(mask);
  size_t half = partials.size() / 2;
  for (size_t result = 0; result < half; ++result) {
    auto [kept, given] = exchangeIf(isUpper, partials[result], partials[result + half]);
    FailureOr<Registers> joined = combineAcross(mask, kept, given);
    if (failed(joined))
      return failure();
    partials[result] = std::move(*joined);
  }
  partials.resize(half);
  return success();
}

void LaneReduction::spreadHeld() {
  if (plan.numHalvings == 0)
    return;
  OpBuilder &builder = lowering.builder;
  uint32_t halved = 0;
  for (uint32_t mask : ArrayRef(plan.laneMasks).take_front(plan.numHalvings))
    halved |= mask;
  Value first = builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(),
                                            lowering.constantI32(~halved & 31));
  SmallVector<Registers> all(plan.groups.size());
  for (size_t result = 0; result < plan.groups.size(); ++result) {
    Value holder = builder.create<LLVM::OrOp>(
        lowering.loc, first, lowering.constantI32(plan.holderOf(static_cast<int>(result))));
    for (Value value : partials[result % plan.numHeld()])
      all[result].push_back(lowering.shuffleIndex(value, holder));
  }
  partials = std::move(all);
}

LogicalResult LaneReduction::foldLanes(ArrayRef<uint32_t> masks) {
  StringRef redux = isWholeWarp(masks) ? reduxOperation() : "";
  if (!redux.empty()) {
    std::string assembly = "redux.sync." + redux.str() + " $0, $1, 0xffffffff;";
    for (Registers &mine : partials)
      mine = {lowering.inlineAsm(mine.front().getType(), mine, assembly, "=r,r",
                                 /*hasSideEffects=*/false)};
    return success();
  }
  for (uint32_t mask : masks)
    for (Registers &mine : partials) {
      FailureOr<Registers> joined = combineAcross(mask, mine, mine);
      if (failed(joined))
        return failure();
      mine = std::move(*joined);
    }
  return success();
}

} // namespace tilewright::codegen
