//===- RewriteLoop.cpp - The steps of a schedule as ops -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes the rings of a schedule and, step by step, the ops of the new body. Where an
// op stands in the body does not matter: the expansion takes their order from the result.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopSchedule.h"

#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/schedule/AsyncCopy.h"
#include "passes/schedule/CarriedValues.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;

namespace tilewright::passes {

using Action = Step::Action;

namespace {

/// What a ring plan has become: its barriers, and its counters in the current iteration.
struct RingState {
  /// Where TMA completes, and where warps release slots.
  Value arrived, released;
  Value fillSlot, useSlot, usePhase, fillPhase;
  /// Copies of what the loads to be repeated are given, once they are made.
  std::optional<IRMapping> addresses;
  /// By index of the load in the schedule, the one whose result goes to its slot; they are made
  /// with the addresses.
  llvm::SmallVector<std::pair<size_t, Operation *>, 2> loadsForSlots;
};

/// The block of a branch of the loop's body that contains `op`.
Block *blockOfBranch(Operation *op, scf::ForOp loop) {
  while (op->getParentOp()->getBlock() != loop.getBody())
    op = op->getParentOp();
  return op->getBlock();
}

llvm::SmallVector<Value> resultsOf(llvm::ArrayRef<ir::LoadOp> loads) {
  return llvm::map_to_vector(loads, [](ir::LoadOp load) -> Value { return load.getResult(); });
}

/// Waits for all products at the insertion point; uses of `tile` that `accepts` takes read
/// the result of the wait.
void waitFor(RewriterBase &rewriter, Value tile, llvm::function_ref<bool(OpOperand &)> accepts) {
  auto wait = rewriter.create<ir::WgmmaWaitOp>(tile.getLoc(), TypeRange{tile.getType()},
                                               ValueRange{tile}, /*pending=*/0);
  rewriter.replaceUsesWithIf(tile, wait.getResult(0), [&](OpOperand &use) {
    return use.getOwner() != wait && accepts(use);
  });
}

void markFill(Operation *op) { op->setAttr(ir::fillsRingAttr, UnitAttr::get(op->getContext())); }

class LoopRewriter {
public:
  LoopRewriter(scf::ForOp loop, const LoopSchedule &schedule)
      : loop(loop), schedule(schedule), rewriter(loop) {}

  StagedBody run() {
    makeRings();
    makeCounters();
    rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    for (const Step &step : schedule.steps)
      take(step);
    for (ir::WgmmaOp product : schedule.carriedProducts)
      waitWhereRead(product);
    for (ir::LoadOp load : schedule.sharedAddressLoads())
      rewriter.replaceAllUsesWith(load.getResult(), loadedAddresses.lookup(load.getResult()));
    finishRings();
    eraseRemoved();
    return {loop, std::move(ops)};
  }

private:
  scf::ForOp loop;
  const LoopSchedule &schedule;
  IRRewriter rewriter;
  /// The result, and the counters until their step comes.
  std::vector<std::pair<Operation *, unsigned>> ops, counters;
  /// Per load, in the order of the schedule: its ring, and its slot in use.
  llvm::SmallVector<Value> buffers, slotsInUse;
  llvm::SmallVector<RingState, 2> rings;
  Value isFirstWarp;
  /// What has been loaded for addresses, one iteration before they are needed.
  IRMapping loadedAddresses;

  Location loc() { return loop.getLoc(); }

  template <typename Op, typename... Args> Op make(int stage, Args &&...args) {
    return staged(rewriter.create<Op>(loc(), std::forward<Args>(args)...), stage);
  }

  template <typename Op> Op staged(Op op, int stage) {
    ops.emplace_back(op, stage);
    return op;
  }

  //===--- before the loop -----------------------------------------------===//

