//===- DispatcherType.cpp - The native side of a jit function -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: KernelDispatcher, the base class of JITFunction: parameters, the table of
// specialisations, watched globals, and what Python's slow paths ask of them.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/LaunchRequest.h"

#include <algorithm>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

LaunchFlags launchFlags;

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

Entry::~Entry() {
  Py_XDECREF(kernel);
  Py_XDECREF(handleObject);
}

void DispatcherState::clearParams() {
  for (LaunchParam &p : params) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.defaultValue);
  }
  params.clear();
}

void DispatcherState::clearTable() {
  std::lock_guard<std::mutex> lock(mutex);
  generation.fetch_add(1, std::memory_order_relaxed);
  table.clear();
  warmed.clear();
  watched.clear();
}

void DispatcherState::reclaim() {
  generation.fetch_add(1, std::memory_order_relaxed);
  table.reclaim();
  warmed.reclaim();
  watched.reclaim();
}

DispatcherState::~DispatcherState() {
  reclaim();
  clearParams();
  Py_XDECREF(preRunHooks);
  Py_XDECREF(reinterpret_cast<PyObject *>(spare.load()));
}

//===----------------------------------------------------------------------===//
// Life
//===----------------------------------------------------------------------===//

static PyObject *dispatcherNew(PyTypeObject *type, PyObject *, PyObject *) {
  return guarded([&] {
    PyObject *object = checked(type->tp_alloc(type, 0));
    auto *self = reinterpret_cast<DispatcherObject *>(object);
    self->state = new DispatcherState();
    self->state->preRunHooks = PyList_New(0);
    return object;
  });
}

static int dispatcherTraverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  Py_VISIT(Py_TYPE(object));
  if (!self->state)
    return 0;
  DispatcherState &state = *self->state;
  for (LaunchParam &p : state.params)
    Py_VISIT(p.defaultValue);
  Py_VISIT(state.preRunHooks);
  Py_VISIT(state.spare.load());
  Py_VISIT(state.tokens.dict);
  int result = state.watched.traverse(visit, arg);
  state.table.forEach([&](Entry &entry) {
    if (result == 0 && entry.kernel)
      result = visit(entry.kernel, arg);
    if (result == 0 && entry.handleObject)
      result = visit(entry.handleObject, arg);
  });
  state.warmed.forEach([&](py::object &kernel) {
    if (result == 0)
      result = visit(kernel.ptr(), arg);
  });
  return result;
}

static int dispatcherClear(PyObject *object) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  if (!self->state)
    return 0;
  // Unreachable: no launch is under way, and none will come.
  self->state->reclaim();
  Py_XDECREF(reinterpret_cast<PyObject *>(self->state->spare.exchange(nullptr)));
  PyDict_Clear(self->state->tokens.dict);
  return 0;
}

static void dispatcherDealloc(PyObject *object) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  delete self->state;
  self->state = nullptr;
  type->tp_free(object);
  Py_DECREF(type);
}

//===----------------------------------------------------------------------===//
// What Python asks
//===----------------------------------------------------------------------===//

static PyObject *dispatcherSubscript(PyObject *object, PyObject *grid) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return withLaunchSite(*self->state, [&] { return makeLauncher(self, grid); });
}

/// One row of _configure's table as a parameter.
static LaunchParam paramOf(const py::tuple &row) {
  LaunchParam p;
  p.nameText = row[0].cast<std::string>();
  p.name = PyUnicode_InternFromString(p.nameText.c_str());
  p.isConstexpr = row[1].cast<bool>();
  p.annotation = row[2].cast<std::string>();
  p.isConstPointer = row[3].cast<bool>();
  p.noSpecialize = row[4].cast<bool>();
  p.noAlignment = row[5].cast<bool>();
  p.annotatedPointer = !p.annotation.empty() && p.annotation[0] == '*';
  p.annotatedFloat = p.annotation.rfind("fp", 0) == 0 || p.annotation.rfind("bf", 0) == 0;
  p.annotatedBool = p.annotation == "i1" || p.annotation == "u1";
  if (!row[6].is_none())
    p.defaultValue = py::object(row[6].cast<py::tuple>()[0]).release().ptr();
  return p;
}

