//===- MatrixInstruction.cpp - Which instruction a product takes ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/MatrixInstruction.h"

using namespace mlir;

namespace tilewright::ir {

/// The name of an operand type in PTX, empty where no instruction takes it.
static llvm::StringRef operandName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF32())
    return "tf32";
  if (type.isF64())
    return "f64";
  if (type.isInteger(8))
    return "s8";
  if (llvm::isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (llvm::isa<Float8E5M2Type>(type))
    return "e5m2";
  return "";
}

static llvm::StringRef accumulatorName(Type type) {
  if (type.isF16())
    return "f16";
  if (type.isF32())
    return "f32";
  if (type.isF64())
    return "f64";
  if (type.isInteger(32))
    return "s32";
  return "";
}

/// What wgmma and mma.sync have in common.
static std::optional<MatrixInstruction> findInstruction(Type a, Type b, Type accumulator) {
  llvm::StringRef nameA = operandName(a), nameB = operandName(b);
  llvm::StringRef nameAccumulator = accumulatorName(accumulator);
  if (nameA.empty() || nameB.empty() || nameAccumulator.empty())
    return std::nullopt;
  if (a != b && !(isFp8(a) && isFp8(b)))
    return std::nullopt;
  bool isPair;
  if (a.isInteger(8))
    isPair = accumulator.isInteger(32);
  else if (a.isF64())
    isPair = accumulator.isF64();
  else
    isPair = accumulator.isF32() || (accumulator.isF16() && (a.isF16() || isFp8(a)));
  if (!isPair)
    return std::nullopt;
  int k = a.isF64() ? 4 : 256 / static_cast<int>(elementBits(a));
  return MatrixInstruction{nameA, nameB, nameAccumulator, k};
}

std::optional<MatrixInstruction> wgmmaInstruction(Type a, Type b, Type accumulator,
                                                  const TargetInfo &target) {
  if (!target.hasWgmma || a.isF64())
    return std::nullopt;
  return findInstruction(a, b, accumulator);
}

std::optional<MatrixInstruction> mmaInstruction(Type a, Type b, Type accumulator,
                                                const TargetInfo &target) {
  if (!target.hasMma)
    return std::nullopt;
  auto found = findInstruction(a, b, accumulator);
  if (found && isFp8(a)) {
    if (!target.hasFp8Mma)
      return std::nullopt;
    found->accumulator = "f32";
  }
  return found;
}

} // namespace tilewright::ir
