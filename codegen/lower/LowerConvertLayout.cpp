//===- LowerConvertLayout.cpp - Layout conversions ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.convert_layout, by the plan of ir/layout/ConversionPlan.h. The plan
// has decided between renaming registers, shuffles and shared memory, and that
// header explains each. This file only emits what the plan says.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/Lowering.h"
#include "codegen/lower/MemoryInternal.h"
#include "codegen/lower/SharedTile.h"
#include "ir/layout/ConversionPlan.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class ConvertLowering {
public:
  ConvertLowering(ir::ConvertLayoutOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), source(lowering.get(op.getSource())) {}

  LogicalResult run() {
    ConversionOptions options;
    // Every target has ldmatrix.
    options.hasLoadMatrix = true;
    options.hasStoreMatrix = lowering.target.hasStoreMatrix;
    if (auto limit = op->getAttrOfType<IntegerAttr>(ir::scratchLimitAttr))
      options.maxScratchBytes = limit.getInt();
    plan = planConversion(FunctionLowering::layoutOf(op.getSource()),
                          FunctionLowering::layoutOf(op.getResult()),
                          ir::elementBits(getElementTypeOrSelf(op.getSource())), options);
    switch (plan.kind) {
    case ConversionKind::None:
    case ConversionKind::Registers:
      renameRegisters();
      return success();
    case ConversionKind::Shuffle:
      emitShuffles();
      return success();
    case ConversionKind::SharedMemory:
      emitSharedMemory();
      return success();
    case ConversionKind::AcrossBlocks:
      if (plan.cluster.storedBits == 0)
        return op.emitOpError("has no way between these layouts");
      emitAcrossBlocks();
      return success();
    }
    return failure();
  }

