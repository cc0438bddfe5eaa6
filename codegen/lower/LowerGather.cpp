//===- LowerGather.cpp - Elements that an index names ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.shared_gather and tw.shared_count. An address of a gather is the XOR of three
// parts: what the thread and the register say of the element beside the axis, known when
// the kernel is compiled, and what the index says along the axis. Counts lie in a row.
//
// How: neighbouring elements that have the same index are read together. A broadcast
// index gives whole rows of such elements.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MemoryInternal.h"
#include "codegen/lower/SharedTile.h"
#include "ir/layout/LayoutMemory.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class GatherLowering {
public:
  GatherLowering(ir::SharedGatherOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), builder(lowering.builder),
        tile(llvm::cast<RankedTensorType>(op.getType())), layout(ir::getLinearLayout(tile)),
        memory(op.getBuffer().getType().toLinear()), axis(static_cast<int>(op.getAxis())),
        elementBits(ir::elementBits(tile.getElementType())), indices(lowering.get(op.getIndex())) {}

  LogicalResult run() {
    ++lowering.sharedTraffic.unexamined;
    LinearLayout along(memory.log2Shape());
    for (int bit = 0; bit < memory.log2Shape()[axis]; ++bit)
      along.columns(InDim::Register).push_back(uint32_t(1) << (along.dimStartBit(axis) + bit));
    std::optional<IndexMap> places = memoryOffsets(memory, besideAxis());
    std::optional<IndexMap> named = memoryOffsets(memory, along);
    if (!places || !named)
      return op.emitOpError("memory lacks elements of the tile: ") << op.getBuffer().getType();
    registerOffsets = places->part(InDim::Register, InDim::Offset);
    axisOffsets = named->part(InDim::Register, InDim::Offset);
    threadOffset = lowering.applyThreadColumns(places->part(InDim::Lane, InDim::Offset),
                                               places->part(InDim::Warp, InDim::Offset),
                                               places->part(InDim::Block, InDim::Offset));
    base = lowering.getScalar(op.getBuffer());
    readAll();
    lowering.set(op.getResult(), std::move(results));
    return success();
  }

private:
  /// What an index says: the offset along the axis, and whether it is inside.
  struct Named {
    Value offset, isInside;
  };

  /// The layout of the result in terms of the memory's tile, without the axis.
  LinearLayout besideAxis() const {
    LinearLayout result(memory.log2Shape());
    for (InDim dim : {InDim::Register, InDim::Lane, InDim::Warp, InDim::Block})
      for (uint32_t column : layout.columns(dim)) {
        uint32_t moved = 0;
        for (int i = 0; i < layout.rank(); ++i)
          if (i != axis)
            moved |= (column & layout.dimMask(i)) >> layout.dimStartBit(i) << result.dimStartBit(i);
        result.columns(dim).push_back(moved);
      }
    return result;
  }

  void readAll() {
    int row = 0; // the dimension that is contiguous in memory
    while (!(memory.columns(InDim::Offset).front() & memory.dimMask(row)))
      ++row;
    int64_t widest = row == axis ? 1 : lowering.target.maxVectorBytes * 8 / elementBits;
    VectorRegisters vectors = vectorRegisters(layout, row, llvm::Log2_64(widest));
    results.resize(FunctionLowering::numRegisters(tile));
    for (int vector = 0; vector < vectors.numVectors(); ++vector) {
      llvm::ArrayRef<int> registers(
          vectors.registers.data() + size_t(vector) * vectors.numElements(), vectors.numElements());
      bool isOneRun = llvm::all_of(registers, [&](int reg) {
        return indices[reg] == indices[registers.front()] &&
               offsetOf(reg) == offsetOf(registers.front()) + (&reg - registers.data());
      });
      if (isOneRun)
        read(registers);
      else
        for (const int &reg : registers)
          read(llvm::ArrayRef<int>(reg));
    }
  }

  uint32_t offsetOf(int reg) const {
    uint32_t offset = 0;
    for (size_t bit = 0; bit < registerOffsets.size(); ++bit)
      if (reg >> bit & 1)
        offset ^= registerOffsets[bit];
    return offset;
  }

  /// Reads neighbours in memory that have one index.
  void read(llvm::ArrayRef<int> registers) {
    Named named = namedBy(indices[registers.front()]);
    Value offset = exclusiveOr(exclusiveOr(threadOffset, named.offset),
                               lowering.constantI32(offsetOf(registers.front())));
    Value bytes = builder.create<LLVM::ShlOp>(lowering.loc, offset,
                                              lowering.constantI32(llvm::Log2_32(elementBits / 8)));
    Value pointer =
        builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), builder.getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{bytes}, /*inbounds=*/true);
    Type type = lowering.registerType(tile.getElementType());
    WordFormat format(elementBits, static_cast<int>(registers.size()));
    llvm::SmallVector<Value> words = emitPlainLoad(lowering, pointer, format);
    llvm::SmallVector<Value> elements = unpackWords(lowering, format, words, type);
    for (auto [reg, element] : llvm::zip(registers, elements))
      results[reg] = builder.create<LLVM::SelectOp>(lowering.loc, named.isInside, element,
                                                    lowering.zero(type));
  }

  Value exclusiveOr(Value lhs, Value rhs) {
    return builder.create<LLVM::XOrOp>(lowering.loc, lhs, rhs);
  }

  Named namedBy(Value index) {
    Named &named = known[index];
    if (named.offset)
      return named;
    auto type = llvm::cast<IntegerType>(index.getType());
    int64_t extent = int64_t(1) << memory.log2Shape()[axis];
    named.isInside = builder.create<LLVM::ICmpOp>(
        lowering.loc, LLVM::ICmpPredicate::ult, index,
        builder.create<LLVM::ConstantOp>(lowering.loc, type, builder.getIntegerAttr(type, extent)));
    Value word = index;
    if (type.getWidth() > 32)
      word = builder.create<LLVM::TruncOp>(lowering.loc, builder.getI32Type(), index);
    named.offset = lowering.applyColumns(axisOffsets, word);
    return named;
  }

  ir::SharedGatherOp op;
  FunctionLowering &lowering;
  OpBuilder &builder;
  RankedTensorType tile;
  LinearLayout layout, memory;
  int axis, elementBits;
  const Registers &indices;
  Columns registerOffsets, axisOffsets;
  Value threadOffset, base;
  llvm::DenseMap<Value, Named> known;
  Registers results;
};

