//===- Checks.h - What the interpreter looks for ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: which checks a launch makes, and the one function by which they report
// what they find.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_CHECKS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_CHECKS_H

#include "ir/support/Error.h"

#include <bitset>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::interpreter {

enum class Check : uint8_t {
#define TILEWRIGHT_CHECK_KIND(NAME, ENUMERATOR, IS_DEFAULT, CODES, MEANING) ENUMERATOR,
#include "runtime/interpreter/Checks.def"
  Count
};

/// One row of Checks.def.
struct CheckEntry {
  const char *name;
  Check check;
  bool isDefault;
  /// The codes of what it finds, with spaces between them.
  const char *codes;
  const char *meaning;
};

const std::vector<CheckEntry> &checkEntries();

class Checks {
public:
  /// The checks that are on by default.
  Checks();

  bool looksFor(Check check) const { return enabled[static_cast<size_t>(check)]; }
  void set(Check check, bool on) { enabled[static_cast<size_t>(check)] = on; }

  /// What a check found: thrown, or handed to `collector` where there is one, and the
  /// kernel goes on.
  void report(const Error &finding);

  std::function<void(const Error &)> collector;

private:
  std::bitset<static_cast<size_t>(Check::Count)> enabled;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_CHECKS_H
