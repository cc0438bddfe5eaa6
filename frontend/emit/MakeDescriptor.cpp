//===- MakeDescriptor.cpp - Descriptors made inside a kernel --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: decides how tl.make_tensor_descriptor gets its tensor map.
//   - If base, extents and strides follow from the kernel's arguments, the kernel
//     takes the map as one more argument, with a recipe by which the launch makes
//     it (RecipeOp.h). The host then does once what every program would have to do.
//   - Otherwise each program makes the map by tw.make_descriptor, where it can.
//   - Where it cannot, there is no map, and accesses go through pointers.
// Also decides which accesses go through pointers although there is a map.
//
// How: values are followed back through the integer arithmetic that shapes are
// computed with. The language demands that base and strides are multiples of 16
// bytes. If such a value is computed from arguments, constants and indices of
// programs, this must be known from the arguments' divisibility or from a hint. A
// launch must not fail, nor a kernel go wrong, for arguments with which pointers
// would work. Nothing can be known about a value that comes from memory or round a
// loop; there the demand is taken as met.
//
// TMA writes whole chunks of 16 bytes. If a row ends inside of one, a store overwrites what
// follows the row. So stores need a last extent that is known to be a multiple of 16 bytes; it is
// known if a stride equals it. Loads have no such rule. The language forbids coordinates that TMA
// cannot take (LowerTma.cpp); where such a coordinate is visible here, the access goes through
// pointers.
//
// Not handled: maps that programs make, in launches that may overlap the previous one
// (launch_pdl) and in programs of several blocks. The overlapping launches, or the blocks, might
// share one scratch memory.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/MlirBuilder.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/RecipeOp.h"
#include "ir/support/TmaBox.h"

#include <numeric>

namespace tilewright::emit {

namespace arith = mlir::arith;

namespace {

/// Bytes that a base and every stride but the last must be a multiple of.
constexpr int64_t alignmentBytes = 16;
/// Longer expressions are left to the kernel.
constexpr size_t maxSteps = 16;

/// Follows values to the arguments of one kernel.
class RecipeWriter {
public:
  explicit RecipeWriter(mlir::func::FuncOp kernel) : kernel(kernel) {}

  /// The steps that compute `value`; empty where it is no such expression.
  std::vector<int64_t> write(mlir::Value value) {
    steps.clear();
    return add(value) && steps.size() <= 2 * maxSteps ? steps : std::vector<int64_t>();
  }

