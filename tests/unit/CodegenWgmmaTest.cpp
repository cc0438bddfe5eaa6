//===- CodegenWgmmaTest.cpp - Products by warpgroups, assembled -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a pipelined product loop of every form of tw.wgmma, from the layout
// level to the assembler's report: no instruction waits for another that it need
// not wait for, nothing spills, and accumulators are not copied.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutTransforms.h"
#include "tests/unit/CodegenTestSupport.h"
#include "tests/unit/MatrixTestSupport.h"

using namespace tilewright;
using namespace tilewright::codegen::testing;

namespace {

struct Form {
  const char *name;
  int log2M, log2N, log2K, warpsM, warpsN;
  const char *typeA = "f16", *typeB = "f16", *accumulator = "f32";
  int bits = 16, swizzle = 128;
  bool aAlongM = false, bAlongN = false, aIsTile = false;
  int maxImprecise = 0;
  /// What the PTX must contain, how often.
  const char *instruction = "";
  int count = 0;
  int maxRegisters = 168;
};

std::ostream &operator<<(std::ostream &stream, const Form &form) { return stream << form.name; }

constexpr int stages = 3;

/// acc += a[slot] * b[slot] for %n slots, one product in flight.
std::string loopKernel(const Form &form) {
  std::vector<int> shapeA{form.log2M, form.log2K}, shapeB{form.log2K, form.log2N};
  std::vector<int> rowMajor{1, 0}, columnMajor{0, 1};
  LinearLayout a =
      makeSwizzledShared(shapeA, form.bits, form.swizzle, form.aAlongM ? columnMajor : rowMajor);
  LinearLayout b =
      makeSwizzledShared(shapeB, form.bits, form.swizzle, form.bAlongN ? rowMajor : columnMajor);
  LinearLayout acc = makeWgmmaAccumulator({form.log2M, form.log2N}, form.warpsM, form.warpsN);
  TextTemplate text(R"(
#a = $a
#b = $b
#c = $c
#t = $t
module attributes {tw.num_warps = $warps : i32, tw.shared_bytes = $bytes : i32} {
func.func @gemm(%out: !tw.ptr<$tacc>, %n: i32, %fill: $fill) {
  %zero = arith.constant dense<$zero> : tensor<$Mx$Nx$tacc, #c>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  $tile
  %as = tw.alloc_shared {tw.scratch_offset = 0 : i32} : !tw.buffer<$Mx$Kx$ta, #a, 3>
  %bs = tw.alloc_shared {tw.scratch_offset = $offsetB : i32} : !tw.buffer<$Kx$Nx$tb, #b, 3>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %slot = %c0)
         -> (tensor<$Mx$Nx$tacc, #c>, i32) : i32 {
    %ab = tw.buffer_slot %as[%slot] : !tw.buffer<$Mx$Kx$ta, #a, 3> -> !tw.buffer<$Mx$Kx$ta, #a>
    %b = tw.buffer_slot %bs[%slot] : !tw.buffer<$Kx$Nx$tb, #b, 3> -> !tw.buffer<$Kx$Nx$tb, #b>
    %d = tw.wgmma $a_name, %b, %acc async warps [$wm, $wn] {maxImprecise = $imprecise : i32}
       : $a_type, !tw.buffer<$Kx$Nx$tb, #b>, tensor<$Mx$Nx$tacc, #c>
    %w = tw.wgmma_wait 1 %d : tensor<$Mx$Nx$tacc, #c> -> tensor<$Mx$Nx$tacc, #c>
    %next = arith.addi %slot, %c1 : i32
    %isEnd = arith.cmpi eq, %next, %c3 : i32
    %wrapped = arith.select %isEnd, %c0, %next : i32
    scf.yield %w, %wrapped : tensor<$Mx$Nx$tacc, #c>, i32
  }
  %f = tw.wgmma_wait 0 %r#0 : tensor<$Mx$Nx$tacc, #c> -> tensor<$Mx$Nx$tacc, #c>
  %p = tw.splat %out : !tw.ptr<$tacc> -> tensor<$Mx$Nx!tw.ptr<$tacc>, #c>
  %columns = tw.range 0 to $N : tensor<$Nxi32, #n>
  %row = tw.expand_dims %columns, 0 : tensor<$Nxi32, #n> -> tensor<1x$Nxi32, #n1>
  %index = tw.broadcast %row : tensor<1x$Nxi32, #n1> -> tensor<$Mx$Nxi32, #c>
  %q = tw.addptr %p, %index : tensor<$Mx$Nx!tw.ptr<$tacc>, #c>, tensor<$Mx$Nxi32, #c>
  tw.store %q, %f {tw.vector_elements = 2 : i32} : tensor<$Mx$Nx!tw.ptr<$tacc>, #c>, tensor<$Mx$Nx$tacc, #c>
  func.return
}
}
)");
  int64_t bytesA = (int64_t(form.bits) << (form.log2M + form.log2K)) / 8 * stages;
  int64_t bytesB = (int64_t(form.bits) << (form.log2K + form.log2N)) / 8 * stages;
  LinearLayout columnLayout = broadcastOperandLayout(acc, {0, form.log2N});
  text.set("offsetB", bytesA).set("bytes", bytesA + bytesB);
  text.set("warps", 1 << (form.warpsM + form.warpsN));
  text.set("zero", form.accumulator[0] == 'i' ? "0" : "0.0").set("imprecise", form.maxImprecise);
  text.set("fill", form.aIsTile ? form.typeA : "i32");
  text.set("tile", form.aIsTile ? "%at = tw.splat %fill : $ta -> tensor<$Mx$Kx$ta, #t>" : "");
  text.set("a_name", form.aIsTile ? "%at" : "%ab");
  text.set("a_type", form.aIsTile ? "tensor<$Mx$Kx$ta, #t>" : "!tw.buffer<$Mx$Kx$ta, #a>");
  text.set("tacc", form.accumulator).set("ta", form.typeA).set("tb", form.typeB);
  text.set("wm", form.warpsM).set("wn", form.warpsN);
  text.set("M", 1 << form.log2M).set("N", 1 << form.log2N).set("K", 1 << form.log2K);
  text.replace("#n1", layoutText(columnLayout))
      .replace("#n", layoutText(squeezeDim(columnLayout, 0)));
  text.set("a", sharedText(a)).set("b", sharedText(b)).set("c", layoutText(acc));
  text.set("t", layoutText(
                    makeDotOperand(DotOperand::A, shapeA, {form.warpsM, form.warpsN}, form.bits)));
  return text.take();
}

class CodegenWgmma : public ::testing::TestWithParam<Form> {};

} // namespace

