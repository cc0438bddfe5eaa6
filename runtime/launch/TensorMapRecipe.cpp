//===- TensorMapRecipe.cpp - Tensor maps from launch arguments ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/TensorMapRecipe.h"

#include "ir/support/Error.h"

#include <cstring>

namespace tilewright::launch {

/// Deeper expressions are not written by the front end.
static constexpr size_t maxDepth = 32;

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

static bool isPush(RecipeOp op) {
  return op == RecipeOp::Constant || op == RecipeOp::Argument32 || op == RecipeOp::Argument64;
}

[[noreturn]] static void refuseRecipe(const std::string &reason) {
  refuse("its recipe " + reason, "a recipe as the compiler writes it");
}

/// Follows the depth of the stack, so that evaluate need not look at it.
static void checkSteps(const std::vector<int64_t> &steps) {
  if (steps.size() % 2)
    refuseRecipe("has a step without an operand");
  size_t depth = 0;
  for (size_t i = 0; i < steps.size(); i += 2) {
    if (steps[i] < 0 || steps[i] > static_cast<int64_t>(RecipeOp::ZeroExtend32))
      refuseRecipe(fmt::format("has a step of the unknown kind {}", steps[i]));
    auto op = static_cast<RecipeOp>(steps[i]);
    bool isUnary = op == RecipeOp::SignExtend32 || op == RecipeOp::ZeroExtend32;
    if (isPush(op))
      ++depth;
    else if (depth < (isUnary ? 1u : 2u))
      refuseRecipe("takes more values than it has");
    else if (!isUnary)
      --depth;
    if (depth > maxDepth)
      refuseRecipe(fmt::format("is deeper than {} values", maxDepth));
  }
  if (depth != 1)
    refuseRecipe(fmt::format("leaves {} values", depth));
}

void checkRecipe(const TensorMapRecipe &recipe) {
  size_t rank = recipe.block.size();
  if (rank < 1 || rank > maxDescriptorRank)
    refuseRecipe(fmt::format("has {} dimensions", rank));
  if (recipe.shape.size() != rank || recipe.strides.size() != rank)
    refuseRecipe(fmt::format("has {} extents and {} strides for {} dimensions", recipe.shape.size(),
                             recipe.strides.size(), rank));
  if (recipe.type == ScalarKind::Void)
    refuseRecipe("has an unknown element type");
  for (const auto *expressions : {&recipe.shape, &recipe.strides})
    for (const std::vector<int64_t> &steps : *expressions)
      checkSteps(steps);
}

static void checkOperand(uint64_t parameter, size_t read, const std::vector<size_t> &bytes) {
  if (parameter >= bytes.size())
    refuseRecipe(
        fmt::format("names parameter {} of {}", static_cast<int64_t>(parameter), bytes.size()));
  if (bytes[parameter] != read)
    refuseRecipe(fmt::format("reads {} bytes of parameter {}, which has {}", read, parameter,
                             bytes[parameter]));
}

void checkOperands(const TensorMapRecipe &recipe, const std::vector<size_t> &bytes) {
  checkOperand(recipe.base, sizeof(int64_t), bytes);
  for (const auto *expressions : {&recipe.shape, &recipe.strides})
    for (const std::vector<int64_t> &steps : *expressions)
      for (size_t i = 0; i + 1 < steps.size(); i += 2) {
        auto op = static_cast<RecipeOp>(steps[i]);
        if (op == RecipeOp::Argument32 || op == RecipeOp::Argument64)
          checkOperand(static_cast<uint64_t>(steps[i + 1]),
                       op == RecipeOp::Argument32 ? sizeof(int32_t) : sizeof(int64_t), bytes);
      }
}

/// The stack is deep enough for any expression that checkSteps takes.
static int64_t evaluate(const std::vector<int64_t> &steps, void *const *addresses, size_t count) {
  int64_t stack[maxDepth] = {};
  size_t depth = 0;
  for (size_t i = 0; i + 1 < steps.size(); i += 2) {
    auto op = static_cast<RecipeOp>(steps[i]);
    int64_t operand = steps[i + 1];
    switch (op) {
    case RecipeOp::Constant:
    case RecipeOp::Argument32:
    case RecipeOp::Argument64:
      if (op != RecipeOp::Constant && static_cast<uint64_t>(operand) >= count)
        refuseRecipe(fmt::format("names parameter {} of {}", operand, count));
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

void makeTensorMap(const TensorMapRecipe &recipe, void *const *addresses, size_t count,
                   TensorMap &result) {
  if (recipe.base >= count)
    refuseRecipe(fmt::format("names parameter {} of {}", recipe.base, count));
  DescriptorArgument d = {};
  d.address = static_cast<uint64_t>(readArgument<int64_t>(addresses, recipe.base));
  d.rank = static_cast<uint8_t>(recipe.block.size());
  d.type = recipe.type;
  d.padsWithNan = recipe.padsWithNan;
  for (int dim = 0; dim < d.rank; ++dim) {
    d.shape[dim] = evaluate(recipe.shape[dim], addresses, count);
    d.strides[dim] = evaluate(recipe.strides[dim], addresses, count);
    d.block[dim] = recipe.block[dim];
  }
  findTensorMap(d, "tl.make_tensor_descriptor", result);
}

} // namespace tilewright::launch
