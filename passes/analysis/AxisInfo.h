//===- AxisInfo.h - What is known of values along each dimension *- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: for every integer, boolean and pointer value, and for each of its
// dimensions, how consecutive elements relate. From these facts follow the
// vector width of an access (contiguity, alignment of the address, constancy of
// the mask) and the dimension that lanes should run along.
//
// The claims, for dimension d of extent n (a scalar counts as one dimension of
// extent 1). All numbers are powers of two; groups are aligned to their length
// along d, at any position of the other dimensions.
//
//   contiguity[d] = c     each group of c elements is v, v + 1, ..., v + c - 1,
//                         pointers in elements, integers modulo 2^width
//   divisibility[d] = D   the first element v of each such group is divisible
//                         by D, pointers in bytes
//   constancy[d] = k      each group of k elements is equal
//   run[d]                as contiguity, but assuming that no group passes the
//                         end of its type's range: for choosing the order of
//                         dimensions, never for correctness
//
// Example: 4-byte pointers base + 16 * row + column of a 4x8 tile, where base is
// divisible by 16 bytes: contiguity [1, 8], divisibility [4, 16],
// constancy [1, 1]: a thread may load 4 elements along dimension 1 at once.
//
// Assumption: values known to be non-negative stay so under +, * and <<; as in
// the source language a 32-bit index that overflows is the program's error.
// Contiguity and divisibility hold without it; it only admits / and %, which
// round towards zero. Likewise a divisor that is not a constant counts as
// positive: index arithmetic divides by extents and numbers of tiles.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_AXISINFO_H
#define TILEWRIGHT_PASSES_ANALYSIS_AXISINFO_H

#include "ir/dialect/TileDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace tilewright::passes {

struct AxisInfo {
  llvm::SmallVector<int64_t, 2> contiguity, divisibility, constancy, run;
  /// The value of every element, where it is known.
  std::optional<int64_t> constant;
  /// No element is negative as a signed integer.
  bool nonNegative = false;

  int rank() const { return static_cast<int>(contiguity.size()); }
  /// Knows nothing: all numbers 1.
  static AxisInfo unknown(mlir::Type type);
  /// Holds whichever of the two holds.
  static AxisInfo join(const AxisInfo &lhs, const AxisInfo &rhs);
  bool operator==(const AxisInfo &other) const;
  bool operator!=(const AxisInfo &other) const { return !(*this == other); }
  /// "contiguity = [1, 8], divisibility = [4, 16], constancy = [1, 1]".
  std::string toString() const;
};

/// The facts of one function, computed once; values made later are unknown.
class AxisAnalysis {
public:
  explicit AxisAnalysis(mlir::func::FuncOp function);
  /// Facts of a value; all 1 where nothing is known.
  AxisInfo get(mlir::Value value) const;
  /// Gives `value` the facts of `original`: for clones in another layout.
  void copy(mlir::Value original, mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, AxisInfo> facts;

  void visitBlock(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitFor(mlir::scf::ForOp loop);
  void visitWhile(mlir::scf::WhileOp loop);
  void visitIf(mlir::scf::IfOp branch);
};

/// The facts of the results of an op without regions from those of its operands.
/// (AxisTransfer.cpp)
AxisInfo transferAxisInfo(mlir::Operation *op, llvm::ArrayRef<AxisInfo> operands);

/// The largest power of two that divides `value`; a large one for 0.
int64_t powerOfTwoDivisor(int64_t value);
/// What stands for "divisible by everything".
constexpr int64_t maxDivisibility = int64_t(1) << 62;

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_AXISINFO_H
