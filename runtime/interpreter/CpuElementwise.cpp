//===- CpuElementwise.cpp - Elementwise operations of CPU tiles -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: a kernel is a plain function over runs of elements. An operation picks
// one by operation and element type, once; small floats run the f32 kernel on
// widened chunks. The kernels are loops that compilers vectorise, hence
// selections instead of branches where possible.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/ElementKernels.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/MathFunctions.h"
#include "runtime/interpreter/SmallFloat.h"
#include "runtime/interpreter/Vectorize.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tilewright::interpreter {

using BinaryKernel = void (*)(const void *lhs, const void *rhs, void *result, int64_t count);
using UnaryKernel = void (*)(const void *operand, void *result, int64_t count);

template <typename T, typename F>
static TILEWRIGHT_INLINE void mapBinary(const void *lhs, const void *rhs, void *result,
                                        int64_t count, F function) {
  const T *a = static_cast<const T *>(lhs), *b = static_cast<const T *>(rhs);
  T *out = static_cast<T *>(result);
  for (int64_t i = 0; i < count; ++i)
    out[i] = function(a[i], b[i]);
}

/// A captureless lambda over elements as a kernel over runs, for the CPU at hand.
#define TILEWRIGHT_RUN(ATTRIBUTE, T, EXPRESSION)                                                   \
  [](const void *lhs, const void *rhs, void *result, int64_t count) ATTRIBUTE {                    \
    mapBinary<T>(lhs, rhs, result, count,                                                          \
                 [](T a, T b) __attribute__((always_inline)) -> T { return EXPRESSION; });         \
  }
#define TILEWRIGHT_KERNEL(T, EXPRESSION)                                                           \
  return cpuIsWide() ? static_cast<BinaryKernel>(TILEWRIGHT_RUN(TILEWRIGHT_WIDE, T, EXPRESSION))   \
                     : static_cast<BinaryKernel>(TILEWRIGHT_RUN(, T, EXPRESSION))

//===--- integers ---------------------------------------------------------===//

template <typename T> static TILEWRIGHT_INLINE T mulHigh(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (sizeof(T) * 8));
}

/// The quotient of the most negative number by -1 wraps, as on the GPU. Up to
/// 32 bits the truncated f64 quotient is exact, and vectorises.
template <typename T> static TILEWRIGHT_INLINE T divideInteger(T a, T b) {
  using U = std::make_unsigned_t<T>;
  bool isNegation = std::is_signed_v<T> && b == static_cast<T>(-1);
  T divisor = b == 0 || isNegation ? T(1) : b;
  T quotient;
  if constexpr (sizeof(T) <= 4 && std::is_signed_v<T>)
    quotient = static_cast<T>(static_cast<int32_t>(static_cast<double>(a) / divisor));
  else
    quotient = static_cast<T>(a / divisor);
  return b == 0 ? T(0) : isNegation ? static_cast<T>(U(0) - static_cast<U>(a)) : quotient;
}
template <typename T> static TILEWRIGHT_INLINE T remainderInteger(T a, T b) {
  using U = std::make_unsigned_t<T>;
  // With a quotient of 0 for a zero divisor this is the dividend.
  U product = static_cast<U>(static_cast<uint64_t>(static_cast<U>(divideInteger(a, b))) *
                             static_cast<U>(b));
  return static_cast<T>(static_cast<U>(static_cast<U>(a) - product));
}

