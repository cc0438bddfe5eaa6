//===- LayoutConversionTest.cpp - Conversions on a software GPU -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: every plan is carried out on the arrays of ConversionMachine.h; the
// destination must then hold what its layout says.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"
#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/layout/LayoutTransforms.h"
#include "tests/unit/ConversionMachine.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>
#include <map>

using namespace tilewright;
using namespace tilewright::layouttest;

TEST(LayoutConversion, WorkedExampleOfTheHeader) {
  LinearLayout rows({2, 2}), columns({2, 2});
  rows.columns(InDim::Register) = columns.columns(InDim::Lane) = {1, 2};
  rows.columns(InDim::Lane) = columns.columns(InDim::Register) = {4, 8};
  ShufflePlan shuffle = *planShuffle(rows, columns, 32);
  Machine to = runShuffle(shuffle, holding(rows), 32);
  expectHolds(to, columns, "the example");
  EXPECT_TRUE(shuffle.isButterfly());
  EXPECT_EQ(shuffle.numShuffles(32), 3);
  ASSERT_EQ(shuffle.rounds.size(), 4u);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(shuffle.rounds[k].laneXor, static_cast<uint32_t>(k));
    EXPECT_EQ(shuffle.rounds[k].sources, std::vector<int>{k});
    EXPECT_EQ(shuffle.rounds[k].slots, std::vector<int>{k});
  }
  for (const std::vector<RegisterSwap> *swaps : {&shuffle.before, &shuffle.after}) {
    ASSERT_EQ(swaps->size(), 2u);
    for (uint32_t bit = 0; bit < 2; ++bit) {
      EXPECT_EQ((*swaps)[bit].registerMask, 1u << bit);
      EXPECT_EQ((*swaps)[bit].threadMask[InDim::Lane], 1u << bit);
    }
  }
  EXPECT_EQ(shuffle.destinationSlots, (std::vector<int>{0, 1, 2, 3}));
}

TEST(LayoutConversion, KindsByWhatMoves) {
  LinearLayout blocked = makeBlocked({6, 6}, {0, 2}, {2, 3}, {2, 0}, {1, 0});
  EXPECT_EQ(convertAndCheck(blocked, blocked, 32).kind, ConversionKind::None);
  LinearLayout renamed = blocked;
  std::reverse(renamed.columns(InDim::Register).begin(), renamed.columns(InDim::Register).end());
  EXPECT_EQ(convertAndCheck(blocked, renamed, 32).kind, ConversionKind::Registers);
  LinearLayout lanes = blocked;
  std::swap(lanes.columns(InDim::Lane)[0], lanes.columns(InDim::Register)[0]);
  EXPECT_EQ(convertAndCheck(blocked, lanes, 32).kind, ConversionKind::Shuffle);
  ConversionOptions noShuffle;
  noShuffle.allowShuffle = false;
  EXPECT_EQ(convertAndCheck(blocked, lanes, 32, noShuffle).kind, ConversionKind::SharedMemory);
  LinearLayout warps = blocked;
  std::swap(warps.columns(InDim::Warp)[0], warps.columns(InDim::Register)[0]);
  EXPECT_EQ(convertAndCheck(blocked, warps, 32).kind, ConversionKind::SharedMemory);
  // Copies in registers are renamed away and made again.
  LinearLayout copies = blocked;
  copies.columns(InDim::Register).insert(copies.columns(InDim::Register).begin(), 0);
  EXPECT_EQ(convertAndCheck(blocked, copies, 32).kind, ConversionKind::Registers);
  EXPECT_EQ(convertAndCheck(copies, blocked, 32).kind, ConversionKind::Registers);
}

TEST(LayoutConversion, OneSwapCostsHalfTheRegisters) {
  LinearLayout src({8}), dst({8});
  src.columns(InDim::Register) = {1, 2, 4};
  src.columns(InDim::Lane) = {8, 16, 32, 64, 128};
  dst.columns(InDim::Register) = {8, 2, 4};
  dst.columns(InDim::Lane) = {1, 16, 32, 64, 128};
  std::optional<ShufflePlan> plan = planShuffle(src, dst, 32);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->numShuffles(32), 4);
  EXPECT_EQ(plan->before.size(), 1u);
  EXPECT_EQ(plan->after.size(), 1u);
  EXPECT_EQ(plan->numShuffles(64), 8);
  // 8-bit elements travel four to a shuffle.
  EXPECT_EQ(planShuffle(src, dst, 8)->numShuffles(8), 1);
}

