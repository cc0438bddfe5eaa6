//===- LayoutReductionTest.cpp - Reductions on a software GPU -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: carries out each plan on [block][warp][lane][register] arrays of random values
// and compares with the sums of the tile. Sums find an element that is missed
// as well as one that is counted twice.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/ReductionPlan.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::layouttest;

/// Values of all registers of all threads.
using Values = std::vector<std::vector<uint64_t>>;

static uint64_t elementValue(uint32_t element) {
  return (uint64_t(element) + 1) * 0x9e3779b97f4a7c15ull;
}

/// The sum of the elements that share the other coordinates with `element` of
/// the result.
static uint64_t expectedSum(const LinearLayout &layout, int axis,
                            const std::vector<uint32_t> &resultCoordinates) {
  uint64_t sum = 0;
  std::vector<uint32_t> coordinates = resultCoordinates;
  coordinates.insert(coordinates.begin() + axis, 0);
  for (uint32_t position = 0; position < 1u << layout.log2Shape()[axis]; ++position) {
    coordinates[axis] = position;
    sum += elementValue(flatElement(layout.log2Shape(), coordinates));
  }
  return sum;
}

/// The partial results that the blocks write, each to all that share its results.
static std::vector<std::vector<uint64_t>>
exchange(const ReductionPlan &plan, const LinearLayout &layout, const Values &values) {
  int lanes = layout.inSize(InDim::Lane), warps = layout.inSize(InDim::Warp);
  int blocks = layout.inSize(InDim::Block);
  size_t numSlots = plan.scratchBytes / 4;
  std::vector<std::vector<uint64_t>> scratch(blocks, std::vector<uint64_t>(numSlots, 0));
  std::vector<std::vector<bool>> written(blocks, std::vector<bool>(numSlots, false));
  for (int block = 0; block < blocks; ++block)
    for (int index = 0; index < plan.numBlocks(); ++index) {
      int to = (block & ~plan.blockMask()) | plan.blockOffset(index);
      for (int warp = 0; warp < warps; ++warp)
        for (int lane = 0; lane < lanes; ++lane) {
          if ((lane & plan.duplicateMasks[InDim::Lane]) ||
              (warp & plan.duplicateMasks[InDim::Warp]))
            continue;
          for (int r = 0; r < plan.numHeld(); ++r) {
            uint32_t slot = plan.writeSlot(r, lane, warp, block);
            EXPECT_FALSE(written[to].at(slot));
            written[to].at(slot) = true;
            scratch[to].at(slot) = values[(block * warps + warp) * lanes + lane][r];
          }
        }
    }
  for (int block = 0; block < blocks; ++block) {
    auto count = std::count(written[block].begin(), written[block].end(), true);
    if (plan.blockBits.empty())
      EXPECT_EQ(plan.incomingBytes, 0);
    else
      EXPECT_EQ(count * 4, plan.incomingBytes);
  }
  return scratch;
}

static Values runReduction(const ReductionPlan &plan, const LinearLayout &layout) {
  int lanes = layout.inSize(InDim::Lane), warps = layout.inSize(InDim::Warp);
  int blocks = layout.inSize(InDim::Block);
  size_t numResults = plan.groups.size();
  Values values(blocks * warps * lanes, std::vector<uint64_t>(numResults, 0));
  auto at = [&](int lane, int warp, int block) -> std::vector<uint64_t> & {
    return values[(block * warps + warp) * lanes + lane];
  };
  auto forEach = [&](auto visit) {
    for (int block = 0; block < blocks; ++block)
      for (int warp = 0; warp < warps; ++warp)
        for (int lane = 0; lane < lanes; ++lane)
          for (size_t r = 0; r < numResults; ++r)
            visit(lane, warp, block, r);
  };
  forEach([&](int lane, int warp, int block, size_t r) {
    for (int reg : plan.groups[r])
      at(lane, warp, block)[r] += elementValue(layout.apply(reg, lane, warp, block));
  });
  size_t kept = numResults;
  for (size_t step = 0; step < plan.laneMasks.size(); ++step) {
    uint32_t mask = plan.laneMasks[step];
    bool halves = static_cast<int>(step) < plan.numHalvings;
    kept = halves ? kept / 2 : kept;
    Values before = values;
    forEach([&](int lane, int warp, int block, size_t r) {
      size_t own = halves && lane & mask ? r + kept : r;
      if (r < kept)
        at(lane, warp, block)[r] = before[(block * warps + warp) * lanes + lane][own] +
                                   before[(block * warps + warp) * lanes + (lane ^ mask)][own];
    });
  }
  if (!plan.needsExchange()) {
    uint32_t halved = plan.holderOf(static_cast<int>(numResults) - 1);
    Values before = values;
    forEach([&](int lane, int warp, int block, size_t r) {
      uint32_t holder = (lane & ~halved) | plan.holderOf(static_cast<int>(r));
      at(lane, warp, block)[r] =
          before[(block * warps + warp) * lanes + holder][r % plan.numHeld()];
    });
    return values;
  }
  std::vector<std::vector<uint64_t>> scratch = exchange(plan, layout, values);
  forEach([&](int lane, int warp, int block, size_t r) {
    at(lane, warp, block)[r] = 0;
    uint32_t first = plan.readSlot(static_cast<int>(r), lane, warp);
    for (int partial = 0; partial < plan.numPartials(); ++partial)
      at(lane, warp, block)[r] += scratch[block].at(first + partial * plan.partialStride);
  });
  return values;
}

