//===- SmallFloat.h - 8- and 16-bit floats as the GPU rounds them -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: conversions between float32/float64 and float16, bfloat16, float8e4nv
// and float8e5, bit for bit as the GPU's cvt instructions do them: subnormals
// kept, NaN canonical, fp8 saturating.
//
// How: one encoder for all formats. (1) The mantissa is rounded in the integer
// representation of the f32: adding half a unit carries into the exponent where
// it must. (2) Results below the smallest normal are rounded by adding a power
// of two whose last bit is the format's smallest step. (3) Overflow, infinity
// and NaN are selected last. No branch depends on data, so loops vectorise.
// Sources wider than f32 are first rounded to odd, which keeps the second
// rounding exact (Boldo and Melquiond).
//
// Not handled: the 8-bit formats of software, frontend/semantic/SoftwareFloat8.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_SMALLFLOAT_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_SMALLFLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilewright::interpreter {

template <typename To, typename From> inline __attribute__((always_inline)) To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bitCast needs equal sizes");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// What a format does with magnitudes above its largest finite value.
enum class Overflow { ToInfinity, Saturate };

template <int ExponentBits, int MantissaBits, int Bias, Overflow OverflowRule,
          uint32_t MaxFiniteCode, uint32_t NanCode>
struct FloatFormat {
  static constexpr int exponentBits = ExponentBits;
  static constexpr int mantissaBits = MantissaBits;
  static constexpr int bias = Bias;
  static constexpr Overflow overflow = OverflowRule;
  static constexpr uint32_t maxFinite = MaxFiniteCode;
  static constexpr uint32_t nan = NanCode;
  static constexpr uint32_t signBit = 1u << (ExponentBits + MantissaBits);
};

using Half = FloatFormat<5, 10, 15, Overflow::ToInfinity, 0x7bff, 0x7fff>;
using Brain = FloatFormat<8, 7, 127, Overflow::ToInfinity, 0x7f7f, 0x7fff>;
using E4M3 = FloatFormat<4, 3, 7, Overflow::Saturate, 0x7e, 0x7f>;
using E5M2 = FloatFormat<5, 2, 15, Overflow::Saturate, 0x7b, 0x7f>;

