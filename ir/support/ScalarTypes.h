//===- ScalarTypes.h - The types of elements --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the enumeration of scalar types and what is known of each, made of the one table
// (ScalarTypes.def).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_SCALARTYPES_H
#define TILEWRIGHT_IR_SUPPORT_SCALARTYPES_H

#include <cstddef>
#include <cstdint>

namespace tilewright {

enum class ScalarKind : uint8_t {
  /// No type: what a function without a result returns, and what a name stands for that
  /// names no type.
  Void,
#define TILEWRIGHT_SCALAR(KIND, ...) KIND,
#include "ir/support/ScalarTypes.def"
  Pointer,
  /// A tensor map: knows its element type and its block.
  Descriptor,
};

/// What the table says of a type.
struct ScalarFacts {
  ScalarKind kind;
  const char *name;          ///< short: "fp16"
  const char *longName;      ///< "float16"
  const char *frameworkName; ///< in NumPy, ml_dtypes and torch; empty where they have none
  int bits;
  int mantissa; ///< explicit bits; 0 marks a type that is not floating
  bool isSigned;
  int dlpackCode;

  constexpr bool isFloating() const { return mantissa != 0; }
  /// Bytes of one element in memory: the boolean takes one.
  constexpr int bytes() const { return (bits + 7) / 8; }
};

inline constexpr int noDlpackCode = -1;

inline constexpr ScalarFacts scalarTable[] = {
    {ScalarKind::Void, "void", "void", "", 0, 0, false, noDlpackCode},
#define TILEWRIGHT_NO_DLPACK noDlpackCode
#define TILEWRIGHT_SCALAR(KIND, NAME, LONG, FRAMEWORK, BITS, MANTISSA, SIGNED, DLPACK)             \
  {ScalarKind::KIND, NAME, LONG, FRAMEWORK, BITS, MANTISSA, SIGNED, DLPACK},
#include "ir/support/ScalarTypes.def"
#undef TILEWRIGHT_NO_DLPACK
    {ScalarKind::Pointer, "*", "pointer", "", 64, 0, false, noDlpackCode},
    {ScalarKind::Descriptor, "tensordesc", "tensordesc", "", 64, 0, false, noDlpackCode},
};

constexpr const ScalarFacts &scalarFacts(ScalarKind kind) {
  return scalarTable[static_cast<size_t>(kind)];
}

/// Whether arrays can have elements of this type.
constexpr bool isElementType(ScalarKind kind) {
  return kind > ScalarKind::Void && kind < ScalarKind::Pointer;
}

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_SCALARTYPES_H
