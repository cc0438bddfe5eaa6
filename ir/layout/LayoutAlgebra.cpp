//===- LayoutAlgebra.cpp - Composing and inverting layouts ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutAlgebra.h"

#include "ir/layout/F2.h"

#include <algorithm>

namespace tilewright {

//===--- places and maps --------------------------------------------------===//

HardwareIndex &HardwareIndex::operator^=(const HardwareIndex &other) {
  for (int dim = 0; dim < numInDims; ++dim)
    part[dim] ^= other.part[dim];
  return *this;
}

bool HardwareIndex::isZero() const {
  return std::all_of(part.begin(), part.end(), [](uint32_t bits) { return bits == 0; });
}

/// The XOR of the columns at the set bits of `index`.
static HardwareIndex combine(const std::vector<HardwareIndex> &columns, uint32_t index) {
  HardwareIndex result;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (index >> bit & 1)
      result ^= columns[bit];
  return result;
}

HardwareIndex ElementMap::apply(uint32_t element) const { return combine(columns, element); }

HardwareIndex IndexMap::apply(InDim dim, uint32_t index) const {
  return combine((*this)[dim], index);
}

HardwareIndex IndexMap::apply(const HardwareIndex &index) const {
  HardwareIndex result;
  for (InDim dim : allInDims)
    result ^= apply(dim, index[dim]);
  return result;
}

Columns IndexMap::part(InDim from, InDim to) const {
  Columns result;
  for (const HardwareIndex &column : (*this)[from])
    result.push_back(column[to]);
  return result;
}

bool IndexMap::preserves(InDim dim) const {
  for (InDim from : allInDims) {
    for (size_t bit = 0; bit < (*this)[from].size(); ++bit) {
      HardwareIndex column = (*this)[from][bit];
      uint32_t expected = from == dim ? uint32_t(1) << bit : 0;
      if (column[dim] != expected)
        return false;
      column[dim] = 0;
      if (from == dim && !column.isZero())
        return false;
    }
  }
  return true;
}

//===--- layouts as one matrix --------------------------------------------===//

Columns flatten(const LinearLayout &layout) {
  Columns result;
  for (InDim dim : allInDims)
    result.insert(result.end(), layout.columns(dim).begin(), layout.columns(dim).end());
  return result;
}

/// A mask over flatten(layout) as a place.
static HardwareIndex unflatten(const LinearLayout &layout, uint64_t mask) {
  HardwareIndex result;
  for (InDim dim : allInDims) {
    int bits = layout.numInBits(dim);
    result[dim] = static_cast<uint32_t>(mask & ((uint64_t(1) << bits) - 1));
    mask >>= bits;
  }
  return result;
}

uint32_t applyLayout(const LinearLayout &layout, const HardwareIndex &index) {
  uint32_t element = 0;
  for (InDim dim : allInDims)
    element ^= layout.apply(dim, index[dim]);
  return element;
}

LinearLayout compose(const LinearLayout &layout, const Columns &elementColumns,
                     std::vector<int> log2Shape) {
  LinearLayout result(std::move(log2Shape));
  for (InDim dim : allInDims)
    for (uint32_t column : layout.columns(dim))
      result.columns(dim).push_back(f2::multiply(elementColumns, column));
  return result;
}

//===--- product and division ---------------------------------------------===//

/// Where the element bits of a tile go inside a larger one: dimension d keeps
/// its order and starts `skipped[d]` bits up.
static Columns embedding(const std::vector<int> &log2Shape, const LinearLayout &larger,
                         const std::vector<int> &skipped) {
  Columns result;
  for (int dim = static_cast<int>(log2Shape.size()) - 1; dim >= 0; --dim)
    for (int bit = 0; bit < log2Shape[dim]; ++bit)
      result.push_back(uint32_t(1) << (larger.dimStartBit(dim) + skipped[dim] + bit));
  return result;
}

LinearLayout product(const LinearLayout &inner, const LinearLayout &outer) {
  std::vector<int> log2Shape = inner.log2Shape();
  for (int dim = 0; dim < inner.rank(); ++dim)
    log2Shape[dim] += outer.log2Shape()[dim];
  LinearLayout whole(log2Shape);
  std::vector<int> none(inner.rank(), 0);
  LinearLayout low = compose(inner, embedding(inner.log2Shape(), whole, none), log2Shape);
  LinearLayout high =
      compose(outer, embedding(outer.log2Shape(), whole, inner.log2Shape()), log2Shape);
  for (InDim dim : allInDims)
    whole.columns(dim) = f2::concat(low.columns(dim), high.columns(dim));
  return whole;
}

std::optional<LinearLayout> leftDivide(const LinearLayout &layout, const LinearLayout &inner) {
  if (layout.rank() != inner.rank())
    return std::nullopt;
  std::vector<int> outerShape = layout.log2Shape();
  for (int dim = 0; dim < layout.rank(); ++dim) {
    outerShape[dim] -= inner.log2Shape()[dim];
    if (outerShape[dim] < 0)
      return std::nullopt;
  }
  std::vector<int> none(layout.rank(), 0);
  Columns innerBits = embedding(inner.log2Shape(), layout, none);
  f2::Basis outerBits(embedding(outerShape, layout, inner.log2Shape()));

  LinearLayout outer(outerShape);
  for (InDim dim : allInDims) {
    const Columns &all = layout.columns(dim);
    const Columns &low = inner.columns(dim);
    if (all.size() < low.size())
      return std::nullopt;
    for (size_t bit = 0; bit < low.size(); ++bit)
      if (all[bit] != f2::multiply(innerBits, low[bit]))
        return std::nullopt;
    for (size_t bit = low.size(); bit < all.size(); ++bit) {
      // Outside the span: this column reaches into the inner tile.
      std::optional<uint64_t> column = outerBits.solve(all[bit]);
      if (!column)
        return std::nullopt;
      outer.columns(dim).push_back(static_cast<uint32_t>(*column));
    }
  }
  return outer;
}

//===--- inverses ---------------------------------------------------------===//

std::optional<ElementMap> rightInverse(const LinearLayout &layout) {
  f2::Basis basis(flatten(layout));
  ElementMap result;
  for (int bit = 0; bit < layout.numOutBits(); ++bit) {
    std::optional<uint64_t> mask = basis.solve(uint32_t(1) << bit);
    if (!mask)
      return std::nullopt;
    result.columns.push_back(unflatten(layout, *mask));
  }
  return result;
}

std::optional<ElementMap> invert(const LinearLayout &layout) {
  if (!layout.isInvertible())
    return std::nullopt;
  return rightInverse(layout);
}

std::optional<IndexMap> invertAndCompose(const LinearLayout &src, const LinearLayout &dst) {
  f2::Basis basis(flatten(dst));
  IndexMap result;
  for (InDim dim : allInDims) {
    for (uint32_t column : src.columns(dim)) {
      std::optional<uint64_t> mask = basis.solve(column);
      if (!mask)
        return std::nullopt;
      result[dim].push_back(unflatten(dst, *mask));
    }
  }
  return result;
}

//===--- parts of layouts -------------------------------------------------===//

LinearLayout sublayout(const LinearLayout &layout, const std::vector<InDim> &dims) {
  LinearLayout result(layout.log2Shape());
  for (InDim dim : dims)
    result.columns(dim) = layout.columns(dim);
  return result;
}

HardwareIndex freeVariables(const LinearLayout &layout) {
  HardwareIndex result;
  for (InDim dim : allInDims)
    result[dim] = layout.freeVariableMask(dim);
  return result;
}

std::vector<int> keptRegisterBits(const LinearLayout &layout) {
  f2::Basis basis;
  std::vector<int> kept;
  for (int bit = 0; bit < layout.numInBits(InDim::Register); ++bit)
    if (basis.insert(layout.columns(InDim::Register)[bit]))
      kept.push_back(bit);
  return kept;
}

std::vector<int> keptRegisters(const LinearLayout &layout) {
  std::vector<int> kept = keptRegisterBits(layout);
  std::vector<int> registers(size_t(1) << kept.size(), 0);
  for (size_t compact = 0; compact < registers.size(); ++compact)
    for (size_t bit = 0; bit < kept.size(); ++bit)
      registers[compact] |= (compact >> bit & 1) << kept[bit];
  return registers;
}

LinearLayout removeZeroRegisters(const LinearLayout &layout) {
  LinearLayout result = layout;
  result.columns(InDim::Register) = f2::independentColumns(layout.columns(InDim::Register));
  return result;
}

std::vector<int> compactRegisterOf(const LinearLayout &layout) {
  f2::Basis basis(f2::independentColumns(layout.columns(InDim::Register)));
  std::vector<int> result;
  for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg)
    result.push_back(static_cast<int>(*basis.solve(layout.apply(InDim::Register, reg))));
  return result;
}

} // namespace tilewright
