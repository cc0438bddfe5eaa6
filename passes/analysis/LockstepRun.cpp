//===- LockstepRun.cpp - Copies, phases and fences on one path ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LockstepRun.h"

#include "ir/dialect/Rings.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LockstepState.h"
#include "passes/analysis/RegionFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

namespace {

/// Iterations of a loop that contains another one with copies. A guess: the second one shows
/// what the first one leaves.
constexpr int64_t outerRounds = 2;
/// Ops of a run, so that nests of loops with large rings cost no more than some milliseconds. A
/// guess.
constexpr int64_t maxSteps = 50000;

/// What is known of an integer, a buffer or barriers.
struct Known {
  Attribute number;
  Operation *alloc = nullptr;
  std::optional<int64_t> slot;

  bool operator==(const Known &other) const {
    return number == other.number && alloc == other.alloc && slot == other.slot;
  }
};

/// Copies, waits, and the barriers and fences between them.
bool isEvent(Operation *op) {
  return llvm::isa<ir::MbarrierAllocOp, ir::MbarrierExpectOp, ir::MbarrierArriveOp,
                   ir::MbarrierWaitOp, ir::MbarrierPhaseOp, ir::AsyncCommitOp, ir::AsyncWaitOp,
                   ir::AllocSharedOp, ir::FenceAsyncOp, ir::BarrierOp, ir::WgmmaWaitOp>(op) ||
         !bufferUses(op).empty();
}

//===----------------------------------------------------------------------===//
// What has to be run
//===----------------------------------------------------------------------===//

/// The ops of a function that a run visits, by block: events, what their slots and parities
/// are computed from, and the control flow around all of these.
class RunPlan {
public:
  explicit RunPlan(func::FuncOp function) {
    function.walk([&](Operation *op) {
      if (!isEvent(op))
        return;
      add(op);
      for (Operation *parent = op->getParentOp(); parent != function;
           parent = parent->getParentOp())
        if (active.insert(parent).second)
          add(parent);
      for (Value result : op->getResults())
        if (auto ring = llvm::dyn_cast<ir::BufferType>(result.getType()))
          slots = std::max(slots, ring.getSlots());
        else if (auto barriers = llvm::dyn_cast<ir::MbarrierType>(result.getType()))
          slots = std::max(slots, barriers.getSlots());
    });
    addInputs();
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (planned.contains(op))
        ops[op->getBlock()].push_back(op);
    });
  }

  llvm::ArrayRef<Operation *> of(Block *block) const {
    auto found = ops.find(block);
    return found == ops.end() ? llvm::ArrayRef<Operation *>() : found->second;
  }
  /// Whether events happen inside of a region op, or of one of its regions.
  bool isActive(Operation *op) const { return active.contains(op); }
  bool isActive(Region &region) const {
    for (Block &block : region)
      for (Operation *op : of(&block))
        if (isEvent(op) || isActive(op))
          return true;
    return false;
  }
  /// Iterations after which the counters of all rings have come round twice.
  int64_t innerRounds() const { return 2 * slots + 2; }

private:
  llvm::SmallPtrSet<Operation *, 32> planned, active;
  llvm::SmallVector<Value> open;
  llvm::DenseMap<Block *, llvm::SmallVector<Operation *>> ops;
  int64_t slots = 1;

  void add(Operation *op) {
    if (!planned.insert(op).second)
      return;
    for (Value operand : op->getOperands())
      if (!llvm::isa<ShapedType, ir::PointerType, ir::DescriptorType>(operand.getType()))
        open.push_back(operand);
  }

  /// Whatever the operands are made of, also by way of loops and branches.
  void addInputs() {
    llvm::DenseSet<Value> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      carriedFrom(value, open);
      Operation *op = value.getDefiningOp();
      if (op && (op->getNumRegions() == 0 || llvm::isa<scf::SCFDialect>(op->getDialect())))
        add(op);
    }
  }
};

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

class LockstepRun {
public:
  LockstepRun(func::FuncOp function, LockstepRules rules)
      : function(function), rules(rules), plan(function),
        numWarps(ir::numWarps(function->getParentOfType<ModuleOp>())) {}

  LogicalResult run() {
    for (Block &block : function.getBody())
      runBlock(block);
    return failure(hasFailed);
  }

private:
  func::FuncOp function;
  LockstepRules rules;
  const RunPlan plan;
  int64_t numWarps;
  llvm::DenseMap<Value, Known> values;
  LockstepState state;
  int64_t steps = 0;
  bool hasFailed = false;

