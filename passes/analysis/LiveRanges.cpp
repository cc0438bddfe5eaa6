//===- LiveRanges.cpp - While which ops shared memory is in use -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LiveRanges.h"

#include "passes/analysis/ScratchSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

/// The first warp writes it whenever it makes a tensor map, without a barrier.
static bool isStaging(Operation *allocation) {
  return llvm::any_of(allocation->getUsers(), llvm::IsaPred<ir::MakeDescriptorOp>);
}

static bool isWait(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ir::AsyncWaitOp, ir::WgmmaWaitOp, ir::TmaStoreWaitOp>(
          [](auto wait) { return wait.getPending() == 0; })
      .Default([](Operation *) { return false; });
}

static bool ends(Operation *wait, Completion completion) {
  switch (completion) {
  case Completion::AsyncWait:
    return llvm::isa<ir::AsyncWaitOp>(wait);
  case Completion::WgmmaWait:
    return llvm::isa<ir::WgmmaWaitOp>(wait);
  case Completion::TmaStoreWait:
    return llvm::isa<ir::TmaStoreWaitOp>(wait);
  default:
    return false;
  }
}

LiveRanges::LiveRanges(ModuleOp module) : buffers(module) {
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers[op] = numOps++; });
  module.walk([&](Operation *op) {
    if (isWait(op))
      waits.push_back(op);
  });
}

std::pair<int, int> LiveRanges::of(Operation *allocation) const {
  if (llvm::isa<ir::MbarrierAllocOp>(allocation) || isStaging(allocation))
    return {0, numOps};
  int begin = numberOf(allocation), end = begin;
  for (Value value : buffers.valuesOf(allocation)) {
    // Carried round a loop that contains the allocation: alive in all of it.
    if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
      Operation *loop = argument.getOwner()->getParentOp();
      if (loop->isProperAncestor(allocation))
        begin = std::min(begin, numberOf(loop));
      end = std::max(end, lastOf(loop));
    }
    for (Operation *user : value.getUsers()) {
      end = std::max(end, endOfUse(user, allocation));
      for (const BufferUse &use : bufferUses(user))
        if (use.buffer == value)
          end = std::max(end, endOfAccess(user, use.completion, allocation));
    }
  }
  // Outlives a round of a loop: the next one begins while it is alive.
  for (Operation *parent = allocation->getParentOp(); parent; parent = parent->getParentOp())
    if (llvm::isa<LoopLikeOpInterface>(parent) && end > lastOf(parent))
      begin = std::min(begin, numberOf(parent));
  return {begin, end};
}

/// The last op inside `op`, or itself.
int LiveRanges::lastOf(Operation *op) const {
  int last = numberOf(op);
  while (op->getNumRegions() != 0) {
    Operation *inner = nullptr;
    for (Region &region : op->getRegions())
      if (!region.empty() && !region.back().empty())
        inner = &region.back().back();
    if (!inner)
      break;
    op = inner;
    last = numberOf(op);
  }
  return last;
}

/// `user`, or the end of the outermost loop around it but not around `from`.
int LiveRanges::endOfUse(Operation *user, Operation *from) const {
  int end = numberOf(user);
  for (Operation *parent = user->getParentOp(); parent && !parent->isAncestor(from);
       parent = parent->getParentOp())
    if (llvm::isa<LoopLikeOpInterface>(parent))
      end = lastOf(parent);
  return end;
}

/// Where the access of `user` is certainly over: the first wait for everything
/// that follows it whatever branches are taken.
int LiveRanges::endOfAccess(Operation *user, Completion completion, Operation *from) const {
  if (completion == Completion::AtOnce || completion == Completion::Mbarrier)
    return numberOf(user);
  for (Operation *wait : waits) {
    Block *block = wait->getBlock();
    if (ends(wait, completion) && numberOf(wait) > numberOf(user) &&
        block->findAncestorOpInBlock(*user))
      return endOfUse(wait, from);
  }
  return numOps;
}

llvm::SmallVector<SharedPiece> sharedPieces(ModuleOp module, const LiveRanges &ranges) {
  llvm::SmallVector<SharedPiece> pieces;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int number = ranges.numberOf(op);
    if (int64_t bytes = bufferBytes(op)) {
      auto [begin, end] = ranges.of(op);
      pieces.push_back({op, bytes, begin, end});
    } else if (int64_t bytes = scratchBytes(op)) {
      pieces.push_back({op, bytes, number, number});
    }
  });
  return pieces;
}

} // namespace tilewright::passes
