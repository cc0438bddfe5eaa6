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
// That takes registers for two iterations' tiles and a slot more. Where a block more
// fits on a multiprocessor without, the products are computed in turn: other blocks keep
// the tensor cores busy during the softmax. Rings then have d slots, since a slot is
// filled again in the iteration that has used it, long before the next one needs it:
//
//     wait for the tiles of S; start S of k
//     fill the slot that the second product of k - 1 used, with tiles of k - 1 + d
//     wait for S; arrive; fill its slot, with tiles of k + d
//     softmax of k
//     wait for the tiles of P V; start P V of k; wait for it; arrive
//
// With cp.async a barrier stands behind each wait for tiles, and one where S arrives.
//
// H200, attention forward, head dimension 128, blocks of 64x64: 557 instead of 460
// TFLOP/s at length 1024, 632 instead of 572 at 16384 (November 2026).
//
// An operand that is computed from what is loaded, as from quantised weights, is loaded
// ahead all the same: each thread copies to a ring what it then reads itself, with the
// waits of the others. Where several elements have one address, as the words of packed
// 4-bit weights, each thread loads its few words one iteration ahead, into registers.
//
// Loops without products that ask for stages (tl.range) send what they load through rings
// of d + 1 slots in the same way. Each thread reads what it has copied itself, so that
// nobody waits at a barrier:
//
//     wait for the own copies of k
//     start the own copies of k + d       into the slot of k - 1, which has been read
//     read the tile of k
//
// Barriers and fences of rings are placed here; InsertBarriers leaves rings alone.
//
// Not handled: loads whose address comes from another load of the same loop's
// pipelined ones; loops that store where they load from.
//
//===----------------------------------------------------------------------===//

#include "passes/transform/LoopPipeliner.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutMemory.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/transform/Passes.h.inc"

static constexpr int defaultStages = 3;
/// Registers for what is loaded ahead into them.
static constexpr int64_t maxEarlyWords = 16;
/// Loops that carry more have none to spare: backward passes of attention carry 128 and
/// more, and spill.
static constexpr int64_t manyCarriedWords = 64;
/// Registers of a thread besides tiles in loops of chained products: 26 to 38 were
/// seen in attention kernels with TMA, 44 to 68 where threads compute addresses.
static constexpr int64_t otherWords = 32, otherWordsWithAddresses = 56;

FailureOr<bool> LoopPipeliner::run() {
  if (!decideDistance())
    return false;
  nameCarried();
  findChain();
  if (!collectLoads()) {
    dropNames();
    return false;
  }
  chooseTurns();
  chooseSlots();
  makeRings();
  rewriteBody();
  if (failed(expand()))
    return failure();
  dropNames();
  return true;
}

void LoopPipeliner::nameCarried() {
  Operation *yield = loop.getBody()->getTerminator();
  rewriter.setInsertionPoint(yield);
  for (OpOperand &yielded : yield->getOpOperands()) {
    Value value = yielded.get();
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == loop.getBody())
      continue;
    yielded.set(
        rewriter
            .create<UnrealizedConversionCastOp>(loop.getLoc(), value.getType(), ValueRange{value})
            .getResult(0));
  }
}

void LoopPipeliner::dropNames() {
  loop->getParentOfType<func::FuncOp>().walk(
      [&](UnrealizedConversionCastOp name) { rewriter.replaceOp(name, name.getOperands()); });
}

bool LoopPipeliner::refuse(llvm::StringRef reason) {
  context.remark(loop, {"pipeline", false, {}, {}, reason.str()});
  return false;
}

std::optional<int64_t> LoopPipeliner::tripCount(scf::ForOp loop) {
  IntegerAttr lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_Constant(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_Constant(&upper)) ||
      !matchPattern(loop.getStep(), m_Constant(&step)) || step.getInt() <= 0)
    return std::nullopt;
  return std::max<int64_t>(0,
                           (upper.getInt() - lower.getInt() + step.getInt() - 1) / step.getInt());
}

bool LoopPipeliner::decideDistance() {
  int stages = defaultStages;
  if (auto attr = loop->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(ir::numStagesAttr))
    stages = static_cast<int>(attr.getInt());
  if (auto attr = loop->getAttrOfType<IntegerAttr>(ir::loopStagesAttr))
    stages = static_cast<int>(attr.getInt());
  distance = stages - 1;
  if (std::optional<int64_t> trips = tripCount(loop))
    distance = static_cast<int>(std::min<int64_t>(distance, *trips - 1));
  return distance >= 1;
}