TEST(LayoutConversion, SourceCopiesInRegistersNeedNoShuffle) {
  // Every lane holds all eight elements; the destination spreads them.
  LinearLayout src({3}), dst({3});
  src.columns(InDim::Register) = {1, 2, 4};
  src.columns(InDim::Lane) = {0, 0, 0};
  dst.columns(InDim::Lane) = {1, 2, 4};
  ConversionPlan plan = convertAndCheck(src, dst, 32);
  EXPECT_EQ(plan.kind, ConversionKind::Shuffle);
  EXPECT_EQ(plan.shuffle.numShuffles(32), 0);
  // And back, the spread elements are gathered by every lane: 7 of 8 shuffles.
  std::optional<ShufflePlan> gather = planShuffle(dst, src, 32);
  ASSERT_TRUE(gather);
  EXPECT_LE(gather->numShuffles(32), 8);
}

TEST(LayoutConversion, OneWarpTakesFewSelects) {
  // Two exchanges of registers on each side: as many selects as four per register.
  LinearLayout src({9}), dst({9});
  src.columns(InDim::Register) = {1, 2, 4, 8};
  src.columns(InDim::Lane) = {16, 32, 64, 128, 256};
  dst.columns(InDim::Register) = {16, 32, 4, 8};
  dst.columns(InDim::Lane) = {1, 2, 64, 128, 256};
  EXPECT_EQ(planShuffle(src, dst, 32)->numSelects(32), 64);
  EXPECT_EQ(convertAndCheck(src, dst, 32).kind, ConversionKind::SharedMemory);
  auto withWarp = [](const LinearLayout &layout) {
    LinearLayout result = product(layout, LinearLayout({1}));
    result.columns(InDim::Warp) = {512};
    return result;
  };
  EXPECT_EQ(convertAndCheck(withWarp(src), withWarp(dst), 32).kind, ConversionKind::Shuffle);
  // Without selects, or of few registers, a round trip would take longer.
  dst = src;
  std::swap(dst.columns(InDim::Lane)[0], dst.columns(InDim::Lane)[1]);
  EXPECT_EQ(planShuffle(src, dst, 32)->numSelects(32), 0);
  EXPECT_EQ(convertAndCheck(src, dst, 32).kind, ConversionKind::Shuffle);
  LinearLayout two({6}), turned({6});
  two.columns(InDim::Register) = {1};
  two.columns(InDim::Lane) = {2, 4, 8, 16, 32};
  turned.columns(InDim::Register) = {2};
  turned.columns(InDim::Lane) = {1, 4, 8, 16, 32};
  EXPECT_EQ(convertAndCheck(two, turned, 32).kind, ConversionKind::Shuffle);
  // A recurrence waits for this one: eight values, one in each lane, go to all lanes.
  LinearLayout spread({3}), everywhere({3});
  spread.columns(InDim::Lane) = {1, 2, 4, 0, 0};
  everywhere.columns(InDim::Register) = {1, 2, 4};
  everywhere.columns(InDim::Lane) = {0, 0, 0, 0, 0};
  EXPECT_EQ(planShuffle(spread, everywhere, 32)->numSelects(32), 24);
  EXPECT_EQ(convertAndCheck(spread, everywhere, 32).kind, ConversionKind::Shuffle);
}

