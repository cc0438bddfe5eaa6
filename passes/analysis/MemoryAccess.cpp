//===- MemoryAccess.cpp - Vector width and order of one access ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/MemoryAccess.h"

#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace tilewright::passes {

bool MemoryAccess::isStore() const { return llvm::isa<ir::StoreOp>(op); }
bool MemoryAccess::isLoad() const { return llvm::isa<ir::LoadOp, ir::AsyncCopyOp>(op); }

Value accessPointer(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ir::LoadOp, ir::StoreOp, ir::AtomicRmwOp, ir::AtomicCasOp, ir::AsyncCopyOp>(
          [](auto access) { return access.getPointer(); })
      .Default([](Operation *) { return Value(); });
}

Value accessMask(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ir::LoadOp, ir::StoreOp, ir::AtomicRmwOp, ir::AsyncCopyOp>(
          [](auto access) { return access.getMask(); })
      .Default([](Operation *) { return Value(); });
}

int bytesAtOnce(ir::LoadOp load) {
  auto elements = load->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr);
  return static_cast<int>(elements ? elements.getInt() : 1) *
         ir::elementBits(getElementTypeOrSelf(load.getResult())) / 8;
}

std::optional<std::string> asyncCopyObstacle(ir::LoadOp load, const TargetInfo &target) {
  if (!target.hasCpAsync)
    return "the target has no cp.async";
  if (bytesAtOnce(load) < hardware::minCopyBytes)
    return "accesses of " + std::to_string(bytesAtOnce(load)) + " bytes; cp.async needs 4";
  if (load.mayChangeMeanwhile())
    return "it is volatile";
  return std::nullopt;
}

bool reachesOnly(ir::LoadOp load, llvm::function_ref<bool(Operation *)> accepts) {
  llvm::SetVector<Operation *> reached;
  reached.insert(load);
  for (size_t index = 0; index < reached.size(); ++index)
    for (Operation *user : reached[index]->getUsers()) {
      bool passesOn = ir::isElementwise(user) && isMemoryEffectFree(user);
      if (!passesOn && !accepts(user))
        return false;
      if (passesOn)
        reached.insert(user);
    }
  return true;
}

bool reachesStoresOnly(ir::LoadOp load) {
  return reachesOnly(load, [](Operation *user) { return llvm::isa<ir::StoreOp>(user); });
}

bool canBeCopiedAhead(ir::LoadOp load, const AxisAnalysis &axes, const TargetInfo &target) {
  auto loop = llvm::dyn_cast<scf::ForOp>(load->getParentOp());
  return loop && ir::stagesOf(loop) > 1 && !asyncCopyObstacle(load, target) &&
         llvm::all_of(axes.get(load.getPointer()).constancy,
                      [](int64_t repeats) { return repeats == 1; });
}

bool fillsWithZeros(ir::LoadOp load) {
  Value other = load.getOther();
  return !other || ir::isZeroBits(other);
}

/// Lowers `limit.first` to `bound` and notes why.
static void bound(MemoryAccess &access, int64_t bound, std::string reason) {
  if (bound >= access.maxVectorElements)
    return;
  access.maxVectorElements = static_cast<int>(bound);
  access.limit = std::move(reason);
}

/// Elements that one atomic of a thread may act on: sums of floats in global memory come as vectors,
/// those of halves as pairs at least.
static int64_t atomicElements(Operation *op, const TargetInfo &target) {
  auto atomic = llvm::dyn_cast<ir::AtomicRmwOp>(op);
  if (!atomic || atomic.getKind() != ir::AtomicKind::fadd)
    return 1;
  auto pointer = llvm::cast<ir::PointerType>(getElementTypeOrSelf(atomic.getPointer()));
  Type element = pointer.getPointee();
  bool isVector =
      element.isF32() || element.isF16() || (element.isBF16() && target.hasBf16AtomicAdd);
  if (!isVector || pointer.getAddressSpace() == 3)
    return 1;
  return std::max<int64_t>(1, target.maxAtomicAddBytes * 8 / ir::elementBits(element));
}

std::optional<MemoryAccess> analyzeAccess(Operation *op, const AxisAnalysis &axes,
                                          const TargetInfo &target) {
  Value pointer = accessPointer(op);
  auto type = pointer ? llvm::dyn_cast<RankedTensorType>(pointer.getType()) : RankedTensorType();
  if (!type)
    return std::nullopt;
  MemoryAccess access;
  access.op = op;
  access.pointer = pointer;
  access.type = type;
  access.elementBytes =
      ir::elementBits(llvm::cast<ir::PointerType>(type.getElementType()).getPointee()) / 8;

  AxisInfo info = axes.get(pointer);
  access.run = info.run;
  access.constancy = info.constancy;
  access.order.resize(type.getRank());
  std::iota(access.order.rbegin(), access.order.rend(), 0);
  // Where the runs are equally long the last dimension is the fastest.
  llvm::sort(access.order, [&](int lhs, int rhs) {
    return info.run[lhs] != info.run[rhs] ? info.run[lhs] > info.run[rhs] : lhs > rhs;
  });

  int fast = access.order.front();
  int64_t alignment = info.divisibility[fast] / access.elementBytes;
  access.maxVectorElements = std::max(1, target.maxVectorBytes / access.elementBytes);
  access.limit = llvm::formatv("{0} bytes per access", target.maxVectorBytes).str();
  if (access.isAtomic())
    bound(access, atomicElements(op, target), "atomic operation");
  bound(access, type.getDimSize(fast),
        llvm::formatv("{0} elements along the tile", type.getDimSize(fast)).str());
  bound(access, info.contiguity[fast],
        llvm::formatv("addresses contiguous in groups of {0}", info.contiguity[fast]).str());
  bound(access, std::max<int64_t>(1, alignment),
        llvm::formatv("addresses divisible by {0} bytes", info.divisibility[fast]).str());
  Value mask = accessMask(op);
  for (int dim = 0; dim < type.getRank(); ++dim) {
    int64_t repeats = dim == fast ? 1 : info.constancy[dim];
    if (mask)
      repeats = std::min(repeats, axes.get(mask).constancy[dim]);
    access.log2Repeats.push_back(llvm::Log2_64(std::max<int64_t>(1, repeats)));
  }
  if (mask) {
    int64_t constancy = axes.get(mask).constancy[fast];
    bound(access, constancy, llvm::formatv("mask constant in groups of {0}", constancy).str());
  }
  return access;
}

int vectorElements(const MemoryAccess &access, const LinearLayout &layout) {
  int limit = llvm::Log2_32(access.maxVectorElements);
  return vectorRegisters(layout, access.order.front(), limit).numElements();
}

int setVectorWidth(const MemoryAccess &access, const LinearLayout &layout) {
  int vector = vectorElements(access, layout);
  access.op->removeAttr(ir::vectorElementsAttr);
  access.op->removeAttr(ir::vectorDimensionAttr);
  if (vector == 1)
    return 1;
  Type i32 = IntegerType::get(access.op->getContext(), 32);
  access.op->setAttr(ir::vectorElementsAttr, IntegerAttr::get(i32, vector));
  // Absent means the last one.
  if (int fast = access.order.front(); fast != access.type.getRank() - 1)
    access.op->setAttr(ir::vectorDimensionAttr, IntegerAttr::get(i32, fast));
  return vector;
}

} // namespace tilewright::passes
