//===- LowerSmallIntegers.cpp - Weights of few bits become floats ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sums, bits and shifts of 8-bit integers, four at a time in the word that they were
// loaded in; bits and shifts of 16-bit integers two at a time; and integers of few bits as f16 or
// bf16, two at a time. Quantised weights take this way to a product in each of its steps.
//
// How: the bits 0x6400 + u of an f16 are the number 1024 + u for all u below 1024, and 0x4300 + u
// of a bf16 are 128 + u below 128. So a permutation of bytes puts the exponent beside the integer,
// and one packed subtraction leaves it. All steps are exact. The hardware's conversion takes single
// elements, at a fraction of the rate.
//
// Why not LLVM: it computes each byte in a register of its own, and takes them out of the word
// for that.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/ElementwiseInternal.h"
#include "codegen/lower/MemoryInternal.h"
#include "ir/dialect/IntegerBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::codegen {

/// The same byte four times, as an i32.
static int64_t fourTimes(int64_t byte) { return int32_t(uint32_t(byte & 0xff) * 0x01010101u); }
/// The same half twice.
static int64_t twice(int64_t half) { return int32_t(uint32_t(half & 0xffff) * 0x00010001u); }

//===----------------------------------------------------------------------===//
// Four bytes or two halves in a word
//===----------------------------------------------------------------------===//

/// The same part of a word, a byte or a half, in each place.
static int64_t inEach(unsigned bits, int64_t part) {
  return bits == 8 ? fourTimes(part) : twice(part);
}

/// The word that has two elements in its halves; null where they are on their own.
static Value wordOfHalves(FunctionLowering &lowering, Value low, Value high) {
  auto takenFrom = [](Value half, int64_t index) -> Value {
    auto taken = half.getDefiningOp<LLVM::ExtractElementOp>();
    llvm::APInt position;
    bool isAt = taken && matchPattern(taken.getPosition(), m_ConstantInt(&position)) &&
                position.getSExtValue() == index;
    return isAt ? taken.getVector() : Value();
  };
  Value pair = takenFrom(low, 0);
  if (!pair || takenFrom(high, 1) != pair)
    return {};
  if (auto bits = pair.getDefiningOp<LLVM::BitcastOp>();
      bits && bits.getArg().getType().isInteger(32))
    return bits.getArg();
  return lowering.builder.create<LLVM::BitcastOp>(lowering.loc, lowering.builder.getI32Type(),
                                                  pair);
}

/// The words that all registers of a tile of bytes or halves are in; empty where they are on their
/// own.
static llvm::SmallVector<Value> wordsOf(FunctionLowering &lowering, Value tile) {
  Type type = getElementTypeOrSelf(tile);
  const Registers &registers = lowering.get(tile);
  llvm::SmallVector<Value> words;
  size_t perWord = type.isInteger(8) ? 4 : 2;
  if (!(type.isInteger(8) || type.isInteger(16)) || registers.size() % perWord != 0)
    return words;
  for (size_t first = 0; first < registers.size(); first += perWord) {
    Value word = perWord == 4
                     ? wordOfBytes(lowering, llvm::ArrayRef<Value>(registers).slice(first, 4))
                     : wordOfHalves(lowering, registers[first], registers[first + 1]);
    if (!word)
      return {};
    words.push_back(word);
  }
  return words;
}

/// Arithmetic on words, at the insertion point.
class WordBuilder {
public:
  explicit WordBuilder(FunctionLowering &lowering) : lowering(lowering) {}
  Value constant(int64_t bits) { return lowering.constantI32(bits); }
  Value bitAnd(Value left, Value right) { return make<LLVM::AndOp>(left, right); }
  Value bitOr(Value left, Value right) { return make<LLVM::OrOp>(left, right); }
  Value bitXor(Value left, Value right) { return make<LLVM::XOrOp>(left, right); }
  Value add(Value left, Value right) { return make<LLVM::AddOp>(left, right); }
  Value sub(Value left, Value right) { return make<LLVM::SubOp>(left, right); }
  Value shiftLeft(Value word, int64_t amount) { return make<LLVM::ShlOp>(word, constant(amount)); }
  Value shiftRight(Value word, int64_t amount) {
    return make<LLVM::LShrOp>(word, constant(amount));
  }

private:
  FunctionLowering &lowering;
  template <typename Op> Value make(Value left, Value right) {
    return lowering.builder.create<Op>(lowering.loc, left, right);
  }
};

