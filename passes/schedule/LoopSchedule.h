//===- LoopSchedule.h - One iteration of a pipelined loop, as data -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a schedule says all that becomes of a loop: which loads become copies, the rings
// that they fill, and the steps of the new body in their order, each with its stage. A step
// of stage s belongs to iteration t - s while the new loop is in its round t: a load that
// is copied two iterations ahead of its use is filled at stage 0 and used at stage 2.
//
//     analyse(loop)           -> LoopFacts        LoopFacts.h, decides nothing
//     plan(facts, resources)  -> LoopPlan         PlanLoop.cpp, one function per kind
//     verify(schedule)                            VerifySchedule.cpp: what is legal
//     rewrite(loop, schedule) -> StagedBody       RewriteLoop.cpp, decides nothing
//     expand(loop, body)                          ExpandLoop.cpp, decides nothing
//
// A further kind is one more planning function. Warps that only copy (producers) and warps
// that only compute (consumers) would be a mark on steps; copies that blocks of a cluster
// share would be a property of a RingLoad and a release that counts the blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_LOOPSCHEDULE_H
#define TILEWRIGHT_PASSES_SCHEDULE_LOOPSCHEDULE_H

#include "passes/schedule/LoopFacts.h"

#include "ir/support/Remark.h"

#include "mlir/IR/PatternMatch.h"

namespace tilewright::passes {

/// What PipelineLoops.cpp draws.
enum class LoopKind : uint8_t {
  /// Products of what an iteration loads; wgmma may stay in flight across the back edge.
  Plain,
  /// No products: each thread reads what it has copied itself.
  Stream,
  /// Two products of which the second runs an iteration later, beside the first one's
  /// arithmetic.
  Chained,
  /// The same two products one after the other, in fewer registers and slots.
  InTurn,
  /// No products: the little that an iteration loads is loaded into registers during those
  /// before.
  EarlyLoads
};

/// A load that becomes a copy into a ring.
struct RingLoad {
  mlir::Operation *load;
  /// Replaced by the slot in use; none where each thread reads what it has copied.
  llvm::SmallVector<ir::AllocSharedOp, 1> allocs;
  /// Ops of the body that read the slot.
  llvm::SetVector<mlir::Operation *> readers;
  ir::BufferType type;
  ir::RingFill fill;
  /// Index in LoopSchedule::rings.
  int ring;
  /// Load brings it to registers, and Store writes it to the slot.
  bool goesThroughRegisters = false;
};

/// Rings whose slots are filled and used together, with one set of counters. Loads that
/// share a plan each have a buffer of their own.
struct RingPlan {
  ir::SlotRelease release = ir::SlotRelease::Barrier;
  int slots = 0;
  int fillStage = 0, useStage = 0;
  /// Each iteration has a slot of its own, which is filled before the loop.
  bool isFilledBefore = false;
};

/// One step of the new body.
struct Step {
  enum class Action : uint8_t {
    /// An op of the old body.
    Run,
    /// The variable `index` becomes what no op of the body computes.
    Carry,
    /// The slot of `op`, a ring load, that is in use.
    TakeSlot,
    /// Each thread reads what it has copied for `op`.
    ReadOwn,
    /// The loads into registers of a later iteration.
    LoadAhead,
    /// The loads that copies of the next round take their addresses from.
    LoadAddresses,
    /// All but `pending` groups of cp.async have arrived.
    WaitCopies,
    /// The tiles of ring `index`, which TMA brings, have arrived.
    WaitTiles,
    Barrier,
    /// All but `pending` asynchronous products are done; `op`, if any, among them.
    WaitProducts,
    /// The addresses of the next copies of ring `index` are computed; else Fill does it.
    Address,
    /// The copies of ring `index` start.
    Fill,
    /// The tiles of ring `index` that go through registers are loaded.
    Load,
    /// What has been loaded for ring `index` goes to its slot.
    Store,
    /// This warp is done with the slot of ring `index` in use.
    Release,
    /// The counters of all rings, each at its own stage.
    Advance
  };

