//===- ConversionPlan.h - How a tile changes its layout ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: planConversion decides how a tile in registers goes from one
// distributed layout to another and returns everything that code generation
// needs, as plain numbers. Kinds, cheapest first:
//
//   None          same registers in the same threads
//   Registers     the registers of a thread are renamed
//   Shuffle       values cross lanes of a warp (or are selected by lane)
//   SharedMemory  values cross warps, or shuffles would cost more
//   AcrossBlocks  values cross blocks of a cluster
//
// Which: where the layouts allow shuffles, the plan takes them as long as their
// number is at most twice that of 32-bit registers. A conflict-free round trip
// through shared memory moves 8 bytes per lane in the time in which a shuffle
// moves 4, on the same pipe (measured on H100), and it needs barriers. Selects of
// registers by lane go to another pipe, but take slots of issue: few are allowed,
// and fewer where one warp is all, which needs no barriers.
//
// How shuffles work. For each register k in turn ("round", "slot") every lane
// offers one register and reads from one lane. Which register a lane offers,
// and where it puts what it got, may depend on the lane, so registers are
// permuted before and after, by exchanging r and r ^ mask in those threads
// where a parity of lane bits is odd (RegisterSwap: two selects per pair):
//
//   work[i] = src[sourceRegisters[i]]                 for all i
//   for s in before: exchange work[r], work[r ^ s.registerMask] where s holds
//   for each round:  lane' = laneMap(lane) ^ round.laneXor
//                    slot[round.slots[j]] = work[round.sources[j]] of lane'
//   for s in after:  exchange slot[r], slot[r ^ s.registerMask] where s holds
//   dst[r] = slot[destinationSlots[r]]                for all r
//
// The worked example of LinearLayout.h: a 4x4 tile, 4 lanes with 4 registers,
// from "lane owns a row" (register -> 1, 2, lane -> 4, 8) to "lane owns a
// column" (register -> 4, 8, lane -> 1, 2). Destination register r of lane l is
// element 4r + l, which is register l of lane r. The plan is
//
//   before: register mask 1 where lane bit 0; register mask 2 where lane bit 1
//           i.e. work[i] = src[i ^ lane]
//   rounds: k = 0..3: slot[k] = work[k] of lane ^ k    (k = 0 is no shuffle)
//   after:  the same two swaps, i.e. dst[r] = slot[r ^ lane]
//
//   Check: dst[r] of lane l = slot[r ^ l] = work[r ^ l] of lane l ^ r ^ l = r,
//   = src[r ^ l ^ r] = src[l] of lane r. Three shuffles for four registers.
//
// How shared memory works: optimal swizzling. The memory layout is
// (vector | bank | segment) in offset bits: vector bits are those that both
// sides have in registers, the segment is chosen to meet neither side's lanes,
// so that a wavefront never wants two words of one bank. The plan lists the
// vector accesses of each side.
//
// How blocks exchange values (ClusterPlan): each writes all that it holds to its own
// shared memory; after a barrier of all blocks every thread reads what it wants, in
// the memory of a block that has it. Memory is written plainly, in the order that
// gives both sides vectors: such conversions are rare and wait for each other anyway.
//
// Reference: arXiv 2505.23819, sections on shuffles and on optimal swizzling.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_CONVERSIONPLAN_H
#define TILEWRIGHT_IR_LAYOUT_CONVERSIONPLAN_H

#include "ir/layout/SharedAccess.h"

