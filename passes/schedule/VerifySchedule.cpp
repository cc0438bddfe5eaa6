//===- VerifySchedule.cpp - Which schedules are legal ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the rules that every schedule keeps, whatever its kind.
//  - Copies are at least one iteration ahead. A ring has slots. Loads into registers
//    happen in one step, and so do loads for addresses, ahead of what needs them.
//  - Arrivals free slots for TMA only, which one warp starts; nothing needs to free slots
//    where each thread reads its own copies, and only there.
//  - The addresses of a ring's copies are computed for the iteration of the copies.
//  - Each op of the old body is placed once, or it is a load that became a copy, or
//    nothing needs it any more.
//  - A slot is read by iteration i while it holds the tile of i, after a wait for it; what
//    other threads copied with cp.async after a barrier too.
//  - A slot is filled again when all reads of its tile are over and the ring's release has
//    happened since. What goes through registers is stored after it was loaded, into that slot.
//  - Where all slots are filled before the loop, there are as many as iterations.
//
// How: the first three follow from the rings. For the last two the steps are run, as one
// thread would, for as many rounds as it takes until all slots have been filled a few
// times. In round t a step of stage s belongs to iteration t - s, and does not happen where
// there is none yet. In a loop whose slots are filled before it, nothing is copied for
// iterations after the last one; what registers hold is stored all the same.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/LoopSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::passes {

using Action = Step::Action;

//===----------------------------------------------------------------------===//
// The rings and the ops
//===----------------------------------------------------------------------===//

static std::string ringProblem(const LoopSchedule &schedule) {
  if (schedule.distance < 1)
    return "copies are not ahead of their use";
  if (schedule.rings.empty() != schedule.loads.empty() ||
      (schedule.loads.empty() && schedule.registerLoads.empty()))
    return "nothing is copied ahead";
  auto count = [&](Action action) {
    return llvm::count_if(schedule.steps, [&](const Step &step) { return step.action == action; });
  };
  if (count(Action::LoadAhead) != !schedule.registerLoads.empty())
    return "loads into registers do not happen once";
  if (count(Action::LoadAddresses) != !schedule.addressLoads.empty())
    return "loads for addresses do not happen once";
  for (auto [number, ring] : llvm::enumerate(schedule.rings)) {
    int index = static_cast<int>(number);
    if (ring.slots < 1)
      return llvm::formatv("ring {0} has no slots", index);
    if (ring.slots < schedule.iterationsFilledBefore())
      return llvm::formatv("ring {0} has fewer slots than are filled before the loop", index);
    if (ring.fillStage > ring.useStage)
      return llvm::formatv("ring {0} is used before it is filled", index);
    if (ring.release == ir::SlotRelease::Arrivals && schedule.hasCpAsync(index))
      return llvm::formatv("ring {0} is filled by threads that wait for no arrivals", index);
    bool isOwn = !schedule.hasFill(ir::RingFill::CpAsync, index) && !schedule.hasTma(index);
    if (ring.release == ir::SlotRelease::None && !isOwn)
      return llvm::formatv("nothing releases the slots of ring {0}, which all threads read", index);
  }
  const Step *addresses = llvm::find_if(
      schedule.steps, [](const Step &step) { return step.action == Action::LoadAddresses; });
  if (addresses != schedule.steps.end() && llvm::any_of(schedule.steps, [&](const Step &step) {
        return (step.action == Action::Fill || step.action == Action::LoadAhead) &&
               step.stage <= addresses->stage;
      }))
    return "loads for addresses are not ahead of what needs them";
  for (const Step &step : schedule.steps)
    if (step.action == Action::Address && step.stage != schedule.rings[step.index].fillStage)
      return llvm::formatv("the addresses of ring {0} are those of another iteration", step.index);
  return "";
}

