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
// How: `tensor` is a type of the C API with number slots of its own, because the
// interpreter makes one object per tile operation; types are small pybind11
// objects, one per scalar kind, so that `x.dtype is tl.float32` holds.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_PYTHON_PYTHONVALUE_H
#define TILEWRIGHT_FRONTEND_PYTHON_PYTHONVALUE_H

#include "frontend/semantic/Semantic.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// The C++ object behind `tilewright.language.dtype`, `pointer_type` and
/// `block_type`.
struct TypeObject {
  semantic::Type type;
};
struct PointerTypeObject : TypeObject {};
struct BlockTypeObject : TypeObject {};

/// The class `tilewright.language.tensor`; made on the first call.
pybind11::handle tensorType();

pybind11::object wrapValue(semantic::Value value);
bool isTensor(pybind11::handle object);
const semantic::Value &unwrapValue(pybind11::handle tensor);

/// The extents of a tile, as a tuple that equals a list of the same numbers.
pybind11::object wrapShape(const std::vector<int64_t> &extents);
/// The Python object of a scalar type: one per kind, a new one per pointer.
pybind11::object wrapDType(const semantic::DType &type);
/// As wrapDType for scalars, a block_type for tiles.
pybind11::object wrapType(const semantic::Type &type);
/// The type a Python object names: a dtype, or its name ("fp32", "*i8").
std::optional<semantic::DType> tryDType(pybind11::handle object);
/// As tryDType, but raises E0120 that names `what`.
semantic::DType toDType(pybind11::handle object, const std::string &what);

/// Tells C++ which Python class is `constexpr`; its instances hold `value`.
void registerConstexprClass(pybind11::handle type);
bool isConstexpr(pybind11::handle object);
/// `constexpr(x)` as x (recursively), everything else as it stands.
pybind11::object unwrapConstexpr(pybind11::handle object);

/// A tensor, or a bool, int, float or constexpr of one as a literal; nothing
/// for any other object. Raises E0119 for an int outside 64 bits.
std::optional<semantic::Operand> tryOperand(pybind11::handle handle);
/// As tryOperand, but raises E0120 that names `what` and the object's type.
semantic::Operand toOperand(pybind11::handle object, const std::string &what);
/// A literal becomes a run-time scalar of its own type.
semantic::Value toValue(semantic::Semantic &semantic, pybind11::handle object,
                        const std::string &what);
/// An operator of the kernel's own text, with warnings (W0124) and overflow checks.
semantic::Value applyOperator(semantic::Semantic &semantic, semantic::Arithmetic op,
                              const semantic::Operand &lhs, const semantic::Operand &rhs);
/// Ints of a tuple, list, constexpr or single int; E0112 for a run-time value.
std::vector<int64_t> toIntList(pybind11::handle handle, const std::string &what);
/// A compile-time int; E0112 for a run-time value, E0120 for another object.
int64_t toInt(pybind11::handle handle, const std::string &what);
/// A number of stages or copies that a loop asks for; as toInt, and E0117 below zero.
int64_t toLoopHint(pybind11::handle handle, const std::string &what);

} // namespace tilewright

#endif // TILEWRIGHT_FRONTEND_PYTHON_PYTHONVALUE_H
