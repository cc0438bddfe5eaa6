//===- LayoutTransformsTest.cpp - Shape operations on layouts -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutTransforms.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::layouttest;

using Coordinates = std::vector<uint32_t>;

TEST(LayoutTransforms, ReshapeKeepsElements) {
  RandomLayouts random(31);
  LinearLayout layout = random.mixed({2, 3}, 3, 1);
  LinearLayout flat = reshapeLayout(layout, {5});
  forEachPlace(layout, [&](int reg, int lane, int warp) {
    EXPECT_EQ(flat.apply(reg, lane, warp), layout.apply(reg, lane, warp));
  });
  EXPECT_EQ(flat.log2Shape(), std::vector<int>{5});
}

TEST(LayoutTransforms, PermuteMovesCoordinates) {
  RandomLayouts random(32);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(3, 6), 3, 1);
    std::vector<int> order{0, 1, 2};
    for (int step = random.upTo(5); step > 0; --step)
      std::next_permutation(order.begin(), order.end());
    LinearLayout permuted = permuteDims(layout, order);
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      Coordinates from = layout.coordinates(layout.apply(reg, lane, warp));
      Coordinates to = permuted.coordinates(permuted.apply(reg, lane, warp));
      for (int dim = 0; dim < 3; ++dim)
        EXPECT_EQ(to[dim], from[order[dim]]);
    });
    EXPECT_EQ(permuteOperandLayout(permuted, order), layout);
  }
}

TEST(LayoutTransforms, ExpandAndSqueezeAreInverse) {
  RandomLayouts random(33);
  LinearLayout layout = random.mixed({2, 3}, 3, 1);
  for (int axis = 0; axis <= 2; ++axis) {
    LinearLayout expanded = expandDims(layout, axis);
    EXPECT_EQ(expanded.rank(), 3);
    EXPECT_EQ(expanded.log2Shape()[axis], 0);
    EXPECT_EQ(squeezeDim(expanded, axis), layout);
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      Coordinates from = layout.coordinates(layout.apply(reg, lane, warp));
      from.insert(from.begin() + axis, 0);
      EXPECT_EQ(expanded.coordinates(expanded.apply(reg, lane, warp)), from);
    });
  }
}

TEST(LayoutTransforms, SliceForgetsOneCoordinate) {
  RandomLayouts random(34);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout layout = trial % 2 ? random.mixed(random.shape(3, 8), 4, 2)
                                    : random.distributed(random.shape(3, 8), 4, 2);
    int axis = random.upTo(2);
    LinearLayout kept = sliceDim(layout, axis, true), gone = sliceDim(layout, axis, false);
    std::vector<int> registerOf = sliceRegisters(layout, axis);
    EXPECT_TRUE(gone.isSurjective());
    EXPECT_EQ(kept.log2Shape()[axis], 0);
    EXPECT_EQ(gone.rank(), 2);
    EXPECT_EQ(gone.numInBits(InDim::Lane), 4); // threads stay, as copies
    EXPECT_EQ(gone.numInBits(InDim::Warp), 2);
    std::set<int> used(registerOf.begin(), registerOf.end());
    EXPECT_EQ(static_cast<int>(used.size()), gone.inSize(InDim::Register));
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      Coordinates expected = layout.coordinates(layout.apply(reg, lane, warp));
      expected[axis] = 0;
      EXPECT_EQ(kept.coordinates(kept.apply(registerOf[reg], lane, warp)), expected);
      expected.erase(expected.begin() + axis);
      EXPECT_EQ(gone.coordinates(gone.apply(registerOf[reg], lane, warp)), expected);
    });
  }
}

/// The shape of `result` with some dimensions of extent 1, which a broadcast stretches.
static std::vector<int> stretched(RandomLayouts &random, const LinearLayout &result) {
  std::vector<int> operandShape = result.log2Shape();
  for (int &extent : operandShape)
    if (random.chance(50))
      extent = 0;
  return operandShape;
}

/// Each place of `result` has its element of the broadcast `operand` in that thread's register.
static void expectRenaming(const LinearLayout &operand, const LinearLayout &result,
                           const std::vector<int> &registerOf) {
  forEachPlace(result, [&](int reg, int lane, int warp) {
    Coordinates expected = result.coordinates(result.apply(reg, lane, warp));
    for (int dim = 0; dim < operand.rank(); ++dim)
      if (operand.log2Shape()[dim] == 0)
        expected[dim] = 0;
    EXPECT_EQ(operand.coordinates(operand.apply(registerOf[reg], lane, warp)), expected);
  });
}

TEST(LayoutTransforms, BroadcastIsRegisterRenaming) {
  RandomLayouts random(35);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout result = random.mixed(random.shape(3, 8), 4, 2);
    std::vector<int> operandShape = stretched(random, result);
    LinearLayout operand = broadcastOperandLayout(result, operandShape);
    EXPECT_EQ(operand.log2Shape(), operandShape);
    EXPECT_TRUE(operand.isSurjective());
    std::vector<int> registerOf = broadcastRegisters(result, operandShape);
    ASSERT_EQ(static_cast<int>(registerOf.size()), result.inSize(InDim::Register));
    expectRenaming(operand, result, registerOf);
  }
}