llvm::SetVector<Operation *> LoopPipeliner::usersOf(llvm::ArrayRef<Value> roots) {
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

bool LoopPipeliner::canRunForNothing(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op))
    return !load.getIsVolatile();
  return llvm::isa<ir::DescriptorLoadOp, ir::AllocSharedOp, ir::SharedLoadOp, ir::SharedDotOp,
                   ir::WgmmaOp>(op);
}

void LoopPipeliner::findChain() {
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
  // Nor what the next iteration computes in time.
  for (OpOperand &yielded : loop.getBody()->getTerminator()->getOpOperands())
    if (behind.contains(yielded.get().getDefiningOp()))
      for (Operation *user : loop.getRegionIterArg(yielded.getOperandNumber()).getUsers())
        if (!behind.contains(loop.getBody()->findAncestorOpInBlock(*user)))
          return;
  firstProduct = first;
  secondProduct = second;
  late.insert(behind.begin(), behind.end());
}

bool LoopPipeliner::collectLoads() {
  if (isStream())
    stageStream();
  else if (!isChained())
    stageComputedOperands();
  // Transposed tiles that mma reads can do without a ring, if the others leave no room.
  for (bool isTransposed : {false, true})
    for (Operation &op : *loop.getBody())
      if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
        considerLoad(&op, isTransposed);
  for (Operation &op : *loop.getBody())
    hasWgmma |= llvm::isa<ir::WgmmaOp>(op);
  unchainOverwrittenTiles();
  arePrivate =
      llvm::all_of(loads, [&](const AsyncLoad &load) { return ownLoads.contains(load.load); });
  return !loads.empty();
}

/// Whether mma reads the tile into registers through another view.
static bool isReadTransposed(const AsyncLoad &load) {
  return llvm::any_of(load.allocs, [](ir::AllocSharedOp alloc) {
    return llvm::any_of(alloc->getUsers(), [](Operation *user) {
      return llvm::isa<ir::BufferPermuteOp>(user) &&
             llvm::any_of(user->getUsers(), llvm::IsaPred<ir::SharedLoadOp>);
    });
  });
}

void LoopPipeliner::considerLoad(Operation *op, bool isTransposed) {
  AsyncLoad load;
  load.load = op;
  for (Operation *user : op->getUsers())
    if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user))
      load.allocs.push_back(alloc);
  if (load.allocs.empty() || isReadTransposed(load) != isTransposed)
    return;
  load.type = load.allocs.front().getType();
  if (isTransposed && (distance + 1) * (slotBytes() + load.type.slotStride()) > roomForRings())
    return refuseLoad(op, "too little shared memory");
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

llvm::SetVector<Operation *> LoopPipeliner::readersOf(const AsyncLoad &load) {
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

void LoopPipeliner::unchainOverwrittenTiles() {
  if (!isChained() || canReadLate(secondProduct.getB()))
    return;
  firstProduct = secondProduct = nullptr;
  late.clear();
  for (AsyncLoad &load : loads)
    load.isLate = false;
}

bool LoopPipeliner::canReadLate(Value buffer) {
  while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
    buffer = view.getSource();
  return loop.isDefinedOutsideOfLoop(buffer) || llvm::any_of(loads, [&](const AsyncLoad &load) {
           return load.isLate && llvm::is_contained(load.allocs, buffer.getDefiningOp());
         });
}

void LoopPipeliner::refuseLoad(Operation *op, llvm::StringRef reason) {
  context.remark(op, {"async-load", false, {}, {}, reason.str()});
}

bool LoopPipeliner::canUseTma(const AsyncLoad &load) {
  llvm::ArrayRef<int64_t> shape = load.type.getShape();
  LinearLayout written = makeSwizzledShared(
      ir::log2Shape(shape), ir::elementBits(load.type.getElementType()), /*swizzleBytes=*/128);
  if (context.target.hasTma && load.type.toLinear() == written)
    return true;
  refuseLoad(load.load, "the product does not take the bytes in the order of memory");
  return false;
}

bool LoopPipeliner::canUseCpAsync(const AsyncLoad &load) {
  auto op = llvm::cast<ir::LoadOp>(load.load);
  std::optional<std::string> obstacle = asyncCopyObstacle(op, context.target);
  if (!obstacle && !ownLoads.contains(op) && !fillsWithZeros(op))
    obstacle = "`other` is not zero";
  if (obstacle)
    refuseLoad(op, *obstacle);
  return !obstacle;
}

static bool isProduct(Operation *op) {
  return llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op);
}

