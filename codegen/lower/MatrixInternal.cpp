//===- MatrixInternal.cpp - Tiles as operands of matrix PTX ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/lower/MatrixInternal.h"

#include "codegen/lower/MemoryInternal.h"

using namespace mlir;

namespace tilewright::codegen {

//===--- words ------------------------------------------------------------===//

int elementsPerWord(Type registerType) {
  return std::max(1, 32 / static_cast<int>(FunctionLowering::bitWidth(registerType)));
}

Registers packForMatrix(FunctionLowering &lowering, llvm::ArrayRef<Value> registers) {
  Type type = registers.front().getType();
  if (elementsPerWord(type) == 1)
    return Registers(registers);
  return packWords(lowering,
                   WordFormat(FunctionLowering::bitWidth(type), static_cast<int>(registers.size())),
                   registers);
}

Registers unpackFromMatrix(FunctionLowering &lowering, llvm::ArrayRef<Value> words,
                           Type registerType) {
  int perWord = elementsPerWord(registerType);
  if (perWord == 1)
    return Registers(words);
  WordFormat format(FunctionLowering::bitWidth(registerType),
                    static_cast<int>(words.size()) * perWord);
  return unpackWords(lowering, format, words, registerType);
}

const char *constraintOf(Type type) {
  if (type.isF32())
    return "f";
  if (type.isF64())
    return "d";
  return FunctionLowering::bitWidth(type) == 64 ? "l" : "r";
}

//===--- inline assembly --------------------------------------------------===//

void AsmBuilder::addResults(llvm::ArrayRef<Type> types) {
  for (Type type : types) {
    // Early clobber: the text writes results before it has read every input.
    constraints += std::string(results.empty() ? "=&" : ",=&") + constraintOf(type);
    results.push_back(type);
  }
}

void AsmBuilder::addTiedResults(llvm::ArrayRef<Value> values) {
  for (Value value : values) {
    tiedConstraints += "," + std::to_string(results.size());
    addResults(value.getType());
    tied.push_back(value);
  }
}

std::string AsmBuilder::addInput(Value value) {
  inputs.push_back(value);
  return "$" + std::to_string(results.size() + tied.size() + inputs.size() - 1);
}

std::string AsmBuilder::operandList(size_t first, size_t count) {
  std::string list = "{";
  for (size_t index = 0; index < count; ++index)
    list += (index ? ", $" : "$") + std::to_string(first + index);
  return list + "}";
}

void AsmBuilder::line(const llvm::Twine &instruction) { text += instruction.str() + "\n\t"; }

Registers AsmBuilder::finish() {
  std::string all = constraints + tiedConstraints;
  llvm::SmallVector<Value> operands(tied);
  for (Value input : inputs) {
    all += std::string(all.empty() ? "" : ",") + constraintOf(input.getType());
    operands.push_back(input);
  }
  // Matrix instructions read shared memory, and nothing may move across them.
  all += all.empty() ? "~{memory}" : ",~{memory}";
  return lowering.inlineAsmResults(results, operands, text, all,
                                   /*hasSideEffects=*/true);
}

} // namespace tilewright::codegen
