//===- Semantic.h - The meaning of the tile language ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the meaning of each operator and each tl function, once, for the
// compiler and the interpreter: operand classes, promotion, broadcasting,
// result types, errors. It computes nothing itself; it calls a TileBuilder.
//
// How a binary operator is typed: (1) a literal is weak, and takes the other
// operand's type, unless its kind (boolean, integer, float) is above the
// other's; (2) otherwise the promotion table decides; (3) both operands are
// cast and broadcast; (4) the builder gets one primitive.
//
// Reference: the promotion table is that of Triton 3.5 to 3.8.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTIC_H
#define TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTIC_H

#include "frontend/semantic/TileBuilder.h"

#include <tuple>
#include <variant>

namespace tilewright::semantic {

/// A number known at compile time. Integers outside int64 but inside uint64 are
/// kept as bits with `isUnsigned64`.
struct Literal {
  enum class Kind { Bool, Int, Float } kind;
  int64_t intValue = 0;
  bool isUnsigned64 = false;
  double floatValue = 0;

  static Literal boolean(bool value) { return {Kind::Bool, value, false, 0}; }
  static Literal integer(int64_t value) { return {Kind::Int, value, false, 0}; }
  static Literal unsigned64(uint64_t value) {
    return {Kind::Int, static_cast<int64_t>(value), true, 0};
  }
  static Literal floating(double value) { return {Kind::Float, 0, false, value}; }
};

/// The three operand classes: tile and run-time scalar (both Value), literal.
using Operand = std::variant<Value, Literal>;

enum class Arithmetic {
  Add,
  Sub,
  Mul,
  TrueDiv,
  FloorDiv,
  Mod,
  And,
  Or,
  Xor,
  LeftShift,
  RightShift
};
enum class Comparison { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
enum class NanMode { None, All };

class Semantic {
public:
  explicit Semantic(TileBuilder &builder) : builder(builder) {}
  TileBuilder &tileBuilder() { return builder; }
  /// Whether operators of the kernel assert on the device that their integer results fit.
  void setOverflowChecks(bool areOn) { checksOverflow = areOn; }

  //===--- types ----------------------------------------------------------===//
  /// Largest number of elements of a tile (E0107).
  static constexpr int64_t maxTileElements = 1 << 20;
  /// Raises E0106 or E0107 for a shape a tile cannot have.
  static void checkShape(const std::vector<int64_t> &shape);
  /// The type a literal takes when it stands alone.
  static DType literalType(const Literal &literal);
  /// The common scalar type of two operands under the promotion table.
  DType promote(const Operand &lhs, const Operand &rhs, bool isDivisionOrModulo);
  Value toValue(const Operand &operand);
  Value scalarConstant(const Literal &literal, const DType &type);
  Value floatConstant(const DType &type, double value);

  //===--- operators ------------------------------------------------------===//
  /// `mayCheck`: the operation is the kernel's own, and an overflow of it a mistake
  /// that setOverflowChecks is to find.
  Value arithmetic(Arithmetic op, const Operand &lhs, const Operand &rhs, bool mayCheck = false);
  /// Whether a constant shift moves every bit out of its operand: defined here, as for a
  /// run-time amount, but hardly meant.
  bool isWholeShift(Arithmetic op, const Operand &lhs, const Operand &rhs);
  Value compare(Comparison op, const Operand &lhs, const Operand &rhs);
  Value negate(const Value &operand);
  Value invert(const Value &operand);
  Value logicalNot(const Value &operand);
  Value logicalAnd(const Operand &lhs, const Operand &rhs);
  Value logicalOr(const Operand &lhs, const Operand &rhs);

  //===--- creation and shape --------------------------------------------===//
  Value programId(int64_t axis);
  Value numPrograms(int64_t axis);
  Value arange(int64_t start, int64_t end);
  Value full(const std::vector<int64_t> &shape, const Operand &operand, const DType &type);
  /// Stretches both to their common shape.
  std::pair<Value, Value> broadcast(const Value &lhs, const Value &rhs);
  Value broadcastTo(const Value &value, const std::vector<int64_t> &shape);
  Value expandDims(const Value &value, int64_t axis);
  Value reshape(const Value &value, const std::vector<int64_t> &shape, bool mayReorder);
  Value permute(const Value &value, const std::vector<int64_t> &order);
  /// TileBuilder::gather; the caller has seen to shapes and types.
  std::optional<Value> gather(const Value &source, const Value &index, int axis) {
    return builder.gather(source, index, axis);
  }
  /// TileBuilder::histogram; the caller has seen to shapes and types.
  std::optional<Value> histogram(const Value &source, const std::optional<Value> &mask,
                                 int64_t bins) {
    return builder.histogram(source, mask, bins);
  }
  Value join(const Value &lhs, const Value &rhs);
  std::pair<Value, Value> split(const Value &value);
  Value concatenate(const Value &lhs, const Value &rhs);
  Value item(const Value &value);

