//===- Scope.cpp - The names of one function instance ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/Scope.h"

#include "frontend/python/ValueTree.h"

#include "ir/support/Error.h"

namespace py = pybind11;

namespace tilewright {

template <typename T> static T copyOf(const T &container) {
  return py::reinterpret_steal<T>(PyObject_CallMethod(container.ptr(), "copy", nullptr));
}

Scope Scope::branch() const {
  Scope copy;
  copy.values = py::reinterpret_steal<py::dict>(PyDict_Copy(values.ptr()));
  copy.hidden = py::reinterpret_steal<py::dict>(PyDict_Copy(hidden.ptr()));
  copy.constants = constants.empty() ? py::set() : copyOf(constants);
  return copy;
}

void Scope::set(py::handle name, py::handle value) {
  if (PyDict_SetItem(values.ptr(), name.ptr(), value.ptr()) != 0)
    throw py::error_already_set();
  if (PyDict_Size(hidden.ptr()) != 0 && hidden.contains(name))
    PyDict_DelItem(hidden.ptr(), name.ptr());
}

void Scope::erase(py::handle name) {
  if (values.contains(name))
    PyDict_DelItem(values.ptr(), name.ptr());
}

void Scope::hide(py::handle name, const std::string &reason) {
  erase(name);
  hidden[name] = py::str(reason);
}

void Scope::hideConflict(py::handle name, const std::string &first, const std::string &second) {
  erase(name);
  hidden[name] = py::make_tuple(first, second);
}

void Scope::inheritAbsences(const Scope &branch) {
  for (auto [name, why] : branch.hidden)
    if (!values.contains(name) && (!hidden.contains(name) || py::isinstance<py::tuple>(why)))
      hidden[name] = why;
}

std::string Scope::explainAbsence(py::handle name) const {
  if (!hidden.contains(name))
    return "";
  py::object why = hidden[name];
  if (!py::isinstance<py::tuple>(why))
    return py::cast<std::string>(why);
  py::tuple types(why);
  throw makeError(ErrorCode::E0105,
                  fmt::arg("problem", mismatchOfName(py::cast<std::string>(py::str(name)))),
                  fmt::arg("t1", py::cast<std::string>(types[0])),
                  fmt::arg("t2", py::cast<std::string>(types[1])));
}

} // namespace tilewright
