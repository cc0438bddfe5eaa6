//===- InterpreterElementwiseTest.cpp - Arithmetic, casts, shape ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"
#include "tests/unit/InterpreterTestSupport.h"

#include <cmath>
#include <limits>
#include <random>

using namespace tilewright;
using namespace tilewright::interpreter;

namespace {

using InterpreterElementwise = interpreter::testing::InterpreterTest;
constexpr int32_t intMin = std::numeric_limits<int32_t>::min();
constexpr int32_t intMax = std::numeric_limits<int32_t>::max();

TEST_F(InterpreterElementwise, IntegersWrap) {
  Value a = i32({intMax, intMin, 7, -7}), b = i32({1, -1, -2, 2});
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::Add, a, b)),
            (std::vector<int32_t>{intMin, intMax, 5, -5}));
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::Mul, a, b)),
            (std::vector<int32_t>{intMax, intMin, -14, -14}));
  Value bytes = tile<uint8_t>(ScalarKind::UInt8, {200, 255});
  EXPECT_EQ(elements<uint8_t>(builder.binary(BinaryOp::Add, bytes, bytes)),
            (std::vector<uint8_t>{144, 254}));
  Value shorts = tile<uint16_t>(ScalarKind::UInt16, {65535, 3});
  EXPECT_EQ(elements<uint16_t>(builder.binary(BinaryOp::Mul, shorts, shorts)),
            (std::vector<uint16_t>{1, 9}));
}

TEST_F(InterpreterElementwise, DivisionTruncatesAndNeverTraps) {
  Value a = i32({7, -7, intMin, 5}), b = i32({-2, 2, -1, 0});
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::DivSigned, a, b)),
            (std::vector<int32_t>{-3, -3, intMin, 0}));
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::RemSigned, a, b)),
            (std::vector<int32_t>{1, -1, 0, 5}));
  // The lane is marked, and reported where it is used.
  Value quotient = builder.binary(BinaryOp::DivSigned, a, b);
  EXPECT_EQ(elements<uint32_t>(marksOf(quotient)->origins[Marks::Spoiled]),
            (std::vector<uint32_t>{0, 0, 0, 3})); // the third such operation here
  builder.checks.set(Check::Division, false);
  EXPECT_FALSE(isMarked(builder.binary(BinaryOp::DivSigned, a, b)));
}

TEST_F(InterpreterElementwise, ShiftsClampLikePtx) {
  Value a = i32({-8, -8, 1, 1}), amounts = i32({1, 40, 31, 32});
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::ShiftRightArithmetic, a, amounts)),
            (std::vector<int32_t>{-4, -1, 0, 0}));
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::ShiftRightLogical, a, amounts)),
            (std::vector<int32_t>{0x7ffffffc, 0, 0, 0}));
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::ShiftLeft, a, amounts)),
            (std::vector<int32_t>{-16, 0, intMin, 0}));
  // A negative amount is a large unsigned one.
  EXPECT_EQ(elements<int32_t>(builder.binary(BinaryOp::ShiftRightArithmetic, i32({-8}), i32({-1}))),
            (std::vector<int32_t>{-1}));
}

