//===- Resources.cpp - Registers and shared memory that a kernel takes ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/Resources.h"

#include "ir/layout/ConversionPlan.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/ScratchSize.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <set>

using namespace mlir;

namespace tilewright::passes {

RegisterUse &RegisterUse::operator+=(const RegisterUse &other) {
  data += other.data;
  addresses += other.addresses;
  scalars += other.scalars;
  return *this;
}

RegisterUse &RegisterUse::operator-=(const RegisterUse &other) {
  data -= other.data;
  addresses -= other.addresses;
  scalars -= other.scalars;
  return *this;
}

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

/// Pieces of an operand that is read piece by piece that are there at once, in registers. A
/// guess.
static constexpr int64_t pieceWords = 16;

/// Whether each thread only renames its registers.
static bool keepsThreads(ir::ConvertLayoutOp op) {
  return planRegisters(ir::getLinearLayout(llvm::cast<RankedTensorType>(op.getSource().getType())),
                       ir::getLinearLayout(op.getType()))
      .has_value();
}

/// The value whose registers `value` has: what a view is made from; null for what takes none.
Value RegisterAnalysis::root(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return {};
    if (llvm::isa<ir::WgmmaWaitOp>(op)) {
      value = op->getOperand(llvm::cast<OpResult>(value).getResultNumber());
      continue;
    }
    bool isView = llvm::isa<ir::SplatOp, ir::BroadcastOp, ir::ExpandDimsOp, ir::ReshapeOp,
                            ir::PermuteOp, ir::SplitOp, ir::HintOp, ir::OpaqueOp>(op);
    if (auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(op))
      isView = keepsThreads(convert);
    if (!isView)
      return value;
    value = op->getOperand(0);
  }
  // Arguments of the kernel lie in constant memory.
  if (llvm::isa<func::FuncOp>(value.getParentRegion()->getParentOp()))
    return {};
  return value;
}

int64_t numGroups(const LinearLayout &layout, const AxisInfo &info, bool equalOnly) {
  std::set<std::vector<int64_t>> groups;
  for (int number = 0; number < layout.inSize(InDim::Register); ++number) {
    std::vector<uint32_t> place = layout.coordinates(layout.apply(number, 0, 0, 0));
    std::vector<int64_t> group;
    for (auto [dim, coordinate] : llvm::enumerate(place)) {
      int64_t run = info.constancy[dim];
      if (!equalOnly)
        run = std::max(run, info.contiguity[dim]);
      group.push_back(coordinate / run);
    }
    groups.insert(group);
  }
  return static_cast<int64_t>(groups.size());
}

/// Elements of a thread, without those that it holds several times.
static int64_t distinctElements(RankedTensorType type) {
  LinearLayout layout = ir::getLinearLayout(type);
  int64_t elements = 1;
  for (uint32_t column : layout.columns(InDim::Register))
    elements *= column != 0 ? 2 : 1;
  return elements;
}

static int64_t wordsFor(int64_t elements, Type element) {
  return std::max<int64_t>(1, (elements * ir::elementBits(element) + 31) / 32);
}

/// What a loop puts into one of its variables or results; null for other values. Not the
/// initial value, which RegionFlow's carriedFrom gives too: the loop may begin with a tile
/// of its own registers and go on with a view.
static Value yieldedTo(Value value) {
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    auto loop = llvm::dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return {};
    return loop.getYieldedValues()[argument.getArgNumber() - 1];
  }
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    return loop.getYieldedValues()[llvm::cast<OpResult>(value).getResultNumber()];
  return {};
}

RegisterUse RegisterAnalysis::of(Value value) const {
  // A loop may carry a view of a smaller tile.
  if (Value yielded = yieldedTo(value))
    if (Value found = root(yielded); found && !yieldedTo(found) && found != yielded)
      return of(found);
  auto [found, isNew] = known.try_emplace(value);
  return isNew ? found->second = compute(value) : found->second;
}

