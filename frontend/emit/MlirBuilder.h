//===- MlirBuilder.h - Tile IR behind the language --------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the TileBuilder of the compiler. Each method appends one or a few ops
// of tw, arith, math at the insertion point; control flow is made by the walker
// through opBuilder(), because a region needs the scopes around it.
//
// How values are held: a semantic::Handle is the opaque pointer of an
// mlir::Value without a control block. The module owns the value; a handle must
// not outlive the op (the walker drops scopes together with the ops it erases).
//
// Where locations come from: the owner sets a source; each op asks it. So the
// walker only notes its current node and pays for a location when an op is made.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_EMIT_MLIRBUILDER_H
#define TILEWRIGHT_FRONTEND_EMIT_MLIRBUILDER_H

#include "frontend/semantic/TileBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tilewright::emit {

class MlirBuilder final : public semantic::TileBuilder {
public:
  using DType = semantic::DType;
  using Type = semantic::Type;
  using Value = semantic::Value;
  using OptionalValue = std::optional<semantic::Value>;
  using LocationSource = std::function<mlir::Location()>;

  MlirBuilder(mlir::MLIRContext *context, LocationSource locationSource)
      : builder(context), locationSource(std::move(locationSource)) {}

  mlir::OpBuilder &opBuilder() { return builder; }
  mlir::MLIRContext *context() { return builder.getContext(); }
  mlir::Location location() { return locationSource(); }
  mlir::Type mlirType(const Type &type);
  /// The function that takes tensor maps for descriptors made inside; none where the
  /// target has no TMA.
  /// `makesTensorMaps`: whether programs can make the maps that the launch cannot.
  void setKernel(mlir::func::FuncOp function, bool makesTensorMaps) {
    kernel = function;
    this->makesTensorMaps = makesTensorMaps;
  }

  static mlir::Value unwrap(const Value &value) {
    return mlir::Value::getFromOpaquePointer(value.handle.get());
  }
  static Value wrap(Type type, mlir::Value value) {
    return {std::move(type), semantic::Handle(semantic::Handle(), value.getAsOpaquePointer())};
  }

  //===--- constants and indices ------------------------------------------===//
  Value constantInt(DType type, uint64_t bits) override;
  Value constantFloat(DType type, double value) override;
  Value constantNull(DType type) override;
  Value programId(int axis) override;
  Value numPrograms(int axis) override;
  Value range(int32_t start, int32_t end) override;

  //===--- shape ----------------------------------------------------------===//
  Value splat(const Value &scalar, const std::vector<int64_t> &shape) override;
  Value broadcast(const Value &tile, const std::vector<int64_t> &shape) override;
  Value expandDims(const Value &tile, int axis) override;
  Value reshape(const Value &tile, const std::vector<int64_t> &shape, bool mayReorder) override;
  Value permute(const Value &tile, const std::vector<int> &order) override;
  std::optional<Value> gather(const Value &source, const Value &index, int axis) override;
  std::optional<Value> histogram(const Value &source, const std::optional<Value> &mask,
                                 int64_t bins) override;
  Value join(const Value &lhs, const Value &rhs) override;
  std::pair<Value, Value> split(const Value &tile) override;
  Value concatenate(const Value &lhs, const Value &rhs) override;
  Value extractScalar(const Value &tile) override;

  //===--- elementwise (MlirElementwise.cpp) ------------------------------===//
  Value unary(semantic::UnaryOp op, const Value &operand) override;
  Value binary(semantic::BinaryOp op, const Value &lhs, const Value &rhs) override;
  Value compare(semantic::ComparePredicate predicate, const Value &lhs, const Value &rhs) override;
  Value select(const Value &condition, const Value &ifTrue, const Value &ifFalse) override;
  Value externCall(const std::string &symbol, const std::vector<Value> &operands,
                   const DType &result) override;
  Value fma(const Value &x, const Value &y, const Value &z) override;
  Value cast(semantic::CastOp op, const Value &operand, const DType &to,
             semantic::Rounding rounding) override;
  Value addPointer(const Value &pointer, const Value &offset) override;

