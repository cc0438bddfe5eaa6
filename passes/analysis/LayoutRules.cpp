//===- LayoutRules.cpp - How layouts pass through each op -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LayoutRules.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/layout/ReductionPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

RankedTensorType tileType(Value value) { return llvm::dyn_cast<RankedTensorType>(value.getType()); }

bool isTile(Value value) { return static_cast<bool>(tileType(value)); }

bool isSplat(Value value) {
  DenseElementsAttr dense;
  return value.getDefiningOp<ir::SplatOp>() ||
         (matchPattern(value, m_Constant(&dense)) && dense.isSplat());
}

Value splatScalar(Value value, OpBuilder &builder) {
  if (auto splat = value.getDefiningOp<ir::SplatOp>())
    return splat.getSource();
  DenseElementsAttr dense;
  if (!matchPattern(value, m_Constant(&dense)) || !dense.isSplat())
    return {};
  return builder.create<arith::ConstantOp>(value.getLoc(), dense.getSplatValue<TypedAttr>());
}

int64_t wordsPerThread(RankedTensorType type) {
  int64_t elements = int64_t(1) << ir::getLinearLayout(type).numInBits(InDim::Register);
  return elements * ir::elementBits(type.getElementType()) / 32;
}

int64_t tileBytes(RankedTensorType type) {
  return type.getNumElements() * ir::elementBits(type.getElementType()) / 8;
}

LayoutRule layoutRule(Operation *op) {
  if (llvm::isa<scf::SCFDialect>(op->getDialect()))
    return LayoutRule::Region;
  if (!llvm::any_of(op->getOperands(), isTile) && !llvm::any_of(op->getResults(), isTile))
    return LayoutRule::NoTiles;
  return llvm::TypeSwitch<Operation *, LayoutRule>(op)
      .Case<ir::RangeOp, ir::SplatOp, arith::ConstantOp, ir::DescriptorLoadOp>(
          [](auto) { return LayoutRule::Source; })
      .Case<ir::ExpandDimsOp, ir::BroadcastOp, ir::ReshapeOp, ir::PermuteOp, ir::JoinOp,
            ir::SplitOp, ir::ConcatOp>([](auto) { return LayoutRule::Shape; })
      .Case<ir::LoadOp, ir::StoreOp, ir::AtomicRmwOp, ir::AtomicCasOp, ir::ScanOp, ir::AsyncCopyOp,
            ir::MapOp, ir::InlineAsmOp, ir::SharedGatherOp, ir::SharedCountOp>(
          [](auto) { return LayoutRule::Same; })
      .Case([](ir::ReduceOp) { return LayoutRule::Reduce; })
      .Case([](ir::DotOp) { return LayoutRule::Dot; })
      .Case([](ir::ConvertLayoutOp) { return LayoutRule::Convert; })
      .Case<ir::PrintOp, ir::AssertOp, ir::ExtractScalarOp, func::ReturnOp, ir::AllocSharedOp,
            ir::SharedStoreOp, ir::DescriptorStoreOp>([](auto) { return LayoutRule::Free; })
      .Case<ir::SharedLoadOp, ir::SharedDotOp, ir::WgmmaOp, ir::WgmmaWaitOp>(
          [](auto) { return LayoutRule::Fixed; })
      .Default([](Operation *op) {
        return ir::isElementwise(op) ? LayoutRule::Same : LayoutRule::Unknown;
      });
}

static std::vector<int> intOrder(llvm::ArrayRef<int32_t> order) {
  return {order.begin(), order.end()};
}

/// Whether a scan along `axis` can take this layout: planScan finds the one holder of
/// each position bit, and totals do not cross blocks.
static bool canScan(const LinearLayout &layout, int axis) {
  uint32_t mask = layout.dimMask(axis);
  return layout.isPermutationLike() &&
         llvm::none_of(layout.columns(InDim::Block),
                       [&](uint32_t column) { return (column & mask) != 0; });
}

/// `layout` with what its blocks hold along `axis` held by registers of each block.
static LinearLayout joinBlocksAlong(LinearLayout layout, int axis) {
  for (uint32_t &column : layout.columns(InDim::Block))
    if (column & layout.dimMask(axis))
      layout.columns(InDim::Register).push_back(std::exchange(column, 0));
  return layout;
}

