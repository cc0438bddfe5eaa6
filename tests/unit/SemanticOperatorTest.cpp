//===- SemanticOperatorTest.cpp - Operators and elementwise functions ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

class OperatorTest : public SemanticTest {
protected:
  std::string apply(Arithmetic op, const Operand &lhs, const Operand &rhs) {
    return text(semantic.arithmetic(op, lhs, rhs));
  }
  std::string refuse(Arithmetic op, const Operand &lhs, const Operand &rhs) {
    return errorOf([&] { semantic.arithmetic(op, lhs, rhs); });
  }
  Value i32 = tile("i", "i32"), u32 = tile("u", "u32"), i64 = tile("l", "i64"),
        f16 = tile("h", "fp16"), bf16 = tile("b", "bf16"), f32 = tile("f", "fp32"),
        e5 = tile("e", "fp8e5"), flag = tile("q", "i1"), pointer = tile("p", "*fp32");
};

TEST_F(OperatorTest, SignednessPicksThePrimitive) {
  EXPECT_EQ(apply(Arithmetic::FloorDiv, i32, i32), "DivSigned(i, i)");
  EXPECT_EQ(apply(Arithmetic::FloorDiv, u32, Literal::integer(3)), "DivUnsigned(u, 3:u32)");
  EXPECT_EQ(apply(Arithmetic::Mod, i32, i32), "RemSigned(i, i)");
  EXPECT_EQ(apply(Arithmetic::Mod, u32, u32), "RemUnsigned(u, u)");
  EXPECT_EQ(apply(Arithmetic::RightShift, i32, Literal::integer(3)),
            "ShiftRightArithmetic(i, 3:i32)");
  EXPECT_EQ(apply(Arithmetic::RightShift, u32, Literal::integer(3)), "ShiftRightLogical(u, 3:u32)");
  // The left operand decides, although the common type is unsigned.
  EXPECT_EQ(apply(Arithmetic::RightShift, i32, u32), "ShiftRightArithmetic(Bitcast<u32>(i), u)");
}

TEST_F(OperatorTest, DivisionLeavesSmallTypes) {
  EXPECT_EQ(apply(Arithmetic::TrueDiv, i64, i64),
            "DivFloat(SignedToFloat<fp32>(l), SignedToFloat<fp32>(l))");
  EXPECT_EQ(apply(Arithmetic::TrueDiv, bf16, Literal::floating(2)),
            "DivFloat(FloatExtend<fp32>(b), 2:fp32)");
  EXPECT_EQ(apply(Arithmetic::Mod, f16, f16),
            "RemFloat(FloatExtend<fp32>(h), FloatExtend<fp32>(h))");
  EXPECT_EQ(refuse(Arithmetic::FloorDiv, f32, i32),
            "E0116 unexpected type: '//' needs integers, got fp32 and i32");
  EXPECT_EQ(refuse(Arithmetic::TrueDiv, i32, u32),
            "E0116 Cannot use i32 and u32 in a division because they have different signedness");
}

TEST_F(OperatorTest, Float8ArithmeticGoesThroughFloat32) {
  EXPECT_EQ(apply(Arithmetic::Add, e5, e5),
            "FloatTruncate<fp8e5>(Add(FloatExtend<fp32>(e), FloatExtend<fp32>(e)))");
  EXPECT_EQ(refuse(Arithmetic::Add, e5, i32), "E0116 cannot combine fp8e5 with i32");
}

TEST_F(OperatorTest, ScalarsAreSplatAndTilesStretched) {
  Value row = tile("r", "fp32", {1, 8}), column = tile("c", "fp32", {4, 1});
  EXPECT_EQ(apply(Arithmetic::Mul, row, f32), "Mul(r, Splat(f))");
  EXPECT_EQ(apply(Arithmetic::Add, row, column), "Add(Broadcast[4, 8](r), Broadcast[4, 8](c))");
  EXPECT_EQ(apply(Arithmetic::Add, tile("v", "fp32", {8}), column),
            "Add(Broadcast[4, 8](Expand0(v)), Broadcast[4, 8](c))");
  EXPECT_EQ(refuse(Arithmetic::Add, tile("a", "fp32", {4}), tile("b", "fp32", {8})),
            "E0110 cannot broadcast [4] with [8]");
  EXPECT_EQ(refuse(Arithmetic::Add, tile("a", "fp32", {2048, 1}), tile("b", "fp32", {1, 1024})),
            "E0107 tile has 2097152 elements; the limit is 1048576");
}

