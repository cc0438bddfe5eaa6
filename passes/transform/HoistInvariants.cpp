//===- HoistInvariants.cpp - Loop-invariant code motion -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves pure ops out of loops, unless tl.range asked not to.
//
// Why here: before layouts, so that an invariant tile is converted once, outside.
//
// Not handled: loads. They have a memory effect, so upstream's motion leaves
// them in the loop; hoisting one needs proof that the loop runs, and that no
// store meets it.
//
//===----------------------------------------------------------------------===//

#include "passes/transform/Passes.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/transform/Passes.h.inc"

namespace {

class HoistInvariantsPass : public impl::HoistInvariantsBase<HoistInvariantsPass> {
public:
  explicit HoistInvariantsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    // Innermost first: what leaves an inner loop may leave the outer one too.
    getOperation().walk([&](LoopLikeOpInterface loop) {
      if (loop->hasAttr(ir::loopNoLicmAttr)) {
        ++numRefused;
        context.remark(loop, {"hoist-invariants", false, {}, {}, "the loop asks for no hoisting"});
        return;
      }
      numHoisted += moveLoopInvariantCode(loop);
    });
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createHoistInvariants(PassContext context) {
  return std::make_unique<HoistInvariantsPass>(std::move(context));
}

} // namespace tilewright::passes
