//===- ProgramScheduler.cpp - The programs of a grid, in turn -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/interpreter/ProgramScheduler.h"
#include "frontend/python/EvaluationContext.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <numeric>

namespace py = pybind11;

namespace tilewright {

using interpreter::AccessRecord;
using interpreter::Poll;
using interpreter::ProgramPosition;

namespace {
/// The CPU's default rounding and subnormals for a scope: libraries built with
/// fast math switch subnormals off for the whole thread.
class DefaultFloatEnvironment {
public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
};
} // namespace

ProgramScheduler::ProgramScheduler(EvaluationContext &context, interpreter::CpuTileBuilder &builder,
                                   OpenCalls &calls, std::array<int64_t, 3> grid,
                                   ProgramOrder order, RunProgram run)
    : context(context), builder(builder), calls(calls), grid(grid), order(order),
      run(std::move(run)), programCount(grid[0] * grid[1] * grid[2]), randomState(order.seed) {
  builder.interrupts = order.seed != 0;
  if (!order.seed)
    return;
  shuffled.resize(programCount);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  for (int64_t i = programCount; i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[random() % i]);
}

/// The splitmix64 sequence: the same for a seed everywhere.
uint64_t ProgramScheduler::random() {
  uint64_t x = randomState += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

//===----------------------------------------------------------------------===//
// Running programs
//===----------------------------------------------------------------------===//

ProgramPosition ProgramScheduler::positionOf(int64_t number) const {
  if (order.isReversed)
    number = programCount - 1 - number;
  if (!shuffled.empty())
    number = shuffled[number];
  return {{number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]}, grid};
}

void ProgramScheduler::runAll() {
  launchThread = PyThread_get_thread_ident();
  DefaultFloatEnvironment environment;
  runWhileAny();
  awaitAll();
  if (firstError)
    std::rethrow_exception(firstError);
}

/// Runs programs until none is left, or another thread has the turn.
void ProgramScheduler::runWhileAny() {
  for (;;) {
    runningThread = PyThread_get_thread_ident();
    if (!suspended.empty())
      if (Suspended *next = choose())
        return giveTurn(*next);
    if (!mayBegin()) {
      runningThread = 0;
      std::lock_guard<std::mutex> lock(mutex);
      isDone = true;
      done.notify_all();
      return;
    }
    runNext();
  }
}

void ProgramScheduler::runNext() {
  ProgramPosition position = positionOf(nextProgram++);
  try {
    calls.clear();
    builder.watch = {};
    builder.switchTo(position);
    run(position);
  } catch (...) {
    endAll(std::current_exception());
  }
  builder.races.end(position);
  ++ended;
}

/// The first error counts; those of programs that are made to end do not.
void ProgramScheduler::endAll(std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!firstError)
    firstError = std::move(error);
  isEnding = true;
}

/// A request to end that came too late is raised here, in a function of Python. Taking it back
/// instead would leave CPython up to 3.12 with the mark that some thread has one, for ever;
/// a function that is traced then never gets past its first instruction (3.11).
static void takeLateRequest() {
  try {
    py::module_::import("tilewright.runtime.interpreter").attr("do_nothing")();
  } catch (py::error_already_set &) {
    return; // that was the request
  }
}

/// A plain thread: threading.Thread waits until the new one runs, which costs a turn of
/// the interpreter's lock for each program that waits.
void ProgramScheduler::startThread() {
  py::cpp_function body([this] {
    {
      ContextScope scope(context);
      DefaultFloatEnvironment environment;
      runWhileAny();
    }
    takeLateRequest();
    std::lock_guard<std::mutex> lock(mutex);
    --openThreads;
    done.notify_all();
  });
  runningThread = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++openThreads;
  }
  py::module_::import("_thread").attr("start_new_thread")(body, py::tuple());
}

//===----------------------------------------------------------------------===//
// Who is next
//===----------------------------------------------------------------------===//

/// With a seed, how many programs may be open before new ones wait for them.
static constexpr size_t maxOpenPrograms = 32;

