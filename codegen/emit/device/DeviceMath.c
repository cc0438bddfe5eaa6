//===- DeviceMath.c - Functions that kernels call -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: f32 functions and fp8 conversions that PTX has no instruction for. The
// build compiles them to bitcode; emitPtx links those that a kernel calls.
//
// How: straight-line code wherever possible, since a tile runs each function
// once per register and a branch would serialise the registers.
//
//===----------------------------------------------------------------------===//

typedef unsigned int u32;
typedef unsigned short u16;

#define DEVICE __attribute__((always_inline, const))

static inline u32 bitsOf(float x) { return __builtin_bit_cast(u32, x); }
static inline float floatOf(u32 x) { return __builtin_bit_cast(float, x); }

//===----------------------------------------------------------------------===//
// 8-bit floats
//===----------------------------------------------------------------------===//

// Shifting the bits of E4M3 (bias 7) into those of f16 (bias 15) is off by 2^8 in
// value, for subnormals too. Only NaN needs a case of its own.
DEVICE _Float16 __tw_e4m3_to_half(u16 x) {
  u16 magnitude = x & 0x7f;
  u16 bits = magnitude << 7;
  _Float16 value = __builtin_bit_cast(_Float16, bits) * (_Float16)256.0;
  u16 result = __builtin_bit_cast(u16, value);
  result = magnitude == 0x7f ? 0x7fff : result;
  result |= (x & 0x80) << 8;
  return __builtin_bit_cast(_Float16, result);
}

// Rounds the magnitude of x to `mantissaBits` bits of mantissa, with exponents
// below `minExponent` subnormal, and returns the fp8 bits without sign.
// Nearest even: adding a float whose last bit has the weight of the target's
// last bit makes the hardware round there.
static inline u32 roundToFp8(float magnitude, int mantissaBits, int minExponent, u32 largest, int towardZero) {
  u32 bits = bitsOf(magnitude);
  int bias = 1 - minExponent;
  u32 result;
  if (towardZero) {
    u32 normal = (bits >> (23 - mantissaBits)) - ((u32)(127 - bias) << mantissaBits);
    // Below the smallest normal: count units of the last place.
    float units = magnitude * floatOf((u32)(127 - minExponent + mantissaBits) << 23);
    u32 subnormal = (u32)units;
    result = bits >= (u32)(127 + minExponent) << 23 ? normal : subnormal;
  } else {
    u32 last = (bits >> (23 - mantissaBits)) & 1;
    u32 rounded = bits + ((1u << (22 - mantissaBits)) - 1) + last;
    u32 normal = (rounded >> (23 - mantissaBits)) - ((u32)(127 - bias) << mantissaBits);
    u32 magic = (u32)(127 + minExponent + 23 - mantissaBits) << 23;
    u32 subnormal = bitsOf(magnitude + floatOf(magic)) - magic;
    result = bits >= (u32)(127 + minExponent) << 23 ? normal : subnormal;
  }
  // Infinity too: its bits are above those of every float.
  return result > largest ? largest : result;
}

static inline u32 toFp8(float x, int mantissaBits, int minExponent, u32 largest, int towardZero) {
  u32 sign = bitsOf(x) >> 24 & 0x80;
  u32 result = roundToFp8(floatOf(bitsOf(x) & 0x7fffffff), mantissaBits, minExponent, largest, towardZero);
  result |= sign;
  return x != x ? 0x7f : result;
}

DEVICE u32 __tw_float_to_e4m3(float x) { return toFp8(x, 3, -6, 0x7e, 0); }
DEVICE u32 __tw_float_to_e4m3_rz(float x) { return toFp8(x, 3, -6, 0x7e, 1); }
DEVICE u32 __tw_float_to_e5m2(float x) { return toFp8(x, 2, -14, 0x7b, 0); }
DEVICE u32 __tw_float_to_e5m2_rz(float x) { return toFp8(x, 2, -14, 0x7b, 1); }
