//===- PrefetchOperands.cpp - Fragments of the next iteration -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: decides when the operands of products by mma.sync are read from shared memory into
// registers. Pipelined loops read those of iteration k + 1 while the product of k runs; where
// the registers do not hold them beside everything else, they are read piece by piece.
//
// Why here: after PipelineLoops, whose rings it reads one slot further.
//
// How: the loop
//
//     wait for the copies of k; barrier       prologue: wait for those of 0; barrier
//     start copies                                      read the operands of 0
//     read the operands of k            =>    wait for the copies of k + 1; barrier
//     product of k                            product of k
//                                             read the operands of k + 1
//                                             start copies
//
// The ring stays as it is: the slot that the copies go to was read an iteration
// before the barrier in both. What the last iteration reads is not used. Copies of one
// iteration less are under way, so a loop needs three stages of them. The
// copies come last, since the assembler moves no read of shared memory above a copy into
// it: so each read goes where the product has used its registers for the last time, and
// they stand evenly among the mma (8192^3 fp16 with 128x128x32 tiles on an H200: 384
// TFLOP/s, 0.575 of cuBLAS, where it was 0.524).
//
// Piece by piece (tw.shared_load {inPieces}): where what is alive at a product is too much.
// LLVM and the assembler keep about the order in which loads and products are written, so
// code generation puts each ldmatrix right before the first mma that needs it. Not done
// elsewhere: an assembler that has registers to spare makes better use of loads that stand
// together. There an operand that stays the same through the loop, as attention's queries,
// is read in every iteration instead of being kept in registers, where its tile in shared
// memory costs no resident block, or most of it would be spilled. And operands are
// converted after the products that do not need them.
//
// Not handled: operands that would leave no registers for the sums; more than one
// product; copies by TMA, which go with wgmma.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Rings.h"
#include "passes/Passes.h"
#include "passes/analysis/BufferInfo.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/Resources.h"

#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_PREFETCHOPERANDS
#include "passes/Passes.h.inc"

namespace {

/// Registers of a thread for sums and operands.
int64_t registerBudget(ModuleOp module, const TargetInfo &target) {
  return registerLimit(module, target) - registersBeside(RegisterContext::Operands);
}

/// A loop of the form above.
struct PrefetchLoop {
  scf::ForOp loop;
  ir::AsyncWaitOp wait;
  ir::DotOp dot;
  int commits = 0;
  /// The variable that counts the slots of use.
  BlockArgument slot;
  llvm::SmallVector<ir::SharedLoadOp, 2> loads;

  explicit PrefetchLoop(scf::ForOp loop) : loop(loop) {}

  //===--- legality ------------------------------------------------------===//
  bool isLegal() {
    auto kind = loop->getAttrOfType<StringAttr>(ir::loopScheduleAttr);
    if (!kind || kind.getValue() != "plain")
      return false;
    // The schedule has put one wait and one barrier there; others are the program's.
    wait = theOnly<ir::AsyncWaitOp>();
    dot = theOnly<ir::DotOp>();
    commits = static_cast<int>(llvm::range_size(loop.getBody()->getOps<ir::AsyncCommitOp>()));
    if (!wait || !theOnly<ir::BarrierOp>() || !dot || dot.getUnit() != ir::MatrixUnit::mma ||
        commits == 0 || hasObstacle())
      return false;
    for (Value operand : {dot.getA(), dot.getB()})
      if (auto load = operand.getDefiningOp<ir::SharedLoadOp>())
        if (!collectLoad(load))
          return false;
    return !loads.empty() && onlyLoadsReadTheSlot();
  }

  //===--- profitability -------------------------------------------------===//
  bool isProfitable(int64_t budget) {
    bool hasCopiesToSpare = static_cast<int>(wait.getPending()) >= 2 * commits;
    return hasCopiesToSpare && wordsPerThread(tileType(dot.getAcc())) +
                                       wordsPerThread(tileType(dot.getA())) +
                                       wordsPerThread(tileType(dot.getB())) <=
                                   budget;
  }

private:
  /// The op of this kind in the body; null where there is none, or another one.
  template <typename Op> Op theOnly() {
    auto ops = loop.getBody()->getOps<Op>();
    return llvm::hasSingleElement(ops) ? *ops.begin() : Op();
  }

