//===- LayoutMatrixAccessTest.cpp - ldmatrix and stmatrix in software -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: runs the instructions of a plan as the PTX manual defines them, on a
// memory whose contents are element numbers.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"
#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/layout/MatrixAccess.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::layouttest;

/// The offset (elements) of element `e` of the word that lane `lane` moves for
/// the matrix whose eight rows start at `rows`.
static uint32_t unitOffset(const MatrixAccessPlan &plan, const uint32_t *rows, int lane, int e) {
  if (plan.transposed)
    return rows[2 * (lane % 4) + e] + lane / 4;
  return rows[lane / 4] + lane % 4 * plan.elementsPerWord + e;
}

/// Checks every instruction; returns the registers of a thread that were moved.
static std::set<int> runAndCheck(const MatrixAccessPlan &plan, const LinearLayout &memory,
                                 const LinearLayout &layout, int elementBits) {
  std::set<int> moved;
  for (int warp = 0; warp < layout.inSize(InDim::Warp); ++warp)
    for (const MatrixAccess &access : plan.accesses) {
      EXPECT_EQ(static_cast<int>(access.registers.size()), plan.numMatrices * plan.elementsPerWord);
      std::vector<uint32_t> rows;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        rows.push_back(f2::multiply(plan.rowOffsets, lane) ^ f2::multiply(plan.warpOffsets, warp) ^
                       access.offset);
        EXPECT_EQ(rows.back() * elementBits % 128, 0u); // 16-byte rows
      }
      for (int lane = 0; lane < 32; ++lane)
        for (size_t i = 0; i < access.registers.size(); ++i) {
          int matrix = static_cast<int>(i) / plan.elementsPerWord;
          uint32_t offset =
              unitOffset(plan, &rows[8 * matrix], lane, static_cast<int>(i) % plan.elementsPerWord);
          EXPECT_EQ(memory.apply(InDim::Offset, offset),
                    layout.apply(access.registers[i], lane, warp));
          if (lane == 0 && warp == 0)
            EXPECT_TRUE(moved.insert(access.registers[i]).second);
        }
    }
  return moved;
}

TEST(LayoutMatrixAccess, OperandsFromSwizzledTiles) {
  for (int swizzle : {32, 64, 128}) {
    // A, 64x64 row-major (k fastest): plain, free of conflicts.
    LinearLayout memory = makeSwizzledShared({6, 6}, 16, swizzle);
    LinearLayout a = makeDotOperand(DotOperand::A, {6, 6}, {1, 1}, 16);
    std::optional<MatrixAccessPlan> plan = planMatrixAccess(memory, a, 16, false);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->numMatrices, 4);
    EXPECT_EQ(plan->extraWavefronts, 0);
    EXPECT_EQ(runAndCheck(*plan, memory, a, 16).size(), size_t(a.inSize(InDim::Register)));
    EXPECT_FALSE(planMatrixAccess(memory, a, 16, true));
    // B, 64x64 with n fastest: transposed; with k fastest: plain.
    LinearLayout b = makeDotOperand(DotOperand::B, {6, 6}, {1, 1}, 16);
    plan = planMatrixAccess(memory, b, 16, true);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->extraWavefronts, 0);
    runAndCheck(*plan, memory, b, 16);
    EXPECT_FALSE(planMatrixAccess(memory, b, 16, false));
    LinearLayout kFastest = makeSwizzledShared({6, 6}, 16, swizzle, {0, 1});
    plan = planMatrixAccess(kFastest, b, 16, false);
    ASSERT_TRUE(plan);
    runAndCheck(*plan, kFastest, b, 16);
  }
}

TEST(LayoutMatrixAccess, OtherWidthsArePlainOnly) {
  for (int elementBits : {8, 32}) {
    LinearLayout memory = makeSwizzledShared({5, 6}, elementBits, 128);
    LinearLayout a = makeDotOperand(DotOperand::A, {5, 6}, {1, 0}, elementBits);
    std::optional<MatrixAccessPlan> plan = planMatrixAccess(memory, a, elementBits, false);
    ASSERT_TRUE(plan);
    runAndCheck(*plan, memory, a, elementBits);
    EXPECT_FALSE(planMatrixAccess(memory, a, elementBits, true));
  }
  EXPECT_FALSE(planMatrixAccess(makeSwizzledShared({5, 6}, 64, 128),
                                makeDotOperand(DotOperand::A, {5, 6}, {1, 0}, 64), 64, false));
}

