//===- LowerShape.cpp - Shapes as renaming of registers -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: programs, ranges, splats, and the ops that change a tile's shape.
//
// How: at layout level the operand of a shape op has the layout that makes the
// op a renaming. Rather than trusting how the passes chose it, one function
// derives the renaming: for each register of the result it knows which source
// element that is, and finds the source register whose element differs from it
// by nothing, in every thread. Where there is none, the layouts do not fit and
// the op is refused.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"

#include "ir/layout/LayoutTransforms.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Renaming
//===----------------------------------------------------------------------===//

static std::vector<int> log2Of(Type tile) {
  return ir::log2Shape(llvm::cast<RankedTensorType>(tile).getShape());
}

/// For each register of `wanted`, a register of `held` with the same element in
/// every thread. Nothing where thread columns differ or an element is missing.
static std::optional<llvm::SmallVector<int>> matchRegisters(const LinearLayout &held,
                                                            const LinearLayout &wanted) {
  if (held.columns(InDim::Lane) != wanted.columns(InDim::Lane) ||
      held.columns(InDim::Warp) != wanted.columns(InDim::Warp) ||
      held.columns(InDim::Block) != wanted.columns(InDim::Block))
    return std::nullopt;
  llvm::DenseMap<uint32_t, int> registerOf;
  for (int index = 0; index < held.inSize(InDim::Register); ++index)
    registerOf.try_emplace(held.apply(InDim::Register, index), index);
  llvm::SmallVector<int> result;
  for (int index = 0; index < wanted.inSize(InDim::Register); ++index) {
    auto found = registerOf.find(wanted.apply(InDim::Register, index));
    if (found == registerOf.end())
      return std::nullopt;
    result.push_back(found->second);
  }
  return result;
}

/// Sets the result of `op` to its operand's registers, where `held` is the
/// operand's layout seen in the shape of the result.
static LogicalResult rename(Operation *op, FunctionLowering &lowering, const LinearLayout &held,
                            const LinearLayout &wanted) {
  auto match = matchRegisters(held, wanted);
  if (!match)
    return op->emitOpError("operand and result layouts do not agree: ")
           << op->getOperand(0).getType() << " and " << op->getResult(0).getType();
  const Registers &source = lowering.get(op->getOperand(0));
  Registers result;
  for (int index : *match)
    result.push_back(source[index]);
  lowering.set(op->getResult(0), std::move(result));
  return success();
}

/// reshape and expand_dims: elements keep their row-major numbers.
static LogicalResult lowerReshape(Operation *op, FunctionLowering &lowering) {
  LinearLayout held = FunctionLowering::layoutOf(op->getOperand(0));
  LinearLayout wanted = FunctionLowering::layoutOf(op->getResult(0));
  auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
  // The registers in their order are some order of the elements.
  if (reshape && reshape.getMayReorder() &&
      held.inSize(InDim::Register) == wanted.inSize(InDim::Register) &&
      !matchRegisters(held, wanted)) {
    lowering.set(op->getResult(0), lowering.get(op->getOperand(0)));
    return success();
  }
  return rename(op, lowering, held, wanted);
}

static LogicalResult lowerPermute(Operation *op, FunctionLowering &lowering) {
  auto permute = llvm::cast<ir::PermuteOp>(op);
  std::vector<int> order(permute.getOrder().begin(), permute.getOrder().end());
  return rename(op, lowering, permuteDims(FunctionLowering::layoutOf(permute.getSource()), order),
                FunctionLowering::layoutOf(permute.getResult()));
}

/// Each result element comes from the source element with the stretched
/// coordinates set to zero.
static LogicalResult lowerBroadcast(Operation *op, FunctionLowering &lowering) {
  LinearLayout result = FunctionLowering::layoutOf(op->getResult(0));
  std::vector<int> operandShape = log2Of(op->getOperand(0).getType());
  // Seen in the operand's shape; register columns that the stretching made zero
  // stay, so that register numbers are those of the result.
  LinearLayout wanted(operandShape);
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp, InDim::Block})
    for (uint32_t column : result.columns(dim)) {
      uint32_t mapped = 0;
      for (int axis = 0; axis < result.rank(); ++axis)
        if (operandShape[axis] != 0)
          mapped |= ((column & result.dimMask(axis)) >> result.dimStartBit(axis))
                    << wanted.dimStartBit(axis);
      wanted.columns(dim).push_back(mapped);
    }
  return rename(op, lowering, FunctionLowering::layoutOf(op->getOperand(0)), wanted);
}

