//===- CodegenTmaTest.cpp - TMA copies through the real assembler ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: blocks of every rank, width and element type copied in and out: the text
// must assemble, and the number of copies must be what TmaBox.h says.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/CodegenTestSupport.h"

#include "mlir/AsmParser/AsmParser.h"

#include "ir/support/TmaBox.h"

#include "mlir/AsmParser/AsmParser.h"

namespace tilewright::codegen::testing {
namespace {

std::string printed(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A kernel that loads a block, and stores it to another array.
std::string copyKernel(const std::vector<int64_t> &block, const std::string &element) {
  mlir::MLIRContext context;
  loadDialects(context);
  mlir::Type elementType = mlir::parseType(element, &context);
  auto descriptor = ir::DescriptorType::get(&context, block, elementType);
  ir::BufferType buffer = ir::tmaBuffer(descriptor);
  std::string coordinates;
  for (size_t dim = 0; dim < block.size(); ++dim)
    coordinates += dim ? ", %i" : "%i";
  std::string descriptorText = printed(descriptor), bufferText = printed(buffer);
  int64_t bytes = buffer.slotBytes();
  return "module attributes {tw.num_warps = 4 : i32} {\n"
         "func.func @copy(%in: " +
         descriptorText + ", %out: " + descriptorText +
         ", %i: i32) {\n"
         "  %zero = arith.constant 0 : i32\n"
         "  %b = tw.alloc_shared {tw.scratch_offset = 0 : i32} : " +
         bufferText + "\n  %m = tw.mbarrier_alloc 1 {tw.scratch_offset = " + std::to_string(bytes) +
         " : i32} : !tw.mbarrier<1>\n"
         "  tw.barrier\n"
         "  tw.mbarrier_expect %m[%zero], " +
         std::to_string(bytes) +
         " : !tw.mbarrier<1>\n"
         "  tw.tma_load %in[" +
         coordinates + "], %b, %m[%zero] : " + descriptorText + ", " + bufferText +
         ", !tw.mbarrier<1>\n"
         "  tw.mbarrier_wait %m[%zero], %zero : !tw.mbarrier<1>\n"
         "  tw.tma_store %out[" +
         coordinates + "], %b : " + descriptorText + ", " + bufferText +
         "\n  tw.tma_store_wait 0 %b : " + bufferText + "\n  func.return\n}\n}\n";
}

void expectCopies(const std::vector<int64_t> &block, const std::string &element, int bytes,
                  int64_t boxes) {
  SCOPED_TRACE(element + " block of rank " + std::to_string(block.size()));
  EXPECT_EQ(tmaBox(block, bytes).count, boxes);
  std::string ptx = compileToPtx(copyKernel(block, element), "sm_90a");
  std::string rank = std::to_string(block.size());
  EXPECT_EQ(countOf(ptx, "cp.async.bulk.tensor." + rank + "d.shared::cluster.global"), boxes);
  EXPECT_EQ(countOf(ptx, "cp.async.bulk.tensor." + rank + "d.global.shared::cta"), boxes);
  if (std::optional<AssemblerReport> report = assemble(ptx, "sm_90a")) {
    EXPECT_TRUE(report->succeeded) << report->text;
    // A descriptor that was copied to local memory would show here.
    EXPECT_NE(report->text.find("0 bytes stack frame"), std::string::npos) << report->text;
  }
}

TEST(CodegenTma, RowsOfEveryWidth) {
  for (auto [columns, boxes] : {std::pair{8, 1}, {16, 1}, {32, 1}, {64, 1}, {128, 2}, {256, 4}})
    expectCopies({64, columns}, "f16", 2, boxes);
}

TEST(CodegenTma, EveryElementType) {
  for (auto [element, bytes] : {std::pair{"i8", 1},
                                {"f8E4M3FN", 1},
                                {"f8E5M2", 1},
                                {"i16", 2},
                                {"bf16", 2},
                                {"i32", 4},
                                {"f32", 4},
                                {"i64", 8},
                                {"f64", 8}})
    expectCopies({16, 256 / bytes}, element, bytes, 2);
}

TEST(CodegenTma, EveryRank) {
  expectCopies({256}, "f32", 4, 8);
  expectCopies({32, 32}, "f32", 4, 1);
  expectCopies({2, 16, 64}, "f32", 4, 2);
  expectCopies({2, 4, 4, 32}, "f32", 4, 1);
  expectCopies({1, 16, 2, 2, 256}, "i8", 1, 2);
}

/// Extents above 256 are cut, and dimensions outside a cut one go one by one.
TEST(CodegenTma, TallBlocks) {
  expectCopies({512, 16}, "f16", 2, 2);
  expectCopies({1024, 128}, "i8", 1, 4);
  expectCopies({4, 512, 16}, "i8", 1, 8);
}

} // namespace
} // namespace tilewright::codegen::testing
