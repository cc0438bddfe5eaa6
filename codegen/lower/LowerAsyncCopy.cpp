//===- LowerAsyncCopy.cpp - Copies from global to shared memory -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.async_copy, tw.async_commit and tw.async_wait (cp.async).
//
// How: registers that are consecutive in global memory (tw.vector_elements) and
// in shared memory form one copy of 16, 8 or 4 bytes. A false mask makes the
// source 0 bytes long, and the hardware writes zeros. With an `other` that is not
// zero, the thread itself stores `other` where the mask is false. cp.async cannot
// copy less than 4 bytes: such elements are loaded and stored at once, which is
// correct but waits for memory.
//
// A thread that holds a copy of another thread's element does not copy it.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MemoryInternal.h"
#include "codegen/lower/SharedTile.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class AsyncCopyLowering {
public:
  AsyncCopyLowering(ir::AsyncCopyOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), pointers(lowering.get(op.getPointer())) {}

  LogicalResult run() {
    auto pointerTile = llvm::cast<RankedTensorType>(op.getPointer().getType());
    ir::BufferType buffer = op.getBuffer().getType();
    tile = RankedTensorType::get(pointerTile.getShape(), buffer.getElementType(),
                                 pointerTile.getEncoding());
    elementBits = ir::elementBits(tile.getElementType());
    LinearLayout layout = ir::getLinearLayout(tile);
    std::optional<IndexMap> offsets = memoryOffsets(buffer.toLinear(), layout);
    if (!offsets)
      return op.emitOpError("memory lacks elements of the tile: ") << buffer;

    // 1. The grouping.
    auto dimension = op->getAttrOfType<IntegerAttr>(ir::vectorDimensionAttr);
    int dim = dimension ? static_cast<int>(dimension.getInt()) : layout.rank() - 1;
    auto proven = op->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr);
    int64_t widest = std::max<int64_t>(1, hardware::maxCopyBytes * 8 / elementBits);
    int64_t elements = std::min<int64_t>(widest, proven ? proven.getInt() : 1);
    int log2Elements = log2SharedRun(layout, *offsets, dim, llvm::Log2_64(elements));
    AccessPlan plan = planAccesses(op, tile, lowering.target, 1 << log2Elements);

    // 2. What all accesses share.
    SharedAddresses addresses(lowering, lowering.getScalar(op.getBuffer()),
                              offsets->part(InDim::Lane, InDim::Offset),
                              offsets->part(InDim::Warp, InDim::Offset),
                              offsets->part(InDim::Block, InDim::Offset), elementBits);
    masks = op.getMask() ? &lowering.get(op.getMask()) : nullptr;
    others = op.getOther() ? &lowering.get(op.getOther()) : nullptr;
    if (others && llvm::all_of(*others, ir::isZeroBits))
      others = nullptr;
    owner = conjunction(lowering, lowering.ownsElementsInBlock(tile), lowering.copyCondition);

    int vector = static_cast<int>(plan.accesses.front().size());
    int bits = vector * elementBits; // a wavefront carries 32 of each lane
    lowering.noteSharedTile(
        "copied in vectors of " + std::to_string(vector) + " (" + std::to_string(bits) + " bits)",
        std::max(1, bits / 32),
        bankConflicts(offsets->part(InDim::Lane, InDim::Offset), elementBits, vector));

    // 3. The copies.
    for (const AccessRegisters &access : plan.accesses) {
      uint32_t offset = offsets->apply(InDim::Register, access.front())[InDim::Offset];
      if (static_cast<int>(access.size()) * elementBits / 8 >= hardware::minCopyBytes)
        emitCopy(access, addresses.address(offset));
      else
        emitLoadAndStore(access, addresses.address(offset));
    }
    return success();
  }

