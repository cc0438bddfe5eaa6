//===- MarkConstancy.cpp - Which elements are provably equal --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: marks integer and boolean tiles with the element bits that do not
// matter (tw.constant_bits), so that code generation computes registers that
// are provably equal once.
//
// Why here: after layouts and conversions, when no op is made any more; before
// code generation, which knows registers but not values. LLVM cannot find it:
// that offsets < n agrees for eight neighbours needs the divisibility of n.
//
// Example: with n divisible by 16, the mask of a row is one predicate per 16
// elements instead of 16: in a layer norm of 32768 f16 columns with 32 warps
// that is 4 predicates per thread instead of 32.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_MARKCONSTANCY
#include "passes/Passes.h.inc"

namespace {

/// The bits of a flat element that lie inside the runs of equal values.
uint32_t constantBits(RankedTensorType type, const AxisInfo &info) {
  uint32_t bits = 0;
  int start = 0;
  for (int dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = type.getDimSize(dim);
    int64_t run = std::min<int64_t>(llvm::bit_floor(uint64_t(info.constancy[dim])), extent);
    bits |= static_cast<uint32_t>(run - 1) << start;
    start += llvm::Log2_64(extent);
  }
  return bits;
}

class MarkConstancyPass : public impl::MarkConstancyBase<MarkConstancyPass> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      AxisAnalysis axes(function);
      function.walk([&](Operation *op) {
        if (!ir::isElementwise(op))
          return;
        auto type = llvm::dyn_cast<RankedTensorType>(op->getResult(0).getType());
        if (!type || !llvm::isa<IntegerType>(type.getElementType()))
          return;
        uint32_t bits = constantBits(type, axes.get(op->getResult(0)));
        if (bits == 0)
          return;
        op->setAttr(ir::constantBitsAttr,
                    IntegerAttr::get(IntegerType::get(&getContext(), 32), bits));
        ++numMarked;
      });
    }
  }
};

} // namespace

std::unique_ptr<Pass> createMarkConstancy(PassContext) {
  return std::make_unique<MarkConstancyPass>();
}

} // namespace tilewright::passes
