//===- LayoutConstructorsTest.cpp - Named layouts against their formulas --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace tilewright;
using namespace tilewright::layouttest;

/// Splits `index` into one digit per dimension, order[0] in the lowest bits.
static std::vector<int> digits(int index, const std::vector<int> &log2Sizes,
                               const std::vector<int> &order) {
  std::vector<int> result(log2Sizes.size());
  for (int dim : order) {
    result[dim] = index & ((1 << log2Sizes[dim]) - 1);
    index >>= log2Sizes[dim];
  }
  return result;
}

TEST(LayoutConstructors, BlockedMatchesTheDefinition) {
  RandomLayouts random(21);
  for (int trial = 0; trial < 200; ++trial) {
    int rank = 1 + random.upTo(2);
    std::vector<int> shape = random.shape(rank, 3 + random.upTo(7));
    std::vector<int> size = random.shape(rank, random.upTo(3));
    std::vector<int> lanes = random.shape(rank, 5), warps = random.shape(rank, random.upTo(3));
    std::vector<int> order = rowMajorOrder(rank);
    if (random.chance(50))
      std::reverse(order.begin(), order.end());
    LinearLayout layout = makeBlocked(shape, size, lanes, warps, order);
    ASSERT_EQ(layout.numInBits(InDim::Lane), 5);
    ASSERT_EQ(layout.numInBits(InDim::Warp), std::accumulate(warps.begin(), warps.end(), 0));
    EXPECT_TRUE(layout.isSurjective());
    EXPECT_TRUE(layout.isPermutationLike());

    std::vector<int> clippedSize(rank), repeats(rank);
    for (int dim = 0; dim < rank; ++dim) {
      clippedSize[dim] = std::min(size[dim], shape[dim]);
      repeats[dim] = std::max(0, shape[dim] - size[dim] - lanes[dim] - warps[dim]);
    }
    int sizeBits = std::accumulate(clippedSize.begin(), clippedSize.end(), 0);
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      std::vector<int> in = digits(reg & ((1 << sizeBits) - 1), clippedSize, order);
      std::vector<int> rep = digits(reg >> sizeBits, repeats, order);
      std::vector<int> l = digits(lane, lanes, order), w = digits(warp, warps, order);
      std::vector<uint32_t> expected(rank);
      for (int dim = 0; dim < rank; ++dim) {
        int position = ((rep[dim] << warps[dim] | w[dim]) << lanes[dim] | l[dim]) << size[dim];
        if (size[dim] > shape[dim])
          position = 0;
        expected[dim] = (position + in[dim]) & ((1 << shape[dim]) - 1);
      }
      EXPECT_EQ(layout.coordinates(layout.apply(reg, lane, warp)), expected);
    });
  }
}

TEST(LayoutConstructors, CoalescedPutsNeighbouringLanesOnNeighbouringVectors) {
  // 128x64, vectors of 8: 8 lanes cover a row, then rows by lanes, then by
  // warps.
  LinearLayout layout = makeCoalesced({7, 6}, {1, 0}, 8, 5, 2);
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{1, 2, 4, 1024, 2048, 4096}));
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{8, 16, 32, 64, 128}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{256, 512}));
  // One row: warps follow along it.
  layout = makeCoalesced({0, 10}, {1, 0}, 4, 5, 2);
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{128, 256}));
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{1, 2, 512}));
  // 128 elements for 128 threads: the vector shrinks to nothing.
  layout = makeCoalesced({7}, {0}, 8, 5, 2);
  EXPECT_TRUE(layout.columns(InDim::Register).empty());
  EXPECT_TRUE(layout.isInvertible());
  // Fewer elements than threads: the rest hold copies.
  layout = makeCoalesced({4}, {0}, 8, 5, 2);
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{1, 2, 4, 8, 0}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{0, 0}));
  // A scalar is a copy everywhere.
  layout = makeCoalesced({}, {}, 4, 5, 3);
  EXPECT_EQ(layout.columns(InDim::Lane), Columns(5, 0));
  EXPECT_EQ(layout.columns(InDim::Warp), Columns(3, 0));
}

