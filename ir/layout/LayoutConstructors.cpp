//===- LayoutConstructors.cpp - Layouts that occur in practice ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"

#include "ir/layout/F2.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

/// Hands out the element bits of each dimension, lowest first.
class BitDealer {
public:
  explicit BitDealer(const std::vector<int> &log2Shape)
      : layout(log2Shape), dealt(log2Shape.size(), 0), dealtFromTop(log2Shape.size(), 0) {}

  int left(int dim) const { return layout.log2Shape()[dim] - dealt[dim] - dealtFromTop[dim]; }

  /// The next `count` bits of `dim` become columns of `target`. Where none is
  /// left, threads get zero columns (copies) and registers nothing.
  void deal(InDim target, int dim, int count) {
    for (; count > 0; --count) {
      if (left(dim) > 0)
        layout.columns(target).push_back(uint32_t(1) << (layout.dimStartBit(dim) + dealt[dim]++));
      else if (target != InDim::Register)
        copy(target, 1);
    }
  }

  /// The highest `count` bits of `dim` that are left.
  void dealTop(InDim target, int dim, int count) {
    dealtFromTop[dim] += count;
    int start = layout.dimStartBit(dim) + layout.log2Shape()[dim] - dealtFromTop[dim];
    for (int bit = 0; bit < count; ++bit)
      layout.columns(target).push_back(uint32_t(1) << (start + bit));
  }

  void copy(InDim target, int count) {
    layout.columns(target).insert(layout.columns(target).end(), count, 0);
  }

  void dealRest(int dim) { deal(InDim::Register, dim, left(dim)); }

  LinearLayout take() { return std::move(layout); }

private:
  LinearLayout layout;
  std::vector<int> dealt, dealtFromTop;
};

} // namespace

//===--- blocked ----------------------------------------------------------===//

std::vector<int> rowMajorOrder(int rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

LinearLayout makeBlocked(const std::vector<int> &log2Shape,
                         const std::vector<int> &log2SizePerThread,
                         const std::vector<int> &log2Lanes, const std::vector<int> &log2Warps,
                         const std::vector<int> &order) {
  BitDealer dealer(log2Shape);
  for (int dim : order)
    dealer.deal(InDim::Register, dim, log2SizePerThread[dim]);
  for (int dim : order)
    dealer.deal(InDim::Lane, dim, log2Lanes[dim]);
  for (int dim : order)
    dealer.deal(InDim::Warp, dim, log2Warps[dim]);
  for (int dim : order)
    dealer.dealRest(dim);
  return dealer.take();
}

/// Rows (log2) that warps share, each with all of them, rather than among themselves. Each thread
/// reduces as many. A guess.
static constexpr int maxLog2SharedRows = 2;

LinearLayout makeCoalesced(const std::vector<int> &log2Shape, const std::vector<int> &order,
                           int vectorElements, int log2WarpSize, int log2Warps, int log2Blocks,
                           const std::vector<int> &log2Repeats, bool hasShortRuns,
                           bool hasColumns) {
  BitDealer dealer(log2Shape);
  if (order.empty()) {
    dealer.copy(InDim::Lane, log2WarpSize);
    dealer.copy(InDim::Warp, log2Warps);
    dealer.copy(InDim::Block, log2Blocks);
    return dealer.take();
  }
  int totalBits = std::accumulate(log2Shape.begin(), log2Shape.end(), 0);
  int spareBits = std::max(0, totalBits - log2WarpSize - log2Warps);
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    int blocks = std::min({log2Blocks, spareBits, dealer.left(*dim)});
    dealer.dealTop(InDim::Block, *dim, blocks);
    log2Blocks -= blocks;
    spareBits -= blocks;
  }
  dealer.copy(InDim::Block, log2Blocks);
  int vectorBits = std::min(f2::floorLog2(vectorElements), spareBits);
  dealer.deal(InDim::Register, order[0], vectorBits);
  spareBits -= vectorBits;
  for (size_t dim = 0; dim < log2Repeats.size(); ++dim) {
    int repeats = std::min({log2Repeats[dim], spareBits, dealer.left(static_cast<int>(dim))});
    dealer.deal(InDim::Register, static_cast<int>(dim), repeats);
    spareBits -= repeats;
  }

  // Lanes fill the fastest dimensions: neighbouring lanes, neighbouring bytes.
  bool areLanesInRow = dealer.left(order[0]) >= log2WarpSize;
  for (int dim : order) {
    int lanes = std::min(log2WarpSize, dealer.left(dim));
    dealer.deal(InDim::Lane, dim, lanes);
    log2WarpSize -= lanes;
  }
  dealer.copy(InDim::Lane, log2WarpSize);
  // Warps go to slower dimensions first: the rows of a tile are then reduced within a warp
  // wherever a warp covers a row. Not where warps have to share the few rows that there are:
  // what a kernel has for each column, as weights, would be there once for each row.
  int log2Rows = 0;
  for (size_t i = 1; i < order.size(); ++i)
    log2Rows += dealer.left(order[i]);
  bool sharesRows = log2Warps + hasColumns > log2Rows && log2Rows <= maxLog2SharedRows;
  for (size_t i = 0; i < order.size(); ++i) {
    int dim = order[(i + !sharesRows) % order.size()];
    int warps = std::min(log2Warps, dealer.left(dim));
    // The next row has the rest of the sectors: it goes to the same warp.
    if (hasShortRuns && areLanesInRow && dim != order[0])
      dealer.dealTop(InDim::Warp, dim, warps);
    else
      dealer.deal(InDim::Warp, dim, warps);
    log2Warps -= warps;
  }
  dealer.copy(InDim::Warp, log2Warps);
  for (int dim : order)
    dealer.dealRest(dim);
  return dealer.take();
}