TEST(LayoutConversion, RandomLayoutsWithCopies) {
  RandomLayouts random(51);
  std::map<ConversionKind, int> kinds;
  for (int trial = 0; trial < 1500; ++trial) {
    std::vector<int> shape = random.shape(2, random.upTo(11));
    int warps = random.upTo(2);
    LinearLayout src = random.distributed(shape, 5, warps);
    LinearLayout dst = random.distributed(shape, 5, warps);
    int elementBits = std::vector<int>{1, 8, 16, 32, 64}[random.upTo(4)];
    ConversionPlan plan = convertAndCheck(src, dst, elementBits);
    ++kinds[plan.kind];
    ASSERT_NE(plan.kind, ConversionKind::AcrossBlocks);
    if (plan.kind == ConversionKind::SharedMemory) {
      EXPECT_EQ(plan.sharedMemory.write.extraWavefronts, 0) << src.toString();
      EXPECT_EQ(plan.sharedMemory.read.extraWavefronts, 0) << dst.toString();
      EXPECT_EQ(plan.sharedMemory.numPieces, 1);
    }
  }
  EXPECT_GT(kinds[ConversionKind::Shuffle], 100);
  EXPECT_GT(kinds[ConversionKind::SharedMemory], 100);
}

TEST(LayoutConversion, WithinWarpsShufflesAlwaysExist) {
  RandomLayouts random(52);
  int butterflies = 0, total = 0, missing = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<int> shape = random.shape(2, 2 + random.upTo(8));
    int laneBits = 1 + random.upTo(4);
    bool mixed = random.chance(30);
    auto make = [&] {
      return mixed ? random.mixed(shape, laneBits, 0) : random.distributed(shape, laneBits, 0);
    };
    LinearLayout src = make(), dst = make();
    if (random.chance(50)) { // a warp dimension both sides agree on, up to registers
      src = product(src, LinearLayout({1, 0}));
      dst = product(dst, LinearLayout({1, 0}));
      uint32_t top = 1u << (src.numOutBits() - 1);
      src.columns(InDim::Warp) = {top};
      dst.columns(InDim::Warp) = {top ^ dst.apply(InDim::Register, random.bits(2))};
    }
    int elementBits = 8 << random.upTo(3);
    std::optional<ShufflePlan> plan = planShuffle(src, dst, elementBits);
    ++total;
    if (!plan) {
      ++missing;
      continue;
    }
    butterflies += plan->isButterfly();
    Machine to = runShuffle(*plan, holding(src), elementBits);
    expectHolds(to, dst, "shuffle from " + src.toString());
  }
  EXPECT_GT(butterflies, 100);
  EXPECT_EQ(missing, 0) << "of " << total;
}

TEST(LayoutConversion, SwizzledRegistersGoThroughSharedMemory) {
  RandomLayouts random(53);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int> shape = random.shape(2, 4 + random.upTo(7));
    LinearLayout src = random.mixed(shape, 5, 2), dst = random.mixed(shape, 5, 2);
    int elementBits = 8 << random.upTo(3);
    ConversionOptions options;
    options.allowShuffle = false;
    options.maxScratchBytes = random.chance(50) ? 0 : 512;
    options.hasStoreMatrix = options.hasLoadMatrix = random.chance(30);
    convertAndCheck(src, dst, elementBits, options);
  }
}

TEST(LayoutConversion, PiecesStayWithinTheLimit) {
  RandomLayouts random(54);
  int inPieces = 0, divided = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<int> shape = random.shape(2, 10 + random.upTo(2));
    LinearLayout src = random.distributed(shape, 5, 2), dst = random.distributed(shape, 5, 2);
    ConversionOptions options;
    options.allowShuffle = false;
    options.maxScratchBytes = 2048;
    ConversionPlan plan = convertAndCheck(src, dst, 32, options);
    if (plan.kind != ConversionKind::SharedMemory)
      continue;
    const SharedMemoryPlan &shared = plan.sharedMemory;
    inPieces += shared.numPieces > 1;
    divided += shared.write.piecesDifferByThread() || shared.read.piecesDifferByThread();
    EXPECT_LE(shared.scratchBytes, 2048);
    EXPECT_EQ(shared.scratchBytes * shared.numPieces, int64_t(4) << src.numOutBits());
    EXPECT_EQ(shared.write.extraWavefronts + shared.read.extraWavefronts, 0);
    // Not in more pieces than needed.
    if (shared.numPieces > 1)
      EXPECT_GT(shared.scratchBytes * 2, 2048);
  }
  EXPECT_GT(inPieces, 50);
  // Also where no register bit is common to both sides.
  EXPECT_GT(divided, 5);
}

