//===- CpuBlocks.cpp - What blocks of arrays have to keep to --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in the interpreter descriptors and block pointers become pointers and
// masks. A block pointer that leaves its array in a dimension that
// `boundary_check` does not name reads the next row.
//
// Descriptors are checked on request only (Check::Portable): TMA needs multiples
// of 16 bytes, and no negative coordinate of what is written, but the compiler
// takes pointers wherever it sees that this does not hold (docs/launch.md). What
// it sees is not known here.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/LaneValues.h"

#include <algorithm>

namespace tilewright::interpreter {

/// TMA's unit: addresses, strides and last coordinates are multiples of it.
static constexpr int64_t chunkBytes = 16;

void CpuTileBuilder::reportBlock(const std::string &message, const char *help) {
  checks.report(makeError(ErrorCode::E0418, fmt::arg("message", message), fmt::arg("help", help),
                          fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]),
                          fmt::arg("z", program.id[2])));
}

std::optional<Value> CpuTileBuilder::makeDescriptor(const Value &base, const std::vector<Value> &,
                                                    const std::vector<Value> &strides,
                                                    const std::vector<int64_t> &, bool) {
  if (!checks.looksFor(Check::Portable))
    return std::nullopt;
  valueWasRead();
  uint64_t address = *elementsOf<uint64_t>(base);
  AllocationId id = tileOf(base).allocation;
  // Arrays here lie where the host put them: what counts is the offset in the array.
  uint64_t start = id == unknownAllocation ? 0 : memory.allocation(id).base;
  if ((address - start) % chunkBytes != 0)
    reportBlock(
        fmt::format("tl.make_tensor_descriptor: the base is {} bytes into '{}', which is no "
                    "multiple of {}",
                    address - start, memory.nameOf(base), chunkBytes),
        "start at a multiple of 16 bytes, or use pointers");
  int64_t size = elementSize(base.type.scalar.pointee().kind());
  for (size_t i = 0; i + 1 < strides.size(); ++i)
    if (int64_t stride = laneAsInteger(strides[i], 0); stride * size % chunkBytes != 0)
      reportBlock(fmt::format("tl.make_tensor_descriptor: stride {} of '{}' is {} elements of {} "
                              "bytes, which is no multiple of {} bytes",
                              i, memory.nameOf(base), stride, size, chunkBytes),
                  "pad the rows of the array, or use pointers");
  return std::nullopt;
}

void CpuTileBuilder::checkCoordinates(const std::string &access, int itemSize,
                                      const std::vector<int64_t> &offsets) {
  if (offsets.back() * itemSize % chunkBytes != 0)
    reportBlock(fmt::format("{} of a descriptor: the last coordinate {} is no multiple of {} bytes",
                            access, offsets.back(), chunkBytes),
                "keep the last coordinate at multiples of 16 bytes, or use pointers");
  for (size_t i = 0; access != "load" && i < offsets.size(); ++i)
    if (offsets[i] < 0)
      reportBlock(fmt::format("{} of a descriptor at the negative coordinate {} of dimension {}",
                              access, offsets[i], i),
                  "leave such blocks out by an if, or use pointers and a mask");
}

void CpuTileBuilder::checkBlock(const std::string &access, const std::vector<int64_t> &offsets,
                                const std::vector<int64_t> &extents,
                                const std::vector<int64_t> &block,
                                const std::vector<int64_t> &checkedDims) {
  for (size_t i = 0; i < offsets.size(); ++i) {
    bool isChecked = std::find(checkedDims.begin(), checkedDims.end(), static_cast<int64_t>(i)) !=
                     checkedDims.end();
    if (isChecked || (offsets[i] >= 0 && offsets[i] + block[i] <= extents[i]))
      continue;
    reportBlock(fmt::format("{} of a block pointer leaves its array: coordinates {} to {} of "
                            "dimension {}, whose extent is {}",
                            access, offsets[i], offsets[i] + block[i] - 1, i, extents[i]),
                "name the dimension in boundary_check");
  }
}

} // namespace tilewright::interpreter
