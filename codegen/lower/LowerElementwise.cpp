//===- LowerElementwise.cpp - arith on registers --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: integer and float arithmetic, comparisons, selects, constants and
// pointer arithmetic, one LLVM op per register.
//
// How: a table from arith ops to LLVM ops; the few that need more than renaming
// have a function of their own. 8-bit floats are computed in f32 and rounded
// once. f16 and bf16 go to LLVM as they are: it has instructions for them where
// the target does and widens to f32 with one rounding where it does not. Two
// neighbouring registers are one packed operation where the target has those.
//
// Reference: f32 division is div.full.f32 (at most 2 ULP); tw.precise_div is
// correctly rounded.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"
#include "codegen/lower/MemoryInternal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Shared helpers
//===----------------------------------------------------------------------===//

Type operandElementType(Operation *op, unsigned index) {
  return getElementTypeOrSelf(op->getOperand(index));
}
Type resultElementType(Operation *op) { return getElementTypeOrSelf(op->getResult(0)); }

/// For each register of `value` the first whose elements differ in none but the `ignored` bits.
/// element = of register ^ of thread, so this holds in every thread.
static llvm::SmallVector<int> firstRegisters(Value value, uint32_t ignored, int count) {
  llvm::SmallVector<int> first(count);
  std::iota(first.begin(), first.end(), 0);
  if (ignored == 0)
    return first;
  LinearLayout layout = FunctionLowering::layoutOf(value);
  llvm::DenseMap<uint32_t, int> seen;
  for (int index = 0; index < count; ++index)
    first[index] =
        seen.try_emplace(layout.apply(InDim::Register, index) & ~ignored, index).first->second;
  return first;
}

/// The bits of an element that do not matter for the op's result.
static uint32_t constantBits(Operation *op) {
  auto bits = op->getAttrOfType<IntegerAttr>(ir::constantBitsAttr);
  return bits ? static_cast<uint32_t>(bits.getInt()) : 0;
}

LogicalResult mapRegisters(Operation *op, FunctionLowering &lowering, RegisterFunction function) {
  int count = FunctionLowering::numRegisters(op->getResult(0).getType());
  llvm::SmallVector<const Registers *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(&lowering.get(operand));
  Registers results;
  results.reserve(count);
  llvm::SmallVector<int> first = firstRegisters(op->getResult(0), constantBits(op), count);
  Value previousResult;
  llvm::SmallVector<Value> current, previous;
  for (int index = 0; index < count; ++index) {
    if (first[index] != index) {
      results.push_back(results[first[index]]);
      continue;
    }
    current.clear();
    for (const Registers *registers : operands)
      current.push_back((*registers)[registers->size() == 1 ? 0 : index]);
    if (previousResult && current == previous) {
      results.push_back(previousResult);
      continue;
    }
    previousResult = function(current);
    if (!previousResult)
      return failure();
    results.push_back(previousResult);
    std::swap(current, previous);
  }
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

LogicalResult mapInSinglePrecision(Operation *op, FunctionLowering &lowering,
                                   llvm::function_ref<Value(llvm::ArrayRef<Value>, Type)> compute) {
  Type elementType = resultElementType(op);
  Type single = lowering.builder.getF32Type();
  if (elementType.getIntOrFloatBitWidth() >= 32)
    return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) {
      return compute(operands, elementType);
    });
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    llvm::SmallVector<Value> widened;
    for (Value operand : operands)
      widened.push_back(convertFloat(lowering, operand, elementType, single));
    Value result = compute(widened, single);
    return result ? convertFloat(lowering, result, single, elementType) : Value();
  });
}

//===----------------------------------------------------------------------===//
// One op to one op
//===----------------------------------------------------------------------===//

template <typename Target>
static LogicalResult lowerInteger(Operation *op, FunctionLowering &lowering) {
  if (lowerInWords(op, lowering))
    return success();
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<Target>(lowering.loc, operands[0], operands[1]);
  });
}

/// Keeps the no-wrap facts, which let LLVM widen address arithmetic.
template <typename Target>
static LogicalResult lowerWrapping(Operation *op, FunctionLowering &lowering) {
  if (lowerInWords(op, lowering))
    return success();
  auto source = llvm::cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  auto flags = LLVM::IntegerOverflowFlags::none;
  if (source.hasNoSignedWrap())
    flags = flags | LLVM::IntegerOverflowFlags::nsw;
  if (source.hasNoUnsignedWrap())
    flags = flags | LLVM::IntegerOverflowFlags::nuw;
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<Target>(lowering.loc, operands[0], operands[1], flags);
  });
}

