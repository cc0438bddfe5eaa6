//===- CostModel.h - What layouts cost --------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one scale on which passes compare a memory access in some layout, a
// conversion between layouts and computing a value again: cycles of one
// multiprocessor per execution by one program. Only ratios matter.
//
// The constants are those of an H200, from its data sheet; the barrier's is a guess:
//   HBM       4.8 TB/s over 132 multiprocessors at 1.8 GHz: 20 bytes per cycle,
//             in sectors of 32 bytes
//   L1        one instruction of a warp per cycle, one 128-byte line per cycle
//   shared    128 bytes per cycle, each way; shuffles use the same pipe, one
//             warp instruction per cycle
//   issue     four warp instructions per cycle
//   barrier   some 30 cycles; resident blocks hide part of it
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_ANALYSIS_COSTMODEL_H
#define TILEWRIGHT_PASSES_ANALYSIS_COSTMODEL_H

#include "ir/layout/ConversionPlan.h"
#include "passes/analysis/MemoryAccess.h"

namespace tilewright::passes {

constexpr double cyclesPerSector = 1.6;
constexpr double cyclesPerLine = 1.0;
constexpr double cyclesPerAccessInstruction = 1.0;
constexpr double cyclesPerShuffle = 1.0;
constexpr double sharedBytesPerCycle = 128.0;
constexpr double cyclesPerBarrier = 30.0;
constexpr double warpInstructionsPerCycle = 4.0;
/// A tile is computed again rather than converted up to this many instructions
/// per element: a round trip of 4 bytes through shared memory takes two cycles
/// per warp register and a barrier, the time of about as many. Derived, so a guess.
constexpr double maxRecomputeInstructions = 16.0;

/// Sectors (32 bytes) that one instruction of one warp touches, and lines.
struct WarpTraffic {
  int instructions = 0; ///< per warp, for the whole tile
  int sectors = 0;      ///< per instruction
  int lines = 0;        ///< per instruction
  int warps = 0;        ///< that are not copies of others
};
WarpTraffic warpTraffic(const MemoryAccess &access, const LinearLayout &layout);

/// Cycles of the access in this layout.
double accessCycles(const MemoryAccess &access, const LinearLayout &layout);

/// Cycles of carrying a tile of `elementBits` from one layout to another.
double conversionCycles(const LinearLayout &from, const LinearLayout &to, int elementBits);

/// Cycles of a scan along `axis` of tiles in this layout, one for each entry of `elementBits`.
/// The layout is one that planScan can take; `combineInstructions` is what one combination takes.
double scanCycles(const LinearLayout &layout, int axis, const std::vector<int> &elementBits,
                  double combineInstructions);

/// Instructions per element of one op, its operands not counted; nothing where
/// the op must not be repeated (memory, reductions).
std::optional<double> recomputeInstructions(mlir::Operation *op);

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_ANALYSIS_COSTMODEL_H
