//===- TileBuilder.h - What an evaluator must be able to do -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the abstract builder that Semantic calls. Semantic has checked and
// promoted everything before a call: operands of an elementwise operation have
// equal types and shapes, masks have the pointer's shape, axes are in range. So
// a builder raises no language errors; each method is one primitive.
//
// Two implementations: frontend/emit makes MLIR, runtime/interpreter computes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_SEMANTIC_TILEBUILDER_H
#define TILEWRIGHT_FRONTEND_SEMANTIC_TILEBUILDER_H

#include "frontend/semantic/Types.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::semantic {

/// Elementwise operations of two operands of one type. Signedness is explicit.
enum class BinaryOp {
  Add,
  Sub,
  Mul, // integers wrap, floats round to nearest even
  DivSigned,
  DivUnsigned, // truncate toward zero
  RemSigned,
  RemUnsigned, // sign of the dividend
  DivFloat,
  RemFloat,        // DivFloat may be approximate (2 ULP) in f32; RemFloat is C fmod
  DivFloatRounded, // correctly rounded, f32
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRightLogical,
  ShiftRightArithmetic,
  MinSigned,
  MaxSigned,
  MinUnsigned,
  MaxUnsigned,
  MinNumber,
  MaxNumber, // the operand that is not NaN
  MinPropagateNan,
  MaxPropagateNan,
  MulHighSigned,
  MulHighUnsigned,
};

enum class UnaryOp {
  NegFloat,
  AbsFloat,
  AbsInt,
  Exp,
  Exp2,
  Log,
  Log2,
  Sin,
  Cos,
  Sqrt,
  SqrtRounded,
  Rsqrt,
  Erf,
  Floor,
  Ceil,
  Trunc,
  /// Halves go away from zero, and to the even number.
  Round,
  RoundEven,
  // From libdevice or a polynomial:
  Tanh,
};

enum class ComparePredicate {
  Equal,
  NotEqual,
  LessSigned,
  LessEqualSigned,
  GreaterSigned,
  GreaterEqualSigned,
  LessUnsigned,
  LessEqualUnsigned,
  GreaterUnsigned,
  GreaterEqualUnsigned,
  // Floats: ordered, except NotEqual which is true with NaN.
  FloatEqual,
  FloatNotEqual,
  FloatLess,
  FloatLessEqual,
  FloatGreater,
  FloatGreaterEqual,
};

enum class CastOp {
  SignExtend,
  ZeroExtend,
  Truncate,
  FloatExtend,
  FloatTruncate, // nearest even, or toward zero
  SignedToFloat,
  UnsignedToFloat,
  FloatToSigned,
  FloatToUnsigned,
  PointerToInt,
  IntToPointer,
  PointerCast,
  Bitcast,
};
enum class Rounding { NearestEven, TowardZero };

enum class CacheModifier { None, CA, CG, CS, CV, WB, WT };
enum class EvictionPolicy { Normal, EvictFirst, EvictLast };
enum class AtomicOp {
  Add,
  FloatAdd,
  And,
  Or,
  Xor,
  MaxSigned,
  MinSigned,
  MaxUnsigned,
  MinUnsigned,
  Exchange,
  /// The operand that is a number, and +0 above -0; of f16 and bf16.
  FloatMax,
  FloatMin,
  /// Nothing is written; the operand does not matter.
  Load,
  /// As Exchange, without the old value.
  Store
};
enum class MemorySemantic { Relaxed, Acquire, Release, AcquireRelease };
enum class MemoryScope { Block, Gpu, System };
/// How the f32 operands of a product are used: rounded to 19 bits, split into
/// several tf32 or bf16 parts, or as they are.
enum class DotPrecision { Tf32, Tf32x3, Ieee, BFloat16x3, BFloat16x6 };
enum class HintKind { Divisibility, Contiguity, Constancy };

struct LoadOptions {
  CacheModifier cache = CacheModifier::None;
  EvictionPolicy eviction = EvictionPolicy::Normal;
  bool isVolatile = false;
};
struct StoreOptions {
  CacheModifier cache = CacheModifier::None;
  EvictionPolicy eviction = EvictionPolicy::Normal;
};

