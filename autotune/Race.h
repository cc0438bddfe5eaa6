//===- Race.h - Which candidate is measured next ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: measures candidates in interleaved rounds and spends the time on those
// that can still win.
//
// Why rounds: clocks and temperature drift over seconds. Candidates that are
// measured one after the other are measured under different conditions; in
// rounds a drift affects all alike.
//
// How: (1) every round visits the candidates that are left, in an order that changes with
// the round; (2) after each round from `minRounds` on, a candidate is dropped whose interval
// lies wholly above the leader's; in earlier rounds, one whose interval lies above it by
// `clearMargin`, so that a clear loser costs one round; (3) the race ends when one is left,
// when the leaders are so close that it does not matter, after `maxRounds`, or when the
// caller's budget is spent.
//
// Race does not decide which candidate wins. That is decided where earlier choices are
// known, by the figures of all (python/tilewright/tuning/tuner.py).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_AUTOTUNE_RACE_H
#define TILEWRIGHT_AUTOTUNE_RACE_H

#include "autotune/Statistics.h"

#include <cstdint>

namespace tilewright::autotune {

struct RaceOptions {
  size_t minRounds = 3;
  size_t maxRounds = 12;
  double confidence = 0.95;
  /// Far beyond what clocks and neighbours do to a timing on one machine.
  double clearMargin = 0.25;
  /// Leaders within this fraction of each other are equally good. The caller says what it is.
  double tolerance = 0;
  uint64_t seed = 0;
};

class Race {
public:
  Race(size_t candidates, RaceOptions options) : entries(candidates), options(options) {}

  /// The candidates to measure now, in order; empty when the race is over.
  std::vector<size_t> nextRound();
  void add(size_t candidate, const std::vector<double> &samples);
  /// Takes out a candidate that failed.
  void drop(size_t candidate);

  Summary summary(size_t candidate) const;
  size_t roundsDone() const { return round; }

private:
  struct Candidate {
    std::vector<double> samples;
    bool running = true;
  };
  /// Takes out whose interval lies above the leader's by a fraction.
  void dropAbove(double margin);
  bool leadersAreEqual() const;

  std::vector<Candidate> entries;
  RaceOptions options;
  size_t round = 0;
};

} // namespace tilewright::autotune

#endif // TILEWRIGHT_AUTOTUNE_RACE_H
