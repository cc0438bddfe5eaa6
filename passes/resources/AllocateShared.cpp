//===- AllocateShared.cpp - Places scratch and buffers in shared memory ---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every op with scratch (ScratchSize.h) and every allocation of
// buffers and barriers (BufferInfo.h) an offset, tw.scratch_offset, and the module
// its size, tw.shared_bytes.
//
// Why here: last of the passes that count shared memory; no later pass may
// make an op with scratch.
//
// How:
//  1. Scratch lives for one op, a buffer as LiveRanges says. Barriers live for the whole
//     kernel: their bytes must not be written as anything else. So does the buffer in
//     which tensor maps are made.
//  2. What is alive together is kept apart. So are two uses that follow each other,
//     also round a loop: InsertBarriers then need not separate them. The latter
//     only while it costs no occupancy (freeSharedBytes), or next to nothing.
//  3. First fit, largest first, each at the lowest offset that nothing kept apart
//     from it uses. Buffers of a kilobyte and more, and all rings, begin at a
//     multiple of 1024: the pattern of a swizzle repeats after so many bytes.
//  4. What is larger than a block's shared memory: layout changes go in pieces,
//     the largest first, each time through half the bytes, until all fits.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "ir/dialect/SourcePlace.h"
#include "ir/support/Hardware.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LiveRanges.h"
#include "passes/analysis/Resources.h"
#include "passes/analysis/ScratchSize.h"

#include "ir/support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_ALLOCATESHARED
#include "passes/Passes.h.inc"