static void reduceAndCheck(const LinearLayout &layout, int axis, bool byHalves = false) {
  std::optional<ReductionPlan> plan = planReduction(layout, axis, {32});
  ASSERT_TRUE(plan);
  if (byHalves)
    plan->foldByHalves(std::min(static_cast<int>(plan->laneMasks.size()),
                                plan->result.numInBits(InDim::Register)));
  Values values = runReduction(*plan, layout);
  int lanes = layout.inSize(InDim::Lane), warps = layout.inSize(InDim::Warp);
  for (int block = 0; block < layout.inSize(InDim::Block); ++block)
    forEachPlace(plan->result, [&](int reg, int lane, int warp) {
      std::vector<uint32_t> coordinates =
          plan->result.coordinates(plan->result.apply(reg, lane, warp, block));
      EXPECT_EQ(values[(block * warps + warp) * lanes + lane][reg],
                expectedSum(layout, axis, coordinates))
          << layout.toString() << " axis " << axis;
    });
}

TEST(LayoutReduction, WorkedExampleOfTheHeader) {
  LinearLayout rows({2, 2});
  rows.columns(InDim::Register) = {1, 2};
  rows.columns(InDim::Lane) = {4, 8};
  ReductionPlan along = *planReduction(rows, 1, {32});
  EXPECT_EQ(along.groups, (std::vector<std::vector<int>>{{0, 1, 2, 3}}));
  EXPECT_TRUE(along.laneMasks.empty() && along.warpBits.empty());
  EXPECT_EQ(along.result.columns(InDim::Lane), (Columns{1, 2}));
  EXPECT_EQ(along.scratchBytes, 0);
  ReductionPlan across = *planReduction(rows, 0, {32});
  EXPECT_EQ(across.groups, (std::vector<std::vector<int>>{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(across.laneMasks, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(across.result.columns(InDim::Lane), (Columns{0, 0}));
  EXPECT_EQ(across.resultKeepDim.log2Shape(), (std::vector<int>{0, 2}));
}

TEST(LayoutReduction, RandomLayouts) {
  RandomLayouts random(61);
  int acrossWarps = 0;
  for (int trial = 0; trial < 500; ++trial) {
    LinearLayout layout = random.distributed(random.shape(1 + random.upTo(2), 8), 4, 2);
    int axis = random.upTo(layout.rank() - 1);
    if (random.chance(30)) // copies that are not zero columns
      layout.columns(InDim::Lane)[0] = layout.columns(InDim::Lane)[1];
    if (random.chance(30))
      layout.columns(InDim::Warp)[1] = layout.columns(InDim::Warp)[0];
    if (random.chance(30) && !layout.columns(InDim::Register).empty())
      layout.columns(InDim::Warp)[0] = layout.columns(InDim::Register)[0];
    if (!layout.isSurjective())
      continue;
    acrossWarps += !planReduction(layout, axis, {32})->warpBits.empty();
    reduceAndCheck(layout, axis);
    reduceAndCheck(layout, axis, /*byHalves=*/true);
  }
  EXPECT_GT(acrossWarps, 50);
}

TEST(LayoutReduction, HalvesUntilEachLaneHoldsOneResult) {
  // 32 rows of 32 columns, a column per lane: every lane ends with one row.
  LinearLayout layout({5, 5});
  layout.columns(InDim::Register) = {32, 64, 128, 256, 512};
  layout.columns(InDim::Lane) = {1, 2, 4, 8, 16};
  ReductionPlan plan = *planReduction(layout, 1, {32});
  plan.foldByHalves(5);
  EXPECT_EQ(plan.numHeld(), 1);
  EXPECT_EQ(plan.holderOf(0), 0u);
  EXPECT_EQ(plan.holderOf(16), 1u);
  EXPECT_EQ(plan.holderOf(31), 31u);
  reduceAndCheck(layout, 1, /*byHalves=*/true);
}

TEST(LayoutReduction, ColumnsMixedWithinTheAxis) {
  // A swizzle among the bits of the axis alone is fine.
  RandomLayouts random(62);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.distributed({3, 5}, 4, 2);
    Columns within = f2::concat(random.invertible(5), f2::identityColumns(3, 5));
    reduceAndCheck(compose(layout, within, {3, 5}), 1);
  }
}

TEST(LayoutReduction, RefusesColumnsThatMixTheAxisWithOthers) {
  LinearLayout layout({2, 2});
  layout.columns(InDim::Register) = {1, 2};
  layout.columns(InDim::Lane) = {4 ^ 1, 8};
  EXPECT_FALSE(planReduction(layout, 1, {32}));
}

TEST(LayoutReduction, BlocksOfACluster) {
  RandomLayouts random(64);
  int acrossBlocks = 0, acrossBoth = 0;
  for (int trial = 0; trial < 400; ++trial) {
    LinearLayout layout = random.distributed(random.shape(1 + random.upTo(2), 8), 3, 1);
    Columns &registers = layout.columns(InDim::Register);
    for (int bit = 0; bit < 2; ++bit) {
      bool copy = random.chance(20) || registers.empty();
      layout.columns(InDim::Block).push_back(copy ? 0 : registers.back());
      if (!copy)
        registers.pop_back();
    }
    if (random.chance(20)) // copies that are not zero columns
      layout.columns(InDim::Block)[1] =
          layout.columns(random.chance(50) ? InDim::Lane : InDim::Warp)[0];
    if (!layout.isSurjective())
      continue;
    int axis = random.upTo(layout.rank() - 1);
    ReductionPlan plan = *planReduction(layout, axis, {32});
    acrossBlocks += !plan.blockBits.empty();
    acrossBoth += !plan.blockBits.empty() && !plan.warpBits.empty();
    reduceAndCheck(layout, axis);
    reduceAndCheck(layout, axis, /*byHalves=*/true);
  }
  EXPECT_GT(acrossBlocks, 50);
  EXPECT_GT(acrossBoth, 20);
}

TEST(LayoutReduction, GroupsAscendAlongTheAxis) {
  RandomLayouts random(63);
  for (int trial = 0; trial < 50; ++trial) {
    LinearLayout layout = random.distributed(random.shape(2, 8), 3, 1);
    ReductionPlan plan = *planReduction(layout, 1, {32});
    for (const std::vector<int> &group : plan.groups)
      for (size_t i = 1; i < group.size(); ++i)
        EXPECT_LT(layout.coordinates(layout.apply(group[i - 1], 0, 0))[1],
                  layout.coordinates(layout.apply(group[i], 0, 0))[1]);
    for (size_t i = 1; i < plan.laneMasks.size(); ++i)
      EXPECT_LT(layout.apply(InDim::Lane, plan.laneMasks[i - 1]),
                layout.apply(InDim::Lane, plan.laneMasks[i]));
  }
}

TEST(LayoutReduction, ScratchOfTuples) {
  // 8 rows over 4 warps along the axis: 32 slots of each operand.
  LinearLayout layout = makeBlocked({3, 9}, {0, 2}, {0, 5}, {0, 2}, {1, 0});
  ReductionPlan plan = *planReduction(layout, 1, {32, 64, 1});
  EXPECT_EQ(plan.numPartials(), 4);
  ASSERT_EQ(plan.scratch.size(), 3u);
  EXPECT_EQ(plan.scratch[0].byteOffset, 0);
  EXPECT_EQ(plan.scratch[1].byteOffset, 128);
  EXPECT_EQ(plan.scratch[2].byteOffset, 128 + 256);
  EXPECT_EQ(plan.scratch[2].storedBits, 8);
  EXPECT_EQ(plan.scratchBytes, 128 + 256 + 32);
  // One lane of each warp writes.
  EXPECT_EQ(plan.duplicateMasks[InDim::Lane], 31u);
  EXPECT_EQ(plan.duplicateMasks[InDim::Warp], 0u);
}