  /// A power of two, up to 16, that is known to divide `value`.
  int64_t divisorOf(mlir::Value value) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
      return std::gcd(divisibilityOf(argument), alignmentBytes);
    if (std::optional<int64_t> constant = constantOf(value))
      return std::gcd(*constant, alignmentBytes);
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return 1;
    if (auto hint = llvm::dyn_cast<ir::HintOp>(op); hint && hint.getDivisibility())
      return std::max(divisorOf(hint.getSource()),
                      std::gcd(hint.getDivisibility()->front(), alignmentBytes));
    if (isCast(op))
      return divisorOf(op->getOperand(0));
    if (llvm::isa<arith::MulIOp>(op))
      return std::gcd(divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1)), alignmentBytes);
    if (llvm::isa<arith::AddIOp, arith::SubIOp>(op))
      return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
    return 1;
  }

  int64_t divisibilityOf(mlir::BlockArgument argument) {
    if (!isOfKernel(argument))
      return 1;
    auto attribute =
        kernel.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), ir::divisibilityAttr);
    return attribute ? attribute.getInt() : 1;
  }

  bool isOfKernel(mlir::BlockArgument argument) {
    return kernel && argument.getOwner() == &kernel.getBody().front();
  }

  /// What is left of `value` when divided by `divisor`, a power of two up to 16, if known.
  std::optional<int64_t> remainderOf(mlir::Value value, int64_t divisor) {
    if (divisorOf(value) % divisor == 0)
      return 0;
    if (std::optional<int64_t> constant = constantOf(value))
      return *constant & (divisor - 1);
    mlir::Operation *op = value.getDefiningOp();
    if (isCast(op))
      return remainderOf(op->getOperand(0), divisor);
    if (!llvm::isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
      return std::nullopt;
    std::optional<int64_t> lhs = remainderOf(op->getOperand(0), divisor);
    std::optional<int64_t> rhs = remainderOf(op->getOperand(1), divisor);
    if (!lhs || !rhs)
      return std::nullopt;
    return (llvm::isa<arith::AddIOp>(op) ? *lhs + *rhs : *lhs - *rhs) & (divisor - 1);
  }

  bool isNegative(mlir::Value value) {
    while (isCast(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    std::optional<int64_t> constant = constantOf(value);
    return constant && *constant < 0;
  }

  /// Whether both have the same lower bits.
  static bool isSame(mlir::Value lhs, mlir::Value rhs) {
    for (mlir::Value *value : {&lhs, &rhs})
      while (isCast(value->getDefiningOp()))
        *value = value->getDefiningOp()->getOperand(0);
    return lhs == rhs;
  }

  /// Whether a multiple of 16 bytes, or a value that nothing can be known of;
  /// `elementBytes` is what it counts.
  bool mayBeAligned(mlir::Value value, int64_t elementBytes) {
    return divisorOf(value) * elementBytes % alignmentBytes == 0 || !isComputed(value);
  }

  /// The same of an address.
  bool mayBeAlignedAddress(mlir::Value pointer, int64_t elementBytes) {
    for (; auto add = pointer.getDefiningOp<ir::AddPtrOp>(); pointer = add.getPointer())
      if (!mayBeAligned(add.getOffset(), elementBytes))
        return false;
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(pointer);
    return !argument || !isOfKernel(argument) || divisibilityOf(argument) % alignmentBytes == 0;
  }

private:
  mlir::func::FuncOp kernel;
  std::vector<int64_t> steps;

  /// Whether `op`, which may be null, leaves the lower bits as they are.
  static bool isCast(mlir::Operation *op) {
    return llvm::isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, ir::HintOp>(op);
  }

  /// Whether `value` follows from arguments, constants and indices of programs.
  bool isComputed(mlir::Value value) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
      return isOfKernel(argument);
    mlir::Operation *op = value.getDefiningOp();
    return llvm::isa<arith::ArithDialect, ir::TWDialect>(op->getDialect()) &&
           mlir::isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(),
                        [&](mlir::Value operand) { return isComputed(operand); });
  }

  static std::optional<int64_t> constantOf(mlir::Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto integer =
        constant ? llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
    return integer ? std::optional(integer.getInt()) : std::nullopt;
  }

  bool step(RecipeOp op, int64_t operand = 0) {
    steps.push_back(static_cast<int64_t>(op));
    steps.push_back(operand);
    return steps.size() <= 2 * maxSteps;
  }

  bool add(mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::IntegerType>(value.getType());
    if (!type || (type.getWidth() != 32 && type.getWidth() != 64))
      return false;
    bool isNarrow = type.getWidth() == 32;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
      return isOfKernel(argument) &&
             step(isNarrow ? RecipeOp::Argument32 : RecipeOp::Argument64, argument.getArgNumber());
    if (std::optional<int64_t> constant = constantOf(value))
      return step(RecipeOp::Constant, *constant);
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    // Narrow values are kept sign-extended.
    if (llvm::isa<arith::ExtSIOp, ir::HintOp>(op))
      return add(op->getOperand(0));
    if (llvm::isa<arith::ExtUIOp>(op))
      return add(op->getOperand(0)) && step(RecipeOp::ZeroExtend32);
    if (llvm::isa<arith::TruncIOp>(op))
      return add(op->getOperand(0)) && step(RecipeOp::SignExtend32);
    RecipeOp binary = llvm::isa<arith::AddIOp>(op)    ? RecipeOp::Add
                      : llvm::isa<arith::SubIOp>(op)  ? RecipeOp::Subtract
                      : llvm::isa<arith::MulIOp>(op)  ? RecipeOp::Multiply
                      : llvm::isa<arith::DivSIOp>(op) ? RecipeOp::Divide
                                                      : RecipeOp::Constant;
    if (binary == RecipeOp::Constant)
      return false;
    return add(op->getOperand(0)) && add(op->getOperand(1)) && step(binary) &&
           (!isNarrow || step(RecipeOp::SignExtend32));
  }
};

} // namespace

