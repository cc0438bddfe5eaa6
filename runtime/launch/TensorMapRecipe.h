//===- TensorMapRecipe.h - Tensor maps from launch arguments ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the recipe by which a launch makes the tensor map of a descriptor that
// the kernel makes from its arguments alone. The launch treats it as if the
// descriptor had been an argument. The kernel takes the map after its other
// parameters.
//
// How: extents and strides are expressions in postfix form, pairs of a RecipeOp
// and its operand.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAPRECIPE_H
#define TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAPRECIPE_H

#include "ir/support/RecipeOp.h"
#include "runtime/launch/TensorMap.h"

#include <vector>

namespace tilewright::launch {

struct TensorMapRecipe {
  ScalarKind type = ScalarKind::Void;
  bool padsWithNan = false;
  std::vector<int64_t> block;
  /// The parameter of the kernel with the base address.
  size_t base = 0;
  std::vector<std::vector<int64_t>> shape, strides;
};

/// Raises E0215 where a recipe cannot be run: packages hold recipes, and anyone may have
/// written a package. Each recipe is checked before the first launch, whatever its values.
void checkRecipe(const TensorMapRecipe &recipe);

/// Raises E0215 where a recipe that checkRecipe takes reads another number of bytes of a parameter
/// than `bytes` says that it has.
void checkOperands(const TensorMapRecipe &recipe, const std::vector<size_t> &bytes);

/// Finds the tensor map for a launch whose `count` parameters are at `addresses`, by a recipe
/// that checkRecipe and checkOperands take. Raises E0215 where the values describe no array, or where the
/// recipe names a parameter that the launch has not.
void makeTensorMap(const TensorMapRecipe &recipe, void *const *addresses, size_t count,
                   TensorMap &result);

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAPRECIPE_H