TEST(LayoutConversion, VectorsOfCommonRegistersAndOneWideSide) {
  // 64x64 f16, both sides own 8 elements of a row in different rows of warps.
  LinearLayout src = makeBlocked({6, 6}, {0, 3}, {2, 3}, {2, 0}, {1, 0});
  LinearLayout dst = makeBlocked({6, 6}, {0, 3}, {4, 1}, {0, 2}, {1, 0});
  SharedMemoryPlan plan = *planSharedMemory(src, dst, 16);
  EXPECT_EQ(plan.write.vectorElements, 8);
  EXPECT_EQ(plan.read.vectorElements, 8);
  EXPECT_EQ(plan.scratchBytes, 8192);
  // A transposition has no common registers: one side is wide nevertheless.
  dst = makeBlocked({6, 6}, {3, 0}, {3, 2}, {0, 2}, {0, 1});
  plan = *planSharedMemory(src, dst, 16);
  EXPECT_EQ(std::max(plan.write.vectorElements, plan.read.vectorElements), 8);
  EXPECT_EQ(plan.write.extraWavefronts + plan.read.extraWavefronts, 0);
}

TEST(LayoutConversion, AccumulatorsToStoresAndOperands) {
  for (int elementBits : {16, 32}) {
    LinearLayout acc = makeWgmmaAccumulator({7, 7}, 2);
    LinearLayout store = makeCoalesced({7, 7}, {1, 0}, 128 / elementBits, 5, 2);
    ConversionPlan plan = convertAndCheck(acc, store, elementBits);
    EXPECT_EQ(plan.kind, ConversionKind::SharedMemory);
    EXPECT_EQ(plan.sharedMemory.write.extraWavefronts, 0);
    EXPECT_EQ(plan.sharedMemory.read.extraWavefronts, 0);
    EXPECT_EQ(plan.sharedMemory.read.vectorElements, 128 / elementBits);
  }
  // P of attention: 16 bits stay in place, 8 bits cross lanes of a quad only.
  LinearLayout acc = makeWgmmaAccumulator({6, 6}, 2);
  EXPECT_EQ(convertAndCheck(acc, makeDotOperand(DotOperand::A, {6, 6}, {2, 0}, 16), 16).kind,
            ConversionKind::None);
  EXPECT_EQ(convertAndCheck(acc, makeDotOperand(DotOperand::A, {6, 6}, {2, 0}, 8), 8).kind,
            ConversionKind::Shuffle);
  // A row vector from a reduction, spread over another layout.
  LinearLayout rowMax = sliceDim(acc, 1, false);
  convertAndCheck(rowMax, makeCoalesced({6}, {0}, 1, 5, 2), 32);
  convertAndCheck(makeCoalesced({6}, {0}, 1, 5, 2), rowMax, 32);
}