/// Each part of a word moved by as many bits, as the shift `op` moves it.
static Value shiftParts(WordBuilder &build, Operation *op, unsigned bits, Value word,
                        int64_t amount) {
  int64_t all = (int64_t(1) << bits) - 1, upper = int64_t(1) << (bits - 1);
  auto each = [&](int64_t part) { return build.constant(inEach(bits, part)); };
  if (llvm::isa<arith::ShLIOp>(op))
    return build.bitAnd(build.shiftLeft(word, amount), each(all << amount));
  Value moved = build.bitAnd(build.shiftRight(word, amount), each(all >> amount));
  if (llvm::isa<arith::ShRUIOp>(op))
    return moved;
  // The moved sign is taken off, flipped, by a sum that carries into no other part:
  // (moved ^ sign) + upper - sign is the number plus upper.
  int64_t sign = upper >> amount;
  Value raised = build.add(build.bitXor(moved, each(sign)), each(upper - sign));
  return build.bitXor(raised, each(upper));
}

/// Bits, and sums and differences of four bytes each: the upper bit is kept out of them, since it
/// would carry into the next byte, and is what it is without carries but for theirs.
static Value combineParts(WordBuilder &build, Operation *op, Value left, Value right) {
  Value upper = build.constant(fourTimes(0x80)), rest = build.constant(fourTimes(0x7f));
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AndIOp) { return build.bitAnd(left, right); })
      .Case([&](arith::OrIOp) { return build.bitOr(left, right); })
      .Case([&](arith::XOrIOp) { return build.bitXor(left, right); })
      .Case([&](arith::AddIOp) {
        Value sum = build.add(build.bitAnd(left, rest), build.bitAnd(right, rest));
        return build.bitXor(sum, build.bitAnd(build.bitXor(left, right), upper));
      })
      .Case([&](arith::SubIOp) {
        Value difference = build.sub(build.bitOr(left, upper), build.bitAnd(right, rest));
        Value signs = build.bitXor(build.bitXor(left, right), upper);
        return build.bitXor(difference, build.bitAnd(signs, upper));
      });
}

/// Whether words are worth while: two sums of halves are fewer instructions on their own.
static bool isDoneInWords(Operation *op) {
  bool isOfBits =
      llvm::isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRUIOp>(op);
  if (!isOfBits && !llvm::isa<arith::AddIOp, arith::SubIOp, arith::ShRSIOp>(op))
    return false;
  Type type = getElementTypeOrSelf(op->getResult(0));
  return type.isInteger(8) || (type.isInteger(16) && isOfBits);
}

static void setWords(Operation *op, FunctionLowering &lowering, llvm::ArrayRef<Value> words) {
  Type type = getElementTypeOrSelf(op->getResult(0));
  unsigned bits = type.getIntOrFloatBitWidth();
  WordFormat format(bits, static_cast<int>(32 / bits * words.size()));
  lowering.set(op->getResult(0), unpackWords(lowering, format, words, type));
}

bool lowerInWords(Operation *op, FunctionLowering &lowering) {
  if (!isDoneInWords(op))
    return false;
  unsigned bits = getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth();
  bool isShift = llvm::isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op);
  std::optional<uint64_t> amount = isShift ? ir::constantInteger(op->getOperand(1)) : std::nullopt;
  if (isShift && (!amount || *amount >= bits))
    return false;
  size_t count = lowering.get(op->getOperand(0)).size() * bits / 32;
  llvm::SmallVector<llvm::SmallVector<Value>> operands;
  for (Value operand : op->getOperands().take_front(isShift ? 1 : 2)) {
    std::optional<uint64_t> constant = ir::constantInteger(operand);
    operands.push_back(
        constant ? llvm::SmallVector<Value>(count, lowering.constantI32(inEach(bits, *constant)))
                 : wordsOf(lowering, operand));
    if (operands.back().empty())
      return false;
  }
  WordBuilder build(lowering);
  llvm::SmallVector<Value> words;
  for (size_t index = 0; index < operands.front().size(); ++index)
    words.push_back(isShift ? shiftParts(build, op, bits, operands[0][index], *amount)
                            : combineParts(build, op, operands[0][index], operands[1][index]));
  setWords(op, lowering, words);
  return true;
}

