//===- AssembleKernel.h - PTX to machine code, with how many registers ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: assembles a kernel. If a limit on registers would let more blocks be resident on
// a multiprocessor, assembles it again with such limits. The better code is kept;
// remarks say why.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_ASSEMBLEKERNEL_H
#define TILEWRIGHT_CODEGEN_EMIT_ASSEMBLEKERNEL_H

#include "codegen/emit/CompileModule.h"

#include <optional>

namespace tilewright::codegen {

/// What the tiles of a kernel say of the registers that its code should have.
struct RegisterNeeds {
  /// The most registers of 32 bits that an accumulator takes of a thread; nothing where there
  /// is no product.
  std::optional<int64_t> accumulator;
  /// Threads that should be resident on a multiprocessor: what a pass asks for, or the usual.
  int64_t wantedThreads = 0;
  /// Registers of a thread that tiles, addresses and scalars should take; 0 where there are loops
  /// or products, which are held to limits by threads.
  int64_t forecast = 0;
  /// Warps start copies or products that they wait for later.
  bool hasWorkInFlight = false;
  bool hasLoops = false;
};
/// The module is at the end of the tile level.
RegisterNeeds registerNeeds(mlir::ModuleOp module);

/// Makes result.cubin of result.ptx.
void assembleKernel(CompiledModule &result, const TargetInfo &target, const CompileOptions &options,
                    const RegisterNeeds &needs);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_ASSEMBLEKERNEL_H
