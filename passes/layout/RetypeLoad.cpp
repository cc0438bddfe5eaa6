//===- RetypeLoad.cpp - A load in another layout --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/RetypeLoad.h"

#include "passes/analysis/LayoutRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

ir::AddPtrOp advanceOfPointer(ir::LoadOp load, TileMaterializer &materializer) {
  auto pointer = llvm::dyn_cast<BlockArgument>(load.getPointer());
  auto loop = pointer ? llvm::dyn_cast<scf::ForOp>(pointer.getOwner()->getParentOp()) : nullptr;
  if (!loop || load->getBlock() != loop.getBody())
    return {};
  auto advance = loop.getTiedLoopYieldedValue(pointer)->get().getDefiningOp<ir::AddPtrOp>();
  auto isOfLoad = [&](Operation *user) { return user == load || user == advance; };
  if (!advance || advance.getPointer() != pointer || !advance->hasOneUse() ||
      !llvm::all_of(pointer.getUsers(), isOfLoad))
    return {};
  Value step = advance.getOffset();
  return materializer.isCheap(step) || loop.isDefinedOutsideOfLoop(step) ? advance : nullptr;
}

bool isMovable(Value operand, ir::LayoutAttr layout, TileMaterializer &materializer) {
  return !isTile(operand) || materializer.isRestored(operand, layout) ||
         TileMaterializer::rowOf(operand);
}

bool hasMovableOperands(ir::LoadOp load, ir::LayoutAttr layout, TileMaterializer &materializer) {
  return llvm::all_of(load->getOperands(), [&](Value operand) {
    return isMovable(operand, layout, materializer) ||
           (operand == load.getPointer() && advanceOfPointer(load, materializer));
  });
}

/// Gives the pointer that `advance` adds to another layout, before, in and after its loop.
static void retypePointer(ir::AddPtrOp advance, ir::LayoutAttr layout,
                          TileMaterializer &materializer) {
  auto pointer = llvm::cast<BlockArgument>(advance.getPointer());
  auto loop = llvm::cast<scf::ForOp>(pointer.getOwner()->getParentOp());
  OpOperand *init = loop.getTiedLoopInit(pointer);
  OpResult result = loop.getTiedLoopResult(pointer);
  ir::LayoutAttr old = layoutOf(pointer);
  init->set(materializer.get(init->get(), layout));
  advance.getOffsetMutable().set(materializer.get(advance.getOffset(), layout));
  for (Value value : {Value(pointer), Value(advance.getResult()), Value(result)})
    setLayout(value, layout);
  if (!result.use_empty()) {
    Value restored = convertBefore(loop->getNextNode(), result, old);
    result.replaceAllUsesExcept(restored, restored.getDefiningOp());
  }
}

void retypeOperands(Operation *op, ir::LayoutAttr layout, TileMaterializer &materializer) {
  for (OpOperand &operand : op->getOpOperands())
    if (isTile(operand.get()) && isMovable(operand.get(), layout, materializer))
      operand.set(materializer.get(operand.get(), layout));
}

void retypeLoad(ir::LoadOp load, ir::LayoutAttr layout, const MemoryAccess &access,
                TileMaterializer &materializer) {
  if (ir::AddPtrOp advance = advanceOfPointer(load, materializer))
    retypePointer(advance, layout, materializer);
  retypeOperands(load, layout, materializer);
  setLayout(load.getResult(), layout);
  setVectorWidth(access, ir::getLinearLayout(tileType(load.getResult())));
}

} // namespace tilewright::passes