/// U is the unsigned type of the element's width, S the signed one.
template <typename U> static BinaryKernel integerKernel(BinaryOp op) {
  using S = std::make_signed_t<U>;
  constexpr U bits = sizeof(U) * 8;
  switch (op) {
  // Widths below int promote to int: the cast back wraps.
  case BinaryOp::Add:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a + b));
  case BinaryOp::Sub:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a - b));
  case BinaryOp::Mul:
    TILEWRIGHT_KERNEL(U, static_cast<U>(static_cast<uint64_t>(a) * b));
  case BinaryOp::DivSigned:
    TILEWRIGHT_KERNEL(S, divideInteger<S>(a, b));
  case BinaryOp::DivUnsigned:
    TILEWRIGHT_KERNEL(U, divideInteger<U>(a, b));
  case BinaryOp::RemSigned:
    TILEWRIGHT_KERNEL(S, remainderInteger<S>(a, b));
  case BinaryOp::RemUnsigned:
    TILEWRIGHT_KERNEL(U, remainderInteger<U>(a, b));
  case BinaryOp::And:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a & b));
  case BinaryOp::Or:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a | b));
  case BinaryOp::Xor:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a ^ b));
  // Amounts are unsigned and clamp to the width, as PTX's shl and shr do.
  case BinaryOp::ShiftLeft:
    TILEWRIGHT_KERNEL(U, b < bits ? static_cast<U>(a << (b & (bits - 1))) : U(0));
  case BinaryOp::ShiftRightLogical:
    TILEWRIGHT_KERNEL(U, b < bits ? static_cast<U>(a >> (b & (bits - 1))) : U(0));
  case BinaryOp::ShiftRightArithmetic:
    TILEWRIGHT_KERNEL(S, static_cast<S>(a >> (static_cast<U>(b) < bits ? b : S(bits - 1))));
  case BinaryOp::MinSigned:
    TILEWRIGHT_KERNEL(S, a < b ? a : b);
  case BinaryOp::MaxSigned:
    TILEWRIGHT_KERNEL(S, a > b ? a : b);
  case BinaryOp::MinUnsigned:
    TILEWRIGHT_KERNEL(U, a < b ? a : b);
  case BinaryOp::MaxUnsigned:
    TILEWRIGHT_KERNEL(U, a > b ? a : b);
  case BinaryOp::MulHighSigned:
    TILEWRIGHT_KERNEL(S, mulHigh<S>(a, b));
  case BinaryOp::MulHighUnsigned:
    TILEWRIGHT_KERNEL(U, mulHigh<U>(a, b));
  default:
    return nullptr; // a float operation on integers: Semantic rules it out
  }
}

/// One bit: addition and subtraction wrap to exclusive or.
static BinaryKernel booleanKernel(BinaryOp op) {
  using U = uint8_t;
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
  case BinaryOp::Xor:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a ^ b));
  case BinaryOp::Mul:
  case BinaryOp::And:
  case BinaryOp::MinUnsigned:
  case BinaryOp::MaxSigned: // as a signed bit, true is -1
  case BinaryOp::DivUnsigned:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a & b));
  case BinaryOp::Or:
  case BinaryOp::MaxUnsigned:
  case BinaryOp::MinSigned:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a | b));
  case BinaryOp::RemUnsigned:
  case BinaryOp::ShiftLeft:
  case BinaryOp::ShiftRightLogical:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a & ~b & 1));
  case BinaryOp::ShiftRightArithmetic:
    TILEWRIGHT_KERNEL(U, static_cast<U>(a | (b & 0)));
  default:
    return integerKernel<U>(op);
  }
}

//===--- floats -----------------------------------------------------------===//

/// The GPU's f32 arithmetic has one NaN. f64 keeps what the CPU gives.
static TILEWRIGHT_INLINE float canonical(float value) {
  return value == value ? value : bitCast<float>(0x7fffffffu);
}
static TILEWRIGHT_INLINE double canonical(double value) { return value; }

template <typename T> using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

/// Minimum that orders -0 below +0: equal numbers differ in the sign bit only,
/// so or-ing their bits takes the negative one.
template <typename T> static TILEWRIGHT_INLINE T orderedMin(T a, T b) {
  T equal = bitCast<T>(bitCast<BitsOf<T>>(a) | bitCast<BitsOf<T>>(b));
  return a < b ? a : (b < a ? b : equal);
}
template <typename T> static TILEWRIGHT_INLINE T orderedMax(T a, T b) {
  T equal = bitCast<T>(bitCast<BitsOf<T>>(a) & bitCast<BitsOf<T>>(b));
  return a > b ? a : (b > a ? b : equal);
}

