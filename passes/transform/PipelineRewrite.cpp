//===- PipelineRewrite.cpp - Rings, copies and waits in a body ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the second step of PipelineLoops. Loads become copies into rings; products
// become asynchronous, with waits where PipelineLoops.cpp draws them.
//
//===----------------------------------------------------------------------===//

#include "passes/transform/LoopPipeliner.h"

#include "passes/analysis/LayoutRules.h"
#include "passes/transform/AsyncCopy.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

void LoopPipeliner::chooseSlots() {
  slots = distance + 1;
  releasesSlots = !hasCpAsync && (!turns.empty() || (isChained() && numWarps > warpgroupWarps));
  if (!turns.empty()) {
    slots = distance;
    return;
  }
  // Chained products are waited for within an iteration.
  if (!hasWgmma || (isChained() && !releasesSlots))
    return;
  // A slot more saves a barrier, or the wait for warpgroups that are behind, unless
  // it costs a resident block.
  int64_t limit = context.target.maxSharedBytesPerBlock - maxMbarrierBytes;
  int64_t few = otherSharedBytes + slotBytes() * slots, many = few + slotBytes();
  bool fits = many <= limit && limit / many == limit / few;
  slots += fits;
  needsSecondBarrier = !fits && !isChained();
}

void LoopPipeliner::makeRings() {
  rewriter.setInsertionPoint(loop);
  for (AsyncLoad &load : loads)
    load.ring = rewriter.create<ir::AllocSharedOp>(load.load->getLoc(), load.type.withSlots(slots),
                                                   Value());
  for (bool isLate : {false, true}) {
    RingGroup group;
    group.isLate = isLate;
    for (const AsyncLoad &load : loads) {
      group.hasTma |= load.isLate == isLate && load.isTma();
      group.hasCpAsync |= load.isLate == isLate && !load.isTma();
    }
    if (!group.hasTma && !group.hasCpAsync)
      continue;
    if (group.hasTma)
      group.mbarrier = rewriter.create<ir::MbarrierAllocOp>(
          loop.getLoc(), ir::MbarrierType::get(loop.getContext(), slots), /*arrivals=*/1);
    if (releasesSlots)
      group.released = rewriter.create<ir::MbarrierAllocOp>(
          loop.getLoc(), ir::MbarrierType::get(loop.getContext(), slots), numWarps);
    groups.push_back(group);
  }
  if (hasTma)
    isFirstWarp = rewriter.create<ir::IsFirstWarpOp>(loop.getLoc(), rewriter.getI1Type());
  // The barriers are initialised, and whoever used these bytes before is done.
  rewriter.create<ir::BarrierOp>(loop.getLoc());
  addCounters();
}

RingGroup &LoopPipeliner::groupOf(const AsyncLoad &load) {
  return groups.size() == 1 || load.isLate == groups[0].isLate ? groups[0] : groups[1];
}

unsigned LoopPipeliner::copyStage(const RingGroup &group) const {
  // In turn, tiles of the second product are fetched beside the first one.
  bool isNext = !turns.empty() && group.isLate;
  return useStage(group.isLate) - distance + isNext;
}

void LoopPipeliner::addCounters() {
  Value zero = constantI32(0);
  // The phase before the first counts as complete: slots start out free.
  Value one = releasesSlots ? constantI32(1) : Value();
  llvm::SmallVector<Value> inits;
  for (const RingGroup &group : groups) {
    inits.append(group.hasTma ? 3 : 2, zero);
    if (releasesSlots)
      inits.push_back(one);
  }
  auto newLoop = llvm::cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location loc, llvm::ArrayRef<BlockArgument> arguments) {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.restoreInsertionPoint(builder.saveInsertionPoint());
        llvm::SmallVector<Value> next;
        for (RingGroup &group : groups)
          addCounters(group, arguments, next);
        return next;
      }));
  loop = newLoop;
}