std::optional<LinearLayout> resultLayout(Operation *op, const LinearLayout &operand) {
  using Result = std::optional<LinearLayout>;
  auto shapeOf = [](Value value) { return ir::log2Shape(tileType(value).getShape()); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case(
          [&](ir::ExpandDimsOp expand) -> Result { return expandDims(operand, expand.getAxis()); })
      .Case([&](ir::BroadcastOp) -> Result { return std::nullopt; })
      .Case([&](ir::ReshapeOp reshape) -> Result {
        return reshapeLayout(operand, shapeOf(reshape.getResult()));
      })
      .Case([&](ir::PermuteOp permute) -> Result {
        return permuteDims(operand, intOrder(permute.getOrder()));
      })
      .Case([&](ir::JoinOp) -> Result { return joinLayout(operand); })
      .Case([&](ir::SplitOp) -> Result {
        std::optional<SplitLayout> split = splitLayout(operand);
        return split ? Result(split->layout) : std::nullopt;
      })
      .Case([&](ir::ConcatOp) -> Result { return catLayout(operand, 0); })
      .Case([&](ir::ReduceOp reduce) -> Result {
        if (!separatesAxis(operand, reduce.getAxis()))
          return std::nullopt;
        return sliceDim(operand, reduce.getAxis(), /*keepDim=*/false);
      })
      .Case([&](ir::ScanOp scan) -> Result {
        return canScan(operand, scan.getAxis()) ? Result(operand) : std::nullopt;
      })
      .Default([&](Operation *op) -> Result {
        return layoutRule(op) == LayoutRule::Same ? Result(operand) : std::nullopt;
      });
}

/// The operand layout of a concat with this result: the inverse of catLayout,
/// where the top bit of dimension 0 is the highest of all bits.
static std::optional<LinearLayout> concatOperand(const LinearLayout &result) {
  std::vector<int> log2Shape = result.log2Shape();
  if (log2Shape.empty() || log2Shape[0] == 0 || result.columns(InDim::Register).empty())
    return std::nullopt;
  --log2Shape[0];
  LinearLayout half(log2Shape);
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp, InDim::Block})
    half.columns(dim) = result.columns(dim);
  half.columns(InDim::Register).pop_back();
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp, InDim::Block})
    for (uint32_t column : half.columns(dim))
      if (column >> half.numOutBits())
        return std::nullopt;
  return catLayout(half, 0) == result ? std::optional(half) : std::nullopt;
}

std::optional<LinearLayout> operandLayout(Operation *op, unsigned index,
                                          const LinearLayout &result) {
  using Result = std::optional<LinearLayout>;
  auto shapeOf = [&](unsigned index) {
    return ir::log2Shape(tileType(op->getOperand(index)).getShape());
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](ir::ExpandDimsOp expand) -> Result { return squeezeDim(result, expand.getAxis()); })
      .Case([&](ir::BroadcastOp) -> Result { return broadcastOperandLayout(result, shapeOf(0)); })
      .Case([&](ir::ReshapeOp) -> Result { return reshapeLayout(result, shapeOf(0)); })
      .Case([&](ir::PermuteOp permute) -> Result {
        return permuteOperandLayout(result, intOrder(permute.getOrder()));
      })
      .Case([&](ir::JoinOp) -> Result {
        std::optional<SplitLayout> split = splitLayout(result);
        // Join makes its new bit the lowest register bit.
        return split && split->registerBit == 0 ? Result(split->layout) : std::nullopt;
      })
      .Case([&](ir::SplitOp) -> Result { return joinLayout(result); })
      .Case([&](ir::ConcatOp) -> Result { return concatOperand(result); })
      .Case([&](ir::ReduceOp) -> Result { return std::nullopt; })
      .Case([&](ir::ScanOp scan) -> Result {
        return canScan(result, scan.getAxis()) ? Result(result) : std::nullopt;
      })
      .Default([&](Operation *op) -> Result {
        return layoutRule(op) == LayoutRule::Same ? Result(result) : std::nullopt;
      });
}

int fastestDimension(const LinearLayout &layout) {
  for (InDim dim : {InDim::Register, InDim::Lane})
    for (uint32_t column : layout.columns(dim))
      for (int axis = 0; axis < layout.rank(); ++axis)
        if (column & layout.dimMask(axis))
          return axis;
  return layout.rank() - 1;
}

LinearLayout accumulatorLayout(ir::DotOp dot) {
  std::vector<int> shape = ir::log2Shape(tileType(dot.getResult()).getShape());
  std::vector<int> warps(dot.getWarps()->begin(), dot.getWarps()->end());
  if (dot.getUnit() == ir::MatrixUnit::wgmma)
    return makeWgmmaAccumulator(shape, warps[0], warps[1]);
  return makeMmaAccumulator(shape, warps);
}

