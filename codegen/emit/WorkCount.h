//===- WorkCount.h - Bytes and operations of a launch -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how many bytes a program reads and writes and how many operations on floats it does,
// by argument and type, as JSON:
//
//   [{"what": "read", "parameter": "a", "amount": 4096, "times": [["trips", 0, ["parameter", "K"], 32]]},
//    {"what": "products", "type": "f16", "amount": 262144, "times": [...]}, ...]
//
// `amount` counts one run of the op. `times` has a factor for each loop and branch around it, as
// an expression of integer parameters and of the program's place in the grid, or null if only the
// running kernel knows it. The profiler computes these factors for the arguments of each launch.
//
// Why here: before any pass, when loops are the user's and no load is repeated.
//
// Not handled: masks (a masked lane counts), calls of functions that are not inlined, and
// bounds that depend on another loop's variable or on loaded values.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_WORKCOUNT_H
#define TILEWRIGHT_CODEGEN_EMIT_WORKCOUNT_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tilewright::codegen {

std::string countWork(mlir::ModuleOp module);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_WORKCOUNT_H
