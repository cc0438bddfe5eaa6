//===- SemanticShapeTest.cpp - Creation, shape, reductions, hints --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

class ShapeTest : public SemanticTest {
protected:
  Value matrix = tile("x", "fp32", {4, 8});
  CombineFunction add = [this](const std::vector<Value> &lhs, const std::vector<Value> &rhs) {
    std::vector<Value> out;
    for (size_t i = 0; i < lhs.size(); ++i)
      out.push_back(semantic.arithmetic(Arithmetic::Add, lhs[i], rhs[i]));
    return out;
  };
};

TEST_F(ShapeTest, Ranges) {
  EXPECT_EQ(text(semantic.arange(-4, 4)), "range(-4, 4)");
  EXPECT_EQ(errorOf([&] { semantic.arange(0, 100); }),
            "E0106 tile dimension 0 is 100; a power of two is required");
  EXPECT_EQ(errorOf([&] { semantic.arange(4, 4); }), "E0117 tl.arange(4, 4) is empty");
  EXPECT_EQ(errorOf([&] { semantic.arange(0, 1ll << 32); }),
            "E0117 tl.arange(0, 4294967296) exceeds int32");
  EXPECT_EQ(errorOf([&] { semantic.programId(3); }),
            "E0117 program_id axis must be 0, 1, or 2 but got 3");
}

TEST_F(ShapeTest, HelpNamesTheNextPowerOfTwo) {
  try {
    Semantic::checkShape({4, 100});
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message(), "tile dimension 1 is 100; a power of two is required");
    EXPECT_EQ(error.help(), "use 128 and a mask");
  }
  EXPECT_EQ(errorOf([] { Semantic::checkShape({1 << 10, 1 << 11}); }),
            "E0107 tile has 2097152 elements; the limit is 1048576");
  EXPECT_EQ(errorOf([] { Semantic::checkShape({1 << 20}); }), "no error");
  EXPECT_EQ(errorOf([] { Semantic::checkShape({0}); }),
            "E0106 tile dimension 0 is 0; a power of two is required");
}

TEST_F(ShapeTest, Full) {
  EXPECT_EQ(text(semantic.full({4}, Literal::integer(0), scalar("fp16"))), "Splat(0:fp16)");
  EXPECT_EQ(text(semantic.full({}, Literal::integer(7), scalar("i32"))), "7:i32");
  EXPECT_EQ(text(semantic.full({4}, tile("v", "i32", {1}), scalar("i64"))),
            "Splat(SignExtend<i64>(Extract(v)))");
  EXPECT_EQ(errorOf([&] { semantic.full({4}, Literal::integer(-1), scalar("u8")); }),
            "E0119 value -1 is out of range for u8");
  EXPECT_EQ(errorOf([&] { semantic.full({4}, Literal::floating(0.5), scalar("i32")); }),
            "E0119 value 0.5 is out of range for i32");
  EXPECT_EQ(errorOf([&] { semantic.full({4}, tile("v", "i32", {2}), scalar("i64")); }),
            "E0121 i32[2] has 2 elements; one is required");
}

TEST_F(ShapeTest, BroadcastToKeepsTheRank) {
  EXPECT_EQ(text(semantic.broadcastTo(tile("v", "i32", {4, 1}), {4, 8})), "Broadcast[4, 8](v)");
  EXPECT_EQ(text(semantic.broadcastTo(tile("v", "i32"), {4})), "Splat(v)");
  EXPECT_EQ(errorOf([&] { semantic.broadcastTo(tile("v", "i32", {8}), {4, 8}); }),
            "E0110 cannot broadcast [8] with [4, 8]");
}

TEST_F(ShapeTest, Reshapes) {
  EXPECT_EQ(text(semantic.reshape(matrix, {32}, false)), "Reshape[32](x)");
  EXPECT_EQ(text(semantic.reshape(matrix, {32}, true)), "View[32](x)");
  EXPECT_EQ(errorOf([&] { semantic.reshape(matrix, {16}, false); }),
            "E0121 cannot reshape [4, 8] (32 elements) to [16] (16 elements)");
  EXPECT_EQ(text(semantic.permute(matrix, {1, 0})), "Permute[1, 0](x)");
  EXPECT_EQ(text(semantic.permute(matrix, {-1, 0})), "Permute[1, 0](x)");
  EXPECT_EQ(text(semantic.permute(matrix, {0, 1})), "x");
  EXPECT_EQ(errorOf([&] { semantic.permute(matrix, {0, 0}); }),
            "E0121 [0, 0] does not permute the axes of fp32[4, 8]");
  EXPECT_EQ(errorOf([&] { semantic.permute(matrix, {1, 2}); }),
            "E0117 invalid axis 2: it is out of range for a tile of rank 2");
  EXPECT_EQ(text(semantic.expandDims(matrix, -1)), "Expand2(x)");
  EXPECT_EQ(semantic.expandDims(tile("s", "i32"), 0).type.name(), "i32[1]");
}

