//===- PrintLoopSchedule.cpp - Shows what PipelineLoops plans -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a remark per innermost loop with its schedule (LoopSchedule.h), and one per load
// that is refused; for tests and looking. Changes nothing.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/schedule/LoopSchedule.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PRINTLOOPSCHEDULE
#include "passes/Passes.h.inc"

namespace {

class PrintLoopSchedulePass : public impl::PrintLoopScheduleBase<PrintLoopSchedulePass> {
public:
  explicit PrintLoopSchedulePass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    for (scf::ForOp loop : innermostLoops(getOperation()))
      print(loop);
    markAllAnalysesPreserved();
  }

private:
  PassContext context;

  void print(scf::ForOp loop) {
    LoopPlan made = plan(analyse(loop, context.target), resourcesFor(loop, context.target));
    for (const PlanNote &note : made.notes)
      note.op->emitRemark("schedule: ") << note.remark.reason;
    if (!made.schedule) {
      loop.emitRemark("schedule: none");
      return;
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    made.schedule->print(stream);
    if (std::string problem = verify(*made.schedule); !problem.empty())
      stream << "\n  illegal: " << problem;
    loop.emitRemark("schedule: ") << text;
  }
};

} // namespace

std::unique_ptr<Pass> createPrintLoopSchedule(PassContext context) {
  return std::make_unique<PrintLoopSchedulePass>(std::move(context));
}

} // namespace tilewright::passes