/// Whether the target computes two elements of this type in one instruction.
static bool hasPackedArithmetic(Type type, const TargetInfo &target) {
  return type.isF16() || (type.isBF16() && target.hasBf16Arithmetic);
}

LogicalResult mapPairs(Operation *op, FunctionLowering &lowering, RegisterFunction function) {
  int count = FunctionLowering::numRegisters(op->getResult(0).getType());
  if (count % 2 != 0 || !hasPackedArithmetic(resultElementType(op), lowering.target))
    return mapRegisters(op, lowering, function);
  Registers results;
  for (int index = 0; index < count; index += 2) {
    llvm::SmallVector<Value> pairs;
    for (Value operand : op->getOperands()) {
      const Registers &registers = lowering.get(operand);
      pairs.push_back(packPair(lowering, registers[index], registers[index + 1]));
    }
    Value pair = function(pairs);
    for (int half = 0; half < 2; ++half)
      results.push_back(lowering.builder.create<LLVM::ExtractElementOp>(
          lowering.loc, pair, lowering.constantI32(half)));
  }
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

template <typename Target>
static LogicalResult lowerFloat(Operation *op, FunctionLowering &lowering) {
  auto compute = [&](llvm::ArrayRef<Value> operands, Type) -> Value {
    return lowering.builder.create<Target>(lowering.loc, operands[0].getType(), operands);
  };
  if (ir::isFp8(resultElementType(op)))
    return mapInSinglePrecision(op, lowering, compute);
  return mapPairs(op, lowering,
                  [&](llvm::ArrayRef<Value> operands) { return compute(operands, Type()); });
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// The exact reciprocal of a constant power of two; null for other values.
static Value exactReciprocal(FunctionLowering &lowering, Value value) {
  auto constant = value.getDefiningOp<LLVM::ConstantOp>();
  auto number = constant ? llvm::dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  llvm::APFloat inverse(0.0f);
  if (!number || !number.getValue().getExactInverse(&inverse))
    return {};
  return lowering.constant(FloatAttr::get(number.getType(), inverse));
}

static LogicalResult lowerDivide(Operation *op, FunctionLowering &lowering) {
  return mapInSinglePrecision(
      op, lowering, [&](llvm::ArrayRef<Value> operands, Type type) -> Value {
        if (!type.isF32())
          return lowering.builder.create<LLVM::FDivOp>(lowering.loc, operands[0], operands[1]);
        if (Value reciprocal = exactReciprocal(lowering, operands[1]))
          return lowering.builder.create<LLVM::FMulOp>(lowering.loc, operands[0], reciprocal);
        return lowering.inlineAsm(type, operands, "div.full.f32 $0, $1, $2;", "=f,f,f",
                                  /*hasSideEffects=*/false);
      });
}

static LogicalResult lowerPreciseDivide(Operation *op, FunctionLowering &lowering) {
  return mapInSinglePrecision(op, lowering, [&](llvm::ArrayRef<Value> operands, Type) -> Value {
    return lowering.builder.create<LLVM::FDivOp>(lowering.loc, operands[0], operands[1]);
  });
}

/// C's fmod: exact, sign of the dividend. The remainder that LLVM would expand
/// loses all digits once the quotient exceeds the mantissa.
static LogicalResult lowerRemainder(Operation *op, FunctionLowering &lowering) {
  return mapInSinglePrecision(op, lowering, [&](llvm::ArrayRef<Value> operands, Type type) {
    return lowering.callExternal(type.isF32() ? "__tw_fmodf" : "__nv_fmod", type, operands);
  });
}

/// floor(a / b) and ceil(a / b): the truncated quotient, corrected where a
/// remainder of the right sign was cut off.
template <bool isCeil>
static LogicalResult lowerRoundedDivide(Operation *op, FunctionLowering &lowering) {
  OpBuilder &builder = lowering.builder;
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Location loc = lowering.loc;
    Value zero = lowering.zero(operands[0].getType());
    Value quotient = builder.create<LLVM::SDivOp>(loc, operands[0], operands[1]);
    Value remainder = builder.create<LLVM::SRemOp>(loc, operands[0], operands[1]);
    Value inexact = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, remainder, zero);
    Value signs = builder.create<LLVM::XOrOp>(loc, operands[0], operands[1]);
    auto predicate = isCeil ? LLVM::ICmpPredicate::sge : LLVM::ICmpPredicate::slt;
    Value correct = builder.create<LLVM::AndOp>(
        loc, inexact, builder.create<LLVM::ICmpOp>(loc, predicate, signs, zero));
    Value one = builder.create<LLVM::ZExtOp>(loc, operands[0].getType(), correct);
    if (isCeil)
      return builder.create<LLVM::AddOp>(loc, quotient, one);
    return builder.create<LLVM::SubOp>(loc, quotient, one);
  });
}

