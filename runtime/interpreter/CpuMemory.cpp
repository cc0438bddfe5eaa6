//===- CpuMemory.cpp - Loads and stores of CPU tiles ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: (1) the checks look at all active lanes; (2) runs of consecutive addresses
// with every lane active are one memcpy, which is what most kernels do; (3) the
// rest goes lane by lane.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

static const uint8_t *maskOf(const std::optional<Value> &mask) {
  return mask ? elementsOf<uint8_t>(*mask) : nullptr;
}

/// Lanes from the start that are active. Masks of tails are true, then false.
static int64_t leadingActive(const uint8_t *mask, int64_t count) {
  if (!mask)
    return count;
  const void *firstFalse = std::memchr(mask, 0, count);
  return firstFalse ? static_cast<const uint8_t *>(firstFalse) - mask : count;
}

/// Whether the first `count` addresses are consecutive elements.
static bool isContiguous(const uint64_t *addresses, int64_t count, uint64_t size) {
  uint64_t different = 0;
  for (int64_t i = 1; i < count; ++i)
    different |= addresses[i] - addresses[i - 1] - size;
  return different == 0;
}

template <typename Word>
static void loadLanes(const uint64_t *addresses, const uint8_t *mask, const Word *other,
                      int64_t count, Word *result) {
  int64_t active = leadingActive(mask, count);
  if (active && isContiguous(addresses, active, sizeof(Word)))
    std::memcpy(result, reinterpret_cast<const void *>(addresses[0]), active * sizeof(Word));
  else
    for (int64_t i = 0; i < active; ++i)
      result[i] = *reinterpret_cast<const Word *>(addresses[i]);
  if (active == count)
    return;
  if (other)
    std::memcpy(result + active, other + active, (count - active) * sizeof(Word));
  else
    std::memset(result + active, 0, (count - active) * sizeof(Word));
  if (std::memchr(mask + active, 1, count - active))
    for (int64_t i = active; i < count; ++i)
      if (mask[i])
        result[i] = *reinterpret_cast<const Word *>(addresses[i]);
}

Value CpuTileBuilder::load(const Value &pointer, const std::optional<Value> &mask,
                           const std::optional<Value> &other, const LoadOptions &options) {
  valueWasRead();
  const DType &type = pointer.type.scalar.pointee();
  int size = elementSize(type.kind());
  const uint8_t *active = maskOf(mask);
  Access access{AccessKind::Load, pointer, active, size};
  marker.checkAccess(access, mask, memory);
  memory.check(access, program);
  bool isVolatile = options.isVolatile || options.cache == semantic::CacheModifier::CV;
  beforeAccess(isVolatile);
  if (checks.looksFor(Check::Threads))
    threads.note(access, nullptr, program);
  if (checks.looksFor(Check::Races)) {
    if (isVolatile)
      races.noteAtomic(access, false, {/*acquires=*/true});
    else
      races.noteLoad(access);
  }
  memory.checkWritten(access, program);
  NewTile result{pointer.type.withScalar(type)};
  dispatchWord(size, [&](auto word) {
    using Word = decltype(word);
    loadLanes<Word>(elementsOf<uint64_t>(pointer), active,
                    other ? elementsOf<Word>(*other) : nullptr, result.count,
                    result.elements<Word>());
  });
  if (type.kind() == ScalarKind::Int1) // any non-zero byte in memory is true
    for (int64_t i = 0; i < result.count; ++i)
      result.elements<uint8_t>()[i] = result.elements<uint8_t>()[i] != 0;
  if (isVolatile || result.count == 1)
    asked(access, !isVolatile);
  marker.afterLoad(active, other, result.value);
  return std::move(result.value);
}

void CpuTileBuilder::store(const Value &pointer, const Value &value,
                           const std::optional<Value> &mask, const StoreOptions &options) {
  valueWasRead();
  int size = elementSize(pointer.type.scalar.pointee().kind());
  const uint8_t *active = maskOf(mask);
  Access access{AccessKind::Store, pointer, active, size};
  marker.checkAccess(access, mask, memory);
  marker.checkStored(access, value, memory);
  memory.check(access, program);
  beforeAccess(false);
  watch.progress();
  ++changes;
  memory.noteWritten(access);
  int64_t count = countOf(pointer);
  const uint64_t *addresses = elementsOf<uint64_t>(pointer);
  const void *values = elementsOf<char>(value);
  if (count > 1 && checks.looksFor(Check::Scatter))
    checkScatter(checks, memory, access, values, program);
  if (checks.looksFor(Check::Threads))
    threads.note(access, values, program);
  if (checks.looksFor(Check::Races)) {
    if (options.cache == semantic::CacheModifier::WT && count == 1)
      races.noteAtomic(access, true, {/*acquires=*/false, /*releases=*/true});
    else
      races.noteStore(access, values);
  }
  dispatchWord(size, [&](auto word) {
    using Word = decltype(word);
    const Word *source = elementsOf<Word>(value);
    int64_t leading = leadingActive(active, count);
    if (leading && isContiguous(addresses, leading, sizeof(Word)))
      std::memcpy(reinterpret_cast<void *>(addresses[0]), source, leading * sizeof(Word));
    else
      for (int64_t i = 0; i < leading; ++i)
        *reinterpret_cast<Word *>(addresses[i]) = source[i];
    if (leading < count && std::memchr(active + leading, 1, count - leading))
      for (int64_t i = leading; i < count; ++i)
        if (active[i])
          *reinterpret_cast<Word *>(addresses[i]) = source[i];
  });
}

} // namespace tilewright::interpreter
