//===- FloatChunks.h - Small floats widened block by block ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: converts runs of any floating type to and from f32. Arithmetic on 8-
// and 16-bit floats is done in f32 on chunks that stay in the L1 cache and is
// rounded once: with at least twice the digits plus two in between, that equals
// rounding the exact result of + - * / and sqrt.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_FLOATCHUNKS_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_FLOATCHUNKS_H

#include "frontend/semantic/Types.h"

namespace tilewright::interpreter {

/// Elements per chunk: three f32 buffers of it fill 6 KiB.
constexpr int64_t chunkSize = 512;

/// `count` elements of `kind` (a float of at most 32 bits), from element
/// `start` of `source`, as f32.
void decodeFloats(semantic::ScalarKind kind, const void *source, int64_t start, int64_t count,
                  float *result);
/// The reverse, rounding to nearest even.
void encodeFloats(semantic::ScalarKind kind, const float *source, void *result, int64_t start,
                  int64_t count);
/// As encodeFloats, toward zero.
void encodeFloatsTowardZero(semantic::ScalarKind kind, const float *source, void *result,
                            int64_t start, int64_t count);

/// One element of any floating type.
double decodeFloat(semantic::ScalarKind kind, const void *source, int64_t index);
void encodeFloat(semantic::ScalarKind kind, double value, void *result, int64_t index);

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_FLOATCHUNKS_H
