//===- LiveRanges.h - While which ops shared memory is in use ---*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: numbers the ops of a module in program order, and says from which to which a
// buffer is alive: from its allocation to the last use of any value that comes from it.
// Used in a loop around that use but not around the allocation, it is alive to the loop's
// end. An access that outlasts its op (asynchronous copies, wgmma, TMA stores) counts to the
// wait that ends it. Scratch is alive during its op.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_LIVERANGES_H
#define TILEWRIGHT_PASSES_ANALYSIS_LIVERANGES_H

#include "passes/analysis/BufferInfo.h"

namespace tilewright::passes {

class LiveRanges {
public:
  explicit LiveRanges(mlir::ModuleOp module);

  const BufferAnalysis buffers;

  int numberOf(mlir::Operation *op) const { return numbers.lookup(op); }
  int count() const { return numOps; }
  /// The first and last op while `allocation` is alive, by number.
  std::pair<int, int> of(mlir::Operation *allocation) const;

private:
  llvm::DenseMap<mlir::Operation *, int> numbers;
  llvm::SmallVector<mlir::Operation *> waits;
  int numOps = 0;

  int lastOf(mlir::Operation *op) const;
  int endOfUse(mlir::Operation *user, mlir::Operation *from) const;
  int endOfAccess(mlir::Operation *user, Completion completion, mlir::Operation *from) const;
};

/// What takes shared memory: an allocation of buffers or barriers, or the scratch of an op.
struct SharedPiece {
  mlir::Operation *op;
  int64_t bytes;
  /// First and last op, by number, while it is alive.
  int begin, end;
};

/// All of a module, in program order.
llvm::SmallVector<SharedPiece> sharedPieces(mlir::ModuleOp module, const LiveRanges &ranges);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_LIVERANGES_H
