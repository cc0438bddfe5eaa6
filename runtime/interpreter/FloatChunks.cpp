//===- FloatChunks.cpp - Small floats widened block by block --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"
#include "runtime/interpreter/Vectorize.h"

#include <array>

namespace tilewright::interpreter {

using semantic::ScalarKind;

template <typename Format> static const std::array<float, 256> &decodeTable() {
  static const std::array<float, 256> table = [] {
    std::array<float, 256> values{};
    for (uint32_t code = 0; code < 256; ++code)
      values[code] = decodeFloat8<Format>(code);
    return values;
  }();
  return table;
}

template <typename Format>
static void decode8(const uint8_t *source, int64_t count, float *result) {
  const std::array<float, 256> &table = decodeTable<Format>();
  for (int64_t i = 0; i < count; ++i)
    result[i] = table[source[i]];
}

template <typename Format>
static TILEWRIGHT_INLINE void decode16Loop(const uint16_t *source, int64_t count, float *result) {
  for (int64_t i = 0; i < count; ++i)
    result[i] = decodeFloat16<Format>(source[i]);
}
template <typename Format>
TILEWRIGHT_WIDE static void decode16Wide(const uint16_t *source, int64_t count, float *result) {
  decode16Loop<Format>(source, count, result);
}
template <typename Format>
static void decode16(const uint16_t *source, int64_t count, float *result) {
  if (cpuIsWide())
    return decode16Wide<Format>(source, count, result);
  decode16Loop<Format>(source, count, result);
}

template <typename Format, bool TowardZero, typename Word>
static TILEWRIGHT_INLINE void encodeLoop(const float *source, Word *result, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    result[i] = static_cast<Word>(encodeFloat<Format, TowardZero>(source[i]));
}
template <typename Format, bool TowardZero, typename Word>
TILEWRIGHT_WIDE static void encodeWide(const float *source, Word *result, int64_t count) {
  encodeLoop<Format, TowardZero>(source, result, count);
}
template <typename Format, bool TowardZero, typename Word>
static void encode(const float *source, Word *result, int64_t count) {
  if (cpuIsWide())
    return encodeWide<Format, TowardZero>(source, result, count);
  encodeLoop<Format, TowardZero>(source, result, count);
}

void decodeFloats(ScalarKind kind, const void *source, int64_t start, int64_t count,
                  float *result) {
  const uint8_t *bytes = static_cast<const uint8_t *>(source) + start;
  const uint16_t *halves = static_cast<const uint16_t *>(source) + start;
  switch (kind) {
  case ScalarKind::Float16:
    return decode16<Half>(halves, count, result);
  case ScalarKind::BFloat16:
    return decode16<Brain>(halves, count, result);
  case ScalarKind::Float8E4M3:
    return decode8<E4M3>(bytes, count, result);
  case ScalarKind::Float8E5M2:
    return decode8<E5M2>(bytes, count, result);
  default:
    std::memcpy(result, static_cast<const float *>(source) + start, count * sizeof(float));
  }
}

template <bool TowardZero>
static void encodeAs(ScalarKind kind, const float *source, void *result, int64_t start,
                     int64_t count) {
  uint8_t *bytes = static_cast<uint8_t *>(result) + start;
  uint16_t *halves = static_cast<uint16_t *>(result) + start;
  switch (kind) {
  case ScalarKind::Float16:
    return encode<Half, TowardZero>(source, halves, count);
  case ScalarKind::BFloat16:
    return encode<Brain, TowardZero>(source, halves, count);
  case ScalarKind::Float8E4M3:
    return encode<E4M3, TowardZero>(source, bytes, count);
  case ScalarKind::Float8E5M2:
    return encode<E5M2, TowardZero>(source, bytes, count);
  default:
    std::memcpy(static_cast<float *>(result) + start, source, count * sizeof(float));
  }
}

void encodeFloats(ScalarKind kind, const float *source, void *result, int64_t start,
                  int64_t count) {
  encodeAs<false>(kind, source, result, start, count);
}

void encodeFloatsTowardZero(ScalarKind kind, const float *source, void *result, int64_t start,
                            int64_t count) {
  encodeAs<true>(kind, source, result, start, count);
}

double decodeFloat(ScalarKind kind, const void *source, int64_t index) {
  if (kind == ScalarKind::Float64)
    return static_cast<const double *>(source)[index];
  float value;
  decodeFloats(kind, source, index, 1, &value);
  return value;
}

void encodeFloat(ScalarKind kind, double value, void *result, int64_t index) {
  if (kind == ScalarKind::Float64) {
    static_cast<double *>(result)[index] = value;
    return;
  }
  float narrow = kind == ScalarKind::Float32 ? static_cast<float>(value) : roundToOddFloat(value);
  encodeFloats(kind, &narrow, result, index, 1);
}

} // namespace tilewright::interpreter
