//===- CodegenDotTest.cpp - Products of registers, assembled --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: every form of tw.dot with unit mma or fma, from the layout level to
// machine code, with the number of instructions that the tile's size asks for.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/CodegenTestSupport.h"
#include "tests/unit/MatrixTestSupport.h"
#include <numeric>

using namespace tilewright;
using namespace tilewright::codegen::testing;

namespace {

struct Form {
  const char *name, *target, *unit;
  std::vector<int> accShape; // log2 of [batch,] M, N
  int log2K;
  std::vector<int> warps;
  const char *typeA = "f16", *typeB = "f16", *accumulator = "f32", *precision = "tf32";
  int bits = 16, maxImprecise = 0;
  const char *instruction = "";
  int count = 0;
};

std::ostream &operator<<(std::ostream &stream, const Form &form) { return stream << form.name; }

std::string shapeText(const std::vector<int> &log2Shape) {
  std::string text;
  for (int extent : log2Shape)
    text += std::to_string(1 << extent) + "x";
  return text;
}

/// Loads a tile from an array of its shape.
std::string loadText(const std::string &name, const std::string &shape, int log2Size,
                     const std::string &type) {
  TextTemplate text(R"(
  %i$n = tw.range 0 to $size : tensor<$sizexi32, #$n>
  %j$n = tw.reshape %i$n : tensor<$sizexi32, #$n> -> tensor<$shapei32, #$n>
  %s$n = tw.splat %x$n : !tw.ptr<$type> -> tensor<$shape!tw.ptr<$type>, #$n>
  %p$n = tw.addptr %s$n, %j$n : tensor<$shape!tw.ptr<$type>, #$n>, tensor<$shapei32, #$n>
  %$n = tw.load %p$n : tensor<$shape!tw.ptr<$type>, #$n> -> tensor<$shape$type, #$n>)");
  return text.set("size", 1 << log2Size)
      .set("shape", shape)
      .set("type", type)
      .set("n", name)
      .take();
}

int sizeOf(const std::vector<int> &log2Shape) {
  return std::accumulate(log2Shape.begin(), log2Shape.end(), 0);
}

std::string dotKernel(const Form &form) {
  int rank = static_cast<int>(form.accShape.size());
  std::vector<int> shapeA = form.accShape, shapeB = form.accShape;
  shapeA[rank - 1] = shapeB[rank - 2] = form.log2K;
  LinearLayout acc = makeMmaAccumulator(form.accShape, form.warps);
  bool isFma = form.unit == std::string("fma");
  auto operand = [&](DotOperand which, const std::vector<int> &shape) {
    return isFma ? makeFmaOperand(acc, which, form.log2K)
                 : makeDotOperand(which, shape, form.warps, form.bits);
  };
  std::string a = shapeText(shapeA), b = shapeText(shapeB), c = shapeText(form.accShape);
  TextTemplate text(R"(
#a = $layoutA
#b = $layoutB
#c = $layoutC
module attributes {tw.num_warps = $numWarps : i32} {
func.func @dot(%xa: !tw.ptr<$ta>, %xb: !tw.ptr<$tb>, %xc: !tw.ptr<$tc>) {$loads
  %d = tw.dot %a, %b, %c {unit = #tw.unit<$unit>, precision = #tw.precision<$precision>,
       maxImprecise = $imprecise : i32, warps = array<i32: $warps>}
       : tensor<$sa$ta, #a>, tensor<$sb$tb, #b>, tensor<$sc$tc, #c>
  tw.store %pc, %d : tensor<$sc!tw.ptr<$tc>, #c>, tensor<$sc$tc, #c>
  func.return
}
}
)");
  std::string warps = columnsText(Columns(form.warps.begin(), form.warps.end()));
  text.set("layoutA", layoutText(operand(DotOperand::A, shapeA)));
  text.set("layoutB", layoutText(operand(DotOperand::B, shapeB))).set("layoutC", layoutText(acc));
  text.set("loads", loadText("a", a, sizeOf(shapeA), form.typeA) +
                        loadText("b", b, sizeOf(shapeB), form.typeB) +
                        loadText("c", c, sizeOf(form.accShape), form.accumulator));
  text.set("numWarps", 1 << sizeOf(form.warps)).set("warps", warps.substr(1, warps.size() - 2));
  text.set("unit", form.unit).set("precision", form.precision).set("imprecise", form.maxImprecise);
  text.set("ta", form.typeA).set("tb", form.typeB).set("tc", form.accumulator);
  return text.set("sa", a).set("sb", b).set("sc", c).take();
}

class CodegenDot : public ::testing::TestWithParam<Form> {};

} // namespace

// clang-format off
INSTANTIATE_TEST_SUITE_P(Forms, CodegenDot, ::testing::Values(
  Form{"f16", "sm_80", "mma", {6, 6}, 5, {1, 1}, "f16", "f16", "f32", "tf32", 16, 0, "m16n8k16.row.col.f32.f16.f16.f32", 16},
  Form{"f16_sum", "sm_80", "mma", {5, 5}, 4, {1, 0}, "f16", "f16", "f16", "tf32", 16, 0, "m16n8k16.row.col.f16.f16.f16.f16", 4},
  Form{"bf16", "sm_90a", "mma", {4, 3}, 6, {0, 0}, "bf16", "bf16", "f32", "tf32", 16, 0, "m16n8k16.row.col.f32.bf16.bf16.f32", 4},
  Form{"tf32", "sm_80", "mma", {5, 4}, 5, {1, 1}, "f32", "f32", "f32", "tf32", 32, 0, "m16n8k8.row.col.f32.tf32.tf32.f32", 4},
  Form{"tf32x3", "sm_80", "mma", {5, 4}, 5, {1, 1}, "f32", "f32", "f32", "tf32x3", 32, 0, "m16n8k8.row.col.f32.tf32.tf32.f32", 12},
  Form{"bf16x3", "sm_80", "mma", {5, 4}, 5, {1, 1}, "f32", "f32", "f32", "bf16x3", 32, 0, "m16n8k16.row.col.f32.bf16.bf16.f32", 6},
  Form{"bf16x6", "sm_80", "mma", {5, 4}, 5, {1, 1}, "f32", "f32", "f32", "bf16x6", 32, 0, "m16n8k16.row.col.f32.bf16.bf16.f32", 12},
  Form{"int8", "sm_80", "mma", {5, 4}, 6, {0, 0}, "i8", "i8", "i32", "tf32", 8, 0, "m16n8k32.row.col.s32.s8.s8.s32", 8},
  Form{"fp8", "sm_89", "mma", {5, 4}, 6, {0, 0}, "f8E4M3FN", "f8E5M2", "f32", "tf32", 8, 0, "m16n8k32.row.col.f32.e4m3.e5m2.f32", 8},
  Form{"fp8_half_sum", "sm_89", "mma", {5, 4}, 6, {0, 0}, "f8E5M2", "f8E5M2", "f16", "tf32", 8, 0, "m16n8k32.row.col.f32.e5m2.e5m2.f32", 8},
  Form{"fp8_promoted", "sm_90a", "mma", {4, 3}, 7, {0, 0}, "f8E4M3FN", "f8E4M3FN", "f32", "tf32", 8, 64, "m16n8k32.row.col.f32.e4m3.e4m3.f32", 4},
  Form{"f64", "sm_80", "mma", {4, 4}, 4, {0, 0}, "f64", "f64", "f64", "tf32", 64, 0, "m8n8k4.row.col.f64.f64.f64.f64", 16},
  Form{"batches", "sm_80", "mma", {2, 5, 4}, 4, {1, 0, 1}, "f16", "f16", "f32", "tf32", 16, 0, "m16n8k16.row.col.f32.f16.f16.f32", 4},
  Form{"tiny", "sm_80", "mma", {1, 0}, 2, {0, 0}, "f16", "f16", "f32", "tf32", 16, 0, "m16n8k16.row.col.f32.f16.f16.f32", 1},
  Form{"ieee", "sm_80", "fma", {5, 4}, 4, {1, 0}, "f32", "f32", "f32", "ieee", 32, 0, "fma.rn.f32", 8 * 16},
  Form{"fma_half_sum", "sm_80", "fma", {4, 3}, 3, {0, 0}, "f16", "f16", "f16", "tf32", 16, 0, "fma.rn.f32", 4 * 8},
  Form{"fma_f64", "sm_80", "fma", {4, 3}, 3, {0, 0}, "f64", "f64", "f64", "tf32", 64, 0, "fma.rn.f64", 4 * 8},
  Form{"fma_int8", "sm_80", "fma", {4, 3}, 3, {0, 0}, "i8", "i8", "i32", "tf32", 8, 0, "mad.lo.s32", -1},
  Form{"fma_fp8", "sm_80", "fma", {4, 3}, 3, {0, 0}, "f8E5M2", "f8E5M2", "f32", "tf32", 8, 0, "fma.rn.f32", 4 * 8},
  Form{"fma_batches", "sm_80", "fma", {1, 4, 3}, 3, {1, 0, 0}, "f32", "f32", "f32", "ieee", 32, 0, "fma.rn.f32", 4 * 8}),
  [](const auto &info) { return std::string(info.param.name); });
// clang-format on

TEST_P(CodegenDot, HasTheInstructionsOfItsSizeAndAssembles) {
  const Form &form = GetParam();
  std::string ptx = compileToPtx(dotKernel(form), form.target);
  ASSERT_FALSE(ptx.empty()) << dotKernel(form);
  // LLVM may write some integer sums in another way.
  if (form.count < 0)
    EXPECT_GT(countOf(ptx, form.instruction), 0) << ptx;
  else
    EXPECT_EQ(countOf(ptx, form.instruction), form.count) << ptx;
  auto report = assemble(ptx, form.target);
  if (!report)
    GTEST_SKIP() << "no ptxas on the PATH: PTX was made, not assembled";
  EXPECT_TRUE(report->succeeded) << report->text;
  EXPECT_FALSE(report->hasSpills()) << report->text;
}
