//===- Statistics.cpp - What a set of timings says ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "autotune/Statistics.h"

#include <algorithm>
#include <cmath>

namespace tilewright::autotune {

double quantile(const std::vector<double> &sorted, double q) {
  double position = q * static_cast<double>(sorted.size() - 1);
  auto low = static_cast<size_t>(position);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (position - static_cast<double>(low));
}

/// The number of samples to leave out at each end.
static size_t rankOfInterval(size_t count, double confidence) {
  // Sums the binomial distribution of n fair coins from its end.
  double n = static_cast<double>(count);
  double logTerm = -n * std::log(2.0), tail = 0;
  size_t rank = 0;
  for (size_t k = 0; k < count / 2; ++k) {
    tail += std::exp(logTerm);
    if (2 * tail > 1 - confidence)
      break;
    rank = k + 1;
    double done = static_cast<double>(k);
    logTerm += std::log((n - done) / (done + 1));
  }
  return rank;
}

Summary summarize(std::vector<double> samples, double confidence) {
  Summary summary;
  summary.count = samples.size();
  if (samples.empty())
    return summary;
  std::sort(samples.begin(), samples.end());
  summary.median = quantile(samples, 0.5);
  summary.fifth = quantile(samples, 0.2);
  summary.fourFifths = quantile(samples, 0.8);
  size_t rank = rankOfInterval(samples.size(), confidence);
  // Below six samples even the extremes do not reach 95 %: they are all there is.
  size_t first = rank == 0 ? 0 : rank - 1;
  summary.low = samples[first];
  summary.high = samples[samples.size() - 1 - first];
  return summary;
}

} // namespace tilewright::autotune
