//===- LowerReduce.cpp - Reductions ---------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tw.reduce, by the plan of ir/layout/ReductionPlan.h.
//
// How: (1) fold the registers of a thread as a balanced tree, which leaves independent
// operations for the scheduler; sums of products as four chains, each step of which is
// one fma, and then a tree; (2) fold over the lanes along the axis (LaneReduction.h);
// (3) one exchange through shared memory and one barrier, after which every warp folds
// the partial results of all warps itself: a second barrier to spread one warp's result would cost more than the
// few operations saved. Where each thread has many results (the sums of columns) they
// are folded by one thread each, and a second barrier follows. Warps of blocks that
// share results send them to all of these blocks (BlockExchange.h), and every thread
// folds those of all.
//
// All threads that share a result combine in the same order, so copies of a result
// agree bit for bit. If the combine function is one commutative op, operands need no
// order; else lanes swap operands by their bit.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/LaneReduction.h"
#include "codegen/lower/SharedExchange.h"

using namespace mlir;

namespace tilewright::codegen {

namespace {

class ReduceLowering {
public:
  ReduceLowering(ir::ReduceOp op, FunctionLowering &lowering)
      : op(op), lowering(lowering), lanes(op, lowering, plan, partials) {}

  LogicalResult run() {
    SmallVector<int> elementBits;
    for (Value source : op.getSources())
      elementBits.push_back(ir::elementBits(getElementTypeOrSelf(source)));
    std::optional<ReductionPlan> found =
        planReduction(FunctionLowering::layoutOf(op.getSources().front()), op.getAxis(),
                      std::vector<int>(elementBits.begin(), elementBits.end()));
    if (!found)
      return op.emitOpError("cannot reduce a swizzled layout; convert it first");
    plan = std::move(*found);

    if (failed(foldRegisters()))
      return failure();
    if (failed(lanes.fold()) || (plan.needsExchange() && failed(foldWarps())))
      return failure();
    if (!plan.needsExchange())
      lanes.spreadHeld();
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      lowering.set(result, operandOf(index));
    return success();
  }

private:
  size_t numOperands() { return op.getSources().size(); }
  size_t numResults() const { return plan.groups.size(); }
  Type valueType(size_t operand) {
    return lowering.registerType(getElementTypeOrSelf(op.getSources()[operand]));
  }

  /// The registers of operand `index` over all partial results.
  Registers operandOf(size_t index) {
    Registers registers;
    for (Registers &tuple : partials)
      registers.push_back(tuple[index]);
    return registers;
  }

  /// Folds tuples pairwise until one is left; neighbours first, so the order
  /// along the axis is kept.
  FailureOr<Registers> foldTree(SmallVector<Registers> tuples) {
    while (tuples.size() > 1) {
      SmallVector<Registers> next;
      for (size_t index = 0; index + 1 < tuples.size(); index += 2) {
        FailureOr<Registers> joined = lanes.combine(tuples[index], tuples[index + 1]);
        if (failed(joined))
          return failure();
        next.push_back(std::move(*joined));
      }
      if (tuples.size() % 2)
        next.push_back(tuples.back());
      tuples = std::move(next);
    }
    return tuples.front();
  }

  bool isSumOfProducts() {
    Block &block = op.getCombine().front();
    return block.getOperations().size() == 2 && isa<arith::AddFOp>(block.front()) &&
           op.getSources().front().getDefiningOp<arith::MulFOp>();
  }

  /// Makes `numChains` tuples of neighbouring ones each, a step of every chain in turn.
  LogicalResult foldChains(SmallVector<Registers> &tuples, size_t numChains) {
    size_t length = tuples.size() / numChains;
    SmallVector<Registers> sums;
    for (size_t chain = 0; chain < numChains; ++chain)
      sums.push_back(tuples[chain * length]);
    for (size_t step = 1; step < length; ++step)
      for (size_t chain = 0; chain < numChains; ++chain) {
        FailureOr<Registers> joined = lanes.combine(sums[chain], tuples[chain * length + step]);
        if (failed(joined))
          return failure();
        sums[chain] = std::move(*joined);
      }
    tuples = std::move(sums);
    return success();
  }

  LogicalResult foldRegisters() {
    // Sums that do not wait for each other: an addition takes four cycles (H200, sm_90).
    constexpr size_t numChains = 4;
    for (const std::vector<int> &group : plan.groups) {
      SmallVector<Registers> tuples;
      for (int reg : group) {
        Registers &tuple = tuples.emplace_back();
        for (Value source : op.getSources())
          tuple.push_back(lowering.get(source)[reg]);
      }
      if (isSumOfProducts() && tuples.size() > numChains && tuples.size() % numChains == 0 &&
          failed(foldChains(tuples, numChains)))
        return failure();
      FailureOr<Registers> folded = foldTree(std::move(tuples));
      if (failed(folded))
        return failure();
      partials.push_back(std::move(*folded));
    }
    return success();
  }

