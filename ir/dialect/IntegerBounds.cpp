//===- IntegerBounds.cpp - How large an integer can be --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/IntegerBounds.h"

#include "ir/dialect/TileDialect.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::ir {

std::optional<uint64_t> constantInteger(Value value) {
  if (auto splat = value.getDefiningOp<SplatOp>())
    return constantInteger(splat.getSource());
  llvm::APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) || number.getBitWidth() > 64)
    return std::nullopt;
  return number.getZExtValue();
}

/// A mask is found behind so many ops that only move elements.
constexpr int maxDepth = 6;

static uint64_t greatest(Value value, int depth) {
  unsigned bits = elementBits(getElementTypeOrSelf(value));
  uint64_t any = llvm::maskTrailingOnes<uint64_t>(bits);
  if (std::optional<uint64_t> constant = constantInteger(value))
    return *constant;
  Operation *op = value.getDefiningOp();
  if (!op || depth == maxDepth)
    return any;
  auto of = [&](unsigned index) { return greatest(op->getOperand(index), depth + 1); };
  return llvm::TypeSwitch<Operation *, uint64_t>(op)
      .Case([&](arith::AndIOp) { return std::min(of(0), of(1)); })
      .Case([&](arith::ShRUIOp) {
        std::optional<uint64_t> amount = constantInteger(op->getOperand(1));
        return amount && *amount < bits ? of(0) >> *amount : any;
      })
      .Case([&](arith::ExtUIOp) { return of(0); })
      .Case([&](arith::ExtSIOp) {
        // Without the sign's bit it stays what it is.
        unsigned from = elementBits(getElementTypeOrSelf(op->getOperand(0)));
        uint64_t limit = of(0);
        return limit <= llvm::maskTrailingOnes<uint64_t>(from - 1) ? limit : any;
      })
      .Case([&](arith::TruncIOp) { return std::min(of(0), any); })
      .Case<BroadcastOp, ExpandDimsOp, ReshapeOp, PermuteOp, ConvertLayoutOp>(
          [&](Operation *) { return of(0); })
      .Case<JoinOp, ConcatOp>([&](Operation *) { return std::max(of(0), of(1)); })
      .Default(any);
}

uint64_t greatestInteger(Value value) { return greatest(value, 0); }

} // namespace tilewright::ir
