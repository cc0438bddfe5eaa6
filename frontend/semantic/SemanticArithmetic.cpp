//===- SemanticArithmetic.cpp - Operators of the language -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: promotion and broadcasting first (unify), then one primitive whose
// signedness is read from the common type.
//
// Not handled: arithmetic in fp8 has no primitive. It is done in f32 and
// rounded back, so that `+` keeps its type and both evaluators agree.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

namespace tilewright::semantic {

static const char *symbolOf(Arithmetic op) {
  static const char *const symbols[] = {"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"};
  return symbols[static_cast<int>(op)];
}

static bool isDivisionOrModulo(Arithmetic op) {
  return op == Arithmetic::TrueDiv || op == Arithmetic::FloorDiv || op == Arithmetic::Mod;
}

static bool isBitwise(Arithmetic op) { return op >= Arithmetic::And; }

//===----------------------------------------------------------------------===//
// Binary operators
//===----------------------------------------------------------------------===//

Value Semantic::binaryThroughFloat32(BinaryOp op, const Value &lhs, const Value &rhs) {
  Value result = builder.binary(op, castTo(lhs, float32Type), castTo(rhs, float32Type));
  return castTo(result, lhs.type.scalar);
}

/// The primitive of + - * // % on integers, and of + - * / % on floats.
static BinaryOp primitiveOf(Arithmetic op, const DType &type) {
  bool isFloat = type.isFloating(), isSigned = type.isSigned();
  switch (op) {
  case Arithmetic::Add:
    return BinaryOp::Add;
  case Arithmetic::Sub:
    return BinaryOp::Sub;
  case Arithmetic::Mul:
    return BinaryOp::Mul;
  case Arithmetic::Mod:
    return isFloat ? BinaryOp::RemFloat : isSigned ? BinaryOp::RemSigned : BinaryOp::RemUnsigned;
  case Arithmetic::FloorDiv:
    return isSigned ? BinaryOp::DivSigned : BinaryOp::DivUnsigned;
  default:
    return BinaryOp::DivFloat;
  }
}

/// In 64 bits no sum or difference of narrower numbers overflows, and a product of two
/// uint32 that does is negative, which is out of range too.
void Semantic::checkOverflow(Arithmetic op, const Value &lhs, const Value &rhs) {
  const DType &type = lhs.type.scalar;
  bool isChecked = op == Arithmetic::Add || op == Arithmetic::Sub || op == Arithmetic::Mul;
  int bits = type.bitWidth();
  if (!isChecked || !type.isInteger() || bits >= 64)
    return;
  Value wide =
      builder.binary(primitiveOf(op, type), castTo(lhs, int64Type), castTo(rhs, int64Type));
  int64_t largest = (int64_t(1) << (type.isSigned() ? bits - 1 : bits)) - 1;
  int64_t smallest = type.isSigned() ? -largest - 1 : 0;
  Value fits = logicalAnd(compare(Comparison::LessEqual, wide, Literal::integer(largest)),
                          compare(Comparison::GreaterEqual, wide, Literal::integer(smallest)));
  const char *name = op == Arithmetic::Add ? "add" : op == Arithmetic::Sub ? "sub" : "mul";
  deviceAssert(fits, fmt::format("int{} overflow detected for operation {}", bits, name),
               std::nullopt);
}

Value Semantic::arithmetic(Arithmetic op, const Operand &lhs, const Operand &rhs, bool mayCheck) {
  if (scalarTypeOf(lhs).isPointer() || scalarTypeOf(rhs).isPointer())
    return pointerArithmetic(op, lhs, rhs);
  if (isBitwise(op))
    return bitwise(op, lhs, rhs);
  if (op == Arithmetic::FloorDiv &&
      (scalarTypeOf(lhs).isFloating() || scalarTypeOf(rhs).isFloating()))
    throwTypeMismatch("use '/' and tl.floor for floats",
                      "unexpected type: '//' needs integers, got {} and {}", operandName(lhs),
                      operandName(rhs));
  auto [left, right] = unify(lhs, rhs, isDivisionOrModulo(op));
  const DType &type = left.type.scalar;
  if (op == Arithmetic::TrueDiv && type.isInteger())
    return builder.binary(BinaryOp::DivFloat, castTo(left, float32Type),
                          castTo(right, float32Type));
  if (type.isFloat8())
    return binaryThroughFloat32(primitiveOf(op, type), left, right);
  if (checksOverflow && mayCheck)
    checkOverflow(op, left, right);
  return builder.binary(primitiveOf(op, type), left, right);
}

Value Semantic::pointerArithmetic(Arithmetic op, const Operand &lhs, const Operand &rhs) {
  bool leftIsPointer = scalarTypeOf(lhs).isPointer();
  bool bothPointers = leftIsPointer && scalarTypeOf(rhs).isPointer();
  const DType offsetType = scalarTypeOf(leftIsPointer ? rhs : lhs);
  bool isSum = op == Arithmetic::Add;
  bool isDifference = op == Arithmetic::Sub && leftIsPointer;
  if (bothPointers || !(isSum || isDifference) || !offsetType.isInteger())
    throwTypeMismatch("a pointer takes '+' and '-' with an integer; cast it to int64 for others",
                      "cannot apply '{}' to {} and {}", symbolOf(op), operandName(lhs),
                      operandName(rhs));
  Value pointer = std::get<Value>(leftIsPointer ? lhs : rhs);
  Value offset = toValue(leftIsPointer ? rhs : lhs);
  if (isDifference) {
    // An unsigned offset would wrap at its own width when negated.
    if (offset.type.scalar.isUnsigned())
      offset = castTo(offset, int64Type);
    offset = negate(offset);
  }
  auto [base, distance] = broadcast(pointer, offset);
  return builder.addPointer(base, distance);
}

bool Semantic::isWholeShift(Arithmetic op, const Operand &lhs, const Operand &rhs) {
  const Literal *amount = std::get_if<Literal>(&rhs);
  if ((op != Arithmetic::LeftShift && op != Arithmetic::RightShift) || !amount || isLiteral(lhs) ||
      !scalarTypeOf(lhs).isInteger() || !scalarTypeOf(rhs).isInteger())
    return false;
  return amount->intValue < 0 ||
         amount->intValue >= promote(lhs, rhs, /*isDivisionOrModulo=*/false).bitWidth();
}

/// What is left is zero, or the sign in every bit.
Value Semantic::wholeShift(const Value &value, const DType &type, bool keepsSign) {
  Value operand = castTo(value, type);
  int64_t most = type.bitWidth() - 1;
  return keepsSign ? bitwise(Arithmetic::RightShift, operand, Literal::integer(most))
                   : splatLike(builder.constantInt(type, 0), operand);
}

Value Semantic::bitwise(Arithmetic op, const Operand &lhs, const Operand &rhs) {
  DType leftType = scalarTypeOf(lhs);
  if (!leftType.isInteger() || !scalarTypeOf(rhs).isInteger())
    throwTypeMismatch("cast floats, or reinterpret them with .to(type, bitcast=True)",
                      "invalid operands of type {} and {}: '{}' needs integers", operandName(lhs),
                      operandName(rhs), symbolOf(op));
  if (isWholeShift(op, lhs, rhs))
    return wholeShift(std::get<Value>(lhs), promote(lhs, rhs, /*isDivisionOrModulo=*/false),
                      op == Arithmetic::RightShift && leftType.isSigned());
  auto [left, right] = unify(lhs, rhs, /*isDivisionOrModulo=*/false);
  const DType &type = left.type.scalar;
  // The left operand decides how '>>' fills, before promotion; a literal is
  // weak and so has the common type.
  bool fillsWithSign = isLiteral(lhs) ? type.isSigned() : leftType.isSigned();
  switch (op) {
  case Arithmetic::And:
    return builder.binary(BinaryOp::And, left, right);
  case Arithmetic::Or:
    return builder.binary(BinaryOp::Or, left, right);
  case Arithmetic::Xor:
    return builder.binary(BinaryOp::Xor, left, right);
  case Arithmetic::LeftShift:
    return builder.binary(BinaryOp::ShiftLeft, left, right);
  default:
    return builder.binary(
        fillsWithSign ? BinaryOp::ShiftRightArithmetic : BinaryOp::ShiftRightLogical, left, right);
  }
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

static ComparePredicate predicateOf(Comparison op, const DType &type) {
  using P = ComparePredicate;
  static const P floats[] = {P::FloatEqual,     P::FloatNotEqual, P::FloatLess,
                             P::FloatLessEqual, P::FloatGreater,  P::FloatGreaterEqual};
  static const P signeds[] = {P::Equal,           P::NotEqual,      P::LessSigned,
                              P::LessEqualSigned, P::GreaterSigned, P::GreaterEqualSigned};
  static const P unsigneds[] = {P::Equal,           P::NotEqual,
                                P::LessUnsigned,    P::LessEqualUnsigned,
                                P::GreaterUnsigned, P::GreaterEqualUnsigned};
  int index = static_cast<int>(op);
  return type.isFloating() ? floats[index] : type.isSigned() ? signeds[index] : unsigneds[index];
}

Value Semantic::compare(Comparison op, const Operand &lhs, const Operand &rhs) {
  if (scalarTypeOf(lhs).isPointer() || scalarTypeOf(rhs).isPointer())
    throwTypeMismatch("cast pointers to int64 to compare addresses; test for None with 'is'",
                      "cannot compare {} with {}", operandName(lhs), operandName(rhs));
  // A literal takes part with the type it has alone: unlike in arithmetic it is
  // not weak. Casting the literal itself then folds into one constant.
  DType type = promote(typedStand(scalarTypeOf(lhs)), typedStand(scalarTypeOf(rhs)),
                       /*isDivisionOrModulo=*/false);
  Value left = cast(lhs, type);
  Value right = cast(rhs, type);
  if (type.isFloat8()) {
    left = castTo(left, float32Type);
    right = castTo(right, float32Type);
  }
  auto [first, second] = broadcast(left, right);
  return builder.compare(predicateOf(op, first.type.scalar), first, second);
}

//===----------------------------------------------------------------------===//
// Unary and logical operators
//===----------------------------------------------------------------------===//

Value Semantic::negate(const Value &operand) {
  const DType &type = operand.type.scalar;
  if (type.isPointer())
    throwTypeMismatch("subtract an offset from the pointer instead", "cannot negate {}",
                      operand.type.name());
  if (type.isFloat8())
    return castTo(builder.unary(UnaryOp::NegFloat, castTo(operand, float32Type)), type);
  if (type.isFloating())
    return builder.unary(UnaryOp::NegFloat, operand);
  Value zero = splatLike(builder.constantInt(type, 0), operand);
  return builder.binary(BinaryOp::Sub, zero, operand);
}

Value Semantic::invert(const Value &operand) {
  const DType &type = operand.type.scalar;
  if (!type.isInteger())
    throwTypeMismatch("cast it to an integer first",
                      "wrong type argument to unary invert: '~' needs an integer, got {}",
                      operand.type.name());
  // All ones, in the form constantInt takes: the value -1, or the largest one.
  uint64_t ones = ~uint64_t(0);
  if (type.isUnsigned() && type.bitWidth() < 64)
    ones >>= 64 - type.bitWidth();
  return builder.binary(BinaryOp::Xor, operand,
                        splatLike(builder.constantInt(type, ones), operand));
}

Value Semantic::logicalOperand(const Operand &operand, const char *name) {
  if (const Literal *literal = std::get_if<Literal>(&operand))
    return cast(*literal, boolType);
  const Value &value = std::get<Value>(operand);
  if (!value.type.scalar.isBool())
    throwTypeMismatch("compare it with 0", "'{}' needs int1, got {}", name, value.type.name());
  return value;
}

Value Semantic::logicalNot(const Value &operand) { return invert(logicalOperand(operand, "not")); }

Value Semantic::logicalAnd(const Operand &lhs, const Operand &rhs) {
  auto [left, right] = broadcast(logicalOperand(lhs, "and"), logicalOperand(rhs, "and"));
  return builder.binary(BinaryOp::And, left, right);
}

Value Semantic::logicalOr(const Operand &lhs, const Operand &rhs) {
  auto [left, right] = broadcast(logicalOperand(lhs, "or"), logicalOperand(rhs, "or"));
  return builder.binary(BinaryOp::Or, left, right);
}

} // namespace tilewright::semantic
