//===- WgmmaOperand.h - Shared layouts that wgmma reads ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: whether a tile in shared memory can be an operand of wgmma, and the
// fields of the matrix descriptor and the start address of every instruction.
//
// How: an operand has a dimension MN (rows of A, columns of B) and a dimension
// K. Each bit of the tile's element index has an offset in memory. The hardware
// reads element (mn, k) of an instruction at
//
//     swizzle(start + f(mn, k))
//
// where swizzle XORs address bits 4.. with address bits 7.. and f is one of
// these, T being 16 bytes, `leading` and `stride` the descriptor's offsets and
// W the bytes of the swizzle mode (128, 64, 32; none):
//
//     K-major    swizzled  k: within T, then T        mn: W, 2W, 4W, then stride
//                none      k: within T, then leading  mn: T, 2T, 4T, then stride
//     MN-major   swizzled  mn: within W, then leading   k: W, 2W, 4W, then stride
//                none      mn: within T, then stride    k: T, 2T, 4T, then leading
//
// So the swizzle is taken out of every bit's offset, and what remains is
// compared with f. Bits beyond one instruction (further k steps, row blocks and
// column parts) may lie anywhere: they move the start.
//
// Worked example: 64 x 64 f16, K-major, 128-byte swizzle. k bits 0-2 are bytes
// 2, 4, 8; bit 3 is byte 16 = T; bits 4 and 5 (k steps) are bytes 32 and 64.
// Row bits are 128, 256, 512, then 1024, 2048, 4096: stride = 1024.
//
// Not handled: buffers whose start is not a multiple of the swizzle's period
// (1024, 512, 256 bytes); the caller aligns them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_WGMMAOPERAND_H
#define TILEWRIGHT_IR_LAYOUT_WGMMAOPERAND_H

#include "ir/layout/LinearLayout.h"

namespace tilewright {

struct WgmmaOperand {
  /// 128, 64 or 32; 0 for none.
  int swizzleBytes = 0;
  /// MN-major: neighbouring elements of a row of memory differ in MN. Taken for
  /// 16-bit elements only.
  bool isMnMajor = false;
  /// The offsets in the descriptor. One that the hardware does not use is 0.
  int64_t leadingBytes = 0, strideBytes = 0;
  /// What one instruction covers of MN: the largest extent up to the one asked
  /// for.
  int log2InstructionMn = 0;
  /// For each bit of MN and of K, by how many bytes it moves the start address.
  /// Only bits beyond one instruction are to be used so. Different bits occupy
  /// different address bits, so sums and XORs are the same.
  Columns mnBytes, kBytes;

  int64_t startOf(uint32_t mn, uint32_t k) const;
  /// Bits 63-32 and the constant part of bits 31-0 of the descriptor. The start
  /// address in units of 16 bytes is added to the low part.
  uint32_t descriptorHigh() const;
  uint32_t descriptorLow() const;
};

/// `memory` is a tile of two dimensions, of which `dimK` is K. `maxLog2Mn` bounds
/// the extent of one instruction (6 for A: it must be 64 then). Nothing where the
/// instruction cannot read the tile.
std::optional<WgmmaOperand> planWgmmaOperand(const LinearLayout &memory, int dimK, int elementBits,
                                             int maxLog2Mn);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_WGMMAOPERAND_H
