//===- TileOps.cpp - Verifiers and folders of the tw dialect --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A verifier checks what one op can see and prints both values and the rule.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::ir {

static RankedTensorType tileType(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

LogicalResult RangeOp::verify() {
  auto type = tileType(getResult());
  int64_t length = int64_t(getEnd()) - int64_t(getStart());
  if (type.getRank() != 1 || !type.getElementType().isSignlessInteger(32))
    return emitOpError("result must be a 1-D tile of i32, got ") << type;
  if (type.getDimSize(0) != length)
    return emitOpError("result has ")
           << type.getDimSize(0) << " elements, the bounds give " << length;
  return success();
}

LogicalResult SplatOp::verify() {
  if (getElementTypeOrSelf(getResult()) != getSource().getType())
    return emitOpError("source is ") << getSource().getType() << ", result elements are "
                                     << getElementTypeOrSelf(getResult());
  return success();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  auto type = llvm::cast<ShapedType>(getType());
  // A pointer has no attribute form.
  if (auto value = llvm::dyn_cast_or_null<TypedAttr>(adaptor.getSource()))
    if (llvm::isa<IntegerAttr, FloatAttr>(value))
      return DenseElementsAttr::get(type, llvm::cast<Attribute>(value));
  return {};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static LogicalResult verifySameElements(Operation *op, RankedTensorType source,
                                        RankedTensorType result) {
  if (source.getElementType() != result.getElementType())
    return op->emitOpError("element types differ: ")
           << source.getElementType() << " and " << result.getElementType();
  return success();
}

LogicalResult ExpandDimsOp::verify() {
  auto source = tileType(getSource()), result = tileType(getResult());
  if (getAxis() < 0 || int64_t(getAxis()) > source.getRank())
    return emitOpError("axis ") << getAxis() << " is outside 0 to " << source.getRank();
  llvm::SmallVector<int64_t> expected(source.getShape());
  expected.insert(expected.begin() + getAxis(), 1);
  if (result.getShape() != llvm::ArrayRef<int64_t>(expected))
    return emitOpError("result shape does not insert a 1 at axis ")
           << getAxis() << ": " << source << " to " << result;
  return verifySameElements(*this, source, result);
}

LogicalResult BroadcastOp::verify() {
  auto source = tileType(getSource()), result = tileType(getResult());
  if (source.getRank() != result.getRank())
    return emitOpError("ranks differ: ") << source.getRank() << " and " << result.getRank();
  for (auto [from, to] : llvm::zip(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError("only extents of 1 stretch: ") << source << " to " << result;
  return verifySameElements(*this, source, result);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto dense = llvm::dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return DenseElementsAttr::get(llvm::cast<ShapedType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

LogicalResult ReshapeOp::verify() {
  auto source = tileType(getSource()), result = tileType(getResult());
  if (source.getNumElements() != result.getNumElements())
    return emitOpError("element counts differ: ")
           << source.getNumElements() << " and " << result.getNumElements();
  return verifySameElements(*this, source, result);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto dense = llvm::dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return DenseElementsAttr::get(llvm::cast<ShapedType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

LogicalResult PermuteOp::verify() {
  auto source = tileType(getSource()), result = tileType(getResult());
  llvm::ArrayRef<int32_t> order = getOrder();
  if (int64_t(order.size()) != source.getRank() || source.getRank() != result.getRank())
    return emitOpError("order has ") << order.size() << " entries for rank " << source.getRank();
  llvm::SmallVector<bool> seen(order.size(), false);
  for (auto [index, from] : llvm::enumerate(order)) {
    if (from < 0 || size_t(from) >= order.size() || seen[from])
      return emitOpError("order is not a permutation");
    seen[from] = true;
    if (result.getDimSize(index) != source.getDimSize(from))
      return emitOpError("result extent ")
             << index << " is " << result.getDimSize(index) << ", source extent " << from << " is "
             << source.getDimSize(from);
  }
  return verifySameElements(*this, source, result);
}

OpFoldResult PermuteOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType() && llvm::is_sorted(getOrder()))
    return getSource();
  if (auto dense = llvm::dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return DenseElementsAttr::get(llvm::cast<ShapedType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

/// `joined` must be `half` with a last dimension of extent 2 added.
static LogicalResult verifyJoined(Operation *op, RankedTensorType half, RankedTensorType joined) {
  llvm::SmallVector<int64_t> expected(half.getShape());
  expected.push_back(2);
  if (joined.getShape() != llvm::ArrayRef<int64_t>(expected))
    return op->emitOpError("the joined tile must add a last extent of 2: ")
           << half << " and " << joined;
  return verifySameElements(op, half, joined);
}

LogicalResult JoinOp::verify() {
  return verifyJoined(*this, tileType(getLhs()), tileType(getResult()));
}

LogicalResult SplitOp::verify() {
  if (getLhs().getType() != getRhs().getType())
    return emitOpError("result types differ: ")
           << getLhs().getType() << " and " << getRhs().getType();
  // A 1-D pair splits into tiles of rank 0 nowhere: scalars go through reduce.
  return verifyJoined(*this, tileType(getLhs()), tileType(getSource()));
}

LogicalResult ConcatOp::verify() {
  auto operand = tileType(getLhs()), result = tileType(getResult());
  llvm::SmallVector<int64_t> expected(operand.getShape());
  expected[0] *= 2;
  if (getLhs().getType() != getRhs().getType() ||
      result.getShape() != llvm::ArrayRef<int64_t>(expected))
    return emitOpError("result must double the first extent: ") << operand << " to " << result;
  return verifySameElements(*this, operand, result);
}

LogicalResult ExtractScalarOp::verify() {
  auto source = tileType(getSource());
  if (source.getNumElements() != 1)
    return emitOpError("tile has ") << source.getNumElements() << " elements, 1 is required";
  if (source.getElementType() != getResult().getType())
    return emitOpError("element is ")
           << source.getElementType() << ", result is " << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult BitcastOp::verify() {
  auto width = [](Value value) {
    Type element = getElementTypeOrSelf(value);
    return llvm::isa<PointerType>(element) ? 64u : element.getIntOrFloatBitWidth();
  };
  if (width(getSource()) != width(getResult()))
    return emitOpError("widths differ: ")
           << width(getSource()) << " and " << width(getResult()) << " bits";
  return success();
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getSource().getType() == getType() ? OpFoldResult(getSource()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Elements of `value` must be what `pointer` points to, shapes alike.
static LogicalResult verifyAccess(Operation *op, Type pointer, Type value, Type mask) {
  Type pointee = llvm::cast<PointerType>(getElementTypeOrSelf(pointer)).getPointee();
  if (pointee != getElementTypeOrSelf(value))
    return op->emitOpError("pointee is ")
           << pointee << ", value elements are " << getElementTypeOrSelf(value);
  auto shapeOf = [](Type type) -> llvm::ArrayRef<int64_t> {
    auto tile = llvm::dyn_cast<RankedTensorType>(type);
    return tile ? tile.getShape() : llvm::ArrayRef<int64_t>();
  };
  if (shapeOf(pointer) != shapeOf(value) || (mask && shapeOf(mask) != shapeOf(pointer)))
    return op->emitOpError("shapes of pointer, value and mask differ: ")
           << pointer << ", " << value;
  return success();
}

LogicalResult LoadOp::verify() {
  if (getOther() && getOther().getType() != getType())
    return emitOpError("`other` is ") << getOther().getType() << ", the result is " << getType();
  if (getOther() && !getMask())
    return emitOpError("`other` needs a mask");
  return verifyAccess(*this, getPointer().getType(), getType(),
                      getMask() ? getMask().getType() : Type());
}

void LoadOp::getEffects(
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  // Keeps it from being dropped, moved or merged.
  if (mayChangeMeanwhile())
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getPointer().getType(), getValue().getType(),
                      getMask() ? getMask().getType() : Type());
}

//===----------------------------------------------------------------------===//
// Across elements
//===----------------------------------------------------------------------===//

static LogicalResult verifyCombine(Operation *op, OperandRange sources, Region &region,
                                   int64_t axis) {
  if (sources.empty())
    return op->emitOpError("needs at least one source");
  auto first = llvm::cast<RankedTensorType>(sources.front().getType());
  if (axis < 0 || axis >= first.getRank())
    return op->emitOpError("axis ") << axis << " is outside rank " << first.getRank();
  Block &block = region.front();
  if (block.getNumArguments() != 2 * sources.size())
    return op->emitOpError("region has ")
           << block.getNumArguments() << " arguments, " << 2 * sources.size() << " are required";
  for (auto [index, source] : llvm::enumerate(sources)) {
    auto type = llvm::cast<RankedTensorType>(source.getType());
    if (type.getShape() != first.getShape())
      return op->emitOpError("sources differ in shape: ") << first << " and " << type;
    for (size_t argument : {index, index + sources.size()})
      if (block.getArgument(argument).getType() != type.getElementType())
        return op->emitOpError("region argument ")
               << argument << " is " << block.getArgument(argument).getType() << ", elements are "
               << type.getElementType();
  }
  if (!llvm::isa<YieldOp>(block.getTerminator()) ||
      block.getTerminator()->getNumOperands() != sources.size())
    return op->emitOpError("region must yield ") << sources.size() << " values";
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyCombine(*this, getSources(), getCombine(), getAxis())))
    return failure();
  for (auto [source, result] : llvm::zip(getSources(), getResults())) {
    auto type = llvm::cast<RankedTensorType>(source.getType());
    llvm::SmallVector<int64_t> expected(type.getShape());
    expected.erase(expected.begin() + getAxis());
    auto tile = llvm::dyn_cast<RankedTensorType>(result.getType());
    bool fits = expected.empty() ? result.getType() == type.getElementType()
                                 : tile && tile.getShape() == llvm::ArrayRef<int64_t>(expected);
    if (!fits)
      return emitOpError("result does not drop axis ")
             << getAxis() << ": " << type << " to " << result.getType();
  }
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCombine(*this, getSources(), getCombine(), getAxis())))
    return failure();
  for (auto [source, result] : llvm::zip(getSources(), getResults()))
    if (source.getType() != result.getType())
      return emitOpError("result is ") << result.getType() << ", source is " << source.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Code of the user on elements
//===----------------------------------------------------------------------===//

LogicalResult MapOp::verify() {
  Block &block = getBody().front();
  auto checkCount = [&](const char *what, size_t actual, size_t tiles) -> LogicalResult {
    if (actual == tiles * getPack())
      return success();
    return emitOpError("region has ")
           << actual << " " << what << ", " << tiles * getPack() << " are required";
  };
  if (failed(checkCount("arguments", block.getNumArguments(), getSources().size())))
    return failure();
  auto yield = llvm::dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("region must end in tw.yield");
  if (failed(checkCount("results", yield.getNumOperands(), getResults().size())))
    return failure();
  llvm::SmallVector<Value> tiles(getSources());
  tiles.append(getResults().begin(), getResults().end());
  for (auto [index, tile] : llvm::enumerate(tiles)) {
    if (llvm::cast<RankedTensorType>(tile.getType()).getShape() !=
        llvm::cast<RankedTensorType>(tiles[0].getType()).getShape())
      return emitOpError("tiles differ in shape: ")
             << tiles[0].getType() << " and " << tile.getType();
    bool isSource = index < getSources().size();
    for (unsigned k = 0; k < getPack(); ++k) {
      unsigned position = (isSource ? index : index - getSources().size()) * getPack() + k;
      Type scalar =
          isSource ? block.getArgument(position).getType() : yield.getOperand(position).getType();
      if (scalar != getElementTypeOrSelf(tile.getType()))
        return emitOpError("region has a ") << scalar << " for an element of " << tile.getType();
    }
  }
  return success();
}

void InlineAsmOp::getEffects(
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getIsPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// Layout level
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  for (RankedTensorType type : {tileType(getSource()), tileType(getResult())})
    if (!getLayout(type))
      return emitOpError("needs layouts on both sides, got ") << type;
  return success();
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<ConvertLayoutOp>()) {
    if (inner.getSource().getType() == getType())
      return inner.getSource();
    // Two conversions in a row are one: nothing else may look in between.
    setOperand(inner.getSource());
    return getResult();
  }
  if (auto dense = llvm::dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return DenseElementsAttr::get(llvm::cast<ShapedType>(getType()),
                                  dense.getSplatValue<Attribute>());
  return {};
}

} // namespace tilewright::ir

#define GET_OP_CLASSES
#include "ir/dialect/TileOps.cpp.inc"
