//===- PackWords.cpp - Elements as words of 32 bits -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: loads, stores, atomics and exchanges move words; this makes them of elements, and
// elements of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MemoryInternal.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::codegen {

WordFormat::WordFormat(unsigned elementBits, int numElements) : elementBits(elementBits) {
  unsigned total = elementBits * numElements;
  wordBits = elementBits == 64 ? 64 : std::min(32u, total);
  numWords = static_cast<int>(total / wordBits);
  perWord = numElements / numWords;
}

Type WordFormat::wordType(OpBuilder &builder) const { return builder.getIntegerType(wordBits); }

Value packPair(FunctionLowering &lowering, Value low, Value high) {
  Value pair =
      lowering.builder.create<LLVM::UndefOp>(lowering.loc, VectorType::get({2}, low.getType()));
  pair = lowering.builder.create<LLVM::InsertElementOp>(lowering.loc, pair, low,
                                                        lowering.constantI32(0));
  return lowering.builder.create<LLVM::InsertElementOp>(lowering.loc, pair, high,
                                                        lowering.constantI32(1));
}

/// Where a byte comes from: one of the bytes of an integer of at most 32 bits.
struct ByteSource {
  Value whole;
  int byte;
};

/// Looks through the taking apart of a wider integer.
static ByteSource byteSource(Value bits) {
  auto truncated = bits.getDefiningOp<LLVM::TruncOp>();
  if (!truncated || truncated.getArg().getType().getIntOrFloatBitWidth() > 32)
    return {bits, 0};
  Value wide = truncated.getArg();
  auto shift = wide.getDefiningOp<LLVM::LShrOp>();
  llvm::APInt amount;
  if (!shift || !matchPattern(shift.getRhs(), m_ConstantInt(&amount)) || amount.urem(8) != 0)
    return {wide, 0};
  return {shift.getLhs(), static_cast<int>(amount.getZExtValue() / 8)};
}

/// The selectors of the lower halves of two words.
constexpr int64_t lowHalves = 0x5410;

Value permuteBytes(FunctionLowering &lowering, Value low, Value high, int64_t selectors) {
  OpBuilder &builder = lowering.builder;
  Type i32 = builder.getI32Type(), i16 = builder.getIntegerType(16);
  // Two halves of a word side by side: the assembler joins what makes them.
  if (selectors == lowHalves && low.getType() == i16 && high.getType() == i16)
    return builder.create<LLVM::BitcastOp>(lowering.loc, i32, packPair(lowering, low, high));
  llvm::SmallVector<Value> operands{low, high};
  for (Value &operand : operands)
    if (operand.getType() != i32)
      operand = builder.create<LLVM::ZExtOp>(lowering.loc, i32, operand);
  operands.push_back(lowering.constantI32(selectors));
  auto name = builder.getStringAttr("llvm.nvvm.prmt");
  return builder.create<LLVM::CallIntrinsicOp>(lowering.loc, i32, name, operands).getResult(0);
}

Value wordOfBytes(FunctionLowering &lowering, llvm::ArrayRef<Value> bytes) {
  Value word;
  for (auto [index, byte] : llvm::enumerate(bytes)) {
    ByteSource source = byteSource(lowering.toBits(byte));
    if (source.byte != static_cast<int>(index) || (word && source.whole != word))
      return {};
    word = source.whole;
  }
  return word.getType().isInteger(32) ? word : Value();
}

Value spreadBytes(FunctionLowering &lowering, Value low, Value high) {
  ByteSource first = byteSource(lowering.toBits(low)), second = byteSource(lowering.toBits(high));
  int64_t selectors = first.byte * 0x11 + (4 + second.byte) * 0x1100;
  return permuteBytes(lowering, first.whole, second.whole, selectors);
}

