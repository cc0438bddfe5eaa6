//===- LayoutWgmmaOperandTest.cpp - What wgmma reads, by brute force ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: plays the hardware. For every instruction of an operand and every
// element of it, the address that the descriptor names must be where the layout
// has that element.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutTransforms.h"
#include "ir/layout/WgmmaOperand.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

/// The fields of a descriptor, as the hardware decodes them.
struct Descriptor {
  int64_t start, leading, stride;
  int swizzleBits;

  Descriptor(uint64_t bits)
      : start((bits & 0x3FFF) << 4), leading((bits >> 16 & 0x3FFF) << 4),
        stride((bits >> 32 & 0x3FFF) << 4) {
    const int log2Chunks[] = {0, 3, 2, 1};
    swizzleBits = log2Chunks[bits >> 62];
  }

  int64_t swizzled(int64_t address) const {
    for (int bit = 0; bit < swizzleBits; ++bit)
      address ^= (address >> (7 + bit) & 1) << (4 + bit);
    return address;
  }

  /// The byte address of element (mn, k) of the instruction.
  int64_t addressOf(int64_t mn, int64_t k, int elementBytes, bool isMnMajor) const {
    const int64_t chunk = 16, perChunk = chunk / elementBytes;
    int64_t row = chunk << swizzleBits, address = start;
    if (!isMnMajor) {
      int64_t betweenChunks = swizzleBits ? chunk : leading;
      address += k % perChunk * elementBytes + k / perChunk * betweenChunks;
      address += mn % 8 * row + mn / 8 * stride;
    } else {
      int64_t perRow = row / elementBytes;
      address += mn % perRow * elementBytes + mn / perRow * (swizzleBits ? leading : stride);
      address += k % 8 * row + k / 8 * (swizzleBits ? stride : leading);
    }
    return swizzled(address);
  }
};

/// Byte address of every element (mn, k).
std::vector<int64_t> addressesOf(const LinearLayout &memory, int dimK, int elementBytes) {
  std::vector<int64_t> addresses(size_t(1) << memory.numOutBits());
  int log2K = memory.log2Shape()[dimK];
  for (int offset = 0; offset < memory.inSize(InDim::Offset); ++offset) {
    auto coordinates = memory.coordinates(memory.apply(InDim::Offset, offset));
    addresses[(coordinates[1 - dimK] << log2K) + coordinates[dimK]] = offset * elementBytes;
  }
  return addresses;
}

/// Compares all instructions of a tile; `base` is where the buffer lies.
void expectReads(const LinearLayout &memory, const WgmmaOperand &operand, int dimK,
                 int elementBytes, int64_t base) {
  std::vector<int64_t> expected = addressesOf(memory, dimK, elementBytes);
  int64_t extentK = int64_t(1) << memory.log2Shape()[dimK];
  int64_t extentMn = int64_t(1) << memory.log2Shape()[1 - dimK];
  int64_t stepMn = int64_t(1) << operand.log2InstructionMn, stepK = 32 / elementBytes;
  ASSERT_LE(stepMn, extentMn);
  for (int64_t mn = 0; mn < extentMn; mn += stepMn)
    for (int64_t k = 0; k < extentK; k += stepK) {
      uint32_t low =
          operand.descriptorLow() + static_cast<uint32_t>((base + operand.startOf(mn, k)) / 16);
      Descriptor descriptor(uint64_t(operand.descriptorHigh()) << 32 | low);
      for (int64_t i = 0; i < stepMn; ++i)
        for (int64_t j = 0; j < stepK; ++j)
          ASSERT_EQ(descriptor.addressOf(i, j, elementBytes, operand.isMnMajor),
                    base + expected[(mn + i) * extentK + k + j])
              << "element " << mn + i << ", " << k + j << " swizzle " << operand.swizzleBytes;
    }
}

} // namespace