TEST_F(InterpreterElementwise, BooleansWrap) {
  Value a = mask({0, 0, 1, 1}), b = mask({0, 1, 0, 1});
  EXPECT_EQ(elements<uint8_t>(builder.binary(BinaryOp::Add, a, b)),
            (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(elements<uint8_t>(builder.binary(BinaryOp::Or, a, b)),
            (std::vector<uint8_t>{0, 1, 1, 1}));
}

TEST_F(InterpreterElementwise, MinimumOfNanAndSignedZero) {
  Value a = f32({NAN, 1, -0.0f, 0.0f}), b = f32({2, NAN, 0.0f, -0.0f});
  std::vector<float> number = elements<float>(builder.binary(BinaryOp::MinNumber, a, b));
  EXPECT_EQ(number[0], 2);
  EXPECT_EQ(number[1], 1);
  EXPECT_TRUE(std::signbit(number[2]) && std::signbit(number[3]));
  std::vector<float> largest = elements<float>(builder.binary(BinaryOp::MaxNumber, a, b));
  EXPECT_FALSE(std::signbit(largest[2]) || std::signbit(largest[3]));
  std::vector<float> propagated = elements<float>(builder.binary(BinaryOp::MinPropagateNan, a, b));
  EXPECT_TRUE(std::isnan(propagated[0]) && std::isnan(propagated[1]));
}

TEST_F(InterpreterElementwise, NanIsTheOneOfTheGpu) {
  Value zero = f32({0.0f});
  Value nan = builder.binary(BinaryOp::DivFloat, zero, zero);
  EXPECT_EQ(elements<uint32_t>(nan)[0], 0x7fffffffu);
}

/// a op b in the small type must equal the exact result rounded once.
TEST_F(InterpreterElementwise, SmallFloatsRoundOnce) {
  std::mt19937 random(7);
  for (ScalarKind kind : {ScalarKind::Float16, ScalarKind::BFloat16}) {
    std::vector<uint16_t> a(4096), b(4096);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<uint16_t>(random());
      b[i] = static_cast<uint16_t>(random());
    }
    Value lhs = tile(kind, a), rhs = tile(kind, b);
    for (BinaryOp op : {BinaryOp::Add, BinaryOp::Mul, BinaryOp::DivFloat}) {
      std::vector<uint16_t> actual = elements<uint16_t>(builder.binary(op, lhs, rhs));
      for (size_t i = 0; i < a.size(); ++i) {
        long double x = decodeFloat(kind, a.data(), i), y = decodeFloat(kind, b.data(), i);
        long double exact = op == BinaryOp::Add ? x + y : op == BinaryOp::Mul ? x * y : x / y;
        // 64 bits hold products exactly and are far enough for the others.
        uint16_t expected;
        encodeFloat(kind, static_cast<double>(exact), &expected, 0);
        ASSERT_EQ(actual[i], expected) << static_cast<double>(x) << " " << static_cast<double>(y);
      }
    }
  }
}

TEST_F(InterpreterElementwise, SignOperationsKeepNanBits) {
  Value a = tile<uint16_t>(ScalarKind::Float16, {0x7e01, 0x3c00, 0x8000});
  EXPECT_EQ(elements<uint16_t>(builder.unary(UnaryOp::NegFloat, a)),
            (std::vector<uint16_t>{0xfe01, 0xbc00, 0x0000}));
  Value e4m3 = tile<uint8_t>(ScalarKind::Float8E4M3, {0xb8, 0x38});
  EXPECT_EQ(elements<uint8_t>(builder.unary(UnaryOp::AbsFloat, e4m3)),
            (std::vector<uint8_t>{0x38, 0x38}));
  EXPECT_EQ(elements<int32_t>(builder.unary(UnaryOp::AbsInt, i32({-3, intMin}))),
            (std::vector<int32_t>{3, intMin}));
}

TEST_F(InterpreterElementwise, MathIsRoundedFromDouble) {
  std::vector<float> xs{-3.5f, -0.1f, 0.0f, 0.3f, 1.0f, 11.0f};
  std::vector<float> exp = elements<float>(builder.unary(UnaryOp::Exp, f32(xs)));
  std::vector<float> erf = elements<float>(builder.unary(UnaryOp::Erf, f32(xs)));
  for (size_t i = 0; i < xs.size(); ++i) {
    EXPECT_EQ(exp[i], static_cast<float>(std::exp(static_cast<double>(xs[i]))));
    EXPECT_EQ(erf[i], static_cast<float>(std::erf(static_cast<double>(xs[i]))));
  }
  EXPECT_EQ(elements<float>(builder.unary(UnaryOp::Rsqrt, f32({4.0f, 0.0f})))[1], INFINITY);
}

TEST_F(InterpreterElementwise, ComparisonsWithNan) {
  Value a = f32({NAN, 1.0f}), b = f32({NAN, 1.0f});
  EXPECT_EQ(elements<uint8_t>(builder.compare(ComparePredicate::FloatEqual, a, b)),
            (std::vector<uint8_t>{0, 1}));
  EXPECT_EQ(elements<uint8_t>(builder.compare(ComparePredicate::FloatNotEqual, a, b)),
            (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(elements<uint8_t>(builder.compare(ComparePredicate::LessUnsigned, i32({-1}), i32({1}))),
            (std::vector<uint8_t>{0}));
}

TEST_F(InterpreterElementwise, FloatToIntegerSaturates) {
  Value source = f32({1e20f, -1e20f, NAN, -2.9f, 2147483520.0f, INFINITY});
  EXPECT_EQ(elements<int32_t>(builder.cast(CastOp::FloatToSigned, source, ScalarKind::Int32,
                                           Rounding::NearestEven)),
            (std::vector<int32_t>{intMax, intMin, 0, -2, 2147483520, intMax}));
  EXPECT_EQ(elements<uint8_t>(builder.cast(CastOp::FloatToUnsigned, source, ScalarKind::UInt8,
                                           Rounding::NearestEven)),
            (std::vector<uint8_t>{255, 0, 0, 0, 255, 255}));
  EXPECT_EQ(elements<int64_t>(builder.cast(CastOp::FloatToSigned, source, ScalarKind::Int64,
                                           Rounding::NearestEven))[2],
            std::numeric_limits<int64_t>::min());
}

TEST_F(InterpreterElementwise, IntegerCasts) {
  Value source = tile<int8_t>(ScalarKind::Int8, {-1, 5});
  auto castTo = [&](CastOp op, ScalarKind kind) {
    return builder.cast(op, source, kind, Rounding::NearestEven);
  };
  EXPECT_EQ(elements<int64_t>(castTo(CastOp::SignExtend, ScalarKind::Int64)),
            (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(elements<uint32_t>(castTo(CastOp::ZeroExtend, ScalarKind::UInt32)),
            (std::vector<uint32_t>{255, 5}));
  EXPECT_EQ(elements<float>(castTo(CastOp::SignedToFloat, ScalarKind::Float32)),
            (std::vector<float>{-1, 5}));
  EXPECT_EQ(elements<double>(castTo(CastOp::UnsignedToFloat, ScalarKind::Float64)),
            (std::vector<double>{255, 5}));
  // 2^24 + 1 to bfloat16 and 65519 to float16: one rounding each.
  Value wide = i32({16777217, 65519});
  EXPECT_EQ(elements<uint16_t>(builder.cast(CastOp::SignedToFloat, wide, ScalarKind::Float16,
                                            Rounding::NearestEven)),
            (std::vector<uint16_t>{0x7c00, 0x7bff}));
}

TEST_F(InterpreterElementwise, SelectAndFma) {
  Value a = f32({1, 2}), b = f32({3, 4});
  EXPECT_EQ(elements<float>(builder.select(mask({1, 0}), a, b)), (std::vector<float>{1, 4}));
  float tiny = std::ldexp(1.0f, -23);
  Value x = f32({1 + tiny}), minusOne = f32({-(1 + 2 * tiny)});
  // The unfused product would round tiny * tiny away.
  EXPECT_EQ(elements<float>(builder.fma(x, x, minusOne))[0], std::ldexp(1.0f, -46));
}

TEST_F(InterpreterElementwise, ShapeOperations) {
  Value matrix = i32({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  Value transposed = builder.permute(matrix, {1, 0});
  EXPECT_EQ(transposed.type.shape, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(elements<int32_t>(transposed), (std::vector<int32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  Value column = builder.expandDims(i32({1, 2}), 1);
  EXPECT_EQ(elements<int32_t>(builder.broadcast(column, {2, 4})),
            (std::vector<int32_t>{1, 1, 1, 1, 2, 2, 2, 2}));
  Value row = builder.expandDims(i32({1, 2}), 0);
  EXPECT_EQ(elements<int32_t>(builder.broadcast(row, {4, 2})),
            (std::vector<int32_t>{1, 2, 1, 2, 1, 2, 1, 2}));
  Value joined = builder.join(i32({1, 2}), i32({3, 4}));
  EXPECT_EQ(elements<int32_t>(joined), (std::vector<int32_t>{1, 3, 2, 4}));
  auto [first, second] = builder.split(joined);
  EXPECT_EQ(elements<int32_t>(second), (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(elements<int32_t>(builder.range(3, 7)), (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(elements<int32_t>(builder.concatenate(i32({1}), i32({2}))),
            (std::vector<int32_t>{1, 2}));
}

TEST_F(InterpreterElementwise, PrintsAndAsserts) {
  builder.program.id = {1, 2, 0};
  builder.print(" x:", {f32({1.5f, 2.0f, NAN})}, /*hex=*/false);
  builder.print("", {i32({-1})}, /*hex=*/true);
  builder.print(" two ", {i32({7}), mask({1, 0})}, /*hex=*/false);
  // The form of codegen/lower/LowerDebug.cpp.
  EXPECT_EQ(host.lines, (std::vector<std::string>{
                            "pid (1, 2, 0) idx (0) x:1.500000",
                            "pid (1, 2, 0) idx (1) x:2.000000",
                            "pid (1, 2, 0) idx (2) x:nan",
                            "pid (1, 2, 0) idx (0)0xffffffff",
                            "pid (1, 2, 0) idx (0) two (operand 0) 7",
                            "pid (1, 2, 0) idx (0) two (operand 1) 1",
                            "pid (1, 2, 0) idx (1) two (operand 1) 0",
                        }));
  builder.print(" n: ", {builder.range(0, 16)}, /*hex=*/false);
  EXPECT_EQ(host.lines[7 + 9], "pid (1, 2, 0) idx ( 9) n: 9");
  EXPECT_EQ(formatTile(builder.range(0, 128), false), "[0, 1, 2, 3, ..., 124, 125, 126, 127]");
  std::string error = errorOf([&] { builder.deviceAssert(mask({1, 0}), "x < n", std::nullopt); });
  EXPECT_NE(error.find("[E0403] x < n at kernel.py:7, program (1,2,0)"), std::string::npos)
      << error;
  builder.deviceAssert(mask({1, 0}), "masked", mask({1, 0}));
}

} // namespace