RegisterUse RegisterAnalysis::compute(Value value) const {
  RegisterUse use;
  RankedTensorType type = tileType(value);
  if (!type) {
    Type scalar = value.getType();
    if (scalar.isIntOrFloat() || llvm::isa<ir::PointerType>(scalar))
      use.scalars = scalar.isInteger(1) ? 0 : wordsFor(1, scalar);
    return use;
  }
  Type element = type.getElementType();
  if (auto load = value.getDefiningOp<ir::SharedLoadOp>(); load && load.getInPieces()) {
    use.data = std::min(pieceWords, wordsFor(distinctElements(type), element));
  } else if (element.isInteger(1)) {
    use.addresses =
        (numGroups(ir::getLinearLayout(type), axes.get(value), /*equalOnly=*/true) + 31) / 32;
  } else if (llvm::isa<FloatType>(element)) {
    use.data = wordsFor(distinctElements(type), element);
  } else {
    AxisInfo info = axes.get(value);
    int64_t groups = numGroups(ir::getLinearLayout(type), info, /*equalOnly=*/false);
    bool isIndex = llvm::isa<ir::PointerType>(element) || groups < distinctElements(type);
    (isIndex ? use.addresses : use.data) = wordsFor(groups, element);
  }
  return use;
}

//===----------------------------------------------------------------------===//
// Live ranges
//===----------------------------------------------------------------------===//

RegisterUse RegisterAnalysis::sum(const Live &live) const {
  RegisterUse use;
  for (Value value : live)
    use += of(value);
  return use;
}

void RegisterAnalysis::note(Operation *op, const RegisterUse &use) {
  RegisterUse &noted = during[op];
  if (use.total() > noted.total())
    noted = use;
  if (use.total() > most.total()) {
    most = use;
    mostAt = op;
  }
}

void RegisterAnalysis::add(ValueRange values, Live &live) const {
  llvm::SmallVector<Value> open(values);
  // An op that takes a value twice is looked at once: there may be 2^40 ways back.
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Value found = root(open.pop_back_val());
    if (!found)
      continue;
    Operation *op = found.getDefiningOp();
    if (!op || !deferred.contains(op))
      live.insert(found);
    else if (seen.insert(op).second)
      llvm::append_range(open, op->getOperands());
  }
}

/// What threads wait at, and what has blocks of its own: arithmetic stays on its side.
static bool endsPart(Operation *op) { return op->getNumRegions() != 0 || scratchBytes(op) != 0; }

static bool hasOneUser(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUsers(), [&](Operation *user) {
    return user == *value.user_begin();
  });
}

/// Whether `op` is computed at its only user: it has no effects, both are in one part of a
/// block, and its result takes more registers than what it leaves.
bool RegisterAnalysis::isDeferred(Operation *op,
                                  const llvm::DenseMap<Operation *, int> &parts) const {
  if (op->getNumResults() != 1 || !ir::isElementwise(op) || !isMemoryEffectFree(op) ||
      !isTile(op->getResult(0)) || !hasOneUser(op->getResult(0)))
    return false;
  Operation *user = *op->user_begin();
  if (user->getBlock() != op->getBlock() || user->hasTrait<OpTrait::IsTerminator>() ||
      parts.lookup(user) != parts.lookup(op))
    return false;
  Live leaves;
  add(op->getOperands(), leaves);
  RegisterUse freed;
  for (Value value : leaves)
    if (hasOneUser(value))
      freed += of(value);
  return of(op->getResult(0)).total() > freed.total();
}

void RegisterAnalysis::findDeferred(Block &block) {
  llvm::DenseMap<Operation *, int> parts;
  int part = 0;
  for (Operation &op : block) {
    parts[&op] = part;
    part += endsPart(&op);
  }
  for (Operation &op : block)
    if (llvm::isa<ir::JoinOp, ir::ConcatOp>(op) || isDeferred(&op, parts))
      deferred.insert(&op);
}

/// Products hold their operands and their result at once.
static bool needsBoth(Operation *op) {
  return llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op);
}

