//===- LayoutCandidates.h - What accesses ask of layouts ------ -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the layouts that come from the kernel's accesses: for each access the vector width
// and the coalesced layout; for a tile that no access decides one of enough elements per
// thread.
//
// Blocks: a program of several blocks splits its tiles among them (makeCoalesced); only
// tiles as large as the largest that it loads or stores, since smaller ones mostly go
// with all parts of a larger one, and loading them again costs less than exchanging
// them. Products and descriptors need their tiles whole: then every block
// has copies of all tiles, and no layout mentions blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_LAYOUTCANDIDATES_H
#define TILEWRIGHT_PASSES_LAYOUT_LAYOUTCANDIDATES_H

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"
#include "passes/analysis/MemoryAccess.h"

namespace tilewright::passes {

/// A layout of a tile's shape.
LinearLayout linearLayout(ir::LayoutAttr layout, mlir::Value tile);

class LayoutCandidates {
public:
  LayoutCandidates(mlir::func::FuncOp function, const TargetInfo &target, int numWarps,
                   int numBlocks);

  ir::LayoutAttr attr(const LinearLayout &layout) const;
  /// What an access of global memory wants.
  ir::LayoutAttr coalesced(const MemoryAccess &access) const;
  /// For a block that comes through shared memory, where rows lie in 16-byte
  /// chunks.
  ir::LayoutAttr coalescedRows(mlir::RankedTensorType type) const;
  ir::LayoutAttr defaultLayout(mlir::RankedTensorType type) const;
  /// For a tile that is reduced along `axis` and that no access decides: of a short axis a thread
  /// has as much as it has elements.
  ir::LayoutAttr layoutToReduce(mlir::RankedTensorType type, int axis) const;
  /// The number of elements of the largest tile that is loaded or stored.
  int64_t largestAccess() const { return mostElements; }
  /// Null where the op accesses no global memory.
  const MemoryAccess *accessOf(mlir::Operation *op) const;

private:
  /// For a tile of pairs, each in one thread.
  ir::LayoutAttr coalescedPairs(const MemoryAccess &access) const;
  void collectAccesses(mlir::func::FuncOp function);
  /// Whether the kernel holds several vectors that have an element for each column of a tile with
  /// rows of so many.
  bool hasColumns(int64_t length) const;
  ir::LayoutAttr makeLayout(mlir::RankedTensorType type, const std::vector<int> &order, int vector,
                            const std::vector<int> &log2Repeats = {},
                            bool hasShortRuns = false) const;

  const TargetInfo &target;
  mlir::MLIRContext *context;
  AxisAnalysis axes;
  int log2Warps;
  /// The number of blocks that share tiles; 0 where all have copies.
  int log2Blocks;
  int64_t mostElements = 0;
  /// Loads and stores of vectors, by their length.
  llvm::DenseMap<int64_t, int> numVectors;
  llvm::DenseMap<mlir::Operation *, MemoryAccess> accesses;
  /// Elements next to each other that loads give a thread, where one instruction loads fewer.
  llvm::DenseMap<mlir::Operation *, int> threadRuns;
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_LAYOUTCANDIDATES_H
