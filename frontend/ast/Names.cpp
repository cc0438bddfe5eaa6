//===- Names.cpp - What a name means in a kernel --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: local names first, then what Python would find (closure, module,
// builtins), of which only values that cannot change under the compiled code
// are allowed: constexpr objects, modules, functions, classes, types.
//
//===----------------------------------------------------------------------===//

#include "frontend/ast/FunctionWalker.h"
#include "frontend/ast/LanguageNames.h"
#include "ir/support/Knobs.h"

#include <algorithm>

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
  py::object globals = py::getattr(function, "__globals__", py::none());
  if (!py::isinstance<py::dict>(globals))
    return false;
  py::object annotations = globals.attr("get")("__annotations__", py::none());
  if (!py::isinstance<py::dict>(annotations) || !annotations.contains(id))
    return false;
  py::object annotation = annotations[id];
  if (py::isinstance<py::str>(annotation))
    return py::cast<std::string>(annotation).find("constexpr") != std::string::npos;
  return annotation.is(LanguageNames::get().constexprClass);
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

/// Edits between two names (insertions, deletions, substitutions).
static size_t editDistance(const std::string &lhs, const std::string &rhs) {
  std::vector<size_t> row(rhs.size() + 1);
  for (size_t j = 0; j <= rhs.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= lhs.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= rhs.size(); ++j) {
      size_t substitution = diagonal + (lhs[i - 1] != rhs[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

std::string nearestName(const std::string &name, py::handle candidates) {
  std::string best;
  // More than a third of the letters wrong is another word, not a slip.
  size_t limit = std::max<size_t>(1, name.size() / 3) + 1;
  for (py::handle candidate : candidates) {
    if (!py::isinstance<py::str>(candidate))
      continue;
    std::string text = py::cast<std::string>(candidate);
    if (text == name || text.rfind("__", 0) == 0)
      continue;
    size_t distance = editDistance(name, text);
    if (distance < limit) {
      limit = distance;
      best = text;
    }
  }
  return best;
}

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
