//===- VerifyKernels.h - What a launch needs of a module --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the rules of kernels that no operation's verifier knows. Modules of the front end
// satisfy them; IR that a user wrote may not.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_VERIFYKERNELS_H
#define TILEWRIGHT_CODEGEN_LOWER_VERIFYKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::codegen {

/// Whether the module has one kernel and a launch can start it. Reports the first function
/// that is wrong.
mlir::LogicalResult verifyKernels(mlir::ModuleOp module);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_VERIFYKERNELS_H
