//===- DeviceLibrary.cpp - Functions that kernels call --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: links bitcode into a kernel's module, only where it is called.
//
// How: only needed functions are linked, made internal, and inlined by the
// optimiser. The built-in library (device/DeviceMath.c) is embedded as bitcode
// by the build. Conversions of libdevice that LLVM would round differently are
// pinned as inline PTX.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/DeviceLibrary.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilewright::codegen {

/// The bytes of DeviceMath.bc, made by the build.
extern const unsigned char deviceMathBitcode[];
extern const unsigned long deviceMathBitcodeSize;

/// The first declared but undefined function whose name starts with `prefix`,
/// empty for none.
static std::string firstUndefined(llvm::Module &module, llvm::StringRef prefix) {
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with(prefix))
      return function.getName().str();
  return "";
}

static std::string linkBitcode(llvm::Module &module, llvm::MemoryBufferRef buffer) {
  auto library = llvm::getLazyBitcodeModule(buffer, module.getContext());
  if (!library)
    return llvm::toString(library.takeError());
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  std::vector<std::string> before;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      before.push_back(function.getName().str());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded))
    return "the libraries do not agree with the kernel";
  // Functions of the library are used here alone, so they may be inlined.
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !llvm::is_contained(before, function.getName()))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return "";
}

namespace {

/// A conversion that must round toward zero, and the operands of its PTX.
struct TowardZero {
  const char *intrinsic;
  const char *assembly;
  const char *constraints;
};

} // namespace

/// LLVM 19's InstCombine makes `sitofp` and `uitofp` of the first six, which round
/// to nearest, and `fptosi` and `fptoui` of the others, which are undefined where
/// PTX saturates.
static const TowardZero towardZero[] = {
    {"llvm.nvvm.i2f.rz", "cvt.rz.f32.s32 $0, $1;", "=f,r"},
    {"llvm.nvvm.ui2f.rz", "cvt.rz.f32.u32 $0, $1;", "=f,r"},
    {"llvm.nvvm.ll2f.rz", "cvt.rz.f32.s64 $0, $1;", "=f,l"},
    {"llvm.nvvm.ull2f.rz", "cvt.rz.f32.u64 $0, $1;", "=f,l"},
    {"llvm.nvvm.ll2d.rz", "cvt.rz.f64.s64 $0, $1;", "=d,l"},
    {"llvm.nvvm.ull2d.rz", "cvt.rz.f64.u64 $0, $1;", "=d,l"},
    {"llvm.nvvm.f2i.rz", "cvt.rzi.s32.f32 $0, $1;", "=r,f"},
    {"llvm.nvvm.f2ui.rz", "cvt.rzi.u32.f32 $0, $1;", "=r,f"},
    {"llvm.nvvm.f2ll.rz", "cvt.rzi.s64.f32 $0, $1;", "=l,f"},
    {"llvm.nvvm.f2ull.rz", "cvt.rzi.u64.f32 $0, $1;", "=l,f"},
    {"llvm.nvvm.d2i.rz", "cvt.rzi.s32.f64 $0, $1;", "=r,d"},
    {"llvm.nvvm.d2ui.rz", "cvt.rzi.u32.f64 $0, $1;", "=r,d"},
    {"llvm.nvvm.d2ll.rz", "cvt.rzi.s64.f64 $0, $1;", "=l,d"},
    {"llvm.nvvm.d2ull.rz", "cvt.rzi.u64.f64 $0, $1;", "=l,d"},
};

static void pinConversions(llvm::Module &module) {
  for (const TowardZero &conversion : towardZero) {
    llvm::Function *function = module.getFunction(conversion.intrinsic);
    if (!function)
      continue;
    llvm::InlineAsm *assembly =
        llvm::InlineAsm::get(function->getFunctionType(), conversion.assembly,
                             conversion.constraints, /*hasSideEffects=*/false);
    for (llvm::User *user : llvm::make_early_inc_range(function->users())) {
      auto *call = llvm::cast<llvm::CallInst>(user);
      call->setCalledFunction(function->getFunctionType(), assembly);
      call->setMemoryEffects(llvm::MemoryEffects::none());
      call->addFnAttr(llvm::Attribute::NoUnwind);
      call->addFnAttr(llvm::Attribute::WillReturn);
    }
  }
}

std::string linkDeviceLibraries(llvm::Module &module, const std::string &libdevicePath) {
  if (!firstUndefined(module, "__tw_").empty()) {
    llvm::StringRef bytes(reinterpret_cast<const char *>(deviceMathBitcode), deviceMathBitcodeSize);
    std::string error = linkBitcode(module, llvm::MemoryBufferRef(bytes, "device math"));
    if (!error.empty())
      return "cannot link the device library: " + error;
    if (std::string missing = firstUndefined(module, "__tw_"); !missing.empty())
      return "the device library lacks '" + missing + "'";
  }
  std::string function = firstUndefined(module, "__nv_");
  if (function.empty())
    return "";
  if (libdevicePath.empty())
    return "the kernel calls '" + function.substr(5) +
           "' of libdevice, which was not found; install the CUDA toolkit or the nvidia-nvvm "
           "package";
  auto buffer = llvm::MemoryBuffer::getFile(libdevicePath);
  if (!buffer)
    return "cannot read libdevice at '" + libdevicePath + "': " + buffer.getError().message();
  std::string error = linkBitcode(module, (*buffer)->getMemBufferRef());
  if (!error.empty())
    return "cannot link libdevice at '" + libdevicePath + "': " + error;
  if (std::string missing = firstUndefined(module, "__nv_"); !missing.empty())
    return "libdevice at '" + libdevicePath + "' lacks '" + missing.substr(5) + "'";
  pinConversions(module);
  return "";
}

} // namespace tilewright::codegen