//===----------------------------------------------------------------------===//
// Join, split, concat
//===----------------------------------------------------------------------===//

/// Element bits of a half within the whole: `whole` has one bit more, at `bit`.
static uint32_t removeBit(uint32_t element, int bit) {
  return (element & ((1u << bit) - 1)) | (element >> (bit + 1) << bit);
}

/// A whole register by its half and the register of that half; -1 for none.
/// Joins, splits and concatenations all relate a tile with two halves that
/// element bit `bit` tells apart.
struct HalfRegister {
  int half = 0, index = -1;
};
static std::optional<llvm::SmallVector<HalfRegister>>
matchHalves(const LinearLayout &whole, const LinearLayout &half, int bit) {
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block}) {
    const Columns &wholeColumns = whole.columns(dim), &halfColumns = half.columns(dim);
    if (wholeColumns.size() != halfColumns.size())
      return std::nullopt;
    for (size_t index = 0; index < wholeColumns.size(); ++index)
      if (wholeColumns[index] >> bit & 1 ||
          removeBit(wholeColumns[index], bit) != halfColumns[index])
        return std::nullopt;
  }
  llvm::DenseMap<uint32_t, int> registerOf;
  for (int index = 0; index < half.inSize(InDim::Register); ++index)
    registerOf.try_emplace(half.apply(InDim::Register, index), index);
  llvm::SmallVector<HalfRegister> result;
  for (int index = 0; index < whole.inSize(InDim::Register); ++index) {
    uint32_t element = whole.apply(InDim::Register, index);
    auto found = registerOf.find(removeBit(element, bit));
    if (found == registerOf.end())
      return std::nullopt;
    result.push_back({static_cast<int>(element >> bit & 1), found->second});
  }
  return result;
}

static LogicalResult refuseHalves(Operation *op, Type whole, Type half) {
  return op->emitOpError("layouts of the whole and of the halves do not agree: ")
         << whole << " and " << half;
}

static LogicalResult combineHalves(Operation *op, FunctionLowering &lowering, int bit) {
  auto match = matchHalves(FunctionLowering::layoutOf(op->getResult(0)),
                           FunctionLowering::layoutOf(op->getOperand(0)), bit);
  if (!match)
    return refuseHalves(op, op->getResult(0).getType(), op->getOperand(0).getType());
  const Registers *halves[] = {&lowering.get(op->getOperand(0)), &lowering.get(op->getOperand(1))};
  Registers result;
  for (HalfRegister from : *match)
    result.push_back((*halves[from.half])[from.index]);
  lowering.set(op->getResult(0), std::move(result));
  return success();
}

static LogicalResult lowerJoin(Operation *op, FunctionLowering &lowering) {
  return combineHalves(op, lowering, /*bit=*/0);
}

static LogicalResult lowerConcat(Operation *op, FunctionLowering &lowering) {
  // The top bit of the first, slowest dimension.
  return combineHalves(op, lowering, FunctionLowering::layoutOf(op->getResult(0)).numOutBits() - 1);
}

