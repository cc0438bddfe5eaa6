//===- CpuShape.cpp - Constants, ranges and shape of CPU tiles ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

using Shape = std::vector<int64_t>;

static Value inheritAllocation(NewTile &result, const Value &from) {
  result.tile().allocation = tileOf(from).allocation;
  return std::move(result.value);
}

//===--- constants --------------------------------------------------------===//

Value CpuTileBuilder::constantInt(DType type, uint64_t bits) {
  bool isBool = type.kind() == ScalarKind::Int1;
  NewTile result{Type(std::move(type))};
  // All hosts we build for are little endian: the low bytes come first.
  result.elements<uint64_t>()[0] = isBool ? bits & 1 : bits;
  return std::move(result.value);
}

Value CpuTileBuilder::constantFloat(DType type, double value) {
  ScalarKind kind = type.kind();
  NewTile result{Type(std::move(type))};
  encodeFloat(kind, value, result.tile().as<void>(), 0);
  return std::move(result.value);
}

Value CpuTileBuilder::constantNull(DType type) { return constantInt(std::move(type), 0); }

Value CpuTileBuilder::programId(int axis) {
  return constantInt(ScalarKind::Int32, static_cast<uint64_t>(program.id[axis]));
}

Value CpuTileBuilder::numPrograms(int axis) {
  return constantInt(ScalarKind::Int32, static_cast<uint64_t>(program.grid[axis]));
}

Value CpuTileBuilder::pointerTo(AllocationId id, DType type) {
  Value result = constantInt(std::move(type), memory.allocation(id).base);
  static_cast<Tile *>(result.handle.get())->allocation = id;
  return result;
}

Value CpuTileBuilder::range(int32_t start, int32_t end) {
  NewTile result{Type(ScalarKind::Int32, {static_cast<int64_t>(end) - start})};
  int32_t *elements = result.elements<int32_t>();
  for (int32_t i = 0, n = static_cast<int32_t>(result.count); i < n; ++i)
    elements[i] = start + i;
  return std::move(result.value);
}

//===--- shape ------------------------------------------------------------===//

static Value splatLanes(const Value &scalar, const Shape &shape) {
  NewTile result{scalar.type.withShape(shape)};
  dispatchWord(elementSize(scalar.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    std::fill_n(result.elements<Word>(), result.count, *elementsOf<Word>(scalar));
  });
  return inheritAllocation(result, scalar);
}

Value CpuTileBuilder::splat(const Value &scalar, const Shape &shape) {
  Value result = splatLanes(scalar, shape);
  marker.carry({&scalar}, result,
               [&](const std::vector<Value> &parts) { return splatLanes(parts[0], shape); });
  return noted(CombineTape::Primitive::Splat, 0, {&scalar}, std::move(result));
}

