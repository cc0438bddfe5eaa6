//===- CodegenPasses.cpp - Code generation from tilewright-opt ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: --tw-lower-to-llvm turns a kernel of the layout level into the LLVM
// dialect; --tw-emit-ptx lowers it and prints its PTX instead of the module. For
// tests and for looking; compileModule calls the functions directly.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/EmitPtx.h"
#include "codegen/lower/Lowering.h"
#include "ir/support/Error.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

/// What both passes share: dialects and the target.
struct CodegenPass : OperationPass<ModuleOp> {
  explicit CodegenPass(TypeID id) : OperationPass<ModuleOp>(id) {}
  CodegenPass(const CodegenPass &other) : OperationPass<ModuleOp>(other) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  /// The target, or null after an error at the module.
  std::unique_ptr<TargetInfo> targetInfo() {
    try {
      return std::make_unique<TargetInfo>(getTargetInfo(target));
    } catch (const Error &error) {
      getOperation().emitError(error.message());
      return nullptr;
    }
  }

  Option<std::string> target{*this, "target", llvm::cl::desc("GPU, such as sm_90a"),
                             llvm::cl::init("sm_90a")};
};

struct LowerToLLVMPass : PassWrapper<LowerToLLVMPass, CodegenPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerToLLVMPass)
  LowerToLLVMPass() = default;
  LowerToLLVMPass(const LowerToLLVMPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "tw-lower-to-llvm"; }
  StringRef getDescription() const override {
    return "Lower a kernel with layouts to the LLVM dialect";
  }

  void runOnOperation() override {
    std::unique_ptr<TargetInfo> info = targetInfo();
    if (!info || failed(lowerToLLVM(getOperation(), *info, /*remarks=*/nullptr)))
      signalPassFailure();
  }
};

struct EmitPtxPass : PassWrapper<EmitPtxPass, CodegenPass> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitPtxPass)
  EmitPtxPass() = default;
  EmitPtxPass(const EmitPtxPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "tw-emit-ptx"; }
  StringRef getDescription() const override { return "Print the PTX of a kernel with layouts"; }

  void runOnOperation() override {
    std::unique_ptr<TargetInfo> info = targetInfo();
    if (!info || failed(lowerToLLVM(getOperation(), *info, /*remarks=*/nullptr)))
      return signalPassFailure();
    EmitOptions options;
    options.enableFpFusion = fuse;
    options.lineInfo = lines;
    options.libdevicePath = libdevice;
    auto kernel = emitPtx(getOperation(), *info, options);
    if (failed(kernel))
      return signalPassFailure();
    llvm::outs() << (showLLVM ? kernel->llvmIR : kernel->ptx);
    getOperation().getBody()->clear();
  }

  Option<bool> fuse{*this, "fuse", llvm::cl::desc("contract to fma"), llvm::cl::init(true)};
  Option<bool> lines{*this, "lines", llvm::cl::desc("line information"), llvm::cl::init(false)};
  Option<bool> showLLVM{*this, "llvm", llvm::cl::desc("print LLVM IR instead"),
                        llvm::cl::init(false)};
  Option<std::string> libdevice{*this, "libdevice", llvm::cl::desc("path of libdevice"),
                                llvm::cl::init("")};
};

} // namespace

void registerCodegenPasses() {
  PassRegistration<LowerToLLVMPass>();
  PassRegistration<EmitPtxPass>();
}

} // namespace tilewright::codegen
