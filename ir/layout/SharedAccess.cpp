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
static constexpr int wordBits = 32;

bool SharedSide::piecesDifferByThread() const {
  auto isSet = [](uint32_t piece) { return piece != 0; };
  return std::any_of(lanePieces.begin(), lanePieces.end(), isSet) ||
         std::any_of(warpPieces.begin(), warpPieces.end(), isSet);
}

int SharedSide::numInstructions() const {
  size_t count = 0;
  for (const std::vector<SharedAccess> &piece : accesses)
    count += piece.size();
  return static_cast<int>(count);
}

int SharedSide::leastWavefronts(int storedBits) const {
  return numMatrices ? numMatrices
                     : std::max(1, warpLanes * vectorElements * storedBits / wavefrontBits);
}

int SharedSide::wavefronts(int storedBits) const {
  return numInstructions() * (leastWavefronts(storedBits) + extraWavefronts);
}

int SharedSide::registerMoves(int storedBits) const {
  int perWord = std::max(1, wordBits / storedBits), moves = 0;
  auto areNeighbours = [](const std::vector<int> &registers, size_t begin, size_t end) {
    for (size_t index = begin + 1; index < end; ++index)
      if (registers[index] != registers[index - 1] + 1)
        return false;
    return true;
  };
  for (const std::vector<SharedAccess> &piece : accesses)
    for (const SharedAccess &access : piece) {
      size_t count = access.registers.size();
      if (areNeighbours(access.registers, 0, count))
        continue;
      for (size_t begin = 0; begin < count; begin += perWord)
        moves += 1 + !areNeighbours(access.registers, begin, std::min(count, begin + perWord));
    }
  return moves;
}

namespace {

/// An access before it is known to which piece it belongs.
using FlatAccesses = std::vector<SharedAccess>;

} // namespace

/// Cuts the bits from `start` up off each column and returns them.
static Columns takeUpperBits(Columns &columns, int start) {
  Columns upper;
  for (uint32_t &column : columns) {
    upper.push_back(column >> start);
    column &= (uint32_t(1) << start) - 1;
  }
  return upper;
}

static void setAddableMask(SharedSide &side) {
  uint32_t threadBits = 0;
  for (const Columns *columns : {&side.laneOffsets, &side.warpOffsets, &side.blockOffsets})
    for (uint32_t offset : *columns)
      threadBits |= offset;
  side.addableMask = ~threadBits;
}

/// Fills in what follows from the columns; false where pieces cannot be told
/// apart as they must be: the lanes of a matrix instruction act together, and each
/// block has memory of its own.
static bool finish(SharedSide &side, const FlatAccesses &flat, const LinearLayout &memory,
                   const LinearLayout &distributed, int log2Pieces) {
  int log2PieceElements = memory.numInBits(InDim::Offset) - log2Pieces;
  side.lanePieces = takeUpperBits(side.laneOffsets, log2PieceElements);
  side.warpPieces = takeUpperBits(side.warpOffsets, log2PieceElements);
  auto isSet = [](uint32_t piece) { return piece != 0; };
  Columns blockPieces = takeUpperBits(side.blockOffsets, log2PieceElements);
  if (std::any_of(blockPieces.begin(), blockPieces.end(), isSet) ||
      (side.numMatrices && std::any_of(side.lanePieces.begin(), side.lanePieces.end(), isSet)))
    return false;
  setAddableMask(side);
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

/// Gives each lane bit that meets others in their banks a part of the access number that
/// leads it to other ones, if that pays.
static void addTurns(SharedSide &side, int storedBits) {
  const std::vector<SharedAccess> &accesses = side.accesses.front();
  Columns offsets = side.laneOffsets, turns(offsets.size(), 0);
  int extra = side.extraWavefronts, selects = 0;
  // Accesses are in the order of their offsets, which are a linear space, so offsets are
  // linear in the number of the access. Each turn that helps halves the words of a bank.
  for (size_t bit = 0; bit < offsets.size() && extra > 0; ++bit)
    for (uint32_t turn = 1; turn < accesses.size(); ++turn) {
      Columns tried = offsets;
      tried[bit] ^= accesses[turn].offset;
      int left = bankConflicts(tried, storedBits, side.vectorElements);
      if (left >= extra)
        continue;
      offsets = std::move(tried);
      extra = left;
      turns[bit] = turn;
      ++selects;
      break;
    }
  // A wavefront is a cycle of the multiprocessor, for each of its warps; a select is two of
  // one of its four parts. Registers and addresses cost something, too.
  // So three wavefronts have to be saved for two selects.
  int words = std::max(1, side.vectorElements * storedBits / wordBits);
  if (selects == 0 || 2 * (side.extraWavefronts - extra) < 3 * selects * words)
    return;
  side.laneOffsets = offsets;
  side.laneTurns = turns;
  side.extraWavefronts = extra;
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
  auto cost = [&](const SharedSide &side) {
    return std::make_tuple(side.wavefronts(storedBits), side.numInstructions());
  };
  for (bool transposed : {false, true}) {
    if (!options.allowMatrices)
      break;
    std::optional<SharedSide> matrices =
        planMatrices(memory, distributed, storedBits, transposed, options.log2Pieces);
    if (matrices && (!best || cost(*matrices) < cost(*best)))
      best = std::move(matrices);
  }
  if (best && options.allowTurns && !best->numMatrices && options.log2Pieces == 0) {
    addTurns(*best, storedBits);
    setAddableMask(*best);
  }
  return best;
}

} // namespace tilewright
