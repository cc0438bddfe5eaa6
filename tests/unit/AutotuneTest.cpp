//===- AutotuneTest.cpp - Statistics, races, searches, fits ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "autotune/Fit.h"
#include "autotune/Race.h"
#include "autotune/Search.h"
#include "ir/support/TargetInfo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace tilewright::autotune;

namespace {

TEST(TuningStatistics, MedianAndQuantiles) {
  Summary s = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(s.count, 5u);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.fifth, 1.8);
  EXPECT_DOUBLE_EQ(s.fourFifths, 4.2);
  EXPECT_DOUBLE_EQ(s.low, 1); // five samples cannot say more
  EXPECT_DOUBLE_EQ(s.high, 5);
  EXPECT_EQ(summarize({}).count, 0u);
  EXPECT_DOUBLE_EQ(summarize({7}).median, 7);
}

TEST(TuningStatistics, IntervalHasItsConfidence) {
  // The known case: of ten samples the second and the ninth enclose the median
  // with 97.9 %, the third and the eighth with 89 %.
  std::vector<double> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_DOUBLE_EQ(summarize(ten).low, 2);
  EXPECT_DOUBLE_EQ(summarize(ten).high, 9);
  EXPECT_DOUBLE_EQ(summarize(ten, 0.85).low, 3);
  // And by trial, on a distribution with a long tail.
  std::mt19937_64 random(3);
  std::exponential_distribution<double> tail(1);
  int inside = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> samples(25);
    for (double &sample : samples)
      sample = 1 + tail(random);
    Summary s = summarize(samples);
    double truth = 1 + std::log(2.0);
    inside += s.low <= truth && truth <= s.high;
  }
  EXPECT_GE(inside, 1900);
}

/// The candidate with the smallest median.
size_t fastest(const Race &race, size_t candidates) {
  size_t best = 0;
  for (size_t i = 1; i < candidates; ++i)
    if (race.summary(i).count && race.summary(i).median < race.summary(best).median)
      best = i;
  return best;
}

/// Runs a race over candidates with these true times and this relative noise; the fastest.
size_t runRace(const std::vector<double> &times, double noise, uint64_t seed,
               size_t *measured = nullptr) {
  RaceOptions options;
  options.tolerance = 0.005;
  options.seed = seed;
  Race race(times.size(), options);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> spread(0, noise);
  size_t count = 0;
  for (auto order = race.nextRound(); !order.empty(); order = race.nextRound())
    for (size_t i : order) {
      std::vector<double> samples(5);
      for (double &sample : samples)
        sample = times[i] * (1 + std::abs(spread(random)));
      race.add(i, samples);
      ++count;
    }
  if (measured)
    *measured = count;
  return fastest(race, times.size());
}

TEST(Race, FivePercentFasterWins) {
  int right = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed)
    right += runRace({1.05, 1.0, 1.2, 1.1}, 0.02, seed) == 1;
  EXPECT_GE(right, 990);
}

TEST(Race, HopelessCandidatesCostLittle) {
  size_t measured = 0;
  std::vector<double> times(24, 3.0);
  times[7] = 1.0;
  EXPECT_EQ(runRace(times, 0.01, 1, &measured), 7u);
  EXPECT_LE(measured, 24u + 2) << "what loses clearly is measured in one round";
}

TEST(Race, OneBadSampleDecidesNothing) {
  Race race(2, {});
  race.nextRound();
  race.add(0, {1.0, 1.0, 1.0});
  race.add(1, {5.0, 4.0}); // something else ran meanwhile
  EXPECT_EQ(race.nextRound().size(), 2u);
  race.add(0, {1.0, 1.0, 1.0});
  race.add(1, {0.9, 0.9, 0.9});
  EXPECT_EQ(race.nextRound().size(), 2u);
  race.add(0, {1.0, 1.0, 1.0});
  race.add(1, {0.9, 0.9, 0.9});
  race.nextRound();
  EXPECT_EQ(fastest(race, 2), 1u);
}

TEST(Race, EveryRoundVisitsAllInAnotherOrder) {
  Race race(10, {});
  std::vector<size_t> first = race.nextRound(), second = race.nextRound();
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set<size_t>(first.begin(), first.end()).size(), 10u);
}

