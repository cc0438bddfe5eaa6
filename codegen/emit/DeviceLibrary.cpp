//===- DeviceLibrary.cpp - Functions that kernels call --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: links bitcode into a kernel's module, only where it is called.
//
// How: only needed functions are linked, made internal, and inlined by the
// optimiser. The built-in library (device/DeviceMath.c) is embedded as bitcode
// by the build.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/DeviceLibrary.h"

#include "llvm/Bitcode/BitcodeReader.h"
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
  // What the library brought is nobody else's business and may be inlined.
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !llvm::is_contained(before, function.getName()))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return "";
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
           "' of libdevice, which was not found; install the CUDA toolkit or the nvidia-cuda-nvcc "
           "package";
  auto buffer = llvm::MemoryBuffer::getFile(libdevicePath);
  if (!buffer)
    return "cannot read libdevice at '" + libdevicePath + "': " + buffer.getError().message();
  std::string error = linkBitcode(module, (*buffer)->getMemBufferRef());
  if (!error.empty())
    return "cannot link libdevice at '" + libdevicePath + "': " + error;
  if (std::string missing = firstUndefined(module, "__nv_"); !missing.empty())
    return "libdevice at '" + libdevicePath + "' lacks '" + missing.substr(5) + "'";
  return "";
}

} // namespace tilewright::codegen
