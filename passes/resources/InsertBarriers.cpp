//===- InsertBarriers.cpp - Keeps threads from overtaking each other ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: inserts tw.barrier where two accesses of the same memory by different
// threads could happen in another order than the program's.
//
// Why here: after AllocateShared, whose offsets say which scratch overlaps.
//
// How: one walk in program order with the set of accesses since the last
// barrier; loops repeat until the set at their end settles; branches join.
//  Scratch: every op with scratch writes it, waits at a barrier of its own and
//  reads it (ScratchSize.h). So it needs a barrier before it if its bytes overlap
//  those of an earlier access, and only its own reads remain after it.
//  Buffers (BufferInfo.h): an access needs a barrier before it if an earlier one of
//  the same bytes may be another thread's, unless both read. A copy of cp.async
//  writes when it is waited for; where threads only read what they copied themselves,
//  that is all it needs. What wgmma and TMA stores read they read until waited for,
//  through barriers; then it counts like any read.
//  Proxies: wgmma and TMA see what threads wrote, and TMA what cp.async wrote, only if
//  the writers put a tw.fence_async between the write and the barrier, so one goes
//  before the barrier where such a read needs it.
//  A buffer that is written before a loop and used in it gets its barrier before the
//  loop; one for code that only the first warp runs goes before the branch, where
//  all threads can wait for each other.
//  Global memory: of two accesses that may alias (AliasInfo.h), one of them a
//  write, the later one needs a barrier before it unless each element is touched
//  by the same thread: same pointers in the same layout, without copies, or where
//  only the thread that stores needs what was loaded (in programs of one block).
//  Scalar atomics are done by one thread for all: a releasing one waits for
//  everyone's accesses first; accesses after an acquiring one wait for it.
//
//  Programs of several blocks (CTAs of a cluster): a block may read another block's
//  scratch (crossesBlocks) after the cluster barrier inside the op. Those reads are
//  finished only after the next cluster barrier. So a cluster barrier is needed before
//  the next write to the same bytes, and before the end of the kernel, because shared
//  memory ends with its block. An exchange writes to the scratch of other blocks, each of
//  which may be anywhere after the last cluster barrier; what a block may have accessed
//  since that barrier must therefore be other bytes. Where an exchange needs all warps of
//  all blocks, it is a cluster barrier itself as far as each block's own memory is
//  concerned: two exchanges that follow each other need nothing between them. Global
//  memory is ordered by cluster barriers.
//
// Not handled: order between programs beyond what atomics say. The slots of one
// ring among themselves, barrier objects, and when the data of tw.tma_load has
// arrived: the pass that makes a ring places its barriers and waits, and
// they count here like any other (a ring against other memory is handled). That a
// thread waits for its own asynchronous reads before it writes the same buffer:
// the contract of tw.wgmma and tw.tma_store.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "ir/layout/LayoutMemory.h"
#include "passes/Passes.h"
#include "passes/analysis/AddressRange.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"
#include "passes/resources/PendingAccesses.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/Passes.h.inc"

namespace {

ir::MemorySemantic semanticOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, ir::MemorySemantic>(op)
      .Case<ir::AtomicRmwOp, ir::AtomicCasOp>([](auto atomic) { return atomic.getSemantic(); })
      .Default([](Operation *) { return ir::MemorySemantic::relaxed; });
}

/// Whether it matters which of the threads that hold an element access it: not for stores, which
/// one of them does, and not for what only stores need.
bool concernsCopies(Operation *op) {
  auto load = llvm::dyn_cast<ir::LoadOp>(op);
  return load ? !reachesStoresOnly(load) : !llvm::isa<ir::StoreOp>(op);
}

bool isAtomic(Operation *op) { return llvm::isa<ir::AtomicRmwOp, ir::AtomicCasOp>(op); }

class BarrierInsertion {
public:
  BarrierInsertion(ModuleOp module, const PassContext &context, const BufferAnalysis &buffers)
      : context(context), buffers(buffers), numBlocks(ir::numBlocks(module)), aliases(module) {}

  int numShared = 0, numFences = 0, numGlobal = 0;

