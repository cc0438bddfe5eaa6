//===- MatrixInternal.h - Tiles as operands of matrix PTX -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the lowerings of wgmma and of mma.sync share: matrix instructions
// take 32-bit registers with several narrow elements each, and their inline
// assembly names hundreds of operands. And how products find registers by
// coordinates.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_MATRIXINTERNAL_H
#define TILEWRIGHT_CODEGEN_LOWER_MATRIXINTERNAL_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

/// Coordinates of an element; of an operand, `row` and `column` are its own.
struct Element {
  uint32_t batch, row, column;
};

/// A tile's registers by the coordinates that lane 0 of warp 0 has.
class TileRegisters {
public:
  TileRegisters(LinearLayout tileLayout, Registers tileRegisters)
      : registers(std::move(tileRegisters)), layout(std::move(tileLayout)) {
    int rank = layout.rank();
    log2Rows = layout.log2Shape()[rank - 2];
    log2Columns = layout.log2Shape()[rank - 1];
    for (int reg = static_cast<int>(registers.size()) - 1; reg >= 0; --reg)
      registerOf[layout.apply(InDim::Register, reg)] = reg;
  }

  Element elementOf(int reg) const {
    uint32_t flat = layout.apply(InDim::Register, reg);
    return {flat >> (log2Rows + log2Columns), (flat >> log2Columns) & (numRows() - 1),
            flat & (numColumns() - 1)};
  }
  /// The register of an element; coordinates beyond the tile wrap.
  int indexOf(const Element &element) const {
    uint32_t row = element.row & (numRows() - 1), column = element.column & (numColumns() - 1);
    return registerOf.lookup(((element.batch << log2Rows | row) << log2Columns) | column);
  }
  mlir::Value at(const Element &element) const { return registers[indexOf(element)]; }
  uint32_t numRows() const { return 1u << log2Rows; }
  uint32_t numColumns() const { return 1u << log2Columns; }

  Registers registers;

private:
  LinearLayout layout;
  int log2Rows, log2Columns;
  llvm::DenseMap<uint32_t, int> registerOf;
};

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

  void line(const llvm::Twine &instruction);
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
