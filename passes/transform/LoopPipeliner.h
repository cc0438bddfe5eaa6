//===- LoopPipeliner.h - One loop on its way -*- C++ -* -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the state and steps of PipelineLoops for one loop. PipelineLoops.cpp says what
// comes of a loop, and decides; PipelineRewrite.cpp puts rings and waits into its body;
// PipelineExpand.cpp schedules the body and expands it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PASSES_TRANSFORM_LOOPPIPELINER_H
#define TILEWRIGHT_PASSES_TRANSFORM_LOOPPIPELINER_H

#include "ir/dialect/TileDialect.h"
#include "passes/transform/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::passes {

/// Warps that work on one wgmma.
constexpr int warpgroupWarps = 4;
/// Room for the barriers of all rings, which count little beside the tiles.
constexpr int64_t maxMbarrierBytes = 512;

/// A load that becomes a copy.
struct AsyncLoad {
  mlir::Operation *load = nullptr;
  llvm::SmallVector<ir::AllocSharedOp, 1> allocs;
  ir::BufferType type;
  mlir::Value ring;
  /// Used by what runs an iteration behind (chained products).
  bool isLate = false;

  bool isTma() const { return llvm::isa<ir::DescriptorLoadOp>(load); }
};

/// The loads whose tiles are used at one stage, and the counters of their rings:
/// slot to fill, slot to use, phase of the latter's barrier.
struct RingGroup {
  bool isLate = false;
  bool hasTma = false, hasCpAsync = false;
  mlir::Value fillSlot, useSlot, usePhase, mbarrier;
  /// Where readers release slots: what they arrive at, and the phase to wait for
  /// before a slot is filled.
  mlir::Value released, fillPhase;
  /// What starts the copies, in order.
  llvm::SmallVector<mlir::Operation *> copies;
  /// Where products take turns: what they follow in the body.
  mlir::Operation *copyBehind = nullptr;
};

/// On ops of a body that is expanded: their stage (i32), and the variables of the
/// loop that their results become (array of i32). Clones keep both.
constexpr llvm::StringLiteral stageAttr = "tw.stage";
constexpr llvm::StringLiteral definesAttr = "tw.defines";

/// Ops of the body that `roots` are computed from, and the loop's variables among
/// them; the slice does not follow the variables round the loop.
struct Slice {
  llvm::SetVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::BlockArgument> variables;

  void add(mlir::scf::ForOp loop, mlir::Value value) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      if (argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
        variables.insert(argument);
      return;
    }
    mlir::Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody() || ops.contains(op))
      return;
    for (mlir::Value operand : op->getOperands())
      add(loop, operand);
    // What the regions of a branch read.
    llvm::SetVector<mlir::Value> captured;
    mlir::getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (mlir::Value value : captured)
      add(loop, value);
    // Behind its operands.
    ops.insert(op);
  }
};

class LoopPipeliner {
public:
  LoopPipeliner(mlir::scf::ForOp loop, const PassContext &context, int64_t otherSharedBytes)
      : loop(loop), context(context), otherSharedBytes(otherSharedBytes), rewriter(loop),
        numWarps(ir::numWarps(loop->getParentOfType<mlir::ModuleOp>())) {}

  /// Whether the loop was pipelined; failure where it is left half rewritten.
  mlir::FailureOr<bool> run();

private:
  mlir::scf::ForOp loop;
  const PassContext &context;
  int64_t otherSharedBytes;
  mlir::IRRewriter rewriter;
  int numWarps;

  llvm::SmallVector<AsyncLoad> loads;
  llvm::SmallVector<RingGroup, 2> groups;

  /// Iterations between a copy and its use, slots of each ring.
  int distance = 0, slots = 0;
  bool hasWgmma = false, hasTma = false, hasCpAsync = false;
  bool needsSecondBarrier = false;
  /// Loads that threads copy for themselves. Where there are no others they need not meet.
  llvm::SmallPtrSet<mlir::Operation *, 4> ownLoads;
  bool arePrivate = false;
  /// A load that happens iterations ahead, into so many registers.
  struct EarlyLoad {
    ir::LoadOp load;
    int64_t words;
  };
  llvm::SmallVector<EarlyLoad> earlyLoads;
  int earlyDistance = 1;
  /// What they need.
  llvm::SetVector<mlir::Operation *> early;
  /// Warps say at an mbarrier that they are done with a slot, instead of meeting.
  bool releasesSlots = false;
  mlir::Value isFirstWarp;

  /// Chained products: the first and the second one, and all that depends on the
  /// second one's accumulator. Null and empty for other loops.
  ir::WgmmaOp firstProduct, secondProduct;
  llvm::DenseSet<mlir::Operation *> late;
  /// The products of a chain that was taken apart.
  llvm::SmallVector<ir::WgmmaOp, 2> turns;

