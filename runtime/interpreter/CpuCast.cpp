//===- CpuCast.cpp - Casts of CPU tiles -----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: a cast is one of four families (integer, integer to float, float to
// integer, float to float). Floats below 32 bits go through f32 chunks; where the
// GPU rounds a wider source once, it is rounded to odd first.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace tilewright::interpreter {

/// Calls `function` with a zero of the integer type of that size and sign.
template <typename F> static void dispatchInteger(int sizeInBytes, bool isSigned, F function) {
  switch (sizeInBytes * 2 + isSigned) {
  case 2:
    return function(uint8_t());
  case 3:
    return function(int8_t());
  case 4:
    return function(uint16_t());
  case 5:
    return function(int16_t());
  case 8:
    return function(uint32_t());
  case 9:
    return function(int32_t());
  case 16:
    return function(uint64_t());
  default:
    return function(int64_t());
  }
}

//===--- integer to integer -----------------------------------------------===//

static void integerToInteger(const Value &source, bool isSigned, NewTile &result) {
  int fromSize = elementSize(source.type.scalar.kind());
  ScalarKind to = result.value.type.scalar.kind();
  dispatchInteger(fromSize, isSigned, [&](auto fromZero) {
    using From = decltype(fromZero);
    const From *from = elementsOf<From>(source);
    dispatchWord(elementSize(to), [&](auto toZero) {
      using To = decltype(toZero);
      To *elements = result.elements<To>();
      for (int64_t i = 0; i < result.count; ++i)
        elements[i] = static_cast<To>(from[i]);
    });
  });
  if (to == ScalarKind::Int1) {
    uint8_t *bits = result.elements<uint8_t>();
    for (int64_t i = 0; i < result.count; ++i)
      bits[i] &= 1;
  }
}

//===--- integer to float -------------------------------------------------===//

static void encodeChunk(ScalarKind to, const float *chunk, void *result, int64_t start, int64_t n,
                        Rounding rounding) {
  if (rounding == Rounding::TowardZero)
    encodeFloatsTowardZero(to, chunk, result, start, n);
  else
    encodeFloats(to, chunk, result, start, n);
}

template <typename From>
static void integerToSmallFloat(const From *from, ScalarKind to, NewTile &result) {
  using Wide = std::conditional_t<std::is_signed_v<From>, int64_t, uint64_t>;
  float chunk[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    // The GPU has an instruction for float16; the other types go through f32.
    if (to == ScalarKind::Float16)
      for (int64_t i = 0; i < n; ++i)
        chunk[i] = roundToOddFloat(roundToOddDouble(static_cast<Wide>(from[start + i])));
    else
      for (int64_t i = 0; i < n; ++i)
        chunk[i] = static_cast<float>(from[start + i]);
    encodeFloats(to, chunk, result.tile().as<void>(), start, n);
  }
}

static void integerToFloat(const Value &source, bool isSigned, NewTile &result) {
  ScalarKind to = result.value.type.scalar.kind();
  int fromSize = elementSize(source.type.scalar.kind());
  dispatchInteger(fromSize, isSigned, [&](auto zero) {
    using From = decltype(zero);
    const From *from = elementsOf<From>(source);
    if (to == ScalarKind::Float64) {
      for (int64_t i = 0; i < result.count; ++i)
        result.elements<double>()[i] = static_cast<double>(from[i]);
    } else if (to == ScalarKind::Float32) {
      for (int64_t i = 0; i < result.count; ++i)
        result.elements<float>()[i] = static_cast<float>(from[i]);
    } else {
      integerToSmallFloat(from, to, result);
    }
  });
}

//===--- float to integer -------------------------------------------------===//

/// As PTX's cvt.rzi: truncates and saturates. NaN is 0, except that 64 bits on
/// either side give the pattern with only the top bit set.
template <typename To, typename From> static To truncateSaturated(From value) {
  using Limits = std::numeric_limits<To>;
  constexpr int bits = sizeof(To) * 8;
  // 2^(bits - 1) or 2^bits: the first value above the range, exact in From.
  const From above = std::ldexp(From(1), std::is_signed_v<To> ? bits - 1 : bits);
  if (value >= above)
    return Limits::max();
  if (std::is_signed_v<To> ? value < -above : value <= From(-1))
    return Limits::min();
  if (!(value == value)) {
    bool wide = sizeof(To) == 8 || sizeof(From) == 8;
    return wide ? static_cast<To>(std::make_unsigned_t<To>(1) << (bits - 1)) : To(0);
  }
  return static_cast<To>(value);
}

