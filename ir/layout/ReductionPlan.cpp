//===- ReductionPlan.cpp - How a tile is reduced along one dimension ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the axis part of a column says how far its bit moves along the axis. The
// elements that one result combines differ by the span of the axis parts of all
// columns. A register, lane, warp or block bit takes part if its axis part is not
// already spanned by the bits before it. Otherwise its elements have been combined
// already (it leads to copies), and combining them again would count elements
// twice.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ReductionPlan.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/support/Hardware.h"

#include <algorithm>

namespace tilewright {

/// Partial results are read as vectors of up to 16 bytes.
static constexpr int64_t scratchAlignment = hardware::maxSharedAccessBytes;
/// The least that a block writes to another one's memory at once.
static constexpr int minExchangeBits = 32;

//===--- reading a plan ---------------------------------------------------===//

uint32_t ReductionPlan::writeSlot(uint32_t reg, uint32_t lane, uint32_t warp,
                                  uint32_t block) const {
  return f2::multiply(registerSlots, reg) ^ f2::multiply(writerLaneSlots, lane) ^
         f2::multiply(warpSlots, warp) ^ f2::multiply(blockSlots, block);
}

uint32_t ReductionPlan::readSlot(uint32_t reg, uint32_t lane, uint32_t warp) const {
  return f2::multiply(registerSlots, reg) ^ f2::multiply(laneSlots, lane) ^
         f2::multiply(warpSlots, warp) ^ f2::multiply(partialSlots, warp);
}

uint32_t ReductionPlan::holderOf(int reg) const {
  uint32_t lane = 0;
  for (int step = 0, half = static_cast<int>(groups.size()) / 2; step < numHalvings;
       ++step, half /= 2)
    if (reg & half)
      lane |= laneMasks[step];
  return lane;
}

uint32_t ReductionPlan::blockMask() const { return blockOffset(numBlocks() - 1); }

uint32_t ReductionPlan::blockOffset(int index) const {
  uint32_t offset = 0;
  for (size_t bit = 0; bit < blockBits.size(); ++bit)
    offset |= uint32_t(index >> bit & 1) << blockBits[bit];
  return offset;
}

//===--- the steps --------------------------------------------------------===//

bool separatesAxis(const LinearLayout &layout, int axis) {
  uint32_t axisMask = layout.dimMask(axis);
  for (uint32_t column : flatten(layout))
    if ((column & axisMask) != 0 && (column & ~axisMask) != 0)
      return false;
  return true;
}

/// The bits of `dim` that take part, by ascending position along the axis.
static std::vector<int> takePart(f2::Basis &combined, const LinearLayout &layout, InDim dim,
                                 uint32_t axisMask) {
  const Columns &columns = layout.columns(dim);
  std::vector<int> bits;
  for (int bit = 0; bit < layout.numInBits(dim); ++bit)
    if ((columns[bit] & axisMask) != 0 && combined.insert(columns[bit]))
      bits.push_back(bit);
  std::sort(bits.begin(), bits.end(), [&](int a, int b) { return columns[a] < columns[b]; });
  return bits;
}

static void groupRegisters(ReductionPlan &plan, const LinearLayout &layout, int axis) {
  uint32_t axisMask = layout.dimMask(axis);
  std::vector<int> resultOf = sliceRegisters(layout, axis);
  uint32_t keptMask = 0;
  for (int bit : keptRegisterBits(layout))
    keptMask |= uint32_t(1) << bit;
  plan.groups.resize(plan.result.inSize(InDim::Register));
  for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg)
    if ((reg & ~keptMask) == 0) // the others are copies
      plan.groups[resultOf[reg]].push_back(reg);
  auto position = [&](int reg) { return layout.apply(InDim::Register, reg) & axisMask; };
  for (std::vector<int> &group : plan.groups)
    std::sort(group.begin(), group.end(), [&](int a, int b) { return position(a) < position(b); });
}

/// Whether every thread would read much that others read as well. (A second barrier
/// costs about as much as 16 reads in each of 4 warps, without the conflicts that
/// these have in addition.)
static bool shouldSpread(const ReductionPlan &plan) {
  constexpr int64_t maxReads = 16;
  int64_t reads = static_cast<int64_t>(plan.groups.size()) * plan.numPartials();
  return plan.result.numInBits(InDim::Block) == 0 && reads >= maxReads &&
         plan.result.numOutBits() >= plan.result.numInBits(InDim::Lane);
}

