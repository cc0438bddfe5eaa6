//===- LanguageNames.cpp - Objects the walker must recognise --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/LanguageNames.h"
#include "frontend/ast/InternedName.h"

namespace py = pybind11;

namespace tilewright {

LanguageNames::LanguageNames() {
  py::module_ language = py::module_::import("tilewright.language");
  constexprClass = language.attr("constexpr");
  rangeClass = language.attr("range");
  staticRangeClass = language.attr("static_range");
  dtypeClass = language.attr("dtype");
  tensorClass = language.attr("tensor");
  deviceAssert = language.attr("device_assert");
  constexprType = language.attr("constexpr_type");
  builtinMark =
      py::reinterpret_steal<py::object>(PyUnicode_InternFromString("__tilewright_builtin__"));
  constexprFunctionMark = py::reinterpret_steal<py::object>(
      PyUnicode_InternFromString("__tilewright_constexpr_function__"));

  py::module_ python = py::module_::import("builtins");
  const std::pair<const char *, Builtin> table[] = {
      {"print", Builtin::Print},
      {"range", Builtin::Range},
      {"len", Builtin::Len},
      {"float", Builtin::Float},
      {"int", Builtin::Int},
      {"bool", Builtin::Bool},
      {"str", Builtin::Str},
      {"list", Builtin::List},
      {"tuple", Builtin::Tuple},
      {"isinstance", Builtin::IsInstance},
      {"getattr", Builtin::GetAttr},
      {"hasattr", Builtin::HasAttr},
      {"min", Builtin::Min},
      {"max", Builtin::Max},
      {"abs", Builtin::Abs},
      {"round", Builtin::Round},
      {"any", Builtin::Any},
      {"all", Builtin::All},
      {"sum", Builtin::Sum},
      {"zip", Builtin::Zip},
      {"enumerate", Builtin::Enumerate},
  };
  for (const auto &[name, id] : table)
    builtins[py::object(python.attr(name)).ptr()] = id; // builtins live as long as the process
}

const LanguageNames &LanguageNames::get() {
  static std::atomic<const LanguageNames *> names{nullptr};
  return *madeOnce(
      names, [] { return new const LanguageNames(); },
      [](const LanguageNames *unused) { delete unused; });
}

Builtin LanguageNames::builtin(py::handle callee) const {
  auto found = builtins.find(callee.ptr());
  return found == builtins.end() ? Builtin::None : found->second;
}

/// By its interface, not its class: subclasses and interpreter stand-ins count,
/// and frontend does not import the runtime package.
bool LanguageNames::isJitFunction(py::handle object) const {
  PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()));
  return PyObject_HasAttrString(type, "lookup_global") && PyObject_HasAttrString(type, "parse");
}

py::object LanguageNames::innerJitFunction(py::handle object) const {
  py::object inner = py::reinterpret_borrow<py::object>(object);
  // Tuners and heuristics stack in any order, each holding the next as `fn`.
  for (int depth = 0; depth < 32; ++depth) {
    if (isJitFunction(inner))
      return inner;
    if (PyFunction_Check(inner.ptr()) || PyType_Check(inner.ptr()) || !py::hasattr(inner, "fn"))
      return {};
    inner = inner.attr("fn");
  }
  return {};
}

bool LanguageNames::isMarked(py::handle object, py::handle mark) const {
  PyObject *value = PyObject_GetAttr(object.ptr(), mark.ptr());
  if (!value) {
    PyErr_Clear();
    return false;
  }
  bool marked = PyObject_IsTrue(value) == 1;
  Py_DECREF(value);
  return marked;
}

bool LanguageNames::isConstexprObject(py::handle object) const {
  return PyObject_IsInstance(object.ptr(), constexprClass.ptr()) == 1;
}

bool LanguageNames::isOfLanguage(py::handle object) {
  py::object module = py::getattr(object, "__module__", py::none());
  if (!py::isinstance<py::str>(module))
    module = py::getattr(py::type::of(object), "__module__", py::none());
  if (!py::isinstance<py::str>(module))
    return false;
  std::string name = py::cast<std::string>(module);
  return name.rfind("tilewright.language", 0) == 0 || name.rfind("tilewright._core", 0) == 0;
}

std::pair<std::string, std::string> LanguageNames::forbidden(const std::string &key) {
  py::dict table = py::module_::import("tilewright.frontend_rules").attr("FORBIDDEN");
  if (!table.contains(key))
    return {key, "use the constructs of the language reference"};
  py::tuple row = table[py::str(key)];
  return {py::cast<std::string>(row[0]), py::cast<std::string>(row[1])};
}

} // namespace tilewright
