//===- CostModel.cpp - What layouts cost ----------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/CostModel.h"

#include "ir/layout/ScanPlan.h"
#include "ir/support/Hardware.h"
#include "passes/analysis/LayoutRules.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes {

/// Address (bytes) that the model gives to an element: elements of one run are
/// neighbours; those of a group that is known to have one address share it; different
/// runs are far apart, on lines of their own.
static uint64_t modelAddress(const MemoryAccess &access, const LinearLayout &layout,
                             uint32_t element) {
  std::vector<uint32_t> coordinates = layout.coordinates(element);
  for (auto [dim, coordinate] : llvm::enumerate(coordinates))
    coordinate -= coordinate % static_cast<uint32_t>(access.constancy[dim]);
  int fast = access.order.front();
  uint64_t run = std::max<int64_t>(1, access.run[fast]);
  uint64_t row = coordinates[fast] / run;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates))
    if (static_cast<int>(dim) != fast)
      row = row * access.type.getDimSize(dim) + coordinate;
  return (row << 32) + (coordinates[fast] % run) * access.elementBytes;
}

/// Registers of a thread that have addresses of their own: those of a group that has one address are
/// read together.
static int distinctRegisters(const MemoryAccess &access, const LinearLayout &layout) {
  int registers = layout.inSize(InDim::Register);
  if (llvm::all_of(access.constancy, [](int64_t length) { return length == 1; }))
    return registers;
  llvm::DenseSet<uint64_t> addresses;
  for (int reg = 0; reg < registers; ++reg)
    addresses.insert(modelAddress(access, layout, layout.apply(InDim::Register, reg)));
  return static_cast<int>(addresses.size());
}

WarpTraffic warpTraffic(const MemoryAccess &access, const LinearLayout &layout) {
  WarpTraffic traffic;
  int vector = vectorElements(access, layout);
  traffic.instructions = std::max(1, distinctRegisters(access, layout) / vector);
  llvm::DenseSet<uint64_t> sectors, lines;
  for (int lane = 0; lane < layout.inSize(InDim::Lane); ++lane) {
    uint64_t address = modelAddress(access, layout, layout.apply(InDim::Lane, lane));
    for (int byte = 0; byte < vector * access.elementBytes;
         byte += std::min<int>(hardware::sectorBytes, access.elementBytes)) {
      sectors.insert((address + byte) / hardware::sectorBytes);
      lines.insert((address + byte) / 128);
    }
  }
  traffic.sectors = sectors.size();
  traffic.lines = lines.size();
  // Copies in other warps do not store; their loads meet the first's in L1.
  int copies = llvm::count(layout.columns(InDim::Warp), 0u);
  traffic.warps = layout.inSize(InDim::Warp) >> copies;
  return traffic;
}

/// Sectors of all elements of a tile: each once, however many instructions touch it.
static double sectorsOfTile(const MemoryAccess &access) {
  int fast = access.order.front();
  int64_t atOnce = std::min<int64_t>(std::max<int64_t>(1, access.run[fast]),
                                     hardware::sectorBytes / access.elementBytes);
  double sectors = 1;
  for (auto [dim, size] : llvm::enumerate(access.type.getShape())) {
    int64_t together = access.constancy[dim];
    if (static_cast<int>(dim) == fast)
      together = std::max(together, atOnce);
    sectors *= std::max<int64_t>(1, size / together);
  }
  return sectors;
}

/// Whether what one instruction has fetched is there for the next: cp.async of 16 bytes and
/// loads that ask for it go past the L1.
static bool goesThroughL1(const MemoryAccess &access) {
  auto load = llvm::dyn_cast<ir::LoadOp>(access.op);
  return load && !load.getIsVolatile() && load.getCache() != ir::CacheModifier::cg &&
         load.getCache() != ir::CacheModifier::cv;
}

double accessCycles(const MemoryAccess &access, const LinearLayout &layout) {
  WarpTraffic traffic = warpTraffic(access, layout);
  // All warps issue their loads; stores are left to one copy.
  int issuing = access.isLoad() ? layout.inSize(InDim::Warp) : traffic.warps;
  double issue = double(traffic.instructions) * issuing *
                 std::max(cyclesPerAccessInstruction, traffic.lines * cyclesPerLine);
  double sectors = goesThroughL1(access)
                       ? sectorsOfTile(access)
                       : double(traffic.instructions) * traffic.warps * traffic.sectors;
  return issue + sectors * cyclesPerSector;
}

