//===- LowerCast.cpp - Conversions between element types ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: integer, float, fp8, pointer and bit casts.
//
// How: LLVM does the casts that it has. 8-bit floats have two forms: pairs by
// the hardware's cvt if the target has it, else a bit sequence of the device
// library with the same results: round to nearest even, finite overflow and
// infinity become the largest finite value, NaN stays NaN.
//
// Float to integer truncates as cvt.rzi does: out of range saturates.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// 8-bit floats
//===----------------------------------------------------------------------===//

/// As the names of PTX and of the device library spell it.
static const char *fp8Name(Type type) { return llvm::isa<Float8E5M2Type>(type) ? "e5m2" : "e4m3"; }

static Value extendByte(FunctionLowering &lowering, Value byte, unsigned width) {
  return lowering.builder.create<LLVM::ZExtOp>(lowering.loc, lowering.builder.getIntegerType(width),
                                               byte);
}

/// Two fp8 bytes to a word of two f16 values; without `high` the upper one is unused.
///
/// The bytes are given in a register of 32 bits. From a pair of 16 bits that is the upper half
/// of a register the assembler makes UNPACK_B R.H1, and where it then finds that the register
/// is zero it converts the constant 1 (AssemblerFaults.cpp). E5M2 is the upper byte of f16.
static Value widenToWord(FunctionLowering &lowering, Type from, Value low, Value high) {
  OpBuilder &builder = lowering.builder;
  Value pair = extendByte(lowering, low, 32);
  if (high) {
    Value shifted = builder.create<LLVM::ShlOp>(lowering.loc, extendByte(lowering, high, 32),
                                                lowering.constantI32(8));
    pair = builder.create<LLVM::OrOp>(lowering.loc, pair, shifted);
  }
  const char *assembly = llvm::isa<Float8E5M2Type>(from)
                             ? "prmt.b32 $0, $1, 0, 0x1404;"
                             : "{ .reg .b16 pair, rest; mov.b32 {pair, rest}, $1; "
                               "cvt.rn.f16x2.e4m3x2 $0, pair; }";
  return lowering.inlineAsm(builder.getI32Type(), {pair}, assembly, "=r,r",
                            /*hasSideEffects=*/false);
}

/// Two fp8 bytes to two f16 values.
static std::pair<Value, Value> widenPair(FunctionLowering &lowering, Type from, Value low,
                                         Value high) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Value both = widenToWord(lowering, from, low, high);
  Value vector =
      builder.create<LLVM::BitcastOp>(loc, VectorType::get({2}, builder.getF16Type()), both);
  return {builder.create<LLVM::ExtractElementOp>(loc, vector, lowering.constantI32(0)),
          builder.create<LLVM::ExtractElementOp>(loc, vector, lowering.constantI32(1))};
}

static Value fp8ToHalf(FunctionLowering &lowering, Value byte, Type from) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  if (llvm::isa<Float8E5M2Type>(from)) {
    Value bits = builder.create<LLVM::ShlOp>(loc, extendByte(lowering, byte, 16),
                                             lowering.constantInt(builder.getIntegerType(16), 8));
    return builder.create<LLVM::BitcastOp>(loc, builder.getF16Type(), bits);
  }
  if (lowering.target.hasFp8Conversions)
    return widenPair(lowering, from, byte, Value()).first;
  return lowering.callExternal("__tw_e4m3_to_half", builder.getF16Type(),
                               {extendByte(lowering, byte, 16)});
}

/// Two floats of `from` (f32 or f16) to two fp8 bytes.
static std::pair<Value, Value> narrowPair(FunctionLowering &lowering, Type from, Type to, Value low,
                                          Value high) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type i8 = builder.getIntegerType(8), i16 = builder.getIntegerType(16);
  std::string assembly = std::string("cvt.rn.satfinite.") + fp8Name(to);
  Value pair;
  if (from.isF16()) {
    Value vector = builder.create<LLVM::UndefOp>(loc, VectorType::get({2}, from));
    vector = builder.create<LLVM::InsertElementOp>(loc, vector, low, lowering.constantI32(0));
    vector = builder.create<LLVM::InsertElementOp>(loc, vector, high, lowering.constantI32(1));
    Value word = builder.create<LLVM::BitcastOp>(loc, builder.getI32Type(), vector);
    pair = lowering.inlineAsm(i16, {word}, assembly + "x2.f16x2 $0, $1;", "=h,r",
                              /*hasSideEffects=*/false);
  } else {
    pair = lowering.inlineAsm(i16, {high, low}, assembly + "x2.f32 $0, $1, $2;", "=h,f,f",
                              /*hasSideEffects=*/false);
  }
  Value upper = builder.create<LLVM::LShrOp>(loc, pair, lowering.constantInt(i16, 8));
  return {builder.create<LLVM::TruncOp>(loc, i8, pair),
          builder.create<LLVM::TruncOp>(loc, i8, upper)};
}

