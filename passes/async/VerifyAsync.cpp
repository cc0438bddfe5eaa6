//===- VerifyAsync.cpp - Checks that what is started is waited for --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the verifier of the phase of asynchrony. A copy, product or store that is started and
// never waited for computes right results on most runs, and wrong ones on some.
//
// How: five rules, each about the ops of one mechanism, wherever they stand.
//  cp.async: a copy is committed before the body of its loop ends, and a wait comes after the
//            commit, or is in a loop with it. The last wait of a kernel with copies waits
//            for all.
//  TMA load: somebody announces bytes at its barrier, and somebody waits there.
//  Barriers: one that is waited for is arrived at, and one that is arrived at is waited for.
//            So slots of a ring that are released are also taken again.
//  wgmma:    the tiles of a product in flight are only passed on or waited for.
//  TMA store: a wait comes after it, or is in a loop with it.
// Then one way through the kernel is followed (LockstepRun.h), which shows whether waits leave
// the right groups of copies in flight and name the right parities of barriers.
//
// Not handled: groups of wgmma and of TMA stores by number. The PTX emulator of the tests
// checks those on running kernels.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LockstepRun.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_VERIFYASYNC
#include "passes/Passes.h.inc"

namespace {

class AsyncVerifier {
public:
  explicit AsyncVerifier(ModuleOp module) : buffers(module), module(module) {
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = numbers.size(); });
  }

  LogicalResult verify() {
    WalkResult result = module.walk([&](Operation *op) {
      return failed(verifyOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return success(!result.wasInterrupted() && succeeded(verifyBarriers()));
  }

private:
  const BufferAnalysis buffers;
  ModuleOp module;
  llvm::DenseMap<Operation *, size_t> numbers;

  LogicalResult verifyOp(Operation *op) {
    if (llvm::isa<ir::AsyncCopyOp>(op) && !isCommitted(op))
      return op->emitError("copy is not committed before its loop or function ends");
    if (llvm::isa<ir::AsyncCommitOp>(op) && !isFollowedBy<ir::AsyncWaitOp>(op))
      return op->emitError("no wait follows this group of copies");
    if (llvm::isa<ir::TmaStoreOp>(op) && !isFollowedBy<ir::TmaStoreWaitOp>(op))
      return op->emitError("no wait follows this store");
    if (auto product = llvm::dyn_cast<ir::WgmmaOp>(op); product && product.getIsAsync())
      return verifyInFlight(product);
    return success();
  }

  /// A commit after `copy` in its block, or around it within the same iteration.
  static bool isCommitted(Operation *copy) {
    for (Operation *op = copy; op && !llvm::isa<LoopLikeOpInterface, func::FuncOp>(op);
         op = op->getParentOp())
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
        if (llvm::isa<ir::AsyncCommitOp>(next))
          return true;
    return false;
  }

  static Operation *outermostLoop(Operation *op) {
    Operation *found = nullptr;
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      if (llvm::isa<LoopLikeOpInterface>(parent))
        found = parent;
    return found;
  }

  /// Whether a wait may run after `op`: later in the text, or in a loop around it.
  template <typename Wait> bool isFollowedBy(Operation *op) {
    Operation *loop = outermostLoop(op);
    bool found = false;
    module.walk([&](Wait wait) {
      found |= numbers.lookup(wait) > numbers.lookup(op) || (loop && loop->isAncestor(wait));
    });
    return found;
  }

  LogicalResult verifyInFlight(ir::WgmmaOp product) {
    Value tile = product.getResult();
    for (OpOperand &use : tile.getUses()) {
      Operation *user = use.getOwner();
      auto next = llvm::dyn_cast<ir::WgmmaOp>(user);
      bool isPassedOn = user->hasTrait<OpTrait::IsTerminator>() ||
                        llvm::isa<LoopLikeOpInterface, ir::WgmmaWaitOp>(user) ||
                        (next && next.getAcc() == tile && next.getA() != tile);
      if (!isPassedOn) {
        InFlightDiagnostic diagnostic = user->emitError("reads a product that is in flight");
        diagnostic.attachNote(product.getLoc()) << "the product";
        return diagnostic;
      }
    }
    return success();
  }

  /// What happens at the barriers of one allocation.
  struct Events {
    bool isExpected = false, isArrivedAt = false, isWaitedFor = false, hasLoads = false;
  };

  LogicalResult verifyBarriers() {
    for (Operation *allocation : buffers.allocations()) {
      if (!llvm::isa<ir::MbarrierAllocOp>(allocation))
        continue;
      Events events;
      for (Value value : buffers.valuesOf(allocation))
        for (Operation *user : value.getUsers()) {
          events.isExpected |= llvm::isa<ir::MbarrierExpectOp>(user);
          events.isArrivedAt |= llvm::isa<ir::MbarrierArriveOp>(user);
          events.isWaitedFor |= llvm::isa<ir::MbarrierWaitOp>(user);
          events.hasLoads |= llvm::isa<ir::TmaLoadOp>(user);
        }
      if (events.hasLoads && !events.isExpected)
        return allocation->emitError("loads complete at this barrier, and no bytes are announced");
      bool isSignalled = events.isExpected || events.isArrivedAt;
      if (events.isWaitedFor && !isSignalled)
        return allocation->emitError("is waited for, and nothing arrives");
      if (isSignalled && !events.isWaitedFor)
        return allocation->emitError("is arrived at, and nobody waits");
    }
    return success();
  }
};

class VerifyAsyncPass : public impl::VerifyAsyncBase<VerifyAsyncPass> {
public:
  void runOnOperation() override {
    if (failed(AsyncVerifier(getOperation()).verify()) || failed(followEach()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult followEach() {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyLockstep(function, LockstepRules::Waits)))
        return failure();
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyAsync(PassContext) { return std::make_unique<VerifyAsyncPass>(); }

} // namespace tilewright::passes
