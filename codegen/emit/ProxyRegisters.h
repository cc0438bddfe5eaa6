//===- ProxyRegisters.h - Machine code without proxy registers --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_PROXYREGISTERS_H
#define TILEWRIGHT_CODEGEN_EMIT_PROXYREGISTERS_H

namespace llvm {
class MachineFunctionPass;
} // namespace llvm

namespace tilewright::codegen {

/// Replaces the result of every ProxyReg instruction of the NVPTX back end by its operand.
llvm::MachineFunctionPass *createProxyRegisterErasure();

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_PROXYREGISTERS_H
