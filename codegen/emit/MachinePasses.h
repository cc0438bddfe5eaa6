//===- MachinePasses.h - Passes on NVPTX's machine code ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_MACHINEPASSES_H
#define TILEWRIGHT_CODEGEN_EMIT_MACHINEPASSES_H

namespace llvm {
class MachineFunctionPass;
} // namespace llvm

namespace tilewright::codegen {

/// Replaces the result of every ProxyReg instruction of the NVPTX back end by its operand.
/// (ProxyRegisters.cpp)
llvm::MachineFunctionPass *createProxyRegisterErasure();

/// In loops with wgmma, makes an extension and a shift of every multiplication of 32 bits by a
/// power of two to 64 bits. (WideMultiplies.cpp)
llvm::MachineFunctionPass *createWideMultiplySplitting();

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_MACHINEPASSES_H