/// Walks a block from its end, where `live` is alive; what is alive at its beginning.
RegisterAnalysis::Live RegisterAnalysis::visitBlock(Block &block, Live live) {
  RegisterUse use = sum(live);
  findDeferred(block);
  for (Operation &inner : llvm::reverse(block)) {
    Operation *op = &inner;
    if (deferred.contains(op))
      continue;
    bool isRegion = op->getNumRegions() != 0 && llvm::isa<scf::SCFDialect>(op->getDialect());
    note(op, use);
    if (needsBoth(op)) {
      Live both = live;
      add(op->getOperands(), both);
      // A tile that the product writes to is one of its operands.
      if (Value sums = root(op->getOperand(2)); sums && both.contains(op->getResult(0)))
        both.erase(op->getResult(0));
      note(op, sum(both));
    }
    for (Value result : op->getResults())
      if (live.erase(result))
        use -= of(result);
    if (isRegion) {
      live = visitRegions(op, std::move(live));
      use = sum(live);
      continue;
    }
    add(op->getOperands(), live);
    use = sum(live);
    note(op, use);
  }
  for (BlockArgument argument : block.getArguments())
    live.erase(argument);
  return live;
}

/// `live` is alive after `op`, beside its results.
RegisterAnalysis::Live RegisterAnalysis::visitRegions(Operation *op, Live live) {
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  bool isLoop = llvm::isa<LoopLikeOpInterface>(op);
  if (isLoop) {
    add(above.getArrayRef(), live);
    add(op->getOperands().take_front(llvm::isa<scf::ForOp>(op) ? 3 : 0), live);
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      live.insert(loop.getInductionVar());
  }
  Live before = live;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      Live found = visitBlock(block, live);
      before.insert(found.begin(), found.end());
    }
  if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
    before.erase(loop.getInductionVar());
  add(op->getOperands(), before);
  return before;
}

RegisterAnalysis::RegisterAnalysis(func::FuncOp function) : axes(function) {
  for (Block &block : function.getBody())
    visitBlock(block, {});
}

//===----------------------------------------------------------------------===//
// The assembler's report
//===----------------------------------------------------------------------===//

// Fitted to what nvJitLink 13.5 reports for 260 kernels of the benchmarks and lessons on
// sm_80 and sm_90a (tests/harness/resource_cases.py, 2026-11-23). Fitted to either half of
// the kernels, the median error of the other half was 8.3 % and 6.7 %; rounded values for
// all of them give 6.5 %.

/// Addresses of shared memory and values that the assembler keeps for latency.
static constexpr int64_t baseRegisters = 10;
/// For each register of an address there is half of one for what it is computed from.
static constexpr int64_t halvesPerAddress = 3;

int64_t forecastRegisters(const RegisterUse &use) {
  return use.data + use.addresses * halvesPerAddress / 2 + use.scalars + baseRegisters;
}

int64_t forecastRegisters(const RegisterAnalysis &analysis, ModuleOp module,
                          const TargetInfo &target) {
  return std::min(forecastRegisters(analysis.peak()), registerLimit(module, target));
}

int64_t registerLimit(ModuleOp module, const TargetInfo &target) {
  int64_t threads = int64_t(ir::numWarps(module)) << target.log2WarpSize;
  return std::min(target.maxRegistersPerThread, target.registersFor(threads));
}

/// Backward passes of attention carry 128 words and more, make as many beside them, and spill. With
/// one accumulator of 128 words there is room: Mamba's chunk state (128x128x32 and 64x128x32, 4
/// warps; H200, 2026-11-23) takes 0.79 and 0.82 of the time with loads ahead. So there is with 128
/// words carried and 160 in all: fastvideo's backward pass (64x32 scores, two accumulators of
/// 64x128) takes 240 registers and spills none. The numbers between are guesses.
static constexpr int64_t manyCarriedWords = 64, manyProductWords = 160;

bool leavesFewRegisters(int64_t carriedWords, int64_t productWords) {
  return carriedWords > manyCarriedWords && productWords > manyProductWords;
}

int64_t forecastBlocks(const TargetInfo &target, int64_t threads, int64_t words,
                       RegisterContext context, int64_t sharedBytes) {
  return target.residentBlocks(threads, words + registersBeside(context), sharedBytes);
}

