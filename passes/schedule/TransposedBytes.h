//===- TransposedBytes.h - Bytes that products want transposed --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tensor cores take bytes with K fastest. A tile that has another dimension contiguous in
// global memory would be loaded in the iteration that needs it, as cp.async copies no single bytes,
// and stored or read one by one. It is copied ahead as it is, and goes from that buffer to the
// product's through registers, in which each thread transposes blocks of 4 x 4:
//
//     x = load p                        x = load p                   : copied ahead
//     b = alloc_shared x        =>      a = alloc_shared x           : as in memory
//                                       y = shared_load a            : blocks of 4 x 4
//                                       z = convert_layout y         : K in the low registers
//                                       b = alloc_shared z
//
// H200, a product of 4096 x 4096 int8, both row-major, tiles of 128, 128 and 128: 285 us, and 162 so
// (November 2026).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_SCHEDULE_TRANSPOSEDBYTES_H
#define TILEWRIGHT_PASSES_SCHEDULE_TRANSPOSEDBYTES_H

#include "passes/schedule/LoopSchedule.h"

namespace tilewright::passes {

/// Such tiles of a loop while it is planned. Undone where they are not copied ahead.
class TransposedBytes {
public:
  TransposedBytes(mlir::scf::ForOp loop, const TargetInfo &target);

  /// Undoes those of loads that `schedule` does not copy; whether there were any.
  bool undoAllBut(const std::optional<LoopSchedule> &schedule);

private:
  struct Tile {
    ir::LoadOp load;
    ir::AllocSharedOp asLoaded;
    ir::SharedLoadOp blocks;
    ir::ConvertLayoutOp transposed;

    void undo();
  };
  llvm::SmallVector<Tile> tiles;
};

/// Whether `read` takes a tile from a buffer only for other buffers.
bool isStoredAgain(ir::SharedLoadOp read);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_SCHEDULE_TRANSPOSEDBYTES_H