private:
  /// cp.async; the elements of `access` have one mask.
  void emitCopy(const AccessRegisters &access, std::pair<Value, int64_t> destination) {
    int bytes = static_cast<int>(access.size()) * elementBits / 8;
    Value mask = masks ? (*masks)[access.front()] : Value();
    if (isAlways(mask))
      mask = {};
    // Who copies at all, and where zeros are to be written instead.
    Value predicate = others ? conjunction(lowering, mask, owner) : owner;
    Value filled = others ? Value() : mask;

    llvm::SmallVector<Value> operands{destination.first, pointers[access.front()]};
    std::string constraints = "r,l", assembly;
    auto addOperand = [&](Value operand, const char *constraint) {
      operands.push_back(operand);
      constraints += std::string(",") + constraint;
      return "$" + std::to_string(operands.size() - 1);
    };
    if (predicate)
      assembly = "@" + addOperand(predicate, "b") + " ";
    // Only 16 bytes can go past L1; they do unless asked not to.
    bool pastL1 = bytes == hardware::maxCopyBytes && op.getCache() != ir::CacheModifier::ca;
    assembly += std::string("cp.async.") + (pastL1 ? "cg" : "ca") + ".shared.global";
    Value policy;
    if (op.getEviction() != ir::Eviction::normal && lowering.target.hasCopyEvictionHints) {
      policy = makePolicy(lowering, op.getEviction());
      assembly += ".L2::cache_hint";
    }
    assembly += " [$0+" + std::to_string(destination.second) + "], [$1], " + std::to_string(bytes);
    if (filled) {
      Value size = lowering.builder.create<LLVM::SelectOp>(
          lowering.loc, filled, lowering.constantI32(bytes), lowering.constantI32(0));
      assembly += ", " + addOperand(size, "r");
    }
    if (policy)
      assembly += ", " + addOperand(policy, "l");
    lowering.inlineAsm(Type(), operands, assembly + ";", constraints + ",~{memory}",
                       /*hasSideEffects=*/true);
    if (others && mask)
      storeWords(access, destination, elementsOf(access, *others),
                 conjunction(lowering, negation(mask), owner));
  }

  void emitLoadAndStore(const AccessRegisters &access, std::pair<Value, int64_t> destination) {
    Type registerType = lowering.registerType(tile.getElementType());
    llvm::SmallVector<Value> initial =
        others ? elementsOf(access, *others)
               : llvm::SmallVector<Value>(access.size(), lowering.zero(registerType));
    AccessModifiers modifiers = modifiersOf(lowering, /*addressSpace=*/1, op.getCache(),
                                            op.getEviction(), /*isVolatile=*/false);
    WordFormat format(elementBits, static_cast<int>(access.size()));
    llvm::SmallVector<Value> elements = loadElements(
        lowering, pointers[access.front()],
        conjunction(lowering, masks ? (*masks)[access.front()] : Value(), lowering.copyCondition),
        initial, format, modifiers,
        /*isVolatile=*/false);
    storeWords(access, destination, elements, owner);
  }

  static llvm::SmallVector<Value> elementsOf(const AccessRegisters &access,
                                             const Registers &registers) {
    llvm::SmallVector<Value> elements;
    for (int reg : access)
      elements.push_back(registers[reg]);
    return elements;
  }

  Value negation(Value predicate) {
    Value all = lowering.constantInt(lowering.builder.getI1Type(), 1);
    return lowering.builder.create<LLVM::XOrOp>(lowering.loc, predicate, all);
  }

  void storeWords(const AccessRegisters &access, std::pair<Value, int64_t> destination,
                  llvm::ArrayRef<Value> elements, Value predicate) {
    WordFormat format(elementBits, static_cast<int>(access.size()));
    emitSharedStore(lowering, destination, format, packWords(lowering, format, elements),
                    predicate);
  }

  ir::AsyncCopyOp op;
  FunctionLowering &lowering;
  const Registers &pointers;
  RankedTensorType tile;
  int elementBits = 0;
  const Registers *masks = nullptr, *others = nullptr;
  Value owner;
};

} // namespace

static LogicalResult lowerCopy(Operation *op, FunctionLowering &lowering) {
  return AsyncCopyLowering(llvm::cast<ir::AsyncCopyOp>(op), lowering).run();
}

static LogicalResult lowerCommit(Operation *op, FunctionLowering &lowering) {
  lowering.builder.create<NVVM::CpAsyncCommitGroupOp>(lowering.loc);
  return success();
}

static LogicalResult lowerWait(Operation *op, FunctionLowering &lowering) {
  lowering.builder.create<NVVM::CpAsyncWaitGroupOp>(lowering.loc,
                                                    llvm::cast<ir::AsyncWaitOp>(op).getPending());
  return success();
}

void addAsyncCopyLowerings(LoweringTable &table) {
  table.add(ir::AsyncCopyOp::getOperationName(), lowerCopy);
  table.add(ir::AsyncCommitOp::getOperationName(), lowerCommit);
  table.add(ir::AsyncWaitOp::getOperationName(), lowerWait);
}

} // namespace tilewright::codegen
