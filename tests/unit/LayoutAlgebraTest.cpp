//===- LayoutAlgebraTest.cpp - Layout algebra against its definition ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::layouttest;

/// The first layout of the worked example in LinearLayout.h.
static LinearLayout laneOwnsRow() {
  LinearLayout layout({2, 2});
  layout.columns(InDim::Register) = {1, 2};
  layout.columns(InDim::Lane) = {4, 8};
  return layout;
}

static LinearLayout laneOwnsColumn() {
  LinearLayout layout({2, 2});
  layout.columns(InDim::Register) = {4, 8};
  layout.columns(InDim::Lane) = {1, 2};
  return layout;
}

TEST(LinearLayout, WorkedExampleOfTheHeader) {
  LinearLayout rows = laneOwnsRow();
  EXPECT_EQ(rows.numOutBits(), 4);
  EXPECT_EQ(rows.dimStartBit(0), 2);
  EXPECT_EQ(rows.dimMask(0), 0b1100u);
  EXPECT_EQ(rows.dimMask(1), 0b0011u);
  EXPECT_EQ(rows.apply(3, 2, 0), 11u);
  EXPECT_EQ(rows.coordinates(11), (std::vector<uint32_t>{2, 3}));
  EXPECT_TRUE(rows.isInvertible());
  EXPECT_TRUE(rows.isPermutationLike());
  EXPECT_EQ(rows.toString(), "4x4; register -> 1, 2; lane -> 4, 8");
  EXPECT_NE(rows, laneOwnsColumn());

  std::optional<IndexMap> map = invertAndCompose(rows, laneOwnsColumn());
  ASSERT_TRUE(map);
  // Register bit 0 (column 1) is lane bit 0 of the destination, and so on.
  EXPECT_EQ(map->part(InDim::Register, InDim::Lane), (Columns{1, 2}));
  EXPECT_EQ(map->part(InDim::Lane, InDim::Register), (Columns{1, 2}));
  EXPECT_EQ(map->part(InDim::Register, InDim::Register), (Columns{0, 0}));
  EXPECT_FALSE(map->preserves(InDim::Register));
  EXPECT_TRUE(map->preserves(InDim::Warp));

  rows.columns(InDim::Lane) = {4, 0};
  EXPECT_EQ(rows.freeVariableMask(InDim::Lane), 0b10u);
  EXPECT_EQ(freeVariables(rows)[InDim::Lane], 0b10u);
  EXPECT_FALSE(rows.isSurjective());
  EXPECT_EQ(rows.apply(1, 2, 0), rows.apply(1, 0, 0));

  LinearLayout swizzle({2, 2});
  swizzle.columns(InDim::Offset) = {1, 2, 4 ^ 1, 8 ^ 2};
  EXPECT_FALSE(swizzle.isPermutationLike());
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t column = 0; column < 4; ++column)
      EXPECT_EQ(swizzle.apply(InDim::Offset, 4 * row + (column ^ row)), 4 * row + column);
}

TEST(LinearLayout, CoordinatesAreRowMajorDigits) {
  LinearLayout layout({1, 0, 2, 1});
  for (uint32_t element = 0; element < 16; ++element)
    EXPECT_EQ(flatElement(layout.log2Shape(), layout.coordinates(element)), element);
  EXPECT_EQ(LinearLayout().toString(), "scalar");
  EXPECT_EQ(LinearLayout({32}).dimMask(0), 0xffffffffu);
  EXPECT_EQ(LinearLayout({0, 32}).coordinates(7), (std::vector<uint32_t>{0, 7}));
}

TEST(LayoutAlgebra, ComposeIsApplicationInTurn) {
  RandomLayouts random(11);
  for (int trial = 0; trial < 50; ++trial) {
    LinearLayout layout = random.distributed(random.shape(2, 6), 3, 1);
    Columns map = random.invertible(6);
    LinearLayout composed = compose(layout, map, layout.log2Shape());
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      EXPECT_EQ(composed.apply(reg, lane, warp), f2::multiply(map, layout.apply(reg, lane, warp)));
    });
  }
}

TEST(LayoutAlgebra, ProductNumbersTilesAndDivideUndoesIt) {
  RandomLayouts random(12);
  for (int trial = 0; trial < 100; ++trial) {
    int rank = 1 + random.upTo(2);
    LinearLayout inner = random.mixed(random.shape(rank, 4), 2, 1);
    LinearLayout outer = random.mixed(random.shape(rank, 4), 1, 1);
    LinearLayout whole = product(inner, outer);
    forEachPlace(whole, [&](int reg, int lane, int warp) {
      auto low = [&](InDim dim, int index) { return index & (inner.inSize(dim) - 1); };
      auto high = [&](InDim dim, int index) { return index >> inner.numInBits(dim); };
      std::vector<uint32_t> in = inner.coordinates(
          inner.apply(low(InDim::Register, reg), low(InDim::Lane, lane), low(InDim::Warp, warp)));
      std::vector<uint32_t> out = outer.coordinates(outer.apply(
          high(InDim::Register, reg), high(InDim::Lane, lane), high(InDim::Warp, warp)));
      std::vector<uint32_t> all = whole.coordinates(whole.apply(reg, lane, warp));
      for (int dim = 0; dim < rank; ++dim)
        EXPECT_EQ(all[dim], (out[dim] << inner.log2Shape()[dim]) + in[dim]);
    });
    std::optional<LinearLayout> quotient = leftDivide(whole, inner);
    ASSERT_TRUE(quotient);
    EXPECT_EQ(*quotient, outer);
  }
}

