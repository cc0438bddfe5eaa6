//===- PtxText.h - Inline PTX and tensor maps, for TMA ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what the files that write TMA's instructions share.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_PTXTEXT_H
#define TILEWRIGHT_CODEGEN_LOWER_PTXTEXT_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

/// Inline PTX under construction: operands are appended in the order of use.
class PtxText {
public:
  explicit PtxText(FunctionLowering &lowering) : lowering(lowering) {}

  /// "$n" for a new operand.
  std::string operand(mlir::Value value, char constraint) {
    operands.push_back(value);
    constraints += std::string(constraints.empty() ? "" : ",") + constraint;
    return "$" + std::to_string(operands.size() - 1);
  }
  void emit(const std::string &text) {
    std::string clobbers = constraints.empty() ? "~{memory}" : constraints + ",~{memory}";
    lowering.inlineAsm(mlir::Type(), operands, text, clobbers, /*hasSideEffects=*/true);
  }

private:
  FunctionLowering &lowering;
  llvm::SmallVector<mlir::Value> operands;
  std::string constraints;
};

//===--- tensor maps (LowerTensorMap.cpp) ------------------------------------===//

/// A descriptor as an instruction takes it.
struct TensorMapUse {
  /// Generic address of the tensor map.
  mlir::Value address;
  /// Whether the array has no elements (i1); null where it has some.
  mlir::Value isEmpty;
};
TensorMapUse useTensorMap(FunctionLowering &lowering, mlir::Value descriptor);

mlir::LogicalResult lowerMakeDescriptor(mlir::Operation *op, FunctionLowering &lowering);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_PTXTEXT_H
