//===- InterpreterRacesTest.cpp - Order between programs ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/AccessOrder.h"
#include "runtime/interpreter/ShadowMemory.h"
#include "tests/unit/InterpreterTestSupport.h"

using namespace tilewright;
using namespace tilewright::interpreter;

namespace {

AccessId release(AccessOrder &order, const std::vector<AccessId> &found = {}) {
  return order.atomic(0, WritesMemory | IsAtomic, /*releases=*/true, found);
}

TEST(AccessOrder, OrdersByReleaseAndAcquire) {
  AccessOrder order;
  order.switchTo(0);
  AccessId before = order.plain(1, WritesMemory);
  AccessId released = release(order);
  AccessId after = order.plain(1, WritesMemory);
  EXPECT_NE(before, after) << "what comes after a release is not released by it";
  order.switchTo(1);
  EXPECT_FALSE(order.isOrdered(before));
  order.acquire(released);
  EXPECT_TRUE(order.isOrdered(before));
  EXPECT_TRUE(order.isOrdered(released));
  EXPECT_FALSE(order.isOrdered(after));
}

TEST(AccessOrder, HandsOnWhatWasAcquired) {
  AccessOrder order;
  order.switchTo(0);
  AccessId write = order.plain(1, WritesMemory);
  AccessId last = release(order);
  for (uint32_t program = 1; program < 100; ++program) {
    order.switchTo(program);
    order.acquire(last);
    last = release(order);
    order.end(program);
  }
  order.switchTo(100);
  order.acquire(last);
  EXPECT_TRUE(order.isOrdered(write));
}

TEST(AccessOrder, RelaxedAtomicsHandOnOthersOnly) {
  AccessOrder order;
  order.switchTo(0);
  AccessId first = order.plain(1, WritesMemory);
  AccessId released = release(order);
  order.switchTo(1);
  AccessId second = order.plain(1, WritesMemory);
  AccessId relaxed = order.atomic(2, WritesMemory | IsAtomic, /*releases=*/false, {released});
  order.switchTo(2);
  order.acquire(relaxed);
  EXPECT_TRUE(order.isOrdered(first));
  EXPECT_FALSE(order.isOrdered(second));
}

TEST(AccessOrder, AccessesOfOnePlaceShareANumber) {
  AccessOrder order;
  order.switchTo(0);
  AccessId read = order.plain(1, 0);
  EXPECT_EQ(order.plain(1, 0), read);
  EXPECT_NE(order.plain(1, WritesMemory), read);
  order.switchTo(1);
  EXPECT_NE(order.plain(1, 0), read);
}

/// The writers of the cells from `first` on.
std::vector<AccessId> writers(const ShadowRegion &region, uint64_t first, int count) {
  std::vector<AccessId> result;
  for (int i = 0; i < count; ++i)
    result.push_back(region.at(first + i * region.cellSize()).writer);
  return result;
}

int write(ShadowRegion &region, uint64_t address, uint64_t size, AccessId id) {
  int visits = 0;
  region.visit(address, size, true, [&](ShadowCell &cell, uint64_t, uint64_t) {
    cell.writer = id;
    ++visits;
  });
  return visits;
}

TEST(ShadowMemory, ChunksSplitAndJoin) {
  ShadowRegion region(4096, 4096 + 256, 4);
  EXPECT_EQ(write(region, 4096, 256, 1), 4) << "one visit for sixteen cells";
  EXPECT_EQ(write(region, 4096 + 60, 8, 2), 2);
  EXPECT_EQ(writers(region, 4096 + 56, 4), (std::vector<AccessId>{1, 2, 2, 1}));
  EXPECT_EQ(write(region, 4096, 128, 3), 32) << "both chunks have cells of their own";
  EXPECT_EQ(write(region, 4096, 128, 4), 2) << "and are whole again";
}

TEST(ShadowMemory, CellsCanBeRefined) {
  ShadowRegion region(4096, 4096 + 130, 4);
  write(region, 4096, 128, 1);
  write(region, 4096 + 8, 4, 2);
  region.refine(2);
  EXPECT_EQ(region.cellSize(), 2);
  EXPECT_EQ(writers(region, 4096 + 4, 5), (std::vector<AccessId>{1, 1, 2, 2, 1}));
  write(region, 4096 + 10, 2, 3);
  EXPECT_EQ(writers(region, 4096 + 6, 4), (std::vector<AccessId>{1, 2, 3, 1}));
  EXPECT_EQ(region.at(4096 + 128).writer, 0u);
}

class InterpreterRaces : public interpreter::testing::InterpreterTest {
protected:
  std::vector<int32_t> data = std::vector<int32_t>(64);
  AllocationId array = builder.memory.add("x", reinterpret_cast<uint64_t>(data.data()),
                                          ScalarKind::Int32, {64}, {4}, true);

