//===- EmitPtx.h - LLVM dialect to LLVM IR to PTX ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_EMITPTX_H
#define TILEWRIGHT_CODEGEN_EMIT_EMITPTX_H

#include "ir/support/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tilewright::codegen {

struct EmitOptions {
  /// Lets LLVM contract a*b+c to an fma.
  bool enableFpFusion = true;
  bool lineInfo = true;
  /// Registers of a thread that the instructions after a reduction should do with, though
  /// loads then move behind stores; 0 leaves loads in their place.
  int64_t orderRegisters = 0;
  /// Whether what stores need may be put into their order at all (OrderByStores.h).
  bool ordersByStores = true;
  /// Path of libdevice.10.bc; empty where none was found. Linked only into
  /// modules that call it.
  std::string libdevicePath;
};

struct EmittedKernel {
  std::string kernelName;
  std::string llvmIR;
  std::string ptx;
  /// A load may have got after a store through another argument (OrderByStores.h).
  bool movesLoadsAfterStores = false;
};

/// Translates a module of the LLVM dialect, optimises it and emits PTX. Emits
/// diagnostics at the module on failure.
mlir::FailureOr<EmittedKernel> emitPtx(mlir::ModuleOp module, const TargetInfo &target,
                                       const EmitOptions &options);

/// Registers --tw-lower-to-llvm and --tw-emit-ptx (option target=sm_90a) for
/// tilewright-opt.
void registerCodegenPasses();

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_EMITPTX_H
