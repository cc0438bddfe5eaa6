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

namespace tilewright::passes {

struct PipelineOptions {
  const TargetInfo *target = nullptr;
  /// May be null.
  RemarkCollector *remarks = nullptr;
  /// Called with the name of each step and the module after it, for
  /// TILEWRIGHT_DUMP and for timing; may be empty.
  std::function<void(llvm::StringRef, mlir::ModuleOp)> afterStep;
};

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