bool widenBytesToHalves(Operation *op, FunctionLowering &lowering) {
  const Registers &registers = lowering.get(op->getOperand(0));
  bool isWidened = getElementTypeOrSelf(op->getOperand(0)).isInteger(8) &&
                   getElementTypeOrSelf(op->getResult(0)).isInteger(16);
  if (!isWidened || registers.size() % 2 != 0 || llvm::all_equal(registers) || op->use_empty() ||
      !llvm::all_of(op->getUsers(), isDoneInWords))
    return false;
  WordBuilder build(lowering);
  llvm::SmallVector<Value> words;
  for (size_t index = 0; index < registers.size(); index += 2)
    words.push_back(build.bitAnd(spreadBytes(lowering, registers[index], registers[index + 1]),
                                 build.constant(twice(0xff))));
  setWords(op, lowering, words);
  return true;
}

//===----------------------------------------------------------------------===//
// Floats by their bits
//===----------------------------------------------------------------------===//

namespace {

/// A 16-bit float type whose numbers from `base` on, `count` of them, lie one apart.
struct HalfFormat {
  Type type;
  int64_t exponent; ///< the upper byte of `base`
  double base;
  uint64_t count;
};

/// Integers of one tile to floats of one type.
class SmallIntegerCast {
public:
  SmallIntegerCast(Operation *op, FunctionLowering &lowering)
      : op(op), lowering(lowering), build(lowering), source(op->getOperand(0)),
        isSigned(llvm::isa<arith::SIToFPOp>(op)), limit(ir::greatestInteger(source)) {
    Type type = resultElementType(op);
    if (type.isF16())
      format = {type, 0x64, 1024, 1024};
    else
      format = {type, 0x43, 128, 128};
  }

  bool lower() {
    if (getElementTypeOrSelf(source).isInteger(8))
      return lowerBytes();
    // A negative number has its upper bit set, and so is above. Truth values are selects.
    return getElementTypeOrSelf(source).getIntOrFloatBitWidth() >= 16 && limit < format.count &&
           lowerWide();
  }

private:
  Operation *op;
  FunctionLowering &lowering;
  WordBuilder build;
  Value source;
  bool isSigned;
  uint64_t limit;
  HalfFormat format;

  Value asPair(Value word) {
    return lowering.builder.create<LLVM::BitcastOp>(lowering.loc, VectorType::get({2}, format.type),
                                                    word);
  }
  Value constantPair(double value) {
    auto vector = VectorType::get({2}, format.type);
    return lowering.constant(
        DenseElementsAttr::get(vector, lowering.builder.getFloatAttr(format.type, value)));
  }
  Value plus(Value pair, double value) {
    return lowering.builder.create<LLVM::FAddOp>(lowering.loc, pair, constantPair(value));
  }

  void finish(llvm::ArrayRef<Value> pairs) {
    Registers results;
    for (Value pair : pairs)
      for (int half = 0; half < 2; ++half)
        results.push_back(lowering.builder.create<LLVM::ExtractElementOp>(
            lowering.loc, pair, lowering.constantI32(half)));
    lowering.set(op->getResult(0), std::move(results));
  }

  /// Two bytes of a word, each below the exponent's byte.
  Value besideExponent(Value word, int pair) {
    Value exponents = lowering.constantI32(fourTimes(format.exponent));
    return permuteBytes(lowering, word, exponents, pair == 0 ? 0x4140 : 0x4342);
  }

