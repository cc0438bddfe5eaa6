//===- Hardware.h - Sizes of the instruction set ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sizes that PTX fixes for every GPU that has the feature. Numbers that differ
// from one GPU to another are in TargetInfo, which codegen/target fills in.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_HARDWARE_H
#define TILEWRIGHT_IR_SUPPORT_HARDWARE_H

#include <cstdint>

namespace tilewright::hardware {

/// Bytes of a tensor map (CUtensorMap), and the alignment that it needs.
constexpr int64_t tensorMapBytes = 128, tensorMapAlignment = 64;
/// Bytes of an mbarrier object.
constexpr int64_t mbarrierBytes = 8;
/// Warps that issue wgmma together.
constexpr int64_t warpgroupWarps = 4;
/// Predicates of a thread that an instruction can name, besides the one that is always true.
constexpr int64_t predicateRegisters = 7;
/// What a fetch from global memory brings at least.
constexpr int64_t sectorBytes = 32;
/// The smallest and the largest copy of cp.async.
constexpr int minCopyBytes = 4, maxCopyBytes = 16;
/// The widest access of one thread to shared memory.
constexpr int64_t maxSharedAccessBytes = 16;
/// The widest row that TMA writes and wgmma reads with a swizzle.
constexpr int maxSwizzleBytes = 128;
/// Swizzles depend on the address: their patterns repeat after so many bytes, and every tile
/// in shared memory begins at a multiple of it, as wgmma and TMA want.
constexpr int64_t swizzlePatternBytes = 1024;

} // namespace tilewright::hardware

#endif // TILEWRIGHT_IR_SUPPORT_HARDWARE_H
