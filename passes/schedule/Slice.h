//===- Slice.h - What values of a loop are computed from --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_SLICE_H
#define TILEWRIGHT_PASSES_SCHEDULE_SLICE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tilewright::passes {

/// Ops of the body that values are computed from, each after its operands, and the loop's
/// variables among them.
struct Slice {
  explicit Slice(mlir::scf::ForOp loop) : loop(loop) {}

  mlir::scf::ForOp loop;
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::BlockArgument> variables;
  /// Ops that begin a slice: neither they nor their operands are added.
  llvm::SmallPtrSet<mlir::Operation *, 4> ends;

  /// Adds what `value` is computed from in the same iteration.
  void add(mlir::Value value);
  /// Adds the operands of `op` and what its regions read.
  void addOperands(mlir::Operation *op);
  /// Adds what the variables found so far are computed from in earlier iterations.
  void followVariables();
};

/// The value that a variable has in the next iteration.
mlir::Value yieldedFor(mlir::BlockArgument variable);

/// Ops of the body that need one of `roots` in the same iteration.
llvm::SetVector<mlir::Operation *> usersOf(mlir::scf::ForOp loop,
                                           llvm::ArrayRef<mlir::Value> roots);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_SLICE_H