TEST(LayoutMatrixAccess, PlainMemoryConflictsAreCounted) {
  // 128-byte rows without a swizzle: the eight rows of a matrix share banks.
  LinearLayout memory = makeSwizzledShared({6, 6}, 16, 0);
  LinearLayout a = makeDotOperand(DotOperand::A, {6, 6}, {1, 1}, 16);
  std::optional<MatrixAccessPlan> plan = planMatrixAccess(memory, a, 16, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->extraWavefronts, 4 * 7);
  runAndCheck(*plan, memory, a, 16);
}

TEST(LayoutMatrixAccess, AccumulatorsThroughConversionMemory) {
  // The staging memory of an f16 epilogue can be written with stmatrix.
  LinearLayout acc = makeWgmmaAccumulator({6, 6}, 2);
  LinearLayout store = makeCoalesced({6, 6}, {1, 0}, 8, 5, 2);
  SharedMemoryPlan shared = *planSharedMemory(acc, store, 16);
  std::optional<MatrixAccessPlan> plan = planMatrixAccess(shared.memory, acc, 16, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->extraWavefronts, 0);
  EXPECT_EQ(plan->numMatrices, 4);
  EXPECT_EQ(runAndCheck(*plan, shared.memory, acc, 16).size(), 32u);
}

TEST(LayoutMatrixAccess, SmallTilesCopiesAndRefusals) {
  // One matrix: the upper lanes repeat addresses.
  LinearLayout memory = makeSwizzledShared({3, 3}, 16, 0);
  LinearLayout tile({3, 3});
  tile.columns(InDim::Register) = {0, 1};
  tile.columns(InDim::Lane) = {2, 4, 8, 16, 32};
  std::optional<MatrixAccessPlan> plan = planMatrixAccess(memory, tile, 16, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->numMatrices, 1);
  EXPECT_EQ(runAndCheck(*plan, memory, tile, 16), (std::set<int>{0, 2}));
  EXPECT_EQ(plan->rowOffsets[3] | plan->rowOffsets[4], 0u);
  // A blocked layout is not the instruction's.
  EXPECT_FALSE(planMatrixAccess(memory, makeCoalesced({3, 3}, {1, 0}, 2, 5, 0), 16, true));
  LinearLayout fewLanes = tile;
  fewLanes.columns(InDim::Lane).pop_back();
  EXPECT_FALSE(planMatrixAccess(memory, fewLanes, 16, false));
}

TEST(LayoutMatrixAccess, RandomMemoriesThatAllowItAreRight) {
  RandomLayouts random(71);
  int accepted = 0;
  for (int trial = 0; trial < 400; ++trial) {
    LinearLayout layout =
        makeDotOperand(random.chance(50) ? DotOperand::A : DotOperand::B, {5, 5}, {1, 1}, 16);
    // Rows of 16 bytes along a dimension, in any order and swizzle above.
    int fast = random.upTo(1);
    LinearLayout memory({5, 5});
    Columns &offsets = memory.columns(InDim::Offset);
    offsets = f2::identityColumns(3, memory.dimStartBit(fast));
    Columns rest = f2::complementBasis(offsets, 10);
    Columns mix = random.invertible(7);
    for (uint32_t column : mix)
      offsets.push_back(f2::multiply(rest, column) ^ (random.chance(10) ? offsets[0] : 0));
    for (bool transposed : {false, true}) {
      std::optional<MatrixAccessPlan> plan = planMatrixAccess(memory, layout, 16, transposed);
      if (!plan)
        continue;
      ++accepted;
      runAndCheck(*plan, memory, layout, 16);
    }
  }
  EXPECT_GT(accepted, 100);
}
