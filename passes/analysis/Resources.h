//===- Resources.h - Registers and shared memory that a kernel takes -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one picture that passes have of a kernel's registers: those of a thread at a
// point of the program, and those that the assembler will report. How many blocks a
// multiprocessor then holds is TargetInfo's answer.
//
// How: live ranges of values, in order of the program, each with the registers of 32 bits
// that a thread keeps for it:
//
//   a tile of data         its distinct elements, packed
//   indices, addresses     one for each group of elements that follow each other (AxisInfo):
//                          the others are reached by an immediate
//   masks                  predicates, of which a register holds 32
//   splats, views          nothing beside what they are made from, also where a loop
//                          carries them
//   constants, arguments   nothing: instructions read them from constant memory
//
// Arithmetic with a single user is done element by element where it is used, where its
// result would take more registers than what it is made from: assemblers order the
// arithmetic between two barriers so.
//
// Not handled: what the assembler keeps beside for latency and addresses of shared memory,
// for which forecastRegisters adds a part that was fitted; the order that code generation
// gives to stores after a reduction; functions that are called.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_RESOURCES_H
#define TILEWRIGHT_PASSES_ANALYSIS_RESOURCES_H

#include "ir/support/TargetInfo.h"
#include "passes/analysis/AxisInfo.h"

#include "llvm/ADT/DenseSet.h"

namespace tilewright::passes {

/// Registers of 32 bits of one thread, by what they hold.
struct RegisterUse {
  int64_t data = 0, addresses = 0, scalars = 0;

  int64_t total() const { return data + addresses + scalars; }
  RegisterUse &operator+=(const RegisterUse &other);
  RegisterUse &operator-=(const RegisterUse &other);
};

/// Groups of elements of a thread that are equal or, unless `equalOnly`, follow each other, along
/// all dimensions.
int64_t numGroups(const LinearLayout &layout, const AxisInfo &info, bool equalOnly);

/// The registers of each point of one function; for IR with layouts.
class RegisterAnalysis {
public:
  explicit RegisterAnalysis(mlir::func::FuncOp function);

  /// What is alive while `op` runs.
  RegisterUse at(mlir::Operation *op) const { return during.lookup(op); }
  /// The largest use of any point, and an op there.
  RegisterUse peak() const { return most; }
  mlir::Operation *peakOp() const { return mostAt; }
  /// What one value takes by itself.
  RegisterUse of(mlir::Value value) const;

private:
  using Live = llvm::DenseSet<mlir::Value>;

  AxisAnalysis axes;
  mutable llvm::DenseMap<mlir::Value, RegisterUse> known;
  llvm::DenseMap<mlir::Operation *, RegisterUse> during;
  RegisterUse most;
  mlir::Operation *mostAt = nullptr;
  llvm::DenseSet<mlir::Operation *> deferred;

  mlir::Value root(mlir::Value value) const;
  RegisterUse compute(mlir::Value value) const;
  RegisterUse sum(const Live &live) const;
  void note(mlir::Operation *op, const RegisterUse &use);
  void add(mlir::ValueRange values, Live &live) const;
  bool isDeferred(mlir::Operation *op, const llvm::DenseMap<mlir::Operation *, int> &parts) const;
  void findDeferred(mlir::Block &block);
  Live visitBlock(mlir::Block &block, Live live);
  Live visitRegions(mlir::Operation *op, Live live);
};

/// The registers that the assembler will report where so much is alive at most.
int64_t forecastRegisters(const RegisterUse &use);
/// The same for a kernel; at most as many as a thread may have beside its block's others.
int64_t forecastRegisters(const RegisterAnalysis &analysis, mlir::ModuleOp module,
                          const TargetInfo &target);

/// Where passes ask for registers before there is IR to count them in.
enum class RegisterContext : uint8_t { Row, Operands, ChainWithTma, ChainWithAddresses };
/// Registers of a thread besides the data that the pass counts itself.
int64_t registersBeside(RegisterContext context);
/// Registers that a thread may have so that one block fits a multiprocessor.
int64_t registerLimit(mlir::ModuleOp module, const TargetInfo &target);
/// Whether a loop that carries so many words and whose products have so many has none to spare.
bool leavesFewRegisters(int64_t carriedWords, int64_t productWords);
/// Blocks of so many threads that a multiprocessor will hold, where a thread keeps `words` of
/// data.
int64_t forecastBlocks(const TargetInfo &target, int64_t threads, int64_t words,
                       RegisterContext context, int64_t sharedBytes);

/// What is done with a tile, before it has a layout and registers could be counted.
enum class TileUse : uint8_t { Elementwise, Row, WideRow, RowInLoop, RowAlone };
/// Bytes of the tile, as it lies in memory, that a thread should hold.
int64_t bytesPerThread(TileUse use);

/// Bytes of shared memory that are needed while `loop` runs, at most: buffers that `counts`
/// accepts, made inside or needed there, and the largest scratch of an op inside.
int64_t sharedBytesDuring(mlir::Operation *loop,
                          llvm::function_ref<bool(ir::AllocSharedOp)> counts);
/// Bytes that all buffers and scratch of a module take if none share a byte.
int64_t sharedBytesApart(mlir::ModuleOp module);
/// Bytes of shared memory for which no block is given up, so that they cost nothing.
int64_t freeSharedBytes();
/// Whether as many blocks fit with `manyBytes` of shared memory as with `fewBytes`, by the
/// share that each takes of `limit`, the most that one may have.
bool costsNoBlock(int64_t fewBytes, int64_t manyBytes, int64_t limit);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_RESOURCES_H