void LoopPipeliner::addCounters(RingGroup &group, llvm::ArrayRef<BlockArgument> &arguments,
                                llvm::SmallVector<Value> &next) {
  Value fillWraps, useWraps;
  auto take = [&] {
    Value argument = arguments.front();
    arguments = arguments.drop_front();
    return argument;
  };
  group.fillSlot = take();
  group.useSlot = take();
  next.push_back(advance(group.fillSlot, copyStage(group), fillWraps));
  next.push_back(advance(group.useSlot, useStage(group.isLate), useWraps));
  if (group.hasTma) {
    group.usePhase = take();
    next.push_back(flipIf(useWraps, group.usePhase, useStage(group.isLate)));
  }
  if (releasesSlots) {
    group.fillPhase = take();
    next.push_back(flipIf(fillWraps, group.fillPhase, copyStage(group)));
  }
}

Value LoopPipeliner::flipIf(Value wraps, Value phase, unsigned stage) {
  Location loc = loop.getLoc();
  Value one = staged(rewriter.create<arith::ConstantIntOp>(loc, 1, 32), stage);
  Value flipped = staged(rewriter.create<arith::XOrIOp>(loc, phase, one), stage);
  return staged(rewriter.create<arith::SelectOp>(loc, wraps, flipped, phase), stage);
}

Value LoopPipeliner::advance(Value slot, unsigned stage, Value &wraps) {
  Location loc = loop.getLoc();
  auto constant = [&](int value) {
    return staged(rewriter.create<arith::ConstantIntOp>(loc, value, 32), stage);
  };
  Value one = constant(1), count = constant(slots), zero = constant(0);
  Value next = staged(rewriter.create<arith::AddIOp>(loc, slot, one), stage);
  wraps = staged(rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, count), stage);
  return staged(rewriter.create<arith::SelectOp>(loc, wraps, zero, next), stage);
}

void LoopPipeliner::rewriteBody() {
  rewriter.setInsertionPointToStart(loop.getBody());
  unsigned stage = useStage(/*isLate=*/false);
  if (!turns.empty())
    makeTurnsAsync();
  else
    waitAtTop(stage);
  for (AsyncLoad &load : loads) {
    RingGroup &group = groupOf(load);
    Value slot =
        atTop<ir::BufferSlotOp>(useStage(group.isLate), load.type, load.ring, group.useSlot);
    for (ir::AllocSharedOp alloc : load.allocs) {
      // Views of the tile belong to whoever uses it.
      for (Operation *user : alloc->getUsers())
        if (llvm::isa<ir::BufferPermuteOp>(user)) {
          copyStages[user] = useStage(group.isLate);
          if (group.isLate)
            late.insert(user);
        }
      rewriter.replaceOp(alloc, slot);
    }
  }
  makeCopies();
  makeEarlyLoads();
  stageCarriedAddresses();
  endRings();
}

int LoopPipeliner::numCommits() const {
  return llvm::count_if(groups, [](const RingGroup &group) { return group.hasCpAsync; });
}

void LoopPipeliner::waitAtTop(unsigned stage) {
  if (hasCpAsync)
    atTop<ir::AsyncWaitOp>(stage, numCommits() * (distance - 1));
  for (RingGroup &group : groups)
    if (group.hasTma)
      atTop<ir::MbarrierWaitOp>(useStage(group.isLate), group.mbarrier, group.useSlot,
                                group.usePhase);
  if (isChained())
    makeChainAsync();
  else
    makeProductsAsync();
  // cp.async writes like a thread; wgmma reads like TMA.
  if (hasCpAsync && hasWgmma)
    atTop<ir::FenceAsyncOp>(stage);
  // What TMA brings is visible behind its mbarrier; slots are freed elsewhere then.
  if (!releasesSlots && !arePrivate && (hasCpAsync || !needsSecondBarrier))
    atTop<ir::BarrierOp>(stage);
}

