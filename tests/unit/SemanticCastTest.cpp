//===- SemanticCastTest.cpp - Conversions ---------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

class CastTest : public SemanticTest {
protected:
  std::string convert(const char *from, const char *to) {
    return text(semantic.cast(tile("x", from), scalar(to)));
  }
  std::string refuse(const char *from, const char *to, bool bitcast = false,
                     std::optional<Rounding> rounding = std::nullopt) {
    return errorOf([&] { semantic.cast(tile("x", from), scalar(to), rounding, bitcast); });
  }
};

TEST_F(CastTest, Steps) {
  const struct {
    const char *from, *to, *expected;
  } rows[] = {
      {"fp32", "fp32", "x"},
      {"i8", "i32", "SignExtend<i32>(x)"},
      {"u8", "i32", "ZeroExtend<i32>(x)"},
      {"i64", "u16", "Truncate<u16>(x)"},
      {"i32", "u32", "Bitcast<u32>(x)"},
      {"i1", "i32", "ZeroExtend<i32>(x)"}, // True is 1
      {"i1", "fp32", "UnsignedToFloat<fp32>(x)"},
      {"i32", "i1", "NotEqual(x, 0:i32)"},
      {"fp32", "i1", "FloatNotEqual(x, 0:fp32)"},
      {"i32", "fp16", "SignedToFloat<fp16>(x)"},
      {"i32", "bf16", "FloatTruncate<bf16>(SignedToFloat<fp32>(x))"},
      {"u64", "fp64", "UnsignedToFloat<fp64>(x)"},
      {"fp64", "i8", "FloatToSigned<i8>(x)"},
      {"fp32", "u8", "FloatToUnsigned<u8>(x)"},
      {"bf16", "i32", "FloatToSigned<i32>(FloatExtend<fp32>(x))"},
      {"fp16", "bf16", "FloatTruncate<bf16>(FloatExtend<fp32>(x))"},
      {"bf16", "fp16", "FloatTruncate<fp16>(FloatExtend<fp32>(x))"},
      {"fp64", "fp16", "FloatTruncate<fp16>(x)"},
      {"fp64", "fp8e5", "FloatTruncate<fp8e5>(FloatTruncate<fp32>(x))"},
      {"fp16", "fp8e4nv", "FloatTruncate<fp8e4nv>(x)"},
      {"fp8e4nv", "bf16", "FloatExtend<bf16>(x)"},
      {"fp8e4nv", "fp8e5", "FloatTruncate<fp8e5>(FloatExtend<fp32>(x))"},
      {"fp8e5", "i32", "FloatToSigned<i32>(FloatExtend<fp32>(x))"},
      {"i32", "fp8e5", "FloatTruncate<fp8e5>(SignedToFloat<fp32>(x))"},
      {"*fp32", "i64", "PointerToInt<i64>(x)"},
      {"*fp32", "u64", "PointerToInt<u64>(x)"},
      {"*fp32", "i1", "NotEqual(PointerToInt<i64>(x), 0:i64)"},
      {"i64", "*i8", "IntToPointer<*i8>(x)"},
      {"u32", "*i8", "IntToPointer<*i8>(ZeroExtend<i64>(x))"},
      {"*fp32", "*i32", "PointerCast<*i32>(x)"},
  };
  for (const auto &row : rows)
    EXPECT_EQ(convert(row.from, row.to), row.expected) << row.from << " to " << row.to;
}

TEST_F(CastTest, TilesKeepTheirShape) {
  Value result = semantic.cast(tile("x", "i32", {4, 8}), scalar("i1"));
  EXPECT_EQ(result.type.name(), "i1[4, 8]");
  EXPECT_EQ(text(result), "NotEqual(x, Splat(0:i32))");
}

TEST_F(CastTest, Refusals) {
  EXPECT_EQ(refuse("*fp32", "i32"), "E0116 cannot cast *fp32 to i32");
  EXPECT_EQ(refuse("*fp32", "fp32"), "E0116 cannot cast *fp32 to fp32");
  EXPECT_EQ(refuse("fp32", "*fp32"), "E0116 cannot cast fp32 to *fp32");
  EXPECT_EQ(refuse("fp32", "void"), "E0116 cannot cast fp32 to void");
}

TEST_F(CastTest, BitcastKeepsTheWidth) {
  EXPECT_EQ(text(semantic.cast(tile("x", "fp32"), scalar("i32"), std::nullopt, true)),
            "Bitcast<i32>(x)");
  EXPECT_EQ(refuse("fp32", "i16", true),
            "E0116 cannot reinterpret fp32 (32 bits) as i16 (16 bits)");
  EXPECT_EQ(refuse("i1", "i8", true), "E0116 cannot reinterpret i1 (1 bits) as i8 (8 bits)");
  EXPECT_EQ(text(semantic.cast(tile("x", "*i8"), scalar("*i32"), std::nullopt, true)),
            "PointerCast<*i32>(x)");
}

TEST_F(CastTest, RoundingIsForNarrowingFloats) {
  EXPECT_EQ(text(semantic.cast(tile("x", "fp32"), scalar("bf16"), Rounding::TowardZero)),
            "FloatTruncateTowardZero<bf16>(x)");
  EXPECT_EQ(text(semantic.cast(tile("x", "fp64"), scalar("fp8e5"), Rounding::TowardZero)),
            "FloatTruncateTowardZero<fp8e5>(FloatTruncateTowardZero<fp32>(x))");
  EXPECT_EQ(refuse("fp16", "fp32", false, Rounding::TowardZero),
            "E0117 fp_downcast_rounding applies to narrowing float casts, not to fp16 to fp32");
  EXPECT_EQ(refuse("i32", "fp16", false, Rounding::NearestEven),
            "E0117 fp_downcast_rounding applies to narrowing float casts, not to i32 to fp16");
}

TEST_F(CastTest, LiteralsFoldIntoOneConstant) {
  auto fold = [&](Literal literal, const char *to) {
    return text(semantic.cast(literal, scalar(to)));
  };
  EXPECT_EQ(fold(Literal::integer(-1), "u8"), "255:u8");
  EXPECT_EQ(fold(Literal::integer(300), "i8"), "44:i8");
  EXPECT_EQ(fold(Literal::integer(-1), "i8"), "-1:i8");
  EXPECT_EQ(fold(Literal::integer(0), "*fp32"), "null:*fp32");
  EXPECT_EQ(fold(Literal::boolean(true), "fp16"), "1:fp16");
  EXPECT_EQ(fold(Literal::floating(0.1), "fp64"), "0.1:fp64"); // rounded once
  EXPECT_EQ(fold(Literal::floating(2.5), "i1"), "1:i1");
  EXPECT_EQ(fold(Literal::floating(2.5), "i32"), "FloatToSigned<i32>(2.5:fp32)");
}

} // namespace
} // namespace tilewright::semantic
