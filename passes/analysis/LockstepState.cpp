//===- LockstepState.cpp - Shared memory at one point of a run ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/LockstepState.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void PhaseCounts::erase(Operation *alloc) {
  arrived.remove_if([&](auto &entry) { return entry.first.first == alloc; });
}

void PhaseCounts::forget(Operation *alloc) {
  unknown.insert(alloc);
  erase(alloc);
}

void PhaseCounts::arrive(Slot slot, int64_t arrivals) {
  if (!unknown.contains(slot.first))
    arrived[slot] += arrivals;
}

std::optional<int64_t> PhaseCounts::over(Slot slot) const {
  auto alloc = llvm::dyn_cast<ir::MbarrierAllocOp>(slot.first);
  if (!alloc || unknown.contains(alloc) || alloc.getArrivals() == 0)
    return std::nullopt;
  auto found = arrived.find(slot);
  return found == arrived.end() ? 0 : found->second / alloc.getArrivals();
}

void PhaseCounts::join(const PhaseCounts &other) {
  llvm::SmallVector<Operation *> differ(other.unknown.begin(), other.unknown.end());
  auto collect = [&](const PhaseCounts &lhs, const PhaseCounts &rhs) {
    for (auto &[slot, count] : lhs.arrived) {
      auto found = rhs.arrived.find(slot);
      if (count != (found == rhs.arrived.end() ? 0 : found->second))
        differ.push_back(slot.first);
    }
  };
  collect(*this, other);
  collect(other, *this);
  for (Operation *alloc : differ)
    forget(alloc);
}

//===----------------------------------------------------------------------===//
// Groups of copies
//===----------------------------------------------------------------------===//

static void joinWriters(SlotWriters &into, const SlotWriters &from) {
  for (auto &[slot, op] : from)
    into.insert({slot, op});
}

static void eraseWritersIn(Operation *loop, SlotWriters &writers) {
  writers.remove_if([&](auto &entry) { return loop->isAncestor(entry.second); });
}

void CopyGroups::commit() { groups.push_back(std::exchange(open, {})); }

SlotWriters CopyGroups::wait(size_t pending) {
  SlotWriters ended;
  size_t count = groups.size() - std::min(groups.size(), pending);
  for (const SlotWriters &group : llvm::ArrayRef(groups).take_front(count))
    joinWriters(ended, group);
  // Erasing none would move each group onto itself, which empties it.
  if (count != 0)
    groups.erase(groups.begin(), groups.begin() + count);
  return ended;
}

Operation *CopyGroups::writerOf(Slot slot) const {
  if (Operation *op = open.lookup(slot))
    return op;
  for (const SlotWriters &group : groups)
    if (Operation *op = group.lookup(slot))
      return op;
  return nullptr;
}

void CopyGroups::forgetCopiesIn(Operation *loop) {
  eraseWritersIn(loop, open);
  for (SlotWriters &group : groups)
    eraseWritersIn(loop, group);
}

void CopyGroups::join(const CopyGroups &other) {
  joinWriters(open, other.open);
  // Another number of groups: what a later wait leaves is not known.
  if (groups.size() != other.groups.size())
    return groups.clear();
  for (auto [group, more] : llvm::zip(groups, other.groups))
    joinWriters(group, more);
}

//===----------------------------------------------------------------------===//
// Reads of slots
//===----------------------------------------------------------------------===//

void SlotReads::read(Slot slot, Operation *op, bool isProduct) {
  reads.push_back({slot, op, isProduct ? begun : 0, {}});
}

void SlotReads::arrive(std::optional<Slot> barrier) {
  if (!barrier)
    return llvm::erase_if(reads, [&](const Read &read) { return isOver(read); });
  for (Read &read : reads)
    if (isOver(read) && !llvm::is_contained(read.arrivals, *barrier))
      read.arrivals.push_back(*barrier);
}

void SlotReads::wait(std::optional<Slot> barrier) {
  llvm::erase_if(reads, [&](const Read &read) {
    return barrier ? llvm::is_contained(read.arrivals, *barrier) : !read.arrivals.empty();
  });
}

void SlotReads::passBarrier() {
  llvm::erase_if(reads, [&](const Read &read) { return isOver(read); });
}

Operation *SlotReads::readerOf(Slot slot) const {
  auto found = llvm::find_if(reads, [&](const Read &read) { return read.slot == slot; });
  return found == reads.end() ? nullptr : found->op;
}

void SlotReads::join(const SlotReads &other) {
  begun = std::max(begun, other.begun);
  over = std::min(over, other.over);
  for (const Read &read : other.reads)
    if (readerOf(read.slot) != read.op)
      reads.push_back(read);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void LockstepState::begin(Operation *alloc) {
  phases.begin(alloc);
  auto isPart = [&](auto &entry) { return entry.first.first == alloc; };
  for (SlotWriters *writers : {&arriving, &unfenced, &unfencedCopies, &fenced})
    writers->remove_if(isPart);
}

void LockstepState::arrive(Operation *alloc, std::optional<int64_t> slot) {
  arriving.remove_if([&](auto &entry) {
    Slot barrier = barrierOf.lookup(entry.first);
    return barrier.first == alloc && (!slot || barrier.second == *slot);
  });
}

void LockstepState::forgetCopiesIn(Operation *loop) {
  groups.forgetCopiesIn(loop);
  eraseWritersIn(loop, arriving);
}

void LockstepState::passFence() {
  for (SlotWriters *writers : {&unfenced, &unfencedCopies}) {
    joinWriters(fenced, *writers);
    writers->clear();
  }
}

void LockstepState::passBarrier() {
  fenced.clear();
  reads.passBarrier();
}

void LockstepState::join(const LockstepState &other) {
  phases.join(other.phases);
  groups.join(other.groups);
  reads.join(other.reads);
  joinWriters(arriving, other.arriving);
  for (auto entry : other.barrierOf)
    barrierOf.insert(entry);
  joinWriters(unfenced, other.unfenced);
  joinWriters(unfencedCopies, other.unfencedCopies);
  joinWriters(fenced, other.fenced);
}

} // namespace tilewright::passes
