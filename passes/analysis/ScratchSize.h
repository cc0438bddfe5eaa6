//===- ScratchSize.h - Shared memory that an op needs inside ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how many bytes of scratch code generation uses for one op. AllocateShared
// places them, InsertBarriers relies on their use:
//
//   convert_layout    of kind SharedMemory: ConversionPlan.h
//   reduce            across warps: ReductionPlan.h
//   scan              across warps: ScanPlan.h
//   atomics with a used result, where threads other than the one that acts hold
//                     copies of it (every scalar; tiles smaller than the
//                     program): one slot per element
//
// All of them write their scratch, wait at a barrier of their own and then read.
// Conversions and atomics that cross blocks wait for all blocks of the program and read
// what others wrote. Reductions that do (exchanges) write to the scratch of the others,
// and each block waits for what the others write to its own.
// There is no barrier after the last read: the next op that writes the same
// bytes needs one before, and that is InsertBarriers' work.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_SCRATCHSIZE_H
#define TILEWRIGHT_PASSES_ANALYSIS_SCRATCHSIZE_H

#include "ir/dialect/TileDialect.h"
#include "ir/support/Hardware.h"

namespace tilewright::passes {

/// Scratch starts at multiples of this: the widest access of shared memory.
constexpr int64_t scratchAlignment = hardware::maxSharedAccessBytes;

/// Bytes of scratch, 0 for most ops. At layout level only.
int64_t scratchBytes(mlir::Operation *op);

/// Whether blocks of the program read or write each other's scratch.
bool crossesBlocks(mlir::Operation *op);
/// Whether `op`, which crosses blocks, writes to the others' scratch.
bool isExchange(mlir::Operation *op);
/// Whether an exchange ends for no warp of the program before all have begun it.
bool meetsAllWarps(mlir::Operation *op);

/// What the scratch is for, in words of the language: "layout change of
/// tile<128x64xf32>".
std::string describeScratch(mlir::Operation *op);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_SCRATCHSIZE_H
