//===- TileDialect.cpp - The tw dialect -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/TileDialect.h"

#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/dialect/TileDialect.cpp.inc"
#include "ir/dialect/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/dialect/TileAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/dialect/TileTypes.cpp.inc"

namespace tilewright::ir {

void TWDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/dialect/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/dialect/TileAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/dialect/TileOps.cpp.inc"
      >();
}

Operation *TWDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location location) {
  return arith::ConstantOp::materialize(builder, value, type, location);
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

/// `name = [1, 2, 4]`; the list may be empty.
static ParseResult parseColumns(AsmParser &parser, llvm::StringRef name,
                                llvm::SmallVectorImpl<uint32_t> &columns) {
  if (parser.parseKeyword(name) || parser.parseEqual())
    return failure();
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&] { return parser.parseInteger(columns.emplace_back()); });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  llvm::SmallVector<uint32_t> registers, lanes, warps, blocks;
  if (parser.parseLess() || parseColumns(parser, "register", registers) || parser.parseComma() ||
      parseColumns(parser, "lane", lanes) || parser.parseComma() ||
      parseColumns(parser, "warp", warps) || parser.parseComma() ||
      parseColumns(parser, "block", blocks) || parser.parseGreater())
    return {};
  return LayoutAttr::get(parser.getContext(), registers, lanes, warps, blocks);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  auto list = [&](llvm::StringRef name, llvm::ArrayRef<uint32_t> columns) {
    printer << name << " = [";
    llvm::interleaveComma(columns, printer);
    printer << "]";
  };
  printer << "<";
  list("register", getRegisters());
  list(", lane", getLanes());
  list(", warp", getWarps());
  list(", block", getBlocks());
  printer << ">";
}

LinearLayout LayoutAttr::toLinear(llvm::ArrayRef<int64_t> shape) const {
  LinearLayout layout(log2Shape(shape));
  auto copy = [&](InDim dim, llvm::ArrayRef<uint32_t> columns) {
    layout.columns(dim).assign(columns.begin(), columns.end());
  };
  copy(InDim::Register, getRegisters());
  copy(InDim::Lane, getLanes());
  copy(InDim::Warp, getWarps());
  copy(InDim::Block, getBlocks());
  return layout;
}

LayoutAttr LayoutAttr::fromLinear(MLIRContext *context, const LinearLayout &layout) {
  return LayoutAttr::get(context, layout.columns(InDim::Register), layout.columns(InDim::Lane),
                         layout.columns(InDim::Warp), layout.columns(InDim::Block));
}

//===----------------------------------------------------------------------===//
// Shared memory and descriptors
//===----------------------------------------------------------------------===//

Attribute SharedLayoutAttr::parse(AsmParser &parser, Type) {
  llvm::SmallVector<uint32_t> offsets;
  if (parser.parseLess() || parseColumns(parser, "offset", offsets) || parser.parseGreater())
    return {};
  return SharedLayoutAttr::get(parser.getContext(), offsets);
}

void SharedLayoutAttr::print(AsmPrinter &printer) const {
  printer << "<offset = [";
  llvm::interleaveComma(getOffsets(), printer);
  printer << "]>";
}

LinearLayout SharedLayoutAttr::toLinear(llvm::ArrayRef<int64_t> shape) const {
  LinearLayout layout(log2Shape(shape));
  layout.columns(InDim::Offset).assign(getOffsets().begin(), getOffsets().end());
  return layout;
}

SharedLayoutAttr SharedLayoutAttr::fromLinear(MLIRContext *context, const LinearLayout &layout) {
  return SharedLayoutAttr::get(context, layout.columns(InDim::Offset));
}

/// `<64x32xf16` of a buffer or descriptor.
static ParseResult parseShapeAndElement(AsmParser &parser, llvm::SmallVectorImpl<int64_t> &shape,
                                        Type &element) {
  return failure(parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(element));
}

static void printShapeAndElement(AsmPrinter &printer, llvm::ArrayRef<int64_t> shape, Type element) {
  printer << "<";
  for (int64_t extent : shape)
    printer << extent << "x";
  printer << element;
}

