//===- PipelineLoops.cpp - Loads of later iterations during earlier ones --===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in loops that load operands of products into shared memory the loads
// become asynchronous copies into rings, started num_stages - 1 iterations
// before they are used, and the products stay in flight across the back edge.
//
// Why here: layouts and buffers are final; AllocateShared then sees the rings.
//
// How:
//  1. find: loads whose tile is stored to shared memory, with addresses that do
//     not depend on what the loop computes.
//  2. rewrite the body: copy and counters of the ring where the load was; waits,
//     one barrier and the ring's slot where the tile is used.
//  3. schedule: a list of (op, stage) in the order of the new body, and nothing
//     else; LoopPipelining of MLIR expands it into prologue, loop and epilogue.
//
// One body of the new loop, for distance d = num_stages - 1 and iteration k:
//
//     wait for the copies of k            (cp.async: all but d - 1 groups;
//                                          TMA: the mbarrier of the slot)
//     wait for all products but that of k - 1
//     barrier                             (copies of all threads are visible, and
//                                          nobody reads the slot of k - 2)
//     start the product of k
//     start the copies of k + d           into the slot of k - 2
//
// So a ring has d + 2 slots. Where memory is short it has d + 1: the copies then
// go to the slot of k - 1, behind a wait for that product and a second barrier.
// Products by mma read registers, so that the slot of k - 1 is free at the
// barrier: d + 1 slots.
//
// Chained products, as in attention, where the loop computes one product (S), then
// arithmetic (softmax), then a second product of its result (O += P V): with one
// iteration between the two the arithmetic of k + 1 runs while the tensor cores
// work on the second product of k:
//
//     wait for copies; barrier, unless TMA copies for several warpgroups
//     start S of k + 1
//     scale the accumulator of k          (what depends on the second product)
//     start P V of k
//     start copies
//     wait for S; softmax of k + 1
//     wait for P V
//
// Several warpgroups had better not do the same at the same time: one's softmax
// belongs beside the other's products. So they do not meet at a barrier; each warp
// arrives at an mbarrier of the slot when it has read it, and whoever fills the slot
// again waits for all of them.
//
// The loop then stops one iteration early; what is left of the last one follows it.
//
// Barriers and fences of rings are placed here; InsertBarriers leaves rings alone.
//
// Not handled: loads whose address comes from another load of the same loop's
// pipelined ones; loops that store where they load from.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"
#include "passes/transform/Passes.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/transform/Passes.h.inc"

namespace {

constexpr int defaultStages = 3;
/// cp.async copies 4, 8 or 16 bytes.
constexpr int minCopyBytes = 4;
/// Warps that work on one wgmma.
constexpr int warpgroupWarps = 4;
/// Room for the barriers of all rings, which count little beside the tiles.
constexpr int64_t maxMbarrierBytes = 512;

/// A load that becomes a copy.
struct AsyncLoad {
  Operation *load = nullptr;
  llvm::SmallVector<ir::AllocSharedOp, 1> allocs;
  ir::BufferType type;
  Value ring;
  /// Used by what runs an iteration behind (chained products).
  bool isLate = false;

  bool isTma() const { return llvm::isa<ir::DescriptorLoadOp>(load); }
};

/// The loads whose tiles are used at one stage, and the counters of their rings:
/// slot to fill, slot to use, phase of the latter's barrier.
struct RingGroup {
  bool isLate = false;
  bool hasTma = false, hasCpAsync = false;
  Value fillSlot, useSlot, usePhase, mbarrier;
  /// Where readers release slots: what they arrive at, and the phase to wait for
  /// before a slot is filled.
  Value released, fillPhase;
  /// What starts the copies, in order.
  llvm::SmallVector<Operation *> copies;
};

/// On ops of a body that is expanded: their stage (i32), and the variables of the
/// loop that their results become (array of i32). Clones keep both.
constexpr llvm::StringLiteral stageAttr = "tw.stage";
constexpr llvm::StringLiteral definesAttr = "tw.defines";

/// Ops of the body that `roots` are computed from, and the loop's variables among
/// them; the slice does not follow the variables round the loop.
struct Slice {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<BlockArgument> variables;

  void add(scf::ForOp loop, Value value) {
    if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
        variables.insert(argument);
      return;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody() || ops.contains(op))
      return;
    for (Value operand : op->getOperands())
      add(loop, operand);
    // What the regions of a branch read.
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      add(loop, value);
    // Behind its operands.
    ops.insert(op);
  }
};

class LoopPipeliner {
public:
  LoopPipeliner(scf::ForOp loop, const PassContext &context, int64_t otherSharedBytes)
      : loop(loop), context(context), otherSharedBytes(otherSharedBytes), rewriter(loop) {}

  /// Whether the loop was pipelined.
  bool run() {
    if (!decideDistance())
      return false;
    findChain();
    if (!collectLoads())
      return false;
    chooseSlots();
    makeRings();
    rewriteBody();
    return expand();
  }

private:
  scf::ForOp loop;
  const PassContext &context;
  int64_t otherSharedBytes;
  IRRewriter rewriter;

  llvm::SmallVector<AsyncLoad> loads;
  llvm::SmallVector<RingGroup, 2> groups;
  /// Iterations between a copy and its use, slots of each ring.
  int distance = 0, slots = 0;
  int numWarps = 0;
  bool hasWgmma = false, hasTma = false, hasCpAsync = false;
  bool needsSecondBarrier = false;
  /// Warps say at an mbarrier that they are done with a slot, instead of meeting.
  bool releasesSlots = false;
  Value isFirstWarp;
  /// Chained products: the first and the second one, and all that depends on the
  /// second one's accumulator. Null and empty for other loops.
  ir::WgmmaOp firstProduct, secondProduct;
  llvm::DenseSet<Operation *> late;

  /// What begins the new body, in order.
  llvm::SmallVector<Operation *> top;
  /// In front of the copies where the ring is short of a slot.
  llvm::SmallVector<Operation *> releases;
  /// Addresses and counters: stage of the copies they belong to.
  llvm::DenseMap<Operation *, unsigned> copyStages;

  bool isChained() const { return secondProduct != nullptr; }

  bool refuse(llvm::StringRef reason) {
    context.remark(loop, {"pipeline", false, {}, {}, reason.str()});
    return false;
  }

