//===- MarkConstancy.cpp - Which elements are known from others -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: marks integer and boolean tiles with the element bits that do not
// matter (tw.constant_bits), so that code generation computes registers that
// are provably equal once; and remainders with the bits that count up
// (tw.counting_bits), so that it computes one of each group and adds to it.
//
// Why here: after layouts and conversions, when no op is made any more; before
// code generation, which knows registers but not values. LLVM cannot find it:
// that offsets < n agrees for eight neighbours needs the divisibility of n.
//
// Example: with n divisible by 16, the mask of a row is one predicate per 16
// elements instead of 16: in a layer norm of 32768 f16 columns with 32 warps
// that is 4 predicates per thread instead of 32. And offsets % n is 0, 1, 2 and 3
// beyond the first of four neighbours, which takes one remainder instead of four.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
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

/// The bits of a flat element along the dimension with the longest runs of values that count up.
uint32_t countingBits(RankedTensorType type, const AxisInfo &info) {
  int dim = static_cast<int>(llvm::max_element(info.contiguity) - info.contiguity.begin());
  int64_t run =
      std::min<int64_t>(llvm::bit_floor(uint64_t(info.contiguity[dim])), type.getDimSize(dim));
  int64_t inner = ShapedType::getNumElements(type.getShape().drop_front(dim + 1));
  return static_cast<uint32_t>((run - 1) * inner);
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
        AxisInfo info = axes.get(op->getResult(0));
        mark(op, ir::constantBitsAttr, constantBits(type, info));
        if (llvm::isa<arith::RemSIOp, arith::RemUIOp>(op))
          mark(op, ir::countingBitsAttr, countingBits(type, info));
      });
    }
  }

private:
  void mark(Operation *op, llvm::StringRef name, uint32_t bits) {
    if (bits == 0)
      return;
    op->setAttr(name, IntegerAttr::get(IntegerType::get(&getContext(), 32), bits));
    ++numMarked;
  }
};

} // namespace

std::unique_ptr<Pass> createMarkConstancy(PassContext) {
  return std::make_unique<MarkConstancyPass>();
}

} // namespace tilewright::passes
