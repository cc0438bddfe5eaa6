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

static int64_t conversionScratch(ir::ConvertLayoutOp op) {
  auto from = llvm::cast<RankedTensorType>(op.getSource().getType());
  auto to = llvm::cast<RankedTensorType>(op.getType());
  ConversionOptions options;
  if (auto limit = op->getAttrOfType<IntegerAttr>(ir::scratchLimitAttr))
    options.maxScratchBytes = limit.getInt();
  ConversionPlan plan = planConversion(ir::getLinearLayout(from), ir::getLinearLayout(to),
                                       ir::elementBits(from.getElementType()), options);
  return plan.kind == ConversionKind::SharedMemory ? plan.sharedMemory.scratchBytes : 0;
}

/// Only where some thread holds a copy of what another one's atomic returned.
static int64_t atomicScratch(Operation *op) {
  Value result = op->getResult(0);
  if (result.use_empty())
    return 0;
  int64_t bytes = ir::elementBits(getElementTypeOrSelf(result)) / 8;
  RankedTensorType type = tileType(result);
  if (!type)
    return bytes;
  if (duplicateThreadMasks(ir::getLinearLayout(type)).isZero())
    return 0;
  return bytes * type.getNumElements();
}

int64_t scratchBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ir::ConvertLayoutOp convert) { return conversionScratch(convert); })
      .Case([](ir::ReduceOp reduce) -> int64_t {
        auto type = llvm::cast<RankedTensorType>(reduce.getSources().front().getType());
        std::optional<ReductionPlan> plan = planReduction(
            ir::getLinearLayout(type), reduce.getAxis(), elementBitsOf(reduce.getSources()));
        return plan ? plan->scratchBytes : 0;
      })
      .Case([](ir::ScanOp scan) -> int64_t {
        auto type = llvm::cast<RankedTensorType>(scan.getSources().front().getType());
        std::optional<ScanPlan> plan =
            planScan(ir::getLinearLayout(type), scan.getAxis(), elementBitsOf(scan.getSources()));
        return plan ? plan->scratchBytes : 0;
      })
      .Case<ir::AtomicRmwOp, ir::AtomicCasOp>([](auto atomic) { return atomicScratch(atomic); })
      .Default([](Operation *) -> int64_t { return 0; });
}

std::string describeScratch(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::TypeSwitch<Operation *, const char *>(op)
                .Case([](ir::ConvertLayoutOp) { return "layout change of "; })
                .Case([](ir::ReduceOp) { return "reduction of "; })
                .Case([](ir::ScanOp) { return "scan of "; })
                .Default([](Operation *) { return "result of an atomic on "; });
  Type type = op->getNumOperands() ? op->getOperand(0).getType() : Type();
  Type element = getElementTypeOrSelf(type);
  if (auto pointer = llvm::dyn_cast<ir::PointerType>(element))
    element = pointer.getPointee();
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  if (!tile) {
    stream << element;
    return text;
  }
  stream << "tile<";
  for (int64_t extent : tile.getShape())
    stream << extent << "x";
  stream << element << ">";
  return text;
}

} // namespace tilewright::passes