  /// Whether something accesses shared memory besides the operands, or waits for it.
  bool hasObstacle() {
    return loop.getBody()
        ->walk([](Operation *op) {
          bool storesToOthers = llvm::isa<ir::SharedStoreOp>(op) && !op->hasAttr(ir::fillsRingAttr);
          return storesToOthers || llvm::isa<ir::MbarrierWaitOp, ir::WgmmaOp, ir::AllocSharedOp,
                                             ir::SharedDotOp, LoopLikeOpInterface>(op)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The slot of the ring that `load` reads, looking through views.
  static ir::BufferSlotOp slotOf(ir::SharedLoadOp load) {
    Value buffer = load.getBuffer();
    while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
      buffer = view.getSource();
    return buffer.getDefiningOp<ir::BufferSlotOp>();
  }

  bool collectLoad(ir::SharedLoadOp load) {
    ir::BufferSlotOp ringSlot = slotOf(load);
    if (load->getBlock() != loop.getBody() || !ringSlot ||
        !loop.isDefinedOutsideOfLoop(ringSlot.getRing()))
      return !ringSlot || ringSlot->getBlock() != loop.getBody();
    auto index = llvm::dyn_cast<BlockArgument>(ringSlot.getIndex());
    if (!index || index.getOwner() != loop.getBody() || index == loop.getInductionVar() ||
        (slot && slot != index))
      return false;
    slot = index;
    loads.push_back(load);
    return true;
  }

  /// No other op may depend on when the slot is read.
  bool onlyLoadsReadTheSlot() {
    llvm::SmallVector<Value> buffers;
    for (Operation *user : slot.getUsers())
      if (llvm::isa<ir::BufferSlotOp>(user))
        buffers.push_back(user->getResult(0));
    for (size_t next = 0; next < buffers.size(); ++next)
      for (Operation *user : buffers[next].getUsers()) {
        if (llvm::isa<ir::BufferPermuteOp>(user))
          buffers.push_back(user->getResult(0));
        else if (!llvm::is_contained(loads, llvm::dyn_cast<ir::SharedLoadOp>(user)))
          return false;
      }
    return true;
  }
};

/// Reads what `load` reads with `slot` as the index of the ring.
Value readSlot(RewriterBase &rewriter, ir::SharedLoadOp load, BlockArgument variable, Value slot) {
  llvm::SmallVector<Operation *> chain = {load};
  for (Operation *op = load.getBuffer().getDefiningOp(); op;
       op = llvm::isa<ir::BufferPermuteOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr)
    chain.push_back(op);
  IRMapping mapping;
  mapping.map(variable, slot);
  Operation *copy = nullptr;
  for (Operation *op : llvm::reverse(chain))
    copy = rewriter.clone(*op, mapping);
  return copy->getResult(0);
}

/// After everything else, nearer to where the program had them.
void moveCopies(scf::ForOp loop) {
  llvm::SmallVector<Operation *> copies;
  for (Operation &op : loop.getBody()->without_terminator())
    if (op.hasAttr(ir::fillsRingAttr))
      copies.push_back(&op);
  for (Operation *op : copies)
    op->moveBefore(loop.getBody()->getTerminator());
}

void rotate(PrefetchLoop &found) {
  scf::ForOp loop = found.loop;
  IRRewriter rewriter(loop);
  unsigned variable = found.slot.getArgNumber() - 1;
  // 1. The operands of the first iteration.
  rewriter.create<ir::AsyncWaitOp>(loop.getLoc(), found.wait.getPending());
  rewriter.create<ir::BarrierOp>(loop.getLoc());
  llvm::SmallVector<Value> first;
  for (ir::SharedLoadOp load : found.loads)
    first.push_back(readSlot(rewriter, load, found.slot, loop.getInitArgs()[variable]));
  // 2. Those of the next one, and its copies.
  found.wait.setPending(found.wait.getPending() - found.commits);
  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  Value nextSlot = loop.getBody()->getTerminator()->getOperand(variable);
  llvm::SmallVector<Value> next;
  for (ir::SharedLoadOp load : found.loads)
    next.push_back(readSlot(rewriter, load, found.slot, nextSlot));
  moveCopies(loop);
  // 3. Carried from one to the other.
  rewriter.setInsertionPoint(loop);
  (void)loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
        for (auto [load, argument] : llvm::zip(found.loads, arguments)) {
          Operation *op = load.getBuffer().getDefiningOp();
          rewriter.replaceOp(load, argument);
          while (op && isOpTriviallyDead(op)) {
            Operation *source = op->getOperand(0).getDefiningOp();
            rewriter.eraseOp(op);
            op = source;
          }
        }
        return next;
      });
}

/// Whether each piece of the operand can be read just before it is needed.
bool canReadInPieces(ir::DotOp dot, Value operand) {
  auto load = operand.getDefiningOp<ir::SharedLoadOp>();
  return load && load->hasOneUse() && load->getBlock() == dot->getBlock();
}

/// Registers of a thread for the tiles that live where `dot` starts and are not spared.
/// Addresses and masks are not counted: most of their elements share a register or
/// an immediate.
int64_t liveWords(ir::DotOp dot, const Liveness &liveness,
                  llvm::function_ref<bool(Value)> isSpared) {
  int64_t words = 0;
  for (Value value : liveness.getLiveness(dot->getBlock())->currentlyLiveValues(dot)) {
    RankedTensorType type = tileType(value);
    bool isOperand = llvm::is_contained(dot->getOperands(), value);
    if (value != dot.getResult() && type && !isSpared(value) &&
        (isOperand || llvm::isa<FloatType>(type.getElementType())))
      words += wordsPerThread(type);
  }
  return words;
}

int64_t allWords(ir::DotOp dot, const Liveness &liveness) {
  return liveWords(dot, liveness, [](Value) { return false; });
}

/// Those that reading in pieces does not spare. Tiles of one value take none, but the sums
/// that start as one do.
int64_t remainingWords(ir::DotOp dot, const Liveness &liveness) {
  auto isOneValue = [](Value value) {
    return llvm::isa_and_nonnull<arith::ConstantOp, ir::SplatOp>(value.getDefiningOp());
  };
  int64_t words = liveWords(dot, liveness, [&](Value value) {
    return isOneValue(value) || (value == dot.getA() && canReadInPieces(dot, value)) ||
           (value == dot.getB() && canReadInPieces(dot, value));
  });
  return words + (isOneValue(dot.getAcc()) ? wordsPerThread(tileType(dot.getResult())) : 0);
}

/// The tile in shared memory from which `load` reads; null where it is a ring's slot.
ir::AllocSharedOp tileOf(ir::SharedLoadOp load) {
  Value buffer = load.getBuffer();
  while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
    buffer = view.getSource();
  auto alloc = buffer.getDefiningOp<ir::AllocSharedOp>();
  return alloc && alloc.getInit() ? alloc : ir::AllocSharedOp();
}

/// Reads operands that are read outside of the loop around `dot` right before it instead,
/// where registers run out even if the others are read in pieces: `missing` of them.
void readInLoop(ir::DotOp dot, int64_t missing, int64_t budget, const TargetInfo &target) {
  auto loop = llvm::dyn_cast<LoopLikeOpInterface>(dot->getParentOp());
  if (!loop)
    return;
  int64_t bytes = sharedBytesDuring(loop, [](ir::AllocSharedOp) { return true; });
  int64_t threads = int64_t(ir::numWarps(dot->getParentOfType<ModuleOp>())) << target.log2WarpSize;
  for (OpOperand &operand : dot->getOpOperands()) {
    auto load = operand.get().getDefiningOp<ir::SharedLoadOp>();
    if (!load || load.getIsOwn() || !loop.isDefinedOutsideOfLoop(load.getResult()))
      continue;
    ir::AllocSharedOp tile = tileOf(load);
    if (!tile)
      continue;
    int64_t more = bytes + (isLiveIn(tile, loop) ? 0 : tile.getType().slotBytes());
    // One that would be spilled for the most part is read from memory either way.
    bool wouldSpill = 2 * missing >= wordsPerThread(tileType(load));
    if (more > target.maxSharedBytesPerBlock ||
        (!wouldSpill && target.residentBlocks(threads, budget, more) <
                            target.residentBlocks(threads, budget, bytes)))
      continue;
    bytes = more;
    OpBuilder builder(dot);
    operand.set(builder.clone(*load)->getResult(0));
    if (load->use_empty())
      load->erase();
  }
}

/// Moves a conversion of an operand past other products, beside whose operands it would
/// wait, to `dot`, if no op needs it before.
void convertLate(ir::DotOp dot) {
  for (Value operand : {dot.getA(), dot.getB()}) {
    auto convert = operand.getDefiningOp<ir::ConvertLayoutOp>();
    if (!convert || convert->getBlock() != dot->getBlock() ||
        wordsPerThread(tileType(convert.getSource())) > wordsPerThread(tileType(operand)) ||
        llvm::any_of(convert->getUsers(), [&](Operation *user) {
          Operation *place = dot->getBlock()->findAncestorOpInBlock(*user);
          return place != dot && place->isBeforeInBlock(dot);
        }))
      continue;
    auto range = llvm::make_range(std::next(Block::iterator(convert)), Block::iterator(dot));
    if (llvm::none_of(range, llvm::IsaPred<ir::DotOp>))
      continue;
    convert->moveBefore(dot);
  }
}

/// Marks the operands for code generation.
void readInPieces(ir::DotOp dot) {
  for (Value operand : {dot.getA(), dot.getB()})
    if (canReadInPieces(dot, operand))
      llvm::cast<ir::SharedLoadOp>(operand.getDefiningOp()).setInPieces(true);
}

class PrefetchOperandsPass : public impl::PrefetchOperandsBase<PrefetchOperandsPass> {
public:
  explicit PrefetchOperandsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::SmallVector<PrefetchLoop> loops;
    budget = registerBudget(getOperation(), context.target);
    getOperation().walk([&](scf::ForOp loop) {
      PrefetchLoop found(loop);
      if (!found.isLegal())
        return;
      bool isProfitable = found.isProfitable(budget);
      context.remark(found.dot, {"prefetch",
                                 isProfitable,
                                 {},
                                 {{"operands", int64_t(found.loads.size())}},
                                 isProfitable ? "the next iteration's operands go to registers"
                                              : "too few registers or stages"});
      if (isProfitable)
        loops.push_back(found);
      else
        ++numRefused;
    });
    for (PrefetchLoop &found : loops)
      rotate(found);
    numPrefetched += loops.size();
    for (auto function : getOperation().getOps<func::FuncOp>())
      readInPieces(function);
  }

private:
  void readInPieces(func::FuncOp function) {
    llvm::SmallVector<ir::DotOp> products;
    function.walk([&](ir::DotOp dot) {
      if (dot.getUnit() == ir::MatrixUnit::mma)
        products.push_back(dot);
    });
    if (products.empty())
      return;
    // The assembler moves loads within a block: all of a block's are held back.
    // How many words more than the registers hold.
    auto blocksOver = [&](llvm::function_ref<int64_t(ir::DotOp, const Liveness &)> wordsAt) {
      Liveness liveness(function);
      llvm::SmallDenseMap<Block *, int64_t> missing;
      for (ir::DotOp dot : products)
        if (int64_t words = wordsAt(dot, liveness) - budget; words > 0)
          missing[dot->getBlock()] = std::max(missing.lookup(dot->getBlock()), words);
      return missing;
    };
    llvm::SmallDenseMap<Block *, int64_t> fullBlocks = blocksOver(allWords);
    for (ir::DotOp dot : products)
      if (fullBlocks.contains(dot->getBlock()))
        convertLate(dot);
    llvm::SmallDenseMap<Block *, int64_t> overfullBlocks = blocksOver(remainingWords);
    for (ir::DotOp dot : products) {
      if (int64_t missing = overfullBlocks.lookup(dot->getBlock()))
        readInLoop(dot, missing, budget, context.target);
      if (fullBlocks.contains(dot->getBlock()))
        passes::readInPieces(dot);
    }
  }

  PassContext context;
  int64_t budget = 0;
};

} // namespace

std::unique_ptr<Pass> createPrefetchOperands(PassContext context) {
  return std::make_unique<PrefetchOperandsPass>(std::move(context));
}

} // namespace tilewright::passes
