//===- ArgumentTypes.cpp - What a launch argument can be ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/ArgumentTypes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tilewright::launch {

/// Names beside those of the table: what NumPy and torch call a type as well.
static constexpr struct {
  const char *name;
  ScalarKind kind;
} otherNames[] = {
    {"bool_", ScalarKind::Int1},   {"u1bool", ScalarKind::Int1},   {"b1", ScalarKind::Int1},
    {"half", ScalarKind::Float16}, {"float", ScalarKind::Float32}, {"double", ScalarKind::Float64},
};

/// The letter of a type in the array interface, or 0 where it has none there.
static char interfaceLetter(const ScalarFacts &facts) {
  constexpr char letters[] = {'i', 'u', 'f', 0, 0, 0, 'b'};
  bool isKnown = facts.dlpackCode >= 0 && facts.dlpackCode < static_cast<int>(sizeof(letters));
  return isKnown ? letters[facts.dlpackCode] : 0;
}

/// "<f4" of the array interface: order of bytes, kind and number of bytes; Void for any
/// other text.
static ScalarKind parseTypeString(const std::string &text) {
  if (text.size() != 3 || !std::strchr("<>|=", text[0]))
    return ScalarKind::Void;
  // Big-endian data cannot be read by a kernel.
  if (text[0] == '>' && text[2] != '1')
    return ScalarKind::Void;
  for (const ScalarFacts &facts : scalarTable)
    if (char letter = interfaceLetter(facts))
      if (text[1] == letter && text[2] - '0' == facts.bytes())
        return facts.kind;
  return ScalarKind::Void;
}

ScalarKind parseElementType(const std::string &text) {
  ScalarKind fromTypeString = parseTypeString(text);
  if (fromTypeString != ScalarKind::Void)
    return fromTypeString;
  size_t dot = text.rfind('.');
  std::string name = dot == std::string::npos ? text : text.substr(dot + 1);
  for (const ScalarFacts &facts : scalarTable)
    if (isElementType(facts.kind) &&
        (name == facts.name || name == facts.longName || name == facts.frameworkName))
      return name.empty() ? ScalarKind::Void : facts.kind;
  for (const auto &entry : otherNames)
    if (name == entry.name)
      return entry.kind;
  return ScalarKind::Void;
}

std::string typeString(uint8_t code, bool isConstPointer, const std::string &annotation) {
  switch (plainCode(code)) {
  case int32Code:
    return "i32";
  case int64Code:
    return "i64";
  case uint64Code:
    return "u64";
  case boolCode:
    return "i1";
  case float32Code:
    return "fp32";
  case annotatedScalarCode:
  case annotatedPointerCode:
    return annotation;
  default:
    return std::string(isConstPointer ? "*k" : "*") +
           scalarFacts(static_cast<ScalarKind>(plainCode(code) - pointerCode)).name;
  }
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

static uint32_t floatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Rounds a float's bits to its upper half, to nearest even; NaN stays NaN.
static uint16_t toBFloat16(float value) {
  uint32_t bits = floatBits(value);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Rounds a double to half precision once, to nearest even.
static uint16_t toFloat16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  // 65520 is halfway between the largest half and what would come next.
  if (magnitude >= 65520.0)
    return sign | 0x7c00;
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude = m * 2^exponent, m in [0.5, 1)
  // Steps of the result: 2^-10 of the leading bit, at least the subnormal step.
  int step = std::max(exponent - 11, -24);
  long steps = std::lrint(std::ldexp(magnitude, -step));
  // For normal numbers `steps` is 1024..2048; carrying into the exponent field
  // is exactly what adding does. Subnormals have exponent field 0.
  int field = step + 24; // 0 for subnormals and the smallest normals
  return sign | static_cast<uint16_t>((field << 10) + steps);
}

bool packFloat(const std::string &type, double value, uint64_t &bits) {
  if (type == "fp64") {
    std::memcpy(&bits, &value, sizeof(bits));
    return true;
  }
  if (type == "fp32") {
    bits = floatBits(static_cast<float>(value));
    return true;
  }
  if (type == "bf16") {
    bits = toBFloat16(static_cast<float>(value));
    return true;
  }
  if (type == "fp16") {
    bits = toFloat16(value);
    return true;
  }
  return false;
}

bool packInt(const std::string &type, int64_t value, bool isUnsigned64, uint64_t &bits) {
  bits = static_cast<uint64_t>(value);
  if (type.size() < 2 || (type[0] != 'i' && type[0] != 'u'))
    return false;
  int width = std::atoi(type.c_str() + 1);
  if (width == 1)
    return !isUnsigned64 && (value == 0 || value == 1);
  if (type[0] == 'u')
    return isUnsigned64 ? width == 64 : value >= 0 && (width == 64 || value >> width == 0);
  if (isUnsigned64)
    return false;
  return width == 64 ||
         (value >= -(int64_t(1) << (width - 1)) && value < int64_t(1) << (width - 1));
}

} // namespace tilewright::launch
