//===- TensorMapRecipe.cpp - Tensor maps from launch arguments ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/TensorMapRecipe.h"

#include "ir/support/Error.h"

#include <algorithm>
#include <cstring>

namespace tilewright::launch {

/// Deeper expressions are not written by the front end.
static constexpr size_t kMaxDepth = 32;

template <typename T> static int64_t readArgument(void *const *addresses, int64_t index) {
  T value;
  std::memcpy(&value, addresses[index], sizeof(value));
  return static_cast<int64_t>(value);
}

[[noreturn]] static void refuse(const std::string &reason, const std::string &rule) {
  throw makeError(ErrorCode::E0215, fmt::arg("a", "tl.make_tensor_descriptor"),
                  fmt::arg("reason", reason), fmt::arg("rule", rule));
}

/// Arithmetic wraps, as it does in the kernel.
static int64_t combine(RecipeOp op, int64_t left, int64_t right) {
  auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
  switch (op) {
  case RecipeOp::Add:
    return static_cast<int64_t>(a + b);
  case RecipeOp::Subtract:
    return static_cast<int64_t>(a - b);
  case RecipeOp::Multiply:
    return static_cast<int64_t>(a * b);
  default:
    break;
  }
  if (right == 0)
    refuse("an extent or stride is divided by 0", "a divisor that is not 0");
  return right == -1 ? static_cast<int64_t>(0 - a) : left / right;
}

static int64_t evaluate(const std::vector<int64_t> &steps, void *const *addresses) {
  int64_t stack[kMaxDepth] = {};
  size_t depth = 0;
  for (size_t i = 0; i + 1 < steps.size(); i += 2) {
    auto op = static_cast<RecipeOp>(steps[i]);
    int64_t operand = steps[i + 1];
    switch (op) {
    case RecipeOp::Constant:
    case RecipeOp::Argument32:
    case RecipeOp::Argument64:
      if (depth == kMaxDepth)
        throw std::length_error("an expression over launch arguments is too deep");
      stack[depth++] = op == RecipeOp::Constant     ? operand
                       : op == RecipeOp::Argument32 ? readArgument<int32_t>(addresses, operand)
                                                    : readArgument<int64_t>(addresses, operand);
      break;
    case RecipeOp::SignExtend32:
      stack[depth - 1] = static_cast<int32_t>(stack[depth - 1]);
      break;
    case RecipeOp::ZeroExtend32:
      stack[depth - 1] = static_cast<uint32_t>(stack[depth - 1]);
      break;
    default:
      --depth;
      stack[depth - 1] = combine(op, stack[depth - 1], stack[depth]);
    }
  }
  return stack[0];
}

void makeTensorMap(const TensorMapRecipe &recipe, void *const *addresses, TensorMap &result) {
  DescriptorArgument d = {};
  d.address = static_cast<uint64_t>(readArgument<int64_t>(addresses, recipe.base));
  d.rank = static_cast<uint8_t>(std::min<size_t>(recipe.block.size(), kMaxDescriptorRank));
  d.type = recipe.type;
  d.padsWithNan = recipe.padsWithNan;
  for (int dim = 0; dim < d.rank; ++dim) {
    d.shape[dim] = evaluate(recipe.shape[dim], addresses);
    d.strides[dim] = evaluate(recipe.strides[dim], addresses);
    d.block[dim] = recipe.block[dim];
  }
  findTensorMap(d, "tl.make_tensor_descriptor", result);
}

} // namespace tilewright::launch
