//===- AxisTransfer.cpp - Facts along each dimension, op by op ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: every rule speaks of aligned groups of g elements along one dimension. Two
// helpers carry the argument: divisorAt (what divides the first element of each
// group of g) and the observation that a group of g consecutive integers whose
// first is divisible by g meets no multiple of g but its first. The latter gives
// the rules of comparison, /, % and of widening, where an integer that wraps
// around would break a run.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AxisInfo.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

namespace {

/// The facts of the operands and the result of one op, with its dimensions.
struct Transfer {
  Operation *op;
  llvm::ArrayRef<AxisInfo> operands;
  AxisInfo result;

  Transfer(Operation *op, llvm::ArrayRef<AxisInfo> operands)
      : op(op), operands(operands), result(AxisInfo::unknown(op->getResult(0).getType())) {}

  const AxisInfo &lhs() const { return operands[0]; }
  const AxisInfo &rhs() const { return operands[1]; }
  int rank() const { return result.rank(); }
};

/// What an integer step means in the unit of divisibility: bytes for pointers.
int64_t unitOf(Type type) {
  auto pointer = llvm::dyn_cast<ir::PointerType>(getElementTypeOrSelf(type));
  return pointer ? ir::elementBits(pointer.getPointee()) / 8 : 1;
}

int64_t extentOf(Type type, int dim) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  return tile && tile.getRank() > 0 ? tile.getDimSize(dim) : 1;
}

unsigned integerWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() || llvm::isa<ir::PointerType>(element) ? 64
                                                                  : element.getIntOrFloatBitWidth();
}

int64_t multiply(int64_t lhs, int64_t rhs) {
  return llvm::Log2_64(lhs) + llvm::Log2_64(rhs) >= 62 ? maxDivisibility : lhs * rhs;
}

/// What divides the first elements of aligned groups of `group` along `dim`,
/// judged from this dimension alone.
int64_t divisorAlong(const AxisInfo &info, int dim, int64_t group, int64_t unit = 1) {
  if (group >= info.contiguity[dim])
    return info.divisibility[dim];
  return std::min(info.divisibility[dim], multiply(group, unit));
}

/// What divides every element.
int64_t divisorOfAll(const AxisInfo &info, int64_t unit = 1) {
  int64_t divisor = 1;
  for (int dim = 0; dim < info.rank(); ++dim)
    divisor = std::max(divisor, divisorAlong(info, dim, 1, unit));
  return divisor;
}

/// What divides the first elements of aligned groups of `group` along `dim`.
int64_t divisorAt(const AxisInfo &info, int dim, int64_t group, int64_t unit = 1) {
  return std::max(divisorAlong(info, dim, group, unit), divisorOfAll(info, unit));
}

/// The length of runs that are aligned to their own length: such a run does not
/// pass a multiple of it, hence not the end of the type's range.
int64_t alignedRun(const AxisInfo &info, int dim) {
  return std::min(info.contiguity[dim], divisorAt(info, dim, info.contiguity[dim]));
}

void setGroups(Transfer &t, int dim, int64_t contiguity, int64_t divisibility, int64_t constancy) {
  t.result.contiguity[dim] = contiguity;
  t.result.divisibility[dim] = divisibility;
  t.result.constancy[dim] = constancy;
  t.result.run[dim] = std::max(t.result.run[dim], contiguity);
}

/// `info` with its runs cut to those that no wrap-around breaks.
AxisInfo withoutWrap(const AxisInfo &info) {
  AxisInfo cut = info;
  for (int dim = 0; dim < info.rank(); ++dim) {
    cut.contiguity[dim] = alignedRun(info, dim);
    cut.divisibility[dim] = divisorAt(info, dim, cut.contiguity[dim]);
  }
  return cut;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// lhs + rhs, where a step of rhs counts `unit` units of divisibility.
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

/// Both factors, or a factor and a power of two for shifts.
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

/// lhs / rhs rounding down: groups that lie between two multiples of the divisor
/// have one quotient. `floors` says that it is so for negative values too.
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

/// lhs % rhs: a run that starts at a multiple of its length, in a modulus that is
/// a multiple too, stays a run. The sign is that of lhs, whatever rhs is.
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

/// The facts of a value that is the constant `value` everywhere.
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

/// |, ^, min, max: nothing but what all elements share.
void transferMixed(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, std::min(divisorAt(t.lhs(), dim, 1), divisorAt(t.rhs(), dim, 1)),
              std::min(t.lhs().constancy[dim], t.rhs().constancy[dim]));
  t.result.nonNegative = t.lhs().nonNegative && t.rhs().nonNegative;
}

