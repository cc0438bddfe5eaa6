//===- OverlapProducts.cpp - Products in flight until they are read -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes wgmma asynchronous and waits where its result is first used, so that
// independent products queue up and arithmetic runs beside them.
//
// Why here: after PipelineLoops, which has decided what stays in flight round a
// loop; before AllocateShared, since operands live until the wait.
//
// How: a product starts as soon as its operands are there, before arithmetic and
// loads that it does not need. The wait goes before the first op of the block
// that uses the result, at the latest at its end; products finish in the order in which
// they start, so it leaves those in flight that started later. A left side in
// registers goes through the wait too: assemblers before 13.3 may reuse its registers
// before they are read.
//
// A product that could have started together with an earlier one does, also across ops that
// store other operands: it needs no barrier of its own then. Operands live until the wait, so
// products are waited for earlier where their operands would cost a block of a multiprocessor.
//
// A wait is the wait of every product that is done then, also where nothing needs the
// result yet: an assembler that finds another wait for it further on takes the product to
// be in flight until there, and makes all products wait for each other. So a product that
// is waited for at once is asynchronous too where another one is in flight.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/LiveRanges.h"
#include "passes/analysis/Resources.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "passes/Passes.h.inc"

namespace {

Operation *firstUser(ir::WgmmaOp product) {
  Block *block = product->getBlock();
  Operation *first = block->getTerminator();
  for (Operation *user : product.getResult().getUsers())
    if (Operation *op = block->findAncestorOpInBlock(*user); op && op->isBeforeInBlock(first))
      first = op;
  return first;
}

/// Copies into a ring go to slots that no product in flight reads.
bool fillsRing(Operation *op) { return op->hasAttr(ir::fillsRingAttr); }

/// What must not run while products read their operands and the wait is further on:
/// it may reuse their memory, or wait itself.
bool isObstacle(Operation *op) {
  return !fillsRing(op) &&
         (op->getNumRegions() != 0 || llvm::isa<ir::BarrierOp, ir::SharedStoreOp>(op));
}

/// Blocks on a multiprocessor, beyond which operands may take more memory: one computes while
/// the other waits. Lightning attention's gradients inside of a block (64 tokens, 4 warps) take
/// 0.80 to 0.97 of the time with two (H200, November 2026); three were not tried.
constexpr int64_t wantedBlocks = 2;

/// The shared memory that products in flight keep from others.
class OperandMemory {
public:
  OperandMemory(ModuleOp module, const TargetInfo &target)
      : module(module), target(target), ranges(module), pieces(sharedPieces(module, ranges)) {}

  /// Whether fewer blocks fit a multiprocessor if `op` gets its memory beside the operands of
  /// `holding`, than if each product were waited for at once.
  bool costsBlock(Operation *op, llvm::ArrayRef<ir::WgmmaOp> holding) {
    if (holding.empty() || (bufferBytes(op) == 0 && scratchBytes(op) == 0))
      return false;
    int64_t bytes = bytesAt(ranges.numberOf(op), holding);
    return bytes > bytesAt(ranges.numberOf(op), {}) &&
           target.blocksBySharedMemory(bytes) < std::min(wantedBlocks, blocksWithoutOverlap());
  }

  /// Bytes that are alive together, at most, if each product is waited for at once.
  int64_t peakWithoutOverlap() const {
    int64_t bytes = 0;
    for (const SharedPiece &piece : pieces)
      bytes = std::max(bytes, bytesAt(piece.begin, {}));
    return bytes;
  }

private:
  ModuleOp module;
  const TargetInfo &target;
  LiveRanges ranges;
  /// As if each product were waited for at once.
  llvm::SmallVector<SharedPiece> pieces;
  std::optional<int64_t> blocks;

  int64_t bytesAt(int number, llvm::ArrayRef<ir::WgmmaOp> holding) const {
    llvm::SmallPtrSet<Operation *, 8> held;
    for (ir::WgmmaOp product : holding)
      for (const BufferUse &use : bufferUses(product))
        for (Operation *allocation : ranges.buffers.allocationsOf(use.buffer))
          held.insert(allocation);
    int64_t bytes = 0;
    for (const SharedPiece &piece : pieces)
      if (piece.begin <= number && (number <= piece.end || held.contains(piece.op)))
        bytes += piece.bytes;
    return bytes;
  }