/// Row-major strides in elements.
static Shape stridesOf(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

/// result[i0, i1, ...] = source[i0 * strides[0] + i1 * strides[1] + ...]. The
/// innermost axis is one of three loops: repeat, copy, or step.
template <typename Word>
static void gatherStrided(const Word *source, const Shape &shape, const Shape &strides,
                          Word *result) {
  int rank = static_cast<int>(shape.size());
  int64_t inner = shape[rank - 1], step = strides[rank - 1];
  int64_t rows = countOf(shape) / inner;
  Shape position(rank, 0);
  int64_t offset = 0;
  for (int64_t row = 0; row < rows; ++row, result += inner) {
    const Word *from = source + offset;
    if (step == 0)
      std::fill_n(result, inner, *from);
    else if (step == 1)
      std::memcpy(result, from, inner * sizeof(Word));
    else
      for (int64_t i = 0; i < inner; ++i)
        result[i] = from[i * step];
    for (int axis = rank - 2; axis >= 0; --axis) {
      offset += strides[axis];
      if (++position[axis] < shape[axis])
        break;
      offset -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
}

static Value copyLanes(const Value &source, const Shape &shape, const Shape &strides) {
  NewTile result{source.type.withShape(shape)};
  dispatchWord(elementSize(source.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    gatherStrided(elementsOf<Word>(source), shape, strides, result.elements<Word>());
  });
  return inheritAllocation(result, source);
}

static Value stridedCopy(Marker &marker, const Value &source, const Shape &shape,
                         const Shape &strides) {
  Value result = copyLanes(source, shape, strides);
  marker.carry({&source}, result, [&](const std::vector<Value> &parts) {
    return copyLanes(parts[0], shape, strides);
  });
  return result;
}

Value CpuTileBuilder::broadcast(const Value &tile, const Shape &shape) {
  Shape strides = stridesOf(tile.type.shape);
  for (size_t i = 0; i < shape.size(); ++i)
    if (tile.type.shape[i] != shape[i])
      strides[i] = 0;
  return stridedCopy(marker, tile, shape, strides);
}

Value CpuTileBuilder::expandDims(const Value &tile, int axis) {
  Shape shape = tile.type.shape;
  shape.insert(shape.begin() + axis, 1);
  return shareAs(tile, tile.type.withShape(std::move(shape)));
}

Value CpuTileBuilder::reshape(const Value &tile, const Shape &shape, bool) {
  return shareAs(tile, tile.type.withShape(shape));
}

Value CpuTileBuilder::permute(const Value &tile, const std::vector<int> &order) {
  Shape source = stridesOf(tile.type.shape), shape, strides;
  for (int axis : order) {
    shape.push_back(tile.type.shape[axis]);
    strides.push_back(source[axis]);
  }
  return stridedCopy(marker, tile, shape, strides);
}

/// Index and result have the extents of the source but for that of `axis`.
static Value gatherLanes(const Value &source, const Value &index, int axis) {
  NewTile result{source.type.withShape(index.type.shape)};
  int64_t extent = source.type.shape[axis], picked = index.type.shape[axis];
  int64_t inner = 1;
  for (size_t i = axis + 1; i < source.type.shape.size(); ++i)
    inner *= source.type.shape[i];
  dispatchWord(elementSize(source.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    const Word *from = elementsOf<Word>(source);
    Word *to = result.elements<Word>();
    dispatchWord(elementSize(index.type.scalar.kind()), [&](auto indexWord) {
      const auto *at = elementsOf<decltype(indexWord)>(index);
      for (int64_t row = 0, rows = result.count / inner; row < rows; ++row) {
        const Word *slab = from + row / picked * extent * inner;
        for (int64_t i = 0; i < inner; ++i) {
          uint64_t position = *at++;
          bool isInside = position < static_cast<uint64_t>(extent);
          *to++ = isInside ? slab[position * inner + i] : Word();
        }
      }
    });
  });
  return std::move(result.value);
}

std::optional<Value> CpuTileBuilder::gather(const Value &source, const Value &index, int axis) {
  Value result = gatherLanes(source, index, axis);
  marker.carry({&source}, result,
               [&](const std::vector<Value> &parts) { return gatherLanes(parts[0], index, axis); });
  return result;
}

static Value joinLanes(const Value &lhs, const Value &rhs) {
  Shape shape = lhs.type.shape;
  shape.push_back(2);
  NewTile result{lhs.type.withShape(std::move(shape))};
  dispatchWord(elementSize(lhs.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    const Word *first = elementsOf<Word>(lhs), *second = elementsOf<Word>(rhs);
    Word *elements = result.elements<Word>();
    for (int64_t i = 0, n = result.count / 2; i < n; ++i) {
      elements[2 * i] = first[i];
      elements[2 * i + 1] = second[i];
    }
  });
  if (tileOf(lhs).allocation == tileOf(rhs).allocation)
    return inheritAllocation(result, lhs);
  return std::move(result.value);
}

Value CpuTileBuilder::join(const Value &lhs, const Value &rhs) {
  Value result = joinLanes(lhs, rhs);
  marker.carry({&lhs, &rhs}, result,
               [](const std::vector<Value> &parts) { return joinLanes(parts[0], parts[1]); });
  return result;
}

static std::pair<Value, Value> splitLanes(const Value &tile) {
  Shape shape = tile.type.shape;
  shape.pop_back(); // an empty rest makes scalars
  NewTile even{tile.type.withShape(shape)}, odd{tile.type.withShape(shape)};
  dispatchWord(elementSize(tile.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    const Word *elements = elementsOf<Word>(tile);
    Word *first = even.elements<Word>(), *second = odd.elements<Word>();
    for (int64_t i = 0, n = even.count; i < n; ++i) {
      first[i] = elements[2 * i];
      second[i] = elements[2 * i + 1];
    }
  });
  return {inheritAllocation(even, tile), inheritAllocation(odd, tile)};
}

std::pair<Value, Value> CpuTileBuilder::split(const Value &tile) {
  std::pair<Value, Value> result = splitLanes(tile);
  marker.carry({&tile}, result.first,
               [](const std::vector<Value> &parts) { return splitLanes(parts[0]).first; });
  marker.carry({&tile}, result.second,
               [](const std::vector<Value> &parts) { return splitLanes(parts[0]).second; });
  return result;
}

static Value concatenateLanes(const Value &lhs, const Value &rhs) {
  Shape shape = lhs.type.shape;
  shape[0] += rhs.type.shape[0];
  NewTile result{lhs.type.withShape(std::move(shape))};
  size_t size = elementSize(lhs.type.scalar.kind());
  size_t lhsBytes = countOf(lhs) * size;
  std::memcpy(result.elements<char>(), elementsOf<char>(lhs), lhsBytes);
  std::memcpy(result.elements<char>() + lhsBytes, elementsOf<char>(rhs), countOf(rhs) * size);
  if (tileOf(lhs).allocation == tileOf(rhs).allocation)
    return inheritAllocation(result, lhs);
  return std::move(result.value);
}

Value CpuTileBuilder::concatenate(const Value &lhs, const Value &rhs) {
  Value result = concatenateLanes(lhs, rhs);
  marker.carry({&lhs, &rhs}, result, [](const std::vector<Value> &parts) {
    return concatenateLanes(parts[0], parts[1]);
  });
  return result;
}

Value CpuTileBuilder::extractScalar(const Value &tile) {
  return shareAs(tile, Type(tile.type.scalar));
}

void CpuTileBuilder::switchTo(const ProgramPosition &position) {
  program = position;
  races.switchTo(position);
  threads.barrier();
}

void CpuTileBuilder::barrier() { threads.barrier(); }

} // namespace tilewright::interpreter
