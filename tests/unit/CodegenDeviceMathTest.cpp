//===- CodegenDeviceMathTest.cpp - Accuracy of the device library ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: runs DeviceMath.c on the host. Where it uses an approximate instruction
// of the GPU the host's is correctly rounded, so the bounds here are tighter
// than those in the file; all else is the same arithmetic.
//
//===----------------------------------------------------------------------===//

#if defined(__clang__)

// The library is C for the device; here it becomes static functions.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wreserved-identifier"
#pragma STDC FP_CONTRACT OFF
// NOLINTNEXTLINE(bugprone-suspicious-include): the header of a library in C would be the library.
#include "codegen/emit/device/DeviceMath.c"
#pragma clang diagnostic pop

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace {

/// Error in units in the last place of the exact value; zeros have a sign.
double ulpError(float got, double exact) {
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::isinf(static_cast<float>(exact)) || exact == 0)
    return bitsOf(got) == bitsOf(static_cast<float>(exact)) ? 0 : HUGE_VAL;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

/// The largest error over every `step`-th float and zero of both signs.
template <typename Function>
double worstError(Function function, double (*exact)(double), uint64_t step = 4099) {
  double worst =
      std::max(ulpError(function(0.0f), exact(0.0)), ulpError(function(-0.0f), exact(-0.0)));
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += step) {
    float x = floatOf(static_cast<u32>(bits));
    worst = std::max(worst, ulpError(function(x), exact(x)));
  }
  return worst;
}

/// The value of an fp8 code, by the definition of the format.
double fp8Value(unsigned code, int mantissaBits, int bias) {
  int mantissa = code & ((1 << mantissaBits) - 1);
  int exponent = (code & 0x7f) >> mantissaBits;
  double value = exponent
                     ? std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits)
                     : std::ldexp(mantissa, 1 - bias - mantissaBits);
  return code & 0x80 ? -value : value;
}

/// The code whose value is nearest to x, the even one of two; saturating.
unsigned nearestFp8(float x, int mantissaBits, int bias, unsigned largest, bool towardZero) {
  if (std::isnan(x))
    return 0x7f;
  unsigned sign = std::signbit(x) ? 0x80 : 0, best = 0;
  double magnitude = std::fabs(static_cast<double>(x));
  for (unsigned code = 1; code <= largest; ++code) {
    double value = fp8Value(code, mantissaBits, bias),
           below = fp8Value(code - 1, mantissaBits, bias);
    double middle = (value + below) / 2;
    bool takes = towardZero ? magnitude >= value
                            : magnitude > middle || (magnitude == middle && code % 2 == 0);
    if (takes)
      best = code;
  }
  return best | sign;
}

/// Floats around every fp8 value and every midpoint, and random ones.
template <typename Check> void forInterestingFloats(int mantissaBits, int bias, Check check) {
  for (unsigned code = 0; code < 256; ++code)
    for (double factor : {1.0, 0.5, 1.5, 1.25, 2.0})
      for (int step = -2; step <= 2; ++step)
        check(floatOf(bitsOf(static_cast<float>(fp8Value(code, mantissaBits, bias) * factor)) +
                      step));
  // Midpoints of neighbours.
  for (unsigned code = 0; code < 0x7f; ++code)
    for (int step = -1; step <= 1; ++step) {
      double middle =
          (fp8Value(code, mantissaBits, bias) + fp8Value(code + 1, mantissaBits, bias)) / 2;
      check(floatOf(bitsOf(static_cast<float>(middle)) + step));
    }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round)
    check(floatOf(random()));
  for (float special : {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-45f, 3.4e38f})
    check(special);
}

TEST(CodegenDeviceMath, LogIsWithinOneUlp) { EXPECT_LT(worstError(__tw_logf, std::log), 1.0); }
TEST(CodegenDeviceMath, Log2IsWithinTwoUlp) { EXPECT_LT(worstError(__tw_log2f, std::log2), 1.5); }
TEST(CodegenDeviceMath, Log2OfPowersOfTwoIsExact) {
  for (int power = -149; power < 128; ++power)
    EXPECT_EQ(__tw_log2f(std::ldexp(1.0f, power)), power);
}
TEST(CodegenDeviceMath, TanhIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_tanhf, std::tanh), 2.0); }
TEST(CodegenDeviceMath, ErfIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_erff, std::erf), 2.0); }
// Arguments of any size: also those that need Payne and Hanek's reduction.
TEST(CodegenDeviceMath, SineIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_sinf, std::sin), 2.0); }
TEST(CodegenDeviceMath, CosineIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_cosf, std::cos), 2.0); }