// Rows in groups of eight have one address: a thread takes a vector of a whole group, and
// no more than leaves an element for every thread.
TEST(LayoutConstructors, CoalescedWithRepeats) {
  LinearLayout layout = makeCoalesced({6, 7}, {1, 0}, 4, 5, 2, /*log2Blocks=*/0, {3, 0});
  // Two bits along the columns, three along the rows, then what is left.
  Columns registers = layout.columns(InDim::Register);
  ASSERT_EQ(registers.size(), 6u);
  EXPECT_EQ(Columns(registers.begin(), registers.begin() + 5), (Columns{1, 2, 128, 256, 512}));
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{4, 8, 16, 32, 64}));
  LinearLayout small = makeCoalesced({4, 6}, {1, 0}, 4, 5, 2, /*log2Blocks=*/0, {3, 0});
  EXPECT_EQ(small.columns(InDim::Register), (Columns{1, 2, 64}));
}

// A row's piece is less than a sector, and the next row has the rest of it: a warp takes rows
// that follow one another. Where lanes go on to other rows it has the whole sector anyway.
TEST(LayoutConstructors, CoalescedWithShortRuns) {
  LinearLayout layout = makeCoalesced({7, 5}, {0, 1}, 1, 5, 2, /*log2Blocks=*/0, {},
                                      /*hasShortRuns=*/true);
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{32, 64, 128, 256, 512}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{8, 16}));
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{1024, 2048, 1, 2, 4}));
  layout = makeCoalesced({3, 9}, {0, 1}, 1, 5, 2, /*log2Blocks=*/0, {}, /*hasShortRuns=*/true);
  EXPECT_EQ(layout, makeCoalesced({3, 9}, {0, 1}, 1, 5, 2));
}

// Four rows of 2048 for four warps: each has one, or, where much is held for each column, a part of
// all. Two warps for the four rows have two in any case.
TEST(LayoutConstructors, CoalescedWithColumns) {
  LinearLayout rows = makeCoalesced({2, 11}, {1, 0}, 8, 5, 2);
  EXPECT_EQ(rows.columns(InDim::Warp), (Columns{2048, 4096}));
  LinearLayout layout = makeCoalesced({2, 11}, {1, 0}, 8, 5, 2, /*log2Blocks=*/0, {},
                                      /*hasShortRuns=*/false, /*hasColumns=*/true);
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{256, 512}));
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{1, 2, 4, 1024, 2048, 4096}));
  layout = makeCoalesced({2, 11}, {1, 0}, 8, 5, 1, /*log2Blocks=*/0, {}, /*hasShortRuns=*/false,
                         /*hasColumns=*/true);
  EXPECT_EQ(layout, makeCoalesced({2, 11}, {1, 0}, 8, 5, 1));
  // Eight rows for eight warps are too many to reduce in each thread.
  layout = makeCoalesced({3, 11}, {1, 0}, 8, 5, 3, /*log2Blocks=*/0, {}, /*hasShortRuns=*/false,
                         /*hasColumns=*/true);
  EXPECT_EQ(layout, makeCoalesced({3, 11}, {1, 0}, 8, 5, 3));
}

