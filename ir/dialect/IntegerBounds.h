//===- IntegerBounds.h - How large an integer can be ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_DIALECT_INTEGERBOUNDS_H
#define TILEWRIGHT_IR_DIALECT_INTEGERBOUNDS_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace tilewright::ir {

/// The one integer, of up to 64 bits, that a scalar or all elements of a tile are, with zeros
/// above its bits.
std::optional<uint64_t> constantInteger(mlir::Value value);

/// No element of an integer scalar or tile is above this as an unsigned number: by masks, shifts
/// and narrower types that it comes from.
uint64_t greatestInteger(mlir::Value value);

} // namespace tilewright::ir

#endif // TILEWRIGHT_IR_DIALECT_INTEGERBOUNDS_H