  Action action;
  int stage = 0;
  mlir::Operation *op = nullptr;
  int index = -1;
  int pending = 0;
};

struct LoopSchedule {
  LoopKind kind = LoopKind::Plain;
  /// Iterations from a copy, or a load into registers where there are no copies, to its use.
  int distance = 0;
  llvm::SmallVector<RingLoad> loads;
  llvm::SmallVector<RingPlan, 2> rings;
  /// Loads that go to registers of a later iteration.
  llvm::SmallVector<ir::LoadOp> registerLoads;
  /// Loads for addresses of copies, one iteration before these.
  llvm::SmallVector<ir::LoadOp> addressLoads;
  llvm::SmallVector<Step> steps;
  /// The two products of a chain.
  std::pair<ir::WgmmaOp, ir::WgmmaOp> chained;
  /// Products in flight across the back edge, in their order.
  llvm::SmallVector<ir::WgmmaOp, 1> carriedProducts;
  /// Blocks that a multiprocessor can be expected to hold, where kinds were compared.
  int64_t residentBlocks = 0;

  bool isChained() const { return kind == LoopKind::Chained; }
  bool hasFill(ir::RingFill fill, int ring) const;
  /// Whether some tile of the ring goes through registers.
  bool hasStores(int ring) const;
  /// Copies by TMA, or by cp.async of either sort; of one ring, or of any (-1).
  bool hasTma(int ring = -1) const;
  bool hasCpAsync(int ring = -1) const;
  bool isInFlight(mlir::Operation *op) const;
  /// Whether a ring has what `load` loads.
  bool copies(mlir::Operation *load) const;
  int slots() const { return rings.front().slots; }
  /// The iterations of a loop all of whose slots are filled before it; otherwise 0.
  int iterationsFilledBefore() const {
    return !rings.empty() && rings.front().isFilledBefore ? distance : 0;
  }
  /// Whether all other users take what is loaded for addresses as well: scalars and small tiles,
  /// which cost little to keep for as many iterations.
  static bool isSharedAddressLoad(ir::LoadOp load);
  /// The address loads of which that holds.
  llvm::SmallVector<ir::LoadOp> sharedAddressLoads() const;
  /// The stage of the first copies, and that of the ops that stay where they are.
  int firstFillStage() const { return addressLoads.empty() ? 0 : 1; }
  int bodyStage() const { return firstFillStage() + distance; }
  int64_t ringBytes() const;
  int lastStage() const;

  void print(llvm::raw_ostream &stream) const;
};

/// What a plan says of an op to the user: a load refused, a load taken.
struct PlanNote {
  mlir::Operation *op;
  Remark remark;
};

struct LoopPlan {
  /// None where the loop stays as it is.
  std::optional<LoopSchedule> schedule;
  llvm::SmallVector<PlanNote> notes;

  void refuse(mlir::Operation *op, llvm::StringRef reason) {
    notes.push_back({op, {"async-load", false, {}, {}, reason.str()}});
  }
};

llvm::StringRef nameOf(LoopKind kind);

/// Decides all that becomes of a loop; changes nothing.
LoopPlan plan(const LoopFacts &facts, const LoopResources &resources);

/// What is wrong with a schedule, in words; empty where nothing is. VerifySchedule.cpp has
/// the rules.
std::string verify(const LoopSchedule &schedule);

/// A rewritten body: its ops in the order of the new one, each with its stage.
struct StagedBody {
  mlir::scf::ForOp loop;
  std::vector<std::pair<mlir::Operation *, unsigned>> ops;
};

/// Puts rings, copies, waits and releases where the schedule says.
StagedBody rewrite(mlir::scf::ForOp loop, const LoopSchedule &schedule);

/// Expands the body into prologue, loop and what follows it; the new loop.
mlir::FailureOr<mlir::scf::ForOp> expand(const StagedBody &body, const LoopSchedule &schedule);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_LOOPSCHEDULE_H