TEST(LayoutConversion, MatrixInstructionsOnEitherSide) {
  ConversionOptions options;
  options.hasLoadMatrix = options.hasStoreMatrix = true;
  auto check = [&](const LinearLayout &src, const LinearLayout &dst) {
    SharedMemoryPlan plan = *planSharedMemory(src, dst, 16, options);
    Machine to = runShared(plan, holding(src), dst);
    expectHolds(to, dst, "matrices from " + src.toString());
    // 16 bytes per thread and instruction, each in as few wavefronts as that takes.
    EXPECT_EQ(plan.write.extraWavefronts + plan.read.extraWavefronts, 0) << dst.toString();
    EXPECT_EQ(plan.write.vectorElements, 8) << src.toString() << dst.toString();
    EXPECT_EQ(plan.read.vectorElements, 8) << src.toString() << dst.toString();
    // The memory it takes is known without asking the target.
    EXPECT_EQ(plan.scratchBytes, planSharedMemory(src, dst, 16)->scratchBytes);
    return plan;
  };
  int stored = 0, loaded = 0, transposed = 0;
  auto count = [&](const SharedMemoryPlan &plan) {
    stored += plan.write.numMatrices > 0;
    loaded += plan.read.numMatrices > 0;
    transposed += plan.write.transposed + plan.read.transposed;
  };
  // The larger ones have 16 bytes of common registers, which serve as well.
  for (std::vector<int> shape : {std::vector<int>{7, 7}, {6, 8}, {6, 6}, {5, 6}, {6, 5}}) {
    LinearLayout rows = makeCoalesced(shape, {1, 0}, 8, 5, 2);
    LinearLayout columns = makeCoalesced(shape, {0, 1}, 8, 5, 2);
    std::vector<LinearLayout> fragments = {makeMmaAccumulator(shape, {1, 1})};
    if (shape[0] >= 6)
      fragments.push_back(makeWgmmaAccumulator(shape, 2));
    for (const LinearLayout &acc : fragments)
      for (const LinearLayout &memory : {rows, columns})
        count(check(acc, memory));
    for (DotOperand operand : {DotOperand::A, DotOperand::B})
      for (const LinearLayout &memory : {rows, columns})
        count(check(memory, makeDotOperand(operand, shape, {1, 1}, 16)));
  }
  EXPECT_GE(stored, 6);
  EXPECT_GE(loaded, 6);
  EXPECT_GE(transposed, 6);
}

TEST(LayoutConversion, BlocksOfACluster) {
  RandomLayouts random(55);
  for (int trial = 0; trial < 100; ++trial) {
    // Both sides split the rows over two blocks the same way.
    std::vector<int> part = random.shape(2, 8), half{1, 0};
    LinearLayout blocks(half);
    blocks.columns(InDim::Block) = {1};
    LinearLayout src = product(random.distributed(part, 5, 1), blocks);
    LinearLayout dst = product(random.distributed(part, 5, 1), blocks);
    if (trial % 2 && !dst.columns(InDim::Register).empty()) // other rows of the same block
      dst.columns(InDim::Block)[0] ^= dst.columns(InDim::Register)[0];
    ConversionPlan plan = convertAndCheck(src, dst, 32);
    EXPECT_NE(plan.kind, ConversionKind::AcrossBlocks);
    // A block bit and a register bit change places: data crosses blocks.
    LinearLayout crossing = removeZeroRegisters(dst);
    if (crossing.columns(InDim::Register).empty())
      continue;
    std::swap(crossing.columns(InDim::Block)[0], crossing.columns(InDim::Register)[0]);
    if (trial % 2 == 0)
      EXPECT_EQ(convertAndCheck(src, crossing, 32).kind, ConversionKind::AcrossBlocks);
  }
}

TEST(LayoutConversion, AcrossBlocks) {
  RandomLayouts random(56);
  int crossing = 0, vectors = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int> shape = random.shape(2, 5 + random.upTo(5));
    int log2Blocks = 1 + random.upTo(2);
    // Bits of other places, or copies, or sums of both.
    auto withBlocks = [&](LinearLayout layout) {
      Columns &registers = layout.columns(InDim::Register);
      for (int bit = 0; bit < log2Blocks; ++bit) {
        uint32_t column = 0;
        if (!random.chance(20) && !registers.empty()) {
          column = registers.back();
          registers.pop_back();
        } else if (random.chance(30)) {
          column = random.bits(layout.numOutBits());
        }
        layout.columns(InDim::Block).push_back(column);
      }
      return layout;
    };
    LinearLayout src = withBlocks(random.distributed(shape, 3, 1));
    LinearLayout dst =
        withBlocks(random.chance(30) ? random.mixed(shape, 3, 1) : random.distributed(shape, 3, 1));
    if (!src.isSurjective() || !dst.isSurjective())
      continue;
    ConversionPlan plan = convertAndCheck(src, dst, 1 << random.upTo(6));
    crossing += plan.kind == ConversionKind::AcrossBlocks;
    vectors += plan.kind == ConversionKind::AcrossBlocks && plan.cluster.read.vectorElements > 1;
  }
  EXPECT_GT(crossing, 100);
  EXPECT_GT(vectors, 20);
}