double conversionCycles(const LinearLayout &from, const LinearLayout &to, int elementBits) {
  if (from == to)
    return 0;
  ConversionPlan plan = planConversion(from, to, elementBits);
  double warps = from.inSize(InDim::Warp);
  switch (plan.kind) {
  case ConversionKind::None:
  case ConversionKind::Registers:
    return 0;
  case ConversionKind::Shuffle: {
    int shuffles = plan.shuffle.numShuffles(elementBits);
    double selects = plan.shuffle.numSelects(elementBits);
    return warps * (shuffles * cyclesPerShuffle + selects / warpInstructionsPerCycle);
  }
  case ConversionKind::SharedMemory: {
    double bytes = 0;
    for (const SharedSide *side : {&plan.sharedMemory.write, &plan.sharedMemory.read})
      for (const auto &piece : side->accesses)
        for (const SharedAccess &access : piece)
          bytes += 32.0 * warps * access.registers.size() * (plan.sharedMemory.storedBits / 8.0) *
                   (1 + side->extraWavefronts);
    // The threads of one warp need none.
    int barriers = warps > 1 ? plan.sharedMemory.numPieces * 2 : 0;
    return bytes / sharedBytesPerCycle + barriers * cyclesPerBarrier;
  }
  case ConversionKind::AcrossBlocks:
    return 1e6;
  }
  return 0;
}

namespace {

/// What one warp does in a scan, in tuples of one value for each operand.
struct ScanWork {
  double combines = 0, selects = 0, shuffles = 0;
  double exchanged = 0; ///< stored or loaded
  int exchanges = 0;
};

} // namespace

/// By the steps of ScanPlan.h, for a thread with `registers` values.
static ScanWork scanWork(const std::vector<ScanStep> &steps, double registers) {
  ScanWork work;
  double totals = registers;
  bool totalsAreInLastLane = false;
  for (size_t first = 0, count = 0; first < steps.size(); first += count) {
    count = stepsTogether(steps, first, static_cast<int64_t>(totals));
    double runs = double(1 << count);
    switch (steps[first].dim) {
    case InDim::Register:
      work.shuffles += totalsAreInLastLane ? totals : 0;
      totalsAreInLastLane = false;
      work.combines += totals - totals / runs + (first ? registers - registers / runs : 0);
      totals /= runs;
      continue;
    case InDim::Lane:
      work.shuffles += count * totals;
      work.combines += count * totals;
      work.selects += count * totals;
      totalsAreInLastLane = true;
      if (first == 0)
        continue; // the totals are the values
      work.shuffles += count > 1 ? totals : 0;
      break;
    default:
      ++work.exchanges;
      work.exchanged += (1 + runs) * totals;
      work.combines += (runs - 1) * totals;
      work.selects += (runs - 2) * totals;
      totalsAreInLastLane = false;
    }
    work.combines += registers;
    work.selects += registers;
  }
  return work;
}

double scanCycles(const LinearLayout &layout, int axis, const std::vector<int> &elementBits,
                  double combineInstructions) {
  std::optional<ScanPlan> plan = planScan(layout, axis, elementBits);
  double words = 0, storedBytes = 0;
  for (int bits : elementBits)
    words += std::max(1, bits / 32);
  for (int bytes : plan->storedBytes)
    storedBytes += bytes;
  double warps = layout.inSize(InDim::Warp);
  ScanWork work = scanWork(plan->steps, layout.inSize(InDim::Register));
  double instructions = work.combines * combineInstructions + work.selects * words;
  return warps * instructions / warpInstructionsPerCycle +
         warps * work.shuffles * words * cyclesPerShuffle +
         32 * warps * work.exchanged * storedBytes / sharedBytesPerCycle +
         2 * work.exchanges * cyclesPerBarrier;
}

std::optional<double> recomputeInstructions(Operation *op) {
  using Cost = std::optional<double>;
  LayoutRule rule = layoutRule(op);
  bool mayRepeat = rule == LayoutRule::Source || rule == LayoutRule::Shape || ir::isElementwise(op);
  if (!mayRepeat || !isMemoryEffectFree(op))
    return std::nullopt;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  double wide = element.isIntOrFloat() && element.getIntOrFloatBitWidth() > 32 ? 2 : 1;
  return llvm::TypeSwitch<Operation *, Cost>(op)
      .Case<ir::SplatOp, arith::ConstantOp, ir::HintOp, ir::BitcastOp, ir::PtrToIntOp,
            ir::IntToPtrOp>([](auto) -> Cost { return 0; })
      .Case<ir::ExpandDimsOp, ir::BroadcastOp, ir::ReshapeOp, ir::PermuteOp>(
          [](auto) -> Cost { return 0; })
      // Both halves are needed for either.
      .Case<ir::JoinOp, ir::ConcatOp, ir::SplitOp>([](auto) -> Cost { return std::nullopt; })
      .Case([](ir::RangeOp) -> Cost { return 1; })
      .Case([](ir::AddPtrOp) -> Cost { return 2; })
      // Unless the divisor is constant: then a product and shifts.
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp>(
          [&](auto) -> Cost { return 8 * wide; })
      .Case<arith::DivFOp, ir::PreciseDivOp, ir::PreciseSqrtOp, math::SqrtOp, math::RsqrtOp,
            math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op>([](auto) -> Cost { return 8; })
      .Default([&](Operation *op) -> Cost {
        // Functions of a library: tens of instructions.
        bool isMath = llvm::isa<math::MathDialect>(op->getDialect()) &&
                      !llvm::isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
                                 math::CeilOp, math::TruncOp, math::RoundOp, math::RoundEvenOp>(op);
        if (isMath || llvm::isa<ir::ExternCallOp>(op))
          return 40;
        return wide;
      });
}

} // namespace tilewright::passes
