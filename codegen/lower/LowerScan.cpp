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
      ArrayRef<ScanStep> run =
          left.take_until([](const ScanStep &step) { return step.dim == InDim::Register; });
      if (failed(run.empty() ? joinRegisters(left.front().mask) : joinThreads(run)))
        return failure();
      left = left.drop_front(std::max<size_t>(run.size(), 1));
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
  /// What is to be combined before the values of each owner's run, in the threads where
  /// `isKnown` holds; elsewhere nothing is, and the registers mean nothing.
  struct Prefixes {
    SmallVector<Registers> ofOwners;
    Value isKnown;
  };

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

  /// Where more than two values of a thread lie in one run, what comes before the run in other
  /// threads is combined first, and with each value once at the end. With two, to select what
  /// is known costs as much as that saves.
  LogicalResult joinThreads(ArrayRef<ScanStep> steps) {
    SmallVector<int> owners = representatives();
    bool isDeferred = steps.size() > 1 && 2 * owners.size() < values.size();
    Prefixes prefixes;
    while (!steps.empty()) {
      ArrayRef<ScanStep> warps =
          steps.take_while([](const ScanStep &step) { return step.dim == InDim::Warp; });
      bool isAtOnce = warps.size() > 1 && owners.size() << warps.size() <= maxTotalsAtOnce;
      ArrayRef<ScanStep> next = isAtOnce ? warps : steps.take_front();
      FailureOr<Prefixes> before = isAtOnce ? joinWarps(next, owners) : join(next.front(), owners);
      if (failed(before) || failed(isDeferred ? extend(prefixes, *before) : apply(*before, owners)))
        return failure();
      steps = steps.drop_front(next.size());
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

  /// Totals in shared memory: slot = (total * warps + warp) * lanes + lane.
  class TotalsOfWarps {
  public:
    TotalsOfWarps(ScanLowering &scan)
        : scan(scan), lowering(scan.lowering), exchange(lowering, lowering.scratchOffset(scan.op)),
          lanes(scan.layout.inSize(InDim::Lane)), warps(scan.layout.inSize(InDim::Warp)) {
      lane = bitsOf(lowering.laneId(), lanes - 1);
      warp = bitsOf(lowering.warpId(), warps - 1);
    }

    void store(ArrayRef<int> owners) {
      // What was stored before may still be read.
      if (scan.exchanged)
        lowering.barrier();
      scan.exchanged = true;
      for (auto [total, reg] : llvm::enumerate(owners))
        for (auto [operand, value] : llvm::enumerate(scan.totals[reg]))
          exchange.store(scan.plan.operandOffsets[operand], slotOf(total, warp),
                         scan.plan.storedBytes[operand] * 8, {value});
      lowering.barrier();
    }

    SmallVector<Registers> load(ArrayRef<int> owners, Value ofWarp) {
      SmallVector<Registers> loaded;
      for (auto [total, reg] : llvm::enumerate(owners)) {
        Registers &tuple = loaded.emplace_back();
        for (auto [operand, value] : llvm::enumerate(scan.totals[reg]))
          tuple.push_back(exchange
                              .load(scan.plan.operandOffsets[operand], slotOf(total, ofWarp),
                                    scan.plan.storedBytes[operand] * 8, value.getType(), 1)
                              .front());
      }
      return loaded;
    }

    Value bitsOf(Value index, int64_t mask) {
      return lowering.builder.create<LLVM::AndOp>(lowering.loc, index, lowering.constantI32(mask));
    }

    ScanLowering &scan;
    FunctionLowering &lowering;
    SharedExchange exchange;
    int lanes, warps;
    Value lane, warp;

  private:
    Value slotOf(int total, Value ofWarp) {
      OpBuilder &builder = lowering.builder;
      Value row =
          builder.create<LLVM::AddOp>(lowering.loc, ofWarp, lowering.constantI32(total * warps));
      Value start = builder.create<LLVM::MulOp>(lowering.loc, row, lowering.constantI32(lanes));
      return builder.create<LLVM::AddOp>(lowering.loc, start, lane);
    }
  };

  SmallVector<Registers> exchangeTotals(ArrayRef<int> owners, uint32_t mask) {
    TotalsOfWarps ofWarps(*this);
    ofWarps.store(owners);
    return ofWarps.load(owners, lowering.builder.create<LLVM::XOrOp>(lowering.loc, ofWarps.warp,
                                                                     lowering.constantI32(mask)));
  }

  /// Totals of a thread, times warps, up to which each warp reads those of all others: one
  /// exchange instead of one for each bit, which would wait at two barriers each. A guess.
  static constexpr size_t maxTotalsAtOnce = 32;

  /// All steps over warps at once: each combines the totals of all of them in order.
  FailureOr<Prefixes> joinWarps(ArrayRef<ScanStep> steps, ArrayRef<int> owners) {
    OpBuilder &builder = lowering.builder;
    SmallVector<uint32_t> places{0}; // bits of the warp, in the order of the scan
    for (const ScanStep &step : steps)
      for (size_t index = 0, end = places.size(); index < end; ++index)
        places.push_back(places[index] | step.mask);
    uint32_t allBits = places.back();
    if (op.getReverse())
      std::reverse(places.begin(), places.end());

    TotalsOfWarps ofWarps(*this);
    ofWarps.store(owners);
    Value place = ofWarps.bitsOf(ofWarps.warp, allBits);
    Value rest = ofWarps.bitsOf(ofWarps.warp, ~allBits & (ofWarps.warps - 1));
    auto isAt = [&](uint32_t where, LLVM::ICmpPredicate predicate) {
      return builder.create<LLVM::ICmpOp>(lowering.loc, predicate, place,
                                          lowering.constantI32(where));
    };
    SmallVector<Registers> running, before;
    for (size_t index = 0; index < places.size(); ++index) {
      Value warp =
          builder.create<LLVM::OrOp>(lowering.loc, rest, lowering.constantI32(places[index]));
      SmallVector<Registers> loaded = ofWarps.load(owners, warp);
      if (index == 0)
        before = running = std::move(loaded);
      else if (failed(combineAll(running, loaded)))
        return failure();
      if (index == 0 || index + 1 == places.size())
        continue;
      Value isNext = isAt(places[index + 1], LLVM::ICmpPredicate::eq);
      for (auto [tuple, sofar] : llvm::zip(before, running))
        for (auto [mine, value] : llvm::zip(tuple, sofar))
          mine = builder.create<LLVM::SelectOp>(lowering.loc, isNext, value, mine);
    }
    for (auto [total, reg] : llvm::zip(running, owners))
      totals[reg] = total;
    return Prefixes{std::move(before), isAt(places.front(), LLVM::ICmpPredicate::ne)};
  }

  /// first[i] becomes first[i] and second[i] combined.
  LogicalResult combineAll(MutableArrayRef<Registers> first, ArrayRef<Registers> second) {
    for (auto [left, right] : llvm::zip(first, second)) {
      FailureOr<Registers> joined = combine(left, right);
      if (failed(joined))
        return failure();
      left = std::move(*joined);
    }
    return success();
  }

  /// One step: two neighbouring runs of threads become one.
  FailureOr<Prefixes> join(const ScanStep &step, ArrayRef<int> owners) {
    Value isSecond = isInSecondRun(step);
    SmallVector<Registers> others = step.dim == InDim::Lane ? shuffleTotals(owners, step.mask)
                                                            : exchangeTotals(owners, step.mask);
    if (failed(joinTotals(owners, others, isSecond)))
      return failure();
    return Prefixes{std::move(others), isSecond};
  }

  /// `before` comes before the prefixes, where it is known.
  LogicalResult extend(Prefixes &prefixes, const Prefixes &before) {
    OpBuilder &builder = lowering.builder;
    if (!prefixes.isKnown) {
      prefixes = before;
      return success();
    }
    for (auto [prefix, other] : llvm::zip(prefixes.ofOwners, before.ofOwners)) {
      FailureOr<Registers> joined = combine(other, prefix);
      if (failed(joined))
        return failure();
      for (auto [mine, both, theirs] : llvm::zip(prefix, *joined, other)) {
        Value longer = builder.create<LLVM::SelectOp>(lowering.loc, prefixes.isKnown, both, theirs);
        mine = builder.create<LLVM::SelectOp>(lowering.loc, before.isKnown, longer, mine);
      }
    }
    prefixes.isKnown = builder.create<LLVM::OrOp>(lowering.loc, prefixes.isKnown, before.isKnown);
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