int64_t registersBeside(RegisterContext context) {
  switch (context) {
  case RegisterContext::Row:
    // Layer norms and softmaxes of f32 rows: 24 (softmax, 8192 and 16384 columns, where a
    // thread holds 32 and 16 of them: 56 and 40 registers; sm_90a, 2026-11-23).
    return 24;
  case RegisterContext::Operands:
    // A guess.
    return 32;
  case RegisterContext::ChainWithTma:
    // Attention, forward, heads of 64 and 128: 26 to 38 (H200, November 2026). What is alive
    // before the loop has its rings is no estimate of it: 16, which would put loops in turn
    // that then take 160 to 200 registers and gain no block.
    return 32;
  case RegisterContext::ChainWithAddresses:
    // The same without TMA: 44 to 68.
    return 56;
  }
  llvm_unreachable("all contexts are handled");
}

//===----------------------------------------------------------------------===//
// Before layouts
//===----------------------------------------------------------------------===//

// ChooseNumWarps decides how many threads share a tile, on which layouts depend, so there is
// nothing to count registers in. Measured on an H200, November 2026, with layer norm and
// softmax rows of 1024 to 32768 columns in f16 and f32 over 1 to 32 warps: what a thread then
// holds fits 64 registers, so that two blocks of 16 warps share a multiprocessor and overlap.

int64_t bytesPerThread(TileUse use) {
  switch (use) {
  case TileUse::Elementwise:
    // Nothing waits for a neighbour where nothing is reduced: one access per thread (vector
    // add 4388 against 4360 GB/s).
    return 16;
  case TileUse::Row:
    // Narrow elements are computed on as 4 bytes: 32 of them.
    return 64;
  case TileUse::WideRow:
    // Or 8 wide ones.
    return 32;
  case TileUse::RowInLoop:
    // The loop holds results beside it, and blocks of more warps leave a shorter tail (sum of
    // 2^28 f32, 4567 against 4478 GB/s).
    return 32;
  case TileUse::RowAlone:
    // A block of 16 warps whose threads hold more has a multiprocessor to itself in any
    // case. (As loaded: NarrowLiveTiles keeps them so.)
    return 128;
  }
  llvm_unreachable("all uses are handled");
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int64_t freeSharedBytes() {
  // The share of a block of 4 warps of an H200, of which 16 fit by their threads, without the
  // kilobyte of the system. For every GPU: a guess. By the target's own number, kilobyte
  // counted (13.2 KB on sm_90a, 9.2 on sm_80, 7.3 on sm_89), 68 of 2582 kernels of the tests
  // would share bytes that they keep apart, and have more barriers. Which of the two is faster
  // is not measured; no kernel of the benchmarks would change (2026-11-24).
  return 14 * 1024;
}

// Without the kilobyte that the system takes of each block, and by what one block may have
// instead of what a multiprocessor has, as the measured kernels were planned:
// TargetInfo::blocksBySharedMemory gives a slot more to the rings of gradients of attention
// (heads of 64, TMA, 8 warps), and one less to those of products with weights of 4 bits
// (64x128x64, 4 warps; sm_90a, 2026-11-23). Which of the two is faster is not measured.
bool costsNoBlock(int64_t fewBytes, int64_t manyBytes, int64_t limit) {
  return manyBytes <= limit && limit / manyBytes == limit / fewBytes;
}

int64_t sharedBytesDuring(Operation *loop, llvm::function_ref<bool(ir::AllocSharedOp)> counts) {
  int64_t bytes = 0, scratch = 0;
  loop->getParentOfType<func::FuncOp>().walk([&](Operation *op) {
    bool isInside = loop->isAncestor(op);
    auto alloc = llvm::dyn_cast<ir::AllocSharedOp>(op);
    if (alloc && (isInside || isLiveIn(alloc, loop)) && counts(alloc))
      bytes += bufferBytes(alloc);
    if (isInside)
      scratch = std::max(scratch, scratchBytes(op));
  });
  return bytes + scratch;
}

int64_t sharedBytesApart(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](Operation *op) { bytes += bufferBytes(op) + scratchBytes(op); });
  return bytes;
}

} // namespace tilewright::passes
