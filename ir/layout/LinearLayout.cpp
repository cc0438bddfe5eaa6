//===- LinearLayout.cpp - Linear layouts over F2 --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LinearLayout.h"

#include "ir/layout/F2.h"
#include "ir/layout/LayoutAlgebra.h"

namespace tilewright {

const char *inDimName(InDim dim) {
  switch (dim) {
  case InDim::Register:
    return "register";
  case InDim::Lane:
    return "lane";
  case InDim::Warp:
    return "warp";
  case InDim::Block:
    return "block";
  case InDim::Offset:
    return "offset";
  }
  return "";
}

LinearLayout::LinearLayout(std::vector<int> log2Shape) : shape(std::move(log2Shape)) {}

//===--- structure --------------------------------------------------------===//

int LinearLayout::numOutBits() const {
  int bits = 0;
  for (int log2Extent : shape)
    bits += log2Extent;
  return bits;
}

int LinearLayout::dimStartBit(int dim) const {
  int start = 0;
  for (int later = rank() - 1; later > dim; --later)
    start += shape[later];
  return start;
}

uint32_t LinearLayout::dimMask(int dim) const {
  // In 64 bits, since a dimension may have all 32.
  return static_cast<uint32_t>(((uint64_t(1) << shape[dim]) - 1) << dimStartBit(dim));
}

int LinearLayout::totalInBits() const {
  int bits = 0;
  for (const Columns &columns : cols)
    bits += static_cast<int>(columns.size());
  return bits;
}

//===--- evaluation -------------------------------------------------------===//

uint32_t LinearLayout::apply(InDim dim, uint32_t index) const {
  return f2::multiply(columns(dim), index);
}

uint32_t LinearLayout::apply(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block) const {
  return apply(InDim::Register, reg) ^ apply(InDim::Lane, lane) ^ apply(InDim::Warp, warp) ^
         apply(InDim::Block, block);
}

std::vector<uint32_t> LinearLayout::coordinates(uint32_t element) const {
  std::vector<uint32_t> result(shape.size());
  for (int dim = 0; dim < rank(); ++dim)
    if (shape[dim] > 0) // an extent of 1 may start at bit 32, beyond any shift
      result[dim] = (element & dimMask(dim)) >> dimStartBit(dim);
  return result;
}

//===--- properties -------------------------------------------------------===//

bool LinearLayout::isSurjective() const { return f2::rank(flatten(*this)) == numOutBits(); }

bool LinearLayout::isInvertible() const { return totalInBits() == numOutBits() && isSurjective(); }

bool LinearLayout::isPermutationLike() const {
  uint32_t seen = 0;
  for (uint32_t column : flatten(*this)) {
    if ((column & (column - 1)) != 0 || (column & seen) != 0)
      return false;
    seen |= column;
  }
  return true;
}

uint32_t LinearLayout::freeVariableMask(InDim dim) const {
  uint32_t mask = 0;
  for (int bit = 0; bit < numInBits(dim); ++bit)
    if (columns(dim)[bit] == 0)
      mask |= uint32_t(1) << bit;
  return mask;
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  return shape == other.shape && cols == other.cols;
}

std::string LinearLayout::toString() const {
  std::string text;
  for (int dim = 0; dim < rank(); ++dim)
    text += (dim ? "x" : "") + std::to_string(uint64_t(1) << shape[dim]);
  if (text.empty())
    text = "scalar";
  for (InDim dim : allInDims) {
    if (columns(dim).empty())
      continue;
    text += std::string("; ") + inDimName(dim) + " ->";
    const char *separator = " ";
    for (uint32_t column : columns(dim)) {
      text += separator + std::to_string(column);
      separator = ", ";
    }
  }
  return text;
}

} // namespace tilewright
