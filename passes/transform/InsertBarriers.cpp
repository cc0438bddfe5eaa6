//===- InsertBarriers.cpp - Keeps threads from overtaking each other ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: inserts tw.barrier where two accesses of the same memory by different
// threads could happen in another order than the program's.
//
// Why here: behind AllocateShared, whose offsets say which scratch overlaps.
//
// How: one walk in program order with the set of accesses since the last
// barrier; loops repeat until the set at their end settles; branches join.
//  Shared memory: every op with scratch writes it, waits at a barrier of its own
//  and reads it (ScratchSize.h). So an op needs a barrier in front if its bytes
//  meet those that an earlier op may still be reading, and leaves behind only
//  its own reads.
//  Global memory: of two accesses that may alias (AliasInfo.h), one of them a
//  write, the later one needs a barrier in front unless each element is touched
//  by the same thread: same pointers in the same layout, without copies.
//  Scalar atomics are done by one thread for all: a releasing one waits for
//  everyone's accesses first; accesses after an acquiring one wait for it.
//
// Not handled: order between programs beyond what atomics say.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutMemory.h"
#include "passes/analysis/AddressRange.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"
#include "passes/transform/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/transform/Passes.h.inc"

namespace {

/// What happened since the last barrier.
struct Pending {
  /// Scratch that some thread may still be reading: the op that reads it.
  llvm::SetVector<Operation *> scratchReads;
  /// Global accesses. One of this iteration has no loop; one of an earlier
  /// iteration has that loop, since an equal SSA value is then no equal address;
  /// one of earlier iterations of several loops has `anyLoop`.
  llvm::SetVector<std::pair<Operation *, Operation *>> globals;
  /// A scalar atomic acquired for all threads, without a barrier since.
  bool acquired = false;

  void clear() { *this = Pending(); }

  /// The access itself, which is no loop.
  static Operation *anyLoop(Operation *access) { return access; }

  /// True if anything is new.
  bool join(const Pending &other) {
    bool changed = false;
    for (Operation *op : other.scratchReads)
      changed |= scratchReads.insert(op);
    for (auto entry : other.globals)
      changed |= globals.insert(entry);
    changed |= other.acquired && !acquired;
    acquired |= other.acquired;
    return changed;
  }
};

ir::MemorySemantic semanticOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, ir::MemorySemantic>(op)
      .Case<ir::AtomicRmwOp, ir::AtomicCasOp>([](auto atomic) { return atomic.getSemantic(); })
      .Default([](Operation *) { return ir::MemorySemantic::relaxed; });
}

bool isAtomic(Operation *op) { return llvm::isa<ir::AtomicRmwOp, ir::AtomicCasOp>(op); }

class BarrierInsertion {
public:
  explicit BarrierInsertion(const PassContext &context) : context(context) {}

  int numShared = 0, numGlobal = 0;

  void visit(Block &block, Pending &pending) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, pending);
  }

private:
  const PassContext &context;
  AliasInfo aliases;

  //===--- conflicts -----------------------------------------------------===//
  static std::pair<int64_t, int64_t> scratchRange(Operation *op) {
    auto offset = op->getAttrOfType<IntegerAttr>(ir::scratchOffsetAttr);
    return {offset.getInt(), offset.getInt() + scratchBytes(op)};
  }

  static bool scratchOverlaps(Operation *lhs, Operation *rhs) {
    auto [lhsBegin, lhsEnd] = scratchRange(lhs);
    auto [rhsBegin, rhsEnd] = scratchRange(rhs);
    return lhsBegin < rhsEnd && rhsBegin < lhsEnd;
  }

  /// Whether each element of both accesses belongs to one thread.
  static bool isThreadLocal(Operation *lhs, Operation *rhs, Operation *loop) {
    Value pointer = accessPointer(lhs);
    // The types hold the layouts: equal values, equal layouts.
    if (pointer != accessPointer(rhs) || loop)
      return false;
    bool bothWrite = llvm::isa<ir::StoreOp>(lhs) && llvm::isa<ir::StoreOp>(rhs);
    RankedTensorType type = tileType(pointer);
    if (!type)
      return bothWrite;
    return bothWrite || duplicateThreadMasks(ir::getLinearLayout(type)).isZero();
  }

  /// Whether the addresses show that the accesses never meet.
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
    bool onlyReads = llvm::isa<ir::LoadOp>(earlier) && llvm::isa<ir::LoadOp>(later);
    // Atomics order themselves.
    if (onlyReads || (isAtomic(earlier) && isAtomic(later)))
      return false;
    // A store of another iteration: a loop that writes one element twice with
    // different threads would have to be ordered by the user.
    if (earlier == later)
      return false;
    return aliases.bases(accessPointer(earlier)).mayAlias(aliases.bases(accessPointer(later))) &&
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
  void insertBarrier(Operation *before, Pending &pending) {
    OpBuilder(before).create<ir::BarrierOp>(before->getLoc());
    pending.clear();
  }

  void visit(Operation *op, Pending &pending) {
    if (llvm::isa<ir::BarrierOp>(op))
      return pending.clear();
    if (llvm::isa<scf::SCFDialect>(op->getDialect()) && op->getNumRegions() != 0)
      return visitRegions(op, pending);
    bool isGlobal = static_cast<bool>(accessPointer(op));
    int64_t scratch = op->hasAttr(ir::scratchOffsetAttr) ? scratchBytes(op) : 0;

    if (isGlobal && needsGlobalBarrier(op, pending)) {
      ++numGlobal;
      insertBarrier(op, pending);
      context.remark(
          op, {"barrier", true, {}, {}, "orders accesses of one buffer by different threads"});
    }
    if (scratch && llvm::any_of(pending.scratchReads,
                                [&](Operation *other) { return scratchOverlaps(op, other); })) {
      ++numShared;
      insertBarrier(op, pending);
    }
    if (scratch) {
      // Its own barrier, between writing and reading, orders all that was before.
      pending.clear();
      pending.scratchReads.insert(op);
      return;
    }
    if (!isGlobal)
      return;
    pending.globals.insert({op, nullptr});
    auto semantic = semanticOf(op);
    bool acquires =
        semantic == ir::MemorySemantic::acquire || semantic == ir::MemorySemantic::acq_rel;
    pending.acquired |= isAtomic(op) && !isTile(accessPointer(op)) && acquires;
  }

  void visitRegions(Operation *op, Pending &pending) {
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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      BarrierInsertion insertion(context);
      Pending pending;
      insertion.visit(function.getBody().front(), pending);
      numShared += insertion.numShared;
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
