//===- PlanLoads.cpp - Which loads of a loop happen ahead -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the first part of planning a loop. Tiles that are stored to shared memory come by
// TMA or cp.async. Besides, each thread can copy for itself what it needs of a stream, or
// of an operand that is computed; and load a few words of later iterations into registers.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/PlanLoads.h"

#include "passes/analysis/Resources.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace mlir;

namespace tilewright::passes {

/// Registers for what is loaded ahead into them, and those that any recurrence can spare.
/// Guesses.
static constexpr int64_t maxRegisterLoadWords = 16, fewWords = 4;
/// Bytes that copies of a recurrence are ahead: more than memory has under way for a
/// multiprocessor brings nothing. The gradient of an RMS norm loads two rows in each iteration.
/// With rows of 4 and 8 KB it takes 0.66 and 0.79 of the time two iterations ahead, 0.78 and 0.89
/// one ahead; with 16 KB 0.90 to 0.94, and 0.87 to 0.91 one ahead; with 32 KB 0.98 to 1.02 one
/// ahead (H100, November 2026).
static constexpr int64_t maxBytesAhead = 32 * 1024;
/// Iterations that registers are loaded ahead at most. A guess: a step of a recurrence over rows,
/// as of fla's HGRN, has a hundred cycles of its own, and memory takes several times that.
static constexpr int farthestRegisterLoads = 8;
/// A recurrence loads so many times its state at most to be loaded ahead: a GRU with a gate for
/// each number of the state loads three. A guess.
static constexpr int64_t maxWordsPerState = 4;

bool ChosenLoads::fillsRing(Operation *load) const {
  return llvm::any_of(rings, [&](const LoadFacts *chosen) { return chosen->load == load; });
}

int64_t ChosenLoads::slotBytes() const {
  int64_t bytes = 0;
  for (const LoadFacts *load : rings)
    bytes += load->type.slotStride();
  return bytes;
}

namespace {

/// Loads that threads can do for themselves.
struct OwnLoads {
  llvm::SmallVector<const LoadFacts *> copies, registers;
};

/// Whether each thread has elements of its own to copy.
bool isSpread(const LoadFacts &load) { return !load.own.isShort && load.own.log2Repeats == 0; }

class LoadChoice {
public:
  LoadChoice(const LoopFacts &facts, const LoopResources &resources, LoopPlan &plan)
      : facts(facts), resources(resources), plan(plan) {
    chosen.distance = facts.distance;
  }

  ChosenLoads run() {
    OwnLoads own;
    bool isStream = facts.asksItself && !facts.hasProduct;
    if (isStream)
      own = chooseForStream();
    else if (facts.heldBy != LoadsHeldBy::Nothing && !facts.hasProduct)
      own = chooseEarlyLoads();
    else if (!facts.chain)
      own = chooseForOperands();
    chosen.registers = own.registers;
    shortenToFit(own);
    for (Need need : {Need::Usual, Need::Transposed, Need::Row})
      for (const LoadFacts &load : facts.loads)
        if (llvm::is_contained(own.copies, &load) ? need == Need::Usual : accepts(load, need))
          chosen.rings.push_back(&load);
    dropReadsIfShort();
    shortenAsTritonDoes();
    chooseForAddresses();
    return std::move(chosen);
  }

private:
  const LoopFacts &facts;
  const LoopResources &resources;
  LoopPlan &plan;
  ChosenLoads chosen;

  bool hasFewRegisters() const {
    return leavesFewRegisters(facts.words.carried, facts.words.products);
  }

  bool refuse(const LoadFacts &load, llvm::StringRef reason) {
    plan.refuse(load.load, reason);
    return false;
  }

  /// How much is lost without a ring: transposed tiles that mma reads can do without one if the
  /// others leave no room, and more so rows of single elements.
  enum class Need : uint8_t { Usual, Transposed, Row };

  static Need needOf(const LoadFacts &load) {
    return load.isReadTransposed       ? Need::Transposed
           : load.goesThroughRegisters ? Need::Row
                                       : Need::Usual;
  }

  /// Whether a tile that is stored to shared memory can be copied there ahead.
  bool accepts(const LoadFacts &load, Need need) {
    if (load.allocs.empty() || needOf(load) != need)
      return false;
    int64_t bytes = chosen.slotBytes() + load.type.slotStride();
    int slots = need == Need::Row ? chosen.distance + 1 : fewestSlots(chosen.distance);
    if (need != Need::Usual && slots * bytes > resources.roomForRings())
      return refuse(load, "too little shared memory");
    std::string obstacle = obstacleOf(load);
    return obstacle.empty() || refuse(load, obstacle);
  }