  /// (word & mask) | bits, of which the assembler makes two instructions otherwise: it takes one
  /// constant as part of an instruction, and looks for no register for the other.
  Value maskAndSet(Value word, int64_t mask, Value bits) {
    return lowering.inlineAsm(lowering.builder.getI32Type(),
                              {word, build.constant(twice(mask)), bits},
                              "lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,r,r",
                              /*hasSideEffects=*/false);
  }

  /// The bits of `mask`, 8 at most, of two halves, below the exponents: which are there already, or
  /// are these.
  Value keep(Value both, int64_t mask, Value exponents) {
    if (!exponents)
      return asPair(build.bitAnd(both, build.constant(twice(mask | 0xff00))));
    return asPair(maskAndSet(both, mask, exponents));
  }

  Value castPair(Value both, Value exponents) {
    if (raisesBytes())
      return plus(keep(both, 0xff, exponents), -format.base - 0x80);
    if (limit < (isSigned ? 0x80 : format.count))
      return plus(keep(both, 0xff, exponents), -format.base);
    // The upper bit of a byte makes 256 of the base; the others count from the base.
    Value rest = keep(both, 0x7f, exponents), upper = keep(both, 0x80, exponents);
    if (isSigned) // 128 + rest - 128, or 128 + rest - 256
      return lowering.builder.create<LLVM::FSubOp>(lowering.loc, rest, upper);
    return lowering.builder.create<LLVM::FAddOp>(lowering.loc, rest, plus(upper, -2 * format.base));
  }

  /// Whether signs are flipped first, so that all numbers are raised by 128.
  bool raisesBytes() const { return isSigned && limit >= 0x80 && format.type.isF16(); }

  bool lowerBytes() {
    const Registers &registers = lowering.get(source);
    if (registers.size() % 2 != 0 || llvm::all_equal(registers))
      return false;
    llvm::SmallVector<Value> words = wordsOf(lowering, source), pairs;
    Value exponents = lowering.constantI32(twice(format.exponent << 8));
    for (size_t index = 0; index < registers.size(); index += 2) {
      Value both = words.empty() ? spreadBytes(lowering, registers[index], registers[index + 1])
                                 : words[index / 4];
      if (raisesBytes())
        both = build.bitXor(both, build.constant(fourTimes(0x80)));
      pairs.push_back(words.empty() ? castPair(both, exponents)
                                    : castPair(besideExponent(both, index % 4 / 2), Value()));
    }
    finish(pairs);
    return true;
  }

  /// Two integers of 16 bits and more. A mask is applied to both at once.
  bool lowerWide() {
    Value from = source;
    int64_t mask = 0xffff;
    if (auto masked = source.getDefiningOp<arith::AndIOp>())
      if (std::optional<uint64_t> constant = ir::constantInteger(masked.getRhs());
          constant && *constant < format.count) {
        from = masked.getLhs();
        mask = *constant;
      }
    const Registers &registers = lowering.get(from);
    if (registers.size() % 2 != 0 || llvm::all_equal(registers))
      return false;
    llvm::SmallVector<Value> pairs;
    Value exponents = lowering.constantI32(twice(format.exponent << 8));
    for (size_t index = 0; index < registers.size(); index += 2) {
      Value halves =
          permuteBytes(lowering, lowHalf(registers[index]), lowHalf(registers[index + 1]), 0x5410);
      pairs.push_back(plus(asPair(maskAndSet(halves, mask, exponents)), -format.base));
    }
    finish(pairs);
    return true;
  }

  Value lowHalf(Value integer) {
    Type i32 = lowering.builder.getI32Type();
    if (integer.getType().getIntOrFloatBitWidth() <= 32)
      return integer;
    return lowering.builder.create<LLVM::TruncOp>(lowering.loc, i32, integer);
  }
};

} // namespace

bool castSmallIntegers(Operation *op, FunctionLowering &lowering) {
  Type to = resultElementType(op);
  if (!to.isF16() && !(to.isBF16() && lowering.target.hasBf16Arithmetic))
    return false;
  return SmallIntegerCast(op, lowering).lower();
}

} // namespace tilewright::codegen
