//===- ScanPlan.h - How a tile is scanned along one dimension ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the steps of an inclusive scan along `axis` of a tile in a distributed
// layout, and the shared memory they need.
//
// How: position bits of the axis are taken from the lowest to the highest. After
// the bits 0..k-1 every position holds the scan within its run of 2^k. A step for
// bit k joins two neighbouring runs: positions of the upper run combine the lower
// run's total before theirs. Where the bit lives decides how the lower total is
// reached, and neighbouring bits of one kind are taken together:
//   Register  it is in this thread already: the runs follow one another
//   Lane      one shuffle per total from the last lane of the lower run (Sklansky's
//             scan); afterwards the last lane of all has the total
//   Warp      one exchange through shared memory per total; where totals are few, one for
//             all bits, in which each warp combines those of all others in order
// Totals are kept once per group of registers that lie in the same run. Where such a run
// has several values, the totals are scanned over the lanes, and what comes before a run
// is combined with each of its values once.
//
// Example: the 4x4 tile of LinearLayout.h, lane owns a row, scanned along rows
// (axis 0): steps Lane 1, Lane 2, with four totals each. Along columns: steps
// Register 1, Register 2.
//
// Not handled: layouts that mix bits in one column; convert first.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_SCANPLAN_H
#define TILEWRIGHT_IR_LAYOUT_SCANPLAN_H

#include "ir/layout/LinearLayout.h"

namespace tilewright {

struct ScanStep {
  InDim dim;
  /// The bit of that index, as a mask.
  uint32_t mask;
};

struct ScanPlan {
  /// One per position bit of the axis, lowest first.
  std::vector<ScanStep> steps;
  /// Scratch for the totals of one exchange: for operand i, total number t of
  /// thread (lane, warp) lies at operandOffsets[i] + storedBytes[i] *
  /// ((t * warps + warp) * lanes + lane).
  std::vector<int64_t> operandOffsets;
  std::vector<int> storedBytes;
  int64_t scratchBytes = 0;
};

/// `elementBits` has one entry per operand. Nothing where a column has several
/// bits, or where a position bit of the axis has no column.
std::optional<ScanPlan> planScan(const LinearLayout &layout, int axis,
                                 const std::vector<int> &elementBits);

/// How many steps from `first` on are taken together, where a thread has `totals`.
size_t stepsTogether(const std::vector<ScanStep> &steps, size_t first, int64_t totals);

/// `layout` with its bits of `axis` dealt again: registers have the lowest, then lanes, then
/// warps. Runs of registers are merged first then, so that fewer totals cross threads. Each column
/// has at most one bit.
LinearLayout withNeighboursInThreads(LinearLayout layout, int axis);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_SCANPLAN_H
