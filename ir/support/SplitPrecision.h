//===- SplitPrecision.h - f32 operands of a product in parts ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how tf32x3, bf16x3 and bf16x6 take f32 operands apart, for the code of
// tl.dot and for the interpreter, which must agree bit for bit.
//
// How: part 0 is the upper bits of the operand, cut off and not rounded, part 1 those
// of what is left, and so on. The products of parts i and j with i + j below the number
// of parts are summed, the smallest first.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_SPLITPRECISION_H
#define TILEWRIGHT_IR_SUPPORT_SPLITPRECISION_H

#include <cstdint>

namespace tilewright {

/// The bits of an f32 that a tf32 or bf16 has.
constexpr uint32_t tf32Bits = 0xffffe000u, bf16Bits = 0xffff0000u;

struct OperandSplit {
  int parts = 1;
  /// The bits of one part.
  uint32_t mask = ~0u;

  bool isBf16() const { return mask == bf16Bits; }
};

constexpr OperandSplit tf32x3Split{2, tf32Bits};
constexpr OperandSplit bf16x3Split{2, bf16Bits};
constexpr OperandSplit bf16x6Split{3, bf16Bits};

/// Calls `multiply` with the part of a and that of b for each product but the main one,
/// of part 0 by part 0, in the order in which they are summed.
template <typename Multiply>
void forEachSmallProduct(const OperandSplit &split, Multiply multiply) {
  for (int order = split.parts - 1; order > 0; --order)
    for (int part = 0; part <= order; ++part)
      multiply(part, order - part);
}

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_SPLITPRECISION_H
