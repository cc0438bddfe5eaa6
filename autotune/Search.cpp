//===- Search.cpp - Points of a space too large to try --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "autotune/Search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tilewright::autotune {

/// Points of the first batch for each dimension; three meet both ends and the
/// middle of most lists. A guess.
static constexpr size_t firstPerDimension = 4;

Search::Search(std::vector<int> sizes, size_t maxPoints, uint64_t seed,
               std::function<bool(const Point &)> isValid)
    : sizes(std::move(sizes)), maxPoints(maxPoints), random(seed), isValid(std::move(isValid)) {
  int largest = 1;
  for (int size : this->sizes)
    largest = std::max(largest, size);
  step = std::max(1, largest / 4);
}

void Search::propose(const Point &point, std::vector<Point> &batch) {
  if (proposed.size() >= maxPoints || proposed.count(point) || (isValid && !isValid(point)))
    return;
  proposed[point] = true;
  batch.push_back(point);
}

std::vector<Point> Search::firstBatch() {
  size_t longest = 1;
  for (int size : sizes)
    longest = std::max(longest, static_cast<size_t>(size));
  size_t wanted = std::min(maxPoints, std::max(longest, firstPerDimension * sizes.size()));
  std::vector<Point> batch;
  Point middle;
  for (int size : sizes)
    middle.push_back(size / 2);
  propose(middle, batch);
  // Excluded points leave gaps, so more hypercubes are drawn than needed.
  for (int attempt = 0; attempt < 64 && batch.size() < wanted; ++attempt) {
    std::vector<std::vector<int>> columns;
    for (int size : sizes) {
      std::vector<int> column(wanted);
      for (size_t i = 0; i < wanted; ++i)
        column[i] = static_cast<int>(i * static_cast<size_t>(size) / wanted);
      std::shuffle(column.begin(), column.end(), random);
      columns.push_back(std::move(column));
    }
    for (size_t i = 0; i < wanted && batch.size() < wanted; ++i) {
      Point point;
      for (const std::vector<int> &column : columns)
        point.push_back(column[i]);
      propose(point, batch);
    }
  }
  survivors = std::max<size_t>(1, batch.size() / 2);
  return batch;
}

std::vector<Point> Search::refine() {
  std::vector<std::pair<double, Point>> order;
  for (const auto &[point, time] : times)
    if (std::isfinite(time))
      order.emplace_back(time, point);
  std::sort(order.begin(), order.end());
  std::vector<Point> batch;
  if (order.empty())
    return firstBatch(); // nothing works so far: look elsewhere
  bool improved = bestBefore < 0 || order[0].first < bestBefore;
  bestBefore = order[0].first;
  for (;;) {
    if (!improved)
      step /= 2;
    if (step < 1)
      return {};
    for (size_t i = 0; i < std::min(survivors, order.size()); ++i)
      for (size_t d = 0; d < sizes.size(); ++d)
        for (int direction : {-step, step}) {
          Point neighbour = order[i].second;
          neighbour[d] += direction;
          if (neighbour[d] >= 0 && neighbour[d] < sizes[d])
            propose(neighbour, batch);
        }
    // Choices that only pay together: two dimensions, around the best alone.
    for (size_t a = 0; a < sizes.size(); ++a)
      for (size_t b = a + 1; b < sizes.size(); ++b)
        for (int da : {-step, step})
          for (int db : {-step, step}) {
            Point neighbour = order[0].second;
            neighbour[a] += da;
            neighbour[b] += db;
            if (neighbour[a] >= 0 && neighbour[a] < sizes[a] && neighbour[b] >= 0 &&
                neighbour[b] < sizes[b])
              propose(neighbour, batch);
          }
    survivors = std::max<size_t>(1, survivors / 2);
    if (!batch.empty() || proposed.size() >= maxPoints)
      return batch;
    improved = false; // everything near is known: go finer
  }
}

std::vector<Point> Search::nextBatch() { return proposed.empty() ? firstBatch() : refine(); }

void Search::report(const Point &point, double time) { times[point] = time; }

} // namespace tilewright::autotune
