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

#include "DeviceExponentials.h"

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
static inline u32 roundToFp8(float magnitude, int mantissaBits, int minExponent, u32 largest,
                             int towardZero) {
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
  u32 result =
      roundToFp8(floatOf(bitsOf(x) & 0x7fffffff), mantissaBits, minExponent, largest, towardZero);
  result |= sign;
  return x != x ? 0x7f : result;
}

DEVICE u32 __tw_float_to_e4m3(float x) { return toFp8(x, 3, -6, 0x7e, 0); }
DEVICE u32 __tw_float_to_e4m3_rz(float x) { return toFp8(x, 3, -6, 0x7e, 1); }
DEVICE u32 __tw_float_to_e5m2(float x) { return toFp8(x, 2, -14, 0x7b, 0); }
DEVICE u32 __tw_float_to_e5m2_rz(float x) { return toFp8(x, 2, -14, 0x7b, 1); }

//===----------------------------------------------------------------------===//
// Sine, cosine and tangent
//===----------------------------------------------------------------------===//

// The bits of 2/pi after the point, a zero word before them.
static const CONSTANT u32 twoOverPi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                         0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

// Payne and Hanek: x * 2/pi modulo 4 needs only a window of 96 bits of 2/pi.
// Returns the quadrant in the upper and the reduced argument in the lower half. Inlined,
// though large arguments are rare: nvJitLink makes code that could be linked with other
// code, and there a call in a branch costs registers, and a guard at each later shuffle
// (the gradient of rotary embeddings in one warp: 356 bytes spilled, 104 without).
static inline __attribute__((always_inline)) u64 reduceLarge(float x) {
  u32 bits = bitsOf(x);
  int exponent = (int)(bits >> 23 & 0xff) - 127;
  u64 mantissa = (bits & 0x7fffff) | 0x800000;
  // x = mantissa * 2^shift. Bits of 2/pi of weight 2^-k with k <= shift - 2 give
  // multiples of 4; the window starts after them. Infinities and NaN have a window, too.
  int shift = exponent - 23;
  int offset = shift - 2 + 32;
  int word = offset >> 5, bit = offset & 31;
  u32 window[3];
#pragma clang loop unroll(full)
  for (int index = 0; index < 3; ++index) {
    u64 pair = (u64)twoOverPi[word + index] << 32 | twoOverPi[word + index + 1];
    window[index] = (u32)(pair << bit >> 32);
  }
  u64 low = mantissa * window[2];
  u64 middle = mantissa * window[1] + (low >> 32);
  u64 high = mantissa * window[0] + (middle >> 32);
  u64 product = high << 32 | (u32)middle; // 2 integer bits, 62 bits of fraction
  u32 quadrant = (u32)(product >> 62) + (u32)(product >> 61 & 1);
  double fraction = (double)(long long)(product << 2) * 0x1p-64;
  float reduced = (float)(fraction * 0x1.921fb54442d18p+0);
  if (bits >> 31) {
    reduced = -reduced;
    quadrant = 0 - quadrant;
  }
  if (exponent == 128)
    reduced = x - x;
  return (u64)quadrant << 32 | bitsOf(reduced);
}

// x without the nearest multiple of pi/2, and that multiple modulo 4 in the low bits.
typedef struct {
  float r;
  u32 quadrant;
} ReducedAngle;

static inline __attribute__((always_inline)) ReducedAngle reduceAngle(float x) {
  // Three parts of pi/2 are exact enough while the multiple has 17 bits. They have one sign, so that
  // r is -0 where x is.
  Rounded multiple = roundSmall(x, 0x1.45f306p-1f);
  float r = fma32(multiple.whole, -0x1.921fb4p+0f, x);
  r = fma32(multiple.whole, -0x1.4442d0p-24f, r);
  r = fma32(multiple.whole, -0x1.846988p-48f, r);
  u32 quadrant = multiple.bits;
  if (!(__builtin_fabsf(x) <= 105615.0f)) {
    u64 reduced = reduceLarge(x);
    r = floatOf((u32)reduced);
    quadrant = (u32)(reduced >> 32);
  }
  return (ReducedAngle){r, quadrant};
}

