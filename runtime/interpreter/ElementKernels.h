//===- ElementKernels.h - What elementwise operations share --- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_ELEMENTKERNELS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_ELEMENTKERNELS_H

#include "ir/support/Error.h"
#include "runtime/interpreter/Tile.h"

namespace tilewright::interpreter {

inline bool isFloatKind(ScalarKind kind) {
  return kind >= ScalarKind::Float8E4M3 && kind <= ScalarKind::Float64;
}

/// Floats whose arithmetic is done in f32 and rounded back.
inline bool isSmallFloat(ScalarKind kind) {
  return kind >= ScalarKind::Float8E4M3 && kind <= ScalarKind::BFloat16;
}

/// A builder that is asked for something no type rule allows is our bug.
[[noreturn]] inline void throwNoKernel(const char *what, const Value &operand) {
  throw makeInternalError("interpreter", fmt::format("no {} operation on elements of kind {}", what,
                                                     static_cast<int>(operand.type.scalar.kind())));
}

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_ELEMENTKERNELS_H
