//===- LinearLayout.h - Linear layouts over F2 ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one kind of layout there is. A layout says which element of a tile
// a hardware index holds. Tile extents are powers of two, so an element is a
// row of bits, and a layout is a linear map over F2 from hardware index bits to
// element index bits: the element of an index is the XOR of the columns
// (basis vectors) of its set bits.
//
// How elements are numbered: by their row-major position in the tile, as one
// integer. The last dimension has the lowest bits. So a reshape, and adding or
// removing a dimension of extent 1, change no column at all; a permutation of
// the dimensions permutes bits.
//
// A worked example: a 4x4 tile, 4 lanes, 4 registers per lane; each lane owns
// one row, its registers run along the row.
//
//     element = 4 * row + column          bits  r1 r0 c1 c0
//     register bit 0 -> 1  (column 1)           0  0  0  1
//     register bit 1 -> 2  (column 2)           0  0  1  0
//     lane bit 0     -> 4  (row 1)              0  1  0  0
//     lane bit 1     -> 8  (row 2)              1  0  0  0
//
//   Register 3 of lane 2 holds 1 ^ 2 ^ 8 = 11, that is row 2, column 3.
//   Owning columns instead swaps the two groups: register -> 4, 8, lane ->
//   1, 2. Converting from the first to the second is dst^-1 o src: register bit
//   0 (column 1) becomes lane bit 0 of the destination, and so on: data crosses
//   lanes, so it takes shuffles.
//   A zero column means broadcast: with lane -> 4, 0 the lanes 2 and 3 hold
//   copies of what lanes 0 and 1 hold.
//   A swizzle is a column with two bits: offset -> 1, 2, 4^1, 8^2 stores row r,
//   column c at offset 4r + (c ^ r).
//
// Source: "Linear Layouts: Robust Code Generation of Efficient Tensor
// Computation Using F2", arXiv 2505.23819.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_LINEARLAYOUT_H
#define TILEWRIGHT_IR_LAYOUT_LINEARLAYOUT_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The hardware indices a layout maps from. A distributed layout (a tile in
/// registers) uses Register, Lane, Warp and Block; a memory layout (a tile in
/// shared memory) uses Offset, counted in elements, and Block.
enum class InDim : uint8_t { Register, Lane, Warp, Block, Offset };
constexpr int numInDims = 5;
const char *inDimName(InDim dim);

/// The columns of one input dimension, least significant bit first.
using Columns = std::vector<uint32_t>;

class LinearLayout {
public:
  LinearLayout() = default;
  /// A layout of a tile with extents 2^log2Shape[i], slowest dimension first.
  explicit LinearLayout(std::vector<int> log2Shape);

  //===--- structure -----------------------------------------------------===//
  const std::vector<int> &log2Shape() const { return shape; }
  int rank() const { return static_cast<int>(shape.size()); }
  /// Number of element index bits: the sum of log2Shape.
  int numOutBits() const;
  /// The lowest element bit of dimension `dim`.
  int dimStartBit(int dim) const;
  /// The mask of all element bits of dimension `dim`.
  uint32_t dimMask(int dim) const;

  const Columns &columns(InDim dim) const { return cols[static_cast<int>(dim)]; }
  Columns &columns(InDim dim) { return cols[static_cast<int>(dim)]; }
  int numInBits(InDim dim) const { return static_cast<int>(columns(dim).size()); }
  int inSize(InDim dim) const { return 1 << numInBits(dim); }
  int totalInBits() const;

  //===--- evaluation ----------------------------------------------------===//
  /// The element that `index` of one input dimension contributes.
  uint32_t apply(InDim dim, uint32_t index) const;
  uint32_t apply(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block = 0) const;
  /// The coordinates of a flat element, slowest dimension first.
  std::vector<uint32_t> coordinates(uint32_t element) const;

  //===--- properties ----------------------------------------------------===//
  bool isSurjective() const;
  bool isInvertible() const;
  /// Whether all columns are zero or distinct unit vectors: a distributed
  /// layout without swizzling.
  bool isPermutationLike() const;
  /// For each bit of `dim`, whether flipping it leaves the element unchanged
  /// for every index (a zero column). The mask of such bits.
  uint32_t freeVariableMask(InDim dim) const;

  bool operator==(const LinearLayout &other) const;
  bool operator!=(const LinearLayout &other) const { return !(*this == other); }
  std::string toString() const;

private:
  std::vector<int> shape;
  std::array<Columns, numInDims> cols;
};

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_LINEARLAYOUT_H
