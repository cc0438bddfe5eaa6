//===- TileMaterializer.cpp - A tile in a wanted layout -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/TileMaterializer.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace tilewright::passes {

/// The share of a tile's elements that a row or column has at most which is converted to make what
/// it is repeated in, or addresses, from it again; and what the latter costs per element. Guesses.
static constexpr double maxLeafShare = 1.0 / 8, leafInstructions = 16;

ir::LayoutAttr layoutOf(Value value) { return ir::getLayout(tileType(value)); }

void setLayout(Value value, ir::LayoutAttr layout) {
  RankedTensorType type = ir::withLayout(tileType(value), layout);
  value.setType(type);
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return;
  auto dense = llvm::cast<DenseElementsAttr>(constant.getValue());
  constant.setValueAttr(llvm::cast<TypedAttr>(Attribute(dense.reshape(type))));
}

//===----------------------------------------------------------------------===//
// Legality and cost
//===----------------------------------------------------------------------===//

bool TileMaterializer::isExpansion(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (llvm::isa<ir::BroadcastOp, ir::ExpandDimsOp, ir::SplatOp>(op))
    return true;
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 || !ir::isElementwise(op) ||
      !isMemoryEffectFree(op))
    return false;
  Type from = getElementTypeOrSelf(op->getOperand(0)), to = getElementTypeOrSelf(value);
  // A widening cast: the source has fewer bits to move.
  return isTile(op->getOperand(0)) && ir::elementBits(from) < ir::elementBits(to) &&
         recomputeInstructions(op).value_or(maxRecomputeInstructions) < maxRecomputeInstructions;
}

Value TileMaterializer::rowOf(Value value) {
  Value row = value;
  while (Operation *op = row.getDefiningOp()) {
    if (!llvm::isa<ir::BroadcastOp, ir::ExpandDimsOp>(op))
      break;
    row = op->getOperand(0);
  }
  double share = double(tileType(row).getNumElements()) / tileType(value).getNumElements();
  return share <= maxLeafShare ? row : Value();
}

double TileMaterializer::chainCost(Value value, bool convertsLeaves) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!isTile(value))
    return 0;
  auto &costs = convertsLeaves ? addressCosts : chainCosts;
  if (auto found = costs.find(value); found != costs.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  std::optional<double> own = op ? recomputeInstructions(op) : std::nullopt;
  double cost = own.value_or(never);
  if (own)
    for (Value operand : op->getOperands())
      if (isTile(operand)) {
        // A broadcast's source has fewer elements, so its part is smaller.
        double share =
            double(tileType(operand).getNumElements()) / tileType(value).getNumElements();
        double part = chainCost(operand, convertsLeaves);
        if (convertsLeaves && share <= maxLeafShare)
          part = std::min(part, leafInstructions);
        cost += part * std::min(1.0, share);
      }
  return costs[value] = cost;
}

bool TileMaterializer::isCheap(Value value) {
  return chainCost(value, /*convertsLeaves=*/false) <= maxRecomputeInstructions;
}

double TileMaterializer::restoringCost(Value value, ir::LayoutAttr layout) {
  if (!isTile(value) || layoutOf(value) == layout)
    return 0;
  double cost = chainCost(value, /*convertsLeaves=*/false);
  Operation *op = value.getDefiningOp();
  if (cost <= maxRecomputeInstructions || !op)
    return cost;
  if (auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(op))
    return layoutOf(convert.getSource()) == layout ? 0 : cost;
  std::optional<double> own = recomputeInstructions(op);
  if (!own || !ir::isElementwise(op) || layoutRule(op) != LayoutRule::Same)
    return cost;
  double restored = *own;
  for (Value operand : op->getOperands())
    if (restored <= maxRecomputeInstructions)
      restored += restoringCost(operand, layout);
  return restored;
}

bool TileMaterializer::isRestored(Value value, ir::LayoutAttr layout) {
  return restoringCost(value, layout) <= maxRecomputeInstructions;
}

bool TileMaterializer::isCheapAddress(Value value) {
  return llvm::isa<IntegerType, ir::PointerType>(getElementTypeOrSelf(value)) &&
         chainCost(value, /*convertsLeaves=*/true) <= maxRecomputeInstructions;
}

bool TileMaterializer::isRemade(Value value) {
  return isCheap(value) || isExpansion(value) || isCheapAddress(value);
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

Value TileMaterializer::get(Value value, ir::LayoutAttr layout) {
  RankedTensorType type = tileType(value);
  if (ir::getLayout(type) == layout)
    return value;
  Value &known = made[{value, layout}];
  if (known)
    return known;
  // A conversion back gives the value that was converted.
  if (auto convert = value.getDefiningOp<ir::ConvertLayoutOp>())
    return get(convert.getSource(), layout);
  Value result;
  if (isRemade(value) || isRestored(value, layout))
    result = recompute(value, layout);
  if (!result)
    result = convert(value, layout);
  // `known` may dangle: computing operands adds to the map.
  return made[{value, layout}] = result;
}

Value TileMaterializer::recompute(Value value, ir::LayoutAttr layout) {
  Operation *op = value.getDefiningOp();
  LinearLayout wanted = layout.toLinear(tileType(value).getShape());
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!isTile(operand))
      continue;
    std::optional<LinearLayout> needed = operandLayout(op, index, wanted);
    if (!needed)
      return {};
    mapping.map(operand, get(operand, ir::LayoutAttr::fromLinear(value.getContext(), *needed)));
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op, mapping);
  setLayout(copy->getResult(0), layout);
  ++recomputed;
  return copy->getResult(0);
}

Value TileMaterializer::convert(Value value, ir::LayoutAttr layout) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  ++conversions;
  return builder.create<ir::ConvertLayoutOp>(value.getLoc(),
                                             ir::withLayout(tileType(value), layout), value);
}

Value convertBefore(Operation *op, Value value, ir::LayoutAttr layout) {
  OpBuilder builder(op);
  return builder.create<ir::ConvertLayoutOp>(value.getLoc(),
                                             ir::withLayout(tileType(value), layout), value);
}

void eraseDead(Operation *root) {
  llvm::SmallVector<Operation *> ops;
  root->walk([&](Operation *op) { ops.push_back(op); });
  // Users come after their operands in the walk. Ops with regions stay: erasing
  // one would leave its inner ops dangling in the list.
  for (Operation *op : llvm::reverse(ops))
    if (op->getNumRegions() == 0 && isOpTriviallyDead(op))
      op->erase();
}

} // namespace tilewright::passes