bool LoopPipeliner::isStream() {
  bool hasProduct = loop.walk([](Operation *op) {
                          return isProduct(op) ? WalkResult::interrupt() : WalkResult::advance();
                        })
                        .wasInterrupted();
  return loop->hasAttr(ir::loopStagesAttr) && !hasProduct;
}

/// Registers of a thread that the tiles take that a loop carries.
static int64_t carriedWords(scf::ForOp loop) {
  int64_t words = 0;
  for (BlockArgument variable : loop.getRegionIterArgs())
    if (RankedTensorType type = tileType(variable))
      words += wordsPerThread(type);
  return words;
}

llvm::SmallVector<ir::LoadOp> LoopPipeliner::findOwnLoads() {
  llvm::SmallVector<ir::LoadOp> found;
  // Each of several blocks would need room for the whole tile.
  if (ir::numBlocks(loop->getParentOfType<ModuleOp>()) > 1)
    return found;
  std::optional<AxisAnalysis> axes;
  for (ir::LoadOp op : loop.getBody()->getOps<ir::LoadOp>()) {
    RankedTensorType type = tileType(op.getResult());
    bool isShared = llvm::any_of(op->getUsers(), llvm::IsaPred<ir::AllocSharedOp>);
    if (!type || isShared)
      continue;
    AsyncLoad load;
    load.load = op;
    // A ring is for tiles of which each thread has elements of its own. Where several
    // elements have one address, or several threads one element, it would hold copies.
    bool isShort = !duplicateThreadMasks(ir::getLinearLayout(type)).isZero();
    if (!axes)
      axes.emplace(loop->getParentOfType<func::FuncOp>());
    MemoryAccess access = *analyzeAccess(op, *axes, context.target);
    int log2Repeats = std::accumulate(access.log2Repeats.begin(), access.log2Repeats.end(), 0);
    if (isShort && carriedWords(loop) > manyCarriedWords)
      continue;
    if (log2Repeats > 0 || isShort) {
      refuseLoad(op, isShort ? "it has fewer elements than the block has threads"
                             : "several elements of it have one address");
      int64_t words = std::max<int64_t>(wordsPerThread(type) >> log2Repeats, 1);
      if (words <= maxEarlyWords && !op.getIsVolatile() && addressIsEarly(load) &&
          !mayMeetStore(load))
        earlyLoads.push_back({op, words});
      continue;
    }
    ownLoads.insert(op);
    if (canUseCpAsync(load) && addressIsEarly(load) && !mayMeetStore(load))
      found.push_back(op);
  }
  return found;
}

int64_t LoopPipeliner::roomForRings() const {
  return context.target.maxSharedBytesPerBlock - maxMbarrierBytes - otherSharedBytes;
}

void LoopPipeliner::stageStream() {
  llvm::SmallVector<ir::LoadOp> found = findOwnLoads();
  earlyLoads.clear();
  int64_t bytes = 0;
  for (ir::LoadOp load : found)
    bytes += tileBytes(tileType(load.getResult()));
  // Fewer iterations ahead where memory is short.
  while (distance >= 1 && (distance + 1) * bytes > roomForRings())
    --distance;
  for (ir::LoadOp load : found)
    if (distance < 1)
      refuseLoad(load, "too little shared memory");
    else
      stage(load);
}

