//===- LoopRaiser.h - Conversions by way of operands ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: converts tiles of one loop by way of what elementwise ops make them of, where that
// is less work per iteration (step 5 of RemoveConversions).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_LAYOUT_LOOPRAISER_H
#define TILEWRIGHT_PASSES_LAYOUT_LOOPRAISER_H

#include "passes/layout/TileMaterializer.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/DenseSet.h"

namespace tilewright::passes {

class LoopRaiser {
public:
  /// `copiedAhead`: loads that go through shared memory in any case.
  LoopRaiser(mlir::LoopLikeOpInterface loop, const llvm::DenseSet<mlir::Value> &copiedAhead,
             TileMaterializer &materializer)
      : loop(loop), copiedAhead(copiedAhead), materializer(materializer) {}

  bool shouldRaise(ir::ConvertLayoutOp convert);
  void raise(ir::ConvertLayoutOp convert);

private:
  mlir::LoopLikeOpInterface loop;
  const llvm::DenseSet<mlir::Value> &copiedAhead;
  TileMaterializer &materializer;
  bool isForMma = false;

  bool isRaisable(mlir::Value value);
  bool isUsedOnceInLoop(mlir::Value value);
  double operandCycles(mlir::Value value, ir::LayoutAttr layout);
  double cycles(mlir::Value value, ir::LayoutAttr layout);
  void retype(mlir::Value value, ir::LayoutAttr layout);
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_LAYOUT_LOOPRAISER_H