void LoopPipeliner::makeChainAsync() {
  OpBuilder::InsertionGuard guard(rewriter);
  for (ir::WgmmaOp product : {firstProduct, secondProduct}) {
    product.setIsAsync(true);
    bool isFirst = product == firstProduct;
    llvm::SmallVector<Value> tiles = {product.getResult()};
    if (isTile(product.getA()))
      tiles.push_back(product.getA());
    rewriter.setInsertionPointAfter(isFirst ? product.getOperation()
                                            : loop.getBody()->getTerminator()->getPrevNode());
    auto wait = rewriter.create<ir::WgmmaWaitOp>(product.getLoc(), TypeRange(ValueRange(tiles)),
                                                 tiles, /*pending=*/isFirst ? 1 : 0);
    rewriter.replaceUsesWithIf(product.getResult(), wait.getResult(0), [&](OpOperand &use) {
      return use.getOwner() != wait && !llvm::isa<ir::WgmmaOp>(use.getOwner());
    });
    if (!isFirst)
      late.insert(wait);
    if (releasesSlots)
      release(/*isLate=*/!isFirst);
  }
}

void LoopPipeliner::makeTurnsAsync() {
  OpBuilder::InsertionGuard guard(rewriter);
  for (auto [index, product] : llvm::enumerate(turns)) {
    product.setIsAsync(true);
    llvm::SmallVector<Value> tiles = {product.getResult()};
    if (isTile(product.getA()))
      tiles.push_back(product.getA());
    rewriter.setInsertionPointAfter(product);
    auto wait = rewriter.create<ir::WgmmaWaitOp>(product.getLoc(), TypeRange(ValueRange(tiles)),
                                                 tiles, /*pending=*/0);
    rewriter.replaceUsesWithIf(product.getResult(), wait.getResult(0),
                               [&](OpOperand &use) { return use.getOwner() != wait; });
    for (RingGroup &group : groups)
      if (group.isLate == (index == 1))
        takeTurn(group, product);
  }
}

void LoopPipeliner::takeTurn(RingGroup &group, ir::WgmmaOp product) {
  Location loc = loop.getLoc();
  if (group.hasTma) {
    Operation *arrive = rewriter.create<ir::MbarrierArriveOp>(loc, group.released, group.useSlot);
    group.copyBehind = group.isLate ? turns[0].getOperation() : arrive;
    rewriter.setInsertionPoint(product);
    rewriter.create<ir::MbarrierWaitOp>(loc, group.mbarrier, group.useSlot, group.usePhase);
    return;
  }
  // Tiles of the second product are overwritten behind the barrier of the next first.
  group.copyBehind =
      group.isLate ? turns[0].getOperation() : rewriter.create<ir::BarrierOp>(loc).getOperation();
  rewriter.setInsertionPoint(product);
  // What was committed since: the rest of that iteration, and all of those between.
  int commits = numCommits();
  int since = group.isLate ? commits * distance - 1 : commits * (distance - 1);
  rewriter.create<ir::AsyncWaitOp>(loc, since);
  rewriter.create<ir::FenceAsyncOp>(loc);
  rewriter.create<ir::BarrierOp>(loc);
}

void LoopPipeliner::release(bool isLate) {
  for (RingGroup &group : groups) {
    if (group.isLate != isLate)
      continue;
    auto isReadByOthers = [&](const AsyncLoad &load) {
      llvm::SetVector<Operation *> readers = readersOf(load);
      return !load.isLate && (readers.size() != 1 || readers.front() != firstProduct);
    };
    if (!isLate && llvm::any_of(loads, isReadByOthers))
      rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    auto arrive =
        rewriter.create<ir::MbarrierArriveOp>(loop.getLoc(), group.released, group.useSlot);
    if (isLate)
      late.insert(arrive);
  }
}

void LoopPipeliner::makeProductsAsync() {
  int numAsync = 0;
  for (auto product : llvm::make_early_inc_range(loop.getBody()->getOps<ir::WgmmaOp>())) {
    OpOperand *yielded = onlyCarried(product);
    if (!yielded)
      continue;
    product.setIsAsync(true);
    ++numAsync;
    OpBuilder::InsertionGuard guard(rewriter);
    llvm::SetVector<Block *> readers;
    for (Operation *user : product.getResult().getUsers())
      if (user->getBlock() != loop.getBody())
        readers.insert(blockOfBranch(user));
    for (Block *block : readers) {
      rewriter.setInsertionPointToStart(block);
      waitFor(product.getResult(), [&](OpOperand &use) {
        return use.getOwner()->getBlock() != loop.getBody() &&
               blockOfBranch(use.getOwner()) == block;
      });
    }
    rewriter.setInsertionPointAfter(loop);
    waitFor(loop.getResult(yielded->getOperandNumber()), [](OpOperand &) { return true; });
  }
  // Nothing in flight: slots are free at the next barrier.
  if (numAsync == 0)
    needsSecondBarrier = false;
  else if (!needsSecondBarrier)
    atTop<ir::WgmmaWaitOp>(useStage(false), TypeRange{}, ValueRange{}, /*pending=*/numAsync);
}

