//===- LayoutCandidates.cpp - What accesses ask of layouts ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/LayoutCandidates.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/support/Hardware.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/layout/ThreadRuns.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

using ir::LayoutAttr;

/// Elements per thread of tiles that no access decides: enough for packed
/// arithmetic, few enough for small tiles. A guess.
static constexpr int defaultVectorElements = 4;

/// Length of an axis up to which a thread has all of it: what is repeated along the other
/// dimensions takes a register for each element then. A guess.
static constexpr int64_t mostReducedInThread = 32;

/// Vectors for each column of a row by which it is better to share the rows among the warps than to
/// have one in each, although these reduce without waiting for each other. Norms of 512 to 4096
/// columns, 2 or 4 rows and as many warps: with weights and a bias, a second factor or sums of their
/// gradient 0.73 to 1.00 of the time, with one vector 0.92 to 1.10; softmax, which has none, 0.98 to
/// 1.06 (H200, 2026-11-29).
static constexpr int manyColumns = 2;

LinearLayout linearLayout(LayoutAttr layout, Value tile) {
  return layout.toLinear(tileType(tile).getShape());
}

static bool splitsTiles(func::FuncOp function) {
  return !function
              .walk([](Operation *op) {
                bool needsWhole = llvm::isa<ir::DotOp, ir::DescriptorLoadOp, ir::DescriptorStoreOp,
                                            ir::AllocSharedOp>(op);
                return needsWhole ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

LayoutCandidates::LayoutCandidates(func::FuncOp function, const TargetInfo &target, int numWarps,
                                   int numBlocks)
    : target(target), context(function.getContext()), axes(function),
      log2Warps(llvm::Log2_32(numWarps)),
      log2Blocks(splitsTiles(function) ? llvm::Log2_32(numBlocks) : 0) {
  collectAccesses(function);
}

LayoutAttr LayoutCandidates::attr(const LinearLayout &layout) const {
  return LayoutAttr::fromLinear(context, layout);
}

LayoutAttr LayoutCandidates::makeLayout(RankedTensorType type, const std::vector<int> &order,
                                        int vector, const std::vector<int> &log2Repeats,
                                        bool hasShortRuns) const {
  bool isSplit = type.getNumElements() >= mostElements;
  LinearLayout layout =
      makeCoalesced(ir::log2Shape(type.getShape()), order, vector, target.log2WarpSize, log2Warps,
                    isSplit ? log2Blocks : 0, log2Repeats, hasShortRuns,
                    !order.empty() && hasColumns(type.getDimSize(order.front())));
  // A tile that is not split has a copy in every block.
  layout.columns(InDim::Block).resize(log2Blocks, 0);
  return attr(layout);
}

/// Whether the elements of an access, one for each thread at most, are pairs that are taken apart.
static bool loadsPairs(const MemoryAccess &access, int64_t threads) {
  auto load = llvm::dyn_cast<ir::LoadOp>(access.op);
  return load && !load.getResult().use_empty() && access.type.getNumElements() <= threads &&
         reachesOnly(load, [](Operation *user) { return llvm::isa<ir::SplitOp>(user); });
}

LayoutAttr LayoutCandidates::coalescedPairs(const MemoryAccess &access) const {
  int last = static_cast<int>(access.type.getRank()) - 1;
  llvm::SmallVector<int64_t> pairs(access.type.getShape());
  pairs[last] /= 2;
  LayoutAttr ofPairs = makeLayout(access.type.clone(pairs), rowMajorOrder(last + 1), /*vector=*/1);
  return attr(withRunsInThread(ofPairs.toLinear(pairs), last, /*log2Run=*/1));
}

LayoutAttr LayoutCandidates::coalesced(const MemoryAccess &access) const {
  if (!access.isLoad())
    return makeLayout(access.type, access.order, access.maxVectorElements);
  // Threads that hold both elements of a pair exchange none. Where each would have one element,
  // half of them hold copies then.
  if (loadsPairs(access, int64_t(1) << (target.log2WarpSize + log2Warps)))
    return coalescedPairs(access);
  // Keys of paged attention come in pieces of 16 bytes, of one token after the other: H100,
  // vLLM's decoding, 64 requests with 32 heads of 128 columns of 8 bits, 790 -> 644 us (Triton
  // 3.6: 628); of 16 bits, one head, 128 -> 117 us (75).
  int64_t run = access.order.empty() ? 1 : access.run[access.order.front()];
  bool hasShortRuns = run > 1 && run * access.elementBytes < hardware::sectorBytes;
  int elements = std::max(access.maxVectorElements, threadRuns.lookup(access.op));
  // What has one address is loaded once (MarkConstancy); stores and atomics happen for each.
  return makeLayout(access.type, access.order, elements, access.log2Repeats, hasShortRuns);
}

LayoutAttr LayoutCandidates::coalescedRows(RankedTensorType type) const {
  int vector = target.maxVectorBytes * 8 / ir::elementBits(type.getElementType());
  return makeLayout(type, rowMajorOrder(type.getRank()), vector);
}

LayoutAttr LayoutCandidates::defaultLayout(RankedTensorType type) const {
  return makeLayout(type, rowMajorOrder(type.getRank()), defaultVectorElements);
}

LayoutAttr LayoutCandidates::layoutToReduce(RankedTensorType type, int axis) const {
  int64_t length = type.getDimSize(axis), threads = int64_t(1) << (target.log2WarpSize + log2Warps);
  int64_t run = std::min(length, type.getNumElements() / threads);
  if (length > mostReducedInThread || run < 2)
    return defaultLayout(type);
  llvm::SmallVector<int64_t> runs(type.getShape());
  runs[axis] /= run;
  // What is left of the axis is in the same warp.
  std::vector<int> order = rowMajorOrder(type.getRank());
  order.erase(llvm::find(order, axis));
  order.insert(runs[axis] > 1 ? order.begin() : order.end(), axis);
  LayoutAttr ofRuns = makeLayout(type.clone(runs), order, defaultVectorElements);
  return attr(withRunsInThread(ofRuns.toLinear(runs), axis, llvm::Log2_64(run)));
}

void LayoutCandidates::collectAccesses(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (std::optional<MemoryAccess> access = analyzeAccess(op, axes, target))
      accesses.try_emplace(op, std::move(*access));
  });
  for (const auto &[op, access] : accesses) {
    mostElements = std::max(mostElements, access.type.getNumElements());
    if (llvm::is_contained(access.type.getShape(), access.type.getNumElements()))
      ++numVectors[access.type.getNumElements()];
  }
  threadRuns = chooseThreadRuns(function, axes, accesses, [&](const MemoryAccess &access, int run) {
    return makeLayout(access.type, access.order, run).toLinear(access.type.getShape());
  });
}

bool LayoutCandidates::hasColumns(int64_t length) const {
  return numVectors.lookup(length) >= manyColumns;
}

const MemoryAccess *LayoutCandidates::accessOf(Operation *op) const {
  auto found = accesses.find(op);
  return found == accesses.end() ? nullptr : &found->second;
}

} // namespace tilewright::passes
