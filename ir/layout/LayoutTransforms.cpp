//===- LayoutTransforms.cpp - Layouts through shape operations ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutTransforms.h"

#include "ir/layout/LayoutAlgebra.h"

#include <algorithm>

namespace tilewright {

/// `bits` without the `count` bits from `start` on.
static uint32_t removeBits(uint32_t bits, int start, int count) {
  uint64_t low = bits & ((uint64_t(1) << start) - 1);
  uint64_t high = uint64_t(bits) >> (start + count) << start;
  return static_cast<uint32_t>(low | high);
}

/// `bits` with a zero bit inserted at `position`.
static uint32_t insertBit(uint32_t bits, int position) {
  uint64_t low = bits & ((uint64_t(1) << position) - 1);
  uint64_t high = uint64_t(bits) >> position << (position + 1);
  return static_cast<uint32_t>(low | high);
}

/// `layout` with every column replaced by change(column).
template <typename Change>
static LinearLayout mapColumns(const LinearLayout &layout, std::vector<int> log2Shape,
                               Change change) {
  LinearLayout result(std::move(log2Shape));
  for (InDim dim : allInDims)
    for (uint32_t column : layout.columns(dim))
      result.columns(dim).push_back(change(column));
  return result;
}

/// The bits of dimension `fromDim` of a column where `to` has its dimension `toDim`.
static uint32_t moveDim(uint32_t column, const LinearLayout &from, int fromDim,
                        const LinearLayout &to, int toDim) {
  if (from.log2Shape()[fromDim] == 0) // it may start at bit 32
    return 0;
  return (column & from.dimMask(fromDim)) >> from.dimStartBit(fromDim) << to.dimStartBit(toDim);
}

//===--- reshape, permute, dimensions of extent 1 -------------------------===//

LinearLayout reshapeLayout(const LinearLayout &layout, std::vector<int> newLog2Shape) {
  return mapColumns(layout, std::move(newLog2Shape), [](uint32_t column) { return column; });
}

LinearLayout permuteDims(const LinearLayout &layout, const std::vector<int> &order) {
  std::vector<int> log2Shape;
  for (int dim : order)
    log2Shape.push_back(layout.log2Shape()[dim]);
  LinearLayout permuted(log2Shape);
  return mapColumns(layout, log2Shape, [&](uint32_t column) {
    uint32_t result = 0;
    for (size_t dim = 0; dim < order.size(); ++dim)
      result |= moveDim(column, layout, order[dim], permuted, static_cast<int>(dim));
    return result;
  });
}

LinearLayout permuteOperandLayout(const LinearLayout &result, const std::vector<int> &order) {
  std::vector<int> inverse(order.size());
  for (size_t dim = 0; dim < order.size(); ++dim)
    inverse[order[dim]] = static_cast<int>(dim);
  return permuteDims(result, inverse);
}

LinearLayout expandDims(const LinearLayout &layout, int axis) {
  std::vector<int> log2Shape = layout.log2Shape();
  log2Shape.insert(log2Shape.begin() + axis, 0);
  return reshapeLayout(layout, log2Shape);
}

LinearLayout squeezeDim(const LinearLayout &layout, int axis) {
  std::vector<int> log2Shape = layout.log2Shape();
  log2Shape.erase(log2Shape.begin() + axis);
  return reshapeLayout(layout, log2Shape);
}

//===--- reduction and broadcast ------------------------------------------===//

/// `layout` with dimension `axis` of extent 1 and no register dropped yet.
static LinearLayout flattenDim(const LinearLayout &layout, int axis) {
  std::vector<int> log2Shape = layout.log2Shape();
  int start = layout.dimStartBit(axis);
  int count = log2Shape[axis];
  log2Shape[axis] = 0;
  return mapColumns(layout, log2Shape,
                    [&](uint32_t column) { return removeBits(column, start, count); });
}

LinearLayout sliceDim(const LinearLayout &layout, int axis, bool keepDim) {
  LinearLayout result = removeZeroRegisters(flattenDim(layout, axis));
  return keepDim ? result : squeezeDim(result, axis);
}

std::vector<int> sliceRegisters(const LinearLayout &layout, int axis) {
  return compactRegisterOf(flattenDim(layout, axis));
}

static LinearLayout flattenBroadcast(const LinearLayout &result,
                                     const std::vector<int> &operandLog2Shape) {
  LinearLayout operand = result;
  for (int dim = 0; dim < result.rank(); ++dim)
    if (operandLog2Shape[dim] != result.log2Shape()[dim])
      operand = flattenDim(operand, dim);
  return operand;
}

LinearLayout broadcastOperandLayout(const LinearLayout &result,
                                    const std::vector<int> &operandLog2Shape) {
  return removeZeroRegisters(flattenBroadcast(result, operandLog2Shape));
}

std::vector<int> broadcastRegisters(const LinearLayout &result,
                                    const std::vector<int> &operandLog2Shape) {
  return compactRegisterOf(flattenBroadcast(result, operandLog2Shape));
}

LinearLayout repeatInThreads(const LinearLayout &operand, const std::vector<int> &resultLog2Shape) {
  LinearLayout frame(resultLog2Shape);
  Columns added;
  for (int dim = 0; dim < operand.rank(); ++dim)
    for (int bit = operand.log2Shape()[dim]; bit < resultLog2Shape[dim]; ++bit)
      added.push_back(uint32_t(1) << (frame.dimStartBit(dim) + bit));
  LinearLayout result = mapColumns(operand, resultLog2Shape, [&](uint32_t column) {
    uint32_t moved = 0;
    for (int dim = 0; dim < operand.rank(); ++dim)
      moved |= moveDim(column, operand, dim, frame, dim);
    return moved;
  });
  // Threads that hold copies take elements of their own.
  for (InDim dim : {InDim::Warp, InDim::Lane})
    for (uint32_t &column : result.columns(dim))
      if (column == 0 && !added.empty()) {
        column = added.back();
        added.pop_back();
      }
  Columns &registers = result.columns(InDim::Register);
  registers.insert(registers.end(), added.begin(), added.end());
  return result;
}

LinearLayout withRunsInThread(const LinearLayout &layout, int dim, int log2Run) {
  std::vector<int> log2Shape = layout.log2Shape();
  log2Shape[dim] += log2Run;
  int start = layout.dimStartBit(dim);
  uint32_t faster = (uint32_t(1) << start) - 1;
  LinearLayout result = mapColumns(layout, log2Shape, [&](uint32_t column) {
    return (column & faster) | ((column & ~faster) << log2Run);
  });
  Columns run;
  for (int bit = 0; bit < log2Run; ++bit)
    run.push_back(uint32_t(1) << (start + bit));
  Columns &registers = result.columns(InDim::Register);
  registers.insert(registers.begin(), run.begin(), run.end());
  return result;
}

//===--- join, split, cat -------------------------------------------------===//

LinearLayout joinLayout(const LinearLayout &layout) {
  std::vector<int> log2Shape = layout.log2Shape();
  log2Shape.push_back(1);
  LinearLayout result = mapColumns(layout, log2Shape, [](uint32_t column) { return column << 1; });
  Columns &registers = result.columns(InDim::Register);
  registers.insert(registers.begin(), 1);
  return result;
}

std::optional<SplitLayout> splitLayout(const LinearLayout &operand) {
  if (operand.rank() == 0 || operand.log2Shape().back() != 1)
    return std::nullopt;
  Columns all = flatten(operand);
  if (std::count_if(all.begin(), all.end(), [](uint32_t column) { return column & 1; }) != 1)
    return std::nullopt;
  const Columns &registers = operand.columns(InDim::Register);
  auto half = std::find(registers.begin(), registers.end(), 1u);
  if (half == registers.end())
    return std::nullopt;
  int registerBit = static_cast<int>(half - registers.begin());

  std::vector<int> log2Shape = operand.log2Shape();
  log2Shape.pop_back();
  LinearLayout layout = mapColumns(operand, log2Shape, [](uint32_t column) { return column >> 1; });
  Columns &kept = layout.columns(InDim::Register);
  kept.erase(kept.begin() + registerBit);
  return SplitLayout{layout, registerBit};
}

/// `operand` with its column of the two halves in a register, and a register's in that place. A
/// thread holds no more elements than before, unlike one that gets both halves of what it has: a
/// butterfly of n steps, each of which splits, would hold 2^n times as many.
static std::optional<LinearLayout> withHalvesInRegisters(const LinearLayout &operand) {
  LinearLayout result = operand;
  Columns &registers = result.columns(InDim::Register);
  // The last register: packed words stay together, as the first one is within a word.
  auto given = std::find_if(registers.rbegin(), registers.rend(),
                            [](uint32_t column) { return column != 0 && (column & 1) == 0; });
  if (given == registers.rend())
    return std::nullopt;
  for (InDim dim : {InDim::Lane, InDim::Warp})
    for (uint32_t &column : result.columns(dim))
      if (column == 1) {
        std::swap(column, *given);
        return splitLayout(result) ? std::optional(result) : std::nullopt;
      }
  return std::nullopt;
}

LinearLayout splitOperandLayout(const LinearLayout &operand) {
  if (splitLayout(operand))
    return operand;
  if (std::optional<LinearLayout> swapped = withHalvesInRegisters(operand))
    return *swapped;
  return joinLayout(sliceDim(operand, operand.rank() - 1, /*keepDim=*/false));
}

LinearLayout catLayout(const LinearLayout &layout, int axis) {
  std::vector<int> log2Shape = layout.log2Shape();
  int position = layout.dimStartBit(axis) + log2Shape[axis];
  ++log2Shape[axis];
  LinearLayout result =
      mapColumns(layout, log2Shape, [&](uint32_t column) { return insertBit(column, position); });
  result.columns(InDim::Register).push_back(uint32_t(1) << position);
  return result;
}

} // namespace tilewright