  //===--- 1. find -------------------------------------------------------===//
  static std::optional<int64_t> tripCount(scf::ForOp loop) {
    IntegerAttr lower, upper, step;
    if (!matchPattern(loop.getLowerBound(), m_Constant(&lower)) ||
        !matchPattern(loop.getUpperBound(), m_Constant(&upper)) ||
        !matchPattern(loop.getStep(), m_Constant(&step)) || step.getInt() <= 0)
      return std::nullopt;
    return std::max<int64_t>(0,
                             (upper.getInt() - lower.getInt() + step.getInt() - 1) / step.getInt());
  }

  bool decideDistance() {
    int stages = defaultStages;
    if (auto attr =
            loop->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(ir::numStagesAttr))
      stages = static_cast<int>(attr.getInt());
    if (auto attr = loop->getAttrOfType<IntegerAttr>(ir::loopStagesAttr))
      stages = static_cast<int>(attr.getInt());
    distance = stages - 1;
    if (std::optional<int64_t> trips = tripCount(loop))
      distance = static_cast<int>(std::min<int64_t>(distance, *trips - 1));
    return distance >= 1;
  }

  /// Ops of the body that need a value of `roots` of the same iteration.
  llvm::SetVector<Operation *> usersOf(llvm::ArrayRef<Value> roots) {
    llvm::SetVector<Operation *> users;
    auto add = [&](Value value) {
      for (Operation *user : value.getUsers())
        if (Operation *op = loop.getBody()->findAncestorOpInBlock(*user))
          if (!op->hasTrait<OpTrait::IsTerminator>())
            users.insert(op);
    };
    for (Value root : roots)
      add(root);
    for (size_t next = 0; next < users.size(); ++next)
      for (Value result : users[next]->getResults())
        add(result);
    return users;
  }

