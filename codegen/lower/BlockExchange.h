//===- BlockExchange.h - What blocks of a cluster send each other -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one exchange of data between the blocks of a cluster, through a barrier object
// (mbarrier) in every block. Blocks store into each other's memory, and these stores
// count as bytes at the mbarrier of the receiver. So a block waits only for what is sent
// to it. A barrier of the whole cluster would also wait for all earlier stores to reach
// memory.
//
// How: the mbarrier waits for one arrival per warp and for `bytes`. So its phase cannot
// end while a warp still asks which phase it is. PrepareExchanges makes the mbarriers.
// InsertBarriers makes sure that no block sends for the next round before all are done
// with this one.
//
// Reference: PTX ISA, st.async and mbarrier.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_BLOCKEXCHANGE_H
#define TILEWRIGHT_CODEGEN_LOWER_BLOCKEXCHANGE_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

class BlockExchange {
public:
  /// The exchange of `op`, for all threads: arrives at this block's barrier, which
  /// then waits for `bytes`.
  BlockExchange(FunctionLowering &lowering, mlir::Operation *op, int64_t bytes);

  /// Stores 32 or 64 bits at `address` (ptr addrspace 3, of this block) in the block of
  /// this rank, where `predicate` (null: always) holds. No branch: lanes would wait for
  /// what those that send have not sent yet.
  void send(mlir::Value address, mlir::Value bits, mlir::Value rank, mlir::Value predicate);
  /// Waits until everything has come.
  void wait();

private:
  FunctionLowering &lowering;
  mlir::Value barrier, phase;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_BLOCKEXCHANGE_H
