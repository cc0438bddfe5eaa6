//===- CpuHints.cpp - Promises of the kernel ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: checks the promises of the kernel, such as tl.multiple_of. A promise
// changes no value, but the compiler makes wide accesses because of it. So a
// false one gives right results here and wrong ones on a GPU; it is reported
// where it is made. passes/analysis/AxisInfo.h defines each promise: groups are
// aligned runs of elements along a dimension, and a multiple is the first element
// of each run of consecutive numbers, because `pid * 64 + arange` is promised so.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/LaneValues.h"

#include <algorithm>

namespace tilewright::interpreter {

namespace {
/// One dimension of a promise.
struct Promise {
  HintKind kind;
  int64_t number;
  /// Elements from one to the next along the dimension, and how many there are.
  int64_t step, extent;
  /// What a consecutive number is more: 1, or the bytes of an element for addresses.
  int64_t unit;
  /// Whether addresses are counted from a start of their array that is as aligned as can be.
  bool isOfAligned;
};

const char *nameOf(HintKind kind) {
  switch (kind) {
  case HintKind::Divisibility:
    return "tl.multiple_of";
  case HintKind::Contiguity:
    return "tl.max_contiguous";
  case HintKind::Constancy:
    return "tl.max_constancy";
  }
  return "";
}

/// Whether element `i` of the line that starts at `line` breaks the promise.
bool breaks(const Promise &promise, const std::vector<int64_t> &lanes, int64_t line, int64_t i) {
  int64_t value = lanes[line + i * promise.step];
  int64_t before = i ? lanes[line + (i - 1) * promise.step] : 0;
  if (promise.kind == HintKind::Divisibility)
    return (i == 0 || value != before + promise.unit) && value % promise.number != 0;
  if (i % promise.number == 0)
    return false; // the first of its group
  return value != (promise.kind == HintKind::Contiguity ? before + promise.unit : before);
}

std::string positionName(int64_t lane, std::vector<int64_t> shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t extent = shape[i];
    shape[i] = lane % extent;
    lane /= extent;
  }
  return fmt::format("[{}]", fmt::join(shape, ", "));
}
} // namespace

static std::string describeBreak(const Promise &promise, const std::vector<int64_t> &lanes,
                                 const std::vector<int64_t> &shape, int64_t lane) {
  if (promise.isOfAligned)
    return fmt::format("{} is {} bytes past an aligned one",
                       shape.empty() ? "the address"
                                     : "the address of element " + positionName(lane, shape),
                       lanes[lane] % promise.number);
  const char *what = promise.unit > 1 ? "the address of element" : "element";
  if (shape.empty())
    return fmt::format("the value is {}", lanes[lane]);
  std::string text = fmt::format("{} {} is {}", what, positionName(lane, shape), lanes[lane]);
  if (promise.kind != HintKind::Divisibility)
    text += fmt::format(" after {}", lanes[lane - promise.step]);
  return text;
}

/// The last address at or before the start of the pointer's array that every allocator
/// aligns. How much more an array is aligned differs between the host's memory and a GPU's.
static uint64_t alignedStart(const Memory &memory, const Value &pointer) {
  constexpr uint64_t hostAlignment = 16;
  AllocationId id = tileOf(pointer).allocation;
  return id == unknownAllocation ? 0 : memory.allocation(id).base & ~(hostAlignment - 1);
}

Value CpuTileBuilder::hint(HintKind kind, const Value &value, const std::vector<int64_t> &numbers) {
  if (!checks.looksFor(Check::Hints))
    return value;
  int64_t count = countOf(value), step = count;
  std::vector<int64_t> lanes(count), shape = value.type.shape;
  for (int64_t i = 0; i < count; ++i)
    lanes[i] = laneAsInteger(value, i);
  bool isPointer = value.type.scalar.isPointer();
  bool isAligned = isPointer && kind == HintKind::Divisibility;
  if (uint64_t start = isAligned ? alignedStart(memory, value) : 0)
    for (int64_t &lane : lanes)
      lane = static_cast<int64_t>(static_cast<uint64_t>(lane) - start);
  int64_t unit = isPointer ? elementSize(value.type.scalar.pointee().kind()) : 1;
  for (size_t dim = 0; dim < numbers.size(); ++dim) {
    int64_t extent = shape.empty() ? 1 : shape[dim];
    step /= extent;
    Promise promise{kind, numbers[dim], step, extent, std::max<int64_t>(unit, 1), isAligned};
    for (int64_t lane = 0; lane < count; ++lane) {
      int64_t i = lane / step % extent;
      if (!breaks(promise, lanes, lane - i * step, i))
        continue;
      checks.report(makeError(ErrorCode::E0416,
                              fmt::arg("hint", fmt::format("{} {}", nameOf(kind), numbers[dim])),
                              fmt::arg("found", describeBreak(promise, lanes, shape, lane)),
                              fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]),
                              fmt::arg("z", program.id[2])));
      return value;
    }
  }
  return value;
}

void CpuTileBuilder::assume(const Value &condition) {
  valueWasRead();
  if (checks.looksFor(Check::Hints) && !*elementsOf<uint8_t>(condition))
    checks.report(makeError(ErrorCode::E0416, fmt::arg("hint", "tl.assume"),
                            fmt::arg("found", "the condition is false"),
                            fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]),
                            fmt::arg("z", program.id[2])));
}

} // namespace tilewright::interpreter
