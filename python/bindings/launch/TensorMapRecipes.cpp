//===- TensorMapRecipes.cpp - Recipes from the metadata of a kernel -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: reads metadata.host_tensor_maps, and checks it against the types of the
// kernel's parameters before the first launch.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/LoadedKernelHandle.h"
#include "runtime/launch/ArgumentTypes.h"

#include <pybind11/stl.h>

#include <algorithm>

namespace py = pybind11;

namespace tilewright {

/// An entry of metadata.host_tensor_maps.
static launch::TensorMapRecipe recipeOf(const py::dict &entry) {
  launch::TensorMapRecipe recipe;
  recipe.type = launch::parseElementType(entry["element"].cast<std::string>());
  recipe.padsWithNan = entry["nan"].cast<bool>();
  recipe.block = entry["block"].cast<std::vector<int64_t>>();
  recipe.base = entry["base"].cast<size_t>();
  recipe.shape = entry["shape"].cast<std::vector<std::vector<int64_t>>>();
  recipe.strides = entry["strides"].cast<std::vector<std::vector<int64_t>>>();
  launch::checkRecipe(recipe);
  return recipe;
}

/// Bytes of each parameter of a kernel, in the order of their addresses: a descriptor's tensor map,
/// where the kernel takes one, its base, shape and strides.
static void addBytes(const py::handle &type, const std::vector<bool> &tensorMaps,
                     size_t &descriptor, std::vector<size_t> &bytes) {
  if (type.is_none())
    return;
  if (py::isinstance<py::tuple>(type) || py::isinstance<py::list>(type)) {
    for (py::handle item : type)
      addBytes(item, tensorMaps, descriptor, bytes);
    return;
  }
  std::string text = py::str(type);
  if (text.rfind("tensordesc<", 0) != 0) {
    bool isPointer = !text.empty() && text[0] == '*';
    bytes.push_back(isPointer
                        ? sizeof(uint64_t)
                        : static_cast<size_t>(scalarFacts(launch::parseElementType(text)).bytes()));
    return;
  }
  if (descriptor < tensorMaps.size() && tensorMaps[descriptor])
    bytes.push_back(sizeof(launch::TensorMap));
  ++descriptor;
  std::string block = text.substr(text.find('['));
  size_t rank = std::count(block.begin(), block.begin() + block.find(']'), ',') + 1;
  bytes.insert(bytes.end(), 1 + 2 * rank, sizeof(int64_t));
}

std::vector<launch::TensorMapRecipe> recipesOf(const py::list &entries,
                                               const LoadedKernelHandle &handle) {
  std::vector<launch::TensorMapRecipe> recipes;
  std::vector<size_t> bytes;
  size_t descriptor = 0;
  for (const py::object &type : handle.types)
    addBytes(type, handle.tensorMaps, descriptor, bytes);
  for (py::handle entry : entries) {
    recipes.push_back(recipeOf(entry.cast<py::dict>()));
    launch::checkOperands(recipes.back(), bytes);
  }
  return recipes;
}

} // namespace tilewright
