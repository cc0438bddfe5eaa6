//===- CallBinding.h - Arguments of a call to parameters --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: binds the positional and keyword arguments of a launch to the parameters of
// the kernel and sorts the launch options out. References stay borrowed.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_CALLBINDING_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_CALLBINDING_H

#include "ir/support/Error.h"
#include "python/bindings/launch/LaunchState.h"

namespace tilewright {

/// Launch options found among the keywords, sorted by slot so that their order
/// in the call does not matter.
struct OptionList {
  static constexpr size_t maxOptions = 40;
  struct Item {
    unsigned slot;
    PyObject *name, *value; // borrowed from the call
  } items[maxOptions];
  size_t count = 0;

  void insert(unsigned slot, PyObject *name, PyObject *value) {
    size_t at = count++;
    for (; at > 0 && items[at - 1].slot > slot; --at)
      items[at] = items[at - 1];
    items[at] = {slot, name, value};
  }
};

/// Values and parameter slots of one call, on the stack for up to 64 parameters.
struct CallStorage {
  PyObject *inlineBound[64];
  uint64_t inlineSlots[64];
  std::unique_ptr<PyObject *[]> heapBound;
  std::unique_ptr<uint64_t[]> heapSlots;
  PyObject **bound = inlineBound;
  uint64_t *slots = inlineSlots;

  explicit CallStorage(size_t n) {
    if (n > 64) {
      heapBound.reset(new PyObject *[n]);
      heapSlots.reset(new uint64_t[n]);
      bound = heapBound.get();
      slots = heapSlots.get();
    }
    std::fill(bound, bound + n, nullptr);
  }
};
/// Fills `bound` (zeroed by the caller) with borrowed references. Raises E0205 and
/// E0210. With `added`, parameters of the kind that others add stay null, and missing ones.
void bindArguments(DispatcherObject *self, PyObject *const *args, size_t numArgs,
                   PyObject *keywordNames, PyObject **bound, OptionList &options,
                   const std::vector<bool> *added = nullptr);

/// Raises E0205 for a parameter that is null and not one of those that others add.
void checkMissing(const DispatcherState &state, PyObject *const *bound,
                  const std::vector<bool> &added);

/// An error about a call, with the line of the call.
Error callError(const DispatcherState &state, Error error);

/// The same for an error that Python code raised, where it has no place yet.
void addLaunchSite(const DispatcherState &state, pybind11::error_already_set &error);

/// {parameter: value} for grid functions and the interpreter.
pybind11::dict boundDict(const DispatcherState &state, PyObject *const *bound);
/// The values in the order of the parameters.
pybind11::tuple boundTuple(const DispatcherState &state, PyObject *const *bound);
pybind11::dict optionDict(const OptionList &options);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_CALLBINDING_H
