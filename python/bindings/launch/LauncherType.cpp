//===- LauncherType.cpp - kernel[grid] ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the type of `kernel[grid]`. A warm launch is one vectorcall from the
// arguments to cuLaunchKernelEx: no Python frame, no dict, no string.
//
// How: the kernel keeps the launcher of a tuple of plain integers for the next
// subscript. If the next tuple is the same object, which a constant in the source
// is, the same launcher is returned. Another tuple is put into that launcher if
// nothing else holds it.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"
#include "python/bindings/launch/BoundLaunch.h"
#include "python/bindings/launch/GridReader.h"
#include "python/bindings/launch/LaunchExecution.h"

#include <cstddef>
#include <structmember.h>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

static PyTypeObject *launcherType = nullptr;

//===----------------------------------------------------------------------===//
// Calling it
//===----------------------------------------------------------------------===//

/// Raises again what the interpreter has raised, its traceback without our own frames:
/// those of the kernel follow the line of the launch.
[[noreturn]] static void raiseWithUserFrames(py::error_already_set &raised) {
  py::object value = raised.value();
  py::object traceback = py::module_::import("tilewright.runtime.tracebacks")
                             .attr("user_frames")(value, raised.trace());
  PyErr_Restore(raised.type().inc_ref().ptr(), value.release().ptr(),
                traceback.is_none() ? nullptr : traceback.release().ptr());
  throw py::error_already_set();
}

static py::object runInterpreted(const LauncherObject &launcher, const LaunchRequest &request) {
  try {
    return py::handle(reinterpret_cast<PyObject *>(request.dispatcher))
        .attr("_run_interpreted")(py::handle(launcher.grid),
                                  boundDict(request.state, request.bound()),
                                  optionDict(request.options));
  } catch (py::error_already_set &raised) {
    raiseWithUserFrames(raised);
  }
}

static Grid gridOf(const LauncherObject &launcher, const LaunchRequest &request) {
  if (!launcher.gridIsCallable)
    return launcher.size;
  return callGrid(launcher.grid, boundDict(request.state, request.bound()).ptr());
}

static PyObject *launchCall(LauncherObject &launcher, PyObject *const *args, size_t numArgs,
                            PyObject *keywordNames) {
  LaunchRequest request(launcher.dispatcher, /*isWarmup=*/false);
  if (PyList_GET_SIZE(request.state.preRunHooks) > 0)
    runPreHooks(request.state, args, numArgs, keywordNames);
  request.bind(args, numArgs, keywordNames);
  if (!request.read())
    return runInterpreted(launcher, request).release().ptr();
  Entry *entry = request.findEntry();
  if (!entry)
    Py_RETURN_NONE;
  Grid grid = gridOf(launcher, request);
  if (!grid.isEmpty()) {
    finishParameters(request, *entry);
    launchEntry(request, *entry, grid);
  }
  Py_INCREF(entry->kernel);
  return entry->kernel;
}

static PyObject *launcherVectorcall(PyObject *object, PyObject *const *args, size_t flaggedCount,
                                    PyObject *keywordNames) {
  auto &launcher = *reinterpret_cast<LauncherObject *>(object);
  return withLaunchSite(*launcher.dispatcher->state, [&] {
    return launchCall(launcher, args, PyVectorcall_NARGS(flaggedCount), keywordNames);
  });
}

/// bind(*args, **kwargs): the launch, frozen.
static PyObject *launcherBind(PyObject *object, PyObject *const *args, Py_ssize_t numArgs,
                              PyObject *keywordNames) {
  auto &launcher = *reinterpret_cast<LauncherObject *>(object);
  return withLaunchSite(*launcher.dispatcher->state, [&]() -> PyObject * {
    auto request = std::make_unique<LaunchRequest>(launcher.dispatcher, /*isWarmup=*/false);
    request->bind(args, static_cast<size_t>(numArgs), keywordNames);
    if (!request->read()) {
      // The interpreter has nothing to freeze: a partial application does the same.
      py::object partial = py::module_::import("functools").attr("partial");
      std::vector<PyObject *> all{object};
      all.insert(all.end(), args,
                 args + numArgs + (keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0));
      return checked(PyObject_Vectorcall(partial.ptr(), all.data(),
                                         static_cast<size_t>(numArgs) + 1, keywordNames));
    }
    Entry *entry = request->findEntry();
    if (!entry)
      Py_RETURN_NONE;
    Grid grid = gridOf(launcher, *request);
    return makeBoundLaunch(std::move(request), entry, grid);
  });
}

//===----------------------------------------------------------------------===//
// Making it
//===----------------------------------------------------------------------===//

