//===- PlanLoads.h - Which loads of a loop happen ahead ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_PLANLOADS_H
#define TILEWRIGHT_PASSES_SCHEDULE_PLANLOADS_H

#include "passes/schedule/LoopSchedule.h"

namespace tilewright::passes {

/// The loads that happen ahead of their use, and by how many iterations.
struct ChosenLoads {
  int distance = 0;
  /// Slots of each ring, before a product in flight asks for more: one more than iterations
  /// ahead, or as many, where a slot is filled again in the iteration that has used it.
  int slots = 0;
  /// Each iteration has a slot of its own: all are filled before the loop, and none in it.
  bool fillsAllBefore = false;
  /// Into rings, in the order in which these are made.
  llvm::SmallVector<const LoadFacts *> rings;
  /// Into registers.
  llvm::SmallVector<const LoadFacts *> registers;
  int registerDistance = 1;
  /// For the addresses of copies, one iteration before these.
  llvm::SmallVector<const LoadFacts *> addresses;

  bool fillsRing(mlir::Operation *load) const;
  /// Bytes of one slot of every ring.
  int64_t slotBytes() const;
};

/// Chooses within the room that there is; notes what is refused, and why.
ChosenLoads chooseLoads(const LoopFacts &facts, const LoopResources &resources, LoopPlan &plan);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_PLANLOADS_H
