//===- TestFault.cpp - A pass that fails in the way it is told ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one pass for all the ways in which a compiler can fail: an error, IR that breaks a
// rule, abort, a wild access, a loop without end, memory without end. For tests of the
// messages, of reproducers, and of compiling in a process of its own. Builds with tests put
// it into the pipeline where TILEWRIGHT_TEST_FAULT says; others have it in tilewright-opt only.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/TileDialect.h"
#include "passes/Passes.h"

#include <csignal>
#include <cstdlib>

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_TESTFAULT
#include "passes/Passes.h.inc"

namespace {

/// Written pages, which are what a limit counts.
void takeMemory() {
  constexpr size_t step = size_t(64) << 20, page = 4096;
  while (auto *memory = static_cast<volatile char *>(std::malloc(step)))
    for (size_t at = 0; at < step; at += page)
      memory[at] = 1;
  std::abort();
}

class TestFaultPass : public impl::TestFaultBase<TestFaultPass> {
public:
  using TestFaultBase::TestFaultBase;

  void runOnOperation() override {
    if (kind == "abort")
      std::abort();
    if (kind == "segfault")
      std::raise(SIGSEGV);
    if (kind == "grow")
      takeMemory();
    for (volatile bool isOver = kind != "loop"; !isOver;)
      continue;
    if (kind == "break")
      return addUnknownOp();
    // Only kernels that store something, so that there is something to reduce to.
    getOperation().walk([&](ir::StoreOp store) {
      store.emitError("this pass always fails");
      signalPassFailure();
      return WalkResult::interrupt();
    });
  }

private:
  /// Breaks a rule that MLIR's verifier knows, and that lowering meets later.
  void addUnknownOp() {
    getOperation().walk([](func::FuncOp function) {
      OpBuilder builder(function.getBody());
      builder.create(OperationState(function.getLoc(), "test_fault.unknown"));
    });
  }
};

} // namespace

std::unique_ptr<Pass> createTestFault(PassContext) { return std::make_unique<TestFaultPass>(); }

} // namespace tilewright::passes
