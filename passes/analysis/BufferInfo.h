//===- BufferInfo.h - Who uses which tile in shared memory ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: two facts about buffers (tw.alloc_shared, tw.mbarrier_alloc).
//  - Which allocations a buffer value may come from: through slots, permutations,
//    loop-carried values and branches.
//  - How an op uses buffers: whether it reads or writes, through which proxy of
//    the hardware (the generic one of loads and stores, or the asynchronous one
//    of wgmma and TMA), and what shows that the access is over.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_BUFFERINFO_H
#define TILEWRIGHT_PASSES_ANALYSIS_BUFFERINFO_H

#include "ir/dialect/TileDialect.h"

namespace tilewright::passes {

/// When an access of shared memory is over for the thread that started it.
enum class Completion : uint8_t {
  AtOnce,
  /// tw.async_wait
  AsyncWait,
  /// tw.wgmma_wait
  WgmmaWait,
  /// tw.tma_store_wait
  TmaStoreWait,
  /// tw.mbarrier_wait, by whoever waits
  Mbarrier
};

/// Who accesses shared memory.
enum class Proxy : uint8_t {
  /// Threads, and their cp.async.
  Generic,
  /// Needs a fence after writes of threads. What cp.async has written it reads after the wait and
  /// a barrier: so do the kernels for sm_90 of CUTLASS and flash-attention that load by cp.async,
  /// though PTX counts cp.async among the writes of threads.
  Wgmma,
  /// Needs a fence after both.
  Tma
};

struct BufferUse {
  mlir::Value buffer;
  bool isWrite = false;
  Proxy proxy = Proxy::Generic;
  Completion completion = Completion::AtOnce;

  bool isAsyncProxy() const { return proxy != Proxy::Generic; }
};

/// How `op` itself accesses buffers; empty for ops that only pass them on.
llvm::SmallVector<BufferUse, 2> bufferUses(mlir::Operation *op);

/// The type of a buffer for `tile` with `layout`.
ir::BufferType bufferFor(mlir::RankedTensorType tile, const LinearLayout &layout);
/// The buffer that is all what `load` is loaded for; null where there is none.
ir::BufferType onlyBufferOf(ir::LoadOp load);
/// The dimension along which neighbours in a buffer follow one another.
int fastestDimension(ir::BufferType buffer);
/// For copies of what `load` loads that each thread reads back itself: the elements of one
/// access follow each other, then those of the next lane. So an access of a warp is free of
/// conflicts, whichever dimension of the tile is contiguous in global memory.
ir::BufferType ownBufferFor(ir::LoadOp load);

/// Bytes that an allocation of buffers or barriers takes; 0 for other ops.
int64_t bufferBytes(mlir::Operation *op);
/// "tile<128x64xf16>", "4 x tile<128x64xf16>".
std::string describeBuffer(ir::BufferType type);

/// Whether a buffer made outside of the loop is needed in it or after it.
bool isLiveIn(ir::AllocSharedOp alloc, mlir::Operation *loop);

/// Allocations by value, for one module.
class BufferAnalysis {
public:
  explicit BufferAnalysis(mlir::ModuleOp module);

  const llvm::SmallVector<mlir::Operation *> &allocations() const { return all; }
  /// The allocations that `buffer` may be part of.
  llvm::ArrayRef<mlir::Operation *> allocationsOf(mlir::Value buffer) const;
  /// The values that may be part of `allocation`, it first.
  llvm::ArrayRef<mlir::Value> valuesOf(mlir::Operation *allocation) const;

private:
  void trace(mlir::Operation *allocation);

  llvm::SmallVector<mlir::Operation *> all;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 1>> ofValue;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> ofAllocation;
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_BUFFERINFO_H
