//===- MatrixInstruction.h - Which instruction a product takes --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for element types and a target, whether mma.sync or wgmma computes a
// product, the names of the types in the instruction, and how many elements of
// K one instruction takes.
//
// Why here: the pass that chooses the unit and the lowering that spells the
// instruction must agree.
//
// Not handled: u8 operands (the language refuses them), sparse and 1-bit forms.
// mma.sync accumulates fp8 in f32 whatever the accumulator's type is: its f16 form
// needs a newer PTX than LLVM 19 writes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_MATRIXINSTRUCTION_H
#define TILEWRIGHT_IR_DIALECT_MATRIXINSTRUCTION_H

#include "ir/dialect/TileDialect.h"
#include "ir/support/TargetInfo.h"

#include <optional>

namespace tilewright::ir {

struct MatrixInstruction {
  /// Type names in PTX: "bf16", "tf32", "e4m3", "s32". The accumulator's may be
  /// wider than the tile's.
  llvm::StringRef a, b, accumulator;
  /// Elements of K that one instruction takes.
  int k;

  /// Whether the operands are fp8: e4m3 or e5m2.
  bool takesFp8() const { return a.starts_with("e"); }
};

/// wgmma.m64nNk*; nothing where the target or the types have none. f32 operands
/// are taken as tf32 whatever the precision asked for: the caller decides
/// whether that will do.
std::optional<MatrixInstruction> wgmmaInstruction(mlir::Type a, mlir::Type b,
                                                  mlir::Type accumulator, const TargetInfo &target);
/// mma.m16n8k*, or m8n8k4 for f64, under the same conditions.
std::optional<MatrixInstruction> mmaInstruction(mlir::Type a, mlir::Type b, mlir::Type accumulator,
                                                const TargetInfo &target);

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_MATRIXINSTRUCTION_H
