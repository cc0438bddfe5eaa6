//===- AccessOrder.cpp - Which access comes before which ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/AccessOrder.h"

#include <algorithm>

namespace tilewright::interpreter {

void AccessOrder::switchTo(uint32_t program) {
  takeTurns |= isRunning && running != program;
  isRunning = true;
  running = program;
  firstOfRun = firstShared = static_cast<AccessId>(records.size());
}

void AccessOrder::end(uint32_t program) {
  knowledge.erase(program);
  isRunning = false;
}

AccessId AccessOrder::add(PlaceId place, uint8_t traits) {
  records.push_back({running, place, 0, 0, traits});
  return static_cast<AccessId>(records.size() - 1);
}

AccessId AccessOrder::plain(PlaceId place, uint8_t traits) {
  Shared &slot = shared[(place * 4 + traits + traits / ChangesNothing) % shared.size()];
  if (slot.id < firstShared || slot.place != place || slot.traits != traits)
    slot = {place, traits, add(place, traits)};
  return slot.id;
}

AccessId AccessOrder::atomic(PlaceId place, uint8_t traits, bool releases,
                             const std::vector<AccessId> &found) {
  if (!releases && found.empty())
    return plain(place, traits);
  AccessId id = add(place, traits | CanBeAcquired | (releases ? IsRelease : 0));
  AccessRecord &record = records[id];
  record.firstParent = static_cast<uint32_t>(parents.size());
  parents.insert(parents.end(), found.begin(), found.end());
  if (releases) {
    Knowledge &own = knowledge[running];
    if (own.lastRelease)
      parents.push_back(own.lastRelease);
    parents.insert(parents.end(), own.acquired.begin(), own.acquired.end());
    own.acquired.clear();
    own.lastRelease = id;
    // What comes next is not released by this.
    firstShared = static_cast<AccessId>(records.size());
  }
  record.parentCount = static_cast<uint32_t>(parents.size()) - record.firstParent;
  return id;
}

void AccessOrder::acquire(AccessId id) {
  Knowledge &own = knowledge[running];
  if (!own.acquired.empty() && own.acquired.back() == id)
    return;
  own.acquired.push_back(id);
  own.frontier.push_back(id);
  std::push_heap(own.frontier.begin(), own.frontier.end());
}

bool AccessOrder::isOrdered(AccessId id) {
  uint32_t program = records[id].program;
  if (program == running)
    return true;
  auto known = knowledge.find(running);
  if (known == knowledge.end())
    return false;
  Knowledge &own = known->second;
  auto isKnown = [&] {
    auto newest = own.newest.find(program);
    return newest != own.newest.end() && newest->second >= id;
  };
  while (!isKnown()) {
    if (own.frontier.empty() || own.frontier.front() < id)
      return false;
    std::pop_heap(own.frontier.begin(), own.frontier.end());
    AccessId next = own.frontier.back();
    own.frontier.pop_back();
    if (!own.followed.insert(next).second)
      continue;
    const AccessRecord &record = records[next];
    if (record.traits & IsRelease) {
      AccessId &newest = own.newest[record.program];
      newest = std::max(newest, next);
    }
    for (uint32_t i = 0; i < record.parentCount; ++i) {
      own.frontier.push_back(parents[record.firstParent + i]);
      std::push_heap(own.frontier.begin(), own.frontier.end());
    }
  }
  return true;
}

} // namespace tilewright::interpreter
