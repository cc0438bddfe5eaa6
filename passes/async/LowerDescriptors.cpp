//===- LowerDescriptors.cpp - Descriptor accesses as TMA copies -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: turns each tw.descriptor_load into a TMA copy to shared memory that is
// waited for where the tile is used, and each tw.descriptor_store into a copy from
// shared memory.
//
// Why here: after PipelineLoops, which takes the loads that it can
// overlap with earlier iterations; before AllocateShared, which places the buffers.
//
// How: per block, in order.
//  1. Loads without a use or a write between them form a group: one fence, one
//     barrier, all copies started at the last of them, waited for together at the
//     first use. All groups share one mbarrier, which is made at the start of the
//     kernel and asked for its phase each time, so nothing is carried through
//     loops.
//  2. A layout conversion of a loaded tile becomes a second read of the buffer,
//     which costs half of what the conversion would. A buffer made from the tile for
//     a product is the one that TMA fills.
//  3. Stores are started at once and waited for at the end of the block, or
//     earlier if their buffers get too large. In a loop they are waited for when
//     the next one needs the buffer, and after the loop: a persistent kernel goes
//     on with its next tile meanwhile. Not so in a loop of one stage, whose rounds
//     do not overlap: its user wants the memory of those buffers for other things.
//
// TMA is another proxy than loads and stores of threads. In shared memory a fence
// stands before every copy. In global memory fences and waits are needed only
// where a thread, of this program or through an atomic of another, accesses the
// same array: accesses through other arguments are taken to be other arrays, as
// InsertBarriers does.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_LOWERDESCRIPTORS
#include "passes/Passes.h.inc"

namespace {

/// Stores of one block that may be under way together: more would take shared
/// memory that pipelined loads of a loop around them could use. A guess.
constexpr int64_t maxPendingStoreBytes = 64 * 1024;

//===----------------------------------------------------------------------===//
// Global memory that both threads and TMA access
//===----------------------------------------------------------------------===//

/// What a kernel does with the arrays of its descriptors besides one access by TMA.
class GlobalOrder {
public:
  explicit GlobalOrder(func::FuncOp function) : aliases(function->getParentOfType<ModuleOp>()) {
    function.walk([&](Operation *op) {
      if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
        read.insert(load.getDescriptor());
      else if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
        written.insert(store.getDescriptor());
      // What other programs have done or will read goes through atomics.
      else if (llvm::isa<ir::AtomicRmwOp, ir::AtomicCasOp>(op))
        hasAtomics = true;
      else if (Value pointer = accessPointer(op))
        (llvm::isa<ir::LoadOp>(op) ? read : written).insert(pointer);
    });
  }

  /// Whether anything may have written what TMA is to read.
  bool mayReadWritten(Value descriptor) { return hasAtomics || mayAlias(descriptor, written); }
  /// Whether anything may read what TMA has written.
  bool mayAccessStored(Value descriptor) {
    return hasAtomics || mayAlias(descriptor, read) || isWrittenByThreads(descriptor);
  }

private:
  /// Addresses: pointers and descriptors.
  llvm::SmallSetVector<Value, 8> read, written;
  bool hasAtomics = false;
  AliasInfo aliases;

  bool mayAlias(Value descriptor, const llvm::SmallSetVector<Value, 8> &others) {
    return llvm::any_of(others, [&](Value other) { return aliases.mayAlias(other, descriptor); });
  }

