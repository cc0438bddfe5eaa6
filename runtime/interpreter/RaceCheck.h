//===- RaceCheck.h - Accesses that nothing orders ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: finds two programs that touch one element, one of them writing, where no
// atomic orders them (E0408 to E0411).
//
// What counts as order: a program that acquires by an atomic what another has
// released comes after it (AccessOrder.h). A volatile load, and one with the
// modifier ".cv", acquires; a store with ".wt" releases: kernels that spin that way
// work on every GPU.
//
// What is not reported: a store of the very bits that memory holds, together with
// loads and stores of the same bits by any program, before it or after. The result is
// the same in any order of the two, and kernels store one value from several programs
// on purpose. A program that has stored these bits itself may load them as well.
//
// Not handled: reads of one element by more than two programs, of which two are
// remembered; and races that another order of programs would show (TILEWRIGHT_ORDER
// runs them in another order).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_RACECHECK_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_RACECHECK_H

#include "runtime/interpreter/Memory.h"
#include "runtime/interpreter/ShadowMemory.h"

#include <optional>
#include <set>
#include <tuple>

namespace tilewright::interpreter {

/// How an atomic, or a load or store that counts as one, orders programs.
struct Synchronization {
  bool acquires = false;
  bool releases = false;
  bool hasBlockScope = false;
};

/// Lines of kernels; the host knows them.
class Places {
public:
  virtual ~Places() = default;
  /// The line that runs.
  virtual PlaceId currentPlace() { return 0; }
  /// "kernel.py:12: tl.store(out, x)"; empty where it is not known.
  virtual std::string describePlace(PlaceId) { return ""; }
};

class RaceCheck {
public:
  RaceCheck(Checks &checks, Memory &memory, Places &places)
      : checks(checks), memory(memory), places(places) {}

  void switchTo(const ProgramPosition &program) {
    position = program;
    order.switchTo(static_cast<uint32_t>(program.linear()));
  }
  void end(const ProgramPosition &program) { order.end(static_cast<uint32_t>(program.linear())); }

  /// Before the load.
  void noteLoad(const Access &access);
  /// Before the store of `values`.
  void noteStore(const Access &access, const void *values);
  /// After an atomic; `wrote` says whether memory changed.
  void noteAtomic(const Access &access, bool wrote, const Synchronization &how);

  /// The last write of the element, if a program of this launch wrote it.
  std::optional<AccessRecord> lastWrite(uint64_t address) const;
  std::string programName(uint32_t linear) const;
  Places &placesOfHost() { return places; }

private:
  /// The access that is being looked at.
  struct Current {
    const Access &access;
    uint8_t traits = 0;
    AccessId id = 0;
    const char *values = nullptr;
    /// The access that was looked at last and does no harm.
    AccessId harmless = 0;
    bool reported = false;
  };
  struct Run;

  void buildRegions();
  ShadowRegion &regionOf(const Access &access, uint64_t address);
  template <typename F> void forEachRun(const Access &access, F function);
  void collectReleases(const Access &access);
  void note(Current &current);
  void noteRun(Current &current, const Run &run);
  void noteStoredRun(Current &current, const Run &run);
  void noteUnchangedRun(const Access &access, const Run &run);
  void visitCell(Current &current, ShadowCell &cell, uint64_t address);
  bool conflicts(Current &current, AccessId previous);
  bool knowsBits(const ShadowCell &cell);
  void report(Current &current, AccessId previous, const ShadowCell &cell, uint64_t address);

  Checks &checks;
  Memory &memory;
  Places &places;
  ProgramPosition position;
  AccessOrder order;
  std::vector<ShadowRegion> regions;
  /// The index of each array's region.
  std::vector<size_t> regionOfArray;
  std::vector<AccessId> releases;
  /// What has been reported: places and array, once each.
  std::set<std::tuple<PlaceId, PlaceId, AllocationId>> reported;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_RACECHECK_H
