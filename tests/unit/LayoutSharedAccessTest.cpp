//===- LayoutSharedAccessTest.cpp - Tiles in shared memory in software ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: runs the accesses of planSharedSide byte by byte: addresses as code
// generation forms them, what each lane moves as the PTX manual says, and
// wavefronts by counting words per bank.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/SharedAccess.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>

#include <map>

using namespace tilewright;
using namespace tilewright::layouttest;

namespace {

/// The offset at which an instruction's lane addresses memory, formed as XOR and
/// immediate.
uint32_t addressOf(const SharedSide &side, const SharedAccess &access, int lane, int warp) {
  uint32_t thread = f2::multiply(side.laneOffsets, lane) ^ f2::multiply(side.warpOffsets, warp);
  return (thread ^ (access.offset & ~side.addableMask)) + (access.offset & side.addableMask);
}

/// The offset of element `index` of `access` for lane `lane`.
uint32_t elementOffset(const SharedSide &side, const SharedAccess &access, int lane, int warp,
                       int index) {
  if (!side.numMatrices)
    return addressOf(side, access, lane, warp) + index;
  int perWord = side.vectorElements / side.numMatrices;
  int matrix = index / perWord, inWord = index % perWord;
  if (side.transposed)
    return addressOf(side, access, 8 * matrix + 2 * (lane % 4) + inWord, warp) + lane / 4;
  return addressOf(side, access, 8 * matrix + lane / 4, warp) + lane % 4 * perWord + inWord;
}

/// Passes over the banks that one instruction of a warp takes: lanes that are
/// served together, words per bank.
int countWavefronts(const SharedSide &side, const SharedAccess &access, int warp, int storedBits) {
  int bytes = side.numMatrices ? 16 : side.vectorElements * storedBits / 8;
  int lanes = side.numMatrices ? 8 * side.numMatrices : 32;
  int together = std::min(32, 128 / std::max(4, bytes));
  int total = 0;
  for (int first = 0; first < lanes; first += together) {
    std::map<uint32_t, std::set<uint32_t>> wordsOfBank;
    for (int lane = first; lane < first + together; ++lane)
      for (int byte = 0; byte < bytes; ++byte) {
        uint32_t word = (addressOf(side, access, lane, warp) * (storedBits / 8) + byte) / 4;
        wordsOfBank[word % 32].insert(word);
      }
    size_t most = 0;
    for (auto &[bank, words] : wordsOfBank)
      most = std::max(most, words.size());
    total += static_cast<int>(most);
  }
  return total;
}

/// Checks that the accesses move each element of each register to or from its
/// place, and that the wavefronts are as the plan says.
void check(const LinearLayout &memory, const LinearLayout &layout, int storedBits,
           const SharedSide &side) {
  std::set<int> moved;
  int log2PieceElements =
      memory.numInBits(InDim::Offset) - f2::floorLog2(static_cast<uint64_t>(side.accesses.size()));
  for (int warp = 0; warp < layout.inSize(InDim::Warp); ++warp) {
    int wavefronts = 0;
    for (size_t piece = 0; piece < side.accesses.size(); ++piece)
      for (size_t step = 0; step < side.accesses[piece].size(); ++step) {
        const SharedAccess &access = side.accesses[piece][step];
        wavefronts += countWavefronts(side, access, warp, storedBits);
        ASSERT_EQ(static_cast<int>(access.registers.size()), side.vectorElements);
        for (int lane = 0; lane < layout.inSize(InDim::Lane); ++lane) {
          int aligned = side.numMatrices ? 128 / storedBits : side.vectorElements;
          ASSERT_EQ(addressOf(side, access, lane, warp) % aligned, 0u);
          const std::vector<int> &registers =
              side.accesses[piece][step ^ f2::multiply(side.laneTurns, lane)].registers;
          for (int index = 0; index < side.vectorElements; ++index) {
            uint32_t own = static_cast<uint32_t>(piece) ^ f2::multiply(side.lanePieces, lane) ^
                           f2::multiply(side.warpPieces, warp);
            uint32_t offset =
                elementOffset(side, access, lane, warp, index) | own << log2PieceElements;
            ASSERT_EQ(memory.apply(InDim::Offset, offset),
                      layout.apply(registers[index], lane, warp));
            moved.insert(registers[index]);
          }
        }
      }
    if (layout.numInBits(InDim::Lane) == 5)
      ASSERT_LE(wavefronts, side.wavefronts(storedBits));
  }
  // Every register is moved or a copy of one that is.
  ASSERT_EQ(static_cast<int>(side.registerOf.size()), layout.inSize(InDim::Register));
  for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg) {
    ASSERT_TRUE(moved.count(side.registerOf[reg]));
    ASSERT_EQ(layout.apply(InDim::Register, reg),
              layout.apply(InDim::Register, side.registerOf[reg]));
  }
}

