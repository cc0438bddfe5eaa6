//===- Rings.h - How the slots of a ring are filled and freed ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a ring is a buffer in shared memory whose slots are filled by asynchronous copies
// ahead of their use and filled again afterwards. The pass that makes a ring places the
// waits and barriers between the accesses of its slots. It says so with the
// attributes below, so that later passes read how a ring works from the IR.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_RINGS_H
#define TILEWRIGHT_IR_DIALECT_RINGS_H

#include "ir/dialect/TileDialect.h"

#include <optional>

namespace tilewright::ir {

/// What fills a slot, and thereby who may read it.
enum class RingFill : uint8_t {
  /// TMA, started by the first warp; complete at an mbarrier, for all threads.
  Tma,
  /// cp.async of all threads; complete after each one's wait and a barrier.
  CpAsync,
  /// cp.async, where each thread reads only what it has copied itself: its wait is enough.
  Own
};

/// What must happen between the last read of a slot and the copy that fills it again.
enum class SlotRelease : uint8_t {
  /// A barrier of all threads.
  Barrier,
  /// Each warp arrives at an mbarrier of the slot; whoever fills it waits for all of them.
  Arrivals,
  /// Nothing: a thread overwrites only what it has read itself.
  None
};

/// The fill and the release of one ring.
struct Ring {
  RingFill fill;
  SlotRelease release;
};

/// On tw.alloc_shared (dictionary of strings: fill, release): the buffer is a ring, also
/// where it has a single slot. PipelineLoops and StageLoads set it; PlaceTensorMaps,
/// AllocateShared and InsertBarriers read it.
constexpr llvm::StringLiteral ringAttr = "tw.ring";
/// On an op of a block (unit): it only fills slots of rings, which products in flight do
/// not read. PipelineLoops sets it; OverlapProducts and PrefetchOperands read it.
constexpr llvm::StringLiteral fillsRingAttr = "tw.fills_ring";
/// On scf.for (string, the kind of its LoopSchedule): PipelineLoops has expanded the loop.
/// PrefetchOperands reads it.
constexpr llvm::StringLiteral loopScheduleAttr = "tw.loop_schedule";

llvm::StringRef nameOf(RingFill fill);
llvm::StringRef nameOf(SlotRelease release);

void setRing(AllocSharedOp alloc, Ring ring);
/// The ring that `op` allocates; nothing for other ops and buffers.
std::optional<Ring> ringOf(mlir::Operation *op);

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_RINGS_H
