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
/// Up to tw.vector_elements, the target's widest access and `maxElements`.
AccessPlan planAccesses(mlir::Operation *op, mlir::Type type, const TargetInfo &target,
                        int64_t maxElements = INT64_MAX);

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

/// Some bytes of two integers of at most 32 bits, named by selectors of four bits each.
mlir::Value permuteBytes(FunctionLowering &lowering, mlir::Value low, mlir::Value high,
                         int64_t selectors);
/// The word (i32) whose four bytes these are, in their order; null where there is none.
mlir::Value wordOfBytes(FunctionLowering &lowering, llvm::ArrayRef<mlir::Value> bytes);
/// A word (i32) with these bytes lowest in its halves; what is above them does not matter.
mlir::Value spreadBytes(FunctionLowering &lowering, mlir::Value low, mlir::Value high);

/// "{$2, $3}" in inline PTX for the operands from `first` on.
std::string wordList(int first, int count);

/// Two equal-typed values as a vector.
mlir::Value packPair(FunctionLowering &lowering, mlir::Value low, mlir::Value high);

//===--- one access --------------------------------------------------------===//

/// The part of an instruction's name between "ld" or "st" and the vector width,
/// and the policy operand where one is needed.
struct AccessModifiers {
  std::string text;
  mlir::Value policy;
  bool isPlain = true;
};
AccessModifiers modifiersOf(FunctionLowering &lowering, unsigned addressSpace,
                            ir::CacheModifier cache, ir::Eviction eviction, bool isVolatile);
/// A cache policy that covers the whole access.
mlir::Value makePolicy(FunctionLowering &lowering, ir::Eviction eviction);

/// Native accesses, aligned to their size.
llvm::SmallVector<mlir::Value> emitPlainLoad(FunctionLowering &lowering, mlir::Value address,
                                             const WordFormat &format);
void emitPlainStore(FunctionLowering &lowering, mlir::Value address, const WordFormat &format,
                    llvm::ArrayRef<mlir::Value> words);
/// The elements at a global address where `mask` (null: always) holds, else
/// `initial`.
llvm::SmallVector<mlir::Value> loadElements(FunctionLowering &lowering, mlir::Value address,
                                            mlir::Value mask, llvm::ArrayRef<mlir::Value> initial,
                                            const WordFormat &format,
                                            const AccessModifiers &modifiers, bool isVolatile);

/// A store to shared memory at a 32-bit address plus an immediate.
void emitSharedStore(FunctionLowering &lowering, std::pair<mlir::Value, int64_t> address,
                     const WordFormat &format, llvm::ArrayRef<mlir::Value> words,
                     mlir::Value predicate);

/// The words at an address of addressInBlock.
llvm::SmallVector<mlir::Value> emitClusterLoad(FunctionLowering &lowering, mlir::Value address,
                                               const WordFormat &format);

/// Gives the elements that their owners have read (FunctionLowering::ownsElements) to all threads
/// that hold copies: by shuffles, or through the scratch of `op`, whose result they are.
mlir::LogicalResult spreadResult(mlir::Operation *op, FunctionLowering &lowering,
                                 Registers &results, const AccessPlan &plan);

/// The conjunction of two predicates of which either may be null (true).
mlir::Value conjunction(FunctionLowering &lowering, mlir::Value left, mlir::Value right);
/// Whether a predicate is null or the constant true.
bool isAlways(mlir::Value predicate);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_LOWER_MEMORYINTERNAL_H