private:
  void renameRegisters() {
    Registers result;
    for (int reg : plan.registers)
      result.push_back(source[reg]);
    lowering.set(op.getResult(), std::move(result));
  }

  //===--- shuffles -------------------------------------------------------===//

  /// Whether parity(lane & laneMask) ^ parity(warp & warpMask) is odd (i1).
  Value holds(const RegisterSwap &swap) {
    OpBuilder &builder = lowering.builder;
    Value bits;
    auto include = [&](uint32_t mask, Value index) {
      Value count = builder.create<LLVM::CtPopOp>(
          lowering.loc,
          builder.create<LLVM::AndOp>(lowering.loc, index, lowering.constantI32(mask)));
      bits = bits ? builder.create<LLVM::AddOp>(lowering.loc, bits, count).getResult() : count;
    };
    if (uint32_t mask = swap.threadMask[InDim::Lane])
      include(mask, lowering.laneId());
    if (uint32_t mask = swap.threadMask[InDim::Warp])
      include(mask, lowering.warpId());
    if (uint32_t mask = swap.threadMask[InDim::Block])
      include(mask, lowering.blockRank());
    return builder.create<LLVM::TruncOp>(lowering.loc, builder.getI1Type(), bits);
  }

  void exchange(Registers &registers, ArrayRef<RegisterSwap> swaps) {
    for (const RegisterSwap &swap : swaps) {
      Value condition = holds(swap);
      for (size_t low = 0; low < registers.size(); ++low) {
        size_t high = low ^ swap.registerMask;
        if (high <= low || high >= registers.size() || !registers[low] || !registers[high])
          continue;
        Value first = lowering.builder.create<LLVM::SelectOp>(lowering.loc, condition,
                                                              registers[high], registers[low]);
        registers[high] = lowering.builder.create<LLVM::SelectOp>(lowering.loc, condition,
                                                                  registers[low], registers[high]);
        registers[low] = first;
      }
    }
  }

  /// Several elements in one value for one shuffle: a vector of integers.
  Value pack(ArrayRef<Value> elements) {
    if (elements.size() == 1)
      return elements.front();
    OpBuilder &builder = lowering.builder;
    Type element = elements.front().getType();
    unsigned bits = std::max(8u, element.getIntOrFloatBitWidth());
    Value word = lowering.constantI32(0);
    for (auto [index, value] : llvm::enumerate(elements)) {
      Value integer =
          isa<IntegerType>(element)
              ? value
              : builder.create<LLVM::BitcastOp>(lowering.loc, builder.getIntegerType(bits), value);
      Value wide = builder.create<LLVM::ZExtOp>(lowering.loc, builder.getI32Type(), integer);
      Value placed =
          builder.create<LLVM::ShlOp>(lowering.loc, wide, lowering.constantI32(index * bits));
      word = builder.create<LLVM::OrOp>(lowering.loc, word, placed);
    }
    return word;
  }

  Registers unpack(Value word, Type element, size_t count) {
    if (count == 1)
      return {word};
    OpBuilder &builder = lowering.builder;
    unsigned width = element.getIntOrFloatBitWidth(), bits = std::max(8u, width);
    if (word.getType().getIntOrFloatBitWidth() < 32)
      word = builder.create<LLVM::ZExtOp>(lowering.loc, builder.getI32Type(), word);
    Registers elements;
    for (size_t index = 0; index < count; ++index) {
      Value shifted =
          builder.create<LLVM::LShrOp>(lowering.loc, word, lowering.constantI32(index * bits));
      Value integer =
          builder.create<LLVM::TruncOp>(lowering.loc, builder.getIntegerType(width), shifted);
      elements.push_back(
          isa<IntegerType>(element)
              ? integer
              : builder.create<LLVM::BitcastOp>(lowering.loc, element, integer).getResult());
    }
    return elements;
  }

  /// Where elements have at most half a word: the pairs that can be exchanged as one value, which
  /// halves the selects. Nothing where there are none to halve.
  std::optional<ShufflePlan::PairBits> pairsToExchange() {
    const ShufflePlan &shuffle = plan.shuffle;
    if (ir::elementBits(getElementTypeOrSelf(op.getSource())) > 16 ||
        (shuffle.before.empty() && shuffle.after.empty()))
      return std::nullopt;
    return shuffle.pairBits();
  }

  /// Puts the pairs of elements together at the indices without `bit`; the others are left empty.
  void joinPairs(Registers &registers, uint32_t bit) {
    OpBuilder &builder = lowering.builder;
    for (size_t low = 0; low < registers.size(); ++low) {
      if (low & bit)
        continue;
      Value &high = registers[low | bit];
      unsigned bits = std::max(8u, high.getType().getIntOrFloatBitWidth());
      Value word = pack({registers[low], high});
      registers[low] =
          bits == 16
              ? word
              : builder.create<LLVM::TruncOp>(lowering.loc, builder.getIntegerType(2 * bits), word);
      high = Value();
    }
  }

  void splitPairs(Registers &registers, uint32_t bit, Type element) {
    for (size_t low = 0; low < registers.size(); ++low) {
      if (low & bit)
        continue;
      Registers pair = unpack(registers[low], element, 2);
      registers[low] = pair[0];
      registers[low | bit] = pair[1];
    }
  }

  void emitShuffles() {
    const ShufflePlan &shuffle = plan.shuffle;
    OpBuilder &builder = lowering.builder;
    Type element = source.front().getType();
    Registers work;
    for (int reg : shuffle.sourceRegisters)
      work.push_back(source[reg]);
    std::optional<ShufflePlan::PairBits> pairs = pairsToExchange();
    if (pairs)
      joinPairs(work, pairs->source);
    Type exchanged = work.front().getType();
    exchange(work, shuffle.before);

    Value sourceLane;
    if (!shuffle.isButterfly())
      sourceLane = lowering.applyThreadColumns(shuffle.laneFromLane, shuffle.laneFromWarp,
                                               shuffle.laneFromBlock);
    Registers slots(shuffle.numSlots);
    for (const ShuffleRound &round : shuffle.rounds) {
      Registers offered;
      SmallVector<int> wanted;
      for (auto [reg, slot] : llvm::zip(round.sources, round.slots))
        if (work[reg]) { // not the second of a pair
          offered.push_back(work[reg]);
          wanted.push_back(slot);
        }
      Value word = pack(offered);
      if (!shuffle.isLocal(round)) {
        if (shuffle.isButterfly())
          word = lowering.shuffleXor(word, round.laneXor);
        else
          word = lowering.shuffleIndex(
              word, round.laneXor ? builder
                                        .create<LLVM::XOrOp>(lowering.loc, sourceLane,
                                                             lowering.constantI32(round.laneXor))
                                        .getResult()
                                  : sourceLane);
      }
      for (auto [slot, value] : llvm::zip(wanted, unpack(word, exchanged, offered.size())))
        slots[slot] = value;
    }
    exchange(slots, shuffle.after);
    if (pairs)
      splitPairs(slots, pairs->slot, element);
    Registers result;
    for (int slot : shuffle.destinationSlots)
      result.push_back(slots[slot]);
    lowering.set(op.getResult(), std::move(result));
  }

  //===--- shared memory --------------------------------------------------===//

  void emitSharedMemory() {
    const SharedMemoryPlan &shared = plan.sharedMemory;
    Value base = lowering.sharedAddress(lowering.scratchOffset(op));
    SharedTile write(lowering, shared.write, base, shared.storedBits);
    SharedTile read(lowering, shared.read, base, shared.storedBits);
    Type element = source.front().getType();
    Registers registers(FunctionLowering::numRegisters(op.getType()));

    for (int piece = 0; piece < shared.numPieces; ++piece) {
      // The piece before is still being read.
      if (piece > 0)
        lowering.barrier();
      write.store(source, piece);
      lowering.barrier();
      read.load(registers, element, piece);
    }
    Registers result;
    for (int reg : shared.read.registerOf)
      result.push_back(registers[reg]);
    lowering.set(op.getResult(), std::move(result));
  }

  //===--- shared memory of all blocks ------------------------------------===//

  /// flat = (thread's part) ^ (access'): rank of a block, then place in its memory.
  ///   address = mapa(scratch + bytes * place, rank)
  void emitAcrossBlocks() {
    const ClusterPlan &cluster = plan.cluster;
    OpBuilder &builder = lowering.builder;
    Value base = lowering.sharedAddress(lowering.scratchOffset(op));
    SharedTile(lowering, cluster.write, base, cluster.storedBits).store(source);
    lowering.barrierOfBlocks();

    ++lowering.sharedTraffic.unexamined;
    const SharedSide &read = cluster.read;
    Value threadPart =
        lowering.applyThreadColumns(read.laneOffsets, read.warpOffsets, read.blockOffsets);
    Type element = source.front().getType();
    Registers registers(FunctionLowering::numRegisters(op.getType()));
    for (const SharedAccess &access : read.accesses.front()) {
      Value flat = builder.create<LLVM::XOrOp>(lowering.loc, threadPart,
                                               lowering.constantI32(access.offset));
      Value rank = builder.create<LLVM::LShrOp>(lowering.loc, flat,
                                                lowering.constantI32(cluster.log2BlockElements));
      Value place = builder.create<LLVM::AndOp>(
          lowering.loc, flat, lowering.constantI32((int64_t(1) << cluster.log2BlockElements) - 1));
      Value address = builder.create<LLVM::GEPOp>(lowering.loc, base.getType(),
                                                  builder.getIntegerType(cluster.storedBits), base,
                                                  ArrayRef<LLVM::GEPArg>{place});
      WordFormat format(cluster.storedBits, static_cast<int>(access.registers.size()));
      SmallVector<Value> elements = unpackWords(
          lowering, format,
          emitClusterLoad(lowering, lowering.addressInBlock(address, rank), format), element);
      for (auto [reg, value] : llvm::zip(access.registers, elements))
        registers[reg] = value;
    }
    Registers result;
    for (int reg : read.registerOf)
      result.push_back(registers[reg]);
    lowering.set(op.getResult(), std::move(result));
  }

  ir::ConvertLayoutOp op;
  FunctionLowering &lowering;
  const Registers source;
  ConversionPlan plan;
};

LogicalResult lowerConvertLayout(Operation *op, FunctionLowering &lowering) {
  return ConvertLowering(cast<ir::ConvertLayoutOp>(op), lowering).run();
}

} // namespace

void addConvertLayoutLowerings(LoweringTable &table) {
  table.add(ir::ConvertLayoutOp::getOperationName(), lowerConvertLayout);
}

} // namespace tilewright::codegen
