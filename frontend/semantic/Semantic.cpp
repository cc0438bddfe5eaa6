//===- Semantic.cpp - Literals, promotion and operand pairs ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"
#include "ir/support/Knobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::semantic {

//===----------------------------------------------------------------------===//
// Operands in words
//===----------------------------------------------------------------------===//

void throwCannotBroadcast(const std::vector<int64_t> &first, const std::vector<int64_t> &second) {
  throw makeError(ErrorCode::E0110, fmt::arg("s1", shapeName(first)),
                  fmt::arg("s2", shapeName(second)));
}

std::string literalName(const Literal &literal) {
  switch (literal.kind) {
  case Literal::Kind::Bool:
    return literal.intValue ? "True" : "False";
  case Literal::Kind::Int:
    return literal.isUnsigned64 ? std::to_string(static_cast<uint64_t>(literal.intValue))
                                : std::to_string(literal.intValue);
  case Literal::Kind::Float:
    return fmt::format("{}", literal.floatValue);
  }
  return "";
}

bool isLiteral(const Operand &operand) { return std::holds_alternative<Literal>(operand); }

DType scalarTypeOf(const Operand &operand) {
  if (const Literal *literal = std::get_if<Literal>(&operand))
    return Semantic::literalType(*literal);
  return std::get<Value>(operand).type.scalar;
}

std::string operandName(const Operand &operand) {
  if (const Literal *literal = std::get_if<Literal>(&operand))
    return "the literal " + literalName(*literal);
  return std::get<Value>(operand).type.name();
}

int normalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throwCompared(ErrorCode::E0117, fmt::format("use an axis from {} to {}", -rank, rank - 1),
                  "invalid axis {}: it is out of range for a tile of rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

//===----------------------------------------------------------------------===//
// Shapes and literals
//===----------------------------------------------------------------------===//

/// The knob can only lower the limit: index arithmetic relies on 2^20. Read once,
/// because every operation of the interpreter asks.
static int64_t tileElementLimit() {
  static const int64_t limit =
      std::min(Semantic::maxTileElements, std::max<int64_t>(knobInt(Knob::MAX_TENSOR_NUMEL), 1));
  return limit;
}

Error notPowerOfTwo(size_t dimension, int64_t extent) {
  int64_t next = 1;
  // Above 2^62 no power of two is left to offer.
  while (next < extent && next < (int64_t(1) << 62))
    next *= 2;
  return makeError(ErrorCode::E0106, fmt::arg("i", dimension), fmt::arg("n", extent),
                   fmt::arg("p", next))
      .setSentence(fmt::format("Shape element {} must be a power of 2", dimension));
}

void Semantic::checkShape(const std::vector<int64_t> &shape) {
  const int64_t limit = tileElementLimit();
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t extent = shape[i];
    if (extent <= 0 || (extent & (extent - 1)) != 0)
      throw notPowerOfTwo(i, extent);
    // Both factors are at most 2^20 here, or the loop has already thrown.
    if (extent > limit || count * extent > limit) {
      double total = 1;
      for (int64_t e : shape)
        total *= static_cast<double>(e);
      throw makeError(ErrorCode::E0107, fmt::arg("n", fmt::format("{:.0f}", total)),
                      fmt::arg("m", limit));
    }
    count *= extent;
  }
}

DType Semantic::literalType(const Literal &literal) {
  switch (literal.kind) {
  case Literal::Kind::Bool:
    return ScalarKind::Int1;
  case Literal::Kind::Int: {
    if (literal.isUnsigned64 && literal.intValue < 0)
      return ScalarKind::UInt64;
    int64_t value = literal.intValue;
    if (value >= std::numeric_limits<int32_t>::min() &&
        value <= std::numeric_limits<int32_t>::max())
      return ScalarKind::Int32;
    if (value >= 0 && value <= std::numeric_limits<uint32_t>::max())
      return ScalarKind::UInt32;
    return ScalarKind::Int64;
  }
  case Literal::Kind::Float: {
    double magnitude = std::fabs(literal.floatValue);
    // Subnormals of f32 count as out of range, and so become f64.
    bool fitsFloat32 = std::isnan(magnitude) || std::isinf(magnitude) || magnitude == 0 ||
                       (magnitude >= std::numeric_limits<float>::min() &&
                        magnitude <= std::numeric_limits<float>::max());
    return fitsFloat32 ? ScalarKind::Float32 : ScalarKind::Float64;
  }
  }
  return ScalarKind::Void;
}

Value Semantic::toValue(const Operand &operand) {
  if (const Value *value = std::get_if<Value>(&operand))
    return *value;
  const Literal &literal = std::get<Literal>(operand);
  return scalarConstant(literal, literalType(literal));
}

/// Whether `literal` (an integer or boolean) is a value of integer type `type`.
static bool integerFits(const Literal &literal, const DType &type) {
  int bits = type.bitWidth();
  if (literal.isUnsigned64 && literal.intValue < 0) // 2^63 or more
    return type.isUnsigned() && bits == 64;
  int64_t value = literal.intValue;
  if (type.isSigned())
    return bits == 64 ||
           (value >= -(int64_t(1) << (bits - 1)) && value < (int64_t(1) << (bits - 1)));
  return value >= 0 && (bits == 64 || value < (int64_t(1) << bits));
}

