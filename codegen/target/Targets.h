//===- Targets.h - What LLVM and PTX are told of a GPU ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the part of a target that passes do not ask for: what codegen/emit tells LLVM,
// and the peak rates to which profiles compare. Passes ask TargetInfo.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_TARGET_TARGETS_H
#define TILEWRIGHT_CODEGEN_TARGET_TARGETS_H

#include "ir/support/TargetInfo.h"

#include <string>
#include <vector>

namespace tilewright::codegen {

/// LLVM's name of the processor: "sm_90a".
std::string llvmProcessor(const TargetInfo &target);
/// LLVM's feature string: "+ptx85", or the newest that LLVM writes where the target's is newer.
std::string llvmFeatures(const TargetInfo &target);
/// The names that getTargetInfo knows, oldest first.
std::vector<std::string> knownTargets();

/// What a chip does at best, for shares of it.
struct PeakRates {
  /// Per second: dense products with operands of 8 bits, of 16, of tf32, and of f64, and operations on f32
  /// outside of products. 0: not known.
  double products8 = 0, products16 = 0, productsTf32 = 0, products64 = 0, elements32 = 0;
};

/// Those of a chip with so many multiprocessors at this clock.
PeakRates peakRates(int capability, int multiprocessors, int64_t clockRateInKHz);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_TARGET_TARGETS_H
