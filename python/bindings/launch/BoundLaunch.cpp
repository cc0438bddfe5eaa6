//===- BoundLaunch.cpp - kernel[grid].bind(...) ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/BoundLaunch.h"
#include "python/bindings/launch/LaunchExecution.h"

#include <cstddef>
#include <structmember.h>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

namespace {
struct BoundState {
  std::unique_ptr<LaunchRequest> request; // its values are held by this object
  Entry *entry;
  Grid grid;
};

struct BoundLaunchObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  BoundState *state;
};
} // namespace

static PyTypeObject *boundLaunchType = nullptr;

/// The values a request borrows, for the object that keeps it.
static size_t numValues(const BoundState &state) { return state.request->state.params.size(); }

/// All arguments were given to bind().
static void checkNoArguments(Py_ssize_t count, PyObject *keywordNames) {
  if (count == 0 && (!keywordNames || PyTuple_GET_SIZE(keywordNames) == 0))
    return;
  std::string first =
      count > 0 ? "#1" : std::string(py::str(py::handle(PyTuple_GET_ITEM(keywordNames, 0))));
  throw makeError(ErrorCode::E0205, fmt::arg("problem", "unexpected"), fmt::arg("a", first),
                  fmt::arg("sig", "(): a bound launch has its arguments from bind()"));
}

static PyObject *boundVectorcall(PyObject *object, PyObject *const *, size_t flaggedCount,
                                 PyObject *keywordNames) {
  BoundState &bound = *reinterpret_cast<BoundLaunchObject *>(object)->state;
  LaunchRequest &request = *bound.request;
  return withLaunchSite(request.state, [&]() -> PyObject * {
    checkNoArguments(PyVectorcall_NARGS(flaggedCount), keywordNames);
    if (PyList_GET_SIZE(request.state.preRunHooks) > 0)
      runPreHooks(request.state, request.bound(), numValues(bound), nullptr);
    launchEntry(request, *bound.entry, bound.grid);
    Py_INCREF(bound.entry->kernel);
    return bound.entry->kernel;
  });
}

PyObject *makeBoundLaunch(std::unique_ptr<LaunchRequest> request, Entry *entry, const Grid &grid) {
  if (!grid.isEmpty())
    finishParameters(*request, *entry);
  auto *object = PyObject_GC_New(BoundLaunchObject, boundLaunchType);
  if (!object)
    throw py::error_already_set();
  object->vectorcall = boundVectorcall;
  request->called = request->missed = 0; // those are of bind(), not of the launches
  object->state = new BoundState{std::move(request), entry, grid};
  Py_INCREF(object->state->request->dispatcher);
  for (size_t i = 0; i < numValues(*object->state); ++i)
    Py_INCREF(object->state->request->bound()[i]);
  PyObject_GC_Track(object);
  return reinterpret_cast<PyObject *>(object);
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static int boundTraverse(PyObject *object, visitproc visit, void *arg) {
  BoundState &bound = *reinterpret_cast<BoundLaunchObject *>(object)->state;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(bound.request->dispatcher);
  for (size_t i = 0; i < numValues(bound); ++i)
    Py_VISIT(bound.request->bound()[i]);
  return 0;
}

// No tp_clear: the values must outlive every call. A cycle through this object goes
// through its kernel, whose own tp_clear breaks it.
static void boundDealloc(PyObject *object) {
  auto *self = reinterpret_cast<BoundLaunchObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  DispatcherObject *dispatcher = self->state->request->dispatcher;
  std::vector<PyObject *> values(self->state->request->bound(),
                                 self->state->request->bound() + numValues(*self->state));
  delete self->state;
  for (PyObject *value : values)
    Py_DECREF(value);
  Py_DECREF(dispatcher);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyObject *boundKernel(PyObject *object, void *) {
  PyObject *kernel = reinterpret_cast<BoundLaunchObject *>(object)->state->entry->kernel;
  Py_INCREF(kernel);
  return kernel;
}

static PyObject *boundGrid(PyObject *object, void *) {
  const Grid &grid = reinterpret_cast<BoundLaunchObject *>(object)->state->grid;
  return Py_BuildValue("(III)", grid.size[0], grid.size[1], grid.size[2]);
}

static PyObject *boundParameters(PyObject *object, void *) {
  const BoundState &bound = *reinterpret_cast<BoundLaunchObject *>(object)->state;
  return PyLong_FromVoidPtr(static_cast<void *>(bound.request->arguments.parameters()));
}

static PyGetSetDef boundGetters[] = {
    {"parameters", boundParameters, nullptr,
     "address of the array that cuLaunchKernel takes, without scratch memory", nullptr},
    {"kernel", boundKernel, nullptr, "the CompiledKernel that is launched", nullptr},
    {"grid", boundGrid, nullptr, "programs along x, y and z", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

static PyMemberDef boundMembers[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                      offsetof(BoundLaunchObject, vectorcall), READONLY, nullptr},
                                     {nullptr, 0, 0, 0, nullptr}};

static PyType_Slot boundSlots[] = {
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(boundTraverse)},
    {Py_tp_dealloc, reinterpret_cast<void *>(boundDealloc)},
    {Py_tp_members, boundMembers},
    {Py_tp_getset, boundGetters},
    {Py_tp_doc, const_cast<char *>("A launch with its arguments; call it to launch.")},
    {0, nullptr}};

static PyType_Spec boundSpec = {"tilewright._core.BoundLaunch", sizeof(BoundLaunchObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                boundSlots};

PyTypeObject *makeBoundLaunchType() {
  boundLaunchType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&boundSpec)));
  return boundLaunchType;
}

} // namespace tilewright
