//===- HostDescriptor.cpp - Descriptors that the launch can make ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tl.make_tensor_descriptor inside a kernel, where base, extents and strides
// follow from the kernel's arguments: the kernel takes the tensor map as one more
// argument, with a recipe by which the launch makes it (RecipeOp.h). Making a
// tensor map on the GPU would cost every program what the host does once.
//
// How: values are followed back to arguments and constants through the integer
// arithmetic that shapes are computed with. What TMA demands of base and strides
// must be known from the arguments' divisibility, since a launch must not fail for
// arguments that pointers would serve.
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
    if (llvm::isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, ir::HintOp>(op))
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
    return argument.getOwner() == &kernel.getBody().front();
  }

private:
  mlir::func::FuncOp kernel;
  std::vector<int64_t> steps;

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

std::optional<semantic::Value> MlirBuilder::hostDescriptor(const Value &base,
                                                           const std::vector<Value> &shape,
                                                           const std::vector<Value> &strides,
                                                           const std::vector<int64_t> &block,
                                                           bool padsWithNan) {
  const DType element = base.type.scalar.pointee();
  bool canPad = !padsWithNan || (element.isFloating() && !element.isFloat8());
  if (!kernel || !canPad || element.isBool() || element.isPointer() ||
      !canCopyByTma(block, element.sizeInBytes()))
    return std::nullopt;
  RecipeWriter writer(kernel);
  auto pointer = llvm::dyn_cast<mlir::BlockArgument>(unwrap(base));
  if (!pointer || !writer.isOfKernel(pointer) || writer.divisibilityOf(pointer) % alignmentBytes)
    return std::nullopt;
  for (size_t dim = 0; dim + 1 < strides.size(); ++dim)
    if (writer.divisorOf(unwrap(strides[dim])) * element.sizeInBytes() % alignmentBytes)
      return std::nullopt;
  mlir::ArrayAttr extents = writeAll(writer, builder, shape);
  mlir::ArrayAttr steps = extents ? writeAll(writer, builder, strides) : mlir::ArrayAttr();
  if (!steps)
    return std::nullopt;

  mlir::NamedAttrList recipe;
  recipe.set("base", builder.getI32IntegerAttr(pointer.getArgNumber()));
  recipe.set("element", builder.getStringAttr(element.name()));
  recipe.set("nan", builder.getBoolAttr(padsWithNan));
  recipe.set("shape", extents);
  recipe.set("strides", steps);
  mlir::DictionaryAttr attribute = recipe.getDictionary(context());
  DType type = DType::descriptorOf(element, block);
  mlir::Type argumentType = toMlirType(context(), type);
  // The same descriptor may be made in several places.
  for (mlir::BlockArgument argument : kernel.getArguments())
    if (argument.getType() == argumentType &&
        kernel.getArgAttr(argument.getArgNumber(), ir::tensorMapAttr) == attribute)
      return wrap(type, argument);
  unsigned position = kernel.getNumArguments();
  mlir::NamedAttrList attributes;
  attributes.set(ir::tensorMapAttr, attribute);
  kernel.insertArgument(position, argumentType, attributes.getDictionary(context()), location());
  return wrap(type, kernel.getArgument(position));
}

} // namespace tilewright::emit
