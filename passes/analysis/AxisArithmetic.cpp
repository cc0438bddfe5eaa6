//===- AxisArithmetic.cpp - Axis facts of arithmetic ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AxisRules.h"

using namespace mlir;

namespace tilewright::passes {

void transferAdd(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, int64_t unit) {
  auto runs = [](llvm::ArrayRef<int64_t> lhsRuns, llvm::ArrayRef<int64_t> rhsConstancy, int dim) {
    return std::min(lhsRuns[dim], rhsConstancy[dim]);
  };
  for (int dim = 0; dim < t.rank(); ++dim) {
    t.result.run[dim] =
        std::max(runs(lhs.run, rhs.constancy, dim), runs(rhs.run, lhs.constancy, dim));
    int64_t group = std::max(runs(lhs.contiguity, rhs.constancy, dim),
                             runs(rhs.contiguity, lhs.constancy, dim));
    setGroups(
        t, dim, group,
        std::min(divisorAt(lhs, dim, group, unit), multiply(divisorAt(rhs, dim, group), unit)),
        std::min(lhs.constancy[dim], rhs.constancy[dim]));
  }
  t.result.nonNegative = lhs.nonNegative && rhs.nonNegative;
}

void transferSub(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim) {
    t.result.run[dim] = std::min(t.lhs().run[dim], t.rhs().constancy[dim]);
    int64_t group = std::min(t.lhs().contiguity[dim], t.rhs().constancy[dim]);
    setGroups(t, dim, group,
              std::min(divisorAt(t.lhs(), dim, group), divisorAt(t.rhs(), dim, group)),
              std::min(t.lhs().constancy[dim], t.rhs().constancy[dim]));
  }
}

void transferMul(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs) {
  for (const auto &[one, other] : {std::pair(&lhs, &rhs), std::pair(&rhs, &lhs)})
    if (one->constant == 1) {
      std::optional<int64_t> constant = t.result.constant;
      t.result = *other;
      t.result.constant = constant;
      return;
    }
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, multiply(divisorAt(lhs, dim, 1), divisorAt(rhs, dim, 1)),
              std::min(lhs.constancy[dim], rhs.constancy[dim]));
  t.result.nonNegative = lhs.nonNegative && rhs.nonNegative;
}

void transferDiv(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, bool floors) {
  // An unknown divisor counts as positive (AxisInfo.h, Assumption).
  bool isPositive = lhs.nonNegative && (rhs.nonNegative || !rhs.constant);
  bool useRuns = floors || isPositive;
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t constancy = std::min(lhs.constancy[dim], rhs.constancy[dim]);
    if (useRuns) {
      int64_t group = std::min({alignedRun(lhs, dim), divisorOfAll(rhs), rhs.constancy[dim]});
      constancy = std::max(constancy, group);
    }
    int64_t divisibility = 1;
    // Exact division, whichever way it rounds: 2^a * x / 2^b. Other divisors promise nothing.
    if (rhs.constant && *rhs.constant > 0 && llvm::isPowerOf2_64(*rhs.constant) &&
        divisorOfAll(lhs) > *rhs.constant)
      divisibility = divisorOfAll(lhs) / *rhs.constant;
    setGroups(t, dim, 1, divisibility, constancy);
  }
  if (rhs.constant == 1) {
    t.result = lhs;
    return;
  }
  t.result.nonNegative = isPositive;
}

void transferRem(Transfer &t, const AxisInfo &lhs, const AxisInfo &rhs, bool wraps) {
  bool useRuns = wraps || lhs.nonNegative;
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t group =
        useRuns ? std::min({alignedRun(lhs, dim), divisorOfAll(rhs), rhs.constancy[dim]}) : 1;
    // Rounding towards zero keeps divisors that both sides share.
    int64_t divisibility = std::min(divisorAt(lhs, dim, group), divisorOfAll(rhs));
    setGroups(t, dim, group, divisibility, std::min(lhs.constancy[dim], rhs.constancy[dim]));
  }
  t.result.nonNegative = lhs.nonNegative || (wraps && rhs.nonNegative);
}

AxisInfo constantInfo(const AxisInfo &like, int64_t value) {
  AxisInfo info = like;
  for (int dim = 0; dim < info.rank(); ++dim)
    info.divisibility[dim] = powerOfTwoDivisor(value);
  info.constant = value;
  info.nonNegative = value >= 0;
  return info;
}

