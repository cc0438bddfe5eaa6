//===- OuterLauncher.cpp - outer[grid] of what wraps a kernel -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/OuterLauncher.h"
#include "frontend/python/InternedName.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/PythonError.h"

#include <algorithm>
#include <cstddef>
#include <structmember.h>

namespace py = pybind11;

namespace tilewright {

static PyTypeObject *outerLauncherType = nullptr;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

py::tuple positionalArguments(PyObject *const *args, size_t numArgs) {
  py::tuple tuple(numArgs);
  for (size_t i = 0; i < numArgs; ++i)
    tuple[i] = py::handle(args[i]);
  return tuple;
}

py::dict keywordArguments(PyObject *const *args, size_t numArgs, PyObject *keywordNames) {
  py::dict dict;
  Py_ssize_t count = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  for (Py_ssize_t k = 0; k < count; ++k)
    dict[py::handle(PyTuple_GET_ITEM(keywordNames, k))] = py::handle(args[numArgs + k]);
  return dict;
}

PyObject *callInner(PyObject *inner, PyObject *grid, PyObject *const *args, size_t numArgs,
                    PyObject *keywordNames, const AddedArguments &added) {
  Py_ssize_t given = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
  std::vector<PyObject *> names, values(args, args + numArgs + given);
  for (Py_ssize_t k = 0; k < given; ++k)
    names.push_back(PyTuple_GET_ITEM(keywordNames, k));
  for (const auto &[name, value] : added) {
    // Names in calls are interned, so the pointer nearly always decides.
    auto isName = [name = name](PyObject *other) {
      return other == name || PyUnicode_Compare(other, name) == 0;
    };
    auto found = std::find_if(names.begin(), names.end(), isName);
    if (found != names.end()) {
      values[numArgs + (found - names.begin())] = value;
      continue;
    }
    names.push_back(name);
    values.push_back(value);
  }
  py::tuple allNames(names.size());
  for (size_t k = 0; k < names.size(); ++k)
    allNames[k] = py::handle(names[k]);
  static const InternedName runName("run"), gridName("grid"), warmupName("warmup");
  PyMappingMethods *mapping = Py_TYPE(inner)->tp_as_mapping;
  if (!mapping || !mapping->mp_subscript) {
    // Others' objects may have `run` alone.
    py::dict keywords = keywordArguments(values.data(), numArgs, allNames.ptr());
    keywords[py::handle(gridName)] = py::handle(grid);
    keywords[py::handle(warmupName)] = false;
    auto run = py::reinterpret_steal<py::object>(checked(PyObject_GetAttr(inner, runName)));
    return checked(
        PyObject_Call(run.ptr(), positionalArguments(args, numArgs).ptr(), keywords.ptr()));
  }
  auto launcher = py::reinterpret_steal<py::object>(checked(PyObject_GetItem(inner, grid)));
  return checked(PyObject_Vectorcall(launcher.ptr(), values.data(), numArgs, allNames.ptr()));
}

/// bind(*args, **kwargs): as the owner's bind with this grid.
static PyObject *outerBind(PyObject *object, PyObject *args, PyObject *kwargs) {
  auto &launcher = *reinterpret_cast<OuterLauncherObject *>(object);
  return guarded([&]() -> PyObject * {
    py::dict keywords;
    if (kwargs)
      keywords = py::reinterpret_steal<py::dict>(checked(PyDict_Copy(kwargs)));
    keywords["grid"] = py::handle(launcher.grid);
    py::object bind = py::handle(launcher.owner).attr("bind");
    return checked(PyObject_Call(bind.ptr(), args, keywords.ptr()));
  });
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

PyObject *makeOuterLauncher(PyObject *owner, PyObject *grid, vectorcallfunc call) {
  auto *launcher = PyObject_GC_New(OuterLauncherObject, outerLauncherType);
  if (!launcher)
    throw py::error_already_set();
  Py_INCREF(owner);
  Py_INCREF(grid);
  launcher->vectorcall = call;
  launcher->owner = owner;
  launcher->grid = grid;
  PyObject_GC_Track(launcher);
  return reinterpret_cast<PyObject *>(launcher);
}

static int outerTraverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<OuterLauncherObject *>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->owner);
  Py_VISIT(self->grid);
  return 0;
}

static int outerClear(PyObject *object) {
  Py_CLEAR(reinterpret_cast<OuterLauncherObject *>(object)->grid);
  return 0;
}

static void outerDealloc(PyObject *object) {
  auto *self = reinterpret_cast<OuterLauncherObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->owner);
  Py_XDECREF(self->grid);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyMemberDef outerMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OuterLauncherObject, vectorcall), READONLY,
     nullptr},
    {"grid", T_OBJECT, offsetof(OuterLauncherObject, grid), READONLY, "the grid as it was given"},
    {"kernel", T_OBJECT, offsetof(OuterLauncherObject, owner), READONLY,
     "the object that is launched"},
    {nullptr, 0, 0, 0, nullptr}};

static PyMethodDef outerMethods[] = {
    {"bind", asMethod(outerBind), METH_VARARGS | METH_KEYWORDS,
     "bind(*args, **kwargs)\n\nThe launch with these arguments, read once: call it to launch."},
    {nullptr, nullptr, 0, nullptr}};

static PyType_Slot outerSlots[] = {
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(outerTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(outerClear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(outerDealloc)},
    {Py_tp_members, outerMembers},
    {Py_tp_methods, outerMethods},
    {Py_tp_doc, const_cast<char *>("A tuned kernel, or one with heuristics, with its grid.")},
    {0, nullptr}};

static PyType_Spec outerSpec = {"tilewright._core.OuterLauncher", sizeof(OuterLauncherObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                    Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                outerSlots};

PyTypeObject *makeOuterLauncherType() {
  outerLauncherType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&outerSpec)));
  return outerLauncherType;
}

} // namespace tilewright
