//===- F2.h - Small linear algebra over F2 ----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: ranks, solutions, inverses, complements and intersections of sets of
// columns. A column is a vector over F2 as the bits of one integer; a
// combination of columns is a mask with one bit per column (at most 64).
//
// How: one incremental echelon basis (class Basis) that remembers which of the
// inserted columns make each of its vectors. Everything else is a few lines
// around it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_LAYOUT_F2_H
#define TILEWRIGHT_IR_LAYOUT_F2_H

#include "ir/layout/LinearLayout.h"

namespace tilewright::f2 {

/// The span of the columns inserted so far, in echelon form, with a record of
/// how each echelon vector is made.
class Basis {
public:
  Basis() = default;
  explicit Basis(const Columns &columns);

  /// Adds a column, which takes the next index even where it is dependent.
  /// Returns whether the span grew.
  bool insert(uint32_t column);
  int rank() const { return static_cast<int>(vectors.size()); }
  int numInserted() const { return inserted; }
  bool contains(uint32_t vector) const { return reduce(vector) == 0; }
  /// `vector` modulo the span: zero exactly for members.
  uint32_t reduce(uint32_t vector) const;
  /// A mask of inserted columns whose XOR is `vector`. Only columns that were
  /// independent when inserted take part, so earlier columns are preferred and
  /// free variables are zero.
  std::optional<uint64_t> solve(uint32_t vector) const;
  /// Masks of inserted columns whose XOR is zero: one per dependent column.
  const std::vector<uint64_t> &kernel() const { return kernelMasks; }

private:
  std::vector<uint32_t> vectors;
  std::vector<uint64_t> combinations;
  std::vector<uint64_t> kernelMasks;
  int inserted = 0;
};

/// The XOR of the columns that `mask` names.
uint32_t multiply(const Columns &columns, uint64_t mask);
/// 1 where an odd number of bits is set.
uint32_t parity(uint32_t bits);
/// The position of the highest set bit; 0 for 0 and 1.
int floorLog2(uint64_t value);
int rank(const Columns &columns);
bool inSpan(const Columns &columns, uint32_t vector);
/// A basis of {mask : XOR of the named columns is 0}.
std::vector<uint64_t> kernelBasis(const Columns &columns);
/// The columns that are independent of those before them, in their order.
Columns independentColumns(const Columns &columns);
/// Column i of the inverse is the combination that gives unit vector i.
/// Nothing where `columns` is not a square invertible matrix of `numBits`.
std::optional<Columns> inverse(const Columns &columns, int numBits);
/// As `inverse` for columns that only span: dependent columns are not used.
/// Nothing where they do not span all of `numBits`.
std::optional<Columns> rightInverse(const Columns &columns, int numBits);
/// Unit vectors (lowest first) that complete span(columns) to `numBits` bits.
Columns complementBasis(const Columns &columns, int numBits);
/// A basis of span(a) intersected with span(b). Columns of `a` that lie in
/// span(b) come first and unchanged.
Columns intersection(const Columns &a, const Columns &b);
int intersectionRank(const Columns &a, const Columns &b);
/// {1, 2, 4, ...}: the identity of `numBits` bits, shifted up by `shift`.
Columns identityColumns(int numBits, int shift = 0);
/// The concatenation.
Columns concat(const Columns &a, const Columns &b);

} // namespace tilewright::f2

#endif // TILEWRIGHT_IR_LAYOUT_F2_H
