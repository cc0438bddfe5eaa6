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
//  5. The segment is sorted: last come bits that no thread's part touches, then
//     those of warps, then the rest. The tile goes through memory in pieces by the
//     top bits, and a piece that all threads share needs no branches.
//
// Matrix instructions fit in by a change of view. ldmatrix is an access of 16-byte
// vectors by other lanes: the columns along a row are its vector, the columns that
// tell rows and matrices apart its lanes. So each side is tried as it is and in
// that view (MatrixAccess.h has the two forms), and the cheapest plan is taken.
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
  /// The vector that a matrix instruction has to find, in order; empty: none.
  Columns row;
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

static Side directionsOf(const LinearLayout &layout) {
  return {f2::independentColumns(layout.columns(InDim::Register)),
          layout.columns(InDim::Lane),
          layout.columns(InDim::Warp),
          {}};
}

/// `side` as the rows of a matrix instruction; nothing where it has none. A word
/// holds the lowest registers.
static std::optional<Side> matrixView(const Side &side, int storedBits, bool transposed) {
  constexpr int numLanes = 5, log2Rows = 3, log2MaxMatrices = 2;
  int inWord = log2WordBits - f2::floorLog2(storedBits);
  bool fits = transposed ? storedBits == 16 : storedBits >= 8 && storedBits <= 32;
  if (!fits || side.lanes.size() != numLanes || static_cast<int>(side.registers.size()) < inWord)
    return std::nullopt;
  Columns word = firstColumns(side.registers, inWord);
  Columns others(side.registers.begin() + inWord, side.registers.end());
  Columns low(side.lanes.begin(), side.lanes.begin() + numLanes - log2Rows);
  Columns high(side.lanes.begin() + numLanes - log2Rows, side.lanes.end());

  Side view;
  view.row = transposed ? high : f2::concat(word, low);
  view.lanes = transposed ? f2::concat(word, low) : high;
  if (f2::rank(view.row) != static_cast<int>(view.row.size()))
    return std::nullopt;
  Columns matrices = firstColumns(others, log2MaxMatrices);
  view.registers = f2::concat(view.row, Columns(others.begin() + matrices.size(), others.end()));
  matrices.resize(log2MaxMatrices, 0);
  view.lanes = f2::concat(view.lanes, matrices);
  view.warps = side.warps;
  return view;
}

/// The ways to look at one side, itself first.
static std::vector<Side> viewsOf(const LinearLayout &layout, int storedBits, bool withMatrices) {
  std::vector<Side> views{directionsOf(layout)};
  for (bool transposed : {false, true})
    if (withMatrices)
      if (std::optional<Side> view = matrixView(views.front(), storedBits, transposed))
        views.push_back(*view);
  return views;
}

//===--- choosing the bits ------------------------------------------------===//

/// Directions that both sides have in registers, at most 16 bytes of them.
static Columns chooseVector(const Side &src, const Side &dst, int log2StoredBits) {
  // In the order of the side that cares.
  bool dstOrder = src.row.empty() && !dst.row.empty();
  return firstColumns(dstOrder ? f2::intersection(dst.registers, src.registers)
                               : f2::intersection(src.registers, dst.registers),
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
  bits.bank = independentOf(f2::concat(low, bits.segment), rest);
  return bits;
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
  ConversionOptions options;
};

/// One way to lay memory out.
struct Candidate {
  Side src, dst;
  WideVectors wide;
};

} // namespace

/// Sorts segment bits, which begin at offset bit `start`, by who touches them
/// (step 5).
static void sortSegment(LinearLayout &memory, int start, const Request &request) {
  Columns &columns = memory.columns(InDim::Offset);
  IndexMap maps[] = {*memoryOffsets(memory, request.from), *memoryOffsets(memory, request.to)};
  auto touchedBy = [&](InDim dim, int bit) {
    for (const IndexMap &map : maps)
      for (uint32_t offset : map.part(dim, InDim::Offset))
        if (offset >> bit & 1)
          return true;
    return false;
  };
  std::vector<uint32_t> ranks[3];
  for (int bit = start; bit < static_cast<int>(columns.size()); ++bit) {
    int rank = touchedBy(InDim::Lane, bit) || touchedBy(InDim::Block, bit) ? 0
               : touchedBy(InDim::Warp, bit)                               ? 1
                                                                           : 2;
    ranks[rank].push_back(columns[bit]);
  }
  auto place = columns.begin() + start;
  for (const std::vector<uint32_t> &rank : ranks)
    place = std::copy(rank.begin(), rank.end(), place);
}