  bool isOver() const { return hasFailed || steps > maxSteps; }

  //===--- values --------------------------------------------------------===//

  Known get(Value value) const { return values.lookup(value); }

  std::optional<int64_t> number(Value value) const {
    if (auto known = llvm::dyn_cast_or_null<IntegerAttr>(get(value).number))
      return known.getType().isInteger(1) ? known.getValue().getZExtValue()
                                          : known.getValue().getSExtValue();
    return std::nullopt;
  }

  std::optional<Slot> slotOf(Value buffer) const {
    Known known = get(buffer);
    return known.alloc && known.slot ? std::optional<Slot>({known.alloc, *known.slot})
                                     : std::nullopt;
  }

  /// The slot of `barriers` that `index` names.
  std::optional<Slot> slotOf(Value barriers, Value index) const {
    Operation *alloc = get(barriers).alloc;
    std::optional<int64_t> slot = number(index);
    return alloc && slot ? std::optional<Slot>({alloc, *slot}) : std::nullopt;
  }

  void bind(ValueRange targets, llvm::ArrayRef<Known> sources) {
    for (auto [target, source] : llvm::zip(targets, sources))
      values[target] = source;
  }

  llvm::SmallVector<Known> getAll(ValueRange sources) const {
    return llvm::map_to_vector(sources, [&](Value value) { return get(value); });
  }

