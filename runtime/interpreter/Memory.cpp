//===- Memory.cpp - The arrays a kernel may touch -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/Memory.h"
#include "ir/support/Error.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

int64_t Allocation::elementIndex(uint64_t address) const {
  int64_t bytes = static_cast<int64_t>(address - base);
  int64_t size = std::max(elementSize(type.kind()), 1);
  // Toward minus infinity: a byte before the base belongs to element -1.
  return bytes >= 0 ? bytes / size : -((-bytes + size - 1) / size);
}

int64_t Allocation::spanInElements() const {
  return static_cast<int64_t>(high - low) / std::max(elementSize(type.kind()), 1);
}

AllocationId Memory::add(std::string name, uint64_t base, DType type, std::vector<int64_t> shape,
                         const std::vector<int64_t> &strides, bool writable) {
  Allocation array;
  array.name = std::move(name);
  array.base = array.low = array.high = base;
  array.writable = writable;
  int64_t below = 0, above = 0;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    empty |= shape[i] == 0;
    int64_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? below : above) += reach;
  }
  if (!empty) {
    array.low = base + below;
    array.high = base + above + elementSize(type.kind());
  }
  array.type = std::move(type);
  array.shape = std::move(shape);
  AllocationId id = static_cast<AllocationId>(allocations.size());
  byAddress.emplace(array.low, id);
  allocations.push_back(std::move(array));
  return id;
}

std::string Memory::nameOf(const Value &pointer) const {
  AllocationId id = tileOf(pointer).allocation;
  return id == unknownAllocation ? "?" : allocations[id].name;
}

/// The smallest array that holds `address`. Linear in the number of arrays
/// below it, which is a handful: arguments of one launch.
AllocationId Memory::find(uint64_t address) const {
  AllocationId best = unknownAllocation;
  uint64_t bestSize = ~uint64_t(0);
  for (auto it = byAddress.begin(); it != byAddress.end() && it->first <= address; ++it) {
    const Allocation &array = allocations[it->second];
    uint64_t size = array.high - array.low;
    if (address < array.high && size < bestSize) {
      best = it->second;
      bestSize = size;
    }
  }
  return best;
}

/// Whether all active lanes are inside `array` and aligned: one pass without
/// branches or unsigned comparisons, which SSE2 has not. An offset is bad where
/// it, or its distance to the last good one, has the top bit set.
bool Memory::allInside(const Access &access, const Allocation &array) const {
  int64_t count = countOf(access.pointer);
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  uint64_t size = access.sizeInBytes, span = array.high - array.low, low = array.low;
  if (span < size)
    return access.mask && !std::memchr(access.mask, 1, count);
  uint64_t lastOffset = span - size, outside = 0, low3Bits = 0;
  if (!access.mask) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t offset = addresses[i] - low;
      outside |= offset | (lastOffset - offset);
      low3Bits |= addresses[i];
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t active = 0 - static_cast<uint64_t>(access.mask[i]);
      uint64_t offset = addresses[i] - low;
      outside |= (offset | (lastOffset - offset)) & active;
      low3Bits |= addresses[i] & active;
    }
  }
  return outside >> 63 == 0 && (low3Bits & (size - 1)) == 0;
}

void Memory::check(const Access &access, const ProgramPosition &program) {
  if (observer)
    observer(access);
  AllocationId id = tileOf(access.pointer).allocation;
  if (id != unknownAllocation && allInside(access, allocations[id]) &&
      (onlyReads(access.kind) || allocations[id].writable)) {
    allocations[id].written |= !onlyReads(access.kind);
    return;
  }
  checkLaneByLane(access, program);
}

//===--- errors -----------------------------------------------------------===//

const char *nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::Atomic:
  case AccessKind::AtomicLoad:
    return "atomic";
  }
  return "";
}

