//===- LayoutMemoryTest.cpp - Vectors and bank conflicts by counting ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutMemory.h"
#include "ir/layout/LayoutConstructors.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>
#include <map>

using namespace tilewright;
using namespace tilewright::layouttest;

/// Whether registers first..first+n-1, taken through `registers`, are n aligned
/// consecutive elements along `dim` in every thread.
static bool isVector(const LinearLayout &layout, int dim, const std::vector<int> &registers,
                     size_t first, int n) {
  bool ok = true;
  forEachPlace(sublayout(layout, {InDim::Lane, InDim::Warp}), [&](int, int lane, int warp) {
    std::vector<uint32_t> start = layout.coordinates(layout.apply(registers[first], lane, warp));
    ok &= start[dim] % n == 0;
    for (int i = 0; i < n; ++i) {
      std::vector<uint32_t> expected = start;
      expected[dim] += i;
      ok &= layout.coordinates(layout.apply(registers[first + i], lane, warp)) == expected;
    }
  });
  return ok;
}

static bool allVectors(const LinearLayout &layout, int dim, const std::vector<int> &registers,
                       int log2Elements) {
  if (log2Elements > layout.log2Shape()[dim])
    return false;
  int n = 1 << log2Elements;
  if (registers.size() % n != 0)
    return false;
  for (size_t first = 0; first < registers.size(); first += n)
    if (!isVector(layout, dim, registers, first, n))
      return false;
  return true;
}

TEST(LayoutMemory, ContiguousPerThreadIsTheLargestThatHolds) {
  RandomLayouts random(41);
  int wide = 0;
  for (int trial = 0; trial < 400; ++trial) {
    LinearLayout layout;
    if (trial % 3 == 0)
      layout = makeCoalesced(random.shape(2, 7), {1, 0}, 1 << random.upTo(3), 3, 1);
    else
      layout = random.distributed(random.shape(2, 6), 2, 1);
    if (trial % 3 == 1 && layout.numOutBits() > 1) // a swizzle on top
      layout = compose(layout, random.invertible(layout.numOutBits()), layout.log2Shape());
    std::vector<int> identity(layout.inSize(InDim::Register));
    for (size_t i = 0; i < identity.size(); ++i)
      identity[i] = static_cast<int>(i);
    for (int dim = 0; dim < 2; ++dim) {
      int found = contiguousPerThread(layout, dim);
      EXPECT_TRUE(allVectors(layout, dim, identity, found));
      EXPECT_FALSE(allVectors(layout, dim, identity, found + 1)) << layout.toString();
      wide += found > 0;

      int limit = random.upTo(3);
      VectorRegisters vectors = vectorRegisters(layout, dim, limit);
      EXPECT_LE(vectors.log2Elements, limit);
      EXPECT_GE(vectors.log2Elements, std::min(limit, found));
      EXPECT_TRUE(allVectors(layout, dim, vectors.registers, vectors.log2Elements));
      EXPECT_TRUE(std::is_permutation(identity.begin(), identity.end(), vectors.registers.begin(),
                                      vectors.registers.end()));
      EXPECT_EQ(vectors.numVectors() * vectors.numElements(), static_cast<int>(identity.size()));
    }
  }
  EXPECT_GT(wide, 50);
}

TEST(LayoutMemory, DuplicateMasksLeaveEachElementToOneThread) {
  RandomLayouts random(42);
  for (int trial = 0; trial < 200; ++trial) {
    LinearLayout layout = removeZeroRegisters(random.mixed(random.shape(2, 6), 4, 2));
    if (random.chance(30)) // a copy that is not a zero column
      layout.columns(InDim::Warp)[0] = layout.columns(InDim::Lane)[1];
    if (!layout.isSurjective())
      continue;
    HardwareIndex masks = duplicateThreadMasks(layout);
    std::map<uint32_t, int> writers;
    forEachPlace(layout, [&](int reg, int lane, int warp) {
      if ((lane & masks[InDim::Lane]) == 0 && (warp & masks[InDim::Warp]) == 0)
        ++writers[layout.apply(reg, lane, warp)];
    });
    EXPECT_EQ(writers.size(), size_t(1) << layout.numOutBits());
    for (auto [element, count] : writers)
      EXPECT_EQ(count, 1) << element;
  }
}

