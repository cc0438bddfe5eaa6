//===- Race.cpp - Which candidate is measured next ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "autotune/Race.h"

#include <algorithm>
#include <random>

namespace tilewright::autotune {

Summary Race::summary(size_t candidate) const {
  return summarize(entries[candidate].samples, options.confidence);
}

void Race::add(size_t candidate, const std::vector<double> &samples) {
  std::vector<double> &all = entries[candidate].samples;
  all.insert(all.end(), samples.begin(), samples.end());
}

void Race::drop(size_t candidate) {
  entries[candidate].running = false;
  entries[candidate].samples.clear();
}

void Race::dropAbove(double margin) {
  double bestHigh = -1, bestMedian = -1;
  for (size_t i = 0; i < entries.size(); ++i) {
    Summary s = summary(i);
    if (s.count && (bestMedian < 0 || s.median < bestMedian)) {
      bestMedian = s.median;
      bestHigh = s.high;
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    Summary s = summary(i);
    // One or two samples may both have met something else.
    bool isKnown = margin > 0 ? s.count > 2 : s.count > 0;
    if (entries[i].running && isKnown && s.low > bestHigh * (1 + margin))
      entries[i].running = false;
  }
}

/// Whether every candidate left is within the tolerance, and known well enough to
/// say so.
bool Race::leadersAreEqual() const {
  double least = -1, most = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].running)
      continue;
    Summary s = summary(i);
    if (s.count == 0 || s.high - s.low > 2 * options.tolerance * s.median)
      return false;
    least = least < 0 ? s.median : std::min(least, s.median);
    most = std::max(most, s.median);
  }
  return least >= 0 && most - least <= options.tolerance * least;
}

std::vector<size_t> Race::nextRound() {
  if (round >= options.minRounds) {
    dropAbove(0);
    if (round >= options.maxRounds || leadersAreEqual())
      return {};
  } else if (round > 0) {
    dropAbove(options.clearMargin);
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].running)
      order.push_back(i);
  // One that is left alone has won, and is known as well as it needs to be.
  if (round >= options.minRounds && order.size() == 1)
    return {};
  std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15u + round);
  std::shuffle(order.begin(), order.end(), random);
  ++round;
  return order;
}

} // namespace tilewright::autotune
