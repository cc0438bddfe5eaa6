//===- RecipeOp.h - Steps of expressions over launch arguments --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_RECIPEOP_H
#define TILEWRIGHT_IR_SUPPORT_RECIPEOP_H

#include <cstdint>

namespace tilewright {

/// One step of an expression in postfix form, on 64-bit integers. The front end
/// writes them, the launch runs them, metadata of kernels on disk holds them: the
/// numbers stay.
enum class RecipeOp : int64_t {
  Constant = 0,   ///< pushes the operand
  Argument32 = 1, ///< pushes the kernel's parameter `operand`, a signed i32
  Argument64 = 2, ///< the same of an i64
  Add = 3,
  Subtract = 4,
  Multiply = 5,
  Divide = 6,       ///< toward zero
  SignExtend32 = 7, ///< the low 32 bits as a signed number
  ZeroExtend32 = 8, ///< the low 32 bits as an unsigned number
};

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_RECIPEOP_H