/// One remainder for each group of registers whose values count up; the others are sums. Their
/// overflow flag lets LLVM put the summand into the addresses that are made from them.
template <typename Target>
static LogicalResult lowerIntegerRemainder(Operation *op, FunctionLowering &lowering) {
  auto counting = op->getAttrOfType<IntegerAttr>(ir::countingBitsAttr);
  if (!counting)
    return lowerInteger<Target>(op, lowering);
  LinearLayout layout = FunctionLowering::layoutOf(op->getResult(0));
  uint32_t bits = static_cast<uint32_t>(counting.getInt());
  int shift = llvm::countr_zero(bits);
  // Only what a register adds to the element is the same in every thread.
  for (InDim dim : {InDim::Lane, InDim::Warp, InDim::Block})
    for (uint32_t column : layout.columns(dim))
      bits &= ~column;
  const Registers &dividends = lowering.get(op->getOperand(0));
  const Registers &divisors = lowering.get(op->getOperand(1));
  int count = static_cast<int>(dividends.size());
  llvm::SmallVector<int> first = firstRegisters(op->getResult(0), bits | constantBits(op), count);
  auto placeIn = [&](int index) -> int64_t {
    return (layout.apply(InDim::Register, index) & bits) >> shift;
  };
  constexpr bool isSigned = std::is_same_v<Target, LLVM::SRemOp>;
  auto flags = isSigned ? LLVM::IntegerOverflowFlags::nsw : LLVM::IntegerOverflowFlags::nuw;
  Registers results;
  for (int index = 0; index < count; ++index) {
    if (first[index] == index) {
      results.push_back(
          lowering.builder.create<Target>(lowering.loc, dividends[index], divisors[index]));
      continue;
    }
    Value start = results[first[index]];
    Value beyond = lowering.constantInt(start.getType(), placeIn(index) - placeIn(first[index]));
    results.push_back(lowering.builder.create<LLVM::AddOp>(lowering.loc, start, beyond, flags));
  }
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerCeilDivideUnsigned(Operation *op, FunctionLowering &lowering) {
  OpBuilder &builder = lowering.builder;
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Location loc = lowering.loc;
    Value zero = lowering.zero(operands[0].getType());
    Value quotient = builder.create<LLVM::UDivOp>(loc, operands[0], operands[1]);
    Value remainder = builder.create<LLVM::URemOp>(loc, operands[0], operands[1]);
    Value inexact = builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, remainder, zero);
    return builder.create<LLVM::AddOp>(loc, quotient,
                                       builder.create<LLVM::ZExtOp>(loc, zero.getType(), inexact));
  });
}

static LogicalResult lowerMulHigh(Operation *op, FunctionLowering &lowering) {
  OpBuilder &builder = lowering.builder;
  bool isSigned = llvm::cast<ir::MulHighOp>(op).getIsSigned();
  unsigned width = resultElementType(op).getIntOrFloatBitWidth();
  // LLVM recognises the wide product and emits mul.hi.
  Type wide = builder.getIntegerType(2 * width);
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Location loc = lowering.loc;
    auto extend = [&](Value value) -> Value {
      if (isSigned)
        return builder.create<LLVM::SExtOp>(loc, wide, value);
      return builder.create<LLVM::ZExtOp>(loc, wide, value);
    };
    Value product = builder.create<LLVM::MulOp>(loc, extend(operands[0]), extend(operands[1]));
    Value high = builder.create<LLVM::LShrOp>(loc, product, lowering.constantInt(wide, width));
    return builder.create<LLVM::TruncOp>(loc, operands[0].getType(), high);
  });
}

//===----------------------------------------------------------------------===//
// Comparison, selection, negation
//===----------------------------------------------------------------------===//

static LogicalResult lowerCompareInteger(Operation *op, FunctionLowering &lowering) {
  // The enums of arith and LLVM agree in name and in number.
  auto predicate = static_cast<LLVM::ICmpPredicate>(llvm::cast<arith::CmpIOp>(op).getPredicate());
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    return lowering.builder.create<LLVM::ICmpOp>(lowering.loc, predicate, operands[0], operands[1]);
  });
}

