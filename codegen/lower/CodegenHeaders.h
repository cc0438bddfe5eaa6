//===- CodegenHeaders.h - Precompiled headers of codegen --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowerings include beside TileDialect.h, compiled once: the dialects of
// LLVM have more classes than all others together. No file may rely on it: each
// includes what it uses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_CODEGENHEADERS_H
#define TILEWRIGHT_CODEGEN_LOWER_CODEGENHEADERS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

#endif // TILEWRIGHT_CODEGEN_LOWER_CODEGENHEADERS_H