LinearLayout makeTransposing(const std::vector<int> &log2Shape, const std::vector<int> &order,
                             int dimOfRows, int log2Block, int log2Run, int log2WarpSize,
                             int log2Warps) {
  BitDealer dealer(log2Shape);
  dealer.deal(InDim::Register, order[0], log2Block);
  dealer.deal(InDim::Register, dimOfRows, log2Block);
  auto dealUpTo = [&](InDim target, int dim, int &bits, int most) {
    int dealt = std::min({bits, most, dealer.left(dim)});
    dealer.deal(target, dim, dealt);
    bits -= dealt;
  };
  dealUpTo(InDim::Lane, order[0], log2WarpSize, log2Run);
  dealUpTo(InDim::Lane, dimOfRows, log2WarpSize, log2WarpSize);
  dealUpTo(InDim::Warp, dimOfRows, log2Warps, log2Warps);
  for (int dim : order) {
    dealUpTo(InDim::Lane, dim, log2WarpSize, log2WarpSize);
    dealUpTo(InDim::Warp, dim, log2Warps, log2Warps);
  }
  dealer.copy(InDim::Lane, log2WarpSize);
  dealer.copy(InDim::Warp, log2Warps);
  for (int dim : order)
    dealer.dealRest(dim);
  return dealer.take();
}

//===--- matrix instructions ----------------------------------------------===//

/// Warps of the leading (batch) dimensions, after those of M and N.
static void dealBatchWarps(BitDealer &dealer, const std::vector<int> &log2Warps) {
  for (int dim = static_cast<int>(log2Warps.size()) - 3; dim >= 0; --dim)
    dealer.deal(InDim::Warp, dim, log2Warps[dim]);
}

static void dealRestOfAll(BitDealer &dealer, int rank) {
  for (int dim = rank - 1; dim >= 0; --dim)
    dealer.dealRest(dim);
}

/// The 16x8 part that one warp has of every accumulator.
static void dealAccumulatorTile(BitDealer &dealer, int dimM, int dimN) {
  dealer.deal(InDim::Register, dimN, 1);
  dealer.deal(InDim::Lane, dimN, 2);
  dealer.deal(InDim::Lane, dimM, 3);
  dealer.deal(InDim::Register, dimM, 1);
}

LinearLayout makeMmaAccumulator(const std::vector<int> &log2Shape,
                                const std::vector<int> &log2Warps) {
  int rank = static_cast<int>(log2Shape.size());
  int dimM = rank - 2, dimN = rank - 1;
  BitDealer dealer(log2Shape);
  dealAccumulatorTile(dealer, dimM, dimN);
  dealer.deal(InDim::Warp, dimM, log2Warps[dimM]);
  dealer.deal(InDim::Warp, dimN, log2Warps[dimN]);
  dealBatchWarps(dealer, log2Warps);
  dealRestOfAll(dealer, rank);
  return dealer.take();
}

LinearLayout makeWgmmaAccumulator(const std::vector<int> &log2Shape, int log2WarpsM,
                                  int log2WarpsN) {
  const int dimM = 0, dimN = 1;
  BitDealer dealer(log2Shape);
  dealAccumulatorTile(dealer, dimM, dimN);
  dealer.deal(InDim::Warp, dimM, log2WarpsM);
  // Registers first: each warpgroup of N owns neighbouring columns.
  dealer.deal(InDim::Register, dimN, std::max(0, dealer.left(dimN) - log2WarpsN));
  dealer.deal(InDim::Warp, dimN, log2WarpsN);
  dealer.dealRest(dimM);
  return dealer.take();
}