/// Combines two tuples of partial results. The emitter calls it once with
/// scalars, inside the region of the operation; the interpreter calls it with
/// tiles, once per level of a tree.
using CombineFunction =
    std::function<std::vector<Value>(const std::vector<Value> &lhs, const std::vector<Value> &rhs)>;

/// Computes the results of one group of elements: scalars in, scalars out.
using MapFunction = std::function<std::vector<Value>(const std::vector<Value> &elements)>;

/// PTX for groups of `pack` elements, with LLVM's constraints.
struct InlineAsm {
  std::string assembly, constraints;
  int32_t pack = 1;
  bool isPure = false;
};

class TileBuilder {
public:
  virtual ~TileBuilder() = default;

  //===--- constants and indices ------------------------------------------===//
  /// A scalar of integer type `type`; `bits` is its two's complement value.
  virtual Value constantInt(DType type, uint64_t bits) = 0;
  virtual Value constantFloat(DType type, double value) = 0;
  /// A null pointer of pointer type `type`.
  virtual Value constantNull(DType type) = 0;
  virtual Value programId(int axis) = 0;
  virtual Value numPrograms(int axis) = 0;
  /// int32 tile start, start+1, ..., end-1.
  virtual Value range(int32_t start, int32_t end) = 0;

  //===--- shape ----------------------------------------------------------===//
  virtual Value splat(const Value &scalar, const std::vector<int64_t> &shape) = 0;
  /// Stretches dimensions of extent 1; ranks are equal.
  virtual Value broadcast(const Value &tile, const std::vector<int64_t> &shape) = 0;
  virtual Value expandDims(const Value &tile, int axis) = 0;
  virtual Value reshape(const Value &tile, const std::vector<int64_t> &shape, bool mayReorder) = 0;
  virtual Value permute(const Value &tile, const std::vector<int> &order) = 0;
  /// A new last dimension of extent 2.
  virtual Value join(const Value &lhs, const Value &rhs) = 0;
  virtual std::pair<Value, Value> split(const Value &tile) = 0;
  virtual Value concatenate(const Value &lhs, const Value &rhs) = 0;
  /// A one-element tile as a scalar.
  virtual Value extractScalar(const Value &tile) = 0;

  //===--- elementwise ----------------------------------------------------===//
  virtual Value unary(UnaryOp op, const Value &operand) = 0;
  virtual Value binary(BinaryOp op, const Value &lhs, const Value &rhs) = 0;
  virtual Value compare(ComparePredicate predicate, const Value &lhs, const Value &rhs) = 0;
  virtual Value select(const Value &condition, const Value &ifTrue, const Value &ifFalse) = 0;
  /// A function of libdevice on each element; the operands are alike in shape.
  virtual Value externCall(const std::string &symbol, const std::vector<Value> &operands,
                           const DType &result) = 0;
  virtual Value fma(const Value &x, const Value &y, const Value &z) = 0;
  virtual Value cast(CastOp op, const Value &operand, const DType &to, Rounding rounding) = 0;
  /// pointer + offset elements; the offset has the pointer's shape and any
  /// integer width. Unsigned offsets are zero-extended.
  virtual Value addPointer(const Value &pointer, const Value &offset) = 0;

  //===--- matrix products ------------------------------------------------===//
  /// a x b + acc over the last two dimensions, [B,] M x K and [B,] K x N. The
  /// element types are equal or both fp8; `acc` has the result's type. fp8
  /// products join the accumulator in full precision every `maxImprecise`
  /// elements of K, or whenever suits where it is 0.
  virtual Value dot(const Value &a, const Value &b, const Value &acc, DotPrecision precision,
                    int32_t maxImprecise) = 0;

  //===--- memory ---------------------------------------------------------===//
  /// `mask` and `other` may be absent. Lanes with a false mask do not touch
  /// memory and hold `other`, or zero where it is absent.
  virtual Value load(const Value &pointer, const std::optional<Value> &mask,
                     const std::optional<Value> &other, const LoadOptions &options) = 0;
  virtual void store(const Value &pointer, const Value &value, const std::optional<Value> &mask,
                     const StoreOptions &options) = 0;
  virtual Value atomicRmw(AtomicOp op, const Value &pointer, const Value &value,
                          const std::optional<Value> &mask, MemorySemantic semantic,
                          MemoryScope scope) = 0;
  virtual Value atomicCas(const Value &pointer, const Value &compare, const Value &value,
                          MemorySemantic semantic, MemoryScope scope) = 0;