TEST(Race, FailedCandidatesAreOut) {
  Race race(2, {});
  race.nextRound();
  race.add(0, {1, 1, 1});
  race.add(1, {0.5});
  race.drop(1);
  EXPECT_EQ(race.nextRound(), std::vector<size_t>{0});
  EXPECT_EQ(race.summary(1).count, 0u) << "what it measured does not count";
  race.drop(0);
  EXPECT_TRUE(race.nextRound().empty());
}

/// Searches a bowl whose bottom is at `bottom`; the number of points asked for.
size_t searchBowl(const std::vector<int> &sizes, const Point &bottom, uint64_t seed, bool &found,
                  size_t maxPoints = 400) {
  Search search(sizes, maxPoints, seed);
  double best = std::numeric_limits<double>::infinity();
  Point bestPoint;
  for (auto batch = search.nextBatch(); !batch.empty(); batch = search.nextBatch())
    for (const Point &point : batch) {
      double time = 1;
      for (size_t d = 0; d < sizes.size(); ++d)
        time += std::pow(point[d] - bottom[d], 2) * static_cast<double>(1 + d);
      if (time < best) {
        best = time;
        bestPoint = point;
      }
      search.report(point, time);
    }
  found = bestPoint == bottom;
  return search.asked();
}

TEST(Search, FindsTheBottomOfABowl) {
  std::vector<int> sizes = {8, 8, 6, 5, 4}; // 7680 points
  for (uint64_t seed = 0; seed < 20; ++seed) {
    bool found = false;
    Point bottom = {static_cast<int>(seed % 8), 3, static_cast<int>(seed % 6), 4, 1};
    size_t asked = searchBowl(sizes, bottom, seed, found);
    EXPECT_TRUE(found) << seed;
    EXPECT_LE(asked, 400u);
  }
}

TEST(Search, SameSeedSameProposals) {
  Search a({7, 7, 7}, 100, 5), b({7, 7, 7}, 100, 5);
  for (;;) {
    std::vector<Point> left = a.nextBatch(), right = b.nextBatch();
    ASSERT_EQ(left, right);
    if (left.empty())
      break;
    for (const Point &point : left) {
      a.report(point, point[0] + point[1] * 2.0);
      b.report(point, point[0] + point[1] * 2.0);
    }
  }
}

TEST(Search, NoPointTwiceAndNoneExcluded) {
  std::set<Point> seen;
  Search search({6, 6}, 30, 1, [](const Point &p) { return (p[0] + p[1]) % 2 == 0; });
  for (auto batch = search.nextBatch(); !batch.empty(); batch = search.nextBatch())
    for (const Point &point : batch) {
      EXPECT_TRUE(seen.insert(point).second);
      EXPECT_EQ((point[0] + point[1]) % 2, 0);
      search.report(point, 1.0 + point[0]);
    }
  EXPECT_LE(seen.size(), 30u);
}

TEST(Search, EndsWhereNothingWorks) {
  Search search({4, 4}, 1000, 1);
  size_t count = 0;
  for (auto batch = search.nextBatch(); !batch.empty(); batch = search.nextBatch())
    for (const Point &point : batch) {
      ++count;
      search.report(point, std::numeric_limits<double>::infinity());
    }
  EXPECT_LE(count, 16u);
}

TEST(Fit, NamesWhatIsTooMuch) {
  DeviceLimits h100{232448, 65536, 1024, tilewright::getTargetInfo("sm_90a").multiprocessor};
  EXPECT_EQ(judgeFit({0, 32, 128}, h100).problem, "");
  EXPECT_EQ(judgeFit({300000, 32, 128}, h100).problem,
            "300000 bytes of shared memory, 232448 allowed");
  EXPECT_EQ(judgeFit({0, 200, 512}, h100).problem, "200 registers x 512 threads, 65536 allowed");
  EXPECT_EQ(judgeFit({0, 10, 2048}, h100).problem, "2048 threads, 1024 allowed");
  EXPECT_EQ(judgeFit({0, -1, 128}, h100).problem, "") << "unknown registers are no reason";
}

TEST(Fit, BlocksAtOnce) {
  DeviceLimits h100{232448, 65536, 1024, tilewright::getTargetInfo("sm_90a").multiprocessor};
  EXPECT_EQ(judgeFit({100000, 64, 128}, h100).blocksAtOnce, 2);
  EXPECT_EQ(judgeFit({0, 255, 256}, h100).blocksAtOnce, 1);
  EXPECT_EQ(judgeFit({0, 16, 64}, h100).blocksAtOnce, 32);
}

} // namespace
