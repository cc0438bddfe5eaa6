//===- DeviceExponentials.h - Exponentials, logarithms, powers --*- C -*---===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the part of DeviceMath.c that rests on the approximate instructions for 2^x
// and 1 / x: logarithms, exponentials, hyperbolic functions, powers and erf in f32.
//
// How: polynomials are minimax. Where a result needs more bits than a float has, it is
// the sum of two.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_DEVICE_DEVICEEXPONENTIALS_H
#define TILEWRIGHT_CODEGEN_EMIT_DEVICE_DEVICEEXPONENTIALS_H

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned long long u64;

#ifdef __NVPTX__
#define DEVICE __attribute__((always_inline, const))
#define CONSTANT __attribute__((address_space(4)))
#else
#define DEVICE static inline __attribute__((const))
#define CONSTANT
#endif

static inline u32 bitsOf(float x) { return __builtin_bit_cast(u32, x); }
static inline float floatOf(u32 x) { return __builtin_bit_cast(float, x); }

//===----------------------------------------------------------------------===//
// Approximate instructions and logarithms
//===----------------------------------------------------------------------===//

#ifdef __NVPTX__
// 2^x where that is no subnormal number; those cost three instructions more.
static inline float approximateExp2(float x) {
  float result;
  __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 2^n for whole n, without an error.
static inline float powerOfTwo(float n) {
  float result;
  __asm__("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(n));
  return result;
}

// 1 / x where neither is subnormal, which would cost three instructions more as well.
static inline float approximateReciprocal(float x) {
  float result;
  __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
#else
// The unit tests run this file on the host, with correctly rounded stand-ins.
static inline float approximateExp2(float x) { return __builtin_exp2f(x); }
static inline float powerOfTwo(float n) { return __builtin_exp2f(n); }
static inline float approximateReciprocal(float x) { return 1.0f / x; }
#endif

static inline float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// p * square, but positive at zero: x + x times this is -0 for x = -0.
static inline float correction(float p, float square) { return fma32(p, square, 0x1p-126f); }

// log(1 + f) = f + rest f, with rest = -f/2 + f^2 P(f), P minimax on [-1/3, 1/3].
static inline float logarithmRest(float f) {
  float p = 0x1.ebd01cp-4f;
  p = fma32(p, f, -0x1.071126p-3f);
  p = fma32(p, f, 0x1.b87e56p-4f);
  p = fma32(p, f, -0x1.f389fcp-4f);
  p = fma32(p, f, 0x1.24f48cp-3f);
  p = fma32(p, f, -0x1.559908p-3f);
  p = fma32(p, f, 0x1.99977ep-3f);
  p = fma32(p, f, -0x1.ffff0ep-3f);
  p = fma32(p, f, 0x1.555556p-2f);
  p = fma32(p, f, -0.5f);
  return p * f;
}

// The exponent e of x = 2^e m with m in [2/3, 4/3), in the place of a float's exponent.
static inline u32 exponentBits(float x) { return (bitsOf(x) - 0x3f2aaaab) & 0xff800000; }

// x = 2^e m, with m as above, so that a logarithm of x near 1 is that of m alone and keeps its
// relative accuracy. Subnormal numbers are split as well.
typedef struct {
  float e, m;
} SplitFloat;

static inline SplitFloat splitFloat(float x) {
  int isSmall = x < 0x1p-126f;
  float scaled = isSmall ? x * 0x1p23f : x;
  u32 exponent = exponentBits(scaled);
  float e = fma32((float)(int)exponent, 0x1p-23f, isSmall ? -23.0f : 0.0f);
  return (SplitFloat){e, floatOf(bitsOf(scaled) - exponent)};
}

// The same with f = m - 1 and the rest of its logarithm.
typedef struct {
  float e, f, rest;
} SplitLogarithm;

static inline SplitLogarithm splitLogarithm(float x) {
  SplitFloat split = splitFloat(x);
  float f = split.m - 1.0f;
  return (SplitLogarithm){split.e, f, logarithmRest(f)};
}

// `r`, but for zero, negative and infinite x and NaN. The bits of all these but 0 are no less than
// those of infinity, and x times infinity plus infinity is what is wanted of them.
static inline float logarithmOrSpecial(float x, float r) {
  const float infinity = __builtin_inff();
  float special = bitsOf(x) >= bitsOf(infinity) ? fma32(x, infinity, infinity) : r;
  return x == 0.0f ? -infinity : special;
}

// At most 1 ULP.
DEVICE float __tw_logf(float x) {
  SplitLogarithm log = splitLogarithm(x);
  float r = fma32(log.e, 0x1.62e43p-1f, fma32(log.rest, log.f, log.f));
  return logarithmOrSpecial(x, r);
}

// At most 1.5 ULP, and exact for powers of two: quantisation takes ceil(log2(scale)), which an
// error of 1 ULP turns into twice the scale. The polynomial is minimax for log2(1 + f) / f.
DEVICE float __tw_log2f(float x) {
  SplitFloat split = splitFloat(x);
  float f = split.m - 1.0f;
  float p = 0x1.f565f0p-2f;
  p = fma32(p, f, -0x1.580160p-3f);
  p = fma32(p, f, 0x1.f7bc5ap-5f);
  p = fma32(p, f, -0x1.6fcc18p-3f);
  p = fma32(p, f, 0x1.baab76p-3f);
  p = fma32(p, f, -0x1.ec5788p-3f);
  p = fma32(p, f, 0x1.2706b2p-2f);
  p = fma32(p, f, -0x1.7154fep-2f);
  p = fma32(p, f, 0x1.ec7258p-2f);
  p = fma32(p, f, -0x1.715476p-1f);
  p = fma32(p, f, 0x1.715476p+0f);
  return logarithmOrSpecial(x, fma32(p, f, split.e));
}

// At most 2 ULP.
DEVICE float __tw_log10f(float x) {
  SplitLogarithm log = splitLogarithm(x);
  float natural = fma32(log.rest, log.f, log.f);
  float r = fma32(natural, 0x1.bcb7b2p-2f, log.e * 0x1.3509f8p-18f);
  return logarithmOrSpecial(x, fma32(log.e, 0x1.344p-2f, r));
}

// At most 1.5 ULP. With 1 + x = 2^e m it takes m - 1 as 2^-e x + (2^-e - 1), which loses nothing
// of x. Where 2^-e is no float, four times as much is; x is subnormal only where e is 0.
DEVICE float __tw_log1pf(float x) {
  float sum = 1.0f + x;
  u32 exponent = exponentBits(sum);
  float power = floatOf(0x40800000 - exponent);
  float f = floatOf(bitsOf(x) - exponent) + fma32(power, 0.25f, -1.0f);
  float r = fma32((float)(int)exponent, 0x1.62e43p-24f, fma32(logarithmRest(f), f, f));
  return __builtin_copysignf(logarithmOrSpecial(sum, r), x);
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

// The nearest whole number to x and, in the low bits of `bits`, that number as an integer; below
// 2^22.
typedef struct {
  float whole;
  u32 bits;
} Rounded;

static inline Rounded roundSmall(float x, float factor) {
  const float magic = 0x1.8p23f;
  float shifted = fma32(x, factor, magic);
  return (Rounded){shifted - magic, bitsOf(shifted)};
}

// r = x - n log 2 for the nearest whole n, which the low bits hold as an integer.
typedef struct {
  float r;
  u32 bits;
} ReducedPower;

static inline ReducedPower reduceByLogOfTwo(float x) {
  Rounded n = roundSmall(x, 0x1.715476p+0f);
  float r = fma32(n.whole, -0x1.62e43p-1f, x);
  return (ReducedPower){fma32(n.whole, 0x1.05c61p-29f, r), n.bits};
}

// x between two bounds, or NaN.
static inline float limit(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// At most 1.5 ULP. With n = round(x / log 2) it is 2^n expm1(x - n log 2) + (2^n - 1), computed for
// half of it: 2^128 is no float.
DEVICE float __tw_expm1f(float x) {
  ReducedPower reduced = reduceByLogOfTwo(limit(x, -30.0f, 89.0f));
  float r = reduced.r;
  float p = 0x1.a1a462p-13f;
  p = fma32(p, r, 0x1.6d7714p-10f);
  p = fma32(p, r, 0x1.11108ep-7f);
  p = fma32(p, r, 0x1.5554acp-5f);
  p = fma32(p, r, 0x1.555556p-3f);
  p = fma32(p, r, 0.5f);
  p = fma32(p * r, r, r);
  float half = floatOf((reduced.bits + 126) << 23);
  float sum = fma32(p, half, half - 0.5f);
  return __builtin_copysignf(sum + sum, x);
}

// At most 3 ULP.
DEVICE float __tw_exp10f(float x) {
  float y = limit(x, -60.0f, 60.0f);
  Rounded n = roundSmall(y, 0x1.a934fp+1f);
  float r = fma32(n.whole, -0x1.344136p-2f, y);
  r = fma32(n.whole, 0x1.ec10cp-27f, r);
  // One power of two moves over, so that neither factor overflows before the result does.
  float power = approximateExp2(fma32(r, 0x1.a934fp+1f, 1.0f));
  return power * powerOfTwo(n.whole - 1.0f);
}

// e^x / 2 for x from 0 on; at most 3 ULP.
static inline float halfExponential(float x) {
  ReducedPower reduced = reduceByLogOfTwo(limit(x, 0.0f, 90.0f));
  float power = approximateExp2(reduced.r * 0x1.715476p+0f);
  return power * floatOf((reduced.bits + 125) << 23) * 2.0f;
}

// At most 3 ULP.
DEVICE float __tw_coshf(float x) {
  float half = halfExponential(__builtin_fabsf(x));
  return fma32(0.25f, approximateReciprocal(half), half);
}

// At most 3 ULP. Below 1 a polynomial.
DEVICE float __tw_sinhf(float x) {
  float square = x * x;
  float p = 0x1.7a265ap-19f;
  p = fma32(p, square, 0x1.9ffe14p-13f);
  p = fma32(p, square, 0x1.111136p-7f);
  p = fma32(p, square, 0x1.555556p-3f);
  float small = fma32(p * square, x, x);
  float half = halfExponential(__builtin_fabsf(x));
  float large = fma32(-0.25f, approximateReciprocal(half), half);
  return __builtin_fabsf(x) < 1.0f ? small : __builtin_copysignf(large, x);
}

// The magnitude of x^y for x > 0. log2(x) has about 33 bits, as the sum of two floats: with
// s = f / (2 + f) it is e + 2 / log 2 (s + s^3 P(s^2)).
static inline float positivePower(float x, float y) {
  const float high = 0x1.715476p+1f, low = 0x1.4ae0cp-25f;
  SplitFloat split = splitFloat(x);
  float e = split.e, m = split.m, f = m - 1.0f, sum = m + 1.0f;
  float inverse = approximateReciprocal(sum);
  float s = f * inverse;
  float lost = fma32(-s, m - (sum - 1.0f), fma32(-s, sum, f)) * inverse;
  // The terms of s and s^3 as sums of two floats, the others in one.
  float square = s * s, squareRest = fma32(s + s, lost, fma32(s, s, -square));
  float p = 0x1.edfb7ep-4f;
  p = fma32(p, square, 0x1.23e6p-3f);
  p = fma32(p, square, 0x1.999beep-3f);
  float tail = fma32(p, square, -0x1.e8d966p-26f);
  float third = 0x1.555556p-2f + tail, thirdRest = (0x1.555556p-2f - third) + tail;
  float cube = s * square, cubeRest = fma32(s, square, -cube);
  cubeRest = fma32(square, lost, fma32(s, squareRest, cubeRest));
  float term = cube * third;
  float rest = fma32(cube, thirdRest, fma32(cubeRest, third, fma32(cube, third, -term))) + lost;
  float log = s + term;
  rest = rest + (term - (log - s));
  float scaledLog = log * high;
  float scaledRest = fma32(log, low, fma32(rest, high, fma32(log, high, -scaledLog)));
  float sumLog = e + scaledLog;
  float sumRest = (e - sumLog) + scaledLog + scaledRest;
  const float infinity = __builtin_inff();
  sumLog = x == 0.0f ? -infinity : x == infinity ? infinity : sumLog;

  float product = y * sumLog;
  float productRest = fma32(y, sumRest, fma32(y, sumLog, -product));
  float power = limit(product, -200.0f, 200.0f);
  Rounded n = roundSmall(power, 1.0f);
  float r = power - n.whole;
  r = power == product ? r + productRest : r;
  return approximateExp2(r + 1.0f) * powerOfTwo(n.whole - 1.0f);
}

// At most 4 ULP, with the special cases of C.
DEVICE float __tw_powf(float x, float y) {
  const float infinity = __builtin_inff();
  float a = __builtin_fabsf(x), half = 0.5f * y;
  float magnitude = positivePower(a, y);
  int isWhole = __builtin_floorf(y) == y;
  int isOdd = isWhole & (__builtin_floorf(half) != half);
  // An odd power has the sign of x; of a negative number only whole powers are real.
  float r = isOdd ? __builtin_copysignf(magnitude, x) : magnitude;
  int isUnreal = (x < 0.0f) & (x > -infinity) & !isWhole;
  r = isUnreal ? __builtin_nanf("") : r;
  int hasSizeOne = (a == 1.0f) & (__builtin_fabsf(y) == infinity);
  r = hasSizeOne ? 1.0f : r;
  r = __builtin_isunordered(x, y) ? x + y : r;
  int isOne = (y == 0.0f) | (x == 1.0f);
  return isOne ? 1.0f : r;
}

// By squaring, each product rounded, and the reciprocal where n is negative.
#define POWER_OF_INTEGER(name, real)                                                               \
  DEVICE real name(real x, int n) {                                                                \
    real result = 1;                                                                               \
    for (u32 left = n < 0 ? 0u - (u32)n : (u32)n;;) {                                              \
      result = left & 1 ? result * x : result;                                                     \
      left >>= 1;                                                                                  \
      if (left == 0)                                                                               \
        return n < 0 ? 1 / result : result;                                                        \
      x *= x;                                                                                      \
    }                                                                                              \
  }
POWER_OF_INTEGER(__tw_powif, float)
POWER_OF_INTEGER(__tw_powi, double)

// At most 3 ULP. Near zero a polynomial, elsewhere 1 - 2 / (e^2x + 1).
DEVICE float __tw_tanhf(float x) {
  float a = __builtin_fabsf(x), square = x * x;
  float p = 0x1.23e4ep-9f;
  p = fma32(p, square, -0x1.0ec0eep-7f);
  p = fma32(p, square, 0x1.6411a4p-6f);
  p = fma32(p, square, -0x1.b9f9e6p-5f);
  p = fma32(p, square, 0x1.11109cp-3f);
  p = fma32(p, square, -0x1.555554p-2f);
  float small = fma32(correction(p, square), x, x);
  float power = approximateExp2(a * 0x1.715476p+1f);
  float large = fma32(-2.0f, approximateReciprocal(power + 1.0f), 1.0f);
  return a < 0.6f ? small : __builtin_copysignf(large, x);
}

// At most 3 ULP. Near zero x + x P(x^2); elsewhere 1 - 2^Q(|x|), which is 1 from 4 on.
DEVICE float __tw_erff(float x) {
  float a = __builtin_fabsf(x), square = x * x;
  float p = 0x1.496690p-14f;
  p = fma32(p, square, -0x1.a3f582p-11f);
  p = fma32(p, square, 0x1.540576p-8f);
  p = fma32(p, square, -0x1.b7f904p-6f);
  p = fma32(p, square, 0x1.ce2cf6p-4f);
  p = fma32(p, square, -0x1.81273ep-2f);
  p = fma32(p, square, 0x1.06eba8p-3f);
  float small = fma32(p, x, x);
  float clamped = a > 4.0f ? 4.0f : a;
  float q = -0x1.0389bcp-15f;
  q = fma32(q, clamped, 0x1.4bb2cp-11f);
  q = fma32(q, clamped, -0x1.8c3d1ep-8f);
  q = fma32(q, clamped, 0x1.297e92p-5f);
  q = fma32(q, clamped, -0x1.402b56p-3f);
  q = fma32(q, clamped, -0x1.d3c5dep-1f);
  q = fma32(q, clamped, -0x1.a12d68p+0f);
  q = fma32(q, clamped, 0x1.14051ep-12f);
  float large = __builtin_copysignf(1.0f - approximateExp2(q), x);
  float result = a < 0.97f ? small : large;
  return x != x ? x + x : result;
}

#endif // TILEWRIGHT_CODEGEN_EMIT_DEVICE_DEVICEEXPONENTIALS_H
