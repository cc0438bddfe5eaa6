//===- ProgramScheduler.h - The programs of a grid, in turn -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: runs the programs of a launch, one at a time, and lets programs that wait
// for each other get on.
//
// How: (1) The launch's own thread runs one program after the other. (2) A program
// that waits (WaitWatch.h) stays on its thread, Python frames and all, and another
// thread goes on with the rest; only one thread runs at a time, the one that has the
// turn. (3) A thread that has finished a program, or whose program waits, passes the
// turn on: to a program whose memory has changed, else to one that has not begun.
// (4) If there is neither, every waiting program asks very often once more; if
// nothing comes of that, all of them wait for ever (E0414). (5) An error ends all
// other programs: each is woken in turn and leaves.
//
// TILEWRIGHT_ORDER lets programs begin in another order; a seed also interrupts them
// between accesses to memory. A grid in which no program waits or is interrupted
// makes no thread.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_PROGRAMSCHEDULER_H
#define TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_PROGRAMSCHEDULER_H

#include "runtime/interpreter/CpuTileBuilder.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pybind11/pybind11.h>

namespace tilewright {

class EvaluationContext;
struct NativeFunction;

/// The calls of a program that are running, innermost last.
using OpenCalls = std::vector<std::pair<const NativeFunction *, pybind11::tuple>>;

/// In which order the programs of a grid begin, and whether they are interrupted.
struct ProgramOrder {
  bool isReversed = false;
  /// 0 is none.
  uint64_t seed = 0;
};

class ProgramScheduler {
public:
  using RunProgram = std::function<void(const interpreter::ProgramPosition &)>;

  /// `run` runs one program; `calls` are those of the program that has the turn.
  ProgramScheduler(EvaluationContext &context, interpreter::CpuTileBuilder &builder,
                   OpenCalls &calls, std::array<int64_t, 3> grid, ProgramOrder order,
                   RunProgram run);

  void runAll();
  /// As InterpreterHost has them.
  bool waitForOthers() { return suspend(false); }
  void mayInterrupt(bool isAtomic);

private:
  /// A program that has begun and does not have the turn.
  struct Suspended {
    interpreter::ProgramPosition position;
    interpreter::WaitWatch watch;
    OpenCalls calls;
    /// Interrupted: it waits for nothing.
    bool isReady = false;
    bool hasTurn = false;
    /// What it is to end by.
    std::exception_ptr error;
    std::condition_variable turn;
  };

  bool mayBegin() const { return nextProgram < programCount && !isEnding; }
  interpreter::ProgramPosition positionOf(int64_t number) const;
  void runNext();
  void runWhileAny();
  Suspended *choose();
  Suspended *chooseChanged();
  Suspended *chooseInVain();
  void giveTurn(Suspended &next);
  void startThread();
  bool suspend(bool isReady);
  void awaitTurn(Suspended &own);
  void awaitAll();
  void endAll(std::exception_ptr error);
  void endOnSignal();
  Error deadlock() const;
  uint64_t random();

  EvaluationContext &context;
  interpreter::CpuTileBuilder &builder;
  OpenCalls &calls;
  std::array<int64_t, 3> grid;
  ProgramOrder order;
  RunProgram run;
  int64_t nextProgram = 0, programCount;
  /// With a seed, which program begins when.
  std::vector<uint32_t> shuffled;
  uint64_t randomState;

  /// In the order in which they were suspended. This and the rest up to `mutex`
  /// belongs to the thread that has the turn.
  std::deque<Suspended *> suspended;
  /// How many have asked once more since `changesSeen`.
  size_t askedInVain = 0;
  uint64_t changesSeen = 0, ended = 0;

  std::mutex mutex;
  std::condition_variable done;
  bool isDone = false;
  size_t openThreads = 0;
  std::exception_ptr firstError;
  std::atomic<bool> isEnding{false};
  bool isInterrupted = false; // of the launch's own thread
  std::atomic<unsigned long> launchThread{0}, runningThread{0};
};

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_INTERPRETER_PROGRAMSCHEDULER_H
