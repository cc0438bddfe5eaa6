//===- Fit.cpp - Whether a kernel fits a device ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "autotune/Fit.h"

#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include <algorithm>

namespace tilewright::autotune {

/// Registers are handed out to a warp in units of eight per thread.
static constexpr int64_t kRegisterUnit = 8;
/// The driver keeps this much of a block's shared memory for itself.
static constexpr int64_t kReservedShared = 1024;

Fit judgeFit(const KernelResources &kernel, const DeviceLimits &device) {
  Fit fit;
  int64_t registers = std::max<int64_t>(kernel.registers, 0);
  int64_t perBlock = (registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit *
                     std::max<int64_t>(kernel.threads, 1);
  if (kernel.threads > device.threadsPerBlock)
    fit.problem = fmt::format("{} threads, {} allowed", kernel.threads, device.threadsPerBlock);
  else if (kernel.sharedBytes > device.sharedPerBlock)
    fit.problem = fmt::format("{} bytes of shared memory, {} allowed", kernel.sharedBytes,
                              device.sharedPerBlock);
  else if (perBlock > device.registersPerBlock)
    fit.problem = fmt::format("{} registers x {} threads, {} allowed", kernel.registers,
                              kernel.threads, device.registersPerBlock);
  if (!fit.problem.empty())
    return fit;
  // A multiprocessor has as much shared memory as its largest block may ask for.
  int64_t byShared = (device.sharedPerBlock + kReservedShared) /
                     std::max<int64_t>(kernel.sharedBytes + kReservedShared, 1);
  int64_t byRegisters = perBlock ? device.registersPerBlock / perBlock : 32;
  int64_t byThreads = 2 * device.threadsPerBlock / std::max<int64_t>(kernel.threads, 1);
  fit.blocksAtOnce =
      std::max<int64_t>(1, std::min({byShared, byRegisters, byThreads, int64_t(32)}));
  return fit;
}

} // namespace tilewright::autotune