/// The code of `value` in `Format`, rounded to nearest even, or toward zero.
template <typename Format, bool TowardZero = false>
inline __attribute__((always_inline)) uint32_t encodeFloat(float value) {
  constexpr int shift = 23 - Format::mantissaBits;
  constexpr bool sameExponent = Format::bias == 127;
  // Smallest normal number of the format, as f32 bits; 2^(1 - bias).
  constexpr uint32_t smallestNormal = static_cast<uint32_t>(128 - Format::bias) << 23;
  // Its last bit has the weight of the format's smallest subnormal.
  constexpr uint32_t magicBits =
      static_cast<uint32_t>(128 - Format::bias + 23 - Format::mantissaBits) << 23;

  uint32_t bits = bitCast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t sign = (bits >> 31) * Format::signBit;

  uint32_t roundUp = TowardZero ? 0 : (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
  uint32_t code = ((magnitude + roundUp) >> shift) -
                  (static_cast<uint32_t>(127 - Format::bias) << Format::mantissaBits);
  if (!sameExponent) {
    uint32_t tiny;
    if (TowardZero) {
      // Exact scaling to units of the smallest subnormal, then truncation.
      constexpr uint32_t scaleBits =
          static_cast<uint32_t>(127 + Format::bias - 1 + Format::mantissaBits) << 23;
      float units =
          bitCast<float>(magnitude < smallestNormal ? magnitude : 0) * bitCast<float>(scaleBits);
      tiny = static_cast<uint32_t>(static_cast<int32_t>(units));
    } else {
      float sum =
          bitCast<float>(magnitude < smallestNormal ? magnitude : 0) + bitCast<float>(magicBits);
      tiny = bitCast<uint32_t>(sum) - magicBits;
    }
    code = magnitude < smallestNormal ? tiny : code;
  }
  // Wrapped differences (tiny values) were replaced above, so a large code
  // here is an overflow.
  if (Format::overflow == Overflow::Saturate) {
    code = code > Format::maxFinite ? Format::maxFinite : code;
  } else {
    uint32_t limit = TowardZero ? Format::maxFinite : Format::maxFinite + 1;
    code = code > limit ? limit : code;
    code = magnitude == 0x7f800000u ? Format::maxFinite + 1 : code;
  }
  // The GPU's NaN is positive and has all mantissa bits set.
  return magnitude > 0x7f800000u ? Format::nan : (code | sign);
}

/// The exact value of a code of a 16-bit format.
template <typename Format>
inline __attribute__((always_inline)) float decodeFloat16(uint32_t code) {
  if (Format::bias == 127)
    return bitCast<float>(code << 16);
  uint32_t sign = (code & Format::signBit) << 16;
  uint32_t magnitude = (code & (Format::signBit - 1)) << (23 - Format::mantissaBits);
  // Multiplying by 2^(127 - bias) rebiases normals and normalises subnormals.
  float scaled =
      bitCast<float>(magnitude) * bitCast<float>(static_cast<uint32_t>(254 - Format::bias) << 23);
  uint32_t special = 0x7f800000u & (0u - static_cast<uint32_t>((code & 0x7c00u) == 0x7c00u));
  return bitCast<float>(bitCast<uint32_t>(scaled) | special | sign);
}

/// The exact value of a code of an 8-bit format. Slow; tables are made of it.
template <typename Format> inline float decodeFloat8(uint32_t code) {
  uint32_t magnitude = code & (Format::signBit - 1);
  uint32_t exponent = magnitude >> Format::mantissaBits;
  uint32_t mantissa = magnitude & ((1u << Format::mantissaBits) - 1);
  float sign = code & Format::signBit ? -1.0f : 1.0f;
  bool hasInfinity = Format::exponentBits == 5;
  if (hasInfinity && exponent == 31)
    return mantissa ? std::nanf("") : sign * INFINITY;
  if (!hasInfinity && magnitude == Format::nan)
    return std::nanf("");
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - Format::bias - Format::mantissaBits);
  float significand = static_cast<float>((1u << Format::mantissaBits) | mantissa);
  return sign *
         std::ldexp(significand, static_cast<int>(exponent) - Format::bias - Format::mantissaBits);
}

/// `value` as f32, rounded to odd: truncated, and the last bit set if anything
/// was cut off. Rounding the result once more to fewer than 22 bits equals
/// rounding `value` directly.
inline float roundToOddFloat(double value) {
  float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !(value == value))
    return nearest;
  uint32_t bits = bitCast<uint32_t>(nearest);
  // Step back to the neighbour toward zero, then make the last bit odd.
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    bits -= 1; // also turns an overflow to infinity into the largest finite
  return bitCast<float>(bits | 1u);
}

/// `value` as f32, rounded toward zero.
inline float roundToZeroFloat(double value) {
  float nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    nearest = bitCast<float>(bitCast<uint32_t>(nearest) - 1);
  return nearest;
}

/// An integer as f64, rounded to odd where it has more than 53 bits.
inline double roundToOddDouble(uint64_t magnitude) {
  constexpr uint64_t lost = (1u << 11) - 1;
  if (magnitude >> 53 && (magnitude & lost))
    magnitude = (magnitude & ~lost) | (lost + 1);
  return static_cast<double>(magnitude);
}
inline double roundToOddDouble(int64_t value) {
  double magnitude =
      roundToOddDouble(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  return value < 0 ? -magnitude : magnitude;
}

/// a * b + c of numbers with at most 24 mantissa bits, as f64 rounded to odd.
inline double fmaRoundToOdd(double a, double b, double c) {
  double product = a * b; // exact: 24 + 24 bits
  double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  // Knuth's two-sum: `error` is exactly what the addition lost.
  double part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  if (error == 0)
    return sum;
  uint64_t bits = bitCast<uint64_t>(sum);
  if (!(bits & 1))
    bits += (error > 0) == (sum > 0) ? 1 : -1; // toward the true value: odd
  return bitCast<double>(bits);
}

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_SMALLFLOAT_H
