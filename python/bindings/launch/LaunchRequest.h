//===- LaunchRequest.h - One call of a kernel, read -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the arguments of one call, bound to parameters and read, with all memory
// that a launch needs, and the specialisation that follows from them. It lives on
// the stack for a call, on the heap for `kernel.bind(...)`.
//
// How:
//   1. bind() gives each parameter its value (CallBinding)
//   2. read() makes code, words and slot of each (ArgumentReader)
//   3. findEntry() probes the table of specialisations; a miss compiles and loads
//      in Python (JITFunction._compile_specialization). An entry that needs distinct
//      arguments, given overlapping ones, is exchanged for the other form of the kernel,
//      whose key differs in one bit.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHREQUEST_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHREQUEST_H

#include "python/bindings/PythonError.h"
#include "python/bindings/launch/CallBinding.h"
#include "runtime/profile/LaunchLog.h"

namespace tilewright {

class LaunchRequest {
public:
  /// With `isWarmup` nothing needs to be in the GPU's memory: dtypes stand for tensors.
  LaunchRequest(DispatcherObject *dispatcher, bool isWarmup)
      : dispatcher(dispatcher), state(*dispatcher->state),
        called(launchFlags.profiled ? profile::hostNow() : 0), storage(state.params.size()),
        key(state.params.size(), state.params.size()),
        reader(state.params, state.tokens, key, storage.slots, arguments, isWarmup) {}
  LaunchRequest(const LaunchRequest &) = delete;

  /// The values stay borrowed.
  void bind(PyObject *const *args, size_t numArgs, PyObject *keywordNames) {
    bindArguments(dispatcher, args, numArgs, keywordNames, storage.bound, options);
  }
  /// As bind(), for a call to which others add arguments: what is not given and is
  /// `added` for that parameter stays open, and so does what is missing.
  void bindGiven(PyObject *const *args, size_t numArgs, PyObject *keywordNames,
                 const std::vector<bool> &added) {
    bindArguments(dispatcher, args, numArgs, keywordNames, storage.bound, options, &added);
  }
  /// Gives an open parameter its value, which must be a constant of the kernel.
  void fill(size_t param, PyObject *value) { storage.bound[param] = value; }
  /// False where the interpreter is to run it.
  bool read();
  /// The specialisation, ready on the device of the arguments; null where a compile
  /// hook cancelled. Raises whatever compiling and loading raise, and E0216.
  Entry *findEntry();
  /// The same, where it is known; nothing is compiled or loaded.
  Entry *knownEntry();
  /// Whether the arguments are what this entry was compiled for, as to overlapping arrays.
  bool suits(const Entry &entry) const;
  /// What findEntry() asks before it looks: E0213, and globals that changed.
  void checkProcess() const;
  /// What findEntry() asks of arguments and kernel: E0212 and E0216.
  void checkArguments(const Entry &entry) const;
  /// Adds the values of these parameters to the key, which does not hold those of
  /// run-time arguments; false where one is no number.
  bool addValues(const std::vector<size_t> &params);
  /// The key with device and flags, for another table than the kernel's; its hash.
  const launch::KeyBuilder &finishedKey(uint64_t &hash) {
    hash = finishKey();
    return key;
  }
  /// The kernel for a warm-up, which is not loaded: the one of an earlier warm-up under the
  /// same circumstances, or compiled.
  pybind11::object warm();

  PyObject *const *bound() const { return storage.bound; }
  int device() const { return deviceOrdinal; }
  uint64_t currentStream() const {
    return currentStreamOf(reader.framework(), deviceOrdinal, reader.interfaceStream());
  }

  DispatcherObject *const dispatcher;
  DispatcherState &state;
  OptionList options;
  LaunchArguments arguments;
  /// For profiles, in nanoseconds: when the call began, and what it took to compile and load.
  uint64_t called, missed = 0;

private:
  pybind11::object compile(bool isWarmup);
  Entry *handleMiss(uint64_t hash);
  uint64_t finishKey();

  CallStorage storage;
  launch::KeyBuilder key;
  ArgumentReader reader;
  int deviceOrdinal = -1;
  /// Asks for the form of the kernel whose arguments may overlap.
  bool overlaps = false;
};

/// Runs `body` at the border to Python and adds the line of the launch to errors
/// that have no place yet.
template <typename Body> PyObject *withLaunchSite(const DispatcherState &state, Body body) {
  return guarded([&]() -> PyObject * {
    try {
      return body();
    } catch (Error &error) {
      // A fault names its launch site in its first line already.
      bool hasPlace = !error.frames().empty() || error.code() == ErrorCode::E0401 ||
                      error.code() == ErrorCode::E0403;
      throw hasPlace ? error : callError(state, error);
    } catch (pybind11::error_already_set &error) {
      addLaunchSite(state, error);
      throw;
    }
  });
}

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHREQUEST_H
