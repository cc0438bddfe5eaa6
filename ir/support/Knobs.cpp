//===- Knobs.cpp - The registry of switches -------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/Knobs.h"
#include "ir/support/EditDistance.h"
#include "ir/support/Error.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <iterator>

namespace tilewright {

static const KnobEntry knobTable[] = {
#define TILEWRIGHT_KNOB(NAME, TYPE, DEFAULT, GROUP, ATTRIBUTE, TRITON, DOC)                        \
  {#NAME, KnobType::TYPE, DEFAULT, GROUP, ATTRIBUTE, TRITON, DOC},
#include "ir/support/Knobs.def"
};

const KnobEntry *knobTableBegin() { return std::begin(knobTable); }
const KnobEntry *knobTableEnd() { return std::end(knobTable); }

const KnobEntry &knobEntry(Knob knob) { return knobTable[static_cast<size_t>(knob)]; }

const char *knobSetting(const KnobEntry &entry) {
  std::string name = std::string("TILEWRIGHT_") + entry.name;
  const char *value = std::getenv(name.c_str());
  return value || !*entry.tritonName ? value : std::getenv(entry.tritonName);
}

std::string knobText(Knob knob) {
  const KnobEntry &entry = knobEntry(knob);
  const char *setting = knobSetting(entry);
  return setting ? setting : entry.defaultText;
}

static const char *typeName(KnobType type) {
  switch (type) {
  case KnobType::Bool:
    return "a boolean (0, 1, true, false, on, off)";
  case KnobType::Int:
    return "an integer";
  case KnobType::Float:
    return "a number";
  case KnobType::String:
    return "text";
  case KnobType::Path:
    return "a path";
  }
  return "text";
}

[[noreturn]] static void raiseBadValue(const KnobEntry &entry, const std::string &text) {
  throw makeError(ErrorCode::E0701, fmt::arg("X", entry.name), fmt::arg("v", text),
                  fmt::arg("type", typeName(entry.type)));
}

/// 1 or 0, or -1 for a text that is no boolean. Empty counts as unset, so off.
static int parseBool(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  for (const char *word : {"1", "true", "on", "yes", "y"})
    if (text == word)
      return 1;
  for (const char *word : {"", "0", "false", "off", "no", "n"})
    if (text == word)
      return 0;
  return -1;
}

static bool parseInt(const std::string &text, int64_t &result) {
  char *end = nullptr;
  errno = 0;
  result = std::strtoll(text.c_str(), &end, 0);
  return !text.empty() && *end == '\0' && errno == 0;
}

static bool parseFloat(const std::string &text, double &result) {
  char *end = nullptr;
  result = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0';
}

void checkKnobText(const KnobEntry &entry, const std::string &text) {
  int64_t intValue;
  double floatValue;
  bool valid = true;
  if (entry.type == KnobType::Bool)
    valid = parseBool(text) >= 0;
  else if (entry.type == KnobType::Int)
    valid = parseInt(text, intValue);
  else if (entry.type == KnobType::Float)
    valid = parseFloat(text, floatValue);
  if (!valid)
    raiseBadValue(entry, text);
}

bool knobBool(Knob knob) {
  std::string text = knobText(knob);
  int value = parseBool(text);
  if (value < 0)
    raiseBadValue(knobEntry(knob), text);
  return value == 1;
}

int64_t knobInt(Knob knob) {
  std::string text = knobText(knob);
  int64_t value;
  if (!parseInt(text, value))
    raiseBadValue(knobEntry(knob), text);
  return value;
}

double knobFloat(Knob knob) {
  std::string text = knobText(knob);
  double value;
  if (!parseFloat(text, value))
    raiseBadValue(knobEntry(knob), text);
  return value;
}

std::string nearestKnobName(const std::string &name) {
  std::string best;
  size_t bestDistance = ~size_t(0);
  for (const KnobEntry &entry : knobTable) {
    size_t distance = editDistance(name, entry.name);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = entry.name;
    }
  }
  return best;
}

} // namespace tilewright
