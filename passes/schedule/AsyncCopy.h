//===- AsyncCopy.h - A load made a copy -------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_ASYNCCOPY_H
#define TILEWRIGHT_PASSES_SCHEDULE_ASYNCCOPY_H

#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Builders.h"

namespace tilewright::passes {

/// Starts copying to `buffer` what `load` would load through `pointer` under `mask` (may
/// be null), as wide and with the same hints.
ir::AsyncCopyOp copyAsync(mlir::OpBuilder &builder, ir::LoadOp load, mlir::Value pointer,
                          mlir::Value mask, mlir::Value buffer);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_ASYNCCOPY_H
