//===- PromoteGathers.cpp - Sources of gathers in shared memory -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.gather becomes a store of its source to shared memory and a
// tw.shared_gather. The store stands where the source is defined, once for all gathers
// of it: a loop that takes row after row of an invariant tile reads shared memory
// without a barrier. tw.histogram becomes zeros in shared memory, a tw.shared_count and
// a load.
//
// Why here: invariant tiles are outside of their loops already, and layouts are not
// chosen yet, so that the reader gets whichever suits its users; a gather's source keeps
// its own.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PROMOTEGATHERS
#include "passes/Passes.h.inc"

namespace {

/// Rows of at most this many bytes are permuted, so that lanes that read one column of
/// several rows meet different banks.
constexpr int gatherSwizzleBytes = 128;

class PromoteGathersPass : public impl::PromoteGathersBase<PromoteGathersPass> {
public:
  explicit PromoteGathersPass(const PassContext &) {}

  void runOnOperation() override {
    llvm::SmallVector<ir::GatherOp> gathers;
    getOperation().walk([&](ir::GatherOp gather) { gathers.push_back(gather); });
    llvm::DenseMap<Value, Value> buffers;
    for (ir::GatherOp gather : gathers) {
      Value &buffer = buffers[gather.getSource()];
      if (!buffer)
        buffer = store(gather.getSource(), gatherSwizzleBytes);
      OpBuilder builder(gather);
      gather.getResult().replaceAllUsesWith(builder.create<ir::SharedGatherOp>(
          gather.getLoc(), gather.getType(), buffer, gather.getIndex(), gather.getAxis()));
      gather.erase();
    }
    llvm::SmallVector<ir::HistogramOp> histograms;
    getOperation().walk([&](ir::HistogramOp histogram) { histograms.push_back(histogram); });
    for (ir::HistogramOp histogram : histograms)
      count(histogram);
  }

private:
  void count(ir::HistogramOp histogram) {
    auto type = llvm::cast<RankedTensorType>(histogram.getType());
    OpBuilder builder(histogram);
    Location loc = histogram.getLoc();
    Value zeros = builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, builder.getI32IntegerAttr(0)));
    // Elements name banks at random, whatever the order of places.
    Value buffer = store(zeros, /*swizzleBytes=*/0);
    builder.create<ir::SharedCountOp>(loc, histogram.getSource(), buffer, histogram.getMask());
    histogram.getResult().replaceAllUsesWith(
        builder.create<ir::SharedLoadOp>(loc, type, buffer, /*isOwn=*/false, /*inPieces=*/false));
    histogram.erase();
  }

  Value store(Value tile, int swizzleBytes) {
    RankedTensorType type = tileType(tile);
    LinearLayout layout = makeSwizzledShared(ir::log2Shape(type.getShape()),
                                             ir::elementBits(type.getElementType()), swizzleBytes);
    OpBuilder builder(tile.getContext());
    builder.setInsertionPointAfterValue(tile);
    ++numBuffers;
    return builder.create<ir::AllocSharedOp>(tile.getLoc(), bufferFor(type, layout), tile);
  }
};

} // namespace

std::unique_ptr<Pass> createPromoteGathers(PassContext context) {
  return std::make_unique<PromoteGathersPass>(context);
}

} // namespace tilewright::passes