template <typename T> static BinaryKernel floatKernel(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    TILEWRIGHT_KERNEL(T, canonical(a + b));
  case BinaryOp::Sub:
    TILEWRIGHT_KERNEL(T, canonical(a - b));
  case BinaryOp::Mul:
    TILEWRIGHT_KERNEL(T, canonical(a * b));
  case BinaryOp::DivFloat:
  case BinaryOp::DivFloatRounded:
    TILEWRIGHT_KERNEL(T, canonical(a / b));
  case BinaryOp::RemFloat:
    TILEWRIGHT_KERNEL(T, canonical(std::fmod(a, b)));
  case BinaryOp::MinNumber:
    TILEWRIGHT_KERNEL(T, canonical(a != a ? b : (b != b ? a : orderedMin(a, b))));
  case BinaryOp::MaxNumber:
    TILEWRIGHT_KERNEL(T, canonical(a != a ? b : (b != b ? a : orderedMax(a, b))));
  case BinaryOp::MinPropagateNan:
    TILEWRIGHT_KERNEL(T, canonical(a != a ? a : (b != b ? b : orderedMin(a, b))));
  case BinaryOp::MaxPropagateNan:
    TILEWRIGHT_KERNEL(T, canonical(a != a ? a : (b != b ? b : orderedMax(a, b))));
  default:
    return nullptr;
  }
}
#undef TILEWRIGHT_KERNEL
#undef TILEWRIGHT_RUN

static BinaryKernel kernelFor(BinaryOp op, ScalarKind kind) {
  if (kind == ScalarKind::Int1)
    return booleanKernel(op);
  if (kind == ScalarKind::Float64)
    return floatKernel<double>(op);
  if (isFloatKind(kind))
    return floatKernel<float>(op);
  switch (elementSize(kind)) {
  case 1:
    return integerKernel<uint8_t>(op);
  case 2:
    return integerKernel<uint16_t>(op);
  case 4:
    return integerKernel<uint32_t>(op);
  default:
    return integerKernel<uint64_t>(op);
  }
}

static void binarySmallFloat(BinaryKernel kernel, ScalarKind kind, const void *lhs, const void *rhs,
                             void *result, int64_t count) {
  float a[chunkSize], b[chunkSize], c[chunkSize];
  for (int64_t start = 0; start < count; start += chunkSize) {
    int64_t n = std::min(chunkSize, count - start);
    decodeFloats(kind, lhs, start, n, a);
    decodeFloats(kind, rhs, start, n, b);
    kernel(a, b, c, n);
    encodeFloats(kind, c, result, start, n);
  }
}

void computeBinary(BinaryOp op, ScalarKind kind, const void *lhs, const void *rhs, void *result,
                   int64_t count) {
  BinaryKernel kernel = kernelFor(op, kind);
  if (isSmallFloat(kind))
    binarySmallFloat(kernel, kind, lhs, rhs, result, count);
  else
    kernel(lhs, rhs, result, count);
}

Value CpuTileBuilder::binary(BinaryOp op, const Value &lhs, const Value &rhs) {
  ScalarKind kind = lhs.type.scalar.kind();
  if (!kernelFor(op, kind))
    throwNoKernel("binary", lhs);
  NewTile result{lhs.type};
  computeBinary(op, kind, tileOf(lhs).as<void>(), tileOf(rhs).as<void>(), result.tile().as<void>(),
                result.count);
  marker.afterBinary(op, lhs, rhs, result.value);
  return noted(CombineTape::Primitive::Binary, op, {&lhs, &rhs}, std::move(result.value));
}

