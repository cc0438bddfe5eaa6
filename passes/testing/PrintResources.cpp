//===- PrintResources.cpp - Shows the forecast of registers ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a remark per product, reduction and loop with the registers that a thread needs
// there (Resources.h), and one per kernel with the forecast; for tests and looking. Changes
// nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/Resources.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PRINTRESOURCES
#include "passes/Passes.h.inc"

namespace {

class PrintResourcesPass : public impl::PrintResourcesBase<PrintResourcesPass> {
public:
  explicit PrintResourcesPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        print(function);
    markAllAnalysesPreserved();
  }

private:
  PassContext context;

  void print(func::FuncOp function) {
    RegisterAnalysis analysis(function);
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!llvm::isa<ir::DotOp, ir::WgmmaOp, ir::ReduceOp, ir::StoreOp, scf::ForOp>(op))
        return;
      RegisterUse use = analysis.at(op);
      op->emitRemark("registers: data ")
          << use.data << ", addresses " << use.addresses << ", scalars " << use.scalars;
    });
    function.emitRemark("registers: forecast ")
        << forecastRegisters(analysis, getOperation(), context.target);
  }
};

} // namespace

std::unique_ptr<Pass> createPrintResources(PassContext context) {
  return std::make_unique<PrintResourcesPass>(std::move(context));
}

} // namespace tilewright::passes