  /// What begins the new body, in order.
  llvm::SmallVector<mlir::Operation *> top;
  /// In front of the copies where the ring is short of a slot.
  llvm::SmallVector<mlir::Operation *> releases;
  /// Addresses and counters: stage of the copies they belong to.
  llvm::DenseMap<mlir::Operation *, unsigned> copyStages;

  bool isChained() const { return secondProduct != nullptr; }
  bool refuse(llvm::StringRef reason);

  //===--- 1. find -------------------------------------------------------===//
  /// MLIR's expander keeps the versions of a variable apart by the op in the body that
  /// defines the yielded value. Where no op of the body does (two accumulators change
  /// places, or a variable becomes a value from outside the loop), a cast is put there;
  /// dropNames removes the casts after the expansion.
  void nameCarried();
  void dropNames();
  static std::optional<int64_t> tripCount(mlir::scf::ForOp loop);
  bool decideDistance();
  /// Ops of the body that need a value of `roots` of the same iteration.
  llvm::SetVector<mlir::Operation *> usersOf(llvm::ArrayRef<mlir::Value> roots);
  /// Besides ops without effects: loads, which `predicated` masks, and what uses
  /// shared memory only.
  static bool canRunForNothing(mlir::Operation *op);
  /// Two products of which the second reads in registers what becomes of the
  /// first, and adds to a variable of the loop.
  void findChain();
  bool collectLoads();
  void considerLoad(mlir::Operation *op, bool isTransposed);
  /// Ops of the body that read the tile, themselves or through a view.
  llvm::SetVector<mlir::Operation *> readersOf(const AsyncLoad &load);
  /// What the second product reads is overwritten before that, unless its ring has slots
  /// for it: a tile that both products read, or that no copy brings.
  void unchainOverwrittenTiles();
  /// Whether a buffer stays as it is until the iteration after the one that made it.
  bool canReadLate(mlir::Value buffer);
  void refuseLoad(mlir::Operation *op, llvm::StringRef reason);
  /// A loop without products that asks for stages itself (tl.range).
  bool isStream();
  /// Loads that each thread can copy to shared memory for itself.
  llvm::SmallVector<ir::LoadOp> findOwnLoads();
  /// Bytes that rings can take.
  int64_t roomForRings() const;
  /// Sends what it loads through shared memory, as if products read it there.
  void stageStream();
  /// The same for loads from which products' operands are computed.
  void stageComputedOperands();
  void stage(ir::LoadOp load);
  bool canUseTma(const AsyncLoad &load);
  bool canUseCpAsync(const AsyncLoad &load);
  /// Whether the address can be computed iterations ahead: from the loop's
  /// counter and variables that only such arithmetic changes.
  bool addressIsEarly(const AsyncLoad &load);
  mlir::Value yieldedFor(mlir::BlockArgument variable);
  /// Pointer or descriptor; null where `op` is no access of global memory.
  static mlir::Value addressOf(mlir::Operation *op);
  bool mayMeetStore(const AsyncLoad &load);
  /// Takes a chain apart where that makes room for another block.
  void chooseTurns();
  /// Bytes of one slot of every ring.
  int64_t slotBytes() const;
  /// Blocks that a multiprocessor can be expected to hold when rings have `slots` and
  /// tiles take `words` of a thread.
  int64_t residentBlocks(int slots, int64_t words) const;

  //===--- 2. rewrite ----------------------------------------------------===//
  void chooseSlots();
  void makeRings();
  RingGroup &groupOf(const AsyncLoad &load);
  unsigned earlyStage() const {
    return useStage(/*isLate=*/false) - std::min(earlyDistance, distance);
  }
  unsigned useStage(bool isLate) const { return distance + (isChained() && isLate ? 1 : 0); }
  unsigned copyStage(const RingGroup &group) const;
  mlir::Value constantI32(int value) {
    return rewriter.create<mlir::arith::ConstantIntOp>(loop.getLoc(), value, 32);
  }

  void addCounters();
  /// Takes the group's variables from the front of `arguments` and adds what they
  /// become.
  void addCounters(RingGroup &group, llvm::ArrayRef<mlir::BlockArgument> &arguments,
                   llvm::SmallVector<mlir::Value> &next);
  mlir::Value flipIf(mlir::Value wraps, mlir::Value phase, unsigned stage);
  template <typename Op> Op staged(Op op, unsigned stage) {
    copyStages[op] = stage;
    return op;
  }
  /// The slot after `slot`; `wraps` becomes whether it is the first one again.
  mlir::Value advance(mlir::Value slot, unsigned stage, mlir::Value &wraps);
  template <typename Op, typename... Args> Op atTop(unsigned stage, Args &&...args) {
    auto op = staged(rewriter.create<Op>(loop.getLoc(), std::forward<Args>(args)...), stage);
    top.push_back(op);
    return op;
  }

