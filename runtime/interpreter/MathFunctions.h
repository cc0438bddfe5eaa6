//===- MathFunctions.h - Exponentials and logarithms that vectorise -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: exp, exp2, log and log2 of f32, in f64, without branches and calls, so
// that loops over them vectorise. The f64 results are good to about 1e-15, so
// the rounded f32 is within 0.50001 ULP. The f64 overloads are libm's.
//
// How: exp2(x) = 2^k * e^(r ln 2) with k the nearest integer and the Taylor
// series of e^t for |t| < 0.35; log(m 2^k) = k ln 2 + 2 atanh((m - 1)/(m + 1))
// with m in [sqrt(1/2), sqrt(2)).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_MATHFUNCTIONS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_MATHFUNCTIONS_H

#include "runtime/interpreter/SmallFloat.h"
#include "runtime/interpreter/Vectorize.h"

#include <cmath>

namespace tilewright::interpreter {

/// e^t for |t| <= 0.36: the series to t^13 / 13! leaves less than 1e-17.
TILEWRIGHT_INLINE double expSeries(double t) {
  constexpr double c[] = {1.0,
                          1.0,
                          1.0 / 2,
                          1.0 / 6,
                          1.0 / 24,
                          1.0 / 120,
                          1.0 / 720,
                          1.0 / 5040,
                          1.0 / 40320,
                          1.0 / 362880,
                          1.0 / 3628800,
                          1.0 / 39916800,
                          1.0 / 479001600,
                          1.0 / 6227020800.0};
  double sum = c[13];
  for (int i = 12; i >= 0; --i)
    sum = sum * t + c[i];
  return sum;
}

/// 2^k * e^t for integral k, clamped to where an f32 is 0 or infinite anyway.
TILEWRIGHT_INLINE double scaledExp(double k, double t) {
  // Adding 1.5 * 2^52 leaves k in the low bits of the sum.
  uint64_t exponent = bitCast<uint64_t>(k + 6755399441055744.0);
  return expSeries(t) * bitCast<double>((exponent + 1023) << 52);
}

/// The integer nearest to x, for |x| < 2^51.
TILEWRIGHT_INLINE double nearestInteger(double x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

TILEWRIGHT_INLINE double exp2Of(float value) {
  double x = value;
  // Also turns infinities into numbers; NaN fails both comparisons and stays.
  x = x > 200 ? 200 : x < -200 ? -200 : x;
  double k = nearestInteger(x);
  constexpr double ln2 = 0.69314718055994530942;
  return scaledExp(k, (x - k) * ln2);
}

TILEWRIGHT_INLINE double expOf(float value) {
  double x = value;
  x = x > 150 ? 150 : x < -150 ? -150 : x;
  constexpr double log2e = 1.4426950408889634074;
  // ln 2 in two parts: k times the first is exact.
  constexpr double ln2High = 0x1.62e42fefa3800p-1, ln2Low = 0x1.ef35793c76730p-45;
  double k = nearestInteger(x * log2e);
  return scaledExp(k, (x - k * ln2High) - k * ln2Low);
}

/// m in [sqrt(1/2), sqrt(2)) and k with x = m * 2^k, for positive finite x.
TILEWRIGHT_INLINE double splitExponent(double x, double &k) {
  constexpr uint64_t sqrtHalf = 0x3fe6a09e667f3bcdull;
  uint64_t bits = bitCast<uint64_t>(x);
  uint64_t shifted = bits - sqrtHalf;
  int64_t exponent = static_cast<int64_t>(shifted) >> 52;
  k = bitCast<double>(static_cast<uint64_t>(exponent) + 0x4338000000000000ull) - 6755399441055744.0;
  return bitCast<double>(bits - (static_cast<uint64_t>(exponent) << 52));
}

/// log(m) for m in [sqrt(1/2), sqrt(2)): 2 s (1 + s^2/3 + s^4/5 + ...).
TILEWRIGHT_INLINE double logSeries(double m) {
  double s = (m - 1) / (m + 1), square = s * s;
  double sum = 1.0 / 23;
  for (int i = 21; i >= 1; i -= 2)
    sum = sum * square + 1.0 / i;
  return 2 * s * sum;
}

/// What a logarithm gives for zero, negative numbers, infinity and NaN.
TILEWRIGHT_INLINE double specialLog(double x, double result) {
  result = x == 0 ? -INFINITY : x < 0 ? NAN : result;
  return x < INFINITY ? result : x; // infinity and NaN give themselves
}

TILEWRIGHT_INLINE double logOf(float value) {
  double x = value, k;
  double m = splitExponent(x, k);
  constexpr double ln2 = 0.69314718055994530942;
  return specialLog(x, k * ln2 + logSeries(m));
}

TILEWRIGHT_INLINE double log2Of(float value) {
  double x = value, k;
  double m = splitExponent(x, k);
  constexpr double log2e = 1.4426950408889634074;
  return specialLog(x, k + logSeries(m) * log2e);
}

TILEWRIGHT_INLINE double expOf(double x) { return std::exp(x); }
TILEWRIGHT_INLINE double exp2Of(double x) { return std::exp2(x); }
TILEWRIGHT_INLINE double logOf(double x) { return std::log(x); }
TILEWRIGHT_INLINE double log2Of(double x) { return std::log2(x); }

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_MATHFUNCTIONS_H
