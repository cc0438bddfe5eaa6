//===- ElementwiseInternal.h - Register by register -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the elementwise families (arith, math, casts) share: applying a
// scalar function to each register of the operands, and widening of the types
// that the hardware does not compute in.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_ELEMENTWISEINTERNAL_H
#define TILEWRIGHT_CODEGEN_LOWER_ELEMENTWISEINTERNAL_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

/// Makes the result of one register from the operands' registers. A null value
/// means that an error was emitted.
using RegisterFunction = llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)>;

/// Applies `function` to each register. An operand that is a scalar beside tiles
/// (the condition of a select) takes part in all of them. Registers with equal
/// operands share one result: splats and broadcasts cost one computation.
mlir::LogicalResult mapRegisters(mlir::Operation *op, FunctionLowering &lowering,
                                 RegisterFunction function);

/// As mapRegisters, but `function` gets two registers at a time as a vector where
/// the target has packed arithmetic for the element type.
mlir::LogicalResult mapPairs(mlir::Operation *op, FunctionLowering &lowering,
                             RegisterFunction function);

/// The element type of operand `index`, or of result 0.
mlir::Type operandElementType(mlir::Operation *op, unsigned index);
mlir::Type resultElementType(mlir::Operation *op);

/// Float of `from` held in a register, as a value of float type `to` (RN).
/// Either may be an fp8 type, held as i8.
mlir::Value convertFloat(FunctionLowering &lowering, mlir::Value value, mlir::Type from,
                         mlir::Type to,
                         ir::FloatRounding rounding = ir::FloatRounding::nearest_even);

/// Runs `compute` on f32 values where the op's element type is narrower than
/// f32, on the values themselves for f32 and f64.
mlir::LogicalResult mapInSinglePrecision(
    mlir::Operation *op, FunctionLowering &lowering,
    llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>, mlir::Type)> compute);

/// Sums, bits and shifts of 8-bit integers, and bits and shifts of 16-bit ones, in the words that
/// these are in; false where they are in no such words, or the op is another one.
bool lowerInWords(mlir::Operation *op, FunctionLowering &lowering);
/// Bytes widened to 16 bits in words, where all users take them so.
bool widenBytesToHalves(mlir::Operation *op, FunctionLowering &lowering);

/// Conversions of small integers to f16 and bf16 by packed arithmetic; false where that cannot be.
bool castSmallIntegers(mlir::Operation *op, FunctionLowering &lowering);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_ELEMENTWISEINTERNAL_H
