//===- ReduceModule.cpp - A module without some of its ops ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/ReduceModule.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace tilewright::passes {

static llvm::SmallVector<Operation *> removableOps(ModuleOp module) {
  llvm::SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getParentOfType<func::FuncOp>() && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  return ops;
}

size_t countOps(ModuleOp module) { return removableOps(module).size(); }

/// Something of the type of `result` that is there before its op, or null.
static Value substituteFor(OpResult result) {
  Operation *op = result.getOwner();
  for (Value operand : op->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    for (Value value : before->getResults())
      if (value.getType() == result.getType())
        return value;
  for (BlockArgument argument : op->getBlock()->getArguments())
    if (argument.getType() == result.getType())
      return argument;
  OpBuilder builder(op);
  if (TypedAttr zero = builder.getZeroAttr(result.getType()))
    return builder.create<arith::ConstantOp>(op->getLoc(), zero);
  return nullptr;
}

static bool erase(Operation *op) {
  llvm::SmallVector<Value> substitutes;
  for (OpResult result : op->getResults()) {
    Value substitute = result.use_empty() ? Value(result) : substituteFor(result);
    if (!substitute)
      return false;
    substitutes.push_back(substitute);
  }
  for (auto [result, substitute] : llvm::zip(op->getResults(), substitutes))
    if (!result.use_empty())
      result.replaceAllUsesWith(substitute);
  op->erase();
  return true;
}

bool eraseOps(ModuleOp module, size_t first, size_t count) {
  llvm::SmallVector<Operation *> ops = removableOps(module);
  if (first >= ops.size())
    return false;
  bool changed = false;
  // From the end: what is inside of an op goes before the op, and users before their values.
  for (Operation *op :
       llvm::reverse(llvm::ArrayRef(ops).slice(first, std::min(count, ops.size() - first)))) {
    // Zeros for zeros are no progress.
    if (op->hasTrait<OpTrait::ConstantLike>() && !op->use_empty())
      continue;
    changed |= erase(op);
  }
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  return changed && succeeded(verify(module));
}

} // namespace tilewright::passes
