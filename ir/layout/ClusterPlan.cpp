//===- ClusterPlan.cpp - Layout conversion across blocks ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the memory of all blocks is one layout. Its low offset bits are the
// place within a block, its high ones the rank of the block:
//   1. place: first the directions that both sides have in registers, up to 16
//      bytes, then further directions of the reader, then the lanes, warps and
//      registers of the source. Together they span what a block of the source
//      holds.
//   2. rank: what each bit of the block index adds in the source. If that lies
//      in the span, or is nothing, blocks hold copies. An element is then found
//      without this bit: every reader takes the block whose bit is zero.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutMemory.h"

#include <algorithm>

namespace tilewright {

/// The widest shared-memory access of a thread, bits.
static constexpr int log2VectorBits = 7;

/// Step 1.
static Columns placeColumns(const LinearLayout &src, const LinearLayout &dst) {
  const Columns &registers = src.columns(InDim::Register);
  Columns held =
      f2::concat(f2::concat(registers, src.columns(InDim::Lane)), src.columns(InDim::Warp));
  Columns order = f2::intersection(registers, dst.columns(InDim::Register));
  order = f2::concat(order, f2::intersection(dst.columns(InDim::Register), held));
  order = f2::concat(order, f2::concat(src.columns(InDim::Lane), src.columns(InDim::Warp)));
  return f2::independentColumns(f2::concat(order, registers));
}

std::optional<ClusterPlan> planCluster(const LinearLayout &src, const LinearLayout &dst,
                                       int elementBits) {
  LinearLayout place(src.log2Shape());
  place.columns(InDim::Offset) = placeColumns(src, dst);
  LinearLayout all = place;
  all.columns(InDim::Offset) = f2::concat(place.columns(InDim::Offset), src.columns(InDim::Block));

  ClusterPlan plan;
  plan.storedBits = std::max(8, elementBits);
  plan.log2BlockElements = place.numInBits(InDim::Offset);
  plan.scratchBytes = (int64_t(1) << plan.log2BlockElements) * (plan.storedBits / 8);

  // What a block adds within its own memory: nothing, unless blocks hold copies in
  // another order.
  std::optional<IndexMap> places = memoryOffsets(all, src);
  if (!places)
    return std::nullopt;
  uint32_t placeMask = (uint32_t(1) << plan.log2BlockElements) - 1;
  LinearLayout own = src;
  for (int bit = 0; bit < src.numInBits(InDim::Block); ++bit)
    own.columns(InDim::Block)[bit] =
        place.apply(InDim::Offset, (*places)[InDim::Block][bit][InDim::Offset] & placeMask);

  SharedSideOptions options;
  options.maxLog2Vector =
      std::min(log2VectorBits - f2::floorLog2(plan.storedBits), plan.log2BlockElements);
  std::optional<SharedSide> write = planSharedSide(place, own, plan.storedBits, options);
  std::optional<SharedSide> read = planSharedSide(all, dst, plan.storedBits, options);
  if (!write || !read)
    return std::nullopt;
  plan.write = std::move(*write);
  plan.read = std::move(*read);
  return plan;
}

} // namespace tilewright
