//===- PipelineExpand.cpp - Schedule and expansion of a body --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the third step of PipelineLoops. Orders the rewritten body, gives each op its
// stage, and expands it with MLIR's LoopPipelining; then mends what the expander leaves:
// results of loops that may not run, and the last iteration of chained products.
//
//===----------------------------------------------------------------------===//

#include "passes/transform/LoopPipeliner.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

unsigned LoopPipeliner::stageOf(Operation *op) const {
  if (auto found = copyStages.find(op); found != copyStages.end())
    return found->second;
  return useStage(late.contains(op));
}

std::vector<Operation *> LoopPipeliner::bodyOrder() {
  std::vector<Operation *> order(top.begin(), top.end());
  order.insert(order.end(), early.begin(), early.end());
  llvm::SmallPtrSet<Operation *, 16> placed(order.begin(), order.end());
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
  if (!turns.empty()) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (placed.insert(&op).second)
        order.push_back(&op);
      for (const RingGroup &group : groups)
        if (&op == group.copyBehind)
          order.insert(order.end(), group.copies.begin(), group.copies.end());
    }
    return order;
  }
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

void LoopPipeliner::makeSchedule(Schedule &schedule) {
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

void LoopPipeliner::maskLoad(RewriterBase &rewriter, ir::LoadOp load, Value predicate) {
  Value mask = predicate;
  if (auto tile = llvm::dyn_cast<RankedTensorType>(load.getType()))
    mask = rewriter.create<ir::SplatOp>(load.getLoc(), tile.clone(rewriter.getI1Type()), predicate);
  if (load.getMask())
    mask = rewriter.create<arith::AndIOp>(load.getLoc(), load.getMask(), mask);
  load.getMaskMutable().assign(mask);
}

Operation *LoopPipeliner::predicated(RewriterBase &rewriter, Operation *op, Value predicate) {
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

LogicalResult LoopPipeliner::expand() {
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
  int64_t bytes = slotBytes() * slots;
  ModuleOp module = loop->getParentOfType<ModuleOp>();
  bool modified = false;
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> result = scf::pipelineForLoop(rewriter, loop, options, &modified);
  if (failed(result))
    return emitError(loc) << "[internal] the schedule of a loop could not be expanded";
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
                            (isChained()     ? ", chained products overlap"
                             : turns.empty() ? ""
                                             : ", chained products in turn")});
  return success();
}

void LoopPipeliner::notePrologue(Operation *op) {
  // The first product of a chain is alone there.
  if (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(op))
    wait.setPending(0);
  if (auto defines = op->getAttrOfType<DenseI32ArrayAttr>(definesAttr))
    for (int64_t index = 0; index < defines.size(); index += 2)
      versions[defines[index]].push_back(op->getResult(defines[index + 1]));
}

void LoopPipeliner::selectVersions(ValueRange inits, Value lower, Value upper, Value step) {
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

void LoopPipeliner::guardLoop() {
  llvm::SmallVector<Operation *> moved = {loop};
  while (auto wait = llvm::dyn_cast<ir::WgmmaWaitOp>(moved.back()->getNextNode()))
    moved.push_back(wait);
  if (moved.size() == 1)
    return;
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value runs = rewriter.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                              loop.getUpperBound());
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

void LoopPipeliner::peelLate() {
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

void LoopPipeliner::mapLastIteration(IRMapping &mapping, Value lower, Value upper, Value step) {
  if (loop.getInductionVar().use_empty())
    return;
  Location loc = loop.getLoc();
  Value one = rewriter.create<arith::ConstantOp>(loc, rewriter.getIntegerAttr(lower.getType(), 1));
  Value span =
      rewriter.create<arith::SubIOp>(loc, rewriter.create<arith::SubIOp>(loc, upper, lower), one);
  Value steps = rewriter.create<arith::DivSIOp>(loc, span, step);
  mapping.map(
      loop.getInductionVar(),
      rewriter.create<arith::AddIOp>(loc, lower, rewriter.create<arith::MulIOp>(loc, steps, step)));
}

void LoopPipeliner::narrowBehindWait() {
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
  auto later = rewriter.create<ir::WgmmaWaitOp>(wait.getLoc(), TypeRange(ValueRange(tiles)), tiles,
                                                wait.getPending(), /*settled=*/1);
  rewriter.replaceOp(wait, later.getResults().drop_back());
  rewriter.moveOpAfter(cast, later);
  cast->setOperand(0, later.getResults().back());
}

Operation *LoopPipeliner::lastWait() {
  Operation *last = nullptr;
  for (auto wait : loop.getBody()->getOps<ir::WgmmaWaitOp>())
    last = wait;
  return last;
}

void LoopPipeliner::cloneWithOperands(Operation *op, IRMapping &mapping) {
  for (Value operand : op->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == loop.getBody() && !mapping.contains(operand))
      cloneWithOperands(def, mapping);
  rewriter.clone(*op, mapping);
}

} // namespace tilewright::passes
