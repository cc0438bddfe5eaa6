//===- PendingAccesses.h - Accesses that others must wait for ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the state of InsertBarriers at one point of a program: the accesses that a later one
// may have to be separated from.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_RESOURCES_PENDINGACCESSES_H
#define TILEWRIGHT_PASSES_RESOURCES_PENDINGACCESSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::passes {

/// Ops with a place in shared memory: allocations and ops with scratch.
using Pieces = llvm::SetVector<mlir::Operation *>;

/// What blocks of one cluster may do to each other's memory.
struct ClusterAccesses {
  /// Scratch of this block that another block may still be reading.
  Pieces remoteReads;
  /// All that has been accessed since the last cluster barrier.
  Pieces sinceBarrier;
};

/// Writes that wgmma or TMA may not see yet.
struct UnseenWrites {
  /// Without a fence since.
  Pieces byThreads, byCopies;
  /// With a fence, but no barrier since.
  Pieces fenced;

  void passFence() {
    for (Pieces *pieces : {&byThreads, &byCopies}) {
      fenced.insert(pieces->begin(), pieces->end());
      pieces->clear();
    }
  }
};

/// What happened since the last barrier, and what outlasts barriers.
struct Pending {
  /// Pieces of shared memory that some thread may still be reading or writing.
  Pieces reads, writes;
  /// Written by cp.async, not waited for; read by wgmma or TMA, not waited for.
  Pieces copies, wgmmaReads, tmaReads;
  UnseenWrites unseen;
  /// Global accesses. One of this iteration has no loop; one of an earlier
  /// iteration has that loop, since an equal SSA value is then no equal address;
  /// one of earlier iterations of several loops has `anyLoop`.
  llvm::SetVector<std::pair<mlir::Operation *, mlir::Operation *>> globals;
  /// A scalar atomic acquired for all threads, without a barrier since.
  bool acquired = false;
  /// What matters only for programs of several blocks.
  ClusterAccesses cluster;

  /// A barrier of all threads: those of the program, or of one of its blocks.
  void passBarrier(bool ofProgram) {
    reads.clear();
    writes.clear();
    unseen.fenced.clear();
    if (!ofProgram)
      return;
    globals.clear();
    acquired = false;
    cluster = {};
  }

  void write(mlir::Operation *piece) {
    writes.insert(piece);
    unseen.byThreads.insert(piece);
  }

  /// Any of the copies may be done.
  void waitForCopies() {
    writes.insert(copies.begin(), copies.end());
    unseen.byCopies.insert(copies.begin(), copies.end());
  }

  /// The access itself, which is no loop.
  static mlir::Operation *anyLoop(mlir::Operation *access) { return access; }

  /// True if anything is new.
  bool join(const Pending &other) {
    bool changed = false;
    auto joinPieces = [&](Pieces &into, const Pieces &from) {
      for (mlir::Operation *piece : from)
        changed |= into.insert(piece);
    };
    joinPieces(reads, other.reads);
    joinPieces(writes, other.writes);
    joinPieces(copies, other.copies);
    joinPieces(wgmmaReads, other.wgmmaReads);
    joinPieces(tmaReads, other.tmaReads);
    joinPieces(unseen.byThreads, other.unseen.byThreads);
    joinPieces(unseen.byCopies, other.unseen.byCopies);
    joinPieces(unseen.fenced, other.unseen.fenced);
    joinPieces(cluster.remoteReads, other.cluster.remoteReads);
    joinPieces(cluster.sinceBarrier, other.cluster.sinceBarrier);
    for (auto entry : other.globals)
      changed |= globals.insert(entry);
    changed |= other.acquired && !acquired;
    acquired |= other.acquired;
    return changed;
  }
};

/// What has to come before an access.
struct Needed {
  bool barrier = false, fence = false;
  /// The barrier is one of all blocks.
  bool allBlocks = false;
  /// A piece of shared memory that somebody may still be at.
  mlir::Operation *cause = nullptr;
  bool causeIsWritten = false;
  Needed &operator|=(const Needed &other) {
    if (!cause) {
      cause = other.cause;
      causeIsWritten = other.causeIsWritten;
    }
    barrier |= other.barrier;
    fence |= other.fence;
    allBlocks |= other.allBlocks;
    return *this;
  }
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_RESOURCES_PENDINGACCESSES_H