namespace {

/// Beside large buffers: less than what a barrier of many warps costs. A guess.
constexpr int64_t littleSharedBytes = 1024;

/// Scratch of a reduction across blocks that is used for nothing else. A guess.
constexpr int64_t maxKeptBytes = 4096;

/// What gets an offset.
struct Piece : SharedPiece {
  int64_t alignment;
  int64_t offset = 0;
};

int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Also for tiles smaller than the pattern: what they hold of it depends on where
/// they begin.
int64_t alignmentOf(Operation *op) {
  return llvm::isa<ir::AllocSharedOp>(op) ? hardware::swizzlePatternBytes : scratchAlignment;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

class Allocation {
public:
  /// At most `limit` bytes are wanted; 0: any number.
  Allocation(ModuleOp module, int64_t limit) : limit(limit), ranges(module) {
    for (SharedPiece piece : sharedPieces(module, ranges)) {
      // Other blocks write it: nothing else there makes this block wait for them.
      if (piece.bytes <= maxKeptBytes && isExchange(piece.op)) {
        piece.begin = 0;
        piece.end = ranges.count();
      }
      indices[piece.op] = static_cast<int>(pieces.size());
      pieces.push_back({piece, alignmentOf(piece.op)});
    }
    for (auto function : module.getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        findNeighbours(block, {});
  }

  std::vector<Piece> pieces;
  int64_t totalBytes = 0;

  void run() {
    place(/*keepApart=*/true);
    int64_t apart = totalBytes;
    place(/*keepApart=*/false);
    int64_t spare = limit > 0 ? std::min(limit, freeSharedBytes()) : freeSharedBytes();
    bool isFree = apart <= std::max(totalBytes, spare);
    // Beside large buffers a little more, if as many blocks fit. Rings take all there is.
    bool hasRing = llvm::any_of(pieces, [](const Piece &piece) {
      return ir::ringOf(piece.op) &&
             llvm::cast<ir::AllocSharedOp>(piece.op).getType().getSlots() > 1;
    });
    bool isLittle = !hasRing && totalBytes > 0 && apart - totalBytes <= littleSharedBytes &&
                    costsNoBlock(totalBytes, apart, limit);
    if (isFree || isLittle)
      place(/*keepApart=*/true);
  }

  /// Step 4; false where that is not enough.
  bool fit() {
    if (limit <= 0 || totalBytes <= limit)
      return true;
    do
      place(/*keepApart=*/false);
    while (totalBytes > limit && divideLargestConversion());
    run();
    return totalBytes <= limit;
  }

  /// The pieces that are alive together where those take the most, largest first.
  std::vector<const Piece *> atPeak() const {
    std::vector<const Piece *> result;
    int64_t most = 0;
    for (const Piece &moment : pieces) {
      std::vector<const Piece *> alive;
      int64_t bytes = 0;
      for (const Piece &piece : pieces)
        if (piece.begin <= moment.begin && moment.begin <= piece.end) {
          alive.push_back(&piece);
          bytes += piece.bytes;
        }
      if (bytes > most) {
        most = bytes;
        result = std::move(alive);
      }
    }
    // Pieces of equal size stay in their order in `pieces`.
    llvm::sort(result, [](const Piece *lhs, const Piece *rhs) {
      return lhs->bytes != rhs->bytes ? lhs->bytes > rhs->bytes : lhs < rhs;
    });
    return result;
  }

private:
  int64_t limit;
  LiveRanges ranges;
  llvm::DenseMap<Operation *, int> indices;
  llvm::DenseSet<Operation *> indivisible;
  /// Pairs of pieces of which one is used right after the other.
  std::set<std::pair<int, int>> neighbours;

  //===--- neighbours ----------------------------------------------------===//

  /// The pieces that `op` uses.
  std::set<int> usedBy(Operation *op) const {
    std::set<int> used;
    for (const BufferUse &use : bufferUses(op))
      for (Operation *allocation : ranges.buffers.allocationsOf(use.buffer))
        used.insert(indices.lookup(allocation));
    if (!bufferBytes(op))
      if (auto found = indices.find(op); found != indices.end())
        used.insert(found->second);
    return used;
  }

  /// The pieces used last when control leaves `block`, having entered it with
  /// those of `last`.
  std::set<int> findNeighbours(Block &block, std::set<int> last) {
    for (Operation &op : block) {
      if (op.getNumRegions() != 0 && llvm::isa<scf::SCFDialect>(op.getDialect())) {
        last = findNeighboursInRegions(&op, last);
        continue;
      }
      std::set<int> used = usedBy(&op);
      for (int index : used)
        for (int other : last)
          neighbours.insert({std::min(index, other), std::max(index, other)});
      if (!used.empty())
        last = used;
    }
    return last;
  }

  /// By hand: pieces follow each other in time, which RegionFlow knows nothing of.
  std::set<int> findNeighboursInRegions(Operation *op, const std::set<int> &entry) {
    std::set<int> exit = entry;
    auto add = [&](const std::set<int> &more) { exit.insert(more.begin(), more.end()); };
    if (llvm::isa<scf::IfOp>(op)) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(findNeighbours(block, entry));
      return exit;
    }
    // A loop: its regions in order, twice, so that the last stands beside the first.
    for (int round = 0; round < 2; ++round)
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(findNeighbours(block, exit));
    return exit;
  }

  /// Goes through half the bytes with the largest that lies beyond `limit`, or
  /// else may be in the way of what does; false where nothing is left to divide.
  bool divideLargestConversion() {
    Piece *largest = nullptr;
    auto rank = [&](const Piece &piece) {
      return std::make_pair(piece.offset + piece.bytes > limit, piece.bytes);
    };
    for (Piece &piece : pieces)
      if (llvm::isa<ir::ConvertLayoutOp>(piece.op) && !indivisible.count(piece.op) &&
          (!largest || rank(piece) > rank(*largest)))
        largest = &piece;
    if (!largest)
      return false;
    OpBuilder builder(largest->op->getContext());
    largest->op->setAttr(ir::scratchLimitAttr, builder.getI32IntegerAttr(largest->bytes / 2));
    int64_t bytes = scratchBytes(largest->op);
    if (bytes >= largest->bytes)
      indivisible.insert(largest->op);
    largest->bytes = bytes;
    return true;
  }

  //===--- placing -------------------------------------------------------===//

  bool areApart(int lhs, int rhs, bool keepApart) const {
    const Piece &first = pieces[lhs], &second = pieces[rhs];
    bool aliveTogether = first.begin <= second.end && second.begin <= first.end;
    return aliveTogether ||
           (keepApart && neighbours.count({std::min(lhs, rhs), std::max(lhs, rhs)}));
  }

  void place(bool keepApart) {
    std::vector<int> order(pieces.size());
    for (size_t index = 0; index < order.size(); ++index)
      order[index] = static_cast<int>(index);
    llvm::sort(order, [&](int lhs, int rhs) {
      int64_t left = pieces[lhs].bytes, right = pieces[rhs].bytes;
      return left != right ? left > right : lhs < rhs;
    });
    totalBytes = 0;
    std::vector<int> placed;
    for (int index : order) {
      Piece &piece = pieces[index];
      piece.offset = firstFit(index, placed, keepApart);
      totalBytes = std::max(totalBytes, alignUp(piece.offset + piece.bytes, scratchAlignment));
      placed.push_back(index);
    }
  }

  int64_t firstFit(int index, const std::vector<int> &placed, bool keepApart) const {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int other : placed)
      if (areApart(index, other, keepApart))
        taken.push_back({pieces[other].offset, pieces[other].offset + pieces[other].bytes});
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (offset + pieces[index].bytes <= begin)
        break;
      offset = std::max(offset, alignUp(end, pieces[index].alignment));
    }
    return offset;
  }
};

