//===- SharedOps.cpp - Matrix products, shared memory, asynchrony ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: verifiers of products, descriptors and of the ops on tiles in
// shared memory. As in TileOps.cpp, a verifier checks what one op can see and
// prints both values and the rule.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/support/TmaBox.h"

using namespace mlir;

namespace tilewright::ir {

static LogicalResult verifySameTile(Operation *op, ArrayRef<int64_t> lhsShape, Type lhsElement,
                                    ArrayRef<int64_t> rhsShape, Type rhsElement) {
  if (lhsShape == rhsShape && lhsElement == rhsElement)
    return success();
  return op->emitOpError("tile and memory differ: ")
         << RankedTensorType::get(lhsShape, lhsElement) << " and "
         << RankedTensorType::get(rhsShape, rhsElement);
}

static LogicalResult verifySameTile(Operation *op, Type tile, BufferType buffer) {
  auto type = llvm::cast<RankedTensorType>(tile);
  return verifySameTile(op, type.getShape(), type.getElementType(), buffer.getShape(),
                        buffer.getElementType());
}

static LogicalResult verifyOneSlot(Operation *op, BufferType buffer) {
  if (buffer.getSlots() == 1)
    return success();
  return op->emitOpError("takes one tile, got a ring of ") << buffer.getSlots();
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Shapes of a x b = acc, leading dimensions being batches.
static LogicalResult verifyProduct(Operation *op, ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                                   ArrayRef<int64_t> acc) {
  if (a.size() < 2 || a.size() > 3 || b.size() != a.size() || acc.size() != a.size())
    return op->emitOpError("ranks must be equal, 2 or 3; got ")
           << a.size() << ", " << b.size() << " and " << acc.size();
  size_t rank = a.size();
  if (a[rank - 1] != b[rank - 2])
    return op->emitOpError("inner extents differ: ") << a[rank - 1] << " and " << b[rank - 2];
  if (acc[rank - 2] != a[rank - 2] || acc[rank - 1] != b[rank - 1])
    return op->emitOpError("accumulator is ")
           << acc[rank - 2] << "x" << acc[rank - 1] << ", the product " << a[rank - 2] << "x"
           << b[rank - 1];
  if (rank == 3 && (a[0] != b[0] || a[0] != acc[0]))
    return op->emitOpError("batches differ: ") << a[0] << ", " << b[0] << " and " << acc[0];
  return success();
}

LogicalResult DotOp::verify() {
  auto shape = [](Value tile) { return llvm::cast<RankedTensorType>(tile.getType()).getShape(); };
  if (failed(verifyProduct(*this, shape(getA()), shape(getB()), shape(getAcc()))))
    return failure();
  if (getWarps() && getWarps()->size() != shape(getAcc()).size())
    return emitOpError("warps has ")
           << getWarps()->size() << " entries for rank " << shape(getAcc()).size();
  return success();
}

LogicalResult WgmmaOp::verify() {
  auto shape = [](Value operand) {
    if (auto buffer = llvm::dyn_cast<BufferType>(operand.getType()))
      return buffer.getShape();
    return llvm::cast<RankedTensorType>(operand.getType()).getShape();
  };
  if (auto buffer = llvm::dyn_cast<BufferType>(getA().getType()))
    if (failed(verifyOneSlot(*this, buffer)))
      return failure();
  if (failed(verifyOneSlot(*this, getB().getType())))
    return failure();
  if (getWarps().size() != shape(getAcc()).size())
    return emitOpError("warps has ")
           << getWarps().size() << " entries for rank " << shape(getAcc()).size();
  return verifyProduct(*this, shape(getA()), shape(getB()), shape(getAcc()));
}

LogicalResult SharedDotOp::verify() {
  for (BufferType buffer : {getA().getType(), getB().getType()})
    if (failed(verifyOneSlot(*this, buffer)))
      return failure();
  auto acc = llvm::cast<RankedTensorType>(getAcc().getType());
  if (static_cast<int64_t>(getWarps().size()) != acc.getRank())
    return emitOpError("warps has ") << getWarps().size() << " entries for rank " << acc.getRank();
  return verifyProduct(*this, getA().getType().getShape(), getB().getType().getShape(),
                       acc.getShape());
}

//===----------------------------------------------------------------------===//
// Tensor descriptors
//===----------------------------------------------------------------------===//

static BufferType tmaBuffer(ArrayRef<int64_t> shape, Type element, int64_t slots) {
  MLIRContext *context = element.getContext();
  LinearLayout layout =
      makeSwizzledShared(log2Shape(shape), elementBits(element), static_cast<int>(maxSwizzleBytes));
  return BufferType::get(context, shape, element, SharedLayoutAttr::fromLinear(context, layout),
                         slots);
}

BufferType tmaBuffer(DescriptorType descriptor, int64_t slots) {
  return tmaBuffer(descriptor.getShape(), descriptor.getElementType(), slots);
}

BufferType tmaBuffer(RankedTensorType tile) {
  return tmaBuffer(tile.getShape(), tile.getElementType(), /*slots=*/1);
}

bool isBlockOf(ArrayRef<int64_t> shape, DescriptorType descriptor) {
  auto significant = [](ArrayRef<int64_t> extents) {
    llvm::SmallVector<int64_t> kept;
    for (int64_t extent : extents.drop_back())
      if (extent != 1)
        kept.push_back(extent);
    kept.push_back(extents.back());
    return kept;
  };
  ArrayRef<int64_t> block = descriptor.getShape();
  return shape == block ||
         (!shape.empty() && !block.empty() && significant(shape) == significant(block));
}

static LogicalResult verifyBlock(Operation *op, DescriptorType descriptor, size_t coordinates,
                                 Type tile) {
  if (coordinates != descriptor.getShape().size())
    return op->emitOpError("has ") << coordinates << " coordinates for a descriptor of rank "
                                   << descriptor.getShape().size();
  auto type = llvm::cast<RankedTensorType>(tile);
  ArrayRef<int64_t> shape =
      isBlockOf(type.getShape(), descriptor) ? descriptor.getShape() : type.getShape();
  return verifySameTile(op, shape, type.getElementType(), descriptor.getShape(),
                        descriptor.getElementType());
}

LogicalResult MakeDescriptorOp::verify() {
  size_t rank = getType().getShape().size();
  if (getShape().size() != rank)
    return emitOpError("has ") << getShape().size() << " extents for blocks of rank " << rank;
  if (getStrides().size() + 1 != rank)
    return emitOpError("has ") << getStrides().size() << " strides for blocks of rank " << rank
                               << "; the last one is 1";
  return success();
}

LogicalResult DescriptorLoadOp::verify() {
  return verifyBlock(*this, getDescriptor().getType(), getCoordinates().size(),
                     getResult().getType());
}

LogicalResult DescriptorStoreOp::verify() {
  return verifyBlock(*this, getDescriptor().getType(), getCoordinates().size(),
                     getValue().getType());
}

//===----------------------------------------------------------------------===//
// Tiles in shared memory
//===----------------------------------------------------------------------===//

LogicalResult AllocSharedOp::verify() {
  if (Attribute ring = (*this)->getAttr(ringAttr); ring && !ringOf(*this))
    return emitOpError("has an unknown fill or release in tw.ring: ") << ring;
  if (!getInit())
    return success();
  if (failed(verifyOneSlot(*this, getType())))
    return failure();
  return verifySameTile(*this, getInit().getType(), getType());
}

void AllocSharedOp::getEffects(
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(), llvm::cast<OpResult>(getResult()));
  if (getInit())
    effects.emplace_back(MemoryEffects::Write::get(), llvm::cast<OpResult>(getResult()));
}

LogicalResult BufferSlotOp::verify() {
  if (getRing().getType().withSlots(1) != getType())
    return emitOpError("result must be one slot of ") << getRing().getType();
  return success();
}

LogicalResult BufferPermuteOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  ArrayRef<int32_t> order = getOrder();
  if (order.size() != source.getShape().size() || order.size() != result.getShape().size())
    return emitOpError("order has ")
           << order.size() << " entries for rank " << source.getShape().size();
  for (auto [index, from] : llvm::enumerate(order))
    if (from < 0 || size_t(from) >= order.size() ||
        result.getShape()[index] != source.getShape()[from])
      return emitOpError("order does not give ") << result << " from " << source;
  return success();
}