SharedSide planMatrix(const LinearLayout &memory, const LinearLayout &layout, int storedBits) {
  SharedSideOptions options;
  options.allowMatrices = true;
  std::optional<SharedSide> side = planSharedSide(memory, layout, storedBits, options);
  EXPECT_TRUE(side);
  check(memory, layout, storedBits, *side);
  return *side;
}

int countAccesses(const SharedSide &side) {
  int count = 0;
  for (const auto &piece : side.accesses)
    count += static_cast<int>(piece.size());
  return count;
}

} // namespace

TEST(LayoutSharedAccess, RandomLayoutsAndMemories) {
  RandomLayouts random(5);
  int vectors = 0, turned = 0;
  for (int trial = 0; trial < 1200; ++trial) {
    std::vector<int> shape = random.shape(2, 5 + random.upTo(6));
    LinearLayout layout =
        random.chance(70) ? random.distributed(shape, 5, 2) : random.mixed(shape, 5, 2);
    LinearLayout memory = random.chance(40) ? makeSwizzledShared(shape, 16, 32 << random.upTo(2))
                                            : random.memory(shape);
    int bits = 8 << random.upTo(3);
    SharedSideOptions options;
    options.allowMatrices = random.chance(50);
    options.allowTurns = random.chance(50);
    std::optional<SharedSide> side = planSharedSide(memory, layout, bits, options);
    ASSERT_TRUE(side) << trial;
    ASSERT_NO_FATAL_FAILURE(check(memory, layout, bits, *side)) << trial;
    vectors += !side->numMatrices && side->vectorElements > 1;
    turned += !side->laneTurns.empty();
  }
  EXPECT_GT(vectors, 60);
  EXPECT_GT(turned, 30);
}

/// A swizzled tile serves coalesced copies, mma operands and accumulators, all
/// without bank conflicts.
TEST(LayoutSharedAccess, SwizzledTilesHaveNoConflicts) {
  for (int swizzle : {64, 128}) {
    int log2Row = swizzle == 128 ? 6 : 5;
    std::vector<int> rows = {7, log2Row};
    LinearLayout memory = makeSwizzledShared(rows, 16, swizzle);
    for (const LinearLayout &layout :
         {makeCoalesced(rows, {1, 0}, 8, 5, 2), makeDotOperand(DotOperand::A, rows, {1, 1}, 16),
          makeDotOperand(DotOperand::B, rows, {1, 1}, 16), makeWgmmaAccumulator(rows, 2),
          makeMmaAccumulator(rows, {1, 1})}) {
      SharedSide side = planMatrix(memory, layout, 16);
      EXPECT_EQ(side.extraWavefronts, 0) << layout.toString();
      // 16 bytes per thread and instruction.
      EXPECT_EQ(side.vectorElements, 8) << layout.toString();
    }
  }
}

/// Rows of 16-bit elements as they are loaded, eight to a thread, go to a tile of 32 bits
/// whose other dimension is contiguous: an operand of tf32.
TEST(LayoutSharedAccess, LanesTakeTurnsInTransposedTiles) {
  std::vector<int> shape = {6, 6};
  LinearLayout rows = makeCoalesced(shape, {1, 0}, 8, 5, 2);
  SharedSideOptions options;
  options.allowMatrices = true;
  for (int bits : {8, 32}) {
    LinearLayout memory = makeSwizzledShared(shape, bits, bits == 8 ? 64 : 128, {0, 1});
    std::optional<SharedSide> plain = planSharedSide(memory, rows, bits, options);
    options.allowTurns = true;
    std::optional<SharedSide> turned = planSharedSide(memory, rows, bits, options);
    options.allowTurns = false;
    ASSERT_TRUE(plain && turned);
    EXPECT_TRUE(plain->laneTurns.empty());
    EXPECT_LT(2 * turned->extraWavefronts, plain->extraWavefronts) << bits;
    check(memory, rows, bits, *turned);
    if (bits == 8)
      continue;
    EXPECT_EQ(plain->extraWavefronts, 7);
    EXPECT_EQ(turned->extraWavefronts, 0);
  }
  // Two lanes in one bank are not worth the selects.
  options.allowTurns = true;
  std::optional<SharedSide> pairs = planSharedSide(makeSwizzledShared(shape, 32, 128),
                                                   makeWgmmaAccumulator(shape, 2), 32, options);
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->extraWavefronts, 2);
  EXPECT_TRUE(pairs->laneTurns.empty());
}

