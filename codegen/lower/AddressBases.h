//===- AddressBases.h - Addresses apart by constants ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how many addresses a thread has to hold for its accesses of a tile. Those
// apart by a constant are one, since an access adds a constant by itself.
//
// Not handled: what LLVM derives in other ways, such as induction variables; such
// addresses count each for itself. So this is for costs, never for correctness.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_ADDRESSBASES_H
#define TILEWRIGHT_CODEGEN_LOWER_ADDRESSBASES_H

#include "mlir/IR/Value.h"

namespace tilewright::codegen {

/// The number of values among `addresses` that are not apart from each other by constants.
size_t countAddressBases(llvm::ArrayRef<mlir::Value> addresses);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_ADDRESSBASES_H
