//===- CodegenOpsTest.cpp - Every elementwise op on every target ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for each element type one kernel with all ops of it, compiled for every
// target and assembled: an instruction that LLVM cannot select, or that the
// assembler refuses for a chip, fails here.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/CodegenTestSupport.h"

using namespace tilewright;
using namespace tilewright::codegen;
using namespace tilewright::codegen::testing;

namespace {

/// Builds a kernel that loads two tiles of `type` and stores the result of each
/// op, so that none is dead.
class KernelText {
public:
  explicit KernelText(const std::string &type) : type(type) {
    text = "#b = #tw.layout<register = [1], lane = [2, 4, 8, 16, 32], warp = [], block = []>\n"
           "module attributes {tw.num_warps = 1 : i32} {\n"
           "func.func @ops(%x: !tw.ptr<" +
           type + ">, %y: !tw.ptr<" + type + ">) {\n";
    text += "  %xp = " + splat(type, "%x");
    text += "  %yp = " + splat(type, "%y");
    for (const char *name : {"x", "y"})
      text += std::string("  %") + name + "v = tw.load %" + name +
              "p {tw.vector_elements = 2 : i32} : " + pointerTile(type) + " -> " + tile(type) +
              "\n";
  }

  std::string tile(const std::string &element) const { return "tensor<64x" + element + ", #b>"; }
  std::string pointerTile(const std::string &element) const {
    return tile("!tw.ptr<" + element + ">");
  }

  /// `name %xv, %yv : tile` with as many operands as asked for.
  void add(const std::string &name, int operands, const std::string &attributes = "") {
    std::string list;
    for (int index = 0; index < operands; ++index)
      list += std::string(index ? ", " : "") + (index == 0 ? "%xv" : "%yv");
    store(name + " " + list + attributes + " : " + tile(type), type);
  }
  void convert(const std::string &name, const std::string &to, const std::string &attributes = "") {
    store(name + " %xv" + attributes + " : " + tile(type) +
              (name.rfind("tw.", 0) == 0 ? " -> " : " to ") + tile(to),
          to);
  }
  void store(const std::string &expression, const std::string &element) {
    std::string id = std::to_string(count++);
    text += "  %v" + id + " = " + expression + "\n";
    std::string stored = element == "i1" ? "i8" : element, value = "%v" + id;
    if (element == "i1") {
      text +=
          "  %w" + id + " = arith.extui %v" + id + " : " + tile("i1") + " to " + tile("i8") + "\n";
      value = "%w" + id;
    }
    text += "  %q" + id + " = tw.bitcast %x : !tw.ptr<" + type + "> -> !tw.ptr<" + stored + ">\n";
    text += "  %p" + id + " = " + splat(stored, "%q" + id);
    text += "  tw.store %p" + id + ", " + value +
            " {tw.vector_elements = 2 : i32} : " + pointerTile(stored) + ", " + tile(stored) + "\n";
  }
  std::string finish() { return text + "  func.return\n}\n}\n"; }

private:
  std::string splat(const std::string &element, const std::string &base) const {
    return "tw.splat " + base + " : !tw.ptr<" + element + "> -> " + pointerTile(element) + "\n";
  }

  std::string type, text;
  int count = 0;
};

void compileAndAssemble(const std::string &text, const std::string &target) {
  std::string ptx = compileToPtx(text, target);
  ASSERT_FALSE(ptx.empty()) << text;
  auto report = assemble(ptx, target);
  if (!report)
    GTEST_SKIP() << "no ptxas on the PATH: PTX was made, not assembled";
  EXPECT_TRUE(report->succeeded) << report->text << ptx;
}

class CodegenOps : public ::testing::TestWithParam<std::tuple<const char *, const char *>> {};

std::string nameOf(const ::testing::TestParamInfo<std::tuple<const char *, const char *>> &info) {
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}

class CodegenFloatOps : public CodegenOps {};
INSTANTIATE_TEST_SUITE_P(Types, CodegenFloatOps,
                         ::testing::Combine(::testing::Values("f8E4M3FN", "f8E5M2", "f16", "bf16",
                                                              "f32", "f64"),
                                            ::testing::Values("sm_80", "sm_86", "sm_89", "sm_90a")),
                         nameOf);

TEST_P(CodegenFloatOps, Assemble) {
  auto [type, target] = GetParam();
  KernelText kernel(type);
  for (const char *op :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf",
        "arith.maxnumf", "arith.minnumf", "tw.precise_div", "math.copysign"})
    kernel.add(op, 2);
  for (const char *op : {"arith.negf", "math.absf", "math.sqrt", "tw.precise_sqrt", "math.floor",
                         "math.ceil", "math.trunc", "math.round", "math.roundeven"})
    kernel.add(op, 1);
  kernel.add("math.fma", 3);
  // In f64 these come from libdevice, which a test machine may lack.
  if (std::string(type) != "f64") {
    for (const char *op : {"math.exp", "math.exp2", "math.log", "math.log2", "math.sin", "math.cos",
                           "math.tanh", "math.erf", "math.rsqrt"})
      kernel.add(op, 1);
    kernel.add("arith.remf", 2);
  }
  for (const char *predicate : {"olt", "oeq", "une", "ord", "uge"})
    kernel.store(std::string("arith.cmpf ") + predicate + ", %xv, %yv : " + kernel.tile(type),
                 "i1");
  for (const char *to : {"f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"}) {
    kernel.convert("tw.float_cast", to);
    kernel.convert("tw.float_cast", to, " {rounding = #tw.rounding<toward_zero>}");
  }
  for (const char *to : {"i8", "i16", "i32", "i64"}) {
    kernel.convert("arith.fptosi", to);
    kernel.convert("arith.fptoui", to);
  }
  compileAndAssemble(kernel.finish(), target);
}

class CodegenIntegerOps : public CodegenOps {};
INSTANTIATE_TEST_SUITE_P(Types, CodegenIntegerOps,
                         ::testing::Combine(::testing::Values("i8", "i16", "i32", "i64"),
                                            ::testing::Values("sm_80", "sm_90a")),
                         nameOf);

TEST_P(CodegenIntegerOps, Assemble) {
  auto [type, target] = GetParam();
  KernelText kernel(type);
  for (const char *op :
       {"arith.addi",  "arith.subi",  "arith.muli",      "arith.divsi",     "arith.divui",
        "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi",
        "arith.andi",  "arith.ori",   "arith.xori",      "arith.shli",      "arith.shrsi",
        "arith.shrui", "arith.maxsi", "arith.minsi",     "arith.maxui",     "arith.minui"})
    kernel.add(op, 2);
  kernel.store("tw.mul_high %xv, %yv signed : " + kernel.tile(type), type);
  kernel.add("tw.mul_high", 2);
  for (const char *op : {"math.absi", "math.ctlz", "math.cttz", "math.ctpop"})
    kernel.add(op, 1);
  for (const char *predicate : {"eq", "slt", "uge"})
    kernel.store(std::string("arith.cmpi ") + predicate + ", %xv, %yv : " + kernel.tile(type),
                 "i1");
  for (const char *to : {"f8E4M3FN", "f16", "bf16", "f32", "f64"}) {
    kernel.convert("arith.sitofp", to);
    kernel.convert("arith.uitofp", to);
  }
  compileAndAssemble(kernel.finish(), target);
}

} // namespace
