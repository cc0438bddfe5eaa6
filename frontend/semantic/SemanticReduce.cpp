//===- SemanticReduce.cpp - Reductions and scans --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

namespace tilewright::semantic {

static void checkInputs(const std::vector<Value> &inputs, const char *name) {
  if (inputs.empty())
    throwInvalidArgument("pass a tile or a tuple of tiles", "tl.{} has no input", name);
  for (const Value &input : inputs) {
    if (!input.type.isTile())
      throwInvalidShape("only tiles have an axis", "tl.{} needs a tile, got {}", name,
                        input.type.name());
    if (input.type.shape != inputs[0].type.shape)
      throwInvalidShape("broadcast them to one shape first",
                        "tl.{}: the inputs have the shapes {} and {}", name,
                        shapeName(inputs[0].type.shape), shapeName(input.type.shape));
  }
}

/// The user's function with a check of what it returns: the partial results must
/// have the inputs' types, for they are inputs of the next step.
static CombineFunction checkedCombine(const std::vector<Value> &inputs,
                                      const CombineFunction &combine, const char *name) {
  std::vector<DType> types;
  for (const Value &input : inputs)
    types.push_back(input.type.scalar);
  std::string functionName = name;
  return
      [types, combine, functionName](const std::vector<Value> &lhs, const std::vector<Value> &rhs) {
        std::vector<Value> results = combine(lhs, rhs);
        if (results.size() != types.size())
          throwTypeMismatch("return one value per input",
                            "tl.{}: the combine function returns {} values for {} inputs",
                            functionName, results.size(), types.size());
        for (size_t i = 0; i < types.size(); ++i)
          if (results[i].type.scalar != types[i])
            throwTypeMismatch("cast the input or the result to one type",
                              "tl.{}: the combine function returns {} for an input of {}",
                              functionName, results[i].type.scalar.name(), types[i].name());
        return results;
      };
}

std::vector<Value> Semantic::reduce(std::vector<Value> inputs, std::optional<int64_t> axis,
                                    const CombineFunction &combine, bool keepDims) {
  checkInputs(inputs, "reduce");
  int rank = inputs[0].type.rank();
  int position = 0;
  if (axis) {
    position = normalizeAxis(*axis, rank);
  } else if (rank > 1) {
    // The order of a full reduction is open, so the layout may stay.
    for (Value &input : inputs)
      input = builder.reshape(input, {input.type.numElements()}, /*mayReorder=*/true);
  }
  WithoutChecks combining(checksOverflow);
  std::vector<Value> results =
      builder.reduce(inputs, position, checkedCombine(inputs, combine, "reduce"));
  if (!keepDims)
    return results;
  for (Value &result : results) {
    if (axis)
      result = expandDims(result, position);
    else
      for (int i = 0; i < rank; ++i)
        result = expandDims(result, 0);
  }
  return results;
}

std::vector<Value> Semantic::scan(std::vector<Value> inputs, int64_t axis, bool reverse,
                                  const CombineFunction &combine) {
  checkInputs(inputs, "associative_scan");
  int position = normalizeAxis(axis, inputs[0].type.rank());
  WithoutChecks combining(checksOverflow);
  return builder.scan(inputs, position, reverse,
                      checkedCombine(inputs, combine, "associative_scan"));
}

} // namespace tilewright::semantic
