//===- SelectMatrixUnit.cpp - Which instruction computes each product -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sets `unit` and `warps` of every tw.dot: wgmma, mma or fma, and how the
// warps of the program share the result.
//
// Why here: after ChooseNumWarps; AssignLayouts takes the accumulator's layout
// from these attributes.
//
// How: the first unit that the target has, that computes the types and that the
// tile fills. Warps go where they read the fewest operand bytes: along the
// longer side of what is left, so that a warp's part is as square as can be. A
// product whose result is an operand of another one gets all warps along M: its
// rows then stay in one warp, for reductions, and its registers are the next
// product's operand.
//
// Not handled: the elements' values; fp8 without an instruction is exact in f16
// and computed there.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/MatrixInstruction.h"
#include "ir/support/Hardware.h"
#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_SELECTMATRIXUNIT
#include "passes/Passes.h.inc"

namespace {

/// One instruction of a warpgroup covers 64 rows, one of a warp 16 x 8.
constexpr int64_t warpgroupRows = 64, mmaRows = 16, mmaColumns = 8;
/// Bytes of K that one step of either takes.
constexpr int64_t stepBytes = 32;

bool isFp8(Type type) { return llvm::isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

struct Product {
  ir::DotOp dot;
  Type a, b, acc;
  int64_t m, n, k, batches;
  int rank;
  ir::DotPrecision precision;

  explicit Product(ir::DotOp dot) : dot(dot), precision(dot.getPrecision()) {
    RankedTensorType lhs = tileType(dot.getA()), result = tileType(dot.getResult());
    a = lhs.getElementType();
    b = tileType(dot.getB()).getElementType();
    acc = result.getElementType();
    rank = static_cast<int>(result.getRank());
    m = result.getDimSize(rank - 2);
    n = result.getDimSize(rank - 1);
    k = lhs.getDimSize(rank - 1);
    batches = rank == 3 ? result.getDimSize(0) : 1;
  }

  int64_t kBytes() const { return k * ir::elementBits(a) / 8; }
};

bool hasWgmma(const Product &product, const TargetInfo &target) {
  bool isReduced = !product.a.isF32() || product.precision == ir::DotPrecision::tf32;
  return isReduced && ir::wgmmaInstruction(product.a, product.b, product.acc, target);
}

bool hasMma(const Product &product, const TargetInfo &target) {
  bool isReduced = !product.a.isF32() || product.precision != ir::DotPrecision::ieee;
  return isReduced && ir::mmaInstruction(product.a, product.b, product.acc, target);
}

/// Whether the result reaches an operand of another product without leaving the
/// registers of the program.
bool feedsProduct(ir::DotOp dot) {
  llvm::SetVector<Operation *> slice;
  slice.insert(dot);
  for (size_t next = 0; next < slice.size(); ++next)
    for (Operation *user : slice[next]->getUsers()) {
      if (auto other = llvm::dyn_cast<ir::DotOp>(user)) {
        if (slice.contains(other.getA().getDefiningOp()) ||
            slice.contains(other.getB().getDefiningOp()))
          return true;
        continue;
      }
      bool isComputed = ir::isElementwise(user) || llvm::isa<ir::PermuteOp>(user);
      if (isComputed && user->getBlock() == dot->getBlock())
        slice.insert(user);
    }
  return false;
}

class UnitSelection {
public:
  UnitSelection(const PassContext &context, int numWarps) : context(context), numWarps(numWarps) {}

  /// Products by instructions for matrices, and without.
  int numSelected = 0, numRefused = 0;

  void select(ir::DotOp dot) {
    widenFp8(dot);
    Product product(dot);
    std::string reason;
    ir::MatrixUnit unit = unitOf(product, reason);
    std::vector<int32_t> warps(product.rank, 0);
    if (unit == ir::MatrixUnit::wgmma)
      warpsOfWgmma(product, warps);
    else
      warpsOfMma(product, warps);
    ++(unit != ir::MatrixUnit::fma ? numSelected : numRefused);
    dot.setUnitAttr(ir::MatrixUnitAttr::get(dot.getContext(), unit));
    dot.setWarpsAttr(DenseI32ArrayAttr::get(dot.getContext(), warps));
    context.remark(dot, {"matrix-unit",
                         unit != ir::MatrixUnit::fma,
                         {},
                         {{"m", product.m},
                          {"n", product.n},
                          {"k", product.k},
                          {"warpsM", int64_t(1) << warps[product.rank - 2]},
                          {"warpsN", int64_t(1) << warps[product.rank - 1]}},
                         ir::stringifyMatrixUnit(unit).str() + ": " + reason});
  }

private:
  const PassContext &context;
  int64_t numWarps;

  /// fp8 operands where no instruction takes them: every fp8 value is an f16.
  void widenFp8(ir::DotOp dot) {
    Product product(dot);
    bool isNative = context.target.hasWgmma || context.target.hasFp8Mma;
    if (!isFp8(product.a) || isNative)
      return;
    OpBuilder builder(dot);
    for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()}) {
      auto type = llvm::cast<RankedTensorType>(operand->get().getType());
      operand->set(builder.create<ir::FloatCastOp>(
          dot.getLoc(), RankedTensorType::get(type.getShape(), builder.getF16Type()),
          operand->get()));
    }
  }

