//===- Names.cpp - What a name means in a kernel --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: finds the value of a name: a local name first, then what Python would
// find (closure, module, builtins). Of the latter only values that cannot
// change under the compiled code are allowed: constexpr objects, modules,
// functions, classes, types.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/python/LanguageNames.h"
#include "frontend/python/NearestName.h"
#include "ir/support/Knobs.h"

namespace py = pybind11;

namespace tilewright {

py::object FunctionWalker::lookup(Handle id) {
  if (Handle found = scope.find(id))
    return py::reinterpret_borrow<py::object>(found);
  if (PyErr_Occurred())
    throw py::error_already_set();
  return lookupGlobal(id);
}

/// The raw global: `constexpr(f)` stays wrapped, for calls need to know it.
py::object FunctionWalker::lookupGlobal(Handle id) {
  std::string reason = scope.explainAbsence(id);
  if (!reason.empty())
    reportUndefined(id);
  py::object value;
  try {
    value = function.attr("lookup_global")(id);
  } catch (py::error_already_set &exception) {
    if (!exception.matches(PyExc_KeyError))
      throw;
    reportUndefined(id);
  }
  if (!isAllowedGlobal(id, value))
    throw makeError(ErrorCode::E0103, fmt::arg("g", py::cast<std::string>(py::str(id))));
  return value;
}

/// Whether the module annotates the name as constexpr: `N: tl.constexpr = 4`.
static bool isAnnotatedConstexpr(py::handle function, py::handle id) {
  return py::cast<bool>(function.attr("is_annotated_constexpr")(id));
}

bool FunctionWalker::isAllowedGlobal(Handle id, Handle value) {
  const LanguageNames &names = LanguageNames::get();
  if (names.isConstexprObject(value) || PyModule_Check(value.ptr()) ||
      PyCallable_Check(value.ptr()) || value.is_none())
    return true;
  if (PyTuple_Check(value.ptr()) && py::len(value) != 0) {
    for (Handle item : py::reinterpret_borrow<py::tuple>(value))
      if (!isAllowedGlobal(id, item))
        return isAnnotatedConstexpr(function, id) || knobBool(Knob::ALLOW_NON_CONSTEXPR_GLOBALS);
    return true;
  }
  // Values of the language's own classes and modules (types, enumerations).
  if (!isNumber(value) && !py::isinstance<py::str>(value) && LanguageNames::isOfLanguage(value))
    return true;
  return isAnnotatedConstexpr(function, id) || LanguageNames::isOfLanguage(function) ||
         knobBool(Knob::ALLOW_NON_CONSTEXPR_GLOBALS);
}

bool FunctionWalker::isReadOutsideItsLoops(Handle id) {
  auto [entry, isNew] = countersRead.try_emplace(py::cast<std::string>(id), false);
  if (isNew)
    entry->second = tilewright::isReadOutsideItsLoops(field(function.attr("parse")(), f.body), id);
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Names that do not exist
//===----------------------------------------------------------------------===//

void FunctionWalker::reportUndefined(Handle id) {
  std::string text = py::cast<std::string>(py::str(id));
  std::string reason = scope.explainAbsence(id);
  py::list candidates;
  for (auto [key, value] : scope.all())
    candidates.append(key);
  py::object globals = py::getattr(function, "__globals__", py::none());
  if (py::isinstance<py::dict>(globals))
    for (auto [key, value] : py::reinterpret_borrow<py::dict>(globals))
      candidates.append(key);
  std::string near = nearestName(text, candidates);
  Error error = makeError(ErrorCode::E0104, fmt::arg("n", text), fmt::arg("near", near));
  if (!reason.empty())
    error.setHelp(reason);
  else if (near.empty())
    error.setHelp("assign it before use, or pass it as an argument");
  throw error;
}

} // namespace tilewright
