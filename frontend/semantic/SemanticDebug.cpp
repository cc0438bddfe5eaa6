//===- SemanticDebug.cpp - Hints, prints and assertions -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <algorithm>

namespace tilewright::semantic {

static const char *nameOf(HintKind kind) {
  switch (kind) {
  case HintKind::Divisibility:
    return "multiple_of";
  case HintKind::Contiguity:
    return "max_contiguous";
  case HintKind::Constancy:
    return "max_constancy";
  }
  return "";
}

Value Semantic::hint(HintKind kind, const Value &value, const std::vector<int64_t> &values) {
  size_t expected = std::max(1, value.type.rank());
  if (values.size() != expected)
    throwInvalidArgument("give one number per dimension",
                         "tl.{}: {} numbers for {}, which has {} dimensions", nameOf(kind),
                         values.size(), value.type.name(), value.type.rank());
  for (int64_t number : values)
    if (number <= 0)
      throwInvalidArgument("give a positive number", "tl.{}: {} is not positive", nameOf(kind),
                           number);
  return builder.hint(kind, value, values);
}

void Semantic::assume(const Value &condition) {
  if (condition.type.isTile() || !condition.type.scalar.isBool())
    throwTypeMismatch("assume a comparison of scalars", "tl.assume needs a scalar int1, got {}",
                      condition.type.name());
  builder.assume(condition);
}

void Semantic::barrier() { builder.barrier(); }

/// What stands between index and value of a line: Triton's form, which programs read.
static std::string printedPrefix(std::string prefix, bool hasValues) {
  if (hasValues) {
    while (!prefix.empty() && (prefix.back() == ' ' || prefix.back() == ':'))
      prefix.pop_back();
    prefix += ": ";
  }
  bool isText = !prefix.empty() && prefix.front() != ' ' && prefix != ": ";
  return isText ? " " + prefix : prefix;
}

void Semantic::print(const std::string &prefix, const std::vector<Operand> &values, bool hex) {
  for (char c : prefix)
    if (static_cast<unsigned char>(c) > 126 || (static_cast<unsigned char>(c) < 32 && !isspace(c)))
      throwInvalidArgument("use printable ASCII characters",
                           "tl.device_print: the prefix has a character that cannot be printed");
  std::vector<Value> printed;
  for (const Operand &operand : values) {
    Value value = toValue(operand);
    // No evaluator can read the formats of software.
    printed.push_back(value.type.scalar.isSoftwareFloat8() ? castTo(value, float32Type) : value);
  }
  builder.print(printedPrefix(prefix, !values.empty()), printed, hex);
}

void Semantic::deviceAssert(const Operand &condition, const std::string &message,
                            const std::optional<Operand> &mask) {
  Value test = cast(condition, boolType);
  std::optional<Value> laneMask;
  if (mask) {
    laneMask = cast(*mask, boolType);
    std::tie(test, *laneMask) = broadcast(test, *laneMask);
  }
  builder.deviceAssert(test, message, laneMask);
}

} // namespace tilewright::semantic
