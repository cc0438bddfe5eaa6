//===- ConversionMachine.h - Conversions on a software GPU ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: carries out the plan of a conversion, step by step as the plan's header says,
// on arrays of [block][warp][lane][register] whose values are element numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_CONVERSIONMACHINE_H
#define TILEWRIGHT_TESTS_UNIT_CONVERSIONMACHINE_H

#include "ir/layout/ConversionPlan.h"
#include "ir/layout/LayoutMemory.h"
#include "tests/unit/LayoutTestSupport.h"

#include <gtest/gtest.h>
#include <map>

namespace tilewright::layouttest {

inline constexpr uint32_t nothing = ~0u;
using Registers = std::vector<uint32_t>;

/// The registers of every thread.
struct Machine {
  int blocks, warps, lanes;
  std::vector<Registers> threads;

  explicit Machine(const LinearLayout &layout, int numRegisters)
      : blocks(layout.inSize(InDim::Block)), warps(layout.inSize(InDim::Warp)),
        lanes(layout.inSize(InDim::Lane)),
        threads(blocks * warps * lanes, Registers(numRegisters, nothing)) {}

  Registers &at(int lane, int warp, int block) {
    return threads[(block * warps + warp) * lanes + lane];
  }
  template <typename Visit> void forEachThread(Visit visit) {
    for (int block = 0; block < blocks; ++block)
      for (int warp = 0; warp < warps; ++warp)
        for (int lane = 0; lane < lanes; ++lane)
          visit(lane, warp, block);
  }
};

/// Every register holds the number of its element.
inline Machine holding(const LinearLayout &layout) {
  Machine machine(layout, layout.inSize(InDim::Register));
  machine.forEachThread([&](int lane, int warp, int block) {
    for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg)
      machine.at(lane, warp, block)[reg] = layout.apply(reg, lane, warp, block);
  });
  return machine;
}

inline void exchange(const std::vector<RegisterSwap> &swaps, Machine &machine) {
  machine.forEachThread([&](int lane, int warp, int block) {
    Registers &registers = machine.at(lane, warp, block);
    for (const RegisterSwap &swap : swaps) {
      if (!swap.holds(lane, warp, block))
        continue;
      Registers before = registers;
      for (size_t reg = 0; reg < registers.size(); ++reg)
        registers[reg] = before[reg ^ swap.registerMask];
    }
  });
}

inline Machine runShuffle(const ShufflePlan &plan, Machine src, int elementBits) {
  Machine work = src;
  work.forEachThread([&](int lane, int warp, int block) {
    Registers &registers = work.at(lane, warp, block);
    registers.resize(plan.sourceRegisters.size());
    for (size_t i = 0; i < registers.size(); ++i)
      registers[i] = src.at(lane, warp, block)[plan.sourceRegisters[i]];
  });
  exchange(plan.before, work);
  Machine slots = work;
  slots.forEachThread([&](int lane, int warp, int block) {
    slots.at(lane, warp, block).assign(plan.numSlots, nothing);
  });
  for (const ShuffleRound &round : plan.rounds) {
    EXPECT_EQ(round.sources.size(), round.slots.size());
    EXPECT_LE(round.sources.size() * elementBits, std::max(32, elementBits) + 0u);
    slots.forEachThread([&](int lane, int warp, int block) {
      int from = plan.sourceLane(round, lane, warp, block);
      if (plan.isLocal(round))
        EXPECT_EQ(from, lane);
      if (plan.isButterfly())
        EXPECT_EQ(from, lane ^ static_cast<int>(round.laneXor));
      for (size_t j = 0; j < round.slots.size(); ++j)
        slots.at(lane, warp, block)[round.slots[j]] = work.at(from, warp, block)[round.sources[j]];
    });
  }
  exchange(plan.after, slots);
  Machine dst = slots;
  dst.forEachThread([&](int lane, int warp, int block) {
    Registers &registers = dst.at(lane, warp, block);
    registers.clear();
    for (int slot : plan.destinationSlots)
      registers.push_back(slots.at(lane, warp, block)[slot]);
  });
  return dst;
}

inline uint32_t threadOffset(const SharedSide &side, int lane, int warp, int block) {
  return f2::multiply(side.laneOffsets, lane) ^ f2::multiply(side.warpOffsets, warp) ^
         f2::multiply(side.blockOffsets, block);
}

/// The offset of element `index` of an access: as lanes address vectors, or as a
/// matrix instruction spreads the rows whose addresses lanes give.
inline uint32_t elementOffset(const SharedSide &side, const SharedAccess &access, int lane,
                              int warp, int block, int index) {
  auto addressOf = [&](int lane) {
    uint32_t thread = threadOffset(side, lane, warp, block);
    uint32_t first = thread ^ access.offset;
    // The header's promise about immediates.
    uint32_t added = access.offset & side.addableMask;
    EXPECT_EQ((thread ^ (access.offset & ~side.addableMask)) + added, first);
    return first;
  };
  if (!side.numMatrices) {
    EXPECT_EQ(addressOf(lane) % side.vectorElements, 0u);
    return addressOf(lane) + index;
  }
  int perWord = side.vectorElements / side.numMatrices;
  int row = 8 * (index / perWord), inWord = index % perWord;
  if (side.transposed)
    return addressOf(row + 2 * (lane % 4) + inWord) + lane / 4;
  return addressOf(row + lane / 4) + lane % 4 * perWord + inWord;
}