  //===--- arithmetic helpers --------------------------------------------===//
  Value cast(const Operand &operand, const DType &type,
             std::optional<Rounding> rounding = std::nullopt, bool bitcast = false);
  Value where(const Operand &condition, const Operand &ifTrue, const Operand &ifFalse);
  Value minimum(const Operand &lhs, const Operand &rhs, NanMode mode);
  Value maximum(const Operand &lhs, const Operand &rhs, NanMode mode);
  Value clamp(const Operand &value, const Operand &low, const Operand &high, NanMode mode);
  Value fma(const Operand &x, const Operand &y, const Operand &z);
  Value fdiv(const Operand &lhs, const Operand &rhs, bool ieeeRounding);
  Value divRounded(const Operand &lhs, const Operand &rhs);
  Value sqrtRounded(const Operand &operand);
  Value mulHigh(const Operand &lhs, const Operand &rhs);
  Value abs(const Operand &operand);
  /// exp, exp2, log, log2, sin, cos, sqrt, rsqrt, erf, floor, ceil, tanh: f32
  /// and f64 only. `name` is what messages call it.
  Value math(UnaryOp op, const Operand &operand, const std::string &name);

  //===--- matrix products ------------------------------------------------===//
  struct DotOptions {
    DotPrecision precision = DotPrecision::Tf32;
    /// Elements of K between promotions of an fp8 accumulator; at most K.
    std::optional<int64_t> maxImprecise;
    /// The launch's default of it.
    int64_t defaultImprecise = 0;
    /// The type of the result where the operands leave a choice.
    std::optional<DType> result;
    /// What messages call the GPU.
    std::string target;
    /// Whether it multiplies fp8. Otherwise fp8e5 is widened, as Triton does; of fp8e4nv
    /// users are told.
    bool hasFloat8Products = true;
  };
  Value dot(const Value &a, const Value &b, const std::optional<Value> &acc,
            const DotOptions &options);
  /// The precision that input_precision, else allow_tf32, else the launch's
  /// default asks for; an empty string stands for an absent one.
  static DotPrecision parseDotPrecision(const std::string &inputPrecision,
                                        std::optional<bool> allowTf32,
                                        const std::string &defaultPrecision);

  /// A function of libdevice; operands of its types are broadcast.
  Value externCall(const std::string &symbol, const std::vector<Value> &operands,
                   const DType &result);

  //===--- memory ---------------------------------------------------------===//
  Value load(const Value &pointer, const std::optional<Operand> &mask,
             const std::optional<Operand> &other, const LoadOptions &options);
  void store(const Value &pointer, const Operand &operand, const std::optional<Operand> &mask,
             const StoreOptions &options);
  enum class AtomicName { Add, Max, Min, And, Or, Xor, Exchange };
  /// The tensor map of an array, or nothing (TileBuilder.h).
  std::optional<Value> makeDescriptor(const Value &base, const std::vector<Operand> &shape,
                                      const std::vector<Operand> &strides,
                                      const std::vector<int64_t> &block, bool padsWithNan);
  /// Whether a block goes by TMA, and not by pointers; `offsets` and `strides` as in
  /// TileBuilder.h. For reductions `canReduceByTma` must hold, too.
  bool canLoadByTma(const Value &descriptor, const std::vector<Operand> &offsets);
  bool canStoreByTma(const Value &descriptor, const std::vector<Operand> &offsets,
                     const Operand &extent, const std::vector<Operand> &strides);
  static bool canReduceByTma(AtomicName op, const Value &descriptor);
  /// Blocks through a tensor map; `offsets` are integers, one per dimension.
  Value descriptorLoad(const Value &descriptor, const std::vector<Operand> &offsets,
                       const LoadOptions &options);
  void descriptorStore(const Value &descriptor, const std::vector<Operand> &offsets,
                       const Operand &value);
  /// Combines a block with memory.
  void descriptorReduce(AtomicName op, const Value &descriptor, const std::vector<Operand> &offsets,
                        const Operand &operand);
  Value atomicRmw(AtomicName op, const Value &pointer, const Operand &operand,
                  const std::optional<Operand> &mask, MemorySemantic semantic, MemoryScope scope);
  Value atomicCas(const Value &pointer, const Operand &expected, const Operand &desired,
                  MemorySemantic semantic, MemoryScope scope);
  /// Takes integers and floats of any width; `semantic`: acquire or relaxed.
  Value atomicLoad(const Value &pointer, const std::optional<Operand> &mask,
                   MemorySemantic semantic, MemoryScope scope);
  /// `semantic`: release or relaxed.
  void atomicStore(const Value &pointer, const Operand &operand, const std::optional<Operand> &mask,
                   MemorySemantic semantic, MemoryScope scope);
  /// `semantic`: acquire or relaxed.
  Value atomicPoll(const Value &pointer, const Operand &expected,
                   const std::optional<Operand> &timeout, MemorySemantic semantic,
                   MemoryScope scope);
  static LoadOptions parseLoadOptions(const std::string &cacheModifier,
                                      const std::string &evictionPolicy, bool isVolatile);
  static StoreOptions parseStoreOptions(const std::string &cacheModifier,
                                        const std::string &evictionPolicy);
  static MemorySemantic parseSemantic(const std::string &name);
  static MemoryScope parseScope(const std::string &name);

