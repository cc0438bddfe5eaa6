//===- SemanticCast.cpp - Conversions between types -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: each conversion is split here into steps that both evaluators do alike.
// Conversions between f16 or bf16 and any type but f32 and fp8 go through f32,
// so that the number of roundings is the same on the CPU and on every GPU.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <cmath>

namespace tilewright::semantic {

[[noreturn]] static void throwCannotCast(const Type &from, const DType &to) {
  const char *help = from.scalar.isPointer() || to.isPointer()
                         ? "pointers convert to 64-bit integers, to int1 and to other pointers"
                         : "name an integer, floating or pointer type";
  throwTypeMismatch(help, "cannot cast {} to {}", from.name(), to.name());
}

static Value castInteger(TileBuilder &builder, const Value &value, const DType &type) {
  const DType &from = value.type.scalar;
  CastOp op = CastOp::Bitcast; // equal widths: only the reading of the bits changes
  if (from.bitWidth() > type.bitWidth())
    op = CastOp::Truncate;
  else if (from.bitWidth() < type.bitWidth())
    op = from.isSigned() ? CastOp::SignExtend : CastOp::ZeroExtend;
  return builder.cast(op, value, type, Rounding::NearestEven);
}

/// Floats of different types. Steps go through f32 where the pair has no
/// conversion of its own.
Value Semantic::castFloat(const Value &value, const DType &type, Rounding rounding) {
  const DType &from = value.type.scalar;
  if (from.isSoftwareFloat8())
    return castTo(decodeFloat8(value), type, rounding);
  if (type.isSoftwareFloat8())
    return encodeFloat8(castTo(value, float32Type, rounding), type, rounding);
  bool sameWidth = from.bitWidth() == type.bitWidth();
  bool doubleToByte = (from.kind() == ScalarKind::Float64 && type.isFloat8()) ||
                      (from.isFloat8() && type.kind() == ScalarKind::Float64);
  if ((sameWidth || doubleToByte) && from != float32Type && type != float32Type)
    return castFloat(castFloat(value, float32Type, rounding), type, rounding);
  if (from.bitWidth() > type.bitWidth())
    return builder.cast(CastOp::FloatTruncate, value, type, rounding);
  return builder.cast(CastOp::FloatExtend, value, type, Rounding::NearestEven);
}

/// Whether the conversion from or to an integer goes through f32. f16 from an
/// integer is one rounding everywhere.
static bool integerNeedsFloat32(const DType &type, bool isSource) {
  return type.isFloat8() || type.kind() == ScalarKind::BFloat16 ||
         (isSource && type.kind() == ScalarKind::Float16);
}

Value Semantic::castTo(const Value &value, const DType &type, Rounding rounding) {
  const DType &from = value.type.scalar;
  if (from == type)
    return value;
  if (type.isBool()) {
    if (from.isPointer())
      return castTo(castTo(value, int64Type), type);
    if (from.isFloat8())
      return castTo(castTo(value, float32Type), type);
    if (!from.isInteger() && !from.isFloating())
      throwCannotCast(value.type, type);
    Value zero = splatLike(scalarConstant(Literal::integer(0), from), value);
    // NaN differs from zero, so it becomes true, as in C.
    return builder.compare(from.isFloating() ? ComparePredicate::FloatNotEqual
                                             : ComparePredicate::NotEqual,
                           value, zero);
  }
  if (from.isInteger() && type.isInteger())
    return castInteger(builder, value, type);
  if (from.isFloating() && type.isFloating())
    return castFloat(value, type, rounding);
  if (from.isFloating() && type.isInteger()) {
    if (integerNeedsFloat32(from, /*isSource=*/true))
      return castTo(castTo(value, float32Type), type);
    return builder.cast(type.isSigned() ? CastOp::FloatToSigned : CastOp::FloatToUnsigned, value,
                        type, Rounding::TowardZero);
  }
  if (from.isInteger() && type.isFloating()) {
    if (integerNeedsFloat32(type, /*isSource=*/false))
      return castTo(castTo(value, float32Type), type, rounding);
    return builder.cast(from.isSigned() ? CastOp::SignedToFloat : CastOp::UnsignedToFloat, value,
                        type, Rounding::NearestEven);
  }
  if (from.isPointer() && type.isInteger() && type.bitWidth() == 64)
    return builder.cast(CastOp::PointerToInt, value, type, Rounding::NearestEven);
  if (from.isInteger() && type.isPointer()) {
    Value bits = from.bitWidth() == 64 ? value : castTo(value, int64Type);
    return builder.cast(CastOp::IntToPointer, bits, type, Rounding::NearestEven);
  }
  if (from.isPointer() && type.isPointer())
    return builder.cast(CastOp::PointerCast, value, type, Rounding::NearestEven);
  throwCannotCast(value.type, type);
}

/// The value that an integer has after it is cut to the width of `type`.
static uint64_t wrapToType(int64_t value, const DType &type) {
  int unusedBits = 64 - type.bitWidth();
  uint64_t shifted = static_cast<uint64_t>(value) << unusedBits;
  return type.isSigned() ? static_cast<uint64_t>(static_cast<int64_t>(shifted) >> unusedBits)
                         : shifted >> unusedBits;
}

/// A literal as a constant of `type`; nothing where a conversion at run time
/// defines the value. A float literal is rounded once, from the number as it was
/// written: 0.1 in an f64 tile is the double 0.1. (Triton rounds it to f32 on the
/// way, except in tl.full.)
static std::optional<Value> foldCast(Semantic &semantic, const Literal &literal,
                                     const DType &type) {
  TileBuilder &builder = semantic.tileBuilder();
  bool isFloat = literal.kind == Literal::Kind::Float;
  double number = literal.floatValue;
  if (!isFloat)
    number = literal.isUnsigned64 ? static_cast<double>(static_cast<uint64_t>(literal.intValue))
                                  : static_cast<double>(literal.intValue);
  if (type.isBool())
    return builder.constantInt(type, isFloat ? number != 0 : literal.intValue != 0);
  if (type.isFloating()) {
    // Large integers may be rounded twice on their way to a small float.
    if (isFloat || std::fabs(number) <= 256)
      return semantic.floatConstant(type, number);
    return std::nullopt;
  }
  if (type.isInteger() && !isFloat) {
    return builder.constantInt(type, wrapToType(literal.intValue, type));
  }
  if (type.isPointer() && !isFloat && literal.intValue == 0)
    return builder.constantNull(type);
  return std::nullopt;
}

Value Semantic::cast(const Operand &operand, const DType &type, std::optional<Rounding> rounding,
                     bool bitcast) {
  if (const Literal *literal = std::get_if<Literal>(&operand)) {
    bool plain = !rounding && !bitcast;
    if (plain)
      if (std::optional<Value> folded = foldCast(*this, *literal, type))
        return *folded;
  }
  Value value = toValue(operand);
  const DType &from = value.type.scalar;
  if (from == type)
    return value;
  if (bitcast && !from.isPointer() && !type.isPointer()) {
    if (from.bitWidth() != type.bitWidth() || type.bitWidth() == 0)
      throwTypeMismatch("reinterpreting keeps the width; use a type of the same size",
                        "cannot reinterpret {} ({} bits) as {} ({} bits)", from.name(),
                        from.bitWidth(), type.name(), type.bitWidth());
    return builder.cast(CastOp::Bitcast, value, type, Rounding::NearestEven);
  }
  bool narrows = from.isFloating() && type.isFloating() && type.bitWidth() < from.bitWidth();
  if (rounding && !narrows)
    throwInvalidArgument("leave fp_downcast_rounding out",
                         "fp_downcast_rounding applies to narrowing float casts, not to {} to {}",
                         from.name(), type.name());
  return castTo(value, type, rounding.value_or(Rounding::NearestEven));
}

} // namespace tilewright::semantic
