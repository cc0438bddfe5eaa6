//===- Search.h - Points of a space too large to try ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a coarse-to-fine search over a grid of ordered choices (block sizes,
// warps, stages), for spaces beyond an exhaustive sweep.
//
// How, for a grid of d dimensions:
//   1. a first batch spread over the grid: a Latin hypercube, so that every choice
//      of every dimension is met, and the corners' middle
//   2. the best half of what has been measured (successive halving) is refined:
//      its neighbours at distance `step` in one dimension, then in two
//   3. the step halves when a batch brings nothing better; at step 1 without a
//      better one the search is over, or when `maxPoints` have been asked for
//
// Seeded: the same reports give the same proposals. So a search resumes after a
// kill by running again with the figures on disk: nothing is measured twice.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_AUTOTUNE_SEARCH_H
#define TILEWRIGHT_AUTOTUNE_SEARCH_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace tilewright::autotune {

/// One index per dimension.
using Point = std::vector<int>;

class Search {
public:
  /// `isValid` may exclude points; null takes all.
  Search(std::vector<int> sizes, size_t maxPoints, uint64_t seed,
         std::function<bool(const Point &)> isValid = nullptr);

  /// Points to measure now; empty when the search is over. Call `report` for each
  /// before the next batch.
  std::vector<Point> nextBatch();
  /// A time; infinity for a point that does not work.
  void report(const Point &point, double time);

  size_t asked() const { return proposed.size(); }

private:
  std::vector<Point> firstBatch();
  std::vector<Point> refine();
  void propose(const Point &point, std::vector<Point> &batch);

  std::vector<int> sizes;
  size_t maxPoints;
  std::mt19937_64 random;
  std::function<bool(const Point &)> isValid;
  std::map<Point, double> times;
  std::map<Point, bool> proposed;
  int step = 0;
  double bestBefore = -1;
  size_t survivors = 0;
};

} // namespace tilewright::autotune

#endif // TILEWRIGHT_AUTOTUNE_SEARCH_H
