//===- CompileDiagnostics.h - MLIR's errors as coded ones -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: passes report errors as MLIR diagnostics. One that begins with a code, as
// "[E0301] ...", is a mistake in the user's kernel; every other one is a defect
// of the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_COMPILEDIAGNOSTICS_H
#define TILEWRIGHT_CODEGEN_EMIT_COMPILEDIAGNOSTICS_H

#include "codegen/emit/CompileModule.h"

#include "mlir/IR/Diagnostics.h"

namespace tilewright::codegen {

/// Collects the first error that MLIR reports while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// Whether the first error is E0301.
  bool isOutOfShared() const { return llvm::StringRef(message).starts_with("[E0301]"); }

  /// Raises the first error where it has a code. Its last note becomes the help, unless
  /// there is a better one.
  void raiseCoded(const std::string &help = "") const;

  /// What an internal error says.
  std::string text() const { return message.empty() ? "failed without a message" : message; }
  void addFrames(Error &error) const;

private:
  void take(mlir::Diagnostic &diagnostic);

  std::string message;
  std::vector<SourceFrame> frames;
  std::vector<std::string> notes;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_COMPILEDIAGNOSTICS_H