/// 8 bits are the low half of 16, which is what the compiled code converts to.
template <typename To, typename From> static To convertedInteger(From value) {
  if constexpr (sizeof(To) == 1)
    return static_cast<To>(
        truncateSaturated<std::conditional_t<std::is_signed_v<To>, int16_t, uint16_t>>(value));
  else
    return truncateSaturated<To>(value);
}

static void floatToInteger(const Value &source, bool isSigned, NewTile &result) {
  ScalarKind from = source.type.scalar.kind(), to = result.value.type.scalar.kind();
  const void *elements = tileOf(source).as<void>();
  dispatchInteger(elementSize(to), isSigned, [&](auto zero) {
    using To = decltype(zero);
    To *integers = result.elements<To>();
    if (from == ScalarKind::Float64) {
      for (int64_t i = 0; i < result.count; ++i)
        integers[i] = convertedInteger<To>(elementsOf<double>(source)[i]);
      return;
    }
    float chunk[chunkSize];
    for (int64_t start = 0; start < result.count; start += chunkSize) {
      int64_t n = std::min(chunkSize, result.count - start);
      decodeFloats(from, elements, start, n, chunk);
      for (int64_t i = 0; i < n; ++i)
        integers[start + i] = convertedInteger<To>(chunk[i]);
    }
  });
  if (to == ScalarKind::Int1) {
    uint8_t *bits = result.elements<uint8_t>();
    for (int64_t i = 0; i < result.count; ++i)
      bits[i] = bits[i] != 0;
  }
}

//===--- float to float ---------------------------------------------------===//

static void doubleToFloat(const double *from, NewTile &result, Rounding rounding) {
  ScalarKind to = result.value.type.scalar.kind();
  float chunk[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    // 16-bit results round once, 8-bit ones go through f32, as on the GPU.
    if (to == ScalarKind::Float16 || to == ScalarKind::BFloat16)
      for (int64_t i = 0; i < n; ++i)
        chunk[i] = roundToOddFloat(from[start + i]);
    else if (rounding == Rounding::TowardZero)
      for (int64_t i = 0; i < n; ++i)
        chunk[i] = roundToZeroFloat(from[start + i]);
    else
      for (int64_t i = 0; i < n; ++i)
        chunk[i] = static_cast<float>(from[start + i]);
    encodeChunk(to, chunk, result.tile().as<void>(), start, n, rounding);
  }
}

static void floatToFloat(const Value &source, NewTile &result, Rounding rounding) {
  ScalarKind from = source.type.scalar.kind(), to = result.value.type.scalar.kind();
  const void *elements = tileOf(source).as<void>();
  if (from == ScalarKind::Float64)
    return doubleToFloat(elementsOf<double>(source), result, rounding);
  float chunk[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    decodeFloats(from, elements, start, n, chunk);
    if (to == ScalarKind::Float64)
      std::copy_n(chunk, n, result.elements<double>() + start);
    else
      encodeChunk(to, chunk, result.tile().as<void>(), start, n, rounding);
  }
}

Value CpuTileBuilder::cast(CastOp op, const Value &operand, const DType &to, Rounding rounding) {
  switch (op) {
  case CastOp::PointerToInt:
  case CastOp::IntToPointer:
  case CastOp::PointerCast:
  case CastOp::Bitcast:
    // Same bits, same width. A pointer that went through an integer unchanged
    // keeps its array this way; one computed as an integer is looked up.
    return shareAs(operand, operand.type.withScalar(to));
  default:
    break;
  }
  NewTile result{operand.type.withScalar(to)};
  switch (op) {
  case CastOp::SignExtend:
    integerToInteger(operand, true, result);
    break;
  case CastOp::ZeroExtend:
  case CastOp::Truncate:
    integerToInteger(operand, false, result);
    break;
  case CastOp::SignedToFloat:
    integerToFloat(operand, true, result);
    break;
  case CastOp::UnsignedToFloat:
    integerToFloat(operand, false, result);
    break;
  case CastOp::FloatToSigned:
    floatToInteger(operand, true, result);
    break;
  case CastOp::FloatToUnsigned:
    floatToInteger(operand, false, result);
    break;
  default:
    floatToFloat(operand, result, rounding);
    break;
  }
  marker.afterCast(op, operand, result.value);
  return noted(CombineTape::Primitive::Cast, op, {&operand}, std::move(result.value), rounding);
}

} // namespace tilewright::interpreter
