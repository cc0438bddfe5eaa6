//===- OverlapProducts.cpp - Products in flight until they are read -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes wgmma asynchronous and waits where its result is first used, so that
// independent products queue up and arithmetic runs beside them.
//
// Why here: behind PipelineLoops, which has decided what stays in flight round a
// loop; before AllocateShared, since operands live until the wait.
//
// How: the wait goes in front of the first op of the block that uses the result,
// at the latest its end. It is for all products so far: waits for fewer would keep
// operands of finished ones alive. A left side in registers goes through the wait
// too: assemblers before 13.3 may reuse its registers before they are read.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LayoutRules.h"
#include "passes/transform/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "passes/transform/Passes.h.inc"

namespace {

Operation *firstUser(ir::WgmmaOp product) {
  Block *block = product->getBlock();
  Operation *first = block->getTerminator();
  for (Operation *user : product.getResult().getUsers())
    if (Operation *op = block->findAncestorOpInBlock(*user); op && op->isBeforeInBlock(first))
      first = op;
  return first;
}

/// What must not run while products read their operands and the wait is further on:
/// it may reuse their memory, or wait itself.
bool isObstacle(Operation *op) {
  return op->getNumRegions() != 0 || llvm::isa<ir::BarrierOp, ir::SharedStoreOp>(op);
}

class OverlapProductsPass : public impl::OverlapProductsBase<OverlapProductsPass> {
public:
  explicit OverlapProductsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::MapVector<Operation *, llvm::SmallVector<ir::WgmmaOp>> waits;
    getOperation().walk([&](ir::WgmmaOp product) {
      unsigned bits = ir::elementBits(tileType(product.getAcc()).getElementType());
      if (product.getIsAsync() || product.getMaxImprecise() != 0 || bits != 32)
        return;
      Operation *first = firstUser(product);
      for (Operation *op = product->getNextNode(); op != first; op = op->getNextNode())
        if (isObstacle(op)) {
          first = op;
          break;
        }
      if (first != product->getNextNode())
        waits[first].push_back(product);
    });
    for (auto &[at, products] : waits) {
      llvm::SmallVector<Value> tiles;
      for (ir::WgmmaOp product : products) {
        product.setIsAsync(true);
        tiles.push_back(product.getResult());
        if (isTile(product.getA()))
          tiles.push_back(product.getA());
      }
      OpBuilder builder(at);
      auto wait = builder.create<ir::WgmmaWaitOp>(products.front().getLoc(),
                                                  TypeRange(ValueRange(tiles)), tiles,
                                                  /*pending=*/0);
      for (auto [tile, result] : llvm::zip(tiles, wait.getResults()))
        if (tile.getDefiningOp<ir::WgmmaOp>())
          tile.replaceAllUsesExcept(result, wait);
      numOverlapped += products.size();
    }
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createOverlapProducts(PassContext context) {
  return std::make_unique<OverlapProductsPass>(std::move(context));
}

} // namespace tilewright::passes
