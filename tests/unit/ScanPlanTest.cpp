//===- ScanPlanTest.cpp - Scans planned by layout, run in software --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the steps of a plan on arrays [warp][lane][register] and compares with a
// scan by definition. The combine is string concatenation: associative but not
// commutative, so a wrong order shows.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ScanPlan.h"
#include "ir/layout/LayoutConstructors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tilewright;

namespace {

/// Shuffles unit columns over registers, lanes and warps; some lanes and warps
/// hold copies.
LinearLayout randomLayout(std::mt19937 &random, const std::vector<int> &log2Shape) {
  LinearLayout layout(log2Shape);
  std::vector<uint32_t> bits;
  for (int bit = 0; bit < layout.numOutBits(); ++bit)
    bits.push_back(1u << bit);
  std::shuffle(bits.begin(), bits.end(), random);
  for (uint32_t bit : bits) {
    static const InDim dims[] = {InDim::Register, InDim::Lane, InDim::Warp};
    layout.columns(dims[random() % 3]).push_back(bit);
  }
  if (random() % 2)
    layout.columns(InDim::Lane).push_back(0);
  if (random() % 2)
    layout.columns(InDim::Warp).push_back(0);
  return layout;
}

struct Machine {
  const LinearLayout &layout;
  int registers, lanes, warps;
  std::vector<std::string> value, total;

  explicit Machine(const LinearLayout &layout)
      : layout(layout), registers(layout.inSize(InDim::Register)),
        lanes(layout.inSize(InDim::Lane)), warps(layout.inSize(InDim::Warp)) {
    value.resize(registers * lanes * warps);
    for (int warp = 0; warp < warps; ++warp)
      for (int lane = 0; lane < lanes; ++lane)
        for (int reg = 0; reg < registers; ++reg)
          at(value, reg, lane, warp) =
              std::string(1, char('a' + layout.apply(reg, lane, warp) % 26)) +
              std::to_string(layout.apply(reg, lane, warp)) + ";";
    total = value;
  }
  std::string &at(std::vector<std::string> &where, int reg, int lane, int warp) {
    return where[(warp * lanes + lane) * registers + reg];
  }

  void step(const ScanStep &step, uint32_t element, bool reverse) {
    std::vector<std::string> oldTotal = total;
    for (int warp = 0; warp < warps; ++warp)
      for (int lane = 0; lane < lanes; ++lane)
        for (int reg = 0; reg < registers; ++reg) {
          int partnerReg = step.dim == InDim::Register ? reg ^ step.mask : reg;
          int partnerLane = step.dim == InDim::Lane ? lane ^ step.mask : lane;
          int partnerWarp = step.dim == InDim::Warp ? warp ^ step.mask : warp;
          const std::string &mine = at(oldTotal, reg, lane, warp);
          const std::string &theirs = at(oldTotal, partnerReg, partnerLane, partnerWarp);
          bool isUpper = layout.apply(reg, lane, warp) & element;
          bool isSecond = isUpper != reverse;
          if (isSecond)
            at(value, reg, lane, warp) = theirs + at(value, reg, lane, warp);
          at(total, reg, lane, warp) = isSecond ? theirs + mine : mine + theirs;
        }
  }
};

std::string expected(const LinearLayout &layout, uint32_t element, int axis, bool reverse) {
  uint32_t mask = layout.dimMask(axis);
  int start = layout.dimStartBit(axis);
  uint32_t position = (element & mask) >> start, length = 1u << layout.log2Shape()[axis];
  std::string text;
  for (uint32_t step = 0; step < length; ++step) {
    uint32_t index = reverse ? length - 1 - step : step;
    uint32_t other = (element & ~mask) | (index << start);
    text += std::string(1, char('a' + other % 26)) + std::to_string(other) + ";";
    if (index == position)
      break;
  }
  return text;
}

TEST(ScanPlan, MatchesTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> log2Shape;
    int rank = 1 + random() % 3;
    for (int dim = 0; dim < rank; ++dim)
      log2Shape.push_back(random() % 4);
    LinearLayout layout = randomLayout(random, log2Shape);
    int axis = random() % rank;
    bool reverse = random() % 2;
    std::optional<ScanPlan> plan = planScan(layout, axis, {32});
    ASSERT_TRUE(plan.has_value());
    ASSERT_EQ(int(plan->steps.size()), log2Shape[axis]);
    Machine machine(layout);
    for (size_t bit = 0; bit < plan->steps.size(); ++bit)
      machine.step(plan->steps[bit], 1u << (layout.dimStartBit(axis) + bit), reverse);
    for (int warp = 0; warp < machine.warps; ++warp)
      for (int lane = 0; lane < machine.lanes; ++lane)
        for (int reg = 0; reg < machine.registers; ++reg)
          ASSERT_EQ(machine.at(machine.value, reg, lane, warp),
                    expected(layout, layout.apply(reg, lane, warp), axis, reverse));
  }
}

TEST(ScanPlan, RefusesSwizzledColumns) {
  LinearLayout layout({2});
  layout.columns(InDim::Register) = {1};
  layout.columns(InDim::Lane) = {3};
  EXPECT_FALSE(planScan(layout, 0, {32}).has_value());
}

TEST(ScanPlan, KeepsNeighboursInThreads) {
  LinearLayout layout({3, 5});
  layout.columns(InDim::Register) = {1 << 4, 1 << 6, 1 << 3};
  layout.columns(InDim::Lane) = {1 << 0, 1 << 5, 1 << 7};
  layout.columns(InDim::Warp) = {1 << 2, 1 << 1, 0};
  LinearLayout together = withNeighboursInThreads(layout, 1);
  // Bits of the other dimension, and copies, stay where they are.
  EXPECT_EQ(together.columns(InDim::Register), (Columns{1 << 0, 1 << 6, 1 << 1}));
  EXPECT_EQ(together.columns(InDim::Lane), (Columns{1 << 2, 1 << 5, 1 << 7}));
  EXPECT_EQ(together.columns(InDim::Warp), (Columns{1 << 3, 1 << 4, 0}));

  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout any = randomLayout(random, {3, 4});
    int axis = int(random() % 2);
    std::optional<ScanPlan> plan = planScan(withNeighboursInThreads(any, axis), axis, {32});
    ASSERT_TRUE(plan);
    EXPECT_TRUE(std::is_sorted(plan->steps.begin(), plan->steps.end(),
                               [](const ScanStep &a, const ScanStep &b) { return a.dim < b.dim; }));
    EXPECT_LE(plan->scratchBytes, planScan(any, axis, {32})->scratchBytes);
  }
}

TEST(ScanPlan, NeedsScratchOnlyAcrossWarps) {
  LinearLayout layout({3});
  layout.columns(InDim::Register) = {1};
  layout.columns(InDim::Lane) = {2};
  layout.columns(InDim::Warp) = {4};
  // One total per thread, 2 lanes x 2 warps of 4 bytes.
  EXPECT_EQ(planScan(layout, 0, {32})->scratchBytes, 16);
  LinearLayout inWarp({2});
  inWarp.columns(InDim::Register) = {1};
  inWarp.columns(InDim::Lane) = {2};
  EXPECT_EQ(planScan(inWarp, 0, {32})->scratchBytes, 0);
}

} // namespace
