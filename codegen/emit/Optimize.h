//===- Optimize.h - LLVM's passes over a kernel -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_OPTIMIZE_H
#define TILEWRIGHT_CODEGEN_EMIT_OPTIMIZE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright::codegen {

/// Optimises a kernel for speed. The lowering leaves redundant address
/// arithmetic and equal computations to this.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_OPTIMIZE_H
