//===- Fit.h - Whether a kernel fits a device -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: judges a compiled candidate by its exact resources before it is loaded.
// A candidate that cannot run is reported with the number it needs and the
// number there is. Also says how many blocks of a candidate would share a
// multiprocessor.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_AUTOTUNE_FIT_H
#define TILEWRIGHT_AUTOTUNE_FIT_H

#include "ir/support/Occupancy.h"

#include <string>

namespace tilewright::autotune {

struct KernelResources {
  int64_t sharedBytes = 0;
  int64_t registers = -1; ///< per thread; -1 where no assembler told
  int64_t threads = 128;  ///< per block
};

/// The limits of one device: the driver's numbers.
struct DeviceLimits {
  int64_t sharedPerBlock = 0;
  int64_t registersPerBlock = 0;
  int64_t threadsPerBlock = 0;
  Multiprocessor multiprocessor;
};

struct Fit {
  std::string problem;      ///< empty where it fits
  int64_t blocksAtOnce = 0; ///< per multiprocessor
};

Fit judgeFit(const KernelResources &kernel, const DeviceLimits &device);

} // namespace tilewright::autotune

#endif // TILEWRIGHT_AUTOTUNE_FIT_H
