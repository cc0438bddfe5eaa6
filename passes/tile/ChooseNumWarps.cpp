//===- ChooseNumWarps.cpp - The number of warps from the tile sizes -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sets tw.num_warps where the user gave none.
//
// Why here: before layouts, which depend on it, and after simplification, so
// that only tiles count which are really loaded, stored or reduced.
//
// How: programs of products get four warps, as those that were written for Triton count on, or
// as many as the results need. Others are limited by memory, so what counts is bytes in flight per
// multiprocessor: an H200's 4.8 TB/s times some 700 ns are 25 KB, held in
// registers. Threads with few elements leave registers unused (2048 threads with
// 32 each); threads with many spill or leave room for one block only, whose
// phases (load, reduce, store) then do not overlap with another's. Fewer warps
// make reductions cheaper: one warp needs no shared memory at all.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/Resources.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_CHOOSENUMWARPS
#include "passes/Passes.h.inc"

namespace {

// How many bytes a thread should hold is in Resources.h (bytesPerThread), beside what later
// passes know of registers. Below is what else was measured with it: an H200, November 2026.

/// Tiles of more bytes give a thread several accesses in flight instead of more warps: a
/// depthwise convolution over 8 KB takes 2921 GB/s with 8 warps and 2077 with 16, a gather of
/// rows of 8 KB 4004 and 3733.
constexpr int64_t elementwiseWarps = 8;
/// With more operations per element than `manyOperations` what a thread computes for all of
/// its elements together, such as addresses, counts: int4 dequantised 3615 GB/s with 4 warps
/// and 3452 with 8, dropout 2588 and 2509, a depthwise convolution 3456 and 3206.
constexpr int64_t arithmeticWarps = 4;
constexpr int64_t manyOperations = 6;
/// More warps would leave one block of a row per multiprocessor, whose loads wait for its own
/// stores. Rows of more than bytesPerThread(RowAlone) leave one in any case.
constexpr int64_t cappedWarps = 16;
/// Below it one warp is enough for a reduction (the same rows of 1024 columns).
constexpr int64_t minElementsForTwoWarps = 1024;
/// Where no tile says anything, and for products: the default of the language, and what issues
/// wgmma together. With eight warps for 64x32 results of 64x128 and 128x32 operands
/// (fastvideo's sparse attention, backward) shared memory is read 1.7 times as often: 486 and
/// 350 us instead of 300 and 226 (H100, November 2026).
constexpr int64_t defaultWarps = 4;
/// Registers of a thread for the results of one product, beyond which more warps share them.
constexpr int64_t maxProductWords = 128;

/// What one thread should hold of a tile, in blocks of up to `maxWarps`.
struct ThreadShare {
  int64_t bytes = 0;
  int64_t maxWarps = 0;
};

struct TileSize {
  int64_t elements = 0;
  int64_t bytes = 0;
  ThreadShare wanted;
};

/// Arithmetic on tiles, per element of a tile of `elements`. Masks are not counted.
int64_t operationsPerElement(ModuleOp module, int64_t elements) {
  int64_t operations = 0;
  module.walk([&](Operation *op) {
    if (!llvm::isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        op->hasTrait<OpTrait::ConstantLike>())
      return;
    RankedTensorType type = tileType(op->getResult(0));
    if (type && !type.getElementType().isInteger(1))
      operations += type.getNumElements();
  });
  return operations / elements;
}

ThreadShare wantedShare(ModuleOp module, const TileSize &tile, bool isWide) {
  bool isReduced = false, isLoadedInLoop = false;
  module.walk([&](Operation *op) {
    isReduced |= llvm::isa<ir::ReduceOp, ir::ScanOp>(op);
    isLoadedInLoop |= llvm::isa<ir::LoadOp>(op) && tileType(op->getResult(0)) &&
                      llvm::isa<scf::ForOp, scf::WhileOp>(op->getParentOp());
  });
  if (!isReduced) {
    bool isArithmetic = operationsPerElement(module, tile.elements) > manyOperations;
    return {bytesPerThread(TileUse::Elementwise),
            isArithmetic ? arithmeticWarps : elementwiseWarps};
  }
  if (isLoadedInLoop)
    return {bytesPerThread(TileUse::RowInLoop), cappedWarps};
  return {bytesPerThread(isWide ? TileUse::WideRow : TileUse::Row), cappedWarps};
}

/// The block that an access through a descriptor moves; null for other ops.
RankedTensorType descriptorBlock(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
    return load.getType();
  if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
    return tileType(store.getValue());
  return {};
}

/// The largest tile that is loaded, stored or reduced, in bytes as it lies in
/// memory; reduced tiles count as their element type.
TileSize largestTile(ModuleOp module) {
  TileSize largest;
  module.walk([&](Operation *op) {
    if (RankedTensorType block = descriptorBlock(op)) {
      int64_t bytes = block.getNumElements() * ir::elementBits(block.getElementType()) / 8;
      if (bytes > largest.bytes)
        largest = {block.getNumElements(), bytes, {}};
    }
    bool isMemory = static_cast<bool>(accessPointer(op));
    if (!isMemory && !llvm::isa<ir::ReduceOp, ir::ScanOp>(op))
      return;
    for (Value operand : op->getOperands()) {
      RankedTensorType type = tileType(operand);
      if (!type)
        continue;
      Type element = type.getElementType();
      if (auto pointer = llvm::dyn_cast<ir::PointerType>(element))
        element = pointer.getPointee();
      else if (isMemory)
        continue; // mask and value: the pointer tells the bytes
      int64_t bytes = type.getNumElements() * ir::elementBits(element) / 8;
      if (bytes > largest.bytes)
        largest = {type.getNumElements(), bytes, {}};
    }
  });
  // A tile that is loaded in a narrow type and reduced in a wide one is one row:
  // what moves decides.
  module.walk([&](ir::LoadOp load) {
    RankedTensorType type = tileType(load.getResult());
    if (type && type.getNumElements() == largest.elements)
      largest.bytes = std::min(
          largest.bytes, largest.elements * int64_t(ir::elementBits(type.getElementType())) / 8);
  });
  bool isWide = largest.bytes >= largest.elements * 4;
  if (largest.elements > 0)
    largest.wanted = wantedShare(module, largest, isWide);
  return largest;
}

int64_t chooseWarps(TileSize tile, const TargetInfo &target) {
  if (tile.elements == 0)
    return defaultWarps;
  int64_t warpSize = int64_t(1) << target.log2WarpSize;
  auto warpsFor = [&](int64_t bytes) { return tile.bytes / (bytes * warpSize); };
  int64_t warps = std::min(tile.wanted.maxWarps, warpsFor(tile.wanted.bytes));
  warps = std::max(warps, std::min(cappedWarps, warpsFor(bytesPerThread(TileUse::Row))));
  warps = std::max(warps, warpsFor(bytesPerThread(TileUse::RowAlone)));
  if (tile.elements >= minElementsForTwoWarps)
    warps = std::max<int64_t>(warps, 2);
  warps = std::max<int64_t>(1, std::min<int64_t>(warps, target.maxWarpsPerBlock));
  return int64_t(1) << llvm::Log2_64(warps);
}

/// Bytes of the largest result of a product; none without products.
int64_t largestProductBytes(ModuleOp module) {
  int64_t bytes = 0;
  module.walk(
      [&](ir::DotOp dot) { bytes = std::max(bytes, tileBytes(tileType(dot.getResult()))); });
  return bytes;
}

int64_t chooseWarpsOfProducts(int64_t bytes, const TargetInfo &target) {
  int64_t warps = defaultWarps;
  while (bytes > warps * (4 * maxProductWords << target.log2WarpSize) &&
         warps < target.maxWarpsPerBlock)
    warps *= 2;
  return warps;
}

class ChooseNumWarpsPass : public impl::ChooseNumWarpsBase<ChooseNumWarpsPass> {
public:
  explicit ChooseNumWarpsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(ir::numWarpsAttr))
      return;
    TileSize tile = largestTile(module);
    // Large tiles are split over the blocks of a program.
    tile.elements /= ir::numBlocks(module);
    tile.bytes /= ir::numBlocks(module);
    int64_t productBytes = largestProductBytes(module) / ir::numBlocks(module);
    int64_t warps = productBytes > 0 ? chooseWarpsOfProducts(productBytes, context.target)
                                     : chooseWarps(tile, context.target);
    module->setAttr(ir::numWarpsAttr, IntegerAttr::get(IntegerType::get(&getContext(), 32), warps));
    ++numChosen;
    context.remark(module,
                   {"num-warps",
                    true,
                    {},
                    {{"warps", warps},
                     {"largestTileElements", tile.elements},
                     {"largestTileBytes", tile.bytes}},
                    productBytes > 0 ? "from the largest result of a product"
                    : tile.elements  ? "from the largest tile that is loaded, stored or reduced"
                                     : "default: no tile is loaded, stored or reduced"});
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createChooseNumWarps(PassContext context) {
  return std::make_unique<ChooseNumWarpsPass>(std::move(context));
}

} // namespace tilewright::passes
