//===- ShufflePlan.cpp - Layout conversion by warp shuffles ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: for every place in the destination, solve for a place of the same warp
// in the source that holds the element. All is linear: the source register and
// the source lane of destination register r in lane l of warp w are
//
//   register = regOfReg r ^ regOfLane l ^ regOfWarp w     (Source::reg)
//   lane     = laneOfReg r ^ laneOfLane l ^ laneOfWarp w  (Source::lane)
//
// A lane offers one register per round, so in round k lane l must not ask for
// register k, but for register k ^ turn(l), with `turn` linear and such that
// lanes that read from the same lane want the same register of it. In round k
// lane l then reads from lane
//
//   laneOfReg k ^ N l ^ ...        with  N = laneOfReg turn ^ laneOfLane
//   register regOfReg k ^ P l ^ ...      P = regOfReg turn ^ regOfLane
//
// and the condition is ker N in ker P. Two ways to choose `turn`:
//  1. N = identity, where laneOfReg reaches what laneOfLane lacks: source lanes
//     are then lane ^ constant, and rounds with constant 0 need no shuffle.
//  2. Else lanes in ker laneOfLane that want different registers are sent to
//     registers whose source lanes lie outside the image of laneOfLane.
// Where the source holds copies, its lanes may also be changed by the
// directions that lead to a copy; they count as registers that need no turn.
//
// The register that lane p offers in round k follows by undoing N: with Q N =
// P,
//   register = (regOfReg ^ Q laneOfReg) k ^ Q p ^ (regOfWarp ^ Q laneOfWarp) w
// and the last two terms are the exchanges before the rounds.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/ConversionPlan.h"

#include "ir/layout/F2.h"

#include <algorithm>
#include <map>

namespace tilewright {

//===--- reading a plan ---------------------------------------------------===//

bool RegisterSwap::holds(uint32_t lane, uint32_t warp, uint32_t block) const {
  return f2::parity(lane & threadMask[InDim::Lane]) ^ f2::parity(warp & threadMask[InDim::Warp]) ^
         f2::parity(block & threadMask[InDim::Block]);
}

static bool allZero(const Columns &columns) {
  return std::all_of(columns.begin(), columns.end(), [](uint32_t column) { return column == 0; });
}

bool ShufflePlan::isButterfly() const {
  return laneFromLane == f2::identityColumns(static_cast<int>(laneFromLane.size())) &&
         allZero(laneFromWarp) && allZero(laneFromBlock);
}

bool ShufflePlan::isLocal(const ShuffleRound &round) const {
  return round.laneXor == 0 && isButterfly();
}

uint32_t ShufflePlan::sourceLane(const ShuffleRound &round, uint32_t lane, uint32_t warp,
                                 uint32_t block) const {
  return f2::multiply(laneFromLane, lane) ^ f2::multiply(laneFromWarp, warp) ^
         f2::multiply(laneFromBlock, block) ^ round.laneXor;
}

int ShufflePlan::numShuffles(int elementBits) const {
  int words = std::max(1, elementBits / 32);
  int count = 0;
  for (const ShuffleRound &round : rounds)
    count += isLocal(round) ? 0 : words;
  return count;
}

int ShufflePlan::numSelects(int elementBits) const {
  int words = std::max(1, elementBits / 32);
  int count =
      words * static_cast<int>(before.size() * sourceRegisters.size() + after.size() * numSlots);
  return elementBits <= 16 && pairBits() ? count / 2 : count;
}

/// Whether every round takes with a source without the bit the one with it, and the same of slots.
static bool roundsKeepPairs(const ShufflePlan &plan, ShufflePlan::PairBits bits) {
  for (const ShuffleRound &round : plan.rounds) {
    std::map<int, int> slotOf;
    for (size_t i = 0; i < round.sources.size(); ++i)
      slotOf[round.sources[i]] = round.slots[i];
    for (auto [source, slot] : slotOf) {
      auto other = slotOf.find(source ^ static_cast<int>(bits.source));
      if (other == slotOf.end() || other->second != (slot ^ static_cast<int>(bits.slot)) ||
          !(source & bits.source) != !(slot & bits.slot))
        return false;
    }
  }
  return true;
}

std::optional<ShufflePlan::PairBits> ShufflePlan::pairBits() const {
  uint32_t changedSources = 0, changedSlots = 0;
  for (const RegisterSwap &swap : before)
    changedSources |= swap.registerMask;
  for (const RegisterSwap &swap : after)
    changedSlots |= swap.registerMask;
  for (uint32_t source = 1; source < sourceRegisters.size(); source <<= 1)
    for (uint32_t slot = 1; slot < static_cast<uint32_t>(numSlots); slot <<= 1)
      if (!(source & changedSources) && !(slot & changedSlots) &&
          roundsKeepPairs(*this, {source, slot}))
        return PairBits{source, slot};
  return std::nullopt;
}

//===--- where every place comes from -------------------------------------===//

namespace {

/// A linear map to places of the source: one column per input bit.
struct Source {
  Columns reg;
  Columns lane;

