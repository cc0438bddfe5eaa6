//===- BufferInfo.cpp - Who uses which tile in shared memory --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/BufferInfo.h"

#include "passes/analysis/RegionFlow.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/support/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes {

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

llvm::SmallVector<BufferUse, 2> bufferUses(Operation *op) {
  using Uses = llvm::SmallVector<BufferUse, 2>;
  return llvm::TypeSwitch<Operation *, Uses>(op)
      .Case([](ir::AllocSharedOp alloc) {
        return alloc.getInit() ? Uses{{alloc.getResult(), /*isWrite=*/true}} : Uses{};
      })
      .Case([](ir::SharedStoreOp store) { return Uses{{store.getBuffer(), /*isWrite=*/true}}; })
      .Case([](ir::SharedLoadOp load) { return Uses{{load.getBuffer(), /*isWrite=*/false}}; })
      .Case([](ir::SharedGatherOp gather) { return Uses{{gather.getBuffer(), /*isWrite=*/false}}; })
      .Case([](ir::SharedCountOp count) { return Uses{{count.getBuffer(), /*isWrite=*/true}}; })
      .Case([](ir::SharedDotOp dot) {
        return Uses{{dot.getA(), /*isWrite=*/false}, {dot.getB(), /*isWrite=*/false}};
      })
      .Case([](ir::AsyncCopyOp copy) {
        return Uses{{copy.getBuffer(), /*isWrite=*/true, Proxy::Generic, Completion::AsyncWait}};
      })
      .Case([](ir::WgmmaOp wgmma) {
        Completion completion = wgmma.getIsAsync() ? Completion::WgmmaWait : Completion::AtOnce;
        Uses uses{{wgmma.getB(), /*isWrite=*/false, Proxy::Wgmma, completion}};
        if (llvm::isa<ir::BufferType>(wgmma.getA().getType()))
          uses.push_back({wgmma.getA(), /*isWrite=*/false, Proxy::Wgmma, completion});
        return uses;
      })
      .Case([](ir::TmaLoadOp load) {
        return Uses{{load.getBuffer(), /*isWrite=*/true, Proxy::Tma, Completion::Mbarrier}};
      })
      .Case([](ir::TmaStoreOp store) {
        return Uses{{store.getBuffer(), /*isWrite=*/false, Proxy::Tma, Completion::TmaStoreWait}};
      })
      .Default([](Operation *) { return Uses{}; });
}

ir::BufferType bufferFor(RankedTensorType tile, const LinearLayout &layout) {
  MLIRContext *context = tile.getContext();
  return ir::BufferType::get(context, tile.getShape(), tile.getElementType(),
                             ir::SharedLayoutAttr::fromLinear(context, layout), /*slots=*/1);
}

ir::BufferType onlyBufferOf(ir::LoadOp load) {
  ir::BufferType buffer;
  for (Operation *user : load->getUsers()) {
    auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user);
    if (!alloc || (buffer && alloc.getType() != buffer))
      return {};
    buffer = alloc.getType();
  }
  return buffer;
}

int fastestDimension(ir::BufferType buffer) {
  LinearLayout layout = buffer.toLinear();
  auto first = layout.coordinates(layout.columns(InDim::Offset).front());
  return static_cast<int>(llvm::find_if(first, [](auto at) { return at != 0; }) - first.begin());
}

ir::BufferType ownBufferFor(ir::LoadOp load) {
  auto tile = llvm::cast<RankedTensorType>(load.getResult().getType());
  LinearLayout layout = ir::getLinearLayout(tile), memory(ir::log2Shape(tile.getShape()));
  Columns &offsets = memory.columns(InDim::Offset);
  auto deal = [&](uint32_t column) {
    if (column && !llvm::is_contained(offsets, column))
      offsets.push_back(column);
  };
  auto dimension = load->getAttrOfType<IntegerAttr>(ir::vectorDimensionAttr);
  auto elements = load->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr);
  int fast = dimension ? static_cast<int>(dimension.getInt()) : tile.getRank() - 1;
  for (int bit = 0, end = elements ? llvm::Log2_64(elements.getInt()) : 0; bit < end; ++bit)
    deal(uint32_t(1) << (layout.dimStartBit(fast) + bit));
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Register, InDim::Block})
    llvm::for_each(layout.columns(dim), deal);
  if (!memory.isInvertible()) // a swizzled layout
    memory = makeSwizzledShared(layout.log2Shape(), ir::elementBits(tile.getElementType()), 0);
  return bufferFor(tile, memory);
}

int64_t bufferBytes(Operation *op) {
  if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op))
    return (alloc.getType().getSlots() - 1) * alloc.getType().slotStride() +
           alloc.getType().slotBytes();
  if (auto alloc = llvm::dyn_cast<ir::MbarrierAllocOp>(op))
    return alloc.getType().getSlots() * hardware::mbarrierBytes;
  return 0;
}

std::string describeBuffer(ir::BufferType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (type.getSlots() > 1)
    stream << type.getSlots() << " x ";
  stream << "tile<";
  for (int64_t extent : type.getShape())
    stream << extent << "x";
  stream << type.getElementType() << ">";
  return text;
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

/// The values that hold what `use` passes on: results of slots and permutations,
/// and what a region op makes of its operands and of what its regions yield.
static llvm::SmallVector<Value> passedOn(OpOperand &use) {
  Operation *op = use.getOwner();
  if (llvm::isa<ir::BufferSlotOp, ir::BufferPermuteOp, arith::SelectOp>(op))
    return {op->getResult(0)};
  return carriedTo(use);
}

BufferAnalysis::BufferAnalysis(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (llvm::isa<ir::AllocSharedOp, ir::MbarrierAllocOp>(op)) {
      all.push_back(op);
      trace(op);
    }
  });
}

void BufferAnalysis::trace(Operation *allocation) {
  llvm::SmallVector<Value> &values = ofAllocation[allocation];
  values.push_back(allocation->getResult(0));
  ofValue[values.front()].push_back(allocation);
  // `values` grows while it is walked.
  for (size_t next = 0; next < values.size(); ++next) {
    llvm::SmallVector<OpOperand *> uses;
    for (OpOperand &use : values[next].getUses())
      uses.push_back(&use);
    for (OpOperand *use : uses)
      for (Value value : passedOn(*use))
        if (!llvm::is_contained(values, value)) {
          values.push_back(value);
          ofValue[value].push_back(allocation);
        }
  }
}

llvm::ArrayRef<Operation *> BufferAnalysis::allocationsOf(Value buffer) const {
  auto found = ofValue.find(buffer);
  return found == ofValue.end() ? llvm::ArrayRef<Operation *>() : found->second;
}

llvm::ArrayRef<Value> BufferAnalysis::valuesOf(Operation *allocation) const {
  return ofAllocation.find(allocation)->second;
}

bool isLiveIn(ir::AllocSharedOp alloc, Operation *loop) {
  Block *block = alloc->getBlock();
  Operation *place = block->findAncestorOpInBlock(*loop);
  if (!place || !alloc->isBeforeInBlock(place))
    return false;
  llvm::SmallVector<Operation *> users(alloc->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (!block->findAncestorOpInBlock(*user)->isBeforeInBlock(place))
      return true;
    for (Value result : user->getResults())
      if (llvm::isa<ir::BufferType>(result.getType()))
        llvm::append_range(users, result.getUsers());
  }
  return false;
}

} // namespace tilewright::passes
