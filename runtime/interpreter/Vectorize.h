//===- Vectorize.h - One loop compiled for several CPUs ---------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the package is built for any x86-64, where SSE2 has no 32-bit multiply,
// no conversion of float16 and no fused multiply-add. The hot loops are compiled
// a second time for AVX2 CPUs and picked at run time.
//
// How: a loop is written once as an always-inline body. TILEWRIGHT_WIDE marks
// the function or lambda around the second copy of it. Results do not differ:
// contraction is off, so both copies round alike.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_VECTORIZE_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_VECTORIZE_H

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TILEWRIGHT_WIDE __attribute__((target("avx2,fma,f16c,bmi,bmi2")))
#define TILEWRIGHT_HAS_WIDE 1
#else
#define TILEWRIGHT_WIDE
#define TILEWRIGHT_HAS_WIDE 0
#endif

#define TILEWRIGHT_INLINE inline __attribute__((always_inline))

namespace tilewright::interpreter {

/// Whether this CPU runs functions marked TILEWRIGHT_WIDE.
inline bool cpuIsWide() {
#if TILEWRIGHT_HAS_WIDE
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  return wide;
#else
  return false;
#endif
}

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_VECTORIZE_H