LogicalResult SharedStoreOp::verify() {
  if (failed(verifyOneSlot(*this, getBuffer().getType())))
    return failure();
  return verifySameTile(*this, getValue().getType(), getBuffer().getType());
}

LogicalResult SharedLoadOp::verify() {
  if (failed(verifyOneSlot(*this, getBuffer().getType())))
    return failure();
  return verifySameTile(*this, getResult().getType(), getBuffer().getType());
}

static LogicalResult verifyGather(Operation *op, ArrayRef<int64_t> source, Type element, Type index,
                                  Type result, int64_t axis) {
  auto indexTile = llvm::cast<RankedTensorType>(index);
  auto resultTile = llvm::cast<RankedTensorType>(result);
  if (!indexTile.getElementType().isSignlessInteger(32) &&
      !indexTile.getElementType().isSignlessInteger(64))
    return op->emitOpError("needs i32 or i64 as index, got ") << indexTile;
  llvm::SmallVector<int64_t> expected(source);
  if (axis < 0 || axis >= int64_t(source.size()) || indexTile.getRank() != int64_t(source.size()))
    return op->emitOpError("has no axis ") << axis << " of " << indexTile;
  expected[axis] = indexTile.getDimSize(axis);
  if (indexTile.getShape() != ArrayRef<int64_t>(expected))
    return op->emitOpError("index and source differ beside the axis: ") << indexTile;
  return verifySameTile(op, resultTile.getShape(), resultTile.getElementType(),
                        indexTile.getShape(), element);
}

