//===- SharedMemoryPlan.cpp - Layout conversion by shared memory ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: the offset bits of the memory layout are (vector | wide | bank |
// segment), lowest first. The low bits up to one line of all banks (1024 bits)
// are vector, wide and bank; the segment bits number lines.
//
//  1. vector: directions that both sides have in registers, as many as 16 bytes
//     hold. Both sides access that many elements at once.
//  2. wide: further register directions of one side up to 16 bytes, tried from
//     most to none. That side takes fewer, wider accesses, if step 3 leaves its
//     vectors whole and free of conflicts; the other is served as well as
//     before. If the word of a bank is not full, any directions fill it.
//  3. segment: an access touches span(vector, wide, lanes), without the top
//     lanes that a wide access serves later. It is free of conflicts exactly
//     when no nonzero combination of segment bits lies in that span and the
//     directions within one word (other parts of a word are in the same bank).
//     So directions are taken that lie outside the spans of both sides: a unit
//     direction where there is one, else a XOR b with a outside the first and b
//     outside the second. Two proper subspaces never cover a space, so this
//     goes on until one span is everything.
//     Spans have at most as many dimensions as a line has bits, so there is
//     always enough left for all segment bits.
//  4. bank: any complement.
//  5. Directions that both sides have in registers come last in the segment,
//     so that the tile can go through memory in pieces.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutMemory.h"

#include <algorithm>