LinearLayout dotOperandLayout(ir::DotOp dot, unsigned index) {
  RankedTensorType type = tileType(dot->getOperand(index));
  std::vector<int> warps(dot.getWarps()->begin(), dot.getWarps()->end());
  DotOperand operand = index == 0 ? DotOperand::A : DotOperand::B;
  if (dot.getUnit() == ir::MatrixUnit::fma)
    return makeFmaOperand(accumulatorLayout(dot), operand,
                          ir::log2Shape(type.getShape())[type.getRank() - (index == 0 ? 1 : 2)]);
  return makeDotOperand(operand, ir::log2Shape(type.getShape()), warps,
                        ir::elementBits(type.getElementType()));
}

/// Operand registers of an fma product that may be filled all at once: beyond,
/// the assembler takes minutes to find out that they do not fit. The number is a guess.
static constexpr int64_t maxFmaOperandRegisters = 64;

bool readsOperandsFromShared(ir::DotOp dot) {
  if (dot.getUnit() != ir::MatrixUnit::fma)
    return dot.getUnit() == ir::MatrixUnit::wgmma;
  int64_t registers = 0;
  for (unsigned index : {0, 1})
    registers += int64_t(1) << dotOperandLayout(dot, index).numInBits(InDim::Register);
  return registers > maxFmaOperandRegisters;
}

/// Whether a product takes the tile from registers: mma both operands, wgmma the left one.
static bool isOperandInRegisters(OpOperand &use) {
  if (auto wgmma = llvm::dyn_cast<ir::WgmmaOp>(use.getOwner()))
    return isTile(wgmma.getA()) && use.get() == wgmma.getA();
  auto dot = llvm::dyn_cast<ir::DotOp>(use.getOwner());
  if (!dot || use.get() == dot.getAcc())
    return false;
  if (dot.getUnit() == ir::MatrixUnit::wgmma)
    return use.get() == dot.getA() &&
           ir::getLinearLayout(tileType(use.get())) == dotOperandLayout(dot, 0);
  return dot.getUnit() == ir::MatrixUnit::mma;
}

bool isProduct(Operation *op) { return llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op); }

bool isRow(RankedTensorType type) {
  return llvm::count_if(type.getShape(), [](int64_t size) { return size > 1; }) == 1;
}

int64_t carriedWords(scf::ForOp loop) {
  int64_t words = 0;
  for (BlockArgument variable : loop.getRegionIterArgs())
    if (RankedTensorType type = tileType(variable))
      words += wordsPerThread(type);
  return words;
}

int64_t productWords(scf::ForOp loop) {
  int64_t words = 0;
  loop->walk([&](Operation *op) {
    if (isProduct(op))
      words += wordsPerThread(tileType(op->getResult(0)));
  });
  return words;
}

bool feedsMma(Value tile) {
  llvm::SetVector<Value> tiles;
  tiles.insert(tile);
  for (unsigned next = 0; next < tiles.size(); ++next)
    for (OpOperand &use : tiles[next].getUses()) {
      Operation *user = use.getOwner();
      if (isOperandInRegisters(use))
        return true;
      if (ir::isElementwise(user) || llvm::isa<ir::PermuteOp>(user))
        tiles.insert(user->getResult(0));
    }
  return false;
}

/// `layout` with columns that mix `axis` and others replaced by a plain layout
/// of the same numbers of lanes and warps.
static LinearLayout plainLayout(const LinearLayout &layout) {
  LinearLayout plain(layout.log2Shape());
  int next = 0, total = layout.numOutBits();
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    for (int bit = 0; bit < layout.numInBits(dim); ++bit)
      plain.columns(dim).push_back(next < total ? uint32_t(1) << next++ : 0);
  while (next < total)
    plain.columns(InDim::Register).push_back(uint32_t(1) << next++);
  return plain;
}

LinearLayout acceptableOperandLayout(Operation *op, const LinearLayout &operand) {
  if (llvm::isa<ir::BroadcastOp>(op) || resultLayout(op, operand))
    return operand;
  if (llvm::isa<ir::SplitOp>(op))
    return splitOperandLayout(operand);
  if (auto scan = llvm::dyn_cast<ir::ScanOp>(op))
    return joinBlocksAlong(operand.isPermutationLike() ? operand : plainLayout(operand),
                           scan.getAxis());
  return plainLayout(operand);
}

} // namespace tilewright::passes
