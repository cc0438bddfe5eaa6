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
    for (size_t first = 0; first < plan.steps.size();) {
      bool isInThread = plan.steps[first].dim == InDim::Register;
      size_t end = first;
      while (end < plan.steps.size() && (plan.steps[end].dim == InDim::Register) == isInThread)
        ++end;
      if (failed(isInThread ? joinRegisters(stepsFrom(first, end)) : joinThreads(first, end)))
        return failure();
      first = end;
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

  ArrayRef<ScanStep> stepsFrom(size_t first, size_t end) {
    return ArrayRef(plan.steps).slice(first, end - first);
  }

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

  /// The numbers that the bits of steps make, in the order of the scan.
  SmallVector<uint32_t> placesOf(ArrayRef<ScanStep> steps) {
    SmallVector<uint32_t> places{0};
    for (const ScanStep &step : steps)
      for (size_t index = 0, end = places.size(); index < end; ++index)
        places.push_back(places[index] | step.mask);
    if (op.getReverse())
      std::reverse(places.begin(), places.end());
    return places;
  }

  /// One run after the other. A tree would be shallower, and combine half of the runs, and their
  /// totals, for each bit.
  LogicalResult joinRegisters(ArrayRef<ScanStep> steps) {
    spreadTotals();
    SmallVector<uint32_t> places = placesOf(steps);
    uint32_t allBits = places.front() | places.back();
    llvm::DenseMap<int, Registers> before;
    for (int first : representatives()) {
      if (first & allBits)
        continue;
      Registers total = totals[first | places.front()];
      for (uint32_t place : ArrayRef(places).drop_front()) {
        int reg = first | place;
        if (isJoined)
          before[reg] = total;
        FailureOr<Registers> joined = combine(total, totals[reg]);
        if (failed(joined))
          return failure();
        total = std::move(*joined);
        if (!isJoined)
          values[reg] = total;
      }
      totals[first] = std::move(total);
    }
    for (auto [reg, tuple] : llvm::enumerate(values)) {
      auto found = before.find(representative(reg));
      if (found == before.end())
        continue;
      FailureOr<Registers> joined = combine(found->second, tuple);
      if (failed(joined))
        return failure();
      tuple = std::move(*joined);
    }
    mergedRegisterBits |= allBits;
    isJoined = true;
    return success();
  }

  /// Where more than two values of a thread lie in one run, what comes before the run in other
  /// threads is combined first, and with each value once at the end. With two, to select what
  /// is known costs as much as that saves.
  LogicalResult joinThreads(size_t first, size_t end) {
    SmallVector<int> owners = representatives();
    bool isDeferred =
        plan.steps[first].dim != plan.steps[end - 1].dim && 2 * owners.size() < values.size();
    Prefixes prefixes;
    while (first < end) {
      size_t next = first + stepsTogether(plan.steps, first, owners.size());
      ArrayRef<ScanStep> steps = stepsFrom(first, next);
      FailureOr<Prefixes> before =
          steps.front().dim == InDim::Lane ? joinLanes(steps, owners) : joinWarps(steps, owners);
      if (failed(before) || failed(isDeferred ? extend(prefixes, *before) : apply(*before, owners)))
        return failure();
      isJoined = true;
      first = next;
    }
    return isDeferred ? apply(prefixes, owners) : success();
  }

  //===--------------------------------------------------------------------===//
  // Lanes
  //===--------------------------------------------------------------------===//

  Value constant(uint32_t bits) { return lowering.constantI32(static_cast<int32_t>(bits)); }

  /// Lane with `clear` taken out of its number and `set` put into it.
  Value laneWith(uint32_t clear, uint32_t set) {
    OpBuilder &builder = lowering.builder;
    Value cleared = builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(), constant(~clear));
    return builder.create<LLVM::OrOp>(lowering.loc, cleared, constant(set));
  }

  /// Second in the direction of the scan: upper, or lower when reversed.
  Value isSecond(const ScanStep &step) {
    OpBuilder &builder = lowering.builder;
    Value bit = builder.create<LLVM::AndOp>(lowering.loc, lowering.laneId(), constant(step.mask));
    return builder.create<LLVM::ICmpOp>(
        lowering.loc, op.getReverse() ? LLVM::ICmpPredicate::eq : LLVM::ICmpPredicate::ne, bit,
        constant(0));
  }

  Registers shuffled(ArrayRef<Value> tuple, Value source) {
    Registers others;
    for (Value value : tuple)
      others.push_back(lowering.shuffleIndex(value, source));
    return others;
  }

  /// Scans the totals over lanes: in each step those of the second run take what the last lane of
  /// the first has. In the last lane of all lies the total then. What the last step took.
  FailureOr<SmallVector<Registers>> scanLanes(ArrayRef<ScanStep> steps, ArrayRef<int> owners) {
    OpBuilder &builder = lowering.builder;
    bool isReversed = op.getReverse();
    uint32_t joined = 0;
    SmallVector<Registers> taken;
    for (const ScanStep &step : steps) {
      taken.clear();
      Value second = isSecond(step);
      Value source = isReversed ? laneWith(joined, step.mask) : laneWith(step.mask, joined);
      for (int reg : owners) {
        taken.push_back(shuffled(totals[reg], source));
        FailureOr<Registers> both = combine(taken.back(), totals[reg]);
        if (failed(both))
          return failure();
        for (auto [mine, value] : llvm::zip(totals[reg], *both))
          mine = builder.create<LLVM::SelectOp>(lowering.loc, second, value, mine);
      }
      joined |= step.mask;
    }
    laneOfTotals = isReversed ? laneWith(joined, 0) : laneWith(0, joined);
    return taken;
  }

  /// The lane before this one in the order of the scan; the last one for the first.
  Value previousLane(ArrayRef<ScanStep> steps) {
    OpBuilder &builder = lowering.builder;
    // As 1 is subtracted: bits change up to the lowest one that is set.
    Value changes, flipped = lowering.laneId();
    for (const ScanStep &step : steps) {
      Value mask = constant(step.mask), isSet = isSecond(step);
      if (changes)
        mask = builder.create<LLVM::SelectOp>(lowering.loc, changes, mask, constant(0));
      flipped = builder.create<LLVM::XOrOp>(lowering.loc, flipped, mask);
      Value isClear = builder.create<LLVM::XOrOp>(
          lowering.loc, isSet, builder.create<LLVM::ConstantOp>(lowering.loc, isSet.getType(), 1));
      changes = changes ? builder.create<LLVM::AndOp>(lowering.loc, changes, isClear).getResult()
                        : isClear;
    }
    return flipped;
  }

  /// All steps over neighbouring bits of the lane.
  FailureOr<Prefixes> joinLanes(ArrayRef<ScanStep> steps, ArrayRef<int> owners) {
    bool isAllThereIs = !isJoined && owners.size() == values.size();
    FailureOr<SmallVector<Registers>> taken = scanLanes(steps, owners);
    if (failed(taken))
      return failure();
    if (isAllThereIs) {
      values = totals;
      return Prefixes{};
    }
    if (steps.size() == 1)
      return Prefixes{std::move(*taken), isSecond(steps.front())};
    OpBuilder &builder = lowering.builder;
    Value previous = previousLane(steps), isKnown;
    for (const ScanStep &step : steps) {
      Value second = isSecond(step);
      isKnown = isKnown ? builder.create<LLVM::OrOp>(lowering.loc, isKnown, second) : second;
    }
    Prefixes before{{}, isKnown};
    for (int reg : owners)
      before.ofOwners.push_back(shuffled(totals[reg], previous));
    return before;
  }

  /// Totals in all lanes, where the last one of a run alone has them.
  void spreadTotals() {
    if (laneOfTotals)
      for (int reg : representatives())
        totals[reg] = shuffled(totals[reg], laneOfTotals);
    laneOfTotals = nullptr;
  }

  //===--------------------------------------------------------------------===//
  // Warps
  //===--------------------------------------------------------------------===//

  /// Totals in shared memory: slot = (total * warps + warp) * lanes + lane.
  class TotalsOfWarps {
  public:
    TotalsOfWarps(ScanLowering &scan)
        : scan(scan), lowering(scan.lowering), exchange(lowering, lowering.scratchOffset(scan.op)),
          lanes(scan.layout.inSize(InDim::Lane)), warps(scan.layout.inSize(InDim::Warp)) {
      lane = bitsOf(lowering.laneId(), lanes - 1);
      laneOfTotals = scan.laneOfTotals ? bitsOf(scan.laneOfTotals, lanes - 1) : lane;
      warp = bitsOf(lowering.warpId(), warps - 1);
    }

    void store(ArrayRef<int> owners) {
      // What was stored before may still be read.
      if (scan.exchanged)
        lowering.barrier();
      scan.exchanged = true;
      for (auto [total, reg] : llvm::enumerate(owners))
        for (auto [operand, value] : llvm::enumerate(scan.totals[reg]))
          exchange.store(scan.plan.operandOffsets[operand], slotOf(total, warp, lane),
                         scan.plan.storedBytes[operand] * 8, {value});
      lowering.barrier();
    }

    SmallVector<Registers> load(ArrayRef<int> owners, Value ofWarp) {
      SmallVector<Registers> loaded;
      for (auto [total, reg] : llvm::enumerate(owners)) {
        Registers &tuple = loaded.emplace_back();
        for (auto [operand, value] : llvm::enumerate(scan.totals[reg]))
          tuple.push_back(exchange
                              .load(scan.plan.operandOffsets[operand],
                                    slotOf(total, ofWarp, laneOfTotals),
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
    Value lane, laneOfTotals, warp;

  private:
    Value slotOf(int total, Value ofWarp, Value ofLane) {
      OpBuilder &builder = lowering.builder;
      Value row =
          builder.create<LLVM::AddOp>(lowering.loc, ofWarp, lowering.constantI32(total * warps));
      Value start = builder.create<LLVM::MulOp>(lowering.loc, row, lowering.constantI32(lanes));
      return builder.create<LLVM::AddOp>(lowering.loc, start, ofLane);
    }
  };

  /// Steps over warps at once: each warp combines the totals of all of them in order.
  FailureOr<Prefixes> joinWarps(ArrayRef<ScanStep> steps, ArrayRef<int> owners) {
    OpBuilder &builder = lowering.builder;
    SmallVector<uint32_t> places = placesOf(steps);
    uint32_t allBits = places.front() | places.back();

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
    laneOfTotals = nullptr;
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
    if (!prefixes.isKnown)
      return success();
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

  ir::ScanOp op;
  FunctionLowering &lowering;
  LinearLayout layout;
  ScanPlan plan;
  /// values[register][operand]; totals likewise, valid at representatives.
  SmallVector<Registers> values, totals;
  int mergedRegisterBits = 0;
  /// The lane of each run that has its total, where not all have it.
  Value laneOfTotals;
  bool isJoined = false, exchanged = false;
};

LogicalResult lowerScan(Operation *op, FunctionLowering &lowering) {
  return ScanLowering(cast<ir::ScanOp>(op), lowering).run();
}

} // namespace

void addScanLowerings(LoweringTable &table) {
  table.add(ir::ScanOp::getOperationName(), lowerScan);
}

} // namespace tilewright::codegen
