//===- MarkWaits.cpp - Loops that wait for other programs -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a plain load whose value decides whether a `while` loop goes on, and whose address is the
// same in each iteration, becomes volatile: such a loop waits until another program writes there.
// The loads that the loop's variables start from become volatile with it.
//
// Why: LLVM takes plain memory for unchanged where the loop does not write it. It would read once
// and wait for ever, or delete a loop that does nothing else. And threads that read for
// themselves might leave the loop at different times; those that enter it have to agree as well.
//
// Why here: before anything that reads a load's attributes or moves loads, so that no pass takes
// the load for a plain one.
//
// Not handled: a loop that reads another address in each iteration (a search), which ends by
// itself or waits for nothing; one that counts, though a load may say by how much; a `for` loop,
// which ends in any case.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "ir/dialect/TileDialect.h"
#include "passes/analysis/RegionFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_MARKWAITS
#include "passes/Passes.h.inc"

/// Whether `value` is computed from what exists before the loop alone. Its ops may stand in the
/// loop: nothing is hoisted yet.
static bool isInvariant(Value value, Operation *loop) {
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t index = 0; index < values.size(); ++index) {
    Value each = values[index];
    if (!loop->isAncestor(each.getParentBlock()->getParentOp()))
      continue;
    Operation *op = each.getDefiningOp();
    if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return false;
    values.insert(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// Whether `source`, a value that `variable` gets, adds to the variable itself: then the loop
/// comes to its end by counting, whatever it counts by, and not by what others write.
static bool isStep(Value source, Value variable) {
  llvm::SetVector<std::pair<Value, int>> values; // and whether something is added on the way
  values.insert({source, 0});
  for (size_t index = 0; index < values.size(); ++index) {
    auto [value, isAdded] = values[index];
    if (value == variable && isAdded)
      return true;
    Operation *op = value.getDefiningOp();
    if (llvm::isa_and_nonnull<ir::LoadOp>(op))
      continue; // its address is no part of the sum
    llvm::SmallVector<Value> sources;
    if (!carriedFrom(value, sources) && op)
      sources.assign(op->operand_begin(), op->operand_end());
    isAdded |= llvm::isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op);
    for (Value each : sources)
      values.insert({each, isAdded});
  }
  return false;
}

/// The loads whose values the loop's condition is computed from, in the loop or before it; what
/// their addresses are computed from does not count, nor do the steps of a counter.
static llvm::SetVector<Operation *> loadsOfCondition(scf::WhileOp loop) {
  llvm::SetVector<Operation *> loads;
  llvm::SetVector<Value> values;
  values.insert(loop.getConditionOp().getCondition());
  for (size_t index = 0; index < values.size(); ++index) {
    Value value = values[index];
    llvm::SmallVector<Value> sources;
    Operation *op = value.getDefiningOp();
    if (op && llvm::isa<ir::LoadOp>(op))
      loads.insert(op);
    else if (carriedFrom(value, sources)) {
      // Which branch a value comes from is decided by the branch's condition.
      if (auto branch = llvm::dyn_cast_or_null<scf::IfOp>(op))
        sources.push_back(branch.getCondition());
      for (Value source : sources)
        if (!isStep(source, value))
          values.insert(source);
    } else if (op) {
      values.insert(op->operand_begin(), op->operand_end());
    }
  }
  return loads;
}

namespace {

class MarkWaitsPass : public impl::MarkWaitsBase<MarkWaitsPass> {
public:
  void runOnOperation() override {
    getOperation().walk([&](scf::WhileOp loop) {
      llvm::SetVector<Operation *> loads = loadsOfCondition(loop);
      bool isWait = llvm::any_of(loads, [&](Operation *load) {
        return loop->isAncestor(load) &&
               isInvariant(llvm::cast<ir::LoadOp>(load).getPointer(), loop);
      });
      for (Operation *op : loads)
        if (auto load = llvm::cast<ir::LoadOp>(op); isWait && !load.mayChangeMeanwhile()) {
          load.setIsVolatile(true);
          ++numMarked;
        }
    });
  }
};

} // namespace

std::unique_ptr<Pass> createMarkWaits(PassContext) { return std::make_unique<MarkWaitsPass>(); }

} // namespace tilewright::passes
