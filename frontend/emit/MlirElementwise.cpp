//===- MlirElementwise.cpp - Elementwise primitives as ops ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: arith and math where they have the operation, tw where they do not
// (fp8 and rounded casts, correctly rounded f32, high products, pointers).
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/MlirBuilder.h"

#include "frontend/emit/MlirTypes.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/Error.h"

namespace tilewright::emit {

namespace arith = mlir::arith;
namespace math = mlir::math;
using semantic::BinaryOp;
using semantic::CastOp;
using semantic::ComparePredicate;
using semantic::Rounding;
using semantic::ScalarKind;
using semantic::UnaryOp;

semantic::Value MlirBuilder::unary(UnaryOp op, const Value &operand) {
  const Type &type = operand.type;
  mlir::Value x = unwrap(operand);
  switch (op) {
  case UnaryOp::NegFloat:
    return emit<arith::NegFOp>(type, x);
  case UnaryOp::AbsFloat:
    return emit<math::AbsFOp>(type, x);
  case UnaryOp::AbsInt:
    return emit<math::AbsIOp>(type, x);
  case UnaryOp::Exp:
    return emit<math::ExpOp>(type, x);
  case UnaryOp::Exp2:
    return emit<math::Exp2Op>(type, x);
  case UnaryOp::Log:
    return emit<math::LogOp>(type, x);
  case UnaryOp::Log2:
    return emit<math::Log2Op>(type, x);
  case UnaryOp::Sin:
    return emit<math::SinOp>(type, x);
  case UnaryOp::Cos:
    return emit<math::CosOp>(type, x);
  case UnaryOp::Sqrt:
    return emit<math::SqrtOp>(type, x);
  case UnaryOp::SqrtRounded:
    return emit<ir::PreciseSqrtOp>(type, x);
  case UnaryOp::Rsqrt:
    return emit<math::RsqrtOp>(type, x);
  case UnaryOp::Erf:
    return emit<math::ErfOp>(type, x);
  case UnaryOp::Floor:
    return emit<math::FloorOp>(type, x);
  case UnaryOp::Ceil:
    return emit<math::CeilOp>(type, x);
  case UnaryOp::Trunc:
    return emit<math::TruncOp>(type, x);
  case UnaryOp::Round:
    return emit<math::RoundOp>(type, x);
  case UnaryOp::RoundEven:
    return emit<math::RoundEvenOp>(type, x);
  case UnaryOp::Tanh:
    return emit<math::TanhOp>(type, x);
  }
  llvm_unreachable("every unary operation returns above");
}

semantic::Value MlirBuilder::binary(BinaryOp op, const Value &lhs, const Value &rhs) {
  const Type &type = lhs.type;
  mlir::Value a = unwrap(lhs), b = unwrap(rhs);
  switch (op) {
  case BinaryOp::Add:
    return type.scalar.isFloating() ? emit<arith::AddFOp>(type, a, b)
                                    : emit<arith::AddIOp>(type, a, b);
  case BinaryOp::Sub:
    return type.scalar.isFloating() ? emit<arith::SubFOp>(type, a, b)
                                    : emit<arith::SubIOp>(type, a, b);
  case BinaryOp::Mul:
    return type.scalar.isFloating() ? emit<arith::MulFOp>(type, a, b)
                                    : emit<arith::MulIOp>(type, a, b);
  case BinaryOp::DivSigned:
    return emit<arith::DivSIOp>(type, a, b);
  case BinaryOp::DivUnsigned:
    return emit<arith::DivUIOp>(type, a, b);
  case BinaryOp::RemSigned:
    return emit<arith::RemSIOp>(type, a, b);
  case BinaryOp::RemUnsigned:
    return emit<arith::RemUIOp>(type, a, b);
  case BinaryOp::DivFloat:
    return emit<arith::DivFOp>(type, a, b);
  case BinaryOp::RemFloat:
    return emit<arith::RemFOp>(type, a, b);
  case BinaryOp::DivFloatRounded:
    return emit<ir::PreciseDivOp>(type, a, b);
  case BinaryOp::And:
    return emit<arith::AndIOp>(type, a, b);
  case BinaryOp::Or:
    return emit<arith::OrIOp>(type, a, b);
  case BinaryOp::Xor:
    return emit<arith::XOrIOp>(type, a, b);
  case BinaryOp::ShiftLeft:
    return emit<arith::ShLIOp>(type, a, b);
  case BinaryOp::ShiftRightLogical:
    return emit<arith::ShRUIOp>(type, a, b);
  case BinaryOp::ShiftRightArithmetic:
    return emit<arith::ShRSIOp>(type, a, b);
  case BinaryOp::MinSigned:
    return emit<arith::MinSIOp>(type, a, b);
  case BinaryOp::MaxSigned:
    return emit<arith::MaxSIOp>(type, a, b);
  case BinaryOp::MinUnsigned:
    return emit<arith::MinUIOp>(type, a, b);
  case BinaryOp::MaxUnsigned:
    return emit<arith::MaxUIOp>(type, a, b);
  case BinaryOp::MinNumber:
    return emit<arith::MinNumFOp>(type, a, b);
  case BinaryOp::MaxNumber:
    return emit<arith::MaxNumFOp>(type, a, b);
  case BinaryOp::MinPropagateNan:
    return emit<arith::MinimumFOp>(type, a, b);
  case BinaryOp::MaxPropagateNan:
    return emit<arith::MaximumFOp>(type, a, b);
  case BinaryOp::MulHighSigned:
    return emit<ir::MulHighOp>(type, a, b, builder.getUnitAttr());
  case BinaryOp::MulHighUnsigned:
    return emit<ir::MulHighOp>(type, a, b, mlir::UnitAttr());
  }
  llvm_unreachable("every binary operation returns above");
}

//===----------------------------------------------------------------------===//
// Comparison and selection
//===----------------------------------------------------------------------===//

static std::optional<arith::CmpIPredicate> integerPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::Equal:
    return arith::CmpIPredicate::eq;
  case ComparePredicate::NotEqual:
    return arith::CmpIPredicate::ne;
  case ComparePredicate::LessSigned:
    return arith::CmpIPredicate::slt;
  case ComparePredicate::LessEqualSigned:
    return arith::CmpIPredicate::sle;
  case ComparePredicate::GreaterSigned:
    return arith::CmpIPredicate::sgt;
  case ComparePredicate::GreaterEqualSigned:
    return arith::CmpIPredicate::sge;
  case ComparePredicate::LessUnsigned:
    return arith::CmpIPredicate::ult;
  case ComparePredicate::LessEqualUnsigned:
    return arith::CmpIPredicate::ule;
  case ComparePredicate::GreaterUnsigned:
    return arith::CmpIPredicate::ugt;
  case ComparePredicate::GreaterEqualUnsigned:
    return arith::CmpIPredicate::uge;
  default:
    return std::nullopt;
  }
}

