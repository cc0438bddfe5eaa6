//===- SemanticTypesTest.cpp - Scalar types and their names --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

struct Facts {
  const char *name, *longName;
  int bits, bytes, mantissa;
  bool isInteger, isSigned, isFloating;
};

const Facts expectedFacts[] = {
    {"i1", "int1", 1, 1, 0, true, false, false},
    {"i8", "int8", 8, 1, 0, true, true, false},
    {"u16", "uint16", 16, 2, 0, true, false, false},
    {"i32", "int32", 32, 4, 0, true, true, false},
    {"u64", "uint64", 64, 8, 0, true, false, false},
    {"fp8e4nv", "float8e4nv", 8, 1, 3, false, false, true},
    {"fp8e5", "float8e5", 8, 1, 2, false, false, true},
    {"fp8e4b15", "float8e4b15", 8, 1, 3, false, false, true},
    {"fp8e4b8", "float8e4b8", 8, 1, 3, false, false, true},
    {"fp8e5b16", "float8e5b16", 8, 1, 2, false, false, true},
    {"fp16", "float16", 16, 2, 10, false, false, true},
    {"bf16", "bfloat16", 16, 2, 7, false, false, true},
    {"fp32", "float32", 32, 4, 23, false, false, true},
    {"fp64", "float64", 64, 8, 52, false, false, true},
    {"*fp16", "pointer<fp16>", 64, 8, 0, false, false, false},
};

TEST(SemanticTypes, FactsOfEachKind) {
  for (const Facts &facts : expectedFacts) {
    DType type = Recorder::scalar(facts.name);
    EXPECT_EQ(type.name(), facts.name);
    EXPECT_EQ(type.longName(), facts.longName);
    EXPECT_EQ(type.bitWidth(), facts.bits) << facts.name;
    EXPECT_EQ(type.sizeInBytes(), facts.bytes) << facts.name;
    EXPECT_EQ(type.mantissaBits(), facts.mantissa) << facts.name;
    EXPECT_EQ(type.isInteger(), facts.isInteger) << facts.name;
    EXPECT_EQ(type.isSigned(), facts.isSigned) << facts.name;
    EXPECT_EQ(type.isFloating(), facts.isFloating) << facts.name;
  }
}

TEST(SemanticTypes, PointersAreParsedAndCompared) {
  DType constPointer = Recorder::scalar("*ki32");
  EXPECT_TRUE(constPointer.isConst());
  EXPECT_EQ(constPointer.name(), "*ki32");
  EXPECT_NE(constPointer, Recorder::scalar("*i32"));
  EXPECT_EQ(Recorder::scalar("**i8").pointee(), Recorder::scalar("*i8"));
  EXPECT_NE(DType::pointerTo(ScalarKind::Int8, false, 3), Recorder::scalar("*i8"));
  DType ignored;
  EXPECT_FALSE(DType::parse("fp31", ignored));
  EXPECT_FALSE(DType::parse("*", ignored));
  EXPECT_FALSE(DType::parse("", ignored));
}

TEST(SemanticTypes, NamesOfTiles) {
  EXPECT_EQ(Type(ScalarKind::Float32, {128, 64}).name(), "fp32[128, 64]");
  EXPECT_EQ(Type(ScalarKind::Int1).name(), "i1");
  EXPECT_EQ(Type(ScalarKind::Int8, {4, 2}).numElements(), 8);
}

} // namespace
} // namespace tilewright::semantic