static Value floatToFp8(FunctionLowering &lowering, Value value, Type from, Type to,
                        ir::FloatRounding rounding) {
  OpBuilder &builder = lowering.builder;
  Type single = builder.getF32Type();
  bool nearest = rounding == ir::FloatRounding::nearest_even;
  if (nearest && lowering.target.hasFp8Conversions && from.isF16())
    return narrowPair(lowering, from, to, value, value).first;
  value = convertFloat(lowering, value, from, single, rounding);
  if (nearest && lowering.target.hasFp8Conversions)
    return narrowPair(lowering, single, to, value, value).first;
  // The hardware has no truncating form either.
  std::string name = std::string("__tw_float_to_") + fp8Name(to) + (nearest ? "" : "_rz");
  Value bits = lowering.callExternal(name, builder.getI32Type(), {value});
  return builder.create<LLVM::TruncOp>(lowering.loc, builder.getIntegerType(8), bits);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Narrowing toward zero between LLVM's float types.
static Value truncateTowardZero(FunctionLowering &lowering, Value value, Type from, Type to) {
  if (from.isF64() && to.isBF16()) // truncating twice is truncating once
    return truncateTowardZero(
        lowering, truncateTowardZero(lowering, value, from, lowering.builder.getF32Type()),
        lowering.builder.getF32Type(), to);
  auto name = [](Type type) {
    return type.isF64() ? "f64" : type.isF32() ? "f32" : type.isBF16() ? "bf16" : "f16";
  };
  std::string assembly = std::string("cvt.rz.") + name(to) + "." + name(from) + " $0, $1;";
  const char *input = from.isF64() ? "d" : "f";
  if (to.isF32())
    return lowering.inlineAsm(to, {value}, assembly, std::string("=f,") + input,
                              /*hasSideEffects=*/false);
  Type bits = lowering.builder.getIntegerType(16);
  Value result = lowering.inlineAsm(bits, {value}, assembly, std::string("=h,") + input,
                                    /*hasSideEffects=*/false);
  return lowering.fromBits(result, to);
}

/// The bits of a 16-bit float in the upper half of a word, zeros in the lower one: of a pair
/// that was taken out of a word (PackWords.cpp), by a shift or a mask of that.
static Value inUpperHalf(FunctionLowering &lowering, Value value) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type word = builder.getI32Type();
  llvm::APInt index;
  auto element = value.getDefiningOp<LLVM::ExtractElementOp>();
  auto pair = element ? element.getVector().getDefiningOp<LLVM::BitcastOp>() : nullptr;
  if (pair && pair.getArg().getType() == word &&
      matchPattern(element.getPosition(), m_ConstantInt(&index))) {
    if (index == 1)
      return builder.create<LLVM::AndOp>(loc, pair.getArg(), lowering.constantI32(-0x10000));
    return builder.create<LLVM::ShlOp>(loc, pair.getArg(), lowering.constantI32(16));
  }
  Value half = builder.create<LLVM::BitcastOp>(loc, builder.getIntegerType(16), value);
  return builder.create<LLVM::ShlOp>(loc, builder.create<LLVM::ZExtOp>(loc, word, half),
                                     lowering.constantI32(16));
}

/// bf16 to f32 by its bits. LLVM has an extension, but computes what can be computed in the
/// narrow type there, which takes single elements out of the words that hold two.
static Value widenBfloat(FunctionLowering &lowering, Value value) {
  return lowering.builder.create<LLVM::BitcastOp>(lowering.loc, lowering.builder.getF32Type(),
                                                  inUpperHalf(lowering, value));
}