static LogicalResult lowerCompareFloat(Operation *op, FunctionLowering &lowering) {
  auto predicate = static_cast<LLVM::FCmpPredicate>(llvm::cast<arith::CmpFOp>(op).getPredicate());
  Type type = operandElementType(op, 0);
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Value left = operands[0], right = operands[1];
    if (ir::isFp8(type)) {
      Type single = lowering.builder.getF32Type();
      left = convertFloat(lowering, left, type, single);
      right = convertFloat(lowering, right, type, single);
    }
    return lowering.builder.create<LLVM::FCmpOp>(lowering.loc, predicate, left, right);
  });
}

static LogicalResult lowerSelect(Operation *op, FunctionLowering &lowering) {
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    if (operands[1] == operands[2])
      return operands[1];
    return lowering.builder.create<LLVM::SelectOp>(lowering.loc, operands[0], operands[1],
                                                   operands[2]);
  });
}

/// -x flips the sign bit, of NaN and zero too.
static LogicalResult lowerNegate(Operation *op, FunctionLowering &lowering) {
  bool asBits = ir::isFp8(resultElementType(op));
  return mapPairs(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    if (!asBits)
      return lowering.builder.create<LLVM::FNegOp>(lowering.loc, operands[0]);
    Value sign = lowering.constantInt(operands[0].getType(), -128);
    return lowering.builder.create<LLVM::XOrOp>(lowering.loc, operands[0], sign);
  });
}

//===----------------------------------------------------------------------===//
// Constants and pointers
//===----------------------------------------------------------------------===//

static FailureOr<Value> lowerElementConstant(Attribute value, FunctionLowering &lowering) {
  if (auto number = llvm::dyn_cast<FloatAttr>(value)) {
    if (ir::isFp8(number.getType())) {
      llvm::APInt bits = number.getValue().bitcastToAPInt();
      return lowering.constantInt(lowering.builder.getIntegerType(8), bits.getSExtValue());
    }
    return lowering.constant(number);
  }
  if (auto number = llvm::dyn_cast<IntegerAttr>(value))
    return lowering.constantInt(lowering.registerType(number.getType()),
                                number.getValue().getSExtValue());
  return failure();
}

static LogicalResult lowerConstant(Operation *op, FunctionLowering &lowering) {
  auto constant = llvm::cast<arith::ConstantOp>(op);
  Attribute value = constant.getValue();
  if (auto dense = llvm::dyn_cast<SplatElementsAttr>(value))
    value = dense.getSplatValue<Attribute>();
  auto element = lowerElementConstant(value, lowering);
  if (failed(element))
    return op->emitOpError("has neither a scalar nor one value for all elements");
  lowering.set(constant.getResult(),
               Registers(FunctionLowering::numRegisters(constant.getType()), *element));
  return success();
}

static LogicalResult lowerAddPointer(Operation *op, FunctionLowering &lowering) {
  auto add = llvm::cast<ir::AddPtrOp>(op);
  OpBuilder &builder = lowering.builder;
  Type pointee = llvm::cast<ir::PointerType>(resultElementType(op)).getPointee();
  Type stored = builder.getIntegerType(ir::elementBits(pointee));
  Type index = builder.getI64Type();
  unsigned width = operandElementType(op, 1).getIntOrFloatBitWidth();
  return mapRegisters(op, lowering, [&](llvm::ArrayRef<Value> operands) -> Value {
    Value offset = operands[1];
    if (width < 64 && add.getIsUnsigned())
      offset = builder.create<LLVM::ZExtOp>(lowering.loc, index, offset);
    else if (width < 64)
      offset = builder.create<LLVM::SExtOp>(lowering.loc, index, offset);
    return builder.create<LLVM::GEPOp>(lowering.loc, operands[0].getType(), stored, operands[0],
                                       ValueRange{offset});
  });
}

/// A copy that LLVM leaves where it is. Assemblers see through it, and leave what little follows in
/// its loop: nvJitLink 12.5 and 13.5 both do.
static Value copyInPlace(FunctionLowering &lowering, Value word) {
  bool isHalf = word.getType().getIntOrFloatBitWidth() <= 16;
  return lowering.inlineAsm(word.getType(), {word}, isHalf ? "mov.b16 $0, $1;" : "mov.b32 $0, $1;",
                            isHalf ? "=h,h" : "=r,r", /*hasSideEffects=*/true);
}

