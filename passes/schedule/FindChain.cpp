//===- FindChain.cpp - Two products that may overlap ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: recognises a loop in which one product feeds another, as attention has it, and what
// of an iteration may happen in the next one.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopFacts.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

/// True for ops that may run in an iteration that does not exist: those without effects,
/// loads, which the expansion masks, and what only touches shared memory.
static bool isSafeWithoutIteration(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op))
    return !load.mayChangeMeanwhile();
  return isMemoryEffectFree(op) || llvm::isa<ir::DescriptorLoadOp, ir::AllocSharedOp,
                                             ir::SharedLoadOp, ir::SharedDotOp, ir::WgmmaOp>(op);
}

/// Whether something that runs in time for the next iteration needs a value that the later
/// ops of this one yield.
static bool isNeededInTime(scf::ForOp loop, const ChainFacts &chain) {
  Operation *yield = loop.getBody()->getTerminator();
  for (OpOperand &yielded : yield->getOpOperands()) {
    if (!chain.isLater(yielded.get()))
      continue;
    BlockArgument variable = loop.getRegionIterArg(yielded.getOperandNumber());
    for (Operation *user : variable.getUsers()) {
      // What another variable becomes is later where this one is the accumulator.
      bool isLater = user == yield
                         ? variable == chain.accumulator
                         : chain.laterOps.contains(loop.getBody()->findAncestorOpInBlock(*user));
      if (!isLater)
        return true;
    }
  }
  return false;
}

std::optional<ChainFacts> findChain(scf::ForOp loop) {
  llvm::SmallVector<ir::WgmmaOp> products(loop.getBody()->getOps<ir::WgmmaOp>());
  if (products.size() != 2 || !isTile(products[1].getA()))
    return std::nullopt;
  // The first part also runs for iteration n, which does not exist.
  if (!llvm::all_of(loop.getBody()->without_terminator(),
                    [](Operation &op) { return isSafeWithoutIteration(&op); }))
    return std::nullopt;
  ir::WgmmaOp first = products[0], second = products[1];
  if (!usersOf(loop, {first.getResult()}).contains(second.getA().getDefiningOp()) ||
      !second.getResult().hasOneUse())
    return std::nullopt;
  OpOperand &use = *second.getResult().use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  ChainFacts chain;
  chain.first = first;
  chain.second = second;
  chain.accumulator = loop.getRegionIterArg(use.getOperandNumber());
  for (Operation *op : usersOf(loop, {chain.accumulator, second.getResult()}))
    chain.laterOps.insert(op);
  chain.laterOps.insert(second);
  // The first product, and what it comes to, must not need the second one's sum.
  Slice accumulator(loop);
  accumulator.add(second.getAcc());
  if (!accumulator.variables.contains(chain.accumulator) || chain.laterOps.contains(first) ||
      chain.isLater(second.getA()))
    return std::nullopt;
  for (Operation *op : chain.laterOps)
    if (op != second && (!isMemoryEffectFree(op) || op->getNumRegions() != 0))
      return std::nullopt;
  if (isNeededInTime(loop, chain))
    return std::nullopt;
  return chain;
}

} // namespace tilewright::passes
