//===- SpreadCopies.h - Lanes of copies that transpose ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives a load that will be copied to shared memory element by element, because its buffer
// has another fastest dimension, a layout for that: lanes along both dimensions. Such are 32-bit
// operands of wgmma whose other dimension is contiguous in global memory.
//
// Why: in the layout of a load by vectors, lanes of one copy are a vector apart from each other and
// meet in few banks, and each reads a part of a sector of its own. Along one dimension only, they
// read whole sectors and still meet in eight chunks of the swizzle.
//
// H200, a product of 2048 x 2048 f32, both row-major, tiles of 128, 128 and 32: 206 us, and 86 so
// (November 2026).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_SPREADCOPIES_H
#define TILEWRIGHT_PASSES_LAYOUT_SPREADCOPIES_H

#include "ir/support/TargetInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::passes {

/// Operands of products have their buffers, which PipelineLoops will fill.
void spreadCopies(mlir::func::FuncOp function, const TargetInfo &target);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_SPREADCOPIES_H