  /// Besides ops without effects: loads, which `predicated` masks, and what uses
  /// shared memory only.
  static bool canRunForNothing(Operation *op) {
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op))
      return !load.getIsVolatile();
    return llvm::isa<ir::DescriptorLoadOp, ir::AllocSharedOp, ir::SharedLoadOp, ir::SharedDotOp,
                     ir::WgmmaOp>(op);
  }

  /// Two products of which the second reads in registers what becomes of the
  /// first, and adds to a variable of the loop.
  void findChain() {
    llvm::SmallVector<ir::WgmmaOp> products(loop.getBody()->getOps<ir::WgmmaOp>());
    if (products.size() != 2 || !isTile(products[1].getA()))
      return;
    // Of an iteration that there is not, the first part runs all the same.
    for (Operation &op : loop.getBody()->without_terminator())
      if (!isMemoryEffectFree(&op) && !canRunForNothing(&op))
        return;
    ir::WgmmaOp first = products[0], second = products[1];
    Slice accumulator;
    accumulator.add(loop, second.getAcc());
    if (!usersOf({first.getResult()}).contains(second.getA().getDefiningOp()) ||
        !second.getResult().hasOneUse())
      return;
    OpOperand &use = *second.getResult().use_begin();
    if (use.getOwner() != loop.getBody()->getTerminator())
      return;
    BlockArgument variable = loop.getRegionIterArg(use.getOperandNumber());
    llvm::SetVector<Operation *> behind = usersOf({variable, second.getResult()});
    behind.insert(second);
    // The first product, and what it comes to, must not need the second one's sum.
    if (!accumulator.variables.contains(variable) || behind.contains(first) ||
        behind.contains(second.getA().getDefiningOp()))
      return;
    for (Operation *op : behind)
      if (op != second && (!isMemoryEffectFree(op) || op->getNumRegions() != 0))
        return;
    firstProduct = first;
    secondProduct = second;
    late.insert(behind.begin(), behind.end());
  }

  bool collectLoads() {
    for (Operation &op : *loop.getBody())
      if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
        considerLoad(&op);
    for (Operation &op : *loop.getBody())
      hasWgmma |= llvm::isa<ir::WgmmaOp>(op);
    unchainSharedTiles();
    return !loads.empty();
  }

  void considerLoad(Operation *op) {
    AsyncLoad load;
    load.load = op;
    for (Operation *user : op->getUsers())
      if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user))
        load.allocs.push_back(alloc);
    if (load.allocs.empty())
      return;
    load.type = load.allocs.front().getType();
    for (ir::AllocSharedOp alloc : load.allocs)
      if (alloc.getType() != load.type || alloc->getBlock() != loop.getBody())
        return refuseLoad(op, "it is stored to shared memory in several layouts");
    if (size_t(std::distance(op->user_begin(), op->user_end())) != load.allocs.size())
      return refuseLoad(op, "its tile is also used in registers");
    if (load.isTma() ? !canUseTma(load) : !canUseCpAsync(load))
      return;
    if (!addressIsEarly(load) || mayMeetStore(load))
      return;
    load.isLate = isChained() &&
                  llvm::all_of(readersOf(load), [&](Operation *op) { return late.contains(op); });
    hasTma |= load.isTma();
    hasCpAsync |= !load.isTma();
    loads.push_back(load);
  }

  /// Ops of the body that read the tile, themselves or through a view.
  llvm::SetVector<Operation *> readersOf(const AsyncLoad &load) {
    llvm::SetVector<Operation *> readers;
    llvm::SmallVector<Value> views;
    for (ir::AllocSharedOp alloc : load.allocs)
      views.push_back(alloc);
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers())
        if (auto view = llvm::dyn_cast<ir::BufferPermuteOp>(user))
          views.push_back(view);
        else
          readers.insert(loop.getBody()->findAncestorOpInBlock(*user));
    return readers;
  }

  /// A tile that both products read would be overwritten between the two.
  void unchainSharedTiles() {
    for (const AsyncLoad &load : loads)
      if (!load.isLate &&
          llvm::any_of(readersOf(load), [&](Operation *op) { return late.contains(op); })) {
        firstProduct = secondProduct = nullptr;
        late.clear();
        for (AsyncLoad &other : loads)
          other.isLate = false;
        return;
      }
  }

  void refuseLoad(Operation *op, llvm::StringRef reason) {
    context.remark(op, {"async-load", false, {}, {}, reason.str()});
  }

  bool canUseTma(const AsyncLoad &load) {
    llvm::ArrayRef<int64_t> shape = load.type.getShape();
    LinearLayout written = makeSwizzledShared(
        ir::log2Shape(shape), ir::elementBits(load.type.getElementType()), /*swizzleBytes=*/128);
    if (context.target.hasTma && load.type.toLinear() == written)
      return true;
    refuseLoad(load.load, "the product does not take the bytes in the order of memory");
    return false;
  }

  bool canUseCpAsync(const AsyncLoad &load) {
    auto op = llvm::cast<ir::LoadOp>(load.load);
    int elements = 1;
    if (auto attr = op->getAttrOfType<IntegerAttr>(ir::vectorElementsAttr))
      elements = static_cast<int>(attr.getInt());
    int bytes = elements * ir::elementBits(load.type.getElementType()) / 8;
    bool isZero = !op.getOther() || matchPattern(op.getOther(), m_PosZeroFloat()) ||
                  matchPattern(op.getOther(), m_Zero());
    if (!context.target.hasCpAsync)
      refuseLoad(op, "the target has no cp.async");
    else if (bytes < minCopyBytes)
      refuseLoad(op, "accesses of " + std::to_string(bytes) + " bytes; cp.async needs 4");
    else if (op.getIsVolatile())
      refuseLoad(op, "it is volatile");
    else if (!isZero)
      refuseLoad(op, "`other` is not zero");
    else
      return true;
    return false;
  }

  /// Whether the address can be computed iterations ahead: from the loop's
  /// counter and variables that only such arithmetic changes.
  bool addressIsEarly(const AsyncLoad &load) {
    Slice slice;
    for (Value operand : load.load->getOperands())
      slice.add(loop, operand);
    // Follow the variables round the loop.
    for (size_t next = 0; next < slice.variables.size(); ++next)
      slice.add(loop, yieldedFor(slice.variables[next]));
    for (Operation *op : slice.ops)
      if (!isMemoryEffectFree(op) || llvm::isa<LoopLikeOpInterface>(op)) {
        refuseLoad(load.load, "its address depends on what the loop computes");
        return false;
      }
    return true;
  }

  Value yieldedFor(BlockArgument variable) {
    return loop.getBody()->getTerminator()->getOperand(variable.getArgNumber() - 1);
  }

  /// Pointer or descriptor; null where `op` is no access of global memory.
  static Value addressOf(Operation *op) {
    if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
      return load.getDescriptor();
    if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
      return store.getDescriptor();
    return accessPointer(op);
  }

  bool mayMeetStore(const AsyncLoad &load) {
    AliasInfo aliases;
    bool meets = false;
    loop->walk([&](Operation *op) {
      if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
        return;
      if (Value address = addressOf(op))
        meets |= aliases.bases(address).mayAlias(aliases.bases(addressOf(load.load)));
    });
    if (meets)
      refuseLoad(load.load, "the loop may store to what it loads");
    return meets;
  }

  //===--- 2. rewrite ----------------------------------------------------===//
  void chooseSlots() {
    int64_t bytes = otherSharedBytes;
    int64_t perSlot = 0;
    for (const AsyncLoad &load : loads)
      perSlot += load.type.slotStride();
    slots = distance + 1;
    numWarps = ir::numWarps(loop->getParentOfType<ModuleOp>());
    releasesSlots = isChained() && !hasCpAsync && numWarps > warpgroupWarps;
    // Chained products are waited for within an iteration.
    if (!hasWgmma || (isChained() && !releasesSlots))
      return;
    // A slot more saves a barrier, or the wait for warpgroups that are behind, unless
    // it costs a resident block.
    int64_t limit = context.target.maxSharedBytesPerBlock - maxMbarrierBytes;
    int64_t few = bytes + perSlot * slots, many = few + perSlot;
    bool fits = many <= limit && limit / many == limit / few;
    slots += fits;
    needsSecondBarrier = !fits && !isChained();
  }

  void makeRings() {
    rewriter.setInsertionPoint(loop);
    for (AsyncLoad &load : loads)
      load.ring = rewriter.create<ir::AllocSharedOp>(load.load->getLoc(),
                                                     load.type.withSlots(slots), Value());
    for (bool isLate : {false, true}) {
      RingGroup group;
      group.isLate = isLate;
      for (const AsyncLoad &load : loads) {
        group.hasTma |= load.isLate == isLate && load.isTma();
        group.hasCpAsync |= load.isLate == isLate && !load.isTma();
      }
      if (!group.hasTma && !group.hasCpAsync)
        continue;
      if (group.hasTma)
        group.mbarrier = rewriter.create<ir::MbarrierAllocOp>(
            loop.getLoc(), ir::MbarrierType::get(loop.getContext(), slots), /*arrivals=*/1);
      if (releasesSlots)
        group.released = rewriter.create<ir::MbarrierAllocOp>(
            loop.getLoc(), ir::MbarrierType::get(loop.getContext(), slots), numWarps);
      groups.push_back(group);
    }
    if (hasTma)
      isFirstWarp = rewriter.create<ir::IsFirstWarpOp>(loop.getLoc(), rewriter.getI1Type());
    // The barriers are initialised, and whoever used these bytes before is done.
    rewriter.create<ir::BarrierOp>(loop.getLoc());
    addCounters();
  }

  RingGroup &groupOf(const AsyncLoad &load) {
    return groups.size() == 1 || load.isLate == groups[0].isLate ? groups[0] : groups[1];
  }
  unsigned useStage(bool isLate) const { return distance + (isChained() && isLate ? 1 : 0); }
  unsigned copyStage(const RingGroup &group) const { return useStage(group.isLate) - distance; }

  Value constantI32(int value) {
    return rewriter.create<arith::ConstantIntOp>(loop.getLoc(), value, 32);
  }

  void addCounters() {
    Value zero = constantI32(0);
    // The phase before the first counts as complete: slots start out free.
    Value one = releasesSlots ? constantI32(1) : Value();
    llvm::SmallVector<Value> inits;
    for (const RingGroup &group : groups) {
      inits.append(group.hasTma ? 3 : 2, zero);
      if (releasesSlots)
        inits.push_back(one);
    }
    auto newLoop = llvm::cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location loc, llvm::ArrayRef<BlockArgument> arguments) {
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.restoreInsertionPoint(builder.saveInsertionPoint());
          llvm::SmallVector<Value> next;
          for (RingGroup &group : groups)
            addCounters(group, arguments, next);
          return next;
        }));
    loop = newLoop;
  }

  /// Takes the group's variables from the front of `arguments` and adds what they
  /// become.
  void addCounters(RingGroup &group, llvm::ArrayRef<BlockArgument> &arguments,
                   llvm::SmallVector<Value> &next) {
    Value fillWraps, useWraps;
    auto take = [&] {
      Value argument = arguments.front();
      arguments = arguments.drop_front();
      return argument;
    };
    group.fillSlot = take();
    group.useSlot = take();
    next.push_back(advance(group.fillSlot, copyStage(group), fillWraps));
    next.push_back(advance(group.useSlot, useStage(group.isLate), useWraps));
    if (group.hasTma) {
      group.usePhase = take();
      next.push_back(flipIf(useWraps, group.usePhase, useStage(group.isLate)));
    }
    if (releasesSlots) {
      group.fillPhase = take();
      next.push_back(flipIf(fillWraps, group.fillPhase, copyStage(group)));
    }
  }

  Value flipIf(Value wraps, Value phase, unsigned stage) {
    Location loc = loop.getLoc();
    Value one = staged(rewriter.create<arith::ConstantIntOp>(loc, 1, 32), stage);
    Value flipped = staged(rewriter.create<arith::XOrIOp>(loc, phase, one), stage);
    return staged(rewriter.create<arith::SelectOp>(loc, wraps, flipped, phase), stage);
  }

  template <typename Op> Op staged(Op op, unsigned stage) {
    copyStages[op] = stage;
    return op;
  }

  /// The slot after `slot`; `wraps` becomes whether it is the first one again.
  Value advance(Value slot, unsigned stage, Value &wraps) {
    Location loc = loop.getLoc();
    auto constant = [&](int value) {
      return staged(rewriter.create<arith::ConstantIntOp>(loc, value, 32), stage);
    };
    Value one = constant(1), count = constant(slots), zero = constant(0);
    Value next = staged(rewriter.create<arith::AddIOp>(loc, slot, one), stage);
    wraps =
        staged(rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, count), stage);
    return staged(rewriter.create<arith::SelectOp>(loc, wraps, zero, next), stage);
  }

  template <typename Op, typename... Args> Op atTop(unsigned stage, Args &&...args) {
    auto op = staged(rewriter.create<Op>(loop.getLoc(), std::forward<Args>(args)...), stage);
    top.push_back(op);
    return op;
  }

  void rewriteBody() {
    rewriter.setInsertionPointToStart(loop.getBody());
    unsigned stage = useStage(/*isLate=*/false);
    int commits = llvm::count_if(groups, [](const RingGroup &group) { return group.hasCpAsync; });
    if (hasCpAsync)
      atTop<ir::AsyncWaitOp>(stage, commits * (distance - 1));
    for (RingGroup &group : groups)
      if (group.hasTma)
        atTop<ir::MbarrierWaitOp>(useStage(group.isLate), group.mbarrier, group.useSlot,
                                  group.usePhase);
    if (isChained())
      makeChainAsync();
    else
      makeProductsAsync();
    // cp.async writes like a thread; wgmma reads like TMA.
    if (hasCpAsync && hasWgmma)
      atTop<ir::FenceAsyncOp>(stage);
    // What TMA brings is visible behind its mbarrier; slots are freed elsewhere then.
    if (!releasesSlots && (hasCpAsync || !needsSecondBarrier))
      atTop<ir::BarrierOp>(stage);
    for (AsyncLoad &load : loads) {
      RingGroup &group = groupOf(load);
      Value slot =
          atTop<ir::BufferSlotOp>(useStage(group.isLate), load.type, load.ring, group.useSlot);
      for (ir::AllocSharedOp alloc : load.allocs) {
        // Views of the tile belong to whoever uses it.
        for (Operation *user : alloc->getUsers())
          if (llvm::isa<ir::BufferPermuteOp>(user))
            copyStages[user] = useStage(group.isLate);
        rewriter.replaceOp(alloc, slot);
      }
    }
    makeCopies();
    stageCarriedAddresses();
    endRings();
  }

  /// The first product is waited for where its result is used, with the second one
  /// behind it; the second one at the end of the body. Its left side stays in its
  /// registers until then: assemblers before 13.3 may reuse them too early
  /// otherwise.
  void makeChainAsync() {
    OpBuilder::InsertionGuard guard(rewriter);
    for (ir::WgmmaOp product : {firstProduct, secondProduct}) {
      product.setIsAsync(true);
      bool isFirst = product == firstProduct;
      llvm::SmallVector<Value> tiles = {product.getResult()};
      if (isTile(product.getA()))
        tiles.push_back(product.getA());
      rewriter.setInsertionPointAfter(isFirst ? product.getOperation()
                                              : loop.getBody()->getTerminator()->getPrevNode());
      auto wait = rewriter.create<ir::WgmmaWaitOp>(product.getLoc(), TypeRange(ValueRange(tiles)),
                                                   tiles, /*pending=*/isFirst ? 1 : 0);
      rewriter.replaceUsesWithIf(product.getResult(), wait.getResult(0), [&](OpOperand &use) {
        return use.getOwner() != wait && !llvm::isa<ir::WgmmaOp>(use.getOwner());
      });
      if (!isFirst)
        late.insert(wait);
      if (releasesSlots)
        release(/*isLate=*/!isFirst);
    }
  }

  /// Warps are done with the slot of a group: of the tiles of the first product
  /// behind the wait for it, unless somebody else reads them too, else at the end.
  void release(bool isLate) {
    for (RingGroup &group : groups) {
      if (group.isLate != isLate)
        continue;
      auto isReadByOthers = [&](const AsyncLoad &load) {
        llvm::SetVector<Operation *> readers = readersOf(load);
        return !load.isLate && (readers.size() != 1 || readers.front() != firstProduct);
      };
      if (!isLate && llvm::any_of(loads, isReadByOthers))
        rewriter.setInsertionPoint(loop.getBody()->getTerminator());
      auto arrive =
          rewriter.create<ir::MbarrierArriveOp>(loop.getLoc(), group.released, group.useSlot);
      if (isLate)
        late.insert(arrive);
    }
  }

  /// A product whose result only goes round the loop as its own accumulator need
  /// not be waited for; branches that read it (of a flattened loop, at the end of a
  /// tile) wait themselves.
  void makeProductsAsync() {
    int numAsync = 0;
    for (auto product : llvm::make_early_inc_range(loop.getBody()->getOps<ir::WgmmaOp>())) {
      OpOperand *yielded = onlyCarried(product);
      if (!yielded)
        continue;
      product.setIsAsync(true);
      ++numAsync;
      OpBuilder::InsertionGuard guard(rewriter);
      llvm::SetVector<Block *> readers;
      for (Operation *user : product.getResult().getUsers())
        if (user->getBlock() != loop.getBody())
          readers.insert(blockOfBranch(user));
      for (Block *block : readers) {
        rewriter.setInsertionPointToStart(block);
        waitFor(product.getResult(), [&](OpOperand &use) {
          return use.getOwner()->getBlock() != loop.getBody() &&
                 blockOfBranch(use.getOwner()) == block;
        });
      }
      rewriter.setInsertionPointAfter(loop);
      waitFor(loop.getResult(yielded->getOperandNumber()), [](OpOperand &) { return true; });
    }
    // Nothing in flight: slots are free at the next barrier.
    if (numAsync == 0)
      needsSecondBarrier = false;
    else if (!needsSecondBarrier)
      atTop<ir::WgmmaWaitOp>(useStage(false), TypeRange{}, ValueRange{}, /*pending=*/numAsync);
  }

  /// The block of a branch of the body that contains `op`.
  Block *blockOfBranch(Operation *op) {
    while (op->getParentOp()->getBlock() != loop.getBody())
      op = op->getParentOp();
    return op->getBlock();
  }

  /// Waits for all products at the insertion point; uses of `tile` that `accepts`
  /// takes read what comes of it.
  void waitFor(Value tile, llvm::function_ref<bool(OpOperand &)> accepts) {
    auto wait = rewriter.create<ir::WgmmaWaitOp>(tile.getLoc(), TypeRange{tile.getType()},
                                                 ValueRange{tile}, /*pending=*/0);
    rewriter.replaceUsesWithIf(tile, wait.getResult(0), [&](OpOperand &use) {
      return use.getOwner() != wait && accepts(use);
    });
  }

  /// Whether the next iteration leaves a product's operand alone: it becomes a slot of
  /// a ring, or stays the same. What the body stores itself is overwritten.
  bool outlivesIteration(Value buffer) {
    while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
      buffer = view.getSource();
    return loop.isDefinedOutsideOfLoop(buffer) || llvm::any_of(loads, [&](const AsyncLoad &load) {
             return llvm::is_contained(load.allocs, buffer.getDefiningOp());
           });
  }

  /// The yield's operand, if the result and the accumulator are one variable of
  /// the loop that nothing else in it reads but branches behind the product. Not
  /// with a left side in registers, which would have to be kept round the loop,
  /// nor with packed accumulators, which are unpacked behind each product.
  OpOperand *onlyCarried(ir::WgmmaOp product) {
    if (isTile(product.getA()) ||
        ir::elementBits(tileType(product.getAcc()).getElementType()) != 32 ||
        product.getMaxImprecise() != 0 || !outlivesIteration(product.getA()) ||
        !outlivesIteration(product.getB()))
      return nullptr;
    auto accumulator = llvm::dyn_cast<BlockArgument>(product.getAcc());
    if (!accumulator || accumulator.getOwner() != loop.getBody() || !accumulator.hasOneUse())
      return nullptr;
    OpOperand *yielded = nullptr;
    for (OpOperand &use : product.getResult().getUses()) {
      if (use.getOwner()->getBlock() != loop.getBody())
        continue; // in a branch
      if (yielded || use.getOwner() != loop.getBody()->getTerminator() ||
          use.getOperandNumber() + 1 != accumulator.getArgNumber())
        return nullptr;
      yielded = &use;
    }
    return yielded;
  }

  void endRings() {
    // The rings' bytes may be used by others behind the loop.
    OpBuilder::InsertionGuard guard(rewriter);
    Operation *last = loop;
    while (llvm::isa_and_nonnull<ir::WgmmaWaitOp>(last->getNextNode()))
      last = last->getNextNode();
    rewriter.setInsertionPointAfter(last);
    if (hasCpAsync)
      rewriter.create<ir::AsyncWaitOp>(loop.getLoc(), /*pending=*/0);
    rewriter.create<ir::BarrierOp>(loop.getLoc());
  }

  /// An op that starts copies of `group`, or an address of theirs.
  template <typename Op> Op asCopy(RingGroup &group, Op op) {
    staged(op, copyStage(group));
    group.copies.push_back(op);
    return op;
  }

  void makeCopies() {
    for (RingGroup &group : groups) {
      llvm::SmallVector<AsyncLoad *> own;
      for (AsyncLoad &load : loads)
        if (&groupOf(load) == &group)
          own.push_back(&load);
      rewriter.setInsertionPoint(loop.getBody()->getTerminator());
      // All addresses first: an op may be in several slices. They are copies of the
      // body's, which stay with their other users.
      IRMapping addresses;
      llvm::SetVector<Operation *> cloned;
      for (AsyncLoad *load : own) {
        Slice slice;
        for (Value operand : load->load->getOperands())
          slice.add(loop, operand);
        for (Operation *op : slice.ops)
          if (cloned.insert(op))
            asCopy(group, rewriter.clone(*op, addresses));
      }
      for (AsyncLoad *load : own)
        if (!load->isTma())
          makeCpAsync(group, *load, addresses);
      if (group.hasCpAsync)
        asCopy(group, rewriter.create<ir::AsyncCommitOp>(loop.getLoc()));
      if (group.hasTma)
        makeTma(group, own, addresses);
    }
    if (needsSecondBarrier)
      releases = {rewriter.create<ir::WgmmaWaitOp>(loop.getLoc(), TypeRange{}, ValueRange{},
                                                   /*pending=*/1),
                  rewriter.create<ir::BarrierOp>(loop.getLoc())};
    for (AsyncLoad &load : loads)
      rewriter.eraseOp(load.load);
  }

  void makeCpAsync(RingGroup &group, const AsyncLoad &load, const IRMapping &addresses) {
    auto op = llvm::cast<ir::LoadOp>(load.load);
    Location loc = op.getLoc();
    Value slot =
        asCopy(group, rewriter.create<ir::BufferSlotOp>(loc, load.type, load.ring, group.fillSlot));
    Value mask = op.getMask() ? addresses.lookupOrDefault(op.getMask()) : Value();
    auto copy = asCopy(group, rewriter.create<ir::AsyncCopyOp>(
                                  loc, addresses.lookupOrDefault(op.getPointer()), slot, mask,
                                  /*other=*/Value(), op.getCache(), op.getEviction()));
    for (llvm::StringRef name : {ir::vectorElementsAttr, ir::vectorDimensionAttr})
      if (Attribute attr = op->getAttr(name))
        copy->setAttr(name, attr);
  }

  void makeTma(RingGroup &group, llvm::ArrayRef<AsyncLoad *> own, const IRMapping &addresses) {
    llvm::SmallVector<Value> slotsOf;
    int64_t bytes = 0;
    for (AsyncLoad *load : own)
      if (load->isTma()) {
        slotsOf.push_back(
            asCopy(group, rewriter.create<ir::BufferSlotOp>(load->load->getLoc(), load->type,
                                                            load->ring, group.fillSlot)));
        bytes += load->type.slotBytes();
      }
    auto branch = asCopy(
        group, rewriter.create<scf::IfOp>(loop.getLoc(), isFirstWarp, /*withElseRegion=*/false));
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    if (group.released)
      rewriter.create<ir::MbarrierWaitOp>(loop.getLoc(), group.released, group.fillSlot,
                                          group.fillPhase);
    rewriter.create<ir::MbarrierExpectOp>(loop.getLoc(), group.mbarrier, group.fillSlot, bytes);
    auto slot = slotsOf.begin();
    for (AsyncLoad *load : own)
      if (load->isTma()) {
        auto op = llvm::cast<ir::DescriptorLoadOp>(load->load);
        llvm::SmallVector<Value> coordinates;
        for (Value coordinate : op.getCoordinates())
          coordinates.push_back(addresses.lookupOrDefault(coordinate));
        Value descriptor = addresses.lookupOrDefault(op.getDescriptor());
        rewriter.create<ir::TmaLoadOp>(op.getLoc(), descriptor, coordinates, *slot++,
                                       group.mbarrier, group.fillSlot, op.getEviction());
      }
  }

  /// What changes the variables that addresses are made from happens with the
  /// earliest copies that need it.
  void stageCarriedAddresses() {
    for (RingGroup &group : groups) {
      Slice slice;
      for (Operation *op : group.copies) {
        llvm::SetVector<Value> needed(op->operand_begin(), op->operand_end());
        getUsedValuesDefinedAbove(op->getRegions(), needed);
        for (Value value : needed)
          slice.add(loop, value);
      }
      for (size_t next = 0; next < slice.variables.size(); ++next)
        slice.add(loop, yieldedFor(slice.variables[next]));
      for (Operation *op : slice.ops)
        copyStages.try_emplace(op, copyStage(group));
    }
    // Originals whose copies took over.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
      if (isOpTriviallyDead(&op)) {
        copyStages.erase(&op);
        late.erase(&op);
        for (RingGroup &group : groups)
          llvm::erase(group.copies, &op);
        llvm::erase(top, &op);
        rewriter.eraseOp(&op);
      }
  }

  //===--- 3. schedule and expand ----------------------------------------===//
  using Schedule = std::vector<std::pair<Operation *, unsigned>>;

  unsigned stageOf(Operation *op) const {
    if (auto found = copyStages.find(op); found != copyStages.end())
      return found->second;
    return useStage(late.contains(op));
  }

  /// All ops of the body in the order of the new one.
  std::vector<Operation *> bodyOrder() {
    std::vector<Operation *> order(top.begin(), top.end());
    llvm::SmallPtrSet<Operation *, 16> placed(top.begin(), top.end());
    placed.insert(releases.begin(), releases.end());
    for (const RingGroup &group : groups)
      placed.insert(group.copies.begin(), group.copies.end());
    auto placeCopies = [&] {
      order.insert(order.end(), releases.begin(), releases.end());
      for (const RingGroup &group : groups)
        order.insert(order.end(), group.copies.begin(), group.copies.end());
    };
    // In program order, as far as `accepts`.
    auto place = [&](llvm::function_ref<bool(Operation *)> accepts) {
      for (Operation &op : loop.getBody()->without_terminator())
        if (!placed.contains(&op) && accepts(&op)) {
          placed.insert(&op);
          order.push_back(&op);
        }
    };
    if (isChained()) {
      Slice first;
      first.add(loop, firstProduct.getResult());
      // Before the accumulator is scaled: the tensor cores have nothing else to do.
      place([&](Operation *op) { return first.ops.contains(op); });
      place([&](Operation *op) { return late.contains(op) && op->isBeforeInBlock(secondProduct); });
      place([&](Operation *op) { return op == secondProduct; });
      placeCopies();
      place([&](Operation *op) { return !late.contains(op); });
      place([](Operation *) { return true; });
      return order;
    }
    // Copies wait for nobody; products should start before them.
    if (!hasWgmma) {
      placeCopies();
    } else {
      Operation *first = *loop.getBody()->getOps<ir::WgmmaOp>().begin();
      place([&](Operation *op) {
        return op == first ||
               (op->isBeforeInBlock(first) && stageOf(op) == useStage(/*isLate=*/false));
      });
      placeCopies();
    }
    place([](Operation *) { return true; });
    return order;
  }

  void makeSchedule(Schedule &schedule) {
    Type i32 = rewriter.getI32Type();
    for (Operation *op : bodyOrder()) {
      op->setAttr(stageAttr, IntegerAttr::get(i32, stageOf(op)));
      schedule.emplace_back(op, stageOf(op));
    }
    // Which variables are read behind the loop: all of their versions are needed.
    for (OpOperand &yielded : loop.getBody()->getTerminator()->getOpOperands()) {
      Operation *op = yielded.get().getDefiningOp();
      if (!op || op->getBlock() != loop.getBody() ||
          loop.getResult(yielded.getOperandNumber()).use_empty())
        continue;
      llvm::SmallVector<int32_t> variables;
      if (auto known = op->getAttrOfType<DenseI32ArrayAttr>(definesAttr))
        llvm::append_range(variables, known.asArrayRef());
      variables.push_back(yielded.getOperandNumber());
      variables.push_back(llvm::cast<OpResult>(yielded.get()).getResultNumber());
      op->setAttr(definesAttr, rewriter.getDenseI32ArrayAttr(variables));
    }
  }

  static void maskLoad(RewriterBase &rewriter, ir::LoadOp load, Value predicate) {
    Value mask = predicate;
    if (auto tile = llvm::dyn_cast<RankedTensorType>(load.getType()))
      mask =
          rewriter.create<ir::SplatOp>(load.getLoc(), tile.clone(rewriter.getI1Type()), predicate);
    if (load.getMask())
      mask = rewriter.create<arith::AndIOp>(load.getLoc(), load.getMask(), mask);
    load.getMaskMutable().assign(mask);
  }

  /// Keeps an op from having effects where `predicate` is false.
  static Operation *predicated(RewriterBase &rewriter, Operation *op, Value predicate) {
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() == 0) {
      rewriter.setInsertionPoint(op);
      branch.getConditionMutable().assign(
          rewriter.create<arith::AndIOp>(op->getLoc(), branch.getCondition(), predicate));
      return op;
    }
    rewriter.setInsertionPoint(op);
    if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
      maskLoad(rewriter, load, predicate);
      return op;
    }
    if (!llvm::isa<ir::AsyncCopyOp, ir::MbarrierWaitOp, ir::MbarrierArriveOp>(op))
      return op;
    auto branch = rewriter.create<scf::IfOp>(op->getLoc(), predicate, /*withElseRegion=*/false);
    rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
    return branch;
  }

  bool expand() {
    scf::PipeliningOption options;
    options.getScheduleFn = [&](scf::ForOp, Schedule &schedule) { makeSchedule(schedule); };
    options.peelEpilogue = false;
    options.supportDynamicLoops = true;
    options.predicateFn = predicated;
    options.annotateFn = [&](Operation *op, scf::PipeliningOption::PipelinerPart part, unsigned) {
      if (part == scf::PipeliningOption::PipelinerPart::Prologue)
        notePrologue(op);
    };
    llvm::SmallVector<Value> inits(loop.getInitArgs());
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
    Location loc = loop.getLoc();
    int64_t bytes = 0;
    for (const AsyncLoad &load : loads)
      bytes += load.type.slotStride() * slots;
    ModuleOp module = loop->getParentOfType<ModuleOp>();
    bool modified = false;
    rewriter.setInsertionPoint(loop);
    FailureOr<scf::ForOp> result = scf::pipelineForLoop(rewriter, loop, options, &modified);
    if (failed(result)) {
      module.emitError("[internal] the schedule of a loop could not be expanded").attachNote(loc)
          << "the loop is here";
      return false;
    }
    loop = *result;
    selectVersions(inits, lower, upper, step);
    if (isChained()) {
      peelLate();
      narrowBehindWait();
    } else {
      guardLoop();
    }
    module.walk([](Operation *op) {
      op->removeAttr(stageAttr);
      op->removeAttr(definesAttr);
    });
    context.remark(loop, {"pipeline",
                          true,
                          {},
                          {{"stages", distance + 1},
                           {"slots", slots},
                           {"loads", int64_t(loads.size())},
                           {"bytes", bytes}},
                          std::string(hasTma ? "TMA" : "cp.async") +
                              (isChained() ? ", chained products overlap" : "")});
    return true;
  }

  /// Per variable what the prologue makes of it, iteration by iteration.
  llvm::DenseMap<int, llvm::SmallVector<Value>> versions;

  void notePrologue(Operation *op) {
    // The first product of a chain is alone there.
    if (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(op))
      wait.setPending(0);
    if (auto defines = op->getAttrOfType<DenseI32ArrayAttr>(definesAttr))
      for (size_t index = 0; index < defines.size(); index += 2)
        versions[defines[index]].push_back(op->getResult(defines[index + 1]));
  }

  /// The expander lets the prologue change variables however few iterations there
  /// are. Where one is read behind the loop, it enters it as it is after so many.
  void selectVersions(ValueRange inits, Value lower, Value upper, Value step) {
    Location loc = loop.getLoc();
    for (auto &[variable, values] : versions) {
      rewriter.setInsertionPoint(loop);
      Value selected = inits[variable], first = lower;
      for (Value version : values) {
        Value runs = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, first, upper);
        selected = rewriter.create<arith::SelectOp>(loc, runs, version, selected);
        first = rewriter.create<arith::AddIOp>(loc, first, step);
      }
      loop.getInitArgsMutable()[variable].set(selected);
    }
  }

  /// Where a loop may not run at all, its initial accumulators would meet the
  /// products in flight at the wait behind it, and the assembler would wait for
  /// each product instead. So the loop and the waits stand in a branch.
  void guardLoop() {
    llvm::SmallVector<Operation *> moved = {loop};
    while (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(moved.back()->getNextNode()))
      moved.push_back(wait);
    if (moved.size() == 1)
      return;
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    Value runs = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt,
                                                loop.getLowerBound(), loop.getUpperBound());
    auto branch = rewriter.create<scf::IfOp>(loc, loop.getResultTypes(), runs,
                                             /*withElseRegion=*/true);
    llvm::SmallVector<Value> results(loop.getResults());
    auto replaceOutside = [&](Value value, Value replacement) {
      rewriter.replaceUsesWithIf(value, replacement, [&](OpOperand &use) {
        return !llvm::is_contained(moved, use.getOwner());
      });
    };
    for (auto [index, result] : llvm::enumerate(loop.getResults()))
      replaceOutside(result, branch.getResult(index));
    for (Operation *wait : llvm::drop_begin(moved))
      for (auto [tile, result] : llvm::zip(wait->getOperands(), wait->getResults()))
        if (auto of = llvm::dyn_cast<OpResult>(tile); of && of.getOwner() == loop) {
          replaceOutside(result, branch.getResult(of.getResultNumber()));
          results[of.getResultNumber()] = result;
        }
    rewriter.setInsertionPointToEnd(branch.thenBlock());
    auto yield = rewriter.create<scf::YieldOp>(loc, results);
    for (Operation *op : moved)
      rewriter.moveOpBefore(op, yield);
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    rewriter.create<scf::YieldOp>(loc, loop.getInitArgs());
  }

  //===--- chained products: the last iteration ----------------------------===//
  /// The expanded loop of n iterations does the first part of iteration k + 1 in
  /// its iteration k, the last time for nothing. It is shortened to n - 1, and the
  /// second part of the last iteration follows it, if there is one at all.
  void peelLate() {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
    loop.getUpperBoundMutable().assign(rewriter.create<arith::SubIOp>(loc, upper, step));
    Value runs = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lower, upper);
    rewriter.setInsertionPointAfter(loop);
    auto branch = rewriter.create<scf::IfOp>(loc, loop.getResultTypes(), runs,
                                             /*withElseRegion=*/true);
    for (auto [result, last] : llvm::zip(loop.getResults(), branch.getResults()))
      rewriter.replaceAllUsesWith(result, last);
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    rewriter.create<scf::YieldOp>(loc, loop.getResults());

    rewriter.setInsertionPointToEnd(branch.thenBlock());
    if (hasCpAsync) {
      rewriter.create<ir::AsyncWaitOp>(loc, /*pending=*/0);
      rewriter.create<ir::FenceAsyncOp>(loc);
      rewriter.create<ir::BarrierOp>(loc);
    }
    IRMapping mapping;
    for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      mapping.map(argument, result);
    mapLastIteration(mapping, lower, upper, step);
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto stage = op.getAttrOfType<IntegerAttr>(stageAttr);
      // Nobody fills a slot any more.
      if (stage && stage.getInt() == useStage(/*isLate=*/true) &&
          !llvm::isa<ir::MbarrierArriveOp>(op))
        cloneWithOperands(&op, mapping);
    }
    llvm::SmallVector<Value> yielded;
    for (auto [value, result] :
         llvm::zip(loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
      yielded.push_back(mapping.contains(value) ? mapping.lookup(value) : result);
    rewriter.create<scf::YieldOp>(loc, yielded);
  }

  /// lower + (upper - lower - 1) / step * step.
  void mapLastIteration(IRMapping &mapping, Value lower, Value upper, Value step) {
    if (loop.getInductionVar().use_empty())
      return;
    Location loc = loop.getLoc();
    Value one =
        rewriter.create<arith::ConstantOp>(loc, rewriter.getIntegerAttr(lower.getType(), 1));
    Value span =
        rewriter.create<arith::SubIOp>(loc, rewriter.create<arith::SubIOp>(loc, upper, lower), one);
    Value steps = rewriter.create<arith::DivSIOp>(loc, span, step);
    mapping.map(loop.getInductionVar(),
                rewriter.create<arith::AddIOp>(loc, lower,
                                               rewriter.create<arith::MulIOp>(loc, steps, step)));
  }

  /// The second product reads its left side in registers until the wait at the end
  /// of the body, where the next one's has been computed. Assemblers give both the
  /// same registers, and then wait in front of whatever writes them: in front of the
  /// arithmetic that should run meanwhile. If that ends in a cast, the wide tile is
  /// in other registers anyway, and is cast behind the wait.
  void narrowBehindWait() {
    auto wait = llvm::dyn_cast_or_null<ir::WgmmaWaitOp>(lastWait());
    if (!wait || wait.getTiles().size() != 2)
      return;
    auto left = llvm::dyn_cast<BlockArgument>(wait.getTiles()[1]);
    if (!left || left.getOwner() != loop.getBody())
      return;
    Operation *cast = yieldedFor(left).getDefiningOp();
    if (!llvm::isa_and_nonnull<arith::TruncFOp, ir::FloatCastOp>(cast) || !cast->hasOneUse() ||
        cast->getBlock() != loop.getBody() || !cast->isBeforeInBlock(wait))
      return;
    Value wide = cast->getOperand(0);
    llvm::SmallVector<Value> tiles(wait.getTiles());
    tiles.push_back(wide);
    rewriter.setInsertionPoint(wait);
    auto later = rewriter.create<ir::WgmmaWaitOp>(wait.getLoc(), TypeRange(ValueRange(tiles)),
                                                  tiles, wait.getPending(), /*settled=*/1);
    rewriter.replaceOp(wait, later.getResults().drop_back());
    rewriter.moveOpAfter(cast, later);
    cast->setOperand(0, later.getResults().back());
  }

  Operation *lastWait() {
    Operation *last = nullptr;
    for (auto wait : loop.getBody()->getOps<ir::WgmmaWaitOp>())
      last = wait;
    return last;
  }

  void cloneWithOperands(Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def->getBlock() == loop.getBody() && !mapping.contains(operand))
        cloneWithOperands(def, mapping);
    rewriter.clone(*op, mapping);
  }
};

