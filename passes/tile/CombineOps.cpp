//===- CombineOps.cpp - Simplifications at tile level ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What:
//   f(splat a, splat b)               -> splat f(a, b)
//   f(broadcast a, broadcast b)       -> broadcast f(a, b), shapes alike; splats
//                                        and splat constants count as both
//   expand_dims, permute, reshape, broadcast of splat -> splat
//   addptr(addptr(p, i), j)           -> addptr(p, i + j) where neither wraps
//   dot(a, b, 0) + c                  -> dot(a, b, c)
//   truncf(sitofp a : f32)            -> sitofp a, of integers that the type holds
//   reshape(descriptor_load), descriptor_store(reshape a) -> one access, where only
//                                        dimensions of extent 1 come or go
//   select of one value, select under a constant mask, load under a false mask
//   and all-true masks of memory ops are dropped
//
// Why here: at tile level, before layouts. Elementwise work before a broadcast
// is work on fewer elements, and leaves one broadcast instead of two.
//
// Not handled: mul + add to fma, which LLVM does with the flags of each op.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/IntegerBounds.h"
#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_COMBINEOPS
#include "passes/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Elementwise before broadcast
//===----------------------------------------------------------------------===//

/// The type of `result` with the shape of `like`, or its element type for null.
Type retype(Type result, RankedTensorType like) {
  Type element = getElementTypeOrSelf(result);
  return like ? Type(like.clone(element)) : element;
}

/// Clones elementwise `op` on `operands` with results shaped as `shape`.
Value cloneOn(Operation *op, ValueRange operands, RankedTensorType shape,
              PatternRewriter &rewriter) {
  OperationState state(op->getLoc(), op->getName(), operands,
                       retype(op->getResult(0).getType(), shape), op->getAttrs());
  // Attributes kept as properties (overflow flags, predicates) are copied whole.
  state.propertiesAttr = op->getPropertiesAsAttribute();
  state.attributes = NamedAttrList(op->getDiscardableAttrDictionary());
  return rewriter.create(state)->getResult(0);
}

bool isRepeatable(Operation *op) {
  return op->getNumResults() == 1 && isTile(op->getResult(0)) && op->getNumOperands() > 0 &&
         ir::isElementwise(op) && isMemoryEffectFree(op);
}

/// f(splat a, splat b) -> splat f(a, b).
struct ComputeBeforeSplat : RewritePattern {
  ComputeBeforeSplat(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    // A hint on a tile speaks of elements: on a scalar it would mean another thing.
    if (!isRepeatable(op) || llvm::isa<ir::HintOp>(op))
      return failure();
    bool hasSplat = false;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand))
        continue;
      if (!isSplat(operand))
        return failure();
      hasSplat |= static_cast<bool>(operand.getDefiningOp<ir::SplatOp>());
    }
    // Constants alone are for the folders.
    if (!hasSplat)
      return failure();
    llvm::SmallVector<Value> scalars;
    for (Value operand : op->getOperands())
      scalars.push_back(isTile(operand) ? splatScalar(operand, rewriter) : operand);
    Value scalar = cloneOn(op, scalars, nullptr, rewriter);
    rewriter.replaceOpWithNewOp<ir::SplatOp>(op, op->getResult(0).getType(), scalar);
    return success();
  }
};

/// f(broadcast a, broadcast b) -> broadcast f(a, b), where a and b have one shape.
struct ComputeBeforeBroadcast : RewritePattern {
  ComputeBeforeBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isRepeatable(op) || llvm::isa<ir::HintOp>(op))
      return failure();
    RankedTensorType shape;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand) || isSplat(operand))
        continue;
      auto broadcast = operand.getDefiningOp<ir::BroadcastOp>();
      if (!broadcast)
        return failure();
      RankedTensorType source = tileType(broadcast.getSource());
      if (shape && shape.getShape() != source.getShape())
        return failure();
      shape = source;
    }
    if (!shape)
      return failure();
    llvm::SmallVector<Value> sources;
    for (Value operand : op->getOperands()) {
      if (auto broadcast = operand.getDefiningOp<ir::BroadcastOp>())
        sources.push_back(broadcast.getSource());
      else if (isTile(operand))
        sources.push_back(rewriter.create<ir::SplatOp>(
            op->getLoc(), retype(operand.getType(), shape), splatScalar(operand, rewriter)));
      else
        sources.push_back(operand);
    }
    Value narrow = cloneOn(op, sources, shape, rewriter);
    rewriter.replaceOpWithNewOp<ir::BroadcastOp>(op, op->getResult(0).getType(), narrow);
    return success();
  }
};

