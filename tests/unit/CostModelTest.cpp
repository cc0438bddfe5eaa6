//===- CostModelTest.cpp - What layouts cost ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/CostModel.h"

#include <gtest/gtest.h>

using namespace tilewright;

/// Rows of sixteen registers against columns: always through shared memory.
static double transposeCycles(std::vector<uint32_t> warps) {
  std::vector<int> shape{9 + static_cast<int>(warps.size())};
  LinearLayout rows(shape), columns(shape);
  rows.columns(InDim::Register) = columns.columns(InDim::Lane) = {1, 2, 4, 8};
  rows.columns(InDim::Lane) = columns.columns(InDim::Register) = {16, 32, 64, 128};
  for (LinearLayout *layout : {&rows, &columns}) {
    layout->columns(InDim::Lane).insert(layout->columns(InDim::Lane).end(), {256});
    layout->columns(InDim::Warp) = warps;
  }
  EXPECT_EQ(planConversion(rows, columns, 32).kind, ConversionKind::SharedMemory);
  return passes::conversionCycles(rows, columns, 32);
}

TEST(CostModel, OneWarpWaitsForNoBarrier) {
  double one = transposeCycles({}), two = transposeCycles({512});
  EXPECT_GT(one, 0);
  EXPECT_EQ(two, 2 * one + 2 * passes::cyclesPerBarrier);
}
