//===- MlirBuilder.cpp - Tile IR behind the language ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: constants, shapes, reductions, hints. Elementwise ops and memory have
// files of their own.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/MlirBuilder.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"

namespace tilewright::emit {

using semantic::ScalarKind;

mlir::Type MlirBuilder::mlirType(const Type &type) { return toMlirType(context(), type); }

//===----------------------------------------------------------------------===//
// Constants and indices
//===----------------------------------------------------------------------===//

mlir::Value MlirBuilder::scalarInt(mlir::Type type, int64_t value) {
  return make<mlir::arith::ConstantOp>(builder.getIntegerAttr(type, value));
}

mlir::Value MlirBuilder::splatConstant(mlir::TypedAttr scalar, const std::vector<int64_t> &shape) {
  mlir::Value constant = make<mlir::arith::ConstantOp>(scalar);
  return shape.empty() ? constant
                       : make<ir::SplatOp>(tileOf(constant.getType(), shape), constant).getResult();
}

semantic::Value MlirBuilder::constantInt(DType type, uint64_t bits) {
  mlir::Type target = mlirType(type);
  // APInt refuses bits above the width: Semantic hands over sign-extended ones.
  llvm::APInt value(64, bits);
  mlir::Attribute attribute =
      builder.getIntegerAttr(target, value.trunc(target.getIntOrFloatBitWidth()));
  return wrap(type, make<mlir::arith::ConstantOp>(llvm::cast<mlir::TypedAttr>(attribute)));
}

semantic::Value MlirBuilder::constantFloat(DType type, double value) {
  mlir::Type target = mlirType(type);
  return wrap(type, make<mlir::arith::ConstantOp>(builder.getFloatAttr(target, value)));
}

semantic::Value MlirBuilder::constantNull(DType type) {
  return emit<ir::IntToPtrOp>(type, scalarInt(builder.getI64Type(), 0));
}

semantic::Value MlirBuilder::programId(int axis) {
  return emit<ir::ProgramIdOp>(DType(ScalarKind::Int32), builder.getI32IntegerAttr(axis));
}

semantic::Value MlirBuilder::numPrograms(int axis) {
  return emit<ir::NumProgramsOp>(DType(ScalarKind::Int32), builder.getI32IntegerAttr(axis));
}

semantic::Value MlirBuilder::range(int32_t start, int32_t end) {
  return emit<ir::RangeOp>(Type(ScalarKind::Int32, {int64_t(end) - start}),
                           builder.getI32IntegerAttr(start), builder.getI32IntegerAttr(end));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

semantic::Value MlirBuilder::splat(const Value &scalar, const std::vector<int64_t> &shape) {
  return emit<ir::SplatOp>(scalar.type.withShape(shape), unwrap(scalar));
}

semantic::Value MlirBuilder::broadcast(const Value &tile, const std::vector<int64_t> &shape) {
  return emit<ir::BroadcastOp>(tile.type.withShape(shape), unwrap(tile));
}

semantic::Value MlirBuilder::expandDims(const Value &tile, int axis) {
  std::vector<int64_t> shape = tile.type.shape;
  shape.insert(shape.begin() + axis, 1);
  return emit<ir::ExpandDimsOp>(tile.type.withShape(std::move(shape)), unwrap(tile),
                                builder.getI32IntegerAttr(axis));
}

semantic::Value MlirBuilder::reshape(const Value &tile, const std::vector<int64_t> &shape,
                                     bool mayReorder) {
  return emit<ir::ReshapeOp>(tile.type.withShape(shape), unwrap(tile),
                             mayReorder ? builder.getUnitAttr() : mlir::UnitAttr());
}

semantic::Value MlirBuilder::permute(const Value &tile, const std::vector<int> &order) {
  std::vector<int64_t> shape;
  std::vector<int32_t> dims(order.begin(), order.end());
  for (int dim : order)
    shape.push_back(tile.type.shape[dim]);
  return emit<ir::PermuteOp>(tile.type.withShape(std::move(shape)), unwrap(tile),
                             builder.getDenseI32ArrayAttr(dims));
}

semantic::Value MlirBuilder::join(const Value &lhs, const Value &rhs) {
  std::vector<int64_t> shape = lhs.type.shape;
  shape.push_back(2);
  Type result = lhs.type.withShape(std::move(shape));
  if (lhs.type.isTile())
    return emit<ir::JoinOp>(result, unwrap(lhs), unwrap(rhs));
  // Scalars: tiles of one element have the dimension that join needs.
  Value left = splat(lhs, {1}), right = splat(rhs, {1});
  Value joined = emit<ir::JoinOp>(lhs.type.withShape({1, 2}), unwrap(left), unwrap(right));
  return reshape(joined, {2}, /*mayReorder=*/false);
}

std::pair<semantic::Value, semantic::Value> MlirBuilder::split(const Value &tile) {
  std::vector<int64_t> shape = tile.type.shape;
  shape.pop_back();
  if (shape.empty()) {
    auto [left, right] = split(reshape(tile, {1, 2}, /*mayReorder=*/false));
    return {extractScalar(left), extractScalar(right)};
  }
  Type half = tile.type.withShape(std::move(shape));
  mlir::Type halfType = mlirType(half);
  auto op = make<ir::SplitOp>(halfType, halfType, unwrap(tile));
  return {wrap(half, op->getResult(0)), wrap(half, op->getResult(1))};
}

semantic::Value MlirBuilder::concatenate(const Value &lhs, const Value &rhs) {
  std::vector<int64_t> shape = lhs.type.shape;
  shape[0] *= 2;
  return emit<ir::ConcatOp>(lhs.type.withShape(std::move(shape)), unwrap(lhs), unwrap(rhs));
}

bool MlirBuilder::hasSeveralBlocks() const {
  auto module = builder.getBlock()->getParentOp()->getParentOfType<mlir::ModuleOp>();
  return ir::numBlocks(module) > 1;
}

std::optional<semantic::Value> MlirBuilder::gather(const Value &source, const Value &index,
                                                   int axis) {
  if (hasSeveralBlocks())
    return std::nullopt;
  return emit<ir::GatherOp>(Type(source.type.scalar, index.type.shape), unwrap(source),
                            unwrap(index), static_cast<uint32_t>(axis));
}

std::optional<semantic::Value>
MlirBuilder::histogram(const Value &source, const std::optional<Value> &mask, int64_t bins) {
  if (hasSeveralBlocks())
    return std::nullopt;
  return emit<ir::HistogramOp>(Type(ScalarKind::Int32, {bins}), unwrap(source),
                               mask ? unwrap(*mask) : mlir::Value());
}

semantic::Value MlirBuilder::extractScalar(const Value &tile) {
  return emit<ir::ExtractScalarOp>(tile.type.withShape({}), unwrap(tile));
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

static ir::DotPrecision toIr(semantic::DotPrecision precision) {
  switch (precision) {
  case semantic::DotPrecision::Tf32:
    return ir::DotPrecision::tf32;
  case semantic::DotPrecision::Tf32x3:
    return ir::DotPrecision::tf32x3;
  case semantic::DotPrecision::Ieee:
    return ir::DotPrecision::ieee;
  case semantic::DotPrecision::BFloat16x3:
    return ir::DotPrecision::bf16x3;
  case semantic::DotPrecision::BFloat16x6:
    return ir::DotPrecision::bf16x6;
  }
  llvm_unreachable("every precision returns above");
}

semantic::Value MlirBuilder::dot(const Value &a, const Value &b, const Value &acc,
                                 semantic::DotPrecision precision, int32_t maxImprecise) {
  // The passes choose the unit and how the warps are placed.
  return emit<ir::DotOp>(acc.type, unwrap(a), unwrap(b), unwrap(acc), toIr(precision),
                         static_cast<uint32_t>(maxImprecise), ir::MatrixUnitAttr(),
                         mlir::DenseI32ArrayAttr());
}

//===----------------------------------------------------------------------===//
// Across elements
//===----------------------------------------------------------------------===//

void MlirBuilder::fillCombineRegion(mlir::Region &region, const std::vector<Value> &inputs,
                                    const semantic::CombineFunction &combine) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block = builder.createBlock(&region);
  mlir::Location loc = location();
  std::vector<Value> sides[2];
  for (std::vector<Value> &side : sides)
    for (const Value &input : inputs) {
      Type scalar = input.type.withShape({});
      side.push_back(wrap(scalar, block->addArgument(mlirType(scalar), loc)));
    }
  llvm::SmallVector<mlir::Value> results;
  for (const Value &result : combine(sides[0], sides[1]))
    results.push_back(unwrap(result));
  builder.create<ir::YieldOp>(loc, results);
}

static llvm::SmallVector<mlir::Value> unwrapAll(const std::vector<semantic::Value> &values) {
  llvm::SmallVector<mlir::Value> out;
  for (const semantic::Value &value : values)
    out.push_back(MlirBuilder::unwrap(value));
  return out;
}

static std::vector<semantic::Value> wrapAll(const std::vector<semantic::Type> &types,
                                            mlir::ResultRange results) {
  std::vector<semantic::Value> out;
  for (auto [type, result] : llvm::zip_equal(types, results))
    out.push_back(MlirBuilder::wrap(type, result));
  return out;
}

std::vector<semantic::Value> MlirBuilder::reduce(const std::vector<Value> &inputs, int axis,
                                                 const semantic::CombineFunction &combine) {
  std::vector<Type> types;
  llvm::SmallVector<mlir::Type> mlirTypes;
  for (const Value &input : inputs) {
    std::vector<int64_t> shape = input.type.shape;
    shape.erase(shape.begin() + axis);
    types.push_back(input.type.withShape(std::move(shape)));
    mlirTypes.push_back(mlirType(types.back()));
  }
  auto op = make<ir::ReduceOp>(mlirTypes, unwrapAll(inputs), builder.getI32IntegerAttr(axis));
  fillCombineRegion(op->getRegion(0), inputs, combine);
  return wrapAll(types, op->getResults());
}

std::vector<semantic::Value> MlirBuilder::scan(const std::vector<Value> &inputs, int axis,
                                               bool reverse,
                                               const semantic::CombineFunction &combine) {
  std::vector<Type> types;
  llvm::SmallVector<mlir::Type> mlirTypes;
  for (const Value &input : inputs) {
    types.push_back(input.type);
    mlirTypes.push_back(mlirType(input.type));
  }
  auto op = make<ir::ScanOp>(mlirTypes, unwrapAll(inputs), builder.getI32IntegerAttr(axis),
                             reverse ? builder.getUnitAttr() : mlir::UnitAttr());
  fillCombineRegion(op->getRegion(0), inputs, combine);
  return wrapAll(types, op->getResults());
}

//===----------------------------------------------------------------------===//
// Code of the user on elements
//===----------------------------------------------------------------------===//

std::vector<semantic::Value> MlirBuilder::mapElements(const std::vector<Value> &inputs, int pack,
                                                      const semantic::MapFunction &function) {
  // The body comes first: what it yields decides the types of the results.
  mlir::Region body;
  std::vector<Value> yielded;
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Block *block = builder.createBlock(&body);
    std::vector<Value> elements;
    for (const Value &input : inputs)
      for (int k = 0; k < pack; ++k) {
        Type scalar = input.type.withShape({});
        elements.push_back(wrap(scalar, block->addArgument(mlirType(scalar), location())));
      }
    yielded = function(elements);
    make<ir::YieldOp>(unwrapAll(yielded));
  }
  std::vector<Type> types;
  llvm::SmallVector<mlir::Type> mlirTypes;
  for (size_t i = 0; i < yielded.size(); i += pack) {
    types.push_back(yielded[i].type.withShape(inputs[0].type.shape));
    mlirTypes.push_back(mlirType(types.back()));
  }
  auto op = make<ir::MapOp>(mlirTypes, unwrapAll(inputs), static_cast<uint32_t>(pack));
  op.getBody().takeBody(body);
  return wrapAll(types, op->getResults());
}

semantic::Value MlirBuilder::externCall(const std::string &symbol,
                                        const std::vector<Value> &operands, const DType &result) {
  return emit<ir::ExternCallOp>(operands[0].type.withScalar(result), symbol, unwrapAll(operands));
}

std::vector<semantic::Value> MlirBuilder::inlineAsm(const semantic::InlineAsm &code,
                                                    const std::vector<Value> &inputs,
                                                    const std::vector<DType> &results,
                                                    const std::vector<int64_t> &shape) {
  std::vector<Type> types;
  llvm::SmallVector<mlir::Type> mlirTypes;
  for (const DType &result : results) {
    types.emplace_back(result, shape);
    mlirTypes.push_back(mlirType(types.back()));
  }
  auto op = make<ir::InlineAsmOp>(mlirTypes, unwrapAll(inputs), code.assembly, code.constraints,
                                  static_cast<uint32_t>(code.pack), code.isPure);
  return wrapAll(types, op->getResults());
}

//===----------------------------------------------------------------------===//
// Hints, debugging
//===----------------------------------------------------------------------===//

semantic::Value MlirBuilder::hint(semantic::HintKind kind, const Value &value,
                                  const std::vector<int64_t> &values) {
  mlir::DenseI64ArrayAttr list = builder.getDenseI64ArrayAttr(values), none;
  return emit<ir::HintOp>(value.type, unwrap(value),
                          kind == semantic::HintKind::Divisibility ? list : none,
                          kind == semantic::HintKind::Contiguity ? list : none,
                          kind == semantic::HintKind::Constancy ? list : none);
}

void MlirBuilder::assume(const Value &condition) { make<ir::AssumeOp>(unwrap(condition)); }

void MlirBuilder::barrier() { make<ir::BarrierOp>(); }

void MlirBuilder::print(const std::string &prefix, const std::vector<Value> &values, bool hex) {
  llvm::SmallVector<bool> isSigned;
  for (const Value &value : values)
    isSigned.push_back(value.type.scalar.isSigned());
  make<ir::PrintOp>(builder.getStringAttr(prefix), hex ? builder.getUnitAttr() : mlir::UnitAttr(),
                    unwrapAll(values), builder.getDenseBoolArrayAttr(isSigned));
}

void MlirBuilder::deviceAssert(const Value &condition, const std::string &message,
                               const OptionalValue &mask) {
  mlir::Value holds = unwrap(condition);
  if (mask) {
    // A lane that the mask leaves out cannot fail: condition or not mask.
    mlir::Value active = unwrap(*mask);
    mlir::Value ones = splatConstant(builder.getBoolAttr(true), mask->type.shape);
    mlir::Value inactive = make<mlir::arith::XOrIOp>(active, ones);
    holds = make<mlir::arith::OrIOp>(holds, inactive);
  }
  make<ir::AssertOp>(holds, builder.getStringAttr(message));
}

} // namespace tilewright::emit
