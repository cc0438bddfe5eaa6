//===- OuterLauncher.h - outer[grid] of what wraps a kernel -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the object that the subscript of a tuned kernel, or of one with heuristics,
// returns. Such an outer object adds arguments to a call and launches an inner one,
// which may be the kernel or another outer object. Both kinds are C++ from the call to
// the driver.
//
//   TunedDispatcher      base of Autotuner: adds what the chosen configuration has
//   HeuristicDispatcher  base of Heuristics: adds what its functions compute
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_OUTERLAUNCHER_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_OUTERLAUNCHER_H

#include <pybind11/pybind11.h>

#include <vector>

namespace tilewright {

struct OuterLauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *owner;
  PyObject *grid; // as given
};

/// `owner[grid]`, called through `call`; a new reference.
PyObject *makeOuterLauncher(PyObject *owner, PyObject *grid, vectorcallfunc call);

/// The arguments of a vectorcall as Python's other calls have them.
pybind11::tuple positionalArguments(PyObject *const *args, size_t numArgs);
pybind11::dict keywordArguments(PyObject *const *args, size_t numArgs, PyObject *keywordNames);

/// Keyword arguments that are added to a call.
using AddedArguments = std::vector<std::pair<PyObject *, PyObject *>>; // name, value

/// Calls `inner[grid]` with these arguments and more; one that the call has already is
/// replaced. A new reference.
PyObject *callInner(PyObject *inner, PyObject *grid, PyObject *const *args, size_t numArgs,
                    PyObject *keywordNames, const AddedArguments &added);

PyTypeObject *makeOuterLauncherType();
PyTypeObject *makeTunedDispatcherType();
PyTypeObject *makeHeuristicDispatcherType();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_OUTERLAUNCHER_H
