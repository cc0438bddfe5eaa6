//===- InterpreterMemoryTest.cpp - Checked access to arrays ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/FloatChunks.h"
#include "tests/unit/InterpreterTestSupport.h"

using namespace tilewright;
using namespace tilewright::interpreter;

namespace {

class InterpreterMemory : public interpreter::testing::InterpreterTest {
protected:
  std::vector<float> data{0, 1, 2, 3, 4, 5, 6, 7};

  Value load(const Value &pointer, const std::optional<Value> &mask = std::nullopt,
             const std::optional<Value> &other = std::nullopt) {
    return builder.load(pointer, mask, other, {});
  }
  void store(const Value &pointer, const Value &value,
             const std::optional<Value> &mask = std::nullopt) {
    builder.store(pointer, value, mask, {});
  }
  static void expectContains(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(InterpreterMemory, LoadsContiguousScatteredAndMasked) {
  Value run = pointers("x", data, ScalarKind::Float32, {2, 3, 4, 5});
  EXPECT_EQ(elements<float>(load(run)), (std::vector<float>{2, 3, 4, 5}));
  Value scattered = pointers("x", data, ScalarKind::Float32, {7, 0, 0, 3});
  EXPECT_EQ(elements<float>(load(scattered)), (std::vector<float>{7, 0, 0, 3}));
  // Masked lanes are not touched, wherever they point.
  Value tail = pointers("x", data, ScalarKind::Float32, {6, 7, 8, 1000000});
  EXPECT_EQ(elements<float>(load(tail, mask({1, 1, 0, 0}))), (std::vector<float>{6, 7, 0, 0}));
  EXPECT_EQ(elements<float>(load(tail, mask({0, 1, 0, 0}), f32({9, 9, 8, 7}))),
            (std::vector<float>{9, 7, 8, 7}));
}

TEST_F(InterpreterMemory, StoresOnlyActiveLanes) {
  Value tail = pointers("x", data, ScalarKind::Float32, {6, 7, 8, 9});
  store(tail, f32({60, 70, 80, 90}), mask({1, 1, 0, 0}));
  EXPECT_EQ(data, (std::vector<float>{0, 1, 2, 3, 4, 5, 60, 70}));
  EXPECT_TRUE(builder.memory.allocation(0).written);
}

TEST_F(InterpreterMemory, ReportsOutOfBounds) {
  builder.program.id = {3, 1, 0};
  Value tail = pointers("x", data, ScalarKind::Float32, {6, 7, 8, 9});
  std::string error = errorOf([&] { load(tail, mask({1, 1, 1, 0})); });
  expectContains(error, "[E0407] load of 'x' at element 8; size is 8; program (3,1,0)");
  expectContains(error, "lane [2] of tile [4]; mask is true");
  error = errorOf([&] { store(tail, f32({1, 2, 3, 4})); });
  expectContains(error, "[E0407] store of 'x' at element 8; size is 8; program (3,1,0)");
  expectContains(error, "no mask");
  expectContains(error, "2 lanes are out of bounds");
  EXPECT_EQ(data[6], 6) << "nothing may be stored when a lane is out of bounds";
  Value before = pointers("x", data, ScalarKind::Float32, {-1});
  expectContains(errorOf([&] { load(before); }), "at element -1; size is 8");
}

TEST_F(InterpreterMemory, PointersDoNotLeakIntoOtherArrays) {
  std::vector<float> both(16);
  auto base = reinterpret_cast<uint64_t>(both.data());
  AllocationId a = builder.memory.add("a", base, ScalarKind::Float32, {8}, {4}, true);
  builder.memory.add("b", base + 32, ScalarKind::Float32, {8}, {4}, true);
  DType type = DType::pointerTo(ScalarKind::Float32);
  Value outside = offsetBy(builder.pointerTo(a, type), {8});
  expectContains(errorOf([&] { load(outside); }), "load of 'a' at element 8");
  // Computed as an integer, the pointer's origin is looked up by address.
  Value address = builder.cast(CastOp::PointerToInt, outside, ScalarKind::Int64, {});
  Value one = builder.binary(BinaryOp::Sub, address, address);
  Value unknown =
      builder.cast(CastOp::IntToPointer, builder.binary(BinaryOp::Add, address, one), type, {});
  EXPECT_EQ(elements<float>(load(unknown)), std::vector<float>{0});
  Value null = builder.constantNull(type);
  expectContains(errorOf([&] { load(null); }), "the address lies in no array of this launch");
}

TEST_F(InterpreterMemory, NegativeStridesSpanBelowTheBase) {
  // data[::-1]: element 0 is the last float.
  AllocationId id = builder.memory.add("r", reinterpret_cast<uint64_t>(&data[7]),
                                       ScalarKind::Float32, {8}, {-4}, true);
  DType type = DType::pointerTo(ScalarKind::Float32);
  Value reversed = offsetBy(builder.pointerTo(id, type), {0, -1, -7});
  EXPECT_EQ(elements<float>(load(reversed)), (std::vector<float>{7, 6, 0}));
  expectContains(errorOf([&] { load(offsetBy(builder.pointerTo(id, type), {1})); }),
                 "at element 1; size is 8");
  expectContains(errorOf([&] { load(offsetBy(builder.pointerTo(id, type), {-8})); }),
                 "at element -8; size is 8");
}

TEST_F(InterpreterMemory, EmptyArraysHaveNoElements) {
  std::vector<float> none;
  Value pointer = pointers("e", none, ScalarKind::Float32, {0});
  expectContains(errorOf([&] { load(pointer); }), "load of 'e' at element 0; size is 0");
  EXPECT_EQ(elements<float>(load(pointer, mask({0}))), std::vector<float>{0});
}

TEST_F(InterpreterMemory, ReadOnlyAndMisaligned) {
  Value constant = pointers("c", data, ScalarKind::Float32, {0, 1}, /*writable=*/false);
  EXPECT_EQ(elements<float>(load(constant)), (std::vector<float>{0, 1}));
  expectContains(errorOf([&] { store(constant, f32({1, 2})); }),
                 "[E0216] 'c' is read-only and the kernel writes it");
  DType bytePointer = DType::pointerTo(ScalarKind::Int8);
  Value bytes = builder.cast(CastOp::PointerCast, pointers("m", data, ScalarKind::Float32, {0}),
                             bytePointer, {});
  Value odd = builder.cast(CastOp::PointerCast, builder.addPointer(bytes, i32({2})),
                           DType::pointerTo(ScalarKind::Float32), {});
  expectContains(errorOf([&] { load(odd); }), "load of 'm' at byte 2 is not aligned to 4 bytes");
}

TEST_F(InterpreterMemory, AtomicsSeeEachOther) {
  std::vector<int32_t> counters{10, 0};
  Value pointer = pointers("n", counters, ScalarKind::Int32, {0, 0, 1, 0});
  auto rmw = [&](AtomicOp op, const Value &target, const Value &value,
                 const std::optional<Value> &active = std::nullopt) {
    return builder.atomicRmw(op, target, value, active, MemorySemantic::AcquireRelease,
                             MemoryScope::Gpu);
  };
  Value old = rmw(AtomicOp::Add, pointer, i32({1, 2, 3, 4}), mask({1, 1, 1, 0}));
  EXPECT_EQ(elements<int32_t>(old), (std::vector<int32_t>{10, 11, 0, 0}));
  EXPECT_EQ(counters, (std::vector<int32_t>{13, 3}));
  rmw(AtomicOp::MinSigned, pointer, i32({-5, 0, 0, 7}));
  EXPECT_EQ(counters, (std::vector<int32_t>{-5, 0}));
  rmw(AtomicOp::MaxUnsigned, pointer, i32({1, 1, 9, 1}));
  EXPECT_EQ(counters, (std::vector<int32_t>{-5, 9}));

  std::vector<uint16_t> halves{0x3c00}; // 1.0
  Value half = pointers("h", halves, ScalarKind::Float16, {0, 0});
  rmw(AtomicOp::FloatAdd, half, tile<uint16_t>(ScalarKind::Float16, {0x4000, 0x4000}));
  EXPECT_EQ(decodeFloat(ScalarKind::Float16, halves.data(), 0), 5.0);
  const uint16_t nan = 0x7e00, negativeZero = 0x8000;
  rmw(AtomicOp::FloatMin, half, tile<uint16_t>(ScalarKind::Float16, {0, nan}));
  EXPECT_EQ(halves[0], 0);
  rmw(AtomicOp::FloatMin, half, tile<uint16_t>(ScalarKind::Float16, {negativeZero, 0}));
  EXPECT_EQ(halves[0], negativeZero);
  rmw(AtomicOp::FloatMax, half, tile<uint16_t>(ScalarKind::Float16, {0, negativeZero}));
  EXPECT_EQ(halves[0], 0);
}

TEST_F(InterpreterMemory, CompareAndSwap) {
  std::vector<int32_t> lock{0};
  Value pointer = pointers("lock", lock, ScalarKind::Int32, {0, 0});
  Value old = builder.atomicCas(pointer, i32({0, 0}), i32({1, 2}), MemorySemantic::AcquireRelease,
                                MemoryScope::Gpu);
  EXPECT_EQ(elements<int32_t>(old), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(lock[0], 1);
}

} // namespace
