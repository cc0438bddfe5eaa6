//===- LayoutF2Test.cpp - Linear algebra over F2 against enumeration ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::layouttest;

/// All XORs of subsets: the span by its definition.
static std::set<uint32_t> enumerateSpan(const Columns &columns) {
  std::set<uint32_t> span;
  for (uint64_t mask = 0; mask < uint64_t(1) << columns.size(); ++mask) {
    uint32_t sum = 0;
    for (size_t i = 0; i < columns.size(); ++i)
      if (mask >> i & 1)
        sum ^= columns[i];
    span.insert(sum);
  }
  return span;
}

static Columns randomColumns(RandomLayouts &random, int count, int numBits) {
  Columns columns;
  for (int i = 0; i < count; ++i)
    columns.push_back(random.chance(20) && i ? columns[random.upTo(i - 1)] : random.bits(numBits));
  return columns;
}

TEST(LayoutF2, RankSpanSolveAndKernelMatchEnumeration) {
  RandomLayouts random(1);
  for (int trial = 0; trial < 300; ++trial) {
    int numBits = 1 + random.upTo(5);
    Columns columns = randomColumns(random, random.upTo(7), numBits);
    std::set<uint32_t> span = enumerateSpan(columns);
    f2::Basis basis(columns);
    EXPECT_EQ(size_t(1) << f2::rank(columns), span.size());
    for (uint32_t vector = 0; vector < 1u << numBits; ++vector) {
      bool member = span.count(vector) != 0;
      EXPECT_EQ(f2::inSpan(columns, vector), member);
      std::optional<uint64_t> solution = basis.solve(vector);
      ASSERT_EQ(solution.has_value(), member);
      if (solution)
        EXPECT_EQ(f2::multiply(columns, *solution), vector);
      // The remainder is a canonical representative of the coset.
      EXPECT_TRUE(span.count(vector ^ basis.reduce(vector)));
      EXPECT_EQ(basis.reduce(basis.reduce(vector)), basis.reduce(vector));
    }
    std::vector<uint64_t> kernel = f2::kernelBasis(columns);
    EXPECT_EQ(kernel.size() + f2::rank(columns), columns.size());
    for (uint64_t mask : kernel) {
      EXPECT_NE(mask, 0u);
      EXPECT_EQ(f2::multiply(columns, mask), 0u);
    }
  }
}

TEST(LayoutF2, SolutionsUseEarlierColumnsOnly) {
  // Columns 1 and 3 are dependent on those before them: never used.
  f2::Basis basis({5, 5, 2, 7, 8});
  EXPECT_EQ(*basis.solve(7), 0b00101u);
  EXPECT_EQ(*basis.solve(13), 0b10001u);
  EXPECT_FALSE(basis.solve(1));
}

TEST(LayoutF2, InversesAndComplements) {
  RandomLayouts random(2);
  for (int trial = 0; trial < 200; ++trial) {
    int numBits = 1 + random.upTo(6);
    Columns columns = random.invertible(numBits);
    std::optional<Columns> inverse = f2::inverse(columns, numBits);
    ASSERT_TRUE(inverse);
    for (uint32_t vector = 0; vector < 1u << numBits; ++vector) {
      EXPECT_EQ(f2::multiply(columns, f2::multiply(*inverse, vector)), vector);
      EXPECT_EQ(f2::multiply(*inverse, f2::multiply(columns, vector)), vector);
    }
    Columns some = randomColumns(random, random.upTo(6), numBits);
    Columns complement = f2::complementBasis(some, numBits);
    EXPECT_EQ(f2::rank(some) + static_cast<int>(complement.size()), numBits);
    EXPECT_EQ(f2::rank(f2::concat(some, complement)), numBits);
    bool spans = f2::rank(some) == numBits;
    EXPECT_EQ(f2::rightInverse(some, numBits).has_value(), spans);
    if (static_cast<int>(some.size()) != numBits)
      EXPECT_FALSE(f2::inverse(some, numBits));
  }
}

TEST(LayoutF2, IntersectionMatchesEnumeration) {
  RandomLayouts random(3);
  for (int trial = 0; trial < 300; ++trial) {
    int numBits = 1 + random.upTo(5);
    Columns a = randomColumns(random, random.upTo(5), numBits);
    Columns b = randomColumns(random, random.upTo(5), numBits);
    std::set<uint32_t> spanA = enumerateSpan(a), spanB = enumerateSpan(b), expected;
    std::set_intersection(spanA.begin(), spanA.end(), spanB.begin(), spanB.end(),
                          std::inserter(expected, expected.end()));
    Columns common = f2::intersection(a, b);
    EXPECT_EQ(enumerateSpan(common), expected);
    EXPECT_EQ(f2::rank(common), static_cast<int>(common.size()));
    EXPECT_EQ(f2::intersectionRank(a, b), static_cast<int>(common.size()));
  }
}

TEST(LayoutF2, SmallHelpers) {
  EXPECT_EQ(f2::parity(0), 0u);
  EXPECT_EQ(f2::parity(0x80000001), 0u);
  EXPECT_EQ(f2::parity(0x7), 1u);
  EXPECT_EQ(f2::floorLog2(0), 0);
  EXPECT_EQ(f2::floorLog2(1), 0);
  EXPECT_EQ(f2::floorLog2(255), 7);
  EXPECT_EQ(f2::identityColumns(3, 2), (Columns{4, 8, 16}));
}