static std::optional<SharedMemoryPlan> buildPlan(const Request &request,
                                                 const Candidate &candidate) {
  SharedMemoryPlan plan;
  plan.storedBits = request.storedBits;
  const WideVectors &wide = candidate.wide;
  // 1. The memory layout.
  MemoryBits bits = chooseBits(candidate.src, candidate.dst, wide, f2::floorLog2(plan.storedBits));
  LinearLayout whole(request.from.log2Shape());
  Columns &columns = whole.columns(InDim::Offset);
  for (const Columns *part : {&bits.vector, &bits.wide, &bits.filler, &bits.bank})
    columns = f2::concat(columns, *part);
  int segmentStart = static_cast<int>(columns.size());
  columns = f2::concat(columns, bits.segment);
  sortSegment(whole, segmentStart, request);

  // 2. Pieces, no more of them than the limit asks for.
  int log2Elements = static_cast<int>(columns.size());
  auto bytesOf = [&](int log2Count) { return (int64_t(1) << log2Count) * (plan.storedBits / 8); };
  int pieceBits = 0;
  while (request.options.maxScratchBytes > 0 && log2Elements - pieceBits > segmentStart &&
         bytesOf(log2Elements - pieceBits) > request.options.maxScratchBytes)
    ++pieceBits;
  plan.memory = whole;
  plan.memory.columns(InDim::Offset).resize(log2Elements - pieceBits);
  plan.numPieces = 1 << pieceBits;
  plan.scratchBytes = bytesOf(log2Elements - pieceBits);

  // 3. The accesses.
  int common = static_cast<int>(bits.vector.size());
  int widest = common + static_cast<int>(bits.wide.size());
  auto planSide = [&](const LinearLayout &layout, bool isWrite) {
    SharedSideOptions options;
    options.log2Pieces = pieceBits;
    options.maxLog2Vector = wide.ofWrite == isWrite ? widest : common;
    options.allowMatrices =
        isWrite ? request.options.hasStoreMatrix : request.options.hasLoadMatrix;
    return planSharedSide(whole, layout, plan.storedBits, options);
  };
  std::optional<SharedSide> write = planSide(request.source, true),
                            read = planSide(request.destination, false);
  if (!write || !read)
    return std::nullopt;
  plan.write = std::move(*write);
  plan.read = std::move(*read);
  return plan;
}

/// What can be tried: both sides as they are, with every wide vector; then with
/// matrix instructions on one side or both, if these find whole rows.
static std::vector<Candidate> listCandidates(const Request &request) {
  int log2StoredBits = f2::floorLog2(request.storedBits);
  std::vector<Side> sources =
      viewsOf(request.from, request.storedBits, request.options.hasStoreMatrix);
  std::vector<Side> destinations =
      viewsOf(request.to, request.storedBits, request.options.hasLoadMatrix);
  std::vector<Candidate> result;
  for (WideVectors &wide : listWideVectors(sources.front(), destinations.front(), log2StoredBits))
    result.push_back({sources.front(), destinations.front(), std::move(wide)});
  for (const Side &src : sources)
    for (const Side &dst : destinations) {
      if (src.row.empty() && dst.row.empty())
        continue;
      Columns vector = chooseVector(src, dst, log2StoredBits);
      if ((src.row.empty() || src.row == vector) && (dst.row.empty() || dst.row == vector))
        result.push_back({src, dst, {}});
    }
  return result;
}

/// Whether nothing is gained by looking further, matrix instructions apart.
static bool isIdeal(const SharedMemoryPlan &plan, const WideVectors &wide) {
  const SharedSide &side = wide.ofWrite ? plan.write : plan.read;
  const SharedSide &other = wide.ofWrite ? plan.read : plan.write;
  return side.extraWavefronts + other.extraWavefronts == 0 &&
         side.vectorElements == other.vectorElements << wide.columns.size();
}

/// Smaller is better: branches by lane, then issue slots. A wavefront takes the
/// memory pipe of four schedulers for a cycle, any instruction one of them.
static std::pair<bool, int> costOf(const SharedMemoryPlan &plan) {
  constexpr int slotsPerWavefront = 4;
  auto isSet = [](uint32_t piece) { return piece != 0; };
  bool differsByLane = false;
  int slots = 0;
  for (const SharedSide *side : {&plan.write, &plan.read}) {
    differsByLane |= std::any_of(side->lanePieces.begin(), side->lanePieces.end(), isSet);
    slots += slotsPerWavefront * side->wavefronts(plan.storedBits) + side->numInstructions() +
             side->registerMoves(plan.storedBits);
  }
  return {differsByLane, slots};
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
  request.options = options;
  // A block of the destination may only want what the same block holds.
  if (!invertAndCompose(request.to, request.from))
    return std::nullopt;

  std::optional<SharedMemoryPlan> best;
  bool withMatrices = options.hasLoadMatrix || options.hasStoreMatrix;
  for (const Candidate &candidate : listCandidates(request)) {
    std::optional<SharedMemoryPlan> plan = buildPlan(request, candidate);
    if (!plan)
      continue;
    bool stop = !withMatrices && isIdeal(*plan, candidate.wide);
    if (stop || !best || costOf(*plan) < costOf(*best))
      best = std::move(plan);
    if (stop)
      break;
  }
  return best;
}

} // namespace tilewright
