//===- Grid.cpp - The size of a launch ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Grid.h"
#include "ir/support/Error.h"

namespace tilewright::launch {

void raiseInvalidGrid(const std::string &text, const std::string &reason) {
  throw makeError(ErrorCode::E0207, fmt::arg("g", text), fmt::arg("reason", reason),
                  fmt::arg("x", gridLimits[0]), fmt::arg("y", gridLimits[1]),
                  fmt::arg("z", gridLimits[2]));
}

void setGridAxis(Grid &grid, int axis, int64_t size, const std::string &text) {
  if (size < 0)
    raiseInvalidGrid(text, fmt::format("size {} of axis {} is negative", size, axis));
  if (size > gridLimits[axis])
    raiseInvalidGrid(text, fmt::format("size {} of axis {} is above the limit", size, axis));
  grid.size[axis] = static_cast<unsigned>(size);
}

} // namespace tilewright::launch