TEST(LayoutTransforms, RepeatsStayInTheirThreads) {
  RandomLayouts random(39);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout whole = random.mixed(random.shape(3, 8), 4, 2);
    std::vector<int> operandShape = stretched(random, whole);
    LinearLayout operand = broadcastOperandLayout(whole, operandShape);
    LinearLayout result = repeatInThreads(operand, whole.log2Shape());
    EXPECT_TRUE(result.isSurjective());
    std::vector<int> registerOf = broadcastRegisters(result, operandShape);
    expectRenaming(operand, result, registerOf);
    // No thread holds copies while another element has one place only.
    bool hasCopies = result.freeVariableMask(InDim::Lane) || result.freeVariableMask(InDim::Warp);
    EXPECT_TRUE(!hasCopies || result.inSize(InDim::Register) == operand.inSize(InDim::Register));
  }
}

TEST(LayoutTransforms, RunsLieInTheLowestRegisters) {
  RandomLayouts random(40);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(3, 7), 3, 1);
    for (int dim = 0; dim < layout.rank(); ++dim) {
      LinearLayout result = withRunsInThread(layout, dim, 2);
      forEachPlace(layout, [&](int reg, int lane, int warp) {
        Coordinates start = layout.coordinates(layout.apply(reg, lane, warp));
        start[dim] *= 4;
        for (int element = 0; element < 4; ++element, ++start[dim])
          EXPECT_EQ(result.coordinates(result.apply(4 * reg + element, lane, warp)), start);
      });
    }
  }
}

TEST(LayoutTransforms, JoinAndSplit) {
  RandomLayouts random(36);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(2, 6), 3, 1);
    LinearLayout joined = joinLayout(layout);
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      for (int half = 0; half < 2; ++half) {
        Coordinates expected = layout.coordinates(layout.apply(reg, lane, warp));
        expected.push_back(half);
        EXPECT_EQ(joined.coordinates(joined.apply(2 * reg + half, lane, warp)), expected);
      }
    });
    std::optional<SplitLayout> split = splitLayout(joined);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->layout, layout);
    EXPECT_EQ(split->registerBit, 0);
    EXPECT_EQ(splitOperandLayout(joined), joined);
  }
}

TEST(LayoutTransforms, SplitTakesHalvesFromLanesAgainstARegister) {
  LinearLayout operand({4, 1});
  operand.columns(InDim::Register) = {2, 4};
  operand.columns(InDim::Lane) = {8, 1};
  operand.columns(InDim::Warp) = {16};
  LinearLayout taken = splitOperandLayout(operand);
  EXPECT_EQ(taken.columns(InDim::Register), (Columns{2, 1}));
  EXPECT_EQ(taken.columns(InDim::Lane), (Columns{8, 4}));
  // Without a register to give, each thread holds both halves.
  operand.columns(InDim::Register) = {};
  operand.columns(InDim::Warp) = {16, 4, 2};
  taken = splitOperandLayout(operand);
  EXPECT_EQ(taken.columns(InDim::Register), (Columns{1}));
  EXPECT_EQ(taken.columns(InDim::Lane), (Columns{8, 0}));
}

TEST(LayoutTransforms, SplitNeedsTheLastDimensionInRegisters) {
  RandomLayouts random(37);
  int accepted = 0, refused = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int> shape = random.shape(2, 6);
    shape.push_back(1);
    LinearLayout operand = random.distributed(shape, 3, 2);
    std::optional<SplitLayout> split = splitLayout(operand);
    if (!split) {
      ++refused;
      LinearLayout near = splitOperandLayout(operand);
      EXPECT_EQ(near.log2Shape(), shape);
      EXPECT_TRUE(near.isSurjective());
      ASSERT_TRUE(splitLayout(near));
      EXPECT_EQ(near.numInBits(InDim::Lane), 3);
      continue;
    }
    ++accepted;
    // Taking out the register bit gives the coordinates of each half.
    forEachPlace(split->layout, [&](int reg, int lane, int warp) {
      int low = reg & ((1 << split->registerBit) - 1);
      int full = (reg - low) * 2 + low;
      for (int half = 0; half < 2; ++half) {
        Coordinates expected = split->layout.coordinates(split->layout.apply(reg, lane, warp));
        expected.push_back(half);
        EXPECT_EQ(operand.coordinates(operand.apply(full | half << split->registerBit, lane, warp)),
                  expected);
      }
    });
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
  EXPECT_FALSE(splitLayout(LinearLayout({2, 2})));
  EXPECT_FALSE(splitLayout(LinearLayout()));
}

TEST(LayoutTransforms, CatAppendsTheSecondTile) {
  RandomLayouts random(38);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(2, 6), 3, 1);
    int axis = random.upTo(1), numRegisters = layout.inSize(InDim::Register);
    LinearLayout both = catLayout(layout, axis);
    EXPECT_EQ(both.inSize(InDim::Register), 2 * numRegisters);
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      for (int tile = 0; tile < 2; ++tile) {
        Coordinates expected = layout.coordinates(layout.apply(reg, lane, warp));
        expected[axis] += tile << layout.log2Shape()[axis];
        EXPECT_EQ(both.coordinates(both.apply(tile * numRegisters + reg, lane, warp)), expected);
      }
    });
  }
}
