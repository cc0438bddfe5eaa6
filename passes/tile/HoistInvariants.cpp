//===- HoistInvariants.cpp - Loop-invariant code motion -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves pure ops out of loops, unless tl.range asked not to, and loads out of loops
// that write nothing. A loop-carried variable that starts as one value and becomes the same
// value in each iteration is no variable: it is replaced by that value.
//
// Why here: before layouts, so that an invariant tile is converted once, outside; and
// after CSE, which makes one value of a tile that is computed before and in the loop.
//
// How: a loop that does not run may hold addresses that do not exist, so where the bounds
// are not known, the mask of a load that leaves it says whether it runs. What is computed
// from the load follows it.
//
// Not handled: loads beside stores to other memory. Rows that are normalised one after
// another would hold their weights in registers meanwhile.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/Passes.h.inc"

/// Whether memory is as it was for all that the loop does. What waits for other programs or
/// may end this one counts as writing.
static bool onlyReads(scf::ForOp loop) {
  return !loop->walk([](Operation *op) {
                if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op) ||
                    llvm::isa<ir::AssumeOp>(op))
                  return WalkResult::advance();
                bool reads = hasSingleEffect<MemoryEffects::Read>(op);
                return reads ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Makes a load happen only where the loop runs.
static void guard(ir::LoadOp load, scf::ForOp loop) {
  APInt lower, upper;
  if (matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
      matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) && lower.slt(upper))
    return;
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Value runs = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                             loop.getUpperBound());
  if (auto tile = llvm::dyn_cast<RankedTensorType>(load.getPointer().getType()))
    runs = builder.create<ir::SplatOp>(loc, tile.clone(builder.getI1Type()), runs);
  if (Value mask = load.getMask())
    runs = builder.create<arith::AndIOp>(loc, mask, runs);
  load.getMaskMutable().assign(runs);
}

/// Loads of the body that are the same in each iteration.
static unsigned hoistLoads(scf::ForOp loop) {
  llvm::SmallVector<ir::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<ir::LoadOp>())
    if (llvm::all_of(load->getOperands(),
                     [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); }))
      loads.push_back(load);
  if (loads.empty() || !onlyReads(loop))
    return 0;
  for (ir::LoadOp load : loads) {
    loop.moveOutOfLoop(load);
    guard(load, loop);
  }
  return loads.size();
}

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
      auto counted = llvm::dyn_cast<scf::ForOp>(*loop);
      while (unsigned loads = counted ? hoistLoads(counted) : 0) {
        numLoads += loads;
        numHoisted += moveLoopInvariantCode(loop);
      }
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
