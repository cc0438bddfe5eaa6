//===- LayoutAlgebra.h - Composing and inverting layouts --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the operations on whole layouts from which every conversion, vector
// width and memory address is derived.
//
// How: an element is a row of bits, a hardware index (register, lane, warp,
// block, offset) is five rows of bits, and all maps between them are linear.
// LinearLayout maps hardware index -> element; ElementMap is its (right)
// inverse, element -> hardware index; IndexMap is a map hardware index ->
// hardware index, such as dst^-1 o src.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_LAYOUTALGEBRA_H
#define TILEWRIGHT_IR_LAYOUT_LAYOUTALGEBRA_H

#include "ir/layout/LinearLayout.h"

namespace tilewright {

/// One place in the machine, or one column of a map whose results are places.
struct HardwareIndex {
  std::array<uint32_t, numInDims> part{};

  uint32_t operator[](InDim dim) const { return part[static_cast<int>(dim)]; }
  uint32_t &operator[](InDim dim) { return part[static_cast<int>(dim)]; }
  HardwareIndex &operator^=(const HardwareIndex &other);
  bool operator==(const HardwareIndex &other) const { return part == other.part; }
  bool operator!=(const HardwareIndex &other) const { return part != other.part; }
  bool isZero() const;
};

/// A linear map from elements to hardware indices; one column per element bit.
struct ElementMap {
  std::vector<HardwareIndex> columns;
  HardwareIndex apply(uint32_t element) const;
};

/// A linear map from hardware indices to hardware indices.
struct IndexMap {
  std::array<std::vector<HardwareIndex>, numInDims> columns;

  std::vector<HardwareIndex> &operator[](InDim dim) { return columns[static_cast<int>(dim)]; }
  const std::vector<HardwareIndex> &operator[](InDim dim) const {
    return columns[static_cast<int>(dim)];
  }
  HardwareIndex apply(const HardwareIndex &index) const;
  HardwareIndex apply(InDim dim, uint32_t index) const;
  /// The `to` parts of the columns of `from`: for a map into memory,
  /// part(Lane, Offset) are the offsets that lane bits add.
  Columns part(InDim from, InDim to) const;
  /// Whether `dim` maps to itself by the identity and nothing else reaches it.
  bool preserves(InDim dim) const;
};

/// All five dimensions, in the order in which inverses prefer them.
inline constexpr std::array<InDim, numInDims> allInDims = {
    InDim::Register, InDim::Lane, InDim::Warp, InDim::Block, InDim::Offset};

/// The columns of all input dimensions, in the order of allInDims.
Columns flatten(const LinearLayout &layout);
/// The element that `index` holds.
uint32_t applyLayout(const LinearLayout &layout, const HardwareIndex &index);

/// map o layout: every column of `layout` sent through the linear map of
/// elements `elementColumns` (one column per element bit of `layout`).
LinearLayout compose(const LinearLayout &layout, const Columns &elementColumns,
                     std::vector<int> log2Shape);

/// The block-diagonal product: per dimension, `outer` numbers tiles of the
/// shape of `inner`. Input bits of `inner` come first. Both have the same rank.
LinearLayout product(const LinearLayout &inner, const LinearLayout &outer);

/// The layout `outer` with layout == product(inner, outer), where there is one:
/// whether the tile `inner` (a vector, an ldmatrix tile) factors out.
std::optional<LinearLayout> leftDivide(const LinearLayout &layout, const LinearLayout &inner);

/// A map `inv` with layout(inv(e)) == e for every element. Where an element has
/// several places, columns that are dependent on earlier ones (order of
/// allInDims) are not used. Nothing where the layout is not surjective.
std::optional<ElementMap> rightInverse(const LinearLayout &layout);
/// As rightInverse, but nothing where an element has more than one place.
std::optional<ElementMap> invert(const LinearLayout &layout);

/// dst^-1 o src: the place in `dst` of what a place in `src` holds. Where `dst`
/// holds copies it names one of them (free variables zero). With a memory
/// layout as `dst` this gives the offset at which a register is stored. Nothing
/// where `dst` does not hold every element of `src`.
std::optional<IndexMap> invertAndCompose(const LinearLayout &src, const LinearLayout &dst);

/// `layout` with only the input dimensions `dims`.
LinearLayout sublayout(const LinearLayout &layout, const std::vector<InDim> &dims);

/// The zero columns of every dimension, as masks.
HardwareIndex freeVariables(const LinearLayout &layout);

/// Drops register columns that are zero or dependent on earlier register
/// columns, so that no two registers of a thread hold the same element.
LinearLayout removeZeroRegisters(const LinearLayout &layout);
/// For each register of `layout`, the register of removeZeroRegisters(layout)
/// that holds the same element.
std::vector<int> compactRegisterOf(const LinearLayout &layout);
/// The bits (ascending) of the register index that removeZeroRegisters keeps.
std::vector<int> keptRegisterBits(const LinearLayout &layout);
/// For each register of removeZeroRegisters(layout), its number in `layout`.
std::vector<int> keptRegisters(const LinearLayout &layout);

} // namespace tilewright

#endif // TILEWRIGHT_IR_LAYOUT_LAYOUTALGEBRA_H
