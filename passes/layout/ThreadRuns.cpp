//===- ThreadRuns.cpp - How many neighbours a thread loads ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/ThreadRuns.h"

#include "ir/support/Hardware.h"
#include "passes/analysis/CostModel.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/Resources.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;

namespace tilewright::passes {

/// How often the body of a loop runs for what stands before it, and how much less time a longer
/// run has to take. Guesses.
static constexpr double loopTrips = 8, leastGain = 0.95;
/// Instructions that are issued for each that is counted: predicates and halves of addresses come
/// to the arithmetic, and not every cycle issues four (by the pools, ThreadRuns.h).
static constexpr double instructionsForEach = 1.5;
static constexpr double divisionByConstant = 3;

static double weightOf(Operation *op) {
  double weight = 1;
  while ((op = op->getParentOp()))
    if (llvm::isa<LoopLikeOpInterface>(op))
      weight *= loopTrips;
  return weight;
}

/// The access, with addresses that follow each other all along its fastest dimension: a guess that
/// is right for most indices that are computed, and makes no difference for others.
static MemoryAccess withOneRun(MemoryAccess access) {
  int fast = access.order.front();
  access.run[fast] = access.type.getDimSize(fast);
  return access;
}

/// Instructions for one element. A constant divisor becomes a product and shifts.
static double instructionsOf(Operation *op, const AxisAnalysis &axes) {
  bool isDivision = llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
  if (isDivision && axes.get(op->getOperand(1)).constant)
    return divisionByConstant;
  return recomputeInstructions(op).value_or(0);
}

namespace {

/// The accesses of one shape that run along one dimension.
struct Family {
  llvm::SmallVector<const MemoryAccess *> members;
  /// The least that a load, and the most that a store has at once.
  int narrowest = 0, widest = 0;
  int numLoads = 0;
  /// What moves for each element: loads of one shape mostly read the same array.
  double loadedBytes = 0, storedBytes = 0;
  /// Loads that have as much at once as the stores.
  int numAligned() const {
    return llvm::count_if(members, [&](const MemoryAccess *access) {
      return access->isLoad() && access->maxVectorElements >= widest;
    });
  }
};

} // namespace

/// Cycles of one execution in which each thread has `run` neighbours.
static double cyclesOf(const Family &family, llvm::ArrayRef<Operation *> arithmetic,
                       const AxisAnalysis &axes, int run, LayoutOfRun layoutOfRun) {
  const MemoryAccess &first = *family.members.front();
  LinearLayout layout = layoutOfRun(first, run);
  double warps = layout.inSize(InDim::Warp), lines = 0, instructions = 0;
  for (const MemoryAccess *access : family.members) {
    WarpTraffic traffic = warpTraffic(withOneRun(*access), layout);
    double issued = weightOf(access->op) * traffic.instructions;
    lines += issued * std::max(cyclesPerAccessInstruction, traffic.lines * cyclesPerLine);
    instructions += issued;
  }
  for (Operation *op : arithmetic) {
    Type element = getElementTypeOrSelf(op->getResult(0));
    double registers = llvm::isa<FloatType>(element)
                           ? layout.inSize(InDim::Register)
                           : numGroups(layout, axes.get(op->getResult(0)),
                                       /*equalOnly=*/element.isInteger(1));
    instructions += weightOf(op) * registers * instructionsOf(op, axes);
  }
  double bytes = first.type.getNumElements() * (family.loadedBytes + family.storedBytes);
  double cycles = std::max({warps * lines,
                            warps * instructions * instructionsForEach / warpInstructionsPerCycle,
                            bytes / hardware::sectorBytes * cyclesPerSector});
  // Where most loads are aligned, these and the stores keep a layout of their own.
  if (run < family.widest && 2 * family.numAligned() >= family.numLoads)
    cycles += conversionCycles(layout, layoutOfRun(first, family.widest), first.elementBytes * 8);
  return cycles;
}

llvm::DenseMap<Operation *, int>
chooseThreadRuns(func::FuncOp function, const AxisAnalysis &axes,
                 const llvm::DenseMap<Operation *, MemoryAccess> &accesses,
                 LayoutOfRun layoutOfRun) {
  llvm::DenseMap<Operation *, int> runs;
  bool hasProduct = false;
  function.walk([&](Operation *op) { hasProduct |= isProduct(op); });
  if (hasProduct)
    return runs;
  std::map<std::pair<std::vector<int64_t>, int>, Family> families;
  function.walk([&](Operation *op) {
    auto found = accesses.find(op);
    if (found == accesses.end() || found->second.isAtomic() || found->second.order.empty())
      return;
    const MemoryAccess &access = found->second;
    Family &family = families[{access.type.getShape().vec(), access.order.front()}];
    family.members.push_back(&access);
    int elements = access.maxVectorElements;
    double bytes = weightOf(op) * access.elementBytes;
    if (access.isStore()) {
      family.storedBytes += bytes;
      family.widest = std::max(family.widest, elements);
    } else {
      family.loadedBytes = std::max(family.loadedBytes, bytes);
      family.narrowest = family.numLoads++ ? std::min(family.narrowest, elements) : elements;
    }
  });
  for (auto &[key, family] : families) {
    if (family.numLoads == 0 || family.narrowest >= family.widest)
      continue;
    llvm::SmallVector<Operation *> arithmetic;
    function.walk([&, shape = llvm::ArrayRef(key.first)](Operation *op) {
      RankedTensorType type = op->getNumResults() ? tileType(op->getResult(0)) : RankedTensorType();
      if (type && type.getShape() == shape && ir::isElementwise(op))
        arithmetic.push_back(op);
    });
    int best = family.narrowest;
    double least = cyclesOf(family, arithmetic, axes, best, layoutOfRun);
    for (int run = 2 * best; run <= family.widest; run *= 2) {
      double cycles = cyclesOf(family, arithmetic, axes, run, layoutOfRun);
      if (cycles < leastGain * least) {
        best = run;
        least = cycles;
      }
    }
    for (const MemoryAccess *access : family.members)
      if (access->isLoad() && access->maxVectorElements < best)
        runs[access->op] = best;
  }
  return runs;
}

} // namespace tilewright::passes
