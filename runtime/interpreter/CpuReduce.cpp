//===- CpuReduce.cpp - Reductions and scans of CPU tiles ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: combines along one axis with a function that is only known to be
// associative. It is applied to whole tiles, log2(n) times for a reduction of
// n elements and twice that for a scan; a function written in Python is called
// once and replayed (CombineTape.h).
//
// How: neighbours are combined, elements 2i with 2i + 1, which keeps their
// order. A scan combines neighbours, scans the half, and combines each result
// with the next even element.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"

#include <algorithm>
#include <cstring>

namespace tilewright::interpreter {

using Values = std::vector<Value>;

namespace {
/// A tile seen as [outer, extent, inner], `extent` being the axis at work.
struct AxisView {
  int64_t outer = 1, extent, inner = 1;

  AxisView(const std::vector<int64_t> &shape, int axis) : extent(shape[axis]) {
    for (int i = 0; i < axis; ++i)
      outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i)
      inner *= shape[i];
  }
};
} // namespace

static std::vector<int64_t> withExtent(std::vector<int64_t> shape, int axis, int64_t extent) {
  shape[axis] = extent;
  return shape;
}

static Value sliceLanes(const Value &tile, int axis, int64_t first, int64_t step, int64_t extent) {
  AxisView view(tile.type.shape, axis);
  NewTile result{tile.type.withShape(withExtent(tile.type.shape, axis, extent))};
  dispatchWord(elementSize(tile.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    Word *to = result.elements<Word>();
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      const Word *from = elementsOf<Word>(tile) + (outer * view.extent + first) * view.inner;
      if (view.inner == 1)
        for (int64_t i = 0; i < extent; ++i)
          *to++ = from[i * step];
      else
        for (int64_t i = 0; i < extent; ++i, to += view.inner)
          std::memcpy(to, from + i * step * view.inner, view.inner * sizeof(Word));
    }
  });
  result.tile().allocation = tileOf(tile).allocation;
  return std::move(result.value);
}

/// Elements first, first + step, ... of the axis, `extent` of them.
static Value slice(Marker &marker, const Value &tile, int axis, int64_t first, int64_t step,
                   int64_t extent) {
  Value result = sliceLanes(tile, axis, first, step, extent);
  marker.carry({&tile}, result, [&](const Values &parts) {
    return sliceLanes(parts[0], axis, first, step, extent);
  });
  return result;
}

static Values sliceAll(Marker &marker, const Values &tiles, int axis, int64_t first, int64_t step,
                       int64_t extent) {
  Values result;
  for (const Value &tile : tiles)
    result.push_back(slice(marker, tile, axis, first, step, extent));
  return result;
}

/// The rest of a reduction by one operation, in one buffer: each level leaves
/// half of the axis.
static Value fold(BinaryOp op, const Value &tile, int axis) {
  AxisView view(tile.type.shape, axis);
  ScalarKind kind = tile.type.scalar.kind();
  int64_t size = elementSize(kind), count = countOf(tile);
  NewTile work{tile.type}, lhs{tile.type.withShape({std::max<int64_t>(count / 2, 1)})},
      rhs{lhs.value.type};
  std::memcpy(work.elements<char>(), elementsOf<char>(tile), count * size);
  for (int64_t extent = view.extent; extent > 1; extent /= 2) {
    int64_t rows = view.outer * extent / 2;
    dispatchWord(static_cast<int>(size), [&](auto word) {
      using Word = decltype(word);
      const Word *from = work.elements<Word>();
      Word *even = lhs.elements<Word>(), *odd = rhs.elements<Word>();
      if (view.inner == 1)
        for (int64_t i = 0; i < rows; ++i) {
          even[i] = from[2 * i];
          odd[i] = from[2 * i + 1];
        }
      else
        for (int64_t i = 0; i < rows; ++i) {
          std::copy_n(from + 2 * i * view.inner, view.inner, even + i * view.inner);
          std::copy_n(from + (2 * i + 1) * view.inner, view.inner, odd + i * view.inner);
        }
    });
    computeBinary(op, kind, lhs.elements<char>(), rhs.elements<char>(), work.elements<char>(),
                  rows * view.inner);
  }
  // What is left lies at the start of the buffer; its extent is 1.
  return shareAs(work.value, tile.type.withShape(withExtent(tile.type.shape, axis, 1)));
}

Values CpuTileBuilder::reduce(const Values &inputs, int axis, const CombineFunction &function) {
  RecordedCombine combine(*this, function);
  Values partial = inputs;
  for (int64_t extent = inputs[0].type.shape[axis]; extent > 1; extent /= 2) {
    std::optional<BinaryOp> op = combine.singleBinary();
    if (op && marker.mayCombineBlindly(*op, partial[0], extent)) {
      partial = {fold(*op, partial[0], axis)};
      break;
    }
    partial = combine(sliceAll(marker, partial, axis, 0, 2, extent / 2),
                      sliceAll(marker, partial, axis, 1, 2, extent / 2));
  }
  for (Value &value : partial) {
    std::vector<int64_t> shape = value.type.shape;
    shape.erase(shape.begin() + axis);
    value = shareAs(value, value.type.withShape(std::move(shape)));
  }
  return partial;
}

/// A tile with `even` and `odd` interleaved along the axis.
static Value interleaveLanes(const Value &even, const Value &odd, int axis) {
  AxisView view(even.type.shape, axis);
  NewTile result{even.type.withShape(withExtent(even.type.shape, axis, view.extent * 2))};
  dispatchWord(elementSize(even.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    const Word *first = elementsOf<Word>(even), *second = elementsOf<Word>(odd);
    Word *to = result.elements<Word>();
    for (int64_t row = 0; row < view.outer * view.extent; ++row) {
      to = std::copy_n(first + row * view.inner, view.inner, to);
      to = std::copy_n(second + row * view.inner, view.inner, to);
    }
  });
  return std::move(result.value);
}

