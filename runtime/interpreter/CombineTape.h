//===- CombineTape.h - A combine function, recorded -------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a reduction calls its combine function once per level of a tree, and
// that function is usually Python. The first call is recorded as the list of
// primitives it performed; the other levels replay the list in C++.
//
// A recording cannot be used if the function looked at a value (a branch),
// touched memory, printed or asserted, or made tiles of its own. Then each level
// calls the function. A function that branches on its operands, which are
// scalars for the compiler, is called element by element.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_INTERPRETER_COMBINETAPE_H
#define TILEWRIGHT_RUNTIME_INTERPRETER_COMBINETAPE_H

#include "frontend/semantic/TileBuilder.h"
#include "runtime/interpreter/Tile.h"

#include <initializer_list>
#include <unordered_map>

namespace tilewright::interpreter {

class CpuTileBuilder;

class CombineTape {
public:
  enum class Primitive { Unary, Binary, Compare, Select, Fma, Cast, Splat };

  /// Starts a recording with these values as slots 0, 1, ...
  void start(const std::vector<Value> &lhs, const std::vector<Value> &rhs);
  /// Called by the builder after each primitive.
  void note(Primitive primitive, int op, std::initializer_list<const Value *> operands,
            const Value &result, semantic::Rounding rounding);
  void invalidate() { usable = false; }
  /// Ends the recording with the function's results.
  void finish(const std::vector<Value> &results);
  bool canReplay() const { return finished && usable; }
  /// The operation where the function is nothing but `lhs op rhs`.
  std::optional<semantic::BinaryOp> singleBinary() const;

  std::vector<Value> replay(CpuTileBuilder &builder, const std::vector<Value> &lhs,
                            const std::vector<Value> &rhs) const;

private:
  /// A value of the tape as an operand: slots share storage under other types.
  struct Use {
    int slot = 0;
    DType type;
    bool isTile = false;
  };
  struct Step {
    Primitive primitive;
    int op;
    std::vector<Use> operands;
    Use result;
    semantic::Rounding rounding;
  };
  Use use(const Value &value);
  Value perform(CpuTileBuilder &builder, const Step &step, const std::vector<Value> &slots,
                const std::vector<int64_t> &shape) const;

  std::unordered_map<const void *, int> slotOf;
  std::vector<Value> values; // by slot; keeps recorded storage alive, so addresses stay unique
  std::vector<bool> isConstant;
  std::vector<Step> steps;
  std::vector<Use> results;
  std::vector<int64_t> recordedShape;
  bool usable = true, finished = false;
};

/// A combine function that is called as seldom as its recording allows.
class RecordedCombine {
public:
  RecordedCombine(CpuTileBuilder &builder, const semantic::CombineFunction &function)
      : builder(builder), function(function) {}
  std::vector<Value> operator()(const std::vector<Value> &lhs, const std::vector<Value> &rhs);

  /// The operation that the function was found to be, after a first call.
  std::optional<semantic::BinaryOp> singleBinary() const {
    return perElement ? std::nullopt : tape.singleBinary();
  }

private:
  std::vector<Value> callRecorded(const std::vector<Value> &lhs, const std::vector<Value> &rhs);
  std::vector<Value> callPerElement(const std::vector<Value> &lhs, const std::vector<Value> &rhs);

  CpuTileBuilder &builder;
  const semantic::CombineFunction &function;
  CombineTape tape;
  bool perElement = false;
};

} // namespace tilewright::interpreter

#endif // TILEWRIGHT_RUNTIME_INTERPRETER_COMBINETAPE_H
