//===- ArgumentOverlap.h - Arrays that share memory -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: whether an array that a launch writes overlaps the array of another argument. Asked
// for kernels whose code is right only without that (metadata.needs_distinct_arguments).
//
// How: the launch has read the addresses anyway, so they are compared first. If two differ,
// the array with the lower address must end before the other begins, so only its extent is
// needed. An array that does not tell its extent is taken to overlap every array above it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTOVERLAP_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTOVERLAP_H

#include "python/bindings/launch/ArgumentReader.h"

namespace tilewright {

/// The arguments of one launch, as they were read.
struct ReadArguments {
  const std::vector<LaunchParam> &params;
  const LaunchArguments &arguments;
  PyObject *const *bound;
  const uint8_t *codes;
  const uint64_t *slots;
};

/// Bit i of `writtenMask`: parameter i is written; those from 64 on count as written.
bool argumentsOverlap(const ReadArguments &read, uint64_t writtenMask);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTOVERLAP_H
