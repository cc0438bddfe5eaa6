//===- MatrixInternal.h - Tiles as operands of matrix PTX -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the lowerings of wgmma and of mma.sync share: matrix instructions
// take 32-bit registers with several narrow elements each, and their inline
// assembly names hundreds of operands.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_MATRIXINTERNAL_H
#define TILEWRIGHT_CODEGEN_LOWER_MATRIXINTERNAL_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

/// Neighbouring registers packed into 32-bit words; those of 32 and 64 bits are
/// kept as they are.
Registers packForMatrix(FunctionLowering &lowering, llvm::ArrayRef<mlir::Value> registers);
/// The inverse, to registers of `registerType`.
Registers unpackFromMatrix(FunctionLowering &lowering, llvm::ArrayRef<mlir::Value> words,
                           mlir::Type registerType);
/// How many registers of a type make one word.
int elementsPerWord(mlir::Type registerType);
/// The letter of LLVM's constraint for a word: "f", "d", "r", "l".
const char *constraintOf(mlir::Type wordType);

/// Text and operands of one piece of inline assembly with side effects. Results
/// come first; the order of calls is: all results, then inputs.
class AsmBuilder {
public:
  explicit AsmBuilder(FunctionLowering &lowering) : lowering(lowering) {}

  /// Results are numbered from 0 in the order in which they are added.
  void addResults(llvm::ArrayRef<mlir::Type> types);
  /// Results that start as these values.
  void addTiedResults(llvm::ArrayRef<mlir::Value> values);
  /// Returns the operand's text: "$7".
  std::string addInput(mlir::Value value);
  /// "{$first, ...}" with `count` operands.
  static std::string operandList(size_t first, size_t count);

  void line(const llvm::Twine &text);
  /// Emits; the results in the order in which they were added.
  Registers finish();

private:
  FunctionLowering &lowering;
  std::string text, constraints, tiedConstraints;
  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<mlir::Value> tied, inputs;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_MATRIXINTERNAL_H
