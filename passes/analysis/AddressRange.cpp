//===- AddressRange.cpp - Which elements an access touches ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AddressRange.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace tilewright::passes {

/// Numbers stay far from overflow; larger ones have no form.
constexpr int64_t maxMagnitude = int64_t(1) << 40;

static std::optional<AddressRange> checked(AddressRange range) {
  if (std::abs(range.low) > maxMagnitude || std::abs(range.high) > maxMagnitude)
    return std::nullopt;
  for (auto [value, factor] : range.factors)
    if (std::abs(factor) > maxMagnitude)
      return std::nullopt;
  return range;
}

static std::optional<AddressRange> add(std::optional<AddressRange> lhs,
                                       const std::optional<AddressRange> &rhs, int64_t sign) {
  if (!lhs || !rhs)
    return std::nullopt;
  for (auto [value, factor] : rhs->factors)
    lhs->factors[value] += sign * factor;
  lhs->factors.remove_if([](auto &entry) { return entry.second == 0; });
  lhs->low += sign > 0 ? rhs->low : -rhs->high;
  lhs->high += sign > 0 ? rhs->high : -rhs->low;
  lhs->step = std::gcd(lhs->step, rhs->step);
  return checked(std::move(*lhs));
}

/// The form of a constant: the number, or nothing.
static std::optional<int64_t> constantOf(const std::optional<AddressRange> &range) {
  if (!range || !range->factors.empty() || range->low != range->high)
    return std::nullopt;
  return range->low;
}

static std::optional<AddressRange> scale(std::optional<AddressRange> range, int64_t factor) {
  if (!range || std::abs(factor) > maxMagnitude)
    return std::nullopt;
  for (auto &[value, old] : range->factors)
    old *= factor;
  range->factors.remove_if([](auto &entry) { return entry.second == 0; });
  int64_t low = range->low * factor, high = range->high * factor;
  range->low = std::min(low, high);
  range->high = std::max(low, high);
  range->step *= std::abs(factor);
  return checked(std::move(*range));
}

/// A loop variable that a tile is carried in, advanced by a constant: what it is
/// at first plus an unknown multiple, for which it stands itself.
static std::optional<AddressRange> ofLoopVariable(BlockArgument argument);

// Variables of scf.for are looked at by hand: only it moves them by a step that may be known,
// and has an index. RegionFlow would not tell what comes round from what comes in.

/// By how much a loop variable moves per iteration; nothing where not constant.
static std::optional<int64_t> stepOf(BlockArgument argument) {
  auto loop = llvm::dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop)
    return std::nullopt;
  if (argument == loop.getInductionVar())
    return constantOf(addressRange(loop.getStep()));
  unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
  Operation *next = loop.getBody()->getTerminator()->getOperand(index).getDefiningOp();
  if (!next || !llvm::isa<ir::AddPtrOp, arith::AddIOp>(next) || next->getOperand(0) != argument)
    return std::nullopt;
  return constantOf(addressRange(next->getOperand(1)));
}

static std::optional<AddressRange> ofLoopVariable(BlockArgument argument) {
  auto loop = llvm::dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument == loop.getInductionVar() || !stepOf(argument))
    return std::nullopt;
  unsigned index = argument.getArgNumber() - loop.getNumInductionVars();
  std::optional<AddressRange> range = addressRange(loop.getInitArgs()[index]);
  if (range)
    range->factors[argument] += 1;
  return range;
}

/// One of the values that the same op on the same operands computes: branches next to each other
/// compute an offset each for itself.
static Value representative(Value value) {
  auto result = llvm::dyn_cast<OpResult>(value);
  if (!result || result.getOwner()->getNumOperands() == 0 || !isPure(result.getOwner()))
    return value;
  auto isSame = [&](Operation *user) {
    return OperationEquivalence::isEquivalentTo(user, result.getOwner(),
                                                OperationEquivalence::IgnoreLocations);
  };
  auto users = result.getOwner()->getOperand(0).getUsers();
  return (*llvm::find_if(users, isSame))->getResult(result.getResultNumber());
}

