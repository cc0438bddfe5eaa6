//===- LayoutMemory.cpp - What a layout says about memory accesses --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutMemory.h"

#include "ir/layout/F2.h"

#include <algorithm>

namespace tilewright {

/// log2 of the size of one bank word and of all banks together, in bits.
static constexpr int log2WordBits = 5;
static constexpr int log2AllBanksBits = 10;
/// Lanes of one warp, log2.
static constexpr int log2WarpLanes = 5;

//===--- vectors along a dimension ----------------------------------------===//

/// The register bits that are element bits 0, 1, ... of `dim`, each the only
/// column with that bit: any other would move the vector off its alignment.
static std::vector<int> vectorRegisterBits(const LinearLayout &layout, int dim) {
  const Columns &registers = layout.columns(InDim::Register);
  Columns all = flatten(layout);
  std::vector<int> result;
  for (int bit = 0; bit < layout.log2Shape()[dim]; ++bit) {
    uint32_t element = uint32_t(1) << (layout.dimStartBit(dim) + bit);
    auto found = std::find(registers.begin(), registers.end(), element);
    auto users = std::count_if(all.begin(), all.end(),
                               [&](uint32_t column) { return (column & element) != 0; });
    if (found == registers.end() || users != 1)
      break;
    result.push_back(static_cast<int>(found - registers.begin()));
  }
  return result;
}

int contiguousPerThread(const LinearLayout &layout, int dim) {
  std::vector<int> bits = vectorRegisterBits(layout, dim);
  int count = 0;
  while (count < static_cast<int>(bits.size()) && bits[count] == count)
    ++count;
  return count;
}

VectorRegisters vectorRegisters(const LinearLayout &layout, int dim, int maxLog2Elements) {
  std::vector<int> order = vectorRegisterBits(layout, dim);
  if (static_cast<int>(order.size()) > maxLog2Elements)
    order.resize(std::max(0, maxLog2Elements));
  VectorRegisters result;
  result.log2Elements = static_cast<int>(order.size());
  for (int bit = 0; bit < layout.numInBits(InDim::Register); ++bit)
    if (std::find(order.begin(), order.end(), bit) == order.end())
      order.push_back(bit);
  for (int position = 0; position < layout.inSize(InDim::Register); ++position) {
    int reg = 0;
    for (size_t bit = 0; bit < order.size(); ++bit)
      reg |= (position >> bit & 1) << order[bit];
    result.registers.push_back(reg);
  }
  return result;
}

HardwareIndex duplicateThreadMasks(const LinearLayout &layout) {
  HardwareIndex result;
  f2::Basis basis;
  for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp, InDim::Block})
    for (int bit = 0; bit < layout.numInBits(dim); ++bit)
      if (!basis.insert(layout.columns(dim)[bit]) && dim != InDim::Register)
        result[dim] |= uint32_t(1) << bit;
  return result;
}

//===--- vectors in memory ------------------------------------------------===//

std::optional<IndexMap> memoryOffsets(const LinearLayout &memory, const LinearLayout &distributed) {
  return invertAndCompose(distributed, memory);
}

int log2SharedRun(const LinearLayout &layout, const IndexMap &offsets, int dim, int limit) {
  const Columns &registers = layout.columns(InDim::Register);
  Columns others;
  for (InDim from : {InDim::Register, InDim::Lane, InDim::Warp})
    for (uint32_t offset : offsets.part(from, InDim::Offset))
      others.push_back(offset);
  int run = 0;
  for (; run < limit; ++run) {
    uint32_t element = uint32_t(1) << (layout.dimStartBit(dim) + run);
    auto found = std::find(registers.begin(), registers.end(), element);
    if (found == registers.end())
      break;
    size_t bit = found - registers.begin();
    auto users = std::count_if(others.begin(), others.end(),
                               [&](uint32_t offset) { return offset >> run & 1; });
    if (offsets.apply(InDim::Register, 1u << bit)[InDim::Offset] != 1u << run || users != 1)
      break;
  }
  return run;
}

MemoryVectors memoryVectors(const IndexMap &offsets, int numRegisters, int maxLog2Elements) {
  Columns registers = offsets.part(InDim::Register, InDim::Offset);
  uint32_t threadBits = 0;
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    for (uint32_t column : offsets.part(dim, InDim::Offset))
      threadBits |= column;
  f2::Basis span(registers);
  int log2Elements = 0;
  while (log2Elements < maxLog2Elements && (threadBits >> log2Elements & 1) == 0 &&
         span.contains(uint32_t(1) << log2Elements))
    ++log2Elements;

  // Sorting by offset puts the members of a vector next to each other.
  std::vector<std::pair<uint32_t, int>> sorted;
  for (int reg = 0; reg < numRegisters; ++reg)
    sorted.push_back({f2::multiply(registers, reg), reg});
  std::sort(sorted.begin(), sorted.end());
  MemoryVectors result;
  result.vectors.log2Elements = log2Elements;
  for (size_t i = 0; i < sorted.size(); ++i) {
    result.vectors.registers.push_back(sorted[i].second);
    if (i % result.vectors.numElements() == 0)
      result.offsets.push_back(sorted[i].first);
  }
  return result;
}

//===--- bank conflicts ---------------------------------------------------===//

int bankConflicts(const Columns &laneOffsets, int elementBits, int vectorElements) {
  int log2ElementBits = f2::floorLog2(elementBits);
  int log2Vector = f2::floorLog2(vectorElements);
  int log2Groups = std::max(0, log2ElementBits + log2Vector - log2WordBits);
  int groupLanes = std::min<int>(laneOffsets.size(), std::max(0, log2WarpLanes - log2Groups));

  // The offsets that one group touches differ by the span of these.
  Columns touched(laneOffsets.begin(), laneOffsets.begin() + groupLanes);
  touched = f2::concat(touched, f2::identityColumns(log2Vector));
  Columns words, banks;
  for (uint32_t offset : touched) {
    uint64_t bits = uint64_t(offset) << log2ElementBits;
    words.push_back(static_cast<uint32_t>(bits >> log2WordBits));
    banks.push_back(words.back() & ((1u << (log2AllBanksBits - log2WordBits)) - 1));
  }
  // Distinct words over distinct banks; linear, so equally many in every bank.
  int log2WordsPerBank = f2::rank(words) - f2::rank(banks);
  return ((1 << log2WordsPerBank) - 1) << log2Groups;
}

int bankConflicts(const LinearLayout &memory, const LinearLayout &distributed, int elementBits,
                  int vectorElements) {
  std::optional<IndexMap> offsets = memoryOffsets(memory, distributed);
  if (!offsets)
    return -1;
  return bankConflicts(offsets->part(InDim::Lane, InDim::Offset), elementBits, vectorElements);
}

} // namespace tilewright
