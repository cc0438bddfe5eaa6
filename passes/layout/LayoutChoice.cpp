//===- LayoutChoice.cpp - Which layout each value should have -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/LayoutChoice.h"

#include "ir/layout/LayoutTransforms.h"
#include "ir/layout/ScanPlan.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/RegionFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

using ir::LayoutAttr;

/// Elements along the fastest dimension with one address, from which on a load has no layout of its
/// own: as many as a thread usually has next to each other. A guess.
static constexpr int64_t fewestRepeats = 4;

/// How often a loop body is visited until its variables must have settled. A guess.
static constexpr int maxLoopVisits = 3;

LayoutChoice::LayoutChoice(func::FuncOp function, const LayoutCandidates &candidates,
                           TileMaterializer &materializer)
    : candidates(candidates), materializer(materializer) {
  forwardBlock(function.getBody().front());
  backwardBlock(function.getBody().front());
}

LayoutAttr LayoutChoice::known(Value value) const {
  if (LayoutAttr layout = preferred.lookup(value))
    return layout;
  return wanted.lookup(value);
}

LayoutAttr LayoutChoice::layoutFor(Value value) const {
  LayoutAttr layout = known(value);
  return layout ? layout : candidates.defaultLayout(tileType(value));
}

void LayoutChoice::prefer(Value value, LayoutAttr layout) {
  if (layout)
    preferred[value] = layout;
  else
    preferred.erase(value);
}

void LayoutChoice::want(Value value, LayoutAttr layout) {
  if (isTile(value) && !preferred.count(value))
    wanted.try_emplace(value, layout);
}

void LayoutChoice::wantOperand(Operation *op, unsigned index, LayoutAttr result, Value resultTile) {
  Value operand = op->getOperand(index);
  if (!isTile(operand))
    return;
  if (std::optional<LinearLayout> layout =
          operandLayout(op, index, linearLayout(result, resultTile)))
    want(operand, candidates.attr(*layout));
}

LayoutAttr LayoutChoice::cheapest(llvm::ArrayRef<LayoutAttr> possible, ValueRange operands,
                                  const MemoryAccess *access) {
  LayoutAttr best;
  double bestCost = 0;
  for (LayoutAttr candidate : possible) {
    double cost = access ? accessCycles(*access, linearLayout(candidate, access->pointer)) : 0;
    for (Value operand : operands) {
      LayoutAttr own = isTile(operand) ? preferred.lookup(operand) : LayoutAttr();
      if (own && own != candidate)
        cost += conversionCycles(linearLayout(own, operand), linearLayout(candidate, operand),
                                 ir::elementBits(getElementTypeOrSelf(operand)));
    }
    if (!best || cost < bestCost) {
      best = candidate;
      bestCost = cost;
    }
  }
  return best;
}

LayoutAttr LayoutChoice::chooseSame(Operation *op) {
  llvm::SmallVector<LayoutAttr> possible;
  const MemoryAccess *memory = candidates.accessOf(op);
  // An atomic whose result is used takes the layout of an operand where one is preferred, and
  // not the one that suits its addresses.
  bool followsValue =
      memory && memory->isAtomic() &&
      llvm::any_of(op->getResults(), [](Value result) { return !result.use_empty(); });
  if (memory && !followsValue)
    possible.push_back(candidates.coalesced(*memory));
  for (Value operand : op->getOperands())
    if (LayoutAttr own = preferred.lookup(operand); own && !llvm::is_contained(possible, own))
      possible.push_back(own);
  if (followsValue && possible.empty())
    possible.push_back(candidates.coalesced(*memory));
  for (Value operand : op->getOperands())
    if (LayoutAttr layout = restored.lookup(operand); layout && possible.empty())
      possible.push_back(layout);
  if (possible.size() == 1)
    return possible.front();
  return cheapest(possible, op->getOperands(), memory);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void LayoutChoice::forwardBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    forward(&op);
}

void LayoutChoice::forward(Operation *op) {
  switch (layoutRule(op)) {
  case LayoutRule::Source:
    if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
      prefer(load.getResult(), candidates.coalescedRows(load.getType()));
    return;
  case LayoutRule::Same:
    return forwardSame(op);
  case LayoutRule::Shape:
    return forwardShape(op);
  case LayoutRule::Reduce:
    return forwardReduce(llvm::cast<ir::ReduceOp>(op));
  case LayoutRule::Dot:
    return prefer(op->getResult(0), candidates.attr(accumulatorLayout(llvm::cast<ir::DotOp>(op))));
  case LayoutRule::Region:
    return forwardRegion(op);
  default:
    return;
  }
}

