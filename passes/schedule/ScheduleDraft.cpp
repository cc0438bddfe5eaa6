//===- ScheduleDraft.cpp - A schedule while it is planned -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/ScheduleDraft.h"

#include "passes/analysis/MemoryAccess.h"
#include "passes/analysis/Resources.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

ScheduleDraft::ScheduleDraft(const LoopFacts &facts, const LoopResources &resources,
                             const ChosenLoads &loads, LoopKind kind)
    : facts(facts), resources(resources), chosen(loads) {
  schedule.kind = kind;
  schedule.distance = loads.distance;
  for (const LoadFacts *load : loads.registers)
    schedule.registerLoads.push_back(llvm::cast<ir::LoadOp>(load->load));
  for (const LoadFacts *load : loads.addresses)
    schedule.addressLoads.push_back(llvm::cast<ir::LoadOp>(load->load));
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

bool ScheduleDraft::isLater(const LoadFacts &load) const {
  bool hasParts = schedule.kind == LoopKind::Chained || schedule.kind == LoopKind::InTurn;
  return hasParts && llvm::all_of(load.readers, [&](Operation *reader) {
           return facts.chain->laterOps.contains(reader);
         });
}

void ScheduleDraft::addRing(bool isLater, RingPlan ring) {
  int index = static_cast<int>(schedule.rings.size());
  for (const LoadFacts *load : chosen.rings)
    if (this->isLater(*load) == isLater)
      ringOf[isLater] = index;
  if (ringOf[isLater] == index)
    schedule.rings.push_back(ring);
}

/// Who copies the tile of a load.
static ir::RingFill fillOf(const LoadFacts &load) {
  if (load.isTma())
    return ir::RingFill::Tma;
  return load.allocs.empty() ? ir::RingFill::Own : ir::RingFill::CpAsync;
}

void ScheduleDraft::openSteps() {
  for (const LoadFacts *load : chosen.rings)
    schedule.loads.push_back({load->load, load->allocs, load->readers, load->type, fillOf(*load),
                              ring(isLater(*load)), load->goesThroughRegisters});
  stageAddresses(chosen.addresses, /*stage=*/0);
  for (auto [index, ring] : llvm::enumerate(schedule.rings)) {
    llvm::SmallVector<const LoadFacts *> own;
    for (const LoadFacts *load : chosen.rings)
      if (this->ring(isLater(*load)) == static_cast<int>(index))
        own.push_back(load);
    stageAddresses(own, ring.fillStage);
  }
  stageAddresses(chosen.registers, registerStage());
  findRemoved();
  for (Operation &op : facts.body()->without_terminator()) {
    if (!removed.contains(&op))
      openStep({Step::Action::Run, stageOf(&op), &op}, isChainedLater(&op));
    for (const RingLoad &load : schedule.loads)
      if (load.load == &op && load.fill == ir::RingFill::Own)
        openStep({Step::Action::ReadOwn, schedule.bodyStage(), &op}, false);
  }
  scf::ForOp loop = facts.loop;
  for (OpOperand &yielded : facts.body()->getTerminator()->getOpOperands()) {
    Operation *op = yielded.get().getDefiningOp();
    if (op && op->getBlock() == facts.body())
      continue;
    int index = static_cast<int>(yielded.getOperandNumber());
    bool isLater = schedule.isChained() && facts.chain->isLater(yielded.get());
    auto found = variableStages.find(loop.getRegionIterArg(index));
    int stage = found != variableStages.end() ? found->second : schedule.bodyStage() + isLater;
    openStep({Step::Action::Carry, stage, nullptr, index}, isLater);
  }
  openStep({Step::Action::Advance}, false);
  // What comes first has the longest time until the next round.
  if (!schedule.addressLoads.empty())
    place({Step::Action::LoadAddresses, 0});
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

int ScheduleDraft::registerStage() const {
  return schedule.bodyStage() - std::min(chosen.registerDistance, schedule.distance);
}

/// Views of a tile belong to whoever uses it.
bool ScheduleDraft::isChainedLater(Operation *op) const {
  if (!schedule.isChained())
    return false;
  if (auto view = llvm::dyn_cast<ir::BufferPermuteOp>(op))
    for (const RingLoad &load : schedule.loads)
      if (llvm::is_contained(load.allocs, view.getSource().getDefiningOp()))
        return load.ring == ring(/*isLater=*/true);
  return facts.chain->laterOps.contains(op);
}

int ScheduleDraft::stageOf(Operation *op) const {
  if (auto found = addressStages.find(op); found != addressStages.end())
    return found->second;
  return schedule.bodyStage() + isChainedLater(op);
}

/// What changes the variables that addresses are made from happens with the earliest
/// copies that need it. The addresses themselves are computed again for the copies.
void ScheduleDraft::stageAddresses(llvm::ArrayRef<const LoadFacts *> loads, int stage) {
  Slice addresses(facts.loop), changes(facts.loop);
  for (const LoadFacts *load : loads)
    addresses.addOperands(load->load);
  changes.variables = addresses.variables;
  changes.followVariables();
  for (Operation *op : changes.ops)
    addressStages.try_emplace(op, stage);
  for (BlockArgument variable : changes.variables)
    variableStages.try_emplace(variable, stage);
}

/// The loads that become copies, and what only they needed.
void ScheduleDraft::findRemoved() {
  llvm::DenseSet<Operation *> needed;
  for (const RingLoad &load : schedule.loads) {
    removed.insert(load.load);
    removed.insert(load.allocs.begin(), load.allocs.end());
    // What cp.async has filled with zeros becomes `other` again.
    auto op = llvm::dyn_cast<ir::LoadOp>(load.load);
    if (load.fill == ir::RingFill::Own && op.getMask() && !fillsWithZeros(op))
      for (Value value : {op.getMask(), op.getOther()})
        needed.insert(value.getDefiningOp());
  }
  for (ir::LoadOp load : schedule.registerLoads)
    removed.insert(load);
  for (ir::LoadOp load : schedule.sharedAddressLoads())
    removed.insert(load);
  Block *body = facts.body();
  for (Operation &op : llvm::reverse(body->without_terminator())) {
    bool isUsed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return !removed.contains(body->findAncestorOpInBlock(*user));
    });
    if (wouldOpBeTriviallyDead(&op) && !isUsed && !needed.contains(&op))
      removed.insert(&op);
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void ScheduleDraft::place(OpenStep &entry) {
  if (entry.isPlaced)
    return;
  entry.isPlaced = true;
  place(entry.step);
}

void ScheduleDraft::placeIf(llvm::function_ref<bool(const OpenStep &)> accepts) {
  for (OpenStep &entry : open)
    if (!entry.isPlaced && accepts(entry))
      place(entry);
}

void ScheduleDraft::placeRest() {
  placeIf([](const OpenStep &) { return true; });
}

void ScheduleDraft::placeLoads() {
  for (const RingLoad &load : schedule.loads)
    place({Step::Action::TakeSlot, schedule.rings[load.ring].useStage, load.load, load.ring});
  if (!schedule.registerLoads.empty())
    place({Step::Action::LoadAhead, registerStage()});
}

//===----------------------------------------------------------------------===//
// Resources
//===----------------------------------------------------------------------===//

bool ScheduleDraft::fitsAnotherSlot(int slots) const {
  int64_t few = resources.otherSharedBytes + chosen.slotBytes() * slots;
  return costsNoBlock(few, few + chosen.slotBytes(), resources.roomForTiles());
}

int64_t ScheduleDraft::residentBlocks(int slots, int64_t words) const {
  bool hasTma = llvm::any_of(chosen.rings, [](const LoadFacts *load) { return load->isTma(); });
  return forecastBlocks(
      resources.target, int64_t(resources.numWarps) << resources.target.log2WarpSize, words,
      hasTma ? RegisterContext::ChainWithTma : RegisterContext::ChainWithAddresses,
      resources.otherSharedBytes + slots * chosen.slotBytes() + maxMbarrierBytes);
}

int ScheduleDraft::numCommits() const {
  int commits = 0;
  for (size_t ring = 0; ring < schedule.rings.size(); ++ring)
    commits += schedule.hasCpAsync(static_cast<int>(ring));
  return commits;
}

} // namespace tilewright::passes
