//===- FmaProductInternal.h - Products by fma, element by element *- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the arithmetic of products that no matrix instruction computes, for
// operands in registers (LowerDot.cpp) and in shared memory (LowerFma.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_FMAPRODUCTINTERNAL_H
#define TILEWRIGHT_CODEGEN_LOWER_FMAPRODUCTINTERNAL_H

#include "codegen/lower/MatrixInternal.h"

namespace tilewright::codegen {

class FmaProduct {
public:
  FmaProduct(FunctionLowering &lowering, mlir::Type accumulatorElement)
      : lowering(lowering), accumulatorElement(accumulatorElement) {}

  /// The type in which products are added: f32 for narrower floats, which are
  /// rounded once, at the end.
  mlir::Type sumType() const;
  /// Registers of a tile of type `from` as elements of type `to`.
  Registers convertedTo(mlir::Type to, mlir::Type from, llvm::ArrayRef<mlir::Value> registers);
  /// acc += the first `k` columns of a x rows of b; all are of sumType().
  void multiply(TileRegisters &acc, const TileRegisters &a, const TileRegisters &b, uint32_t k);

private:
  FunctionLowering &lowering;
  mlir::Type accumulatorElement;
};

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_FMAPRODUCTINTERNAL_H
