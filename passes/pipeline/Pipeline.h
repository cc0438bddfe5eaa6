//===- Pipeline.h - The ordered list of passes ------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_PIPELINE_PIPELINE_H
#define TILEWRIGHT_PASSES_PIPELINE_PIPELINE_H

#include "ir/support/Remark.h"
#include "ir/support/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::passes {

struct PipelineOptions {
  const TargetInfo *target = nullptr;
  /// May be null.
  RemarkCollector *remarks = nullptr;
  /// Called with the name of each step before it runs, and its place in pipelineSteps();
  /// may be empty.
  std::function<void(llvm::StringRef, size_t)> beforeStep;
  /// Called with the name of each step and the module after it, for
  /// TILEWRIGHT_DUMP and for timing; may be empty.
  std::function<void(llvm::StringRef, mlir::ModuleOp)> afterStep;
  /// Names of passes to leave out; checkSkippedPasses says which may be here.
  std::vector<std::string> skipped;
  /// The part of pipelineSteps() to run.
  size_t first = 0, end = ~size_t(0);
  /// Runs MLIR's verifier after each step.
  bool verifyEach = false;
};

struct PipelineStep {
  std::string name; ///< its flag, as "tw-pipeline-loops"
  bool isOptional;  ///< an optimisation, which may be skipped
};

/// All steps in order; a pass may be there more than once.
const std::vector<PipelineStep> &pipelineSteps();

/// Whether one of the names, with or without "tw-", is that of the step.
bool isSkipped(const PipelineStep &step, llvm::ArrayRef<std::string> skipped);

/// Raises E0708 for the name of no pass, and of one that is no optimisation.
void checkSkippedPasses(llvm::ArrayRef<std::string> skipped);

/// Takes a module from tile level to layout level with layouts assigned, shared
/// memory allocated and barriers in place. Sets the module attributes
/// tw.num_warps (chosen from the tile sizes where it was absent) and
/// tw.shared_bytes. Emits diagnostics on failure.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, const PipelineOptions &options);

/// The most stages with which a module of tile level fits into shared memory, where it does
/// not with as many as it asks for.
struct FittingStages {
  int stages = 0;
  int64_t sharedBytes = 0;
  /// Whether loops ask for more themselves (tl.range), so that the launch is not enough.
  bool changesLoops = false;
};

/// Found by trying them; nothing where one stage is too many as well. Emits nothing, and
/// leaves the module as it is.
std::optional<FittingStages> findFittingStages(mlir::ModuleOp module,
                                               const PipelineOptions &options);

/// Registers every pass for tilewright-opt.
void registerPasses();

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_PIPELINE_PIPELINE_H
