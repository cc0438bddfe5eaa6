//===- CodegenPtxTest.cpp - Kernels to PTX and through the assembler ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: whole kernels in hand-written layouts are compiled for every target,
// assembled where ptxas is found, and their resource reports checked.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/FatalErrors.h"
#include "tests/unit/CodegenTestSupport.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"

#include <ctime>

using namespace tilewright;
using namespace tilewright::codegen;
using namespace tilewright::codegen::testing;

/// x + y over one row of `extent` elements by 4 warps, 4 elements a vector.
static std::string vectorAdd(int extent) {
  std::string n = std::to_string(extent), columns = "1, 2";
  for (int column = 512; column < extent; column *= 2)
    columns += ", " + std::to_string(column);
  std::string text = R"(
#b = #tw.layout<register = [COLUMNS], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
module attributes {tw.num_warps = 4 : i32} {
func.func @add(%x: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %y: !tw.ptr<f32> {tw.divisibility = 16 : i64},
               %out: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) {
  %c = arith.constant EXTENT : i32
  %pid = tw.program_id 0 : i32
  %start = arith.muli %pid, %c : i32
  %r = tw.range 0 to EXTENT : tensor<EXTENTxi32, #b>
  %s = tw.splat %start : i32 -> tensor<EXTENTxi32, #b>
  %offs = arith.addi %s, %r : tensor<EXTENTxi32, #b>
  %ns = tw.splat %n : i32 -> tensor<EXTENTxi32, #b>
  %mask = arith.cmpi slt, %offs, %ns : tensor<EXTENTxi32, #b>
  %xs = tw.splat %x : !tw.ptr<f32> -> tensor<EXTENTx!tw.ptr<f32>, #b>
  %xp = tw.addptr %xs, %offs : tensor<EXTENTx!tw.ptr<f32>, #b>, tensor<EXTENTxi32, #b>
  %a = tw.load %xp mask %mask : tensor<EXTENTxi1, #b> {tw.vector_elements = 4 : i32}
       : tensor<EXTENTx!tw.ptr<f32>, #b> -> tensor<EXTENTxf32, #b>
  %ys = tw.splat %y : !tw.ptr<f32> -> tensor<EXTENTx!tw.ptr<f32>, #b>
  %yp = tw.addptr %ys, %offs : tensor<EXTENTx!tw.ptr<f32>, #b>, tensor<EXTENTxi32, #b>
  %b = tw.load %yp mask %mask : tensor<EXTENTxi1, #b> {tw.vector_elements = 4 : i32}
       : tensor<EXTENTx!tw.ptr<f32>, #b> -> tensor<EXTENTxf32, #b>
  %z = arith.addf %a, %b : tensor<EXTENTxf32, #b>
  %os = tw.splat %out : !tw.ptr<f32> -> tensor<EXTENTx!tw.ptr<f32>, #b>
  %op = tw.addptr %os, %offs : tensor<EXTENTx!tw.ptr<f32>, #b>, tensor<EXTENTxi32, #b>
  tw.store %op, %z mask %mask : tensor<EXTENTxi1, #b> {tw.vector_elements = 4 : i32}
       : tensor<EXTENTx!tw.ptr<f32>, #b>, tensor<EXTENTxf32, #b>
  func.return
}
})";
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t position = text.find(from); position != std::string::npos;
         position = text.find(from))
      text.replace(position, from.size(), to);
  };
  replaceAll("EXTENT", n);
  replaceAll("COLUMNS", columns);
  return text;
}

class CodegenPtx : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, CodegenPtx,
                         ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90a"));

TEST_P(CodegenPtx, VectorAddUsesWideAccessesAndFoldsAddresses) {
  std::string ptx = compileToPtx(vectorAdd(1024), GetParam());
  EXPECT_NE(ptx.find(std::string(".target ") + GetParam()), std::string::npos) << ptx;
  EXPECT_EQ(countOf(ptx, "ld.global.v4.b32"), 4);
  EXPECT_EQ(countOf(ptx, "st.global.v4.b32"), 2);
  // One 64-bit address per tensor; the second vector is a constant away.
  EXPECT_EQ(countOf(ptx, "mul.wide.s32"), 1);
  EXPECT_NE(ptx.find(".reqntid 128, 1, 1"), std::string::npos);
  auto report = assemble(ptx, GetParam());
  if (!report)
    GTEST_SKIP() << "no ptxas on the PATH: PTX was checked, not assembled";
  EXPECT_TRUE(report->succeeded) << report->text;
  EXPECT_FALSE(report->hasSpills()) << report->text;
  EXPECT_LE(report->registers(), 32) << report->text;
}