  //===--- across elements ------------------------------------------------===//
  /// `axis` absent flattens first. With keepDims the axis stays with extent 1.
  std::vector<Value> reduce(std::vector<Value> inputs, std::optional<int64_t> axis,
                            const CombineFunction &combine, bool keepDims);
  std::vector<Value> scan(std::vector<Value> inputs, int64_t axis, bool reverse,
                          const CombineFunction &combine);

  //===--- code of the user on elements -----------------------------------===//
  /// Inputs are broadcast. `function` returns `pack` elements of each result.
  std::vector<Value> mapElements(const std::vector<Value> &inputs, int64_t pack,
                                 const MapFunction &function);
  std::vector<Value> inlineAsm(const std::string &assembly, const std::string &constraints,
                               const std::vector<Value> &inputs, const std::vector<DType> &results,
                               bool isPure, int64_t pack);

  //===--- hints, debugging -----------------------------------------------===//
  Value hint(HintKind kind, const Value &value, const std::vector<int64_t> &values);
  void assume(const Value &condition);
  void barrier();
  void print(const std::string &prefix, const std::vector<Operand> &values, bool hex);
  void deviceAssert(const Operand &condition, const std::string &message,
                    const std::optional<Operand> &mask);

private:
  Value castTo(const Value &value, const DType &type, Rounding rounding = Rounding::NearestEven);
  Value castFloat(const Value &value, const DType &type, Rounding rounding);
  /// Conversions of the software formats from and to f32 (SoftwareFloat8.cpp).
  Value encodeFloat8(const Value &value, const DType &type, Rounding rounding);
  Value decodeFloat8(const Value &value);
  std::pair<Value, Value> unify(const Operand &lhs, const Operand &rhs, bool isDivisionOrModulo);
  /// A scalar in the shape of `shapeOf`, which may be a scalar as well.
  Value splatLike(const Value &scalar, const Value &shapeOf);
  void checkOverflow(Arithmetic op, const Value &lhs, const Value &rhs);
  Value pointerArithmetic(Arithmetic op, const Operand &lhs, const Operand &rhs);
  Value bitwise(Arithmetic op, const Operand &lhs, const Operand &rhs);
  Value wholeShift(const Value &value, const DType &type, bool keepsSign);
  Value selectExtremum(bool isMaximum, const Operand &lhs, const Operand &rhs, NanMode mode);
  /// The operand as int1 for and, or, not: E0116 for other types.
  Value logicalOperand(const Operand &operand, const char *name);
  Value flattenBatches(const Value &value);
  Value binaryThroughFloat32(BinaryOp op, const Value &lhs, const Value &rhs);
  /// All in their common shape.
  std::vector<Value> broadcastAll(std::vector<Value> values);
  Value maskOperand(const Operand &mask, const Value &pointer, const char *name);
  /// The same, one lane per element of the access; nothing where there is no mask.
  std::optional<Value> maskLanes(const std::optional<Operand> &mask, const Value &pointer,
                                 const char *name);
  std::vector<Value> castAll(const std::vector<Operand> &operands, ScalarKind type);
  Value floatExtremumAtomic(bool isMaximum, const Value &pointer, const Value &value,
                            const std::optional<Value> &mask, MemorySemantic semantic,
                            MemoryScope scope);

  TileBuilder &builder;
  bool checksOverflow = false;
};

} // namespace tilewright::semantic

#endif // TILEWRIGHT_FRONTEND_SEMANTIC_SEMANTIC_H
