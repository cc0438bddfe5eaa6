//===- RegionFlow.cpp - Which values control flow carries where -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/RegionFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

llvm::SmallVector<FlowEdge> flowEdges(Operation *op) {
  llvm::SmallVector<FlowEdge> edges;
  auto branch = llvm::dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return edges;
  llvm::SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (const RegionSuccessor &successor : successors)
    edges.push_back({branch.getEntrySuccessorOperands(successor), successor.getSuccessorInputs()});
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (auto end = llvm::dyn_cast<RegionBranchTerminatorOpInterface>(block.getTerminator())) {
        successors.clear();
        branch.getSuccessorRegions(region, successors);
        for (const RegionSuccessor &successor : successors)
          edges.push_back({end.getSuccessorOperands(successor), successor.getSuccessorInputs()});
      }
  return edges;
}

llvm::SmallVector<FlowVariable> flowVariables(Operation *op) {
  llvm::SmallVector<FlowVariable> variables;
  // Operand and target of an edge belong to one variable, and so does whatever shares either.
  auto find = [&](OpOperand *source, Value target) -> FlowVariable & {
    for (FlowVariable &variable : variables)
      if (llvm::is_contained(variable.sources, source) ||
          llvm::is_contained(variable.targets, target))
        return variable;
    return variables.emplace_back();
  };
  for (const FlowEdge &edge : flowEdges(op))
    for (auto [index, target] : llvm::enumerate(edge.to)) {
      OpOperand *source = edge.from.getBase() + index;
      FlowVariable &variable = find(source, target);
      if (!llvm::is_contained(variable.targets, target))
        variable.targets.push_back(target);
      if (!llvm::is_contained(variable.sources, source))
        variable.sources.insert(variable.sources.begin(), source);
    }
  return variables;
}

bool carriedFrom(Value value, llvm::SmallVectorImpl<Value> &sources) {
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  bool isCarried = false;
  for (const FlowEdge &edge : flowEdges(op))
    for (auto [source, target] : llvm::zip(edge.from, edge.to))
      if (target == value) {
        sources.push_back(source);
        isCarried = true;
      }
  return isCarried;
}

llvm::SmallVector<Value> carriedTo(OpOperand &use) {
  Operation *owner = use.getOwner();
  bool isEnd = owner->hasTrait<OpTrait::IsTerminator>();
  llvm::SmallVector<Value> targets;
  for (const FlowEdge &edge : flowEdges(isEnd ? owner->getParentOp() : owner))
    for (auto [index, target] : llvm::enumerate(edge.to))
      if (edge.from.getBase() + index == &use)
        targets.push_back(target);
  return targets;
}

} // namespace tilewright::passes
