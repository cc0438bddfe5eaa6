//===- Memory.h - The arrays a kernel may touch -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the registry of the arrays of one launch and the check that each access
// passes before anything is read or written. Pointers are real host addresses;
// a pointer that came from an argument also knows which one, so that running
// out of array `a` into array `b` is still found.
//
// How an access is checked: (1) one vectorised pass over the lanes asks whether
// all active byte ranges lie inside the array and are aligned; (2) only if that
// fails, a slow pass finds the first bad lane and words the error.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_MEMORY_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_MEMORY_H

#include "runtime/interpreter/Checks.h"
#include "runtime/interpreter/Tile.h"

#include <array>
#include <functional>
#include <map>
#include <string>

namespace tilewright::interpreter {

/// One array as the kernel sees it. `low` and `high` bound its bytes: with a
/// negative stride `low` is below `base`, the address of element [0, ..., 0].
struct Allocation {
  std::string name;
  uint64_t base = 0;
  uint64_t low = 0, high = 0;
  DType type;
  std::vector<int64_t> shape;
  bool writable = true;
  bool written = false;

  int64_t elementIndex(uint64_t address) const;
  /// Elements from the first to the last that the strides reach.
  int64_t spanInElements() const;
};

/// Bytes that hold nothing until they are written, and one byte for each that tells.
struct WatchedRange {
  uint64_t low, high;
  uint8_t *isWritten;
};

enum class AccessKind { Load, Store, Atomic, AtomicLoad };
inline bool onlyReads(AccessKind kind) {
  return kind == AccessKind::Load || kind == AccessKind::AtomicLoad;
}
/// "load", "store" or "atomic".
const char *nameOf(AccessKind kind);

/// The lanes of one memory operation.
struct Access {
  AccessKind kind;
  const Value &pointer;
  /// One byte per lane, or null where all lanes are active.
  const uint8_t *mask;
  int sizeInBytes;
};

/// "load", "store", "atomic"
const char *nameOf(AccessKind kind);
/// "lane [3, 5] of tile [16, 16]" of a flat lane number.
std::string laneName(int64_t lane, const std::vector<int64_t> &shape);

struct ProgramPosition {
  std::array<int64_t, 3> id{0, 0, 0};
  std::array<int64_t, 3> grid{1, 1, 1};
  int64_t linear() const { return id[0] + grid[0] * (id[1] + grid[1] * id[2]); }
};

class Memory {
public:
  explicit Memory(Checks &checks) : checks(checks) {}

  /// `strides` are in bytes and may be negative.
  AllocationId add(std::string name, uint64_t base, DType type, std::vector<int64_t> shape,
                   const std::vector<int64_t> &strides, bool writable);
  const Allocation &allocation(AllocationId id) const { return allocations[id]; }
  /// The name of the array that a pointer is known to point into, or "?".
  std::string nameOf(const Value &pointer) const;
  size_t size() const { return allocations.size(); }

  /// Raises E0407 for a lane outside its array, E0216 for a write to a
  /// read-only array, E0117 for a misaligned address. After it returns, every active
  /// lane may be touched.
  void check(const Access &access, const ProgramPosition &program);
  /// The smallest array that holds `address`, or unknownAllocation.
  AllocationId find(uint64_t address) const;

  /// `isWritten` has a byte per byte of the range and outlives the launch.
  void watch(uint64_t low, uint64_t high, uint8_t *isWritten) {
    watched.push_back({low, high, isWritten});
  }
  /// Reports E0417 for active lanes whose element was never written.
  void checkWritten(const Access &access, const ProgramPosition &program);
  void noteWritten(const Access &access);
  /// Is told of each access before it is checked, where there is one: for tables of
  /// what a program touches, and for finding out who wrote an element.
  std::function<void(const Access &)> observer;

private:
  bool allInside(const Access &access, const Allocation &array) const;
  void checkLaneByLane(const Access &access, const ProgramPosition &program);

  Checks &checks;
  std::vector<Allocation> allocations;
  std::vector<WatchedRange> watched;
  /// By lowest address, for pointers of unknown origin. Views of one buffer
  /// overlap, hence all candidates below an address are looked at.
  std::multimap<uint64_t, AllocationId> byAddress;
};

/// "lane [3, 5] of tile [16, 16]" for a flat lane number.
std::string laneName(int64_t lane, const std::vector<int64_t> &shape);

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_MEMORY_H
