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

Fit judgeFit(const KernelResources &kernel, const DeviceLimits &device) {
  Fit fit;
  int64_t registers = std::max<int64_t>(kernel.registers, 0);
  int64_t unit = device.multiprocessor.registerUnit;
  int64_t perBlock = (registers + unit - 1) / unit * unit * std::max<int64_t>(kernel.threads, 1);
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
  fit.blocksAtOnce = std::max<int64_t>(
      1, residentBlocks(device.multiprocessor, {kernel.threads, registers, kernel.sharedBytes})
             .least());
  return fit;
}

} // namespace tilewright::autotune
