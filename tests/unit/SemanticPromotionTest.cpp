//===- SemanticPromotionTest.cpp - The promotion table -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: every pair of scalar types against tables that are written out below and
// share no code with the implementation; then literals against every type.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace tilewright::semantic {
namespace {

const char *const typeNames[] = {"i1",  "i8",      "i16",   "i32",  "i64",  "u8",   "u16", "u32",
                                 "u64", "fp8e4nv", "fp8e5", "fp16", "bf16", "fp32", "fp64"};

// Rows: left operand. A dash is an error.
const char *const sumTable[] = {
    // i1      i8      i16     i32     i64     u8      u16     u32     u64     fp8e4nv fp8e5   fp16    bf16    fp32    fp64
    "i1      i8      i16     i32     i64     u8      u16     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // i1
    "i8      i8      i16     i32     i64     u8      u16     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // i8
    "i16     i16     i16     i32     i64     i16     u16     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // i16
    "i32     i32     i32     i32     i64     i32     i32     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // i32
    "i64     i64     i64     i64     i64     i64     i64     i64     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // i64
    "u8      u8      i16     i32     i64     u8      u16     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // u8
    "u16     u16     u16     i32     i64     u16     u16     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // u16
    "u32     u32     u32     u32     i64     u32     u32     u32     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // u32
    "u64     u64     u64     u64     u64     u64     u64     u64     u64     -       -       fp16  "
    "  fp32    fp32    fp64", // u64
    "-       -       -       -       -       -       -       -       -       fp8e4nv fp16    fp16  "
    "  fp32    fp32    fp64", // fp8e4nv
    "-       -       -       -       -       -       -       -       -       fp16    fp8e5   fp16  "
    "  fp32    fp32    fp64", // fp8e5
    "fp16    fp16    fp16    fp16    fp16    fp16    fp16    fp16    fp16    fp16    fp16    fp16  "
    "  fp16    fp32    fp64", // fp16
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp16  "
    "  bf16    fp32    fp64", // bf16
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // fp32
    "fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64  "
    "  fp64    fp64    fp64", // fp64
};
const char *const quotientTable[] = {
    // i1      i8      i16     i32     i64     u8      u16     u32     u64     fp8e4nv fp8e5   fp16    bf16    fp32    fp64
    "i1      -       -       -       -       u8      u16     u32     u64     fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // i1
    "-       i8      i16     i32     i64     -       -       -       -       fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // i8
    "-       i16     i16     i32     i64     -       -       -       -       fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // i16
    "-       i32     i32     i32     i64     -       -       -       -       fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // i32
    "-       i64     i64     i64     i64     -       -       -       -       fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // i64
    "u8      -       -       -       -       u8      u16     u32     u64     fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // u8
    "u16     -       -       -       -       u16     u16     u32     u64     fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // u16
    "u32     -       -       -       -       u32     u32     u32     u64     fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // u32
    "u64     -       -       -       -       u64     u64     u64     u64     fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // u64
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // fp8e4nv
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // fp8e5
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // fp16
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // bf16
    "fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32    fp32  "
    "  fp32    fp32    fp64", // fp32
    "fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64    fp64  "
    "  fp64    fp64    fp64", // fp64
};

using PromotionTest = SemanticTest;

void checkTable(Semantic &semantic, const char *const *table, bool isDivision) {
  for (size_t row = 0; row < std::size(typeNames); ++row) {
    std::istringstream columns(table[row]);
    for (const char *column : typeNames) {
      std::string expected;
      columns >> expected;
      Value lhs = Recorder::tile("x", typeNames[row], {128});
      Value rhs = Recorder::tile("y", column); // a run-time scalar is typed like a tile
      std::string found = "-";
      try {
        found = semantic.promote(lhs, rhs, isDivision).name();
      } catch (const Error &error) {
        EXPECT_EQ(error.code(), ErrorCode::E0116);
      }
      EXPECT_EQ(found, expected) << typeNames[row] << " with " << column;
    }
  }
}

TEST_F(PromotionTest, AllPairsOfSums) { checkTable(semantic, sumTable, false); }
TEST_F(PromotionTest, AllPairsOfQuotients) { checkTable(semantic, quotientTable, true); }

TEST_F(PromotionTest, LiteralsAreWeakUpToTheirKind) {
  for (const char *name : typeNames) {
    Value value = tile("x", name, {8});
    bool isFloat = value.type.scalar.isFloating();
    bool isBool = value.type.scalar.isBool();
    auto sum = [&](Literal literal) { return semantic.promote(value, literal, false).name(); };
    EXPECT_EQ(sum(Literal::boolean(true)), name);
    // An integer literal outranks only the boolean, a float literal all but floats.
    EXPECT_EQ(sum(Literal::integer(3)), isBool ? "i32" : name);
    EXPECT_EQ(sum(Literal::floating(0.5)), isFloat ? name : "fp32");
    EXPECT_EQ(sum(Literal::floating(1e300)), isFloat ? name : "fp64");
  }
}

TEST_F(PromotionTest, LiteralsInDivisionsStillWidenSmallFloats) {
  EXPECT_EQ(semantic.promote(tile("x", "bf16"), Literal::floating(2.0), true).name(), "fp32");
  EXPECT_EQ(semantic.promote(Literal::integer(1), tile("x", "fp16"), true).name(), "fp32");
  EXPECT_EQ(semantic.promote(tile("x", "fp64"), Literal::floating(2.0), true).name(), "fp64");
  EXPECT_EQ(semantic.promote(tile("x", "u32"), Literal::integer(2), true).name(), "u32");
}

TEST_F(PromotionTest, LiteralsAloneTakeTheFirstTypeThatHoldsThem) {
  auto ofInt = [](int64_t value) { return Semantic::literalType(Literal::integer(value)).name(); };
  EXPECT_EQ(ofInt(2147483647), "i32");
  EXPECT_EQ(ofInt(2147483648), "u32");
  EXPECT_EQ(ofInt(4294967295), "u32");
  EXPECT_EQ(ofInt(4294967296), "i64");
  EXPECT_EQ(ofInt(-2147483648), "i32");
  EXPECT_EQ(ofInt(-2147483649), "i64");
  EXPECT_EQ(Semantic::literalType(Literal::unsigned64(1ull << 63)).name(), "u64");
  EXPECT_EQ(Semantic::literalType(Literal::boolean(true)).name(), "i1");
  auto ofFloat = [](double value) {
    return Semantic::literalType(Literal::floating(value)).name();
  };
  EXPECT_EQ(ofFloat(0.0), "fp32");
  EXPECT_EQ(ofFloat(std::nan("")), "fp32");
  EXPECT_EQ(ofFloat(-std::numeric_limits<double>::infinity()), "fp32");
  EXPECT_EQ(ofFloat(3.4e38), "fp32");
  EXPECT_EQ(ofFloat(3.5e38), "fp64");
  EXPECT_EQ(ofFloat(1e-40), "fp64"); // an f32 subnormal
}

TEST_F(PromotionTest, LiteralsOutOfRangeAreErrors) {
  auto add = [&](const char *type, Literal literal) {
    return errorOf([&] { semantic.arithmetic(Arithmetic::Add, tile("x", type, {4}), literal); });
  };
  EXPECT_EQ(add("u32", Literal::integer(-1)), "E0119 value -1 is out of range for u32");
  EXPECT_EQ(add("i8", Literal::integer(128)), "E0119 value 128 is out of range for i8");
  EXPECT_EQ(add("i8", Literal::integer(-128)), "no error");
  EXPECT_EQ(add("u8", Literal::integer(255)), "no error");
  EXPECT_EQ(add("i64", Literal::unsigned64(1ull << 63)),
            "E0119 value 9223372036854775808 is out of range for i64");
  EXPECT_EQ(add("u64", Literal::unsigned64(1ull << 63)), "no error");
  EXPECT_EQ(add("fp16", Literal::floating(1e6)), "no error"); // becomes infinity
}

TEST_F(PromotionTest, PointersAndNumbersHaveNoCommonType) {
  EXPECT_EQ(errorOf([&] { semantic.promote(tile("p", "*fp32"), tile("x", "i32"), false); }),
            "E0116 cannot combine *fp32 with i32");
}

} // namespace
} // namespace tilewright::semantic
