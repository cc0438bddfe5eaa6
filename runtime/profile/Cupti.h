//===- Cupti.h - Times of kernels from CUPTI's activity records -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: CUPTI's activity interface, opened when a profile begins. The GPU writes when each
// kernel began and ended; nothing is put between kernels, and a launch waits for nothing.
//
// How: own declarations of the six functions that are used, as for the driver. Of the
// records only fields are read that have stood at the same place since CUDA 11
// (CUpti_ActivityKernel5 up to Kernel13 of CUDA 13.5).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_PROFILE_CUPTI_H
#define TILEWRIGHT_RUNTIME_PROFILE_CUPTI_H

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::profile {

/// One run of a kernel, whoever launched it. Times in nanoseconds of CUPTI's clock.
struct KernelRun {
  uint64_t start = 0, end = 0;
  uint32_t device = 0, stream = 0; // CUPTI's number of the stream
  uint32_t grid[3] = {0, 0, 0};    // in blocks
  uint32_t threads = 0;            // of a block
  uint32_t correlation = 0;        // counts the calls of the driver, in their order
  uint32_t name = 0;               // index of CuptiRecords::names
  bool isReplay = false;           // a node of a graph
};

struct CuptiRecords {
  std::vector<std::string> names;
  std::vector<KernelRun> runs;
  uint64_t dropped = 0; // records that CUPTI had no room for
};

/// Begins to record kernels of all devices with the first library of `candidates` that opens;
/// an empty text, or why it does not work.
std::string startCupti(const std::vector<std::string> &candidates);
/// The library in use; empty where none is.
std::string cuptiPath();
/// CUPTI's clock.
uint64_t cuptiNow();
/// Ends the recording; all kernels must have ended, or their records are missing.
CuptiRecords stopCupti();

} // namespace tilewright::profile

#endif // TILEWRIGHT_RUNTIME_PROFILE_CUPTI_H
