//===- SemanticMath.cpp - Elementwise functions ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

namespace tilewright::semantic {

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

Value Semantic::where(const Operand &condition, const Operand &ifTrue, const Operand &ifFalse) {
  Value test = cast(condition, boolType);
  Value left, right;
  bool leftIsPointer = scalarTypeOf(ifTrue).isPointer();
  if (leftIsPointer || scalarTypeOf(ifFalse).isPointer()) {
    if (scalarTypeOf(ifTrue) != scalarTypeOf(ifFalse))
      throwTypeMismatch("cast one pointer to the type of the other",
                        "tl.where cannot choose between {} and {}", operandName(ifTrue),
                        operandName(ifFalse));
    std::tie(left, right) = broadcast(std::get<Value>(ifTrue), std::get<Value>(ifFalse));
  } else {
    std::tie(left, right) = unify(ifTrue, ifFalse, /*isDivisionOrModulo=*/false);
  }
  std::tie(test, left) = broadcast(test, left);
  std::tie(left, right) = broadcast(left, right);
  return builder.select(test, left, right);
}

//===----------------------------------------------------------------------===//
// Extrema
//===----------------------------------------------------------------------===//

static BinaryOp extremumOf(bool isMaximum, const DType &type, NanMode mode) {
  if (type.isFloating()) {
    if (mode == NanMode::All)
      return isMaximum ? BinaryOp::MaxPropagateNan : BinaryOp::MinPropagateNan;
    return isMaximum ? BinaryOp::MaxNumber : BinaryOp::MinNumber;
  }
  if (type.isSigned())
    return isMaximum ? BinaryOp::MaxSigned : BinaryOp::MinSigned;
  return isMaximum ? BinaryOp::MaxUnsigned : BinaryOp::MinUnsigned;
}

Value Semantic::selectExtremum(bool isMaximum, const Operand &lhs, const Operand &rhs,
                               NanMode mode) {
  for (const Operand *operand : {&lhs, &rhs})
    if (scalarTypeOf(*operand).isPointer())
      throwTypeMismatch("cast it to int64", "tl.{} does not take the pointer {}",
                        isMaximum ? "maximum" : "minimum", operandName(*operand));
  // Literals are not weak here, and bf16 has no minimum of its own.
  auto prepare = [&](const Operand &operand) {
    Value value = toValue(operand);
    return value.type.scalar.kind() == ScalarKind::BFloat16 ? castTo(value, float32Type) : value;
  };
  auto [left, right] = unify(prepare(lhs), prepare(rhs), /*isDivisionOrModulo=*/false);
  const DType &type = left.type.scalar;
  BinaryOp op = extremumOf(isMaximum, type, mode);
  if (type.isFloat8())
    return binaryThroughFloat32(op, left, right);
  return builder.binary(op, left, right);
}

Value Semantic::minimum(const Operand &lhs, const Operand &rhs, NanMode mode) {
  return selectExtremum(/*isMaximum=*/false, lhs, rhs, mode);
}

Value Semantic::maximum(const Operand &lhs, const Operand &rhs, NanMode mode) {
  return selectExtremum(/*isMaximum=*/true, lhs, rhs, mode);
}

Value Semantic::clamp(const Operand &value, const Operand &low, const Operand &high, NanMode mode) {
  // The three meet in one type; literals are not weak, bf16 counts as f32.
  auto stand = [](const Operand &operand) {
    DType type = scalarTypeOf(operand);
    return typedStand(type.kind() == ScalarKind::BFloat16 ? float32Type : type);
  };
  DType bounds = promote(stand(low), stand(high), /*isDivisionOrModulo=*/false);
  DType common = promote(stand(value), typedStand(bounds), /*isDivisionOrModulo=*/false);
  if (!common.isFloating())
    throwUnsupportedType("use tl.minimum and tl.maximum for integers",
                         "tl.clamp needs floats, got {}", operandName(value));
  // Where low > high the upper bound wins.
  Value raised = maximum(cast(value, common), cast(low, common), mode);
  return minimum(raised, cast(high, common), mode);
}

//===----------------------------------------------------------------------===//
// Fused and rounded arithmetic
//===----------------------------------------------------------------------===//

Value Semantic::fma(const Operand &x, const Operand &y, const Operand &z) {
  auto [first, second] = unify(x, y, false);
  auto [third, firstAgain] = unify(z, first, false);
  auto [addend, factor] = unify(third, second, false);
  Value other = castTo(firstAgain, addend.type.scalar);
  std::tie(other, addend) = broadcast(other, addend);
  std::tie(factor, addend) = broadcast(factor, addend);
  const DType type = addend.type.scalar;
  if (!type.isFloating())
    throwUnsupportedType("write x * y + z for integers", "tl.fma needs floats, got {}",
                         addend.type.name());
  if (!type.isFloat8())
    return builder.fma(other, factor, addend);
  return castTo(builder.fma(castTo(other, float32Type), castTo(factor, float32Type),
                            castTo(addend, float32Type)),
                type);
}

Value Semantic::fdiv(const Operand &lhs, const Operand &rhs, bool ieeeRounding) {
  // No promotion: a literal takes the other's type, two values must agree.
  bool literalLeft = isLiteral(lhs) && !isLiteral(rhs);
  bool literalRight = isLiteral(rhs) && !isLiteral(lhs);
  DType leftType = scalarTypeOf(literalLeft ? rhs : lhs);
  DType rightType = scalarTypeOf(literalRight ? lhs : rhs);
  if (!leftType.isFloating() || !rightType.isFloating())
    throwUnsupportedType("cast both to a floating type", "tl.fdiv needs floats, got {} and {}",
                         operandName(lhs), operandName(rhs));
  if (leftType != rightType)
    throwTypeMismatch("cast both to one type", "tl.fdiv does not promote: got {} and {}",
                      operandName(lhs), operandName(rhs));
  auto [left, right] =
      broadcast(literalLeft ? scalarConstant(std::get<Literal>(lhs), leftType) : toValue(lhs),
                literalRight ? scalarConstant(std::get<Literal>(rhs), leftType) : toValue(rhs));
  // 16 and 8 bits divide in f32, which rounds back to the exact quotient.
  if (leftType.bitWidth() < 32)
    return binaryThroughFloat32(BinaryOp::DivFloatRounded, left, right);
  bool rounded = ieeeRounding && leftType == float32Type;
  return builder.binary(rounded ? BinaryOp::DivFloatRounded : BinaryOp::DivFloat, left, right);
}

/// In Triton's words, and with its names of types, which programs compare.
[[noreturn]] static void throwUnexpectedType(const std::string &name, const char *expected,
                                             const char *help, const DType &type) {
  throwUnsupportedType(help, "tl.{}: Expected dtype [{}] but got {}", name, expected,
                       type.isInteger() ? type.longName() : type.name());
}

static void requireFloat32(const Value &value, const char *name) {
  if (value.type.scalar != float32Type)
    throwUnexpectedType(name, "'fp32'", "cast it: x.to(tl.float32)", value.type.scalar);
}

Value Semantic::divRounded(const Operand &lhs, const Operand &rhs) {
  auto [left, right] = unify(lhs, rhs, /*isDivisionOrModulo=*/false);
  requireFloat32(left, "div_rn");
  return builder.binary(BinaryOp::DivFloatRounded, left, right);
}

Value Semantic::sqrtRounded(const Operand &operand) {
  Value value = toValue(operand);
  requireFloat32(value, "sqrt_rn");
  return builder.unary(UnaryOp::SqrtRounded, value);
}

Value Semantic::mulHigh(const Operand &lhs, const Operand &rhs) {
  auto [left, right] = unify(toValue(lhs), toValue(rhs), /*isDivisionOrModulo=*/false);
  const DType &type = left.type.scalar;
  if (!type.isInteger() || type.bitWidth() < 32)
    throwUnexpectedType("umulhi", "'int32', 'int64', 'uint32', 'uint64'",
                        "cast both to uint32 or uint64", type);
  return builder.binary(BinaryOp::MulHighUnsigned, left, right);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

Value Semantic::abs(const Operand &operand) {
  Value value = toValue(operand);
  const DType type = value.type.scalar;
  if (type.isPointer())
    throwUnsupportedType("cast it to int64", "tl.abs does not take the pointer {}",
                         value.type.name());
  if (type.isFloat8()) {
    // Clearing the sign bit is exact; NaN stays NaN.
    DType byte(ScalarKind::UInt8);
    Value bits = builder.cast(CastOp::Bitcast, value, byte, Rounding::NearestEven);
    Value mask = splatLike(builder.constantInt(byte, 0x7f), value);
    return builder.cast(CastOp::Bitcast, builder.binary(BinaryOp::And, bits, mask), type,
                        Rounding::NearestEven);
  }
  if (type.isFloating())
    return builder.unary(UnaryOp::AbsFloat, value);
  return type.isSigned() ? builder.unary(UnaryOp::AbsInt, value) : value;
}

Value Semantic::math(UnaryOp op, const Operand &operand, const std::string &name) {
  const Literal *literal = std::get_if<Literal>(&operand);
  // A literal integer stands for the number; a run-time integer is a mistake.
  Value value = literal && literal->kind != Literal::Kind::Float
                    ? scalarConstant(*literal, float32Type)
                    : toValue(operand);
  ScalarKind kind = value.type.scalar.kind();
  if (kind != ScalarKind::Float32 && kind != ScalarKind::Float64)
    throwUnexpectedType(name, "'fp32', 'fp64'", "cast it: x.to(tl.float32)", value.type.scalar);
  return builder.unary(op, value);
}

} // namespace tilewright::semantic
