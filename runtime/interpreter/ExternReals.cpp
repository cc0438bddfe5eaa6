//===- ExternReals.cpp - Functions that the C library lacks ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/ExternReals.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tilewright::interpreter {

static constexpr double pi = 3.14159265358979323846;

double sinPi(double x) {
  double rest = std::remainder(x, 2.0); // exact, in [-1, 1]
  if (std::fabs(rest) > 0.5)
    rest = std::copysign(1.0, rest) - rest;
  return std::isfinite(x) ? std::copysign(std::sin(pi * std::fabs(rest)), rest) : NAN;
}

double cosPi(double x) {
  double rest = std::fabs(std::remainder(x, 2.0));
  return std::isfinite(x) ? std::sin(pi * (0.5 - rest)) : NAN;
}

double scaledErfc(double x) {
  if (x < -27)
    return INFINITY;
  if (x < 10) {
    double square = x * x;
    return std::exp(square) * (1 + std::fma(x, x, -square)) * std::erfc(x);
  }
  double r = 1 / (2 * x * x), sum = 1, term = 1;
  for (int k = 1; k < 12; ++k) {
    term *= -(2 * k - 1) * r;
    sum += term;
  }
  return sum / (x * std::sqrt(pi));
}

double inverseErfc(double y) {
  if (!(y >= 0 && y <= 2))
    return NAN;
  if (y == 0 || y == 2)
    return y == 0 ? INFINITY : -INFINITY;
  double tail = y < 1 ? y : 2 - y;
  double t = std::sqrt(-2 * std::log(tail / 2));
  double x = -sqrtHalf * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
  for (int step = 0; step < 4; ++step) {
    double error = std::erfc(x) - tail;
    double slope = 2 / std::sqrt(pi) * std::exp(-x * x);
    x += error / (slope - x * error); // Halley: the second derivative is -2x slope
  }
  return y < 1 ? x : -x;
}

double inverseErf(double y) {
  if (std::fabs(y) > 0.5)
    return y > 0 ? inverseErfc(1 - y) : -inverseErfc(1 + y);
  double x = y * std::sqrt(pi) / 2;
  for (int step = 0; step < 5; ++step) {
    double error = std::erf(x) - y;
    double slope = 2 / std::sqrt(pi) * std::exp(-x * x);
    x -= error / (slope + x * error);
  }
  return x;
}

double besselI(int order, double x) {
  double half = x / 2, term = order == 0 ? 1 : half, sum = term;
  if (std::isinf(x))
    return order == 0 ? INFINITY : x;
  if (std::fabs(x) > 720)
    return order == 0 || x > 0 ? INFINITY : -INFINITY;
  for (int k = 1; k < 2000 && std::fabs(term) > std::fabs(sum) * 1e-18; ++k) {
    term *= half / k * (half / (k + order));
    sum += term;
  }
  return sum;
}

double reciprocalOfHalf(double x) {
  auto upperHalf = [](double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    bits &= 0xffffffff00000000u;
    std::memcpy(&value, &bits, sizeof(bits));
    return value;
  };
  double upper = upperHalf(x);
  // Subnormals count as zero, and become it.
  if (std::fabs(upper) < 0x1p-1022)
    upper = std::copysign(0.0, upper);
  double result = upperHalf(1 / upper);
  return std::fabs(result) < 0x1p-1022 ? std::copysign(0.0, result) : result;
}

double lgammaOf(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

} // namespace tilewright::interpreter
