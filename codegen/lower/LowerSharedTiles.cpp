//===- LowerSharedTiles.cpp - Tiles in shared memory ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.alloc_shared, tw.buffer_slot, tw.buffer_permute, tw.shared_store,
// tw.shared_load. A buffer is one value, the address of its first byte; a slot of
// a ring is that plus index times slot; a permutation changes only the layout in
// the type.
//
// Not here: barriers and waits between accesses
// (passes/resources/InsertBarriers.cpp).
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/SharedTile.h"

using namespace mlir;

namespace tilewright::codegen {

static LogicalResult storeTile(Operation *op, FunctionLowering &lowering, Value tile,
                               ir::BufferType buffer, Value base) {
  auto type = llvm::cast<RankedTensorType>(tile.getType());
  std::optional<SharedSide> side = planTileAccess(buffer, type, lowering.target.hasStoreMatrix);
  if (!side)
    return op->emitOpError("memory lacks elements of the tile: ") << buffer;
  SharedTile(lowering, *side, base, ir::elementBits(type.getElementType()))
      .store(lowering.get(tile));
  return success();
}

static LogicalResult lowerAlloc(Operation *op, FunctionLowering &lowering) {
  auto alloc = llvm::cast<ir::AllocSharedOp>(op);
  if (!op->hasAttr(ir::scratchOffsetAttr))
    return op->emitOpError("has no place in shared memory");
  Value base = lowering.sharedAddress(lowering.scratchOffset(op));
  lowering.set(alloc.getResult(), {base});
  if (!alloc.getInit())
    return success();
  return storeTile(op, lowering, alloc.getInit(), alloc.getType(), base);
}

static LogicalResult lowerSlot(Operation *op, FunctionLowering &lowering) {
  auto slot = llvm::cast<ir::BufferSlotOp>(op);
  OpBuilder &builder = lowering.builder;
  Value base = lowering.getScalar(slot.getRing());
  Value offset = builder.create<LLVM::MulOp>(lowering.loc, lowering.getScalar(slot.getIndex()),
                                             lowering.constantI32(slot.getType().slotStride()));
  Value address =
      builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), builder.getI8Type(), base,
                                  ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
  lowering.set(slot.getResult(), {address});
  return success();
}

static LogicalResult lowerPermute(Operation *op, FunctionLowering &lowering) {
  lowering.set(op->getResult(0), {lowering.getScalar(op->getOperand(0))});
  return success();
}

static LogicalResult lowerStore(Operation *op, FunctionLowering &lowering) {
  auto store = llvm::cast<ir::SharedStoreOp>(op);
  return storeTile(op, lowering, store.getValue(), store.getBuffer().getType(),
                   lowering.getScalar(store.getBuffer()));
}

static LogicalResult lowerLoad(Operation *op, FunctionLowering &lowering) {
  auto load = llvm::cast<ir::SharedLoadOp>(op);
  auto type = llvm::cast<RankedTensorType>(load.getType());
  ir::BufferType buffer = load.getBuffer().getType();
  // Every target has ldmatrix, with which lanes read for each other.
  std::optional<SharedSide> side = planTileAccess(buffer, type, /*allowMatrices=*/!load.getIsOwn());
  if (!side)
    return op->emitOpError("memory lacks elements of the tile: ") << buffer;
  Registers read(FunctionLowering::numRegisters(type));
  SharedTile(lowering, *side, lowering.getScalar(load.getBuffer()),
             ir::elementBits(type.getElementType()))
      .load(read, lowering.registerType(type.getElementType()));
  Registers result;
  for (int reg : side->registerOf)
    result.push_back(read[reg]);
  lowering.set(load.getResult(), std::move(result));
  return success();
}

void addSharedTileLowerings(LoweringTable &table) {
  table.add(ir::AllocSharedOp::getOperationName(), lowerAlloc);
  table.add(ir::BufferSlotOp::getOperationName(), lowerSlot);
  table.add(ir::BufferPermuteOp::getOperationName(), lowerPermute);
  table.add(ir::SharedStoreOp::getOperationName(), lowerStore);
  table.add(ir::SharedLoadOp::getOperationName(), lowerLoad);
}

} // namespace tilewright::codegen
