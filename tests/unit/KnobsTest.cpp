//===- KnobsTest.cpp - The registry of switches ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/support/Knobs.h"
#include "ir/support/Error.h"
#include "runtime/launch/Grid.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

using namespace tilewright;

namespace {

/// Sets a variable for one test and puts it back.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value) : name(name) {
    const char *old = std::getenv(name);
    had = old != nullptr;
    saved = had ? old : "";
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~ScopedVariable() {
    if (had)
      setenv(name, saved.c_str(), 1);
    else
      unsetenv(name);
  }

private:
  const char *name;
  bool had;
  std::string saved;
};

TEST(Knobs, OursThenTritonsThenDefault) {
  ScopedVariable ours("TILEWRIGHT_DEBUG", nullptr), theirs("TRITON_DEBUG", nullptr);
  EXPECT_FALSE(knobBool(Knob::DEBUG));
  ScopedVariable theirsOn("TRITON_DEBUG", "1");
  EXPECT_TRUE(knobBool(Knob::DEBUG));
  ScopedVariable oursOff("TILEWRIGHT_DEBUG", "off");
  EXPECT_FALSE(knobBool(Knob::DEBUG));
}

TEST(Knobs, WrongValuesAreNamed) {
  ScopedVariable number("TILEWRIGHT_MAX_TENSOR_NUMEL", "12x");
  try {
    knobInt(Knob::MAX_TENSOR_NUMEL);
    FAIL() << "12x was taken for an integer";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::E0701);
    EXPECT_EQ(error.message(), "TILEWRIGHT_MAX_TENSOR_NUMEL='12x': expected an integer");
  }
  ScopedVariable flag("TILEWRIGHT_SYNC", "2");
  EXPECT_THROW(knobBool(Knob::SYNC), Error);
  ScopedVariable hex("TILEWRIGHT_MAX_TENSOR_NUMEL", "0x100");
  EXPECT_EQ(knobInt(Knob::MAX_TENSOR_NUMEL), 256);
}

TEST(Knobs, TableIsConsistent) {
  std::set<std::string> names, attributes;
  for (const KnobEntry *e = knobTableBegin(); e != knobTableEnd(); ++e) {
    EXPECT_TRUE(names.insert(e->name).second) << e->name;
    EXPECT_TRUE(attributes.insert(std::string(e->group) + "." + e->attribute).second)
        << e->attribute;
    EXPECT_NE(*e->doc, '\0') << e->name;
    if (*e->defaultText)
      EXPECT_NO_THROW(checkKnobText(*e, e->defaultText)) << e->name;
  }
  EXPECT_EQ(nearestKnobName("INTERPRT"), "INTERPRET");
}

TEST(Knobs, GridLimits) {
  launch::Grid grid;
  EXPECT_FALSE(grid.isEmpty());
  launch::setGridAxis(grid, 0, 2147483647, "");
  launch::setGridAxis(grid, 1, 0, "");
  EXPECT_TRUE(grid.isEmpty());
  EXPECT_THROW(launch::setGridAxis(grid, 1, 65536, "(1, 65536)"), Error);
  EXPECT_THROW(launch::setGridAxis(grid, 2, -1, "(1, 1, -1)"), Error);
}

} // namespace
