//===- MergeFences.cpp - One fence where a later one does its work --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: deletes a tw.fence_async if another one follows it in its block before
// anything depends on the first.
//
// Why here: after InsertBarriers, which adds the second fence of such a pair. A ring
// of cp.async brings a fence to the top of the loop; an operand that threads compute
// from one of its tiles needs a fence between its store and wgmma.
//
// How: a fence orders all earlier accesses of its thread, so the second one covers what
// the first one covered. In between, no access through the async proxy (wgmma, TMA) and
// no message to threads that might start one (mbarriers, branches, loops, calls)
// may occur. A barrier follows the second fence: its own writes need that.
//
// Example: an iteration that waits for cp.async, scales one tile and multiplies it by
// the other has one fence instead of two. Assemblers put a MEMBAR beside each, which
// waits for every access of the thread.
//
// Not handled: fences of different blocks, and those of global memory.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_MERGEFENCES
#include "passes/Passes.h.inc"

namespace {

/// Whether something that an earlier fence allows may begin with `op`.
bool mayDependOnFence(Operation *op) {
  if (op->getNumRegions() != 0 || llvm::isa<CallOpInterface>(op))
    return true;
  if (llvm::isa<ir::MbarrierAllocOp, ir::MbarrierExpectOp, ir::MbarrierArriveOp,
                ir::MbarrierWaitOp>(op))
    return true;
  return llvm::any_of(bufferUses(op), [](const BufferUse &use) { return use.isAsyncProxy; });
}

class MergeFencesPass : public impl::MergeFencesBase<MergeFencesPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { merge(*block); });
  }

private:
  void merge(Block &block) {
    ir::FenceAsyncOp covered;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto fence = llvm::dyn_cast<ir::FenceAsyncOp>(op);
      if (!fence) {
        if (mayDependOnFence(&op))
          covered = {};
        continue;
      }
      if (fence.getGlobal()) {
        covered = {};
        continue;
      }
      if (covered) {
        covered.erase();
        ++numMerged;
      }
      covered = fence;
    }
  }
};

} // namespace

std::unique_ptr<Pass> createMergeFences() { return std::make_unique<MergeFencesPass>(); }

} // namespace tilewright::passes