/// A run against a bound: with both aligned to g, a group of g lies on one side.
/// True of v < n and v >= n, where n itself is on the side of the values above
/// it; of v <= n only where n is one less, so not claimed.
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

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

void transferExtend(Transfer &t, bool isSigned) {
  std::optional<int64_t> constant = t.result.constant;
  llvm::SmallVector<int64_t, 2> run = t.lhs().run;
  t.result = withoutWrap(t.lhs());
  t.result.run = run;
  t.result.constant = constant;
  t.result.nonNegative = !isSigned || t.lhs().nonNegative;
}

/// Modulo a smaller power of two runs stay runs; the sign may change.
void transferTruncate(Transfer &t) {
  std::optional<int64_t> constant = t.result.constant;
  t.result = t.lhs();
  t.result.constant = constant;
  t.result.nonNegative = constant && *constant >= 0;
}

void transferAddPtr(Transfer &t, ir::AddPtrOp op) {
  // The offset is widened to 64 bits first.
  bool widens = integerWidth(op.getOffset().getType()) < 64;
  transferAdd(t, t.lhs(), widens ? withoutWrap(t.rhs()) : t.rhs(), unitOf(op.getType()));
  for (int dim = 0; dim < t.rank(); ++dim)
    t.result.run[dim] = std::max(std::min(t.lhs().run[dim], t.rhs().constancy[dim]),
                                 std::min(t.rhs().run[dim], t.lhs().constancy[dim]));
}

/// The same bits in another unit: runs survive only where the unit stays.
void transferReinterpret(Transfer &t) {
  Type from = t.op->getOperand(0).getType(), to = t.op->getResult(0).getType();
  int64_t unit = unitOf(from);
  auto isAddress = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return llvm::isa<ir::PointerType, IntegerType>(element);
  };
  if (!isAddress(from) || !isAddress(to)) {
    for (int dim = 0; dim < t.rank(); ++dim)
      t.result.constancy[dim] = t.lhs().constancy[dim];
    return;
  }
  if (unit == unitOf(to)) {
    t.result = t.lhs();
    t.result.constant.reset();
    return;
  }
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, divisorOfAll(t.lhs(), unit), t.lhs().constancy[dim]);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

void transferSplat(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim)
    setGroups(t, dim, 1, t.lhs().divisibility[0], extentOf(t.op->getResult(0).getType(), dim));
  t.result.constant = t.lhs().constant;
  t.result.nonNegative = t.lhs().nonNegative;
}

void transferRange(Transfer &t, ir::RangeOp op) {
  setGroups(t, 0, extentOf(op.getType(), 0), powerOfTwoDivisor(op.getStart()), 1);
  t.result.nonNegative = int32_t(op.getStart()) >= 0;
}

void transferExpandDims(Transfer &t, ir::ExpandDimsOp op) {
  int axis = op.getAxis();
  int64_t unit = unitOf(op.getType());
  t.result = t.lhs();
  // A scalar-like source of rank 0 does not occur: tiles have rank 1 or more.
  t.result.contiguity.insert(t.result.contiguity.begin() + axis, 1);
  t.result.divisibility.insert(t.result.divisibility.begin() + axis, divisorOfAll(t.lhs(), unit));
  t.result.constancy.insert(t.result.constancy.begin() + axis, 1);
  t.result.run.insert(t.result.run.begin() + axis, 1);
}

void transferBroadcast(Transfer &t, ir::BroadcastOp op) {
  t.result = t.lhs();
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t extent = extentOf(op.getType(), dim);
    if (extent != extentOf(op.getSource().getType(), dim))
      t.result.constancy[dim] = extent;
  }
}

/// Facts along the row-major position: those of the last dimension of extent
/// above 1, whose runs do not pass a row.
struct FlatInfo {
  int64_t contiguity = 1, divisibility = maxDivisibility, constancy = 1, run = 1;
};

FlatInfo flatten(const AxisInfo &info, RankedTensorType type) {
  FlatInfo flat;
  int64_t unit = unitOf(type);
  flat.divisibility = divisorOfAll(info, unit);
  int dim = type.getRank() - 1;
  while (dim > 0 && type.getDimSize(dim) == 1)
    --dim;
  if (dim < 0)
    return flat;
  flat.contiguity = info.contiguity[dim];
  flat.run = info.run[dim];
  flat.divisibility = divisorAt(info, dim, flat.contiguity, unit);
  // Rows that are constant throughout join where the next dimension is constant.
  for (; dim >= 0; --dim) {
    flat.constancy *= info.constancy[dim];
    if (info.constancy[dim] != type.getDimSize(dim))
      break;
  }
  return flat;
}