/// The suspended program that runs next; null where one that has not begun does.
ProgramScheduler::Suspended *ProgramScheduler::choose() {
  Suspended *next = nullptr;
  bool mayWait = mayBegin();
  if (isEnding)
    next = suspended.front();
  else if (!order.seed || !mayWait || suspended.size() >= maxOpenPrograms || random() % 2)
    next = chooseChanged();
  if (!next && !mayWait)
    next = chooseInVain();
  if (next)
    suspended.erase(std::find(suspended.begin(), suspended.end(), next));
  return next;
}

ProgramScheduler::Suspended *ProgramScheduler::chooseChanged() {
  std::vector<Suspended *> candidates;
  for (Suspended *program : suspended)
    if (program->isReady || program->watch.hasChanged()) {
      if (!order.seed)
        return program;
      candidates.push_back(program);
    }
  return candidates.empty() ? nullptr : candidates[random() % candidates.size()];
}

/// One that may ask once more, very often: a loop with an end then ends. After all have
/// done so in vain, the first of them ends all.
ProgramScheduler::Suspended *ProgramScheduler::chooseInVain() {
  uint64_t changes = builder.changes + ended;
  if (changes != changesSeen)
    askedInVain = 0;
  changesSeen = changes;
  if (askedInVain++ < suspended.size()) {
    uint64_t times = std::clamp<uint64_t>(200000 / suspended.size(), 200, 20000);
    suspended.front()->watch.allow(static_cast<uint32_t>(times));
    return suspended.front();
  }
  auto isBefore = [](const Suspended *a, const Suspended *b) {
    return a->position.linear() < b->position.linear();
  };
  Suspended *first = *std::min_element(suspended.begin(), suspended.end(), isBefore);
  first->error = std::make_exception_ptr(deadlock());
  return first;
}

void ProgramScheduler::giveTurn(Suspended &next) {
  runningThread = 0;
  std::lock_guard<std::mutex> lock(mutex);
  next.hasTurn = true;
  next.turn.notify_all();
}

//===----------------------------------------------------------------------===//
// Suspending a program
//===----------------------------------------------------------------------===//

void ProgramScheduler::mayInterrupt(bool isAtomic) {
  // Atomics are where programs meet; elsewhere it only has to happen at times.
  if (random() % (isAtomic ? 2 : 8) == 0)
    suspend(true);
}

/// Lets others run; returns whether what the program asks for has changed since.
bool ProgramScheduler::suspend(bool isReady) {
  Suspended own;
  own.position = builder.program;
  own.isReady = isReady;
  std::swap(own.watch, builder.watch);
  std::swap(own.calls, calls);
  suspended.push_back(&own);
  Suspended *next = choose();
  if (next != &own) {
    if (next)
      giveTurn(*next);
    else
      startThread();
    awaitTurn(own);
    builder.switchTo(own.position);
  }
  runningThread = PyThread_get_thread_ident();
  std::swap(own.watch, builder.watch);
  std::swap(own.calls, calls);
  if (own.error)
    std::rethrow_exception(own.error);
  if (isEnding) {
    PyErr_SetNone(PyExc_GeneratorExit); // no kernel can catch it
    throw py::error_already_set();
  }
  bool hasChanged = builder.watch.hasChanged();
  if (hasChanged)
    builder.watch.progress();
  return hasChanged;
}

/// How long a thread sleeps before it looks for Ctrl-C.
static constexpr std::chrono::milliseconds signalInterval(50);

void ProgramScheduler::awaitTurn(Suspended &own) {
  bool isLaunchThread = PyThread_get_thread_ident() == launchThread;
  for (bool hasTurn = false; !hasTurn;) {
    {
      py::gil_scoped_release release;
      std::unique_lock<std::mutex> lock(mutex);
      auto isMine = [&] { return own.hasTurn; };
      if (isLaunchThread)
        own.turn.wait_for(lock, signalInterval, isMine);
      else
        own.turn.wait(lock, isMine);
      hasTurn = own.hasTurn;
    }
    if (isLaunchThread && !hasTurn)
      endOnSignal();
  }
}

