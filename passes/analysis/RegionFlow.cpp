//===- RegionFlow.cpp - Which values control flow carries where -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/RegionFlow.h"

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