  static const std::string &obstacleOf(const LoadFacts &load) {
    return load.copyObstacle.empty() ? load.addressObstacle : load.copyObstacle;
  }

  /// Slots without which loads cannot be so many iterations ahead (shortenAsTritonDoes).
  int fewestSlots(int distance) const {
    return facts.feedsWgmma ? distance + 1 : std::max(2, distance);
  }

  /// What finds no room is waited for in its iteration. Rather than that, all are loaded fewer
  /// iterations ahead.
  void shortenToFit(const OwnLoads &own) {
    int64_t bytes = 0;
    bool mayBeDropped = !own.copies.empty();
    for (const LoadFacts &load : facts.loads) {
      if (llvm::is_contained(own.copies, &load)) {
        bytes += load.tileBytes();
      } else if (!load.allocs.empty() && !load.goesThroughRegisters && obstacleOf(load).empty()) {
        bytes += load.type.slotStride();
        mayBeDropped |= load.isReadTransposed;
      }
    }
    auto fitsAt = [&](int distance) {
      return fewestSlots(distance) * bytes <= resources.roomForRings();
    };
    int distance = chosen.distance;
    while (distance > 1 && !fitsAt(distance))
      --distance;
    if (mayBeDropped && distance >= 1 && fitsAt(distance))
      chosen.distance = distance;
  }

  OwnLoads findOwnLoads() {
    OwnLoads own;
    for (const LoadFacts &load : facts.loads) {
      if (!load.own.isCandidate || (load.own.isShort && hasFewRegisters()))
        continue;
      bool takesCopies = isSpread(load) && load.copyObstacle.empty();
      if (!takesCopies) {
        refuse(load, load.own.isShort ? "it has fewer elements than the block has threads"
                     : isSpread(load) ? load.copyObstacle
                                      : "several elements of it have one address");
        // A stream of numbers that are too narrow to be copied has more of them than a product.
        if ((isSpread(load) && !facts.hasProduct) || load.own.words > maxRegisterLoadWords ||
            llvm::cast<ir::LoadOp>(load.load).mayChangeMeanwhile())
          continue;
      }
      if (!load.addressObstacle.empty())
        refuse(load, load.addressObstacle);
      else
        (takesCopies ? own.copies : own.registers).push_back(&load);
    }
    return own;
  }

  /// Where the rings do not fit, what TMA brings for registers only is waited for in its
  /// iteration: operands of products are worth more.
  void dropReadsIfShort() {
    if (fits())
      return;
    llvm::erase_if(chosen.rings, [&](const LoadFacts *load) {
      return load->isReadByRegisters() && !refuse(*load, "too little shared memory");
    });
  }

  /// Programs that were written for Triton count on the memory that it takes, which is less
  /// in two cases: a load for an address is a stage of its own there, which leaves fewer to
  /// the ring; and a ring that no wgmma reads has as many slots as loads are iterations
  /// ahead, one fewer than here. Where the usual number does not fit, it is theirs; so is the
  /// latter where it lets a second block in.
  void shortenAsTritonDoes() {
    int levels = 0;
    for (const LoadFacts *load : chosen.rings)
      levels = std::max(levels, load->numAddressLoads);
    if (!fits())
      chosen.distance = static_cast<int>(llvm::divideCeil(chosen.distance, levels + 1));
    bool hasFewer = !facts.feedsWgmma && (!fits() || slotCostsOtherBlock());
    chosen.slots = chosen.distance + (hasFewer ? 0 : 1);
    if (chosen.slots >= 2)
      return;
    chosen.distance = 0;
    for (const LoadFacts *load : std::exchange(chosen.rings, {}))
      refuse(*load, "too little shared memory");
  }

  /// Whether a block has a multiprocessor to itself for the last slot of its ring. Not asked
  /// with loads three iterations ahead, where operands are read ahead, too.
  bool slotCostsOtherBlock() const {
    auto blocksWith = [&](int slots) {
      return forecastBlocks(
          resources.target, int64_t(resources.numWarps) << resources.target.log2WarpSize,
          facts.words.products + facts.words.operands, RegisterContext::ChainWithAddresses,
          resources.otherSharedBytes + slots * chosen.slotBytes());
    };
    return facts.hasProduct && chosen.distance == 2 && blocksWith(chosen.distance + 1) == 1 &&
           blocksWith(chosen.distance) > 1;
  }