TEST(LayoutMemory, MemoryVectorsAreConsecutiveOffsets) {
  RandomLayouts random(43);
  int wide = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int> shape = random.shape(2, 7);
    LinearLayout layout = removeZeroRegisters(random.distributed(shape, 2, 1));
    LinearLayout memory(shape);
    memory.columns(InDim::Offset) = f2::identityColumns(7);
    if (trial % 2)
      std::reverse(memory.columns(InDim::Offset).begin(), memory.columns(InDim::Offset).end());
    if (trial % 3 == 0)
      memory = random.memory(shape);
    IndexMap offsets = *memoryOffsets(memory, layout);
    MemoryVectors found = memoryVectors(offsets, layout.inSize(InDim::Register), 3);
    int n = found.vectors.numElements();
    wide += n > 1;
    ASSERT_EQ(found.offsets.size(), static_cast<size_t>(found.vectors.numVectors()));
    forEachPlace(sublayout(layout, {InDim::Lane, InDim::Warp}), [&](int, int lane, int warp) {
      uint32_t thread = offsets.apply(InDim::Lane, lane)[InDim::Offset] ^
                        offsets.apply(InDim::Warp, warp)[InDim::Offset];
      for (int v = 0; v < found.vectors.numVectors(); ++v) {
        uint32_t first = found.offsets[v] ^ thread;
        EXPECT_EQ(first % n, 0u);
        for (int i = 0; i < n; ++i)
          EXPECT_EQ(memory.apply(InDim::Offset, first + i),
                    layout.apply(found.vectors.registers[v * n + i], lane, warp));
      }
    });
  }
  EXPECT_GT(wide, 50);
}

/// Wavefronts of one access by counting words in banks, group after group.
static int countWavefronts(const std::vector<uint32_t> &laneOffsets, int elementBits,
                           int vectorElements) {
  int bytes = elementBits * vectorElements / 8;
  int groups = std::max(1, bytes / 4), lanes = static_cast<int>(laneOffsets.size()) / groups;
  int total = 0;
  for (int group = 0; group < groups; ++group) {
    std::map<int, std::set<uint64_t>> wordsOfBank;
    for (int lane = group * lanes; lane < (group + 1) * lanes; ++lane)
      for (int i = 0; i < vectorElements; ++i) {
        uint64_t word = uint64_t(laneOffsets[lane] + i) * elementBits / 32;
        for (int part = 0; part < std::max(1, elementBits / 32); ++part)
          wordsOfBank[(word + part) % 32].insert(word + part);
      }
    size_t most = 0;
    for (auto &[bank, words] : wordsOfBank)
      most = std::max(most, words.size());
    total += static_cast<int>(most);
  }
  return total - groups;
}

TEST(LayoutMemory, BankConflictsMatchCounting) {
  RandomLayouts random(44);
  std::map<int, int> seen;
  for (int trial = 0; trial < 600; ++trial) {
    std::vector<int> shape = random.shape(2, 9 + random.upTo(3));
    LinearLayout layout = random.distributed(shape, 5, 1);
    LinearLayout memory = random.memory(shape);
    if (trial % 2) { // plain memory gives heavier conflicts
      memory.columns(InDim::Offset) = f2::identityColumns(layout.numOutBits());
      layout = makeCoalesced(shape, trial % 4 == 1 ? std::vector<int>{0, 1} : rowMajorOrder(2),
                             1 << random.upTo(3), 5, 1);
    }
    int elementBits = 8 << random.upTo(3);
    int most = f2::floorLog2(128 / elementBits);
    // Vectors lie at aligned offsets, as accesses do.
    int log2Vector = random.upTo(most);
    IndexMap offsets = *memoryOffsets(memory, layout);
    std::vector<uint32_t> laneOffsets;
    for (int lane = 0; lane < 32; ++lane)
      laneOffsets.push_back(offsets.apply(InDim::Lane, lane)[InDim::Offset] >> log2Vector
                                                                                   << log2Vector);
    int expected = countWavefronts(laneOffsets, elementBits, 1 << log2Vector);
    EXPECT_EQ(bankConflicts(memory, layout, elementBits, 1 << log2Vector), expected);
    ++seen[expected];
  }
  EXPECT_GT(seen.size(), 4u); // the test has met conflicts of several degrees
  EXPECT_GT(seen[0], 10);
}

TEST(LayoutMemory, KnownConflicts) {
  // 32x32 f32: rows are free of conflicts, columns are 32-way.
  LinearLayout memory({5, 5});
  memory.columns(InDim::Offset) = f2::identityColumns(10);
  LinearLayout rows({5, 5}), columns({5, 5});
  rows.columns(InDim::Lane) = f2::identityColumns(5);
  columns.columns(InDim::Lane) = f2::identityColumns(5, 5);
  EXPECT_EQ(bankConflicts(memory, rows, 32, 1), 0);
  EXPECT_EQ(bankConflicts(memory, columns, 32, 1), 31);
  // 128-byte rows of f16: eight rows of 16 bytes collide without a swizzle and
  // do not with one (what ldmatrix reads).
  LinearLayout chunkPerRow({3, 6});
  chunkPerRow.columns(InDim::Lane) = {64, 128, 256, 8, 16};
  EXPECT_EQ(bankConflicts(makeSwizzledShared({3, 6}, 16, 0), chunkPerRow, 16, 8), 28);
  EXPECT_EQ(bankConflicts(makeSwizzledShared({3, 6}, 16, 128), chunkPerRow, 16, 8), 0);
  EXPECT_EQ(bankConflicts(LinearLayout({5, 5}), rows, 32, 1), -1);
}
