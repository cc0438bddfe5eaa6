//===- LockstepState.h - Shared memory at one point of a run ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: which copies are in flight, how many phases of each mbarrier are over, which writes
// wgmma and TMA do not see yet, and which slots may still be read. LockstepRun.h says what for.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPSTATE_H
#define TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPSTATE_H

#include "ir/dialect/TileDialect.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace tilewright::passes {

/// A slot of a buffer or of barriers, by the op that allocates it.
using Slot = std::pair<mlir::Operation *, int64_t>;
/// Slots, each with the op that writes it.
using SlotWriters = llvm::MapVector<Slot, mlir::Operation *>;

/// The mbarriers of a run.
class PhaseCounts {
public:
  /// A slot of new barriers, or of the same ones initialised again.
  void begin(mlir::Operation *alloc) {
    unknown.erase(alloc);
    erase(alloc);
  }
  /// From here on nothing is known of these barriers.
  void forget(mlir::Operation *alloc);
  void arrive(Slot slot, int64_t arrivals);
  /// Phases that are over; nothing where that is not known.
  std::optional<int64_t> over(Slot slot) const;
  /// Forgets barriers that the other run has seen more or less of.
  void join(const PhaseCounts &other);

private:
  llvm::MapVector<Slot, int64_t> arrived;
  llvm::SmallPtrSet<mlir::Operation *, 4> unknown;

  void erase(mlir::Operation *alloc);
};

/// The copies of cp.async of a run, oldest group first.
class CopyGroups {
public:
  void copy(Slot slot, mlir::Operation *op) { open[slot] = op; }
  /// Copies to places that are not known count as a group like any other.
  void commit();
  /// The copies that end.
  SlotWriters wait(size_t pending);
  /// The copy in flight that writes `slot`; null for none.
  mlir::Operation *writerOf(Slot slot) const;
  /// Forgets the places that copies inside of `loop` write.
  void forgetCopiesIn(mlir::Operation *loop);
  void join(const CopyGroups &other);

private:
  SlotWriters open;
  llvm::SmallVector<SlotWriters> groups;
};

/// The slots of rings that threads or products may still read.
class SlotReads {
public:
  /// `product` is a wgmma that goes on after its op.
  void read(Slot slot, mlir::Operation *op, bool isProduct);
  void beginProduct() { ++begun; }
  /// All products are over but the last `pending` ones.
  void waitForProducts(int64_t pending) { over = std::max(over, begun - pending); }
  /// Each warp says at `barrier` that its reads are over; where the slot is not known, at any.
  void arrive(std::optional<Slot> barrier);
  /// All warps have arrived at `barrier`.
  void wait(std::optional<Slot> barrier);
  /// All threads wait for each other.
  void passBarrier();
  /// An op whose read of `slot` may not be over; null for none.
  mlir::Operation *readerOf(Slot slot) const;
  void join(const SlotReads &other);

private:
  struct Read {
    Slot slot;
    mlir::Operation *op;
    /// The number of the product; of what is over at once 0.
    int64_t product;
    llvm::SmallVector<Slot, 2> arrivals;
  };
  llvm::SmallVector<Read> reads;
  int64_t begun = 0, over = 0;

  bool isOver(const Read &read) const { return read.product <= over; }
};

struct LockstepState {
  PhaseCounts phases;
  CopyGroups groups;
  SlotReads reads;
  /// Filled by TMA, not waited for, with the copy; and the barrier of each.
  SlotWriters arriving;
  llvm::DenseMap<Slot, Slot> barrierOf;
  /// Written without a fence since, by threads or by cp.async. Written and visible to the unit that
  /// reads, but no barrier since: with a fence, or by cp.async.
  SlotWriters unfenced, unfencedCopies, fenced;

  /// A buffer that is allocated anew holds nothing.
  void begin(mlir::Operation *alloc);
  /// The tiles that TMA fills at this barrier are there; without a slot at all of `alloc`.
  void arrive(mlir::Operation *alloc, std::optional<int64_t> slot);
  /// Copies for iterations that there may not be.
  void forgetCopiesIn(mlir::Operation *loop);
  void passFence();
  void passBarrier();
  void join(const LockstepState &other);
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_LOCKSTEPSTATE_H
