//===- ExternReals.h - Functions that the C library lacks ----- -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: functions of reals that libdevice has and the C library has not, in f64.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_EXTERNREALS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_EXTERNREALS_H

namespace tilewright::interpreter {

constexpr double sqrtHalf = 0.70710678118654752440;

/// sin(pi x), exact where x is a multiple of 1/2.
double sinPi(double x);
double cosPi(double x);
/// exp(x^2) erfc(x). For large x its asymptotic series; below, the product,
/// with the part of x^2 that does not fit f64 put back.
double scaledErfc(double x);
/// The inverse of erfc: Newton's method from a rational start, in the tail where
/// erfc keeps its digits.
double inverseErfc(double y);
/// The inverse of erf. Near zero erfc(x) = 1 - y would lose digits.
double inverseErf(double y);
/// The modified Bessel functions of the first kind: their power series, whose
/// terms are all positive.
double besselI(int order, double x);
/// Reads and gives the upper half of a double only.
double reciprocalOfHalf(double x);
double lgammaOf(double x);

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_EXTERNREALS_H
