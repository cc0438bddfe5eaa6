//===- PlanLoop.cpp - The schedule of each kind of loop -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: all decisions about a loop, one function per kind. Where two kinds are possible
// both are planned, and the one is taken of which a multiprocessor holds more blocks.
// PipelineLoops.cpp draws what comes of each kind.
//
//===----------------------------------------------------------------------===//

#include "ir/support/Hardware.h"
#include "passes/schedule/ScheduleDraft.h"

#include "passes/analysis/LayoutRules.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

using Action = Step::Action;

//===----------------------------------------------------------------------===//
// What several kinds ask
//===----------------------------------------------------------------------===//

/// The buffer that `buffer` is a view of.
static Value underViews(Value buffer) {
  while (auto view = buffer.getDefiningOp<ir::BufferPermuteOp>())
    buffer = view.getSource();
  return buffer;
}

/// The load among `loads` that fills the ring from which `buffer` is taken; null for none.
static const LoadFacts *loadOf(Value buffer, const ChosenLoads &loads) {
  Operation *alloc = underViews(buffer).getDefiningOp();
  for (const LoadFacts *load : loads.rings)
    if (llvm::is_contained(load->allocs, alloc))
      return load;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Products that stay in flight across the back edge
//===----------------------------------------------------------------------===//

/// Whether the next iteration leaves a product's operand alone: it becomes a slot of a
/// ring, or stays the same. What the body stores itself is overwritten.
static bool outlivesIteration(Value buffer, scf::ForOp loop, const ChosenLoads &loads) {
  return loop.isDefinedOutsideOfLoop(underViews(buffer)) || loadOf(buffer, loads);
}

/// Whether the result of a product only goes round the loop as its own accumulator; only
/// branches of the body may read it, which wait themselves. Not with a left side in
/// registers, which would have to be kept round the loop, nor with packed accumulators,
/// which are unpacked after each product.
static bool canStayInFlight(ir::WgmmaOp product, scf::ForOp loop, const ChosenLoads &loads) {
  if (isTile(product.getA()) ||
      ir::elementBits(tileType(product.getAcc()).getElementType()) != 32 ||
      product.getMaxImprecise() != 0 || !outlivesIteration(product.getA(), loop, loads) ||
      !outlivesIteration(product.getB(), loop, loads))
    return false;
  auto accumulator = llvm::dyn_cast<BlockArgument>(product.getAcc());
  if (!accumulator || accumulator.getOwner() != loop.getBody() || !accumulator.hasOneUse())
    return false;
  bool isCarried = false;
  for (OpOperand &use : product.getResult().getUses()) {
    if (use.getOwner()->getBlock() != loop.getBody())
      continue; // in a branch
    if (isCarried || use.getOwner() != loop.getBody()->getTerminator() ||
        use.getOperandNumber() + 1 != accumulator.getArgNumber())
      return false;
    isCarried = true;
  }
  return isCarried;
}

//===----------------------------------------------------------------------===//
// Plain loops and streams
//===----------------------------------------------------------------------===//

/// The last op of the body that reads a slot; products may do so where their operands are
/// written as loads.
static Operation *lastReader(const LoopFacts &facts, const ChosenLoads &loads) {
  Operation *last = nullptr;
  auto note = [&](Operation *op) {
    Operation *inBody = facts.body()->findAncestorOpInBlock(*op);
    if (!last || last->isBeforeInBlock(inBody))
      last = inBody;
  };
  for (const LoadFacts *load : loads.rings)
    for (Operation *reader : load->readers)
      note(reader);
  facts.loop->walk([&](Operation *op) {
    if (isProduct(op))
      note(op);
  });
  return last;
}

/// The ops of the iteration that uses what has been loaded, as far as `last`.
static void placeUpTo(ScheduleDraft &draft, Operation *last) {
  draft.placeIf([&](const OpenStep &entry) {
    Operation *op = entry.step.op;
    return op && entry.step.stage == draft.schedule.bodyStage() && !last->isBeforeInBlock(op);
  });
}

/// As far as `product`, but for what waits for loads of this iteration and is not part of it: the
/// copies of the next iteration do not wait with it.
static void placeUpToProduct(ScheduleDraft &draft, const LoopFacts &facts, ir::WgmmaOp product) {
  Slice needed(facts.loop);
  needed.add(product.getResult());
  llvm::SmallVector<Value> loaded;
  for (const OpenStep &entry : draft.open)
    if (auto load = llvm::dyn_cast_or_null<ir::LoadOp>(entry.step.op);
        load && entry.step.action == Action::Run)
      loaded.push_back(load.getResult());
  llvm::DenseSet<Operation *> waiting;
  for (Operation *op : usersOf(facts.loop, loaded)) {
    if (needed.ops.contains(op) || product->isBeforeInBlock(op))
      continue;
    // Stores keep their places among loads.
    if (!isMemoryEffectFree(op) && !llvm::isa<ir::AllocSharedOp, ir::SharedLoadOp>(op))
      return placeUpTo(draft, product);
    waiting.insert(op);
  }
  draft.placeIf([&](const OpenStep &entry) {
    Operation *op = entry.step.op;
    return op && entry.step.stage == draft.schedule.bodyStage() && !product->isBeforeInBlock(op) &&
           !waiting.contains(op);
  });
}

/// A loop of few iterations needs no slot twice, so that no copy has to wait for an iteration: the
/// last one would wait for the memory once more.
static void fillAllBefore(ChosenLoads &loads, scf::ForOp loop) {
  if (tripCount(loop) != loads.slots || loads.slots != loads.distance + 1)
    return;
  loads.distance = loads.slots;
  loads.fillsAllBefore = true;
}

static LoopSchedule planPlain(const LoopFacts &facts, const LoopResources &resources,
                              const ChosenLoads &loads) {
  ScheduleDraft draft(facts, resources, loads,
                      facts.hasProduct ? LoopKind::Plain : LoopKind::Stream);
  LoopSchedule &schedule = draft.schedule;
  int distance = loads.distance, fillStage = schedule.firstFillStage();
  int stage = schedule.bodyStage();
  for (auto product : facts.body()->getOps<ir::WgmmaOp>())
    if (canStayInFlight(product, facts.loop, loads))
      schedule.carriedProducts.push_back(product);
  int numCarried = static_cast<int>(schedule.carriedProducts.size());
  // A slot more saves a barrier: the copies go where nothing in flight reads.
  bool isRefilled = !loads.fillsAllBefore;
  bool hasSpareSlot = isRefilled && numCarried > 0 && draft.fitsAnotherSlot(distance + 1);
  bool needsSecondBarrier = isRefilled && numCarried > 0 && !hasSpareSlot;
  // Without a slot to spare the one in use is filled, once all of its readers are through.
  bool fillsUsedSlot = isRefilled && loads.slots == distance;
  bool isPrivate =
      llvm::all_of(loads.rings, [](const LoadFacts *load) { return load->allocs.empty(); });
  draft.addRing(/*isLater=*/false,
                {isPrivate ? ir::SlotRelease::None : ir::SlotRelease::Barrier,
                 loads.slots + hasSpareSlot, fillStage, /*useStage=*/stage, loads.fillsAllBefore});
  draft.openSteps();

  bool hasCpAsync = schedule.hasCpAsync();
  // Addresses depend on no wait, and would delay the copies after one. From here the assembler
  // moves their arithmetic among the instructions of the products, which run by themselves.
  if (numCarried > 0)
    draft.place({Action::Address, fillStage, nullptr, 0});
  if (hasCpAsync)
    draft.place({Action::WaitCopies, stage, nullptr, -1, draft.numCommits() * (distance - 1)});
  if (schedule.hasTma())
    draft.place({Action::WaitTiles, stage, nullptr, 0});
  if (numCarried > 0 && !needsSecondBarrier)
    draft.place({Action::WaitProducts, stage, nullptr, -1, numCarried});
  // What TMA brings is visible after its mbarrier; the second barrier frees slots then.
  if (!isPrivate && (hasCpAsync || (isRefilled && !needsSecondBarrier && !fillsUsedSlot)))
    draft.place({Action::Barrier, stage});
  draft.placeLoads();
  // Copies wait for nothing; products should start before them.
  int numStarted = 0; // of the carried ones
  if (facts.hasWgmma) {
    ir::WgmmaOp first = *facts.body()->getOps<ir::WgmmaOp>().begin();
    numStarted = schedule.isInFlight(first);
    placeUpToProduct(draft, facts, first);
  }
  if (needsSecondBarrier) {
    draft.place({Action::WaitProducts, stage, nullptr, -1, numStarted});
    draft.place({Action::Barrier, stage});
  }
  if (fillsUsedSlot) {
    placeUpTo(draft, lastReader(facts, loads));
    draft.place({Action::Barrier, stage});
  }
  draft.place({Action::Fill, fillStage, nullptr, 0});
  draft.placeRest();
  return schedule;
}

static LoopSchedule planEarlyLoads(const LoopFacts &facts, const LoopResources &resources,
                                   const ChosenLoads &loads) {
  ScheduleDraft draft(facts, resources, loads, LoopKind::EarlyLoads);
  draft.openSteps();
  draft.placeLoads();
  draft.placeRest();
  return draft.schedule;
}

//===----------------------------------------------------------------------===//
// Chained products
//===----------------------------------------------------------------------===//

/// The tiles of the first product are done with after the wait for it, unless another op
/// reads them too.
static bool isReadByOthers(const ChosenLoads &loads, const ScheduleDraft &draft,
                           ir::WgmmaOp product) {
  return llvm::any_of(loads.rings, [&](const LoadFacts *load) {
    return !draft.isLater(*load) &&
           (load->readers.size() != 1 || load->readers.front() != product.getOperation());
  });
}

/// Adds the waits for both products, and the releases of what they read.
static void openChainWaits(ScheduleDraft &draft, bool releases, bool isReleasedAtEnd) {
  LoopSchedule &schedule = draft.schedule;
  int stage = schedule.bodyStage();
  Step release = {Action::Release, stage, nullptr, draft.ring(false)};
  std::vector<OpenStep> waits = {
      {{Action::WaitProducts, stage, schedule.chained.first, -1, /*pending=*/1}, false}};
  releases &= draft.hasRing(false);
  if (releases && !isReleasedAtEnd)
    waits.push_back({release, false});
  auto first = llvm::find_if(draft.open, [&](const OpenStep &entry) {
    return entry.step.op == schedule.chained.first.getOperation();
  });
  draft.open.insert(std::next(first), waits.begin(), waits.end());
  if (releases && isReleasedAtEnd)
    draft.openStep(release, false);
}

static LoopSchedule planChained(const LoopFacts &facts, const LoopResources &resources,
                                const ChosenLoads &loads) {
  ScheduleDraft draft(facts, resources, loads, LoopKind::Chained);
  LoopSchedule &schedule = draft.schedule;
  int distance = loads.distance, fillStage = schedule.firstFillStage();
  int stage = schedule.bodyStage();
  schedule.chained.first = facts.chain->first;
  schedule.chained.second = facts.chain->second;
  bool hasCpAsync = llvm::any_of(loads.rings, [](const LoadFacts *load) { return !load->isTma(); });
  // Several warpgroups should be out of phase, so that one runs its arithmetic while another
  // runs its products: no barrier holds them together.
  bool releases = !hasCpAsync && resources.numWarps > hardware::warpgroupWarps;
  // A slot more saves the wait for the slower warpgroup.
  int slots = distance + 1 + (releases && draft.fitsAnotherSlot(distance + 1));
  ir::SlotRelease release = releases ? ir::SlotRelease::Arrivals : ir::SlotRelease::Barrier;
  draft.addRing(/*isLater=*/false, {release, slots, fillStage, stage});
  draft.addRing(/*isLater=*/true, {release, slots, fillStage + 1, stage + 1});
  draft.openSteps();
  openChainWaits(draft, releases, isReadByOthers(loads, draft, facts.chain->first));
  draft.openStep({Action::WaitProducts, stage + 1, schedule.chained.second}, true);
  if (releases && draft.hasRing(true))
    draft.openStep({Action::Release, stage + 1, nullptr, draft.ring(true)}, true);

  if (hasCpAsync)
    draft.place({Action::WaitCopies, stage, nullptr, -1, draft.numCommits() * (distance - 1)});
  for (auto [index, ring] : llvm::enumerate(schedule.rings))
    if (schedule.hasTma(static_cast<int>(index)))
      draft.place({Action::WaitTiles, ring.useStage, nullptr, static_cast<int>(index)});
  if (!releases)
    draft.place({Action::Barrier, stage});
  draft.placeLoads();
  Slice first(facts.loop);
  for (const RingLoad &load : schedule.loads)
    first.ends.insert(load.allocs.begin(), load.allocs.end());
  first.add(schedule.chained.first.getResult());
  draft.placeIf([&](const OpenStep &entry) {
    return entry.step.action == Action::Run && first.ops.contains(entry.step.op);
  });
  // The tensor cores have nothing else to do while the accumulator is scaled.
  Operation *second = schedule.chained.second;
  draft.placeIf([&](const OpenStep &entry) {
    Operation *op = entry.step.op;
    return entry.isLater && entry.step.action == Action::Run &&
           (op == second || op->isBeforeInBlock(second));
  });
  for (auto [index, ring] : llvm::enumerate(schedule.rings))
    draft.place({Action::Fill, ring.fillStage, nullptr, static_cast<int>(index)});
  draft.placeIf([](const OpenStep &entry) { return !entry.isLater; });
  draft.placeRest();

  int64_t words = wordsPerThread(tileType(schedule.chained.first.getResult())) +
                  wordsPerThread(tileType(schedule.chained.second.getResult())) +
                  // The next left side is there before this one has been read.
                  wordsPerThread(tileType(schedule.chained.second.getA()));
  schedule.residentBlocks = draft.residentBlocks(distance + 1, words);
  return schedule;
}

//===----------------------------------------------------------------------===//
// The same products in turn
//===----------------------------------------------------------------------===//

/// Whether each tile is read by its product only, and all come the same way.
static bool canTakeTurns(const LoopFacts &facts, const ChosenLoads &loads,
                         const ScheduleDraft &draft) {
  for (const LoadFacts *load : loads.rings) {
    Operation *product = draft.isLater(*load) ? facts.chain->second : facts.chain->first;
    if (load->readers.size() != 1 || load->readers.front() != product ||
        load->isTma() != loads.rings.front()->isTma())
      return false;
  }
  return true;
}

/// A product, after the wait for its tiles and before the release of their slots. It is
/// waited for at once: what else could run before the wait, as masks, would only take
/// registers from the next block.
static void placeProduct(ScheduleDraft &draft, OpenStep &entry, bool isSecond) {
  LoopSchedule &schedule = draft.schedule;
  int distance = schedule.distance, stage = schedule.bodyStage();
  int fillStage = schedule.firstFillStage(), ring = draft.ring(isSecond);
  bool hasTiles = ring >= 0, hasTma = schedule.hasTma();
  if (hasTiles && hasTma)
    draft.place({Action::WaitTiles, stage, nullptr, ring});
  if (hasTiles && !hasTma) {
    // What was committed since: the rest of that iteration, and all of those between.
    int commits = draft.numCommits();
    int since = isSecond ? commits * distance - 1 : commits * (distance - 1);
    draft.place({Action::WaitCopies, stage, nullptr, -1, since});
    draft.place({Action::Barrier, stage});
  }
  draft.place(entry);
  // Tiles of the second product are fetched beside the first one; all warps have waited for
  // each other since the second one of the iteration before.
  if (!isSecond && draft.hasRing(true))
    draft.place({Action::Fill, fillStage + 1, nullptr, draft.ring(true)});
  draft.place({Action::WaitProducts, stage, entry.step.op});
  if (hasTiles && hasTma)
    draft.place({Action::Release, stage, nullptr, ring});
  if (hasTiles && !hasTma && !isSecond)
    draft.place({Action::Barrier, stage});
  if (hasTiles && !isSecond)
    draft.place({Action::Fill, fillStage, nullptr, ring});
}

static std::optional<LoopSchedule>
planInTurn(const LoopFacts &facts, const LoopResources &resources, const ChosenLoads &loads) {
  ScheduleDraft draft(facts, resources, loads, LoopKind::InTurn);
  if (!canTakeTurns(facts, loads, draft))
    return std::nullopt;
  LoopSchedule &schedule = draft.schedule;
  int distance = loads.distance, fillStage = schedule.firstFillStage();
  int stage = schedule.bodyStage();
  schedule.chained.first = facts.chain->first;
  schedule.chained.second = facts.chain->second;
  ir::SlotRelease release =
      loads.rings.front()->isTma() ? ir::SlotRelease::Arrivals : ir::SlotRelease::Barrier;
  // A slot is filled again in the iteration that has used it.
  draft.addRing(/*isLater=*/false, {release, distance, fillStage, stage});
  draft.addRing(/*isLater=*/true, {release, distance, fillStage + 1, stage});
  draft.openSteps();
  draft.placeLoads();
  for (OpenStep &entry : draft.open) {
    bool isFirst = entry.step.op && entry.step.op == schedule.chained.first;
    bool isSecond = entry.step.op && entry.step.op == schedule.chained.second;
    if (isFirst || isSecond)
      placeProduct(draft, entry, isSecond);
    else
      draft.place(entry);
  }
  // The second product's left side is cast into registers that the first one's result
  // leaves.
  schedule.residentBlocks = draft.residentBlocks(
      distance, wordsPerThread(tileType(schedule.chained.first.getResult())) +
                    wordsPerThread(tileType(schedule.chained.second.getResult())));
  return schedule;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// What the second product reads is overwritten before it runs an iteration later, unless
/// its ring has slots for it: not so for a tile that both products read, or that no copy
/// brings.
static bool canRunLater(const LoopFacts &facts, const ChosenLoads &loads) {
  scf::ForOp loop = facts.loop;
  ir::WgmmaOp second = facts.chain->second;
  Value buffer = second.getB();
  if (loop.isDefinedOutsideOfLoop(underViews(buffer)))
    return true;
  const LoadFacts *load = loadOf(buffer, loads);
  return load && llvm::all_of(load->readers, [&](Operation *reader) {
           return facts.chain->laterOps.contains(reader);
         });
}

/// What goes through registers is loaded after the copies of its iteration, and stored at the end of
/// this. Where another iteration follows before it is used, it has that long to arrive: it is stored
/// right before the registers are loaded again, as the assembler would wait to move one of two.
static void placeStores(LoopSchedule &schedule) {
  for (auto [number, ring] : llvm::enumerate(schedule.rings)) {
    int index = static_cast<int>(number);
    if (!schedule.hasStores(index))
      continue;
    Step load = {Action::Load, ring.fillStage, nullptr, index};
    Step store = {Action::Store, ring.fillStage, nullptr, index};
    Step *afterCopies = std::next(llvm::find_if(schedule.steps, [&](const Step &step) {
      return step.action == Action::Fill && step.index == index;
    }));
    if (schedule.distance > 1) {
      ++store.stage;
      schedule.steps.insert(schedule.steps.insert(afterCopies, load), store);
    } else {
      schedule.steps.insert(afterCopies, load);
      schedule.steps.push_back(store);
    }
  }
}

static LoopPlan planKind(const LoopFacts &facts, const LoopResources &resources) {
  LoopPlan result;
  if (facts.distance < 1)
    return result;
  ChosenLoads loads = chooseLoads(facts, resources, result);
  if (!facts.hasProduct && loads.rings.empty() && !loads.registers.empty()) {
    // The distance was that of copies, which have been given up where there were any.
    loads.distance = loads.registerDistance;
    result.schedule = planEarlyLoads(facts, resources, loads);
    return result;
  }
  if (loads.rings.empty() || loads.distance < 1) {
    // What was taken is not loaded ahead after all.
    llvm::erase_if(result.notes, [](const PlanNote &note) { return note.remark.applied; });
    return result;
  }
  if (!facts.chain || !canRunLater(facts, loads)) {
    fillAllBefore(loads, facts.loop);
    result.schedule = planPlain(facts, resources, loads);
    return result;
  }
  result.schedule = planChained(facts, resources, loads);
  std::optional<LoopSchedule> inTurn = planInTurn(facts, resources, loads);
  // Other blocks keep the tensor cores busy then.
  if (inTurn && inTurn->residentBlocks > result.schedule->residentBlocks)
    result.schedule = std::move(inTurn);
  return result;
}

LoopPlan plan(const LoopFacts &facts, const LoopResources &resources) {
  LoopPlan result = planKind(facts, resources);
  if (result.schedule)
    placeStores(*result.schedule);
  return result;
}

} // namespace tilewright::passes
