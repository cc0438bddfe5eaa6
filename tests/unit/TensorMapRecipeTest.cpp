//===- TensorMapRecipeTest.cpp - Recipes that others have written ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/TensorMapRecipe.h"

#include "ir/support/Error.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace tilewright;
using namespace tilewright::launch;

static TensorMapRecipe validRecipe() {
  TensorMapRecipe recipe;
  recipe.type = ScalarKind::Float16;
  recipe.block = {64, 64};
  recipe.shape = {{1, 1}, {1, 1}};
  recipe.strides = {{1, 1, 0, 8, 5, 0}, {0, 1}};
  return recipe;
}

static void expectRefused(const std::function<void()> &call, const std::string &words) {
  try {
    call();
    ADD_FAILURE() << "nothing was refused, where was wanted: " << words;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(TensorMapRecipe, WhatTheCompilerWritesIsTaken) { checkRecipe(validRecipe()); }

TEST(TensorMapRecipe, WhatCannotBeRunIsRefused) {
  struct Case {
    std::vector<int64_t> steps;
    const char *words;
  };
  std::vector<int64_t> deep(66, 0);
  for (const Case &c : {Case{{0}, "a step without an operand"}, Case{{9, 0}, "unknown kind 9"},
                        Case{{-1, 0}, "unknown kind -1"}, Case{{7, 0}, "more values than it has"},
                        Case{{0, 1, 3, 0}, "more values than it has"}, Case{{}, "leaves 0 values"},
                        Case{{0, 1, 0, 2}, "leaves 2 values"}, Case{deep, "deeper than 32"}}) {
    TensorMapRecipe recipe = validRecipe();
    recipe.strides[0] = c.steps;
    expectRefused([&] { checkRecipe(recipe); }, c.words);
  }
}

TEST(TensorMapRecipe, RanksAndTypesAreChecked) {
  TensorMapRecipe recipe = validRecipe();
  recipe.block.clear();
  expectRefused([&] { checkRecipe(recipe); }, "has 0 dimensions");
  recipe = validRecipe();
  recipe.block.resize(6);
  expectRefused([&] { checkRecipe(recipe); }, "has 6 dimensions");
  recipe = validRecipe();
  recipe.strides.pop_back();
  expectRefused([&] { checkRecipe(recipe); }, "2 extents and 1 strides for 2 dimensions");
  recipe = validRecipe();
  recipe.type = ScalarKind::Void;
  expectRefused([&] { checkRecipe(recipe); }, "an unknown element type");
}

TEST(TensorMapRecipe, ParametersThatTheLaunchHasNotAreRefused) {
  uint64_t values[2] = {0x10000, 64};
  void *addresses[2] = {&values[0], &values[1]};
  TensorMap map;
  TensorMapRecipe recipe = validRecipe();
  recipe.base = 2;
  expectRefused([&] { makeTensorMap(recipe, addresses, 2, map); }, "names parameter 2 of 2");
  for (int64_t index : {int64_t(2), int64_t(-1), INT64_MAX, INT64_MIN}) {
    recipe = validRecipe();
    recipe.shape[0] = {2, index};
    expectRefused([&] { makeTensorMap(recipe, addresses, 2, map); }, "names parameter");
  }
  recipe = validRecipe();
  recipe.shape[0] = {0, 1, 0, 0, 6, 0};
  expectRefused([&] { makeTensorMap(recipe, addresses, 2, map); }, "is divided by 0");
}

TEST(TensorMapRecipe, OperandsHaveTheBytesOfTheirParameters) {
  TensorMapRecipe recipe = validRecipe();
  checkOperands(recipe, {8, 4});
  expectRefused([&] { checkOperands(recipe, {8, 8}); },
                "reads 4 bytes of parameter 1, which has 8");
  expectRefused([&] { checkOperands(recipe, {4, 4}); },
                "reads 8 bytes of parameter 0, which has 4");
  expectRefused([&] { checkOperands(recipe, {8}); }, "names parameter 1 of 1");
  recipe.shape[1] = {2, 1};
  expectRefused([&] { checkOperands(recipe, {8, 4}); },
                "reads 8 bytes of parameter 1, which has 4");
  recipe.shape[1] = {2, -1};
  expectRefused([&] { checkOperands(recipe, {8, 4}); }, "names parameter -1 of 2");
}

/// Random steps end in a refusal or in a value, never elsewhere; best run with a sanitizer.
/// The last stride is 7, so that what can be run is refused for it, without a driver.
TEST(TensorMapRecipe, RandomStepsAreRefusedOrRun) {
  std::mt19937_64 random(1);
  uint64_t values[2] = {0x10000, 64};
  void *addresses[2] = {&values[0], &values[1]};
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    TensorMapRecipe recipe = validRecipe();
    recipe.strides[1] = {0, 7};
    recipe.shape[0].clear();
    for (size_t i = random() % 6 + 1; i > 0; --i) {
      recipe.shape[0].push_back(static_cast<int64_t>(random() % 11) - 1);
      recipe.shape[0].push_back(random() % 4 ? int64_t(random() % 3) : int64_t(random()));
    }
    TensorMap map;
    try {
      checkRecipe(recipe);
      ++taken;
    } catch (const Error &) {
      continue;
    }
    EXPECT_THROW(makeTensorMap(recipe, addresses, 2, map), Error);
  }
  EXPECT_GT(taken, 1000);
}
