//===- ArgumentAccess.h - Which arguments a kernel writes -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the parameters whose memory a kernel may write and may read, by name. The
// launcher refuses read-only arguments that are written; the tuner keeps what is
// written and fills with garbage what is written but never read.
//
// Why here: before any pass, when accesses still name what the user wrote.
//
// How: from each access the pointer is followed back through address arithmetic,
// selections, loops and branches to function arguments. Where it comes from
// anywhere else (memory, an integer, a call) every pointer argument counts: the
// answer may name too many, never too few.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_ARGUMENTACCESS_H
#define TILEWRIGHT_CODEGEN_EMIT_ARGUMENTACCESS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

struct ArgumentAccess {
  /// Parameters in the order of the declaration; a function without names for its
  /// arguments (IR given as text) has their numbers.
  std::vector<std::string> written, read;
};

ArgumentAccess findArgumentAccess(mlir::ModuleOp module);

/// The name of the parameter that an address is based on; empty where there are several, or
/// where it comes from somewhere else.
std::string baseParameter(mlir::Value address);

/// The name of an argument's parameter, or its number where it has none.
std::string parameterName(mlir::BlockArgument argument);

/// Notes on each access of memory which parameter it goes through (accessedParameterAttr), for
/// reports.
void nameAccesses(mlir::ModuleOp module);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_ARGUMENTACCESS_H