  int64_t blocksWithoutOverlap() {
    if (!blocks) {
      int64_t registers = 0;
      for (auto function : module.getOps<func::FuncOp>())
        registers =
            std::max(registers, forecastRegisters(RegisterAnalysis(function), module, target));
      int64_t threads = int64_t(ir::numWarps(module)) << target.log2WarpSize;
      blocks = target.residentBlocks(threads, registers, peakWithoutOverlap());
    }
    return *blocks;
  }
};

/// Registers for results of products that start earlier. They are to spare where shared memory
/// is what limits the blocks of a multiprocessor, as far as so many blocks leave each thread.
class SpareRegisters {
public:
  SpareRegisters(func::FuncOp function, const TargetInfo &target) : registers(function) {
    auto module = function->getParentOfType<ModuleOp>();
    int64_t threads = int64_t(ir::numWarps(module)) << target.log2WarpSize;
    int64_t blocks =
        target.blocksBySharedMemory(OperandMemory(module, target).peakWithoutOverlap());
    most = std::min(target.maxRegistersPerThread, target.registersFor(threads * blocks)) *
           safePart / wholePart;
    // What begins earlier frees its operands earlier, which may make room for another block.
    if (blocks < wantedBlocks)
      most = std::max(most, forecastRegisters(registers.peak()));
  }

  /// Whether the result of `product` may be there from `start` on.
  bool suffice(ir::WgmmaOp product, Operation *start) const {
    RegisterUse result = registers.of(product.getResult());
    for (Operation *op = start->getNextNode(); op != product; op = op->getNextNode()) {
      RegisterUse use = registers.at(op);
      use += added.lookup(op);
      use += result;
      if (forecastRegisters(use) > most)
        return false;
    }
    return true;
  }
  void take(ir::WgmmaOp product, Operation *start) {
    for (Operation *op = start->getNextNode(); op != product; op = op->getNextNode())
      added[op] += registers.of(product.getResult());
  }

private:
  /// The part that may be taken, as forecasts are wrong by a twelfth. A guess.
  static constexpr int64_t safePart = 7, wholePart = 8;

  RegisterAnalysis registers;
  llvm::DenseMap<Operation *, RegisterUse> added;
  int64_t most;
};

/// What a product may pass on its way to an earlier one, whose barrier stands before both.
bool isPassable(Operation *op) {
  return isMemoryEffectFree(op) || fillsRing(op) ||
         llvm::isa<ir::LoadOp, ir::AllocSharedOp, ir::WgmmaOp>(op);
}

/// Moves a product up: behind the earliest one before which all that it needs is there, or else
/// to the last op that it needs or that stores.
void startEarly(ir::WgmmaOp product, std::optional<SpareRegisters> &spare,
                const TargetInfo &target) {
  if (product.getIsAsync() || product.getUseAcc())
    return;
  llvm::SmallVector<ir::WgmmaOp> earlier; // the nearest first
  llvm::SmallVector<Operation *> views;
  llvm::SmallPtrSet<Value, 8> needed(product->operand_begin(), product->operand_end());
  Operation *last = nullptr; // the nearest that it does not pass without an earlier product
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    bool isNeeded =
        llvm::any_of(op->getResults(), [&](Value value) { return needed.contains(value); });
    if (isNeeded && llvm::isa<ir::BufferPermuteOp, ir::BufferSlotOp>(op)) {
      views.push_back(op);
      needed.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    if (!last && (isNeeded || !isPassable(op) || llvm::isa<ir::AllocSharedOp>(op)))
      last = op;
    if (isNeeded || !isPassable(op))
      break;
    if (auto other = llvm::dyn_cast<ir::WgmmaOp>(op))
      earlier.push_back(other);
  }
  if (!earlier.empty()) {
    if (!spare)
      spare.emplace(product->getParentOfType<func::FuncOp>(), target);
    auto fits = llvm::find_if(llvm::reverse(earlier),
                              [&](ir::WgmmaOp other) { return spare->suffice(product, other); });
    if (fits == earlier.rend())
      return;
    last = *fits;
    spare->take(product, last);
  }
  if (!last)
    return;
  product->moveAfter(last);
  // Views before it may be those of the earlier product.
  for (Operation *view : views)
    if (last->isBeforeInBlock(view))
      view->moveAfter(last);
}

/// Asynchronous products of the block between `product` and `end`.
int startedAfter(ir::WgmmaOp product, Operation *end) {
  int count = 0;
  for (Operation *op = product->getNextNode(); op != end; op = op->getNextNode())
    if (auto other = llvm::dyn_cast<ir::WgmmaOp>(op))
      count += other.getIsAsync();
  return count;
}

class OverlapProductsPass : public impl::OverlapProductsBase<OverlapProductsPass> {
public:
  explicit OverlapProductsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      std::optional<SpareRegisters> spare;
      function.walk([&](Block *block) {
        for (auto product : llvm::make_early_inc_range(block->getOps<ir::WgmmaOp>()))
          startEarly(product, spare, context.target);
      });
    }
    std::optional<OperandMemory> memory;
    getOperation().walk([&](Block *block) {
      if (block->getOps<ir::WgmmaOp>().empty())
        return;
      if (!memory)
        memory.emplace(getOperation(), context.target);
      overlap(*block, *memory);
    });
  }