Value CpuTileBuilder::addPointer(const Value &pointer, const Value &offset) {
  valueWasRead(); // addresses are not recorded
  NewTile result{pointer.type};
  uint64_t size = elementSize(pointer.type.scalar.pointee().kind());
  const uint64_t *bases = elementsOf<uint64_t>(pointer);
  uint64_t *addresses = result.elements<uint64_t>();
  auto add = [&](auto zero) {
    using Offset = decltype(zero);
    const Offset *offsets = elementsOf<Offset>(offset);
    for (int64_t i = 0; i < result.count; ++i)
      addresses[i] = bases[i] + static_cast<uint64_t>(static_cast<int64_t>(offsets[i])) * size;
  };
  switch (offset.type.scalar.kind()) {
  case ScalarKind::Int8:
    add(int8_t());
    break;
  case ScalarKind::Int16:
    add(int16_t());
    break;
  case ScalarKind::Int32:
    add(int32_t());
    break;
  case ScalarKind::Int1:
  case ScalarKind::UInt8:
    add(uint8_t());
    break;
  case ScalarKind::UInt16:
    add(uint16_t());
    break;
  case ScalarKind::UInt32:
    add(uint32_t());
    break;
  default:
    add(int64_t());
    break;
  }
  result.tile().allocation = tileOf(pointer).allocation;
  marker.afterAddPointer(pointer, offset, result.value);
  return std::move(result.value);
}

//===--- unary ------------------------------------------------------------===//

template <typename T, typename F>
static TILEWRIGHT_INLINE void mapUnary(const void *operand, void *result, int64_t count,
                                       F function) {
  const T *in = static_cast<const T *>(operand);
  T *out = static_cast<T *>(result);
  for (int64_t i = 0; i < count; ++i)
    out[i] = function(in[i]);
}
#define TILEWRIGHT_RUN(ATTRIBUTE, T, EXPRESSION)                                                   \
  [](const void *operand, void *result, int64_t count) ATTRIBUTE {                                 \
    mapUnary<T>(operand, result, count,                                                            \
                [](T x) __attribute__((always_inline)) -> T { return EXPRESSION; });               \
  }
#define TILEWRIGHT_KERNEL(T, EXPRESSION)                                                           \
  return cpuIsWide() ? static_cast<UnaryKernel>(TILEWRIGHT_RUN(TILEWRIGHT_WIDE, T, EXPRESSION))    \
                     : static_cast<UnaryKernel>(TILEWRIGHT_RUN(, T, EXPRESSION))

/// f32 functions are computed in f64 and rounded: within 0.5000001 ULP, which
/// is the reference that the GPU's approximations are measured against.
template <typename T> static UnaryKernel mathKernel(UnaryOp op) {
  switch (op) {
  case UnaryOp::Exp:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(expOf(x))));
  case UnaryOp::Exp2:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(exp2Of(x))));
  case UnaryOp::Log:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(logOf(x))));
  case UnaryOp::Log2:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(log2Of(x))));
  case UnaryOp::Sin:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(std::sin(double(x)))));
  case UnaryOp::Cos:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(std::cos(double(x)))));
  case UnaryOp::Erf:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(std::erf(double(x)))));
  case UnaryOp::Tanh:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(std::tanh(double(x)))));
  case UnaryOp::Sqrt:
  case UnaryOp::SqrtRounded:
    TILEWRIGHT_KERNEL(T, canonical(std::sqrt(x)));
  case UnaryOp::Rsqrt:
    TILEWRIGHT_KERNEL(T, canonical(static_cast<T>(1.0 / std::sqrt(double(x)))));
  case UnaryOp::Floor:
    TILEWRIGHT_KERNEL(T, canonical(std::floor(x)));
  case UnaryOp::Ceil:
    TILEWRIGHT_KERNEL(T, canonical(std::ceil(x)));
  case UnaryOp::Trunc:
    TILEWRIGHT_KERNEL(T, canonical(std::trunc(x)));
  case UnaryOp::Round:
    TILEWRIGHT_KERNEL(T, canonical(std::round(x)));
  case UnaryOp::RoundEven:
    TILEWRIGHT_KERNEL(T, canonical(std::nearbyint(x)));
  default:
    return nullptr;
  }
}

/// Sign operations work on the bits, so that they are exact on every format.
template <typename U> static UnaryKernel signKernel(UnaryOp op) {
  constexpr U sign = static_cast<U>(U(1) << (sizeof(U) * 8 - 1));
  switch (op) {
  case UnaryOp::NegFloat:
    TILEWRIGHT_KERNEL(U, static_cast<U>(x ^ sign));
  case UnaryOp::AbsFloat:
    TILEWRIGHT_KERNEL(U, static_cast<U>(x & ~sign));
  case UnaryOp::AbsInt:
    TILEWRIGHT_KERNEL(U, static_cast<U>(x & sign ? 0 - x : x));
  default:
    return nullptr;
  }
}
#undef TILEWRIGHT_KERNEL
#undef TILEWRIGHT_RUN