static PyObject *newLauncher(DispatcherObject *dispatcher, PyObject *grid) {
  bool callable = !PyTuple_CheckExact(grid) && PyCallable_Check(grid);
  Grid size;
  if (!callable)
    size = parseGrid(grid);
  auto *launcher = PyObject_GC_New(LauncherObject, launcherType);
  if (!launcher)
    throw py::error_already_set();
  Py_INCREF(dispatcher);
  Py_INCREF(grid);
  launcher->vectorcall = launcherVectorcall;
  launcher->dispatcher = dispatcher;
  launcher->grid = grid;
  launcher->gridIsCallable = callable;
  launcher->size = size;
  PyObject_GC_Track(launcher);
  return reinterpret_cast<PyObject *>(launcher);
}

/// Whether the grid is a tuple that can never mean anything else later. Not a function:
/// keeping one keeps all that it refers to.
static bool isPlainTuple(PyObject *grid) {
  if (!PyTuple_CheckExact(grid))
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grid); ++i)
    if (!PyLong_CheckExact(PyTuple_GET_ITEM(grid, i)))
      return false;
  return true;
}

/// Puts another grid into a launcher that only makeLauncher holds; false where others may.
static bool reuse(LauncherObject *launcher, PyObject *grid) {
#ifdef Py_GIL_DISABLED
  return false; // its count does not tell
#else
  if (Py_REFCNT(launcher) > 2) // as the spare one and as the result
    return false;
  launcher->size = parseGrid(grid);
  Py_INCREF(grid);
  Py_SETREF(launcher->grid, grid);
  return true;
#endif
}

/// Puts `launcher` in the place of the spare one, which is returned.
static LauncherObject *exchangeSpare(DispatcherState &state, LauncherObject *launcher) {
#ifdef Py_GIL_DISABLED
  return state.spare.exchange(launcher, std::memory_order_acq_rel);
#else
  LauncherObject *before = state.spare.load(std::memory_order_relaxed);
  state.spare.store(launcher, std::memory_order_relaxed);
  return before;
#endif
}

PyObject *makeLauncher(DispatcherObject *dispatcher, PyObject *grid) {
  // Taken out while it is looked at, as another thread may be here, too.
  auto spare = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject *>(exchangeSpare(*dispatcher->state, nullptr)));
  auto *known = reinterpret_cast<LauncherObject *>(spare.ptr());
  py::object result = spare;
  if (!known || known->grid != grid) {
    if (!isPlainTuple(grid))
      result = py::reinterpret_steal<py::object>(newLauncher(dispatcher, grid));
    else if (!known || !reuse(known, grid))
      result = spare = py::reinterpret_steal<py::object>(newLauncher(dispatcher, grid));
  }
  // What another thread has put there meanwhile is plain: no Python code runs.
  Py_XDECREF(reinterpret_cast<PyObject *>(exchangeSpare(
      *dispatcher->state, reinterpret_cast<LauncherObject *>(spare.release().ptr()))));
  return result.release().ptr();
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static int launcherTraverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dispatcher);
  Py_VISIT(self->grid);
  return 0;
}

static int launcherClear(PyObject *object) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  Py_CLEAR(self->grid);
  return 0;
}

static void launcherDealloc(PyObject *object) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->dispatcher);
  Py_XDECREF(self->grid);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyMemberDef launcherMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {"grid", T_OBJECT, offsetof(LauncherObject, grid), READONLY, "the grid as it was given"},
    {"kernel", T_OBJECT, offsetof(LauncherObject, dispatcher), READONLY,
     "the function that is launched"},
    {nullptr, 0, 0, 0, nullptr}};

static PyMethodDef launcherMethods[] = {
    {"bind", asMethod(launcherBind), METH_FASTCALL | METH_KEYWORDS,
     "bind(*args, **kwargs)\n\nThe launch with these arguments, read once: call it to launch."},
    {nullptr, nullptr, 0, nullptr}};

static PyType_Slot launcherSlots[] = {
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(launcherTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(launcherClear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(launcherDealloc)},
    {Py_tp_members, launcherMembers},
    {Py_tp_methods, launcherMethods},
    {Py_tp_doc, const_cast<char *>("A kernel with its grid; call it to launch.")},
    {0, nullptr}};

static PyType_Spec launcherSpec = {"tilewright._core.Launcher", sizeof(LauncherObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                       Py_TPFLAGS_HAVE_VECTORCALL |
                                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   launcherSlots};

PyTypeObject *makeLauncherType() {
  launcherType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&launcherSpec)));
  return launcherType;
}

} // namespace tilewright
