//===- WrappedIntegers.cpp - Signed integers that wrap --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: finds sums, products and shifts of signed integers that do not fit their
// type, and keeps beside each such number what it would be (Marks.h).
//
// How: (1) one vectorised pass over the operands gathers the bits in use; nearly
// always these show that no lane can wrap; (2) else another pass computes in 64
// bits whether a lane wraps; (3) only then is every lane computed in 128 bits.
// Exact numbers are kept in 64 bits. A number that exceeds them stays at the
// largest or smallest one, and so never seems right.
//
// Hashes wrap on purpose, and often. If the wrapped numbers of a place in the
// kernel have not become an address after so many times, the place is not
// checked for the rest of the launch, so that such kernels keep their speed.
//
// A sum or product of 64 bits that wraps is right as an address, which wraps in the same
// way; descriptors of ragged groups count on that. Such an access is judged by its bounds.
//
// Not handled: unsigned integers, whose purpose in kernels is to wrap (hashes,
// random numbers); a number of 64 bits that wraps and is then divided.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/LaneValues.h"
#include "runtime/interpreter/Marks.h"
#include "runtime/interpreter/Vectorize.h"

#include <algorithm>

namespace tilewright::interpreter {

//===--- may it wrap? -----------------------------------------------------===//

template <typename T> static TILEWRIGHT_INLINE T gatherBits(const T *elements, int64_t count) {
  T bits = 0;
  for (int64_t i = 0; i < count; ++i)
    bits |= elements[i] < 0 ? ~elements[i] : elements[i];
  return bits;
}
template <typename T> TILEWRIGHT_WIDE static T gatherBitsWide(const T *elements, int64_t count) {
  return gatherBits(elements, count);
}

/// The smallest n with -2^n <= x < 2^n for every lane.
template <typename T> static int bitsInUse(const Value &value) {
  const T *elements = elementsOf<T>(value);
  int64_t count = countOf(value);
  uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(
      cpuIsWide() ? gatherBitsWide(elements, count) : gatherBits(elements, count)));
  return bits == 0 ? 0 : 64 - __builtin_clzll(bits);
}

static int bitsInUse(const Value &value) {
  switch (elementSize(value.type.scalar.kind())) {
  case 1:
    return bitsInUse<int8_t>(value);
  case 2:
    return bitsInUse<int16_t>(value);
  case 4:
    return bitsInUse<int32_t>(value);
  default:
    return bitsInUse<int64_t>(value);
  }
}

/// Where every lane is known to fit; `room` is the type's width without the sign.
static bool surelyFits(BinaryOp op, const Value &lhs, const Value &rhs, int room) {
  int left = bitsInUse(lhs), right = bitsInUse(rhs);
  switch (op) {
  case BinaryOp::Add:
  case BinaryOp::Sub:
    return std::max(left, right) < room;
  case BinaryOp::Mul:
    return left + right < room;
  default: // a shift; the amount is below 2^right
    return right <= 6 && left + (1 << right) - 1 <= room;
  }
}

/// Whether a lane's result does not fit T; exact up to 32 bits.
template <typename T>
static TILEWRIGHT_INLINE bool anyWraps(BinaryOp op, const T *a, const T *b, int64_t count) {
  int64_t wrong = 0;
  auto look = [&](auto compute) __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t exact = compute(static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i]));
      wrong |= exact ^ static_cast<int64_t>(static_cast<T>(exact));
    }
  };
  if (op == BinaryOp::Add)
    look([](int64_t x, int64_t y) { return x + y; });
  else if (op == BinaryOp::Sub)
    look([](int64_t x, int64_t y) { return x - y; });
  else
    look([](int64_t x, int64_t y) { return x * y; });
  return wrong != 0;
}
template <typename T>
TILEWRIGHT_WIDE static bool anyWrapsWide(BinaryOp op, const T *a, const T *b, int64_t count) {
  return anyWraps(op, a, b, count);
}

/// Whether a sum, difference or product wraps; true where this is not found out quickly.
static bool maybeWraps(BinaryOp op, const Value &lhs, const Value &rhs) {
  auto look = [&](auto zero) {
    using T = decltype(zero);
    const T *a = elementsOf<T>(lhs), *b = elementsOf<T>(rhs);
    return cpuIsWide() ? anyWrapsWide(op, a, b, countOf(lhs)) : anyWraps(op, a, b, countOf(lhs));
  };
  int size = elementSize(lhs.type.scalar.kind());
  if (op == BinaryOp::ShiftLeft || size == 8)
    return true;
  return size == 1 ? look(int8_t()) : size == 2 ? look(int16_t()) : look(int32_t());
}

bool mayWrapCombined(BinaryOp op, const Value &tile, int64_t extent) {
  if (!tile.type.scalar.isSigned())
    return false;
  int room = tile.type.scalar.bitWidth() - 1, bits = bitsInUse(tile);
  int levels = 64 - __builtin_clzll(static_cast<uint64_t>(extent));
  return op == BinaryOp::Add ? bits + levels > room : bits > 0 && bits * extent > room;
}