  void makeRings() {
    if (schedule.rings.empty())
      return;
    rewriter.setInsertionPoint(loop);
    for (const RingLoad &load : schedule.loads) {
      const RingPlan &ring = schedule.rings[load.ring];
      auto alloc = rewriter.create<ir::AllocSharedOp>(load.load->getLoc(),
                                                      load.type.withSlots(ring.slots), Value());
      ir::setRing(alloc, {load.fill, ring.release});
      buffers.push_back(alloc);
    }
    slotsInUse.resize(buffers.size());
    for (auto [index, ring] : llvm::enumerate(schedule.rings)) {
      RingState state;
      auto type = ir::MbarrierType::get(loop.getContext(), ring.slots);
      auto makeBarriers = [&](int arrivals) {
        return rewriter.create<ir::MbarrierAllocOp>(loc(), type, arrivals);
      };
      if (schedule.hasTma(static_cast<int>(index)))
        state.arrived = makeBarriers(/*arrivals=*/1);
      if (ring.release == ir::SlotRelease::Arrivals)
        state.released = makeBarriers(ir::numWarps(loop->getParentOfType<ModuleOp>()));
      rings.push_back(state);
    }
    if (schedule.hasTma())
      isFirstWarp = rewriter.create<ir::IsFirstWarpOp>(loc(), rewriter.getI1Type());
    // The barriers are initialised, and whoever used these bytes before is done.
    rewriter.create<ir::BarrierOp>(loc());
  }