  /// What addresses of copies are loaded from: an iteration before the copies, so that these
  /// wait for no memory. Of loads that need others first, the first ones. The little that
  /// addresses of other loads come from is loaded with it, such as the pages of keys that no
  /// copy can bring.
  void chooseForAddresses() {
    if (chosen.rings.empty())
      return;
    Slice copies(facts.loop), others(facts.loop);
    for (const LoadFacts *load : chosen.rings)
      copies.addOperands(load->load);
    if (facts.hasProduct)
      for (const LoadFacts &load : facts.loads)
        others.addOperands(load.load);
    auto isNeeded = [](const LoadFacts &load, const Slice &by) {
      return load.numAddressLoads == 0 && load.addressObstacle.empty() &&
             by.ops.contains(load.load);
    };
    int64_t wordsLeft = hasFewRegisters() ? fewWords : maxRegisterLoadWords;
    for (const LoadFacts &load : facts.loads)
      wordsLeft -= isNeeded(load, copies) ? load.own.words : 0;
    if (wordsLeft < 0)
      return;
    for (const LoadFacts &load : facts.loads) {
      auto op = llvm::dyn_cast<ir::LoadOp>(load.load);
      bool isLittle = op && LoopSchedule::isSharedAddressLoad(op) && !op.mayChangeMeanwhile();
      if (isNeeded(load, copies))
        chosen.addresses.push_back(&load);
      else if (isLittle && isNeeded(load, others) && wordsLeft-- > 0)
        chosen.addresses.push_back(&load);
    }
    for (const LoadFacts *load : chosen.addresses)
      noteEarly(*load, chosen.distance + 1, "loaded ahead, for addresses");
  }

  void noteEarly(const LoadFacts &load, int iterations, llvm::StringRef reason) {
    plan.notes.push_back({load.load,
                          {"early-load",
                           true,
                           {},
                           {{"iterations", iterations}, {"words", load.own.words}},
                           reason.str()}});
  }

  bool fits() const {
    return (chosen.distance + 1) * chosen.slotBytes() <= resources.roomForRings();
  }

  /// All loads, so many iterations ahead as memory allows: those that are too small for a copy
  /// of each thread go to registers.
  OwnLoads chooseForStream() {
    OwnLoads own = findOwnLoads();
    addScalars(own, /*areForProducts=*/false);
    int64_t bytes = 0;
    for (const LoadFacts *load : own.copies)
      bytes += load->tileBytes();
    while (chosen.distance >= 1 && (chosen.distance + 1) * bytes > resources.roomForRings())
      --chosen.distance;
    if (chosen.distance < 1) {
      for (const LoadFacts *load : own.copies)
        refuse(*load, "too little shared memory");
      return {};
    }
    if (own.copies.empty())
      chooseForRegistersAlone(own);
    else
      chooseRegisterDistance(own, chosen.distance);
    return own;
  }

  /// Loads from which products' operands are computed.
  OwnLoads chooseForOperands() {
    OwnLoads own = findOwnLoads();
    int64_t bytes = 0;
    for (const LoadFacts &load : facts.loads)
      for (ir::AllocSharedOp alloc : load.allocs)
        bytes += alloc->getBlock() == facts.body() && !load.goesThroughRegisters
                     ? alloc.getType().slotStride()
                     : 0;
    llvm::erase_if(own.copies, [](const LoadFacts *load) { return !load->own.feedsProduct; });
    int64_t wordsBesides = facts.hasProduct && !hasFewRegisters() ? fewWords : 0;
    llvm::erase_if(own.registers, [&](const LoadFacts *load) {
      return !load->own.feedsProduct && !takeWords(*load, wordsBesides);
    });
    shortenToFit(own);
    llvm::erase_if(own.copies, [&](const LoadFacts *load) {
      // A ring of products has a slot more where that fits.
      int64_t more = bytes + load->tileBytes();
      if ((chosen.distance + 1) * more > resources.roomForRings())
        return !refuse(*load, "too little shared memory");
      bytes = more;
      return false;
    });
    addScalars(own, /*areForProducts=*/true);
    chooseRegisterDistance(own, chosen.distance);
    return own;
  }

  /// Takes what `load` needs from `words`, if there is as much.
  static bool takeWords(const LoadFacts &load, int64_t &words) {
    bool isEnough = load.own.words <= words;
    words -= isEnough ? load.own.words : 0;
    return isEnough;
  }

  /// Scalars besides those that addresses are loaded from: all threads would wait for them. One
  /// that is used after the product only may be moved to a uniform register where it is loaded,
  /// which waits for it at once.
  void addScalars(OwnLoads &own, bool areForProducts) {
    Slice addresses(facts.loop);
    for (const LoadFacts &load : facts.loads)
      addresses.addOperands(load.load);
    for (const LoadFacts &load : facts.loads)
      if (load.own.isScalar && (load.own.feedsProduct || !areForProducts) &&
          !addresses.ops.contains(load.load) && load.addressObstacle.empty() &&
          !llvm::cast<ir::LoadOp>(load.load).mayChangeMeanwhile())
        own.registers.push_back(&load);
  }

