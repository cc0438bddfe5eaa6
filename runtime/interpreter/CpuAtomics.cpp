//===- CpuAtomics.cpp - Atomic operations of CPU tiles --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: atomics as a plain read, combine and write per lane, in lane order. One
// program runs at a time, so this is one of the orders that a GPU may take. Lanes that
// access the same address see each other's results. Inactive lanes return zero.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilewright::interpreter {

template <typename U> static U combineInteger(AtomicOp op, U old, U operand) {
  using S = std::make_signed_t<U>;
  S signedOld = static_cast<S>(old), signedOperand = static_cast<S>(operand);
  switch (op) {
  case AtomicOp::Add:
    return static_cast<U>(old + operand);
  case AtomicOp::And:
    return static_cast<U>(old & operand);
  case AtomicOp::Or:
    return static_cast<U>(old | operand);
  case AtomicOp::Xor:
    return static_cast<U>(old ^ operand);
  case AtomicOp::MaxSigned:
    return signedOld > signedOperand ? old : operand;
  case AtomicOp::MinSigned:
    return signedOld < signedOperand ? old : operand;
  case AtomicOp::MaxUnsigned:
    return std::max(old, operand);
  case AtomicOp::MinUnsigned:
    return std::min(old, operand);
  case AtomicOp::Load:
    return old;
  case AtomicOp::Exchange:
  case AtomicOp::Store:
  case AtomicOp::FloatAdd:
  case AtomicOp::FloatMax:
  case AtomicOp::FloatMin:
    return operand; // floats are handled by type
  }
  return operand;
}

static bool isOfFloats(AtomicOp op) {
  return op == AtomicOp::FloatAdd || op == AtomicOp::FloatMax || op == AtomicOp::FloatMin;
}

template <typename T> static T combineNumbers(AtomicOp op, T old, T operand) {
  if (op == AtomicOp::FloatAdd)
    return old + operand;
  if (old != old || operand != operand)
    return old != old ? operand : old;
  // Equal values differ in bits only for +0 and -0.
  bool isOldLess = old == operand ? std::signbit(old) : old < operand;
  return isOldLess == (op == AtomicOp::FloatMax) ? operand : old;
}

/// Computes as the element's own type does: f32 and f64 directly, smaller floats in
/// f32 with one rounding.
template <typename U> static U combineFloat(AtomicOp op, ScalarKind kind, U old, U operand) {
  if constexpr (sizeof(U) == 8) {
    return bitCast<U>(combineNumbers(op, bitCast<double>(old), bitCast<double>(operand)));
  } else if constexpr (sizeof(U) == 4) {
    return bitCast<U>(combineNumbers(op, bitCast<float>(old), bitCast<float>(operand)));
  } else {
    float a, b;
    decodeFloats(kind, &old, 0, 1, &a);
    decodeFloats(kind, &operand, 0, 1, &b);
    a = combineNumbers(op, a, b);
    U result;
    encodeFloats(kind, &a, &result, 0, 1);
    return result;
  }
}

void CpuTileBuilder::noteAtomic(const Access &access, bool wrote, MemorySemantic semantic,
                                MemoryScope scope) {
  Synchronization how;
  how.acquires = semantic == MemorySemantic::Acquire || semantic == MemorySemantic::AcquireRelease;
  how.releases = semantic == MemorySemantic::Release || semantic == MemorySemantic::AcquireRelease;
  how.hasBlockScope = scope == MemoryScope::Block;
  // One thread does a scalar atomic, before or after all that the others do.
  if (access.pointer.type.shape.empty() && (how.acquires || how.releases))
    threads.barrier();
  if (checks.looksFor(Check::Races))
    races.noteAtomic(access, wrote, how);
  if (!wrote)
    return asked(access, false);
  watch.progress();
  ++changes;
}

void CpuTileBuilder::asked(const Access &access, bool isPlain) {
  if (!tape && watch.ask(access, host.currentPlace(), isPlain))
    waitedInVain = !host.waitForOthers();
}

