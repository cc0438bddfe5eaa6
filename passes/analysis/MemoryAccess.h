//===- MemoryAccess.h - Vector width and order of one access ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the axis facts allow a load, store or atomic: along which dimension
// lanes should run, how many elements one thread may access at once, and what
// limited that number.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_MEMORYACCESS_H
#define TILEWRIGHT_PASSES_ANALYSIS_MEMORYACCESS_H

#include "ir/support/TargetInfo.h"
#include "passes/analysis/AxisInfo.h"

namespace tilewright::passes {

/// A tw.load, tw.store, tw.async_copy, tw.atomic_rmw or tw.atomic_cas on tiles.
struct MemoryAccess {
  mlir::Operation *op = nullptr;
  mlir::Value pointer;
  mlir::RankedTensorType type;
  int elementBytes = 0;
  /// Dimensions, fastest first: by length of the runs of addresses.
  std::vector<int> order;
  /// Elements that one thread may access at once along order[0].
  int maxVectorElements = 1;
  /// Length of the runs of addresses along each dimension, as far as known.
  llvm::SmallVector<int64_t, 2> run;
  /// Length of the groups along each dimension that have one address, as far as known.
  llvm::SmallVector<int64_t, 2> constancy;
  /// Log2 of the groups along each dimension that have one address and mask; none along
  /// order[0], where they are no vector.
  std::vector<int> log2Repeats;
  /// What kept maxVectorElements down: "alignment of 4 bytes".
  std::string limit;

  bool isStore() const;
  bool isLoad() const;
  bool isAtomic() const { return !isStore() && !isLoad(); }
};

/// The pointer operand of an op that accesses global memory; null for others.
mlir::Value accessPointer(mlir::Operation *op);
mlir::Value accessMask(mlir::Operation *op);

/// Nothing where `op` is not an access of a tile.
std::optional<MemoryAccess> analyzeAccess(mlir::Operation *op, const AxisAnalysis &axes,
                                          const TargetInfo &target);

/// Bytes that one thread loads at once, as decided with the layouts.
int bytesAtOnce(ir::LoadOp load);
/// Whether elements with a false mask become zero, as those of cp.async do.
bool fillsWithZeros(ir::LoadOp load);
/// Why cp.async cannot do what `load` does besides filling, into a buffer in the order
/// of memory; nothing where it can.
std::optional<std::string> asyncCopyObstacle(ir::LoadOp load, const TargetInfo &target);

/// Whether what is loaded goes, element by element, to nothing but ops that `accepts` takes.
bool reachesOnly(ir::LoadOp load, llvm::function_ref<bool(mlir::Operation *)> accepts);
/// Whether it goes to stores only. Threads that hold copies of elements store none of them, so that
/// it does not matter what these load.
bool reachesStoresOnly(ir::LoadOp load);

/// Whether PipelineLoops should copy what `load` reads in its loop ahead: not where elements have
/// one address, which registers hold once.
bool canBeCopiedAhead(ir::LoadOp load, const AxisAnalysis &axes, const TargetInfo &target);

/// The widest vector that a thread can use of `layout` for `access`.
int vectorElements(const MemoryAccess &access, const LinearLayout &layout);
/// Notes it on the op, and returns it.
int setVectorWidth(const MemoryAccess &access, const LinearLayout &layout);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_MEMORYACCESS_H
