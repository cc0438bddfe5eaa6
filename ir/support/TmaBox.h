//===- TmaBox.h - The pieces in which TMA copies a block --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the box, swizzle and number of instructions for a block of a tensor
// descriptor. The launch encodes tensor maps with it and code generation emits
// the copies, so that a block's shape and element type say all.
//
// How: in shared memory a block is makeSwizzledShared(shape, bits, 128)
// (ir/layout/LayoutConstructors.h): rows of at most 128 bytes in row-major order,
// and a wider block as several such panels one after the other. A box is what one
// instruction copies to consecutive bytes. It is a panel, or a part of one where
// an extent exceeds the hardware's limit of 256. If a dimension is cut so, the
// dimensions outside of it have extent 1 in the box.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_TMABOX_H
#define TILEWRIGHT_IR_SUPPORT_TMABOX_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilewright {

struct TmaBox {
  /// Elements along each dimension, in the order of the block's shape.
  std::vector<int64_t> extents;
  /// 128, 64 or 32; 0 for none.
  int swizzleBytes = 0;
  int64_t bytes = 0;
  /// Boxes of the whole block.
  int64_t count = 1;
};

/// Widest row that TMA swizzles, and the largest extent of a box.
constexpr int64_t maxSwizzleBytes = 128;
constexpr int64_t maxBoxExtent = 256;
/// Shortest inner row of a box.
constexpr int64_t minRowBytes = 16;

inline TmaBox tmaBox(const std::vector<int64_t> &block, int64_t elementBytes) {
  TmaBox box;
  box.extents = block;
  if (block.empty())
    return box;
  box.extents.back() = std::min(block.back(), maxSwizzleBytes / elementBytes);
  int64_t rowBytes = box.extents.back() * elementBytes;
  box.swizzleBytes = rowBytes > minRowBytes ? static_cast<int>(rowBytes) : 0;
  bool isCut = false;
  for (size_t dim = block.size() - 1; dim-- > 0;) {
    box.extents[dim] = isCut ? 1 : std::min(block[dim], maxBoxExtent);
    isCut |= box.extents[dim] < block[dim];
  }
  box.bytes = elementBytes;
  for (size_t dim = 0; dim < block.size(); ++dim) {
    box.bytes *= box.extents[dim];
    box.count *= block[dim] / box.extents[dim];
  }
  return box;
}

/// More boxes than this, or more bytes than shared memory can hold beside anything
/// else, and pointers are the better way: a limit of ours, not of the hardware.
constexpr int64_t maxBoxesPerBlock = 64;
constexpr int64_t maxBlockBytes = 128 * 1024;
constexpr size_t maxTmaRank = 5;

/// Whether TMA can copy such blocks, whatever the array they are of.
inline bool canCopyByTma(const std::vector<int64_t> &block, int64_t elementBytes) {
  if (block.empty() || block.size() > maxTmaRank || elementBytes < 1 || elementBytes > 8 ||
      block.back() * elementBytes < minRowBytes)
    return false;
  TmaBox box = tmaBox(block, elementBytes);
  return box.count <= maxBoxesPerBlock && box.count * box.bytes <= maxBlockBytes;
}

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_TMABOX_H
