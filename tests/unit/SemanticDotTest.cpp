//===- SemanticDotTest.cpp - The types and shapes of products ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

class DotTest : public SemanticTest {
protected:
  /// The product of two tiles named a and b of these types, both 32 x 32.
  Value dot(const std::string &a, const std::string &b,
            const Semantic::DotOptions &options = Semantic::DotOptions()) {
    return semantic.dot(tile("a", a, {32, 32}), tile("b", b, {32, 32}), std::nullopt, options);
  }
  std::string resultOf(const std::string &type, const char *wanted = nullptr) {
    Semantic::DotOptions options;
    if (wanted)
      options.result = scalar(wanted);
    return dot(type, type, options).type.scalar.name();
  }
  Value product(std::vector<int64_t> a, std::vector<int64_t> b) {
    return semantic.dot(tile("a", "fp16", std::move(a)), tile("b", "fp16", std::move(b)),
                        std::nullopt, {});
  }
};

TEST_F(DotTest, TheAccumulatorIsAlwaysThere) {
  EXPECT_EQ(text(dot("fp16", "fp16")), "Dot(a, b, Splat(0:fp32))");
  Value acc = tile("c", "fp16", {32, 32});
  Value result = semantic.dot(tile("a", "fp16", {32, 32}), tile("b", "fp16", {32, 32}), acc, {});
  EXPECT_EQ(text(result), "Dot(a, b, c)");
  EXPECT_EQ(result.type.name(), "fp16[32, 32]");
}

TEST_F(DotTest, ResultTypes) {
  EXPECT_EQ(resultOf("i8"), "i32");
  EXPECT_EQ(resultOf("fp16"), "fp32");
  EXPECT_EQ(resultOf("fp8e5"), "fp32");
  EXPECT_EQ(resultOf("bf16"), "fp32");
  EXPECT_EQ(resultOf("fp64"), "fp64");
  // out_dtype chooses for f16 and fp8 only.
  EXPECT_EQ(resultOf("fp16", "fp16"), "fp16");
  EXPECT_EQ(resultOf("fp8e4nv", "fp16"), "fp16");
  EXPECT_EQ(resultOf("fp32", "fp16"), "fp32");
  EXPECT_EQ(resultOf("i8", "fp32"), "i32");
  EXPECT_EQ(errorOf([&] { resultOf("bf16", "bf16"); }), "E0117 tl.dot cannot accumulate in bf16");
}

TEST_F(DotTest, OperandTypes) {
  EXPECT_EQ(text(dot("fp8e5", "fp8e4nv")), "Dot(a, b, Splat(0:fp32))");
  Semantic::DotOptions options;
  options.target = "sm_80";
  EXPECT_EQ(errorOf([&] { dot("fp16", "bf16", options); }),
            "E0109 dot does not support fp16 x bf16 on sm_80");
  EXPECT_EQ(errorOf([&] { dot("i16", "i16", options); }),
            "E0109 dot does not support i16 x i16 on sm_80");
  options.hasFloat8Products = false;
  EXPECT_EQ(errorOf([&] { dot("fp8e4nv", "fp8e4nv", options); }),
            "E0109 dot does not support fp8e4nv x fp8e4nv on sm_80");
  EXPECT_EQ(errorOf([&] { dot("fp8e5", "fp8e4nv", options); }),
            "E0109 dot does not support fp8e5 x fp8e4nv on sm_80");
  EXPECT_EQ(text(dot("fp8e5", "fp8e5", options)), "Dot(a, b, Splat(0:fp32))");
}

TEST_F(DotTest, PrecisionConcernsFloat32) {
  Semantic::DotOptions options;
  options.precision = DotPrecision::Ieee;
  EXPECT_EQ(text(dot("fp32", "fp32", options)), "DotIeee(a, b, Splat(0:fp32))");
  EXPECT_EQ(text(dot("fp16", "fp16", options)), "Dot(a, b, Splat(0:fp32))");
  auto parse = Semantic::parseDotPrecision;
  EXPECT_EQ(parse("TF32x3", std::nullopt, "ieee"), DotPrecision::Tf32x3);
  EXPECT_EQ(parse("", std::nullopt, "ieee"), DotPrecision::Ieee);
  EXPECT_EQ(parse("", std::nullopt, ""), DotPrecision::Tf32);
  EXPECT_EQ(parse("", true, "ieee"), DotPrecision::Tf32);
  EXPECT_EQ(parse("", false, ""), DotPrecision::Ieee);
  EXPECT_EQ(errorOf([&] { parse("", std::nullopt, "fast"); }), "E0117 input_precision is 'fast'");
}

TEST_F(DotTest, PromotionOfFloat8Accumulators) {
  Semantic::DotOptions options;
  options.defaultImprecise = 32;
  EXPECT_EQ(text(dot("fp8e5", "fp8e5", options)), "DotEvery32(a, b, Splat(0:fp32))");
  EXPECT_EQ(text(dot("fp16", "fp16", options)), "Dot(a, b, Splat(0:fp32))");
  options.defaultImprecise = 1 << 30;
  EXPECT_EQ(text(dot("fp8e5", "fp8e5", options)), "Dot(a, b, Splat(0:fp32))");
  options.maxImprecise = 16;
  EXPECT_EQ(text(dot("fp8e5", "fp8e5", options)), "DotEvery16(a, b, Splat(0:fp32))");
  options.maxImprecise = 33;
  EXPECT_EQ(errorOf([&] { dot("fp8e5", "fp8e5", options); }),
            "E0117 max_num_imprecise_acc (33) must be <= K (32)");
}

TEST_F(DotTest, Shapes) {
  EXPECT_EQ(product({1, 16}, {16, 2}).type.name(), "fp32[1, 2]");
  EXPECT_EQ(product({4, 8, 16}, {4, 16, 32}).type.name(), "fp32[4, 8, 32]");
  EXPECT_EQ(errorOf([&] { product({16, 16}, {32, 16}); }),
            "E0108 dot: inner dimensions differ, 16 and 32");
  EXPECT_EQ(errorOf([&] { product({16, 16}, {1, 16, 16}); }),
            "E0121 tl.dot of fp16[16, 16] and fp16[1, 16, 16]");
  EXPECT_EQ(product({2, 4, 8, 16}, {2, 4, 16, 32}).type.name(), "fp32[2, 4, 8, 32]");
  EXPECT_EQ(errorOf([&] { product({2, 4, 8, 16}, {2, 2, 16, 32}); }),
            "E0121 tl.dot: batches differ, 4 and 2");
  EXPECT_EQ(errorOf([&] { product({16, 8}, {8, 16}); }),
            "E0121 tl.dot: inner dimension is 8; fp16 needs at least 16");
  EXPECT_EQ(errorOf([&] { product({2048, 16}, {16, 2048}); }),
            "E0107 tile has 4194304 elements; the limit is 1048576");
}

} // namespace
} // namespace tilewright::semantic
