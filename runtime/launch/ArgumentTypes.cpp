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

namespace {
struct TypeName {
  const char *name;
  ElementType type;
};
} // namespace

// The first name of a type is the language's own. Type strings of the array
// interface carry a byte order, which is stripped before the look-up.
static const TypeName typeNames[] = {
    {"i1", ElementType::Int1},
    {"bool", ElementType::Int1},
    {"u1bool", ElementType::Int1},
    {"b1", ElementType::Int1},
    {"int1", ElementType::Int1},
    {"bool_", ElementType::Int1},
    {"i8", ElementType::Int8},
    {"int8", ElementType::Int8},
    {"i16", ElementType::Int16},
    {"int16", ElementType::Int16},
    {"i32", ElementType::Int32},
    {"int32", ElementType::Int32},
    {"i64", ElementType::Int64},
    {"int64", ElementType::Int64},
    {"u8", ElementType::UInt8},
    {"uint8", ElementType::UInt8},
    {"u16", ElementType::UInt16},
    {"uint16", ElementType::UInt16},
    {"u32", ElementType::UInt32},
    {"uint32", ElementType::UInt32},
    {"u64", ElementType::UInt64},
    {"uint64", ElementType::UInt64},
    {"fp16", ElementType::Float16},
    {"float16", ElementType::Float16},
    {"half", ElementType::Float16},
    {"bf16", ElementType::BFloat16},
    {"bfloat16", ElementType::BFloat16},
    {"fp32", ElementType::Float32},
    {"float32", ElementType::Float32},
    {"float", ElementType::Float32},
    {"fp64", ElementType::Float64},
    {"float64", ElementType::Float64},
    {"double", ElementType::Float64},
    {"fp8e4nv", ElementType::Float8E4M3},
    {"float8e4nv", ElementType::Float8E4M3},
    {"float8_e4m3fn", ElementType::Float8E4M3},
    {"fp8e5", ElementType::Float8E5M2},
    {"float8e5", ElementType::Float8E5M2},
    {"float8_e5m2", ElementType::Float8E5M2},
    {"fp8e4b15", ElementType::Float8E4B15},
    {"float8e4b15", ElementType::Float8E4B15},
    {"fp8e4b8", ElementType::Float8E4B8},
    {"float8_e4m3fnuz", ElementType::Float8E4B8},
    {"fp8e5b16", ElementType::Float8E5B16},
    {"float8_e5m2fnuz", ElementType::Float8E5B16},
};

const char *elementTypeName(ElementType type) {
  for (const TypeName &entry : typeNames)
    if (entry.type == type)
      return entry.name;
  return "invalid";
}

int elementTypeBytes(ElementType type) {
  switch (type) {
  case ElementType::Invalid:
    return 0;
  case ElementType::Int16:
  case ElementType::UInt16:
  case ElementType::Float16:
  case ElementType::BFloat16:
    return 2;
  case ElementType::Int32:
  case ElementType::UInt32:
  case ElementType::Float32:
    return 4;
  case ElementType::Int64:
  case ElementType::UInt64:
  case ElementType::Float64:
    return 8;
  default:
    return 1;
  }
}

bool isFloatingType(ElementType type) { return type >= ElementType::Float16; }

/// "<f4" of the array interface: kind and bytes; Invalid for any other text.
static ElementType parseTypeString(const std::string &text) {
  if (text.size() != 3 || !std::strchr("<>|=", text[0]))
    return ElementType::Invalid;
  // Big-endian data cannot be read by a kernel.
  if (text[0] == '>' && text[2] != '1')
    return ElementType::Invalid;
  static const TypeName byKind[] = {
      {"b1", ElementType::Int1},    {"i1", ElementType::Int8},    {"i2", ElementType::Int16},
      {"i4", ElementType::Int32},   {"i8", ElementType::Int64},   {"u1", ElementType::UInt8},
      {"u2", ElementType::UInt16},  {"u4", ElementType::UInt32},  {"u8", ElementType::UInt64},
      {"f2", ElementType::Float16}, {"f4", ElementType::Float32}, {"f8", ElementType::Float64},
  };
  for (const TypeName &entry : byKind)
    if (text.compare(1, 2, entry.name) == 0)
      return entry.type;
  return ElementType::Invalid;
}

ElementType parseElementType(const std::string &text) {
  ElementType fromTypeString = parseTypeString(text);
  if (fromTypeString != ElementType::Invalid)
    return fromTypeString;
  size_t dot = text.rfind('.');
  std::string name = dot == std::string::npos ? text : text.substr(dot + 1);
  for (const TypeName &entry : typeNames)
    if (name == entry.name)
      return entry.type;
  return ElementType::Invalid;
}

std::string typeString(uint8_t code, bool isConstPointer, const std::string &annotation) {
  switch (plainCode(code)) {
  case kInt32:
    return "i32";
  case kInt64:
    return "i64";
  case kUInt64:
    return "u64";
  case kBool:
    return "i1";
  case kFloat32:
    return "fp32";
  case kAnnotatedScalar:
  case kAnnotatedPointer:
    return annotation;
  default:
    return std::string(isConstPointer ? "*k" : "*") +
           elementTypeName(static_cast<ElementType>(plainCode(code) - kPointer));
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