TEST(LayoutAlgebra, DivideRefusesWhatIsNotATile) {
  LinearLayout vector({0, 1});
  vector.columns(InDim::Register) = {1};
  EXPECT_TRUE(leftDivide(laneOwnsRow(), vector));
  EXPECT_FALSE(leftDivide(laneOwnsColumn(), vector));
  LinearLayout swizzled = laneOwnsRow();
  swizzled.columns(InDim::Lane)[0] ^= 1; // reaches into the vector
  EXPECT_FALSE(leftDivide(swizzled, vector));
  EXPECT_FALSE(leftDivide(vector, laneOwnsRow()));
  EXPECT_FALSE(leftDivide(laneOwnsRow(), LinearLayout({2})));
}

TEST(LayoutAlgebra, RightInverseFindsEveryElement) {
  RandomLayouts random(13);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(2, 7), 4, 2);
    std::optional<ElementMap> inverse = rightInverse(layout);
    ASSERT_TRUE(inverse);
    for (uint32_t element = 0; element < 128; ++element)
      EXPECT_EQ(applyLayout(layout, inverse->apply(element)), element);
    EXPECT_EQ(invert(layout).has_value(), layout.isInvertible());
    LinearLayout partial = layout;
    for (Columns *columns : {&partial.columns(InDim::Register), &partial.columns(InDim::Lane),
                             &partial.columns(InDim::Warp)})
      for (uint32_t &column : *columns)
        column &= 0x3f;
    EXPECT_FALSE(rightInverse(partial));
  }
}

TEST(LayoutAlgebra, InvertAndComposeNamesAPlaceWithTheSameElement) {
  RandomLayouts random(14);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<int> shape = random.shape(2, 7);
    LinearLayout src = random.mixed(shape, 4, 2);
    LinearLayout dst = trial % 3 ? random.mixed(shape, 3, 3) : random.memory(shape);
    std::optional<IndexMap> map = invertAndCompose(src, dst);
    ASSERT_TRUE(map);
    forEachPlace(src, [&](int reg, int lane, int warp) {
      HardwareIndex place;
      place[InDim::Register] = reg;
      place[InDim::Lane] = lane;
      place[InDim::Warp] = warp;
      HardwareIndex found = map->apply(place);
      EXPECT_EQ(applyLayout(dst, found), src.apply(reg, lane, warp));
      // Free variables are zero: copies are never named.
      for (InDim dim : allInDims)
        EXPECT_EQ(found[dim] & freeVariables(dst)[dim], 0u);
    });
    EXPECT_TRUE(invertAndCompose(src, src)->preserves(InDim::Block));
  }
}

TEST(LayoutAlgebra, RemovingRegistersKeepsTheElementsOfEachThread) {
  RandomLayouts random(15);
  for (int trial = 0; trial < 100; ++trial) {
    LinearLayout layout = random.mixed(random.shape(2, 6), 3, 1);
    Columns &registers = layout.columns(InDim::Register);
    for (int extra = random.upTo(2); extra > 0; --extra)
      registers.push_back(registers.empty() ? 0 : registers[random.upTo(registers.size() - 1)]);
    LinearLayout compact = removeZeroRegisters(layout);
    std::vector<int> compactOf = compactRegisterOf(layout);
    std::vector<int> kept = keptRegisterBits(layout);
    ASSERT_EQ(static_cast<int>(kept.size()), compact.numInBits(InDim::Register));
    EXPECT_EQ(f2::rank(compact.columns(InDim::Register)), compact.numInBits(InDim::Register));
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      EXPECT_EQ(layout.apply(reg, lane, warp), compact.apply(compactOf[reg], lane, warp));
    });
    for (size_t bit = 0; bit < kept.size(); ++bit)
      EXPECT_EQ(compactOf[1 << kept[bit]], 1 << bit);
  }
}

TEST(LayoutAlgebra, SublayoutAndFlatten) {
  LinearLayout rows = laneOwnsRow();
  rows.columns(InDim::Warp) = {0};
  EXPECT_EQ(flatten(rows), (Columns{1, 2, 4, 8, 0}));
  LinearLayout lanes = sublayout(rows, {InDim::Lane});
  EXPECT_EQ(flatten(lanes), (Columns{4, 8}));
  EXPECT_EQ(lanes.log2Shape(), rows.log2Shape());
}