static LogicalResult lowerSplit(Operation *op, FunctionLowering &lowering) {
  auto split = llvm::cast<ir::SplitOp>(op);
  LinearLayout half = FunctionLowering::layoutOf(split.getLhs());
  auto match = matchHalves(FunctionLowering::layoutOf(split.getSource()), half, /*bit=*/0);
  if (!match)
    return refuseHalves(op, split.getSource().getType(), split.getLhs().getType());
  const Registers &source = lowering.get(split.getSource());
  Registers halves[2] = {Registers(half.inSize(InDim::Register)),
                         Registers(half.inSize(InDim::Register))};
  for (auto [index, from] : llvm::enumerate(*match))
    halves[from.half][from.index] = source[index];
  // Copies of an element in several registers of a half share one source.
  for (Registers &registers : halves)
    for (int index = 0; index < half.inSize(InDim::Register); ++index)
      if (!registers[index])
        for (int other = 0; other < index; ++other)
          if (half.apply(InDim::Register, other) == half.apply(InDim::Register, index))
            registers[index] = registers[other];
  for (Registers &registers : halves)
    if (llvm::is_contained(registers, Value()))
      return refuseHalves(op, split.getSource().getType(), split.getLhs().getType());
  lowering.set(split.getLhs(), std::move(halves[0]));
  lowering.set(split.getRhs(), std::move(halves[1]));
  return success();
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

template <typename X, typename Y, typename Z>
static Value axisRegister(FunctionLowering &lowering, int axis) {
  Type type = lowering.builder.getI32Type();
  if (axis == 0)
    return lowering.builder.create<X>(lowering.loc, type);
  if (axis == 1)
    return lowering.builder.create<Y>(lowering.loc, type);
  return lowering.builder.create<Z>(lowering.loc, type);
}

Value programId(FunctionLowering &lowering, int axis) {
  if (lowering.numBlocks > 1)
    return axisRegister<NVVM::ClusterIdXOp, NVVM::ClusterIdYOp, NVVM::ClusterIdZOp>(lowering, axis);
  return axisRegister<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>(lowering, axis);
}

static LogicalResult lowerProgramId(Operation *op, FunctionLowering &lowering) {
  lowering.set(op->getResult(0), {programId(lowering, llvm::cast<ir::ProgramIdOp>(op).getAxis())});
  return success();
}

static LogicalResult lowerNumPrograms(Operation *op, FunctionLowering &lowering) {
  int axis = llvm::cast<ir::NumProgramsOp>(op).getAxis();
  Value count =
      lowering.numBlocks > 1
          ? axisRegister<NVVM::ClusterDimXOp, NVVM::ClusterDimYOp, NVVM::ClusterDimZOp>(lowering,
                                                                                        axis)
          : axisRegister<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>(lowering, axis);
  lowering.set(op->getResult(0), {count});
  return success();
}

static LogicalResult lowerRange(Operation *op, FunctionLowering &lowering) {
  auto range = llvm::cast<ir::RangeOp>(op);
  LinearLayout layout = FunctionLowering::layoutOf(range.getResult());
  Registers result;
  for (int index = 0; index < layout.inSize(InDim::Register); ++index) {
    Value element = lowering.elementIndex(layout, index);
    if (range.getStart() != 0)
      element = lowering.builder.create<LLVM::AddOp>(
          lowering.loc, element, lowering.constantI32(static_cast<int32_t>(range.getStart())),
          LLVM::IntegerOverflowFlags::nsw);
    result.push_back(element);
  }
  lowering.set(range.getResult(), std::move(result));
  return success();
}

static LogicalResult lowerSplat(Operation *op, FunctionLowering &lowering) {
  int count = FunctionLowering::numRegisters(op->getResult(0).getType());
  lowering.set(op->getResult(0), Registers(count, lowering.getScalar(op->getOperand(0))));
  return success();
}

/// A hint is the identity; a one-element tile has its element in every register
/// of every thread.
static LogicalResult lowerForward(Operation *op, FunctionLowering &lowering) {
  Registers source = lowering.get(op->getOperand(0));
  source.resize(FunctionLowering::numRegisters(op->getResult(0).getType()));
  lowering.set(op->getResult(0), std::move(source));
  return success();
}

void addShapeLowerings(LoweringTable &table) {
  table.add("tw.program_id", lowerProgramId);
  table.add("tw.num_programs", lowerNumPrograms);
  table.add("tw.range", lowerRange);
  table.add("tw.splat", lowerSplat);
  table.add("tw.expand_dims", lowerReshape);
  table.add("tw.reshape", lowerReshape);
  table.add("tw.permute", lowerPermute);
  table.add("tw.broadcast", lowerBroadcast);
  table.add("tw.join", lowerJoin);
  table.add("tw.split", lowerSplit);
  table.add("tw.concat", lowerConcat);
  table.add("tw.extract_scalar", lowerForward);
  table.add("tw.hint", lowerForward);
}

} // namespace tilewright::codegen