Value convertFloat(FunctionLowering &lowering, Value value, Type from, Type to,
                   ir::FloatRounding rounding) {
  OpBuilder &builder = lowering.builder;
  if (from == to)
    return value;
  if (ir::isFp8(to))
    return floatToFp8(lowering, value, from, to, rounding);
  if (ir::isFp8(from)) {
    // f16 holds every fp8 value; the rest of the way is exact too.
    Type half = builder.getF16Type();
    return convertFloat(lowering, fp8ToHalf(lowering, value, from), half, to);
  }
  unsigned fromBits = from.getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits == toBits) // f16 and bf16
    return convertFloat(lowering, convertFloat(lowering, value, from, builder.getF32Type()),
                        builder.getF32Type(), to, rounding);
  if (fromBits < toBits) {
    if (from.isBF16()) {
      value = widenBfloat(lowering, value);
      if (to.isF32())
        return value;
    }
    return builder.create<LLVM::FPExtOp>(lowering.loc, to, value);
  }
  if (rounding == ir::FloatRounding::toward_zero)
    return truncateTowardZero(lowering, value, from, to);
  return builder.create<LLVM::FPTruncOp>(lowering.loc, to, value);
}

/// Casts whose hardware form takes pairs: two registers per instruction.
static bool canCastPairs(Type from, Type to, ir::FloatRounding rounding, const TargetInfo &target) {
  if (rounding != ir::FloatRounding::nearest_even)
    return false;
  if (from.isF32() && (to.isF16() || to.isBF16()))
    return true;
  return target.hasFp8Conversions && ir::isFp8(from) != ir::isFp8(to);
}

/// f32 to f16 or bf16: one instruction rounds and packs two, as stores and products
/// take them. LLVM makes one per element, and another to pack.
static std::pair<Value, Value> roundPair(FunctionLowering &lowering, Type to, Value low,
                                         Value high) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  llvm::StringRef name = to.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn";
  auto call = builder.create<LLVM::CallIntrinsicOp>(
      loc, VectorType::get({2}, to), builder.getStringAttr(name), ValueRange{high, low});
  Value pair = call.getResult(0);
  return {builder.create<LLVM::ExtractElementOp>(loc, pair, lowering.constantI32(0)),
          builder.create<LLVM::ExtractElementOp>(loc, pair, lowering.constantI32(1))};
}

static LogicalResult castPairs(Operation *op, FunctionLowering &lowering, Type from, Type to) {
  const Registers &source = lowering.get(op->getOperand(0));
  Type half = lowering.builder.getF16Type(), single = lowering.builder.getF32Type();
  Registers results;
  for (size_t index = 0; index < source.size(); index += 2) {
    Value low = source[index], high = source[index + 1];
    std::pair<Value, Value> pair;
    if (from.isF32() && !ir::isFp8(to)) {
      pair = roundPair(lowering, to, low, high);
    } else if (ir::isFp8(from)) {
      pair = widenPair(lowering, from, low, high);
      pair = {convertFloat(lowering, pair.first, half, to),
              convertFloat(lowering, pair.second, half, to)};
    } else if (from.isF16()) {
      pair = narrowPair(lowering, from, to, low, high);
    } else {
      pair = narrowPair(lowering, single, to, convertFloat(lowering, low, from, single),
                        convertFloat(lowering, high, from, single));
    }
    results.push_back(pair.first);
    results.push_back(pair.second);
  }
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerFloatCast(Operation *op, FunctionLowering &lowering) {
  Type from = operandElementType(op, 0), to = resultElementType(op);
  auto rounding = ir::FloatRounding::nearest_even;
  if (auto cast = llvm::dyn_cast<ir::FloatCastOp>(op))
    rounding = cast.getRounding();
  const Registers &source = lowering.get(op->getOperand(0));
  // Equal registers, as of a constant, are one conversion.
  if (canCastPairs(from, to, rounding, lowering.target) && source.size() % 2 == 0 &&
      !llvm::all_equal(source))
    return castPairs(op, lowering, from, to);
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) {
    return convertFloat(lowering, operands[0], from, to, rounding);
  });
}

//===----------------------------------------------------------------------===//
// Integers, pointers, bits
//===----------------------------------------------------------------------===//

template <typename Target>
static LogicalResult lowerIntegerCast(Operation *op, FunctionLowering &lowering) {
  if (llvm::isa<arith::ExtUIOp>(op) && widenBytesToHalves(op, lowering))
    return success();
  Type to = lowering.registerType(resultElementType(op));
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<Target>(lowering.loc, to, operands[0]);
  });
}

