//===- RaceCheck.cpp - Accesses that nothing orders -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/RaceCheck.h"
#include "ir/support/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace tilewright::interpreter {

//===----------------------------------------------------------------------===//
// Runs of consecutive elements
//===----------------------------------------------------------------------===//

/// Active lanes whose elements adjoin: lane firstLane + i * laneStep is at
/// address + i * size.
struct RaceCheck::Run {
  uint64_t address;
  int64_t lanes;
  int64_t firstLane, laneStep;
};

/// Lanes that are compared at once; extents are powers of two, so blocks fill rows.
static constexpr int64_t lanesPerBlock = 64;

/// Whether the lanes adjoin, all of them active.
static bool isOneRun(const uint64_t *addresses, const uint8_t *mask, int64_t count, uint64_t size) {
  uint64_t different = 0;
  for (int64_t i = 0; i < count; ++i)
    different |= addresses[i] - (addresses[0] + i * size);
  return different == 0 && (!mask || !std::memchr(mask, 0, count));
}

/// The distance of lanes whose elements adjoin: 1 in a row-major tile.
static std::pair<int64_t, int64_t> stepAndExtent(const Access &access) {
  const std::vector<int64_t> &shape = access.pointer.type.shape;
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0; step *= shape[axis])
    if (shape[axis] > 1 && addresses[step] - addresses[0] == uint64_t(access.sizeInBytes))
      return {step, shape[axis]};
  return {1, countOf(shape)};
}

template <typename F> void RaceCheck::forEachRun(const Access &access, F function) {
  int64_t count = countOf(access.pointer);
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  const uint8_t *mask = access.mask;
  uint64_t size = access.sizeInBytes;
  auto [step, extent] = stepAndExtent(access);
  Run run{0, 0, 0, step};
  auto add = [&](int64_t lane, int64_t lanes) {
    if (run.lanes && addresses[lane] == run.address + run.lanes * size &&
        lane == run.firstLane + run.lanes * run.laneStep) {
      run.lanes += lanes;
      return;
    }
    if (run.lanes)
      function(run);
    run.address = addresses[lane];
    run.lanes = lanes;
    run.firstLane = lane;
  };
  int64_t block = step == 1 ? std::min(extent, lanesPerBlock) : extent;
  for (int64_t outer = 0; outer < count; outer += block * step) {
    if (step == 1 && isOneRun(addresses + outer, mask ? mask + outer : nullptr, block, size)) {
      add(outer, block);
      continue;
    }
    for (int64_t inner = outer; inner < outer + step; ++inner)
      for (int64_t i = 0; i < block; ++i)
        if (!mask || mask[inner + i * step])
          add(inner + i * step, 1);
  }
  if (run.lanes)
    function(run);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// One region for arrays that overlap or adjoin.
void RaceCheck::buildRegions() {
  std::vector<AllocationId> order(memory.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](AllocationId a, AllocationId b) {
    return memory.allocation(a).low < memory.allocation(b).low;
  });
  regions.clear();
  regionOfArray.assign(memory.size(), 0);
  for (size_t i = 0; i < order.size();) {
    const Allocation &first = memory.allocation(order[i]);
    uint64_t high = first.high;
    int cellSize = 8;
    for (; i < order.size() && memory.allocation(order[i]).low <= high; ++i) {
      const Allocation &array = memory.allocation(order[i]);
      high = std::max(high, array.high);
      cellSize = std::min(cellSize, std::max(elementSize(array.type.kind()), 1));
      regionOfArray[order[i]] = regions.size();
    }
    regions.emplace_back(first.low, high, cellSize);
  }
}