static std::string placeProblem(const LoopSchedule &schedule) {
  llvm::DenseSet<Operation *> placed, gone;
  for (const Step &step : schedule.steps)
    if (step.action == Action::Run && !placed.insert(step.op).second)
      return llvm::formatv("{0} is placed twice", step.op->getName()).str();
  for (const RingLoad &load : schedule.loads) {
    gone.insert(load.load);
    gone.insert(load.allocs.begin(), load.allocs.end());
  }
  gone.insert(schedule.registerLoads.begin(), schedule.registerLoads.end());
  for (ir::LoadOp load : schedule.sharedAddressLoads())
    gone.insert(load);
  Operation *first =
      schedule.loads.empty() ? schedule.registerLoads.front() : schedule.loads.front().load;
  Block *body = first->getBlock();
  for (Operation &op : llvm::reverse(body->without_terminator())) {
    if (placed.contains(&op) || gone.contains(&op))
      continue;
    bool isUsed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return !gone.contains(body->findAncestorOpInBlock(*user));
    });
    if (isUsed || !wouldOpBeTriviallyDead(&op))
      return llvm::formatv("{0} has no place", op.getName()).str();
    gone.insert(&op);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The slots
//===----------------------------------------------------------------------===//

namespace {

/// What has become of one slot.
struct Slot {
  /// The iteration whose tile it holds, or will hold when its copies have arrived.
  int tile = -1;
  bool hasTmaArrived = false, haveCopiesArrived = false;
  bool isLoaded = false, isStored = false;
  /// What other threads copied can be read.
  bool isVisible = false;
  /// Reads of this tile: those that are over, those that are over for all threads.
  int reads = 0, inFlight = 0, readsBeforeBarrier = 0;
  bool isReleased = false;
};

class SlotSimulation {
public:
  explicit SlotSimulation(const LoopSchedule &schedule) : schedule(schedule) {
    for (auto [index, ring] : llvm::enumerate(schedule.rings)) {
      slots.emplace_back(ring.slots);
      // A lambda of C++17 captures no name of a structured binding.
      int number = static_cast<int>(index);
      readers.push_back(
          llvm::count_if(schedule.steps, [&](const Step &step) { return reads(step, number); }));
      rounds = std::max(rounds, schedule.lastStage() + 3 * ring.slots + 2);
    }
    if (schedule.iterationsFilledBefore())
      rounds = schedule.lastStage() + schedule.iterationsFilledBefore();
  }

  std::string run() {
    for (int round = 0; round < rounds; ++round)
      for (const Step &step : schedule.steps)
        if (round >= step.stage)
          if (std::string problem = take(step, round); !problem.empty())
            return problem;
    return "";
  }

private:
  const LoopSchedule &schedule;
  /// Per ring its slots, and how many steps read a tile.
  std::vector<std::vector<Slot>> slots;
  std::vector<int> readers;
  /// Groups of cp.async in the order of their commits, as (ring, iteration).
  std::vector<std::pair<int, int>> commits;
  /// Asynchronous products that are not done, in their order, with what they read.
  std::vector<std::vector<Slot *>> products;
  int rounds = 0;

  bool reads(const Step &step, int ring) const {
    if (step.action != Action::Run && step.action != Action::ReadOwn)
      return false;
    return llvm::any_of(schedule.loads, [&](const RingLoad &load) {
      bool isReader =
          step.action == Action::Run ? load.readers.contains(step.op) : load.load == step.op;
      return load.ring == ring && isReader;
    });
  }

  Slot &slotOf(int ring, int iteration) {
    return slots[ring][iteration % schedule.rings[ring].slots];
  }

  template <typename Function> void forEachSlot(Function function) {
    for (std::vector<Slot> &ring : slots)
      llvm::for_each(ring, function);
  }

  std::string take(const Step &step, int round) {
    int iteration = round - step.stage;
    switch (step.action) {
    case Action::Run:
    case Action::ReadOwn:
      return read(step, iteration);
    case Action::WaitCopies:
      waitForCopies(step.pending);
      return "";
    case Action::WaitTiles:
      if (Slot &slot = slotOf(step.index, iteration); slot.tile == iteration)
        slot.hasTmaArrived = true;
      return "";
    case Action::Barrier:
      passBarrier();
      return "";
    case Action::WaitProducts:
      // The prologue waits for all, since the later product is not there yet.
      waitForProducts(round < schedule.lastStage() ? 0 : step.pending);
      return "";
    case Action::Fill:
      return fill(step.index, iteration);
    case Action::Load:
      if (exists(iteration))
        slotOf(step.index, iteration).isLoaded = true;
      return "";
    case Action::Store:
      if (!exists(iteration))
        return overwrite(step.index, iteration);
      slotOf(step.index, iteration).isStored = slotOf(step.index, iteration).isLoaded;
      return "";
    case Action::Release:
      return release(step.index, iteration);
    case Action::Carry:
    case Action::TakeSlot:
    case Action::LoadAhead:
    case Action::LoadAddresses:
    case Action::Address:
    case Action::Advance:
      return "";
    }
    llvm_unreachable("all actions are handled");
  }

