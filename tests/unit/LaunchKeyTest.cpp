//===- LaunchKeyTest.cpp - Specialisation keys and their table ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/KeyTable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>

using namespace tilewright::launch;

namespace {

/// Fills a key from a list of codes and a list of words.
void fill(KeyBuilder &key, uint64_t header, const std::vector<uint8_t> &codes,
          const std::vector<uint64_t> &words) {
  key.setHeader(header);
  for (size_t i = 0; i < codes.size(); ++i)
    key.codes()[i] = codes[i];
  for (uint64_t word : words)
    key.addWord(word);
}

TEST(LaunchKey, EqualCallsHaveEqualKeys) {
  KeyBuilder a(3, 2), b(3, 2);
  fill(a, 1, {1, 2, 3}, {7, 8});
  fill(b, 1, {1, 2, 3}, {7, 8});
  EXPECT_EQ(a.hash(), b.hash());
  KeyTable<int> table;
  table.insert(a, a.hash(), std::make_unique<int>(42));
  ASSERT_NE(table.find(b, b.hash()), nullptr);
  EXPECT_EQ(*table.find(b, b.hash()), 42);
}

// Each part of a key decides: header, a code, a word, the number of words.
TEST(LaunchKey, EveryPartCounts) {
  KeyBuilder base(9, 3);
  fill(base, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {7, 8});
  KeyTable<int> table;
  table.insert(base, base.hash(), std::make_unique<int>(0));
  auto expectMiss = [&](uint64_t header, const std::vector<uint8_t> &codes,
                        const std::vector<uint64_t> &words) {
    KeyBuilder other(codes.size(), 3);
    fill(other, header, codes, words);
    EXPECT_EQ(table.find(other, other.hash()), nullptr);
    // A full comparison decides, not the hash alone.
    EXPECT_EQ(table.find(other, base.hash()), nullptr);
  };
  expectMiss(2, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {7, 8});
  expectMiss(1, {1, 2, 3, 4, 5, 6, 7, 8, 10}, {7, 8});
  expectMiss(1, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {7, 9});
  expectMiss(1, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {7});
  expectMiss(1, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {7, 8, 0});
}

TEST(LaunchKey, LongKeysLeaveTheStack) {
  std::vector<uint8_t> codes(300, 16);
  std::vector<uint64_t> words(300, 5);
  KeyBuilder a(300, 300), b(300, 300);
  fill(a, 0, codes, words);
  words.back() = 6;
  fill(b, 0, codes, words);
  EXPECT_GT(a.size(), KeyBuilder::maxInlineWords);
  KeyTable<int> table;
  table.insert(a, a.hash(), std::make_unique<int>(1));
  EXPECT_NE(table.find(a, a.hash()), nullptr);
  EXPECT_EQ(table.find(b, b.hash()), nullptr);
}

// Against std::map, with keys that differ in few bits and hashes forced to meet.
TEST(LaunchKey, TableAgreesWithAMap) {
  std::mt19937 random(1);
  for (bool collide : {false, true}) {
    KeyTable<int> table;
    std::map<std::pair<unsigned, unsigned>, int> expected;
    for (int step = 0; step < 2000; ++step) {
      unsigned code = random() % 20, word = random() % 40;
      KeyBuilder key(1, 1);
      fill(key, 0, {static_cast<uint8_t>(code)}, {word});
      uint64_t hash = collide ? word % 3 : key.hash();
      auto found = table.find(key, hash);
      auto known = expected.find({code, word});
      ASSERT_EQ(bool(found), known != expected.end());
      if (found) {
        ASSERT_EQ(*found, known->second);
        continue;
      }
      table.insert(key, hash, std::make_unique<int>(step));
      expected[{code, word}] = step;
    }
    EXPECT_EQ(table.size(), expected.size());
    size_t visited = 0;
    table.forEach([&](int &) { ++visited; });
    EXPECT_EQ(visited, expected.size());
    table.clear();
    EXPECT_EQ(table.size(), 0u);
  }
}

/// Calls back into its table when it dies.
struct Reentrant {
  KeyTable<Reentrant> *table;
  bool *foundNothing;
  ~Reentrant() {
    KeyBuilder key(1, 0);
    *foundNothing = table->find(key, key.hash()) == nullptr && table->size() == 0;
  }
};

TEST(LaunchKey, ClearingIsSafeAgainstLaunchesAndCallbacks) {
  KeyTable<Reentrant> table;
  bool foundNothing = false;
  KeyBuilder key(1, 0);
  Reentrant *inserted = table.insert(
      key, key.hash(), std::unique_ptr<Reentrant>(new Reentrant{&table, &foundNothing}));
  EXPECT_EQ(table.find(key, key.hash()), inserted);
  table.clear();
  EXPECT_EQ(table.find(key, key.hash()), nullptr);
  EXPECT_FALSE(foundNothing); // the launch that found it may still use it
  size_t owned = 0;
  table.forEach([&](Reentrant &) { ++owned; });
  EXPECT_EQ(owned, 1u);
  table.reclaim();
  EXPECT_TRUE(foundNothing);
}

// Launches look up while others enter and clear; see `make sanitize`.
TEST(LaunchKey, ThreadsFindWhatOneInserts) {
  constexpr int numKeys = 2000;
  KeyTable<int> table;
  std::atomic<int> inserted{0};
  std::atomic<bool> stop{false}, wrong{false};
  auto keyOf = [](KeyBuilder &key, int number) {
    fill(key, 0, {1}, {static_cast<uint64_t>(number)});
  };
  auto look = [&](int seed) {
    std::mt19937 random(seed);
    while (!stop) {
      int known = inserted.load(std::memory_order_acquire);
      int number = static_cast<int>(random() % numKeys);
      KeyBuilder key(1, 1);
      keyOf(key, number);
      int *found = table.find(key, key.hash());
      // Asked again: the table may have been cleared in between.
      if (found ? *found != number : number < std::min(known, inserted.load()))
        wrong = true;
    }
  };
  std::vector<std::thread> readers;
  for (int seed = 0; seed < 4; ++seed)
    readers.emplace_back(look, seed);
  for (int number = 0; number < numKeys; ++number) {
    KeyBuilder key(1, 1);
    keyOf(key, number);
    table.insert(key, key.hash(), std::make_unique<int>(number));
    inserted.store(number + 1, std::memory_order_release);
  }
  inserted = 0; // from here on nothing needs to be found
  for (int round = 0; round < 20; ++round) {
    table.clear();
    KeyBuilder key(1, 1);
    keyOf(key, round);
    table.insert(key, key.hash(), std::make_unique<int>(round));
  }
  stop = true;
  for (std::thread &reader : readers)
    reader.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(table.size(), 1u);
}

// The low bits index the table: neighbouring values must not share them.
TEST(LaunchKey, HashSpreadsSmallValues) {
  std::map<uint64_t, int> buckets;
  for (uint64_t value = 0; value < 1024; ++value) {
    KeyBuilder key(1, 1);
    fill(key, 0, {4}, {value << 10}); // block sizes: the low bits are all zero
    ++buckets[key.hash() & 1023];
  }
  int fullest = 0;
  for (auto &[bucket, count] : buckets)
    fullest = std::max(fullest, count);
  EXPECT_LT(fullest, 12);
}

} // namespace
