//===- StandardHeaders.h - Precompiled standard headers ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The headers that nearly every file without MLIR includes, compiled once. No file
// may rely on it: each includes what it uses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_STANDARDHEADERS_H
#define TILEWRIGHT_IR_SUPPORT_STANDARDHEADERS_H

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#endif // TILEWRIGHT_IR_SUPPORT_STANDARDHEADERS_H
