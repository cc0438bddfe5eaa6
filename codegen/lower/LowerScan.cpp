//===- LowerScan.cpp - Prefix scans ---------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.scan, by the steps of ir/layout/ScanPlan.h, whose header explains
// the algorithm.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"
#include "codegen/lower/SharedExchange.h"
#include "ir/layout/ScanPlan.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class ScanLowering {
public:
  ScanLowering(ir::ScanOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), layout(FunctionLowering::layoutOf(op.getSources().front())) {}

  LogicalResult run() {
    std::vector<int> elementBits;
    for (Value source : op.getSources())
      elementBits.push_back(ir::elementBits(getElementTypeOrSelf(source)));
    std::optional<ScanPlan> found = planScan(layout, op.getAxis(), elementBits);
    if (!found)
      return op.emitOpError("cannot scan a swizzled layout; convert it first");
    plan = std::move(*found);

    int numRegisters = layout.inSize(InDim::Register);
    for (int reg = 0; reg < numRegisters; ++reg) {
      Registers &tuple = values.emplace_back();
      for (Value source : op.getSources())
        tuple.push_back(lowering.get(source)[reg]);
    }
    totals = values;
    for (ArrayRef<ScanStep> left(plan.steps); !left.empty();) {
      bool isInThread = left.front().dim == InDim::Register;
      ArrayRef<ScanStep> run = left.take_while(
          [&](const ScanStep &step) { return (step.dim == InDim::Register) == isInThread; });
      if (failed(isInThread ? joinRegisters(run) : joinThreads(run)))
        return failure();
      left = left.drop_front(run.size());
    }

    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      Registers registers;
      for (Registers &tuple : values)
        registers.push_back(tuple[index]);
      lowering.set(result, std::move(registers));
    }
    return success();
  }