std::optional<AddressRange> addressRange(Value value) {
  using Range = std::optional<AddressRange>;
  auto symbol = [&]() -> Range {
    if (auto argument = llvm::dyn_cast<BlockArgument>(value))
      if (Range range = ofLoopVariable(argument))
        return range;
    // An unknown tile is no one number.
    if (isTile(value))
      return std::nullopt;
    AddressRange range;
    range.factors[representative(value)] = 1;
    return range;
  };
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)) && number.getSignificantBits() <= 41)
    return AddressRange{{}, number.getSExtValue(), number.getSExtValue(), 0};
  Operation *op = value.getDefiningOp();
  if (!op)
    return symbol();
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case([&](ir::RangeOp range) -> Range {
        int64_t first = int32_t(range.getStart()), last = int64_t(int32_t(range.getEnd())) - 1;
        return AddressRange{{}, first, last, first < last};
      })
      .Case<ir::SplatOp, ir::ExpandDimsOp, ir::BroadcastOp, ir::ReshapeOp, ir::PermuteOp,
            ir::HintOp, ir::ConvertLayoutOp, arith::ExtSIOp>(
          [&](auto op) { return addressRange(op->getOperand(0)); })
      .Case([&](arith::AddIOp op) {
        return add(addressRange(op.getLhs()), addressRange(op.getRhs()), 1);
      })
      .Case([&](arith::SubIOp op) {
        return add(addressRange(op.getLhs()), addressRange(op.getRhs()), -1);
      })
      .Case([&](arith::MulIOp op) -> Range {
        Range lhs = addressRange(op.getLhs()), rhs = addressRange(op.getRhs());
        if (std::optional<int64_t> factor = constantOf(rhs))
          return scale(lhs, *factor);
        if (std::optional<int64_t> factor = constantOf(lhs))
          return scale(rhs, *factor);
        return symbol();
      })
      .Case([&](ir::AddPtrOp op) -> Range {
        // A zero-extended offset is not the integer that was computed.
        if (op.getIsUnsigned())
          return symbol();
        return add(addressRange(op.getPointer()), addressRange(op.getOffset()), 1);
      })
      .Default([&](Operation *) { return symbol(); });
}

static bool sameFactors(const AddressRange &lhs, const AddressRange &rhs) {
  if (lhs.factors.size() != rhs.factors.size())
    return false;
  for (auto [value, factor] : lhs.factors)
    if (auto found = rhs.factors.find(value); found == rhs.factors.end() || found->second != factor)
      return false;
  return true;
}

/// Whether the steps keep the two apart, also when one is moved by multiples of `advance`.
static bool areInterleaved(const AddressRange &lhs, const AddressRange &rhs, int64_t advance) {
  int64_t step = std::gcd(std::gcd(lhs.step, rhs.step), advance);
  return step != 0 && (lhs.low - rhs.low) % step != 0;
}

bool areDisjoint(const AddressRange &lhs, const AddressRange &rhs) {
  return sameFactors(lhs, rhs) &&
         (lhs.high < rhs.low || rhs.high < lhs.low || areInterleaved(lhs, rhs, /*advance=*/0));
}

bool areDisjointAcross(Operation *loop, const AddressRange &lhs, const AddressRange &rhs) {
  if (!sameFactors(lhs, rhs))
    return false;
  int64_t advance = 0;
  for (auto [value, factor] : lhs.factors) {
    if (!loop->isAncestor(value.getParentBlock()->getParentOp()))
      continue;
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    std::optional<int64_t> step =
        argument && argument.getOwner()->getParentOp() == loop ? stepOf(argument) : std::nullopt;
    // Made anew in each iteration: may be anything.
    if (!step || std::abs(*step) > maxMagnitude || std::abs(*step * factor) > maxMagnitude)
      return false;
    advance += *step * factor;
  }
  // One iteration or more apart: at least |advance| elements.
  return std::abs(advance) > std::max(lhs.high - rhs.low, rhs.high - lhs.low) ||
         areInterleaved(lhs, rhs, advance);
}

} // namespace tilewright::passes