template <typename Target>
static LogicalResult lowerToFloat(Operation *op, FunctionLowering &lowering) {
  if (castSmallIntegers(op, lowering))
    return success();
  Type to = resultElementType(op), single = lowering.builder.getF32Type();
  // Only f16, f32 and f64 have conversions from integers.
  bool isDirect = to.isF16() || to.getIntOrFloatBitWidth() >= 32;
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Value result =
        lowering.builder.create<Target>(lowering.loc, isDirect ? to : single, operands[0]);
    return isDirect ? result : convertFloat(lowering, result, single, to);
  });
}

template <typename Target>
static LogicalResult lowerToInteger(Operation *op, FunctionLowering &lowering) {
  Type from = operandElementType(op, 0), to = resultElementType(op);
  Type computed = from.getIntOrFloatBitWidth() < 32 ? Type(lowering.builder.getF32Type()) : from;
  // LLVM widens 8 bits by itself, on some targets to a signed integer where an
  // unsigned one is asked for: a negative number would wrap there, and be 0 elsewhere.
  Type wide = to.getIntOrFloatBitWidth() < 16 ? Type(lowering.builder.getI16Type()) : to;
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    // One instruction takes bf16 as it is.
    Value value = from.isBF16()
                      ? lowering.builder.create<LLVM::FPExtOp>(lowering.loc, computed, operands[0])
                      : convertFloat(lowering, operands[0], from, computed);
    Value result = lowering.builder.create<Target>(lowering.loc, wide, value);
    return wide == to ? result : lowering.builder.create<LLVM::TruncOp>(lowering.loc, to, result);
  });
}

/// index is 64 bits wide.
template <typename Extend>
static LogicalResult lowerIndexCast(Operation *op, FunctionLowering &lowering) {
  Type from = lowering.registerType(operandElementType(op, 0)),
       to = lowering.registerType(resultElementType(op));
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    if (from == to)
      return operands[0];
    if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
      return lowering.builder.create<LLVM::TruncOp>(lowering.loc, to, operands[0]);
    return lowering.builder.create<Extend>(lowering.loc, to, operands[0]);
  });
}

/// Bits as they are: bitcasts, pointers to integers and back.
static LogicalResult lowerBits(Operation *op, FunctionLowering &lowering) {
  Type to = lowering.registerType(resultElementType(op));
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) {
    if (operands[0].getType() == to)
      return operands[0];
    Value bits = lowering.toBits(operands[0]);
    // LLVM 19 makes one bitcast of the two, for which it has no instruction from bf16 to f16 or back.
    bool areFloats = llvm::isa<FloatType>(operands[0].getType()) && llvm::isa<FloatType>(to);
    if (areFloats && to.getIntOrFloatBitWidth() == 16)
      bits = lowering.inlineAsm(bits.getType(), {bits}, "mov.b16 $0, $1;", "=h,h",
                                /*hasSideEffects=*/false);
    return lowering.fromBits(bits, to);
  });
}

void addCastLowerings(LoweringTable &table) {
  table.add("arith.extsi", lowerIntegerCast<LLVM::SExtOp>);
  table.add("arith.extui", lowerIntegerCast<LLVM::ZExtOp>);
  table.add("arith.trunci", lowerIntegerCast<LLVM::TruncOp>);
  table.add("arith.sitofp", lowerToFloat<LLVM::SIToFPOp>);
  table.add("arith.uitofp", lowerToFloat<LLVM::UIToFPOp>);
  table.add("arith.fptosi", lowerToInteger<LLVM::FPToSIOp>);
  table.add("arith.fptoui", lowerToInteger<LLVM::FPToUIOp>);
  table.add("arith.index_cast", lowerIndexCast<LLVM::SExtOp>);
  table.add("arith.index_castui", lowerIndexCast<LLVM::ZExtOp>);
  table.add("arith.extf", lowerFloatCast);
  table.add("arith.truncf", lowerFloatCast);
  table.add("tw.float_cast", lowerFloatCast);
  table.add("arith.bitcast", lowerBits);
  table.add("tw.bitcast", lowerBits);
  table.add("tw.ptr_to_int", lowerBits);
  table.add("tw.int_to_ptr", lowerBits);
}

} // namespace tilewright::codegen
