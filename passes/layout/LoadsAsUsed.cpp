//===- LoadsAsUsed.cpp - Loading tiles as their users hold them -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Examples: a short row that all warps work with; a row that is loaded once per warp,
// scaled, and then spread over the rows of a tile; numbers of rows, and what is loaded at
// them. A pointer that a loop advances for such a load goes along. Copies in several warps
// count as accesses of the cache only (CostModel.h); InsertBarriers keeps them before a
// later store.
//
// How:
//  1. From users to operands: the layout that all users of a load or of an elementwise op
//     want, by conversions or because they could take it themselves. From operands to
//     users: ops drop out that have an operand which cannot follow. Until nothing changes.
//  2. What hangs together is one slice: it takes its layout as a whole or stays. The larger ones
//     come first. What a few ops make from values that are in the layout already is made so, as
//     the index of one aligned load among shifted ones.
//
//===----------------------------------------------------------------------===//

#include "passes/layout/LoadsAsUsed.h"

#include "ir/layout/LayoutTransforms.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/layout/RetypeLoad.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace tilewright::passes {

using ir::LayoutAttr;

/// Addresses per thread that a load may make its loop carry; 16 registers, a guess.
static constexpr int maxCarriedAddresses = 8;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isInLoopOfProducts(ir::LoadOp load) {
  auto loop = load->getParentOfType<LoopLikeOpInterface>();
  return loop && loop->walk([](ir::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool LoadsAsUsed::canRetype(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op))
    return isTile(load.getResult()) && !load.mayChangeMeanwhile();
  return ir::isElementwise(op) && layoutRule(op) == LayoutRule::Same && isMemoryEffectFree(op) &&
         recomputeInstructions(op) && !materializer.isCheap(op->getResult(0));
}

/// The layout in which all users of `value` want it, null where they differ or one
/// takes it as it is.
LayoutAttr LoadsAsUsed::wantedByUsers(Value value) const {
  LayoutAttr layout;
  for (Operation *user : value.getUsers()) {
    auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user);
    LayoutAttr own = convert ? layoutOf(convert.getResult()) : wanted.lookup(user);
    if (!own || (layout && layout != own))
      return {};
    layout = own;
  }
  return layout;
}

/// Whether all operands of an op can be had in the layout that it should take.
bool LoadsAsUsed::hasOperandsFor(Operation *op) {
  auto load = llvm::dyn_cast<ir::LoadOp>(op);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (isMovable(operand, wanted.lookup(op), materializer) ||
        (load && operand == load.getPointer() && advanceOfPointer(load, materializer)))
      return true;
    Operation *producer = operand.getDefiningOp();
    return producer && wanted.lookup(producer) == wanted.lookup(op);
  });
}

