//===- LayoutMemory.h - What a layout says about memory accesses *- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: vector widths, duplicates to be masked, and shared-memory bank
// conflicts of accessing a memory layout through a distributed one.
//
// Reference: shared memory has 32 banks of 4 bytes. A warp's access of more
// than 4 bytes a lane is served in groups of neighbouring lanes: 16 lanes for 8
// bytes, 8 lanes for 16. Lanes that want the same word share it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_LAYOUTMEMORY_H
#define TILEWRIGHT_IR_LAYOUT_LAYOUTMEMORY_H

#include "ir/layout/LayoutAlgebra.h"

namespace tilewright {

/// log2 of the largest count n such that registers n*k .. n*k+n-1 of every
/// thread hold n consecutive elements along `dim`, aligned to n, in order.
int contiguousPerThread(const LinearLayout &layout, int dim);

/// How registers group into vectors of consecutive elements along one
/// dimension, whatever the order of the register bits. Register registers[v * n
/// + i] is element i of vector v, with n = 1 << log2Elements.
struct VectorRegisters {
  int log2Elements = 0;
  std::vector<int> registers;
  int numElements() const { return 1 << log2Elements; }
  int numVectors() const { return static_cast<int>(registers.size()) >> log2Elements; }
};
/// At most `maxLog2Elements`. Every register occurs once.
VectorRegisters vectorRegisters(const LinearLayout &layout, int dim, int maxLog2Elements);

/// Threads that hold only copies of what another thread holds: those for which
/// (lane & mask[Lane]) | (warp & mask[Warp]) | (block & mask[Block]) != 0. A
/// store or an atomic is needed from none of them.
HardwareIndex duplicateThreadMasks(const LinearLayout &layout);

/// Where each register of `distributed` lies in `memory`: the offset (elements)
/// of a place is the XOR of the Offset parts. Nothing where memory lacks
/// elements.
std::optional<IndexMap> memoryOffsets(const LinearLayout &memory, const LinearLayout &distributed);

/// log2 of the elements that lie together in memory as they do along `dim` of the tile, at most
/// `limit`: element bits 0, 1, ... of the dimension are offset bits 0, 1, ..., and nothing else
/// moves those. `offsets` are memoryOffsets of the tile's layout.
int log2SharedRun(const LinearLayout &layout, const IndexMap &offsets, int dim, int limit);

/// How registers group into vectors of consecutive offsets; offsets[v] is the
/// register part of the first offset of vector v, to be XORed with the
/// thread's.
struct MemoryVectors {
  VectorRegisters vectors;
  std::vector<uint32_t> offsets;
};
/// No two registers may hold the same element (removeZeroRegisters).
MemoryVectors memoryVectors(const IndexMap &offsets, int numRegisters, int maxLog2Elements);

/// Wavefronts beyond the least possible (one per group of lanes) of one access
/// instruction of a warp, `vectorElements` consecutive offsets per lane. -1
/// where `memory` lacks an element.
int bankConflicts(const LinearLayout &memory, const LinearLayout &distributed, int elementBits,
                  int vectorElements);
/// The same from the offsets that lane bits contribute.
int bankConflicts(const Columns &laneOffsets, int elementBits, int vectorElements);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_LAYOUTMEMORY_H
