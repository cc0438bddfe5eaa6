//===- CarriedValues.h - Variables that no op of a loop computes -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: MLIR's expander wants each yielded value to be defined by an op of the body. Where
// none does (two accumulators are swapped, or a variable becomes a value from outside the
// loop) the value goes through a cast, which is removed after the expansion.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_CARRIEDVALUES_H
#define TILEWRIGHT_PASSES_SCHEDULE_CARRIEDVALUES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tilewright::passes {

/// Makes the variable `index` of the loop go through an op at the insertion point.
mlir::Operation *carryThroughOp(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop, int index);

/// Removes those ops, and their copies, from `scope` and what is in it.
void removeCarryingOps(mlir::RewriterBase &rewriter, mlir::Operation *scope);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_CARRIEDVALUES_H
