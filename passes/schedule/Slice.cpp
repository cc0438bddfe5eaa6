//===- Slice.cpp - What values of a loop are computed from ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/Slice.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace tilewright::passes {

void Slice::add(Value value) {
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
      variables.insert(argument);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != loop.getBody() || ops.contains(op) || ends.contains(op))
    return;
  addOperands(op);
  ops.insert(op);
}

void Slice::addOperands(Operation *op) {
  llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), needed);
  for (Value value : needed)
    add(value);
}

void Slice::followVariables() {
  // `variables` grows while it is walked.
  for (size_t next = 0; next < variables.size(); ++next)
    add(yieldedFor(variables[next]));
}

Value yieldedFor(BlockArgument variable) {
  return variable.getOwner()->getTerminator()->getOperand(variable.getArgNumber() - 1);
}

llvm::SetVector<Operation *> usersOf(scf::ForOp loop, llvm::ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> users;
  auto add = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (Operation *op = loop.getBody()->findAncestorOpInBlock(*user))
        if (!op->hasTrait<OpTrait::IsTerminator>())
          users.insert(op);
  };
  for (Value root : roots)
    add(root);
  for (size_t next = 0; next < users.size(); ++next)
    for (Value result : users[next]->getResults())
      add(result);
  return users;
}

} // namespace tilewright::passes
