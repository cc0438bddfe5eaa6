//===- SpreadCopies.cpp - Lanes of copies that transpose ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/layout/SpreadCopies.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/support/Hardware.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/layout/RetypeLoad.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

/// What the copies of a warp read of each row of global memory. Half as much brings four lines of
/// the cache to each copy instead of two, twice as much four wavefronts of banks instead of two:
/// either takes 1.1 of the time (H200, products of 2048 x 2048 f32, November 2026).
static constexpr int64_t copiedRunBytes = 2 * hardware::sectorBytes;

/// Null where `load` is not copied, or by vectors.
static ir::LayoutAttr layoutToTranspose(ir::LoadOp load, const AxisAnalysis &axes,
                                        const TargetInfo &target) {
  ir::BufferType buffer = onlyBufferOf(load);
  if (!buffer || !canBeCopiedAhead(load, axes, target) || !fillsWithZeros(load))
    return {};
  MemoryAccess access = *analyzeAccess(load, axes, target);
  int rows = fastestDimension(buffer);
  if (access.elementBytes != hardware::minCopyBytes || access.order.front() == rows)
    return {};
  int log2Run = llvm::Log2_64(copiedRunBytes / access.elementBytes);
  int log2Warps = llvm::Log2_32(ir::numWarps(load->getParentOfType<ModuleOp>()));
  return ir::LayoutAttr::fromLinear(
      load.getContext(), makeTransposing(ir::log2Shape(access.type.getShape()), access.order,
                                         log2Run, rows, target.log2WarpSize, log2Warps));
}

void spreadCopies(func::FuncOp function, const TargetInfo &target) {
  // Programs of several blocks have parts of tiles.
  if (ir::numBlocks(function->getParentOfType<ModuleOp>()) != 1)
    return;
  llvm::SmallVector<ir::LoadOp> loads;
  function.walk([&](ir::LoadOp load) {
    if (isTile(load.getResult()) && onlyBufferOf(load))
      loads.push_back(load);
  });
  if (loads.empty())
    return;
  AxisAnalysis axes(function);
  TileMaterializer materializer;
  for (ir::LoadOp load : loads) {
    ir::LayoutAttr layout = layoutToTranspose(load, axes, target);
    if (layout && hasMovableOperands(load, layout, materializer))
      retypeLoad(load, layout, *analyzeAccess(load, axes, target), materializer);
  }
}

} // namespace tilewright::passes
