//===- ExtendHints.cpp - Promises hold for what follows -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: uses of a value that come after a promise about it read the promise's
// result.
//
// Why: programs write a promise as a statement, `tl.multiple_of(pointers, 16)`,
// and go on with the variable. The promise is about the value, so it holds
// wherever the promise was made before. Among the first passes, because the next
// ones delete an op that nothing uses.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Dominance.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_EXTENDHINTS
#include "passes/Passes.h.inc"

namespace {

class ExtendHintsPass : public impl::ExtendHintsBase<ExtendHintsPass> {
public:
  void runOnOperation() override {
    DominanceInfo dominance(getOperation());
    getOperation().walk([&](ir::HintOp hint) {
      hint.getSource().replaceUsesWithIf(hint.getResult(), [&](OpOperand &use) {
        bool isLater = dominance.properlyDominates(hint.getResult(), use.getOwner());
        numExtended += isLater;
        return isLater;
      });
    });
  }
};

} // namespace

std::unique_ptr<Pass> createExtendHints(PassContext) { return std::make_unique<ExtendHintsPass>(); }

} // namespace tilewright::passes