/// Loads ("l") and stores ("s") of global memory after the barrier, in order.
static std::string accessesBehindBarrier(const std::string &ptx) {
  std::string accesses;
  size_t position = ptx.find("bar.sync");
  while ((position = ptx.find(".global", position)) != std::string::npos) {
    accesses += ptx[position - 2] == 'l' ? 'l' : 's';
    ++position;
  }
  return accesses;
}

// After a barrier each vector is stored before the next one is loaded, if registers are
// short and the arrays differ.
TEST(CodegenOrder, StoresComeBetweenLoads) {
  std::string text = vectorAdd(2048);
  text.insert(text.find("%ys = "), "tw.barrier\n  ");
  EmitOptions options;
  EXPECT_EQ(accessesBehindBarrier(compileToPtx(text, "sm_90a", options)), "llllssss");
  options.orderRegisters = 16;
  EXPECT_EQ(accessesBehindBarrier(compileToPtx(text, "sm_90a", options)), "lslslsls");
  options.orderRegisters = 32;
  EXPECT_EQ(accessesBehindBarrier(compileToPtx(text, "sm_90a", options)), "llllssss");
  // The same array.
  options.orderRegisters = 16;
  std::string inPlace = text;
  inPlace.replace(inPlace.find("tw.splat %out"), 13, "tw.splat %y");
  EXPECT_EQ(accessesBehindBarrier(compileToPtx(inPlace, "sm_90a", options)), "llllssss");
  // An address from elsewhere.
  std::string unknown = text;
  unknown.replace(unknown.find("%os = tw.splat %out"), 19,
                  "%number = arith.extsi %n : i32 to i64\n"
                  "  %pointer = tw.int_to_ptr %number : i64 -> !tw.ptr<f32>\n"
                  "  %os = tw.splat %pointer");
  EXPECT_EQ(accessesBehindBarrier(compileToPtx(unknown, "sm_90a", options)), "llllssss");
}

static const char *doubleExp = R"(
module attributes {tw.num_warps = 1 : i32, tw.max_registers = 64 : i32} {
func.func @exp(%p: !tw.ptr<f64>, %x: f64) {
  %0 = math.exp %x : f64
  tw.store %p, %0 : !tw.ptr<f64>, f64
  func.return
}
})";

