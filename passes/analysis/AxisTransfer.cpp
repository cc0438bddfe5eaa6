//===- AxisTransfer.cpp - Facts along each dimension, op by op ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the rules of constants, conversions and shapes, and which op has which rule.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AxisRules.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

namespace {

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
      // What one address holds is one value: the pages of a block of keys are often one page.
      .Case([&](ir::LoadOp load) {
        if (!load.mayChangeMeanwhile())
          transferElementwise(t);
      })
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
