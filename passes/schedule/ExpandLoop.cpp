//===- ExpandLoop.cpp - Prologue, loop and epilogue -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: expands a staged body with MLIR's LoopPipelining; then mends what the expander
// leaves: results of loops that may not run, and the last iteration of chained products.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopSchedule.h"

#include "passes/schedule/CarriedValues.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

/// On ops of a body that is expanded: their stage (i32), and the variables of the loop
/// that their results become (array of i32). Clones keep both until the end.
static constexpr llvm::StringLiteral stageAttr = "tw.stage";
static constexpr llvm::StringLiteral definesAttr = "tw.defines";

//===----------------------------------------------------------------------===//
// Iterations that do not exist
//===----------------------------------------------------------------------===//

static void maskLoad(RewriterBase &rewriter, ir::LoadOp load, Value predicate) {
  Value mask = predicate;
  if (auto tile = llvm::dyn_cast<RankedTensorType>(load.getType()))
    mask = rewriter.create<ir::SplatOp>(load.getLoc(), tile.clone(rewriter.getI1Type()), predicate);
  if (load.getMask())
    mask = rewriter.create<arith::AndIOp>(load.getLoc(), load.getMask(), mask);
  load.getMaskMutable().assign(mask);
}

/// Keeps an op from having effects where `predicate` is false.
static Operation *predicated(RewriterBase &rewriter, Operation *op, Value predicate) {
  rewriter.setInsertionPoint(op);
  if (auto branch = llvm::dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() == 0) {
    branch.getConditionMutable().assign(
        rewriter.create<arith::AndIOp>(op->getLoc(), branch.getCondition(), predicate));
    return op;
  }
  if (auto load = llvm::dyn_cast<ir::LoadOp>(op)) {
    maskLoad(rewriter, load, predicate);
    return op;
  }
  if (!llvm::isa<ir::AsyncCopyOp, ir::MbarrierWaitOp, ir::MbarrierArriveOp>(op))
    return op;
  auto branch = rewriter.create<scf::IfOp>(op->getLoc(), predicate, /*withElseRegion=*/false);
  if (Attribute fills = op->getAttr(ir::fillsRingAttr))
    branch->setAttr(ir::fillsRingAttr, fills);
  rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
  return branch;
}

namespace {

class LoopExpander {
public:
  LoopExpander(const StagedBody &body, const LoopSchedule &schedule)
      : loop(body.loop), body(body), schedule(schedule), rewriter(body.loop) {}

  FailureOr<scf::ForOp> run() {
    Range range = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    llvm::SmallVector<Value> inits(loop.getInitArgs());
    auto function = loop->getParentOfType<func::FuncOp>();
    Location loc = loop.getLoc();
    markStages();
    if (failed(pipeline()))
      return emitError(loc) << "[internal] the schedule of a loop could not be expanded";
    if (schedule.iterationsFilledBefore())
      eraseFills();
    selectVersions(inits, range);
    if (schedule.isChained()) {
      peelLast();
      narrowAfterWait();
    } else {
      guardLoop();
    }
    function.walk([](Operation *op) {
      op->removeAttr(stageAttr);
      op->removeAttr(definesAttr);
    });
    removeCarryingOps(rewriter, function);
    loop->setAttr(ir::loopScheduleAttr, rewriter.getStringAttr(nameOf(schedule.kind)));
    return loop;
  }

private:
  struct Range {
    Value lower, upper, step;
  };

  scf::ForOp loop;
  const StagedBody &body;
  const LoopSchedule &schedule;
  IRRewriter rewriter;
  /// Per variable what the prologue makes of it, iteration by iteration.
  llvm::DenseMap<int, llvm::SmallVector<Value>> versions;

  //===--- the expansion -------------------------------------------------===//

  void markStages() {
    for (auto [op, stage] : body.ops)
      op->setAttr(stageAttr, rewriter.getI32IntegerAttr(static_cast<int32_t>(stage)));
    // A variable that is read after the loop needs all of its versions.
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

  LogicalResult pipeline() {
    using Part = scf::PipeliningOption::PipelinerPart;
    scf::PipeliningOption options;
    options.getScheduleFn = [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &ops) {
      ops = body.ops;
    };
    options.peelEpilogue = false;
    options.supportDynamicLoops = true;
    options.predicateFn = predicated;
    options.annotateFn = [&](Operation *op, Part part, unsigned) {
      if (part == Part::Prologue)
        notePrologue(op);
    };
    bool modified = false;
    rewriter.setInsertionPoint(loop);
    FailureOr<scf::ForOp> result = scf::pipelineForLoop(rewriter, loop, options, &modified);
    if (failed(result))
      return failure();
    loop = *result;
    return success();
  }

  void notePrologue(Operation *op) {
    // The first product of a chain is alone there.
    if (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(op))
      wait.setPending(0);
    if (auto defines = op->getAttrOfType<DenseI32ArrayAttr>(definesAttr))
      for (int64_t index = 0; index < defines.size(); index += 2)
        versions[defines[index]].push_back(op->getResult(defines[index + 1]));
  }

  /// All copies are in the prologue; the loop has only those of iterations that do not exist.
  void eraseFills() {
    for (auto branch : llvm::make_early_inc_range(loop.getBody()->getOps<scf::IfOp>()))
      if (branch->hasAttr(ir::fillsRingAttr))
        rewriter.eraseOp(branch);
  }

  //===--- results of loops that may not run -----------------------------===//

  /// The expander lets the prologue change variables however few iterations there are. A
  /// variable that is read after the loop enters it as it is after so many.
  void selectVersions(ValueRange inits, const Range &range) {
    Location loc = loop.getLoc();
    for (auto &[variable, values] : versions) {
      rewriter.setInsertionPoint(loop);
      Value selected = inits[variable], first = range.lower;
      for (Value version : values) {
        Value runs =
            rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, first, range.upper);
        selected = rewriter.create<arith::SelectOp>(loc, runs, version, selected);
        first = rewriter.create<arith::AddIOp>(loc, first, range.step);
      }
      loop.getInitArgsMutable()[variable].set(selected);
    }
  }

