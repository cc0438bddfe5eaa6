//===- MlirTypes.h - Language types as MLIR types ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one map from the language's types to those of the tile IR. Integers
// lose their sign, because the operation says how they are read. The boolean is
// i1 in registers and a byte in memory. fp8e4b15 is the i8 that holds its bits.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_EMIT_MLIRTYPES_H
#define TILEWRIGHT_FRONTEND_EMIT_MLIRTYPES_H

#include "frontend/semantic/Types.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Types.h"

namespace tilewright::emit {

/// The type of one element in registers. Raises E0120 for void.
mlir::Type toMlirType(mlir::MLIRContext *context, const semantic::DType &type);
/// The type of one element in memory: a byte for the boolean.
mlir::Type toMemoryType(mlir::MLIRContext *context, const semantic::DType &type);
mlir::Type toMlirType(mlir::MLIRContext *context, const semantic::Type &type);
/// `element` as a tile of `shape`, or itself for an empty shape.
mlir::Type tileOf(mlir::Type element, const std::vector<int64_t> &shape);

} // namespace tilewright::emit

#endif // TILEWRIGHT_FRONTEND_EMIT_MLIRTYPES_H
