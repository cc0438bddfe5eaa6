//===- TransposedBytes.cpp - Bytes that products want transposed ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/TransposedBytes.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/support/Hardware.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

/// Blocks have so many bytes in each dimension (2^log2Block): words of either buffer.
static constexpr int log2Block = 2;

/// The dimensions of a tile of bytes, fastest in memory first, if products want it in the other order,
/// and nothing else wants it.
static std::optional<std::vector<int>> orderOfTransposed(ir::LoadOp load, const AxisAnalysis &axes,
                                                         const TargetInfo &target) {
  ir::BufferType buffer = onlyBufferOf(load);
  if (!buffer || buffer.getShape().size() != 2 || !canBeCopiedAhead(load, axes, target))
    return std::nullopt;
  MemoryAccess access = *analyzeAccess(load, axes, target);
  int rows = fastestDimension(buffer);
  auto isShort = [](int64_t size) { return size < (1 << log2Block); };
  if (access.elementBytes != 1 || access.order.front() == rows ||
      llvm::any_of(buffer.getShape(), isShort))
    return std::nullopt;
  return std::vector<int>{access.order.front(), rows};
}

TransposedBytes::TransposedBytes(scf::ForOp loop, const TargetInfo &target) {
  auto module = loop->getParentOfType<ModuleOp>();
  if (ir::stagesOf(loop) < 2 || ir::numBlocks(module) != 1)
    return;
  std::optional<AxisAnalysis> axes;
  for (ir::LoadOp load : llvm::make_early_inc_range(loop.getBody()->getOps<ir::LoadOp>())) {
    if (!isTile(load.getResult()) || !onlyBufferOf(load))
      continue;
    if (!axes)
      axes.emplace(loop->getParentOfType<func::FuncOp>());
    std::optional<std::vector<int>> order = orderOfTransposed(load, *axes, target);
    if (!order)
      continue;
    RankedTensorType type = tileType(load.getResult());
    std::vector<int> log2Shape = ir::log2Shape(type.getShape());
    // Four lanes to a chunk of the swizzle, and those of eight chunks.
    LinearLayout blocks = makeTransposing(
        log2Shape, *order, order->back(), log2Block, /*log2Run=*/log2Block, target.log2WarpSize,
        llvm::Log2_32(static_cast<uint32_t>(ir::numWarps(module))));
    auto typeOfBlocks = [&] {
      return RankedTensorType::get(type.getShape(), type.getElementType(),
                                   ir::LayoutAttr::fromLinear(load.getContext(), blocks));
    };
    Location loc = load.getLoc();
    OpBuilder builder(load.getContext());
    builder.setInsertionPointAfter(load);
    Tile tile;
    tile.load = load;
    // Lanes read every fourth row.
    tile.asLoaded = builder.create<ir::AllocSharedOp>(
        loc,
        bufferFor(type, makeSwizzledShared(log2Shape, /*elementBits=*/8, hardware::maxSwizzleBytes,
                                           *order, log2Block)),
        load.getResult());
    tile.blocks = builder.create<ir::SharedLoadOp>(loc, typeOfBlocks(), tile.asLoaded);
    // Bytes that follow one another in the other buffer become words.
    auto registers = blocks.columns(InDim::Register).begin();
    std::rotate(registers, registers + log2Block, registers + 2 * log2Block);
    tile.transposed = builder.create<ir::ConvertLayoutOp>(loc, typeOfBlocks(), tile.blocks);
    load.getResult().replaceAllUsesExcept(tile.transposed, tile.asLoaded);
    tiles.push_back(tile);
  }
}

void TransposedBytes::Tile::undo() {
  transposed.getResult().replaceAllUsesWith(load.getResult());
  for (Operation *op : {transposed.getOperation(), blocks.getOperation(), asLoaded.getOperation()})
    op->erase();
}

bool TransposedBytes::undoAllBut(const std::optional<LoopSchedule> &schedule) {
  size_t before = tiles.size();
  llvm::erase_if(tiles, [&](Tile &tile) {
    bool isCopied = schedule && schedule->copies(tile.load);
    if (!isCopied)
      tile.undo();
    return !isCopied;
  });
  return tiles.size() != before;
}

bool isStoredAgain(ir::SharedLoadOp read) {
  return llvm::all_of(read->getUsers(), [](Operation *user) {
    return llvm::isa<ir::ConvertLayoutOp>(user) &&
           llvm::all_of(user->getUsers(), llvm::IsaPred<ir::AllocSharedOp>);
  });
}

} // namespace tilewright::passes
