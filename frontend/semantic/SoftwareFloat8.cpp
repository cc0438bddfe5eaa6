//===- SoftwareFloat8.cpp - 8-bit floats that no unit knows ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: conversions between f32 and fp8e4b15, fp8e4b8, fp8e5b16. Their values are
// opaque bytes to both evaluators, so what they mean stands here alone, in integer
// operations.
//
// How: (1) The mantissa is rounded in the integer representation of the f32: adding
// half a unit carries into the exponent where it must. (2) Results below the
// smallest normal are rounded by adding a power of two whose last bit is the
// format's smallest step. (3) A value that is too large, infinity included, becomes
// the largest number.
//
// The formats: fp8e4b15 has a sign of zero and NaN in 0x7f and 0xff; fp8e4b8 and
// fp8e5b16 have one zero, and NaN in the code of the other.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <cmath>
#include <limits>

namespace tilewright::semantic {

namespace {

struct Format {
  int mantissaBits, bias;
  int64_t largest; // code of the largest number
  bool hasOneZero; // and NaN where the negative zero would be

  int shift() const { return 23 - mantissaBits; }
  /// The bits of the smallest normal number as an f32.
  int64_t smallestNormal() const { return int64_t(128 - bias) << 23; }
};

Format formatOf(const DType &type) {
  switch (type.kind()) {
  case ScalarKind::Float8E4B8:
    return {3, 8, 0x7f, true};
  case ScalarKind::Float8E5B16:
    return {2, 16, 0x7f, true};
  default:
    return {3, 15, 0x7e, false};
  }
}

/// 32-bit words, as operands and as the bits of f32.
struct Words {
  Semantic &semantic;

  Value apply(Arithmetic op, const Value &word, int64_t number) {
    return semantic.arithmetic(op, word, Literal::integer(number));
  }
  Value test(Comparison op, const Value &word, int64_t number) {
    return semantic.compare(op, word, Literal::integer(number));
  }
  Value add(const Value &lhs, const Value &rhs) {
    return semantic.arithmetic(Arithmetic::Add, lhs, rhs);
  }
  Value bits(const Value &value, ScalarKind kind) {
    return semantic.cast(value, kind, std::nullopt, /*bitcast=*/true);
  }
};

/// The code of a magnitude below the smallest normal number.
Value subnormalCode(Words words, const Value &magnitude, const Format &format, Rounding rounding) {
  // The others would overflow below, and are replaced afterwards.
  Value isSmall = words.test(Comparison::Less, magnitude, format.smallestNormal());
  Value small = words.semantic.where(isSmall, magnitude, Literal::integer(0));
  Value number = words.bits(small, ScalarKind::Float32);
  if (rounding == Rounding::TowardZero) {
    double units = std::ldexp(1.0, format.bias - 1 + format.mantissaBits);
    Value scaled = words.semantic.arithmetic(Arithmetic::Mul, number, Literal::floating(units));
    return words.semantic.cast(scaled, ScalarKind::UInt32);
  }
  int exponent = 24 - format.bias - format.mantissaBits;
  Value sum = words.semantic.arithmetic(Arithmetic::Add, number,
                                        Literal::floating(std::ldexp(1.0, exponent)));
  return words.apply(Arithmetic::Sub, words.bits(sum, ScalarKind::UInt32),
                     int64_t(127 + exponent) << 23);
}

} // namespace

Value Semantic::encodeFloat8(const Value &value, const DType &type, Rounding rounding) {
  Words words{*this};
  Format format = formatOf(type);
  Value bits = words.bits(value, ScalarKind::UInt32);
  Value magnitude = words.apply(Arithmetic::And, bits, 0x7fffffff);
  Value rounded = magnitude;
  if (rounding == Rounding::NearestEven) {
    Value isOdd = words.apply(Arithmetic::And,
                              words.apply(Arithmetic::RightShift, magnitude, format.shift()), 1);
    rounded = words.apply(Arithmetic::Add, words.add(magnitude, isOdd),
                          (int64_t(1) << (format.shift() - 1)) - 1);
  }
  Value normal =
      words.apply(Arithmetic::Sub, words.apply(Arithmetic::RightShift, rounded, format.shift()),
                  int64_t(127 - format.bias) << format.mantissaBits);
  Value isSmall = words.test(Comparison::Less, magnitude, format.smallestNormal());
  Value code = where(isSmall, subnormalCode(words, magnitude, format, rounding), normal);
  code = minimum(code, Literal::integer(format.largest), NanMode::None);
  Value sign = words.apply(Arithmetic::And, words.apply(Arithmetic::RightShift, bits, 24), 0x80);
  Value withSign = arithmetic(Arithmetic::Or, code, sign);
  if (format.hasOneZero)
    withSign = where(words.test(Comparison::Equal, code, 0), code, withSign);
  Value isNan = words.test(Comparison::Greater, magnitude, 0x7f800000);
  code = where(isNan, Literal::integer(format.hasOneZero ? 0x80 : 0x7f), withSign);
  return cast(cast(code, ScalarKind::UInt8), type, std::nullopt, /*bitcast=*/true);
}

Value Semantic::decodeFloat8(const Value &value) {
  Words words{*this};
  Format format = formatOf(value.type.scalar);
  Value bits = cast(words.bits(value, ScalarKind::UInt8), ScalarKind::UInt32);
  Value magnitude = words.apply(Arithmetic::And, bits, 0x7f);
  Value normal =
      words.apply(Arithmetic::Add, words.apply(Arithmetic::LeftShift, magnitude, format.shift()),
                  int64_t(127 - format.bias) << 23);
  double step = std::ldexp(1.0, 1 - format.bias - format.mantissaBits);
  Value subnormal =
      arithmetic(Arithmetic::Mul, cast(magnitude, float32Type), Literal::floating(step));
  Value isSmall = words.test(Comparison::Less, magnitude, int64_t(1) << format.mantissaBits);
  Value number = where(isSmall, words.bits(subnormal, ScalarKind::UInt32), normal);
  Value sign = words.apply(Arithmetic::LeftShift, words.apply(Arithmetic::And, bits, 0x80), 24);
  number = words.bits(arithmetic(Arithmetic::Or, number, sign), ScalarKind::Float32);
  Value isNan = format.hasOneZero ? words.test(Comparison::Equal, bits, 0x80)
                                  : words.test(Comparison::Equal, magnitude, 0x7f);
  return where(isNan, Literal::floating(std::numeric_limits<double>::quiet_NaN()), number);
}

} // namespace tilewright::semantic
