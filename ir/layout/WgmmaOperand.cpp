//===- WgmmaOperand.cpp - Shared layouts that wgmma reads -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/WgmmaOperand.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutAlgebra.h"

#include <algorithm>

namespace tilewright {

/// T of the header: the unit of the swizzle and of a row of a core matrix.
static constexpr uint32_t chunkBytes = 16;
/// Rows of a core matrix.
static constexpr int log2CoreRows = 3;
/// An instruction takes 32 bytes of K.
static constexpr int log2InstructionKBytes = 5;
/// wgmma's widest N.
static constexpr int maxLog2Extent = 8;

//===--- offsets of the tile's bits ---------------------------------------===//

/// The hardware's XOR, which undoes itself: the bits it reads stay.
static uint32_t swizzle(uint32_t byteOffset, int swizzleBytes) {
  uint32_t chunkMask = swizzleBytes ? swizzleBytes - chunkBytes : 0;
  return byteOffset ^ ((byteOffset >> 3) & chunkMask);
}

/// Byte offsets of the bits of both dimensions with the swizzle taken out; false
/// where they are not bits of their own.
static bool removeSwizzle(const ElementMap &offsets, const LinearLayout &memory, int dimK,
                          int elementBits, WgmmaOperand &operand) {
  uint32_t used = 0;
  for (int dim : {1 - dimK, dimK}) {
    Columns &bytes = dim == dimK ? operand.kBytes : operand.mnBytes;
    bytes.clear();
    for (int bit = 0; bit < memory.log2Shape()[dim]; ++bit) {
      uint32_t offset = offsets.columns[memory.dimStartBit(dim) + bit][InDim::Offset];
      uint32_t column = swizzle(offset * (elementBits / 8), operand.swizzleBytes);
      if ((column & (column - 1)) != 0 || (column & used) != 0)
        return false;
      used |= column;
      bytes.push_back(column);
    }
  }
  return true;
}

//===--- comparison with what the hardware reads --------------------------===//

namespace {

/// Reads a dimension's columns against an expected pattern, lowest bit first.
struct PatternReader {
  const Columns &columns;
  size_t next = 0;

  bool atEnd() const { return next == columns.size(); }
  /// The next bits are first, 2 * first, ... up to (excluding) `end`.
  bool expect(uint32_t first, uint32_t end) {
    for (; first < end; first *= 2)
      if (atEnd() || columns[next++] != first)
        return false;
    return true;
  }
  /// Takes bits while they go on doubling, up to `limit` bits in all; returns
  /// the first one, 0 where there is none. An offset must be a multiple of 16.
  uint32_t takeProgression(size_t limit) {
    if (atEnd() || next >= limit || columns[next] % chunkBytes != 0)
      return 0;
    uint32_t first = columns[next];
    for (uint32_t expected = first; !atEnd() && next < limit && columns[next] == expected;
         expected *= 2)
      ++next;
    return first;
  }
};

} // namespace

static bool matchKMajor(WgmmaOperand &operand, uint32_t elementBytes, size_t maxLog2Mn) {
  PatternReader k{operand.kBytes}, mn{operand.mnBytes};
  size_t instructionK = log2InstructionKBytes - f2::floorLog2(elementBytes);
  uint32_t rowBytes = operand.swizzleBytes ? operand.swizzleBytes : chunkBytes;
  if (!k.expect(elementBytes, chunkBytes) || !mn.expect(rowBytes, rowBytes << log2CoreRows))
    return false;
  uint32_t secondChunk = k.takeProgression(instructionK);
  if (secondChunk == 0)
    return false;
  if (operand.swizzleBytes) {
    // The second chunk lies in the same swizzled row.
    if (secondChunk != chunkBytes)
      return false;
  } else {
    operand.leadingBytes = secondChunk;
  }
  operand.strideBytes = mn.takeProgression(maxLog2Mn);
  operand.log2InstructionMn = static_cast<int>(mn.next);
  operand.isMnMajor = false;
  return true;
}

static bool matchMnMajor(WgmmaOperand &operand, uint32_t elementBytes, size_t maxLog2Mn) {
  PatternReader k{operand.kBytes}, mn{operand.mnBytes};
  size_t instructionK = log2InstructionKBytes - f2::floorLog2(elementBytes);
  uint32_t rowBytes = operand.swizzleBytes ? operand.swizzleBytes : chunkBytes;
  if (!mn.expect(elementBytes, rowBytes) || !k.expect(rowBytes, rowBytes << log2CoreRows))
    return false;
  uint32_t alongK = k.takeProgression(instructionK);
  if (alongK == 0)
    return false;
  uint32_t alongMn = mn.takeProgression(maxLog2Mn);
  operand.leadingBytes = operand.swizzleBytes ? alongMn : alongK;
  operand.strideBytes = operand.swizzleBytes ? alongK : alongMn;
  operand.log2InstructionMn = static_cast<int>(std::min(mn.next, maxLog2Mn));
  operand.isMnMajor = true;
  return true;
}

std::optional<WgmmaOperand> planWgmmaOperand(const LinearLayout &memory, int dimK, int elementBits,
                                             int maxLog2Mn) {
  if (memory.rank() != 2 || elementBits < 8 || elementBits > 32 || maxLog2Mn < log2CoreRows)
    return std::nullopt;
  std::optional<ElementMap> offsets = invert(memory);
  if (!offsets)
    return std::nullopt;
  uint32_t elementBytes = elementBits / 8;
  size_t limit = std::min(maxLog2Mn, maxLog2Extent);
  for (int mode : {128, 64, 32, 0}) {
    WgmmaOperand operand;
    operand.swizzleBytes = mode;
    if (!removeSwizzle(*offsets, memory, dimK, elementBits, operand))
      continue;
    if (matchKMajor(operand, elementBytes, limit))
      return operand;
    // The transposed read exists for 16-bit elements only.
    if (elementBits == 16 && matchMnMajor(operand, elementBytes, limit))
      return operand;
  }
  return std::nullopt;
}

//===--- the descriptor ---------------------------------------------------===//

int64_t WgmmaOperand::startOf(uint32_t mn, uint32_t k) const {
  return f2::multiply(mnBytes, mn) ^ f2::multiply(kBytes, k);
}

uint32_t WgmmaOperand::descriptorHigh() const {
  uint32_t mode = swizzleBytes == 128 ? 1 : swizzleBytes == 64 ? 2 : swizzleBytes == 32 ? 3 : 0;
  return static_cast<uint32_t>(strideBytes / chunkBytes) | mode << 30;
}

uint32_t WgmmaOperand::descriptorLow() const {
  return static_cast<uint32_t>(leadingBytes / chunkBytes) << 16;
}

} // namespace tilewright