  std::string read(const Step &step, int iteration) {
    std::vector<Slot *> read;
    for (int ring = 0; ring < static_cast<int>(slots.size()); ++ring) {
      if (!reads(step, ring))
        continue;
      Slot &slot = slotOf(ring, iteration);
      if (slot.tile != iteration)
        return llvm::formatv("a slot of ring {0} is read without its tile", ring);
      bool hasOthersCopies = schedule.hasFill(ir::RingFill::CpAsync, ring);
      if ((schedule.hasTma(ring) && !slot.hasTmaArrived) ||
          (schedule.hasCpAsync(ring) && !slot.haveCopiesArrived))
        return llvm::formatv("a slot of ring {0} is read before its tile has arrived", ring);
      if (hasOthersCopies && !slot.isVisible)
        return llvm::formatv("a slot of ring {0} is read before it is visible", ring);
      read.push_back(&slot);
    }
    bool isInFlight = step.action == Action::Run && schedule.isInFlight(step.op);
    for (Slot *slot : read)
      ++(isInFlight ? slot->inFlight : slot->reads);
    if (isInFlight)
      products.push_back(read);
    return "";
  }

  void waitForCopies(int pending) {
    for (size_t index = 0; index + pending < commits.size(); ++index) {
      auto [ring, iteration] = commits[index];
      if (Slot &slot = slotOf(ring, iteration); slot.tile == iteration)
        slot.haveCopiesArrived = true;
    }
  }

  void waitForProducts(int pending) {
    while (products.size() > static_cast<size_t>(pending)) {
      for (Slot *slot : products.front()) {
        --slot->inFlight;
        ++slot->reads;
      }
      products.erase(products.begin());
    }
  }

  void passBarrier() {
    forEachSlot([](Slot &slot) {
      slot.isVisible |= slot.haveCopiesArrived && slot.isStored;
      slot.readsBeforeBarrier = slot.reads;
    });
  }

  std::string release(int ring, int iteration) {
    Slot &slot = slotOf(ring, iteration);
    if (slot.tile != iteration || slot.reads != readers[ring])
      return llvm::formatv("a slot of ring {0} is released before it has been read", ring);
    slot.isReleased = true;
    return "";
  }

  bool exists(int iteration) const {
    return !schedule.iterationsFilledBefore() || iteration < schedule.iterationsFilledBefore();
  }

  std::string fill(int ring, int iteration) {
    if (exists(iteration))
      if (std::string problem = overwrite(ring, iteration); !problem.empty())
        return problem;
    if (schedule.hasCpAsync(ring))
      commits.push_back({ring, iteration});
    return "";
  }

  std::string overwrite(int ring, int iteration) {
    Slot &slot = slotOf(ring, iteration);
    const RingPlan &plan = schedule.rings[ring];
    bool isFree = plan.release == ir::SlotRelease::Arrivals ? slot.isReleased
                  : plan.release == ir::SlotRelease::Barrier
                      ? slot.readsBeforeBarrier == readers[ring]
                      : slot.reads == readers[ring];
    if (slot.tile >= 0 && !isFree)
      return llvm::formatv("a slot of ring {0} is filled while it may be read", ring);
    slot = Slot();
    slot.tile = iteration;
    slot.isStored = !schedule.hasStores(ring);
    return "";
  }
};

} // namespace

std::string verify(const LoopSchedule &schedule) {
  if (std::string problem = ringProblem(schedule); !problem.empty())
    return problem;
  if (std::string problem = placeProblem(schedule); !problem.empty())
    return problem;
  return SlotSimulation(schedule).run();
}

} // namespace tilewright::passes
