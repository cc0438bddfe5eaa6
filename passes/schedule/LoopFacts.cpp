//===- LoopFacts.cpp - What is known of a loop before it is scheduled -----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopFacts.h"

#include "ir/layout/LayoutConstructors.h"
#include "ir/layout/LayoutMemory.h"
#include "ir/support/Hardware.h"
#include "passes/analysis/AliasInfo.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/Resources.h"
#include "passes/schedule/TransposedBytes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace tilewright::passes {

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Pointer or descriptor; null where `op` is no access of global memory.
static Value addressOf(Operation *op) {
  if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
    return load.getDescriptor();
  if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
    return store.getDescriptor();
  return accessPointer(op);
}

/// The addresses that the loop accesses otherwise than by loads.
static llvm::SmallVector<Value> writtenAddresses(scf::ForOp loop) {
  llvm::SmallVector<Value> addresses;
  loop->walk([&](Operation *op) {
    if (!llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
      if (Value address = addressOf(op))
        addresses.push_back(address);
    // Assembly with effects may store through each pointer that it gets.
    if (auto assembly = llvm::dyn_cast<ir::InlineAsmOp>(op); assembly && !assembly.getIsPure())
      for (Value source : assembly.getSources())
        if (llvm::isa<ir::PointerType>(getElementTypeOrSelf(source)))
          addresses.push_back(source);
  });
  return addresses;
}

/// Whether an atomic of the loop acquires what others have stored, and somebody asks what it
/// found: a load after it must not run before it.
static bool acquires(scf::ForOp loop) {
  auto result = loop->walk([](Operation *op) {
    auto acquired = [&](auto atomic) {
      return atomic.getSemantic() == ir::MemorySemantic::acquire ||
             atomic.getSemantic() == ir::MemorySemantic::acq_rel;
    };
    bool isAcquire = llvm::TypeSwitch<Operation *, bool>(op)
                         .Case<ir::AtomicRmwOp, ir::AtomicCasOp>(acquired)
                         .Default([](Operation *) { return false; });
    return isAcquire && !op->use_empty() ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether the loop may stop the kernel with words of the user's, which say more than the
/// fault of a load that has run before.
static bool hasAssertion(scf::ForOp loop) {
  return loop->walk([](ir::AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool LoadFacts::isReadByRegisters() const {
  return isTma() && llvm::all_of(readers, [](Operation *reader) {
           return llvm::isa<ir::SharedLoadOp>(reader) && !feedsMma(reader->getResult(0));
         });
}

int64_t LoadFacts::tileBytes() const { return passes::tileBytes(tileType(load->getResult(0))); }

namespace {

/// Finds the facts about loads; knows what other ops of the loop and the function do.
class LoadAnalysis {
public:
  LoadAnalysis(scf::ForOp loop, const TargetInfo &target)
      : loop(loop), target(target), aliases(loop->getParentOfType<ModuleOp>()),
        numBlocks(ir::numBlocks(loop->getParentOfType<ModuleOp>())) {}

  LoadFacts of(Operation *op) {
    LoadFacts facts;
    facts.load = op;
    for (Operation *user : op->getUsers())
      if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user))
        facts.allocs.push_back(alloc);
    if (!facts.allocs.empty())
      describeStored(facts);
    else if (auto load = llvm::dyn_cast<ir::LoadOp>(op))
      describeOwn(facts, load);
    facts.addressObstacle = addressObstacle(op);
    facts.numAddressLoads = numAddressLoads(op);
    return facts;
  }

  bool isForAddresses(Operation *load) const { return addressLoads.contains(load); }

private:
  scf::ForOp loop;
  const TargetInfo &target;
  AliasInfo aliases;
  int numBlocks;
  std::optional<AxisAnalysis> axes;
  /// What addresses of other loads are computed from.
  llvm::DenseSet<Operation *> addressLoads;

  void describeStored(LoadFacts &facts) {
    facts.type = facts.allocs.front().getType();
    Operation *op = facts.load;
    findReaders(facts);
    for (ir::AllocSharedOp alloc : facts.allocs)
      if (alloc.getType() != facts.type || alloc->getBlock() != loop.getBody())
        facts.copyObstacle = "it is stored to shared memory in several layouts";
    if (facts.copyObstacle.empty() &&
        size_t(std::distance(op->user_begin(), op->user_end())) != facts.allocs.size())
      facts.copyObstacle = "its tile is also used in registers";
    if (!facts.copyObstacle.empty())
      return;
    if (facts.isTma()) {
      facts.copyObstacle = tmaObstacle(facts);
      return;
    }
    auto load = llvm::cast<ir::LoadOp>(op);
    facts.goesThroughRegisters = goesThroughRegisters(load, facts);
    if (facts.goesThroughRegisters)
      return;
    facts.copyObstacle = cpAsyncObstacle(load, /*isOwn=*/false);
    if (facts.copyObstacle.empty() && copiedAtOnce(load, facts.type) < hardware::minCopyBytes)
      facts.copyObstacle = otherOrder;
  }

  void findReaders(LoadFacts &facts) {
    llvm::SmallVector<Value> views(facts.allocs.begin(), facts.allocs.end());
    for (ir::AllocSharedOp alloc : facts.allocs)
      facts.isReadTransposed |= llvm::any_of(alloc->getUsers(), [](Operation *user) {
        auto read = llvm::dyn_cast<ir::SharedLoadOp>(user);
        return (read && isStoredAgain(read)) ||
               (llvm::isa<ir::BufferPermuteOp>(user) &&
                llvm::any_of(user->getUsers(), llvm::IsaPred<ir::SharedLoadOp>));
      });
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers())
        if (auto view = llvm::dyn_cast<ir::BufferPermuteOp>(user))
          views.push_back(view);
        else if (Operation *reader = loop.getBody()->findAncestorOpInBlock(*user))
          facts.readers.insert(reader);
  }

  std::string tmaObstacle(const LoadFacts &facts) const {
    LinearLayout written =
        makeSwizzledShared(ir::log2Shape(facts.type.getShape()),
                           ir::elementBits(facts.type.getElementType()), hardware::maxSwizzleBytes);
    if (target.hasTma && facts.type.toLinear() == written)
      return "";
    return otherOrder;
  }

  /// Elements of a row that a thread may hold for an iteration.
  static constexpr int maxSingleElements = 2;
  static constexpr const char *otherOrder =
      "the product does not take the bytes in the order of memory";

  const AxisAnalysis &axesOfKernel() {
    if (!axes)
      axes.emplace(loop->getParentOfType<func::FuncOp>());
    return *axes;
  }

  /// Bytes that are neighbours in memory and in `buffer`.
  static int copiedAtOnce(ir::LoadOp load, ir::BufferType buffer) {
    LinearLayout layout = ir::getLinearLayout(tileType(load.getResult()));
    std::optional<IndexMap> offsets = memoryOffsets(buffer.toLinear(), layout);
    if (!offsets)
      return 0;
    auto dimension = load->getAttrOfType<IntegerAttr>(ir::vectorDimensionAttr);
    int dim = dimension ? static_cast<int>(dimension.getInt()) : layout.rank() - 1;
    int bits = ir::elementBits(buffer.getElementType()), elements = bytesAtOnce(load) * 8 / bits;
    return (bits << log2SharedRun(layout, *offsets, dim, llvm::Log2_64(elements))) / 8;
  }

  /// Not where elements are known to follow each other, which cp.async copies at once for a warp.
  bool goesThroughRegisters(ir::LoadOp load, const LoadFacts &facts) {
    RankedTensorType type = tileType(load.getResult());
    return isRow(type) && target.hasCpAsync && !load.mayChangeMeanwhile() &&
           llvm::all_of(facts.readers, llvm::IsaPred<ir::SharedLoadOp>) &&
           ir::getLinearLayout(type).inSize(InDim::Register) <= maxSingleElements &&
           analyzeAccess(load, axesOfKernel(), target)->maxVectorElements == 1;
  }

  /// cp.async fills what the mask excludes with zeros; threads that read what they have
  /// copied themselves can put `other` there afterwards.
  std::string cpAsyncObstacle(ir::LoadOp load, bool isOwn) const {
    if (std::optional<std::string> obstacle = asyncCopyObstacle(load, target))
      return *obstacle;
    return isOwn || fillsWithZeros(load) ? "" : "`other` is not zero";
  }

  void describeOwn(LoadFacts &facts, ir::LoadOp load) {
    RankedTensorType type = tileType(load.getResult());
    facts.own.feedsProduct = llvm::any_of(usersOf(loop, {load.getResult()}), isProduct);
    if (!type) {
      facts.own.isScalar = true;
      facts.own.words = 1;
      return;
    }
    // Each of several blocks would need room for the whole tile.
    if (numBlocks > 1)
      return;
    facts.own.isCandidate = true;
    facts.type = ownBufferFor(load);
    facts.copyObstacle = cpAsyncObstacle(load, /*isOwn=*/true);
    // A ring is for tiles of which each thread has elements of its own. Where several
    // elements have one address, or several threads one element, it would hold copies.
    facts.own.isShort = !duplicateThreadMasks(ir::getLinearLayout(type)).isZero();
    MemoryAccess access = *analyzeAccess(load, axesOfKernel(), target);
    facts.own.log2Repeats =
        std::accumulate(access.log2Repeats.begin(), access.log2Repeats.end(), 0);
    // What is loaded in smaller parts than a register takes one for each.
    int64_t loads = wordsPerThread(type) * 4 / bytesAtOnce(load);
    facts.own.words =
        std::max<int64_t>(std::max(wordsPerThread(type), loads) >> facts.own.log2Repeats, 1);
  }

  /// Addresses that are computed from what another load brings are known ahead where that
  /// load happens ahead, too.
  std::string addressObstacle(Operation *load) {
    Slice slice(loop), changes(loop);
    for (Value operand : load->getOperands())
      slice.add(operand);
    changes.variables = slice.variables;
    changes.followVariables();
    auto isKnown = [](Operation *op) {
      return isMemoryEffectFree(op) && !llvm::isa<LoopLikeOpInterface>(op);
    };
    llvm::SmallVector<Operation *> loads;
    for (Operation *op : slice.ops)
      if (auto before = llvm::dyn_cast<ir::LoadOp>(op); before && !before.mayChangeMeanwhile())
        loads.push_back(op);
      else if (!isKnown(op))
        return "its address depends on what the loop computes";
    if (!llvm::all_of(changes.ops, isKnown))
      return "its address depends on what the loop computes";
    if (!loads.empty() && hasAssertion(loop))
      return "an assertion of the loop may be about its address";
    if (llvm::any_of(loads, [&](Operation *op) { return mayBeStoredTo(op); }))
      return "the loop may store to what its address is loaded from";
    if (mayBeStoredTo(load))
      return "the loop may store to what it loads";
    if (acquires(loop))
      return "an atomic of the loop orders what it loads";
    addressLoads.insert(loads.begin(), loads.end());
    return "";
  }

  /// How many loads follow from one another until the address is there.
  int numAddressLoads(Operation *load) const {
    Slice slice(loop);
    slice.addOperands(load);
    llvm::DenseMap<Operation *, int> loadsUntil;
    auto most = [&](Operation *op) {
      int loads = 0;
      for (Value operand : op->getOperands())
        loads = std::max(loads, loadsUntil.lookup(operand.getDefiningOp()));
      return loads;
    };
    for (Operation *op : slice.ops)
      loadsUntil[op] = most(op) + llvm::isa<ir::LoadOp>(op);
    return most(load);
  }

  bool mayBeStoredTo(Operation *load) {
    return llvm::any_of(writtenAddresses(loop), [&](Value address) {
      return aliases.mayAliasAcrossThreads(address, addressOf(load));
    });
  }
};

} // namespace

void markDistinctArguments(scf::ForOp loop, llvm::ArrayRef<Operation *> loads) {
  AliasInfo aliases(loop->getParentOfType<ModuleOp>());
  for (Value address : writtenAddresses(loop))
    for (Operation *load : loads)
      (void)aliases.mayAlias(address, addressOf(load));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

std::optional<int64_t> tripCount(scf::ForOp loop) {
  IntegerAttr lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_Constant(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_Constant(&upper)) ||
      !matchPattern(loop.getStep(), m_Constant(&step)) || step.getInt() <= 0)
    return std::nullopt;
  return std::max<int64_t>(0,
                           (upper.getInt() - lower.getInt() + step.getInt() - 1) / step.getInt());
}

int maxDistance(scf::ForOp loop) {
  std::optional<int64_t> trips = tripCount(loop);
  constexpr int64_t any = std::numeric_limits<int>::max();
  return static_cast<int>(trips ? std::min(*trips - 1, any) : any);
}

static LoadsHeldBy whatHoldsLoads(scf::ForOp loop) {
  LoadsHeldBy result = LoadsHeldBy::Nothing;
  loop->walk([&](Operation *op) {
    if (llvm::isa<ir::ReduceOp, ir::ScanOp, ir::ConvertLayoutOp>(op))
      result = LoadsHeldBy::Exchanges;
    else if (llvm::isa<ir::StoreOp>(op) && result == LoadsHeldBy::Nothing)
      result = LoadsHeldBy::Stores;
  });
  return result;
}

static int64_t recurrentWords(scf::ForOp loop) {
  int64_t words = 0;
  for (BlockArgument variable : loop.getRegionIterArgs()) {
    RankedTensorType type = tileType(variable);
    if (!type)
      continue;
    Slice slice(loop);
    slice.add(yieldedFor(variable));
    bool isLoaded = llvm::any_of(slice.ops, llvm::IsaPred<ir::LoadOp>);
    if (isLoaded && slice.variables.contains(variable))
      words += wordsPerThread(type);
  }
  return words;
}

static int64_t largestWords(scf::ForOp loop) {
  llvm::SmallVector<Value> loaded;
  for (auto load : loop.getBody()->getOps<ir::LoadOp>())
    loaded.push_back(load.getResult());
  int64_t words = 0;
  for (Operation *op : usersOf(loop, loaded))
    for (Value result : op->getResults())
      if (RankedTensorType type = tileType(result); type && !llvm::isa<ir::LoadOp>(op))
        words = std::max(words, wordsPerThread(type));
  return words;
}

/// Whether an operand of a product in shared memory is computed from what `load` loads, and not
/// from the result of another product.
static bool becomesOperand(scf::ForOp loop, Operation *load) {
  llvm::SetVector<Operation *> users;
  users.insert(load);
  for (size_t index = 0; index < users.size(); ++index)
    for (Operation *user : users[index]->getUsers()) {
      if (user->getBlock() != loop.getBody() || isProduct(user))
        continue;
      if (auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(user);
          alloc && llvm::any_of(alloc->getUsers(), isProduct))
        return true;
      users.insert(user);
    }
  return false;
}

LoopFacts analyse(scf::ForOp loop, const TargetInfo &target) {
  LoopFacts facts(loop);
  facts.distance = std::min(ir::stagesOf(loop) - 1, maxDistance(loop));
  facts.asksItself = loop->hasAttr(ir::loopStagesAttr);
  // Nothing is asked for where nothing can be ahead.
  if (facts.distance < 1)
    return facts;
  loop.walk([&](Operation *op) {
    if (!isProduct(op))
      return;
    facts.hasProduct = true;
    facts.feedsWgmma |= llvm::isa<ir::WgmmaOp>(op);
    for (Value operand : op->getOperands().take_front(2))
      if (RankedTensorType type = tileType(operand))
        facts.words.operands += wordsPerThread(type);
  });
  facts.hasWgmma = !loop.getBody()->getOps<ir::WgmmaOp>().empty();
  facts.words.products = productWords(loop);
  facts.words.carried = carriedWords(loop);
  LoadAnalysis loads(loop, target);
  for (Operation &op : *loop.getBody())
    if (llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op))
      facts.loads.push_back(loads.of(&op));
  // A tile that is loaded ahead for an address stays as it is for its other users.
  for (LoadFacts &load : facts.loads)
    load.own.isCandidate &= !loads.isForAddresses(load.load);
  // The threads copy ahead what they compute operands from (PlanLoads.cpp). A chain has no such
  // copies, and took up to 1.77 times as long for attention over 8-bit keys and values of 64 and
  // 128 columns. Two kernels of 48, which spill 1.1 kB either way, took 0.73 (H100, November 2026).
  if (llvm::none_of(facts.loads, [&](const LoadFacts &load) {
        return load.own.isCandidate && load.allocs.empty() && becomesOperand(loop, load.load);
      }))
    facts.chain = findChain(loop);
  if (!hasAssertion(loop))
    facts.heldBy = whatHoldsLoads(loop);
  if (!facts.hasProduct) {
    facts.words.recurrent = recurrentWords(loop);
    facts.words.largest = largestWords(loop);
  }
  return facts;
}

llvm::SmallVector<scf::ForOp> innermostLoops(ModuleOp module) {
  llvm::SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) {
    bool isInnermost = true;
    loop.getBody()->walk(
        [&](Operation *op) { isInnermost &= !llvm::isa<scf::ForOp, scf::WhileOp>(op); });
    if (isInnermost)
      loops.push_back(loop);
  });
  return loops;
}

/// Bytes that others take while the loop runs, at most: tiles from outside, what stays in
/// shared memory inside, and what its layout changes go through.
static int64_t sharedBytesOutside(scf::ForOp loop) {
  int64_t bytes = 0;
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
  // Tiles that this loop loads become rings, which are counted apart.
  return bytes + sharedBytesDuring(loop, [&](ir::AllocSharedOp alloc) {
           return !loop->isAncestor(alloc) || !alloc.getInit() ||
                  !llvm::isa_and_nonnull<ir::LoadOp, ir::DescriptorLoadOp>(
                      alloc.getInit().getDefiningOp());
         });
}

LoopResources resourcesFor(scf::ForOp loop, const TargetInfo &target) {
  return {target, ir::numWarps(loop->getParentOfType<ModuleOp>()), sharedBytesOutside(loop)};
}

} // namespace tilewright::passes
