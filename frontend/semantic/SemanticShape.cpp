//===- SemanticShape.cpp - Making and reshaping tiles ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <limits>

namespace tilewright::semantic {

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static int checkedGridAxis(int64_t axis, const char *name) {
  if (axis < 0 || axis > 2)
    throwCompared(ErrorCode::E0117, "a grid has the axes 0, 1 and 2",
                  "{} axis must be 0, 1, or 2 but got {}", name, axis);
  return static_cast<int>(axis);
}

Value Semantic::programId(int64_t axis) {
  return builder.programId(checkedGridAxis(axis, "program_id"));
}

Value Semantic::numPrograms(int64_t axis) {
  return builder.numPrograms(checkedGridAxis(axis, "num_programs"));
}

Value Semantic::arange(int64_t start, int64_t end) {
  constexpr int64_t lowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t highest = std::numeric_limits<int32_t>::max();
  if (start < lowest || end > highest)
    throwInvalidArgument("the elements are int32; add a larger base afterwards",
                         "tl.arange({}, {}) exceeds int32", start, end);
  if (end <= start)
    throwInvalidArgument("the end must be greater than the start", "tl.arange({}, {}) is empty",
                         start, end);
  if (int64_t count = end - start; (count & (count - 1)) != 0)
    throw notPowerOfTwo(0, count).setSentence("arange's range must be a power of 2");
  checkShape({end - start});
  return builder.range(static_cast<int32_t>(start), static_cast<int32_t>(end));
}

Value Semantic::full(const std::vector<int64_t> &shape, const Operand &operand, const DType &type) {
  checkShape(shape);
  Value scalar;
  if (const Literal *literal = std::get_if<Literal>(&operand))
    scalar = scalarConstant(*literal, type);
  else
    scalar = castTo(item(std::get<Value>(operand)), type);
  return shape.empty() ? scalar : builder.splat(scalar, shape);
}

Value Semantic::splatLike(const Value &scalar, const Value &shapeOf) {
  return shapeOf.type.isTile() ? builder.splat(scalar, shapeOf.type.shape) : scalar;
}

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

std::pair<Value, Value> Semantic::broadcast(const Value &lhs, const Value &rhs) {
  if (lhs.type.shape == rhs.type.shape)
    return {lhs, rhs};
  if (!lhs.type.isTile())
    return {builder.splat(lhs, rhs.type.shape), rhs};
  if (!rhs.type.isTile())
    return {lhs, builder.splat(rhs, lhs.type.shape)};
  Value left = lhs, right = rhs;
  while (left.type.rank() < right.type.rank())
    left = builder.expandDims(left, 0);
  while (right.type.rank() < left.type.rank())
    right = builder.expandDims(right, 0);
  std::vector<int64_t> common = left.type.shape;
  for (int i = 0; i < left.type.rank(); ++i) {
    int64_t extent = right.type.shape[i];
    if (common[i] != extent && common[i] != 1 && extent != 1)
      throwCannotBroadcast(lhs.type.shape, rhs.type.shape);
    if (common[i] == 1)
      common[i] = extent;
  }
  checkShape(common);
  if (left.type.shape != common)
    left = builder.broadcast(left, common);
  if (right.type.shape != common)
    right = builder.broadcast(right, common);
  return {left, right};
}

Value Semantic::broadcastTo(const Value &value, const std::vector<int64_t> &shape) {
  if (value.type.shape == shape)
    return value;
  checkShape(shape);
  if (!value.type.isTile())
    return builder.splat(value, shape);
  if (value.type.shape.size() != shape.size())
    throwCannotBroadcast(value.type.shape, shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (value.type.shape[i] != shape[i] && value.type.shape[i] != 1)
      throwCannotBroadcast(value.type.shape, shape);
  return builder.broadcast(value, shape);
}

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

Value Semantic::expandDims(const Value &value, int64_t axis) {
  int position = normalizeAxis(axis, value.type.rank() + 1);
  if (!value.type.isTile())
    return builder.splat(value, {1});
  return builder.expandDims(value, position);
}

Value Semantic::reshape(const Value &value, const std::vector<int64_t> &shape, bool mayReorder) {
  checkShape(shape);
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (count != value.type.numElements())
    throwInvalidShape("the number of elements must stay the same",
                      "cannot reshape {} ({} elements) to {} ({} elements)",
                      shapeName(value.type.shape), value.type.numElements(), shapeName(shape),
                      count);
  if (value.type.shape == shape)
    return value;
  if (shape.empty())
    return builder.extractScalar(value);
  if (!value.type.isTile())
    return builder.splat(value, shape);
  return builder.reshape(value, shape, mayReorder);
}

Value Semantic::permute(const Value &value, const std::vector<int64_t> &order) {
  int rank = value.type.rank();
  std::vector<int> axes;
  std::vector<bool> seen(rank, false);
  bool isPermutation = static_cast<int>(order.size()) == rank;
  for (size_t i = 0; isPermutation && i < order.size(); ++i) {
    int axis = normalizeAxis(order[i], rank);
    isPermutation = !seen[axis];
    seen[axis] = true;
    axes.push_back(axis);
  }
  if (!isPermutation)
    throwInvalidShape(fmt::format("name each of the {} axes once", rank),
                      "{} does not permute the axes of {}", shapeName(order), value.type.name());
  bool isIdentity = true;
  for (int i = 0; i < rank; ++i)
    isIdentity &= axes[i] == i;
  return isIdentity ? value : builder.permute(value, axes);
}

Value Semantic::join(const Value &lhs, const Value &rhs) {
  if (lhs.type.scalar != rhs.type.scalar)
    throwTypeMismatch("cast both to one type", "tl.join needs one type, got {} and {}",
                      lhs.type.name(), rhs.type.name());
  auto [left, right] = broadcast(lhs, rhs);
  if (!left.type.isTile()) {
    // Scalars pass through tiles of one element: [1] and [1] join to [1, 2].
    Value pair = builder.join(builder.splat(left, {1}), builder.splat(right, {1}));
    return builder.reshape(pair, {2}, /*mayReorder=*/false);
  }
  std::vector<int64_t> joined = left.type.shape;
  joined.push_back(2);
  checkShape(joined);
  return builder.join(left, right);
}

std::pair<Value, Value> Semantic::split(const Value &value) {
  if (!value.type.isTile() || value.type.shape.back() != 2)
    throwInvalidShape("reshape it to [..., 2] first",
                      "tl.split needs a last dimension of 2, got {}", value.type.name());
  if (value.type.rank() > 1)
    return builder.split(value);
  auto [first, second] = builder.split(builder.expandDims(value, 0));
  return {builder.extractScalar(first), builder.extractScalar(second)};
}

Value Semantic::concatenate(const Value &lhs, const Value &rhs) {
  if (lhs.type.scalar != rhs.type.scalar)
    throwTypeMismatch("cast both to one type", "tl.cat needs one type, got {} and {}",
                      lhs.type.name(), rhs.type.name());
  // Unequal lengths would not add up to a power of two.
  if (!lhs.type.isTile() || lhs.type.shape != rhs.type.shape)
    throwInvalidShape("both tiles must have the same shape", "cannot concatenate {} and {}",
                      lhs.type.name(), rhs.type.name());
  std::vector<int64_t> shape = lhs.type.shape;
  shape[0] *= 2;
  checkShape(shape);
  return builder.concatenate(lhs, rhs);
}

Value Semantic::item(const Value &value) {
  if (!value.type.isTile())
    return value;
  if (value.type.numElements() != 1)
    throwInvalidShape("reduce it first", "{} has {} elements; one is required", value.type.name(),
                      value.type.numElements());
  return builder.extractScalar(value);
}

} // namespace tilewright::semantic
