//===- PrepareExchanges.cpp - Barriers for what blocks send each other ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every reduction that crosses blocks a barrier object, and makes sure that
// all blocks have begun, and have made theirs, before any of them writes to another
// one's shared memory.
//
// Why here: layouts are final; before AllocateShared, which places the barriers.
//
// How:
//  1. one ring of barriers at the start of the kernel, one slot per reduction, and
//     after it tw.cluster_arrive.
//  2. tw.cluster_wait before the first op of the kernel's own block that contains
//     such a reduction, or anything at which all blocks wait for each other or may have to: other
//     ops that cross blocks, barriers, writes of global memory. Loads stay before
//     it, so that blocks wait for each other while memory is read.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PREPAREEXCHANGES
#include "passes/Passes.h.inc"

namespace {

/// Whether all blocks wait for each other at `op`, or InsertBarriers may make them.
bool mayWaitForBlocks(Operation *op) {
  if (llvm::isa<ir::BarrierOp>(op) || crossesBlocks(op))
    return true;
  return accessPointer(op) && !llvm::isa<ir::LoadOp>(op);
}

class PrepareExchangesPass : public impl::PrepareExchangesBase<PrepareExchangesPass> {
public:
  explicit PrepareExchangesPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    if (ir::numBlocks(getOperation()) == 1)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        prepare(function);
  }

private:
  PassContext context;

  void prepare(func::FuncOp function) {
    Builder attributes(function.getContext());
    int count = 0;
    function.walk([&](ir::ReduceOp reduce) {
      if (isExchange(reduce))
        reduce->setAttr(ir::exchangeAttr, attributes.getI32IntegerAttr(count++));
    });
    if (count == 0)
      return;
    numExchanges += count;

    Block &body = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    Location loc = function.getLoc();
    auto ring = ir::MbarrierType::get(function.getContext(), count);
    auto barriers = builder.create<ir::MbarrierAllocOp>(loc, ring, ir::numWarps(getOperation()));
    barriers->setAttr(ir::exchangeAttr, attributes.getI32IntegerAttr(count));
    builder.create<ir::ClusterArriveOp>(loc);
    for (Operation &op : body) {
      WalkResult found = op.walk([](Operation *inner) {
        return mayWaitForBlocks(inner) ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (!found.wasInterrupted())
        continue;
      builder.setInsertionPoint(&op);
      builder.create<ir::ClusterWaitOp>(op.getLoc());
      return;
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPrepareExchanges(PassContext context) {
  return std::make_unique<PrepareExchangesPass>(std::move(context));
}

} // namespace tilewright::passes