/// _configure(name, params, pre_run_hooks, interpreted)
static PyObject *dispatcherConfigure(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return guarded([&]() -> PyObject * {
    auto tuple = py::reinterpret_borrow<py::tuple>(args);
    DispatcherState &state = *self->state;
    state.kernelName = tuple[0].cast<std::string>();
    state.clearParams();
    for (py::handle item : tuple[1])
      state.params.push_back(paramOf(py::reinterpret_borrow<py::tuple>(item)));
    py::object hooks = tuple[2];
    Py_XSETREF(state.preRunHooks, hooks.release().ptr());
    state.interpreted = tuple[3].cast<bool>();
    Py_RETURN_NONE;
  });
}

/// _warm(args, kwargs, load): compiles for these arguments and launches nothing. With
/// `load` the next launch finds the kernel in the table and on its device.
static PyObject *dispatcherWarm(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return withLaunchSite(*self->state, [&]() -> PyObject * {
    auto call = py::reinterpret_borrow<py::tuple>(args);
    py::tuple positional = call[0];
    py::dict keywords = call[1];
    std::vector<PyObject *> values;
    for (py::handle value : positional)
      values.push_back(value.ptr());
    py::tuple names(keywords.size());
    size_t k = 0;
    for (auto item : keywords) {
      names[k++] = item.first;
      values.push_back(item.second.ptr());
    }
    LaunchRequest request(self, /*isWarmup=*/true);
    request.bind(values.data(), positional.size(), names.ptr());
    if (!request.read())
      Py_RETURN_NONE;
    if (!call[2].cast<bool>())
      return request.warm().release().ptr();
    Entry *entry = request.findEntry();
    if (!entry)
      Py_RETURN_NONE;
    Py_INCREF(entry->kernel);
    return entry->kernel;
  });
}

/// _watch_global(name, value, owner)
static PyObject *dispatcherWatch(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  PyObject *name, *value, *owner;
  if (!PyArg_ParseTuple(args, "UOO", &name, &value, &owner))
    return nullptr;
  if (!PyDict_Check(owner) && !PyCell_Check(owner)) {
    PyErr_SetString(PyExc_TypeError, "owner must be a dict or a cell");
    return nullptr;
  }
  self->state->watched.add(owner, name, value);
  Py_RETURN_NONE;
}

static PyObject *dispatcherClearTable(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  self->state->clearTable();
  Py_RETURN_NONE;
}

static PyObject *dispatcherTableSize(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return PyLong_FromSize_t(self->state->table.size());
}

static PyMethodDef dispatcherMethods[] = {
    {"_configure", dispatcherConfigure, METH_VARARGS, nullptr},
    {"_warm", dispatcherWarm, METH_VARARGS, nullptr},
    {"_watch_global", dispatcherWatch, METH_VARARGS, nullptr},
    {"_clear_table", dispatcherClearTable, METH_NOARGS, nullptr},
    {"_table_size", dispatcherTableSize, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

static PyType_Slot dispatcherSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(dispatcherNew)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dispatcherDealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(dispatcherTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(dispatcherClear)},
    {Py_mp_subscript, reinterpret_cast<void *>(dispatcherSubscript)},
    {Py_tp_methods, dispatcherMethods},
    {Py_tp_doc, const_cast<char *>("The native side of a jit function.")},
    {0, nullptr}};

static PyType_Spec dispatcherSpec = {
    "tilewright._core.KernelDispatcher", sizeof(DispatcherObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, dispatcherSlots};

static PyTypeObject *dispatcherType = nullptr;

PyTypeObject *makeDispatcherType() {
  dispatcherType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&dispatcherSpec)));
  return dispatcherType;
}

std::optional<uint64_t> versionOfFunction(PyObject *value) {
  if (!dispatcherType || !PyObject_TypeCheck(value, dispatcherType))
    return std::nullopt;
  return reinterpret_cast<DispatcherObject *>(value)->state->generation.load();
}

} // namespace tilewright