// 32x128 f32, columns fastest in memory, rows in the buffer: 16 columns by two rows for each warp, and
// a thread has columns of a few rows only.
TEST(LayoutConstructors, TransposingSpreadsLanesOverBothDimensions) {
  LinearLayout layout =
      makeTransposing({5, 7}, {1, 0}, /*dimOfRows=*/0, /*log2Block=*/0, /*log2Run=*/4, 5, 3);
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{1, 2, 4, 8, 128}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{256, 512, 1024}));
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{16, 32, 64, 2048}));
  // Few rows: warps go on along the columns.
  layout = makeTransposing({2, 8}, {1, 0}, /*dimOfRows=*/0, /*log2Block=*/0, /*log2Run=*/4, 5, 3);
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{1, 2, 4, 8, 256}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{512, 16, 32}));
  // Fewer elements than threads: the rest hold copies.
  layout = makeTransposing({1, 3}, {1, 0}, /*dimOfRows=*/0, /*log2Block=*/0, /*log2Run=*/4, 5, 2);
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{1, 2, 4, 8, 0}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{0, 0}));
  RandomLayouts random(23);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<int> shape = random.shape(2, random.upTo(12));
    int fast = random.upTo(1);
    layout =
        makeTransposing(shape, {fast, 1 - fast}, 1 - fast, /*log2Block=*/0, 4, 5, random.upTo(3));
    EXPECT_TRUE(layout.isSurjective());
  }
}

// 64x128 bytes in rows of 128: a thread has 4 x 4, a warp four of those along a row and eight rows.
TEST(LayoutConstructors, TransposingBlocks) {
  LinearLayout layout =
      makeTransposing({6, 7}, {1, 0}, /*dimOfRows=*/0, /*log2Block=*/2, /*log2Run=*/2, 5, 3);
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{1, 2, 128, 256, 64}));
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{4, 8, 512, 1024, 2048}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{4096, 16, 32}));
  // One block for each of sixteen threads: the rest hold copies.
  layout = makeTransposing({4, 4}, {0, 1}, /*dimOfRows=*/1, /*log2Block=*/2, /*log2Run=*/2, 5, 2);
  EXPECT_EQ(layout.columns(InDim::Register), (Columns{16, 32, 1, 2}));
  EXPECT_EQ(layout.columns(InDim::Lane), (Columns{64, 128, 4, 8, 0}));
  EXPECT_EQ(layout.columns(InDim::Warp), (Columns{0, 0}));
  RandomLayouts random(24);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<int> shape = {2 + random.upTo(5), 2 + random.upTo(5)};
    int fast = random.upTo(1);
    EXPECT_TRUE(
        makeTransposing(shape, {fast, 1 - fast}, 1 - fast, 2, 2, 5, random.upTo(3)).isSurjective());
  }
}

TEST(LayoutConstructors, CoalescedAlwaysCoversTheTile) {
  RandomLayouts random(22);
  for (int trial = 0; trial < 200; ++trial) {
    int rank = 1 + random.upTo(2);
    std::vector<int> shape = random.shape(rank, random.upTo(12)), order = rowMajorOrder(rank);
    if (random.chance(50))
      std::reverse(order.begin(), order.end());
    LinearLayout layout = makeCoalesced(shape, order, 1 << random.upTo(4), 5, random.upTo(3),
                                        /*log2Blocks=*/0, {}, random.chance(50));
    EXPECT_TRUE(layout.isSurjective());
    EXPECT_TRUE(layout.isPermutationLike());
    EXPECT_EQ(layout.numInBits(InDim::Lane), 5);
  }
}

TEST(LayoutConstructors, MmaAccumulatorMatchesTheInstruction) {
  LinearLayout tile = makeMmaAccumulator({4, 3}, {0, 0});
  forEachPlace(tile, [&](int reg, int lane, int) {
    uint32_t row = lane / 4 + (reg >= 2 ? 8 : 0), column = lane % 4 * 2 + reg % 2;
    EXPECT_EQ(tile.coordinates(tile.apply(reg, lane, 0)), (std::vector<uint32_t>{row, column}));
  });
  // 64x32 on 2x2 warps: warp bit 0 is rows, bit 1 columns, the rest registers.
  LinearLayout layout = makeMmaAccumulator({6, 5}, {1, 1});
  forEachPlace(layout, [&](int reg, int lane, int warp) {
    uint32_t row = lane / 4 + reg / 2 % 2 * 8 + warp % 2 * 16 + reg / 8 * 32;
    uint32_t column = lane % 4 * 2 + reg % 2 + warp / 2 * 8 + reg / 4 % 2 * 16;
    EXPECT_EQ(layout.coordinates(layout.apply(reg, lane, warp)),
              (std::vector<uint32_t>{row, column}));
  });
  EXPECT_TRUE(makeMmaAccumulator({2, 5, 5}, {1, 1, 1}).isInvertible());
}

