//===- WaitWatch.cpp - Whether a program waits for others -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/WaitWatch.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

bool Poll::hasChanged() const {
  int size = sizeInBytes();
  for (size_t i = 0; i < addresses.size(); ++i)
    if (std::memcmp(reinterpret_cast<const void *>(addresses[i]), bits.data() + i * size, size) !=
        0)
      return true;
  return false;
}

/// Whether the access touches the elements of the poll.
static bool asksSame(const Poll &poll, const Access &access) {
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  size_t active = 0;
  for (int64_t i = 0, count = countOf(access.pointer); i < count; ++i) {
    if (access.mask && !access.mask[i])
      continue;
    if (active == poll.addresses.size() || poll.addresses[active] != addresses[i])
      return false;
    ++active;
  }
  return active == poll.addresses.size();
}

static Poll pollOf(const Access &access, PlaceId place) {
  Poll poll;
  poll.place = place;
  poll.type = access.pointer.type.scalar.pointee();
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  for (int64_t i = 0, count = countOf(access.pointer); i < count; ++i)
    if (!access.mask || access.mask[i]) {
      poll.addresses.push_back(addresses[i]);
      const char *bits = reinterpret_cast<const char *>(addresses[i]);
      poll.bits.insert(poll.bits.end(), bits, bits + access.sizeInBytes);
    }
  return poll;
}

bool WaitWatch::ask(const Access &access, PlaceId place, bool isPlain) {
  for (Poll &poll : polls) {
    if (poll.place != place || !asksSame(poll, access))
      continue;
    if (poll.hasChanged()) {
      progress();
      break;
    }
    return ++poll.times >= (isPlain ? std::max(limit, plainTimesBeforeWaiting) : limit);
  }
  if (polls.size() == maxPolls)
    progress();
  if (polls.empty())
    limit = timesBeforeWaiting;
  polls.push_back(pollOf(access, place));
  return false;
}

void WaitWatch::allow(uint32_t moreTimes) {
  limit = moreTimes;
  for (Poll &poll : polls)
    poll.times = 0;
}

bool WaitWatch::hasChanged() const {
  return std::any_of(polls.begin(), polls.end(),
                     [](const Poll &poll) { return poll.hasChanged(); });
}

} // namespace tilewright::interpreter
