//===- DeleteBarrier.cpp - Takes one barrier, fence or wait away ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: deletes the barrier, fence, wait or arrival of a given number, counted in program
// order; without a number, says where they are. For tests: what the other passes put there
// must be needed, and whatever checks kernels must notice that it is missing.
//
// How: results of a wait become what was waited for. The beginning of a program of several
// blocks is an arrival and its wait; they go together, since one alone is no program.
//
// Not handled: barriers that are part of an op, such as that of a conversion through
// scratch. They appear when the op is lowered.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/TileDialect.h"
#include "passes/Passes.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_DELETEBARRIER
#include "passes/Passes.h.inc"

namespace {

bool isOrdering(Operation *op) {
  return llvm::isa<ir::BarrierOp, ir::ClusterArriveOp, ir::AsyncWaitOp, ir::MbarrierArriveOp,
                   ir::MbarrierWaitOp, ir::TmaStoreWaitOp, ir::FenceAsyncOp, ir::WgmmaWaitOp>(op);
}

class DeleteBarrierPass : public impl::DeleteBarrierBase<DeleteBarrierPass> {
public:
  using DeleteBarrierBase::DeleteBarrierBase;

  void runOnOperation() override {
    llvm::SmallVector<Operation *> places;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isOrdering(op))
        places.push_back(op);
    });
    if (!number.hasValue())
      return list(places);
    if (number >= places.size()) {
      getOperation().emitError() << "has " << places.size() << " barriers, fences and waits";
      return signalPassFailure();
    }
    erase(places[number]);
  }

private:
  void list(llvm::ArrayRef<Operation *> places) {
    for (auto [index, op] : llvm::enumerate(places))
      op->emitRemark() << "number " << index;
    markAllAnalysesPreserved();
  }
  void erase(Operation *op) {
    if (llvm::isa<ir::ClusterArriveOp>(op))
      getOperation().walk([](ir::ClusterWaitOp wait) { wait.erase(); });
    if (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(op))
      wait.replaceAllUsesWith(wait.getTiles());
    op->erase();
  }
};

} // namespace

std::unique_ptr<Pass> createDeleteBarrier(PassContext) {
  return std::make_unique<DeleteBarrierPass>();
}

} // namespace tilewright::passes