void transferReshape(Transfer &t, ir::ReshapeOp op) {
  if (op.getMayReorder())
    return;
  auto type = llvm::cast<RankedTensorType>(op.getType());
  FlatInfo flat = flatten(t.lhs(), llvm::cast<RankedTensorType>(op.getSource().getType()));
  int64_t unit = unitOf(type), ofAll = divisorOfAll(t.lhs(), unit);
  int64_t stride = 1;
  for (int dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = type.getDimSize(dim);
    int64_t group = stride == 1 ? std::min(flat.contiguity, extent) : 1;
    if (stride == 1)
      t.result.run[dim] = std::min(flat.run, extent);
    int64_t divisibility = ofAll;
    if (stride == 1)
      divisibility = std::max(ofAll, group == flat.contiguity
                                         ? flat.divisibility
                                         : std::min(flat.divisibility, multiply(group, unit)));
    setGroups(t, dim, group, divisibility,
              std::min(extent, std::max<int64_t>(1, flat.constancy / stride)));
    stride *= extent;
  }
  t.result.constant = t.lhs().constant;
  t.result.nonNegative = t.lhs().nonNegative;
}

void transferPermute(Transfer &t, ir::PermuteOp op) {
  for (auto [dim, from] : llvm::enumerate(op.getOrder())) {
    t.result.contiguity[dim] = t.lhs().contiguity[from];
    t.result.divisibility[dim] = t.lhs().divisibility[from];
    t.result.constancy[dim] = t.lhs().constancy[from];
    t.result.run[dim] = t.lhs().run[from];
  }
  t.result.constant = t.lhs().constant;
  t.result.nonNegative = t.lhs().nonNegative;
}

/// Both operands side by side: along the old dimensions what holds of both.
void transferJoin(Transfer &t) {
  AxisInfo both = AxisInfo::join(t.lhs(), t.rhs());
  int64_t unit = unitOf(t.op->getResult(0).getType());
  bool addsDim = llvm::isa<ir::JoinOp>(t.op);
  for (int dim = 0; dim < both.rank(); ++dim) {
    setGroups(t, dim, both.contiguity[dim], both.divisibility[dim], both.constancy[dim]);
    t.result.run[dim] = both.run[dim];
  }
  if (addsDim)
    setGroups(t, t.rank() - 1, 1, divisorOfAll(both, unit), 1);
  t.result.nonNegative = both.nonNegative;
}

void transferHint(Transfer &t, ir::HintOp op) {
  t.result = t.lhs();
  auto raise = [&](llvm::SmallVectorImpl<int64_t> &numbers,
                   std::optional<llvm::ArrayRef<int64_t>> promise, bool isGroup) {
    if (!promise)
      return;
    for (size_t dim = 0; dim < std::min(numbers.size(), promise->size()); ++dim) {
      int64_t number = powerOfTwoDivisor((*promise)[dim]);
      if (isGroup)
        number = std::min(number, extentOf(op.getType(), dim));
      numbers[dim] = std::max(numbers[dim], number);
    }
  };
  raise(t.result.divisibility, op.getDivisibility(), /*isGroup=*/false);
  raise(t.result.contiguity, op.getContiguity(), /*isGroup=*/true);
  raise(t.result.run, op.getContiguity(), /*isGroup=*/true);
  raise(t.result.constancy, op.getConstancy(), /*isGroup=*/true);
}

/// A value that is constant in groups wherever its operands are.
void transferElementwise(Transfer &t) {
  for (int dim = 0; dim < t.rank(); ++dim) {
    int64_t constancy = extentOf(t.op->getResult(0).getType(), dim);
    for (auto [operand, info] : llvm::zip(t.op->getOperands(), t.operands))
      if (llvm::isa<RankedTensorType>(operand.getType()))
        constancy = std::min(constancy, info.constancy[dim]);
    t.result.constancy[dim] = constancy;
  }
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

std::optional<int64_t> signedValue(Attribute attr) {
  if (auto integer = llvm::dyn_cast_or_null<IntegerAttr>(attr);
      integer && integer.getValue().getBitWidth() <= 64)
    return integer.getValue().getSExtValue();
  return std::nullopt;
}

/// Integer results of constants; booleans count as 0 and -1, which no rule uses.
std::optional<int64_t> foldConstant(Operation *op, llvm::ArrayRef<AxisInfo> operands) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!element.isSignlessInteger() || integerWidth(element) > 64)
    return std::nullopt;
  llvm::SmallVector<int64_t, 2> values;
  for (const AxisInfo &operand : operands) {
    if (!operand.constant)
      return std::nullopt;
    values.push_back(*operand.constant);
  }
  auto wrap = [&](uint64_t value) { return llvm::SignExtend64(value, integerWidth(element)); };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](arith::AddIOp) { return wrap(uint64_t(values[0]) + uint64_t(values[1])); })
      .Case([&](arith::SubIOp) { return wrap(uint64_t(values[0]) - uint64_t(values[1])); })
      .Case([&](arith::MulIOp) { return wrap(uint64_t(values[0]) * uint64_t(values[1])); })
      .Case<arith::ExtSIOp, arith::TruncIOp>([&](auto) { return wrap(values[0]); })
      .Default([](Operation *) { return std::nullopt; });
}

