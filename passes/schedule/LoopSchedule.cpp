//===- LoopSchedule.cpp - One iteration of a pipelined loop, as data ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopSchedule.h"

#include "passes/analysis/LayoutRules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes {

bool LoopSchedule::hasFill(ir::RingFill fill, int ring) const {
  return llvm::any_of(loads, [&](const RingLoad &load) {
    return load.fill == fill && (ring < 0 || load.ring == ring);
  });
}

bool LoopSchedule::hasStores(int ring) const {
  return llvm::any_of(
      loads, [&](const RingLoad &load) { return load.goesThroughRegisters && load.ring == ring; });
}

bool LoopSchedule::copies(Operation *load) const {
  return llvm::any_of(loads, [&](const RingLoad &copied) { return copied.load == load; });
}

bool LoopSchedule::hasTma(int ring) const { return hasFill(ir::RingFill::Tma, ring); }

bool LoopSchedule::hasCpAsync(int ring) const {
  return hasFill(ir::RingFill::CpAsync, ring) || hasFill(ir::RingFill::Own, ring);
}

bool LoopSchedule::isInFlight(Operation *op) const {
  auto product = llvm::dyn_cast<ir::WgmmaOp>(op);
  return product && (product == chained.first || product == chained.second ||
                     llvm::is_contained(carriedProducts, product));
}

int64_t LoopSchedule::ringBytes() const {
  int64_t bytes = 0;
  for (const RingLoad &load : loads)
    bytes += load.type.slotStride() * rings[load.ring].slots;
  return bytes;
}

bool LoopSchedule::isSharedAddressLoad(ir::LoadOp load) {
  return !isTile(load.getResult()) || wordsPerThread(tileType(load.getResult())) <= 1;
}

llvm::SmallVector<ir::LoadOp> LoopSchedule::sharedAddressLoads() const {
  llvm::SmallVector<ir::LoadOp> shared;
  llvm::copy_if(addressLoads, std::back_inserter(shared), isSharedAddressLoad);
  return shared;
}

int LoopSchedule::lastStage() const {
  int last = 0;
  for (const Step &step : steps)
    last = std::max(last, step.stage);
  return last;
}

llvm::StringRef nameOf(LoopKind kind) {
  switch (kind) {
  case LoopKind::Plain:
    return "plain";
  case LoopKind::Stream:
    return "stream";
  case LoopKind::Chained:
    return "chained";
  case LoopKind::InTurn:
    return "in turn";
  case LoopKind::EarlyLoads:
    return "early loads";
  }
  llvm_unreachable("all kinds have a name");
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// "load 1", by the order of the rings' loads.
static void printLoad(llvm::raw_ostream &stream, const LoopSchedule &schedule, Operation *op) {
  for (auto [index, load] : llvm::enumerate(schedule.loads))
    if (load.load == op)
      stream << "load " << index;
}

static void printStep(llvm::raw_ostream &stream, const LoopSchedule &schedule, const Step &step) {
  switch (step.action) {
  case Step::Action::Run:
    stream << step.op->getName();
    break;
  case Step::Action::Carry:
    stream << "carry variable " << step.index;
    break;
  case Step::Action::TakeSlot:
    stream << "slot of ";
    printLoad(stream, schedule, step.op);
    break;
  case Step::Action::ReadOwn:
    stream << "read own ";
    printLoad(stream, schedule, step.op);
    break;
  case Step::Action::LoadAhead:
    stream << "load " << schedule.registerLoads.size() << " tiles into registers";
    break;
  case Step::Action::LoadAddresses:
    stream << "load for addresses, " << schedule.addressLoads.size() << " values";
    break;
  case Step::Action::WaitCopies:
    stream << "wait for copies, " << step.pending << " groups pending";
    break;
  case Step::Action::WaitTiles:
    stream << "wait for tiles of ring " << step.index;
    break;
  case Step::Action::Barrier:
    stream << "barrier";
    break;
  case Step::Action::WaitProducts:
    stream << "wait for products, " << step.pending << " pending";
    break;
  case Step::Action::Address:
    stream << "addresses of ring " << step.index;
    break;
  case Step::Action::Fill:
    stream << "fill ring " << step.index;
    break;
  case Step::Action::Load:
    stream << "load for ring " << step.index;
    break;
  case Step::Action::Store:
    stream << "store into ring " << step.index;
    break;
  case Step::Action::Release:
    stream << "release ring " << step.index;
    break;
  case Step::Action::Advance:
    stream << "advance counters";
    return;
  }
  stream << " @" << step.stage;
}

void LoopSchedule::print(llvm::raw_ostream &stream) const {
  stream << nameOf(kind) << ", " << distance << " ahead";
  for (auto [index, ring] : llvm::enumerate(rings)) {
    stream << "\n  ring " << index << ": " << ring.slots << " slots, fill @" << ring.fillStage
           << ", use @" << ring.useStage << ", release by " << ir::nameOf(ring.release);
    for (auto [number, load] : llvm::enumerate(loads))
      if (load.ring == static_cast<int>(index))
        stream << ", load " << number << " by " << ir::nameOf(load.fill);
  }
  for (const Step &step : steps)
    printStep(stream << "\n  ", *this, step);
}

} // namespace tilewright::passes
