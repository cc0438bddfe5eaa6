//===- LaneReduction.h - Reductions within a warp ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the steps of tw.reduce over the lanes of a warp.
//
// How: a butterfly, after which all lanes have all results; or one redux where 32-bit
// integers are folded over a whole warp. Of many results a lane gives half away at each
// step and keeps the others, so that all steps together take as many shuffles as there
// are results (recursive halving, as of messages between processes: Thakur, Rabenseifner,
// Gropp, Optimization of collective communication operations in MPICH, 2005). Then they
// lie in different lanes, from which they go to shared memory, or to every lane by one
// shuffle each.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_LANEREDUCTION_H
#define TILEWRIGHT_CODEGEN_LOWER_LANEREDUCTION_H

#include "codegen/lower/Lowering.h"
#include "ir/layout/ReductionPlan.h"

namespace tilewright::codegen {

class LaneReduction {
public:
  /// `partials` are the tuples of each result register, or of each that is held.
  LaneReduction(ir::ReduceOp op, FunctionLowering &lowering, ReductionPlan &plan,
                llvm::SmallVector<Registers> &partials)
      : op(op), lowering(lowering), plan(plan), partials(partials) {}

  mlir::FailureOr<Registers> combine(llvm::ArrayRef<mlir::Value> lhs,
                                     llvm::ArrayRef<mlir::Value> rhs);
  /// Over all lane masks of the plan; decides on numHalvings.
  mlir::LogicalResult fold();
  /// Over these, without halving: afterwards every lane of a group has the same value.
  mlir::LogicalResult foldLanes(llvm::ArrayRef<uint32_t> masks);
  /// Every lane gets all results from the lanes that hold them.
  void spreadHeld();

private:
  bool isCommutative();
  llvm::StringRef reduxOperation();
  int bestHalvings();
  mlir::Value hasLaneBit(uint32_t mask);
  std::pair<Registers, Registers> exchangeIf(mlir::Value condition, llvm::ArrayRef<mlir::Value> low,
                                             llvm::ArrayRef<mlir::Value> high);
  mlir::FailureOr<Registers> combineAcross(uint32_t mask, llvm::ArrayRef<mlir::Value> kept,
                                           llvm::ArrayRef<mlir::Value> given);
  mlir::LogicalResult foldHalf(uint32_t mask);

  ir::ReduceOp op;
  FunctionLowering &lowering;
  ReductionPlan &plan;
  llvm::SmallVector<Registers> &partials;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_LANEREDUCTION_H