  /// Where a loop may not run at all, its initial accumulators would meet the products in
  /// flight at the wait after it, and the assembler would wait for each product instead.
  /// So the loop and the waits go into a branch.
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

  //===--- chained products: the last iteration --------------------------===//

  /// The expanded loop of n iterations does the first part of iteration k + 1 in its
  /// iteration k, the last time for an iteration that does not exist. It is shortened to
  /// n - 1, and the second part of the last iteration follows it, if there is one at all.
  void peelLast() {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    Range range = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    loop.getUpperBoundMutable().assign(
        rewriter.create<arith::SubIOp>(loc, range.upper, range.step));
    Value runs =
        rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, range.lower, range.upper);
    rewriter.setInsertionPointAfter(loop);
    auto branch = rewriter.create<scf::IfOp>(loc, loop.getResultTypes(), runs,
                                             /*withElseRegion=*/true);
    for (auto [result, last] : llvm::zip(loop.getResults(), branch.getResults()))
      rewriter.replaceAllUsesWith(result, last);
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    rewriter.create<scf::YieldOp>(loc, loop.getResults());

    rewriter.setInsertionPointToEnd(branch.thenBlock());
    if (schedule.hasCpAsync()) {
      rewriter.create<ir::AsyncWaitOp>(loc, /*pending=*/0);
      rewriter.create<ir::BarrierOp>(loc);
    }
    IRMapping mapping;
    for (auto [argument, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      mapping.map(argument, result);
    mapLastIteration(mapping, range);
    repeatLaterOps(mapping);
    llvm::SmallVector<Value> yielded;
    for (auto [value, result] :
         llvm::zip(loop.getBody()->getTerminator()->getOperands(), loop.getResults()))
      yielded.push_back(mapping.contains(value) ? mapping.lookup(value) : result);
    rewriter.create<scf::YieldOp>(loc, yielded);
  }

  void repeatLaterOps(IRMapping &mapping) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto stage = op.getAttrOfType<IntegerAttr>(stageAttr);
      // No copy fills a slot any more.
      if (stage && stage.getInt() == schedule.bodyStage() + 1 &&
          !llvm::isa<ir::MbarrierArriveOp>(op))
        cloneWithOperands(&op, mapping);
    }
  }

  /// lower + (upper - lower - 1) / step * step.
  void mapLastIteration(IRMapping &mapping, const Range &range) {
    if (loop.getInductionVar().use_empty())
      return;
    Location loc = loop.getLoc();
    Value one =
        rewriter.create<arith::ConstantOp>(loc, rewriter.getIntegerAttr(range.lower.getType(), 1));
    Value difference = rewriter.create<arith::SubIOp>(loc, range.upper, range.lower);
    Value span = rewriter.create<arith::SubIOp>(loc, difference, one);
    Value steps = rewriter.create<arith::DivSIOp>(loc, span, range.step);
    Value distance = rewriter.create<arith::MulIOp>(loc, steps, range.step);
    mapping.map(loop.getInductionVar(), rewriter.create<arith::AddIOp>(loc, range.lower, distance));
  }

  void cloneWithOperands(Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def->getBlock() == loop.getBody() && !mapping.contains(operand))
        cloneWithOperands(def, mapping);
    rewriter.clone(*op, mapping);
  }

  /// The second product reads its left side in registers until the wait at the end of the
  /// body, where the next left side has been computed. Assemblers give both the same
  /// registers, and then wait before whatever writes them: before the arithmetic that
  /// should run meanwhile. If that ends in a cast, the wide tile is in other registers
  /// anyway, and is cast after the wait.
  void narrowAfterWait() {
    ir::WgmmaWaitOp wait;
    for (auto found : loop.getBody()->getOps<ir::WgmmaWaitOp>())
      wait = found;
    if (!wait || wait.getTiles().size() != 2)
      return;
    auto left = llvm::dyn_cast<BlockArgument>(wait.getTiles()[1]);
    if (!left || left.getOwner() != loop.getBody())
      return;
    Operation *cast = yieldedFor(left).getDefiningOp();
    if (!llvm::isa_and_nonnull<arith::TruncFOp, ir::FloatCastOp>(cast) || !cast->hasOneUse() ||
        cast->getBlock() != loop.getBody() || !cast->isBeforeInBlock(wait))
      return;
    llvm::SmallVector<Value> tiles(wait.getTiles());
    tiles.push_back(cast->getOperand(0));
    rewriter.setInsertionPoint(wait);
    auto later = rewriter.create<ir::WgmmaWaitOp>(wait.getLoc(), TypeRange(ValueRange(tiles)),
                                                  tiles, wait.getPending(), /*settled=*/1);
    rewriter.replaceOp(wait, later.getResults().drop_back());
    rewriter.moveOpAfter(cast, later);
    cast->setOperand(0, later.getResults().back());
  }
};

} // namespace

FailureOr<scf::ForOp> expand(const StagedBody &body, const LoopSchedule &schedule) {
  return LoopExpander(body, schedule).run();
}

} // namespace tilewright::passes
