//===- Remark.cpp - Structured remarks of decisions -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/Remark.h"

#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace tilewright {

std::string Remark::render() const {
  std::string out = location.empty() ? kind : location + ": " + kind;
  out += applied ? ": applied" : ": refused";
  for (const auto &[name, value] : numbers)
    out += fmt::format(", {}={}", name, value);
  if (!reason.empty())
    out += " (" + reason + ")";
  return out;
}

} // namespace tilewright
