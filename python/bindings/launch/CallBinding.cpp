//===- CallBinding.cpp - Arguments of a call to parameters ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/CallBinding.h"
#include "frontend/python/InternedName.h"
#include "python/bindings/PythonError.h"

namespace py = pybind11;

namespace tilewright {

py::dict optionDict(const OptionList &options) {
  py::dict dict;
  for (size_t i = 0; i < options.count; ++i)
    dict[py::handle(options.items[i].name)] = unwrapHostConstexpr(options.items[i].value);
  return dict;
}

/// Slot of an option name, or noOption. The names come from compiler/options.py.
static int optionSlot(PyObject *name) {
  static std::atomic<PyObject *> known{nullptr};
  PyObject *slots = madeOnce(
      known,
      [] {
        py::dict built;
        int next = 0;
        for (auto item :
             py::dict(py::module_::import("tilewright.compiler.options").attr("DEFAULTS")))
          built[item.first] = next++;
        if (next > static_cast<int>(OptionList::maxOptions))
          throw std::length_error("more options than OptionList holds");
        return built.release().ptr();
      },
      [](PyObject *unused) { Py_DECREF(unused); });
  PyObject *found = PyDict_GetItem(slots, name); // the dict is not changed
  return found ? static_cast<int>(PyLong_AsLong(found)) : LaunchParam::noOption;
}

static std::string signatureText(const DispatcherState &state) {
  std::string text = state.kernelName + "(";
  for (size_t i = 0; i < state.params.size(); ++i) {
    const LaunchParam &p = state.params[i];
    text += (i ? ", " : "") + p.nameText;
    if (p.isConstexpr)
      text += ": constexpr";
    if (p.defaultValue)
      text += "=" + std::string(py::repr(py::handle(p.defaultValue)));
  }
  return text + ")";
}

Error callError(const DispatcherState &state, Error error) {
  SourceFrame frame = currentPythonFrame(state.kernelName);
  if (!frame.file.empty())
    error.addFrame(frame);
  return error;
}

void addLaunchSite(const DispatcherState &state, py::error_already_set &error) {
  SourceFrame f = currentPythonFrame(state.kernelName);
  if (!f.file.empty())
    py::module_::import("tilewright.errors")
        .attr("add_launch_site")(error.value(),
                                 py::make_tuple(f.file, f.function, f.line, f.column, f.endLine,
                                                f.endColumn, f.sourceLine));
}

static Error argumentError(const DispatcherState &state, const char *problem,
                           const std::string &argument) {
  return makeError(ErrorCode::E0205, fmt::arg("problem", problem), fmt::arg("a", argument),
                   fmt::arg("sig", signatureText(state)));
}

/// Index of the parameter with this name, or -1. Names in a call are interned,
/// so the pointer nearly always decides.
static int findParam(const DispatcherState &state, PyObject *name) {
  size_t n = state.params.size();
  for (size_t i = 0; i < n; ++i)
    if (state.params[i].name == name)
      return static_cast<int>(i);
  for (size_t i = 0; i < n; ++i)
    if (PyUnicode_Compare(state.params[i].name, name) == 0)
      return static_cast<int>(i);
  return -1;
}

/// A parameter that is named like an option gets the value, and so does the option, as in
/// Triton: kernels ask so for the number of their warps.
static void bindParam(DispatcherState &state, size_t index, PyObject *name, PyObject *value,
                      PyObject **bound, OptionList &options) {
  LaunchParam &param = state.params[index];
  if (bound[index])
    throw argumentError(state, "duplicate", param.nameText);
  bound[index] = value;
  if (param.option == LaunchParam::notAsked)
    param.option = optionSlot(name);
  if (param.option != LaunchParam::noOption)
    options.insert(static_cast<unsigned>(param.option), name, value);
}

static void bindKeyword(DispatcherObject *self, PyObject *name, PyObject *value, PyObject **bound,
                        OptionList &options) {
  DispatcherState &state = *self->state;
  for (size_t i = 0; i < state.params.size(); ++i)
    if (state.params[i].name == name)
      return bindParam(state, i, name, value, bound, options);
  // The slow comparison would find no parameter for most options: their names are interned
  // where the call's text has them, not where they are keys of a dictionary read from a file.
  int slot = optionSlot(name);
  bool isOption = slot != LaunchParam::noOption && PyUnicode_CHECK_INTERNED(name);
  int param = isOption ? -1 : findParam(state, name);
  if (param >= 0)
    return bindParam(state, static_cast<size_t>(param), name, value, bound, options);
  if (slot != LaunchParam::noOption) {
    options.insert(static_cast<unsigned>(slot), name, value);
    return;
  }
  py::handle(reinterpret_cast<PyObject *>(self)).attr("_reject_keyword")(py::handle(name));
  throw argumentError(state, "unexpected", py::str(py::handle(name)));
}

void bindArguments(DispatcherObject *self, PyObject *const *args, size_t numArgs,
                   PyObject *keywordNames, PyObject **bound, OptionList &options,
                   const std::vector<bool> *added) {
  DispatcherState &state = *self->state;
  size_t n = state.params.size();
  if (numArgs > n)
    throw argumentError(state, "unexpected", fmt::format("#{}", n + 1))
        .addNote(fmt::format("{} positional arguments for {} parameters", numArgs, n));
  for (size_t i = 0; i < numArgs; ++i)
    bound[i] = args[i];
  if (keywordNames) {
    Py_ssize_t count = PyTuple_GET_SIZE(keywordNames);
    for (Py_ssize_t k = 0; k < count; ++k)
      bindKeyword(self, PyTuple_GET_ITEM(keywordNames, k), args[numArgs + k], bound, options);
  }
  for (size_t i = numArgs; i < n; ++i) {
    if (bound[i] || (added && (*added)[i]))
      continue;
    bound[i] = state.params[i].defaultValue;
    if (!bound[i] && !added)
      throw argumentError(state, "missing", state.params[i].nameText);
  }
}

void checkMissing(const DispatcherState &state, PyObject *const *bound,
                  const std::vector<bool> &added) {
  for (size_t i = 0; i < state.params.size(); ++i)
    if (!bound[i] && !added[i])
      throw argumentError(state, "missing", state.params[i].nameText);
}

py::dict boundDict(const DispatcherState &state, PyObject *const *bound) {
  py::dict dict;
  for (size_t i = 0; i < state.params.size(); ++i)
    if (PyDict_SetItem(dict.ptr(), state.params[i].name, bound[i]) < 0)
      throw py::error_already_set();
  return dict;
}

py::tuple boundTuple(const DispatcherState &state, PyObject *const *bound) {
  py::tuple tuple(state.params.size());
  for (size_t i = 0; i < state.params.size(); ++i)
    tuple[i] = py::handle(bound[i]);
  return tuple;
}

} // namespace tilewright