void ProgramScheduler::awaitAll() {
  for (bool isOver = false; !isOver;) {
    {
      py::gil_scoped_release release;
      std::unique_lock<std::mutex> lock(mutex);
      isOver = done.wait_for(lock, signalInterval, [&] { return isDone && openThreads == 0; });
    }
    if (!isOver)
      endOnSignal();
  }
}

/// Signals arrive at the main thread alone, which sleeps here: the program that runs on
/// another one is made to end, and hands the turn on. A thread that is about to take its
/// turn sees by itself that all end. The request is made again until nothing runs: Python
/// loses an exception that is raised in a destructor or in a callback.
void ProgramScheduler::endOnSignal() {
  if (PyErr_CheckSignals() != 0) {
    endAll(std::make_exception_ptr(py::error_already_set()));
    isInterrupted = true;
  }
  if (isInterrupted && runningThread)
    PyThreadState_SetAsyncExc(runningThread, PyExc_GeneratorExit);
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

static std::string valueText(const Poll &poll) {
  interpreter::NewTile value{semantic::Type(poll.type)};
  std::memcpy(value.elements<char>(), poll.bits.data(), poll.sizeInBytes());
  return interpreter::formatTile(value.value, false);
}

static std::string idText(const ProgramPosition &position) {
  return fmt::format("({},{},{})", position.id[0], position.id[1], position.id[2]);
}

/// Array and element of an address.
static std::pair<std::string, int64_t> elementOf(const interpreter::Memory &memory,
                                                 uint64_t address) {
  const interpreter::Allocation &array = memory.allocation(memory.find(address));
  return {array.name, array.elementIndex(address)};
}

/// What the program has asked most often since it was given its last chance.
static const Poll *mostAsked(const interpreter::WaitWatch &watch) {
  const Poll *most = nullptr;
  for (const Poll &poll : watch.asked())
    if (!poll.addresses.empty() && (!most || poll.times > most->times))
      most = &poll;
  return most;
}

Error ProgramScheduler::deadlock() const {
  // More say nothing new.
  constexpr size_t maxNotes = 8;
  std::vector<const Suspended *> programs(suspended.begin(), suspended.end());
  std::sort(programs.begin(), programs.end(), [](const Suspended *a, const Suspended *b) {
    return a->position.linear() < b->position.linear();
  });
  const Poll *first = mostAsked(programs.front()->watch);
  if (!first) // an atomic whose mask is false everywhere
    return makeInternalError("interpreter", "programs wait for nothing");
  auto [name, index] = elementOf(builder.memory, first->addresses[0]);
  Error error =
      makeError(ErrorCode::E0414, fmt::arg("p", idText(programs.front()->position)),
                fmt::arg("a", name), fmt::arg("i", index), fmt::arg("v", valueText(*first)));
  // The last write is known only if that check is on.
  if (builder.checks.looksFor(interpreter::Check::Races)) {
    std::optional<AccessRecord> last = builder.races.lastWrite(first->addresses[0]);
    error.addNote(last ? fmt::format("'{}'[{}] was changed last by program {} at {}", name, index,
                                     builder.races.programName(last->program),
                                     builder.host.describePlace(last->place))
                       : fmt::format("no program has changed '{}'[{}]", name, index));
  }
  for (size_t i = 1; i < programs.size() && i <= maxNotes; ++i)
    if (const Poll *poll = mostAsked(programs[i]->watch)) {
      auto [otherName, otherIndex] = elementOf(builder.memory, poll->addresses[0]);
      error.addNote(fmt::format("program {} waits for '{}'[{}], which is {}, at {}",
                                idText(programs[i]->position), otherName, otherIndex,
                                valueText(*poll), builder.host.describePlace(poll->place)));
    }
  if (programs.size() > maxNotes + 1)
    error.addNote(fmt::format("{} more programs wait", programs.size() - maxNotes - 1));
  return error;
}

} // namespace tilewright
