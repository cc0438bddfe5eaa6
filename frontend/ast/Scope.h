//===- Scope.h - The names of one function instance -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: local names and their values (Python objects, see PythonValue.h), which
// of them are annotated constexpr, and why a name that was assigned somewhere is
// not visible here. Branches and loop bodies work on a copy.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_SCOPE_H
#define TILEWRIGHT_FRONTEND_AST_SCOPE_H

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

class Scope {
public:
  /// A copy whose changes leave this one alone. Dict copies keep the order of
  /// insertion, which makes the order of results of an `if` deterministic.
  Scope branch() const;

  /// Borrowed; null where the name is not visible.
  pybind11::handle find(pybind11::handle name) const {
    return PyDict_GetItemWithError(values.ptr(), name.ptr());
  }
  void set(pybind11::handle name, pybind11::handle value);
  void erase(pybind11::handle name);

  void markConstant(pybind11::handle name) { constants.add(name); }
  bool isMarkedConstant(pybind11::handle name) const { return constants.contains(name); }

  /// Notes why `name` is gone: `reason` completes "name 'x' is not defined".
  void hide(pybind11::handle name, const std::string &reason);
  /// Notes that branches gave `name` two types; a use is E0105.
  void hideConflict(pybind11::handle name, const std::string &first, const std::string &second);
  /// Notes why names are gone that a branch lost; two types count more than a branch without one.
  void inheritAbsences(const Scope &branch);
  /// Raises E0105 or adds to E0104; returns the reason, empty where none is
  /// known.
  std::string explainAbsence(pybind11::handle name) const;

  const pybind11::dict &all() const { return values; }

private:
  pybind11::dict values;
  pybind11::set constants;
  pybind11::dict hidden; // name -> str, or (str, str) for two types
};

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_SCOPE_H