static arith::CmpFPredicate floatPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::FloatNotEqual:
    return arith::CmpFPredicate::UNE; // NaN differs from everything
  case ComparePredicate::FloatLess:
    return arith::CmpFPredicate::OLT;
  case ComparePredicate::FloatLessEqual:
    return arith::CmpFPredicate::OLE;
  case ComparePredicate::FloatGreater:
    return arith::CmpFPredicate::OGT;
  case ComparePredicate::FloatGreaterEqual:
    return arith::CmpFPredicate::OGE;
  default:
    return arith::CmpFPredicate::OEQ;
  }
}

semantic::Value MlirBuilder::compare(ComparePredicate predicate, const Value &lhs,
                                     const Value &rhs) {
  Type result = lhs.type.withScalar(ScalarKind::Int1);
  mlir::Value a = unwrap(lhs), b = unwrap(rhs);
  if (std::optional<arith::CmpIPredicate> integer = integerPredicate(predicate)) {
    // arith compares integers only; an address is one.
    if (lhs.type.scalar.isPointer()) {
      Type address = lhs.type.withScalar(ScalarKind::Int64);
      a = unwrap(emit<ir::PtrToIntOp>(address, a));
      b = unwrap(emit<ir::PtrToIntOp>(address, b));
    }
    return wrap(result, make<arith::CmpIOp>(*integer, a, b));
  }
  return wrap(result, make<arith::CmpFOp>(floatPredicate(predicate), a, b));
}

semantic::Value MlirBuilder::select(const Value &condition, const Value &ifTrue,
                                    const Value &ifFalse) {
  return emit<arith::SelectOp>(ifTrue.type, unwrap(condition), unwrap(ifTrue), unwrap(ifFalse));
}

semantic::Value MlirBuilder::fma(const Value &x, const Value &y, const Value &z) {
  return emit<math::FmaOp>(x.type, unwrap(x), unwrap(y), unwrap(z));
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

semantic::Value MlirBuilder::cast(CastOp op, const Value &operand, const DType &to,
                                  Rounding rounding) {
  Type type = operand.type.withScalar(to);
  mlir::Value x = unwrap(operand);
  mlir::Type target = mlirType(type);
  switch (op) {
  case CastOp::SignExtend:
    return emit<arith::ExtSIOp>(type, x);
  case CastOp::ZeroExtend:
    return emit<arith::ExtUIOp>(type, x);
  case CastOp::Truncate:
    return emit<arith::TruncIOp>(type, x);
  case CastOp::FloatExtend:
  case CastOp::FloatTruncate: {
    bool isPlain = !operand.type.scalar.isFloat8() && !to.isFloat8() &&
                   (op == CastOp::FloatExtend || rounding == Rounding::NearestEven);
    if (isPlain)
      return op == CastOp::FloatExtend ? emit<arith::ExtFOp>(type, x)
                                       : wrap(type, make<arith::TruncFOp>(target, x));
    return emit<ir::FloatCastOp>(type, x,
                                 rounding == Rounding::TowardZero
                                     ? ir::FloatRounding::toward_zero
                                     : ir::FloatRounding::nearest_even);
  }
  case CastOp::SignedToFloat:
    return emit<arith::SIToFPOp>(type, x);
  case CastOp::UnsignedToFloat:
    return emit<arith::UIToFPOp>(type, x);
  case CastOp::FloatToSigned:
    return emit<arith::FPToSIOp>(type, x);
  case CastOp::FloatToUnsigned:
    return emit<arith::FPToUIOp>(type, x);
  case CastOp::PointerToInt:
    return emit<ir::PtrToIntOp>(type, x);
  case CastOp::IntToPointer:
    return emit<ir::IntToPtrOp>(type, x);
  case CastOp::PointerCast:
  case CastOp::Bitcast:
    // Signedness is not in the IR: int32 to uint32 changes the label only.
    return x.getType() == target ? wrap(type, x) : emit<ir::BitcastOp>(type, x);
  }
  llvm_unreachable("every cast returns above");
}

semantic::Value MlirBuilder::addPointer(const Value &pointer, const Value &offset) {
  return emit<ir::AddPtrOp>(pointer.type, unwrap(pointer), unwrap(offset),
                            offset.type.scalar.isSigned() ? mlir::UnitAttr()
                                                          : builder.getUnitAttr());
}

} // namespace tilewright::emit