//===----------------------------------------------------------------------===//
// Too large
//===----------------------------------------------------------------------===//

std::string atLocation(Operation *op) {
  std::string place = ir::renderLocation(op->getLoc());
  return place.empty() ? "" : " at " + place;
}

std::string describe(Operation *op) {
  if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op))
    return (alloc.getType().getSlots() > 1 ? "ring of " : "") + describeBuffer(alloc.getType());
  if (llvm::isa<ir::MbarrierAllocOp>(op))
    return "barriers of a ring";
  return describeScratch(op);
}

/// How much smaller one tile may be asked to be before all are. A guess.
constexpr int64_t maxDivision = 8;

/// The smaller block that fits; memory of a tile is proportional to its size. Where fewer
/// stages are enough, the compiler says that instead (Pipeline.h, findFittingStages).
std::string helpFor(const Allocation &allocation, const Piece &largest, int64_t limit) {
  auto divided = [](int64_t bytes, int64_t factor) { return (bytes + factor - 1) / factor; };
  int64_t others = allocation.totalBytes - largest.bytes, factor = 2;
  while (factor < maxDivision && others + divided(largest.bytes, factor) > limit)
    factor *= 2;
  // Where others are too large by themselves, here or elsewhere, all must shrink.
  bool isEnough = others + divided(largest.bytes, factor) <= limit &&
                  llvm::none_of(allocation.pieces, [&](const Piece &piece) {
                    return piece.op != largest.op && piece.bytes > limit;
                  });
  for (factor = isEnough ? factor : 2; !isEnough && divided(allocation.totalBytes, factor) > limit;)
    factor *= 2;
  std::string times = std::to_string(factor) + " times smaller: ";
  if (!isEnough)
    return "make the tiles " + times + "they would need " +
           std::to_string(divided(allocation.totalBytes, factor)) + " bytes";
  if (others == 0)
    return "make that tile " + times + "its " + describe(largest.op) + " would need " +
           std::to_string(divided(largest.bytes, factor)) + " bytes";
  return "make that tile " + times + "all would need " +
         std::to_string(others + divided(largest.bytes, factor)) + " bytes";
}

/// E0301, with the pieces that are alive together, largest first. "[E0301]" in
/// front tells compileModule the code; the last note becomes the help.
void reportTooLarge(const Allocation &allocation, int64_t limit, const std::string &target) {
  std::vector<const Piece *> list = allocation.atPeak();
  const Piece &largest = *list.front();
  InFlightDiagnostic error = largest.op->emitError();
  error << "[E0301] needs " << allocation.totalBytes << " bytes of shared memory; " << target
        << " allows " << limit;
  for (const Piece *piece : list)
    error.attachNote(piece->op->getLoc())
        << piece->bytes << " bytes for the " << describe(piece->op) << atLocation(piece->op);
  error.attachNote(largest.op->getLoc()) << helpFor(allocation, largest, limit);
}

class AllocateSharedPass : public impl::AllocateSharedBase<AllocateSharedPass> {
public:
  explicit AllocateSharedPass(PassContext context) : context(std::move(context)) {}
  AllocateSharedPass(const AllocateSharedPass &other) = default;

  void runOnOperation() override {
    int64_t limit = sharedLimit > 0 ? int64_t(sharedLimit) : context.target.maxSharedBytesPerBlock;
    Allocation allocation(getOperation(), limit);
    allocation.run();
    // A target that names no limit is the driver's to judge.
    if (!allocation.fit()) {
      reportTooLarge(allocation, limit, context.target.name);
      return signalPassFailure();
    }
    Type i32 = IntegerType::get(&getContext(), 32);
    for (const Piece &piece : allocation.pieces) {
      piece.op->setAttr(ir::scratchOffsetAttr, IntegerAttr::get(i32, piece.offset));
      if (piece.op->hasAttr(ir::scratchLimitAttr))
        context.remark(piece.op, {"layout-change-in-pieces",
                                  true,
                                  {},
                                  {{"bytes", piece.bytes}},
                                  "the whole does not fit into shared memory"});
    }
    getOperation()->setAttr(ir::sharedBytesAttr, IntegerAttr::get(i32, allocation.totalBytes));
    numBuffers += allocation.pieces.size();
    if (!allocation.pieces.empty())
      context.remark(getOperation(), {"shared-memory",
                                      true,
                                      {},
                                      {{"bytes", allocation.totalBytes},
                                       {"buffers", int64_t(allocation.pieces.size())}},
                                      ""});
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createAllocateShared(PassContext context) {
  return std::make_unique<AllocateSharedPass>(std::move(context));
}

} // namespace tilewright::passes
