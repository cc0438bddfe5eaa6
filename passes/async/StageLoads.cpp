//===- StageLoads.cpp - Loads that start before a reduction ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a tile is loaded after a reduction, from an address that does not depend on
// it, starts to copy the tile to shared memory before the reduction, beside the loads that
// the reduction waits for anyway. A layer norm reads its weights so:
//
//     load x                                load x
//     reduce                                copy weight -> buffer; commit
//     load weight                    =>     reduce
//     x * weight                            wait for the copy
//                                           x * (read buffer)
//
// Why here: all other buffers and scratch are there, so what is left is known.
//
// How: this is done only where a multiprocessor holds a single block, since with several
// blocks the reduction of one runs beside the loads of another. It is done only for tiles
// that are more together than the L1. Smaller ones are found in the L1 by each program,
// while copies to shared memory come from the L2 and leave less of the L1.
//
// H200, layer norm of 32768 f32 columns: 3926 instead of 3797 GB/s; of 16384 f16 columns,
// with all weights copied, 3674 instead of 3962 (November 2026).
//
// Not handled: loads inside branches of the code after the reduction; programs of
// several blocks, whose share of a tile would be a part of a buffer.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "ir/layout/LayoutMemory.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/Resources.h"
#include "passes/analysis/ScratchSize.h"
#include "passes/schedule/AsyncCopy.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_STAGELOADS
#include "passes/Passes.h.inc"

namespace {

/// Loads that start after `anchor`, a load before a reduction.
struct Stage {
  Operation *anchor;
  llvm::SmallVector<ir::LoadOp> loads;
  /// Bytes of those that have been taken.
  int64_t stagedBytes = 0;
};

class StageLoadsPass : public impl::StageLoadsBase<StageLoadsPass> {
public:
  explicit StageLoadsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ir::numBlocks(module) != 1 || !isAlone(module))
      return;
    sharedBytes = sharedBytesApart(module);
    llvm::SmallVector<Stage> stages;
    module.walk([&](Block *block) {
      // Regions of reductions and maps hold scalars.
      if (llvm::isa<func::FuncDialect, scf::SCFDialect>(block->getParentOp()->getDialect()))
        findStages(*block, stages);
    });
    int64_t others = sharedBytes;
    for (Stage &stage : stages) {
      int64_t bytes = 0;
      for (ir::LoadOp load : stage.loads)
        bytes += bytesOf(load);
      if (bytes <= context.target.maxSharedBytesPerBlock)
        continue;
      sharedBytes = others;
      for (const Stage &other : stages)
        if (!areExclusive(stage.anchor, other.anchor))
          sharedBytes += other.stagedBytes;
      start(stage);
    }
  }