private:
  FailureOr<Registers> combine(ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
    Registers operands(lhs);
    operands.append(rhs.begin(), rhs.end());
    return lowering.inlineCombine(op.getCombine(), operands);
  }

  /// The register that keeps the total of the run that `reg` lies in.
  int representative(int reg) const { return reg & ~mergedRegisterBits; }

  SmallVector<int> representatives() const {
    SmallVector<int> found;
    for (int reg = 0, end = static_cast<int>(values.size()); reg < end; ++reg)
      if (representative(reg) == reg)
        found.push_back(reg);
    return found;
  }

  LogicalResult joinRegisters(ArrayRef<ScanStep> steps) {
    for (const ScanStep &step : steps)
      if (failed(joinRegisters(step.mask)))
        return failure();
    return success();
  }

  LogicalResult joinRegisters(uint32_t mask) {
    int numRegisters = static_cast<int>(values.size());
    uint32_t firstBit = op.getReverse() ? mask : 0;
    for (int reg = 0; reg < numRegisters; ++reg) {
      if ((reg & mask) == firstBit)
        continue;
      FailureOr<Registers> joined = combine(totals[representative(reg ^ mask)], values[reg]);
      if (failed(joined))
        return failure();
      values[reg] = std::move(*joined);
    }
    for (int reg : representatives()) {
      if (reg & mask)
        continue;
      FailureOr<Registers> joined = combine(totals[reg ^ firstBit], totals[reg ^ firstBit ^ mask]);
      if (failed(joined))
        return failure();
      totals[reg] = std::move(*joined);
    }
    mergedRegisterBits |= mask;
    return success();
  }

  /// Where several values of a thread lie in one run, what comes before the run in other
  /// threads is combined first, and with each value once at the end.
  LogicalResult joinThreads(ArrayRef<ScanStep> steps) {
    SmallVector<int> owners = representatives();
    bool isDeferred = steps.size() > 1 && owners.size() < values.size();
    Prefixes prefixes;
    for (const ScanStep &step : steps) {
      Value isSecond = isInSecondRun(step);
      SmallVector<Registers> others = step.dim == InDim::Lane ? shuffleTotals(owners, step.mask)
                                                              : exchangeTotals(owners, step.mask);
      LogicalResult joined =
          isDeferred ? extend(prefixes, others, isSecond) : apply({others, isSecond}, owners);
      if (failed(joined) || failed(joinTotals(owners, others, isSecond)))
        return failure();
    }
    return isDeferred ? apply(prefixes, owners) : success();
  }

  /// Second in the direction of the scan: upper, or lower when reversed.
  Value isInSecondRun(const ScanStep &step) {
    OpBuilder &builder = lowering.builder;
    Value index = step.dim == InDim::Lane ? lowering.laneId() : lowering.warpId();
    Value bit = builder.create<LLVM::AndOp>(lowering.loc, index, lowering.constantI32(step.mask));
    return builder.create<LLVM::ICmpOp>(
        lowering.loc, op.getReverse() ? LLVM::ICmpPredicate::eq : LLVM::ICmpPredicate::ne, bit,
        lowering.constantI32(0));
  }

  SmallVector<Registers> shuffleTotals(ArrayRef<int> owners, uint32_t mask) {
    SmallVector<Registers> others;
    for (int reg : owners) {
      Registers &tuple = others.emplace_back();
      for (Value value : totals[reg])
        tuple.push_back(lowering.shuffleXor(value, mask));
    }
    return others;
  }

  /// slot = (total * warps + warp) * lanes + lane; the partner's has its warp.
  SmallVector<Registers> exchangeTotals(ArrayRef<int> owners, uint32_t mask) {
    OpBuilder &builder = lowering.builder;
    Location loc = lowering.loc;
    SharedExchange exchange(lowering, lowering.scratchOffset(op));
    int lanes = layout.inSize(InDim::Lane), warps = layout.inSize(InDim::Warp);
    Value lane =
        builder.create<LLVM::AndOp>(loc, lowering.laneId(), lowering.constantI32(lanes - 1));
    Value warp =
        builder.create<LLVM::AndOp>(loc, lowering.warpId(), lowering.constantI32(warps - 1));
    auto slotOf = [&](int total, Value ofWarp) {
      Value row = builder.create<LLVM::AddOp>(loc, ofWarp, lowering.constantI32(total * warps));
      Value start = builder.create<LLVM::MulOp>(loc, row, lowering.constantI32(lanes));
      return builder.create<LLVM::AddOp>(loc, start, lane).getResult();
    };
    // A step before this one may still be read.
    if (exchanged)
      lowering.barrier();
    exchanged = true;
    for (auto [total, reg] : llvm::enumerate(owners))
      for (auto [operand, value] : llvm::enumerate(totals[reg]))
        exchange.store(plan.operandOffsets[operand], slotOf(total, warp),
                       plan.storedBytes[operand] * 8, {value});
    lowering.barrier();
    Value partner = builder.create<LLVM::XOrOp>(loc, warp, lowering.constantI32(mask));
    SmallVector<Registers> others;
    for (auto [total, reg] : llvm::enumerate(owners)) {
      Registers &tuple = others.emplace_back();
      for (auto [operand, value] : llvm::enumerate(totals[reg]))
        tuple.push_back(exchange
                            .load(plan.operandOffsets[operand], slotOf(total, partner),
                                  plan.storedBytes[operand] * 8, value.getType(), 1)
                            .front());
    }
    return others;
  }

  /// What is to be combined before the values of each owner's run, in the threads where
  /// `isKnown` holds; elsewhere nothing is, and the registers mean nothing.
  struct Prefixes {
    SmallVector<Registers> ofOwners;
    Value isKnown;
  };

  /// `others`, the totals of the first runs, come before the prefixes in the second runs.
  LogicalResult extend(Prefixes &prefixes, ArrayRef<Registers> others, Value isSecond) {
    OpBuilder &builder = lowering.builder;
    if (!prefixes.isKnown) {
      prefixes = {SmallVector<Registers>(others), isSecond};
      return success();
    }
    for (auto [prefix, other] : llvm::zip(prefixes.ofOwners, others)) {
      FailureOr<Registers> joined = combine(other, prefix);
      if (failed(joined))
        return failure();
      for (auto [mine, both, theirs] : llvm::zip(prefix, *joined, other)) {
        Value second = builder.create<LLVM::SelectOp>(lowering.loc, prefixes.isKnown, both, theirs);
        mine = builder.create<LLVM::SelectOp>(lowering.loc, isSecond, second, mine);
      }
    }
    prefixes.isKnown = builder.create<LLVM::OrOp>(lowering.loc, prefixes.isKnown, isSecond);
    return success();
  }

  LogicalResult apply(const Prefixes &prefixes, ArrayRef<int> owners) {
    llvm::DenseMap<int, int> indexOfOwner;
    for (auto [index, reg] : llvm::enumerate(owners))
      indexOfOwner[reg] = index;
    for (auto [reg, tuple] : llvm::enumerate(values)) {
      FailureOr<Registers> joined =
          combine(prefixes.ofOwners[indexOfOwner[representative(reg)]], tuple);
      if (failed(joined))
        return failure();
      for (auto [mine, both] : llvm::zip(tuple, *joined))
        mine = lowering.builder.create<LLVM::SelectOp>(lowering.loc, prefixes.isKnown, both, mine);
    }
    return success();
  }

  /// The first run's total, then the second run's, in both.
  LogicalResult joinTotals(ArrayRef<int> owners, ArrayRef<Registers> others, Value isSecond) {
    OpBuilder &builder = lowering.builder;
    for (auto [index, reg] : llvm::enumerate(owners)) {
      Registers first, second;
      for (auto [mine, theirs] : llvm::zip(totals[reg], others[index])) {
        first.push_back(builder.create<LLVM::SelectOp>(lowering.loc, isSecond, theirs, mine));
        second.push_back(builder.create<LLVM::SelectOp>(lowering.loc, isSecond, mine, theirs));
      }
      FailureOr<Registers> joined = combine(first, second);
      if (failed(joined))
        return failure();
      totals[reg] = std::move(*joined);
    }
    return success();
  }

  ir::ScanOp op;
  FunctionLowering &lowering;
  LinearLayout layout;
  ScanPlan plan;
  /// values[register][operand]; totals likewise, valid at representatives.
  SmallVector<Registers> values, totals;
  int mergedRegisterBits = 0;
  bool exchanged = false;
};

LogicalResult lowerScan(Operation *op, FunctionLowering &lowering) {
  return ScanLowering(cast<ir::ScanOp>(op), lowering).run();
}

} // namespace

void addScanLowerings(LoweringTable &table) {
  table.add(ir::ScanOp::getOperationName(), lowerScan);
}

} // namespace tilewright::codegen
