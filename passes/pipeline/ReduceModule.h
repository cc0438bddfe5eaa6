//===- ReduceModule.h - A module without some of its ops --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one step of 'tilewright repro --reduce': takes ops out of a kernel and gives
// their users something else of the same type. Which ops to take, and whether the failure
// is still there, is decided outside (python/tilewright/compiler/reproducer.py), where a
// failure may also be a crash of a worker process.
//
// Why not mlir-reduce's library: its reduction tree erases ops by dropping their uses, so
// that only ops without users can go, and it asks a program per trial, which for us would
// be a start of Python.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_PIPELINE_REDUCEMODULE_H
#define TILEWRIGHT_PASSES_PIPELINE_REDUCEMODULE_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::passes {

/// How many ops could go: all inside functions but terminators.
size_t countOps(mlir::ModuleOp module);

/// Erases those of the ops [first, first + count), counted in the order of the text, whose
/// results can be replaced: by an operand, an earlier value of their type, or zeros. False
/// where none was erased, or the module breaks a rule without them.
bool eraseOps(mlir::ModuleOp module, size_t first, size_t count);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_PIPELINE_REDUCEMODULE_H