  /// slot(result register, thread) = XOR of the plan's columns.
  ///   address = scratch + offset of operand + bytes * slot
  LogicalResult foldWarps() {
    SharedExchange exchange(lowering, lowering.scratchOffset(op));
    Value writePart = lowering.builder.create<LLVM::XOrOp>(
        lowering.loc, lowering.applyColumns(plan.writerLaneSlots, lowering.laneId()),
        lowering.applyColumns(plan.warpSlots, lowering.warpId()));
    Columns readColumns = plan.warpSlots;
    for (auto [index, column] : llvm::enumerate(readColumns))
      column ^= plan.partialSlots[index];
    Value readPart = lowering.builder.create<LLVM::XOrOp>(
        lowering.loc, lowering.applyColumns(plan.laneSlots, lowering.laneId()),
        lowering.applyColumns(readColumns, lowering.warpId()));

    plan.blockBits.empty() ? storePartials(exchange, writePart) : sendPartials(exchange, writePart);
    partials.assign(numResults(), Registers(numOperands()));
    if (plan.isSpread) {
      if (failed(foldSpread(exchange)))
        return failure();
      loadFolded(exchange, readPart);
      return success();
    }

    int perLane = partialsPerLane();
    SmallVector<uint32_t> shareMasks;
    for (int lanes = plan.numPartials() / perLane, mask = 1; mask < lanes; mask <<= 1)
      shareMasks.push_back(mask);
    Value firstPartial;
    if (!shareMasks.empty()) {
      Value group = lowering.builder.create<LLVM::AndOp>(
          lowering.loc, lowering.laneId(), lowering.constantI32(plan.numPartials() / perLane - 1));
      firstPartial =
          lowering.builder.create<LLVM::MulOp>(lowering.loc, group, lowering.constantI32(perLane));
    }
    for (size_t result = 0; result < numResults(); ++result) {
      Value slot = slotOf(readPart, result);
      if (firstPartial)
        slot = lowering.builder.create<LLVM::AddOp>(lowering.loc, slot, firstPartial);
      SmallVector<Registers> tuples(perLane, Registers(numOperands()));
      for (size_t operand = 0; operand < numOperands(); ++operand) {
        Registers loaded =
            exchange.load(plan.scratch[operand].byteOffset, slot, plan.scratch[operand].storedBits,
                          valueType(operand), perLane);
        for (int index = 0; index < perLane; ++index)
          tuples[index][operand] = loaded[index];
      }
      FailureOr<Registers> folded = foldTree(std::move(tuples));
      if (failed(folded))
        return failure();
      partials[result] = std::move(*folded);
    }
    return lanes.foldLanes(shareMasks);
  }

  void storePartials(SharedExchange &exchange, Value writePart) {
    exchange.onlyOwners(plan.duplicateMasks, [&] {
      for (auto [operand, scratch] : llvm::enumerate(plan.scratch)) {
        size_t vector = neighbours(scratch.storedBits, partials.size());
        for (size_t result = 0; result < partials.size(); result += vector) {
          Registers values;
          for (size_t index = 0; index < vector; ++index)
            values.push_back(partials[result + index][operand]);
          exchange.store(scratch.byteOffset, slotOf(writePart, result), scratch.storedBits, values);
        }
      }
    });
    lowering.barrier();
  }

  /// How many of `registers` lie next to each other in one vector of scratch.
  size_t neighbours(int storedBits, size_t registers) {
    size_t count = 1;
    for (uint32_t slot : plan.registerSlots) {
      if (slot != count || count == registers || count * 2 * storedBits > 128)
        break;
      count *= 2;
    }
    return count;
  }

  /// Each thread folds the partial results of one result element, or of several, and
  /// puts what it makes in the place of the first.
  LogicalResult foldSpread(SharedExchange &exchange) {
    OpBuilder &builder = lowering.builder;
    int numThreads = plan.result.inSize(InDim::Lane) * plan.result.inSize(InDim::Warp);
    HardwareIndex idle;
    int busyWarps = plan.partialStride / plan.result.inSize(InDim::Lane);
    idle[InDim::Warp] = (plan.result.inSize(InDim::Warp) - 1) & ~(busyWarps - 1);
    LogicalResult status = success();
    exchange.onlyOwners(idle, [&] {
      for (int first = 0; first < plan.partialStride && succeeded(status); first += numThreads) {
        Value slot = builder.create<LLVM::AddOp>(lowering.loc, lowering.threadId(),
                                                 lowering.constantI32(first));
        SmallVector<Registers> tuples;
        for (int partial = 0; partial < plan.numPartials(); ++partial) {
          Value place = builder.create<LLVM::AddOp>(
              lowering.loc, slot, lowering.constantI32(partial * plan.partialStride));
          Registers &tuple = tuples.emplace_back();
          for (auto [operand, scratch] : llvm::enumerate(plan.scratch))
            tuple.append(exchange.load(scratch.byteOffset, place, scratch.storedBits,
                                       valueType(operand), 1));
        }
        FailureOr<Registers> folded = foldTree(std::move(tuples));
        status = folded;
        if (succeeded(status))
          for (auto [operand, scratch] : llvm::enumerate(plan.scratch))
            exchange.store(scratch.byteOffset, slot, scratch.storedBits, {(*folded)[operand]});
      }
    });
    lowering.barrier();
    return status;
  }