class PipelineLoopsPass : public impl::PipelineLoopsBase<PipelineLoopsPass> {
public:
  explicit PipelineLoopsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      bool isInnermost = true;
      loop.getBody()->walk(
          [&](Operation *op) { isInnermost &= !llvm::isa<scf::ForOp, scf::WhileOp>(op); });
      if (isInnermost)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      numPipelined += LoopPipeliner(loop, context, sharedBytesOutside(loop)).run();
  }

private:
  PassContext context;

  /// Bytes that others take while the loop runs, at most: tiles from outside, and
  /// what its branches stage (of a flattened loop, results).
  int64_t sharedBytesOutside(scf::ForOp loop) {
    int64_t bytes = 0, staged = 0;
    Operation *outermost = loop;
    for (Operation *parent = loop; parent; parent = parent->getParentOp())
      if (llvm::isa<scf::ForOp>(parent))
        outermost = parent;
    // Results stored in a loop keep their buffers through it.
    llvm::SmallPtrSet<Type, 2> stored;
    outermost->walk([&](ir::DescriptorStoreOp store) {
      if (stored.insert(store.getDescriptor().getType()).second)
        bytes += tileBytes(store.getValue());
    });
    getOperation().walk([&](Operation *op) {
      bool isInside = loop->isAncestor(op);
      // Tiles that this loop loads become rings, which are counted apart.
      auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op);
      bool isLoaded =
          alloc && isInside && alloc.getInit() &&
          llvm::isa_and_nonnull<ir::LoadOp, ir::DescriptorLoadOp>(alloc.getInit().getDefiningOp());
      if (alloc && !isLoaded && (isInside || isLiveIn(alloc, loop)))
        bytes += alloc.getType().slotBytes() * alloc.getType().getSlots();
      if (isInside && llvm::isa<ir::ConvertLayoutOp>(op))
        staged = std::max(staged, scratchBytes(op));
    });
    return bytes + staged;
  }

  /// Whether a buffer made outside of the loop is needed in it or behind it.
  static bool isLiveIn(ir::AllocSharedOp alloc, scf::ForOp loop) {
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

  static int64_t tileBytes(Value tile) {
    RankedTensorType type = tileType(tile);
    return type.getNumElements() * ir::elementBits(type.getElementType()) / 8;
  }
};

} // namespace

std::unique_ptr<Pass> createPipelineLoops(PassContext context) {
  return std::make_unique<PipelineLoopsPass>(std::move(context));
}

} // namespace tilewright::passes
