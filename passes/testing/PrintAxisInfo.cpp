//===- PrintAxisInfo.cpp - Shows the axis analysis ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a remark per value with the facts of AxisInfo.h, for tests and looking.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PRINTAXISINFO
#include "passes/Passes.h.inc"

namespace {

class PrintAxisInfoPass : public impl::PrintAxisInfoBase<PrintAxisInfoPass> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      AxisAnalysis axes(function);
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        // Facts are about integers, booleans and pointers.
        for (Value result : op->getResults())
          if (llvm::isa<IntegerType, ir::PointerType>(getElementTypeOrSelf(result)))
            op->emitRemark(axes.get(result).toString());
      });
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> createPrintAxisInfo(PassContext) {
  return std::make_unique<PrintAxisInfoPass>();
}

} // namespace tilewright::passes