private:
  PassContext context;

  /// Where a product has to be waited for.
  static Operation *lastPlace(ir::WgmmaOp product) {
    Operation *first = firstUser(product);
    for (Operation *op = product->getNextNode(); op != first; op = op->getNextNode())
      if (isObstacle(op))
        return op;
    return first;
  }

  void overlap(Block &block, OperandMemory &memory) {
    llvm::SmallVector<std::pair<ir::WgmmaOp, Operation *>> candidates;
    for (auto product : block.getOps<ir::WgmmaOp>())
      if (!product.getIsAsync() && canOverlap(product))
        candidates.emplace_back(product, lastPlace(product));
    // The products in flight, in their order, and where each has to be waited for.
    llvm::SmallVector<std::pair<ir::WgmmaOp, Operation *>> inFlight;
    // What keeps its operands in shared memory: those, and what a wait was for that left others
    // in flight (LiveRanges).
    llvm::SmallVector<ir::WgmmaOp> holding;
    auto *next = candidates.begin();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto *last = std::find_if(inFlight.rbegin(), inFlight.rend(), [&](auto &entry) {
                     return entry.second == &op;
                   }).base();
      if (!inFlight.empty() && memory.costsBlock(&op, holding))
        last = inFlight.end();
      if (last != inFlight.begin()) {
        waitFor(llvm::make_first_range(llvm::make_range(inFlight.begin(), last)), &op);
        inFlight.erase(inFlight.begin(), last);
        if (inFlight.empty())
          holding.clear();
      }
      if (next == candidates.end() || next->first != &op)
        continue;
      if (!inFlight.empty() || next->second != op.getNextNode()) {
        next->first.setIsAsync(true);
        inFlight.push_back(*next);
        holding.push_back(next->first);
      }
      ++next;
    }
  }

  template <typename Products> void waitFor(Products products, Operation *at) {
    llvm::SmallVector<Value> tiles;
    ir::WgmmaOp last;
    int64_t count = 0;
    for (ir::WgmmaOp product : products) {
      tiles.push_back(product.getResult());
      if (isTile(product.getA()))
        tiles.push_back(product.getA());
      last = product;
      ++count;
    }
    auto first = tiles.front().getDefiningOp<ir::WgmmaOp>();
    OpBuilder builder(at);
    auto wait = builder.create<ir::WgmmaWaitOp>(first.getLoc(), TypeRange(ValueRange(tiles)), tiles,
                                                startedAfter(last, at));
    for (auto [tile, result] : llvm::zip(tiles, wait.getResults()))
      if (tile.getDefiningOp<ir::WgmmaOp>())
        tile.replaceAllUsesExcept(result, wait);
    numOverlapped += count;
    context.remark(first, {"overlap-product",
                           true,
                           {},
                           {{"products", count}},
                           "waited for where the result is used"});
  }

  /// Whether the accumulator stays in the registers of the instruction until the wait.
  bool canOverlap(ir::WgmmaOp product) {
    unsigned bits = ir::elementBits(tileType(product.getAcc()).getElementType());
    if (product.getMaxImprecise() == 0 && bits == 32)
      return true;
    ++numRefused;
    context.remark(product, {"overlap-product",
                             false,
                             {},
                             {},
                             bits == 32 ? "its parts are added up in full precision"
                                        : "its sums are packed, two to a register"});
    return false;
  }
};

} // namespace

std::unique_ptr<Pass> createOverlapProducts(PassContext context) {
  return std::make_unique<OverlapProductsPass>(std::move(context));
}

} // namespace tilewright::passes