TEST_F(ShapeTest, JoinSplitAndCat) {
  EXPECT_EQ(semantic.join(matrix, tile("s", "fp32")).type.name(), "fp32[4, 8, 2]");
  EXPECT_EQ(semantic.join(tile("a", "i32"), tile("b", "i32")).type.name(), "i32[2]");
  EXPECT_EQ(errorOf([&] { semantic.join(matrix, tile("s", "i32")); }),
            "E0116 tl.join needs one type, got fp32[4, 8] and i32");
  EXPECT_EQ(semantic.split(tile("a", "i32", {4, 2})).second.type.name(), "i32[4]");
  EXPECT_EQ(semantic.split(tile("a", "i32", {2})).first.type.name(), "i32");
  EXPECT_EQ(errorOf([&] { semantic.split(matrix); }),
            "E0121 tl.split needs a last dimension of 2, got fp32[4, 8]");
  EXPECT_EQ(semantic.concatenate(matrix, matrix).type.name(), "fp32[8, 8]");
  EXPECT_EQ(errorOf([&] { semantic.concatenate(matrix, tile("y", "fp32", {2, 8})); }),
            "E0121 cannot concatenate fp32[4, 8] and fp32[2, 8]");
}

TEST_F(ShapeTest, Reductions) {
  EXPECT_EQ(text(semantic.reduce({matrix}, 1, add, false)[0]), "Reduce1(x; Add(e, e))");
  EXPECT_EQ(semantic.reduce({matrix}, -2, add, true)[0].type.name(), "fp32[1, 8]");
  EXPECT_EQ(text(semantic.reduce({matrix}, std::nullopt, add, false)[0]),
            "Reduce0(View[32](x); Add(e, e))");
  EXPECT_EQ(semantic.reduce({matrix}, std::nullopt, add, true)[0].type.name(), "fp32[1, 1]");
  Value index = tile("i", "i32", {4, 8});
  std::vector<Value> pair = semantic.reduce({matrix, index}, 0, add, false);
  EXPECT_EQ(pair[1].type.name(), "i32[8]");
  EXPECT_EQ(text(semantic.scan({index}, -1, true, add)[0]), "Scan1Reverse(i; Add(e, e))");
}

TEST_F(ShapeTest, ReductionErrors) {
  EXPECT_EQ(errorOf([&] { semantic.reduce({matrix}, 2, add, false); }),
            "E0117 invalid axis 2: it is out of range for a tile of rank 2");
  EXPECT_EQ(errorOf([&] { semantic.reduce({tile("s", "i32")}, 0, add, false); }),
            "E0121 tl.reduce needs a tile, got i32");
  EXPECT_EQ(errorOf([&] { semantic.reduce({matrix, tile("y", "i32", {8})}, 0, add, false); }),
            "E0121 tl.reduce: the inputs have the shapes [4, 8] and [8]");
  CombineFunction widen = [&](const std::vector<Value> &lhs, const std::vector<Value> &) {
    return std::vector<Value>{semantic.cast(lhs[0], ScalarKind::Float32)};
  };
  EXPECT_EQ(errorOf([&] { semantic.reduce({tile("h", "fp16", {8})}, 0, widen, false); }),
            "E0116 tl.reduce: the combine function returns fp32 for an input of fp16");
  CombineFunction nothing = [](const std::vector<Value> &, const std::vector<Value> &) {
    return std::vector<Value>();
  };
  EXPECT_EQ(errorOf([&] { semantic.scan({matrix}, 0, false, nothing); }),
            "E0116 tl.associative_scan: the combine function returns 0 values for 1 inputs");
}

TEST_F(ShapeTest, HintsAndDebugging) {
  EXPECT_EQ(text(semantic.hint(HintKind::Divisibility, tile("v", "i32"), {16})), "Hint[16](v)");
  EXPECT_EQ(errorOf([&] { semantic.hint(HintKind::Contiguity, matrix, {16}); }),
            "E0117 tl.max_contiguous: 1 numbers for fp32[4, 8], which has 2 dimensions");
  semantic.assume(tile("c", "i1"));
  EXPECT_EQ(recorder.effects.back(), "Assume(c)");
  EXPECT_EQ(errorOf([&] { semantic.assume(tile("c", "i1", {4})); }),
            "E0116 tl.assume needs a scalar int1, got i1[4]");
  semantic.print("x: ", {matrix, Literal::integer(3)}, true);
  EXPECT_EQ(recorder.effects.back(), "PrintHex( x: , x, 3:i32)");
  // What is left out of the form of a line is added, where there are values.
  semantic.print("value", {matrix}, true);
  EXPECT_EQ(recorder.effects.back(), "PrintHex( value: , x)");
  semantic.print("", {matrix}, true);
  EXPECT_EQ(recorder.effects.back(), "PrintHex(: , x)");
  semantic.print("here", {}, true);
  EXPECT_EQ(recorder.effects.back(), "PrintHex( here)");
  semantic.deviceAssert(tile("v", "i32", {4}), "bad", tile("m", "i1"));
  EXPECT_EQ(recorder.effects.back(), "Assert(NotEqual(v, Splat(0:i32)), bad, Splat(m))");
}

} // namespace
} // namespace tilewright::semantic