  /// The little that an iteration loads: no more than the state that it hands on, or half of
  /// what it computes with it. Loops that work on what they load, as large rows, have none to
  /// spare, and their blocks take turns in waiting. A state may be computed from more.
  OwnLoads chooseEarlyLoads() {
    OwnLoads own;
    // Threads wait for each other where one load goes through shared memory.
    if (llvm::any_of(facts.loads, [](const LoadFacts &load) { return !load.allocs.empty(); }))
      return own;
    int64_t words = 0;
    for (const LoadFacts &load : facts.loads) {
      auto op = llvm::dyn_cast<ir::LoadOp>(load.load);
      if (!op || op.mayChangeMeanwhile() || !(load.own.isCandidate || load.own.isScalar))
        continue;
      if (!load.addressObstacle.empty()) {
        refuse(load, load.addressObstacle);
        continue;
      }
      own.registers.push_back(&load);
      words += load.own.words;
    }
    int64_t most = facts.words.largest / 2;
    if (facts.words.recurrent > 0)
      most = std::max({most, facts.words.recurrent, fewWords});
    if (words > std::min(most, maxRegisterLoadWords) && !spreadEarlyLoads(own, words))
      for (const LoadFacts *load : std::exchange(own.registers, {}))
        refuse(*load, "an iteration loads more than its registers can hold ahead");
    if (!own.copies.empty())
      chooseRegisterDistance(own, chosen.distance);
    else if (!own.registers.empty())
      chooseForRegistersAlone(own);
    return own;
  }

  /// Stages are for memory that is shared; registers are counted apart. But they move on by one
  /// variable with each iteration, which waits for the last load, unless the optimiser unrolls the
  /// loop: one in which threads exchange stays as it is. A loop that asks for stages gets these.
  void chooseForRegistersAlone(const OwnLoads &own) {
    bool isAsked = facts.asksItself || facts.heldBy == LoadsHeldBy::Exchanges;
    int farthest = isAsked ? chosen.distance : farthestRegisterLoads;
    chooseRegisterDistance(own, std::min(farthest, maxDistance(facts.loop)));
  }

  /// Finds room for the many words that a state is computed from, and keeps no block from a
  /// multiprocessor: threads copy for themselves what they can, as many iterations ahead as the
  /// memory allows, or all goes to registers.
  bool spreadEarlyLoads(OwnLoads &own, int64_t words) {
    if (words > maxWordsPerState * facts.words.recurrent)
      return false;
    OwnLoads spread;
    int64_t bytes = 0, registers = 0;
    for (const LoadFacts *load : own.registers) {
      bool takesCopies = load->own.isCandidate && isSpread(*load) && load->copyObstacle.empty();
      (takesCopies ? spread.copies : spread.registers).push_back(load);
      bytes += takesCopies ? load->tileBytes() : 0;
      registers += takesCopies ? 0 : load->own.words;
    }
    auto blocksWith = [&](int64_t moreWords, int64_t sharedBytes) {
      int64_t threads = int64_t(resources.numWarps) << resources.target.log2WarpSize;
      return forecastBlocks(resources.target, threads,
                            facts.words.carried + facts.words.largest + words + moreWords,
                            RegisterContext::Operands, resources.otherSharedBytes + sharedBytes);
    };
    int64_t blocks = blocksWith(0, 0);
    if (blocks == 0)
      return false;
    if (bytes == 0)
      return blocksWith(words, 0) == blocks;
    auto distance = static_cast<int>(std::min<int64_t>(chosen.distance, maxBytesAhead / bytes));
    while (distance > 0 && blocksWith(registers, (distance + 1) * bytes) < blocks)
      --distance;
    if (distance == 0 || registers > maxRegisterLoadWords)
      return false;
    chosen.distance = distance;
    own = std::move(spread);
    return true;
  }

  /// A short iteration is over before the memory answers, so `iterations` ahead, or as many as
  /// the registers allow.
  void chooseRegisterDistance(const OwnLoads &own, int iterations) {
    int64_t words = 0;
    for (const LoadFacts *load : own.registers)
      words += load->own.words;
    int64_t farthest =
        std::min<int64_t>(iterations, maxRegisterLoadWords / std::max<int64_t>(words, 1));
    if (hasFewRegisters())
      farthest = 1;
    chosen.registerDistance = static_cast<int>(std::max<int64_t>(farthest, 1));
    for (const LoadFacts *load : own.registers)
      noteEarly(*load, chosen.registerDistance, "loaded ahead, into registers");
  }
};

} // namespace

ChosenLoads chooseLoads(const LoopFacts &facts, const LoopResources &resources, LoopPlan &plan) {
  return LoadChoice(facts, resources, plan).run();
}

} // namespace tilewright::passes
