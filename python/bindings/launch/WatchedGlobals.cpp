//===- WatchedGlobals.cpp - Globals that compiled code has frozen ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/WatchedGlobals.h"

namespace py = pybind11;

namespace tilewright {

void WatchedGlobals::add(PyObject *owner, PyObject *name, PyObject *value) {
  Py_INCREF(owner);
  Py_INCREF(name);
  Py_INCREF(value);
  std::lock_guard<std::mutex> lock(mutex);
  nodes.push_back(
      std::unique_ptr<Node>(new Node{owner, name, {value}, head.load(std::memory_order_relaxed)}));
  head.store(nodes.back().get(), std::memory_order_release);
}

/// The object that is there now; null where there is none.
static py::object currentValue(PyObject *owner, PyObject *name) {
  if (!PyDict_Check(owner))
    return py::reinterpret_steal<py::object>(PyCell_Get(owner));
#if PY_VERSION_HEX >= 0x030D0000
  PyObject *found = nullptr;
  if (PyDict_GetItemRef(owner, name, &found) < 0)
    PyErr_Clear();
  return py::reinterpret_steal<py::object>(found);
#else
  return py::reinterpret_borrow<py::object>(PyDict_GetItem(owner, name));
#endif
}

bool WatchedGlobals::isSame(const Node &node) {
  return currentValue(node.owner, node.name).ptr() == node.value.load(std::memory_order_acquire);
}

void WatchedGlobals::reportChange(Node &node, PyObject *kernel) {
  PyObject *before = node.value.load(std::memory_order_acquire);
  py::object found = currentValue(node.owner, node.name);
  py::object now = found ? found : py::none();
  py::handle(kernel).attr("_global_changed")(py::handle(node.name), py::handle(before), now);
  if (!found)
    return;
  // Equal by value: watch the new object from now on, unless another thread did so.
  std::lock_guard<std::mutex> lock(mutex);
  if (replaced.size() < maxReplaced && node.value.compare_exchange_strong(before, now.ptr())) {
    now.release();
    replaced.push_back(before);
  }
}

void WatchedGlobals::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  head.store(nullptr, std::memory_order_release);
}

void WatchedGlobals::reclaim() {
  // Empty before the first object dies: destructors may come back.
  std::vector<std::unique_ptr<Node>> oldNodes;
  std::vector<PyObject *> oldValues;
  {
    std::lock_guard<std::mutex> lock(mutex);
    head.store(nullptr, std::memory_order_release);
    oldNodes.swap(nodes);
    oldValues.swap(replaced);
  }
  for (std::unique_ptr<Node> &node : oldNodes) {
    Py_DECREF(node->owner);
    Py_DECREF(node->name);
    Py_DECREF(node->value.load());
  }
  for (PyObject *value : oldValues)
    Py_DECREF(value);
}

int WatchedGlobals::traverse(visitproc visit, void *arg) const {
  for (const std::unique_ptr<Node> &node : nodes) {
    Py_VISIT(node->owner);
    Py_VISIT(node->value.load(std::memory_order_relaxed));
  }
  for (PyObject *value : replaced)
    Py_VISIT(value);
  return 0;
}

} // namespace tilewright
