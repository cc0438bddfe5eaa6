//===- ThreadRuns.h - How many neighbours a thread loads --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for loads that are not aligned, or whose addresses are not known to follow each other, how
// many elements next to each other a thread should have all the same.
//
// Why: single elements are best loaded by neighbouring lanes, a line for each warp. But what is
// computed to find them is often the same for neighbours, as row and channel of i // n and
// i // (n * m), and a thread that has several computes it once. H200, a maximum over 3 x 3 windows
// of 64 x 64 images, 1024 elements for each program, 8 warps: 53 us with single elements, 36 with
// four, of which 30 are left as their remainders count up (MarkConstancy; November 2026). Where
// little is computed, lanes win: a filter of seven taps, 4 warps, 20 us and 27.
//
// How: loads and stores run beside arithmetic, so what takes longer counts. Both are estimated for
// runs of each length up to what the stores of that shape take at once.
//
// Not handled: kernels with products; what reductions take in either layout is not counted.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_THREADRUNS_H
#define TILEWRIGHT_PASSES_LAYOUT_THREADRUNS_H

#include "passes/analysis/AxisInfo.h"
#include "passes/analysis/MemoryAccess.h"

namespace tilewright::passes {

/// The layout for an access whose threads have `run` neighbours.
using LayoutOfRun = llvm::function_ref<LinearLayout(const MemoryAccess &access, int run)>;

/// Loads that should have more than one instruction loads, and how many elements; `accesses` are
/// all those of `function`.
llvm::DenseMap<mlir::Operation *, int>
chooseThreadRuns(mlir::func::FuncOp function, const AxisAnalysis &axes,
                 const llvm::DenseMap<mlir::Operation *, MemoryAccess> &accesses,
                 LayoutOfRun layoutOfRun);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_THREADRUNS_H
