//===- Statistics.h - What a set of timings says ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the median of timings and an interval that holds the true median with a
// given confidence, without assuming anything about their distribution: timings
// have a floor and a long tail, so a mean and a standard deviation say little.
//
// How: of n samples in order, the k-th smallest and the k-th largest enclose the
// median with the probability that a fair coin shows between k and n-k heads in n
// tosses. k is the largest for which that reaches the confidence.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_AUTOTUNE_STATISTICS_H
#define TILEWRIGHT_AUTOTUNE_STATISTICS_H

#include <cstddef>
#include <vector>

namespace tilewright::autotune {

struct Summary {
  size_t count = 0;
  double median = 0;
  double low = 0, high = 0;         ///< interval of the median; the extremes for few samples
  double fifth = 0, fourFifths = 0; ///< quantiles 0.2 and 0.8, as Triton reports
};

/// Linear interpolation between order statistics.
double quantile(const std::vector<double> &sorted, double q);

/// The summary of the samples; all zeros where there are none.
Summary summarize(std::vector<double> samples, double confidence = 0.95);

} // namespace tilewright::autotune

#endif // TILEWRIGHT_AUTOTUNE_STATISTICS_H