namespace tilewright {

/// The widest shared-memory access of a thread and one line of all banks, bits.
static constexpr int log2VectorBits = 7;
static constexpr int log2LineBits = 10;
static constexpr int log2WordBits = 5;

namespace {

/// The directions of one side, registers without copies.
struct Side {
  Columns registers, lanes, warps;
};

/// Register directions that one side alone has in its vectors.
struct WideVectors {
  bool ofWrite = false;
  Columns columns;
};

/// What is decided about memory, as element columns.
struct MemoryBits {
  Columns vector, wide, filler, bank, segment;
};

} // namespace

static Side directionsOf(const LinearLayout &layout) {
  return {f2::independentColumns(layout.columns(InDim::Register)), layout.columns(InDim::Lane),
          layout.columns(InDim::Warp)};
}

/// The first `count` of `columns`.
static Columns firstColumns(const Columns &columns, int count) {
  size_t size = std::min<size_t>(columns.size(), std::max(0, count));
  return Columns(columns.begin(), columns.begin() + size);
}

/// The columns of `candidates` that are independent of `given` and each other.
static Columns independentOf(const Columns &given, const Columns &candidates) {
  f2::Basis basis(given);
  Columns result;
  for (uint32_t column : candidates)
    if (basis.insert(column))
      result.push_back(column);
  return result;
}

//===--- choosing the bits ------------------------------------------------===//

/// Directions that both sides have in registers, at most 16 bytes of them.
static Columns chooseVector(const Side &src, const Side &dst, int log2StoredBits) {
  return firstColumns(f2::intersection(src.registers, dst.registers),
                      log2VectorBits - log2StoredBits);
}

/// What may be tried as wide vectors, best first; the last has none. Reads come
/// before writes, since a thread waits for them.
static std::vector<WideVectors> listWideVectors(const Side &src, const Side &dst,
                                                int log2StoredBits) {
  Columns vector = chooseVector(src, dst, log2StoredBits);
  int most = log2VectorBits - log2StoredBits - static_cast<int>(vector.size());
  Columns ofRead = independentOf(vector, dst.registers);
  Columns ofWrite = independentOf(vector, src.registers);
  std::vector<WideVectors> result;
  for (size_t count = std::max(0, most); count > 0; --count) {
    if (count <= ofRead.size())
      result.push_back({false, firstColumns(ofRead, count)});
    if (count <= ofWrite.size())
      result.push_back({true, firstColumns(ofWrite, count)});
  }
  result.push_back({});
  return result;
}

/// The directions that one access of a warp touches: its vector and the lanes
/// that are served together.
static Columns touchedBy(const Columns &vector, const Side &side, int log2StoredBits) {
  int log2AccessBits = static_cast<int>(vector.size()) + log2StoredBits;
  int laterLanes = std::max(0, log2AccessBits - log2WordBits);
  return f2::concat(vector,
                    firstColumns(side.lanes, static_cast<int>(side.lanes.size()) - laterLanes));
}

/// `count` directions outside span(first) and span(second), as far as there
/// are.
static Columns chooseSegment(const Columns &first, const Columns &second, const Columns &low,
                             const Columns &candidates, int count) {
  f2::Basis spanFirst(first), spanSecond(second), used(low);
  Columns segment;
  auto wanted = [&] { return static_cast<int>(segment.size()) < count; };
  auto take = [&](uint32_t column) {
    spanFirst.insert(column);
    spanSecond.insert(column);
    used.insert(column);
    segment.push_back(column);
  };
  for (uint32_t column : candidates)
    if (wanted() && !spanFirst.contains(column) && !spanSecond.contains(column) &&
        !used.contains(column))
      take(column);
  // A wide direction in a pair would mix vectors: only where nothing else is
  // left.
  f2::Basis lowSpan(low);
  for (bool mayMix : {false, true})
    for (uint32_t a : candidates)
      for (uint32_t b : candidates)
        if (wanted() && !spanFirst.contains(a) && !spanSecond.contains(b) &&
            spanSecond.contains(a) && spanFirst.contains(b) && !used.contains(a ^ b) &&
            (mayMix || (!lowSpan.contains(a) && !lowSpan.contains(b))))
          take(a ^ b);
  // One span is everything: accept conflicts of that side, then of both.
  for (int pass = 0; pass < 2; ++pass)
    for (uint32_t column : candidates)
      if (wanted() && !used.contains(column) &&
          (pass == 1 || !spanFirst.contains(column) || !spanSecond.contains(column)))
        take(column);
  return segment;
}

static MemoryBits chooseBits(const Side &src, const Side &dst, const WideVectors &wide,
                             int log2StoredBits) {
  MemoryBits bits;
  bits.vector = chooseVector(src, dst, log2StoredBits);
  bits.wide = wide.columns;
  Columns low = f2::concat(bits.vector, bits.wide);
  Columns writeVector = wide.ofWrite ? low : bits.vector;
  Columns readVector = wide.ofWrite ? bits.vector : low;

  // Everything the source holds in one block. Registers of both sides first: as
  // segment bits they are constant offsets, and pieces to go by.
  Columns common = f2::intersection(src.registers, dst.registers);
  Columns candidates = f2::independentColumns(
      f2::concat(f2::concat(common, src.registers), f2::concat(src.warps, src.lanes)));
  // Lanes first where any will do, so that plain cases look plain.
  Columns rest = f2::concat(src.lanes, candidates);
  bits.filler = firstColumns(independentOf(low, rest),
                             log2WordBits - log2StoredBits - static_cast<int>(low.size()));
  low = f2::concat(low, bits.filler);
  Columns word = firstColumns(low, log2WordBits - log2StoredBits);

  int lineBits = log2LineBits - log2StoredBits;
  int segmentBits = static_cast<int>(candidates.size()) - lineBits;
  bits.segment = chooseSegment(f2::concat(word, touchedBy(writeVector, src, log2StoredBits)),
                               f2::concat(word, touchedBy(readVector, dst, log2StoredBits)), low,
                               candidates, segmentBits);
  f2::Basis commonSpan(common);
  Columns repeated;
  auto isRepeated = [&](uint32_t c) { return commonSpan.contains(c); };
  std::copy_if(bits.segment.begin(), bits.segment.end(), std::back_inserter(repeated), isRepeated);
  bits.segment.erase(std::remove_if(bits.segment.begin(), bits.segment.end(), isRepeated),
                     bits.segment.end());
  bits.segment = f2::concat(bits.segment, repeated);
  bits.bank = independentOf(f2::concat(low, bits.segment), rest);
  return bits;
}

//===--- the accesses of one side -----------------------------------------===//

/// How many of the top offset bits belong to registers alone on both sides.
static int countPieceBits(const LinearLayout &memory, const IndexMap &write, const IndexMap &read,
                          int numSegmentBits) {
  uint32_t touched = 0;
  for (const IndexMap *map : {&write, &read})
    for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
      for (uint32_t offset : map->part(dim, InDim::Offset))
        touched |= offset;
  f2::Basis writeSpan(write.part(InDim::Register, InDim::Offset));
  f2::Basis readSpan(read.part(InDim::Register, InDim::Offset));
  int top = memory.numInBits(InDim::Offset) - 1;
  int count = 0;
  while (count < numSegmentBits) {
    uint32_t bit = uint32_t(1) << (top - count);
    if ((touched & bit) || !writeSpan.contains(bit) || !readSpan.contains(bit))
      break;
    ++count;
  }
  return count;
}

//===--- the plan ---------------------------------------------------------===//

/// `layout` with the elements of each block counted from the first that this
/// block holds in `src`: what remains is where they lie within the block.
static LinearLayout relativeToBlocks(const LinearLayout &layout, const LinearLayout &src) {
  LinearLayout relative = layout;
  for (int bit = 0; bit < layout.numInBits(InDim::Block); ++bit)
    relative.columns(InDim::Block)[bit] ^= src.columns(InDim::Block)[bit];
  return relative;
}

namespace {

/// One conversion: both layouts, the destination's blocks counted from the
/// source's, as they are and without copies.
struct Request {
  LinearLayout source, destination;
  LinearLayout from, to;
  int storedBits;
  int64_t maxScratchBytes;
};

} // namespace

static SharedMemoryPlan buildPlan(const Request &request, const WideVectors &wide) {
  SharedMemoryPlan plan;
  plan.storedBits = request.storedBits;
  // 1. The memory layout.
  MemoryBits bits = chooseBits(directionsOf(request.from), directionsOf(request.to), wide,
                               f2::floorLog2(plan.storedBits));
  plan.memory = LinearLayout(request.from.log2Shape());
  Columns &offsetColumns = plan.memory.columns(InDim::Offset);
  for (const Columns *part : {&bits.vector, &bits.wide, &bits.filler, &bits.bank, &bits.segment})
    offsetColumns = f2::concat(offsetColumns, *part);

  // 2. The offsets of both sides; memory holds all that either wants.
  IndexMap write = *memoryOffsets(plan.memory, request.from);
  IndexMap read = *memoryOffsets(plan.memory, request.to);

  // 3. Pieces, no more of them than the limit asks for.
  int log2Elements = static_cast<int>(offsetColumns.size());
  int mostPieceBits =
      countPieceBits(plan.memory, write, read, static_cast<int>(bits.segment.size()));
  auto bytesOf = [&](int log2Count) { return (int64_t(1) << log2Count) * (plan.storedBits / 8); };
  int pieceBits = 0;
  while (request.maxScratchBytes > 0 && pieceBits < mostPieceBits &&
         bytesOf(log2Elements - pieceBits) > request.maxScratchBytes)
    ++pieceBits;
  LinearLayout whole = plan.memory;
  offsetColumns.resize(log2Elements - pieceBits);
  plan.numPieces = 1 << pieceBits;
  plan.scratchBytes = bytesOf(log2Elements - pieceBits);

  // 4. The accesses.
  int common = static_cast<int>(bits.vector.size());
  int widest = common + static_cast<int>(bits.wide.size());
  SharedSideOptions options;
  options.log2Pieces = pieceBits;
  options.maxLog2Vector = wide.ofWrite ? widest : common;
  plan.write = *planSharedSide(whole, request.source, plan.storedBits, options);
  options.maxLog2Vector = wide.ofWrite ? common : widest;
  plan.read = *planSharedSide(whole, request.destination, plan.storedBits, options);
  return plan;
}

std::optional<SharedMemoryPlan> planSharedMemory(const LinearLayout &src, const LinearLayout &dst,
                                                 int elementBits,
                                                 const ConversionOptions &options) {
  if (src.numInBits(InDim::Block) != dst.numInBits(InDim::Block))
    return std::nullopt;
  Request request;
  request.source = relativeToBlocks(src, src);
  request.destination = relativeToBlocks(dst, src);
  request.from = removeZeroRegisters(request.source);
  request.to = removeZeroRegisters(request.destination);
  request.storedBits = std::max(8, elementBits);
  request.maxScratchBytes = options.maxScratchBytes;
  // A block of the destination may only want what the same block holds.
  if (!invertAndCompose(request.to, request.from))
    return std::nullopt;

  SharedMemoryPlan plan;
  for (const WideVectors &wide :
       listWideVectors(directionsOf(request.from), directionsOf(request.to),
                       f2::floorLog2(request.storedBits))) {
    plan = buildPlan(request, wide);
    const SharedSide &side = wide.ofWrite ? plan.write : plan.read;
    const SharedSide &other = wide.ofWrite ? plan.read : plan.write;
    if (side.extraWavefronts + other.extraWavefronts == 0 &&
        side.vectorElements == other.vectorElements << wide.columns.size())
      break;
  }
  return plan;
}

} // namespace tilewright