TEST(CodegenDeviceMath, TangentIsWithinFourUlp) { EXPECT_LT(worstError(__tw_tanf, std::tan), 3.5); }
TEST(CodegenDeviceMath, Log10IsWithinTwoUlp) {
  EXPECT_LT(worstError(__tw_log10f, std::log10), 2.0);
}
TEST(CodegenDeviceMath, Log1pIsWithinTwoUlp) {
  EXPECT_LT(worstError(__tw_log1pf, std::log1p), 1.5);
}
TEST(CodegenDeviceMath, Expm1IsWithinTwoUlp) {
  EXPECT_LT(worstError(__tw_expm1f, std::expm1), 1.5);
}
TEST(CodegenDeviceMath, Exp10IsWithinTwoUlp) {
  EXPECT_LT(worstError(__tw_exp10f, [](double x) { return std::pow(10.0, x); }), 2.0);
}
TEST(CodegenDeviceMath, SinhIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_sinhf, std::sinh), 2.0); }
TEST(CodegenDeviceMath, CoshIsWithinTwoUlp) { EXPECT_LT(worstError(__tw_coshf, std::cosh), 2.0); }
TEST(CodegenDeviceMath, SignsOfZeroAreKept) {
  for (float (*function)(float) : {__tw_log1pf, __tw_expm1f, __tw_sinhf, __tw_tanf})
    EXPECT_TRUE(std::signbit(function(-0.0f)) && !std::signbit(function(0.0f)));
}

TEST(CodegenDeviceMath, PowerIsWithinTwoUlp) {
  std::mt19937 random(5);
  double worst = 0;
  auto check = [&](float x, float y) {
    double error = ulpError(__tw_powf(x, y), std::pow(double(x), double(y)));
    ASSERT_LT(error, 2.5) << x << " ^ " << y << " is " << std::pow(double(x), double(y)) << ", got "
                          << __tw_powf(x, y);
    worst = std::max(worst, error);
  };
  std::uniform_real_distribution<float> logarithm(-126, 127), result(-151, 129);
  for (int round = 0; round < 1000000; ++round) {
    // Anything, results of any size, and bases near 1.
    check(floatOf(random()), floatOf(random()));
    float x = std::exp2(logarithm(random));
    check(x, result(random) / std::log2(x));
    x = 1.0f + std::ldexp(logarithm(random), -8 - static_cast<int>(random() % 20));
    check(x, result(random) / std::log2(x));
  }
  const float values[] = {0.0f,      -0.0f, 1.0f,  -1.0f, 2.0f,    -2.0f,         0.5f,      -0.5f,
                          3.0f,      -3.0f, 1e30f, 1e10f, 1e-45f,  -1e-45f,       16777217., 2.5f,
                          HUGE_VALF, 3e38f, -3e38, -7.5f, 8388607, std::nanf(""), -HUGE_VALF};
  for (float x : values)
    for (float y : values) {
      check(x, y);
      double exact = std::pow(double(x), double(y));
      EXPECT_TRUE(std::isnan(exact) || std::signbit(exact) == std::signbit(__tw_powf(x, y)))
          << x << " ^ " << y;
    }
  EXPECT_GT(worst, 0.5);
}

TEST(CodegenDeviceMath, RemainderIsExact) {
  std::mt19937 random(3);
  for (int round = 0; round < 400000; ++round) {
    u32 a = random(), b = random();
    if (round % 3 == 1) // near in size
      b = (a & 0x7f800000) ^ (b & 0x81ffffff);
    if (round % 5 == 2) // subnormal divisor
      b &= 0x807fffff;
    float x = floatOf(a), y = floatOf(b), got = __tw_fmodf(x, y), want = std::fmod(x, y);
    ASSERT_TRUE((std::isnan(got) && std::isnan(want)) || bitsOf(got) == bitsOf(want))
        << x << " mod " << y << " is " << want << ", got " << got;
  }
}

TEST(CodegenDeviceMath, Fp8RoundsToNearestEvenAndSaturates) {
  forInterestingFloats(3, 7, [](float x) {
    ASSERT_EQ(__tw_float_to_e4m3(x), nearestFp8(x, 3, 7, 0x7e, false)) << std::hexfloat << x;
    ASSERT_EQ(__tw_float_to_e4m3_rz(x), nearestFp8(x, 3, 7, 0x7e, true)) << std::hexfloat << x;
  });
  forInterestingFloats(2, 15, [](float x) {
    ASSERT_EQ(__tw_float_to_e5m2(x), nearestFp8(x, 2, 15, 0x7b, false)) << std::hexfloat << x;
    ASSERT_EQ(__tw_float_to_e5m2_rz(x), nearestFp8(x, 2, 15, 0x7b, true)) << std::hexfloat << x;
  });
}

TEST(CodegenDeviceMath, E4M3WidensExactly) {
  for (unsigned code = 0; code < 256; ++code) {
    float value = static_cast<float>(__tw_e4m3_to_half(static_cast<u16>(code)));
    if ((code & 0x7f) == 0x7f)
      EXPECT_TRUE(std::isnan(value)) << code;
    else
      EXPECT_EQ(value, fp8Value(code, 3, 7)) << code;
  }
}

} // namespace

#endif // __clang__