/// The region of an address that is known to lie in an array.
ShadowRegion &RaceCheck::regionOf(const Access &access, uint64_t address) {
  AllocationId id = tileOf(access.pointer).allocation;
  if (id == unknownAllocation)
    id = memory.find(address);
  ShadowRegion &region = regions[regionOfArray[id]];
  if (access.sizeInBytes < region.cellSize())
    region.refine(access.sizeInBytes);
  return region;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void RaceCheck::noteLoad(const Access &access) {
  Current current{access};
  current.id = order.plain(places.currentPlace(), current.traits);
  note(current);
}

void RaceCheck::noteStore(const Access &access, const void *values) {
  Current current{access, WritesMemory};
  current.id = order.plain(places.currentPlace(), current.traits);
  current.values = static_cast<const char *>(values);
  note(current);
}

void RaceCheck::noteAtomic(const Access &access, bool wrote, const Synchronization &how) {
  Current current{access, IsAtomic};
  if (how.hasBlockScope)
    current.traits |= HasBlockScope;
  if (wrote)
    current.traits |= WritesMemory;
  collectReleases(access);
  PlaceId place = places.currentPlace();
  // Whoever changes nothing leaves in memory what others released there.
  current.id =
      wrote ? order.atomic(place, current.traits, how.releases && !how.hasBlockScope, releases)
            : order.plain(place, current.traits);
  if (how.acquires && !how.hasBlockScope) {
    // Its own release has come after all that it found.
    if (wrote && how.releases)
      releases.assign(1, current.id);
    for (AccessId id : releases)
      order.acquire(id);
  }
  note(current);
}

/// The releases that the active lanes find, each once unless they alternate.
void RaceCheck::collectReleases(const Access &access) {
  releases.clear();
  if (regionOfArray.size() != memory.size())
    buildRegions();
  AccessId seen[16] = {};
  forEachRun(access, [&](const Run &run) {
    regionOf(access, run.address)
        .visit(run.address, run.lanes * access.sizeInBytes, false,
               [&](ShadowCell &cell, uint64_t, uint64_t) {
                 AccessId id = cell.writer;
                 if (!id || seen[id % 16] == id)
                   return;
                 seen[id % 16] = id;
                 if (order.record(id).traits & CanBeAcquired)
                   releases.push_back(id);
               });
  });
}

void RaceCheck::note(Current &current) {
  if (regionOfArray.size() != memory.size())
    buildRegions();
  forEachRun(current.access, [&](const Run &run) {
    current.values ? noteStoredRun(current, run) : noteRun(current, run);
  });
}

void RaceCheck::noteRun(Current &current, const Run &run) {
  const Access &access = current.access;
  regionOf(access, run.address)
      .visit(
          run.address, run.lanes * access.sizeInBytes, current.traits & WritesMemory,
          [&](ShadowCell &cell, uint64_t address, uint64_t) { visitCell(current, cell, address); });
}

/// Elements of the run that get the bits that they have are noted as such.
void RaceCheck::noteStoredRun(Current &current, const Run &run) {
  dispatchWord(current.access.sizeInBytes, [&](auto word) {
    using Word = decltype(word);
    const Word *held = reinterpret_cast<const Word *>(run.address);
    const Word *stored = reinterpret_cast<const Word *>(current.values) + run.firstLane;
    auto isUnchanged = [&](int64_t lane) { return held[lane] == stored[lane * run.laneStep]; };
    for (int64_t lane = 0; lane < run.lanes;) {
      Run part{run.address + lane * sizeof(Word), 0, run.firstLane + lane * run.laneStep,
               run.laneStep};
      bool unchanged = isUnchanged(lane);
      for (; lane < run.lanes && isUnchanged(lane) == unchanged; ++lane)
        ++part.lanes;
      unchanged ? noteUnchangedRun(current.access, part) : noteRun(current, part);
    }
  });
}

/// Such a store is no race with earlier accesses; a later store of other bits is one with it.
void RaceCheck::noteUnchangedRun(const Access &access, const Run &run) {
  AccessId id = order.plain(places.currentPlace(), WritesMemory | ChangesNothing);
  regionOf(access, run.address)
      .visit(run.address, run.lanes * access.sizeInBytes, true,
             [&](ShadowCell &cell, uint64_t, uint64_t) {
               if (!cell.writer || (order.record(cell.writer).traits & ChangesNothing))
                 cell.writer = id;
               else if (!knowsBits(cell))
                 cell.repeater = cell.repeater && order.programsTakeTurns() ? severalPrograms : id;
             });
}

/// Whether the running program has stored the bits of the last write again, or comes
/// after a program that has: it finds them whenever that write took place.
bool RaceCheck::knowsBits(const ShadowCell &cell) {
  return cell.repeater && (cell.repeater == severalPrograms || order.isOrdered(cell.repeater));
}

void RaceCheck::visitCell(Current &current, ShadowCell &cell, uint64_t address) {
  bool readsKnownBits = !(current.traits & WritesMemory) && knowsBits(cell);
  if (cell.writer && !readsKnownBits && !order.isRecent(cell.writer) &&
      conflicts(current, cell.writer))
    report(current, cell.writer, cell, address);
  if (!(current.traits & WritesMemory)) {
    if (cell.reader && !order.isRecent(cell.reader))
      cell.other = cell.reader;
    cell.reader = current.id;
    return;
  }
  if (cell.reader && !order.isRecent(cell.reader) && conflicts(current, cell.reader))
    report(current, cell.reader, cell, address);
  if (cell.other && !order.isRecent(cell.other) && conflicts(current, cell.other))
    report(current, cell.other, cell, address);
  // Its own read stays: it tells a lost update from a plain race.
  if (cell.reader && order.record(cell.reader).program != order.runningProgram())
    cell.reader = 0;
  cell.other = cell.repeater = 0;
  cell.writer = current.id;
}

/// Whether a previous access, which may be the running program's, is in no order with
/// the current one and one of the two is a plain one.
bool RaceCheck::conflicts(Current &current, AccessId previous) {
  if (previous == current.harmless)
    return false;
  uint8_t both = order.record(previous).traits & current.traits;
  uint8_t either = order.record(previous).traits | current.traits;
  bool areAtomics = (both & IsAtomic) && !(either & HasBlockScope);
  bool changes = (current.traits & WritesMemory) ||
                 (order.record(previous).traits & (WritesMemory | ChangesNothing)) == WritesMemory;
  if (!areAtomics && changes && !order.isOrdered(previous))
    return true;
  current.harmless = previous;
  return false;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string RaceCheck::programName(uint32_t linear) const {
  uint32_t x = static_cast<uint32_t>(position.grid[0]), y = static_cast<uint32_t>(position.grid[1]);
  return fmt::format("({},{},{})", linear % x, linear / x % y, linear / x / y);
}

static const char *verbOf(uint8_t traits) {
  bool writes = traits & WritesMemory;
  if (traits & HasBlockScope)
    return writes ? "changes it by an atomic of scope 'cta'"
                  : "reads it by an atomic of scope 'cta'";
  if (traits & IsAtomic)
    return writes ? "changes it by an atomic" : "reads it by an atomic";
  return writes ? "writes it" : "reads it";
}

void RaceCheck::report(Current &current, AccessId previousId, const ShadowCell &cell,
                       uint64_t address) {
  if (std::exchange(current.reported, true))
    return;
  const AccessRecord previous = order.record(previousId);
  const AccessRecord own = order.record(current.id);
  AllocationId id = tileOf(current.access.pointer).allocation;
  if (id == unknownAllocation)
    id = memory.find(address);
  if (!reported.insert({previous.place, own.place, id}).second)
    return;
  const Allocation &array = memory.allocation(id);
  std::string first = programName(previous.program), second = programName(own.program);
  auto arrayArg = fmt::arg("a", array.name);
  int64_t index = array.elementIndex(address);
  auto indexArg = fmt::arg("i", index);
  bool wrote = previous.traits & WritesMemory, writes = own.traits & WritesMemory;
  // The other program has loaded the element at this very line before it stored it: so
  // will this one.
  bool isUpdate = wrote && !writes && cell.reader &&
                  order.record(cell.reader).program == previous.program &&
                  order.record(cell.reader).place == own.place && own.place != 0;
  Error error = [&] {
    if ((previous.traits | own.traits) & IsAtomic)
      return makeError(ErrorCode::E0411, arrayArg, indexArg, fmt::arg("p", first),
                       fmt::arg("q", second), fmt::arg("first", verbOf(previous.traits)),
                       fmt::arg("second", verbOf(own.traits)));
    if (isUpdate)
      return makeError(ErrorCode::E0410, arrayArg, indexArg, fmt::arg("p", first),
                       fmt::arg("q", second));
    if (wrote && writes)
      return makeError(ErrorCode::E0408, arrayArg, indexArg, fmt::arg("p", first),
                       fmt::arg("q", second));
    return makeError(ErrorCode::E0409, arrayArg, indexArg, fmt::arg("p", wrote ? first : second),
                     fmt::arg("q", wrote ? second : first));
  }();
  std::string where = places.describePlace(previous.place);
  if (!where.empty())
    error.addNote(fmt::format("program {} {} at {}", first, verbOf(previous.traits), where));
  if (array.shape.size() > 1)
    error.addNote(fmt::format("'{}' has shape [{}]", array.name, fmt::join(array.shape, ", ")));
  checks.report(error);
}

std::optional<AccessRecord> RaceCheck::lastWrite(uint64_t address) const {
  for (const ShadowRegion &region : regions)
    if (region.low() <= address && address < region.high())
      if (AccessId id = region.at(address).writer)
        return order.record(id);
  return std::nullopt;
}

} // namespace tilewright::interpreter
