//===- Remark.h - Structured remarks of decisions ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the record that a pass makes where it does or refuses something that a
// user would want to know. One collector per compilation serves the log
// (TILEWRIGHT_REMARKS=1), the tests and the compiled kernel's `.remarks`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_REMARK_H
#define TILEWRIGHT_IR_SUPPORT_REMARK_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct Remark {
  /// What the remark is about, kebab case: "vector-width", "layout-conversion".
  std::string kind;
  /// Whether the optimisation was applied; a refusal carries `reason`.
  bool applied = true;
  /// "file:line:column", empty where unknown.
  std::string location;
  /// Numbers with unit in the name: {"bytes", 2048}, {"widthInBits", 128}.
  std::vector<std::pair<std::string, int64_t>> numbers;
  std::string reason;
  /// The parameter whose memory the remark is about; empty where it is about none or unknown.
  std::string parameter = {};

  /// "file:line:col: vector-width: applied, widthInBits=128 (reason)".
  std::string render() const;
};

/// Collects the remarks of one compilation. Not thread-safe: one per compile.
class RemarkCollector {
public:
  void add(Remark remark) { collected.push_back(std::move(remark)); }
  const std::vector<Remark> &remarks() const { return collected; }

private:
  std::vector<Remark> collected;
};

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_REMARK_H
