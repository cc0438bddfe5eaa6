//===- InterpreterSmallFloatTest.cpp - Conversions of small floats --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the reference knows only the values of all codes, from the definition of
// the format, and searches the nearest one. Inputs are every code's value, every
// midpoint between neighbours, and the floats just beside both.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/SmallFloat.h"

#include <algorithm>
#include <cfloat>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace tilewright::interpreter;

namespace {

/// The value of a finite code by the definition, in f64.
template <typename Format> double definition(uint32_t code) {
  uint32_t magnitude = code & (Format::signBit - 1);
  int exponent = static_cast<int>(magnitude >> Format::mantissaBits);
  double mantissa = magnitude & ((1u << Format::mantissaBits) - 1);
  double unit = std::ldexp(1.0, -Format::mantissaBits);
  double value = exponent ? std::ldexp(1 + mantissa * unit, exponent - Format::bias)
                          : std::ldexp(mantissa * unit, 1 - Format::bias);
  return code & Format::signBit ? -value : value;
}

template <typename Format> class SmallFloat : public ::testing::Test {
public:
  static std::vector<double> finiteValues() {
    std::vector<double> values;
    for (uint32_t code = 0; code <= Format::maxFinite; ++code)
      values.push_back(definition<Format>(code));
    return values;
  }

  /// Rounds a non-negative finite number by searching all codes.
  static uint32_t reference(double value, bool towardZero) {
    static const std::vector<double> values = finiteValues();
    size_t above = std::upper_bound(values.begin(), values.end(), value) - values.begin();
    uint32_t below = static_cast<uint32_t>(above - 1);
    if (below == Format::maxFinite) {
      if (Format::overflow == Overflow::Saturate || towardZero)
        return Format::maxFinite;
      // The code after the largest finite one would be this value.
      double next = 2 * values[below] - values[below - 1];
      return value >= (values[below] + next) / 2 ? Format::maxFinite + 1 : Format::maxFinite;
    }
    double middle = (values[below] + values[above]) / 2;
    if (towardZero || value < middle)
      return below;
    if (value > middle)
      return below + 1;
    return below % 2 ? below + 1 : below;
  }

  static std::vector<float> interestingInputs() {
    std::vector<float> inputs{0.0f, FLT_MIN, FLT_TRUE_MIN, FLT_MAX};
    std::vector<double> values = finiteValues();
    for (size_t i = 0; i + 1 < values.size(); ++i)
      for (double value : {values[i], (values[i] + values[i + 1]) / 2}) {
        float near = static_cast<float>(value);
        inputs.insert(inputs.end(),
                      {near, std::nextafterf(near, 0), std::nextafterf(near, FLT_MAX)});
      }
    double top = values.back() + (values.back() - values[values.size() - 2]) / 2;
    for (float factor : {0.999f, 1.0f, 1.001f, 2.0f, 1e6f})
      inputs.push_back(static_cast<float>(top) * factor);
    std::mt19937 random(1);
    for (int i = 0; i < 200000; ++i)
      inputs.push_back(std::fabs(bitCast<float>(static_cast<uint32_t>(random()))));
    inputs.erase(
        std::remove_if(inputs.begin(), inputs.end(), [](float x) { return !std::isfinite(x); }),
        inputs.end());
    return inputs;
  }
};

using Formats = ::testing::Types<Half, Brain, E4M3, E5M2>;
TYPED_TEST_SUITE(SmallFloat, Formats, );

template <typename Format> float decode(uint32_t code) {
  if (Format::signBit > 0x80)
    return decodeFloat16<Format>(code);
  return decodeFloat8<Format>(code);
}

TYPED_TEST(SmallFloat, DecodesEveryCode) {
  for (uint32_t code = 0; code <= TypeParam::maxFinite; ++code) {
    ASSERT_EQ(decode<TypeParam>(code), definition<TypeParam>(code)) << code;
    uint32_t negative = code | TypeParam::signBit;
    ASSERT_EQ(decode<TypeParam>(negative), definition<TypeParam>(negative)) << code;
    ASSERT_EQ(encodeFloat<TypeParam>(decode<TypeParam>(negative)), negative);
  }
  EXPECT_TRUE(std::isnan(decode<TypeParam>(TypeParam::nan)));
}

TYPED_TEST(SmallFloat, RoundsToNearestEven) {
  for (float input : this->interestingInputs()) {
    uint32_t expected = this->reference(input, /*towardZero=*/false);
    ASSERT_EQ(encodeFloat<TypeParam>(input), expected) << input;
    ASSERT_EQ(encodeFloat<TypeParam>(-input), expected | TypeParam::signBit) << input;
  }
}

TYPED_TEST(SmallFloat, RoundsTowardZero) {
  for (float input : this->interestingInputs()) {
    uint32_t expected = this->reference(input, /*towardZero=*/true);
    ASSERT_EQ((encodeFloat<TypeParam, true>(input)), expected) << input;
  }
}

TYPED_TEST(SmallFloat, SpecialValues) {
  EXPECT_EQ(encodeFloat<TypeParam>(NAN), TypeParam::nan);
  EXPECT_EQ(encodeFloat<TypeParam>(-NAN), TypeParam::nan);
  uint32_t infinity =
      TypeParam::overflow == Overflow::Saturate ? TypeParam::maxFinite : TypeParam::maxFinite + 1;
  EXPECT_EQ(encodeFloat<TypeParam>(INFINITY), infinity);
  EXPECT_EQ(encodeFloat<TypeParam>(-INFINITY), infinity | TypeParam::signBit);
  EXPECT_EQ(encodeFloat<TypeParam>(-0.0f), TypeParam::signBit);
}

TYPED_TEST(SmallFloat, RoundsOnceFromDouble) {
  std::vector<double> values = this->finiteValues();
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    double middle = (values[i] + values[i + 1]) / 2;
    // Beside a midpoint by less than an f32 can tell.
    for (double value : {std::nextafter(middle, 0), middle, std::nextafter(middle, 1e300)})
      ASSERT_EQ(encodeFloat<TypeParam>(roundToOddFloat(value)), this->reference(value, false));
  }
}

TEST(SmallFloatHelpers, RoundToOddDoubleKeepsStickyBits) {
  EXPECT_EQ(roundToOddDouble(int64_t(5)), 5.0);
  EXPECT_EQ(roundToOddDouble(int64_t(-5)), -5.0);
  EXPECT_EQ(roundToOddDouble(INT64_MIN), -9223372036854775808.0);
  // 2^60 + 1 lies just above a power of two and must stay above it.
  EXPECT_GT(roundToOddDouble((uint64_t(1) << 60) + 1), std::ldexp(1.0, 60));
  EXPECT_LT(roundToOddDouble(~uint64_t(0)), std::ldexp(1.0, 64));
}

TEST(SmallFloatHelpers, FmaRoundsOnceInHalf) {
  // 2048 + 1 + 2^-24 is just above a midpoint of float16: two roundings would
  // give 2048.
  double sum = fmaRoundToOdd(std::ldexp(1.0, -12), std::ldexp(1.0, -12), 2049.0);
  EXPECT_EQ(encodeFloat<Half>(roundToOddFloat(sum)), encodeFloat<Half>(2050.0f));
  double below = fmaRoundToOdd(-std::ldexp(1.0, -24), std::ldexp(1.0, -24), 2049.0);
  EXPECT_EQ(encodeFloat<Half>(roundToOddFloat(below)), encodeFloat<Half>(2048.0f));
}

} // namespace
