//===- Marks.cpp - Lanes that went wrong, until it matters ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: how operations pass marks from operands to results, and what is
// reported where a marked lane is used. SpoiledLanes.cpp and
// WrappedIntegers.cpp make the marks.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/Marks.h"
#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/FloatChunks.h"
#include "runtime/interpreter/LaneValues.h"

#include <algorithm>
#include <cmath>

namespace tilewright::interpreter {

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static const Value &channelIn(const Marks &marks, int channel) {
  return channel == Marks::ChannelCount ? marks.exact : marks.origins[channel];
}

bool Marker::anyMarked(const std::vector<const Value *> &values) {
  return std::any_of(values.begin(), values.end(), [](const Value *v) { return isMarked(*v); });
}

bool Marker::hasChannel(const std::vector<const Value *> &values, int channel) {
  return std::any_of(values.begin(), values.end(), [&](const Value *value) {
    const Marks *marks = marksOf(*value);
    return marks && channelIn(*marks, channel).handle;
  });
}

/// The channel in the value's shape. Where it is absent: no origins, and as exact numbers
/// the value's own.
Value Marker::channelOf(const Value &value, int channel) {
  bool isExact = channel == exactChannel;
  Type type = value.type.withScalar(isExact ? ScalarKind::Int64 : ScalarKind::UInt32);
  const Marks *marks = marksOf(value);
  if (marks && channelIn(*marks, channel).handle)
    return shareAs(channelIn(*marks, channel), type);
  NewTile tile{type};
  if (!isExact)
    std::fill_n(tile.elements<uint32_t>(), tile.count, 0u);
  else
    for (int64_t i = 0; i < tile.count; ++i)
      tile.elements<int64_t>()[i] = laneAsInteger(value, i);
  return std::move(tile.value);
}

void Marker::setChannel(Value &value, int channel, Value tile) {
  std::shared_ptr<Marks> &marks = static_cast<Tile *>(value.handle.get())->marks;
  if (!marks)
    marks = std::make_shared<Marks>();
  (channel == exactChannel ? marks->exact : marks->origins[channel]) = std::move(tile);
}

void Marker::markLanes(Value &result, int channel,
                       const std::function<uint32_t(int64_t)> &originOf) {
  NewTile tile{result.type.withScalar(ScalarKind::UInt32)};
  uint32_t *lanes = tile.elements<uint32_t>(), any = 0;
  for (int64_t i = 0; i < tile.count; ++i)
    any |= lanes[i] = originOf(i);
  if (any)
    setChannel(result, channel, std::move(tile.value));
}

static const uint32_t *lanesOf(const Value &value, int channel) {
  const Marks *marks = marksOf(value);
  if (!marks || !marks->origins[channel].handle)
    return nullptr;
  return elementsOf<uint32_t>(marks->origins[channel]);
}

uint32_t Marker::newOrigin(Check check, std::string what, bool endsWhenFinite) {
  origins.push_back({check, host.currentFrame(), std::move(what), endsWhenFinite});
  return static_cast<uint32_t>(origins.size());
}

void Marker::spoil(Value &result, const std::vector<uint8_t> &born, uint32_t origin) {
  Value before = channelOf(result, Marks::Spoiled);
  const uint32_t *lanes = elementsOf<uint32_t>(before);
  markLanes(result, Marks::Spoiled,
            [&](int64_t i) { return lanes[i] || !born[i] ? lanes[i] : origin; });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Marker::afterElementwise(const std::vector<const Value *> &operands, Value &result) {
  if (!anyMarked(operands))
    return;
  bool isFloat = result.type.scalar.isFloating();
  for (int channel : {Marks::Undefined, Marks::Spoiled}) {
    if (!hasChannel(operands, channel))
      continue;
    markLanes(result, channel, [&](int64_t i) {
      for (const Value *operand : operands) {
        const uint32_t *lanes = lanesOf(*operand, channel);
        if (!lanes || !lanes[i])
          continue;
        bool isOver = isFloat && origins[lanes[i] - 1].endsWhenFinite &&
                      std::isfinite(laneAsFloat(result, i));
        if (!isOver)
          return lanes[i];
      }
      return 0u;
    });
  }
}

/// `and` with a false and `or` with a true lane are known whatever the other one is:
/// `(x > 0) & mask` is defined where the mask of x's load is false.
static bool isDecidedBy(BinaryOp op, const Value &operand, int64_t lane) {
  if (op == BinaryOp::And)
    return laneAsInteger(operand, lane) == 0;
  return op == BinaryOp::Or && operand.type.scalar.isBool() && laneAsInteger(operand, lane) != 0;
}

const char *symbolOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::DivFloat:
  case BinaryOp::DivFloatRounded:
    return "/";
  case BinaryOp::RemFloat:
    return "%";
  case BinaryOp::ShiftLeft:
    return "<<";
  default:
    return "minimum or maximum";
  }
}

