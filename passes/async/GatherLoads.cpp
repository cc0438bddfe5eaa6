//===- GatherLoads.cpp - Neighbouring loads wait together -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: several tiles that are loaded, and then go through shared memory, are all loaded
// before the first of them is stored:
//
//     x = load p                            x = load p
//     bx = alloc_shared x                   y = load q
//     shared_load bx                =>      bx = alloc_shared x
//     y = load q                            by = alloc_shared y
//     by = alloc_shared y                   shared_load bx
//     shared_load by                        shared_load by
//
// A thread that stores waits for what it stores, and no load passes the barrier that
// follows: the program would wait for global memory once for each tile. Its buffers are
// written together, too, so that one barrier serves all.
//
// Why here: loads that a loop takes into its pipeline are copies now, and which tiles have
// a buffer is known; AllocateShared and InsertBarriers see the final order.
//
// How: per block. A load joins those before it if only arithmetic of each thread and
// exchanges through shared memory stand in between, and its address depends on none of
// the exchanges. Products, reductions and branches end a group: they take their time, in
// which others load.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/Resources.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_GATHERLOADS
#include "passes/Passes.h.inc"

namespace {

/// Registers of a thread for tiles that wait for others. A guess: a quarter of what a thread
/// may have, or half where two blocks of 8 warps share a multiprocessor.
constexpr int64_t maxGatheredWords = 64;

/// Loads of one block that start together, in their order.
struct Group {
  llvm::SmallVector<ir::LoadOp> loads;
  int64_t words = 0;
  bool isExchanged = false, hasMoved = false;
};

class GatherLoadsPass : public impl::GatherLoadsBase<GatherLoadsPass> {
public:
  explicit GatherLoadsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    limit = registerLimit(getOperation(), context.target);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      llvm::SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        // Regions of reductions and maps hold scalars.
        if (llvm::isa<func::FuncDialect, scf::SCFDialect>(block->getParentOp()->getDialect()))
          blocks.push_back(block);
      });
      registers.reset();
      for (Block *block : blocks)
        gather(*block);
    }
  }

private:
  PassContext context;
  int64_t limit = 0;
  /// What is alive in the function as it was: that does not change at a load by what moves to it.
  std::optional<RegisterAnalysis> registers;

  //===--- profitability -------------------------------------------------===//

  /// Whether a thread has registers for `words` more while the first load of the group runs.
  bool hasRoom(const Group &group, int64_t words) {
    ir::LoadOp first = group.loads.front();
    if (group.words + words > maxGatheredWords)
      return false;
    if (!registers)
      registers.emplace(first->getParentOfType<func::FuncOp>());
    int64_t others = group.words - wordsPerThread(tileType(first.getResult()));
    return forecastRegisters(registers->at(first)) + others + words <= limit;
  }

  //===--- legality ------------------------------------------------------===//

  static bool isLoad(Operation *op) {
    auto load = llvm::dyn_cast<ir::LoadOp>(op);
    return load && isTile(load.getResult()) && !load.mayChangeMeanwhile();
  }

  static bool isStored(Operation *op) {
    auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op);
    return alloc && alloc.getInit();
  }

  /// Whether a load may move from after `op` to before it, and should.
  static bool endsGroup(Operation *op) {
    if (isStored(op) || llvm::isa<ir::SharedLoadOp, ir::BufferPermuteOp>(op))
      return false;
    return !isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
           llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op);
  }

  /// Adds what `value` is computed from after `last`, in order; false where that is more
  /// than arithmetic of each thread.
  static bool addToSlice(Value value, Operation *last, llvm::SetVector<Operation *> &slice) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != last->getBlock() || !last->isBeforeInBlock(op) ||
        slice.contains(op))
      return op != last;
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0 || scratchBytes(op) != 0)
      return false;
    if (!llvm::all_of(op->getOperands(),
                      [&](Value operand) { return addToSlice(operand, last, slice); }))
      return false;
    slice.insert(op);
    return true;
  }

  //===--- the change ----------------------------------------------------===//

  void gather(Block &block) {
    Group group;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isLoad(&op))
        group = join(std::move(group), llvm::cast<ir::LoadOp>(op));
      else if (isStored(&op) || scratchBytes(&op) != 0)
        group.isExchanged = true;
      if (endsGroup(&op) && !isLoad(&op))
        group = finish(group);
    }
    finish(group);
  }

  /// The group with `load`, moved up to it; a new one where it does not belong.
  Group join(Group group, ir::LoadOp load) {
    int64_t words = wordsPerThread(tileType(load.getResult()));
    bool isMoved = !group.loads.empty() && group.isExchanged;
    llvm::SetVector<Operation *> slice;
    auto isKnown = [&](Value operand) { return addToSlice(operand, group.loads.back(), slice); };
    if (isMoved && (!hasRoom(group, words) || !llvm::all_of(load->getOperands(), isKnown))) {
      numRefused += 1;
      isMoved = false;
      group = finish(group);
    }
    if (isMoved) {
      Operation *last = group.loads.back();
      slice.insert(load);
      for (Operation *op : slice) {
        op->moveAfter(last);
        last = op;
      }
      ++numGathered;
      group.hasMoved = true;
    }
    group.loads.push_back(load);
    group.words += words;
    return group;
  }

  /// Stores the tiles of the group after its last load; an empty group.
  static Group finish(const Group &group) {
    if (!group.hasMoved)
      return {};
    Operation *last = group.loads.back();
    for (ir::LoadOp load : group.loads)
      for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
        if (isStored(user) && user->getBlock() == load->getBlock()) {
          user->moveAfter(last);
          last = user;
        }
    return {};
  }
};

} // namespace

std::unique_ptr<Pass> createGatherLoads(PassContext context) {
  return std::make_unique<GatherLoadsPass>(std::move(context));
}

} // namespace tilewright::passes