void LoadsAsUsed::findWanted() {
  llvm::SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (canRetype(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops))
    if (LayoutAttr layout = wantedByUsers(op->getResult(0)))
      wanted[op] = layout;
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : ops) {
      bool stays = wanted.contains(op) && hasOperandsFor(op) &&
                   wantedByUsers(op->getResult(0)) == wanted.lookup(op);
      if (!stays)
        changed |= wanted.erase(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

static double computationCycles(Operation *op, const LinearLayout &layout) {
  double registers = removeZeroRegisters(layout).inSize(InDim::Register);
  return *recomputeInstructions(op) * registers * layout.inSize(InDim::Warp) /
         warpInstructionsPerCycle;
}

/// Cycles by which the accesses get shorter; less than none where a load may not take the layout.
double LoadsAsUsed::savedByLoads(const Slice &slice) {
  double saved = 0;
  for (ir::LoadOp load : slice.loads) {
    MemoryAccess access = *analyzeAccess(load, *axes, context.target);
    RankedTensorType type = tileType(load.getResult());
    LinearLayout to = slice.layout.toLinear(type.getShape());
    // Each access has an address of its own, two registers that the loop carries.
    int instructions = warpTraffic(access, to).instructions;
    if (advanceOfPointer(load, materializer) && instructions > maxCarriedAddresses)
      return -std::numeric_limits<double>::infinity();
    // Loops of products have no registers to spare: the gradients of attention would spill with
    // loads as their operands lie, each an access with an address and a mask of its own. And rows
    // take more registers where they are repeated.
    LinearLayout from = ir::getLinearLayout(type);
    if (isInLoopOfProducts(load) &&
        (type.getRank() == 1 || instructions > warpTraffic(access, from).instructions))
      return -std::numeric_limits<double>::infinity();
    saved += accessCycles(access, from) - accessCycles(access, to);
  }
  return saved;
}

/// Cycles of carrying the rows to the layout from which the slice's operands repeat them.
double LoadsAsUsed::spentOnRows(const Slice &slice) {
  double spent = 0;
  llvm::DenseSet<Value> seen;
  for (Operation *op : slice.computations)
    for (Value operand : op->getOperands()) {
      Value row = isTile(operand) && !materializer.isCheap(operand)
                      ? TileMaterializer::rowOf(operand)
                      : Value();
      if (!row || !seen.insert(row).second)
        continue;
      std::optional<LinearLayout> to = slice.layout.toLinear(tileType(operand).getShape());
      for (Value value = operand; to && value != row; value = value.getDefiningOp()->getOperand(0))
        to = operandLayout(value.getDefiningOp(), 0, *to);
      RankedTensorType type = tileType(row);
      spent += to ? conversionCycles(ir::getLinearLayout(type), *to,
                                     ir::elementBits(type.getElementType()))
                  : std::numeric_limits<double>::infinity();
    }
  return spent;
}

bool LoadsAsUsed::shouldRetype(const Slice &slice) {
  double saved = savedByLoads(slice) - spentOnRows(slice);
  auto addConversions = [&](Value value) {
    RankedTensorType type = tileType(value);
    if (llvm::any_of(value.getUsers(),
                     [](Operation *user) { return llvm::isa<ir::ConvertLayoutOp>(user); }))
      saved += conversionCycles(ir::getLinearLayout(type), slice.layout.toLinear(type.getShape()),
                                ir::elementBits(type.getElementType()));
  };
  for (ir::LoadOp load : slice.loads)
    addConversions(load.getResult());
  for (Operation *op : slice.computations) {
    RankedTensorType type = tileType(op->getResult(0));
    addConversions(op->getResult(0));
    saved += computationCycles(op, ir::getLinearLayout(type)) -
             computationCycles(op, slice.layout.toLinear(type.getShape()));
  }
  return saved > 0;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// What hangs together with `load` and has not been seen.
LoadsAsUsed::Slice LoadsAsUsed::sliceFrom(ir::LoadOp load,
                                          llvm::DenseSet<Operation *> &seen) const {
  Slice slice{wanted.lookup(load), {}, {}};
  llvm::SmallVector<Operation *> waiting;
  auto reach = [&](Operation *op) {
    if (op && wanted.contains(op) && seen.insert(op).second)
      waiting.push_back(op);
  };
  reach(load);
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val();
    llvm::for_each(op->getUsers(), reach);
    for (Value operand : op->getOperands())
      reach(operand.getDefiningOp());
    if (auto other = llvm::dyn_cast<ir::LoadOp>(op))
      slice.loads.push_back(other);
    else
      slice.computations.push_back(op);
  }
  return slice;
}

/// Whether the slice can still be retyped: operands are made from what is in their layout already,
/// and retyping an earlier slice may have changed that, or taken values of this one so.
bool LoadsAsUsed::isStillLegal(const Slice &slice) {
  auto isLegal = [&](Operation *op) {
    return hasOperandsFor(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
             return llvm::isa<ir::ConvertLayoutOp>(user) || wanted.lookup(user) == slice.layout;
           });
  };
  return llvm::all_of(slice.loads, isLegal) && llvm::all_of(slice.computations, isLegal);
}

void LoadsAsUsed::retype(const Slice &slice) {
  auto dropConversions = [&](Value value) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      // Others have been made for rows since then.
      if (llvm::isa<ir::ConvertLayoutOp>(user) && layoutOf(user->getResult(0)) == slice.layout) {
        user->getResult(0).replaceAllUsesWith(value);
        user->erase();
        ++removed;
      }
  };
  // First, as operands that are computed again would be made from what is in the layout already.
  for (Operation *op : slice.computations)
    setLayout(op->getResult(0), slice.layout);
  for (ir::LoadOp load : slice.loads) {
    retypeLoad(load, slice.layout, *analyzeAccess(load, *axes, context.target), materializer);
    context.remark(load, {"load-layout", true, {}, {}, "loaded as its users hold it"});
    dropConversions(load.getResult());
  }
  for (Operation *op : slice.computations) {
    retypeOperands(op, slice.layout, materializer);
    dropConversions(op->getResult(0));
  }
}

void LoadsAsUsed::run() {
  findWanted();
  llvm::SmallVector<ir::LoadOp> loads;
  function.walk([&](ir::LoadOp load) {
    if (wanted.contains(load))
      loads.push_back(load);
  });
  if (loads.empty())
    return;
  // Known of the operands as they are: copies of them are not analysed.
  axes.emplace(function);
  llvm::DenseSet<Operation *> seen;
  // A slice may take what another one would retype as it lies: the larger one has its way.
  auto isLarger = [](const Slice &lhs, const Slice &rhs) {
    return lhs.loads.size() + lhs.computations.size() > rhs.loads.size() + rhs.computations.size();
  };
  std::vector<Slice> slices;
  for (ir::LoadOp load : loads)
    if (!seen.contains(load)) {
      Slice slice = sliceFrom(load, seen);
      slices.insert(std::upper_bound(slices.begin(), slices.end(), slice, isLarger), slice);
    }
  for (const Slice &slice : slices) {
    if (isStillLegal(slice) && shouldRetype(slice))
      retype(slice);
    else
      refused += static_cast<int>(slice.loads.size());
  }
  eraseDead(function);
}

} // namespace tilewright::passes
