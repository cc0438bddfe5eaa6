//===- UnwrittenMemory.cpp - Reads of memory that was never written -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: finds reads of bytes that were never written. The host declares ranges
// of bytes that hold nothing yet (python/tilewright/runtime/unwritten.py). One
// byte per byte says whether it was written. This record outlives the launch,
// so that one kernel may write what the next one reads.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/Memory.h"

#include <algorithm>

namespace tilewright::interpreter {

/// Calls `function` with the lane and the bytes of each active lane that lies in a range.
template <typename F>
static void forWatchedLanes(const std::vector<WatchedRange> &ranges, const Access &access,
                            F function) {
  const uint64_t *addresses = elementsOf<uint64_t>(access.pointer);
  uint64_t size = access.sizeInBytes;
  for (const WatchedRange &range : ranges)
    for (int64_t i = 0, count = countOf(access.pointer); i < count; ++i) {
      bool isActive = !access.mask || access.mask[i];
      if (isActive && addresses[i] >= range.low && addresses[i] + size <= range.high)
        function(i, range.isWritten + (addresses[i] - range.low));
    }
}

void Memory::checkWritten(const Access &access, const ProgramPosition &program) {
  if (watched.empty() || !checks.looksFor(Check::Unwritten))
    return;
  int64_t lane = -1, lanes = 0;
  forWatchedLanes(watched, access, [&](int64_t i, uint8_t *isWritten) {
    bool isWhole =
        std::find(isWritten, isWritten + access.sizeInBytes, 0) == isWritten + access.sizeInBytes;
    lane = lane < 0 && !isWhole ? i : lane;
    lanes += !isWhole;
  });
  if (lane < 0)
    return;
  uint64_t address = elementsOf<uint64_t>(access.pointer)[lane];
  AllocationId id = tileOf(access.pointer).allocation;
  id = id == unknownAllocation ? find(address) : id;
  Error error = makeError(
      ErrorCode::E0417, fmt::arg("access", interpreter::nameOf(access.kind)),
      fmt::arg("a", allocations[id].name), fmt::arg("i", allocations[id].elementIndex(address)),
      fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
  error.addNote(laneName(lane, access.pointer.type.shape));
  if (lanes > 1)
    error.addNote(fmt::format("{} lanes read what nobody has written", lanes));
  checks.report(error);
}

void Memory::noteWritten(const Access &access) {
  if (!watched.empty())
    forWatchedLanes(watched, access, [&](int64_t, uint8_t *isWritten) {
      std::fill_n(isWritten, access.sizeInBytes, uint8_t(1));
    });
}

} // namespace tilewright::interpreter
