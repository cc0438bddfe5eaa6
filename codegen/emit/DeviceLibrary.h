//===- DeviceLibrary.h - Functions that kernels call ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_DEVICELIBRARY_H
#define TILEWRIGHT_CODEGEN_EMIT_DEVICELIBRARY_H

#include <string>

namespace llvm {
class Module;
}

namespace tilewright::codegen {

/// Links what `module` calls: "__tw_" functions from the library that is built
/// in, "__nv_" functions from the bitcode file at `libdevicePath`. Returns an
/// error text, empty on success.
std::string linkDeviceLibraries(llvm::Module &module, const std::string &libdevicePath);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_DEVICELIBRARY_H