// clang-format off
INSTANTIATE_TEST_SUITE_P(Forms, CodegenWgmma, ::testing::Values(
  Form{"f16", 7, 8, 6, 3, 0, "f16", "f16", "f32", 16, 128, false, false, false, 0, "m64n256k16.f32.f16.f16", 4},
  Form{"bf16_b_row_major", 7, 8, 6, 3, 0, "bf16", "bf16", "f32", 16, 128, false, true, false, 0, "m64n256k16.f32.bf16.bf16", 4},
  Form{"bf16_both_mn_major", 7, 8, 6, 3, 0, "bf16", "bf16", "f32", 16, 128, true, true, false, 0, "m64n256k16.f32.bf16.bf16", 4},
  Form{"two_row_blocks", 7, 7, 6, 2, 0, "f16", "f16", "f32", 16, 128, false, false, false, 0, "m64n128k16.f32.f16.f16", 8},
  Form{"warpgroups_along_n", 6, 8, 6, 2, 1, "f16", "f16", "f32", 16, 128, false, true, false, 0, "m64n128k16.f32.f16.f16", 4},
  Form{"f16_accumulator", 7, 8, 6, 3, 0, "f16", "f16", "f16", 16, 128, false, false, false, 0, "m64n256k16.f16.f16.f16", 4},
  Form{"tf32", 7, 7, 5, 3, 0, "f32", "f32", "f32", 32, 128, false, false, false, 0, "m64n128k8.f32.tf32.tf32", 4},
  Form{"fp8_mixed", 7, 8, 6, 3, 0, "f8E4M3FN", "f8E5M2", "f32", 8, 128, false, false, false, 0, "m64n256k32.f32.e4m3.e5m2", 2},
  Form{"fp8_promoted", 7, 7, 7, 3, 0, "f8E5M2", "f8E5M2", "f32", 8, 128, false, false, false, 64, "m64n128k32.f32.e5m2.e5m2", 4},
  Form{"int8", 7, 8, 7, 3, 0, "i8", "i8", "i32", 8, 128, false, false, false, 0, "m64n256k32.s32.s8.s8", 4},
  Form{"a_in_registers", 7, 8, 6, 3, 0, "f16", "f16", "f32", 16, 128, false, true, true, 0, "m64n256k16.f32.f16.f16", 4, 184},
  Form{"a_in_registers_tf32", 6, 6, 5, 2, 0, "f32", "f32", "f32", 32, 128, false, false, true, 0, "m64n64k8.f32.tf32.tf32", 4},
  Form{"swizzle_64", 7, 6, 6, 3, 0, "f16", "f16", "f32", 16, 64, false, true, false, 0, "m64n64k16.f32.f16.f16", 4},
  Form{"swizzle_32", 7, 6, 6, 3, 0, "f16", "f16", "f32", 16, 32, true, false, false, 0, "m64n64k16.f32.f16.f16", 4},
  Form{"no_swizzle", 7, 6, 6, 3, 0, "f16", "f16", "f32", 16, 16, false, true, false, 0, "m64n64k16.f32.f16.f16", 4},
  Form{"smallest", 6, 3, 4, 2, 0, "f16", "f16", "f32", 16, 128, false, false, false, 0, "m64n8k16.f32.f16.f16", 1}),
  [](const auto &info) { return std::string(info.param.name); });
