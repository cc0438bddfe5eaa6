//===- AxisRules.h - What the rules of axis facts share ------- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the facts of one op, the helpers that every rule is made of, and the rules of
// arithmetic (AxisArithmetic.cpp). AxisTransfer.cpp has those of shapes and conversions.
//
// How: every rule speaks of aligned groups of g elements along one dimension. Two
// helpers carry the argument: divisorAt (what divides the first element of each
// group of g) and the observation that a group of g consecutive integers whose
// first is divisible by g meets no multiple of g but its first. The latter gives
// the rules of comparison, /, % and of widening, where an integer that wraps
// around would break a run.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_AXISRULES_H
#define TILEWRIGHT_PASSES_ANALYSIS_AXISRULES_H

#include "passes/analysis/AxisInfo.h"

#include "llvm/Support/MathExtras.h"

namespace tilewright::passes {

/// The facts of the operands and the result of one op, with its dimensions.
struct Transfer {
  mlir::Operation *op;
  llvm::ArrayRef<AxisInfo> operands;
  AxisInfo result;

  Transfer(mlir::Operation *op, llvm::ArrayRef<AxisInfo> operands)
      : op(op), operands(operands), result(AxisInfo::unknown(op->getResult(0).getType())) {}

  const AxisInfo &lhs() const { return operands[0]; }
  const AxisInfo &rhs() const { return operands[1]; }
  int rank() const { return result.rank(); }
};

/// What an integer step means in the unit of divisibility: bytes for pointers.
inline int64_t unitOf(mlir::Type type) {
  auto pointer = llvm::dyn_cast<ir::PointerType>(mlir::getElementTypeOrSelf(type));
  return pointer ? ir::elementBits(pointer.getPointee()) / 8 : 1;
}

inline int64_t extentOf(mlir::Type type, int dim) {
  auto tile = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tile && tile.getRank() > 0 ? tile.getDimSize(dim) : 1;
}

inline unsigned integerWidth(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() || llvm::isa<ir::PointerType>(element) ? 64
                                                                  : element.getIntOrFloatBitWidth();
}

inline int64_t multiply(int64_t lhs, int64_t rhs) {
  return llvm::Log2_64(lhs) + llvm::Log2_64(rhs) >= 62 ? maxDivisibility : lhs * rhs;
}

/// What divides the first elements of aligned groups of `group` along `dim`,
/// judged from this dimension alone.
inline int64_t divisorAlong(const AxisInfo &info, int dim, int64_t group, int64_t unit = 1) {
  if (group >= info.contiguity[dim])
    return info.divisibility[dim];
  return std::min(info.divisibility[dim], multiply(group, unit));
}

/// What divides every element.
inline int64_t divisorOfAll(const AxisInfo &info, int64_t unit = 1) {
  int64_t divisor = 1;
  for (int dim = 0; dim < info.rank(); ++dim)
    divisor = std::max(divisor, divisorAlong(info, dim, 1, unit));
  return divisor;
}

/// What divides the first elements of aligned groups of `group` along `dim`.
inline int64_t divisorAt(const AxisInfo &info, int dim, int64_t group, int64_t unit = 1) {
  return std::max(divisorAlong(info, dim, group, unit), divisorOfAll(info, unit));
}

/// The length of runs that are aligned to their own length: such a run does not
/// pass a multiple of it, hence not the end of the type's range.
inline int64_t alignedRun(const AxisInfo &info, int dim) {
  return std::min(info.contiguity[dim], divisorAt(info, dim, info.contiguity[dim]));
}

inline void setGroups(Transfer &t, int dim, int64_t contiguity, int64_t divisibility,
                      int64_t constancy) {
  t.result.contiguity[dim] = contiguity;
  t.result.divisibility[dim] = divisibility;
  t.result.constancy[dim] = constancy;
  t.result.run[dim] = std::max(t.result.run[dim], contiguity);
}

/// `info` with its runs cut to those that no wrap-around breaks.
inline AxisInfo withoutWrap(const AxisInfo &info) {
  AxisInfo cut = info;
  for (int dim = 0; dim < info.rank(); ++dim) {
    cut.contiguity[dim] = alignedRun(info, dim);
    cut.divisibility[dim] = divisorAt(info, dim, cut.contiguity[dim]);
  }
  return cut;
}

/// lhs + rhs, where a step of rhs counts `unit` units of divisibility.
void transferAdd(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, int64_t unit);
void transferSub(Transfer &t);
/// Both factors, or a factor and a power of two for shifts.
void transferMul(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs);
/// lhs / rhs rounding down: groups that lie between two multiples of the divisor
/// have one quotient. `floors` says that it is so for negative values too.
void transferDiv(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, bool floors);
/// lhs % rhs: a run that starts at a multiple of its length, in a modulus that is
/// a multiple too, stays a run. The sign is that of lhs, whatever rhs is.
void transferRem(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, bool wraps);
/// The facts of a value that is the constant `value` everywhere.
AxisInfo constantInfo(const AxisInfo &like, int64_t value);
void transferAnd(Transfer &t);
/// |, ^, min, max: nothing but what all elements share.
void transferMixed(Transfer &t);
/// A run against a bound: with both aligned to g, a group of g lies on one side.
/// True of v < n and v >= n, where n itself is on the side of the values above
/// it; of v <= n only where n is one less, so not claimed.
void transferCompare(Transfer &t, mlir::arith::CmpIPredicate predicate);
void transferSelect(Transfer &t);
void transferShift(Transfer &t);
/// A value that is constant in groups wherever its operands are.
void transferElementwise(Transfer &t);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_AXISRULES_H