  void run(int64_t program) { builder.switchTo({{program, 0, 0}, {8, 1, 1}}); }
  Value at(const std::vector<int32_t> &offsets) {
    return offsetBy(builder.pointerTo(array, DType::pointerTo(ScalarKind::Int32)), offsets);
  }
};

TEST_F(InterpreterRaces, EachReportComesOnce) {
  std::vector<std::string> found;
  builder.checks.collector = [&](const Error &error) { found.push_back(error.render()); };
  for (int program : {0, 1, 2}) {
    run(program);
    builder.store(at({5, 6, 7, 8}), i32({program, 1, program, 1}), std::nullopt, {});
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("programs (0,0,0) and (1,0,0) write 'x'[5]"), std::string::npos)
      << found[0];
  EXPECT_EQ(data[5], 2) << "the kernel goes on";
}

TEST_F(InterpreterRaces, MaskedLanesAndGapsTouchNothing) {
  run(0);
  builder.store(at({0, 1, 2, 3}), i32({1, 2, 3, 4}), mask({1, 0, 1, 0}), {});
  run(1);
  builder.store(at({1, 3, 0, 2}), i32({5, 6, 7, 8}), mask({1, 1, 0, 0}), {});
  EXPECT_EQ(data[0] + data[1] + data[2] + data[3], 1 + 5 + 3 + 6);
  EXPECT_NE(errorOf([&] {
              builder.load(at({0, 1, 2, 3}), mask({0, 0, 1, 0}), std::nullopt, {});
            }).find("[E0409] program (0,0,0) writes 'x'[2] and program (1,0,0) reads it"),
            std::string::npos);
}

TEST_F(InterpreterRaces, BitsThatMemoryHoldsAreSilentInBothOrders) {
  // Elements 0 and 2 hold zero already.
  run(0);
  builder.store(at({0, 1, 2, 3}), i32({0, 7, 0, 7}), std::nullopt, {});
  run(1);
  builder.load(at({0, 2}), std::nullopt, std::nullopt, {});
  builder.load(at({4}), std::nullopt, std::nullopt, {});
  run(2);
  builder.store(at({4, 1}), i32({0, 7}), std::nullopt, {});
  run(3);
  EXPECT_NE(errorOf([&] {
              builder.load(at({1}), std::nullopt, std::nullopt, {});
            }).find("[E0409] program (0,0,0) writes 'x'[1] and program (3,0,0) reads it"),
            std::string::npos)
      << "the same bits again do not hide who changed them";
}

TEST_F(InterpreterRaces, WhoStoredTheBitsAgainMayLoadThem) {
  run(0);
  builder.store(at({0, 1}), i32({7, 7}), std::nullopt, {});
  builder.races.end({{0, 0, 0}, {8, 1, 1}});
  for (int program : {1, 2}) {
    run(program);
    builder.store(at({0, 1}), i32({7, 7}), std::nullopt, {});
    builder.load(at({0, 1}), std::nullopt, std::nullopt, {});
    builder.races.end({{program, 0, 0}, {8, 1, 1}});
  }
  run(3);
  EXPECT_NE(errorOf([&] {
              builder.load(at({0}), std::nullopt, std::nullopt, {});
            }).find("[E0409] program (0,0,0) writes 'x'[0] and program (3,0,0) reads it"),
            std::string::npos);
}

TEST_F(InterpreterRaces, ProgramsThatTakeTurnsMayAllLoadTheBitsTheyStored) {
  run(4);
  builder.store(at({2}), i32({7}), std::nullopt, {});
  for (int program : {5, 6, 5, 6, 4}) {
    run(program);
    builder.store(at({2}), i32({7}), std::nullopt, {});
  }
  for (int program : {5, 6, 4}) {
    run(program);
    builder.load(at({2}), std::nullopt, std::nullopt, {});
  }
  run(7);
  EXPECT_NE(errorOf([&] {
              builder.store(at({2}), i32({8}), std::nullopt, {});
            }).find("[E0408] programs (4,0,0) and (7,0,0) write 'x'[2]"),
            std::string::npos)
      << "other bits are a race whoever stored the same ones";
}

TEST_F(InterpreterRaces, OtherBitsAfterBitsThatMemoryHeld) {
  run(0);
  builder.store(at({0}), i32({0}), std::nullopt, {});
  run(1);
  EXPECT_NE(errorOf([&] {
              builder.store(at({0}), i32({1}), std::nullopt, {});
            }).find("[E0408] programs (0,0,0) and (1,0,0) write 'x'[0]"),
            std::string::npos)
      << "in the other order the result is another";
}

TEST_F(InterpreterRaces, LanesOfOneStoreFarApart) {
  // Too far apart for a bit per element.
  std::vector<int32_t> wide(100000);
  AllocationId id = builder.memory.add("w", reinterpret_cast<uint64_t>(wide.data()),
                                       ScalarKind::Int32, {100000}, {4}, true);
  Value base = builder.pointerTo(id, DType::pointerTo(ScalarKind::Int32));
  builder.store(offsetBy(base, {90000, 5, 7}), i32({1, 2, 3}), std::nullopt, {});
  builder.store(offsetBy(base, {90000, 5, 90000}), i32({1, 2, 1}), std::nullopt, {});
  EXPECT_NE(errorOf([&] {
              builder.store(offsetBy(base, {90000, 5, 90000}), i32({1, 2, 3}), std::nullopt, {});
            })
                .find("lane [0] of tile [3] and lane [2] of tile [3] store different values in "
                      "'w'[90000]"),
            std::string::npos);
}

} // namespace
