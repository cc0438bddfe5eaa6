//===- CodegenTestSupport.h - Compiling text to PTX -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the tests of code generation share: a context with the dialects,
// text to PTX, and the assembler's report where ptxas is on the PATH.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_CODEGENTESTSUPPORT_H
#define TILEWRIGHT_TESTS_UNIT_CODEGENTESTSUPPORT_H

#include "codegen/emit/EmitPtx.h"
#include "codegen/lower/Lowering.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tilewright::codegen::testing {

inline void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<ir::TWDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                      mlir::NVVM::NVVMDialect>();
}

/// PTX of a module of the layout level; empty after a test failure.
inline std::string compileToPtx(const std::string &text, const std::string &target,
                                const EmitOptions &options = {}) {
  mlir::MLIRContext context;
  loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "kernel.mlir");
  if (!module) {
    ADD_FAILURE() << "the test's module does not parse";
    return "";
  }
  TargetInfo info = getTargetInfo(target);
  if (failed(lowerToLLVM(*module, info, nullptr))) {
    ADD_FAILURE() << "lowering failed for " << target;
    return "";
  }
  auto kernel = emitPtx(*module, info, options);
  if (failed(kernel)) {
    ADD_FAILURE() << "emission failed for " << target;
    return "";
  }
  return kernel->ptx;
}

/// What ptxas -v says, or nothing where there is no ptxas.
struct AssemblerReport {
  bool succeeded = false;
  std::string text;
  bool hasSpills() const {
    return text.find(" 0 bytes spill stores, 0 bytes spill loads") == std::string::npos;
  }
  /// Whether products of warpgroups wait for each other: "(C7514) Potential
  /// Performance Loss: wgmma.mma_async instructions are serialized".
  bool isSerialized() const { return text.find("(C75") != std::string::npos; }
  /// Registers of the kernel; -1 where the report names none.
  int registers() const {
    size_t position = text.find("Used ");
    return position == std::string::npos ? -1 : std::atoi(text.c_str() + position + 5);
  }
};
inline std::optional<AssemblerReport> assemble(const std::string &ptx, const std::string &target) {
  auto program = llvm::sys::findProgramByName("ptxas");
  if (!program)
    return std::nullopt;
  llvm::SmallString<64> input, output, log;
  AssemblerReport report;
  if (llvm::sys::fs::createTemporaryFile("kernel", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("kernel", "cubin", output) ||
      llvm::sys::fs::createTemporaryFile("kernel", "log", log))
    return report;
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(input, error);
    stream << ptx;
  }
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, log.str(), log.str()};
  int status = llvm::sys::ExecuteAndWait(
      *program, {*program, "-arch", target, "-v", input, "-o", output}, std::nullopt, redirects);
  if (auto buffer = llvm::MemoryBuffer::getFile(log))
    report.text = (*buffer)->getBuffer().str();
  report.succeeded = status == 0;
  for (auto &path : {input, output, log})
    llvm::consumeError(llvm::errorCodeToError(llvm::sys::fs::remove(path)));
  return report;
}

inline int countOf(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t position = text.find(part); position != std::string::npos;
       position = text.find(part, position + 1))
    ++count;
  return count;
}

} // namespace tilewright::codegen::testing

#endif // TILEWRIGHT_TESTS_UNIT_CODEGENTESTSUPPORT_H