private:
  PassContext context;
  int64_t sharedBytes = 0;

  //===--- legality ------------------------------------------------------===//

  /// All loads of `block` that may start earlier: between them and the anchor nothing
  /// writes memory or waits for other threads' writes.
  void findStages(Block &block, llvm::SmallVectorImpl<Stage> &stages) {
    Operation *lastLoad = nullptr;
    bool isAfterReduction = false, hasStage = false;
    for (Operation &op : block) {
      auto load = llvm::dyn_cast<ir::LoadOp>(op);
      if (!load && !isMemoryEffectFree(&op)) {
        lastLoad = nullptr;
        isAfterReduction = hasStage = false;
        continue;
      }
      if (llvm::isa<ir::ReduceOp, ir::ScanOp>(op) && lastLoad && scratchBytes(&op) != 0)
        isAfterReduction = true;
      if (!load || !isTile(load.getResult()))
        continue;
      if (!isAfterReduction) {
        lastLoad = load;
        continue;
      }
      if (!isCandidate(load, lastLoad))
        continue;
      if (!hasStage)
        stages.push_back({lastLoad, {}, 0});
      hasStage = true;
      stages.back().loads.push_back(load);
    }
  }

  bool isCandidate(ir::LoadOp load, Operation *anchor) {
    llvm::SetVector<Operation *> slice;
    if (!llvm::all_of(load->getOperands(),
                      [&](Value operand) { return addToSlice(operand, anchor, slice); }))
      return false;
    if (std::optional<std::string> obstacle = asyncCopyObstacle(load, context.target))
      return refuse(load, *obstacle);
    if (!fillsWithZeros(load))
      return refuse(load, "`other` is not zero");
    if (bytesAtOnce(load) < context.target.maxVectorBytes)
      return refuse(load, "its accesses are narrow");
    return true;
  }

  /// Adds what `value` is computed from after `anchor`, in order; false where that is
  /// more than arithmetic of each thread.
  static bool addToSlice(Value value, Operation *anchor, llvm::SetVector<Operation *> &slice) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != anchor->getBlock() || op->isBeforeInBlock(anchor) ||
        slice.contains(op))
      return true;
    if (op == anchor || !isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
        scratchBytes(op) != 0)
      return false;
    for (Value operand : op->getOperands())
      if (!addToSlice(operand, anchor, slice))
        return false;
    slice.insert(op);
    return true;
  }

  /// Whether the ops stand in different branches of one scf.if, of which only one runs:
  /// what they have in shared memory may be the same bytes.
  static bool areExclusive(Operation *lhs, Operation *rhs) {
    for (Region *left = lhs->getParentRegion(); left; left = left->getParentRegion())
      if (auto branch = llvm::dyn_cast<scf::IfOp>(left->getParentOp()))
        for (Region &other : branch->getRegions())
          if (&other != left && other.isAncestor(rhs->getParentRegion()))
            return true;
    return false;
  }

  //===--- profitability -------------------------------------------------===//

  /// Whether a multiprocessor holds one block only.
  bool isAlone(ModuleOp module) {
    const TargetInfo &target = context.target;
    int64_t threads = int64_t(ir::numWarps(module)) << target.log2WarpSize, registers = 1;
    // Most kernels need no forecast: they have too few warps, or none that wait for others.
    auto waits = [](Operation *op) {
      bool isReduction = llvm::isa<ir::ReduceOp, ir::ScanOp>(op) && scratchBytes(op) != 0;
      return isReduction ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (target.residentBlocks(threads, target.maxRegistersPerThread, 0) > 1 ||
        !module.walk(waits).wasInterrupted())
      return false;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        registers = std::max(registers,
                             forecastRegisters(RegisterAnalysis(function), module, context.target));
    return target.residentBlocks(threads, registers, 0) == 1;
  }

  static int64_t bytesOf(ir::LoadOp load) { return tileBytes(tileType(load.getResult())); }

  bool takeRoom(ir::LoadOp load) {
    int64_t needed = sharedBytes + bytesOf(load);
    if (needed > context.target.maxSharedBytesPerBlock)
      return refuse(load, "too little shared memory");
    sharedBytes = needed;
    return true;
  }

  bool refuse(ir::LoadOp load, llvm::StringRef reason) {
    ++numRefused;
    context.remark(load, {"stage-load", false, {}, {{"bytes", bytesOf(load)}}, reason.str()});
    return false;
  }

  //===--- the change ----------------------------------------------------===//

  void start(Stage &stage) {
    llvm::erase_if(stage.loads, [&](ir::LoadOp load) { return !takeRoom(load); });
    for (ir::LoadOp load : stage.loads)
      stage.stagedBytes += bytesOf(load);
    if (stage.loads.empty())
      return;
    llvm::SetVector<Operation *> slice;
    for (ir::LoadOp load : stage.loads)
      for (Value operand : load->getOperands())
        addToSlice(operand, stage.anchor, slice);
    Operation *last = stage.anchor;
    for (Operation *op : slice) {
      op->moveAfter(last);
      last = op;
    }
    OpBuilder starts(last->getContext());
    starts.setInsertionPointAfter(last);
    for (ir::LoadOp load : stage.loads) {
      Value buffer = copy(load, starts);
      OpBuilder builder(load);
      if (load == stage.loads.front())
        builder.create<ir::AsyncWaitOp>(load.getLoc(), /*pending=*/0);
      load.getResult().replaceAllUsesWith(
          builder.create<ir::SharedLoadOp>(load.getLoc(), load.getResult().getType(), buffer,
                                           /*isOwn=*/true));
      load.erase();
    }
    starts.create<ir::AsyncCommitOp>(stage.anchor->getLoc());
  }

  Value copy(ir::LoadOp load, OpBuilder &builder) {
    auto buffer = builder.create<ir::AllocSharedOp>(load.getLoc(), ownBufferFor(load), Value());
    // Threads that hold the same element copy it to the same place, which takes a barrier.
    bool isPrivate = duplicateThreadMasks(ir::getLinearLayout(tileType(load.getResult()))).isZero();
    if (isPrivate && !load->getParentOfType<LoopLikeOpInterface>())
      ir::setRing(buffer, {ir::RingFill::Own, ir::SlotRelease::None});
    copyAsync(builder, load, load.getPointer(), load.getMask(), buffer);
    ++numStaged;
    context.remark(load, {"stage-load",
                          true,
                          {},
                          {{"bytes", bytesOf(load)}},
                          "copied to shared memory while the reduction waits"});
    return buffer;
  }
};

} // namespace

std::unique_ptr<Pass> createStageLoads(PassContext context) {
  return std::make_unique<StageLoadsPass>(std::move(context));
}

} // namespace tilewright::passes
