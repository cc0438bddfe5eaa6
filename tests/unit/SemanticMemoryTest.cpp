//===- SemanticMemoryTest.cpp - Loads, stores, atomics -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/SemanticRecorder.h"

namespace tilewright::semantic {
namespace {

class MemoryTest : public SemanticTest {
protected:
  using Name = Semantic::AtomicName;
  Value scalarPointer = tile("p", "*fp32"), pointers = tile("P", "*fp32", {8}),
        mask = tile("m", "i1", {8});

  std::string store(const Value &pointer, const Operand &value,
                    const std::optional<Operand> &lanes = std::nullopt) {
    std::string error = errorOf([&] { semantic.store(pointer, value, lanes, {}); });
    return error == "no error" ? recorder.effects.back() : error;
  }
  std::string load(const Value &pointer, const std::optional<Operand> &lanes = std::nullopt,
                   const std::optional<Operand> &other = std::nullopt) {
    std::string result;
    std::string error = errorOf([&] { result = text(semantic.load(pointer, lanes, other, {})); });
    return error == "no error" ? result : error;
  }
  Value atomic(Name op, const Value &pointer, const Operand &value,
               const std::optional<Operand> &lanes = std::nullopt) {
    return semantic.atomicRmw(op, pointer, value, lanes, MemorySemantic::AcquireRelease,
                              MemoryScope::Gpu);
  }
  std::string refuseAtomic(Name op, const char *pointee) {
    return errorOf([&] { atomic(op, tile("p", std::string("*") + pointee), Literal::integer(0)); });
  }
};

TEST_F(MemoryTest, LoadCastsOtherAndBroadcastsMask) {
  EXPECT_EQ(load(scalarPointer), "Load(p)");
  EXPECT_EQ(load(pointers, mask, Literal::integer(0)), "Load(P, m, Splat(0:fp32))");
  EXPECT_EQ(load(pointers, tile("q", "i1"), tile("h", "fp16", {8})),
            "Load(P, Splat(q), FloatExtend<fp32>(h))");
  EXPECT_EQ(load(pointers, Literal::boolean(true)), "Load(P, Splat(1:i1))");
}

TEST_F(MemoryTest, MaskAndOtherMayEnlargeALoad) {
  Value row = tile("P", "*fp32", {1, 8}), column = tile("m", "i1", {4, 1});
  EXPECT_EQ(load(row, column), "Load(Broadcast[4, 8](P), Broadcast[4, 8](m))");
  // other is the widest here: the mask has to follow.
  EXPECT_EQ(load(row, tile("m", "i1", {1, 1}), tile("o", "fp32", {4, 1})),
            "Load(Broadcast[4, 8](P), Broadcast[4, 8](Broadcast[1, 8](m)), Broadcast[4, 8](o))");
}

TEST_F(MemoryTest, LoadErrors) {
  EXPECT_EQ(load(tile("x", "fp32")), "E0116 tl.load needs a pointer, got fp32");
  EXPECT_EQ(load(pointers, std::nullopt, Literal::integer(0)),
            "E0117 tl.load: other= has no meaning without mask=");
  EXPECT_EQ(load(scalarPointer, mask),
            "E0121 tl.load: a scalar pointer takes a scalar mask, got i1[8]");
  EXPECT_EQ(load(pointers, tile("m", "i32", {8})),
            "E0116 tl.load: the mask must be int1, got i32[8]");
  EXPECT_EQ(load(tile("p", "*void")), "E0120 tl.load cannot use a pointer to void");
  EXPECT_EQ(load(pointers, tile("m", "i1", {4})), "E0110 cannot broadcast [8] with [4]");
}

TEST_F(MemoryTest, BooleansAreBytesInMemory) {
  Value flags = tile("P", "*i1", {8});
  EXPECT_EQ(load(flags), "NotEqual(Load(PointerCast<*i8>(P)), Splat(0:i8))");
  EXPECT_EQ(store(flags, tile("v", "i32", {8})),
            "Store(PointerCast<*i8>(P), ZeroExtend<i8>(NotEqual(v, Splat(0:i32))))");
}

TEST_F(MemoryTest, StoreDoesNotEnlargeThePointer) {
  EXPECT_EQ(store(pointers, Literal::floating(1.5), mask), "Store(P, Splat(1.5:fp32), m)");
  EXPECT_EQ(store(scalarPointer, tile("h", "fp16")), "Store(p, FloatExtend<fp32>(h))");
  EXPECT_EQ(store(tile("P", "*fp32", {1, 8}), tile("v", "fp32", {4, 8})),
            "E0110 cannot broadcast [4, 8] with [1, 8]");
  EXPECT_EQ(store(scalarPointer, tile("v", "fp32", {8})),
            "E0121 tl.store: cannot store fp32[8] through the scalar pointer *fp32");
  EXPECT_EQ(store(tile("p", "*kfp32"), Literal::integer(0)),
            "E0116 Cannot store to a constant pointer: *kfp32");
}

TEST_F(MemoryTest, OptionsByName) {
  EXPECT_EQ(Semantic::parseLoadOptions(".cg", "evict_last", true).cache, CacheModifier::CG);
  EXPECT_EQ(Semantic::parseStoreOptions(".wt", "").cache, CacheModifier::WT);
  EXPECT_EQ(errorOf([] { Semantic::parseStoreOptions(".ca", ""); }),
            "E0117 cache_modifier is '.ca'");
  EXPECT_EQ(errorOf([] { Semantic::parseLoadOptions("", "evict", false); }),
            "E0117 eviction_policy is 'evict'");
  EXPECT_EQ(Semantic::parseSemantic(""), MemorySemantic::AcquireRelease);
  EXPECT_EQ(Semantic::parseScope("sys"), MemoryScope::System);
  EXPECT_EQ(errorOf([] { Semantic::parseScope("grid"); }), "E0117 scope is 'grid'");
}

TEST_F(MemoryTest, EvaluatorWithoutTensorMaps) {
  Value descriptor = scalarPointer;
  descriptor.type.scalar = DType::descriptorOf(DType(ScalarKind::Float32), {8});
  std::vector<Operand> offsets = {Literal::integer(0)};
  EXPECT_EQ(errorOf([&] { semantic.descriptorLoad(descriptor, offsets, {}); }),
            "E0117 a tensor map cannot be read here");
  EXPECT_EQ(errorOf([&] { semantic.descriptorStore(descriptor, offsets, Literal::integer(0)); }),
            "E0117 a tensor map cannot be written here");
}

TEST_F(MemoryTest, AtomicTypes) {
  EXPECT_EQ(text(atomic(Name::Add, pointers, Literal::integer(1), mask)), "old1");
  EXPECT_EQ(recorder.effects.back(), "AtomicFloatAdd(P, Splat(1:fp32), m)");
  atomic(Name::Min, tile("p", "*u32"), Literal::integer(1));
  EXPECT_EQ(recorder.effects.back(), "AtomicMinUnsigned(p, 1:u32)");
  EXPECT_EQ(refuseAtomic(Name::Add, "fp16"), "no error");
  EXPECT_EQ(refuseAtomic(Name::Max, "i16"), "E0120 tl.atomic_max does not support i16");
  EXPECT_EQ(refuseAtomic(Name::Exchange, "fp16"), "E0120 tl.atomic_xchg does not support fp16");
  EXPECT_EQ(refuseAtomic(Name::Add, "i16"), "E0120 tl.atomic_add does not support i16");
  EXPECT_EQ(refuseAtomic(Name::Add, "fp8e5"), "E0120 tl.atomic_add does not support fp8e5");
  EXPECT_EQ(refuseAtomic(Name::And, "fp32"), "E0120 tl.atomic_and does not support fp32");
}

TEST_F(MemoryTest, FloatMaximumSplitsOnTheSign) {
  Value result = atomic(Name::Max, scalarPointer, tile("v", "fp32"));
  ASSERT_EQ(recorder.effects.size(), 2u);
  EXPECT_EQ(recorder.effects[0], "AtomicMaxSigned(PointerCast<*i32>(p), Bitcast<i32>(v), "
                                 "Xor(LessSigned(Bitcast<i32>(v), 0:i32), 1:i1))");
  EXPECT_EQ(recorder.effects[1],
            "AtomicMinUnsigned(PointerCast<*u32>(p), "
            "Bitcast<u32>(Bitcast<i32>(v)), LessSigned(Bitcast<i32>(v), 0:i32))");
  EXPECT_EQ(result.type.name(), "fp32");
  EXPECT_EQ(text(result), "Bitcast<fp32>(Select(Xor(LessSigned(Bitcast<i32>(v), 0:i32), 1:i1), "
                          "old1, Bitcast<i32>(old2)))");
}

TEST_F(MemoryTest, ExchangeAndCompareMoveBits) {
  Value result = atomic(Name::Exchange, scalarPointer, Literal::floating(1));
  EXPECT_EQ(recorder.effects.back(), "AtomicExchange(PointerCast<*i32>(p), Bitcast<i32>(1:fp32))");
  EXPECT_EQ(text(result), "Bitcast<fp32>(old1)");
  auto swap = [&](const Value &pointer, const Operand &expected, const Operand &value) {
    return errorOf([&] {
      semantic.atomicCas(pointer, expected, value, MemorySemantic::AcquireRelease,
                         MemoryScope::Gpu);
    });
  };
  EXPECT_EQ(swap(tile("p", "*i64"), Literal::integer(0), Literal::integer(1)), "no error");
  EXPECT_EQ(recorder.effects.back(), "Cas(p, 0:i64, 1:i64)");
  EXPECT_EQ(swap(tile("p", "*i64"), tile("c", "i32"), Literal::integer(1)),
            "E0116 tl.atomic_cas: cmp is i32, the pointer points to i64");
  EXPECT_EQ(swap(tile("p", "*i8"), Literal::integer(0), Literal::integer(1)),
            "E0120 tl.atomic_cas does not support i8");
}

} // namespace
} // namespace tilewright::semantic
