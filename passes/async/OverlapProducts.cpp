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
// A wait is the wait of every product that is done then, also where nothing needs the
// result yet: an assembler that finds another wait for it further on takes the product to
// be in flight until there, and makes all products wait for each other. So a product that
// is waited for at once is asynchronous too where another one is in flight.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

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

/// Registers of a thread that the results of all products of a block may take for two
/// of them to be computed at once: the rest is for operands, addresses and arithmetic.
/// A guess.
constexpr int64_t maxResultWords = 160;

int64_t wordsOfResults(Block *block) {
  int64_t words = 0;
  for (auto product : block->getOps<ir::WgmmaOp>())
    words += wordsPerThread(tileType(product.getResult()));
  return words;
}

/// Moves a product up, to the last op that it needs or that must stay before it, but not
/// before an earlier product.
void startEarly(ir::WgmmaOp product) {
  if (product.getIsAsync() || product.getUseAcc())
    return;
  ir::WgmmaOp earlier;
  llvm::SmallVector<Operation *> views;
  llvm::SmallPtrSet<Value, 8> needed(product->operand_begin(), product->operand_end());
  Operation *last = nullptr; // that must stay before the product
  for (Operation *op = product->getPrevNode(); op && !last; op = op->getPrevNode()) {
    bool isNeeded =
        llvm::any_of(op->getResults(), [&](Value value) { return needed.contains(value); });
    if (isNeeded && llvm::isa<ir::BufferPermuteOp, ir::BufferSlotOp>(op)) {
      views.push_back(op);
      needed.insert(op->operand_begin(), op->operand_end());
      continue;
    }
    auto other = llvm::dyn_cast<ir::WgmmaOp>(op);
    if (isNeeded ||
        (!other && !isMemoryEffectFree(op) && !fillsRing(op) && !llvm::isa<ir::LoadOp>(op)))
      last = op;
    else if (other)
      earlier = other;
  }
  if (earlier) {
    if (wordsOfResults(product->getBlock()) > maxResultWords)
      return;
    last = earlier;
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
    getOperation().walk([](Block *block) {
      for (auto product : llvm::make_early_inc_range(block->getOps<ir::WgmmaOp>()))
        startEarly(product);
    });
    getOperation().walk([&](Block *block) {
      if (!block->getOps<ir::WgmmaOp>().empty())
        overlap(*block);
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

  void overlap(Block &block) {
    llvm::SmallVector<std::pair<ir::WgmmaOp, Operation *>> candidates;
    for (auto product : block.getOps<ir::WgmmaOp>())
      if (!product.getIsAsync() && canOverlap(product))
        candidates.emplace_back(product, lastPlace(product));
    // The products in flight, in their order, and where each has to be waited for.
    llvm::SmallVector<std::pair<ir::WgmmaOp, Operation *>> inFlight;
    auto *next = candidates.begin();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto *last = std::find_if(inFlight.rbegin(), inFlight.rend(), [&](auto &entry) {
                     return entry.second == &op;
                   }).base();
      if (last != inFlight.begin()) {
        waitFor(llvm::make_first_range(llvm::make_range(inFlight.begin(), last)), &op);
        inFlight.erase(inFlight.begin(), last);
      }
      if (next == candidates.end() || next->first != &op)
        continue;
      if (!inFlight.empty() || next->second != op.getNextNode()) {
        next->first.setIsAsync(true);
        inFlight.push_back(*next);
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