static Value interleave(Marker &marker, const Value &even, const Value &odd, int axis) {
  Value result = interleaveLanes(even, odd, axis);
  marker.carry({&even, &odd}, result,
               [&](const Values &parts) { return interleaveLanes(parts[0], parts[1], axis); });
  return result;
}

/// `tile` shifted by one along the axis: element i is old element i - 1, and
/// element 0 is that of `first`.
static Value shiftByOneLanes(const Value &tile, const Value &first, int axis) {
  AxisView view(tile.type.shape, axis);
  NewTile result{tile.type};
  dispatchWord(elementSize(tile.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    Word *to = result.elements<Word>();
    int64_t slab = view.extent * view.inner;
    for (int64_t outer = 0; outer < view.outer; ++outer, to += slab) {
      std::copy_n(elementsOf<Word>(first) + outer * slab, view.inner, to);
      std::copy_n(elementsOf<Word>(tile) + outer * slab, slab - view.inner, to + view.inner);
    }
  });
  return std::move(result.value);
}

static Value shiftByOne(Marker &marker, const Value &tile, const Value &first, int axis) {
  Value result = shiftByOneLanes(tile, first, axis);
  marker.carry({&tile, &first}, result,
               [&](const Values &parts) { return shiftByOneLanes(parts[0], parts[1], axis); });
  return result;
}

static Value replaceFirstLanes(const Value &tile, const Value &source, int axis) {
  AxisView view(tile.type.shape, axis);
  NewTile result{tile.type};
  dispatchWord(elementSize(tile.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    std::copy_n(elementsOf<Word>(tile), result.count, result.elements<Word>());
    int64_t slab = view.extent * view.inner;
    for (int64_t outer = 0; outer < view.outer; ++outer)
      std::copy_n(elementsOf<Word>(source) + outer * slab, view.inner,
                  result.elements<Word>() + outer * slab);
  });
  return std::move(result.value);
}

/// Element 0 of the axis becomes that of `source`.
static void replaceFirst(Marker &marker, Value &tile, const Value &source, int axis) {
  Value result = replaceFirstLanes(tile, source, axis);
  marker.carry({&tile, &source}, result,
               [&](const Values &parts) { return replaceFirstLanes(parts[0], parts[1], axis); });
  tile = std::move(result);
}

static Value reverseAxis(Marker &marker, const Value &tile, int axis) {
  int64_t extent = tile.type.shape[axis];
  return slice(marker, tile, axis, extent - 1, -1, extent);
}

/// A scan by one operation: at distance 1, 2, 4, ... each element takes in the
/// one before it (Hillis and Steele). More operations than a tree, but each
/// level is one loop over the whole axis.
static Value scanByOperation(BinaryOp op, const Value &tile, int axis) {
  AxisView view(tile.type.shape, axis);
  ScalarKind kind = tile.type.scalar.kind();
  int64_t step = view.inner * elementSize(kind), slab = view.extent * step;
  NewTile from{tile.type}, to{tile.type};
  std::memcpy(from.elements<char>(), elementsOf<char>(tile), view.outer * slab);
  for (int64_t distance = 1; distance < view.extent; distance *= 2) {
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      const char *source = from.elements<char>() + outer * slab;
      char *result = to.elements<char>() + outer * slab;
      std::memcpy(result, source, distance * step);
      computeBinary(op, kind, source, source + distance * step, result + distance * step,
                    (view.extent - distance) * view.inner);
    }
    std::swap(from, to);
  }
  return std::move(from.value);
}

static Values scanForward(Marker &marker, const Values &inputs, int axis,
                          RecordedCombine &combine) {
  int64_t half = inputs[0].type.shape[axis] / 2;
  if (half == 0)
    return inputs;
  std::optional<BinaryOp> op = combine.singleBinary();
  if (op && marker.mayCombineBlindly(*op, inputs[0], 2 * half))
    return {scanByOperation(*op, inputs[0], axis)};
  Values even = sliceAll(marker, inputs, axis, 0, 2, half);
  Values odd = sliceAll(marker, inputs, axis, 1, 2, half);
  Values oddResults = scanForward(marker, combine(even, odd), axis, combine);
  Values results;
  if (half == 1) {
    for (size_t i = 0; i < inputs.size(); ++i)
      results.push_back(interleave(marker, even[i], oddResults[i], axis));
    return results;
  }
  // Element 0 of the even results is the input itself; what is combined into
  // that lane is dropped again.
  Values before;
  for (size_t i = 0; i < inputs.size(); ++i)
    before.push_back(shiftByOne(marker, oddResults[i], even[i], axis));
  Values evenResults = combine(before, even);
  for (size_t i = 0; i < inputs.size(); ++i) {
    replaceFirst(marker, evenResults[i], even[i], axis);
    results.push_back(interleave(marker, evenResults[i], oddResults[i], axis));
  }
  return results;
}

Values CpuTileBuilder::scan(const Values &inputs, int axis, bool reverse,
                            const CombineFunction &function) {
  RecordedCombine combine(*this, function);
  if (!reverse)
    return scanForward(marker, inputs, axis, combine);
  Values reversed;
  for (const Value &input : inputs)
    reversed.push_back(reverseAxis(marker, input, axis));
  Values results = scanForward(marker, reversed, axis, combine);
  for (Value &value : results)
    value = reverseAxis(marker, value, axis);
  return results;
}

} // namespace tilewright::interpreter