static UnaryKernel signKernelFor(UnaryOp op, ScalarKind kind) {
  switch (elementSize(kind)) {
  case 1:
    return signKernel<uint8_t>(op);
  case 2:
    return signKernel<uint16_t>(op);
  case 4:
    return signKernel<uint32_t>(op);
  default:
    return signKernel<uint64_t>(op);
  }
}

Value CpuTileBuilder::unary(UnaryOp op, const Value &operand) {
  ScalarKind kind = operand.type.scalar.kind();
  NewTile result{operand.type};
  const void *source = tileOf(operand).as<void>();
  if (UnaryKernel kernel = signKernelFor(op, kind)) {
    kernel(source, result.tile().as<void>(), result.count);
    marker.afterUnary(op, operand, result.value);
    return noted(CombineTape::Primitive::Unary, op, {&operand}, std::move(result.value));
  }
  UnaryKernel kernel = kind == ScalarKind::Float64 ? mathKernel<double>(op) : mathKernel<float>(op);
  if (!kernel || !isFloatKind(kind))
    throwNoKernel("unary", operand);
  if (!isSmallFloat(kind)) {
    kernel(source, result.tile().as<void>(), result.count);
    marker.afterUnary(op, operand, result.value);
    return noted(CombineTape::Primitive::Unary, op, {&operand}, std::move(result.value));
  }
  float in[chunkSize], out[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    decodeFloats(kind, source, start, n, in);
    kernel(in, out, n);
    encodeFloats(kind, out, result.tile().as<void>(), start, n);
  }
  marker.afterUnary(op, operand, result.value);
  return noted(CombineTape::Primitive::Unary, op, {&operand}, std::move(result.value));
}

//===--- fma ---------------------------------------------------------------===//

/// Integers have no fused form; the wrapped sum is exact anyway.
Value CpuTileBuilder::fma(const Value &x, const Value &y, const Value &z) {
  ScalarKind kind = x.type.scalar.kind();
  if (!isFloatKind(kind))
    return binary(BinaryOp::Add, binary(BinaryOp::Mul, x, y), z);
  NewTile result{x.type};
  if (kind == ScalarKind::Float64) {
    const double *a = elementsOf<double>(x), *b = elementsOf<double>(y), *c = elementsOf<double>(z);
    for (int64_t i = 0; i < result.count; ++i)
      result.elements<double>()[i] = std::fma(a[i], b[i], c[i]);
    marker.afterFma(x, y, z, result.value);
    return noted(CombineTape::Primitive::Fma, 0, {&x, &y, &z}, std::move(result.value));
  }
  if (kind == ScalarKind::Float32) {
    const float *a = elementsOf<float>(x), *b = elementsOf<float>(y), *c = elementsOf<float>(z);
    for (int64_t i = 0; i < result.count; ++i)
      result.elements<float>()[i] = canonical(std::fma(a[i], b[i], c[i]));
    marker.afterFma(x, y, z, result.value);
    return noted(CombineTape::Primitive::Fma, 0, {&x, &y, &z}, std::move(result.value));
  }
  float a[chunkSize], b[chunkSize], c[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    decodeFloats(kind, tileOf(x).as<void>(), start, n, a);
    decodeFloats(kind, tileOf(y).as<void>(), start, n, b);
    decodeFloats(kind, tileOf(z).as<void>(), start, n, c);
    for (int64_t i = 0; i < n; ++i)
      a[i] = roundToOddFloat(fmaRoundToOdd(a[i], b[i], c[i]));
    encodeFloats(kind, a, result.tile().as<void>(), start, n);
  }
  marker.afterFma(x, y, z, result.value);
  return noted(CombineTape::Primitive::Fma, 0, {&x, &y, &z}, std::move(result.value));
}

} // namespace tilewright::interpreter