  void loadFolded(SharedExchange &exchange, Value readPart) {
    for (auto [operand, scratch] : llvm::enumerate(plan.scratch)) {
      size_t vector = neighbours(scratch.storedBits, numResults());
      for (size_t result = 0; result < numResults(); result += vector) {
        Registers loaded =
            exchange.load(scratch.byteOffset, slotOf(readPart, result), scratch.storedBits,
                          valueType(operand), static_cast<int>(vector));
        for (size_t index = 0; index < vector; ++index)
          partials[result + index][operand] = loaded[index];
      }
    }
  }

  /// To all blocks that share this one's results, and waits for theirs. Lanes that hold
  /// copies send to different blocks at once.
  void sendPartials(SharedExchange &exchange, Value writePart) {
    OpBuilder &builder = lowering.builder;
    BlockExchange blocks(lowering, op, plan.incomingBytes);
    Value rank = lowering.blockRank();
    Value ownPart = builder.create<LLVM::XOrOp>(lowering.loc, writePart,
                                                lowering.applyColumns(plan.blockSlots, rank));
    Value first =
        builder.create<LLVM::AndOp>(lowering.loc, rank, lowering.constantI32(~plan.blockMask()));

    HardwareIndex duplicates = plan.duplicateMasks;
    Columns rankOfLane(lowering.target.log2WarpSize, 0);
    size_t spread = 0;
    for (int lane = 0; lane < lowering.target.log2WarpSize && spread < plan.blockBits.size();
         ++lane)
      if (duplicates[InDim::Lane] >> lane & 1) {
        duplicates[InDim::Lane] ^= 1u << lane;
        rankOfLane[lane] = plan.blockOffset(1 << spread++);
      }
    Value owner = exchange.isOwner(duplicates);
    first = builder.create<LLVM::OrOp>(lowering.loc, first,
                                       lowering.applyColumns(rankOfLane, lowering.laneId()));
    for (int block = 0; block < plan.numBlocks(); block += 1 << spread) {
      Value to = builder.create<LLVM::OrOp>(lowering.loc, first,
                                            lowering.constantI32(plan.blockOffset(block)));
      for (size_t result = 0; result < partials.size(); ++result)
        for (size_t operand = 0; operand < numOperands(); ++operand)
          exchange.send(blocks, to, plan.scratch[operand].byteOffset, slotOf(ownPart, result),
                        plan.scratch[operand].storedBits, partials[result][operand], owner);
    }
    blocks.wait();
  }

  /// How many partial results a lane reads itself. Reading all of many takes a
  /// register each, while the tile is still held: then the lanes that want the
  /// same result read a vector each and share by butterflies.
  int partialsPerLane() {
    int all = plan.numPartials();
    int bits = 8;
    for (const ReductionScratch &scratch : plan.scratch)
      bits = std::max(bits, scratch.storedBits);
    int vector = std::max(1, 128 / bits);
    if (all <= 8 || all <= vector)
      return all;
    // Lanes 0 to all / vector - 1 must want the same result.
    for (int bit = 0; (1 << bit) < all / vector; ++bit)
      if (bit < int(plan.laneSlots.size()) && plan.laneSlots[bit] != 0)
        return all;
    return vector;
  }

  Value slotOf(Value threadPart, size_t result) {
    uint32_t constant = 0;
    for (auto [bit, column] : llvm::enumerate(plan.registerSlots))
      if (result >> bit & 1)
        constant ^= column;
    if (!constant)
      return threadPart;
    return lowering.builder.create<LLVM::XOrOp>(lowering.loc, threadPart,
                                                lowering.constantI32(constant));
  }

  ir::ReduceOp op;
  FunctionLowering &lowering;
  ReductionPlan plan;
  /// partials[result register][operand]; of held registers where the results are halved.
  SmallVector<Registers> partials;
  LaneReduction lanes;
};

LogicalResult lowerReduce(Operation *op, FunctionLowering &lowering) {
  return ReduceLowering(cast<ir::ReduceOp>(op), lowering).run();
}

} // namespace

void addReduceLowerings(LoweringTable &table) {
  table.add(ir::ReduceOp::getOperationName(), lowerReduce);
}

} // namespace tilewright::codegen
