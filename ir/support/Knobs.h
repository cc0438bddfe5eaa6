//===- Knobs.h - The registry of switches -----------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: every switch of Tilewright is one row of one table (Knobs.def). The row
// makes the environment variable TILEWRIGHT_<NAME>, the accepted Triton name,
// the Python attribute tilewright.knobs.<group>.<attribute> and the line in the
// documentation.
//
// How a value is found: (1) the environment variable of our name, (2) the one of
// Triton's name where the meaning is the same, (3) the default. Setting a knob
// from Python writes the environment, so there is no third place to look.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_IR_SUPPORT_KNOBS_H
#define TILEWRIGHT_IR_SUPPORT_KNOBS_H

#include <cstdint>
#include <string>

namespace tilewright {

enum class KnobType { Bool, Int, Float, String, Path };

struct KnobEntry {
  const char *name; ///< without the prefix: "INTERPRET"
  KnobType type;
  const char *defaultText; ///< empty: unset
  const char *group;       ///< "runtime"
  const char *attribute;   ///< "interpret"
  const char *tritonName;  ///< "TRITON_INTERPRET", empty where there is none
  const char *doc;
};

enum class Knob : uint16_t {
#define TILEWRIGHT_KNOB(NAME, TYPE, DEFAULT, GROUP, ATTRIBUTE, TRITON, DOC) NAME,
#include "ir/support/Knobs.def"
};

const KnobEntry *knobTableBegin();
const KnobEntry *knobTableEnd();
const KnobEntry &knobEntry(Knob knob);

/// The environment's text under one of the knob's names, or null.
const char *knobSetting(const KnobEntry &entry);
/// The text in force: environment or default.
std::string knobText(Knob knob);
/// Typed reads; E0701 where the text is none of the type.
bool knobBool(Knob knob);
int64_t knobInt(Knob knob);
double knobFloat(Knob knob);

/// Raises E0701 unless `text` is a value of the knob's type.
void checkKnobText(const KnobEntry &entry, const std::string &text);
/// The knob name nearest to a misspelt one ("INTERPRT"), for messages.
std::string nearestKnobName(const std::string &name);

} // namespace tilewright

#endif // TILEWRIGHT_IR_SUPPORT_KNOBS_H