namespace {
using semantic::DType;

/// What tl.make_tensor_descriptor was given.
struct ArrayOfBlocks {
  const semantic::Value &base;
  const std::vector<semantic::Value> &shape, &strides;
  const std::vector<int64_t> &block;
  bool padsWithNan;

  DType element() const { return base.type.scalar.pointee(); }
  DType descriptorType() const { return DType::descriptorOf(element(), block); }
};
} // namespace

/// An array of expressions as an attribute; null where one is none.
static mlir::ArrayAttr writeAll(RecipeWriter &writer, mlir::OpBuilder &builder,
                                const std::vector<semantic::Value> &values) {
  llvm::SmallVector<mlir::Attribute> list;
  for (const semantic::Value &value : values) {
    std::vector<int64_t> steps = writer.write(MlirBuilder::unwrap(value));
    if (steps.empty())
      return {};
    list.push_back(builder.getDenseI64ArrayAttr(steps));
  }
  return builder.getArrayAttr(list);
}

/// The argument of the kernel for a tensor map that the launch makes; null where
/// the array does not follow from the arguments.
static mlir::Value fromLaunch(mlir::func::FuncOp kernel, RecipeWriter &writer,
                              mlir::OpBuilder &builder, const ArrayOfBlocks &array,
                              mlir::Location location) {
  auto pointer = llvm::dyn_cast<mlir::BlockArgument>(MlirBuilder::unwrap(array.base));
  if (!pointer || !writer.isOfKernel(pointer))
    return {};
  mlir::ArrayAttr extents = writeAll(writer, builder, array.shape);
  mlir::ArrayAttr steps = extents ? writeAll(writer, builder, array.strides) : mlir::ArrayAttr();
  if (!steps)
    return {};
  mlir::NamedAttrList recipe;
  recipe.set("base", builder.getI32IntegerAttr(pointer.getArgNumber()));
  recipe.set("element", builder.getStringAttr(array.element().name()));
  recipe.set("nan", builder.getBoolAttr(array.padsWithNan));
  recipe.set("shape", extents);
  recipe.set("strides", steps);
  mlir::DictionaryAttr attribute = recipe.getDictionary(builder.getContext());
  mlir::Type type = toMlirType(builder.getContext(), array.descriptorType());
  // The same descriptor may be made in several places.
  for (mlir::BlockArgument argument : kernel.getArguments())
    if (argument.getType() == type &&
        kernel.getArgAttr(argument.getArgNumber(), ir::tensorMapAttr) == attribute)
      return argument;
  unsigned position = kernel.getNumArguments();
  mlir::NamedAttrList attributes;
  attributes.set(ir::tensorMapAttr, attribute);
  kernel.insertArgument(position, type, attributes.getDictionary(builder.getContext()), location);
  return kernel.getArgument(position);
}

/// Why the array is accessed by pointers; empty where TMA does it.
static std::string reasonForPointers(RecipeWriter &writer, const ArrayOfBlocks &array) {
  const DType element = array.element();
  int64_t bytes = element.sizeInBytes();
  if (array.padsWithNan && (!element.isFloating() || element.isFloat8()))
    return "TMA has no NaN of this type to pad with";
  if (element.isBool() || element.isPointer() || !canCopyByTma(array.block, bytes))
    return "TMA does not suit such blocks";
  if (!writer.mayBeAlignedAddress(MlirBuilder::unwrap(array.base), bytes))
    return "the base is not known to be a multiple of 16 bytes";
  for (size_t dim = 0; dim + 1 < array.strides.size(); ++dim)
    if (!writer.mayBeAligned(MlirBuilder::unwrap(array.strides[dim]), bytes))
      return "stride " + std::to_string(dim) +
             " is not known to be a multiple of 16 bytes; tl.multiple_of would say so";
  return "";
}