LinearLayout makeDotOperand(DotOperand operand, const std::vector<int> &log2Shape,
                            const std::vector<int> &log2Warps, int elementBits) {
  int rank = static_cast<int>(log2Shape.size());
  bool isA = operand == DotOperand::A;
  int dimK = isA ? rank - 1 : rank - 2;
  int dimOther = isA ? rank - 2 : rank - 1;
  BitDealer dealer(log2Shape);
  dealer.deal(InDim::Register, dimK, f2::floorLog2(std::max(1, 32 / elementBits)));
  dealer.deal(InDim::Lane, dimK, 2);
  dealer.deal(InDim::Lane, dimOther, 3);
  if (isA)
    dealer.deal(InDim::Register, dimOther, 1);
  dealer.deal(InDim::Register, dimK, 1);
  // Warp bits of M come before those of N, as in the accumulator.
  if (isA)
    dealer.deal(InDim::Warp, dimOther, log2Warps[rank - 2]);
  dealer.copy(InDim::Warp, isA ? log2Warps[rank - 1] : log2Warps[rank - 2]);
  if (!isA)
    dealer.deal(InDim::Warp, dimOther, log2Warps[rank - 1]);
  dealBatchWarps(dealer, log2Warps);
  // A has the accumulator's order, which costs nothing where one product's result is
  // another's operand; wgmma takes its registers as they come. Of B the columns come first,
  // so that what one ldmatrix reads belongs to one step of K: its registers are free for
  // the next step but one while the next one runs.
  dealer.dealRest(isA ? dimK : dimOther);
  dealRestOfAll(dealer, rank);
  return dealer.take();
}

LinearLayout makeFmaOperand(const LinearLayout &accumulator, DotOperand operand, int log2K) {
  int rank = accumulator.rank();
  bool isA = operand == DotOperand::A;
  std::vector<int> log2Shape = accumulator.log2Shape();
  log2Shape[isA ? rank - 1 : rank - 2] = log2K;
  LinearLayout layout(log2Shape);
  int dimK = isA ? rank - 1 : rank - 2;
  // An accumulator element bit as a bit of the operand; 0 along the lost dimension.
  auto translate = [&](uint32_t column) {
    uint32_t result = 0;
    for (int dim = 0; dim < rank; ++dim)
      if (dim != dimK)
        result |= (column & accumulator.dimMask(dim)) >> accumulator.dimStartBit(dim)
                                                             << layout.dimStartBit(dim);
    return result;
  };
  for (int bit = 0; bit < log2K; ++bit)
    layout.columns(InDim::Register).push_back(uint32_t(1) << (layout.dimStartBit(dimK) + bit));
  for (uint32_t column : accumulator.columns(InDim::Register))
    if (uint32_t kept = translate(column))
      layout.columns(InDim::Register).push_back(kept);
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    for (uint32_t column : accumulator.columns(dim))
      layout.columns(dim).push_back(translate(column));
  return layout;
}

//===--- shared memory ----------------------------------------------------===//

int effectiveSwizzleBytes(int log2RowElements, int elementBits, int swizzleBytes) {
  int64_t rowBits = (int64_t(1) << log2RowElements) * elementBits;
  for (int mode : {128, 64, 32, 16})
    if (mode <= swizzleBytes && mode * 8 <= rowBits)
      return mode;
  return 0;
}

LinearLayout makeSwizzledShared(const std::vector<int> &log2Shape, int elementBits,
                                int swizzleBytes, const std::vector<int> &order,
                                int log2RowsAlike) {
  LinearLayout layout(log2Shape);
  if (order.empty())
    return layout;
  Columns &offsets = layout.columns(InDim::Offset);
  auto deal = [&](int dim, int from, int to) {
    for (int bit = from; bit < to; ++bit)
      offsets.push_back(uint32_t(1) << (layout.dimStartBit(dim) + bit));
  };
  int row = order[0];
  swizzleBytes = effectiveSwizzleBytes(log2Shape[row], elementBits, swizzleBytes);
  int log2ElementBits = f2::floorLog2(elementBits);
  int panelBits = swizzleBytes ? f2::floorLog2(swizzleBytes * 8) - log2ElementBits : log2Shape[row];
  deal(row, 0, panelBits);
  if (order.size() > 1)
    deal(order[1], 0, log2Shape[order[1]]);
  for (size_t i = 2; i < order.size(); ++i)
    deal(order[i], 0, log2Shape[order[i]]);
  deal(row, panelBits, log2Shape[row]);

  // The hardware XORs address bit 4 + k with address bit 7 + k. Bits are
  // counted in bits of memory here, so that elements below a byte come out
  // right.
  int log2Chunks = swizzleBytes >= 32 ? f2::floorLog2(swizzleBytes / 16) : 0;
  for (int k = 0; k < log2Chunks; ++k) {
    size_t low = 4 + 3 + k - log2ElementBits;
    size_t high = 7 + 3 + k + log2RowsAlike - log2ElementBits;
    if (high < offsets.size())
      offsets[high] ^= offsets[low];
  }
  return layout;
}

LinearLayout makeSwizzledShared(const std::vector<int> &log2Shape, int elementBits,
                                int swizzleBytes) {
  return makeSwizzledShared(log2Shape, elementBits, swizzleBytes,
                            rowMajorOrder(static_cast<int>(log2Shape.size())));
}

} // namespace tilewright
