//===- LayoutTestSupport.h - Random layouts for the tests -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: generators of layouts, and loops over all places of one. Seeds are
// fixed, so that a failure repeats.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_LAYOUTTESTSUPPORT_H
#define TILEWRIGHT_TESTS_UNIT_LAYOUTTESTSUPPORT_H

#include "ir/layout/F2.h"
#include "ir/layout/LayoutAlgebra.h"

#include <algorithm>
#include <random>
#include <set>

namespace tilewright::layouttest {

class RandomLayouts {
public:
  explicit RandomLayouts(unsigned seed) : generator(seed) {}

  int upTo(int most) { return std::uniform_int_distribution<int>(0, most)(generator); }
  bool chance(int percent) { return upTo(99) < percent; }
  uint32_t bits(int count) {
    return static_cast<uint32_t>(generator()) & static_cast<uint32_t>((uint64_t(1) << count) - 1);
  }

  std::vector<int> shape(int rank, int totalBits) {
    std::vector<int> result(rank, 0);
    for (int bit = 0; rank > 0 && bit < totalBits; ++bit)
      ++result[upTo(rank - 1)];
    return result;
  }

  /// Element bits handed out at random to registers, lanes and warps; threads
  /// that get none hold copies, and some registers are copies too.
  LinearLayout distributed(const std::vector<int> &log2Shape, int lanes, int warps) {
    LinearLayout layout(log2Shape);
    Columns elements = f2::identityColumns(layout.numOutBits());
    std::shuffle(elements.begin(), elements.end(), generator);
    std::vector<InDim> threads(lanes, InDim::Lane);
    threads.insert(threads.end(), warps, InDim::Warp);
    std::shuffle(threads.begin(), threads.end(), generator);
    for (InDim dim : threads) {
      bool copy = elements.empty() || chance(15);
      layout.columns(dim).push_back(copy ? 0 : elements.back());
      if (!copy)
        elements.pop_back();
    }
    Columns &registers = layout.columns(InDim::Register);
    registers = elements;
    if (chance(20))
      registers.insert(registers.begin() + upTo(static_cast<int>(registers.size())), 0);
    return layout;
  }

  Columns invertible(int numBits) {
    Columns columns = f2::identityColumns(numBits);
    for (int step = 0; step < 4 * numBits && numBits > 1; ++step) {
      int to = upTo(numBits - 1), from = upTo(numBits - 1);
      if (to != from)
        columns[to] ^= columns[from];
    }
    std::shuffle(columns.begin(), columns.end(), generator);
    return columns;
  }

  /// A distributed layout whose columns are arbitrary: swizzled registers.
  LinearLayout mixed(const std::vector<int> &log2Shape, int lanes, int warps) {
    LinearLayout plain = distributed(log2Shape, lanes, warps);
    return compose(plain, invertible(plain.numOutBits()), log2Shape);
  }

  LinearLayout memory(const std::vector<int> &log2Shape) {
    LinearLayout layout(log2Shape);
    layout.columns(InDim::Offset) = invertible(layout.numOutBits());
    return layout;
  }

private:
  std::mt19937 generator;
};

/// visit(reg, lane, warp) for every place of a distributed layout.
template <typename Visit> void forEachPlace(const LinearLayout &layout, Visit visit) {
  for (int warp = 0; warp < layout.inSize(InDim::Warp); ++warp)
    for (int lane = 0; lane < layout.inSize(InDim::Lane); ++lane)
      for (int reg = 0; reg < layout.inSize(InDim::Register); ++reg)
        visit(reg, lane, warp);
}

/// The flat element of coordinates in a tile.
inline uint32_t flatElement(const std::vector<int> &log2Shape,
                            const std::vector<uint32_t> &coordinates) {
  uint32_t element = 0;
  for (size_t dim = 0; dim < log2Shape.size(); ++dim)
    element = (element << log2Shape[dim]) + coordinates[dim];
  return element;
}

} // namespace tilewright::layouttest

#endif // TILEWRIGHT_TESTS_UNIT_LAYOUTTESTSUPPORT_H
