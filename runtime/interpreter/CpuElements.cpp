//===- CpuElements.cpp - Code of the user on elements of CPU tiles --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: map_elementwise, one call of the function per group of elements, and the
// refusal of inline assembly.
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CpuTileBuilder.h"

#include <algorithm>

namespace tilewright::interpreter {

std::vector<Value> CpuTileBuilder::mapElements(const std::vector<Value> &inputs, int pack,
                                               const semantic::MapFunction &function) {
  // What the function does depends on its elements: no recording can repeat it.
  valueWasRead();
  int64_t count = countOf(inputs[0]);
  std::vector<NewTile> outputs;
  for (int64_t start = 0; start < count; start += pack) {
    std::vector<Value> elements;
    for (const Value &input : inputs)
      for (int k = 0; k < pack; ++k)
        elements.push_back(elementAt(input, std::min(start + k, count - 1)));
    std::vector<Value> results = function(elements);
    if (outputs.empty())
      for (size_t i = 0; i < results.size(); i += pack)
        outputs.emplace_back(results[i].type.withShape(inputs[0].type.shape));
    for (size_t i = 0; i < results.size(); ++i) {
      NewTile &output = outputs[i / pack];
      int64_t position = start + static_cast<int64_t>(i % pack);
      if (results[i].type.scalar != output.value.type.scalar) {
        std::string message =
            fmt::format("tl.map_elementwise: the function returned {} and {}",
                        output.value.type.scalar.name(), results[i].type.scalar.name());
        throw makeError(ErrorCode::E0116, fmt::arg("message", message),
                        fmt::arg("help", "cast the results to one type"));
      }
      if (position >= count)
        continue;
      int size = elementSize(output.value.type.scalar.kind());
      std::memcpy(output.elements<char>() + position * size, elementsOf<char>(results[i]), size);
      output.tile().allocation = tileOf(results[i]).allocation;
    }
  }
  std::vector<Value> values;
  for (NewTile &output : outputs)
    values.push_back(std::move(output.value));
  return values;
}

std::vector<Value> CpuTileBuilder::inlineAsm(const semantic::InlineAsm &,
                                             const std::vector<Value> &, const std::vector<DType> &,
                                             const std::vector<int64_t> &) {
  throw makeError(ErrorCode::E0120,
                  fmt::arg("message", "inline assembly cannot run in the interpreter"),
                  fmt::arg("help", "run the kernel on a GPU, or pass a constexpr that selects the "
                                   "same computation in the language"));
}

} // namespace tilewright::interpreter