void LoopPipeliner::stageComputedOperands() {
  int64_t bytes = 0;
  for (auto alloc : loop.getBody()->getOps<ir::AllocSharedOp>())
    if (alloc.getInit() &&
        llvm::isa_and_nonnull<ir::LoadOp, ir::DescriptorLoadOp>(alloc.getInit().getDefiningOp()))
      bytes += alloc.getType().slotStride();
  for (ir::LoadOp load : findOwnLoads()) {
    if (llvm::none_of(usersOf({load.getResult()}), isProduct))
      continue;
    // A ring of products has a slot more where that fits.
    int64_t more = bytes + tileBytes(tileType(load.getResult()));
    if ((distance + 1) * more > roomForRings()) {
      refuseLoad(load, "too little shared memory");
      continue;
    }
    bytes = more;
    stage(load);
  }
  llvm::erase_if(earlyLoads, [&](EarlyLoad &entry) {
    return llvm::none_of(usersOf({entry.load.getResult()}), isProduct);
  });
  // A short iteration is over before the memory answers.
  int64_t words = 0;
  for (const EarlyLoad &entry : earlyLoads)
    words += entry.words;
  int64_t farthest = std::min<int64_t>(distance, maxEarlyWords / std::max<int64_t>(words, 1));
  if (carriedWords(loop) > manyCarriedWords)
    farthest = 1;
  earlyDistance = static_cast<int>(std::max<int64_t>(farthest, 1));
  for (EarlyLoad &entry : earlyLoads)
    context.remark(entry.load, {"early-load",
                                true,
                                {},
                                {{"iterations", earlyDistance}, {"words", entry.words}},
                                "loaded ahead, into registers"});
}

void LoopPipeliner::stage(ir::LoadOp load) {
  RankedTensorType type = tileType(load.getResult());
  rewriter.setInsertionPointAfter(load);
  auto alloc =
      rewriter.create<ir::AllocSharedOp>(load.getLoc(), ownBufferFor(load), load.getResult());
  Value read = rewriter.create<ir::SharedLoadOp>(load.getLoc(), type, alloc, /*isOwn=*/true);
  if (load.getMask() && !fillsWithZeros(load))
    read = rewriter.create<arith::SelectOp>(load.getLoc(), load.getMask(), read, load.getOther());
  load.getResult().replaceAllUsesExcept(read, alloc);
}

bool LoopPipeliner::addressIsEarly(const AsyncLoad &load) {
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

Value LoopPipeliner::yieldedFor(BlockArgument variable) {
  return loop.getBody()->getTerminator()->getOperand(variable.getArgNumber() - 1);
}

Value LoopPipeliner::addressOf(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
    return load.getDescriptor();
  if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
    return store.getDescriptor();
  return accessPointer(op);
}

bool LoopPipeliner::mayMeetStore(const AsyncLoad &load) {
  AliasInfo aliases(loop->getParentOfType<ModuleOp>());
  bool meets = false;
  loop->walk([&](Operation *op) {
    if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
      return;
    if (Value address = addressOf(op))
      meets = meets || aliases.mayAlias(address, addressOf(load.load));
  });
  if (meets)
    refuseLoad(load.load, "the loop may store to what it loads");
  return meets;
}

void LoopPipeliner::chooseTurns() {
  if (!isChained() || hasCpAsync == hasTma)
    return;
  for (const AsyncLoad &load : loads) {
    llvm::SetVector<Operation *> readers = readersOf(load);
    if (readers.size() != 1 || readers.front() != (load.isLate ? secondProduct : firstProduct))
      return;
  }
  int64_t results = wordsPerThread(tileType(firstProduct.getResult())) +
                    wordsPerThread(tileType(secondProduct.getResult()));
  // The second product's left side is cast into registers that the first one's
  // result leaves, unless the next result is there already.
  int64_t left = wordsPerThread(tileType(secondProduct.getA()));
  if (residentBlocks(distance, results) <= residentBlocks(distance + 1, results + left))
    return;
  turns = {firstProduct, secondProduct};
  firstProduct = secondProduct = nullptr;
  late.clear();
}

int64_t LoopPipeliner::slotBytes() const {
  int64_t bytes = 0;
  for (const AsyncLoad &load : loads)
    bytes += load.type.slotStride();
  return bytes;
}

int64_t LoopPipeliner::residentBlocks(int slots, int64_t words) const {
  return context.target.residentBlocks(int64_t(numWarps) << context.target.log2WarpSize,
                                       words + (hasTma ? otherWords : otherWordsWithAddresses),
                                       otherSharedBytes + slots * slotBytes() + maxMbarrierBytes);
}

namespace {

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
    for (scf::ForOp loop : loops) {
      FailureOr<bool> isPipelined = LoopPipeliner(loop, context, sharedBytesOutside(loop)).run();
      if (failed(isPipelined))
        return signalPassFailure();
      numPipelined += *isPipelined;
    }
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
        bytes += tileBytes(tileType(store.getValue()));
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
};

} // namespace

std::unique_ptr<Pass> createPipelineLoops(PassContext context) {
  return std::make_unique<PipelineLoopsPass>(std::move(context));
}

} // namespace tilewright::passes
