//===- LaunchArgumentsTest.cpp - Types and packing of launch arguments ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/ArgumentTypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace tilewright::launch;
using tilewright::scalarFacts;
using tilewright::ScalarKind;

namespace {

TEST(LaunchArguments, ElementTypesOfAllFrameworks) {
  struct {
    const char *text;
    const char *name;
  } cases[] = {
      {"torch.float32", "fp32"},
      {"float32", "fp32"},
      {"<f4", "fp32"},
      {"fp32", "fp32"},
      {"torch.bfloat16", "bf16"},
      {"torch.float8_e4m3fn", "fp8e4nv"},
      {"torch.float8_e5m2", "fp8e5"},
      {"float8_e5m2", "fp8e5"},
      {"torch.bool", "i1"},
      {"|b1", "i1"},
      {"|i1", "i8"},
      {"|u1", "u8"},
      {"<i8", "i64"},
      {"<u2", "u16"},
      {"int64", "i64"},
      {"torch.uint8", "u8"},
      {"<f2", "fp16"},
      {"<f8", "fp64"},
  };
  for (auto &c : cases)
    EXPECT_STREQ(scalarFacts(parseElementType(c.text)).name, c.name) << c.text;
  for (const char *text : {"complex64", "<c8", ">f4", "torch.qint8", "", "object", "<U3"})
    EXPECT_EQ(parseElementType(text), ScalarKind::Void) << text;
}

TEST(LaunchArguments, TypeStrings) {
  uint8_t pointer = pointerCode + static_cast<uint8_t>(ScalarKind::Float16);
  EXPECT_EQ(typeString(pointer, false, ""), "*fp16");
  EXPECT_EQ(typeString(pointer | divisibleBy16Flag, true, ""), "*kfp16");
  EXPECT_EQ(typeString(int32Code | divisibleBy16Flag, false, ""), "i32");
  EXPECT_EQ(typeString(uint64Code, false, ""), "u64");
  EXPECT_EQ(typeString(boolCode, false, ""), "i1");
  EXPECT_EQ(typeString(annotatedScalarCode | divisibleBy16Flag, false, "i64"), "i64");
}

TEST(LaunchArguments, Divisibility) {
  const std::pair<int64_t, int> cases[] = {{0, 16}, {16, 16}, {-16, 16}, {8, 8},         {-24, 8},
                                           {4, 1},  {17, 1},  {-1, 1},   {INT64_MIN, 16}};
  for (auto [number, expected] : cases) {
    uint8_t code = int64Code | divisibilityFlag(number);
    EXPECT_EQ(divisibilityOf(code), expected) << number;
    EXPECT_EQ(plainCode(code), int64Code) << number;
  }
}

// Every pointer code stays apart from the flags and from the scalar codes.
TEST(LaunchArguments, CodesDoNotOverlap) {
  for (int type = 0; type <= static_cast<int>(ScalarKind::Float8E5B16); ++type)
    EXPECT_LT(pointerCode + type, divisibleBy8Flag);
  EXPECT_LT(annotatedPointerCode, pointerCode);
  EXPECT_TRUE(isConstCode(intOneCode));
  EXPECT_FALSE(isConstCode(int32Code));
}

uint64_t packedFloat(const char *type, double value) {
  uint64_t bits = 0;
  EXPECT_TRUE(packFloat(type, value, bits));
  return bits;
}

/// The value of a half, by the definition of the format.
double halfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude = exponent == 31 ? (mantissa ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                    : std::ldexp(mantissa, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

TEST(LaunchArguments, HalfRoundTripsEveryValue) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    double value = halfValue(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      continue;
    EXPECT_EQ(packedFloat("fp16", value), bits);
  }
  EXPECT_TRUE(std::isnan(halfValue(static_cast<uint16_t>(packedFloat("fp16", NAN)))));
}

// Between two neighbours the nearer wins, exactly between them the even one.
TEST(LaunchArguments, HalfRoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    double low = halfValue(bits), high = halfValue(bits + 1);
    double middle = (low + high) / 2;
    EXPECT_EQ(packedFloat("fp16", middle), bits & 1 ? bits + 1 : bits);
    EXPECT_EQ(packedFloat("fp16", std::nextafter(middle, 0)), bits);
    EXPECT_EQ(packedFloat("fp16", std::nextafter(middle, 1e9)), bits + 1);
  }
  EXPECT_EQ(packedFloat("fp16", 65519.99), 0x7bffu);
  EXPECT_EQ(packedFloat("fp16", 65520.0), 0x7c00u);
}

TEST(LaunchArguments, BFloat16) {
  EXPECT_EQ(packedFloat("bf16", 1.0), 0x3f80u);
  EXPECT_EQ(packedFloat("bf16", -2.0), 0xc000u);
  EXPECT_EQ(packedFloat("bf16", 1.00390625), 0x3f80u); // tie, to even
  EXPECT_EQ(packedFloat("bf16", 1.01171875), 0x3f82u); // tie, to even
  EXPECT_EQ(packedFloat("bf16", INFINITY), 0x7f80u);
  EXPECT_EQ(packedFloat("bf16", NAN) & 0x7fc0u, 0x7fc0u);
}

TEST(LaunchArguments, FloatsAndWrongTypes) {
  EXPECT_EQ(packedFloat("fp32", 1.5), 0x3fc00000u);
  EXPECT_EQ(packedFloat("fp64", 1.5), 0x3ff8000000000000u);
  uint64_t bits;
  EXPECT_FALSE(packFloat("i32", 1.0, bits));
  EXPECT_FALSE(packFloat("*fp32", 1.0, bits));
}

TEST(LaunchArguments, IntegerRanges) {
  struct {
    const char *type;
    int64_t value;
    bool fits;
  } cases[] = {
      {"i8", 127, true},         {"i8", 128, false},         {"i8", -128, true},
      {"i8", -129, false},       {"u8", 255, true},          {"u8", 256, false},
      {"u8", -1, false},         {"i32", INT32_MIN, true},   {"i32", int64_t(INT32_MIN) - 1, false},
      {"u32", 4294967295, true}, {"u32", 4294967296, false}, {"i64", INT64_MIN, true},
      {"u64", INT64_MAX, true},  {"u64", -1, false},         {"i1", 1, true},
      {"i1", 2, false},          {"fp32", 1, false},
  };
  for (auto &c : cases) {
    uint64_t bits;
    EXPECT_EQ(packInt(c.type, c.value, false, bits), c.fits) << c.type << " " << c.value;
  }
  uint64_t bits;
  EXPECT_TRUE(packInt("u64", -1, /*isUnsigned64=*/true, bits));
  EXPECT_EQ(bits, ~uint64_t(0));
  EXPECT_FALSE(packInt("i64", -1, /*isUnsigned64=*/true, bits));
}

} // namespace