namespace tilewright {

enum class ConversionKind : uint8_t { None, Registers, Shuffle, SharedMemory, AcrossBlocks };
const char *conversionKindName(ConversionKind kind);

/// Exchange registers r and r ^ registerMask, for every r, in the threads where
/// the parity of (lane & threadMask[Lane]), (warp & threadMask[Warp]) and
/// (block & threadMask[Block]) together is odd.
struct RegisterSwap {
  uint32_t registerMask = 0;
  HardwareIndex threadMask;
  bool holds(uint32_t lane, uint32_t warp, uint32_t block = 0) const;
};

/// One shuffle of one 32-bit word, or of as many words as one element has.
/// sources[j] -> slots[j]; more than one element only where they fit 32 bits
/// together and so travel packed.
struct ShuffleRound {
  uint32_t laneXor = 0;
  std::vector<int> sources;
  std::vector<int> slots;
};

struct ShufflePlan {
  std::vector<int> sourceRegisters;
  std::vector<RegisterSwap> before;
  /// The source lane is the XOR of laneFromLane over the set bits of the lane,
  /// laneFromWarp and laneFromBlock likewise, and the round's laneXor.
  Columns laneFromLane, laneFromWarp, laneFromBlock;
  std::vector<ShuffleRound> rounds;
  int numSlots = 0;
  std::vector<RegisterSwap> after;
  std::vector<int> destinationSlots;

  /// Source lane == lane ^ round.laneXor: lowers to shfl.bfly.
  bool isButterfly() const;
  /// Whether a round reads the own lane, so that no shuffle is needed.
  bool isLocal(const ShuffleRound &round) const;
  uint32_t sourceLane(const ShuffleRound &round, uint32_t lane, uint32_t warp,
                      uint32_t block = 0) const;
  /// 32-bit shuffles for elements of `elementBits`.
  int numShuffles(int elementBits) const;
  /// Selects of 32 bits, of a register by the lane that holds it.
  int numSelects(int elementBits) const;
  /// Bits of the indices of sources and of slots whose two values travel together and are treated
  /// alike, so that a pair of elements can be exchanged as one value.
  struct PairBits {
    uint32_t source, slot;
  };
  std::optional<PairBits> pairBits() const;
};

struct SharedMemoryPlan {
  /// Offset -> element, for the elements of one piece.
  LinearLayout memory;
  /// Bits of one element as stored: at least 8.
  int storedBits = 0;
  int64_t scratchBytes = 0;
  /// The tile goes through memory in this many pieces, a barrier before each
  /// write but the first and one before each read.
  int numPieces = 1;
  SharedSide write, read;
};

/// Through the shared memory of all blocks.
struct ClusterPlan {
  int storedBits = 0;
  /// The scratch of one block.
  int64_t scratchBytes = 0;
  int log2BlockElements = 0;
  /// Into the own memory.
  SharedSide write;
  /// From all: offset = place within a block ^ rank of that block << log2BlockElements.
  SharedSide read;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::None;
  /// None and Registers: destination register r is source register
  /// registers[r].
  std::vector<int> registers;
  ShufflePlan shuffle;
  SharedMemoryPlan sharedMemory;
  ClusterPlan cluster;
  /// Why this kind, with numbers, for remarks.
  std::string reason;
};

struct ConversionOptions {
  /// Scratch to stay within by going in pieces, as far as the layouts allow; 0:
  /// no limit.
  int64_t maxScratchBytes = 0;
  bool allowShuffle = true;
  /// Whether stmatrix may write and ldmatrix read shared memory. How much memory
  /// a plan takes does not depend on it.
  bool hasStoreMatrix = false, hasLoadMatrix = false;
};

/// `src` and `dst` are distributed layouts of one shape, surjective.
ConversionPlan planConversion(const LinearLayout &src, const LinearLayout &dst, int elementBits,
                              const ConversionOptions &options = {});

/// The steps of planConversion, for those who want one of them: nothing where
/// the layouts need more than that step can do.
std::optional<std::vector<int>> planRegisters(const LinearLayout &src, const LinearLayout &dst);
std::optional<ShufflePlan> planShuffle(const LinearLayout &src, const LinearLayout &dst,
                                       int elementBits);
std::optional<SharedMemoryPlan> planSharedMemory(const LinearLayout &src, const LinearLayout &dst,
                                                 int elementBits,
                                                 const ConversionOptions &options = {});
std::optional<ClusterPlan> planCluster(const LinearLayout &src, const LinearLayout &dst,
                                       int elementBits);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_CONVERSIONPLAN_H
