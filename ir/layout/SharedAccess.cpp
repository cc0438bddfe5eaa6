//===- SharedAccess.cpp - How threads access a tile in shared memory ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/SharedAccess.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/layout/MatrixAccess.h"

#include <algorithm>
#include <tuple>

namespace tilewright {

/// The widest access of a thread, and what one wavefront of a warp carries.
static constexpr int log2VectorBits = 7;
static constexpr int wavefrontBits = 1024;
static constexpr int warpLanes = 32;

int SharedSide::wavefronts(int storedBits) const {
  size_t count = 0;
  for (const std::vector<SharedAccess> &piece : accesses)
    count += piece.size();
  int least = numMatrices ? numMatrices
                          : std::max(1, warpLanes * vectorElements * storedBits / wavefrontBits);
  return static_cast<int>(count) * (least + extraWavefronts);
}

namespace {

/// An access before it is known to which piece it belongs.
using FlatAccesses = std::vector<SharedAccess>;

} // namespace

/// Fills in what follows from the columns; false where a thread's part decides
/// about the piece.
static bool finish(SharedSide &side, const FlatAccesses &flat, const LinearLayout &memory,
                   const LinearLayout &distributed, int log2Pieces) {
  uint32_t threadBits = 0;
  for (const Columns *columns : {&side.laneOffsets, &side.warpOffsets, &side.blockOffsets})
    for (uint32_t offset : *columns)
      threadBits |= offset;
  side.addableMask = ~threadBits;
  int log2PieceElements = memory.numInBits(InDim::Offset) - log2Pieces;
  if (threadBits >> log2PieceElements)
    return false;

  side.duplicateMasks = duplicateThreadMasks(distributed);
  // Blocks have memory of their own each.
  side.duplicateMasks[InDim::Block] = 0;
  std::vector<int> names = keptRegisters(distributed);
  for (int reg : compactRegisterOf(distributed))
    side.registerOf.push_back(names[reg]);

  uint32_t pieceMask = (uint32_t(1) << log2PieceElements) - 1;
  side.accesses.resize(size_t(1) << log2Pieces);
  for (const SharedAccess &access : flat)
    side.accesses[access.offset >> log2PieceElements].push_back(
        {access.offset & pieceMask, access.registers});
  return true;
}

static std::optional<SharedSide> planVectors(const LinearLayout &memory,
                                             const LinearLayout &distributed, int storedBits,
                                             const SharedSideOptions &options) {
  LinearLayout compact = removeZeroRegisters(distributed);
  std::optional<IndexMap> offsets = memoryOffsets(memory, compact);
  if (!offsets)
    return std::nullopt;
  SharedSide side;
  side.laneOffsets = offsets->part(InDim::Lane, InDim::Offset);
  side.warpOffsets = offsets->part(InDim::Warp, InDim::Offset);
  side.blockOffsets = offsets->part(InDim::Block, InDim::Offset);

  int widest = log2VectorBits - f2::floorLog2(storedBits);
  if (options.maxLog2Vector >= 0)
    widest = std::min(widest, options.maxLog2Vector);
  MemoryVectors found =
      memoryVectors(*offsets, compact.inSize(InDim::Register), std::max(0, widest));
  side.vectorElements = found.vectors.numElements();
  side.extraWavefronts = bankConflicts(side.laneOffsets, storedBits, side.vectorElements);

  std::vector<int> names = keptRegisters(distributed);
  FlatAccesses flat;
  for (int vector = 0; vector < found.vectors.numVectors(); ++vector) {
    SharedAccess access{found.offsets[vector], {}};
    for (int index = 0; index < side.vectorElements; ++index)
      access.registers.push_back(
          names[found.vectors.registers[vector * side.vectorElements + index]]);
    flat.push_back(std::move(access));
  }
  if (!finish(side, flat, memory, distributed, options.log2Pieces))
    return std::nullopt;
  return side;
}

static std::optional<SharedSide> planMatrices(const LinearLayout &memory,
                                              const LinearLayout &distributed, int storedBits,
                                              bool transposed, int log2Pieces) {
  std::optional<MatrixAccessPlan> plan =
      planMatrixAccess(memory, distributed, storedBits, transposed);
  if (!plan)
    return std::nullopt;
  SharedSide side;
  side.numMatrices = plan->numMatrices;
  side.vectorElements = plan->numMatrices * plan->elementsPerWord;
  side.transposed = transposed;
  side.laneOffsets = plan->rowOffsets;
  side.warpOffsets = plan->warpOffsets;
  side.blockOffsets = plan->blockOffsets;
  side.extraWavefronts = plan->extraWavefronts;
  FlatAccesses flat;
  for (const MatrixAccess &access : plan->accesses)
    flat.push_back({access.offset, access.registers});
  if (!finish(side, flat, memory, distributed, log2Pieces))
    return std::nullopt;
  return side;
}

std::optional<SharedSide> planSharedSide(const LinearLayout &memory,
                                         const LinearLayout &distributed, int storedBits,
                                         const SharedSideOptions &options) {
  std::optional<SharedSide> best = planVectors(memory, distributed, storedBits, options);
  if (!options.allowMatrices)
    return best;
  auto cost = [&](const SharedSide &side) {
    size_t instructions = 0;
    for (const std::vector<SharedAccess> &piece : side.accesses)
      instructions += piece.size();
    return std::make_tuple(side.wavefronts(storedBits), instructions);
  };
  for (bool transposed : {false, true}) {
    std::optional<SharedSide> matrices =
        planMatrices(memory, distributed, storedBits, transposed, options.log2Pieces);
    if (matrices && (!best || cost(*matrices) < cost(*best)))
      best = std::move(matrices);
  }
  return best;
}

} // namespace tilewright
