//===- SharedExchange.h - Registers through shared scratch ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: stores and loads of register values in the scratch of an op, used by
// reductions, scans and layout conversions. Elements that memory cannot hold as
// they are (i1, pointers) are stored as integers.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_SHAREDEXCHANGE_H
#define TILEWRIGHT_CODEGEN_LOWER_SHAREDEXCHANGE_H

#include "codegen/lower/BlockExchange.h"
#include "codegen/lower/Lowering.h"
#include "ir/layout/LayoutAlgebra.h"

namespace tilewright::codegen {

class SharedExchange {
public:
  SharedExchange(FunctionLowering &lowering, int64_t scratchOffset)
      : lowering(lowering), scratchOffset(scratchOffset) {}

  /// Runs `body` in the threads that have none of the bits of `duplicates` set:
  /// one owner among threads that hold copies.
  void onlyOwners(const HardwareIndex &duplicates, llvm::function_ref<void()> body);
  /// The condition of that; null where it always holds.
  mlir::Value isOwner(const HardwareIndex &duplicates);

  /// Stores neighbouring elements at byte `base` + slot (i32) elements of
  /// `storedBits`, as one vector.
  void store(int64_t base, mlir::Value slot, int storedBits, llvm::ArrayRef<mlir::Value> values);
  /// Stores one element to the scratch of the block of this rank, in the threads for
  /// which `predicate` holds (null: in all).
  void send(BlockExchange &blocks, mlir::Value rank, int64_t base, mlir::Value slot, int storedBits,
            mlir::Value value, mlir::Value predicate);
  /// Loads `count` neighbouring elements, 16 bytes at a time.
  Registers load(int64_t base, mlir::Value slot, int storedBits, mlir::Type registerType,
                 int count);

private:
  mlir::Value address(int64_t base, mlir::Value slot, int storedBits);
  mlir::Value toStored(mlir::Value value, int storedBits);
  mlir::Value fromStored(mlir::Value stored, mlir::Type registerType);

  FunctionLowering &lowering;
  int64_t scratchOffset;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_SHAREDEXCHANGE_H
