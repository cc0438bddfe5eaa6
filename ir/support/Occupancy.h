//===- Occupancy.h - Blocks that a multiprocessor holds at once -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one formula for resident blocks. Passes ask it through TargetInfo, the tuner
// and reports ask it with the registers that the assembler has told.
//
// How: registers, shared memory, threads and places for blocks each allow a number of
// blocks, and the least of them counts. A multiprocessor has four parts with registers of
// their own, and a warp is resident in one part. So registers allow four times as many
// warps as fit one part. The other way round, the part that has most of the warps says how
// many registers each thread may have.
//
// Not handled: rounding of a block's shared memory, which adds a few bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_OCCUPANCY_H
#define TILEWRIGHT_IR_SUPPORT_OCCUPANCY_H

#include <algorithm>
#include <cstdint>

namespace tilewright {

/// What a multiprocessor has for the blocks on it. codegen/target fills it in.
struct Multiprocessor {
  int64_t registers = 0;
  int64_t threads = 0;
  int64_t blocks = 0;
  int64_t sharedBytes = 0;
  /// Bytes of shared memory that the system takes for itself in each block.
  int64_t reservedSharedBytes = 0;
  /// Parts with registers of their own.
  int64_t parts = 1;
  /// Registers are handed out to the threads of a warp in multiples of this.
  int64_t registerUnit = 1;
  int64_t warpSize = 32;
};

/// What one block takes.
struct BlockResources {
  int64_t threads = 1;
  /// 0: not known.
  int64_t registersPerThread = 0;
  int64_t sharedBytes = 0;
};

/// Blocks that each resource allows.
struct ResidentBlocks {
  int64_t byRegisters = 0, bySharedMemory = 0, byThreads = 0, byBlocks = 0;

  int64_t least() const { return std::min({byRegisters, bySharedMemory, byThreads, byBlocks}); }
};

inline ResidentBlocks residentBlocks(const Multiprocessor &machine, const BlockResources &block) {
  int64_t warps = (block.threads + machine.warpSize - 1) / machine.warpSize;
  int64_t unit = machine.registerUnit;
  int64_t registers = (std::max<int64_t>(block.registersPerThread, 1) + unit - 1) / unit * unit;
  int64_t warpsOfPart = machine.registers / machine.parts / (registers * machine.warpSize);
  ResidentBlocks result;
  result.byRegisters = warpsOfPart * machine.parts / std::max<int64_t>(warps, 1);
  result.bySharedMemory =
      machine.sharedBytes / std::max<int64_t>(block.sharedBytes + machine.reservedSharedBytes, 1);
  result.byThreads = machine.threads / std::max<int64_t>(block.threads, 1);
  result.byBlocks = machine.blocks;
  return result;
}

/// Registers that each thread may have where so many threads are resident, in whole warps.
inline int64_t registersForThreads(const Multiprocessor &machine, int64_t threads) {
  int64_t warps = (threads + machine.warpSize - 1) / machine.warpSize;
  int64_t warpsOfPart = std::max<int64_t>((warps + machine.parts - 1) / machine.parts, 1);
  int64_t unit = machine.registerUnit;
  return machine.registers / machine.parts / (warpsOfPart * machine.warpSize) / unit * unit;
}

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_OCCUPANCY_H