/// Adds a zero that the assembler does not know to be zero, to registers of 32 bits as they
/// were loaded. An empty asm would not do: the assembler sees that it does nothing.
static Value addHiddenZero(FunctionLowering &lowering, Value word) {
  Value zero = lowering.hiddenZero();
  if (word.getType() != zero.getType())
    zero = lowering.builder.create<LLVM::TruncOp>(lowering.loc, word.getType(), zero);
  return lowering.builder.create<LLVM::AddOp>(lowering.loc, word, zero);
}

static LogicalResult lowerOpaque(Operation *op, FunctionLowering &lowering) {
  constexpr unsigned registerBits = 32;
  auto opaque = llvm::cast<ir::OpaqueOp>(op);
  const Registers &source = lowering.get(opaque.getSource());
  Type element = resultElementType(op);
  Type registerType = lowering.registerType(element);
  size_t perWord = std::max<size_t>(1, registerBits / ir::elementBits(element));
  Registers results;
  for (size_t begin = 0; begin < source.size(); begin += perWord) {
    llvm::ArrayRef<Value> elements = llvm::ArrayRef(source).slice(begin).take_front(perWord);
    WordFormat format(ir::elementBits(element), static_cast<int>(elements.size()));
    llvm::SmallVector<Value> words = packWords(lowering, format, elements);
    for (Value &word : words)
      word = opaque.getIteration() ? copyInPlace(lowering, word) : addHiddenZero(lowering, word);
    llvm::append_range(results, unpackWords(lowering, format, words, registerType));
  }
  lowering.set(op->getResult(0), std::move(results));
  return success();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

void addElementwiseLowerings(LoweringTable &table) {
  table.add("arith.constant", lowerConstant);
  table.add("arith.addi", lowerWrapping<LLVM::AddOp>);
  table.add("arith.subi", lowerWrapping<LLVM::SubOp>);
  table.add("arith.muli", lowerWrapping<LLVM::MulOp>);
  table.add("arith.shli", lowerWrapping<LLVM::ShlOp>);
  table.add("arith.shrui", lowerInteger<LLVM::LShrOp>);
  table.add("arith.shrsi", lowerInteger<LLVM::AShrOp>);
  table.add("arith.divsi", lowerInteger<LLVM::SDivOp>);
  table.add("arith.divui", lowerInteger<LLVM::UDivOp>);
  table.add("arith.remsi", lowerIntegerRemainder<LLVM::SRemOp>);
  table.add("arith.remui", lowerIntegerRemainder<LLVM::URemOp>);
  table.add("arith.floordivsi", lowerRoundedDivide<false>);
  table.add("arith.ceildivsi", lowerRoundedDivide<true>);
  table.add("arith.ceildivui", lowerCeilDivideUnsigned);
  table.add("arith.andi", lowerInteger<LLVM::AndOp>);
  table.add("arith.ori", lowerInteger<LLVM::OrOp>);
  table.add("arith.xori", lowerInteger<LLVM::XOrOp>);
  table.add("arith.maxsi", lowerInteger<LLVM::SMaxOp>);
  table.add("arith.minsi", lowerInteger<LLVM::SMinOp>);
  table.add("arith.maxui", lowerInteger<LLVM::UMaxOp>);
  table.add("arith.minui", lowerInteger<LLVM::UMinOp>);
  table.add("arith.cmpi", lowerCompareInteger);

  table.add("arith.addf", lowerFloat<LLVM::FAddOp>);
  table.add("arith.subf", lowerFloat<LLVM::FSubOp>);
  table.add("arith.mulf", lowerFloat<LLVM::FMulOp>);
  table.add("arith.divf", lowerDivide);
  table.add("arith.remf", lowerRemainder);
  table.add("arith.negf", lowerNegate);
  // maximumf gives NaN where one operand is NaN, maxnumf the other operand.
  table.add("arith.maximumf", lowerFloat<LLVM::MaximumOp>);
  table.add("arith.minimumf", lowerFloat<LLVM::MinimumOp>);
  table.add("arith.maxnumf", lowerFloat<LLVM::MaxNumOp>);
  table.add("arith.minnumf", lowerFloat<LLVM::MinNumOp>);
  table.add("arith.cmpf", lowerCompareFloat);
  table.add("arith.select", lowerSelect);

  table.add("tw.addptr", lowerAddPointer);
  table.add("tw.opaque", lowerOpaque);
  table.add("tw.mul_high", lowerMulHigh);
  table.add("tw.precise_div", lowerPreciseDivide);
}

} // namespace tilewright::codegen
