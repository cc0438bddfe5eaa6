//===- ScheduleDraft.h - A schedule while it is planned ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what planning a kind of loop starts from, and puts in order. A draft knows the ops
// of the body that stay, each with its stage; a planning function places them among the
// waits, copies and releases of the kind.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_SCHEDULEDRAFT_H
#define TILEWRIGHT_PASSES_SCHEDULE_SCHEDULEDRAFT_H

#include "passes/schedule/PlanLoads.h"

namespace tilewright::passes {

/// A step that waits for its place.
struct OpenStep {
  Step step;
  /// Belongs to the later part of a chain.
  bool isLater = false;
  bool isPlaced = false;
};

class ScheduleDraft {
public:
  ScheduleDraft(const LoopFacts &facts, const LoopResources &resources, const ChosenLoads &loads,
                LoopKind kind);

  LoopSchedule schedule;
  /// In the order of the old body: its ops, what variables become, the counters.
  std::vector<OpenStep> open;

  /// Makes the rings of loads of the first part (index 0) and of the later part.
  void addRing(bool isLater, RingPlan ring);
  bool hasRing(bool isLater) const { return ringOf[isLater] >= 0; }
  int ring(bool isLater) const { return ringOf[isLater]; }
  /// Finds the stages of all ops, once the rings are known, and places the loads for addresses.
  void openSteps();
  void openStep(Step step, bool isLater) { open.push_back({step, isLater, false}); }

  void place(Step step) { schedule.steps.push_back(step); }
  void place(OpenStep &entry);
  /// In their order, as far as `accepts`.
  void placeIf(llvm::function_ref<bool(const OpenStep &)> accepts);
  void placeRest();
  /// The slots of all loads in use, and the loads into registers.
  void placeLoads();

  bool isLater(const LoadFacts &load) const;
  /// Whether a slot more than `slots` costs no resident block.
  bool fitsAnotherSlot(int slots) const;
  int64_t residentBlocks(int slots, int64_t words) const;
  /// Groups of cp.async that are committed in an iteration.
  int numCommits() const;

private:
  const LoopFacts &facts;
  const LoopResources &resources;
  const ChosenLoads &chosen;
  int ringOf[2] = {-1, -1};
  /// Stages of addresses and what becomes of them, where they are not the usual ones.
  llvm::DenseMap<mlir::Operation *, int> addressStages;
  llvm::DenseMap<mlir::BlockArgument, int> variableStages;
  /// Ops that the new body does not need.
  llvm::DenseSet<mlir::Operation *> removed;

  int registerStage() const;
  bool isChainedLater(mlir::Operation *op) const;
  int stageOf(mlir::Operation *op) const;
  void stageAddresses(llvm::ArrayRef<const LoadFacts *> loads, int stage);
  void findRemoved();
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_SCHEDULEDRAFT_H
