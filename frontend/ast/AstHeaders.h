//===- AstHeaders.h - Precompiled headers of the AST walk -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files here include beside pybind11 (python/bindings/BindingHeaders.h),
// compiled once for each interpreter. No file may rely on it: each includes what it
// uses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_AST_ASTHEADERS_H
#define TILEWRIGHT_FRONTEND_AST_ASTHEADERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#endif // TILEWRIGHT_FRONTEND_AST_ASTHEADERS_H