TEST_F(OperatorTest, Pointers) {
  EXPECT_EQ(apply(Arithmetic::Add, pointer, tile("o", "i32", {8})), "AddPointer(Splat(p), o)");
  EXPECT_EQ(apply(Arithmetic::Add, Literal::integer(4), pointer), "AddPointer(p, 4:i32)");
  EXPECT_EQ(apply(Arithmetic::Sub, pointer, i32), "AddPointer(p, Sub(0:i32, i))");
  // Negating an unsigned offset at its width would wrap.
  EXPECT_EQ(apply(Arithmetic::Sub, pointer, u32), "AddPointer(p, Sub(0:i64, ZeroExtend<i64>(u)))");
  EXPECT_EQ(refuse(Arithmetic::Add, pointer, pointer), "E0116 cannot apply '+' to *fp32 and *fp32");
  EXPECT_EQ(refuse(Arithmetic::Sub, i32, pointer), "E0116 cannot apply '-' to i32 and *fp32");
  EXPECT_EQ(refuse(Arithmetic::Add, pointer, f32), "E0116 cannot apply '+' to *fp32 and fp32");
  EXPECT_EQ(refuse(Arithmetic::Mul, pointer, i32), "E0116 cannot apply '*' to *fp32 and i32");
}

TEST_F(OperatorTest, BitwiseTakesIntegersOnly) {
  EXPECT_EQ(apply(Arithmetic::And, flag, flag), "And(q, q)");
  EXPECT_EQ(refuse(Arithmetic::Xor, f32, i32),
            "E0116 invalid operands of type fp32 and i32: '^' needs integers");
  EXPECT_EQ(apply(Arithmetic::LeftShift, i32, Literal::integer(31)), "ShiftLeft(i, 31:i32)");
  EXPECT_EQ(apply(Arithmetic::LeftShift, i32, Literal::integer(32)), "0:i32");
  EXPECT_EQ(apply(Arithmetic::RightShift, i32, Literal::integer(-1)),
            "ShiftRightArithmetic(i, 31:i32)");
  EXPECT_EQ(apply(Arithmetic::RightShift, u32, Literal::integer(40)), "0:u32");
  // A literal gives a boolean its type, and so its width.
  EXPECT_EQ(apply(Arithmetic::LeftShift, flag, Literal::integer(3)),
            "ShiftLeft(ZeroExtend<i32>(q), 3:i32)");
}

TEST_F(OperatorTest, ComparisonLiteralsAreNotWeak) {
  auto compare = [&](Comparison op, const Operand &lhs, const Operand &rhs) {
    return text(semantic.compare(op, lhs, rhs));
  };
  EXPECT_EQ(compare(Comparison::Greater, f16, Literal::floating(0.5)),
            "FloatGreater(FloatExtend<fp32>(h), 0.5:fp32)");
  EXPECT_EQ(compare(Comparison::Greater, u32, Literal::integer(-1)),
            "GreaterUnsigned(u, 4294967295:u32)");
  EXPECT_EQ(compare(Comparison::Less, i32, i32), "LessSigned(i, i)");
  EXPECT_EQ(compare(Comparison::LessEqual, flag, Literal::boolean(true)),
            "LessEqualUnsigned(q, 1:i1)");
  EXPECT_EQ(compare(Comparison::NotEqual, f32, f32), "FloatNotEqual(f, f)");
  EXPECT_EQ(compare(Comparison::Equal, tile("u", "u8", {4}), Literal::integer(300)),
            "Equal(ZeroExtend<i32>(u), Splat(300:i32))");
  EXPECT_EQ(errorOf([&] { semantic.compare(Comparison::Equal, pointer, Literal::integer(0)); }),
            "E0116 cannot compare *fp32 with the literal 0");
}

TEST_F(OperatorTest, UnaryOperators) {
  EXPECT_EQ(text(semantic.negate(f32)), "NegFloat(f)");
  EXPECT_EQ(text(semantic.negate(u32)), "Sub(0:u32, u)");
  EXPECT_EQ(text(semantic.invert(tile("s", "i8", {4}))), "Xor(s, Splat(-1:i8))");
  EXPECT_EQ(text(semantic.invert(flag)), "Xor(q, 1:i1)");
  EXPECT_EQ(errorOf([&] { semantic.invert(f32); }),
            "E0116 wrong type argument to unary invert: '~' needs an integer, got fp32");
  EXPECT_EQ(errorOf([&] { semantic.negate(pointer); }), "E0116 cannot negate *fp32");
}

TEST_F(OperatorTest, LogicalOperatorsWantBooleans) {
  EXPECT_EQ(text(semantic.logicalAnd(flag, Literal::boolean(true))), "And(q, 1:i1)");
  EXPECT_EQ(text(semantic.logicalNot(flag)), "Xor(q, 1:i1)");
  EXPECT_EQ(errorOf([&] { semantic.logicalOr(flag, i32); }), "E0116 'or' needs int1, got i32");
}

