//===- CpuCompare.cpp - Comparisons and selections of CPU tiles -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: as in CpuElementwise.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/ElementKernels.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/Vectorize.h"

#include <algorithm>
#include <type_traits>

namespace tilewright::interpreter {

//===--- comparisons ------------------------------------------------------===//

using CompareKernel = void (*)(const void *lhs, const void *rhs, uint8_t *result, int64_t count);

template <typename T, typename F>
static TILEWRIGHT_INLINE void mapCompare(const void *lhs, const void *rhs, uint8_t *result,
                                         int64_t count, F function) {
  const T *a = static_cast<const T *>(lhs), *b = static_cast<const T *>(rhs);
  for (int64_t i = 0; i < count; ++i)
    result[i] = function(a[i], b[i]);
}
#define TILEWRIGHT_RUN(ATTRIBUTE, T, EXPRESSION)                                                   \
  [](const void *lhs, const void *rhs, uint8_t *result, int64_t count) ATTRIBUTE {                 \
    mapCompare<T>(lhs, rhs, result, count,                                                         \
                  [](T a, T b) __attribute__((always_inline)) -> uint8_t { return EXPRESSION; });  \
  }
#define TILEWRIGHT_KERNEL(T, EXPRESSION)                                                           \
  return cpuIsWide() ? static_cast<CompareKernel>(TILEWRIGHT_RUN(TILEWRIGHT_WIDE, T, EXPRESSION))  \
                     : static_cast<CompareKernel>(TILEWRIGHT_RUN(, T, EXPRESSION))

template <typename U> static CompareKernel integerCompare(ComparePredicate predicate) {
  using S = std::make_signed_t<U>;
  switch (predicate) {
  case ComparePredicate::Equal:
    TILEWRIGHT_KERNEL(U, a == b);
  case ComparePredicate::NotEqual:
    TILEWRIGHT_KERNEL(U, a != b);
  case ComparePredicate::LessSigned:
    TILEWRIGHT_KERNEL(S, a < b);
  case ComparePredicate::LessEqualSigned:
    TILEWRIGHT_KERNEL(S, a <= b);
  case ComparePredicate::GreaterSigned:
    TILEWRIGHT_KERNEL(S, a > b);
  case ComparePredicate::GreaterEqualSigned:
    TILEWRIGHT_KERNEL(S, a >= b);
  case ComparePredicate::LessUnsigned:
    TILEWRIGHT_KERNEL(U, a < b);
  case ComparePredicate::LessEqualUnsigned:
    TILEWRIGHT_KERNEL(U, a <= b);
  case ComparePredicate::GreaterUnsigned:
    TILEWRIGHT_KERNEL(U, a > b);
  case ComparePredicate::GreaterEqualUnsigned:
    TILEWRIGHT_KERNEL(U, a >= b);
  default:
    return nullptr;
  }
}

template <typename T> static CompareKernel floatCompare(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::FloatEqual:
    TILEWRIGHT_KERNEL(T, a == b);
  case ComparePredicate::FloatNotEqual:
    TILEWRIGHT_KERNEL(T, a != b);
  case ComparePredicate::FloatLess:
    TILEWRIGHT_KERNEL(T, a < b);
  case ComparePredicate::FloatLessEqual:
    TILEWRIGHT_KERNEL(T, a <= b);
  case ComparePredicate::FloatGreater:
    TILEWRIGHT_KERNEL(T, a > b);
  case ComparePredicate::FloatGreaterEqual:
    TILEWRIGHT_KERNEL(T, a >= b);
  default:
    return nullptr;
  }
}
#undef TILEWRIGHT_KERNEL
#undef TILEWRIGHT_RUN

static CompareKernel compareKernelFor(ComparePredicate predicate, ScalarKind kind) {
  if (kind == ScalarKind::Float64)
    return floatCompare<double>(predicate);
  if (isFloatKind(kind))
    return floatCompare<float>(predicate);
  switch (elementSize(kind)) {
  case 1:
    return integerCompare<uint8_t>(predicate);
  case 2:
    return integerCompare<uint16_t>(predicate);
  case 4:
    return integerCompare<uint32_t>(predicate);
  default:
    return integerCompare<uint64_t>(predicate);
  }
}

Value CpuTileBuilder::compare(ComparePredicate predicate, const Value &lhs, const Value &rhs) {
  ScalarKind kind = lhs.type.scalar.kind();
  CompareKernel kernel = compareKernelFor(predicate, kind);
  if (!kernel)
    throwNoKernel("comparison", lhs);
  NewTile result{lhs.type.withScalar(ScalarKind::Int1)};
  const void *a = tileOf(lhs).as<void>(), *b = tileOf(rhs).as<void>();
  uint8_t *bits = result.elements<uint8_t>();
  if (!isSmallFloat(kind)) {
    kernel(a, b, bits, result.count);
    marker.afterCompare(lhs, rhs, result.value);
    return noted(CombineTape::Primitive::Compare, predicate, {&lhs, &rhs}, std::move(result.value));
  }
  float wideA[chunkSize], wideB[chunkSize];
  for (int64_t start = 0; start < result.count; start += chunkSize) {
    int64_t n = std::min(chunkSize, result.count - start);
    decodeFloats(kind, a, start, n, wideA);
    decodeFloats(kind, b, start, n, wideB);
    kernel(wideA, wideB, bits + start, n);
  }
  marker.afterCompare(lhs, rhs, result.value);
  return noted(CombineTape::Primitive::Compare, predicate, {&lhs, &rhs}, std::move(result.value));
}

//===--- select and fma ---------------------------------------------------===//

static Value selectLanes(const Value &condition, const Value &ifTrue, const Value &ifFalse) {
  NewTile result{ifTrue.type};
  const uint8_t *bits = elementsOf<uint8_t>(condition);
  // One condition may govern whole tiles: step 0 reads it again and again.
  int64_t step = condition.type.isTile() ? 1 : 0;
  dispatchWord(elementSize(ifTrue.type.scalar.kind()), [&](auto word) {
    using Word = decltype(word);
    const Word *a = elementsOf<Word>(ifTrue), *b = elementsOf<Word>(ifFalse);
    Word *out = result.elements<Word>();
    if (step == 0)
      std::copy_n(*bits ? a : b, result.count, out);
    else
      for (int64_t i = 0; i < result.count; ++i)
        out[i] = bits[i] ? a[i] : b[i];
  });
  if (tileOf(ifTrue).allocation == tileOf(ifFalse).allocation)
    result.tile().allocation = tileOf(ifTrue).allocation;
  return std::move(result.value);
}

Value CpuTileBuilder::select(const Value &condition, const Value &ifTrue, const Value &ifFalse) {
  Value result = selectLanes(condition, ifTrue, ifFalse);
  marker.carry({&ifTrue, &ifFalse}, result, [&](const std::vector<Value> &parts) {
    return selectLanes(condition, parts[0], parts[1]);
  });
  marker.afterCondition(condition, result);
  return noted(CombineTape::Primitive::Select, 0, {&condition, &ifTrue, &ifFalse},
               std::move(result));
}

} // namespace tilewright::interpreter
