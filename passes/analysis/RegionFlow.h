//===- RegionFlow.h - Which values control flow carries where - -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the ways that values take through loops and branches, asked of the ops themselves
// (RegionBranchOpInterface). A loop has four: its initial values into the body and, where
// it runs zero times, into its results; what the body yields into the next iteration and
// into the results. An analysis that follows values needs to know no op of scf.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_REGIONFLOW_H
#define TILEWRIGHT_PASSES_ANALYSIS_REGIONFLOW_H

#include "mlir/Interfaces/ControlFlowInterfaces.h"

namespace tilewright::passes {

/// Operands that become block arguments or results, one each in this order.
struct FlowEdge {
  mlir::OperandRange from;
  mlir::ValueRange to;
};

/// All edges of an op with regions: first those from its own operands, then those from
/// the terminators of its regions; none where it is no op of control flow.
llvm::SmallVector<FlowEdge> flowEdges(mlir::Operation *op);

/// The values that may become `value`, a block argument or a result of a region op; false
/// where they are unknown.
bool carriedFrom(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &sources);

/// The block arguments and results that `use` may become; none where its owner is neither
/// an op of control flow nor the end of a region of one.
llvm::SmallVector<mlir::Value> carriedTo(mlir::OpOperand &use);

/// What one variable of a region op is called on its way: the block arguments and results it
/// arrives in, and the operands that are carried there, terminators' before the op's own.
struct FlowVariable {
  llvm::SmallVector<mlir::Value> targets;
  llvm::SmallVector<mlir::OpOperand *> sources;
};
/// A loop with initial values has one for each of them, with a block argument and a result;
/// scf.while has one more for each value that its condition passes on.
llvm::SmallVector<FlowVariable> flowVariables(mlir::Operation *op);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_REGIONFLOW_H
