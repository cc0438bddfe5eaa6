//===- SharedAccess.h - How threads access a tile in shared memory *- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: planSharedSide lists the instructions with which the threads of a
// distributed layout write or read a tile that lies in shared memory in a given
// layout: vectors of up to 16 bytes, or ldmatrix and stmatrix.
//
// How addresses look. The offset of a register is linear in register, lane and
// warp bits, so it is (thread's part) ^ (register's part), and the thread's part
// is the same for all accesses. Where no thread touches a bit, XOR is the same as
// addition, and that part of the constant becomes an immediate of the
// instruction: `addableMask`. What remains are few distinct constants: for a
// swizzle of 128 bytes at most eight.
//
// Example: the 4x4 tile of LinearLayout.h, lane owns a row, memory swizzled
// (offset -> 1, 2, 4^1, 8^2). Register r of lane l lies at 4l + (r ^ l): lane ->
// 4^1, 8^2, register -> 1, 2. Threads touch all four bits, no vector is possible
// and every register has an XOR of its own. Without the swizzle the register bits
// are addable and form one vector of four.
//
// Turns. Where lanes of one instruction want different words of one bank, they may take
// their accesses in different orders: in step s a lane makes access s ^ (a part of its
// own), so that its neighbours are at other rows, other banks. That part is linear in
// lane bits, and so are the offsets of a step. What it costs is one select for each word
// and each such lane bit. A transposed tile of 32-bit elements with 128-byte swizzle, of
// which eight lanes hold rows that are a multiple of eight apart, is written without
// conflicts by that, where each instruction took eight wavefronts.
//
// Which instructions: those that take the fewest wavefronts, then the fewest
// instructions. A wavefront is one pass of 128 bytes over the 32 banks.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_SHAREDACCESS_H
#define TILEWRIGHT_IR_LAYOUT_SHAREDACCESS_H

#include "ir/layout/LayoutAlgebra.h"

namespace tilewright {

/// One access of a thread: registers in the order of memory, or, of a matrix
/// instruction, in the order of its words (MatrixAccess.h); `offset` in elements,
/// to be XORed with the offset of the thread.
struct SharedAccess {
  uint32_t offset = 0;
  std::vector<int> registers;
};

/// All accesses of one tile by one layout.
struct SharedSide {
  /// Elements of one access: vectors, or all words of a matrix instruction.
  int vectorElements = 1;
  /// Matrices that one instruction moves; 0: plain vectors.
  int numMatrices = 0;
  bool transposed = false;
  /// The offset of a thread: XOR of these over the set bits of lane, warp,
  /// block. Of a matrix instruction it is the row whose address the lane gives.
  Columns laneOffsets, warpOffsets, blockOffsets;
  /// Bits of SharedAccess::offset that no thread offset touches: they may be
  /// added as an immediate instead of XORed.
  uint32_t addableMask = 0;
  /// Where the tile goes through memory in pieces: accesses[k] belongs to piece
  /// k ^ (XOR of these over the bits of lane and warp). All zero where every
  /// thread has registers of every piece.
  Columns lanePieces, warpPieces;
  /// A thread's part of the number of an access, XOR of these over the bits of lane: in
  /// step s it moves the registers of accesses[0][s ^ part], at the offset of accesses[0][s].
  /// Empty where all take their accesses in order.
  Columns laneTurns;
  /// Threads with any of these bits set hold copies; they need not write.
  HardwareIndex duplicateMasks;
  /// One list per piece, numbered as said above.
  std::vector<std::vector<SharedAccess>> accesses;
  /// Wavefronts of one access beyond the least possible.
  int extraWavefronts = 0;
  /// Register r is a copy of register registerOf[r], the one that the accesses
  /// name.
  std::vector<int> registerOf;

  /// Whether a thread's part decides which accesses belong to a piece.
  bool piecesDifferByThread() const;
  int numInstructions() const;
  /// The fewest wavefronts that one access of a warp can take.
  int leastWavefronts(int storedBits) const;
  /// Wavefronts of all accesses of a warp.
  int wavefronts(int storedBits) const;
  /// 32-bit words that must be moved, and those that must be put together from
  /// halves or bytes first, where an access takes other registers than neighbours:
  /// what comes before and after (vectors of global memory, fragments of products)
  /// has neighbours in one instruction.
  int registerMoves(int storedBits) const;
};

struct SharedSideOptions {
  /// Widest vector, log2 of elements; negative: 16 bytes.
  int maxLog2Vector = -1;
  bool allowMatrices = false;
  /// Lanes may take turns (SharedSide::laneTurns) where that is worth the selects.
  bool allowTurns = false;
  /// The tile goes through memory in 2^log2Pieces pieces, told apart by the top
  /// bits of the offset.
  int log2Pieces = 0;
};

/// `memory` begins at a 16-byte boundary; elements take `storedBits` (at least 8)
/// there. Nothing where memory lacks an element.
std::optional<SharedSide> planSharedSide(const LinearLayout &memory,
                                         const LinearLayout &distributed, int storedBits,
                                         const SharedSideOptions &options = {});

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_SHAREDACCESS_H
