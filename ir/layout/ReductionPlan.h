//===- ReductionPlan.h - How a tile is reduced along one dimension -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for a tile in a distributed layout, which registers of a thread, which
// lanes, warps and blocks hold elements that differ only along `axis`, what
// shared memory the exchange between them takes, and the layout of the result.
//
// How code generation uses it:
//  1. Per result register, combine the registers of its group, in order.
//  2. For each lane mask, combine with the value of lane ^ mask (butterfly). All
//     lanes that share a result now hold it. Of many results (`numHalvings`) a lane
//     sends half at first and keeps the other half, which it combines with what comes:
//     then each lane holds a part of the results, complete.
//  3. If warps take part: each thread outside `duplicateMasks` writes its results
//     to scratch; one barrier. Of few results every thread reads the partial
//     results of each of its own, which lie next to each other, and combines them
//     in order. Of many (`isSpread`) each thread combines one, or a few, over all
//     warps: there the results lie next to each other and their partial results a
//     whole tile of results apart. What it makes takes the place of the first of
//     them; after a second barrier every thread reads its own. No other barrier is
//     needed before use, one before the scratch is used again.
//     If blocks of a cluster take part, each writes its partial results to the
//     memory of all of them, its own among them, where they have the same slots; a
//     block goes on when `incomingBytes` have come.
//  The result then has `result` as layout: lanes and warps along the axis hold
//  copies.
//
// Example: the 4x4 tile of LinearLayout.h, lane owns a row, reduced along
// columns: one group {0, 1, 2, 3}, no lane masks, result lane -> 1, 2. Reduced
// along rows: groups {0}, {1}, {2}, {3}, lane masks 1 and 2, result
// register -> 1, 2, lane -> 0, 0.
//
// Not handled: layouts that mix bits of the axis with others in one column
// (swizzled registers): planReduction returns nothing, convert first.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_REDUCTIONPLAN_H
#define TILEWRIGHT_IR_LAYOUT_REDUCTIONPLAN_H

#include "ir/layout/LayoutAlgebra.h"

namespace tilewright {

/// What one operand of a reduction (tuples have several) needs in scratch.
struct ReductionScratch {
  int64_t byteOffset = 0;
  int storedBits = 0;
};

struct ReductionPlan {
  /// groups[r]: the source registers that fold into result register r, in
  /// ascending position along the axis.
  std::vector<std::vector<int>> groups;
  /// Butterfly masks, each one lane bit, lowest position along the axis first.
  std::vector<uint32_t> laneMasks;
  /// At the first so many of laneMasks the results are halved: from registers 0 to 2n-1 the lanes
  /// without the mask keep those below n, the lanes with it the others. Zero until foldByHalves.
  int numHalvings = 0;
  int numHeld() const { return static_cast<int>(groups.size()) >> numHalvings; }
  /// The lane with the same bits outside of the halved masks that holds result register `reg`, as
  /// those bits; it is register reg % numHeld() there.
  uint32_t holderOf(int reg) const;
  /// The warp bits along the axis, lowest position first.
  std::vector<int> warpBits;
  /// The bits of the block in its cluster along the axis, lowest position first.
  std::vector<int> blockBits;

  /// The layout of the result, without the axis.
  LinearLayout result;
  /// As `result`, the axis kept with extent 1.
  LinearLayout resultKeepDim;

  //===--- the exchange between warps and blocks, where there are such bits ---===//
  bool needsExchange() const { return !warpBits.empty() || !blockBits.empty(); }
  int numPartials() const { return 1 << (warpBits.size() + blockBits.size()); }
  /// Blocks that share a result, and what is to be added to the first one's rank
  /// (that of this block without blockMask()) for the one that is `index`-th along
  /// the axis.
  int numBlocks() const { return 1 << blockBits.size(); }
  uint32_t blockMask() const;
  uint32_t blockOffset(int index) const;
  /// Slot (elements) at which a thread writes held register r: the XOR of registerSlots
  /// over the bits of r, writerLaneSlots, warpSlots and blockSlots over those of its lane,
  /// warp and block. The slot of the first of numPartials() to read for result register r,
  /// partialStride apart, is that of registerSlots, laneSlots and warpSlots without
  /// partialSlots.
  Columns registerSlots, laneSlots, writerLaneSlots, warpSlots, blockSlots;
  /// The part of warpSlots that numbers the partial result.
  Columns partialSlots;
  int partialStride = 1;
  /// Whether threads share the work of combining; partialStride is the number of
  /// results then.
  bool isSpread = false;
  /// Threads with any of these bits set need not write.
  HardwareIndex duplicateMasks;
  std::vector<ReductionScratch> scratch;
  int64_t scratchBytes = 0;
  /// What a block gets of all blocks that share its results, if there are others.
  int64_t incomingBytes = 0;

  /// Sets numHalvings; at most as many as laneMasks and as the results have register bits.
  void foldByHalves(int halvings);

  uint32_t writeSlot(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block = 0) const;
  uint32_t readSlot(uint32_t reg, uint32_t lane, uint32_t warp) const;
};

/// Whether each column lies along `axis` or across it, never both, as a plan needs.
bool separatesAxis(const LinearLayout &layout, int axis);

/// `elementBits` has one entry per operand of the reduction.
std::optional<ReductionPlan> planReduction(const LinearLayout &layout, int axis,
                                           const std::vector<int> &elementBits);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_REDUCTIONPLAN_H
