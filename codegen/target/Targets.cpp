//===- Targets.cpp - The GPUs that code is made for -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one row per GPU family. Nothing outside this folder compares
// architecture numbers.
//
// How: a name is looked up in the table; a chip newer than the last row gets
// the newest row without its architecture-specific features, as PTX that the
// driver compiles. LLVM 19 writes PTX up to version 8.5.
//
//===----------------------------------------------------------------------===//

#include "codegen/target/Targets.h"

#include "ir/support/Error.h"

#include <algorithm>

namespace tilewright {

namespace {

struct TargetRow {
  const char *name;
  int capability;
  /// The shared memory of a multiprocessor.
  int64_t sharedBytes;
  int64_t threads, blocks;
  /// What a multiprocessor must have asked for to be kept busy by global memory.
  int64_t bytesInFlight;
  /// Ada's fp8: conversions and mma.
  bool hasFp8;
  /// Hopper's native bf16 arithmetic and atomics, stmatrix, TMA, clusters, dependent launches.
  bool isHopper;
  /// The instructions that only "sm_90a" has.
  bool isHopperSpecific;
};

} // namespace

/// From the table of technical specifications per compute capability in the CUDA C++
/// programming guide; the bytes in flight are the bandwidth (H200 4.8, A100 2, RTX 3090 0.9,
/// RTX 4090 1 TB/s) per multiprocessor times 0.65 us, in which a load comes when memory is busy.
static const TargetRow rows[] = {
    {"sm_80", 80, 164 * 1024, 2048, 32, 12 * 1024, false, false, false},
    {"sm_86", 86, 100 * 1024, 1536, 16, 8 * 1024, false, false, false},
    {"sm_89", 89, 100 * 1024, 1536, 24, 6 * 1024, true, false, false},
    {"sm_90", 90, 228 * 1024, 2048, 32, 24 * 1024, true, true, false},
    {"sm_90a", 90, 228 * 1024, 2048, 32, 24 * 1024, true, true, true},
};

/// What all of them have in common.
static constexpr int64_t registersPerMultiprocessor = 64 * 1024, maxRegistersPerThread = 255;
static constexpr int64_t registerUnit = 8, multiprocessorParts = 4, maxWarpsPerBlock = 32;
/// Shared memory of each block that belongs to the system.
static constexpr int64_t reservedSharedBytes = 1024;

/// The newest version of PTX that LLVM 19 can write; CUDA 12.5 and later read it.
static constexpr int ptxVersion = 85;

static TargetInfo makeTarget(const TargetRow &row) {
  TargetInfo info;
  info.name = row.name;
  info.capability = row.capability;
  info.ptxVersion = ptxVersion;
  info.maxWarpsPerBlock = maxWarpsPerBlock;
  info.maxRegistersPerThread = maxRegistersPerThread;
  info.multiprocessor.registers = registersPerMultiprocessor;
  info.multiprocessor.threads = row.threads;
  info.multiprocessor.blocks = row.blocks;
  info.multiprocessor.sharedBytes = row.sharedBytes;
  info.bytesInFlight = row.bytesInFlight;
  info.multiprocessor.reservedSharedBytes = reservedSharedBytes;
  info.multiprocessor.parts = multiprocessorParts;
  info.multiprocessor.registerUnit = registerUnit;
  // One block may have all that the system leaves.
  info.maxSharedBytesPerBlock = row.sharedBytes - reservedSharedBytes;
  info.hasFp8Conversions = row.hasFp8;
  info.hasFp8Mma = row.hasFp8;
  info.hasBf16Arithmetic = row.isHopper;
  info.hasBf16AtomicAdd = row.isHopper;
  if (row.isHopper)
    info.maxAtomicAddBytes = info.maxVectorBytes;
  info.hasStoreMatrix = row.isHopper;
  info.hasTma = row.isHopper;
  // More than 8 is for the driver to allow.
  info.maxBlocksPerCluster = row.isHopper ? 16 : 1;
  info.hasProgrammaticLaunch = row.isHopper;
  info.hasWgmma = info.hasTensorMapReplace = row.isHopperSpecific;
  // Every family of the table is sm_80 or newer.
  info.hasIntegerRedux = true;
  info.hasCpAsync = true;
  info.hasMma = true;
  info.hasEvictionHints = true;
  return info;
}

/// The number in "sm_90a", "90a" or "90", and whether an "a" follows it; -1 for
/// any other form.
static int parseCapability(const std::string &name, bool &isSpecific) {
  std::string digits = name.rfind("sm_", 0) == 0 ? name.substr(3) : name;
  isSpecific = !digits.empty() && digits.back() == 'a';
  if (isSpecific)
    digits.pop_back();
  bool isNumber =
      digits.size() >= 2 && digits.size() <= 4 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return isNumber ? std::stoi(digits) : -1;
}

TargetInfo getTargetInfo(const std::string &name) {
  for (const TargetRow &row : rows)
    if (name == row.name)
      return makeTarget(row);
  bool isSpecific = false;
  int capability = parseCapability(name, isSpecific);
  const TargetRow *newest = std::end(rows) - 1;
  // A bare capability of a known chip means all that the chip can do.
  const TargetRow *best = nullptr;
  for (const TargetRow &row : rows)
    if (row.capability == capability)
      best = &row;
  if (best && name.rfind("sm_", 0) != 0)
    return makeTarget(*best);
  if (capability > newest->capability) {
    for (const TargetRow &row : rows)
      if (row.capability == newest->capability)
        return makeTarget(row); // the first of them is the general one
  }
  // A chip between two rows (sm_87) runs the code of the older one.
  if (!best && !isSpecific && capability > rows[0].capability) {
    for (const TargetRow &row : rows)
      if (row.capability < capability)
        best = &row;
    return makeTarget(*best);
  }
  // Older than all of the table, or no name of a chip: no assembler would help.
  std::vector<std::string> names;
  for (const TargetRow &row : rows)
    names.push_back(row.name);
  throw Error(ErrorCode::E0306, fmt::format("'{}' is no target of Tilewright", name),
              fmt::format("supported: {} and what is newer", fmt::join(names, ", ")));
}

namespace codegen {

std::string llvmProcessor(const TargetInfo &target) { return target.name; }

std::string llvmFeatures(const TargetInfo &target) {
  return "+ptx" + std::to_string(std::min(target.ptxVersion, ptxVersion));
}

std::vector<std::string> knownTargets() {
  std::vector<std::string> names;
  for (const TargetRow &row : rows)
    names.push_back(row.name);
  return names;
}

//===----------------------------------------------------------------------===//
// Peaks
//===----------------------------------------------------------------------===//

namespace {

struct PeakRow {
  int capability;
  /// Products of 8 bits, of the whole chip per second. Those of one board where only it counts.
  double products8;
  /// The same for each multiprocessor and cycle, where products8 is 0.
  double products8PerCycle;
  /// What a multiprocessor does in a cycle; a multiplication with an addition counts twice.
  double elements32PerCycle, products64PerCycle;
};

} // namespace

/// From the data sheets: A100 (624e12), RTX 4090 (330.3e12 with fp32 accumulators), H100 PCIe
/// (1513e12 with 114 multiprocessors at 1755 MHz, which is below 8192 per cycle as the clock of the
/// data sheet is not the highest one). Half of it for each doubling of the width.
static const PeakRow peakRows[] = {
    {80, 624e12, 0, 128, 128},
    {86, 0, 2048, 256, 0},
    {89, 330.3e12, 0, 256, 0},
    {90, 0, 1513e12 / 114 / 1755e6, 256, 256},
};

PeakRates peakRates(int capability, int multiprocessors, int64_t clockRateInKHz) {
  PeakRates rates;
  double cycles = double(multiprocessors) * double(clockRateInKHz) * 1e3;
  for (const PeakRow &row : peakRows)
    if (row.capability == capability) {
      rates.products8 = row.products8 ? row.products8 : row.products8PerCycle * cycles;
      rates.products16 = rates.products8 / 2;
      rates.productsTf32 = rates.products8 / 4;
      rates.products64 = row.products64PerCycle * cycles;
      rates.elements32 = row.elements32PerCycle * cycles;
    }
  return rates;
}

} // namespace codegen
} // namespace tilewright
