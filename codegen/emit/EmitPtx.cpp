//===- EmitPtx.cpp - LLVM dialect to LLVM IR to PTX -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the last stage in this process before the assembler.
//
// How:
//   1. translate the module with MLIR's exporter,
//   2. mark which memory each piece of inline PTX may touch, so that LLVM can
//      move and merge it,
//   3. link the device library or libdevice if the kernel calls a function of
//      them,
//   4. optimise (Optimize.cpp),
//   5. run LLVM's NVPTX back end.
//
// Not handled: flushing denormals. IEEE denormals are kept everywhere, which
// costs nothing on memory-bound kernels and one multiplication in lg2. The results
// of exp and exp2 are the exception (LowerMath.cpp).
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/EmitPtx.h"

#include "codegen/emit/DebugScopes.h"
#include "codegen/emit/DeviceLibrary.h"
#include "codegen/emit/FatalErrors.h"
#include "codegen/emit/MachinePasses.h"
#include "codegen/emit/Optimize.h"
#include "codegen/emit/OrderByStores.h"
#include "codegen/target/Targets.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <fmt/format.h>

#include <mutex>

extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

using namespace mlir;

namespace tilewright::codegen {

static constexpr const char *tripleText = "nvptx64-nvidia-cuda";

//===----------------------------------------------------------------------===//
// Target machine
//===----------------------------------------------------------------------===//

static const llvm::Target *nvptxTarget() {
  static std::once_flag once;
  static const llvm::Target *target = nullptr;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    target = llvm::TargetRegistry::lookupTarget(tripleText, error);
  });
  return target;
}

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const TargetInfo &info,
                                                              bool enableFpFusion) {
  const llvm::Target *target = nvptxTarget();
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = enableFpFusion ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  options.NoInfsFPMath = options.NoNaNsFPMath = options.UnsafeFPMath = false;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      tripleText, llvmProcessor(info), llvmFeatures(info), options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static void registerTranslations(MLIRContext *context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
}

/// Inline PTX without side effects reads memory if it clobbers it, else it is a
/// function of its operands (the convention of FunctionLowering::inlineAsm). LLVM
/// assumes the worst of every call otherwise and keeps dead and equal ones.
static void annotateInlineAssembly(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      auto *assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!assembly)
        continue;
      call->addFnAttr(llvm::Attribute::NoUnwind);
      // All lanes of the warp, or all warps, take part: no branch may come between.
      llvm::StringRef text = assembly->getAsmString();
      if (text.contains(".sync") || text.contains("bar.red"))
        call->setConvergent();
      if (assembly->hasSideEffects())
        continue;
      bool reads = llvm::StringRef(assembly->getConstraintString()).contains("~{memory}");
      call->setMemoryEffects(reads ? llvm::MemoryEffects::readOnly() : llvm::MemoryEffects::none());
      call->addFnAttr(llvm::Attribute::WillReturn);
    }
}

/// Says the target's version, which may be newer than what LLVM writes: for instructions that
/// inline assembly brings.
static void setVersion(std::string &ptx, int version) {
  static constexpr llvm::StringLiteral directive = ".version ";
  size_t start = ptx.find(directive.str());
  if (start == std::string::npos)
    return;
  start += directive.size();
  ptx.replace(start, ptx.find('\n', start) - start,
              fmt::format("{}.{}", version / 10, version % 10));
}

static void setModuleTarget(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(tripleText);
  module.setDataLayout(machine.createDataLayout());
  // Read by libdevice's functions: keep denormals.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", static_cast<uint32_t>(0));
}

/// What LLVMTargetMachine::addPassesToEmitFile does, with two passes more (ProxyRegisters.cpp,
/// WideMultiplies.cpp) and without the verifier, which would run over every function again.
static bool addBackEnd(llvm::LLVMTargetMachine &machine, llvm::legacy::PassManager &passes,
                       llvm::raw_pwrite_stream &stream) {
  auto *machineModule = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *steps = machine.createPassConfig(passes);
  steps->setDisableVerify(true);
  // The last step before NVPTX's own erasure, which takes time quadratic in the number of proxies.
  steps->insertPass(&llvm::PeepholeOptimizerID, createProxyRegisterErasure());
  steps->insertPass(&llvm::PeepholeOptimizerID, createWideMultiplySplitting());
  passes.add(steps);
  passes.add(machineModule);
  if (steps->addISelPasses())
    return false;
  steps->addMachinePasses();
  steps->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                            machineModule->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

namespace {

/// What LLVM works on. Where it gives up, it is left as it is: half-done work cannot be destroyed.
struct BackEnd {
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream{text};
  llvm::legacy::PassManager passes;

  std::string printAssembly() {
    if (!addBackEnd(static_cast<llvm::LLVMTargetMachine &>(*machine), passes, stream))
      return "";
    passes.run(*module);
    return text.str().str();
  }
};

} // namespace

/// The only kernel of the module.
static std::string kernelNameOf(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()))
      return function.getName().str();
  return "";
}

FailureOr<EmittedKernel> emitPtx(ModuleOp module, const TargetInfo &target,
                                 const EmitOptions &options) {
  EmittedKernel result;
  result.kernelName = kernelNameOf(module);
  assert(!result.kernelName.empty() && "verifyKernels sees that there is one");
  auto backEnd = std::make_unique<BackEnd>();
  backEnd->machine = makeTargetMachine(target, options.enableFpFusion);
  if (!backEnd->machine)
    return module.emitError("LLVM was built without its NVPTX back end");

  // 1. Translate.
  registerTranslations(module.getContext());
  if (options.lineInfo)
    attachDebugScopes(module);
  backEnd->module = translateModuleToLLVMIR(module, backEnd->context);
  if (!backEnd->module)
    return failure();
  llvm::Module &translated = *backEnd->module;
  setModuleTarget(translated, *backEnd->machine);
  // 2. Effects of inline PTX.
  annotateInlineAssembly(translated);
  // 3. Libraries.
  std::string error = linkDeviceLibraries(translated, options.libdevicePath);
  if (!error.empty())
    return module.emitError(error);
  std::optional<std::string> reason = reasonToGiveUp([&] {
    // 4. Optimise.
    optimizeModule(translated, *backEnd->machine);
    if (options.ordersByStores)
      result.movesLoadsAfterStores = orderByStores(translated, options.orderRegisters);
    {
      llvm::raw_string_ostream stream(result.llvmIR);
      translated.print(stream, nullptr);
    }
    // 5. Emit.
    result.ptx = backEnd->printAssembly();
  });
  if (reason) {
    (void)backEnd.release();
    // The first line says what; the others are addresses of LLVM's own nodes.
    return module.emitError("LLVM gave up: " + llvm::StringRef(*reason).split('\n').first);
  }
  if (result.ptx.empty())
    return module.emitError("the NVPTX back end cannot write assembly");
  setVersion(result.ptx, target.ptxVersion);
  return result;
}

} // namespace tilewright::codegen
