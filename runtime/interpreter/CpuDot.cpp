//===- CpuDot.cpp - Matrix products of CPU tiles --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tl.dot on the CPU. Operands are seen as the matrix units see them and
// then multiplied and summed in f32 (f64, or int32 that wraps).
//
// How: (1) operands are widened to f32, or to parts of f32; (2) one blocked
// kernel adds a x b to the sums, in the order of K; (3) the sums are rounded to
// the accumulator's type, once per product.
//
// How f32 operands are seen: tf32 is the upper 19 bits, cut off and not rounded.
// mma and wgmma do the same to registers and shared memory that hold unconverted
// f32. tf32x3 and bf16x3/x6 split an operand by cutting (ir/support/SplitPrecision.h).
// An infinity or NaN has no further parts, and a NaN in the sum of the smaller
// products counts as zero: it comes from infinity times a part that is zero.
//
// Not handled: max_num_imprecise_acc. The sums are full f32 always.
//
//===----------------------------------------------------------------------===//

#include "ir/support/SplitPrecision.h"
#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/SmallFloat.h"
#include "runtime/interpreter/Vectorize.h"

#include <algorithm>
#include <vector>

namespace tilewright::interpreter {

using semantic::DotPrecision;

namespace {

//===----------------------------------------------------------------------===//
// The blocked kernel
//===----------------------------------------------------------------------===//

/// Extents of one product: M x K times K x N.
struct Extents {
  int64_t m, n, k;
};

/// Rows x Columns sums stay in registers while K runs. Extents are powers of
/// two, so that blocks of powers of two leave no rest.
template <typename T, int Rows, int Columns>
TILEWRIGHT_INLINE void multiplyBlock(const T *a, const T *b, T *sums, const Extents &extents) {
  T block[Rows][Columns];
  for (int row = 0; row < Rows; ++row)
    for (int column = 0; column < Columns; ++column)
      block[row][column] = sums[row * extents.n + column];
  for (int64_t k = 0; k < extents.k; ++k) {
    const T *right = b + k * extents.n;
    for (int row = 0; row < Rows; ++row) {
      T left = a[row * extents.k + k];
      for (int column = 0; column < Columns; ++column)
        block[row][column] += left * right[column];
    }
  }
  for (int row = 0; row < Rows; ++row)
    for (int column = 0; column < Columns; ++column)
      sums[row * extents.n + column] = block[row][column];
}

template <typename T, int Rows, int Columns>
TILEWRIGHT_INLINE void multiplyBlocks(const T *a, const T *b, T *sums, const Extents &extents) {
  for (int64_t column = 0; column < extents.n; column += Columns)
    for (int64_t row = 0; row < extents.m; row += Rows)
      multiplyBlock<T, Rows, Columns>(a + row * extents.k, b + column,
                                      sums + row * extents.n + column, extents);
}

template <typename T>
TILEWRIGHT_INLINE void multiplyAny(const T *a, const T *b, T *sums, const Extents &extents) {
  constexpr int wide = 64 / sizeof(T); // elements of two AVX2 registers
  if (extents.n >= wide && extents.m >= 4)
    return multiplyBlocks<T, 4, wide>(a, b, sums, extents);
  if (extents.n >= wide)
    return multiplyBlocks<T, 1, wide>(a, b, sums, extents);
  if (extents.m >= 4)
    return multiplyBlocks<T, 4, 1>(a, b, sums, extents);
  multiplyBlocks<T, 1, 1>(a, b, sums, extents);
}

template <typename T>
TILEWRIGHT_WIDE void multiplyWide(const T *a, const T *b, T *sums, const Extents &extents) {
  multiplyAny(a, b, sums, extents);
}

/// sums += a x b, all row-major.
template <typename T> void multiply(const T *a, const T *b, T *sums, const Extents &extents) {
  if (cpuIsWide())
    return multiplyWide(a, b, sums, extents);
  multiplyAny(a, b, sums, extents);
}

//===----------------------------------------------------------------------===//
// f32 operands in parts
//===----------------------------------------------------------------------===//

/// How a precision takes f32 operands apart.
OperandSplit splitOf(DotPrecision precision) {
  switch (precision) {
  case DotPrecision::Tf32:
    return {1, tf32Bits};
  case DotPrecision::Tf32x3:
    return tf32x3Split;
  case DotPrecision::BFloat16x3:
    return bf16x3Split;
  case DotPrecision::BFloat16x6:
    return bf16x6Split;
  case DotPrecision::Ieee:
    break;
  }
  return {};
}

using Parts = std::vector<std::vector<float>>;

Parts splitFloats(const float *values, int64_t count, const OperandSplit &split) {
  Parts parts(split.parts, std::vector<float>(count));
  for (int64_t i = 0; i < count; ++i) {
    float rest = values[i];
    bool isFinite = std::isfinite(rest);
    for (std::vector<float> &part : parts) {
      part[i] = bitCast<float>(bitCast<uint32_t>(rest) & split.mask);
      rest = isFinite ? rest - part[i] : 0.0f; // exact: only lower bits remain
    }
  }
  return parts;
}

void multiplyParts(const Parts &a, const Parts &b, float *sums, const OperandSplit &split,
                   const Extents &extents) {
  multiply(a[0].data(), b[0].data(), sums, extents);
  if (split.parts == 1)
    return;
  // The smallest first, in sums of their own.
  std::vector<float> small(extents.m * extents.n, 0.0f);
  forEachSmallProduct(split, [&](int partA, int partB) {
    multiply(a[partA].data(), b[partB].data(), small.data(), extents);
  });
  for (size_t i = 0; i < small.size(); ++i)
    sums[i] += small[i] == small[i] ? small[i] : 0.0f;
}

//===----------------------------------------------------------------------===//
// Products by type
//===----------------------------------------------------------------------===//

std::vector<float> decoded(const Value &value, int64_t start, int64_t count) {
  std::vector<float> result(count);
  decodeFloats(value.type.scalar.kind(), elementsOf<void>(value), start, count, result.data());
  return result;
}

void multiplyFloats(const Value &a, const Value &b, DotPrecision precision, int64_t batch,
                    const Extents &extents, float *sums) {
  int64_t countA = extents.m * extents.k, countB = extents.k * extents.n;
  std::vector<float> left = decoded(a, batch * countA, countA);
  std::vector<float> right = decoded(b, batch * countB, countB);
  if (a.type.scalar.kind() != ScalarKind::Float32 || precision == DotPrecision::Ieee)
    return multiply(left.data(), right.data(), sums, extents);
  OperandSplit split = splitOf(precision);
  multiplyParts(splitFloats(left.data(), countA, split), splitFloats(right.data(), countB, split),
                sums, split, extents);
}

/// Sums in f32, then one rounding to the accumulator's type.
void dotFloats(const Value &a, const Value &b, const Value &acc, DotPrecision precision,
               int64_t batches, const Extents &extents, NewTile &result) {
  ScalarKind kind = acc.type.scalar.kind();
  int64_t count = extents.m * extents.n;
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<float> sums = decoded(acc, batch * count, count);
    multiplyFloats(a, b, precision, batch, extents, sums.data());
    for (float &sum : sums) // the GPU's NaN
      sum = sum == sum ? sum : bitCast<float>(0x7fffffffu);
    encodeFloats(kind, sums.data(), result.elements<void>(), batch * count, count);
  }
}

void dotDoubles(const Value &a, const Value &b, int64_t batches, const Extents &extents,
                NewTile &result) {
  for (int64_t batch = 0; batch < batches; ++batch)
    multiply(elementsOf<double>(a) + batch * extents.m * extents.k,
             elementsOf<double>(b) + batch * extents.k * extents.n,
             result.elements<double>() + batch * extents.m * extents.n, extents);
}

void dotIntegers(const Value &a, const Value &b, int64_t batches, const Extents &extents,
                 NewTile &result) {
  // Unsigned: sums wrap.
  auto widened = [](const Value &value) {
    const int8_t *elements = elementsOf<int8_t>(value);
    std::vector<uint32_t> words(countOf(value));
    std::transform(elements, elements + words.size(), words.begin(),
                   [](int8_t element) { return static_cast<uint32_t>(int32_t(element)); });
    return words;
  };
  std::vector<uint32_t> left = widened(a), right = widened(b);
  for (int64_t batch = 0; batch < batches; ++batch)
    multiply(left.data() + batch * extents.m * extents.k,
             right.data() + batch * extents.k * extents.n,
             result.elements<uint32_t>() + batch * extents.m * extents.n, extents);
}

} // namespace

Value CpuTileBuilder::dot(const Value &a, const Value &b, const Value &acc, DotPrecision precision,
                          int32_t) {
  const std::vector<int64_t> &shape = acc.type.shape;
  size_t rank = shape.size();
  int64_t batches = rank == 3 ? shape[0] : 1;
  Extents extents{shape[rank - 2], shape[rank - 1], a.type.shape[rank - 1]};
  NewTile result{acc.type};
  ScalarKind kind = acc.type.scalar.kind();
  if (kind != ScalarKind::Int32 && kind != ScalarKind::Float64) {
    dotFloats(a, b, acc, precision, batches, extents, result);
    marker.afterDot(a, b, acc, result.value);
    return std::move(result.value);
  }
  std::memcpy(result.elements<char>(), elementsOf<char>(acc), result.count * elementSize(kind));
  if (kind == ScalarKind::Int32)
    dotIntegers(a, b, batches, extents, result);
  else
    dotDoubles(a, b, batches, extents, result);
  marker.afterDot(a, b, acc, result.value);
  return std::move(result.value);
}

} // namespace tilewright::interpreter
