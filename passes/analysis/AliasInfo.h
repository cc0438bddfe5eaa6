//===- AliasInfo.h - Which memory a pointer may point into ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the kernel arguments from which a pointer is derived. Two accesses may
// meet if they share one, or if either comes from an integer or from memory.
//
// Assumption: different pointer arguments point to different memory within one
// program; as in the source language, a kernel that is given overlapping buffers
// and relies on the order of its accesses says so with tl.debug_barrier.
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

  bool mayAlias(const PointerBases &other) const;
};

/// Appends the values that a value may be a copy of, where it is carried round a loop
/// or out of a region; false where it is not, or nothing is known.
bool carriedFrom(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &sources);

class AliasInfo {
public:
  const PointerBases &bases(mlir::Value pointer);

private:
  llvm::DenseMap<mlir::Value, PointerBases> known;
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_ALIASINFO_H