  ir::MatrixUnit unitOf(const Product &product, std::string &reason) const {
    if (!context.target.hasWgmma)
      reason = "the target has no wgmma";
    else if (numWarps % hardware::warpgroupWarps != 0)
      reason = "wgmma needs a multiple of 4 warps";
    else if (product.rank != 2)
      reason = "wgmma has no batches";
    else if (product.m < warpgroupRows || product.n < mmaColumns || product.kBytes() < stepBytes)
      reason = "the tile is too small for wgmma";
    else if (!hasWgmma(product, context.target))
      reason = "wgmma does not compute these types";
    else {
      reason = "whole warpgroups";
      return ir::MatrixUnit::wgmma;
    }
    if (hasMma(product, context.target))
      return ir::MatrixUnit::mma;
    reason = "no matrix instruction computes these types";
    return ir::MatrixUnit::fma;
  }

  void warpsOfWgmma(const Product &product, std::vector<int32_t> &warps) const {
    // Warpgroups along M share B, which all of them read; along N they would read
    // all of A.
    int64_t groupsM = std::min(numWarps / hardware::warpgroupWarps, product.m / warpgroupRows);
    warps[0] = llvm::Log2_64(groupsM * hardware::warpgroupWarps);
    warps[1] = llvm::Log2_64(numWarps / hardware::warpgroupWarps / groupsM);
  }

  void warpsOfMma(const Product &product, std::vector<int32_t> &warps) const {
    int dimM = product.rank - 2, dimN = product.rank - 1;
    int64_t restM = product.m, restN = product.n;
    bool onlyM = feedsProduct(product.dot);
    for (int64_t left = llvm::Log2_64(numWarps); left > 0; --left) {
      bool canM = restM > mmaRows, canN = restN > mmaColumns;
      if (canM && (onlyM || !canN || restM >= restN)) {
        ++warps[dimM];
        restM /= 2;
      } else if (canN) {
        ++warps[dimN];
        restN /= 2;
      } else if (product.rank == 3 && (int64_t(1) << warps[0]) < product.batches) {
        ++warps[0];
      } else {
        ++warps[dimM]; // copies
      }
    }
  }
};

class SelectMatrixUnitPass : public impl::SelectMatrixUnitBase<SelectMatrixUnitPass> {
public:
  explicit SelectMatrixUnitPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    UnitSelection selection(context, ir::numWarps(getOperation()));
    getOperation().walk([&](ir::DotOp dot) { selection.select(dot); });
    numSelected += selection.numSelected;
    numRefused += selection.numRefused;
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createSelectMatrixUnit(PassContext context) {
  return std::make_unique<SelectMatrixUnitPass>(std::move(context));
}

} // namespace tilewright::passes