/// One instruction per element, which ptxas makes ATOMS.POPC.INC: lanes that count in one
/// place are added up by the memory, not one after the other.
LogicalResult lowerCount(Operation *op, FunctionLowering &lowering) {
  auto count = llvm::cast<ir::SharedCountOp>(op);
  ++lowering.sharedTraffic.unexamined;
  OpBuilder &builder = lowering.builder;
  auto source = llvm::cast<RankedTensorType>(count.getSource().getType());
  Value base = lowering.getScalar(count.getBuffer());
  Value owner = lowering.ownsElements(source);
  const Registers &elements = lowering.get(count.getSource());
  const Registers *masks = count.getMask() ? &lowering.get(count.getMask()) : nullptr;
  int64_t bins = count.getBuffer().getType().getShape()[0];
  for (int reg : keptRegisters(ir::getLinearLayout(source))) {
    Value element = elements[reg];
    Value counts = builder.create<LLVM::ICmpOp>(lowering.loc, LLVM::ICmpPredicate::ult, element,
                                                lowering.constantInt(element.getType(), bins));
    if (masks)
      counts = conjunction(lowering, counts, (*masks)[reg]);
    if (owner)
      counts = conjunction(lowering, counts, owner);
    Value word = element;
    if (word.getType().isInteger(64))
      word = builder.create<LLVM::TruncOp>(lowering.loc, builder.getI32Type(), word);
    Value place =
        builder.create<LLVM::GEPOp>(lowering.loc, base.getType(), builder.getI32Type(), base, word);
    lowering.inlineAsm(Type(), {place, counts}, "@$1 red.shared.add.u32 [$0], 1;", "r,b,~{memory}",
                       /*hasSideEffects=*/true);
  }
  return success();
}

LogicalResult lowerGather(Operation *op, FunctionLowering &lowering) {
  return GatherLowering(llvm::cast<ir::SharedGatherOp>(op), lowering).run();
}

} // namespace

void addGatherLowerings(LoweringTable &table) {
  table.add(ir::SharedGatherOp::getOperationName(), lowerGather);
  table.add(ir::SharedCountOp::getOperationName(), lowerCount);
}

} // namespace tilewright::codegen