void Marker::afterBinary(BinaryOp op, const Value &lhs, const Value &rhs, Value &result) {
  if (isMarked(lhs) || isMarked(rhs)) {
    afterElementwise({&lhs, &rhs}, result);
    const uint32_t *left = lanesOf(lhs, Marks::Undefined), *right = lanesOf(rhs, Marks::Undefined);
    bool mayDecide = op == BinaryOp::And || op == BinaryOp::Or;
    if (mayDecide && (left || right) && isMarked(result)) {
      static_cast<Tile *>(result.handle.get())->marks->origins[Marks::Undefined] = Value();
      markLanes(result, Marks::Undefined, [&](int64_t i) -> uint32_t {
        uint32_t a = left ? left[i] : 0, b = right ? right[i] : 0;
        bool isDecided = (!a && isDecidedBy(op, lhs, i)) || (!b && isDecidedBy(op, rhs, i));
        return isDecided ? 0 : a ? a : b;
      });
    }
  }
  if (lhs.type.scalar.isFloating()) {
    if (tracksFloats())
      findNotFinite(symbolOf(op), {&lhs, &rhs}, result,
                    op == BinaryOp::DivFloat || op == BinaryOp::DivFloatRounded);
    return;
  }
  if (tracksWraps())
    wrapIntegers(op, lhs, rhs, result);
  if (looksFor(Check::Division))
    findZeroDivisor(op, lhs, rhs, result);
  if (looksFor(Check::Portable))
    findWholeShift(op, lhs, rhs, result);
}

void Marker::afterFma(const Value &x, const Value &y, const Value &z, Value &result) {
  afterElementwise({&x, &y, &z}, result);
  if (tracksFloats())
    findNotFinite("fma", {&x, &y, &z}, result, false);
}

void Marker::afterExtern(const std::string &symbol, const std::vector<Value> &operands,
                         Value &result) {
  std::vector<const Value *> pointers;
  bool areFloats = result.type.scalar.isFloating();
  for (const Value &operand : operands) {
    pointers.push_back(&operand);
    areFloats &= operand.type.scalar.isFloating();
  }
  afterElementwise(pointers, result);
  if (tracksFloats() && areFloats)
    findNotFinite(symbol, pointers, result, false);
}

/// A comparison of what is undefined is undefined, too; one of a NaN is how kernels look
/// for NaN.
void Marker::afterCompare(const Value &lhs, const Value &rhs, Value &result) {
  if (!hasChannel({&lhs, &rhs}, Marks::Undefined))
    return;
  const uint32_t *left = lanesOf(lhs, Marks::Undefined), *right = lanesOf(rhs, Marks::Undefined);
  markLanes(result, Marks::Undefined, [&](int64_t i) {
    uint32_t first = left ? left[i] : 0;
    return first ? first : right ? right[i] : 0;
  });
}

void Marker::afterCondition(const Value &condition, Value &result) {
  const uint32_t *lanes = lanesOf(condition, Marks::Undefined);
  if (!lanes)
    return;
  Value before = channelOf(result, Marks::Undefined);
  int64_t step = condition.type.isTile() ? 1 : 0;
  markLanes(result, Marks::Undefined, [&](int64_t i) {
    uint32_t own = elementsOf<uint32_t>(before)[i];
    return own ? own : lanes[i * step];
  });
}

void Marker::afterAddPointer(const Value &pointer, const Value &offset, Value &result) {
  if (!isMarked(pointer) && !isMarked(offset))
    return;
  afterElementwise({&pointer, &offset}, result);
  const uint32_t *before = lanesOf(pointer, Marks::Wrapped),
                 *lanes = lanesOf(offset, Marks::Wrapped);
  Value exact = channelOf(offset, exactChannel);
  if (before || lanes)
    markLanes(result, Marks::Wrapped, [&](int64_t i) -> uint32_t {
      if (before && before[i])
        return before[i];
      bool isWrong = lanes && elementsOf<int64_t>(exact)[i] != laneAsInteger(offset, i) &&
                     !(lanes[i] && origins[lanes[i] - 1].isRightAsAddress);
      return isWrong ? lanes[i] : 0;
    });
}

/// A lane of the result is spoiled by its row of `a`, its column of `b` and itself.
void Marker::afterDot(const Value &a, const Value &b, const Value &acc, Value &result) {
  const std::vector<int64_t> &shape = acc.type.shape;
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t m = shape[rank - 2], n = shape[rank - 1], k = a.type.shape[rank - 1];
  for (int channel : {Marks::Undefined, Marks::Spoiled}) {
    if (!hasChannel({&a, &b, &acc}, channel))
      continue;
    const uint32_t *left = lanesOf(a, channel), *right = lanesOf(b, channel);
    const uint32_t *own = lanesOf(acc, channel);
    markLanes(result, channel, [&](int64_t i) -> uint32_t {
      int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      uint32_t found = own ? own[i] : 0;
      for (int64_t j = 0; j < k && !found; ++j) {
        found = left ? left[(batch * m + row) * k + j] : 0;
        if (!found && right)
          found = right[(batch * k + j) * n + column];
      }
      bool isOver =
          found && origins[found - 1].endsWhenFinite && std::isfinite(laneAsFloat(result, i));
      return isOver ? 0 : found;
    });
  }
  if (tracksFloats() && result.type.scalar.isFloating())
    findOverflowOfDot(a, b, acc, result);
}

