//===- WaitWatch.h - Whether a program waits for others ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: notices that a program waits: it asks the same elements at the same lines
// again and again, finds the same bits, and changes nothing in between.
//
// Programs wait by atomics that change nothing and by volatile loads: asking a few
// times is waiting. A plain load of one element may stand in any loop, so it counts
// as waiting only after very many times.
//
// Not handled: a program that stores while it waits.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_WAITWATCH_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_WAITWATCH_H

#include "runtime/interpreter/Memory.h"
#include "runtime/interpreter/RaceCheck.h"

namespace tilewright::interpreter {

/// One line that asks memory, and what it found.
struct Poll {
  PlaceId place = 0;
  /// The type of an element, and of active lanes their addresses and bits.
  DType type;
  std::vector<uint64_t> addresses;
  std::vector<char> bits;
  uint32_t times = 0;

  int sizeInBytes() const { return elementSize(type.kind()); }
  bool hasChanged() const;
};

class WaitWatch {
public:
  /// The program asked memory and found what is there now. Returns whether it waits.
  bool ask(const Access &access, PlaceId place, bool isPlain);
  /// The program did something that waiting programs do not.
  void progress() {
    if (!polls.empty())
      polls.clear();
  }
  /// After it has been asked again without a change: as often as this before it waits anew.
  void allow(uint32_t moreTimes);
  bool hasChanged() const;
  const std::vector<Poll> &asked() const { return polls; }

private:
  std::vector<Poll> polls;
  uint32_t limit = timesBeforeWaiting;
  static constexpr uint32_t timesBeforeWaiting = 3;
  static constexpr uint32_t plainTimesBeforeWaiting = 500000;
  /// A program that asks more places than this goes through them, and does not wait.
  static constexpr size_t maxPolls = 64;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_WAITWATCH_H