void transferConstant(Transfer &t, arith::ConstantOp op) {
  Attribute value = op.getValue();
  if (auto dense = llvm::dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat() || !dense.getElementType().isSignlessInteger()) {
      // Only the constancy of float constants is of use.
      for (int dim = 0; dense.isSplat() && dim < t.rank(); ++dim)
        t.result.constancy[dim] = extentOf(op.getType(), dim);
      return;
    }
    value = dense.getSplatValue<Attribute>();
  }
  for (int dim = 0; dim < t.rank(); ++dim)
    t.result.constancy[dim] = extentOf(op.getType(), dim);
  if (std::optional<int64_t> constant = signedValue(value))
    t.result = constantInfo(t.result, *constant);
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

} // namespace

AxisInfo transferAxisInfo(Operation *op, llvm::ArrayRef<AxisInfo> operands) {
  Transfer t(op, operands);
  t.result.constant = foldConstant(op, operands);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::ConstantOp constant) { transferConstant(t, constant); })
      .Case([&](arith::AddIOp) { transferAdd(t, t.lhs(), t.rhs(), 1); })
      .Case([&](arith::SubIOp) { transferSub(t); })
      .Case([&](arith::MulIOp) { transferMul(t, t.lhs(), t.rhs()); })
      .Case([&](arith::DivSIOp) { transferDiv(t, t.lhs(), t.rhs(), /*floors=*/false); })
      // Unsigned multiples of a power of two are the signed ones.
      .Case([&](arith::DivUIOp) { transferDiv(t, t.lhs(), t.rhs(), /*floors=*/true); })
      .Case([&](arith::FloorDivSIOp) {
        transferDiv(t, t.lhs(), t.rhs(), /*floors=*/t.rhs().nonNegative);
      })
      .Case([&](arith::RemSIOp) { transferRem(t, t.lhs(), t.rhs(), /*wraps=*/false); })
      .Case([&](arith::RemUIOp) { transferRem(t, t.lhs(), t.rhs(), /*wraps=*/true); })
      .Case([&](arith::AndIOp) { transferAnd(t); })
      .Case<arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
            arith::MaxUIOp>([&](auto) { transferMixed(t); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { transferShift(t); })
      .Case([&](arith::CmpIOp compare) { transferCompare(t, compare.getPredicate()); })
      .Case([&](arith::SelectOp) { transferSelect(t); })
      .Case([&](arith::ExtSIOp) { transferExtend(t, /*isSigned=*/true); })
      .Case([&](arith::ExtUIOp) { transferExtend(t, /*isSigned=*/false); })
      .Case([&](arith::TruncIOp) { transferTruncate(t); })
      .Case([&](arith::IndexCastOp cast) {
        bool widens = integerWidth(cast.getIn().getType()) <= integerWidth(cast.getType());
        widens ? transferExtend(t, /*isSigned=*/true) : transferTruncate(t);
      })
      .Case([&](ir::AddPtrOp add) { transferAddPtr(t, add); })
      .Case<ir::BitcastOp, ir::PtrToIntOp, ir::IntToPtrOp>([&](auto) { transferReinterpret(t); })
      .Case([&](ir::SplatOp) { transferSplat(t); })
      .Case([&](ir::RangeOp range) { transferRange(t, range); })
      .Case([&](ir::ExpandDimsOp expand) { transferExpandDims(t, expand); })
      .Case([&](ir::BroadcastOp broadcast) { transferBroadcast(t, broadcast); })
      .Case([&](ir::ReshapeOp reshape) { transferReshape(t, reshape); })
      .Case([&](ir::PermuteOp permute) { transferPermute(t, permute); })
      .Case<ir::JoinOp, ir::ConcatOp>([&](auto) { transferJoin(t); })
      .Case([&](ir::HintOp hint) { transferHint(t, hint); })
      .Case([&](ir::ConvertLayoutOp) { t.result = t.lhs(); })
      .Case<ir::ProgramIdOp, ir::NumProgramsOp>([&](auto) { t.result.nonNegative = true; })
      .Default([&](Operation *) {
        if (ir::isElementwise(op))
          transferElementwise(t);
      });
  if (t.result.constant)
    t.result = constantInfo(t.result, *t.result.constant);
  return t.result;
}

} // namespace tilewright::passes
