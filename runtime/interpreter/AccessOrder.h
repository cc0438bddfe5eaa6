//===- AccessOrder.h - Which access comes before which ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a number for each access of a launch, and whether an access of another
// program happened before what the running program does now. Programs are ordered
// by atomics alone: one that acquires what another has released comes after all
// that the other did before the release.
//
// How: a release is an access whose number other programs may acquire. It knows its
// parents: the releases that its program had acquired or made before, and those
// that it found in memory (an atomic that follows a release passes it on). To
// decide whether the running program comes after an access of program q, the
// releases that it knows are followed backwards, newest first, down to the number
// of that access; what was found is kept. So an ordered chain of any length costs
// one step per link, and a program that acquires nothing costs nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_ACCESSORDER_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_ACCESSORDER_H

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tilewright::interpreter {

/// Grows with time; 0 is no access.
using AccessId = uint32_t;
/// Stands for accesses of several programs that take turns.
inline constexpr AccessId severalPrograms = ~AccessId(0);
/// A line of a kernel, as the host numbers them; 0 is unknown.
using PlaceId = uint32_t;

/// How an access touches memory.
enum AccessTrait : uint8_t {
  WritesMemory = 1,
  IsAtomic = 2,
  /// An atomic for the threads of one program only.
  HasBlockScope = 4,
  /// Whoever acquires it comes after what its program did before.
  IsRelease = 8,
  /// A release, or an atomic that hands on the releases that it found.
  CanBeAcquired = 16,
  /// Writes the very bits that memory holds.
  ChangesNothing = 32,
};

struct AccessRecord {
  uint32_t program;
  PlaceId place;
  uint32_t firstParent;
  uint32_t parentCount : 24;
  uint32_t traits : 8;
};

class AccessOrder {
public:
  AccessOrder() : records(1) {}

  const AccessRecord &record(AccessId id) const { return records[id]; }

  /// The running program from now on.
  void switchTo(uint32_t program);
  uint32_t runningProgram() const { return running; }
  /// What `program` has learnt is forgotten: it has ended.
  void end(uint32_t program);
  /// Whether a program has been left before its end.
  bool programsTakeTurns() const { return takeTurns; }

  /// The number of a plain access of the running program. Accesses of one place
  /// share one as long as the program releases nothing.
  AccessId plain(PlaceId place, uint8_t traits);
  /// The number of an atomic. `found` are the releases that it found in memory.
  AccessId atomic(PlaceId place, uint8_t traits, bool releases, const std::vector<AccessId> &found);
  /// The running program comes after the release `id`.
  void acquire(AccessId id);

  /// Whether the access is surely one of the running program.
  bool isRecent(AccessId id) const { return id >= firstOfRun; }
  AccessId firstRecent() const { return firstOfRun; }
  /// Whether the access came before what the running program does now.
  bool isOrdered(AccessId id);

private:
  /// What one program has acquired.
  struct Knowledge {
    AccessId lastRelease = 0;
    /// Acquired since the last release.
    std::vector<AccessId> acquired;
    /// Releases whose parents have not been followed yet, a heap.
    std::vector<AccessId> frontier;
    std::unordered_set<AccessId> followed;
    /// The newest release of each program among those followed.
    std::unordered_map<uint32_t, AccessId> newest;
  };

  AccessId add(PlaceId place, uint8_t traits);

  std::vector<AccessRecord> records;
  std::vector<AccessId> parents;
  std::unordered_map<uint32_t, Knowledge> knowledge;
  uint32_t running = 0;
  bool isRunning = false, takeTurns = false;
  AccessId firstOfRun = 1;
  struct Shared {
    PlaceId place = 0;
    uint8_t traits = 0;
    AccessId id = 0;
  };
  /// Numbers of the running program since its last release, by place.
  std::array<Shared, 64> shared;
  AccessId firstShared = 1;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_ACCESSORDER_H