/// Whether a load may follow its users: its addresses repeat in whole groups, and no larger tile
/// would have to be met.
static bool suitsAnyLayout(Operation *op, const LayoutCandidates &candidates) {
  const MemoryAccess *access = llvm::isa<ir::LoadOp>(op) ? candidates.accessOf(op) : nullptr;
  return access && access->constancy[access->order.front()] >= fewestRepeats &&
         access->type.getNumElements() >= candidates.largestAccess();
}

void LayoutChoice::forwardSame(Operation *op) {
  if (llvm::isa<ir::StoreOp>(op))
    return;
  bool isBound =
      llvm::any_of(op->getOperands(), [&](Value value) { return preferred.count(value); });
  if (!isBound && suitsAnyLayout(op, candidates))
    return;
  LayoutAttr layout = chooseSame(op);
  if (auto scan = llvm::dyn_cast<ir::ScanOp>(op); scan && layout)
    layout = chooseScan(scan, layout);
  for (Value result : op->getResults())
    if (isTile(result))
      prefer(result, isFlexible(result) ? LayoutAttr() : layout);
}

LayoutAttr LayoutChoice::chooseScan(ir::ScanOp scan, LayoutAttr layout) {
  LinearLayout own = acceptableOperandLayout(scan, linearLayout(layout, scan.getSources().front()));
  LinearLayout other = withNeighboursInThreads(own, scan.getAxis());
  std::vector<int> elementBits;
  double conversions = 0;
  for (Value source : scan.getSources()) {
    elementBits.push_back(ir::elementBits(getElementTypeOrSelf(source)));
    conversions += conversionCycles(own, other, elementBits.back()) +
                   conversionCycles(other, own, elementBits.back());
  }
  double instructions = 0;
  scan.getCombine().walk(
      [&](Operation *op) { instructions += !op->hasTrait<OpTrait::IsTerminator>(); });
  double saved = scanCycles(own, scan.getAxis(), elementBits, instructions) -
                 scanCycles(other, scan.getAxis(), elementBits, instructions);
  return candidates.attr(saved > conversions ? other : own);
}

void LayoutChoice::forwardShape(Operation *op) {
  Value from = op->getOperand(0);
  if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) {
    LayoutAttr operand = preferred.lookup(from);
    if (operand && op->hasAttr(ir::repeatsAttr))
      return prefer(broadcast.getResult(),
                    candidates.attr(repeatInThreads(
                        linearLayout(operand, from),
                        ir::log2Shape(tileType(broadcast.getResult()).getShape()))));
    restored[broadcast.getResult()] = reducedFrom(broadcast);
    return;
  }
  LayoutAttr operand = preferred.lookup(from), weak = restored.lookup(from);
  if (!operand && !weak)
    return;
  LinearLayout source =
      acceptableOperandLayout(op, linearLayout(operand ? operand : weak, op->getOperand(0)));
  if (std::optional<LinearLayout> layout = resultLayout(op, source))
    for (Value result : op->getResults()) {
      if (operand)
        prefer(result, candidates.attr(*layout));
      else
        restored[result] = candidates.attr(*layout);
    }
}

LayoutAttr LayoutChoice::reducedFrom(ir::BroadcastOp broadcast) const {
  auto expand = broadcast.getSource().getDefiningOp<ir::ExpandDimsOp>();
  auto reduce = expand ? expand.getSource().getDefiningOp<ir::ReduceOp>() : ir::ReduceOp();
  if (!reduce || reduce.getAxis() != expand.getAxis())
    return {};
  Value source = reduce.getSources().front();
  bool isWhole = tileType(source).getShape() == tileType(broadcast.getResult()).getShape();
  return isWhole ? known(source) : LayoutAttr();
}

void LayoutChoice::forwardReduce(ir::ReduceOp reduce) {
  LayoutAttr layout;
  for (Value source : reduce.getSources())
    if (!layout)
      layout = preferred.lookup(source);
  RankedTensorType type = tileType(reduce.getSources().front());
  LayoutAttr &last = reduced[type.getShape().vec()];
  if (layout) {
    last = layout;
  } else {
    layout = last ? last : candidates.layoutToReduce(type, static_cast<int>(reduce.getAxis()));
    for (Value source : reduce.getSources())
      want(source, layout);
  }
  LinearLayout source =
      acceptableOperandLayout(reduce, linearLayout(layout, reduce.getSources().front()));
  std::optional<LinearLayout> result = resultLayout(reduce, source);
  for (Value value : reduce.getResults())
    if (isTile(value))
      prefer(value, candidates.attr(*result));
}

/// How many elements of `value` a thread loads at once in `layout`; 0 where no load makes it.
static int elementsAtOnce(const LayoutCandidates &candidates, Value value, LayoutAttr layout) {
  Operation *op = value.getDefiningOp();
  const MemoryAccess *access = op ? candidates.accessOf(op) : nullptr;
  return access ? vectorElements(*access, linearLayout(layout, value)) : 0;
}