Block *LoopPipeliner::blockOfBranch(Operation *op) {
  while (op->getParentOp()->getBlock() != loop.getBody())
    op = op->getParentOp();
  return op->getBlock();
}

void LoopPipeliner::waitFor(Value tile, llvm::function_ref<bool(OpOperand &)> accepts) {
  auto wait = rewriter.create<ir::WgmmaWaitOp>(tile.getLoc(), TypeRange{tile.getType()},
                                               ValueRange{tile}, /*pending=*/0);
  rewriter.replaceUsesWithIf(tile, wait.getResult(0), [&](OpOperand &use) {
    return use.getOwner() != wait && accepts(use);
  });
}

bool LoopPipeliner::outlivesIteration(Value buffer) {
  while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
    buffer = view.getSource();
  return loop.isDefinedOutsideOfLoop(buffer) || llvm::any_of(loads, [&](const AsyncLoad &load) {
           return llvm::is_contained(load.allocs, buffer.getDefiningOp());
         });
}

OpOperand *LoopPipeliner::onlyCarried(ir::WgmmaOp product) {
  if (isTile(product.getA()) ||
      ir::elementBits(tileType(product.getAcc()).getElementType()) != 32 ||
      product.getMaxImprecise() != 0 || !outlivesIteration(product.getA()) ||
      !outlivesIteration(product.getB()))
    return nullptr;
  auto accumulator = llvm::dyn_cast<BlockArgument>(product.getAcc());
  if (!accumulator || accumulator.getOwner() != loop.getBody() || !accumulator.hasOneUse())
    return nullptr;
  OpOperand *yielded = nullptr;
  for (OpOperand &use : product.getResult().getUses()) {
    if (use.getOwner()->getBlock() != loop.getBody())
      continue; // in a branch
    if (yielded || use.getOwner() != loop.getBody()->getTerminator() ||
        use.getOperandNumber() + 1 != accumulator.getArgNumber())
      return nullptr;
    yielded = &use;
  }
  return yielded;
}

void LoopPipeliner::endRings() {
  // The rings' bytes may be used by others behind the loop.
  OpBuilder::InsertionGuard guard(rewriter);
  Operation *last = loop;
  while (llvm::isa_and_nonnull<ir::WgmmaWaitOp>(last->getNextNode()))
    last = last->getNextNode();
  rewriter.setInsertionPointAfter(last);
  if (hasCpAsync)
    rewriter.create<ir::AsyncWaitOp>(loop.getLoc(), /*pending=*/0);
  rewriter.create<ir::BarrierOp>(loop.getLoc());
}

void LoopPipeliner::makeCopies() {
  for (RingGroup &group : groups) {
    llvm::SmallVector<AsyncLoad *> own;
    for (AsyncLoad &load : loads)
      if (&groupOf(load) == &group)
        own.push_back(&load);
    rewriter.setInsertionPoint(loop.getBody()->getTerminator());
    // All addresses first: an op may be in several slices. They are copies of the
    // body's, which stay with their other users.
    IRMapping addresses;
    llvm::SetVector<Operation *> cloned;
    for (AsyncLoad *load : own) {
      Slice slice;
      for (Value operand : load->load->getOperands())
        slice.add(loop, operand);
      for (Operation *op : slice.ops)
        if (cloned.insert(op))
          asCopy(group, rewriter.clone(*op, addresses));
    }
    for (AsyncLoad *load : own)
      if (!load->isTma())
        makeCpAsync(group, *load, addresses);
    if (group.hasCpAsync)
      asCopy(group, rewriter.create<ir::AsyncCommitOp>(loop.getLoc()));
    if (group.hasTma)
      makeTma(group, own, addresses);
  }
  if (needsSecondBarrier)
    releases = {rewriter.create<ir::WgmmaWaitOp>(loop.getLoc(), TypeRange{}, ValueRange{},
                                                 /*pending=*/1),
                rewriter.create<ir::BarrierOp>(loop.getLoc())};
  for (AsyncLoad &load : loads)
    rewriter.eraseOp(load.load);
}

