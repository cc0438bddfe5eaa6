//===- SourcePlace.h - Places in the source as text -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_SOURCEPLACE_H
#define TILEWRIGHT_IR_DIALECT_SOURCEPLACE_H

#include "mlir/IR/Location.h"

#include <string>

namespace tilewright::ir {

/// The innermost source position, callee before caller; null where there is none.
mlir::FileLineColLoc innermostPlace(mlir::Location location);

/// "file:line:column" of the innermost source position, or empty.
std::string renderLocation(mlir::Location location);

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_SOURCEPLACE_H
