//===- ProgramChecks.cpp - Mistakes inside one program --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/ProgramChecks.h"
#include "ir/support/Error.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

//===----------------------------------------------------------------------===//
// Lanes of one store
//===----------------------------------------------------------------------===//

/// Whether addresses grow from lane to lane: then no two are equal.
static bool isIncreasing(const uint64_t *addresses, int64_t count) {
  uint64_t falls = 0;
  for (int64_t i = 1; i < count; ++i)
    falls |= addresses[i] - addresses[i - 1] - 1;
  return falls >> 63 == 0;
}

/// Whether no two active lanes are equal, by one bit per element between the lowest and
/// the highest; also false where they are too far apart for that.
static bool areDistinct(const Access &access, int64_t count, const uint64_t *addresses) {
  uint64_t low = ~uint64_t(0), high = 0;
  for (int64_t i = 0; i < count; ++i)
    if (!access.mask || access.mask[i]) {
      low = std::min(low, addresses[i]);
      high = std::max(high, addresses[i]);
    }
  if (low > high)
    return true;
  uint64_t span = (high - low) / access.sizeInBytes + 1;
  // A bit per element costs as much as some lanes: 64 elements are one word.
  if (span > static_cast<uint64_t>(count) * 64)
    return false;
  std::vector<uint64_t> bits(span / 64 + 1);
  for (int64_t i = 0; i < count; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    uint64_t element = (addresses[i] - low) / access.sizeInBytes;
    uint64_t bit = uint64_t(1) << element % 64;
    if (bits[element / 64] & bit)
      return false;
    bits[element / 64] |= bit;
  }
  return true;
}

void checkScatter(Checks &checks, const Memory &memory, const Access &access, const void *values,
                  const ProgramPosition &program) {
  int64_t count = countOf(access.pointer);
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  if (isIncreasing(addresses, count) || areDistinct(access, count, addresses))
    return;
  const char *bytes = static_cast<const char *>(values);
  int size = access.sizeInBytes;
  std::unordered_map<uint64_t, int64_t> laneOf;
  laneOf.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    auto [known, isNew] = laneOf.emplace(addresses[i], i);
    if (isNew || std::memcmp(bytes + i * size, bytes + known->second * size, size) == 0)
      continue;
    AllocationId id = tileOf(access.pointer).allocation;
    if (id == unknownAllocation)
      id = memory.find(addresses[i]);
    const Allocation &array = memory.allocation(id);
    const std::vector<int64_t> &shape = access.pointer.type.shape;
    Error error = makeError(ErrorCode::E0412, fmt::arg("a", array.name),
                            fmt::arg("i", array.elementIndex(addresses[i])),
                            fmt::arg("first", laneName(known->second, shape)),
                            fmt::arg("second", laneName(i, shape)), fmt::arg("x", program.id[0]),
                            fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
    checks.report(error);
    return;
  }
}

//===----------------------------------------------------------------------===//
// Threads of one program
//===----------------------------------------------------------------------===//

bool ThreadCheck::findOverlaps() {
  if (overlaps.size() == memory.size())
    return anyOverlaps;
  overlaps.assign(memory.size(), false);
  for (size_t i = 0; i < memory.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Allocation &a = memory.allocation(i), &b = memory.allocation(j);
      if (a.low < b.high && b.low < a.high)
        overlaps[i] = overlaps[j] = anyOverlaps = true;
    }
  return anyOverlaps;
}

void ThreadCheck::note(const Access &access, const void *values, const ProgramPosition &program) {
  if (!findOverlaps())
    return;
  AllocationId array = tileOf(access.pointer).allocation;
  if (array == unknownAllocation || !overlaps[array])
    return;
  size_t shape = 0;
  for (int64_t extent : access.pointer.type.shape)
    shape = shape * 31 + static_cast<size_t>(extent);
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  PlaceId place = places.currentPlace();
  bool writes = access.kind == AccessKind::Store;
  int size = access.sizeInBytes;
  for (int64_t i = 0, count = countOf(access.pointer); i < count; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    Touch now{array, i, shape, place};
    auto isOther = [&](const Touch &before) {
      return before.array != unknownAllocation && before.array != array &&
             (before.lane != i || before.shape != shape);
    };
    Element &element = touched[addresses[i]];
    const char *bits = static_cast<const char *>(values) + (values ? i * size : 0);
    bool changes = writes && std::memcmp(reinterpret_cast<void *>(addresses[i]), bits, size) != 0;
    if (isOther(element.write) && (changes || !writes))
      return report(element.write, true, now, writes, addresses[i], program);
    if (changes && isOther(element.read))
      return report(element.read, false, now, true, addresses[i], program);
    (writes ? element.write : element.read) = now;
  }
}

void ThreadCheck::report(const Touch &before, bool wrote, const Touch &now, bool writes,
                         uint64_t address, const ProgramPosition &program) {
  const Allocation &first = memory.allocation(before.array), &second = memory.allocation(now.array);
  Error error = makeError(
      ErrorCode::E0413, fmt::arg("first", wrote ? "writes" : "reads"), fmt::arg("a", first.name),
      fmt::arg("i", first.elementIndex(address)), fmt::arg("second", writes ? "writes" : "reads"),
      fmt::arg("b", second.name), fmt::arg("j", second.elementIndex(address)),
      fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
  std::string where = places.describePlace(before.place);
  if (!where.empty())
    error.addNote(fmt::format("'{}' was {} at {}", first.name, wrote ? "written" : "read", where));
  // Once for what is known since the last barrier; `before` is part of it.
  touched.clear();
  checks.report(error);
}

} // namespace tilewright::interpreter