Value CpuTileBuilder::atomicRmw(AtomicOp op, const Value &pointer, const Value &value,
                                const std::optional<Value> &mask, MemorySemantic semantic,
                                MemoryScope scope) {
  valueWasRead();
  const DType &type = pointer.type.scalar.pointee();
  int size = elementSize(type.kind());
  const uint8_t *active = mask ? elementsOf<uint8_t>(*mask) : nullptr;
  bool isLoad = op == AtomicOp::Load;
  Access access{isLoad ? AccessKind::AtomicLoad : AccessKind::Atomic, pointer, active, size};
  marker.checkAccess(access, mask, memory);
  if (!isLoad)
    marker.checkStored(access, value, memory);
  memory.check(access, program);
  beforeAccess(true);
  if (op != AtomicOp::Exchange && op != AtomicOp::Store)
    memory.checkWritten(access, program);
  if (!isLoad)
    memory.noteWritten(access);
  NewTile result{pointer.type.withScalar(type)};
  bool wrote = false;
  const uint64_t *addresses = elementsOf<uint64_t>(pointer);
  dispatchWord(size, [&](auto word) {
    using Word = decltype(word);
    const Word *operands = elementsOf<Word>(value);
    Word *olds = result.elements<Word>();
    for (int64_t i = 0; i < result.count; ++i) {
      olds[i] = 0;
      if (active && !active[i])
        continue;
      Word *place = reinterpret_cast<Word *>(addresses[i]);
      olds[i] = *place;
      if (isLoad)
        continue; // the memory may be one that cannot be written
      *place = isOfFloats(op) ? combineFloat<Word>(op, type.kind(), olds[i], operands[i])
                              : combineInteger<Word>(op, olds[i], operands[i]);
      wrote |= *place != olds[i];
    }
  });
  noteAtomic(access, wrote, semantic, scope);
  return std::move(result.value);
}

Value CpuTileBuilder::atomicCas(const Value &pointer, const Value &compare, const Value &value,
                                MemorySemantic semantic, MemoryScope scope) {
  valueWasRead();
  const DType &type = pointer.type.scalar.pointee();
  int size = elementSize(type.kind());
  Access access{AccessKind::Atomic, pointer, nullptr, size};
  marker.checkAccess(access, std::nullopt, memory);
  marker.checkStored(access, value, memory);
  memory.check(access, program);
  beforeAccess(true);
  memory.checkWritten(access, program);
  memory.noteWritten(access);
  NewTile result{pointer.type.withScalar(type)};
  bool wrote = false;
  const uint64_t *addresses = elementsOf<uint64_t>(pointer);
  dispatchWord(size, [&](auto word) {
    using Word = decltype(word);
    const Word *expected = elementsOf<Word>(compare), *desired = elementsOf<Word>(value);
    Word *olds = result.elements<Word>();
    for (int64_t i = 0; i < result.count; ++i) {
      Word *place = reinterpret_cast<Word *>(addresses[i]);
      olds[i] = *place;
      if (olds[i] == expected[i]) // bits, as the hardware compares
        *place = desired[i];
      wrote |= *place != olds[i];
    }
  });
  noteAtomic(access, wrote, semantic, scope);
  return std::move(result.value);
}

Value CpuTileBuilder::atomicPoll(const Value &pointer, const Value &expected,
                                 const std::optional<Value> &timeout, MemorySemantic semantic,
                                 MemoryScope scope) {
  int size = elementSize(pointer.type.scalar.pointee().kind());
  NewTile result{Type(DType(ScalarKind::Int1))};
  auto isEqual = [&] {
    Value old = atomicCas(pointer, expected, expected, semantic, scope);
    return std::memcmp(elementsOf<char>(old), elementsOf<char>(expected), size) == 0;
  };
  // A time limit has passed when all others have ended or wait.
  waitedInVain = false;
  bool isThere = isEqual();
  while (!isThere && !(timeout && waitedInVain))
    isThere = isEqual();
  *result.elements<bool>() = isThere;
  return std::move(result.value);
}

} // namespace tilewright::interpreter