TEST(LayoutSharedAccess, OperandsUseMatrixInstructionsOfTheRightForm) {
  // A is M x K, B is K x N; memory with either dimension fastest.
  for (DotOperand operand : {DotOperand::A, DotOperand::B})
    for (int fast : {0, 1}) {
      std::vector<int> shape = {6, 6};
      LinearLayout memory = makeSwizzledShared(shape, 16, 128, {fast, 1 - fast});
      LinearLayout layout = makeDotOperand(operand, shape, {1, 1}, 16);
      SharedSide side = planMatrix(memory, layout, 16);
      bool isAlongK = (operand == DotOperand::A) == (fast == 1);
      EXPECT_EQ(side.numMatrices, 4);
      EXPECT_EQ(side.transposed, !isAlongK);
      EXPECT_EQ(side.extraWavefronts, 0);
      EXPECT_EQ(countAccesses(side) * 8, layout.inSize(InDim::Register));
    }
}

TEST(LayoutSharedAccess, EightAndThirtyTwoBits) {
  for (int bits : {8, 32}) {
    std::vector<int> shape = {6, 12 - f2::floorLog2(bits) - 2};
    LinearLayout memory = makeSwizzledShared(shape, bits, 128);
    LinearLayout a = makeDotOperand(DotOperand::A, shape, {1, 1}, bits);
    SharedSide side = planMatrix(memory, a, bits);
    EXPECT_EQ(side.numMatrices, 4);
    EXPECT_EQ(side.extraWavefronts, 0);
    // f32 accumulators have pairs of columns: vectors of 8 bytes.
    LinearLayout acc = makeMmaAccumulator(shape, {1, 1});
    planMatrix(memory, acc, bits);
  }
}

/// A warp's part of the offset, and the constants of few swizzled registers, are
/// all that is computed.
TEST(LayoutSharedAccess, FewConstantsAreNotImmediates) {
  std::vector<int> shape = {7, 7};
  LinearLayout memory = makeSwizzledShared(shape, 16, 128);
  for (const LinearLayout &layout :
       {makeWgmmaAccumulator(shape, 2), makeDotOperand(DotOperand::A, shape, {1, 1}, 16),
        makeDotOperand(DotOperand::B, shape, {1, 1}, 16)}) {
    SharedSide side = planMatrix(memory, layout, 16);
    std::set<uint32_t> exchanged;
    for (const SharedAccess &access : side.accesses[0])
      exchanged.insert(access.offset & ~side.addableMask);
    EXPECT_LE(exchanged.size(), 4u) << layout.toString();
  }
}

TEST(LayoutSharedAccess, PiecesAreTheTopBitsOfTheOffset) {
  LinearLayout memory({4, 4}), layout({4, 4});
  memory.columns(InDim::Offset) = f2::identityColumns(8);
  layout.columns(InDim::Lane) = {1, 2, 4, 8, 16};
  layout.columns(InDim::Warp) = {32};
  layout.columns(InDim::Register) = {64, 0, 128};
  SharedSideOptions options;
  options.log2Pieces = 2;
  std::optional<SharedSide> side = planSharedSide(memory, layout, 16, options);
  ASSERT_TRUE(side);
  EXPECT_EQ(side->accesses.size(), 4u);
  check(memory, layout, 16, *side);
  EXPECT_FALSE(side->piecesDifferByThread());
  // With a warp's bit among them the two warps take turns.
  options.log2Pieces = 3;
  side = planSharedSide(memory, layout, 16, options);
  ASSERT_TRUE(side);
  EXPECT_TRUE(side->piecesDifferByThread());
  EXPECT_EQ(side->warpPieces, Columns{1});
  check(memory, layout, 16, *side);
}