void LayoutChoice::forwardRegion(Operation *op) {
  if (llvm::isa<LoopLikeOpInterface>(op))
    return forwardLoop(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      forwardBlock(block);
  for (Value result : op->getResults()) {
    llvm::SmallVector<Value> sources;
    if (!isTile(result) || !carriedFrom(result, sources))
      continue;
    // The layout of the load with the longest vectors: where only one branch has a mask, the
    // other is the one that runs.
    LayoutAttr widest;
    int most = 0;
    for (Value source : sources) {
      LayoutAttr layout = preferred.lookup(source);
      int elements = layout ? elementsAtOnce(candidates, source, layout) : 0;
      if (layout && (!widest || elements > most)) {
        widest = layout;
        most = elements;
      }
    }
    prefer(result, widest);
  }
}

bool LayoutChoice::carryFrom(Operation *source, Region *into) {
  bool changed = false;
  for (OpOperand &operand : source->getOpOperands()) {
    LayoutAttr layout = preferred.lookup(operand.get());
    for (Value target : carriedTo(operand)) {
      if (!layout || layout == preferred.lookup(target))
        continue;
      preferred[target] = layout;
      changed |= target.getParentRegion() == into;
    }
  }
  return changed;
}

void LayoutChoice::forwardLoop(Operation *loop) {
  Region *first = &loop->getRegion(0);
  carryFrom(loop, first);
  for (int visit = 0; visit < maxLoopVisits; ++visit) {
    bool changed = false;
    for (Region &region : loop->getRegions()) {
      forwardBlock(region.front());
      changed = carryFrom(region.front().getTerminator(), first);
    }
    if (!changed)
      break;
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void LayoutChoice::backwardBlock(Block &block) {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    backward(&op);
}

void LayoutChoice::backward(Operation *op) {
  switch (layoutRule(op)) {
  case LayoutRule::Same: {
    Value tile = tileOf(op);
    LayoutAttr layout = op->getNumResults() ? known(tile) : LayoutAttr();
    if (candidates.accessOf(op) && !layout)
      layout = decided[op] = chooseSame(op);
    if (layout)
      for (unsigned index = 0; index < op->getNumOperands(); ++index)
        wantOperand(op, index, layout, tile);
    return;
  }
  case LayoutRule::Shape:
    for (Value result : op->getResults())
      if (LayoutAttr layout = known(result))
        for (unsigned index = 0; index < op->getNumOperands(); ++index)
          wantOperand(op, index, layout, result);
    return;
  case LayoutRule::Dot: {
    auto dot = llvm::cast<ir::DotOp>(op);
    want(dot.getAcc(), candidates.attr(accumulatorLayout(dot)));
    // What is computed from indices alone is made as the unit takes it.
    for (unsigned index : {0, 1})
      if (isFlexible(dot->getOperand(index)) &&
          (dot.getUnit() == ir::MatrixUnit::wgmma || !readsOperandsFromShared(dot)))
        want(dot->getOperand(index), candidates.attr(dotOperandLayout(dot, index)));
    return;
  }
  case LayoutRule::Region:
    return backwardRegion(op);
  default:
    return;
  }
}

void LayoutChoice::tie(llvm::ArrayRef<Value> values) {
  LayoutAttr layout;
  for (Value value : values)
    if (!layout)
      layout = preferred.lookup(value);
  for (Value value : values)
    if (!layout)
      layout = wanted.lookup(value);
  if (layout)
    for (Value value : values)
      want(value, layout);
}

void LayoutChoice::backwardRegion(Operation *op) {
  if (llvm::isa<LoopLikeOpInterface>(op)) {
    // Twice: what the body wants of a variable concerns what it yields.
    for (int visit = 0; visit < 2; ++visit) {
      tieVariables(op);
      for (Region &region : llvm::reverse(op->getRegions()))
        backwardBlock(region.front());
    }
    return tieVariables(op);
  }
  for (Value result : op->getResults()) {
    llvm::SmallVector<Value> sources;
    LayoutAttr layout = known(result);
    if (layout && carriedFrom(result, sources))
      for (Value source : sources)
        want(source, layout);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      backwardBlock(block);
}

void LayoutChoice::tieVariables(Operation *loop) {
  for (const FlowVariable &variable : flowVariables(loop)) {
    llvm::SmallVector<Value> values = variable.targets;
    for (OpOperand *source : variable.sources)
      values.push_back(source->get());
    if (isTile(values.front()))
      tie(values);
  }
}

Value tileOf(Operation *op) {
  for (Value result : op->getResults())
    if (isTile(result))
      return result;
  for (Value operand : op->getOperands())
    if (isTile(operand))
      return operand;
  return {};
}

} // namespace tilewright::passes
