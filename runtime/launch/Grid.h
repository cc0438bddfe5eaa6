//===- Grid.h - The size of a launch ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_GRID_H
#define TILEWRIGHT_RUNTIME_LAUNCH_GRID_H

#include <cstdint>
#include <string>

namespace tilewright::launch {

/// Most programs along x, y, z: the same on every GPU since sm_30.
constexpr int64_t gridLimits[3] = {2147483647, 65535, 65535};

struct Grid {
  unsigned size[3] = {1, 1, 1};
  /// An empty grid is legal and launches nothing.
  bool isEmpty() const { return size[0] == 0 || size[1] == 0 || size[2] == 0; }
};

/// Sets one axis; raises E0207 for a negative size or one above the limit.
/// `text` is the whole grid as the user wrote it.
void setGridAxis(Grid &grid, int axis, int64_t size, const std::string &text);

/// Raises E0207 with this reason.
[[noreturn]] void raiseInvalidGrid(const std::string &text, const std::string &reason);

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_GRID_H