TEST(LayoutConstructors, WgmmaAccumulatorMatchesTheInstruction) {
  for (int log2N = 3; log2N <= 8; ++log2N) {
    LinearLayout layout = makeWgmmaAccumulator({7, log2N}, 2);
    int regsPerInstruction = (1 << log2N) / 2;
    EXPECT_TRUE(layout.isInvertible());
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      int i = reg % regsPerInstruction;
      uint32_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2) + 64 * (reg / regsPerInstruction);
      uint32_t column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      EXPECT_EQ(layout.coordinates(layout.apply(reg, lane, warp)),
                (std::vector<uint32_t>{row, column}));
    });
  }
  // Two warpgroups along M, or along N with neighbouring halves of the columns.
  EXPECT_EQ(makeWgmmaAccumulator({7, 6}, 3).columns(InDim::Warp),
            (Columns{16 << 6, 32 << 6, 64 << 6}));
  LinearLayout alongN = makeWgmmaAccumulator({6, 6}, 2, 1);
  EXPECT_EQ(alongN.columns(InDim::Warp), (Columns{16 << 6, 32 << 6, 32}));
  EXPECT_EQ(alongN.columns(InDim::Register), (Columns{1, 8 << 6, 8, 16}));
  // A warpgroup too many holds copies.
  EXPECT_EQ(makeWgmmaAccumulator({6, 6}, 3).columns(InDim::Warp)[2], 0u);
}

TEST(LayoutConstructors, DotOperandsMatchTheInstruction) {
  for (int elementBits : {8, 16, 32}) {
    int word = 32 / elementBits, log2K = f2::floorLog2(256 / elementBits);
    LinearLayout a = makeDotOperand(DotOperand::A, {4, log2K}, {0, 0}, elementBits);
    forEachPlace(a, [&](int reg, int lane, int) {
      int wordIndex = reg / word;
      uint32_t row = lane / 4 + wordIndex % 2 * 8;
      uint32_t k = lane % 4 * word + reg % word + wordIndex / 2 * 4 * word;
      EXPECT_EQ(a.coordinates(a.apply(reg, lane, 0)), (std::vector<uint32_t>{row, k}));
    });
    LinearLayout b = makeDotOperand(DotOperand::B, {log2K, 3}, {0, 0}, elementBits);
    forEachPlace(b, [&](int reg, int lane, int) {
      uint32_t k = lane % 4 * word + reg % word + reg / word * 4 * word, n = lane / 4;
      EXPECT_EQ(b.coordinates(b.apply(reg, lane, 0)), (std::vector<uint32_t>{k, n}));
    });
  }
}

TEST(LayoutConstructors, RightOperandHasOneStepAfterTheOther) {
  // The first 16 elements of K of all columns, then the next.
  LinearLayout b = makeDotOperand(DotOperand::B, {6, 6}, {1, 1}, 16);
  uint32_t step = 0;
  for (int reg = 0; reg < b.inSize(InDim::Register); ++reg) {
    uint32_t now = b.coordinates(b.apply(reg, 0, 0))[0] / 16;
    EXPECT_GE(now, step) << reg;
    step = now;
  }
  EXPECT_EQ(step, 3u);
}

