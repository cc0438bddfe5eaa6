//===- Passes.h - The passes on tile IR -------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one constructor per pass, and what they all get from the pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_PASSES_H
#define TILEWRIGHT_PASSES_PASSES_H

#include "ir/support/Remark.h"
#include "ir/support/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace tilewright::passes {

/// What a pass may ask about its surroundings.
struct PassContext {
  TargetInfo target;
  /// May be null.
  RemarkCollector *remarks = nullptr;
  /// Emits remarks as diagnostics too: for tests of single passes.
  bool remarksAsDiagnostics = false;

  /// Records a decision about `op`; the location is filled in.
  void remark(mlir::Operation *op, Remark remark) const;
  /// The same of what is no op any more.
  void remark(mlir::Location location, Remark remark) const;
  bool wantsRemarks() const { return remarks || remarksAsDiagnostics; }
};

std::unique_ptr<mlir::Pass> createVersionMasks(PassContext context);
std::unique_ptr<mlir::Pass> createCombineOps(PassContext context);
std::unique_ptr<mlir::Pass> createSimplifyMasked(PassContext context);
std::unique_ptr<mlir::Pass> createCompactLoads(PassContext context);
std::unique_ptr<mlir::Pass> createHoistInvariants(PassContext context);
std::unique_ptr<mlir::Pass> createFlattenLoops(PassContext context);
std::unique_ptr<mlir::Pass> createCarryScalars(PassContext context);
std::unique_ptr<mlir::Pass> createNarrowProducts(PassContext context);
std::unique_ptr<mlir::Pass> createChooseNumWarps(PassContext context);
std::unique_ptr<mlir::Pass> createSelectMatrixUnit(PassContext context);
std::unique_ptr<mlir::Pass> createPromoteGathers(PassContext context);
std::unique_ptr<mlir::Pass> createAssignLayouts(PassContext context);
std::unique_ptr<mlir::Pass> createRemoveConversions(PassContext context);
std::unique_ptr<mlir::Pass> createPromoteShared(PassContext context);
std::unique_ptr<mlir::Pass> createNarrowLiveTiles(PassContext context);
std::unique_ptr<mlir::Pass> createVerifyLayouts(PassContext context);
std::unique_ptr<mlir::Pass> createPipelineLoops(PassContext context);
std::unique_ptr<mlir::Pass> createPrefetchOperands(PassContext context);
std::unique_ptr<mlir::Pass> createPrepareExchanges(PassContext context);
std::unique_ptr<mlir::Pass> createDeferReductions(PassContext context);
std::unique_ptr<mlir::Pass> createOverlapProducts(PassContext context);
std::unique_ptr<mlir::Pass> createLowerDescriptors(PassContext context);
std::unique_ptr<mlir::Pass> createStageLoads(PassContext context);
std::unique_ptr<mlir::Pass> createGatherLoads(PassContext context);
std::unique_ptr<mlir::Pass> createPlaceTensorMaps(PassContext context);
std::unique_ptr<mlir::Pass> createAllocateShared(PassContext context);
std::unique_ptr<mlir::Pass> createInsertBarriers(PassContext context);
std::unique_ptr<mlir::Pass> createMarkConstancy(PassContext context);
std::unique_ptr<mlir::Pass> createMarkWaits(PassContext context);
std::unique_ptr<mlir::Pass> createExtendHints(PassContext context);
std::unique_ptr<mlir::Pass> createDeleteBarrier(PassContext context);
std::unique_ptr<mlir::Pass> createPrintAxisInfo(PassContext context);
std::unique_ptr<mlir::Pass> createPrintLoopSchedule(PassContext context);
std::unique_ptr<mlir::Pass> createPrintResources(PassContext context);
std::unique_ptr<mlir::Pass> createVerifyAsync(PassContext context);
std::unique_ptr<mlir::Pass> createVerifyFences(PassContext context);
std::unique_ptr<mlir::Pass> createVerifyResources(PassContext context);
std::unique_ptr<mlir::Pass> createTestFault(PassContext context);

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_PASSES_H
