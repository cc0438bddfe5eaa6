//===- SemanticElements.cpp - Code of the user on elements ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: tl.map_elementwise, tl.inline_asm_elementwise and the functions of
// libdevice.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

#include <algorithm>

namespace tilewright::semantic {

std::vector<Value> Semantic::broadcastAll(std::vector<Value> values) {
  if (values.empty())
    return values;
  Value common = values[0];
  for (const Value &value : values)
    common = broadcast(common, value).first;
  for (Value &value : values)
    value = broadcast(value, common).first;
  return values;
}

/// Threads hold elements by powers of two.
static int32_t checkedPack(int64_t pack, const char *name) {
  if (pack < 1 || pack > 32 || (pack & (pack - 1)))
    throwInvalidArgument("use a power of two from 1 to 32", "{}: pack is {}", name, pack);
  return static_cast<int32_t>(pack);
}

//===----------------------------------------------------------------------===//
// Functions of libraries
//===----------------------------------------------------------------------===//

Value Semantic::externCall(const std::string &symbol, const std::vector<Value> &operands,
                           const DType &result) {
  if (symbol.compare(0, 5, "__nv_") != 0)
    throwUnsupportedType("name a function of libdevice (__nv_...)",
                         "'{}' is not a function of libdevice", symbol);
  if (operands.empty())
    throwInvalidArgument("pass the operands of the function", "'{}' needs operands", symbol);
  return builder.externCall(symbol, broadcastAll(operands), result);
}

//===----------------------------------------------------------------------===//
// Functions of scalars
//===----------------------------------------------------------------------===//

std::vector<Value> Semantic::mapElements(const std::vector<Value> &inputs, int64_t packArgument,
                                         const MapFunction &function) {
  int32_t pack = checkedPack(packArgument, "tl.map_elementwise");
  if (inputs.empty())
    throwInvalidArgument("pass the tensors whose elements the function takes",
                         "tl.map_elementwise needs at least one tensor");
  auto checked = [&](const std::vector<Value> &elements) {
    std::vector<Value> results = function(elements);
    for (const Value &result : results)
      if (result.type.isTile())
        throwInvalidShape("the function computes with scalars and returns scalars",
                          "tl.map_elementwise: the function returned {}", result.type.name());
    if (results.empty() || results.size() % pack != 0)
      throwInvalidArgument("return one element of each result for each element of a group",
                           "tl.map_elementwise: the function returned {} values with pack={}",
                           results.size(), pack);
    return results;
  };
  std::vector<Value> tiles = broadcastAll(inputs);
  if (tiles[0].type.isTile()) {
    WithoutChecks mapping(checksOverflow);
    return builder.mapElements(tiles, pack, checked);
  }
  // Scalars are a group of copies.
  std::vector<Value> elements, results;
  for (const Value &input : tiles)
    elements.insert(elements.end(), pack, input);
  std::vector<Value> all = checked(elements);
  for (size_t i = 0; i < all.size(); i += pack)
    results.push_back(all[i]);
  return results;
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

/// Registers that a group of elements takes: one per 32 bits, or per element
/// where those are as wide or wider.
static int64_t registersOf(const DType &type, int64_t pack) {
  int64_t bits = std::max(type.bitWidth(), 8);
  return bits >= 32 ? pack : std::max<int64_t>(1, pack * bits / 32);
}

/// E0117 where the constraints are not one per register, outputs first, or mean nothing there.
static void checkConstraints(const std::string &constraints, int64_t outputs, int64_t inputs) {
  int64_t found[2] = {0, 0};
  size_t start = 0;
  while (start < constraints.size()) {
    size_t end = std::min(constraints.find(',', start), constraints.size());
    std::string entry = constraints.substr(start, end - start);
    start = end + 1;
    entry.erase(0, entry.find_first_not_of(' '));
    if (entry.empty() || entry[0] == '~') // clobbers
      continue;
    bool isOutput = entry[0] == '=';
    size_t first = entry.find_first_not_of("=&");
    char letter = first == std::string::npos ? ' ' : entry[first];
    constexpr std::string_view registers = "bchrlfd", immediates = "in";
    bool isRegister = registers.find(letter) != std::string_view::npos;
    bool isImmediate = immediates.find(letter) != std::string_view::npos;
    bool isTied = letter >= '0' && letter <= '9';
    if (!isRegister && !isImmediate && !isTied)
      throwInvalidArgument("use h, r, l for integer registers of 16, 32 and 64 bits, f and d for "
                           "floats, n for constants",
                           "tl.inline_asm_elementwise: constraint '{}' is not known", entry);
    if (isOutput && !isRegister)
      throwInvalidArgument("use h, r, l, f or d",
                           "tl.inline_asm_elementwise: output '{}' names no register", entry);
    if (isTied && letter - '0' >= found[0])
      throwInvalidArgument("count outputs from 0",
                           "tl.inline_asm_elementwise: input '{}' names none of the {} outputs",
                           entry, found[0]);
    ++found[isOutput ? 0 : 1];
  }
  if (found[0] != outputs || found[1] != inputs)
    throwInvalidArgument("a group of `pack` elements takes one register per 32 bits, outputs first",
                         "tl.inline_asm_elementwise: constraints '{}' name {} outputs and {} "
                         "inputs; {} and {} are needed",
                         constraints, found[0], found[1], outputs, inputs);
}

std::vector<Value> Semantic::inlineAsm(const std::string &assembly, const std::string &constraints,
                                       const std::vector<Value> &inputs,
                                       const std::vector<DType> &results, bool isPure,
                                       int64_t packArgument) {
  InlineAsm code{assembly, constraints, checkedPack(packArgument, "tl.inline_asm_elementwise"),
                 isPure};
  int64_t outputRegisters = 0, inputRegisters = 0;
  for (const DType &type : results)
    outputRegisters += registersOf(type, code.pack);
  for (const Value &input : inputs)
    inputRegisters += registersOf(input.type.scalar, code.pack);
  checkConstraints(constraints, outputRegisters, inputRegisters);
  std::vector<Value> tiles = broadcastAll(inputs);
  return builder.inlineAsm(code, tiles, results,
                           tiles.empty() ? std::vector<int64_t>() : tiles[0].type.shape);
}

} // namespace tilewright::semantic
