//===- MemoryInternal.h - Accesses of a tile as vectors ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what loads, stores and atomics share: which registers go together in
// one access, how they are packed into words, and who owns an element.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_LOWER_MEMORYINTERNAL_H
#define TILEWRIGHT_CODEGEN_LOWER_MEMORYINTERNAL_H

#include "codegen/lower/Lowering.h"

namespace tilewright::codegen {

/// The registers of one access, in the order of memory.
using AccessRegisters = llvm::SmallVector<int, 8>;

/// How the registers of a tile (or scalar) group into vector accesses.
struct AccessPlan {
  std::vector<AccessRegisters> accesses;
  /// Register r holds a copy of register copyOf[r], which an access names.
  std::vector<int> copyOf;
};
/// Up to tw.vector_elements and the target's widest access.
AccessPlan planAccesses(mlir::Operation *op, mlir::Type type, const TargetInfo &target);

/// Elements as words: `numWords` integers of `wordBits`, which hold `perWord`
/// elements of `elementBits` each, the first element lowest.
struct WordFormat {
  unsigned elementBits, wordBits;
  int numWords, perWord;
  WordFormat(unsigned elementBits, int numElements);
  mlir::Type wordType(mlir::OpBuilder &builder) const;
  /// Constraint letter and type suffix of a word in inline PTX. A byte travels
  /// in a 16-bit register: PTX has none smaller.
  const char *constraint() const { return wordBits == 64 ? "l" : wordBits == 32 ? "r" : "h"; }
};
llvm::SmallVector<mlir::Value> packWords(FunctionLowering &lowering, const WordFormat &format,
                                         llvm::ArrayRef<mlir::Value> elements);
llvm::SmallVector<mlir::Value> unpackWords(FunctionLowering &lowering, const WordFormat &format,
                                           llvm::ArrayRef<mlir::Value> words,
                                           mlir::Type registerType);

/// Two equal-typed values as a vector.
mlir::Value packPair(FunctionLowering &lowering, mlir::Value low, mlir::Value high);

/// The conjunction of two predicates of which either may be null (true).
mlir::Value conjunction(FunctionLowering &lowering, mlir::Value left, mlir::Value right);
/// Whether a predicate is null or the constant true.
bool isAlways(mlir::Value predicate);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_MEMORYINTERNAL_H
