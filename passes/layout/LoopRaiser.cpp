//===- LoopRaiser.cpp - Conversions by way of operands --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/LoopRaiser.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace tilewright::passes {

namespace {

double cyclesToConvert(Value value, ir::LayoutAttr layout) {
  RankedTensorType type = tileType(value);
  return conversionCycles(ir::getLinearLayout(type), layout.toLinear(type.getShape()),
                          ir::elementBits(type.getElementType()));
}

} // namespace

bool LoopRaiser::shouldRaise(ir::ConvertLayoutOp convert) {
  Value source = convert.getSource();
  ir::LayoutAttr layout = layoutOf(convert.getResult());
  if (!isRaisable(source))
    return false;
  isForMma = feedsMma(convert.getResult());
  return operandCycles(source, layout) < cyclesToConvert(source, layout);
}

void LoopRaiser::raise(ir::ConvertLayoutOp convert) {
  Value source = convert.getSource();
  retype(source, layoutOf(convert.getResult()));
  convert.getResult().replaceAllUsesWith(source);
  convert.erase();
}

//===----------------------------------------------------------------------===//
// Legality and cost
//===----------------------------------------------------------------------===//

/// Whether nothing else uses `value` and it can take another layout if its operands do.
bool LoopRaiser::isRaisable(Value value) {
  Operation *op = value.getDefiningOp();
  return op && value.hasOneUse() && !loop.isDefinedOutsideOfLoop(value) &&
         layoutRule(op) == LayoutRule::Same && ir::isElementwise(op) && isMemoryEffectFree(op) &&
         llvm::any_of(op->getOperands(), isTile);
}

/// A value from outside that is used twice would take the registers of two tiles.
bool LoopRaiser::isUsedOnceInLoop(Value value) {
  return llvm::count_if(value.getUsers(),
                        [&](Operation *user) { return loop->isProperAncestor(user); }) == 1;
}

/// Cycles per iteration of having all operands of what makes `value` as `layout` asks.
double LoopRaiser::operandCycles(Value value, ir::LayoutAttr layout) {
  double sum = 0;
  Operation *op = value.getDefiningOp();
  LinearLayout wanted = layout.toLinear(tileType(value).getShape());
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (!isTile(operand))
      continue;
    std::optional<LinearLayout> needed = operandLayout(op, index, wanted);
    if (!needed)
      return std::numeric_limits<double>::infinity();
    sum += cycles(operand, ir::LayoutAttr::fromLinear(value.getContext(), *needed));
  }
  return sum;
}

double LoopRaiser::cycles(Value value, ir::LayoutAttr layout) {
  if (layoutOf(value) == layout || materializer.isCheap(value))
    return 0;
  if (loop.isDefinedOutsideOfLoop(value))
    return isUsedOnceInLoop(value) ? 0 : cyclesToConvert(value, layout);
  // Copied into shared memory ahead, and read from there in any layout (PromoteShared).
  if (isForMma && value.hasOneUse() && copiedAhead.contains(value))
    return 0;
  if (auto convert = value.getDefiningOp<ir::ConvertLayoutOp>(); convert && value.hasOneUse())
    return cycles(convert.getSource(), layout) -
           cyclesToConvert(convert.getSource(), layoutOf(value));
  if (TileMaterializer::isExpansion(value) || isRaisable(value))
    return std::min(operandCycles(value, layout), cyclesToConvert(value, layout));
  return cyclesToConvert(value, layout);
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

void LoopRaiser::retype(Value value, ir::LayoutAttr layout) {
  // The layouts of an elementwise op's operands are that of its result.
  for (OpOperand &use : value.getDefiningOp()->getOpOperands()) {
    Value operand = use.get();
    if (!isTile(operand))
      continue;
    if (isRaisable(operand) && !materializer.isCheap(operand) &&
        operandCycles(operand, layout) < cyclesToConvert(operand, layout))
      retype(operand, layout);
    else
      use.set(materializer.get(operand, layout));
  }
  setLayout(value, layout);
}

} // namespace tilewright::passes
