//===- ScanPlan.cpp - How a tile is scanned along one dimension -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ScanPlan.h"

#include <algorithm>

namespace tilewright {

/// The hardware bit whose column is exactly `element`; registers first.
static std::optional<ScanStep> findHolder(const LinearLayout &layout, uint32_t element) {
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp}) {
    const Columns &columns = layout.columns(dim);
    for (size_t bit = 0; bit < columns.size(); ++bit)
      if (columns[bit] == element)
        return ScanStep{dim, 1u << bit};
  }
  return std::nullopt;
}

std::optional<ScanPlan> planScan(const LinearLayout &layout, int axis,
                                 const std::vector<int> &elementBits) {
  if (!layout.isPermutationLike())
    return std::nullopt;
  ScanPlan plan;
  int start = layout.dimStartBit(axis), count = layout.log2Shape()[axis];
  int numTotalsBits = layout.numInBits(InDim::Register);
  int maxTotalsBits = -1;
  for (int bit = start; bit < start + count; ++bit) {
    std::optional<ScanStep> step = findHolder(layout, 1u << bit);
    if (!step)
      return std::nullopt;
    plan.steps.push_back(*step);
    // The first exchange has the most totals: later ones have merged more runs.
    if (step->dim == InDim::Warp && maxTotalsBits < 0)
      maxTotalsBits = numTotalsBits;
    if (step->dim == InDim::Register)
      --numTotalsBits;
  }
  for (int bits : elementBits) {
    plan.operandOffsets.push_back(plan.scratchBytes);
    plan.storedBytes.push_back(std::max(bits, 8) / 8);
    if (maxTotalsBits >= 0)
      plan.scratchBytes += int64_t(plan.storedBytes.back()) *
                           (int64_t(1) << (maxTotalsBits + layout.numInBits(InDim::Lane) +
                                           layout.numInBits(InDim::Warp)));
    plan.scratchBytes = (plan.scratchBytes + 15) / 16 * 16;
  }
  if (maxTotalsBits < 0)
    plan.scratchBytes = 0;
  return plan;
}

/// Totals of a thread, times warps, up to which each warp reads those of all others: one
/// exchange instead of one for each bit, which would wait at two barriers each. A guess.
static constexpr int64_t maxTotalsAtOnce = 32;

size_t stepsTogether(const std::vector<ScanStep> &steps, size_t first, int64_t totals) {
  size_t end = first;
  while (end < steps.size() && steps[end].dim == steps[first].dim)
    ++end;
  bool isTooMuch = steps[first].dim == InDim::Warp && totals << (end - first) > maxTotalsAtOnce;
  return isTooMuch ? 1 : end - first;
}

LinearLayout withNeighboursInThreads(LinearLayout layout, int axis) {
  Columns bits;
  std::vector<uint32_t *> holders;
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp})
    for (uint32_t &column : layout.columns(dim))
      if (column & layout.dimMask(axis)) {
        bits.push_back(column);
        holders.push_back(&column);
      }
  std::sort(bits.begin(), bits.end());
  for (size_t index = 0; index < bits.size(); ++index)
    *holders[index] = bits[index];
  return layout;
}

} // namespace tilewright