  void append(uint32_t regColumn, uint32_t laneColumn) {
    reg.push_back(regColumn);
    lane.push_back(laneColumn);
  }
};

/// Everything about one conversion; registers without copies on both sides.
struct Problem {
  Source ofReg, ofLane, ofWarp, ofBlock;
  /// Directions in (register, lane) of the source that lead to a copy.
  Source copies;
};

} // namespace

static std::optional<Problem> solveSources(const LinearLayout &src, const LinearLayout &dst) {
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    if (src.numInBits(dim) != dst.numInBits(dim))
      return std::nullopt;
  const Columns &registers = src.columns(InDim::Register);
  const Columns &lanes = src.columns(InDim::Lane);
  uint32_t registerMask = (uint32_t(1) << registers.size()) - 1;
  // Registers first: lanes are crossed only where no register has the element.
  f2::Basis warpHolds(f2::concat(registers, lanes));

  Problem problem;
  auto solve = [&](InDim dim, Source &source) {
    for (int bit = 0; bit < dst.numInBits(dim); ++bit) {
      // What the same thread of the source holds counts as given.
      uint32_t target = dst.columns(dim)[bit];
      if (dim != InDim::Register)
        target ^= src.columns(dim)[bit];
      std::optional<uint64_t> mask = warpHolds.solve(target);
      if (!mask)
        return false;
      uint32_t lane = static_cast<uint32_t>(*mask >> registers.size());
      if (dim == InDim::Lane)
        lane ^= uint32_t(1) << bit;
      source.append(static_cast<uint32_t>(*mask) & registerMask, lane);
    }
    return true;
  };
  if (!solve(InDim::Register, problem.ofReg) || !solve(InDim::Lane, problem.ofLane) ||
      !solve(InDim::Warp, problem.ofWarp) || !solve(InDim::Block, problem.ofBlock))
    return std::nullopt;
  for (uint64_t mask : warpHolds.kernel())
    problem.copies.append(static_cast<uint32_t>(mask) & registerMask,
                          static_cast<uint32_t>(mask >> registers.size()));
  return problem;
}

//===--- the turn ---------------------------------------------------------===//

/// The choice per lane bit: a mask over the directions to copies (low bits) and
/// the destination registers (above them).
using Choice = std::vector<uint64_t>;

/// N = identity, if the directions reach far enough.
static std::optional<Choice> chooseIdentity(const Problem &problem, const Columns &directions) {
  f2::Basis basis(directions);
  Choice choice;
  for (size_t bit = 0; bit < problem.ofLane.lane.size(); ++bit) {
    std::optional<uint64_t> mask = basis.solve(problem.ofLane.lane[bit] ^ uint32_t(1) << bit);
    if (!mask)
      return std::nullopt;
    choice.push_back(*mask);
  }
  return choice;
}

/// ker N in ker P: sends the lanes that would read different registers of one
/// lane to different lanes.
static std::optional<Choice> chooseInjective(const Problem &problem, const Columns &directions) {
  const Source &ofLane = problem.ofLane;
  int numLaneBits = static_cast<int>(ofLane.lane.size());
  // A basis of the lanes: first those that read the very same place as lane 0,
  // then the rest of ker laneOfLane (to be moved), then a complement.
  Columns sameLane, basisVectors;
  for (uint64_t mask : f2::kernelBasis(ofLane.lane))
    sameLane.push_back(static_cast<uint32_t>(mask));
  Columns wanted;
  for (uint32_t lane : sameLane)
    wanted.push_back(f2::multiply(ofLane.reg, lane));
  for (uint64_t mask : f2::kernelBasis(wanted))
    basisVectors.push_back(f2::multiply(sameLane, mask));
  size_t firstMoved = basisVectors.size();
  f2::Basis lanes(basisVectors);
  for (uint32_t lane : sameLane)
    if (lanes.insert(lane))
      basisVectors.push_back(lane);
  size_t firstRest = basisVectors.size();
  basisVectors = f2::concat(basisVectors, f2::complementBasis(basisVectors, numLaneBits));

  // One direction for each moved vector, leading outside what is read already.
  std::vector<uint64_t> directionOf(basisVectors.size(), 0);
  f2::Basis reached(ofLane.lane);
  size_t next = 0;
  for (size_t i = firstMoved; i < firstRest; ++i) {
    while (next < directions.size() && !reached.insert(directions[next]))
      ++next;
    if (next == directions.size())
      return std::nullopt;
    directionOf[i] = uint64_t(1) << next++;
  }
  Columns toBasis = *f2::inverse(basisVectors, numLaneBits);
  Choice choice;
  for (int bit = 0; bit < numLaneBits; ++bit) {
    uint64_t mask = 0;
    for (size_t i = 0; i < basisVectors.size(); ++i)
      if (toBasis[bit] >> i & 1)
        mask ^= directionOf[i];
    choice.push_back(mask);
  }
  return choice;
}

//===--- building the plan ------------------------------------------------===//

/// Exchanges that move register r to r ^ (XOR of the columns of the set thread
/// bits): one per independent column, held by the bits that contain it.
static std::vector<RegisterSwap> makeSwaps(const Columns &ofLane, const Columns &ofWarp,
                                           const Columns &ofBlock) {
  Columns all = f2::concat(f2::concat(ofLane, ofWarp), ofBlock);
  Columns masks = f2::independentColumns(all);
  std::vector<RegisterSwap> swaps;
  for (uint32_t mask : masks)
    swaps.push_back({mask, {}});
  f2::Basis basis(masks);
  auto hold = [&](InDim dim, const Columns &columns) {
    for (size_t bit = 0; bit < columns.size(); ++bit) {
      uint64_t used = *basis.solve(columns[bit]);
      for (size_t i = 0; i < swaps.size(); ++i)
        if (used >> i & 1)
          swaps[i].threadMask[dim] |= uint32_t(1) << bit;
    }
  };
  hold(InDim::Lane, ofLane);
  hold(InDim::Warp, ofWarp);
  hold(InDim::Block, ofBlock);
  return swaps;
}

/// Registers with the same source lane travel together as far as 32 bits go.
static void addRound(ShufflePlan &plan, uint32_t laneXor, int source, int slot,
                     int elementsPerRound) {
  for (ShuffleRound &round : plan.rounds) {
    if (round.laneXor == laneXor && static_cast<int>(round.sources.size()) < elementsPerRound) {
      round.sources.push_back(source);
      round.slots.push_back(slot);
      return;
    }
  }
  plan.rounds.push_back({laneXor, {source}, {slot}});
}

std::optional<ShufflePlan> planShuffle(const LinearLayout &src, const LinearLayout &dst,
                                       int elementBits) {
  // 1. Where every destination place comes from.
  std::optional<Problem> problem = solveSources(removeZeroRegisters(src), removeZeroRegisters(dst));
  if (!problem)
    return std::nullopt;
  const auto &[ofReg, ofLane, ofWarp, ofBlock, copies] = *problem;

  // 2. Which register a lane asks for in which round.
  Columns laneDirections = f2::concat(copies.lane, ofReg.lane);
  Columns regDirections = f2::concat(copies.reg, ofReg.reg);
  std::optional<Choice> choice = chooseIdentity(*problem, laneDirections);
  if (!choice)
    choice = chooseInjective(*problem, laneDirections);
  if (!choice)
    return std::nullopt;
  Columns turn, laneFromLane, regFromLane; // turn, N, P
  for (size_t bit = 0; bit < choice->size(); ++bit) {
    uint64_t mask = (*choice)[bit];
    turn.push_back(static_cast<uint32_t>(mask >> copies.lane.size()));
    laneFromLane.push_back(ofLane.lane[bit] ^ f2::multiply(laneDirections, mask));
    regFromLane.push_back(ofLane.reg[bit] ^ f2::multiply(regDirections, mask));
  }

  // 3. Which register a lane offers: Q N = P. A lane from which no other lane reads
  // may offer anything, so Q is zero on a complement of the image of N.
  int numLaneBits = static_cast<int>(laneFromLane.size());
  f2::Basis image(f2::concat(laneFromLane, f2::identityColumns(numLaneBits)));
  Columns offered;
  for (int bit = 0; bit < numLaneBits; ++bit)
    offered.push_back(f2::multiply(regFromLane, *image.solve(uint32_t(1) << bit) &
                                                    ((uint64_t(1) << numLaneBits) - 1)));
  auto corrected = [&](const Source &source) {
    Columns result;
    for (size_t bit = 0; bit < source.reg.size(); ++bit)
      result.push_back(source.reg[bit] ^ f2::multiply(offered, source.lane[bit]));
    return result;
  };

  // 4. Write it down.
  ShufflePlan plan;
  plan.sourceRegisters = keptRegisters(src);
  plan.before = makeSwaps(offered, corrected(ofWarp), corrected(ofBlock));
  plan.laneFromLane = laneFromLane;
  plan.laneFromWarp = ofWarp.lane;
  plan.laneFromBlock = ofBlock.lane;
  plan.numSlots = 1 << ofReg.lane.size();
  Columns sourceOfSlot = corrected(ofReg);
  int elementsPerRound = std::max(1, 32 / std::max(8, elementBits));
  for (int slot = 0; slot < plan.numSlots; ++slot)
    addRound(plan, f2::multiply(ofReg.lane, slot),
             static_cast<int>(f2::multiply(sourceOfSlot, slot)), slot, elementsPerRound);
  plan.after = makeSwaps(turn, {}, {});
  plan.destinationSlots = compactRegisterOf(dst);
  return plan;
}

} // namespace tilewright