  /// Waits until the scalar in memory is `expected`, at most `timeout` nanoseconds
  /// (int64) where given; whether it is (int1).
  virtual Value atomicPoll(const Value &pointer, const Value &expected,
                           const std::optional<Value> &timeout, MemorySemantic semantic,
                           MemoryScope scope) = 0;

  //===--- blocks through tensor maps: compiled kernels only ----------------===//
  /// Whether TMA may access the block at `coordinates`: not where it is known to fail there.
  virtual bool canLoadByTma(const Value &, const std::vector<Value> &) { return false; }
  /// The same of stores, which moreover have to be known to end with the array: `extent`
  /// is its last one, `strides` are all but the last (int64 scalars).
  virtual bool canStoreByTma(const Value &, const std::vector<Value> &, const Value &,
                             const std::vector<Value> &) {
    return false;
  }
  /// The block at `coordinates` (int32 scalars, one per dimension).
  virtual Value descriptorLoad(const Value &descriptor, const std::vector<Value> &coordinates,
                               const LoadOptions &options);
  /// Writes a block, or combines it with what is there.
  virtual void descriptorStore(const Value &descriptor, const std::vector<Value> &coordinates,
                               const Value &value, std::optional<AtomicOp> reduction);

  /// The tensor map of an array: extents and strides are int64 scalars, and the last
  /// stride is 1. Nothing where the target, the block or what is known of the array's
  /// alignment do not suit, and it is accessed by pointers.
  virtual std::optional<Value> makeDescriptor(const Value &, const std::vector<Value> &,
                                              const std::vector<Value> &,
                                              const std::vector<int64_t> &, bool) {
    return std::nullopt;
  }

  //===--- across elements ------------------------------------------------===//
  /// All inputs have one shape. The results lack `axis`; scalars for rank 1.
  virtual std::vector<Value> reduce(const std::vector<Value> &inputs, int axis,
                                    const CombineFunction &combine) = 0;
  virtual std::vector<Value> scan(const std::vector<Value> &inputs, int axis, bool reverse,
                                  const CombineFunction &combine) = 0;

  /// result[.., i, ..] = source[.., index[.., i, ..], ..] along `axis`, zero where the
  /// index is outside; all are integers. Nothing where the builder cannot, as for tiles
  /// that several blocks share.
  virtual std::optional<Value> gather(const Value &source, const Value &index, int axis) = 0;

  /// int32 result[i], how many elements of the row `source` (int32 or int64), of those
  /// whose mask is true, are i, for i below `bins`. Nothing where the builder cannot, as
  /// for tiles that several blocks share, and elements are compared instead.
  virtual std::optional<Value> histogram(const Value &, const std::optional<Value> &, int64_t) {
    return std::nullopt;
  }

  //===--- code of the user on elements -----------------------------------===//
  /// All inputs are tiles of one shape. `function` gets `pack` elements of the
  /// first input, then of the next, and returns results in the same order. Which
  /// elements form a group is up to the builder.
  virtual std::vector<Value> mapElements(const std::vector<Value> &inputs, int pack,
                                         const MapFunction &function) = 0;
  /// All inputs have `shape`, as have the results; scalars for an empty one.
  virtual std::vector<Value> inlineAsm(const InlineAsm &code, const std::vector<Value> &inputs,
                                       const std::vector<DType> &results,
                                       const std::vector<int64_t> &shape) = 0;

  //===--- hints, debugging -----------------------------------------------===//
  virtual Value hint(HintKind kind, const Value &value, const std::vector<int64_t> &values) = 0;
  virtual void assume(const Value &condition) = 0;
  virtual void barrier() = 0;
  virtual void print(const std::string &prefix, const std::vector<Value> &values, bool hex) = 0;
  virtual void deviceAssert(const Value &condition, const std::string &message,
                            const std::optional<Value> &mask) = 0;
};

} // namespace tilewright::semantic

#endif // TILEWRIGHT_FRONTEND_SEMANTIC_TILEBUILDER_H
