//===- MatrixAccess.cpp - ldmatrix and stmatrix by layout -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/MatrixAccess.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutMemory.h"

#include <algorithm>

namespace tilewright {

static constexpr int rowBits = 128;
static constexpr int wordBits = 32;
static constexpr int log2MaxMatrices = 2;
static constexpr int numLaneBits = 5;

namespace {

/// The offsets of all bits, and which register bits do what.
struct Roles {
  Columns registers, lanes;
  /// Register bits within a word, lowest first, and the others.
  std::vector<int> inWord, others;
};

} // namespace

/// Whether the bits given lie on 16-byte boundaries.
static bool areAligned(const Columns &offsets, uint32_t rowMask) {
  return std::all_of(offsets.begin(), offsets.end(),
                     [&](uint32_t offset) { return (offset & rowMask) == 0; });
}

/// Splits the register bits into those of a word and the others; false where
/// the word's bits are missing.
static bool assignWord(Roles &roles, bool transposed, int log2PerWord) {
  for (int bit = 0; bit < log2PerWord; ++bit) {
    // Two rows share a word of the transposed form: any register bit will do,
    // and the lowest is the one that mma packs.
    auto found =
        transposed ? roles.registers.begin()
                   : std::find(roles.registers.begin(), roles.registers.end(), uint32_t(1) << bit);
    if (found == roles.registers.end())
      return false;
    roles.inWord.push_back(static_cast<int>(found - roles.registers.begin()));
  }
  for (int bit = 0; bit < static_cast<int>(roles.registers.size()); ++bit)
    if (std::find(roles.inWord.begin(), roles.inWord.end(), bit) == roles.inWord.end())
      roles.others.push_back(bit);
  return true;
}

/// The five offsets of a row's number (three bits) within a matrix and the two
/// lane bits, or three, that run along a row.
static bool assignLanes(const Roles &roles, bool transposed, int log2PerWord, uint32_t rowMask,
                        Columns &rows) {
  Columns low(roles.lanes.begin(), roles.lanes.begin() + 2);
  Columns high(roles.lanes.begin() + 2, roles.lanes.end());
  const Columns &along = transposed ? high : low;
  int firstBit = transposed ? 0 : log2PerWord;
  if (along != f2::identityColumns(static_cast<int>(along.size()), firstBit))
    return false;
  rows = high;
  if (transposed)
    rows = f2::concat({roles.registers[roles.inWord[0]]}, low);
  return areAligned(rows, rowMask);
}

/// The register whose bits `bits` are those of `value`.
static int spread(const std::vector<int> &bits, int value) {
  int reg = 0;
  for (size_t i = 0; i < bits.size(); ++i)
    reg |= (value >> i & 1) << bits[i];
  return reg;
}

static void listAccesses(MatrixAccessPlan &plan, const Roles &roles,
                         const std::vector<int> &names) {
  int log2Matrices = f2::floorLog2(plan.numMatrices);
  int numAccesses = (1 << roles.others.size()) >> log2Matrices;
  for (int number = 0; number < numAccesses; ++number) {
    MatrixAccess access;
    for (int matrix = 0; matrix < plan.numMatrices; ++matrix) {
      int reg = spread(roles.others, number << log2Matrices | matrix);
      if (matrix == 0)
        access.offset = f2::multiply(roles.registers, reg);
      for (int element = 0; element < plan.elementsPerWord; ++element)
        access.registers.push_back(names[reg | spread(roles.inWord, element)]);
    }
    plan.accesses.push_back(std::move(access));
  }
}

std::optional<MatrixAccessPlan> planMatrixAccess(const LinearLayout &memory,
                                                 const LinearLayout &distributed, int elementBits,
                                                 bool transposed) {
  bool fits =
      transposed ? elementBits == 16 : elementBits == 8 || elementBits == 16 || elementBits == 32;
  if (!fits || distributed.numInBits(InDim::Lane) != numLaneBits)
    return std::nullopt;
  LinearLayout compact = removeZeroRegisters(distributed);
  std::optional<IndexMap> offsets = memoryOffsets(memory, compact);
  if (!offsets)
    return std::nullopt;

  MatrixAccessPlan plan;
  plan.transposed = transposed;
  plan.elementsPerWord = wordBits / elementBits;
  plan.warpOffsets = offsets->part(InDim::Warp, InDim::Offset);
  plan.blockOffsets = offsets->part(InDim::Block, InDim::Offset);
  uint32_t rowMask = rowBits / elementBits - 1;
  int log2PerWord = f2::floorLog2(plan.elementsPerWord);

  Roles roles;
  roles.registers = offsets->part(InDim::Register, InDim::Offset);
  roles.lanes = offsets->part(InDim::Lane, InDim::Offset);
  Columns otherOffsets;
  if (!assignWord(roles, transposed, log2PerWord) ||
      !assignLanes(roles, transposed, log2PerWord, rowMask, plan.rowOffsets))
    return std::nullopt;
  for (int bit : roles.others)
    otherOffsets.push_back(roles.registers[bit]);
  if (!areAligned(otherOffsets, rowMask) || !areAligned(plan.warpOffsets, rowMask) ||
      !areAligned(plan.blockOffsets, rowMask))
    return std::nullopt;

  // The lowest other register bits tell the matrices of an instruction apart.
  int log2Matrices = std::min<int>(log2MaxMatrices, static_cast<int>(roles.others.size()));
  plan.numMatrices = 1 << log2Matrices;
  for (int bit = 0; bit < log2MaxMatrices; ++bit)
    plan.rowOffsets.push_back(bit < log2Matrices ? otherOffsets[bit] : 0);
  listAccesses(plan, roles, keptRegisters(distributed));
  // Eight rows of 16 bytes are served together, as eight lanes with vectors of
  // 16 bytes are; that count is over the four groups of a warp.
  plan.extraWavefronts = bankConflicts(plan.rowOffsets, elementBits, rowBits / elementBits) *
                         plan.numMatrices / (1 << log2MaxMatrices);
  return plan;
}

} // namespace tilewright
