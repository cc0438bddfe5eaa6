//===- ChooseNumWarps.cpp - The number of warps from the tile sizes -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sets tw.num_warps where the user gave none.
//
// Why here: before layouts, which depend on it, and after simplification, so
// that only tiles count which are really loaded, stored or reduced.
//
// How: such kernels are limited by memory, so what counts is bytes in flight per
// multiprocessor: 4.8 TB/s times some 700 ns are 25 KB (HOPPER.md 2.14), held in
// registers. Threads with few elements leave registers unused (2048 threads with
// 32 each); threads with many spill or leave room for one block only, whose
// phases (load, reduce, store) then do not overlap with another's. Fewer warps
// make reductions cheaper: one warp needs no shared memory at all.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/transform/Passes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_CHOOSENUMWARPS
#include "passes/transform/Passes.h.inc"

namespace {

/// Elements (computed on as 4 bytes) per thread aimed at: four 16-byte loads of
/// fp32 in flight and some 32 registers of data with a second tile beside it.
constexpr int64_t elementsPerThread = 16;
/// Longer rows hold more per thread before they take more warps: past 16 warps
/// a block fills half of a multiprocessor and hardly overlaps with others.
constexpr int64_t maxElementsPerThread = 32;
constexpr int64_t cappedWarps = 16;
/// Where no tile says anything: the default of the language.
constexpr int64_t defaultWarps = 4;

int64_t largestTile(ModuleOp module) {
  int64_t largest = 0;
  module.walk([&](Operation *op) {
    if (!accessPointer(op) && !llvm::isa<ir::ReduceOp, ir::ScanOp>(op))
      return;
    for (Value operand : op->getOperands())
      if (RankedTensorType type = tileType(operand))
        largest = std::max(largest, type.getNumElements());
  });
  return largest;
}

int64_t chooseWarps(int64_t elements, const TargetInfo &target) {
  if (elements == 0)
    return defaultWarps;
  int64_t warpSize = int64_t(1) << target.log2WarpSize;
  int64_t warps = std::min(cappedWarps, elements / (elementsPerThread * warpSize));
  warps = std::max(warps, elements / (maxElementsPerThread * warpSize));
  warps = std::max<int64_t>(1, std::min<int64_t>(warps, target.maxWarpsPerBlock));
  return int64_t(1) << llvm::Log2_64(warps);
}

class ChooseNumWarpsPass : public impl::ChooseNumWarpsBase<ChooseNumWarpsPass> {
public:
  explicit ChooseNumWarpsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(ir::numWarpsAttr))
      return;
    int64_t elements = largestTile(module);
    int64_t warps = chooseWarps(elements, context.target);
    module->setAttr(ir::numWarpsAttr, IntegerAttr::get(IntegerType::get(&getContext(), 32), warps));
    context.remark(module, {"num-warps", true, {}, {{"warps", warps}, {"largestTileElements", elements}},
                            elements ? "from the largest tile that is loaded, stored or reduced"
                                     : "default: no tile is loaded, stored or reduced"});
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createChooseNumWarps(PassContext context) {
  return std::make_unique<ChooseNumWarpsPass>(std::move(context));
}

} // namespace tilewright::passes
