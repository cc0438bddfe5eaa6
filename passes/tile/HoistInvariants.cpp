//===- HoistInvariants.cpp - Loop-invariant code motion -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves pure ops out of loops, unless tl.range asked not to. A loop-carried
// variable that starts as one value and becomes the same value in each iteration is no
// variable: it is replaced by that value.
//
// Why here: before layouts, so that an invariant tile is converted once, outside; and
// after CSE, which makes one value of a tile that is computed before and in the loop.
//
// Not handled: loads. They have a memory effect, so upstream's motion leaves
// them in the loop; hoisting one needs proof that the loop runs, and that no
// store overlaps it.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/Passes.h.inc"

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
    dropConstantVariables();
  }

private:
  PassContext context;

  /// An inner loop's variable may become constant when an outer one's has.
  void dropConstantVariables() {
    llvm::SmallVector<Operation *> changed;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      bool hasConstant = false;
      for (auto [init, argument, yielded, result] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                     loop.getResults())) {
        if (init != yielded)
          continue;
        argument.replaceAllUsesWith(init);
        result.replaceAllUsesWith(init);
        hasConstant = true;
        ++numDropped;
      }
      if (hasConstant)
        changed.push_back(loop);
    });
    if (changed.empty())
      return;
    // Upstream's patterns remove variables that nothing reads.
    RewritePatternSet patterns(&getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingOps;
    (void)applyOpPatternsAndFold(changed, std::move(patterns), config);
  }
};

} // namespace

std::unique_ptr<Pass> createHoistInvariants(PassContext context) {
  return std::make_unique<HoistInvariantsPass>(std::move(context));
}

} // namespace tilewright::passes