  /// What `op`, which is no event, makes of its operands.
  Known compute(Operation *op) {
    if (auto slot = llvm::dyn_cast<ir::BufferSlotOp>(op))
      return {{}, get(slot.getRing()).alloc, number(slot.getIndex())};
    if (auto view = llvm::dyn_cast<ir::BufferPermuteOp>(op))
      return get(view.getSource());
    if (auto select = llvm::dyn_cast<arith::SelectOp>(op)) {
      std::optional<int64_t> condition = number(select.getCondition());
      Known lhs = get(select.getTrueValue()), rhs = get(select.getFalseValue());
      return condition ? *condition ? lhs : rhs : lhs == rhs ? lhs : Known();
    }
    if (llvm::isa<arith::AndIOp>(op) && op->getResult(0).getType().isInteger(1))
      for (Value operand : op->getOperands())
        if (number(operand) == 0)
          return get(operand);
    llvm::SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(operand).number);
    // Only where all are known: folding else may change the op.
    llvm::SmallVector<OpFoldResult> folded;
    bool isScalar = op->getNumResults() == 1 && llvm::isa<arith::ArithDialect>(op->getDialect()) &&
                    op->getResult(0).getType().isIntOrIndex();
    if (!isScalar || !llvm::all_of(operands, [](Attribute known) { return bool(known); }) ||
        failed(op->fold(operands, folded)) || folded.size() != 1)
      return {};
    if (auto value = llvm::dyn_cast<Value>(folded.front()))
      return get(value);
    return {llvm::cast<Attribute>(folded.front()), nullptr, {}};
  }

  //===--- control flow --------------------------------------------------===//

  void runBlock(Block &block) {
    for (Operation *op : plan.of(&block)) {
      ++steps;
      if (isOver())
        return;
      if (isEvent(op))
        runEvent(op);
      else if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
        runFor(loop);
      else if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
        runIf(branch);
      else if (op->getNumRegions() != 0)
        runOther(op);
      else if (op->getNumResults() == 1)
        values[op->getResult(0)] = compute(op);
      if (rules == LockstepRules::Fences && op->hasAttr(ir::scratchOffsetAttr) && !bufferBytes(op))
        state.passBarrier(); // it has one of its own
    }
  }

  /// What happened an unknown number of times.
  void forgetBarriersOf(Operation *op) {
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (llvm::isa<ir::MbarrierType>(operand.getType()))
          if (Operation *alloc = get(operand).alloc)
            state.phases.forget(alloc);
    });
  }

  std::optional<int64_t> tripsOf(scf::ForOp loop) const {
    auto begin = number(loop.getLowerBound()), end = number(loop.getUpperBound()),
         step = number(loop.getStep());
    if (!begin || !end || !step || *step <= 0)
      return std::nullopt;
    return std::max<int64_t>(0, (*end - *begin + *step - 1) / *step);
  }

  // This and runIf know their ops: what carries a value in which iteration follows from the
  // order of the steps, of which RegionFlow's edges say nothing.
  void runFor(scf::ForOp loop) {
    std::optional<int64_t> trips = tripsOf(loop);
    bool isOuter = llvm::any_of(plan.of(loop.getBody()), [&](Operation *op) {
      return llvm::isa<LoopLikeOpInterface>(op) && plan.isActive(op);
    });
    int64_t limit = isOuter ? outerRounds : plan.innerRounds();
    bool isWhole = trips && *trips <= limit;
    llvm::SmallVector<Known> carried = getAll(loop.getInitArgs());
    for (int64_t round = 0, end = isWhole ? *trips : limit; round < end && !isOver(); ++round) {
      bind(loop.getRegionIterArgs(), carried);
      Known &index = values[loop.getInductionVar()] = {};
      if (trips)
        index.number =
            IntegerAttr::get(loop.getInductionVar().getType(),
                             *number(loop.getLowerBound()) + round * *number(loop.getStep()));
      runBlock(*loop.getBody());
      carried = getAll(loop.getYieldedValues());
    }
    if (!isWhole) {
      for (Known &known : carried)
        known = {{}, known.alloc, {}};
      forgetBarriersOf(loop);
      state.forgetCopiesIn(loop);
    }
    bind(loop.getResults(), carried);
  }

  /// Runs a region that may be empty; what it yields.
  llvm::SmallVector<Known> runBranch(Region &region) {
    if (region.empty())
      return {};
    runBlock(region.front());
    return getAll(region.front().getTerminator()->getOperands());
  }

  void runIf(scf::IfOp branch) {
    Region &first = branch.getThenRegion(), &second = branch.getElseRegion();
    std::optional<int64_t> condition = number(branch.getCondition());
    bool isFirstActive = plan.isActive(first), isSecondActive = plan.isActive(second);
    // On the way that is followed, whatever can happen does.
    if (!condition && isFirstActive != isSecondActive)
      condition = isFirstActive;
    if (condition)
      return bind(branch.getResults(), runBranch(*condition ? first : second));
    LockstepState before = state;
    llvm::SmallVector<Known> lhs = runBranch(first);
    LockstepState after = std::exchange(state, std::move(before));
    llvm::SmallVector<Known> rhs = runBranch(second);
    state.join(after);
    for (auto [known, other] : llvm::zip(lhs, rhs))
      if (!(known == other))
        known = {};
    bind(branch.getResults(), lhs);
  }

  /// Other control flow once, with unknown variables.
  void runOther(Operation *op) {
    forgetBarriersOf(op);
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        for (BlockArgument argument : block.getArguments())
          values[argument] = {};
        runBlock(block);
      }
    forgetBarriersOf(op);
    for (Value result : op->getResults())
      values[result] = {};
  }

  //===--- events --------------------------------------------------------===//

  void fail(Operation *op, const Twine &message, Operation *other = nullptr,
            const char *whatOther = "is written here") {
    if (std::exchange(hasFailed, true))
      return;
    InFlightDiagnostic diagnostic = op->emitError(message);
    if (other)
      diagnostic.attachNote(other->getLoc()) << whatOther;
  }

  void runEvent(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<ir::AllocSharedOp, ir::MbarrierAllocOp>([&](auto alloc) {
          state.begin(alloc);
          bool isSingle = alloc.getType().getSlots() == 1;
          values[alloc.getResult()] = {
              {}, alloc, isSingle ? std::optional<int64_t>(0) : std::nullopt};
        })
        .Case([&](ir::AsyncCommitOp) { state.groups.commit(); })
        .Case([&](ir::AsyncWaitOp wait) {
          for (auto &[slot, copy] : state.groups.wait(wait.getPending()))
            for (SlotWriters *writers : {&state.unfencedCopies, &state.fenced})
              writers->insert({slot, copy});
        })
        .Case([&](ir::FenceAsyncOp) { state.passFence(); })
        .Case([&](ir::BarrierOp) { state.passBarrier(); })
        .Case([&](ir::WgmmaOp product) {
          state.reads.beginProduct();
          if (!product.getIsAsync())
            state.reads.waitForProducts(0);
        })
        .Case([&](ir::WgmmaWaitOp wait) { state.reads.waitForProducts(wait.getPending()); })
        .Case([&](ir::MbarrierExpectOp expect) { arrive(expect, /*arrivals=*/1); })
        .Case([&](ir::MbarrierArriveOp each) {
          arrive(each, numWarps);
          state.reads.arrive(slotOf(each.getBarrier(), each.getIndex()));
        })
        .Case([&](ir::MbarrierPhaseOp phase) { values[phase.getResult()] = phaseAt(phase); })
        .Case([&](ir::MbarrierWaitOp wait) { runWait(wait); });
    for (const BufferUse &use : bufferUses(op))
      if (std::optional<Slot> slot = slotOf(use.buffer))
        use.isWrite ? runWrite(op, use, *slot) : runRead(op, use, *slot);
  }

  template <typename Op> void arrive(Op op, int64_t arrivals) {
    Operation *alloc = get(op.getBarrier()).alloc;
    if (std::optional<Slot> slot = slotOf(op.getBarrier(), op.getIndex()))
      state.phases.arrive(*slot, arrivals);
    else if (alloc)
      state.phases.forget(alloc);
  }

  Known phaseAt(ir::MbarrierPhaseOp op) {
    std::optional<Slot> slot = slotOf(op.getBarrier(), op.getIndex());
    std::optional<int64_t> over = slot ? state.phases.over(*slot) : std::nullopt;
    if (!over)
      return {};
    return {IntegerAttr::get(op.getType(), *over & 1), nullptr, {}};
  }

  void runWait(ir::MbarrierWaitOp wait) {
    std::optional<Slot> slot = slotOf(wait.getBarrier(), wait.getIndex());
    std::optional<int64_t> over = slot ? state.phases.over(*slot) : std::nullopt;
    std::optional<int64_t> parity = number(wait.getPhase());
    if (rules == LockstepRules::Waits && over && parity && (*over & 1) == (*parity & 1))
      return fail(wait, "waits for parity " + Twine(*parity) + " at slot " + Twine(slot->second) +
                            ", where " + Twine(*over) + " phases are over");
    if (Operation *alloc = get(wait.getBarrier()).alloc)
      state.arrive(alloc, slot ? std::optional<int64_t>(slot->second) : std::nullopt);
    // Whoever arrived has read and written before.
    state.reads.wait(slot);
    state.fenced.clear();
  }

  void runWrite(Operation *op, const BufferUse &use, Slot slot) {
    Operation *reader = use.completion == Completion::AtOnce ? nullptr : state.reads.readerOf(slot);
    if (reader && rules == LockstepRules::Fences)
      return fail(op, "fills a slot that may still be read", reader, "is read here");
    if (use.completion == Completion::AsyncWait)
      state.groups.copy(slot, op);
    else if (use.completion == Completion::AtOnce && !use.isAsyncProxy())
      state.unfenced[slot] = op;
    else if (auto load = llvm::dyn_cast<ir::TmaLoadOp>(op))
      runTmaLoad(load, slot);
  }

  void runTmaLoad(ir::TmaLoadOp load, Slot slot) {
    for (SlotWriters *writers : {&state.unfenced, &state.unfencedCopies, &state.fenced})
      writers->erase(slot);
    if (std::optional<Slot> barrier = slotOf(load.getBarrier(), load.getIndex())) {
      state.arriving[slot] = load;
      state.barrierOf[slot] = *barrier;
    }
  }

  void runRead(Operation *op, const BufferUse &use, Slot slot) {
    std::optional<ir::Ring> ring = ir::ringOf(slot.first);
    if (ring && ring->release != ir::SlotRelease::None)
      state.reads.read(slot, op, use.completion == Completion::WgmmaWait);
    if (rules == LockstepRules::Waits) {
      if (Operation *copy = state.groups.writerOf(slot))
        return fail(op, "reads a tile while copies to it are in flight", copy);
      if (Operation *copy = state.arriving.lookup(slot))
        return fail(op, "reads a tile before the wait for its copy", copy);
      return;
    }
    if (!use.isAsyncProxy())
      return;
    Operation *copy = use.proxy == Proxy::Tma ? state.unfencedCopies.lookup(slot) : nullptr;
    if (Operation *write = copy ? copy : state.unfenced.lookup(slot))
      return fail(op, "reads what threads have written, with no fence between", write);
    if (Operation *write = state.fenced.lookup(slot))
      return fail(op, "reads what other threads have written, with no barrier since", write);
  }
};

/// Whether there is something to check: most kernels have no copies, and no wgmma.
bool concerns(func::FuncOp function, LockstepRules rules) {
  return function
      .walk([&](Operation *op) {
        bool isCopy = llvm::isa<ir::AsyncCopyOp, ir::MbarrierWaitOp>(op);
        bool isReason = isCopy || (rules == LockstepRules::Fences &&
                                   llvm::isa<ir::WgmmaOp, ir::TmaStoreOp>(op));
        return isReason ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

LogicalResult verifyLockstep(func::FuncOp function, LockstepRules rules) {
  if (function.isExternal() || !concerns(function, rules))
    return success();
  return LockstepRun(function, rules).run();
}

} // namespace tilewright::passes
