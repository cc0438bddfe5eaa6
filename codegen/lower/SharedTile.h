//===- SharedTile.h - Accesses of a tile in shared memory -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: emits what planSharedSide (ir/layout/SharedAccess.h) has planned: the
// stores or loads with which the threads move a tile between registers and shared
// memory. Used by the ops on buffers and by layout conversions.
//
// How: address = base + ((thread ^ constant) + immediate), in bytes. The thread's
// part is computed once per kernel, its XOR with a constant once per constant
// that occurs, and the immediate is part of the instruction. `base` stays apart,
// since it is often uniform, and an instruction adds a uniform register for free.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_SHAREDTILE_H
#define TILEWRIGHT_CODEGEN_LOWER_SHAREDTILE_H

#include "codegen/lower/Lowering.h"
#include "ir/layout/SharedAccess.h"

namespace tilewright::codegen {

/// An offset in elements that is known when the kernel runs (i32), and the bits
/// that it may have; null for none.
struct DynamicOffset {
  mlir::Value value;
  uint32_t bits = 0;
};

/// The addresses of one thread in a tile; offsets are in elements.
class SharedAddresses {
public:
  /// `lanes`, `warps` and `blocks` are the thread's columns of offsets, `all` is added
  /// to (XORed with) every offset.
  SharedAddresses(FunctionLowering &lowering, mlir::Value base, const Columns &lanes,
                  const Columns &warps, const Columns &blocks, int storedBits,
                  DynamicOffset all = {});

  /// For native accesses: a pointer (address space 3).
  mlir::Value pointer(uint32_t offset);
  /// For inline PTX: a 32-bit address and what is to be added to it.
  std::pair<mlir::Value, int64_t> address(uint32_t offset);

private:
  /// The pointer without the immediate; sets the latter.
  mlir::Value partialPointer(uint32_t offset, int64_t &immediate);

  FunctionLowering &lowering;
  mlir::Value base, threadBytes;
  int log2Bytes;
  /// All bits of byte offsets that a thread's part touches.
  uint32_t threadBits = 0;
  /// By the constant that is XORed.
  llvm::SmallDenseMap<uint32_t, mlir::Value> pointers, addresses;
};

class SharedTile {
public:
  /// `storedBits` of one element in memory.
  SharedTile(FunctionLowering &lowering, const SharedSide &side, mlir::Value base, int storedBits,
             DynamicOffset all = {});

  /// Writes the registers that `piece` has. Warps that hold copies do not.
  void store(const Registers &values, int piece = 0);
  /// Reads the registers that `piece` has into `registers`, those named by
  /// accesses only.
  void load(Registers &registers, mlir::Type registerType, int piece = 0);

private:
  /// Calls `body` with each list of accesses that may belong to `piece`, in the
  /// threads for which it does; `results` are kept where it does not.
  void forEachList(int piece, llvm::MutableArrayRef<mlir::Value> results,
                   llvm::function_ref<void(const std::vector<SharedAccess> &)> body);
  /// Tells the reports of all accesses, once for a tile that goes in pieces.
  void note(int piece, const char *vectors, const char *matrices);
  /// Makes the addresses of `accesses`, for later branches to share.
  void prepare(const std::vector<SharedAccess> &accesses);
  /// The words of each access.
  using Words = std::vector<llvm::SmallVector<mlir::Value>>;
  /// The accesses whose words are moved together: all where lanes take turns, else one by one.
  size_t numTogether(const std::vector<SharedAccess> &accesses) const;
  /// Exchanges the words of steps and accesses where lanes take turns: from either order to
  /// the other.
  void takeTurns(Words &words);
  void storeMatrices(const SharedAccess &access, llvm::ArrayRef<mlir::Value> words);
  llvm::SmallVector<mlir::Value> loadMatrices(const SharedAccess &access);

  FunctionLowering &lowering;
  const SharedSide &side;
  int storedBits;
  SharedAddresses addresses;
};

/// Whether an op is the ldmatrix of a SharedTile.
bool isMatrixLoad(mlir::Operation *op);

/// How a tile accesses a buffer; `allowMatrices`: by ldmatrix or stmatrix where it can be.
std::optional<SharedSide> planTileAccess(ir::BufferType buffer, mlir::RankedTensorType tile,
                                         bool allowMatrices);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_SHAREDTILE_H