void Marker::afterLoad(const uint8_t *mask, const std::optional<Value> &other, Value &result) {
  if (!mask)
    return;
  if (other && isMarked(*other))
    for (int channel : {Marks::Undefined, Marks::Spoiled})
      if (const uint32_t *lanes = lanesOf(*other, channel))
        markLanes(result, channel, [&](int64_t i) { return mask[i] ? 0 : lanes[i]; });
  if (other || !looksFor(Check::Poison) || !std::memchr(mask, 0, countOf(result)))
    return;
  uint32_t origin = newOrigin(Check::Poison, "the load has a mask and no `other`");
  markLanes(result, Marks::Undefined, [&](int64_t i) { return mask[i] ? 0 : origin; });
}

bool Marker::mayCombineBlindly(BinaryOp op, const Value &tile, int64_t extent) const {
  if (isMarked(tile))
    return false;
  if (tile.type.scalar.isFloating())
    return !tracksFloats();
  bool mayWrap = op == BinaryOp::Add || op == BinaryOp::Mul;
  return !mayWrap || !tracksWraps() || !mayWrapCombined(op, tile, extent);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static ErrorCode codeOf(Check check) {
  switch (check) {
  case Check::Nan:
    return ErrorCode::E0419;
  case Check::Overflow:
  case Check::Wraps: // a wrapped number that is stored
    return ErrorCode::E0420;
  case Check::Division:
    return ErrorCode::E0421;
  case Check::Poison:
    return ErrorCode::E0422;
  default:
    return ErrorCode::E0423;
  }
}

static std::string trimmed(const std::string &line) {
  size_t start = line.find_first_not_of(" \t");
  return start == std::string::npos ? "" : line.substr(start);
}

/// The report stands at the line that spoiled the lane; where it came to light is a note.
void Marker::report(uint32_t number, ErrorCode code, const Access &access, int64_t lane,
                    const std::string &use, const Memory &memory) {
  const Origin &origin = origins[number - 1];
  SourceFrame user = host.currentFrame();
  Error error = makeError(
      code, fmt::arg("what", origin.what), fmt::arg("use", use),
      fmt::arg("access", nameOf(access.kind)), fmt::arg("a", memory.nameOf(access.pointer)),
      fmt::arg("x", program.id[0]), fmt::arg("y", program.id[1]), fmt::arg("z", program.id[2]));
  error.addFrame(origin.place);
  bool isElsewhere = user.line != origin.place.line || user.file != origin.place.file;
  if (isElsewhere)
    error.addNote(fmt::format("the {} is at {}:{}: {}", nameOf(access.kind), user.file, user.line,
                              trimmed(user.sourceLine)));
  error.addNote(laneName(lane, access.pointer.type.shape));
  checks.report(error);
}

/// The first active lane with a mark, or -1.
static int64_t firstMarked(const uint32_t *lanes, const uint8_t *mask, int64_t count) {
  for (int64_t i = 0; lanes && i < count; ++i)
    if (lanes[i] && (!mask || mask[i]))
      return i;
  return -1;
}

void Marker::checkAccess(const Access &access, const std::optional<Value> &mask,
                         const Memory &memory) {
  int64_t count = countOf(access.pointer);
  for (int channel = 0; isMarked(access.pointer) && channel < Marks::ChannelCount; ++channel) {
    const uint32_t *lanes = lanesOf(access.pointer, channel);
    int64_t lane = firstMarked(lanes, access.mask, count);
    if (lane < 0)
      continue;
    ErrorCode code =
        channel == Marks::Wrapped ? ErrorCode::E0415 : codeOf(origins[lanes[lane] - 1].check);
    report(lanes[lane], code, access, lane, "the address", memory);
  }
  if (!mask || !isMarked(*mask))
    return;
  for (int channel : {Marks::Undefined, Marks::Spoiled}) {
    const uint32_t *lanes = lanesOf(*mask, channel);
    int64_t lane = firstMarked(lanes, nullptr, count);
    if (lane >= 0)
      report(lanes[lane], codeOf(origins[lanes[lane] - 1].check), access, lane, "the mask", memory);
  }
}

void Marker::checkStored(const Access &access, const Value &value, const Memory &memory) {
  if (!isMarked(value))
    return;
  int64_t count = countOf(value);
  for (int channel : {Marks::Undefined, Marks::Spoiled}) {
    const uint32_t *lanes = lanesOf(value, channel);
    int64_t lane = firstMarked(lanes, access.mask, count);
    if (lane >= 0)
      report(lanes[lane], codeOf(origins[lanes[lane] - 1].check), access, lane, "the value",
             memory);
  }
  const uint32_t *wrapped = lanesOf(value, Marks::Wrapped);
  if (!wrapped || !looksFor(Check::Overflow))
    return;
  const int64_t *exact = elementsOf<int64_t>(marksOf(value)->exact);
  for (int64_t i = 0; i < count; ++i)
    if (wrapped[i] && (!access.mask || access.mask[i]) && exact[i] != laneAsInteger(value, i))
      return report(wrapped[i], ErrorCode::E0420, access, i, "the value", memory);
}

} // namespace tilewright::interpreter
