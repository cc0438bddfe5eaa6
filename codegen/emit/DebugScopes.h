//===- DebugScopes.h - Line information for the debugger --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_DEBUGSCOPES_H
#define TILEWRIGHT_CODEGEN_EMIT_DEBUGSCOPES_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::codegen {

/// Gives kernels and locations of a module of the LLVM dialect the debug scopes
/// that the exporter needs, so that PTX carries `.file` and `.loc` of the Python
/// source.
void attachDebugScopes(mlir::ModuleOp module);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_DEBUGSCOPES_H
