//===- PlaceTensorMaps.cpp - Memory for tensor maps of the program --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives each tw.make_descriptor the global memory where its tensor maps lie
// and the shared memory in which they are put together. The kernel gets one argument
// more, after all others: scratch that the launch provides anew each time, so many
// bytes for each program. So neither programs nor launches share maps.
//
// Why here: after the passes that pipeline loops, which copy these ops and start
// TMA loads ahead; before AllocateShared, which places the buffer.
//
// How: an op in a loop makes a map each time, while TMA may still read those before.
// It has several slots, which it uses in turn, and more than there can be maps in
// use:
//  - A load reads its map until somebody has waited for the load. Of a ring with s
//    slots loads of at most s iterations are under way, since no slot is
//    filled again that has not been waited for. An op makes at most one map in an iteration of
//    the loop that is pipelined. So what was made more than s times ago is read by
//    no load of such a loop.
//  - Loads that belong to no ring are waited for in the same iteration, and those of
//    a loop at the latest when it ends.
//  - A value may be used by later stages of its loop than the one that makes it: at
//    most s - 1 iterations later for copies started s - 1 iterations ahead, or s
//    where a second product runs an iteration later. It is still the same map then.
//  - A store reads its map until the bulk group was waited for. The first warp,
//    whose first thread starts all stores, waits for that before it makes a map
//    again that a store may use.
// So s + 1 slots are enough. Their number is a power of two, to find the next one
// without a division. Threads of other warps never look at a map: the warp that makes
// maps is the one that starts copies, which therefore needs no barrier.
//
//===----------------------------------------------------------------------===//

#include "ir/support/Hardware.h"
#include "passes/Passes.h"
#include "passes/analysis/RegionFlow.h"

#include "ir/dialect/Rings.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PLACETENSORMAPS
#include "passes/Passes.h.inc"

namespace {

/// Slots for maps of an op in a loop, from the longest ring of the kernel that TMA fills.
int64_t slotsInLoops(func::FuncOp function) {
  int64_t longest = 1;
  function.walk([&](ir::AllocSharedOp alloc) {
    if (std::optional<ir::Ring> ring = ir::ringOf(alloc); ring && ring->fill == ir::RingFill::Tma)
      longest = std::max(longest, alloc.getType().getSlots());
  });
  return static_cast<int64_t>(llvm::PowerOf2Ceil(longest + 1));
}

bool isInLoop(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>() != nullptr; }

/// The ops through whose maps TMA may store.
llvm::DenseSet<Operation *> makersOfStores(func::FuncOp function) {
  llvm::SmallVector<Value> open;
  function.walk([&](ir::TmaStoreOp store) { open.push_back(store.getDescriptor()); });
  llvm::DenseSet<Operation *> makers;
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second || carriedFrom(value, open))
      continue;
    Operation *op = value.getDefiningOp();
    if (llvm::isa_and_nonnull<arith::SelectOp>(op))
      open.append({op->getOperand(1), op->getOperand(2)});
    else if (llvm::isa_and_nonnull<ir::MakeDescriptorOp>(op))
      makers.insert(op);
  }
  return makers;
}

/// The scratch of this program: programs are numbered along all axes.
Value makeScratch(func::FuncOp function, int64_t bytes, OpBuilder &builder) {
  Location loc = function.getLoc();
  unsigned position = function.getNumArguments();
  auto type = ir::PointerType::get(builder.getI8Type());
  NamedAttrList attributes;
  attributes.set(ir::divisibilityAttr, builder.getI64IntegerAttr(hardware::tensorMapBytes));
  function.insertArgument(position, type, attributes.getDictionary(function.getContext()), loc);
  auto wide = [&](Value value) {
    return builder.create<arith::ExtUIOp>(loc, builder.getI64Type(), value);
  };
  Value number;
  for (int axis = 2; axis >= 0; --axis) {
    Value index = wide(builder.create<ir::ProgramIdOp>(loc, builder.getI32Type(), axis));
    if (number) {
      Value extent = wide(builder.create<ir::NumProgramsOp>(loc, builder.getI32Type(), axis));
      index = builder.create<arith::AddIOp>(loc, builder.create<arith::MulIOp>(loc, number, extent),
                                            index);
    }
    number = index;
  }
  Value size = builder.create<arith::ConstantIntOp>(loc, bytes, 64);
  return builder.create<ir::AddPtrOp>(loc, function.getArgument(position),
                                      builder.create<arith::MulIOp>(loc, number, size));
}

class PlaceTensorMapsPass : public impl::PlaceTensorMapsBase<PlaceTensorMapsPass> {
public:
  explicit PlaceTensorMapsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      reportPointers(function);
      place(function);
    }
  }

private:
  PassContext context;

  /// What the front end has decided.
  void reportPointers(func::FuncOp function) {
    auto notes = function->getAttrOfType<ArrayAttr>(ir::pointerDescriptorsAttr);
    if (!notes)
      return;
    numRefused += notes.size();
    for (auto note : notes.getAsRange<ArrayAttr>())
      context.remark(Location(llvm::cast<LocationAttr>(note[0])),
                     {"tensor-map", false, {}, {}, llvm::cast<StringAttr>(note[1]).str()});
    function->removeAttr(ir::pointerDescriptorsAttr);
  }

  void place(func::FuncOp function) {
    llvm::SmallVector<ir::MakeDescriptorOp> makers;
    function.walk([&](ir::MakeDescriptorOp maker) { makers.push_back(maker); });
    if (makers.empty())
      return;
    int64_t slots = slotsInLoops(function), bytes = 0;
    for (ir::MakeDescriptorOp maker : makers) {
      maker.setSlots(isInLoop(maker) ? slots : 1);
      bytes += maker.getSlots() * hardware::tensorMapBytes;
    }
    llvm::DenseSet<Operation *> ofStores = makersOfStores(function);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    getOperation()->setAttr(ir::globalScratchAttr, builder.getI64IntegerAttr(bytes));
    Value scratch = makeScratch(function, bytes, builder);
    // As many bytes as a map: a row of them.
    auto row = ir::DescriptorType::get(builder.getContext(), {hardware::tensorMapBytes},
                                       builder.getI8Type());
    Value staging =
        builder.create<ir::AllocSharedOp>(function.getLoc(), ir::tmaBuffer(row), Value());
    int64_t offset = 0;
    for (ir::MakeDescriptorOp maker : makers) {
      Value distance = builder.create<arith::ConstantIntOp>(function.getLoc(), offset, 64);
      maker.getScratchMutable().assign(
          builder.create<ir::AddPtrOp>(function.getLoc(), scratch, distance));
      maker.getStagingMutable().assign(staging);
      maker.setFollowsStores(isInLoop(maker) && ofStores.contains(maker));
      offset += maker.getSlots() * hardware::tensorMapBytes;
      context.remark(maker, {"tensor-map",
                             true,
                             {},
                             {{"slots", maker.getSlots()}},
                             "each program makes it in global scratch memory"});
    }
    numPlaced += makers.size();
  }
};

} // namespace

std::unique_ptr<Pass> createPlaceTensorMaps(PassContext context) {
  return std::make_unique<PlaceTensorMapsPass>(std::move(context));
}

} // namespace tilewright::passes
