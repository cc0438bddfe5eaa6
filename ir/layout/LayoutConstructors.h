//===- LayoutConstructors.h - Layouts that occur in practice ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: blocked, mma accumulator, dot operand and swizzled shared layouts as
// values of LinearLayout. None of them is a kind of its own.
//
// How: a distributed layout is built by giving the bits of each dimension,
// lowest first, to registers, lanes and warps. Three rules hold for all:
//   1. A lane or warp bit for which the tile has no element bit left becomes a
//      zero column: those threads hold copies (Triton's wrap rule).
//   2. A register bit for which none is left is not made at all.
//   3. Element bits that are left over become further register bits, fastest
//      dimension first: the layout repeats.
//
// `order` lists dimensions from fastest to slowest, as in Triton: the last
// dimension of a row-major tile comes first. Extents are log2 everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_LAYOUTCONSTRUCTORS_H
#define TILEWRIGHT_IR_LAYOUT_LAYOUTCONSTRUCTORS_H

#include "ir/layout/LinearLayout.h"

namespace tilewright {

/// Per dimension: elements of one thread, lanes, warps.
LinearLayout makeBlocked(const std::vector<int> &log2Shape,
                         const std::vector<int> &log2SizePerThread,
                         const std::vector<int> &log2Lanes, const std::vector<int> &log2Warps,
                         const std::vector<int> &order);

/// A blocked layout for global accesses: up to `vectorElements` (a power of
/// two) per thread along order[0], lanes along the fastest dimensions, warps
/// along the slower ones, or along order[0] where they would share a few rows. The vector shrinks
/// until every thread has an element of its own, because idle lanes cost more than narrow accesses.
/// Blocks of a cluster take the highest bits, of the slowest dimension first, so that
/// each has whole rows where there are enough; but only as many as leave an element
/// for every thread. Otherwise they hold copies.
/// `log2Repeats` (one per dimension, or none): elements in groups of so many have one
/// address; a thread takes whole groups where it has room, and accesses each once.
/// `hasShortRuns`: what lies side by side along order[0] is less than a sector of memory. The next
/// row is taken to have the rest, so a warp whose lanes are in one row has rows that follow one
/// another, not every n-th.
/// `hasColumns`: the kernel holds much for each column. A few rows are shared then as well where
/// each warp could have one.
LinearLayout makeCoalesced(const std::vector<int> &log2Shape, const std::vector<int> &order,
                           int vectorElements, int log2WarpSize, int log2Warps, int log2Blocks = 0,
                           const std::vector<int> &log2Repeats = {}, bool hasShortRuns = false,
                           bool hasColumns = false);
/// A layout for tiles that go from memory where order[0] is fastest to shared memory where
/// `dimOfRows` is. A thread has blocks of 2^log2Block elements along each of the two, order[0] in
/// the lowest bits. A warp has 2^log2Run blocks along order[0] by as many along `dimOfRows` as its
/// lanes allow, and warps go on there.
LinearLayout makeTransposing(const std::vector<int> &log2Shape, const std::vector<int> &order,
                             int dimOfRows, int log2Block, int log2Run, int log2WarpSize,
                             int log2Warps);
/// Row-major order of a tile of `rank` dimensions: {rank - 1, ..., 0}.
std::vector<int> rowMajorOrder(int rank);

/// The accumulator of mma.m16n8k*: register bit 0 -> column 1, bit 1 -> row 8,
/// lanes -> columns 2, 4 and rows 1, 2, 4, warps -> rows 16.. then columns 8..,
/// repetitions over columns first. The last two dimensions are M and N; leading
/// ones are batches. Warp bits of M are lower than those of N.
LinearLayout makeMmaAccumulator(const std::vector<int> &log2Shape,
                                const std::vector<int> &log2Warps);

/// The accumulator of wgmma.m64nNk*: as mma's within a warp; the first two warp
/// bits are rows 16 and 32, further warps of M follow, and warps of N split the
/// columns into contiguous parts, since one instruction covers neighbouring
/// columns. The tile is M x N, 2^(log2WarpsM + log2WarpsN) warps.
LinearLayout makeWgmmaAccumulator(const std::vector<int> &log2Shape, int log2WarpsM,
                                  int log2WarpsN = 0);

enum class DotOperand : uint8_t { A, B };
/// The register operand of an mma whose k step is 32 bytes (m16n8k16 for 16-bit
/// elements, k8 for tf32, k32 for 8-bit). `log2Warps` is that of the
/// accumulator
/// ([batch..,] M, N): warps along the dimension the operand lacks hold copies.
/// The low register bits fill a 32-bit word along k. For A this is also the
/// register operand of wgmma.
LinearLayout makeDotOperand(DotOperand operand, const std::vector<int> &log2Shape,
                            const std::vector<int> &log2Warps, int elementBits);

/// The register operand of a product by fma: each thread holds all of K for the
/// rows (A) or columns (B) of its part of the accumulator, K in the lowest
/// register bits; lanes and warps along the dimension the operand lacks hold
/// copies.
LinearLayout makeFmaOperand(const LinearLayout &accumulator, DotOperand operand, int log2K);

/// A shared-memory tile as TMA writes and wgmma reads it. Rows of
/// `swizzleBytes` (128, 64 or 32) along order[0] follow each other along
/// order[1] and the further dimensions; a wider tile has further panels after it. Within, the 16-byte
/// chunk index is XORed with address bits 7 and up. 16: panels of 16 bytes
/// without XOR (wgmma's no-swizzle core matrices). 0: plain, without panels. A
/// row narrower than `swizzleBytes` uses the largest mode that fits. With `log2RowsAlike`, which
/// neither TMA nor wgmma knows, 2^log2RowsAlike times as many rows in succession have the same XOR.
LinearLayout makeSwizzledShared(const std::vector<int> &log2Shape, int elementBits,
                                int swizzleBytes, const std::vector<int> &order,
                                int log2RowsAlike = 0);
LinearLayout makeSwizzledShared(const std::vector<int> &log2Shape, int elementBits,
                                int swizzleBytes);
/// The swizzle makeSwizzledShared uses: `swizzleBytes` clipped to the row.
int effectiveSwizzleBytes(int log2RowElements, int elementBits, int swizzleBytes);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_LAYOUTCONSTRUCTORS_H