/// Visits (register, offset) of every element that a thread accesses in a
/// piece.
template <typename Visit>
void forEachAccess(const SharedSide &side, int piece, int lane, int warp, int block, Visit visit) {
  uint32_t own = f2::multiply(side.lanePieces, lane) ^ f2::multiply(side.warpPieces, warp);
  for (const SharedAccess &access : side.accesses[piece ^ own]) {
    EXPECT_EQ(static_cast<int>(access.registers.size()), side.vectorElements);
    for (int i = 0; i < side.vectorElements; ++i)
      visit(access.registers[i], elementOffset(side, access, lane, warp, block, i));
  }
}

inline Machine runShared(const SharedMemoryPlan &plan, Machine src, const LinearLayout &dstLayout) {
  Machine dst(dstLayout, dstLayout.inSize(InDim::Register));
  size_t elements = plan.scratchBytes / (plan.storedBits / 8);
  EXPECT_EQ(elements, size_t(1) << plan.memory.numInBits(InDim::Offset));
  for (int piece = 0; piece < plan.numPieces; ++piece) {
    std::vector<Registers> memory(src.blocks, Registers(elements, nothing));
    src.forEachThread([&](int lane, int warp, int block) {
      const HardwareIndex &copies = plan.write.duplicateMasks;
      if ((lane & copies[InDim::Lane]) || (warp & copies[InDim::Warp]))
        return;
      forEachAccess(plan.write, piece, lane, warp, block, [&](int reg, uint32_t offset) {
        ASSERT_LT(offset, elements);
        EXPECT_EQ(memory[block][offset], nothing); // written once
        memory[block][offset] = src.at(lane, warp, block)[reg];
      });
    });
    for (uint32_t offset = 0; piece == 0 && offset < elements; ++offset)
      EXPECT_EQ(memory[0][offset], plan.memory.apply(InDim::Offset, offset));
    dst.forEachThread([&](int lane, int warp, int block) {
      forEachAccess(plan.read, piece, lane, warp, block, [&](int reg, uint32_t offset) {
        ASSERT_LT(offset, elements);
        dst.at(lane, warp, block)[reg] = memory[block][offset];
      });
    });
  }
  dst.forEachThread([&](int lane, int warp, int block) {
    Registers &registers = dst.at(lane, warp, block), loaded = registers;
    for (size_t reg = 0; reg < registers.size(); ++reg)
      registers[reg] = loaded[plan.read.registerOf[reg]];
  });
  return dst;
}

inline Machine runCluster(const ClusterPlan &plan, Machine src, const LinearLayout &dstLayout) {
  Machine dst(dstLayout, dstLayout.inSize(InDim::Register));
  size_t elements = plan.scratchBytes / (plan.storedBits / 8);
  EXPECT_EQ(elements, size_t(1) << plan.log2BlockElements);
  std::vector<Registers> memory(src.blocks, Registers(elements, nothing));
  src.forEachThread([&](int lane, int warp, int block) {
    const HardwareIndex &copies = plan.write.duplicateMasks;
    if ((lane & copies[InDim::Lane]) || (warp & copies[InDim::Warp]))
      return;
    forEachAccess(plan.write, 0, lane, warp, block, [&](int reg, uint32_t offset) {
      ASSERT_LT(offset, elements);
      EXPECT_EQ(memory[block][offset], nothing); // written once
      memory[block][offset] = src.at(lane, warp, block)[reg];
    });
  });
  dst.forEachThread([&](int lane, int warp, int block) {
    // One access stays within one block.
    for (const SharedAccess &access : plan.read.accesses[0])
      EXPECT_LE(access.registers.size(), elements);
    forEachAccess(plan.read, 0, lane, warp, block, [&](int reg, uint32_t flat) {
      uint32_t rank = flat >> plan.log2BlockElements;
      ASSERT_LT(rank, memory.size());
      dst.at(lane, warp, block)[reg] = memory[rank][flat & (elements - 1)];
    });
  });
  dst.forEachThread([&](int lane, int warp, int block) {
    Registers &registers = dst.at(lane, warp, block), loaded = registers;
    for (size_t reg = 0; reg < registers.size(); ++reg)
      registers[reg] = loaded[plan.read.registerOf[reg]];
  });
  return dst;
}

inline void expectHolds(Machine &machine, const LinearLayout &layout, const std::string &what) {
  Machine expected = holding(layout);
  EXPECT_EQ(machine.threads, expected.threads) << what << "\n to " << layout.toString();
}

/// Plans, carries out and checks one conversion.
inline ConversionPlan convertAndCheck(const LinearLayout &src, const LinearLayout &dst,
                                      int elementBits, const ConversionOptions &options = {}) {
  ConversionPlan plan = planConversion(src, dst, elementBits, options);
  std::string what = std::string(conversionKindName(plan.kind)) + " from " + src.toString();
  Machine from = holding(src);
  switch (plan.kind) {
  case ConversionKind::None:
  case ConversionKind::Registers: {
    Machine to(dst, dst.inSize(InDim::Register));
    to.forEachThread([&](int lane, int warp, int block) {
      for (size_t reg = 0; reg < plan.registers.size(); ++reg)
        to.at(lane, warp, block)[reg] = from.at(lane, warp, block)[plan.registers[reg]];
    });
    expectHolds(to, dst, what);
    break;
  }
  case ConversionKind::Shuffle: {
    Machine to = runShuffle(plan.shuffle, from, elementBits);
    expectHolds(to, dst, what);
    break;
  }
  case ConversionKind::SharedMemory: {
    Machine to = runShared(plan.sharedMemory, from, dst);
    expectHolds(to, dst, what);
    break;
  }
  case ConversionKind::AcrossBlocks: {
    Machine to = runCluster(plan.cluster, from, dst);
    expectHolds(to, dst, what);
    break;
  }
  }
  EXPECT_FALSE(plan.reason.empty());
  return plan;
}

} // namespace tilewright::layouttest

#endif // TILEWRIGHT_TESTS_UNIT_CONVERSIONMACHINE_H
