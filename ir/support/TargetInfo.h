//===- TargetInfo.h - What passes may ask about a GPU -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a GPU target as a value, with the facts that passes and code generation
// ask for. Only codegen/target compares architecture numbers and fills them in.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_TARGETINFO_H
#define TILEWRIGHT_IR_SUPPORT_TARGETINFO_H

#include "ir/support/Occupancy.h"

#include <string>

namespace tilewright {

struct TargetInfo {
  /// As the assembler and LLVM spell it: "sm_90a".
  std::string name;
  /// Compute capability times ten: 90. For keys and messages, not for decisions.
  int capability = 0;
  /// PTX ISA version times ten that is written: 85.
  int ptxVersion = 0;

  int log2WarpSize = 5;
  int maxWarpsPerBlock = 0;
  /// Blocks of a cluster, which read each other's shared memory; 1: there are none.
  int maxBlocksPerCluster = 1;
  /// Bytes of shared memory that one block may ask for (opt-in maximum).
  int64_t maxSharedBytesPerBlock = 0;
  /// Registers of 32 bits that one thread may have.
  int64_t maxRegistersPerThread = 0;
  Multiprocessor multiprocessor;
  /// Bytes that a multiprocessor must have asked for to be kept busy by global memory.
  int64_t bytesInFlight = 0;

  /// Blocks that a multiprocessor holds at once.
  int64_t residentBlocks(int64_t threads, int64_t registersPerThread, int64_t sharedBytes) const {
    return tilewright::residentBlocks(multiprocessor, {threads, registersPerThread, sharedBytes})
        .least();
  }
  /// As many as shared memory allows, whatever else they take.
  int64_t blocksBySharedMemory(int64_t sharedBytes) const {
    return tilewright::residentBlocks(multiprocessor, {1, 0, sharedBytes}).bySharedMemory;
  }
  /// Registers that each thread may have where so many threads are resident.
  int64_t registersFor(int64_t threads) const {
    return registersForThreads(multiprocessor, threads);
  }

  /// Widest global access of one thread in bytes.
  int maxVectorBytes = 16;
  /// Whether evict_first and evict_last cache hints exist.
  bool hasEvictionHints = true;
  /// Whether copies by cp.async take them, too.
  bool hasCopyEvictionHints = true;
  /// Native bf16 add and mul (otherwise through fma or f32).
  bool hasBf16Arithmetic = false;
  /// Conversions between fp8 and f16 pairs in hardware.
  bool hasFp8Conversions = false;
  /// Atomic add of bf16, alone and packed.
  bool hasBf16AtomicAdd = false;
  /// Widest atomic add of f16, bf16 or f32 of one thread in bytes: a pair of halves, or a vector.
  int maxAtomicAddBytes = 4;
  /// redux.sync on 32-bit integers.
  bool hasIntegerRedux = false;
  /// stmatrix.
  bool hasStoreMatrix = false;
  /// cp.async: copies of up to 16 bytes per thread from global to shared memory.
  bool hasCpAsync = false;
  /// TMA, mbarriers with transaction counts and the asynchronous proxy.
  bool hasTma = false;
  /// Tensor maps made by a kernel: belongs to the architecture-specific targets, too.
  bool hasTensorMapReplace = false;
  /// Programmatic dependent launch: a kernel may start before the one it waits for ends.
  bool hasProgrammaticLaunch = false;
  /// mma.sync of 16-bit, tf32, 8-bit integer and f64 operands.
  bool hasMma = false;
  /// mma.sync of fp8 operands.
  bool hasFp8Mma = false;
  /// wgmma: products by a warpgroup with operands in shared memory. It belongs
  /// to the architecture-specific targets ("sm_90a").
  bool hasWgmma = false;
};

/// The target of a name such as "sm_90a" or of a capability such as 90.
/// Implemented by codegen/target. Raises E0306 where the name is unknown.
TargetInfo getTargetInfo(const std::string &name);

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_TARGETINFO_H