TEST(LayoutConstructors, DotOperandsAgreeWithTheAccumulatorOnWarps) {
  // Each warp must hold the rows (columns) of A (B) of its own accumulator
  // part.
  LinearLayout acc = makeMmaAccumulator({6, 6}, {1, 2});
  LinearLayout a = makeDotOperand(DotOperand::A, {6, 5}, {1, 2}, 16);
  LinearLayout b = makeDotOperand(DotOperand::B, {5, 6}, {1, 2}, 16);
  ASSERT_EQ(a.numInBits(InDim::Warp), 3);
  ASSERT_EQ(b.numInBits(InDim::Warp), 3);
  EXPECT_TRUE(a.isSurjective() && b.isSurjective());
  for (int warp = 0; warp < 8; ++warp) {
    std::set<uint32_t> accRows, accColumns, aRows, bColumns;
    for (int lane = 0; lane < 32; ++lane) {
      for (int reg = 0; reg < acc.inSize(InDim::Register); ++reg) {
        accRows.insert(acc.coordinates(acc.apply(reg, lane, warp))[0]);
        accColumns.insert(acc.coordinates(acc.apply(reg, lane, warp))[1]);
      }
      for (int reg = 0; reg < a.inSize(InDim::Register); ++reg)
        aRows.insert(a.coordinates(a.apply(reg, lane, warp))[0]);
      for (int reg = 0; reg < b.inSize(InDim::Register); ++reg)
        bColumns.insert(b.coordinates(b.apply(reg, lane, warp))[1]);
    }
    EXPECT_EQ(accRows, aRows);
    EXPECT_EQ(accColumns, bColumns);
  }
  // The accumulator of a 16-bit result is the A operand of the next product,
  // up to the order of registers: conversion stays within a thread.
  LinearLayout p = makeWgmmaAccumulator({6, 6}, 2);
  LinearLayout next = makeDotOperand(DotOperand::A, {6, 6}, {2, 0}, 16);
  EXPECT_EQ(p.columns(InDim::Lane), next.columns(InDim::Lane));
  EXPECT_EQ(p.columns(InDim::Warp), next.columns(InDim::Warp));
  EXPECT_EQ(p.columns(InDim::Register), next.columns(InDim::Register));
}

TEST(LayoutConstructors, SwizzledSharedIsTheAddressFunction) {
  for (int elementBits : {8, 16, 32, 64})
    for (int mode : {0, 16, 32, 64, 128})
      for (int log2Row : {3, 5, 7}) {
        const int log2Rows = 5;
        LinearLayout layout = makeSwizzledShared({log2Rows, log2Row}, elementBits, mode);
        ASSERT_TRUE(layout.isInvertible());
        int bytes = elementBits / 8, rowBytes = (1 << log2Row) * bytes;
        int used = effectiveSwizzleBytes(log2Row, elementBits, mode);
        EXPECT_LE(used, std::min(mode, rowBytes));
        int panelBytes = used ? used : rowBytes;
        for (int row = 0; row < 1 << log2Rows; ++row)
          for (int column = 0; column < 1 << log2Row; ++column) {
            int inRow = column * bytes;
            int address = inRow / panelBytes * (panelBytes << log2Rows) + row * panelBytes +
                          inRow % panelBytes;
            if (used == 128)
              address ^= (address >> 7 & 7) << 4;
            if (used == 64)
              address ^= (address >> 7 & 3) << 4;
            if (used == 32)
              address ^= (address >> 7 & 1) << 4;
            EXPECT_EQ(layout.apply(InDim::Offset, address / bytes),
                      uint32_t(row << log2Row | column));
          }
      }
  // Column-major: the rows of memory run along the first dimension.
  LinearLayout transposed = makeSwizzledShared({6, 4}, 16, 128, {0, 1});
  EXPECT_EQ(transposed.columns(InDim::Offset)[0], 16u);
  EXPECT_TRUE(transposed.isInvertible());
  // Stages or batches lie one after the other.
  LinearLayout staged = makeSwizzledShared({1, 4, 6}, 16, 128);
  EXPECT_EQ(staged.columns(InDim::Offset).back(), 1u << 10);
}