/// f(expand_dims a, expand_dims b) -> expand_dims f(a, b), same axis: masks and
/// addresses of rows are then computed on rows.
struct ComputeBeforeExpand : RewritePattern {
  ComputeBeforeExpand(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isRepeatable(op) || llvm::isa<ir::HintOp>(op))
      return failure();
    ir::ExpandDimsOp first;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand) || isSplat(operand))
        continue;
      auto expand = operand.getDefiningOp<ir::ExpandDimsOp>();
      if (!expand || (first && expand.getAxis() != first.getAxis()))
        return failure();
      first = expand;
    }
    if (!first)
      return failure();
    RankedTensorType shape = tileType(first.getSource());
    llvm::SmallVector<Value> sources;
    for (Value operand : op->getOperands()) {
      if (auto expand = operand.getDefiningOp<ir::ExpandDimsOp>())
        sources.push_back(expand.getSource());
      else if (isTile(operand))
        sources.push_back(rewriter.create<ir::SplatOp>(
            op->getLoc(), retype(operand.getType(), shape), splatScalar(operand, rewriter)));
      else
        sources.push_back(operand);
    }
    Value narrow = cloneOn(op, sources, shape, rewriter);
    rewriter.replaceOpWithNewOp<ir::ExpandDimsOp>(op, op->getResult(0).getType(), narrow,
                                                  first.getAxis());
    return success();
  }
};

/// A shape op on a splat is a splat; a broadcast of a broadcast is one.
struct ShapeOfSplat : RewritePattern {
  ShapeOfSplat(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!llvm::isa<ir::BroadcastOp, ir::ExpandDimsOp, ir::ReshapeOp, ir::PermuteOp>(op))
      return failure();
    Type type = op->getResult(0).getType();
    if (auto inner = op->getOperand(0).getDefiningOp<ir::BroadcastOp>();
        inner && llvm::isa<ir::BroadcastOp>(op)) {
      rewriter.replaceOpWithNewOp<ir::BroadcastOp>(op, type, inner.getSource());
      return success();
    }
    if (!isSplat(op->getOperand(0)))
      return failure();
    rewriter.replaceOpWithNewOp<ir::SplatOp>(op, type, splatScalar(op->getOperand(0), rewriter));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// Whether i + j as integers equals their sum after widening to 64 bits: nothing
/// is lost at 64 bits, or for constants that do not overflow.
bool addsWithoutWrap(Value lhs, Value rhs) {
  if (getElementTypeOrSelf(lhs).isInteger(64))
    return true;
  APInt left, right;
  if (!matchPattern(lhs, m_ConstantInt(&left)) || !matchPattern(rhs, m_ConstantInt(&right)))
    return false;
  bool overflow = false;
  (void)left.sadd_ov(right, overflow);
  return !overflow;
}

/// addptr(addptr(p, i), j) -> addptr(p, i + j). Not from a splat base with a
/// scalar offset: that is scalar work already, and must stay so.
struct MergeAddPtr : OpRewritePattern<ir::AddPtrOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::AddPtrOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getPointer().getDefiningOp<ir::AddPtrOp>();
    if (!inner || !inner->hasOneUse() || inner.getOffset().getType() != op.getOffset().getType() ||
        inner.getIsUnsigned() || op.getIsUnsigned())
      return failure();
    if (!addsWithoutWrap(inner.getOffset(), op.getOffset()))
      return failure();
    Value sum = rewriter.create<arith::AddIOp>(op.getLoc(), inner.getOffset(), op.getOffset());
    rewriter.replaceOpWithNewOp<ir::AddPtrOp>(op, op.getType(), inner.getPointer(), sum,
                                              UnitAttr());
    return success();
  }
};

