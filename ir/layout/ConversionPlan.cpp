//===- ConversionPlan.cpp - Choosing how a tile changes its layout --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"

#include "ir/layout/F2.h"

#include <algorithm>

namespace tilewright {

/// Shuffles a 32-bit register may cost before shared memory is better: a
/// conflict-free round trip moves 8 bytes per lane of the pipe on which a
/// shuffle moves 4 (H100).
static constexpr int maxShufflesPerRegister = 2;
/// Likewise selects by lane, and what the barriers of a short exchange are worth: guesses.
static constexpr int maxSelectsPerRegister = 4;
static constexpr int selectsOfBarriers = 32;
/// The same for the threads of one warp, which need no barrier and seldom have enough other
/// warps beside them to hide the selects. Between two kernels: one whose products convert all
/// their operands has 2495 instructions in its loop with the limits above, 1622 with these and
/// 1334 with 4 for a store. With those 4 a recurrence whose step waits for one conversion, of 7
/// shuffles and 24 selects, took 2.94 ms instead of 2.24 (H100, 2026-11-24).
static constexpr int maxSelectsPerRegisterOfOneWarp = 1;
static constexpr int selectsOfStore = 24;

const char *conversionKindName(ConversionKind kind) {
  switch (kind) {
  case ConversionKind::None:
    return "none";
  case ConversionKind::Registers:
    return "registers";
  case ConversionKind::Shuffle:
    return "shuffle";
  case ConversionKind::SharedMemory:
    return "shared-memory";
  case ConversionKind::AcrossBlocks:
    return "across-blocks";
  }
  return "";
}

std::optional<std::vector<int>> planRegisters(const LinearLayout &src, const LinearLayout &dst) {
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    if (src.columns(dim) != dst.columns(dim))
      return std::nullopt;
  f2::Basis held(src.columns(InDim::Register));
  std::vector<int> registers;
  for (int reg = 0; reg < dst.inSize(InDim::Register); ++reg) {
    std::optional<uint64_t> from = held.solve(dst.apply(InDim::Register, reg));
    if (!from)
      return std::nullopt;
    registers.push_back(static_cast<int>(*from));
  }
  return registers;
}

/// 32-bit registers that a thread of `layout` holds without copies.
static int registerWords(const LinearLayout &layout, int elementBits) {
  int64_t bits =
      int64_t(removeZeroRegisters(layout).inSize(InDim::Register)) * std::max(8, elementBits);
  return static_cast<int>((bits + 31) / 32);
}

/// Selects by lane that shuffles may cost before shared memory is better.
static int maxSelects(const LinearLayout &layout, int words) {
  return layout.inSize(InDim::Warp) == 1 ? maxSelectsPerRegisterOfOneWarp * words + selectsOfStore
                                         : maxSelectsPerRegister * words + selectsOfBarriers;
}

static std::string sharedReason(const SharedMemoryPlan &plan) {
  std::string pieces =
      plan.numPieces > 1 ? " in " + std::to_string(plan.numPieces) + " pieces" : "";
  return std::to_string(plan.scratchBytes) + " bytes" + pieces + ", write vectors of " +
         std::to_string(plan.write.vectorElements) + ", read vectors of " +
         std::to_string(plan.read.vectorElements);
}

ConversionPlan planConversion(const LinearLayout &src, const LinearLayout &dst, int elementBits,
                              const ConversionOptions &options) {
  ConversionPlan plan;
  if (std::optional<std::vector<int>> registers = planRegisters(src, dst)) {
    plan.registers = std::move(*registers);
    bool same = static_cast<int>(plan.registers.size()) == src.inSize(InDim::Register);
    for (size_t reg = 0; reg < plan.registers.size(); ++reg)
      same &= plan.registers[reg] == static_cast<int>(reg);
    plan.kind = same ? ConversionKind::None : ConversionKind::Registers;
    plan.reason = same ? "same layout" : "same threads";
    return plan;
  }

  std::string refusal = "values cross warps";
  if (std::optional<ShufflePlan> shuffle = planShuffle(src, dst, elementBits)) {
    int shuffles = shuffle->numShuffles(elementBits);
    int words = registerWords(dst, elementBits);
    int selects = shuffle->numSelects(elementBits);
    std::string cost = std::to_string(shuffles) + " shuffles and " + std::to_string(selects) +
                       " selects for " + std::to_string(words) + " registers";
    // Without a single shuffle there is nothing that memory could do better.
    if (shuffles == 0 || (options.allowShuffle && shuffles <= maxShufflesPerRegister * words &&
                          selects <= maxSelects(src, words))) {
      plan.kind = ConversionKind::Shuffle;
      plan.shuffle = std::move(*shuffle);
      plan.reason = cost;
      return plan;
    }
    refusal = cost;
  }

  if (std::optional<SharedMemoryPlan> shared = planSharedMemory(src, dst, elementBits, options)) {
    plan.kind = ConversionKind::SharedMemory;
    plan.reason = refusal + "; " + sharedReason(*shared);
    plan.sharedMemory = std::move(*shared);
    return plan;
  }
  plan.kind = ConversionKind::AcrossBlocks;
  plan.reason = "values cross blocks of a cluster";
  if (std::optional<ClusterPlan> cluster = planCluster(src, dst, elementBits)) {
    plan.reason += "; " + std::to_string(cluster->scratchBytes) + " bytes, write vectors of " +
                   std::to_string(cluster->write.vectorElements) + ", read vectors of " +
                   std::to_string(cluster->read.vectorElements);
    plan.cluster = std::move(*cluster);
  }
  return plan;
}

} // namespace tilewright
