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
#include "passes/transform/Passes.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
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

/// A load that becomes a copy.
struct AsyncLoad {
  Operation *load = nullptr;
  llvm::SmallVector<ir::AllocSharedOp, 1> allocs;
  ir::BufferType type;
  Value ring;

  bool isTma() const { return llvm::isa<ir::DescriptorLoadOp>(load); }
};

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
    if (!decideDistance() || !collectLoads())
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
  /// Iterations between a copy and its use, slots of each ring.
  int distance = 0, slots = 0;
  bool hasWgmma = false, hasTma = false, hasCpAsync = false;
  bool needsSecondBarrier = false;
  /// Counters of the rings: slot to fill, slot to use, phase of the latter.
  Value fillSlot, useSlot, usePhase;
  Value mbarrier, isFirstWarp;

  /// The new body, in parts: their concatenation is the order of the kernel.
  llvm::SmallVector<Operation *> top, copies;
  llvm::DenseSet<Operation *> early;

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
    return std::max<int64_t>(
        0, (upper.getInt() - lower.getInt() + step.getInt() - 1) / step.getInt());
  }

  bool decideDistance() {
    int stages = defaultStages;
    if (auto attr = loop->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(
            ir::numStagesAttr))
      stages = static_cast<int>(attr.getInt());
    if (auto attr = loop->getAttrOfType<IntegerAttr>(ir::loopStagesAttr))
      stages = static_cast<int>(attr.getInt());
    distance = stages - 1;
    if (std::optional<int64_t> trips = tripCount(loop))
      distance = static_cast<int>(std::min<int64_t>(distance, *trips - 1));
    return distance >= 1;
  }

  bool collectLoads() {
    for (Operation &op : *loop.getBody())
      if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
        considerLoad(&op);
    for (Operation &op : *loop.getBody())
      hasWgmma |= llvm::isa<ir::WgmmaOp>(op);
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
    hasTma |= load.isTma();
    hasCpAsync |= !load.isTma();
    loads.push_back(load);
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
    bool isZero = !op.getOther() || matchPattern(op.getOther(), m_AnyZeroFloat()) ||
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
      if (!isMemoryEffectFree(op) || op->getNumRegions() != 0) {
        refuseLoad(load.load, "its address depends on what the loop computes");
        return false;
      }
    return true;
  }

  Value yieldedFor(BlockArgument variable) {
    return loop.getBody()->getTerminator()->getOperand(variable.getArgNumber() - 1);
  }

  bool mayMeetStore(const AsyncLoad &load) {
    AliasInfo aliases;
    bool meets = false;
    loop->walk([&](Operation *op) {
      if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
        return;
      if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op)) {
        meets |= load.isTma() && llvm::cast<ir::DescriptorLoadOp>(load.load).getDescriptor() ==
                                     store.getDescriptor();
        return;
      }
      Value pointer = accessPointer(op);
      if (pointer && !load.isTma())
        meets |= aliases.bases(pointer).mayAlias(aliases.bases(accessPointer(load.load)));
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
      perSlot += load.type.slotBytes();
    slots = distance + 1;
    if (!hasWgmma)
      return;
    // A slot more saves a barrier, unless it costs a resident block.
    int64_t limit = context.target.maxSharedBytesPerBlock;
    int64_t few = bytes + perSlot * slots, many = few + perSlot;
    bool fits = many <= limit && limit / many == limit / few;
    slots += fits;
    needsSecondBarrier = !fits;
  }

  void makeRings() {
    rewriter.setInsertionPoint(loop);
    for (AsyncLoad &load : loads)
      load.ring = rewriter.create<ir::AllocSharedOp>(load.load->getLoc(),
                                                     load.type.withSlots(slots), Value());
    if (hasTma) {
      mbarrier = rewriter.create<ir::MbarrierAllocOp>(
          loop.getLoc(), ir::MbarrierType::get(loop.getContext(), slots), /*arrivals=*/1);
      isFirstWarp = rewriter.create<ir::IsFirstWarpOp>(loop.getLoc(), rewriter.getI1Type());
    }
    // The barriers are initialised, and whoever used these bytes before is done.
    rewriter.create<ir::BarrierOp>(loop.getLoc());
    addCounters();
  }

  Value constantI32(int value) {
    return rewriter.create<arith::ConstantIntOp>(loop.getLoc(), value, 32);
  }

  void addCounters() {
    Value zero = constantI32(0);
    llvm::SmallVector<Value> inits(hasTma ? 3 : 2, zero);
    auto newLoop = llvm::cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
        rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
        [&](OpBuilder &builder, Location loc, llvm::ArrayRef<BlockArgument> arguments) {
          fillSlot = arguments[0];
          useSlot = arguments[1];
          llvm::SmallVector<Value> next;
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.restoreInsertionPoint(builder.saveInsertionPoint());
          Value wraps;
          next.push_back(advance(fillSlot, /*isEarly=*/true, wraps));
          next.push_back(advance(useSlot, /*isEarly=*/false, wraps));
          if (hasTma) {
            usePhase = arguments[2];
            Value one = constantI32(1);
            Value flipped = rewriter.create<arith::XOrIOp>(loc, usePhase, one);
            next.push_back(rewriter.create<arith::SelectOp>(loc, wraps, flipped, usePhase));
          }
          return next;
        }));
    loop = newLoop;
  }

  /// The slot after `slot`; `wraps` becomes whether it is the first one again.
  Value advance(Value slot, bool isEarly, Value &wraps) {
    Location loc = loop.getLoc();
    Value one = constantI32(1), count = constantI32(slots), zero = constantI32(0);
    Value next = rewriter.create<arith::AddIOp>(loc, slot, one);
    wraps = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, next, count);
    Value result = rewriter.create<arith::SelectOp>(loc, wraps, zero, next);
    if (isEarly)
      for (Value value : {one, count, zero, next, wraps, result})
        early.insert(value.getDefiningOp());
    return result;
  }

  template <typename Op, typename... Args> Op atTop(Args &&...args) {
    auto op = rewriter.create<Op>(loop.getLoc(), std::forward<Args>(args)...);
    top.push_back(op);
    return op;
  }

  template <typename Op, typename... Args> Op asCopy(Location loc, Args &&...args) {
    auto op = rewriter.create<Op>(loc, std::forward<Args>(args)...);
    copies.push_back(op);
    return op;
  }

  void rewriteBody() {
    rewriter.setInsertionPointToStart(loop.getBody());
    if (hasCpAsync)
      atTop<ir::AsyncWaitOp>(distance - 1);
    if (hasTma)
      atTop<ir::MbarrierWaitOp>(mbarrier, useSlot, usePhase);
    makeProductsAsync();
    // cp.async writes like a thread; wgmma reads like TMA.
    if (hasCpAsync && hasWgmma)
      atTop<ir::FenceAsyncOp>();
    atTop<ir::BarrierOp>();
    for (AsyncLoad &load : loads) {
      Value slot = atTop<ir::BufferSlotOp>(load.type, load.ring, useSlot);
      for (ir::AllocSharedOp alloc : load.allocs)
        rewriter.replaceOp(alloc, slot);
    }
    makeCopies();
    markCarriedAddresses();
  }

  /// A product whose result only goes round the loop as its own accumulator need
  /// not be waited for.
  void makeProductsAsync() {
    int numAsync = 0;
    llvm::SmallVector<ir::WgmmaOp> blocking;
    for (auto wgmma : llvm::make_early_inc_range(loop.getBody()->getOps<ir::WgmmaOp>())) {
      OpOperand *yielded = onlyCarried(wgmma);
      if (!yielded) {
        blocking.push_back(wgmma);
        continue;
      }
      wgmma.setIsAsync(true);
      ++numAsync;
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointAfter(loop);
      Value result = loop.getResult(yielded->getOperandNumber());
      auto wait = rewriter.create<ir::WgmmaWaitOp>(wgmma.getLoc(), TypeRange{result.getType()},
                                                   ValueRange{result}, /*pending=*/0);
      rewriter.replaceAllUsesExcept(result, wait.getResult(0), wait);
    }
    // Nothing in flight: slots are free at the next barrier.
    if (numAsync == 0) {
      needsSecondBarrier = false;
    } else if (!needsSecondBarrier) {
      atTop<ir::WgmmaWaitOp>(TypeRange{}, ValueRange{}, /*pending=*/numAsync);
    }
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

  /// The yield's operand, if the result and the accumulator are one variable of
  /// the loop that nothing else in it reads.
  OpOperand *onlyCarried(ir::WgmmaOp wgmma) {
    auto accumulator = llvm::dyn_cast<BlockArgument>(wgmma.getAcc());
    if (!accumulator || accumulator.getOwner() != loop.getBody() || !accumulator.hasOneUse() ||
        !wgmma.getResult().hasOneUse())
      return nullptr;
    OpOperand &use = *wgmma.getResult().use_begin();
    bool isYield = use.getOwner() == loop.getBody()->getTerminator();
    return isYield && use.getOperandNumber() + 1 == accumulator.getArgNumber() ? &use : nullptr;
  }

  void makeCopies() {
    rewriter.setInsertionPoint(loads.front().load);
    for (const AsyncLoad &load : loads)
      if (load.load->isBeforeInBlock(&*rewriter.getInsertionPoint()))
        rewriter.setInsertionPoint(load.load);
    // All addresses first: an op may be in several slices.
    IRMapping addresses;
    llvm::SetVector<Operation *> cloned;
    for (AsyncLoad &load : loads) {
      Slice slice;
      for (Value operand : load.load->getOperands())
        slice.add(loop, operand);
      rewriter.setInsertionPoint(loads.back().load);
      for (Operation *op : slice.ops)
        if (cloned.insert(op)) {
          Operation *copy = rewriter.clone(*op, addresses);
          copies.push_back(copy);
        }
    }
    rewriter.setInsertionPoint(loads.back().load);
    if (needsSecondBarrier) {
      asCopyBarrier = {rewriter.create<ir::WgmmaWaitOp>(loop.getLoc(), TypeRange{}, ValueRange{},
                                                        /*pending=*/1),
                       rewriter.create<ir::BarrierOp>(loop.getLoc())};
    }
    if (hasCpAsync) {
      for (AsyncLoad &load : loads)
        if (!load.isTma())
          makeCpAsync(load, addresses);
      asCopy<ir::AsyncCommitOp>(loop.getLoc());
    }
    if (hasTma)
      makeTma(addresses);
    for (AsyncLoad &load : loads)
      rewriter.eraseOp(load.load);
  }

  llvm::SmallVector<Operation *> asCopyBarrier;

  void makeCpAsync(const AsyncLoad &load, const IRMapping &addresses) {
    auto op = llvm::cast<ir::LoadOp>(load.load);
    Location loc = op.getLoc();
    Value slot = asCopy<ir::BufferSlotOp>(loc, load.type, load.ring, fillSlot);
    Value mask = op.getMask() ? addresses.lookupOrDefault(op.getMask()) : Value();
    auto copy = asCopy<ir::AsyncCopyOp>(loc, addresses.lookupOrDefault(op.getPointer()), slot, mask,
                                        /*other=*/Value(), op.getCache(), op.getEviction());
    for (llvm::StringRef name : {ir::vectorElementsAttr, ir::vectorDimensionAttr})
      if (Attribute attr = op->getAttr(name))
        copy->setAttr(name, attr);
  }

  void makeTma(const IRMapping &addresses) {
    llvm::SmallVector<Value> slotsOf;
    int64_t bytes = 0;
    for (AsyncLoad &load : loads)
      if (load.isTma()) {
        slotsOf.push_back(
            asCopy<ir::BufferSlotOp>(load.load->getLoc(), load.type, load.ring, fillSlot));
        bytes += load.type.slotBytes();
      }
    auto branch = asCopy<scf::IfOp>(loop.getLoc(), isFirstWarp, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    rewriter.create<ir::MbarrierExpectOp>(loop.getLoc(), mbarrier, fillSlot, bytes);
    auto slot = slotsOf.begin();
    for (AsyncLoad &load : loads)
      if (load.isTma()) {
        auto op = llvm::cast<ir::DescriptorLoadOp>(load.load);
        llvm::SmallVector<Value> coordinates;
        for (Value coordinate : op.getCoordinates())
          coordinates.push_back(addresses.lookupOrDefault(coordinate));
        rewriter.create<ir::TmaLoadOp>(op.getLoc(), op.getDescriptor(), coordinates, *slot++,
                                       mbarrier, fillSlot, op.getEviction());
      }
  }

  /// What changes the variables that addresses are made from happens early, too.
  void markCarriedAddresses() {
    early.insert(copies.begin(), copies.end());
    Slice slice;
    for (Operation *op : copies)
      for (Value operand : op->getOperands())
        slice.add(loop, operand);
    for (size_t next = 0; next < slice.variables.size(); ++next)
      slice.add(loop, yieldedFor(slice.variables[next]));
    early.insert(slice.ops.begin(), slice.ops.end());
    // Originals whose copies took over.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
      if (isOpTriviallyDead(&op) && !early.contains(&op))
        rewriter.eraseOp(&op);
  }

  //===--- 3. schedule and expand ----------------------------------------===//
  using Schedule = std::vector<std::pair<Operation *, unsigned>>;

  void makeSchedule(Schedule &schedule) {
    unsigned late = distance;
    llvm::SmallPtrSet<Operation *, 16> placed(top.begin(), top.end());
    placed.insert(copies.begin(), copies.end());
    placed.insert(asCopyBarrier.begin(), asCopyBarrier.end());
    for (Operation *op : top)
      schedule.emplace_back(op, late);
    bool copiesPlaced = false;
    auto placeCopies = [&] {
      for (Operation *op : asCopyBarrier)
        schedule.emplace_back(op, late);
      for (Operation *op : copies)
        schedule.emplace_back(op, 0);
      copiesPlaced = true;
    };
    // Copies wait for nobody; products should start before them.
    if (!hasWgmma)
      placeCopies();
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (placed.contains(&op))
        continue;
      schedule.emplace_back(&op, early.contains(&op) ? 0 : late);
      if (!copiesPlaced && llvm::isa<ir::WgmmaOp>(op))
        placeCopies();
    }
    if (!copiesPlaced)
      placeCopies();
  }

  /// Keeps an op from having effects where `predicate` is false.
  static Operation *predicated(RewriterBase &rewriter, Operation *op, Value predicate) {
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() == 0) {
      rewriter.setInsertionPoint(op);
      branch.getConditionMutable().assign(
          rewriter.create<arith::AndIOp>(op->getLoc(), branch.getCondition(), predicate));
      return op;
    }
    if (!llvm::isa<ir::AsyncCopyOp>(op))
      return op;
    rewriter.setInsertionPoint(op);
    auto branch =
        rewriter.create<scf::IfOp>(op->getLoc(), predicate, /*withElseRegion=*/false);
    rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
    return branch;
  }

  bool expand() {
    scf::PipeliningOption options;
    options.getScheduleFn = [&](scf::ForOp, Schedule &schedule) { makeSchedule(schedule); };
    options.peelEpilogue = false;
    options.supportDynamicLoops = true;
    options.predicateFn = predicated;
    Location loc = loop.getLoc();
    int64_t bytes = 0;
    for (const AsyncLoad &load : loads)
      bytes += load.type.slotBytes() * slots;
    ModuleOp module = loop->getParentOfType<ModuleOp>();
    bool modified = false;
    rewriter.setInsertionPoint(loop);
    FailureOr<scf::ForOp> result = scf::pipelineForLoop(rewriter, loop, options, &modified);
    if (failed(result)) {
      module.emitError("[internal] the schedule of a loop could not be expanded")
          .attachNote(loc)
          << "the loop is here";
      return false;
    }
    context.remark(*result, {"pipeline",
                             true,
                             {},
                             {{"stages", distance + 1},
                              {"slots", slots},
                              {"loads", int64_t(loads.size())},
                              {"bytes", bytes}},
                             hasTma ? "TMA" : "cp.async"});
    return true;
  }
};

class PipelineLoopsPass : public impl::PipelineLoopsBase<PipelineLoopsPass> {
public:
  explicit PipelineLoopsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      bool isInnermost = true;
      loop.getBody()->walk([&](Operation *op) {
        isInnermost &= !llvm::isa<scf::ForOp, scf::WhileOp>(op);
      });
      if (isInnermost)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      numPipelined += LoopPipeliner(loop, context, sharedBytesOutside(loop)).run();
  }

private:
  PassContext context;

  /// Bytes that other tiles take while the loop runs, at most.
  int64_t sharedBytesOutside(scf::ForOp loop) {
    int64_t bytes = 0;
    getOperation().walk([&](ir::AllocSharedOp alloc) {
      if (!loop->isAncestor(alloc))
        bytes += alloc.getType().slotBytes() * alloc.getType().getSlots();
    });
    return bytes;
  }
};

} // namespace

std::unique_ptr<Pass> createPipelineLoops(PassContext context) {
  return std::make_unique<PipelineLoopsPass>(std::move(context));
}

} // namespace tilewright::passes