Value Semantic::floatConstant(const DType &type, double value) {
  if (type.isSoftwareFloat8())
    return encodeFloat8(builder.constantFloat(float32Type, value), type, Rounding::NearestEven);
  return builder.constantFloat(type, value);
}

Value Semantic::scalarConstant(const Literal &literal, const DType &type) {
  if (type.isFloating()) {
    double value = literal.floatValue;
    if (literal.kind != Literal::Kind::Float)
      value = literal.isUnsigned64 ? static_cast<double>(static_cast<uint64_t>(literal.intValue))
                                   : static_cast<double>(literal.intValue);
    return floatConstant(type, value);
  }
  Literal integer = literal;
  if (literal.kind == Literal::Kind::Float) {
    // A float stands for an integer only where it is one: full(shape, 0.0, int32).
    double value = literal.floatValue;
    if (!(value == std::floor(value) && std::fabs(value) < 9.0e18))
      throw makeError(ErrorCode::E0119, fmt::arg("v", literalName(literal)),
                      fmt::arg("t", type.name()));
    integer = Literal::integer(static_cast<int64_t>(value));
  }
  if (type.isPointer()) {
    Value bits = builder.constantInt(int64Type, static_cast<uint64_t>(integer.intValue));
    return integer.intValue == 0
               ? builder.constantNull(type)
               : builder.cast(CastOp::IntToPointer, bits, type, Rounding::NearestEven);
  }
  if (!type.isInteger())
    throwUnsupportedType("name an integer or floating type", "cannot make a constant of type {}",
                         type.name());
  if (!integerFits(integer, type))
    throw makeError(ErrorCode::E0119, fmt::arg("v", literalName(literal)),
                    fmt::arg("t", type.name()));
  return builder.constantInt(type, static_cast<uint64_t>(integer.intValue));
}

//===----------------------------------------------------------------------===//
// Promotion
//===----------------------------------------------------------------------===//

/// bool < integer < float.
static int kindRank(const DType &type) {
  if (type.isBool())
    return 0;
  return type.isInteger() ? 1 : 2;
}

static std::optional<DType> promoteFloats(const DType &lhs, const DType &rhs,
                                          bool isDivisionOrModulo) {
  auto either = [&](ScalarKind kind) { return lhs.kind() == kind || rhs.kind() == kind; };
  if (!lhs.isFloating() && !rhs.isFloating())
    return std::nullopt;
  if (either(ScalarKind::Float64))
    return DType(ScalarKind::Float64);
  if (isDivisionOrModulo || either(ScalarKind::Float32))
    return float32Type;
  if (either(ScalarKind::Float16))
    return DType(ScalarKind::Float16);
  if (either(ScalarKind::BFloat16))
    return lhs == rhs ? lhs : float32Type;
  // Only fp8 is left: one kind stays, two meet in f16, integers do not mix.
  if (!lhs.isFloating() || !rhs.isFloating())
    throwTypeMismatch("cast the fp8 operand to fp16 or fp32 first", "cannot combine {} with {}",
                      lhs.name(), rhs.name());
  return lhs == rhs ? lhs : DType(ScalarKind::Float16);
}

static DType promoteIntegers(const DType &lhs, const DType &rhs) {
  if (lhs.isSigned() == rhs.isSigned())
    return lhs.bitWidth() > rhs.bitWidth() ? lhs : rhs;
  const DType &unsignedType = lhs.isSigned() ? rhs : lhs;
  const DType &signedType = lhs.isSigned() ? lhs : rhs;
  return unsignedType.bitWidth() >= signedType.bitWidth() ? unsignedType : signedType;
}

DType Semantic::promote(const Operand &lhs, const Operand &rhs, bool isDivisionOrModulo) {
  DType lhsType = scalarTypeOf(lhs), rhsType = scalarTypeOf(rhs);
  if (!(lhsType.isInteger() || lhsType.isFloating()) ||
      !(rhsType.isInteger() || rhsType.isFloating()))
    throwTypeMismatch("use numbers on both sides", "cannot combine {} with {}", operandName(lhs),
                      operandName(rhs));
  if (isLiteral(lhs) != isLiteral(rhs)) {
    const DType &literal = isLiteral(lhs) ? lhsType : rhsType;
    DType &other = isLiteral(lhs) ? rhsType : lhsType;
    // A weak literal is as if the other operand met itself.
    if (kindRank(literal) <= kindRank(other))
      (isLiteral(lhs) ? lhsType : rhsType) = DType(other);
  }
  if (std::optional<DType> floating = promoteFloats(lhsType, rhsType, isDivisionOrModulo))
    return *floating;
  if (isDivisionOrModulo && lhsType.isSigned() != rhsType.isSigned())
    throwTypeMismatch("cast both to one signedness",
                      "Cannot use {} and {} in a division because they have different signedness",
                      lhsType.name(), rhsType.name());
  return promoteIntegers(lhsType, rhsType);
}

std::pair<Value, Value> Semantic::unify(const Operand &lhs, const Operand &rhs,
                                        bool isDivisionOrModulo) {
  DType type = promote(lhs, rhs, isDivisionOrModulo);
  auto convert = [&](const Operand &operand) {
    if (const Literal *literal = std::get_if<Literal>(&operand))
      return scalarConstant(*literal, type);
    return castTo(std::get<Value>(operand), type);
  };
  Value left = convert(lhs);
  Value right = convert(rhs);
  return broadcast(left, right);
}

} // namespace tilewright::semantic
