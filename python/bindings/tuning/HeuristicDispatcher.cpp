//===- HeuristicDispatcher.cpp - Launches of kernels with heuristics ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: HeuristicDispatcher, the base class of Heuristics, and the call of
// `heuristic[grid]`: each function of the user's gets the arguments by name and gives
// one more. Nothing else of a launch is Python.
//
//===----------------------------------------------------------------------===//

#include "frontend/python/InternedName.h"
#include "python/bindings/PythonError.h"
#include "python/bindings/launch/OuterLauncher.h"

namespace py = pybind11;

namespace tilewright {

static py::object attribute(PyObject *object, PyObject *name) {
  return py::reinterpret_steal<py::object>(checked(PyObject_GetAttr(object, name)));
}

static PyObject *heuristicLaunch(const OuterLauncherObject &launcher, PyObject *const *args,
                                 size_t numArgs, PyObject *keywordNames) {
  static const InternedName innerName("fn"), valuesName("values"), namesName("arg_names");
  py::object names = attribute(launcher.owner, namesName);
  // A copy: a function may look at the dict it is in.
  py::object values = attribute(launcher.owner, valuesName);
  auto functions = py::reinterpret_steal<py::dict>(checked(PyDict_Copy(values.ptr())));
  py::dict named = keywordArguments(args, numArgs, keywordNames);
  size_t position = 0;
  for (py::handle name : names) {
    if (position == numArgs)
      break;
    if (!named.contains(name)) // given twice: the kernel refuses it
      named[name] = py::handle(args[position]);
    ++position;
  }
  std::vector<std::pair<py::object, py::object>> found;
  AddedArguments added;
  for (auto item : functions) {
    py::object result = py::reinterpret_borrow<py::object>(item.second)(named);
    named[item.first] = result; // later functions see what earlier ones found
    found.push_back({py::reinterpret_borrow<py::object>(item.first), std::move(result)});
    added.push_back({found.back().first.ptr(), found.back().second.ptr()});
  }
  py::object inner = attribute(launcher.owner, innerName);
  return callInner(inner.ptr(), launcher.grid, args, numArgs, keywordNames, added);
}

static PyObject *heuristicCall(PyObject *object, PyObject *const *args, size_t flaggedCount,
                               PyObject *keywordNames) {
  auto &launcher = *reinterpret_cast<OuterLauncherObject *>(object);
  return guarded([&] {
    return heuristicLaunch(launcher, args, PyVectorcall_NARGS(flaggedCount), keywordNames);
  });
}

static PyObject *heuristicSubscript(PyObject *object, PyObject *grid) {
  return guarded([&] { return makeOuterLauncher(object, grid, heuristicCall); });
}

static PyType_Slot heuristicSlots[] = {
    {Py_mp_subscript, reinterpret_cast<void *>(heuristicSubscript)},
    {Py_tp_doc, const_cast<char *>("The native side of a kernel with heuristics.")},
    {0, nullptr}};

static PyType_Spec heuristicSpec = {"tilewright._core.HeuristicDispatcher", sizeof(PyObject), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, heuristicSlots};

PyTypeObject *makeHeuristicDispatcherType() {
  return reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&heuristicSpec)));
}

} // namespace tilewright
