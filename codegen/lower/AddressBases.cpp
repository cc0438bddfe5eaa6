//===- AddressBases.cpp - Addresses apart by constants --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: an address is a sum of products of values with constants. Two with the same
// values and factors are apart by a constant. Where arithmetic is not a sum, its
// result is a value of the sum.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/AddressBases.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <map>
#include <set>

using namespace mlir;

namespace tilewright::codegen {
namespace {

/// The factors of the values of a sum, modulo 2^64, without its constant.
using Sum = std::map<void *, uint64_t>;

/// Operations from an address to what is no sum any more; a longer way ends in a value of the sum,
/// so that unrolled loops cost neither time nor stack.
constexpr int maxDepth = 64;

class Sums {
public:
  const Sum &of(Value value) {
    auto [entry, isNew] = known.try_emplace(value.getAsOpaquePointer());
    if (!isNew)
      return entry->second;
    // The reference stays valid while sums of operands are added to the map.
    Sum &sum = entry->second;
    ++depth;
    std::optional<Sum> parts;
    if (depth <= maxDepth)
      parts = partsOf(value.getDefiningOp());
    --depth;
    sum = parts ? std::move(*parts) : Sum{{value.getAsOpaquePointer(), 1}};
    return sum;
  }

private:
  std::map<void *, Sum> known;
  int depth = 0;

  static void add(Sum &sum, const Sum &other, uint64_t factor) {
    for (auto [value, count] : other) {
      uint64_t &total = sum[value];
      total += count * factor;
      if (total == 0)
        sum.erase(value);
    }
  }

  Sum scaled(Value value, uint64_t factor) {
    Sum sum;
    add(sum, of(value), factor);
    return sum;
  }

  /// Nothing where `op` is no sum, or there is none.
  std::optional<Sum> partsOf(Operation *op) {
    APInt constant;
    if (!op)
      return std::nullopt;
    if (matchPattern(op, m_ConstantInt(&constant)))
      return Sum{};
    if (llvm::isa<LLVM::SExtOp, LLVM::ZExtOp>(op))
      return of(op->getOperand(0));
    if (llvm::isa<LLVM::AddOp, LLVM::SubOp>(op)) {
      Sum sum = of(op->getOperand(0));
      add(sum, of(op->getOperand(1)), llvm::isa<LLVM::AddOp>(op) ? 1 : ~uint64_t(0));
      return sum;
    }
    if (llvm::isa<LLVM::MulOp>(op))
      for (int side : {0, 1})
        if (matchPattern(op->getOperand(side), m_ConstantInt(&constant)))
          return scaled(op->getOperand(1 - side), constant.getSExtValue());
    if (llvm::isa<LLVM::ShlOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
      return scaled(op->getOperand(0), uint64_t(1) << constant.getLimitedValue(63));
    auto element = llvm::dyn_cast<LLVM::GEPOp>(op);
    if (!element || element.getDynamicIndices().size() != 1 ||
        element.getRawConstantIndices().size() != 1 || !element.getElemType().isIntOrFloat())
      return std::nullopt;
    Sum sum = of(element.getBase());
    add(sum, of(element.getDynamicIndices().front()),
        element.getElemType().getIntOrFloatBitWidth());
    return sum;
  }
};

} // namespace

size_t countAddressBases(llvm::ArrayRef<Value> addresses) {
  Sums sums;
  std::set<Sum> bases;
  for (Value address : addresses)
    bases.insert(sums.of(address));
  return bases.size();
}

} // namespace tilewright::codegen