/// Finds the threads whose slots others write already; returns how many bits the slots that are
/// written differ in.
static int markDuplicates(ReductionPlan &plan) {
  Columns held = plan.registerSlots;
  held.resize(held.size() - plan.numHalvings);
  f2::Basis written(held);
  plan.duplicateMasks = {};
  auto markCopies = [&](InDim dim, const Columns &slots) {
    for (size_t bit = 0; bit < slots.size(); ++bit)
      if (!written.insert(slots[bit]))
        plan.duplicateMasks[dim] |= uint32_t(1) << bit;
  };
  markCopies(InDim::Lane, plan.writerLaneSlots);
  markCopies(InDim::Warp, plan.warpSlots);
  return static_cast<int>(written.rank());
}

/// Slot = (result element, partial result), partial results next to each other; or
/// the other way round where they are spread.
static void planExchange(ReductionPlan &plan, const std::vector<int> &elementBits) {
  int log2OfBlock = static_cast<int>(plan.warpBits.size());
  int log2Partials = log2OfBlock + static_cast<int>(plan.blockBits.size());
  plan.isSpread = shouldSpread(plan);
  int log2Stride = plan.isSpread ? plan.result.numOutBits() : 0;
  plan.partialStride = 1 << log2Stride;
  auto slotsOf = [&](InDim dim) {
    Columns slots;
    for (uint32_t element : plan.result.columns(dim))
      slots.push_back(plan.isSpread ? element : element << log2Partials);
    return slots;
  };
  plan.registerSlots = slotsOf(InDim::Register);
  plan.laneSlots = slotsOf(InDim::Lane);
  plan.warpSlots = slotsOf(InDim::Warp);
  plan.partialSlots.assign(plan.warpSlots.size(), 0);
  for (int i = 0; i < log2OfBlock; ++i) {
    uint32_t slot = uint32_t(1) << (log2Stride + i);
    plan.partialSlots[plan.warpBits[i]] = slot;
    plan.warpSlots[plan.warpBits[i]] ^= slot;
  }
  // Blocks that do not take part have other results, or copies.
  plan.blockSlots.assign(plan.result.numInBits(InDim::Block), 0);
  for (size_t i = 0; i < plan.blockBits.size(); ++i)
    plan.blockSlots[plan.blockBits[i]] = uint32_t(1) << (log2OfBlock + i);
  plan.writerLaneSlots = plan.laneSlots;
  int rank = markDuplicates(plan);

  int64_t numSlots = int64_t(1) << (plan.result.numOutBits() + log2Partials);
  bool crosses = !plan.blockBits.empty();
  // All slots of the results that this block has.
  int64_t numIncoming = int64_t(1) << (rank + plan.blockBits.size());
  for (int bits : elementBits) {
    int storedBits = std::max(crosses ? minExchangeBits : 8, bits);
    plan.incomingBytes += crosses ? numIncoming * (storedBits / 8) : 0;
    plan.scratch.push_back({plan.scratchBytes, storedBits});
    int64_t bytes = numSlots * (storedBits / 8);
    plan.scratchBytes += (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
  }
}

void ReductionPlan::foldByHalves(int halvings) {
  numHalvings = halvings;
  if (!needsExchange())
    return;
  writerLaneSlots = laneSlots;
  for (int step = 0; step < halvings; ++step)
    for (size_t lane = 0; lane < laneSlots.size(); ++lane)
      if (laneMasks[step] >> lane & 1)
        writerLaneSlots[lane] ^= registerSlots[registerSlots.size() - 1 - step];
  markDuplicates(*this);
}

std::optional<ReductionPlan> planReduction(const LinearLayout &layout, int axis,
                                           const std::vector<int> &elementBits) {
  uint32_t axisMask = layout.dimMask(axis);
  if (!separatesAxis(layout, axis))
    return std::nullopt;
  ReductionPlan plan;
  plan.result = sliceDim(layout, axis, /*keepDim=*/false);
  plan.resultKeepDim = sliceDim(layout, axis, /*keepDim=*/true);
  groupRegisters(plan, layout, axis);

  f2::Basis combined;
  takePart(combined, layout, InDim::Register, axisMask);
  for (int bit : takePart(combined, layout, InDim::Lane, axisMask))
    plan.laneMasks.push_back(uint32_t(1) << bit);
  plan.warpBits = takePart(combined, layout, InDim::Warp, axisMask);
  plan.blockBits = takePart(combined, layout, InDim::Block, axisMask);
  if (plan.needsExchange())
    planExchange(plan, elementBits);
  return plan;
}

} // namespace tilewright
