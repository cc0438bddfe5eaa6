//===- LockstepRun.h - Copies, phases and fences on one path ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: follows one way through a kernel, as if all warps took each step together, and checks
// the four things that depend on how often something has happened before:
//
//   groups   a tile is read after the cp.async that fills it: a wait that leaves N groups of
//            copies leaves those that are read later
//   phases   a wait at an mbarrier names the parity of the phase that the arrivals before it
//            complete, and a tile that TMA fills is read after such a wait
//   fences   what wgmma or TMA reads, and threads have written, has a tw.fence_async and then
//            a barrier between the two
//   slots    a copy fills a slot of a ring again after the reads of its tile: products are
//            waited for, and then comes a barrier, or each warp arrives at an mbarrier on
//            which whoever fills the slot waits
//
// How: slots and parities are counted by integers that begin at constants, so they are known
// in each iteration, in whatever form the loop has been brought. The loop is run until its
// largest ring has come round twice. A loop with unknown bounds runs long enough for that, and a
// branch whose condition is unknown is taken where it does something: so both the copies that
// fill a ring before a loop and those of its steady state happen.
//
// Example, a ring of two slots, one iteration ahead. At the third iteration the slot is 0 again,
// and two of its phases are over, the one of parity 1 last:
//
//     slot   0 1 0 1        wait %full[0], 1   right
//     parity 0 0 1 1        wait %full[0], 0   reads the tile of the first iteration again
//
// Where a slot, a parity or the number of groups is not known it says nothing.
//
// Not handled: buffers that are no rings, where InsertBarriers orders all accesses; other ways
// through the kernel; calls.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPRUN_H
#define TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPRUN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::passes {

enum class LockstepRules : uint8_t {
  /// Groups and phases.
  Waits,
  /// Fences and slots, for IR in which all barriers and fences stand.
  Fences
};

/// Emits an error at the first op that breaks a rule.
mlir::LogicalResult verifyLockstep(mlir::func::FuncOp function, LockstepRules rules);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPRUN_H