// Linked, inlined and gone: no call and no declaration is left.
TEST(CodegenLibdevice, DoublePrecisionIsLinkedAndInlined) {
  EmitOptions options;
  for (const char *toolkit : {"/usr/local/cuda", "/usr/local/cuda-13.0", "/usr/local/cuda-12.5"}) {
    std::string path = std::string(toolkit) + "/nvvm/libdevice/libdevice.10.bc";
    if (options.libdevicePath.empty() && llvm::sys::fs::exists(path))
      options.libdevicePath = path;
  }
  if (options.libdevicePath.empty())
    GTEST_SKIP() << "no libdevice on this machine";
  std::string ptx = compileToPtx(doubleExp, "sm_90a", options);
  EXPECT_NE(ptx.find("fma.rn.f64"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find("__nv_"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".maxnreg 64"), std::string::npos) << ptx;
}

TEST(CodegenLibdevice, MissingFilesAreNamed) {
  mlir::MLIRContext context;
  loadDialects(context);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(doubleExp, &context);
  TargetInfo target = getTargetInfo("sm_90a");
  ASSERT_TRUE(succeeded(lowerToLLVM(*module, target, nullptr)));
  EmitOptions options;
  options.libdevicePath = "/nowhere/libdevice.10.bc";
  EXPECT_TRUE(failed(emitPtx(*module, target, options)));
  EXPECT_NE(message.find("cannot read libdevice at '/nowhere/libdevice.10.bc'"), std::string::npos)
      << message;
}

/// Seconds of computing that a kernel takes to compile: other processes do not count.
static double secondsOfCompiling(const std::string &text, std::string *ptx = nullptr) {
  std::clock_t start = std::clock();
  std::string made = compileToPtx(text, "sm_90a");
  double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_FALSE(made.empty());
  if (ptx)
    *ptx = made;
  return seconds;
}

// Compile time must not grow faster than the tile.
TEST(CodegenPtxTime, LongRowsCompileQuickly) {
  std::string ptx;
  double seconds = secondsOfCompiling(vectorAdd(16384), &ptx);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
  EXPECT_EQ(countOf(ptx, "ld.global.v4.b32"), 64);
  EXPECT_LT(seconds, 0.3);
}

/// The machine code of `text` as LLVM prints it where it comes to each of the passes.
static std::string machineCodeBefore(const std::string &text, const std::string &passes) {
  std::string option = "-print-before=" + passes;
  const char *arguments[] = {"tilewright-unit", option.c_str()};
  llvm::cl::ParseCommandLineOptions(2, arguments);
  ::testing::internal::CaptureStderr();
  std::string made = compileToPtx(text, "sm_90a");
  std::string printed = ::testing::internal::GetCapturedStderr();
  llvm::cl::ResetAllOptionOccurrences();
  EXPECT_FALSE(made.empty());
  return printed;
}

// Every 16-bit float read from memory is a proxy register for a while. LLVM erases them in time quadratic in their
// number: a large tile of halves took half as long again as one of floats. So none must be left when it comes to that.
// Counted, not timed: the times of a machine that does other work as well are too far apart to compare.
TEST(CodegenPtx, NoProxyRegisterIsLeftToErase) {
  std::string halves = vectorAdd(1024);
  for (size_t at = halves.find("f32"); at != std::string::npos; at = halves.find("f32", at))
    halves.replace(at, 3, "bf16"), at += 4;
  EXPECT_GE(countOf(machineCodeBefore(halves, "peephole-opt"), "ProxyReg"), 8);
  std::string left = machineCodeBefore(halves, "nvptx-proxyreg-erasure");
  EXPECT_EQ(countOf(left, "FADDbf16x2rr"), 4) << left;
  EXPECT_EQ(countOf(left, "ProxyReg"), 0) << left;
}

TEST(CodegenPtxTime, SmallKernelsTakeMilliseconds) {
  secondsOfCompiling(vectorAdd(1024)); // the target's tables are made once
  double seconds = secondsOfCompiling(vectorAdd(1024));
  RecordProperty("microseconds", static_cast<int>(seconds * 1e6));
  EXPECT_LT(seconds, 0.05);
}

//===----------------------------------------------------------------------===//
// What LLVM cannot do
//===----------------------------------------------------------------------===//

TEST(CodegenGivesUp, TheReasonOfAFatalErrorIsReturned) {
  EXPECT_EQ(reasonToGiveUp([] {}), std::nullopt);
  EXPECT_EQ(reasonToGiveUp([] { llvm::report_fatal_error("no such instruction"); }),
            "no such instruction");
}

TEST(CodegenGivesUp, InstructionSelectionEndsInADiagnostic) {
  mlir::MLIRContext context;
  loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
llvm.func @k(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %0 = llvm.fptrunc %x : f32 to bf16
  %1 = llvm.bitcast %0 : bf16 to f16
  %2 = llvm.fpext %1 : f16 to f32
  llvm.store %2, %p : f32, !llvm.ptr<1>
  llvm.return
})",
                                                        &context, "kernel.mlir");
  ASSERT_TRUE(module);
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) { text = diagnostic.str(); });
  EXPECT_TRUE(failed(emitPtx(*module, getTargetInfo("sm_90a"), {})));
  EXPECT_EQ(text.rfind("LLVM gave up: Cannot select", 0), 0u) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  // The process goes on, and so does LLVM.
  EXPECT_NE(compileToPtx(vectorAdd(1024), "sm_90a"), "");
}