static int64_t elementsOfChunk(const DType &element) {
  return std::max<int64_t>(1, alignmentBytes / element.sizeInBytes());
}

/// Keeps `reason` for PlaceTensorMaps to report.
static void notePointers(mlir::func::FuncOp kernel, mlir::OpBuilder &builder,
                         mlir::Location location, llvm::StringRef reason) {
  if (!kernel)
    return;
  llvm::SmallVector<mlir::Attribute> notes;
  if (auto known = kernel->getAttrOfType<mlir::ArrayAttr>(ir::pointerDescriptorsAttr))
    llvm::append_range(notes, known);
  auto note = builder.getArrayAttr(
      {mlir::LocationAttr(location), mlir::Attribute(builder.getStringAttr(reason))});
  if (llvm::is_contained(notes, note))
    return;
  notes.push_back(note);
  kernel->setAttr(ir::pointerDescriptorsAttr, builder.getArrayAttr(notes));
}

std::optional<semantic::Value> MlirBuilder::makeDescriptor(const Value &base,
                                                           const std::vector<Value> &shape,
                                                           const std::vector<Value> &strides,
                                                           const std::vector<int64_t> &block,
                                                           bool padsWithNan) {
  if (!kernel)
    return std::nullopt;
  ArrayOfBlocks array = {base, shape, strides, block, padsWithNan};
  RecipeWriter writer(kernel);
  std::string reason = reasonForPointers(writer, array);
  if (reason.empty()) {
    if (mlir::Value map = fromLaunch(kernel, writer, builder, array, location()))
      return wrap(array.descriptorType(), map);
    if (!makesTensorMaps)
      reason = "this kernel cannot make tensor maps, and the launch does not know the array";
  }
  if (!reason.empty()) {
    notePointers(kernel, builder, location(), reason);
    return std::nullopt;
  }
  llvm::SmallVector<mlir::Value> extents, steps;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    extents.push_back(unwrap(shape[dim]));
    if (dim + 1 < shape.size())
      steps.push_back(unwrap(strides[dim]));
  }
  return emit<ir::MakeDescriptorOp>(Type(array.descriptorType()), unwrap(base), extents, steps,
                                    array.element().isUnsigned(), padsWithNan);
}

bool MlirBuilder::canLoadByTma(const Value &descriptor, const std::vector<Value> &coordinates) {
  const DType &type = descriptor.type.scalar;
  int64_t chunk = elementsOfChunk(type.pointee());
  RecipeWriter writer(kernel);
  if (writer.remainderOf(unwrap(coordinates.back()), chunk).value_or(0) == 0)
    return true;
  notePointers(kernel, builder, location(), "the last coordinate is no multiple of 16 bytes");
  return false;
}

bool MlirBuilder::canStoreByTma(const Value &descriptor, const std::vector<Value> &coordinates,
                                const Value &extent, const std::vector<Value> &strides) {
  RecipeWriter writer(kernel);
  int64_t chunk = elementsOfChunk(descriptor.type.scalar.pointee());
  bool isWhole = writer.divisorOf(unwrap(extent)) % chunk == 0 ||
                 llvm::any_of(strides, [&](const Value &stride) {
                   return RecipeWriter::isSame(unwrap(extent), unwrap(stride));
                 });
  if (!isWhole) {
    notePointers(kernel, builder, location(),
                 "TMA would store beyond the array: the innermost extent is not known to be a "
                 "multiple of 16 bytes; tl.multiple_of would say so");
    return false;
  }
  if (llvm::any_of(coordinates,
                   [&](const Value &value) { return writer.isNegative(unwrap(value)); })) {
    notePointers(kernel, builder, location(), "TMA cannot store at negative coordinates");
    return false;
  }
  return canLoadByTma(descriptor, coordinates);
}

} // namespace tilewright::emit