  //===--- matrix products ------------------------------------------------===//
  Value dot(const Value &a, const Value &b, const Value &acc, semantic::DotPrecision precision,
            int32_t maxImprecise) override;

  //===--- memory (MlirMemory.cpp) ----------------------------------------===//
  Value load(const Value &pointer, const OptionalValue &mask, const OptionalValue &other,
             const semantic::LoadOptions &options) override;
  void store(const Value &pointer, const Value &value, const OptionalValue &mask,
             const semantic::StoreOptions &options) override;
  Value atomicRmw(semantic::AtomicOp op, const Value &pointer, const Value &value,
                  const OptionalValue &mask, semantic::MemorySemantic semantic,
                  semantic::MemoryScope scope) override;
  Value atomicPoll(const Value &pointer, const Value &expected, const OptionalValue &timeout,
                   semantic::MemorySemantic semantic, semantic::MemoryScope scope) override;
  Value atomicCas(const Value &pointer, const Value &compare, const Value &value,
                  semantic::MemorySemantic semantic, semantic::MemoryScope scope) override;

  //===--- blocks through tensor maps (MakeDescriptor.cpp, MlirMemory.cpp) -===//
  bool canLoadByTma(const Value &descriptor, const std::vector<Value> &coordinates) override;
  bool canStoreByTma(const Value &descriptor, const std::vector<Value> &coordinates,
                     const Value &extent, const std::vector<Value> &strides) override;
  Value descriptorLoad(const Value &descriptor, const std::vector<Value> &coordinates,
                       const semantic::LoadOptions &options) override;
  void descriptorStore(const Value &descriptor, const std::vector<Value> &coordinates,
                       const Value &value, std::optional<semantic::AtomicOp> reduction) override;

  std::optional<Value> makeDescriptor(const Value &base, const std::vector<Value> &shape,
                                      const std::vector<Value> &strides,
                                      const std::vector<int64_t> &block, bool padsWithNan) override;

  //===--- across elements ------------------------------------------------===//
  std::vector<Value> reduce(const std::vector<Value> &inputs, int axis,
                            const semantic::CombineFunction &combine) override;
  std::vector<Value> scan(const std::vector<Value> &inputs, int axis, bool reverse,
                          const semantic::CombineFunction &combine) override;

  //===--- code of the user on elements -----------------------------------===//
  std::vector<Value> mapElements(const std::vector<Value> &inputs, int pack,
                                 const semantic::MapFunction &function) override;
  std::vector<Value> inlineAsm(const semantic::InlineAsm &code, const std::vector<Value> &inputs,
                               const std::vector<DType> &results,
                               const std::vector<int64_t> &shape) override;

  //===--- hints, debugging -----------------------------------------------===//
  Value hint(semantic::HintKind kind, const Value &value,
             const std::vector<int64_t> &values) override;
  void assume(const Value &condition) override;
  void barrier() override;
  void print(const std::string &prefix, const std::vector<Value> &values, bool hex) override;
  void deviceAssert(const Value &condition, const std::string &message,
                    const OptionalValue &mask) override;

private:
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return builder.create<Op>(location(), std::forward<Args>(args)...);
  }
  /// Appends an op with one result of the MLIR form of `type`.
  template <typename Op, typename... Args> Value emit(const Type &type, Args &&...args) {
    return wrap(type, make<Op>(mlirType(type), std::forward<Args>(args)...)->getResult(0));
  }
  bool hasSeveralBlocks() const;
  mlir::Value scalarInt(mlir::Type type, int64_t value);
  /// A constant of one scalar or of every element.
  mlir::Value splatConstant(mlir::TypedAttr scalar, const std::vector<int64_t> &shape);
  void fillCombineRegion(mlir::Region &region, const std::vector<Value> &inputs,
                         const semantic::CombineFunction &combine);

  mlir::func::FuncOp kernel;
  bool makesTensorMaps = false;
  mlir::OpBuilder builder;
  LocationSource locationSource;
};

} // namespace tilewright::emit

#endif // TILEWRIGHT_FRONTEND_EMIT_MLIRBUILDER_H
