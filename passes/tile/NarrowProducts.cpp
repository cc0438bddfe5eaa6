//===- NarrowProducts.cpp - Products of widened operands ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a product in f32 whose operands were f16, bf16, fp8 or bytes before a cast is
// computed from those, in f16 or bf16. A half of the bytes then goes through shared memory,
// from where the unit takes copies of memory as they are, and it is twice as fast.
//
// Why here: after CSE and HoistInvariants, which leave one value where programs repeat
// themselves; before ChooseNumWarps, which counts the tiles that are left.
//
// How: both operands are followed back over selects and changes of shape to what was
// widened. Every such value is one of TF32, so the products are the same, and are exact in
// f32 either way; as before, a matrix unit sums them in an order that is not specified.
//
// Not handled: f32 in full precision (ieee), where sums are rounded like additions; bf16
// beside f16, for which there is no instruction.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_NARROWPRODUCTS
#include "passes/Passes.h.inc"

namespace {

/// The least K of one step of the units in 16 bits.
constexpr int64_t stepOfHalves = 16;

/// What a cast to f32 widened, null where `value` is no such cast.
Value widened(Value value) {
  Operation *op = value.getDefiningOp();
  if (!llvm::isa_and_nonnull<arith::ExtFOp, ir::FloatCastOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return {};
  return op->getOperand(0);
}

/// Whether `op` has the elements of some of its operands as they are.
bool selectsElements(Operation *op) {
  return llvm::isa_and_nonnull<arith::SelectOp, ir::BroadcastOp, ir::ExpandDimsOp, ir::PermuteOp,
                               ir::ReshapeOp>(op);
}

class Narrowing {
public:
  /// The 16-bit type that holds all values which both operands come from, null without one.
  FloatType typeFor(ir::DotOp dot) {
    if (!holds(dot.getA()) || !holds(dot.getB()) || (isF16 && isBF16))
      return {};
    MLIRContext *context = dot.getContext();
    return isBF16 ? FloatType(BFloat16Type::get(context)) : FloatType(Float16Type::get(context));
  }

  /// `value`, for which typeFor has found `type`, in that type.
  static Value narrow(Value value, FloatType type) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    RankedTensorType result = tileType(value).clone(type);
    if (Value source = widened(value))
      return cast(builder, value.getDefiningOp(), source, result);
    if (ir::isZero(value))
      return builder.create<arith::ConstantOp>(
          value.getLoc(),
          llvm::cast<TypedAttr>(DenseElementsAttr::get(result, builder.getZeroAttr(type))));
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (getElementTypeOrSelf(operand).isF32())
        mapping.map(operand, narrow(operand, type));
    Value clone = builder.clone(*op, mapping)->getResult(0);
    clone.setType(result);
    return clone;
  }

private:
  bool isF16 = false, isBF16 = false; ///< whether some value so far needs that type

  bool holds(Value value) {
    if (Value source = widened(value))
      return holdsType(getElementTypeOrSelf(source));
    if (ir::isZero(value)) // what a select has elsewhere
      return true;
    Operation *op = value.getDefiningOp();
    // What something else uses too stays in f32, and would be there twice.
    if (!selectsElements(op) || !value.hasOneUse())
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !getElementTypeOrSelf(operand).isF32() || holds(operand);
    });
  }

  /// Both types hold integers of 8 bits; fp8 has its conversion to f16.
  bool holdsType(Type type) {
    bool isByte = ir::elementBits(type) <= 8;
    isF16 |= type.isF16() || (isByte && llvm::isa<FloatType>(type));
    isBF16 |= type.isBF16();
    return isByte || type.isF16() || type.isBF16();
  }

  static Value cast(OpBuilder &builder, Operation *op, Value source, Type result) {
    if (source.getType() == result)
      return source;
    if (llvm::isa<arith::SIToFPOp>(op))
      return builder.create<arith::SIToFPOp>(op->getLoc(), result, source);
    if (llvm::isa<arith::UIToFPOp>(op))
      return builder.create<arith::UIToFPOp>(op->getLoc(), result, source);
    return builder.create<ir::FloatCastOp>(op->getLoc(), result, source);
  }
};

void eraseDead(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  llvm::SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseDead(operand);
}

class NarrowProductsPass : public impl::NarrowProductsBase<NarrowProductsPass> {
public:
  explicit NarrowProductsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    getOperation().walk([&](ir::DotOp dot) {
      RankedTensorType lhs = tileType(dot.getA());
      if (!lhs.getElementType().isF32() || dot.getPrecision() == ir::DotPrecision::ieee ||
          lhs.getShape().back() < stepOfHalves)
        return;
      if (FloatType type = Narrowing().typeFor(dot))
        replace(dot, type);
    });
  }

private:
  PassContext context;

  void replace(ir::DotOp dot, FloatType type) {
    for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()}) {
      Value wide = operand->get();
      operand->set(Narrowing::narrow(wide, type));
      eraseDead(wide);
    }
    ++numNarrowed;
    context.remark(dot, {"product-narrowed",
                         true,
                         {},
                         {{"bits", 16}},
                         "its operands were widened, which changes no product of theirs"});
  }
};

} // namespace

std::unique_ptr<Pass> createNarrowProducts(PassContext context) {
  return std::make_unique<NarrowProductsPass>(std::move(context));
}

} // namespace tilewright::passes