LogicalResult GatherOp::verify() {
  auto source = llvm::cast<RankedTensorType>(getSource().getType());
  return verifyGather(*this, source.getShape(), source.getElementType(), getIndex().getType(),
                      getResult().getType(), getAxis());
}

LogicalResult SharedGatherOp::verify() {
  if (failed(verifyOneSlot(*this, getBuffer().getType())))
    return failure();
  return verifyGather(*this, getBuffer().getType().getShape(),
                      getBuffer().getType().getElementType(), getIndex().getType(),
                      getResult().getType(), getAxis());
}

/// `bins` are the extents and the type of what counts.
static LogicalResult verifyCount(Operation *op, Type source, Value mask, ArrayRef<int64_t> bins,
                                 Type count) {
  auto tile = llvm::cast<RankedTensorType>(source);
  Type element = tile.getElementType();
  if (tile.getRank() != 1 || !(element.isSignlessInteger(32) || element.isSignlessInteger(64)))
    return op->emitOpError("counts rows of i32 or i64, got ") << tile;
  if (bins.size() != 1 || !count.isSignlessInteger(32))
    return op->emitOpError("counts into a row of i32");
  if (!mask)
    return success();
  auto masks = llvm::cast<RankedTensorType>(mask.getType());
  if (masks.getShape() != tile.getShape() || !masks.getElementType().isInteger(1))
    return op->emitOpError("has ") << masks << " as mask of " << tile;
  return success();
}

LogicalResult HistogramOp::verify() {
  auto result = llvm::cast<RankedTensorType>(getResult().getType());
  return verifyCount(*this, getSource().getType(), getMask(), result.getShape(),
                     result.getElementType());
}

LogicalResult SharedCountOp::verify() {
  if (failed(verifyOneSlot(*this, getBuffer().getType())))
    return failure();
  BufferType buffer = getBuffer().getType();
  if (failed(verifyCount(*this, getSource().getType(), getMask(), buffer.getShape(),
                         buffer.getElementType())))
    return failure();
  LinearLayout layout = buffer.toLinear();
  if (layout != makeSwizzledShared(layout.log2Shape(), /*elementBits=*/32, /*swizzleBytes=*/0))
    return emitOpError("counts in a row without swizzle, got ") << buffer;
  return success();
}

LogicalResult AsyncCopyOp::verify() {
  if (failed(verifyOneSlot(*this, getBuffer().getType())))
    return failure();
  auto pointer = llvm::cast<RankedTensorType>(getPointer().getType());
  auto element = llvm::dyn_cast<PointerType>(pointer.getElementType());
  if (!element)
    return emitOpError("needs a tile of pointers, got ") << pointer;
  return verifySameTile(*this, pointer.getShape(), element.getPointee(),
                        getBuffer().getType().getShape(), getBuffer().getType().getElementType());
}

} // namespace tilewright::ir