void transferAnd(Transfer &t) {
  for (const auto &[mask, other] : {std::pair(&t.rhs(), &t.lhs()), std::pair(&t.lhs(), &t.rhs())}) {
    if (!mask->constant)
      continue;
    int64_t value = *mask->constant;
    // Low bits: the remainder by a power of two, for negative values as well.
    if (value > 0 && llvm::isMask_64(value))
      return transferRem(t, *other, constantInfo(*mask, value + 1), /*wraps=*/true);
    // High bits: rounds down to a multiple.
    if (value < 0 && llvm::isPowerOf2_64(-value)) {
      transferDiv(t, *other, constantInfo(*mask, -value), /*floors=*/true);
      for (int64_t &divisibility : t.result.divisibility)
        divisibility = std::max(-value, divisorOfAll(*other));
      t.result.nonNegative = other->nonNegative;
      return;
    }
  }
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, std::max(divisorAt(t.lhs(), dim, 1), divisorAt(t.rhs(), dim, 1)),
              std::min(t.lhs().constancy[dim], t.rhs().constancy[dim]));
  t.result.nonNegative = t.lhs().nonNegative || t.rhs().nonNegative;
}

void transferMixed(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, std::min(divisorAt(t.lhs(), dim, 1), divisorAt(t.rhs(), dim, 1)),
              std::min(t.lhs().constancy[dim], t.rhs().constancy[dim]));
  t.result.nonNegative = t.lhs().nonNegative && t.rhs().nonNegative;
}

void transferCompare(Transfer &t, arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  const AxisInfo *run = nullptr, *bound = nullptr;
  if (llvm::is_contained({P::slt, P::sge, P::ult, P::uge}, predicate))
    run = &t.lhs(), bound = &t.rhs();
  if (llvm::is_contained({P::sgt, P::sle, P::ugt, P::ule}, predicate))
    run = &t.rhs(), bound = &t.lhs();
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t constancy = std::min(t.lhs().constancy[dim], t.rhs().constancy[dim]);
    if (run) {
      int64_t group =
          std::min({alignedRun(*run, dim), bound->constancy[dim], divisorOfAll(*bound)});
      constancy = std::max(constancy, group);
    }
    setGroups(t, dim, 1, 1, constancy);
  }
}

void transferSelect(Transfer &t) {
  const AxisInfo &lhs = t.operands[1], &rhs = t.operands[2];
  bool scalarCondition =
      !llvm::isa<RankedTensorType>(llvm::cast<arith::SelectOp>(t.op).getCondition().getType());
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t choice = scalarCondition ? extentOf(t.op->getResult(0).getType(), dim)
                                     : t.operands[0].constancy[dim];
    int64_t unit = unitOf(t.op->getResult(0).getType());
    int64_t group = std::min({choice, lhs.contiguity[dim], rhs.contiguity[dim]});
    t.result.run[dim] = std::min({choice, lhs.run[dim], rhs.run[dim]});
    setGroups(t, dim, group,
              std::min(divisorAt(lhs, dim, group, unit), divisorAt(rhs, dim, group, unit)),
              std::min({choice, lhs.constancy[dim], rhs.constancy[dim]}));
  }
  t.result.nonNegative = lhs.nonNegative && rhs.nonNegative;
}

void transferElementwise(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t constancy = extentOf(t.op->getResult(0).getType(), dim);
    for (auto [operand, info] : llvm::zip(t.op->getOperands(), t.operands))
      if (llvm::isa<RankedTensorType>(operand.getType()))
        constancy = std::min(constancy, info.constancy[dim]);
    t.result.constancy[dim] = constancy;
  }
}

void transferShift(Transfer &t) {
  std::optional<int64_t> amount = t.rhs().constant;
  bool isKnown = amount && *amount >= 0 &&
                 *amount < std::min<int64_t>(62, integerWidth(t.op->getResult(0).getType()));
  if (!isKnown) {
    transferElementwise(t);
    // Shifting left by anything keeps zeros at the bottom.
    if (llvm::isa<arith::ShLIOp>(t.op))
      for (int dim = 0; dim < t.rank(); ++dim)
        t.result.divisibility[dim] = divisorOfAll(t.lhs());
    return;
  }
  AxisInfo factor = constantInfo(t.rhs(), int64_t(1) << *amount);
  if (llvm::isa<arith::ShLIOp>(t.op))
    return transferMul(t, t.lhs(), factor);
  transferDiv(t, t.lhs(), factor, /*floors=*/true);
  t.result.nonNegative = t.lhs().nonNegative || (llvm::isa<arith::ShRUIOp>(t.op) && *amount > 0);
}

} // namespace tilewright::passes
