//===- RetypeLoad.h - A load in another layout ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives a load another layout, and with it what it takes: addresses and masks are computed
// again, and a pointer that a loop advances for it alone goes along. Its users see the new
// layout in the type; they, or conversions before them, are up to the caller.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_RETYPELOAD_H
#define TILEWRIGHT_PASSES_LAYOUT_RETYPELOAD_H

#include "passes/analysis/MemoryAccess.h"
#include "passes/layout/TileMaterializer.h"

namespace tilewright::passes {

/// Where a loop carries the pointer of `load` for this load alone, and only adds to it: that
/// sum. Else null.
ir::AddPtrOp advanceOfPointer(ir::LoadOp load, TileMaterializer &materializer);

/// Whether `operand` can be had in `layout`: by computing it again, or from a row that is
/// converted.
bool isMovable(mlir::Value operand, ir::LayoutAttr layout, TileMaterializer &materializer);
bool hasMovableOperands(ir::LoadOp load, ir::LayoutAttr layout, TileMaterializer &materializer);

/// Gives the operands of `op` that are movable another layout.
void retypeOperands(mlir::Operation *op, ir::LayoutAttr layout, TileMaterializer &materializer);
/// `access` is that of `load` before anything was changed.
void retypeLoad(ir::LoadOp load, ir::LayoutAttr layout, const MemoryAccess &access,
                TileMaterializer &materializer);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_RETYPELOAD_H