/// A word of four bytes: one instruction where they come from two words, else three. Shifts and
/// masks would take seven.
static Value packBytes(FunctionLowering &lowering, llvm::ArrayRef<Value> bytes) {
  llvm::SmallVector<ByteSource> sources;
  llvm::SetVector<Value> wholes;
  for (Value byte : bytes) {
    sources.push_back(byteSource(lowering.toBits(byte)));
    wholes.insert(sources.back().whole);
  }
  auto permute = [&](llvm::ArrayRef<ByteSource> taken, Value low, Value high) {
    int64_t selectors = 0;
    for (auto [index, source] : llvm::enumerate(taken))
      selectors |= int64_t(source.byte + (source.whole == low ? 0 : 4)) << (4 * index);
    bool isInPlace = selectors == (taken.size() == 4 ? 0x3210 : 0x10);
    return isInPlace ? low : permuteBytes(lowering, low, high, selectors);
  };
  if (wholes.size() <= 2)
    return permute(sources, wholes.front(), wholes.back());
  llvm::ArrayRef<ByteSource> all = sources;
  Value low = permute(all.take_front(2), sources[0].whole, sources[1].whole),
        high = permute(all.take_back(2), sources[2].whole, sources[3].whole);
  return permuteBytes(lowering, low, high, lowHalves);
}

llvm::SmallVector<Value> packWords(FunctionLowering &lowering, const WordFormat &format,
                                   llvm::ArrayRef<Value> elements) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type elementType = builder.getIntegerType(format.elementBits),
       wordType = format.wordType(builder);
  llvm::SmallVector<Value> words;
  if (format.elementBits == 16 && format.perWord == 2) {
    // A pair as a vector: one mov, and packed arithmetic finds it again.
    for (int word = 0; word < format.numWords; ++word)
      words.push_back(builder.create<LLVM::BitcastOp>(
          loc, wordType, packPair(lowering, elements[2 * word], elements[2 * word + 1])));
    return words;
  }
  bool areBytes =
      format.elementBits == 8 && format.perWord == 4 && elements.front().getType() == elementType;
  for (int word = 0; word < format.numWords; ++word) {
    llvm::ArrayRef<Value> taken = elements.slice(word * format.perWord, format.perWord);
    if (areBytes &&
        !llvm::all_of(taken, [](Value each) { return matchPattern(each, m_Constant()); })) {
      words.push_back(packBytes(lowering, taken));
      continue;
    }
    Value packed;
    for (int index = 0; index < format.perWord; ++index) {
      Value bits = lowering.toBits(taken[index]);
      if (bits.getType() != elementType) // a boolean is stored as a byte
        bits = builder.create<LLVM::ZExtOp>(loc, elementType, bits);
      if (format.perWord == 1) {
        packed = bits;
        break;
      }
      bits = builder.create<LLVM::ZExtOp>(loc, wordType, bits);
      if (index > 0)
        bits = builder.create<LLVM::ShlOp>(
            loc, bits, lowering.constantInt(wordType, index * format.elementBits));
      packed = packed ? builder.create<LLVM::OrOp>(loc, packed, bits).getResult() : bits;
    }
    words.push_back(packed);
  }
  return words;
}

llvm::SmallVector<Value> unpackWords(FunctionLowering &lowering, const WordFormat &format,
                                     llvm::ArrayRef<Value> words, Type registerType) {
  OpBuilder &builder = lowering.builder;
  Location loc = lowering.loc;
  Type elementType = builder.getIntegerType(format.elementBits);
  llvm::SmallVector<Value> elements;
  if (format.elementBits == 16 && format.perWord == 2) {
    for (Value word : words) {
      Value pair = builder.create<LLVM::BitcastOp>(loc, VectorType::get({2}, registerType), word);
      for (int index = 0; index < 2; ++index)
        elements.push_back(
            builder.create<LLVM::ExtractElementOp>(loc, pair, lowering.constantI32(index)));
    }
    return elements;
  }
  for (Value word : words)
    for (int index = 0; index < format.perWord; ++index) {
      Value bits = word;
      if (index > 0)
        bits = builder.create<LLVM::LShrOp>(
            loc, bits, lowering.constantInt(word.getType(), index * format.elementBits));
      if (bits.getType() != elementType)
        bits = builder.create<LLVM::TruncOp>(loc, elementType, bits);
      if (registerType.isInteger(1))
        elements.push_back(builder.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, bits,
                                                        lowering.zero(elementType)));
      else
        elements.push_back(lowering.fromBits(bits, registerType));
    }
  return elements;
}

} // namespace tilewright::codegen
