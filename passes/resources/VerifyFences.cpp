//===- VerifyFences.cpp - Checks what is read, and when it is over --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: two rules about the order of accesses of shared memory, once all barriers stand. Without
// either, kernels are right on most runs.
//
// Fences: wgmma and TMA read shared memory through another proxy than threads write it. What a
// thread has written they see only after a tw.fence_async of that thread, and a barrier for the
// other threads. So does TMA what cp.async has written; wgmma needs no fence there (BufferInfo.h).
//
// Slots: a copy fills a slot of a ring again only after the threads and products that read it.
//
// Why here: after InsertBarriers has put fences where accesses need them. PipelineLoops has placed
// the waits and barriers of rings.
//
// How: one way through the kernel is followed (LockstepRun.h).
//
// Not handled: tensor maps that a kernel makes, and writes by TMA after those of threads.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LockstepRun.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_VERIFYFENCES
#include "passes/Passes.h.inc"

namespace {

class VerifyFencesPass : public impl::VerifyFencesBase<VerifyFencesPass> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyLockstep(function, LockstepRules::Fences)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyFences(PassContext) {
  return std::make_unique<VerifyFencesPass>();
}

} // namespace tilewright::passes