/// addptr(p, 0) -> p.
struct DropZeroOffset : OpRewritePattern<ir::AddPtrOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::AddPtrOp op, PatternRewriter &rewriter) const override {
    if (!matchPattern(op.getOffset(), m_Zero()))
      return failure();
    rewriter.replaceOp(op, op.getPointer());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// The value of a mask where it is the same constant everywhere.
std::optional<bool> constantMask(Value mask) {
  if (auto splat = mask.getDefiningOp<ir::SplatOp>())
    mask = splat.getSource();
  APInt value;
  if (!matchPattern(mask, m_ConstantInt(&value)))
    return std::nullopt;
  return !value.isZero();
}

struct SimplifyLoad : OpRewritePattern<ir::LoadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::LoadOp op, PatternRewriter &rewriter) const override {
    std::optional<bool> mask = op.getMask() ? constantMask(op.getMask()) : std::nullopt;
    if (!mask || op.mayChangeMeanwhile())
      return failure();
    if (*mask) {
      rewriter.modifyOpInPlace(op, [&] {
        op.getMaskMutable().clear();
        op.getOtherMutable().clear();
      });
      return success();
    }
    // Nothing is loaded.
    if (op.getOther()) {
      rewriter.replaceOp(op, op.getOther());
      return success();
    }
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isIntOrFloat())
      return failure();
    TypedAttr zero = rewriter.getZeroAttr(element);
    if (isTile(op.getResult()))
      zero = llvm::cast<TypedAttr>(
          Attribute(DenseElementsAttr::get(tileType(op.getResult()), Attribute(zero))));
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, zero);
    return success();
  }
};

struct SimplifyStore : OpRewritePattern<ir::StoreOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::StoreOp op, PatternRewriter &rewriter) const override {
    std::optional<bool> mask = op.getMask() ? constantMask(op.getMask()) : std::nullopt;
    if (!mask)
      return failure();
    if (*mask)
      rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    else
      rewriter.eraseOp(op);
    return success();
  }
};

/// select(m, load(p, m), y) -> load(p, m, other = y), for a load without `other`
/// that nothing else uses.
struct SelectIntoLoad : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    auto load = op.getTrueValue().getDefiningOp<ir::LoadOp>();
    if (!load || !load->hasOneUse() || load.getMask() != op.getCondition() ||
        load->getBlock() != op->getBlock())
      return failure();
    // The other value must exist where the load is.
    Operation *other = op.getFalseValue().getDefiningOp();
    if (other && other->getBlock() == load->getBlock() && !other->isBeforeInBlock(load))
      return failure();
    rewriter.modifyOpInPlace(load, [&] { load.getOtherMutable().assign(op.getFalseValue()); });
    rewriter.replaceOp(op, load.getResult());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// An integer goes to bf16 through f32 (SemanticCast.cpp). One that bf16 holds is not rounded on
/// either way, and code generation has a short one for it.
template <typename CastOp> struct SmallIntegerToHalf : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    auto cast = op.getIn().getDefiningOp<CastOp>();
    auto to = llvm::dyn_cast<FloatType>(getElementTypeOrSelf(op.getOut()));
    if (!cast || !to || to.getWidth() != 16)
      return failure();
    // A byte is at most 255, and with a sign 128 in magnitude.
    uint64_t limit = uint64_t(1) << to.getFPMantissaWidth();
    bool isByte = ir::elementBits(getElementTypeOrSelf(cast.getIn())) <= 8;
    if (!isByte && ir::greatestInteger(cast.getIn()) > limit)
      return failure();
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), cast.getIn());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Blocks of descriptors
//===----------------------------------------------------------------------===//

/// A block of an array with more dimensions than a program works on has some of extent 1,
/// which the program drops. As the load's own shape the tile can stay where TMA puts it: a
/// reshape would take it through registers.
struct LoadWithoutUnits : OpRewritePattern<ir::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto load = op.getSource().getDefiningOp<ir::DescriptorLoadOp>();
    if (!load || !load->hasOneUse() ||
        !ir::isBlockOf(tileType(op.getResult()).getShape(), load.getDescriptor().getType()))
      return failure();
    rewriter.modifyOpInPlace(load, [&] { load.getResult().setType(op.getType()); });
    rewriter.replaceOp(op, load.getResult());
    return success();
  }
};

