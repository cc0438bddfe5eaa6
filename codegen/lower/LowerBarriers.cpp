//===- LowerBarriers.cpp - Threads and blocks that wait for each other ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.barrier, of a block or of all blocks of the program, and the two halves of a cluster
// barrier, tw.cluster_arrive and tw.cluster_wait. Barriers inside of other ops are calls of the
// same functions of FunctionLowering; mbarriers are in LowerTma.cpp.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

static LogicalResult lowerBarrier(Operation *op, FunctionLowering &lowering) {
  if (lowering.numBlocks > 1 && llvm::cast<ir::BarrierOp>(op).getAllBlocks())
    lowering.barrierOfBlocks();
  else
    // The assembler moves no read of shared memory across a barrier of the block, but one warp's
    // across its sync: operands of products by fma would be spilled.
    if (!op->getBlock()->getOps<ir::SharedDotOp>().empty())
      lowering.barrierOfBlock();
    else
      lowering.barrier();
  return success();
}

static LogicalResult lowerClusterArrive(Operation *, FunctionLowering &lowering) {
  // What has to be visible has been released where it was written: mbarriers.
  lowering.builder.create<NVVM::ClusterArriveRelaxedOp>(lowering.loc,
                                                        lowering.builder.getUnitAttr());
  return success();
}

static LogicalResult lowerClusterWait(Operation *, FunctionLowering &lowering) {
  lowering.builder.create<NVVM::ClusterWaitOp>(lowering.loc, lowering.builder.getUnitAttr());
  return success();
}

void addBarrierLowerings(LoweringTable &table) {
  table.add(ir::BarrierOp::getOperationName(), lowerBarrier);
  table.add(ir::ClusterArriveOp::getOperationName(), lowerClusterArrive);
  table.add(ir::ClusterWaitOp::getOperationName(), lowerClusterWait);
}

} // namespace tilewright::codegen
