//===- ProgramChecks.h - Mistakes inside one program ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: lanes of one store that write one element with different values (E0412), and
// threads of one program that meet in memory without a barrier (E0413).
//
// What the language orders inside a program (docs/launch.md): accesses through one
// argument always; accesses through different arguments if one thread does them. The
// same lane of tiles of one shape is one thread. So E0413 is only looked for in
// launches whose arguments overlap, and other launches pay nothing. A barrier, or a
// scalar atomic that acquires or releases, orders all threads.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_PROGRAMCHECKS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_PROGRAMCHECKS_H

#include "runtime/interpreter/RaceCheck.h"

#include <unordered_map>

namespace tilewright::interpreter {

/// Reports E0412 where two active lanes of the store hit one element with different bits.
void checkScatter(Checks &checks, const Memory &memory, const Access &access, const void *values,
                  const ProgramPosition &program);

class ThreadCheck {
public:
  ThreadCheck(Checks &checks, Memory &memory, Places &places)
      : checks(checks), memory(memory), places(places) {}

  /// Before a load, or a store of `values`.
  void note(const Access &access, const void *values, const ProgramPosition &program);
  /// All threads of the program have met, or another program runs.
  void barrier() { touched.clear(); }

private:
  struct Touch {
    AllocationId array = unknownAllocation;
    int64_t lane = 0;
    size_t shape = 0;
    PlaceId place = 0;
  };
  struct Element {
    Touch write, read;
  };

  bool findOverlaps();
  void report(const Touch &before, bool wrote, const Touch &now, bool writes, uint64_t address,
              const ProgramPosition &program);

  Checks &checks;
  Memory &memory;
  Places &places;
  /// Whether the array overlaps another one.
  std::vector<bool> overlaps;
  bool anyOverlaps = false;
  /// By address, since the last barrier.
  std::unordered_map<uint64_t, Element> touched;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_PROGRAMCHECKS_H