  /// Two stores by TMA to one block are not ordered, as in the language's model a
  /// program writes an element once.
  bool isWrittenByThreads(Value descriptor) {
    return llvm::any_of(written, [&](Value other) {
      return !llvm::isa<ir::DescriptorType>(other.getType()) && aliases.mayAlias(other, descriptor);
    });
  }
};

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Whether nothing that `op` does could be seen by a copy under way.
bool onlyReads(Operation *op) {
  if (isMemoryEffectFree(op))
    return true;
  auto result = op->walk([](Operation *nested) {
    if (nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(nested) ||
        llvm::isa<ir::LoadOp>(nested))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

class DescriptorLowering {
public:
  explicit DescriptorLowering(func::FuncOp function)
      : function(function), order(function),
        hasBlocks(ir::numBlocks(function->getParentOfType<ModuleOp>()) > 1) {}

  int numLoads = 0, numGroups = 0, numStores = 0;

  void run() {
    llvm::SmallVector<Block *> blocks;
    function.walk([&](Block *block) {
      // Combine regions hold scalars only.
      if (!llvm::isa<ir::ReduceOp, ir::ScanOp>(block->getParentOp()))
        blocks.push_back(block);
    });
    for (Block *block : blocks) {
      lowerLoads(*block);
      lowerStores(*block);
    }
    for (auto &[loop, buffers] : loopBuffers) {
      llvm::SmallVector<Value> all = llvm::to_vector(llvm::make_second_range(buffers));
      waitForStores(all, loop->getNextNode());
    }
  }

private:
  func::FuncOp function;
  GlobalOrder order;
  /// Whether a program has several blocks: each has its own copies of what is loaded,
  /// the first one stores. What orders accesses of global memory concerns all.
  bool hasBlocks;
  Value barrier, zero;
  /// Loads and conversions that have been replaced.
  llvm::SmallVector<Operation *> dead;
  /// The buffers of stores inside a loop, which are allocated before it.
  llvm::MapVector<Operation *, llvm::MapVector<Type, Value>> loopBuffers;

  //===--- loads ---------------------------------------------------------===//

  /// The mbarrier of all groups, and the index of its only slot.
  void makeBarrier() {
    if (barrier)
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    Location loc = function.getLoc();
    zero = builder.create<arith::ConstantOp>(loc, builder.getI32IntegerAttr(0));
    auto type = ir::MbarrierType::get(function.getContext(), /*slots=*/1);
    barrier = builder.create<ir::MbarrierAllocOp>(loc, type, /*arrivals=*/1);
    builder.create<ir::BarrierOp>(loc);
  }

  void lowerLoads(Block &block) {
    llvm::SmallVector<ir::DescriptorLoadOp> group;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      bool usesGroup = llvm::any_of(group, [&](ir::DescriptorLoadOp load) {
        return llvm::is_contained(usersIn(block, load), &op);
      });
      auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op);
      if (!group.empty() && (usesGroup || !(load || onlyReads(&op)))) {
        lowerGroup(group, &op);
        group.clear();
      }
      if (load)
        group.push_back(load);
    }
    // Not before: the walk still stands on them.
    for (Operation *op : dead)
      op->dropAllReferences();
    for (Operation *op : dead)
      op->erase();
    dead.clear();
  }

  /// Whether a buffer made from the loaded tile can be the one that TMA fills.
  static bool isFilledByTma(ir::DescriptorLoadOp load, Operation *user) {
    auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user);
    return alloc && alloc.getType() == ir::tmaBuffer(load.getType()) &&
           llvm::none_of(alloc->getUsers(), llvm::IsaPred<ir::SharedStoreOp>);
  }

  /// The ops of a block that need the tile, or the buffer made from it.
  static llvm::SmallPtrSet<Operation *, 4> usersIn(Block &block, ir::DescriptorLoadOp load) {
    llvm::SmallPtrSet<Operation *, 4> users;
    llvm::SmallVector<Operation *> open(load->getUsers());
    while (!open.empty()) {
      Operation *user = open.pop_back_val();
      if (isFilledByTma(load, user) || llvm::isa<ir::BufferPermuteOp>(user))
        llvm::append_range(open, user->getUsers());
      else
        users.insert(block.findAncestorOpInBlock(*user));
    }
    return users;
  }

  /// The first op after the group that needs one of its tiles; `end` where another
  /// group comes before, since all share a barrier.
  Operation *firstUseOf(llvm::ArrayRef<ir::DescriptorLoadOp> group, Operation *end) {
    llvm::SmallPtrSet<Operation *, 8> users;
    for (ir::DescriptorLoadOp load : group)
      for (Operation *user : usersIn(*end->getBlock(), load))
        users.insert(user);
    for (Operation *op = end; op; op = op->getNextNode()) {
      // Groups of nested blocks have been lowered before this one.
      auto usesBarrier = [&](Operation *nested) {
        bool does = llvm::isa<ir::DescriptorLoadOp>(nested) ||
                    llvm::is_contained(nested->getOperands(), barrier);
        return does ? WalkResult::interrupt() : WalkResult::advance();
      };
      bool loads = op->walk(usesBarrier).wasInterrupted();
      if (users.contains(op))
        return op;
      if (loads)
        break;
    }
    return end;
  }

  /// Starts the copies at the last load, waits and reads before the first use, which
  /// is `end` or follows it.
  void lowerGroup(llvm::MutableArrayRef<ir::DescriptorLoadOp> group, Operation *end) {
    makeBarrier();
    Operation *firstUse = firstUseOf(group, end);
    OpBuilder builder(group.back());
    Location loc = group.back().getLoc();
    bool needsGlobal = false;
    int64_t bytes = 0;
    llvm::SmallVector<Value> buffers;
    for (ir::DescriptorLoadOp load : group) {
      ir::BufferType type = ir::tmaBuffer(load.getType());
      buffers.push_back(builder.create<ir::AllocSharedOp>(load.getLoc(), type, Value()));
      bytes += type.slotBytes();
      needsGlobal |= order.mayReadWritten(load.getDescriptor());
    }
    Value phase = builder.create<ir::MbarrierPhaseOp>(loc, barrier, zero);
    builder.create<ir::FenceAsyncOp>(loc, needsGlobal);
    builder.create<ir::BarrierOp>(loc, /*allBlocks=*/hasBlocks && needsGlobal);
    builder.create<ir::MbarrierExpectOp>(loc, barrier, zero, static_cast<uint32_t>(bytes));
    for (auto [load, buffer] : llvm::zip(group, buffers))
      builder.create<ir::TmaLoadOp>(load.getLoc(), load.getDescriptor(), load.getCoordinates(),
                                    buffer, barrier, zero, load.getEviction());
    builder.setInsertionPoint(firstUse);
    builder.create<ir::MbarrierWaitOp>(loc, barrier, zero, phase);
    for (auto [load, buffer] : llvm::zip(group, buffers))
      readBuffer(load, buffer, builder);
    numLoads += group.size();
    ++numGroups;
  }

  /// Replaces the loaded tile, and its conversions, by reads of `buffer`.
  void readBuffer(ir::DescriptorLoadOp load, Value buffer, OpBuilder &builder) {
    llvm::DenseMap<Type, Value> reads;
    auto read = [&](Type type) {
      Value &tile = reads[type];
      if (!tile)
        tile = builder.create<ir::SharedLoadOp>(load.getLoc(), type, buffer);
      return tile;
    };
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      if (auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(user)) {
        Value tile = read(convert.getType());
        convert.getResult().replaceAllUsesWith(tile);
        dead.push_back(convert);
      } else if (isFilledByTma(load, user)) {
        user->getResult(0).replaceAllUsesWith(buffer);
        dead.push_back(user);
      }
    bool isRead = llvm::any_of(load->getUsers(),
                               [&](Operation *user) { return !llvm::is_contained(dead, user); });
    if (isRead)
      load.getResult().replaceAllUsesWith(read(load.getType()));
    dead.push_back(load);
  }

  //===--- stores --------------------------------------------------------===//

  void lowerStores(Block &block) {
    llvm::SmallVector<Value> pending;
    int64_t pendingBytes = 0;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op);
      if (!store)
        continue;
      ir::BufferType type = ir::tmaBuffer(tileType(store.getValue()));
      auto loop = outermostOverlappingLoop(store);
      if (loop && !order.mayAccessStored(store.getDescriptor())) {
        storeInLoop(store, type, loop);
        ++numStores;
        continue;
      }
      if (!pending.empty() && pendingBytes + type.slotBytes() > maxPendingStoreBytes) {
        waitForStores(pending, &op);
        pendingBytes = 0;
      }
      bool isOrdered = order.mayAccessStored(store.getDescriptor());
      Operation *next = store->getNextNode();
      Value buffer = startStore(store, type);
      ++numStores;
      if (isOrdered) {
        completeStore(buffer, next);
        continue;
      }
      pending.push_back(buffer);
      pendingBytes += type.slotBytes();
    }
    if (!pending.empty())
      waitForStores(pending, block.getTerminator());
  }

  /// The outermost loop such that what its rounds and those of the loops inside it start may
  /// go on in the next one; null for none.
  static Operation *outermostOverlappingLoop(Operation *op) {
    Operation *loop = nullptr;
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
      if (!llvm::isa<scf::ForOp>(parent))
        continue;
      if (ir::stagesOf(parent) < 2)
        break;
      loop = parent;
    }
    return loop;
  }

  /// The tile to be stored, without a last conversion, which would go through
  /// shared memory, too.
  static Value storedTile(ir::DescriptorStoreOp store) {
    auto convert = store.getValue().getDefiningOp<ir::ConvertLayoutOp>();
    return convert ? Value(convert.getSource()) : Value(store.getValue());
  }

  static void eraseStore(ir::DescriptorStoreOp store) {
    auto convert = store.getValue().getDefiningOp<ir::ConvertLayoutOp>();
    store.erase();
    if (convert && convert->use_empty())
      convert.erase();
  }

  /// Waits until the store before has read the buffer; this one goes on during the
  /// next iterations.
  void storeInLoop(ir::DescriptorStoreOp store, ir::BufferType type, Operation *loop) {
    Location loc = store.getLoc();
    Value &buffer = loopBuffers[loop][type];
    if (!buffer)
      buffer = OpBuilder(loop).create<ir::AllocSharedOp>(loc, type, Value());
    OpBuilder builder(store);
    builder.create<ir::TmaStoreWaitOp>(loc, /*pending=*/0, /*complete=*/false, buffer);
    builder.create<ir::BarrierOp>(loc);
    builder.create<ir::SharedStoreOp>(loc, storedTile(store), buffer);
    builder.create<ir::FenceAsyncOp>(loc, /*global=*/false);
    builder.create<ir::BarrierOp>(loc);
    builder.create<ir::TmaStoreOp>(loc, store.getDescriptor(), store.getCoordinates(), buffer,
                                   store.getReductionAttr());
    eraseStore(store);
  }

  Value startStore(ir::DescriptorStoreOp store, ir::BufferType type) {
    OpBuilder builder(store);
    Location loc = store.getLoc();
    Value buffer = builder.create<ir::AllocSharedOp>(loc, type, storedTile(store));
    bool isOrdered = order.mayAccessStored(store.getDescriptor());
    builder.create<ir::FenceAsyncOp>(loc, /*global=*/isOrdered);
    builder.create<ir::BarrierOp>(loc, /*allBlocks=*/hasBlocks && isOrdered);
    builder.create<ir::TmaStoreOp>(loc, store.getDescriptor(), store.getCoordinates(), buffer,
                                   store.getReductionAttr());
    eraseStore(store);
    return buffer;
  }

  static void waitForStores(llvm::SmallVectorImpl<Value> &buffers, Operation *before) {
    OpBuilder builder(before);
    Location loc = buffers.back().getLoc();
    builder.create<ir::TmaStoreWaitOp>(loc, /*pending=*/0, /*complete=*/false, buffers);
    // At the end of the kernel no thread writes the buffers any more. After a loop with a
    // ring there is a barrier already.
    if (!llvm::isa<func::ReturnOp, ir::BarrierOp>(before))
      builder.create<ir::BarrierOp>(loc);
    buffers.clear();
  }

  /// Makes a store visible to all that any thread does afterwards.
  void completeStore(Value buffer, Operation *before) {
    OpBuilder builder(before);
    Location loc = buffer.getLoc();
    builder.create<ir::TmaStoreWaitOp>(loc, /*pending=*/0, /*complete=*/true, buffer);
    builder.create<ir::FenceAsyncOp>(loc, /*global=*/true);
    builder.create<ir::BarrierOp>(loc, /*allBlocks=*/hasBlocks);
  }
};

class LowerDescriptorsPass : public impl::LowerDescriptorsBase<LowerDescriptorsPass> {
public:
  explicit LowerDescriptorsPass(PassContext context) : context(std::move(context)) {}
  LowerDescriptorsPass(const LowerDescriptorsPass &other) = default;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      DescriptorLowering lowering(function);
      lowering.run();
      numLoads += lowering.numLoads;
      numStores += lowering.numStores;
      if (lowering.numLoads || lowering.numStores)
        context.remark(function, {"tma",
                                  true,
                                  {},
                                  {{"loads", lowering.numLoads},
                                   {"waits", lowering.numGroups},
                                   {"stores", lowering.numStores}},
                                  "copies outside of pipelined loops"});
    }
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createLowerDescriptors(PassContext context) {
  return std::make_unique<LowerDescriptorsPass>(std::move(context));
}

} // namespace tilewright::passes
