//===- ScratchSize.cpp - Shared memory that an op needs inside ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/ScratchSize.h"

#include "ir/layout/ConversionPlan.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/layout/ReductionPlan.h"
#include "ir/layout/ScanPlan.h"
#include "passes/analysis/LayoutRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes {

static std::vector<int> elementBitsOf(ValueRange sources) {
  std::vector<int> bits;
  for (Value source : sources)
    bits.push_back(ir::elementBits(getElementTypeOrSelf(source)));
  return bits;
}

static ConversionPlan conversionPlan(ir::ConvertLayoutOp op) {
  auto from = llvm::cast<RankedTensorType>(op.getSource().getType());
  auto to = llvm::cast<RankedTensorType>(op.getType());
  ConversionOptions options;
  if (auto limit = op->getAttrOfType<IntegerAttr>(ir::scratchLimitAttr))
    options.maxScratchBytes = limit.getInt();
  return planConversion(ir::getLinearLayout(from), ir::getLinearLayout(to),
                        ir::elementBits(from.getElementType()), options);
}

static int64_t conversionScratch(ir::ConvertLayoutOp op) {
  ConversionPlan plan = conversionPlan(op);
  if (plan.kind == ConversionKind::AcrossBlocks)
    return plan.cluster.scratchBytes;
  return plan.kind == ConversionKind::SharedMemory ? plan.sharedMemory.scratchBytes : 0;
}

static std::optional<ReductionPlan> reductionPlan(ir::ReduceOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getSources().front().getType());
  return planReduction(ir::getLinearLayout(type), op.getAxis(), elementBitsOf(op.getSources()));
}

static int blocksAround(Operation *op) { return ir::numBlocks(op->getParentOfType<ModuleOp>()); }

/// Whether several blocks hold what one of them gets from memory.
static bool isResultShared(Operation *op) {
  Value result = op->getResult(0);
  int blocks = blocksAround(op);
  if (blocks == 1 || result.use_empty())
    return false;
  RankedTensorType type = tileType(result);
  return !type || ir::duplicateBlockMask(ir::getLinearLayout(type), blocks) != 0;
}

/// What one thread reads for others. Only where some thread holds a copy of its result.
static int64_t spreadScratch(Operation *op) {
  Value result = op->getResult(0);
  if (result.use_empty())
    return 0;
  int64_t bytes = ir::elementBits(getElementTypeOrSelf(result)) / 8;
  RankedTensorType type = tileType(result);
  if (!type)
    return bytes;
  if (duplicateThreadMasks(ir::getLinearLayout(type)).isZero() && !isResultShared(op))
    return 0;
  return bytes * type.getNumElements();
}

int64_t scratchBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ir::ConvertLayoutOp convert) { return conversionScratch(convert); })
      .Case([](ir::ReduceOp reduce) -> int64_t {
        std::optional<ReductionPlan> plan = reductionPlan(reduce);
        return plan ? plan->scratchBytes : 0;
      })
      .Case([](ir::ScanOp scan) -> int64_t {
        auto type = llvm::cast<RankedTensorType>(scan.getSources().front().getType());
        std::optional<ScanPlan> plan =
            planScan(ir::getLinearLayout(type), scan.getAxis(), elementBitsOf(scan.getSources()));
        return plan ? plan->scratchBytes : 0;
      })
      .Case<ir::AtomicRmwOp, ir::AtomicCasOp>([](auto atomic) { return spreadScratch(atomic); })
      .Case([](ir::LoadOp load) { return load.mayChangeMeanwhile() ? spreadScratch(load) : 0; })
      .Default([](Operation *) -> int64_t { return 0; });
}

bool crossesBlocks(Operation *op) {
  if (!llvm::isa<ir::ConvertLayoutOp, ir::ReduceOp, ir::AtomicRmwOp, ir::AtomicCasOp, ir::LoadOp>(
          op) ||
      blocksAround(op) == 1)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](ir::ConvertLayoutOp convert) {
        return conversionPlan(convert).kind == ConversionKind::AcrossBlocks;
      })
      .Case([](ir::ReduceOp reduce) {
        std::optional<ReductionPlan> plan = reductionPlan(reduce);
        return plan && !plan->blockBits.empty();
      })
      .Case([](ir::LoadOp load) { return load.mayChangeMeanwhile() && isResultShared(load); })
      .Default([](Operation *atomic) { return isResultShared(atomic); });
}

bool isExchange(Operation *op) { return llvm::isa<ir::ReduceOp>(op) && crossesBlocks(op); }

bool meetsAllWarps(Operation *op) {
  std::optional<ReductionPlan> plan = reductionPlan(llvm::cast<ir::ReduceOp>(op));
  return plan->numBlocks() == blocksAround(op) && plan->duplicateMasks[InDim::Warp] == 0;
}

std::string describeScratch(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::TypeSwitch<Operation *, const char *>(op)
                .Case([](ir::ConvertLayoutOp) { return "layout change of "; })
                .Case([](ir::ReduceOp) { return "reduction of "; })
                .Case([](ir::ScanOp) { return "scan of "; })
                .Case([](ir::LoadOp) { return "result of a volatile load of "; })
                .Default([](Operation *) { return "result of an atomic on "; });
  Type type = op->getNumOperands() ? op->getOperand(0).getType() : Type();
  Type element = getElementTypeOrSelf(type);
  // A layout change moves the addresses themselves, an atomic what they point to.
  std::string kind;
  if (auto pointer = llvm::dyn_cast<ir::PointerType>(element)) {
    element = pointer.getPointee();
    kind = llvm::isa<ir::ConvertLayoutOp>(op) ? "*" : "";
  }
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  if (!tile) {
    stream << kind << element;
    return text;
  }
  stream << "tile<";
  for (int64_t extent : tile.getShape())
    stream << extent << "x";
  stream << kind << element << ">";
  return text;
}

} // namespace tilewright::passes