struct StoreWithoutUnits : OpRewritePattern<ir::DescriptorStoreOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::DescriptorStoreOp op,
                                PatternRewriter &rewriter) const override {
    Operation *shaped = op.getValue().getDefiningOp();
    if (!llvm::isa_and_nonnull<ir::ReshapeOp, ir::ExpandDimsOp>(shaped))
      return failure();
    Value source = shaped->getOperand(0);
    if (!ir::isBlockOf(tileType(source).getShape(), op.getDescriptor().getType()))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getValueMutable().assign(source); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// dot(a, b, 0) + c -> dot(a, b, c), for integers and all floats.
///
/// For floats this changes where the roundings fall, not their number: the order
/// in which a product sums is not specified, and a unit that starts from c adds
/// it with at least the accumulator's precision, where the sum had a rounding of
/// its own. Kernels that write acc += tl.dot(a, b) mean the accumulator, and
/// Triton does the same.
template <typename AddOp> struct AccumulateInDot : OpRewritePattern<AddOp> {
  using OpRewritePattern<AddOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [product, other] :
         {std::pair(op.getLhs(), op.getRhs()), {op.getRhs(), op.getLhs()}}) {
      auto dot = product.template getDefiningOp<ir::DotOp>();
      // Another user needs the product by itself; in another block (a loop) it
      // would be computed more often.
      if (!dot || !dot->hasOneUse() || dot->getBlock() != op->getBlock() ||
          !ir::isZero(dot.getAcc()))
        continue;
      // The sum stands where both operands exist.
      rewriter.setInsertionPoint(op);
      auto fused = llvm::cast<ir::DotOp>(rewriter.clone(*dot));
      fused.getAccMutable().assign(other);
      rewriter.replaceOp(op, fused.getResult());
      rewriter.eraseOp(dot);
      return success();
    }
    return failure();
  }
};

/// Counts ops that something simpler has taken the place of.
struct ReplacementCounter : RewriterBase::Listener {
  int64_t numReplaced = 0;
  void notifyOperationReplaced(Operation *, ValueRange) override { ++numReplaced; }
};

class CombineOpsPass : public impl::CombineOpsBase<CombineOpsPass> {
public:
  explicit CombineOpsPass(PassContext context) : context(std::move(context)) {}

  LogicalResult initialize(MLIRContext *mlirContext) override {
    RewritePatternSet list(mlirContext);
    list.add<ComputeBeforeSplat, ComputeBeforeBroadcast, ComputeBeforeExpand, ShapeOfSplat,
             MergeAddPtr, DropZeroOffset, SimplifyLoad, SimplifyStore, SelectIntoLoad,
             SmallIntegerToHalf<arith::SIToFPOp>, SmallIntegerToHalf<arith::UIToFPOp>,
             LoadWithoutUnits, StoreWithoutUnits, AccumulateInDot<arith::AddFOp>,
             AccumulateInDot<arith::AddIOp>>(mlirContext);
    // Upstream's, for the ops that occur: one driver run for both.
    for (Dialect *dialect : mlirContext->getLoadedDialects())
      dialect->getCanonicalizationPatterns(list);
    for (RegisteredOperationName op : mlirContext->getRegisteredOperations())
      if (llvm::isa<arith::ArithDialect, scf::SCFDialect, ir::TWDialect>(op.getDialect()))
        op.getCanonicalizationPatterns(list, mlirContext);
    patterns = FrozenRewritePatternSet(std::move(list));
    return success();
  }

  void runOnOperation() override {
    GreedyRewriteConfig config;
    ReplacementCounter counter;
    config.listener = &counter;
    config.useTopDownTraversal = true;
    // Region simplification merges equal blocks, which scf has none of.
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Normal;
    if (failed(applyPatternsAndFoldGreedily(getOperation(), patterns, config)))
      getOperation().emitWarning("simplification did not settle");
    numCombined += counter.numReplaced;
  }

private:
  PassContext context;
  FrozenRewritePatternSet patterns;
};

} // namespace

std::unique_ptr<Pass> createCombineOps(PassContext context) {
  return std::make_unique<CombineOpsPass>(std::move(context));
}

} // namespace tilewright::passes