  void rewriteBody();
  /// Copies with cp.async that are committed in an iteration.
  int numCommits() const;
  /// Waits for the tiles of an iteration at its beginning.
  void waitAtTop(unsigned stage);
  /// The first product is waited for where its result is used, with the second one
  /// behind it; the second one at the end of the body. Its left side stays in its
  /// registers until then: assemblers before 13.3 may reuse them too early
  /// otherwise.
  void makeChainAsync();
  /// Each product waits for its tiles, and is waited for at once, after which its slots
  /// may be filled again. What else could run before the wait, as masks, would only
  /// take registers from the next block.
  void makeTurnsAsync();
  /// Waits for the tiles of a group in front of the product that reads them, and says
  /// at the insertion point, behind it, that their slots are free.
  void takeTurn(RingGroup &group, ir::WgmmaOp product);
  /// Warps are done with the slot of a group: of the tiles of the first product
  /// behind the wait for it, unless somebody else reads them too, else at the end.
  void release(bool isLate);
  /// A product whose result only goes round the loop as its own accumulator need
  /// not be waited for; branches that read it (of a flattened loop, at the end of a
  /// tile) wait themselves.
  void makeProductsAsync();
  /// The block of a branch of the body that contains `op`.
  mlir::Block *blockOfBranch(mlir::Operation *op);
  /// Waits for all products at the insertion point; uses of `tile` that `accepts`
  /// takes read what comes of it.
  void waitFor(mlir::Value tile, llvm::function_ref<bool(mlir::OpOperand &)> accepts);
  /// Whether the next iteration leaves a product's operand alone: it becomes a slot of
  /// a ring, or stays the same. What the body stores itself is overwritten.
  bool outlivesIteration(mlir::Value buffer);
  /// The yield's operand, if the result and the accumulator are one variable of
  /// the loop that nothing else in it reads but branches behind the product. Not
  /// with a left side in registers, which would have to be kept round the loop,
  /// nor with packed accumulators, which are unpacked behind each product.
  mlir::OpOperand *onlyCarried(ir::WgmmaOp product);

  void endRings();
  /// An op that starts copies of `group`, or an address of theirs.
  template <typename Op> Op asCopy(RingGroup &group, Op op) {
    staged(op, copyStage(group));
    group.copies.push_back(op);
    return op;
  }
  void makeCopies();
  void makeCpAsync(RingGroup &group, const AsyncLoad &load, const mlir::IRMapping &addresses);
  void makeEarlyLoads();
  void makeTma(RingGroup &group, llvm::ArrayRef<AsyncLoad *> own, const mlir::IRMapping &addresses);
  /// What changes the variables that addresses are made from happens with the
  /// earliest copies that need it.
  void stageCarriedAddresses();

  //===--- 3. schedule and expand ----------------------------------------===//
  using Schedule = std::vector<std::pair<mlir::Operation *, unsigned>>;
  unsigned stageOf(mlir::Operation *op) const;
  /// All ops of the body in the order of the new one.
  std::vector<mlir::Operation *> bodyOrder();
  void makeSchedule(Schedule &schedule);
  static void maskLoad(mlir::RewriterBase &rewriter, ir::LoadOp load, mlir::Value predicate);
  /// Keeps an op from having effects where `predicate` is false.
  static mlir::Operation *predicated(mlir::RewriterBase &rewriter, mlir::Operation *op,
                                     mlir::Value predicate);
  mlir::LogicalResult expand();

  /// Per variable what the prologue makes of it, iteration by iteration.
  llvm::DenseMap<int, llvm::SmallVector<mlir::Value>> versions;
  void notePrologue(mlir::Operation *op);
  /// The expander lets the prologue change variables however few iterations there
  /// are. Where one is read behind the loop, it enters it as it is after so many.
  void selectVersions(mlir::ValueRange inits, mlir::Value lower, mlir::Value upper,
                      mlir::Value step);
  /// Where a loop may not run at all, its initial accumulators would meet the
  /// products in flight at the wait behind it, and the assembler would wait for
  /// each product instead. So the loop and the waits stand in a branch.
  void guardLoop();

  //===--- chained products: the last iteration ----------------------------===//
  /// The expanded loop of n iterations does the first part of iteration k + 1 in
  /// its iteration k, the last time for nothing. It is shortened to n - 1, and the
  /// second part of the last iteration follows it, if there is one at all.
  void peelLate();
  /// lower + (upper - lower - 1) / step * step.
  void mapLastIteration(mlir::IRMapping &mapping, mlir::Value lower, mlir::Value upper,
                        mlir::Value step);
  /// The second product reads its left side in registers until the wait at the end
  /// of the body, where the next one's has been computed. Assemblers give both the
  /// same registers, and then wait in front of whatever writes them: in front of the
  /// arithmetic that should run meanwhile. If that ends in a cast, the wide tile is
  /// in other registers anyway, and is cast behind the wait.
  void narrowBehindWait();
  mlir::Operation *lastWait();
  void cloneWithOperands(mlir::Operation *op, mlir::IRMapping &mapping);
};

} // namespace tilewright::passes

#endif // TILEWRIGHT_PASSES_TRANSFORM_LOOPPIPELINER_H
