//===- VerifyLayouts.cpp - Checks that layouts agree ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the verifier of the layout level. Code generation moves data between
// threads only in convert_layout, reductions and scans, so any other op whose
// operands disagree would silently compute on wrong elements.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/RegionFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_VERIFYLAYOUTS
#include "passes/Passes.h.inc"

namespace {

class LayoutVerifier {
public:
  LayoutVerifier(int log2WarpSize, int numWarps, int numBlocks)
      : log2WarpSize(log2WarpSize), log2Warps(llvm::Log2_32(numWarps)),
        log2Blocks(llvm::Log2_32(numBlocks)) {}

  LogicalResult verify(Operation *op) {
    for (Value value : op->getResults())
      if (failed(verifyTile(op, value)))
        return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (failed(verifyTile(op, argument)))
            return failure();
    switch (layoutRule(op)) {
    case LayoutRule::Same:
      return verifySame(op);
    case LayoutRule::Shape:
    case LayoutRule::Reduce:
      return verifyDerived(op);
    case LayoutRule::Dot:
      return verifyDot(llvm::cast<ir::DotOp>(op));
    case LayoutRule::Region:
      return verifyRegion(op);
    case LayoutRule::Fixed:
      return verifyFixed(op);
    case LayoutRule::Unknown:
      return op->emitError("no layout rule for this operation on tiles");
    default:
      return success();
    }
  }

private:
  int log2WarpSize, log2Warps, log2Blocks;
  /// Block bits of the first tile: all of them or none.
  std::optional<int> blockBits;

  LogicalResult verifyTile(Operation *op, Value value) {
    RankedTensorType type = tileType(value);
    if (!type)
      return success();
    if (!ir::getLayout(type))
      return op->emitError("tile without a layout: ") << type;
    LinearLayout layout = ir::getLinearLayout(type);
    if (!layout.isSurjective())
      return op->emitError("layout does not hold every element: ") << type;
    if (layout.numInBits(InDim::Lane) != log2WarpSize || layout.numInBits(InDim::Warp) != log2Warps)
      return op->emitError("layout has ")
             << layout.numInBits(InDim::Lane) << " lane and " << layout.numInBits(InDim::Warp)
             << " warp bits, the program has " << log2WarpSize << " and " << log2Warps << ": "
             << type;
    return verifyBlocks(op, type, layout.numInBits(InDim::Block));
  }

  /// A tile that does not mention blocks is copied in all of them, and then all
  /// tiles are: conversions compare the columns of the two sides.
  LogicalResult verifyBlocks(Operation *op, RankedTensorType type, int found) {
    if (!blockBits)
      blockBits = found;
    if (found == *blockBits && (found == 0 || found == log2Blocks))
      return success();
    return op->emitError("layout has ") << found << " block bits, the program has " << log2Blocks
                                        << " and other tiles " << *blockBits << ": " << type;
  }

  static ir::LayoutAttr layoutOf(Value value) { return ir::getLayout(tileType(value)); }

  LogicalResult verifySame(Operation *op) {
    Value first;
    for (Value value : llvm::concat<const Value>(llvm::to_vector(op->getResults()),
                                                 llvm::to_vector(op->getOperands()))) {
      if (!isTile(value))
        continue;
      if (!first)
        first = value;
      if (layoutOf(value) != layoutOf(first))
        return op->emitError("operands and results must have one layout, found ")
               << layoutOf(first) << " and " << layoutOf(value);
    }
    if (!first || resultLayout(op, ir::getLinearLayout(tileType(first))))
      return success();
    return op->emitError("cannot take this layout: ") << layoutOf(first);
  }

  /// The registers of an unfinished product are those of the finished one.
  LogicalResult verifyFixed(Operation *op) {
    if (llvm::isa<ir::WgmmaWaitOp>(op) && op->getOperandTypes() != op->getResultTypes())
      return op->emitError("results must have the types of the operands");
    return success();
  }

  LogicalResult verifyDerived(Operation *op) {
    Value first = op->getOperand(0);
    for (Value operand : op->getOperands())
      if (layoutOf(operand) != layoutOf(first))
        return op->emitError("operands must have one layout, found ")
               << layoutOf(first) << " and " << layoutOf(operand);
    LinearLayout source = ir::getLinearLayout(tileType(first));
    for (Value result : op->getResults()) {
      if (!isTile(result))
        continue;
      LinearLayout layout = ir::getLinearLayout(tileType(result));
      if (llvm::isa<ir::BroadcastOp>(op)) {
        std::optional<LinearLayout> needed = operandLayout(op, 0, layout);
        if (needed != source)
          return op->emitError("operand must have the layout ")
                 << ir::LayoutAttr::fromLinear(op->getContext(), *needed) << ", found "
                 << layoutOf(first);
        continue;
      }
      std::optional<LinearLayout> given = resultLayout(op, source);
      if (!given)
        return op->emitError("cannot take this operand layout: ") << layoutOf(first);
      if (*given != layout)
        return op->emitError("result must have the layout ")
               << ir::LayoutAttr::fromLinear(op->getContext(), *given) << ", found "
               << layoutOf(result);
    }
    return success();
  }

  LogicalResult verifyDot(ir::DotOp dot) {
    auto check = [&](Value value, const LinearLayout &needed) -> LogicalResult {
      if (ir::getLinearLayout(tileType(value)) == needed)
        return success();
      return dot->emitError("the unit needs the layout ")
             << ir::LayoutAttr::fromLinear(dot.getContext(), needed) << ", found "
             << layoutOf(value);
    };
    if (!dot.getUnit() || !dot.getWarps())
      return dot->emitError("no unit was selected");
    return success(succeeded(check(dot.getResult(), accumulatorLayout(dot))) &&
                   succeeded(check(dot.getA(), dotOperandLayout(dot, 0))) &&
                   succeeded(check(dot.getB(), dotOperandLayout(dot, 1))));
  }

  /// The types of what is carried must be equal; upstream verifiers see that, but
  /// do not run between steps of a release build.
  LogicalResult verifyRegion(Operation *op) {
    for (const FlowEdge &edge : flowEdges(op))
      for (auto [source, target] : llvm::zip(edge.from, edge.to))
        if (source.getType() != target.getType())
          return op->emitError("carries ") << source.getType() << " into " << target.getType();
    return success();
  }
};

class VerifyLayoutsPass : public impl::VerifyLayoutsBase<VerifyLayoutsPass> {
public:
  explicit VerifyLayoutsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    LayoutVerifier verifier(context.target.log2WarpSize, ir::numWarps(getOperation()),
                            ir::numBlocks(getOperation()));
    WalkResult result = getOperation().walk([&](Operation *op) {
      return failed(verifier.verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createVerifyLayouts(PassContext context) {
  return std::make_unique<VerifyLayoutsPass>(std::move(context));
}

} // namespace tilewright::passes
