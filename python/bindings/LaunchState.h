//===- LaunchState.h - What a kernel keeps for its launches -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the C++ side of the Python objects of a launch. KernelDispatcher, the base
// class of JITFunction, owns the parameters and the table of specialisations;
// Launcher is what its subscript returns.
//
// How threads meet here: with the GIL it guards all of this. A free-threaded Python
// has none, so StateLock stands where the table, the tokens of constants or the
// watched globals are used; it costs nothing elsewhere. It is recursive, because
// what it guards may call Python (the hash of a constant), which may launch.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCHSTATE_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCHSTATE_H

#include "python/bindings/ArgumentReader.h"
#include "python/bindings/LoadedKernelHandle.h"
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

  Entry() = default;
  Entry(const Entry &) = delete;
  ~Entry();
};

/// A global that some compiled code has frozen.
struct WatchedGlobal {
  PyObject *owner; // dict of a module, or a closure cell
  PyObject *name;
  PyObject *value;
};

struct LauncherObject;

struct DispatcherState {
  std::string kernelName;
  std::vector<LaunchParam> params;
  PyObject *preRunHooks = nullptr; // list
  bool interpreted = false;
  ConstTokens tokens;
  launch::KeyTable<Entry> table;
  std::vector<WatchedGlobal> watched;
  /// The launcher of the last plain grid, for the next subscript.
  LauncherObject *spare = nullptr;
#ifdef TILEWRIGHT_FREE_THREADED
  std::recursive_mutex mutex;
#endif

  ~DispatcherState();
  void clearTable();
  void clearWatched();
  void clearParams();
};

/// Guards a state for a C++ scope.
class StateLock {
public:
#ifdef TILEWRIGHT_FREE_THREADED
  explicit StateLock(DispatcherState &state) : lock(state.mutex) {}

private:
  std::lock_guard<std::recursive_mutex> lock;
#else
  explicit StateLock(DispatcherState &) {}
  ~StateLock() {} // so that it counts as used
#endif
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

/// Switches that a warm launch looks at; set by the knobs module.
struct LaunchFlags {
  bool hooks = false;
  bool debug = false;
  bool waits = false;         // for each launch
  double watchdogSeconds = 0; // 0: as long as it takes
};

extern LaunchFlags launchFlags;

/// `kernel[grid]`; a new reference.
PyObject *makeLauncher(DispatcherObject *dispatcher, PyObject *grid);
/// The types of this folder; each is made once.
PyTypeObject *makeDispatcherType();
PyTypeObject *makeLauncherType();
PyTypeObject *makeBoundLaunchType();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCHSTATE_H