TEST_F(OperatorTest, WhereKeepsLiteralsWeak) {
  EXPECT_EQ(text(semantic.where(tile("m", "i1", {4}), f16, Literal::floating(0))),
            "Select(m, Splat(h), Splat(0:fp16))");
  EXPECT_EQ(text(semantic.where(flag, tile("x", "i32", {2, 1}), tile("y", "i64", {1, 2}))),
            "Select(Splat(q), Broadcast[2, 2](SignExtend<i64>(x)), Broadcast[2, 2](y))");
  EXPECT_EQ(text(semantic.where(i32, f32, f32)), "Select(NotEqual(i, 0:i32), f, f)");
  EXPECT_EQ(text(semantic.where(flag, pointer, pointer)), "Select(q, p, p)");
  EXPECT_EQ(errorOf([&] { semantic.where(flag, pointer, tile("o", "*i32")); }),
            "E0116 tl.where cannot choose between *fp32 and *i32");
}

TEST_F(OperatorTest, ExtremaWidenBFloat16) {
  EXPECT_EQ(text(semantic.maximum(bf16, bf16, NanMode::None)),
            "MaxNumber(FloatExtend<fp32>(b), FloatExtend<fp32>(b))");
  EXPECT_EQ(text(semantic.minimum(f32, Literal::floating(0), NanMode::All)),
            "MinPropagateNan(f, 0:fp32)");
  // Literals are not weak here either.
  EXPECT_EQ(text(semantic.maximum(f16, Literal::floating(0), NanMode::None)),
            "MaxNumber(FloatExtend<fp32>(h), 0:fp32)");
  EXPECT_EQ(text(semantic.minimum(u32, u32, NanMode::None)), "MinUnsigned(u, u)");
  EXPECT_EQ(text(semantic.minimum(i32, i32, NanMode::None)), "MinSigned(i, i)");
  EXPECT_EQ(text(semantic.clamp(f32, Literal::floating(0), Literal::floating(1), NanMode::None)),
            "MinNumber(MaxNumber(f, 0:fp32), 1:fp32)");
  EXPECT_EQ(text(semantic.clamp(bf16, Literal::integer(0), bf16, NanMode::All)),
            "MinPropagateNan(MaxPropagateNan(FloatExtend<fp32>(b), 0:fp32), FloatExtend<fp32>(b))");
  EXPECT_EQ(errorOf([&] {
              semantic.clamp(i32, Literal::integer(0), Literal::integer(1), NanMode::None);
            }),
            "E0120 tl.clamp needs floats, got i32");
}

TEST_F(OperatorTest, RoundedAndFusedArithmetic) {
  EXPECT_EQ(text(semantic.fma(f32, Literal::floating(2), f32)), "Fma(f, 2:fp32, f)");
  EXPECT_EQ(text(semantic.fdiv(f32, f32, true)), "DivFloatRounded(f, f)");
  EXPECT_EQ(text(semantic.fdiv(f32, f32, false)), "DivFloat(f, f)");
  EXPECT_EQ(
      text(semantic.fdiv(f16, Literal::floating(2), false)),
      "FloatTruncate<fp16>(DivFloatRounded(FloatExtend<fp32>(h), FloatExtend<fp32>(2:fp16)))");
  EXPECT_EQ(errorOf([&] { semantic.fdiv(f16, f32, false); }),
            "E0116 tl.fdiv does not promote: got fp16 and fp32");
  EXPECT_EQ(errorOf([&] { semantic.divRounded(f16, f16); }),
            "E0120 tl.div_rn: Expected dtype ['fp32'] but got fp16");
  EXPECT_EQ(text(semantic.sqrtRounded(f32)), "SqrtRounded(f)");
  EXPECT_EQ(text(semantic.mulHigh(Literal::integer(0xD2511F53), u32)),
            "MulHighUnsigned(3528531795:u32, u)");
  EXPECT_EQ(errorOf([&] { semantic.mulHigh(tile("s", "i16"), tile("s", "i16")); }),
            "E0120 tl.umulhi: Expected dtype ['int32', 'int64', 'uint32', 'uint64'] but got int16");
}

TEST_F(OperatorTest, FunctionsOfOneOperand) {
  EXPECT_EQ(text(semantic.math(UnaryOp::Exp, f32, "exp")), "Exp(f)");
  EXPECT_EQ(text(semantic.math(UnaryOp::Sqrt, Literal::integer(2), "sqrt")), "Sqrt(2:fp32)");
  EXPECT_EQ(errorOf([&] { semantic.math(UnaryOp::Exp, tile("h", "fp16", {8}), "exp"); }),
            "E0120 tl.exp: Expected dtype ['fp32', 'fp64'] but got fp16");
  EXPECT_EQ(text(semantic.abs(i32)), "AbsInt(i)");
  EXPECT_EQ(text(semantic.abs(u32)), "u");
  EXPECT_EQ(text(semantic.abs(f16)), "AbsFloat(h)");
  EXPECT_EQ(text(semantic.abs(e5)), "Bitcast<fp8e5>(And(Bitcast<u8>(e), 127:u8))");
}

} // namespace
} // namespace tilewright::semantic