Type BufferType::parse(AsmParser &parser) {
  llvm::SmallVector<int64_t> shape;
  Type element;
  SharedLayoutAttr layout;
  int64_t slots = 1;
  if (parseShapeAndElement(parser, shape, element) || parser.parseComma() ||
      parser.parseAttribute(layout))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseInteger(slots))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, element, layout, slots);
}

void BufferType::print(AsmPrinter &printer) const {
  printShapeAndElement(printer, getShape(), getElementType());
  printer << ", " << getLayout();
  if (getSlots() != 1)
    printer << ", " << getSlots();
  printer << ">";
}

int64_t BufferType::slotBytes() const {
  int64_t elements = 1;
  for (int64_t extent : getShape())
    elements *= extent;
  return elements * elementBits(getElementType()) / 8;
}

int64_t BufferType::slotStride() const {
  return (slotBytes() + hardware::swizzlePatternBytes - 1) / hardware::swizzlePatternBytes *
         hardware::swizzlePatternBytes;
}

Type DescriptorType::parse(AsmParser &parser) {
  llvm::SmallVector<int64_t> shape;
  Type element;
  if (parseShapeAndElement(parser, shape, element) || parser.parseGreater())
    return {};
  return get(parser.getContext(), shape, element);
}

void DescriptorType::print(AsmPrinter &printer) const {
  printShapeAndElement(printer, getShape(), getElementType());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Helpers on types
//===----------------------------------------------------------------------===//

LayoutAttr getLayout(RankedTensorType type) {
  return llvm::dyn_cast_or_null<LayoutAttr>(type.getEncoding());
}

LinearLayout getLinearLayout(RankedTensorType type) {
  return getLayout(type).toLinear(type.getShape());
}

RankedTensorType withLayout(RankedTensorType type, LayoutAttr layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), layout);
}

RankedTensorType withLayout(RankedTensorType type, const LinearLayout &layout) {
  return withLayout(type, LayoutAttr::fromLinear(type.getContext(), layout));
}

std::vector<int> log2Shape(llvm::ArrayRef<int64_t> shape) {
  std::vector<int> result;
  for (int64_t extent : shape)
    result.push_back(llvm::Log2_64(extent));
  return result;
}

unsigned elementBits(Type elementType) {
  if (llvm::isa<PointerType>(elementType))
    return 64;
  return std::max(8u, elementType.getIntOrFloatBitWidth());
}

bool isFp8(Type elementType) { return llvm::isa<Float8E4M3FNType, Float8E5M2Type>(elementType); }

bool isZeroBits(Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>())
    value = splat.getSource();
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

bool isZero(Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>())
    value = splat.getSource();
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

bool isElementwise(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return false;
  if (op->hasTrait<OpTrait::Elementwise>())
    return true;
  // arith.constant has no operands and arith.select is elementwise by trait.
  return false;
}

int numWarps(ModuleOp module) {
  if (auto attr = module->getAttrOfType<IntegerAttr>(numWarpsAttr))
    return static_cast<int>(attr.getInt());
  return 4;
}

int numStages(ModuleOp module) {
  auto attr = module->getAttrOfType<IntegerAttr>(numStagesAttr);
  return attr ? static_cast<int>(attr.getInt()) : 3;
}

int stagesOf(Operation *loop) {
  if (auto stages = loop->getAttrOfType<IntegerAttr>(loopStagesAttr))
    return static_cast<int>(stages.getInt());
  return numStages(loop->getParentOfType<ModuleOp>());
}

int numBlocks(ModuleOp module) {
  auto attr = module->getAttrOfType<IntegerAttr>(numBlocksAttr);
  return attr ? std::max<int>(1, attr.getInt()) : 1;
}

uint32_t duplicateBlockMask(const LinearLayout &layout, int numBlocks) {
  uint32_t unmentioned = (numBlocks - 1) & ~(layout.inSize(InDim::Block) - 1);
  return duplicateThreadMasks(layout)[InDim::Block] | unmentioned;
}

} // namespace tilewright::ir