// clang-format on

TEST_P(CodegenWgmma, LoopKeepsProductsInFlight) {
  const Form &form = GetParam();
  std::string ptx = compileToPtx(loopKernel(form), "sm_90a");
  ASSERT_FALSE(ptx.empty());
  EXPECT_EQ(countOf(ptx, std::string("wgmma.mma_async.sync.aligned.") + form.instruction),
            form.count);
  auto report = assemble(ptx, "sm_90a");
  if (!report)
    GTEST_SKIP() << "no ptxas on the PATH: PTX was made, not assembled";
  ASSERT_TRUE(report->succeeded) << report->text;
  EXPECT_FALSE(report->isSerialized()) << report->text;
  EXPECT_FALSE(report->hasSpills()) << report->text;
  EXPECT_LE(report->registers(), form.maxRegisters) << report->text;
}

// What the checks above look for must be reported at all: here the accumulator
// is read while its product is in flight.
TEST(CodegenWgmmaReport, SerializedProductsAreReported) {
  std::string text = loopKernel({"early", 6, 6, 6, 2, 0});
  std::string wait = "%w = tw.wgmma_wait 1 %d";
  size_t position = text.find(wait);
  ASSERT_NE(position, std::string::npos);
  std::string type = "tensor<64x64xf32, #c>";
  text.replace(position, wait.size(),
               "%early = arith.addf %d, %d : " + type + "\n %w = tw.wgmma_wait 1 %early");
  std::string ptx = compileToPtx(text, "sm_90a");
  auto report = assemble(ptx, "sm_90a");
  if (!report)
    GTEST_SKIP() << "no ptxas on the PATH";
  EXPECT_TRUE(report->isSerialized()) << report->text;
}