  /// Adds the counters of all rings to the variables of the loop.
  void makeCounters() {
    if (rings.empty())
      return;
    Value zero = rewriter.create<arith::ConstantIntOp>(loc(), 0, 32);
    // The phase before the first counts as complete: slots start out free.
    Value one;
    llvm::SmallVector<Value> inits;
    for (const RingState &ring : rings) {
      inits.append(ring.arrived ? 3 : 2, zero);
      if (ring.released && !one)
        one = rewriter.create<arith::ConstantIntOp>(loc(), 1, 32);
      if (ring.released)
        inits.push_back(one);
    }
    loop = llvm::cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location, llvm::ArrayRef<BlockArgument> arguments) {
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.restoreInsertionPoint(builder.saveInsertionPoint());
          llvm::SmallVector<Value> next;
          for (auto [ring, plan] : llvm::zip(rings, schedule.rings))
            advance(ring, plan, arguments, next);
          return next;
        }));
    counters.swap(ops);
  }

  /// Takes the ring's variables from the front of `arguments`, and adds what they become.
  void advance(RingState &ring, const RingPlan &plan, llvm::ArrayRef<BlockArgument> &arguments,
               llvm::SmallVectorImpl<Value> &next) {
    Value fillWraps, useWraps;
    auto take = [&] {
      Value argument = arguments.front();
      arguments = arguments.drop_front();
      return argument;
    };
    ring.fillSlot = take();
    ring.useSlot = take();
    next.push_back(slotAfter(ring.fillSlot, plan.slots, plan.fillStage, fillWraps));
    next.push_back(slotAfter(ring.useSlot, plan.slots, plan.useStage, useWraps));
    if (ring.arrived) {
      ring.usePhase = take();
      next.push_back(flipIf(useWraps, ring.usePhase, plan.useStage));
    }
    if (ring.released) {
      ring.fillPhase = take();
      next.push_back(flipIf(fillWraps, ring.fillPhase, plan.fillStage));
    }
  }

  /// `wraps` becomes whether the next slot is the first one again.
  Value slotAfter(Value slot, int slots, int stage, Value &wraps) {
    Value one = make<arith::ConstantIntOp>(stage, 1, 32);
    Value count = make<arith::ConstantIntOp>(stage, slots, 32);
    Value zero = make<arith::ConstantIntOp>(stage, 0, 32);
    Value next = make<arith::AddIOp>(stage, slot, one);
    wraps = make<arith::CmpIOp>(stage, arith::CmpIPredicate::eq, next, count);
    return make<arith::SelectOp>(stage, wraps, zero, next);
  }

  Value flipIf(Value wraps, Value phase, int stage) {
    Value one = make<arith::ConstantIntOp>(stage, 1, 32);
    Value flipped = make<arith::XOrIOp>(stage, phase, one);
    return make<arith::SelectOp>(stage, wraps, flipped, phase);
  }

  //===--- the steps -----------------------------------------------------===//

  void take(const Step &step) {
    switch (step.action) {
    case Action::Run:
      if (auto product = llvm::dyn_cast<ir::WgmmaOp>(step.op))
        product.setIsAsync(product.getIsAsync() || schedule.isInFlight(product));
      staged(step.op, step.stage);
      return;
    case Action::Carry:
      staged(carryThroughOp(rewriter, loop, step.index), step.stage);
      return;
    case Action::TakeSlot:
      return takeSlot(step);
    case Action::ReadOwn:
      return readOwn(step);
    case Action::LoadAhead:
      return loadAhead(step.stage);
    case Action::LoadAddresses:
      return repeat(resultsOf(schedule.addressLoads), step.stage, loadedAddresses);
    case Action::WaitCopies:
      make<ir::AsyncWaitOp>(step.stage, step.pending);
      return;
    case Action::WaitTiles: {
      const RingState &ring = rings[step.index];
      make<ir::MbarrierWaitOp>(step.stage, ring.arrived, ring.useSlot, ring.usePhase);
      return;
    }
    case Action::Barrier:
      make<ir::BarrierOp>(step.stage);
      return;
    case Action::WaitProducts:
      return waitForProducts(step);
    case Action::Address:
      (void)addressesOf(step.index, step.stage);
      return;
    case Action::Fill:
      return fill(step.index, step.stage);
    case Action::Load:
      for (auto [index, load] : rings[step.index].loadsForSlots)
        staged(load, step.stage);
      return;
    case Action::Store:
      for (auto [index, load] : rings[step.index].loadsForSlots)
        markFill(
            make<ir::SharedStoreOp>(step.stage, load->getResult(0), slotToFill(index, step.stage)));
      return;
    case Action::Release:
      make<ir::MbarrierArriveOp>(step.stage, rings[step.index].released, rings[step.index].useSlot);
      return;
    case Action::Advance:
      llvm::append_range(ops, counters);
      return;
    }
  }

  size_t indexOf(Operation *load) const {
    return llvm::find_if(schedule.loads, [&](const RingLoad &ring) { return ring.load == load; }) -
           schedule.loads.begin();
  }

  void takeSlot(const Step &step) {
    size_t index = indexOf(step.op);
    const RingLoad &load = schedule.loads[index];
    // Users of the slot stand before the end of the body.
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    slotsInUse[index] =
        make<ir::BufferSlotOp>(step.stage, load.type, buffers[index], rings[load.ring].useSlot);
    for (ir::AllocSharedOp alloc : load.allocs)
      rewriter.replaceOp(alloc, slotsInUse[index]);
  }

  /// What cp.async has filled with zeros becomes `other` again.
  void readOwn(const Step &step) {
    auto load = llvm::cast<ir::LoadOp>(step.op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(load);
    Value read = staged(rewriter.create<ir::SharedLoadOp>(load.getLoc(), load.getType(),
                                                          slotsInUse[indexOf(load)],
                                                          /*isOwn=*/true),
                        step.stage);
    if (load.getMask() && !fillsWithZeros(load))
      read = staged(
          rewriter.create<arith::SelectOp>(load.getLoc(), load.getMask(), read, load.getOther()),
          step.stage);
    rewriter.replaceAllUsesWith(load.getResult(), read);
  }

  /// The ops that `values` are computed from, once more; `copies` maps to them. What has been
  /// loaded for addresses is not loaded again.
  void repeat(llvm::ArrayRef<Value> values, int stage, IRMapping &copies) {
    Slice slice(loop);
    for (ir::LoadOp load : schedule.addressLoads)
      if (Value loaded = loadedAddresses.lookupOrNull(load.getResult())) {
        slice.ends.insert(load);
        copies.map(load.getResult(), loaded);
      }
    for (Value value : values)
      slice.add(value);
    for (Operation *op : slice.ops)
      staged(rewriter.clone(*op, copies), stage);
  }

  void loadAhead(int stage) {
    IRMapping copies;
    llvm::SmallVector<Value> values = resultsOf(schedule.registerLoads);
    repeat(values, stage, copies);
    for (Value value : values)
      rewriter.replaceAllUsesWith(value, copies.lookup(value));
  }

  /// Names what the product writes and reads in registers, so that both stay there until
  /// the wait: assemblers before 13.3 may reuse the registers of the left side too early.
  void waitForProducts(const Step &step) {
    auto product = llvm::cast_or_null<ir::WgmmaOp>(step.op);
    llvm::SmallVector<Value> tiles;
    if (product)
      tiles.push_back(product.getResult());
    if (product && isTile(product.getA()))
      tiles.push_back(product.getA());
    OpBuilder::InsertionGuard guard(rewriter);
    if (product)
      rewriter.setInsertionPointAfter(product);
    auto wait =
        staged(rewriter.create<ir::WgmmaWaitOp>(product ? product.getLoc() : loc(),
                                                TypeRange(ValueRange(tiles)), tiles, step.pending),
               step.stage);
    if (product)
      rewriter.replaceUsesWithIf(product.getResult(), wait.getResult(0), [&](OpOperand &use) {
        return use.getOwner() != wait && !llvm::isa<ir::WgmmaOp>(use.getOwner());
      });
  }

  //===--- copies --------------------------------------------------------===//

  /// All addresses of a ring, before its copies: an op may be needed by several loads. They
  /// are copies of the body's, which stay with their other users. With them come the loads into
  /// registers, which get their step later.
  const IRMapping &addressesOf(int ring, int stage) {
    std::optional<IRMapping> &made = rings[ring].addresses;
    if (made)
      return *made;
    llvm::SmallVector<Value> addresses;
    for (const RingLoad &load : schedule.loads)
      if (load.ring == ring)
        llvm::append_range(addresses, load.load->getOperands());
    made.emplace();
    repeat(addresses, stage, *made);
    IRMapping mapping = *made;
    for (auto [index, load] : llvm::enumerate(schedule.loads))
      if (load.ring == ring && load.goesThroughRegisters)
        rings[ring].loadsForSlots.emplace_back(index, rewriter.clone(*load.load, mapping));
    return *made;
  }

  void fill(int ring, int stage) {
    llvm::SmallVector<size_t> own;
    for (auto [index, load] : llvm::enumerate(schedule.loads))
      if (load.ring == ring)
        own.push_back(index);
    const IRMapping &copies = addressesOf(ring, stage);
    for (size_t index : own)
      if (schedule.loads[index].fill != ir::RingFill::Tma &&
          !schedule.loads[index].goesThroughRegisters)
        copyByThreads(index, stage, copies);
    if (schedule.hasCpAsync(ring))
      markFill(make<ir::AsyncCommitOp>(stage));
    if (schedule.hasTma(ring))
      copyByTma(ring, own, stage, copies);
  }

  Value slotToFill(size_t index, int stage) {
    const RingLoad &load = schedule.loads[index];
    return staged(rewriter.create<ir::BufferSlotOp>(load.load->getLoc(), load.type, buffers[index],
                                                    rings[load.ring].fillSlot),
                  stage);
  }

  void copyByThreads(size_t index, int stage, const IRMapping &copies) {
    auto load = llvm::cast<ir::LoadOp>(schedule.loads[index].load);
    Value slot = slotToFill(index, stage);
    Value mask = load.getMask() ? copies.lookupOrDefault(load.getMask()) : Value();
    markFill(staged(
        copyAsync(rewriter, load, copies.lookupOrDefault(load.getPointer()), mask, slot), stage));
  }

  void copyByTma(int ring, llvm::ArrayRef<size_t> own, int stage, const IRMapping &copies) {
    const RingState &state = rings[ring];
    llvm::SmallVector<std::pair<size_t, Value>> targets;
    int64_t bytes = 0;
    for (size_t index : own)
      if (schedule.loads[index].fill == ir::RingFill::Tma) {
        targets.push_back({index, slotToFill(index, stage)});
        bytes += schedule.loads[index].type.slotBytes();
      }
    auto branch = make<scf::IfOp>(stage, isFirstWarp, /*withElseRegion=*/false);
    markFill(branch);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    if (state.released)
      rewriter.create<ir::MbarrierWaitOp>(loc(), state.released, state.fillSlot, state.fillPhase);
    rewriter.create<ir::MbarrierExpectOp>(loc(), state.arrived, state.fillSlot, bytes);
    for (auto [index, slot] : targets) {
      auto load = llvm::cast<ir::DescriptorLoadOp>(schedule.loads[index].load);
      llvm::SmallVector<Value> coordinates;
      for (Value coordinate : load.getCoordinates())
        coordinates.push_back(copies.lookupOrDefault(coordinate));
      rewriter.create<ir::TmaLoadOp>(load.getLoc(), copies.lookupOrDefault(load.getDescriptor()),
                                     coordinates, slot, state.arrived, state.fillSlot,
                                     load.getEviction());
    }
  }

  //===--- products that are carried -------------------------------------===//

  /// Branches that read the product wait for it themselves, and so does what follows the
  /// loop.
  void waitWhereRead(ir::WgmmaOp product) {
    OpBuilder::InsertionGuard guard(rewriter);
    llvm::SetVector<Block *> readers;
    int carried = -1;
    for (OpOperand &use : product.getResult().getUses())
      if (use.getOwner()->getBlock() != loop.getBody())
        readers.insert(blockOfBranch(use.getOwner(), loop));
      else if (use.getOwner() == loop.getBody()->getTerminator())
        carried = static_cast<int>(use.getOperandNumber());
    for (Block *block : readers) {
      rewriter.setInsertionPointToStart(block);
      waitFor(rewriter, product.getResult(), [&](OpOperand &use) {
        return use.getOwner()->getBlock() != loop.getBody() &&
               blockOfBranch(use.getOwner(), loop) == block;
      });
    }
    rewriter.setInsertionPointAfter(loop);
    waitFor(rewriter, loop.getResult(carried), [](OpOperand &) { return true; });
  }

  //===--- after the loop ------------------------------------------------===//

  /// Others may use the rings' bytes after the loop.
  void finishRings() {
    if (rings.empty())
      return;
    OpBuilder::InsertionGuard guard(rewriter);
    Operation *last = loop;
    while (llvm::isa_and_nonnull<ir::WgmmaWaitOp>(last->getNextNode()))
      last = last->getNextNode();
    rewriter.setInsertionPointAfter(last);
    if (schedule.hasCpAsync())
      rewriter.create<ir::AsyncWaitOp>(loc(), /*pending=*/0);
    rewriter.create<ir::BarrierOp>(loc());
  }

  /// What the schedule has no step for: the loads, and what only they needed.
  void eraseRemoved() {
    llvm::DenseSet<Operation *> kept;
    for (auto [op, stage] : ops)
      kept.insert(op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
      if (!kept.contains(&op) && !op.hasTrait<OpTrait::IsTerminator>())
        rewriter.eraseOp(&op);
  }
};

} // namespace

StagedBody rewrite(scf::ForOp loop, const LoopSchedule &schedule) {
  llvm::SmallVector<Operation *> ahead(schedule.registerLoads.begin(),
                                       schedule.registerLoads.end());
  for (const RingLoad &load : schedule.loads)
    ahead.push_back(load.load);
  // What their addresses are loaded from is read ahead, too.
  Slice addresses(loop);
  for (Operation *load : ahead)
    addresses.addOperands(load);
  llvm::copy_if(addresses.ops, std::back_inserter(ahead), llvm::IsaPred<ir::LoadOp>);
  markDistinctArguments(loop, ahead);
  return LoopRewriter(loop, schedule).run();
}

} // namespace tilewright::passes