// Every layout of makeSwizzledShared whose rows are long enough is readable, as
// it is (K along the rows) or transposed.
TEST(LayoutWgmmaOperand, SwizzledTilesAreReadAsTheHardwareAddressesThem) {
  int accepted = 0;
  for (int elementBits : {8, 16, 32})
    for (int swizzle : {16, 32, 64, 128})
      for (int log2Mn = 3; log2Mn <= 8; ++log2Mn)
        for (int log2K = 3; log2K <= 8; ++log2K)
          for (bool mnMajor : {false, true}) {
            int elementBytes = elementBits / 8;
            // Tile (mn, k); order lists the fastest dimension first.
            LinearLayout memory =
                makeSwizzledShared({log2Mn, log2K}, elementBits, swizzle,
                                   mnMajor ? std::vector<int>{0, 1} : std::vector<int>{1, 0});
            auto operand = planWgmmaOperand(memory, /*dimK=*/1, elementBits, 8);
            bool hasStep = (elementBytes << log2K) >= 32;
            // Transposed reads exist for 16-bit elements.
            bool expected = hasStep && (!mnMajor || elementBits == 16);
            ASSERT_EQ(operand.has_value(), expected)
                << elementBits << " " << swizzle << " " << log2Mn << "x" << log2K << " " << mnMajor;
            if (!operand)
              continue;
            ++accepted;
            EXPECT_EQ(operand->isMnMajor, mnMajor);
            EXPECT_EQ(operand->log2InstructionMn, log2Mn);
            expectReads(memory, *operand, 1, elementBytes, 3 * 1024);
          }
  EXPECT_GT(accepted, 300);
}

// tw.buffer_permute: the same memory with dimensions exchanged.
TEST(LayoutWgmmaOperand, PermutedTilesAreReadLikewise) {
  LinearLayout tile = makeSwizzledShared({6, 8}, 16, 128);
  LinearLayout permuted = permuteDims(tile, {1, 0});
  // B is K x N: rows of N, so N-major, and with exchanged dimensions K-major.
  auto direct = planWgmmaOperand(tile, 0, 16, 8), turned = planWgmmaOperand(permuted, 0, 16, 8);
  ASSERT_TRUE(direct && turned);
  EXPECT_TRUE(direct->isMnMajor);
  EXPECT_FALSE(turned->isMnMajor);
  expectReads(tile, *direct, 0, 2, 0);
  expectReads(permuted, *turned, 0, 2, 0);
}

// A warpgroup that has a part of the columns asks for narrower instructions.
TEST(LayoutWgmmaOperand, NarrowInstructionsStartInsideOfAPanel) {
  for (int log2Part = 3; log2Part <= 8; ++log2Part) {
    LinearLayout tile = makeSwizzledShared({6, 8}, 16, 128);
    auto operand = planWgmmaOperand(tile, 0, 16, log2Part);
    ASSERT_TRUE(operand);
    EXPECT_EQ(operand->log2InstructionMn, log2Part);
    expectReads(tile, *operand, 0, 2, 1024);
  }
}

TEST(LayoutWgmmaOperand, FieldsOfTheCommonCase) {
  auto operand = planWgmmaOperand(makeSwizzledShared({6, 6}, 16, 128), 1, 16, 6);
  ASSERT_TRUE(operand);
  EXPECT_EQ(operand->swizzleBytes, 128);
  EXPECT_EQ(operand->strideBytes, 1024);
  EXPECT_EQ(operand->descriptorHigh(), 0x40000040u);
  EXPECT_EQ(operand->startOf(0, 16), 32);
}

TEST(LayoutWgmmaOperand, OtherLayoutsAreRefused) {
  // Plain rows, for which there is no mode.
  EXPECT_FALSE(planWgmmaOperand(makeSwizzledShared({6, 6}, 16, 0), 1, 16, 6));
  // A swizzle that the hardware does not apply.
  LinearLayout other = makeSwizzledShared({6, 6}, 16, 128);
  other.columns(InDim::Offset)[8] ^= 8;
  EXPECT_FALSE(planWgmmaOperand(other, 1, 16, 6));
  // Rows of less than one k step, tiles of less than eight rows.
  EXPECT_FALSE(planWgmmaOperand(makeSwizzledShared({6, 3}, 16, 128), 1, 16, 6));
  EXPECT_FALSE(planWgmmaOperand(makeSwizzledShared({2, 6}, 16, 128), 1, 16, 6));
  EXPECT_FALSE(planWgmmaOperand(makeSwizzledShared({6, 6}, 64, 128), 1, 64, 6));
}

// Whatever the plan accepts among arbitrary bit orders, it must read right.
TEST(LayoutWgmmaOperand, AcceptedPermutationsAreReadRight) {
  layouttest::RandomLayouts random(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    LinearLayout memory = makeSwizzledShared({6, 6}, 16, 16 << random.upTo(3));
    Columns &offsets = memory.columns(InDim::Offset);
    std::swap(offsets[random.upTo(11)], offsets[random.upTo(11)]);
    if (random.chance(30))
      offsets[random.upTo(11)] ^= offsets[random.upTo(11)];
    if (!memory.isInvertible())
      continue;
    if (auto operand = planWgmmaOperand(memory, 1, 16, 6)) {
      ++accepted;
      expectReads(memory, *operand, 1, 2, 1024);
    }
  }
  EXPECT_GT(accepted, 1000);
}
