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

void spreadCopies(func::FuncOp function, const TargetInfo &target) {
  auto module = function->getParentOfType<ModuleOp>();
  int log2Warps = llvm::Log2_32(ir::numWarps(module));
  // Programs of several blocks have parts of tiles.
  if (ir::numBlocks(module) != 1)
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
    int rows = fastestDimension(onlyBufferOf(load));
    MemoryAccess access = *analyzeAccess(load, axes, target);
    bool isCopied = canBeCopiedAhead(load, axes, target) && fillsWithZeros(load);
    if (!isCopied || access.elementBytes != hardware::minCopyBytes || access.order.front() == rows)
      continue;
    auto layout = ir::LayoutAttr::fromLinear(
        load.getContext(),
        makeTransposing(ir::log2Shape(access.type.getShape()), access.order, rows, /*log2Block=*/0,
                        llvm::Log2_64(copiedRunBytes / access.elementBytes), target.log2WarpSize,
                        log2Warps));
    if (hasMovableOperands(load, layout, materializer))
      retypeLoad(load, layout, access, materializer);
  }
}

} // namespace tilewright::passes
