//===- NearestName.cpp - The name that was probably meant -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/python/NearestName.h"

#include "ir/support/EditDistance.h"

#include <algorithm>

namespace py = pybind11;

namespace tilewright {

std::string nearestName(const std::string &name, py::handle candidates) {
  std::string best;
  // More than a third of the letters wrong is another word, not a slip.
  size_t limit = std::max<size_t>(1, name.size() / 3) + 1;
  for (py::handle candidate : candidates) {
    if (!py::isinstance<py::str>(candidate))
      continue;
    std::string text = py::cast<std::string>(candidate);
    if (text == name || text.rfind("__", 0) == 0)
      continue;
    size_t distance = editDistance(name, text);
    if (distance < limit) {
      limit = distance;
      best = text;
    }
  }
  return best;
}

} // namespace tilewright
