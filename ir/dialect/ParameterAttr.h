//===- ParameterAttr.h - The parameter behind an argument -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_PARAMETERATTR_H
#define TILEWRIGHT_IR_DIALECT_PARAMETERATTR_H

#include "llvm/ADT/StringRef.h"

namespace tilewright::ir {

/// On a kernel: for each argument the name of the parameter it belongs to. A tuple
/// has several arguments, a constexpr none, so numbers would not do.
constexpr llvm::StringLiteral parametersAttr = "tw.parameters";

/// On an access of memory, for reports: the name of the parameter that its address comes from.
constexpr llvm::StringLiteral accessedParameterAttr = "tw.accessed_parameter";

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_PARAMETERATTR_H
