//===- CarriedValues.cpp - Variables that no op of a loop computes --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/CarriedValues.h"

using namespace mlir;

namespace tilewright::passes {

/// Tells these casts from others. It does not outlive the pass.
static constexpr llvm::StringLiteral carriesAttr = "tw.carries";

Operation *carryThroughOp(RewriterBase &rewriter, scf::ForOp loop, int index) {
  OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(index);
  auto cast = rewriter.create<UnrealizedConversionCastOp>(loop.getLoc(), yielded.get().getType(),
                                                          ValueRange{yielded.get()});
  cast->setAttr(carriesAttr, rewriter.getUnitAttr());
  yielded.set(cast.getResult(0));
  return cast;
}

void removeCarryingOps(RewriterBase &rewriter, Operation *scope) {
  scope->walk([&](UnrealizedConversionCastOp cast) {
    if (cast->hasAttr(carriesAttr))
      rewriter.replaceOp(cast, cast.getOperands());
  });
}

} // namespace tilewright::passes
