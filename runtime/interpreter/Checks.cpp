//===- Checks.cpp - What the interpreter looks for ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/Checks.h"

namespace tilewright::interpreter {

const std::vector<CheckEntry> &checkEntries() {
  static const std::vector<CheckEntry> entries{
#define TILEWRIGHT_CHECK_KIND(NAME, ENUMERATOR, IS_DEFAULT, CODES, MEANING)                        \
  {NAME, Check::ENUMERATOR, IS_DEFAULT, CODES, MEANING},
#include "runtime/interpreter/Checks.def"
  };
  return entries;
}

Checks::Checks() {
  for (const CheckEntry &entry : checkEntries())
    set(entry.check, entry.isDefault);
}

void Checks::report(const Error &finding) {
  if (!collector)
    throw finding;
  collector(finding);
}

} // namespace tilewright::interpreter
