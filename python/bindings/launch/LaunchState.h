//===- LaunchState.h - What a kernel keeps for its launches -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the C++ side of the Python objects of a launch. KernelDispatcher, the base
// class of JITFunction, owns the parameters and the table of specialisations;
// Launcher is what its subscript returns.
//
// How threads share it: launches read the table, the tokens of constants and the watched
// globals without a lock, with or without Python's own. Entries that they may have found
// live as long as the kernel's function. The mutex serialises changes, and nothing that
// holds it calls Python.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHSTATE_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHSTATE_H

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/LoadedKernelHandle.h"
#include "python/bindings/launch/WatchedGlobals.h"
#include "runtime/launch/Grid.h"

#include <mutex>

namespace tilewright {

/// One specialisation, ready to launch on one device.
struct Entry {
  PyObject *kernel = nullptr; // the CompiledKernel
  PyObject *handleObject = nullptr;
  LoadedKernelHandle *handle = nullptr; // owned by handleObject
  uint64_t writtenMask = 0;
  bool checksSpans = false; // index_bits=32
  /// Right only where no written array overlaps another argument's.
  bool needsDistinctArguments = false;

  Entry() = default;
  Entry(const Entry &) = delete;
  ~Entry();
};

struct LauncherObject;

struct DispatcherState {
  std::string kernelName;
  std::vector<LaunchParam> params;
  PyObject *preRunHooks = nullptr; // list
  bool interpreted = false;
  ConstTokens tokens;
  launch::KeyTable<Entry> table;
  /// The CompiledKernels of warm-ups, by arguments and circumstances.
  launch::KeyTable<pybind11::object> warmed;
  WatchedGlobals watched;
  /// How often the table was cleared: what others keep of its entries is void then.
  std::atomic<uint64_t> generation{0};
  /// The launcher of the last plain grid, for the next subscript.
  std::atomic<LauncherObject *> spare{nullptr};
  std::mutex mutex; // for changes of the tables

  ~DispatcherState();
  /// Later launches compile anew.
  void clearTable();
  /// Frees what clearTable leaves; only where no launch can be under way.
  void reclaim();
  void clearParams();
};

struct DispatcherObject {
  PyObject_HEAD DispatcherState *state;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  DispatcherObject *dispatcher;
  PyObject *grid; // as given, for callables and the interpreter
  bool gridIsCallable;
  launch::Grid size;
};

/// Switches that a warm launch looks at; set by the knobs module. Each stands for itself,
/// so no order among them is needed.
template <typename T> class LaunchFlag {
public:
  constexpr LaunchFlag() = default;
  operator T() const { return value.load(std::memory_order_relaxed); }
  LaunchFlag &operator=(T set) {
    value.store(set, std::memory_order_relaxed);
    return *this;
  }

private:
  std::atomic<T> value{};
};

struct LaunchFlags {
  LaunchFlag<bool> hooks;
  LaunchFlag<bool> debug;
  LaunchFlag<bool> waits;             // for each launch
  LaunchFlag<double> watchdogSeconds; // 0: as long as it takes
  LaunchFlag<bool> tunerListener;     // is told of each launch of a tuned kernel
  LaunchFlag<bool> profiled;          // LaunchProfile.h
};

extern LaunchFlags launchFlags;

/// `kernel[grid]`; a new reference.
PyObject *makeLauncher(DispatcherObject *dispatcher, PyObject *grid);
/// The types of this folder; each is made once.
PyTypeObject *makeDispatcherType();
PyTypeObject *makeLauncherType();
PyTypeObject *makeBoundLaunchType();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHSTATE_H
