//===- SpoiledLanes.cpp - Operations that spoil a lane --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: looks at operands and result of an operation for a quotient by zero, the
// first NaN or infinity, and what other compilers leave undefined, and marks
// the lanes (Marks.h). Nothing is reported here.
//
// A NaN is the first one if no operand is NaN, an infinity if every operand is
// finite. Infinities of divisions by zero, logarithms and roots are reported with
// the NaNs; other infinities come from numbers that grew too large.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"
#include "runtime/interpreter/LaneValues.h"
#include "runtime/interpreter/Marks.h"

#include <cmath>

namespace tilewright::interpreter {

/// The lanes for which `isBad` holds, or nothing where there are none.
template <typename F>
static std::vector<uint8_t> lanesWhere(int64_t count, int64_t &first, F isBad) {
  std::vector<uint8_t> lanes;
  for (int64_t i = 0; i < count; ++i)
    if (isBad(i)) {
      if (lanes.empty()) {
        lanes.resize(count);
        first = i;
      }
      lanes[i] = 1;
    }
  return lanes;
}

/// "exp(1000)", "3 / 0"
static std::string callText(const std::string &name, const std::vector<const Value *> &operands,
                            int64_t lane) {
  std::vector<std::string> texts;
  for (const Value *operand : operands)
    texts.push_back(laneAsText(*operand, lane));
  bool isSymbol = !std::isalpha(static_cast<unsigned char>(name[0]));
  if (isSymbol)
    return fmt::format("{}", fmt::join(texts, " " + name + " "));
  return fmt::format("{}({})", name, fmt::join(texts, ", "));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static bool isIntegerDivision(BinaryOp op) {
  return op == BinaryOp::DivSigned || op == BinaryOp::DivUnsigned || op == BinaryOp::RemSigned ||
         op == BinaryOp::RemUnsigned;
}

void Marker::findZeroDivisor(BinaryOp op, const Value &lhs, const Value &rhs, Value &result) {
  if (!isIntegerDivision(op))
    return;
  bool hasZero = false;
  dispatchWord(elementSize(rhs.type.scalar.kind()), [&](auto word) {
    const auto *divisors = elementsOf<decltype(word)>(rhs);
    for (int64_t i = 0, count = countOf(rhs); i < count; ++i)
      hasZero |= divisors[i] == 0;
  });
  if (!hasZero)
    return;
  int64_t first = 0;
  std::vector<uint8_t> lanes =
      lanesWhere(countOf(rhs), first, [&](int64_t i) { return laneAsInteger(rhs, i) == 0; });
  bool isQuotient = op == BinaryOp::DivSigned || op == BinaryOp::DivUnsigned;
  spoil(result, lanes,
        newOrigin(Check::Division, callText(isQuotient ? "//" : "%", {&lhs, &rhs}, first)));
}

void Marker::findWholeShift(BinaryOp op, const Value &lhs, const Value &rhs, Value &result) {
  if (op != BinaryOp::ShiftLeft && op != BinaryOp::ShiftRightLogical &&
      op != BinaryOp::ShiftRightArithmetic)
    return;
  int64_t width = lhs.type.scalar.bitWidth(), first = 0;
  std::vector<uint8_t> lanes = lanesWhere(countOf(rhs), first, [&](int64_t i) {
    int64_t amount = laneAsInteger(rhs, i);
    return amount < 0 || amount >= width;
  });
  if (!lanes.empty())
    spoil(result, lanes,
          newOrigin(Check::Portable, fmt::format("{}, a shift by at least the {} bits of {}",
                                                 callText(op == BinaryOp::ShiftLeft ? "<<" : ">>",
                                                          {&lhs, &rhs}, first),
                                                 width, lhs.type.scalar.name())));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

void Marker::findNotFinite(const std::string &name, const std::vector<const Value *> &operands,
                           Value &result, bool isPole) {
  int64_t firstNan = 0, firstInfinity = 0;
  auto everyOperand = [&](int64_t i, auto isGood) {
    for (const Value *operand : operands)
      if (!isGood(laneAsFloat(*operand, i)))
        return false;
    return true;
  };
  auto isPoleLane = [&](int64_t i) {
    return isPole && (operands.size() == 1 || laneAsFloat(*operands.back(), i) == 0);
  };
  std::vector<uint8_t> poles, grown;
  poles = lanesWhere(countOf(result), firstNan, [&](int64_t i) {
    double value = laneAsFloat(result, i);
    if (std::isnan(value))
      return everyOperand(i, [](double x) { return !std::isnan(x); });
    return std::isinf(value) && isPoleLane(i) &&
           everyOperand(i, [](double x) { return std::isfinite(x); });
  });
  grown = lanesWhere(countOf(result), firstInfinity, [&](int64_t i) {
    return std::isinf(laneAsFloat(result, i)) && !isPoleLane(i) &&
           everyOperand(i, [](double x) { return std::isfinite(x); });
  });
  auto text = [&](int64_t i) {
    return fmt::format("{} is {} in {}", callText(name, operands, i), laneAsText(result, i),
                       result.type.scalar.name());
  };
  if (!poles.empty() && looksFor(Check::Nan))
    spoil(result, poles, newOrigin(Check::Nan, text(firstNan), true));
  if (!grown.empty() && looksFor(Check::Overflow))
    spoil(result, grown, newOrigin(Check::Overflow, text(firstInfinity), true));
}

void Marker::findOverflowOfDot(const Value &a, const Value &b, const Value &acc, Value &result) {
  auto areFinite = [](const Value &value) {
    for (int64_t i = 0, count = countOf(value); i < count; ++i)
      if (!std::isfinite(laneAsFloat(value, i)))
        return false;
    return true;
  };
  int64_t first = 0;
  std::vector<uint8_t> lanes = lanesWhere(
      countOf(result), first, [&](int64_t i) { return !std::isfinite(laneAsFloat(result, i)); });
  if (lanes.empty() || !looksFor(Check::Overflow) || !areFinite(a) || !areFinite(b) ||
      !areFinite(acc))
    return;
  spoil(result, lanes,
        newOrigin(Check::Overflow,
                  fmt::format("a sum of tl.dot is {} in {}", laneAsText(result, first),
                              result.type.scalar.name()),
                  true));
}

static const char *nameOf(UnaryOp op) {
  switch (op) {
  case UnaryOp::Exp:
    return "exp";
  case UnaryOp::Exp2:
    return "exp2";
  case UnaryOp::Log:
    return "log";
  case UnaryOp::Log2:
    return "log2";
  case UnaryOp::Sqrt:
  case UnaryOp::SqrtRounded:
    return "sqrt";
  case UnaryOp::Rsqrt:
    return "rsqrt";
  case UnaryOp::Sin:
    return "sin";
  case UnaryOp::Cos:
    return "cos";
  default:
    return "function";
  }
}

void Marker::afterUnary(UnaryOp op, const Value &operand, Value &result) {
  afterElementwise({&operand}, result);
  if (op == UnaryOp::AbsInt && hasChannel({&operand}, Marks::Wrapped))
    setChannel(result, Marks::Wrapped, channelOf(operand, Marks::Wrapped)),
        setChannel(result, exactChannel, channelOf(operand, exactChannel));
  bool canBeFirst = op != UnaryOp::NegFloat && op != UnaryOp::AbsFloat && op != UnaryOp::AbsInt;
  if (tracksFloats() && canBeFirst)
    findNotFinite(nameOf(op), {&operand}, result,
                  op == UnaryOp::Log || op == UnaryOp::Log2 || op == UnaryOp::Rsqrt);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

void Marker::afterCast(CastOp op, const Value &operand, Value &result) {
  afterElementwise({&operand}, result);
  bool fromFloat = operand.type.scalar.isFloating(), toFloat = result.type.scalar.isFloating();
  if (!fromFloat && !toFloat && tracksWraps())
    wrapCast(op, operand, result);
  if (fromFloat && (looksFor(Check::Overflow) || looksFor(Check::Portable)))
    findLossyCast(op, operand, result);
}

/// Numbers beyond the range of the type: infinite or, in the 8-bit formats, the largest
/// number as a float, the nearest one as an integer. Rounding alone moves no number by a
/// fifth.
void Marker::findLossyCast(CastOp op, const Value &operand, Value &result) {
  bool toInteger = op == CastOp::FloatToSigned || op == CastOp::FloatToUnsigned;
  if (toInteger ? result.type.scalar.isBool() : op != CastOp::FloatTruncate)
    return;
  Check check = toInteger ? Check::Portable : Check::Overflow;
  if (!looksFor(check))
    return;
  int64_t first = 0;
  std::vector<uint8_t> lanes = lanesWhere(countOf(result), first, [&](int64_t i) {
    double from = laneAsFloat(operand, i);
    if (toInteger) {
      int64_t integer = laneAsInteger(result, i);
      double to = result.type.scalar.isSigned()
                      ? static_cast<double>(integer)
                      : static_cast<double>(static_cast<uint64_t>(integer));
      return !(std::fabs(std::trunc(from) - to) <= std::fabs(from) * 0x1p-20);
    }
    double to = laneAsFloat(result, i);
    return std::isfinite(from) && (!std::isfinite(to) || std::fabs(from) > 1.2 * std::fabs(to)) &&
           std::fabs(from) >= 200;
  });
  if (!lanes.empty())
    spoil(result, lanes,
          newOrigin(check, fmt::format("{}, cast to {}, is {}", laneAsText(operand, first),
                                       result.type.scalar.name(), laneAsText(result, first))));
}

} // namespace tilewright::interpreter
