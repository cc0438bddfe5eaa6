//===- PythonValue.h - Language values as Python objects --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: inside a kernel a run-time value is a Python object of the class
// `tilewright.language.tensor` around a semantic::Value; every other Python
// object is a compile-time value as it stands (`constexpr(x)` counts as x). So
// tuples, namedtuples, dtypes, functions and attributes need no second
// representation.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_PYTHONVALUE_H
#define TILEWRIGHT_FRONTEND_AST_PYTHONVALUE_H

#include "frontend/semantic/Semantic.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// The C++ object behind `tilewright.language.tensor`.
struct Tensor {
  semantic::Value value;
};

pybind11::object wrapValue(semantic::Value value);
bool isTensor(pybind11::handle object);
const semantic::Value &unwrapValue(pybind11::handle tensor);

/// `constexpr(x)` as x (recursively), everything else as it stands.
pybind11::object unwrapConstexpr(pybind11::handle object);

/// A tensor, or a bool, int, float or constexpr of one as a literal; nothing
/// for any other object. Raises E0119 for an int outside 64 bits.
std::optional<semantic::Operand> tryOperand(pybind11::handle object);
/// As tryOperand, but raises E0120 that names `what` and the object's type.
semantic::Operand toOperand(pybind11::handle object, const std::string &what);
/// A literal becomes a run-time scalar of its own type.
semantic::Value toValue(semantic::Semantic &semantic, pybind11::handle object,
                        const std::string &what);
/// Ints of a tuple, list, constexpr or single int; E0112 for a run-time value.
std::vector<int64_t> toIntList(pybind11::handle object, const std::string &what);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_AST_PYTHONVALUE_H
