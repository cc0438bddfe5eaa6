//===- AliasInfo.h - Which memory a pointer may point into ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the kernel arguments from which a pointer is derived, and whether two accesses
// may overlap: if they share one, or if either comes from an integer or from memory.
//
// Different pointer arguments may point into the same memory all the same. The launch knows
// the addresses, so a kernel is compiled in one of two forms. The usual one takes arguments
// for distinct; each answer that rests on it leaves a mark on the module
// (needsDistinctArgumentsAttr), and the launcher checks the arguments of kernels with this
// mark. Where they overlap it launches the other form (argumentsOverlapAttr), in which any
// two arguments may overlap.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_ALIASINFO_H
#define TILEWRIGHT_PASSES_ANALYSIS_ALIASINFO_H

#include "ir/dialect/TileDialect.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace tilewright::passes {

struct PointerBases {
  llvm::SmallPtrSet<mlir::Value, 2> arguments;
  /// Comes from an integer or from memory: may be anywhere.
  bool anywhere = false;
};

class AliasInfo {
public:
  explicit AliasInfo(mlir::ModuleOp module);

  /// Whether the order of two accesses through these addresses counts. Marks the module
  /// where that is denied because different arguments are taken for distinct.
  bool mayAlias(mlir::Value lhs, mlir::Value rhs);
  /// The same for accesses by different threads, which a program orders itself
  /// (tl.debug_barrier) where they go through different arguments: leaves no mark.
  bool mayAliasAcrossThreads(mlir::Value lhs, mlir::Value rhs);

private:
  mlir::ModuleOp module;
  /// Any two arguments may overlap.
  bool argumentsOverlap;
  llvm::DenseMap<mlir::Value, PointerBases> known;

  const PointerBases &bases(mlir::Value pointer);
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_ALIASINFO_H
