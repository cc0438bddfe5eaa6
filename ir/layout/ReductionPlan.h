//===- ReductionPlan.h - How a tile is reduced along one dimension *- C++
//-*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for a tile in a distributed layout, which registers of a thread, which
// lanes and which warps hold elements that differ only along `axis`, what
// shared memory the exchange between warps takes, and the layout of the result.
//
// How code generation uses it:
//  1. Per result register, combine the registers of its group, in order.
//  2. For each lane mask, combine with the value of lane ^ mask (butterfly).
//  All
//     lanes that share a result now hold it.
//  3. If warps take part: each thread outside `duplicateMasks` writes its
//  results
//     to scratch; one barrier; every thread reads the 2^log2Warps partial
//     results of each of its results, which lie next to each other, and
//     combines them in order. No second barrier is needed before use, one
//     before the scratch is used again.
//  The result then has `result` as layout: lanes and warps along the axis hold
//  copies.
//
// Example: the 4x4 tile of LinearLayout.h, lane owns a row, reduced along
// columns: one group {0, 1, 2, 3}, no lane masks, result lane -> 1, 2. Reduced
// along rows: groups {0}, {1}, {2}, {3}, lane masks 1 and 2, result
// register -> 1, 2, lane -> 0, 0.
//
// Not handled: layouts that mix bits of the axis with others in one column
// (swizzled registers): planReduction returns nothing, convert first. Blocks of
// a cluster along the axis.
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
  /// The warp bits along the axis, lowest position first.
  std::vector<int> warpBits;

  /// The layout of the result, without the axis.
  LinearLayout result;
  /// As `result`, the axis kept with extent 1.
  LinearLayout resultKeepDim;

  //===--- the exchange between warps, where warpBits is not empty -------===//
  int numPartials() const { return 1 << warpBits.size(); }
  /// Slot (elements) at which a thread writes result register r: the XOR of
  /// registerSlots over the bits of r, laneSlots and warpSlots over those of
  /// its lane and warp. With partialSlots left out of warpSlots it is the slot
  /// of the first of numPartials() neighbours to read.
  Columns registerSlots, laneSlots, warpSlots;
  /// The part of warpSlots that numbers the partial result.
  Columns partialSlots;
  /// Threads with any of these bits set need not write.
  HardwareIndex duplicateMasks;
  std::vector<ReductionScratch> scratch;
  int64_t scratchBytes = 0;

  uint32_t writeSlot(uint32_t reg, uint32_t lane, uint32_t warp) const;
  uint32_t readSlot(uint32_t reg, uint32_t lane, uint32_t warp) const;
};

/// `elementBits` has one entry per operand of the reduction.
std::optional<ReductionPlan> planReduction(const LinearLayout &layout, int axis,
                                           const std::vector<int> &elementBits);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_REDUCTIONPLAN_H