  void visit(func::FuncOp function) {
    Pending pending;
    Block &body = function.getBody().front();
    visit(body, pending);
    if (!pending.cluster.remoteReads.empty()) {
      ++numShared;
      insertBarrier(body.getTerminator(), pending, /*allBlocks=*/true);
    }
  }

private:
  void visit(Block &block, Pending &pending) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, pending);
  }

  const PassContext &context;
  const BufferAnalysis &buffers;
  int numBlocks;
  AliasInfo aliases;

  //===--- conflicts in shared memory ------------------------------------===//
  static std::pair<int64_t, int64_t> byteRange(Operation *piece) {
    auto offset = piece->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
    int64_t begin = offset ? offset.getInt() : 0, bytes = bufferBytes(piece);
    return {begin, begin + (bytes ? bytes : scratchBytes(piece))};
  }

  /// Whether two accesses of these may be of the same bytes. Who makes a ring orders the
  /// accesses of its slots.
  static bool overlap(Operation *lhs, Operation *rhs) {
    if (lhs == rhs)
      return !ir::ringOf(lhs);
    auto [lhsBegin, lhsEnd] = byteRange(lhs);
    auto [rhsBegin, rhsEnd] = byteRange(rhs);
    return lhsBegin < rhsEnd && rhsBegin < lhsEnd;
  }

  /// The first of `pieces` that may share bytes with `piece`, or null.
  static Operation *firstOverlapping(Operation *piece, const Pieces &pieces) {
    auto found = llvm::find_if(pieces, [&](Operation *other) { return overlap(piece, other); });
    return found == pieces.end() ? nullptr : *found;
  }
  static bool overlapsAny(Operation *piece, const Pieces &pieces) {
    return firstOverlapping(piece, pieces) != nullptr;
  }

  static Needed neededFor(Operation *piece, bool isWrite, Proxy proxy, const Pending &pending) {
    Needed needed;
    needed.allBlocks = isWrite && overlapsAny(piece, pending.cluster.remoteReads);
    needed.barrier = needed.allBlocks || overlapsAny(piece, pending.writes) ||
                     (isWrite && overlapsAny(piece, pending.reads));
    if (proxy != Proxy::Generic) {
      needed.fence = overlapsAny(piece, pending.unseen.byThreads) ||
                     (proxy == Proxy::Tma && overlapsAny(piece, pending.unseen.byCopies));
      needed.barrier |= needed.fence || overlapsAny(piece, pending.unseen.fenced);
    }
    if (needed.barrier) {
      needed.cause = firstOverlapping(piece, pending.writes);
      needed.causeIsWritten = needed.cause != nullptr || !isWrite;
      if (!needed.cause)
        needed.cause = isWrite && overlapsAny(piece, pending.reads)
                           ? firstOverlapping(piece, pending.reads)
                           : piece;
    }
    return needed;
  }

  Needed neededFor(Operation *op, const Pending &pending) const {
    Needed needed;
    for (const BufferUse &use : bufferUses(op))
      for (Operation *piece : buffers.allocationsOf(use.buffer))
        needed |= neededFor(piece, use.isWrite, use.proxy, pending);
    if (hasScratch(op))
      needed |= neededFor(op, /*isWrite=*/true, Proxy::Generic, pending);
    if (numBlocks > 1 && hasScratch(op) && isExchange(op) &&
        overlapsAny(op, pending.cluster.sinceBarrier))
      needed.barrier = needed.allBlocks = true;
    return needed;
  }

  static bool hasScratch(Operation *op) {
    return op->hasAttr(ir::scratchOffsetAttr) && !bufferBytes(op);
  }

  /// Adds the accesses of `op` to shared memory.
  void access(Operation *op, Pending &pending) {
    if (hasScratch(op)) {
      // Its own barrier, between writing and reading, orders all that was before.
      bool isRemote = crossesBlocks(op), sends = isRemote && isExchange(op);
      pending.passBarrier(numBlocks == 1 || (isRemote && !sends));
      // All warps have begun it. Reads of other blocks' memory may still be under way.
      if (sends && meetsAllWarps(op))
        pending.cluster.sinceBarrier.clear();
      if (isRemote && !sends)
        pending.cluster.remoteReads.insert(op);
      if (numBlocks > 1)
        pending.cluster.sinceBarrier.insert(op);
      pending.reads.insert(op);
      pending.unseen.byThreads.insert(op);
      return;
    }
    for (const BufferUse &use : bufferUses(op))
      for (Operation *piece : buffers.allocationsOf(use.buffer))
        switch (use.completion) {
        case Completion::AtOnce:
          use.isWrite ? pending.write(piece) : (void)pending.reads.insert(piece);
          break;
        case Completion::AsyncWait:
          pending.copies.insert(piece);
          break;
        case Completion::WgmmaWait:
          pending.wgmmaReads.insert(piece);
          break;
        case Completion::TmaStoreWait:
          pending.tmaReads.insert(piece);
          break;
        case Completion::Mbarrier:
          // Who reads has waited for it.
          break;
        }
  }

  /// Ops that end asynchronous accesses.
  static void wait(Operation *op, Pending &pending) {
    auto finishReads = [&](Pieces &reads, unsigned stillPending) {
      if (stillPending != 0)
        return;
      pending.reads.insert(reads.begin(), reads.end());
      reads.clear();
    };
    if (auto wait = llvm::dyn_cast<ir::AsyncWaitOp>(op)) {
      pending.waitForCopies();
      if (wait.getPending() == 0)
        pending.copies.clear();
    } else if (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(op)) {
      finishReads(pending.wgmmaReads, wait.getPending());
    } else if (auto wait = llvm::dyn_cast<ir::TmaStoreWaitOp>(op)) {
      finishReads(pending.tmaReads, wait.getPending());
    }
  }

  //===--- conflicts in global memory ------------------------------------===//

  /// Whether each element of both accesses belongs to one thread.
  bool isThreadLocal(Operation *lhs, Operation *rhs, Operation *loop) const {
    Value pointer = accessPointer(lhs);
    // The types hold the layouts: equal values, equal layouts.
    if (pointer != accessPointer(rhs) || loop)
      return false;
    bool bothWrite = llvm::isa<ir::StoreOp>(lhs) && llvm::isa<ir::StoreOp>(rhs);
    // Between blocks of a cluster it stays a race, if one without effect.
    if (bothWrite || (numBlocks == 1 && !concernsCopies(lhs) && !concernsCopies(rhs)))
      return true;
    RankedTensorType type = tileType(pointer);
    if (!type)
      return false;
    LinearLayout layout = ir::getLinearLayout(type);
    return duplicateThreadMasks(layout).isZero() && ir::duplicateBlockMask(layout, numBlocks) == 0;
  }

  /// Whether the addresses show that the accesses never overlap.
  static bool isDisjoint(Operation *earlier, Operation *later, Operation *loop) {
    if (loop == Pending::anyLoop(earlier))
      return false;
    // In elements: of one size only.
    if (getElementTypeOrSelf(accessPointer(earlier)) != getElementTypeOrSelf(accessPointer(later)))
      return false;
    std::optional<AddressRange> lhs = addressRange(accessPointer(earlier)),
                                rhs = addressRange(accessPointer(later));
    if (!lhs || !rhs)
      return false;
    return loop ? areDisjointAcross(loop, *lhs, *rhs) : areDisjoint(*lhs, *rhs);
  }

  bool conflicts(Operation *earlier, Operation *later, Operation *loop) {
    bool onlyReads = llvm::isa<ir::LoadOp, ir::AsyncCopyOp>(earlier) &&
                     llvm::isa<ir::LoadOp, ir::AsyncCopyOp>(later);
    // Atomics order themselves.
    if (onlyReads || (isAtomic(earlier) && isAtomic(later)))
      return false;
    // A store of another iteration: a loop that writes one element twice with
    // different threads would have to be ordered by the user.
    if (earlier == later)
      return false;
    return aliases.mayAliasAcrossThreads(accessPointer(earlier), accessPointer(later)) &&
           !isThreadLocal(earlier, later, loop) && !isDisjoint(earlier, later, loop);
  }

  bool needsGlobalBarrier(Operation *op, const Pending &pending) {
    if (pending.acquired)
      return true;
    auto semantic = semanticOf(op);
    bool releases =
        semantic == ir::MemorySemantic::release || semantic == ir::MemorySemantic::acq_rel;
    if (isAtomic(op) && !isTile(accessPointer(op)) && releases &&
        llvm::any_of(pending.globals, [](auto &entry) { return !isAtomic(entry.first); }))
      return true;
    return llvm::any_of(pending.globals,
                        [&](auto &entry) { return conflicts(entry.first, op, entry.second); });
  }

  //===--- the walk ------------------------------------------------------===//

  /// Whether only some threads find this true.
  static bool isOfFirstWarp(Value condition) {
    Operation *op = condition.getDefiningOp();
    if (!op)
      return false;
    if (llvm::isa<ir::IsFirstWarpOp>(op))
      return true;
    return llvm::isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) &&
           llvm::any_of(op->getOperands(), isOfFirstWarp);
  }

  /// `op`, or what is around it and run by all threads.
  static Operation *reachedByAll(Operation *op) {
    Operation *result = op;
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (auto branch = llvm::dyn_cast<scf::IfOp>(parent);
          branch && isOfFirstWarp(branch.getCondition()))
        result = parent;
    return result;
  }

  void insertBarrier(Operation *before, Pending &pending, bool allBlocks, bool withFence = false) {
    Operation *place = reachedByAll(before);
    OpBuilder builder(place);
    if (withFence) {
      builder.create<ir::FenceAsyncOp>(before->getLoc());
      pending.unseen.passFence();
    }
    builder.create<ir::BarrierOp>(before->getLoc(), allBlocks);
    pending.passBarrier(allBlocks || numBlocks == 1);
  }

  void remarkShared(Operation *before, const Needed &needed) const {
    if (!needed.cause || !context.wantsRemarks())
      return;
    auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(needed.cause);
    std::string what = alloc                       ? describeBuffer(alloc.getType())
                       : bufferBytes(needed.cause) ? "barriers of copies"
                                                   : describeScratch(needed.cause);
    context.remark(before, {"barrier",
                            true,
                            {},
                            {},
                            std::string(needed.causeIsWritten ? "other threads write"
                                                              : "other threads still read") +
                                " the shared memory of " + what +
                                (needed.fence ? ", which an asynchronous unit reads" : "")});
  }

  void insertShared(Operation *before, const Needed &needed, Pending &pending) {
    if (!needed.barrier)
      return;
    ++numShared;
    numFences += needed.fence;
    remarkShared(before, needed);
    insertBarrier(before, pending, needed.allBlocks, needed.fence);
  }

  void visit(Operation *op, Pending &pending) {
    if (auto barrier = llvm::dyn_cast<ir::BarrierOp>(op))
      return pending.passBarrier(barrier.getAllBlocks() || numBlocks == 1);
    if (llvm::isa<ir::FenceAsyncOp>(op))
      return pending.unseen.passFence();
    if (llvm::isa<scf::SCFDialect>(op->getDialect()) && op->getNumRegions() != 0)
      return visitRegions(op, pending);
    bool isGlobal = static_cast<bool>(accessPointer(op));

    if (isGlobal && needsGlobalBarrier(op, pending)) {
      ++numGlobal;
      insertBarrier(op, pending, /*allBlocks=*/numBlocks > 1);
      context.remark(
          op, {"barrier", true, {}, {}, "orders accesses of one buffer by different threads"});
    }
    insertShared(op, neededFor(op, pending), pending);
    wait(op, pending);
    access(op, pending);
    if (!isGlobal)
      return;
    // An atomic with scratch: all threads wait for it to act before they read.
    if (hasScratch(op) && (numBlocks == 1 || crossesBlocks(op)))
      return;
    pending.globals.insert({op, nullptr});
    auto semantic = semanticOf(op);
    bool acquires =
        semantic == ir::MemorySemantic::acquire || semantic == ir::MemorySemantic::acq_rel;
    pending.acquired |= isAtomic(op) && !isTile(accessPointer(op)) && acquires;
  }

  /// A barrier before a loop for buffers that are used in it and were accessed
  /// earlier: once, rather than in every iteration.
  void separateFromLoop(Operation *loop, Pending &pending) {
    Needed needed;
    loop->walk([&](Operation *op) {
      if (!bufferUses(op).empty())
        needed |= neededFor(op, pending);
    });
    insertShared(loop, needed, pending);
  }

  /// By hand: what is pending belongs to points of the program, not to values, so RegionFlow
  /// has no edges for it.
  void visitRegions(Operation *op, Pending &pending) {
    if (!llvm::isa<scf::IfOp>(op))
      separateFromLoop(op, pending);
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op)) {
      Pending otherwise = pending;
      visit(branch.getThenRegion().front(), pending);
      if (!branch.getElseRegion().empty())
        visit(branch.getElseRegion().front(), otherwise);
      pending.join(otherwise);
      return;
    }
    if (auto loop = llvm::dyn_cast<scf::WhileOp>(op)) {
      // The part before the condition runs at least once, and last.
      Pending exit;
      visitLoop(op, pending, [&](Pending &state) {
        visit(*loop.getBeforeBody(), state);
        exit = state;
        visit(*loop.getAfterBody(), state);
      });
      pending = std::move(exit);
      return;
    }
    Pending skipped = pending;
    visitLoop(op, pending, [&](Pending &state) {
      for (Region &region : op->getRegions())
        visit(region.front(), state);
    });
    pending.join(skipped);
  }

  /// Runs `body` until what comes round the back edge adds nothing. `pending` is
  /// the state at entry, then that at the end of the body.
  template <typename Body> void visitLoop(Operation *loop, Pending &pending, Body body) {
    Pending entry = pending;
    while (true) {
      Pending state = entry;
      body(state);
      pending = state;
      // In the next round these are accesses of another iteration, unless their
      // addresses were made outside.
      Pending next = state;
      next.globals.clear();
      for (auto [op, of] : state.globals) {
        bool moves = loop->isAncestor(accessPointer(op).getParentBlock()->getParentOp());
        next.globals.insert({op, !moves ? of : !of || of == loop ? loop : Pending::anyLoop(op)});
      }
      if (!entry.join(next))
        return;
    }
  }
};

class InsertBarriersPass : public impl::InsertBarriersBase<InsertBarriersPass> {
public:
  explicit InsertBarriersPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    BufferAnalysis buffers(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      BarrierInsertion insertion(getOperation(), context, buffers);
      insertion.visit(function);
      numShared += insertion.numShared;
      numFences += insertion.numFences;
      numGlobal += insertion.numGlobal;
    }
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createInsertBarriers(PassContext context) {
  return std::make_unique<InsertBarriersPass>(std::move(context));
}

} // namespace tilewright::passes