static inline float smallSine(float r) {
  float square = r * r;
  float s = fma32(0x1.6cb802p-19f, square, -0x1.a00f12p-13f);
  s = fma32(s, square, 0x1.111108p-7f);
  s = fma32(s, square, -0x1.555556p-3f);
  return fma32(correction(s, square), r, r);
}

static inline float smallCosine(float r) {
  float square = r * r;
  float c = fma32(-0x1.240b04p-22f, square, 0x1.a0107ep-16f);
  c = fma32(c, square, -0x1.6c16b8p-10f);
  c = fma32(c, square, 0x1.555556p-5f);
  c = fma32(c, square, -0.5f);
  return fma32(c, square, 1.0f);
}

// sin(x + quadrants * pi/2), at most 2 ULP.
static inline __attribute__((always_inline)) float sineOf(float x, u32 quadrants) {
  ReducedAngle angle = reduceAngle(x);
  u32 quadrant = angle.quadrant + quadrants;
  float result = quadrant & 1 ? smallCosine(angle.r) : smallSine(angle.r);
  return quadrant & 2 ? -result : result;
}

DEVICE float __tw_sinf(float x) { return sineOf(x, 0); }
DEVICE float __tw_cosf(float x) { return sineOf(x, 1); }

// tan(r) = r + r^3 P(r^2), P minimax on the squares of [-pi/4, pi/4]; at most 1.5 ULP.
static inline float smallTangent(float r) {
  float square = r * r;
  float t = 0x1.33dff0p-7f;
  t = fma32(t, square, 0x1.96b5ccp-9f);
  t = fma32(t, square, 0x1.906f2ep-6f);
  t = fma32(t, square, 0x1.b58584p-5f);
  t = fma32(t, square, 0x1.112de8p-3f);
  t = fma32(t, square, 0x1.5554dep-2f);
  return fma32(t * square, r, r);
}

// At most 4 ULP.
DEVICE float __tw_tanf(float x) {
  ReducedAngle angle = reduceAngle(x);
  float tangent = smallTangent(angle.r);
  return angle.quadrant & 1 ? -approximateReciprocal(tangent) : tangent;
}

//===----------------------------------------------------------------------===//
// Remainder
//===----------------------------------------------------------------------===//

// a mod b for a / b too large for one quotient: 22 bits of it at a time.
__attribute__((noinline, const)) static float remainderLarge(float a, float b) {
  if (!(a < __builtin_inff()) || !(b > 0.0f))
    return __builtin_nanf("");
  // Scaling by powers of two is exact; subnormal divisors become normal.
  float scale = b < 0x1p-100f ? 0x1p24f : 1.0f;
  b *= scale;
  for (int pass = 0; pass < 2; ++pass) {
    // In the second pass a is below 2^24 b of the first and can be scaled too.
    int exponentOfB = (int)(bitsOf(b) >> 23 & 0xff);
    int gap = (int)(bitsOf(a) >> 23 & 0xff) - exponentOfB;
    while (gap > 21) {
      // divisor = b * 2^(gap - 21), in range since it is below a.
      float divisor = floatOf(bitsOf(b) + ((u32)(gap - 21) << 23));
      float quotient = __builtin_truncf(a / divisor);
      a = fma32(-quotient, divisor, a);
      a = a < 0.0f ? a + divisor : a;
      a = a >= divisor ? a - divisor : a;
      gap = (int)(bitsOf(a) >> 23 & 0xff) - exponentOfB;
    }
    if (pass == 0)
      a *= scale;
    if (scale == 1.0f)
      break;
  }
  float quotient = __builtin_truncf(a / b);
  a = fma32(-quotient, b, a);
  a = a < 0.0f ? a + b : a;
  a = a >= b ? a - b : a;
  return a / scale;
}

// Exact, as C's fmodf.
DEVICE float __tw_fmodf(float x, float y) {
  float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
  float ratio = a / b;
  float r;
  if (ratio < 0x1p22f) {
    // The quotient is at most one too large, by rounding up to an integer.
    r = fma32(-__builtin_truncf(ratio), b, a);
    r = r < 0.0f ? r + b : r;
    r = r >= b ? r - b : r;
    r = a < b ? a : r; // also finite x and infinite y
  } else {
    r = remainderLarge(a, b); // also NaN
  }
  return __builtin_copysignf(r, x);
}