std::string laneName(int64_t lane, const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "scalar access";
  std::vector<int64_t> position(shape.size());
  for (size_t i = shape.size(); i-- > 0; lane /= shape[i])
    position[i] = lane % shape[i];
  return fmt::format("lane [{}] of tile [{}]", fmt::join(position, ", "), fmt::join(shape, ", "));
}

static void addLaneNote(Error &error, const Access &access, int64_t lane) {
  error.addNote(fmt::format("{}; {}", laneName(lane, access.pointer.type.shape),
                            access.mask ? "mask is true" : "no mask"));
}

[[noreturn]] static void throwOutside(const Access &access, int64_t lane, const Allocation *array,
                                      uint64_t address, const ProgramPosition &program,
                                      int64_t badLanes) {
  std::string name = array ? array->name : fmt::format("address {:#x}", address);
  int64_t index = array ? array->elementIndex(address) : 0;
  int64_t size = array ? array->spanInElements() : 0;
  Error error =
      makeError(ErrorCode::E0407, fmt::arg("access", nameOf(access.kind)), fmt::arg("a", name),
                fmt::arg("i", index), fmt::arg("n", size), fmt::arg("x", program.id[0]),
                fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
  addLaneNote(error, access, lane);
  if (badLanes > 1)
    error.addNote(fmt::format("{} lanes are out of bounds", badLanes));
  if (!array)
    error.addNote("the address lies in no array of this launch");
  else if (array->shape.size() > 1)
    error.addNote(fmt::format("'{}' has shape [{}]", name, fmt::join(array->shape, ", ")));
  throw error;
}

[[noreturn]] static void throwMisaligned(const Access &access, int64_t lane,
                                         const Allocation &array, uint64_t address,
                                         const ProgramPosition &program) {
  int64_t offset = static_cast<int64_t>(address - array.base);
  std::string message = fmt::format(
      "{} of '{}' at byte {} is not aligned to {} bytes; program ({},{},{})", nameOf(access.kind),
      array.name, offset, access.sizeInBytes, program.id[0], program.id[1], program.id[2]);
  Error error =
      makeError(ErrorCode::E0117, fmt::arg("message", message),
                fmt::arg("help", "a GPU faults here; start the array and its offsets at a multiple "
                                 "of the element size"));
  addLaneNote(error, access, lane);
  throw error;
}

/// The slow path: unknown origins, read-only arrays, and finding the first bad
/// lane. All lanes are checked before the first write is noted.
void Memory::checkLaneByLane(const Access &access, const ProgramPosition &program) {
  int64_t count = countOf(access.pointer);
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  AllocationId known = tileOf(access.pointer).allocation;
  AllocationId recent = known;
  uint64_t size = access.sizeInBytes;
  auto isOutside = [&](const Allocation &array, uint64_t address) {
    return address < array.low || array.high - array.low < size ||
           address - array.low > array.high - array.low - size;
  };
  for (int64_t i = 0; i < count; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    if (known == unknownAllocation &&
        (recent == unknownAllocation || isOutside(allocations[recent], addresses[i])))
      recent = find(addresses[i]);
    const Allocation *array = recent == unknownAllocation ? nullptr : &allocations[recent];
    if (!array || isOutside(*array, addresses[i])) {
      int64_t badLanes = 0;
      for (int64_t j = i; array && j < count; ++j)
        badLanes += (!access.mask || access.mask[j]) && isOutside(*array, addresses[j]);
      throwOutside(access, i, array, addresses[i], program, badLanes);
    }
    if (addresses[i] % size)
      throwMisaligned(access, i, *array, addresses[i], program);
    if (!onlyReads(access.kind) && !array->writable) {
      Error error = makeError(ErrorCode::E0216, fmt::arg("a", array->name));
      addLaneNote(error, access, i);
      throw error;
    }
  }
  if (onlyReads(access.kind))
    return;
  for (int64_t i = 0; i < count; ++i)
    if (!access.mask || access.mask[i])
      allocations[known == unknownAllocation ? find(addresses[i]) : known].written = true;
}

} // namespace tilewright::interpreter