//===--- the exact number -------------------------------------------------===//

static int64_t saturated(__int128 value) {
  return static_cast<int64_t>(std::clamp<__int128>(value, INT64_MIN, INT64_MAX));
}

/// What `a op b` would be; the exact numbers of a clean lane are its own.
static int64_t exactResult(BinaryOp op, int64_t a, int64_t b) {
  __int128 x = a, y = b;
  switch (op) {
  case BinaryOp::Add:
    return saturated(x + y);
  case BinaryOp::Sub:
    return saturated(x - y);
  case BinaryOp::Mul:
    return saturated(x * y);
  case BinaryOp::ShiftLeft:
    return y < 0 || y > 63 ? 0 : saturated(x * (__int128(1) << y));
  case BinaryOp::DivSigned:
    return y == 0 ? 0 : saturated(x / y);
  case BinaryOp::MinSigned:
    return std::min(a, b);
  default:
    return std::max(a, b);
  }
}

static bool canWrap(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul ||
         op == BinaryOp::ShiftLeft;
}

/// Operations that use a wrapped number as the number it should be. `%` and the bitwise
/// ones are how hashes make use of wrapping.
static bool keepsWraps(BinaryOp op) {
  return canWrap(op) || op == BinaryOp::DivSigned || op == BinaryOp::MinSigned ||
         op == BinaryOp::MaxSigned;
}

/// Wrapped numbers of one place that came to nothing before it is left alone.
static constexpr int patience = 4;

bool Marker::isLeftAlone() const {
  if (wrapsOfPlace.empty() || looksFor(Check::Overflow))
    return false;
  auto found = wrapsOfPlace.find(host.currentPlace());
  return found != wrapsOfPlace.end() && found->second >= patience;
}

void Marker::wrapIntegers(BinaryOp op, const Value &lhs, const Value &rhs, Value &result) {
  const DType &type = lhs.type.scalar;
  if (!type.isSigned() || !keepsWraps(op))
    return;
  bool wasWrapped = hasChannel({&lhs, &rhs}, Marks::Wrapped);
  if (!wasWrapped && (!canWrap(op) || surelyFits(op, lhs, rhs, type.bitWidth() - 1) ||
                      isLeftAlone() || !maybeWraps(op, lhs, rhs)))
    return;
  if (uint64_t place = wasWrapped ? 0 : host.currentPlace())
    ++wrapsOfPlace[place];
  Value left = channelOf(lhs, exactChannel), right = channelOf(rhs, exactChannel);
  Value from[] = {channelOf(lhs, Marks::Wrapped), channelOf(rhs, Marks::Wrapped)};
  NewTile exact{result.type.withScalar(ScalarKind::Int64)};
  uint32_t fresh = 0;
  markLanes(result, Marks::Wrapped, [&](int64_t i) -> uint32_t {
    int64_t a = elementsOf<int64_t>(left)[i], b = elementsOf<int64_t>(right)[i];
    int64_t number = exact.elements<int64_t>()[i] = exactResult(op, a, b);
    if (number == laneAsInteger(result, i))
      return 0;
    for (const Value &origins : from)
      if (uint32_t origin = elementsOf<uint32_t>(origins)[i])
        return origin;
    if (!fresh) {
      fresh =
          newOrigin(Check::Wraps, fmt::format("{} {} {} is {}, which {} makes {}", a, symbolOf(op),
                                              b, number, type.name(), laneAsInteger(result, i)));
      origins[fresh - 1].isRightAsAddress = type.bitWidth() == 64;
    }
    return fresh;
  });
  if (hasChannel({&result}, Marks::Wrapped))
    setChannel(result, exactChannel, std::move(exact.value));
}

/// A cast to a signed type keeps the number that should be; one that cuts bits off may
/// itself be the wrap. Casts to unsigned types are how bits are taken apart.
void Marker::wrapCast(CastOp op, const Value &operand, Value &result) {
  const DType &type = result.type.scalar;
  bool wasWrapped = hasChannel({&operand}, Marks::Wrapped);
  bool mayCut = op == CastOp::Truncate && operand.type.scalar.isSigned();
  if (!type.isSigned() || (!wasWrapped && (!mayCut || bitsInUse(operand) < type.bitWidth())))
    return;
  Value exact = channelOf(operand, exactChannel), from = channelOf(operand, Marks::Wrapped);
  uint32_t fresh = 0;
  markLanes(result, Marks::Wrapped, [&](int64_t i) -> uint32_t {
    int64_t number = elementsOf<int64_t>(exact)[i];
    if (number == laneAsInteger(result, i))
      return 0;
    if (uint32_t origin = elementsOf<uint32_t>(from)[i])
      return origin;
    if (!fresh)
      fresh = newOrigin(Check::Wraps, fmt::format("{}, cast to {}, is {}", number, type.name(),
                                                  laneAsInteger(result, i)));
    return fresh;
  });
  if (hasChannel({&result}, Marks::Wrapped))
    setChannel(result, exactChannel, std::move(exact));
}

} // namespace tilewright::interpreter
