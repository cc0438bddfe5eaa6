//===- KernelFacts.h - What was decided, by line of the source --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the outcome of the pipeline as JSON, for reports: the remarks, each tile that lives in
// registers with its layout, and each piece of shared memory with its place and the
// places of its uses.
//
//   {"remarks": [{"kind": ..., "applied": ..., "place": "file:line:col", "numbers": {...}, "reason": ...,
//                "parameter": "x_ptr"}],
//    "tiles": [{"op": "tw.load", "place": ..., "shape": [128, 64], "type": "f16",
//               "register": [[0, 1], ...], "lane": [...], "warp": [...], "block": [...]}],
//    "shared": [{"what": "3 x tile<64x128xf16>", "offset": 0, "bytes": 49152, "place": ...,
//                "first": 12, "last": 80}], "positions": 91,
//    "registers": {"forecast": 168, "data": 128, "addresses": 12, "scalars": 9, "place": ...}}
//
// `register` and so on are the columns of the layout as coordinates. `first` and `last` count
// ops in the order of the program, of which there are `positions`. `registers` is what
// Resources.h forecasts: of the place where most are alive, by what they hold.
//
// Why here: at the end of the pipeline, which knows all of it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_PIPELINE_KERNELFACTS_H
#define TILEWRIGHT_PASSES_PIPELINE_KERNELFACTS_H

#include "ir/support/Remark.h"
#include "ir/support/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>

namespace tilewright::passes {

/// The facts of a module as runPipeline leaves it, without the remarks.
std::string describeKernel(mlir::ModuleOp module, const TargetInfo &target);
/// Registers that a thread of such a module should take, of the function that takes the most.
int64_t forecastModuleRegisters(mlir::ModuleOp module);
/// Remarks as a JSON array.
std::string describeRemarks(const RemarkCollector &remarks);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_PIPELINE_KERNELFACTS_H