void LoopPipeliner::makeCpAsync(RingGroup &group, const AsyncLoad &load,
                                const IRMapping &addresses) {
  auto op = llvm::cast<ir::LoadOp>(load.load);
  Location loc = op.getLoc();
  Value slot =
      asCopy(group, rewriter.create<ir::BufferSlotOp>(loc, load.type, load.ring, group.fillSlot));
  Value mask = op.getMask() ? addresses.lookupOrDefault(op.getMask()) : Value();
  asCopy(group, copyAsync(rewriter, op, addresses.lookupOrDefault(op.getPointer()), mask, slot));
}

void LoopPipeliner::makeTma(RingGroup &group, llvm::ArrayRef<AsyncLoad *> own,
                            const IRMapping &addresses) {
  llvm::SmallVector<Value> slotsOf;
  int64_t bytes = 0;
  for (AsyncLoad *load : own)
    if (load->isTma()) {
      slotsOf.push_back(
          asCopy(group, rewriter.create<ir::BufferSlotOp>(load->load->getLoc(), load->type,
                                                          load->ring, group.fillSlot)));
      bytes += load->type.slotBytes();
    }
  auto branch = asCopy(
      group, rewriter.create<scf::IfOp>(loop.getLoc(), isFirstWarp, /*withElseRegion=*/false));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  if (group.released)
    rewriter.create<ir::MbarrierWaitOp>(loop.getLoc(), group.released, group.fillSlot,
                                        group.fillPhase);
  rewriter.create<ir::MbarrierExpectOp>(loop.getLoc(), group.mbarrier, group.fillSlot, bytes);
  auto slot = slotsOf.begin();
  for (AsyncLoad *load : own)
    if (load->isTma()) {
      auto op = llvm::cast<ir::DescriptorLoadOp>(load->load);
      llvm::SmallVector<Value> coordinates;
      for (Value coordinate : op.getCoordinates())
        coordinates.push_back(addresses.lookupOrDefault(coordinate));
      rewriter.create<ir::TmaLoadOp>(op.getLoc(), addresses.lookupOrDefault(op.getDescriptor()),
                                     coordinates, *slot++, group.mbarrier, group.fillSlot,
                                     op.getEviction());
    }
}

void LoopPipeliner::makeEarlyLoads() {
  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  IRMapping addresses;
  llvm::SetVector<Operation *> cloned;
  for (EarlyLoad &entry : earlyLoads) {
    Slice slice;
    slice.add(loop, entry.load.getResult());
    for (Operation *op : slice.ops)
      if (cloned.insert(op))
        early.insert(staged(rewriter.clone(*op, addresses), earlyStage()));
    rewriter.replaceOp(entry.load, addresses.lookup(entry.load.getResult()));
  }
}

void LoopPipeliner::stageCarriedAddresses() {
  auto follow = [&](llvm::ArrayRef<Operation *> ops, unsigned stage) {
    Slice slice;
    for (Operation *op : ops) {
      llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), needed);
      for (Value value : needed)
        slice.add(loop, value);
    }
    for (size_t next = 0; next < slice.variables.size(); ++next)
      slice.add(loop, yieldedFor(slice.variables[next]));
    for (Operation *op : slice.ops)
      copyStages.try_emplace(op, stage);
  };
  for (RingGroup &group : groups)
    follow(group.copies, copyStage(group));
  follow(early.getArrayRef(), earlyStage());
  // Originals whose copies took over.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (isOpTriviallyDead(&op)) {
      copyStages.erase(&op);
      late.erase(&op);
      for (RingGroup &group : groups)
        llvm::erase(group.copies, &op);
      llvm::erase(top, &op);
      early.remove(&op);
      rewriter.eraseOp(&op);
    }
}

} // namespace tilewright::passes
