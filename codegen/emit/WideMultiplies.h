//===- WideMultiplies.h - Addresses beside wgmma ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_WIDEMULTIPLIES_H
#define TILEWRIGHT_CODEGEN_EMIT_WIDEMULTIPLIES_H

namespace llvm {
class MachineFunctionPass;
} // namespace llvm

namespace tilewright::codegen {

/// In loops with wgmma, makes an extension and a shift of every multiplication of 32 bits by a
/// power of two to 64 bits.
llvm::MachineFunctionPass *createWideMultiplySplitting();

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_WIDEMULTIPLIES_H
