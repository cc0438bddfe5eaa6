//===- CombineTape.cpp - A combine function, recorded ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/interpreter/CombineTape.h"
#include "runtime/interpreter/CpuTileBuilder.h"

#include <cstring>

namespace tilewright::interpreter {

using Values = std::vector<Value>;

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

void CombineTape::start(const Values &lhs, const Values &rhs) {
  *this = CombineTape();
  recordedShape = lhs[0].type.shape;
  for (const Values *side : {&lhs, &rhs})
    for (const Value &value : *side) {
      slotOf[value.handle.get()] = static_cast<int>(values.size());
      values.push_back(value);
      isConstant.push_back(false);
    }
}

/// The slot of a value that appears in the recording. A scalar that was not
/// made here is a constant; a tile from elsewhere cannot be scaled to other levels.
CombineTape::Use CombineTape::use(const Value &value) {
  auto [found, isNew] = slotOf.try_emplace(value.handle.get(), static_cast<int>(values.size()));
  if (isNew) {
    values.push_back(value);
    isConstant.push_back(true);
    if (value.type.isTile())
      invalidate();
  }
  if (value.type.isTile() && value.type.shape != recordedShape)
    invalidate();
  return {found->second, value.type.scalar, value.type.isTile()};
}

void CombineTape::note(Primitive primitive, int op, std::initializer_list<const Value *> operands,
                       const Value &result, semantic::Rounding rounding) {
  if (!usable)
    return;
  Step step{primitive, op, {}, {}, rounding};
  for (const Value *operand : operands)
    step.operands.push_back(use(*operand));
  step.result = {static_cast<int>(values.size()), result.type.scalar, result.type.isTile()};
  // A cast that only renames bits shares its operand's storage: no step needed.
  if (!slotOf.try_emplace(result.handle.get(), step.result.slot).second)
    return;
  values.push_back(result);
  isConstant.push_back(false);
  if (result.type.isTile() && result.type.shape != recordedShape)
    invalidate();
  steps.push_back(std::move(step));
}

void CombineTape::finish(const Values &functionResults) {
  for (const Value &value : functionResults)
    results.push_back(use(value));
  finished = true;
  if (!usable)
    return;
  // Only constants are read again.
  for (size_t slot = 0; slot < values.size(); ++slot)
    if (!isConstant[slot])
      values[slot] = Value();
  slotOf.clear();
}

std::optional<BinaryOp> CombineTape::singleBinary() const {
  if (!canReplay() || steps.size() != 1 || results.size() != 1)
    return std::nullopt;
  const Step &step = steps[0];
  bool isPlain = step.primitive == Primitive::Binary && results[0].slot == step.result.slot &&
                 step.operands[0].slot == 0 && step.operands[1].slot == 1;
  // A bitcast in between would make the types differ.
  bool sameType = step.operands[0].type == results[0].type && step.result.type == results[0].type;
  return isPlain && sameType ? std::optional(static_cast<BinaryOp>(step.op)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Replaying
//===----------------------------------------------------------------------===//

Value CombineTape::perform(CpuTileBuilder &builder, const Step &step, const Values &slots,
                           const std::vector<int64_t> &shape) const {
  Value operands[3];
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const Use &use = step.operands[i];
    Type type = use.isTile ? Type(use.type, shape) : Type(use.type);
    operands[i] = shareAs(slots[use.slot], std::move(type));
  }
  switch (step.primitive) {
  case Primitive::Unary:
    return builder.unary(static_cast<UnaryOp>(step.op), operands[0]);
  case Primitive::Binary:
    return builder.binary(static_cast<BinaryOp>(step.op), operands[0], operands[1]);
  case Primitive::Compare:
    return builder.compare(static_cast<ComparePredicate>(step.op), operands[0], operands[1]);
  case Primitive::Select:
    return builder.select(operands[0], operands[1], operands[2]);
  case Primitive::Fma:
    return builder.fma(operands[0], operands[1], operands[2]);
  case Primitive::Cast:
    return builder.cast(static_cast<CastOp>(step.op), operands[0], step.result.type, step.rounding);
  case Primitive::Splat:
    return builder.splat(operands[0], shape);
  }
  return {};
}

Values CombineTape::replay(CpuTileBuilder &builder, const Values &lhs, const Values &rhs) const {
  const std::vector<int64_t> &shape = lhs[0].type.shape;
  Values slots = values;
  std::copy(lhs.begin(), lhs.end(), slots.begin());
  std::copy(rhs.begin(), rhs.end(), slots.begin() + lhs.size());
  for (const Step &step : steps)
    slots[step.result.slot] = perform(builder, step, slots, shape);
  Values outputs;
  for (const Use &use : results)
    outputs.push_back(
        shareAs(slots[use.slot], use.isTile ? Type(use.type, shape) : Type(use.type)));
  return outputs;
}

//===----------------------------------------------------------------------===//
// Calling
//===----------------------------------------------------------------------===//

Values RecordedCombine::operator()(const Values &lhs, const Values &rhs) {
  if (perElement)
    return callPerElement(lhs, rhs);
  if (tape.canReplay())
    return tape.replay(builder, lhs, rhs);
  builder.branchedOnTile = false;
  try {
    return callRecorded(lhs, rhs);
  } catch (...) {
    if (!builder.branchedOnTile)
      throw;
    perElement = true;
  }
  return callPerElement(lhs, rhs);
}

Values RecordedCombine::callRecorded(const Values &lhs, const Values &rhs) {
  CombineTape *outer = builder.tape;
  if (outer)
    outer->invalidate(); // a reduction inside a combine function
  struct Restore {
    CpuTileBuilder &builder;
    CombineTape *outer;
    ~Restore() { builder.tape = outer; }
  } restore{builder, outer};
  tape.start(lhs, rhs);
  builder.tape = &tape;
  Values results = function(lhs, rhs);
  tape.finish(results);
  return results;
}

Values RecordedCombine::callPerElement(const Values &lhs, const Values &rhs) {
  std::vector<NewTile> outputs;
  for (const Value &value : lhs)
    outputs.emplace_back(value.type);
  for (int64_t i = 0, count = countOf(lhs[0]); i < count; ++i) {
    Values a, b;
    for (size_t k = 0; k < lhs.size(); ++k) {
      a.push_back(elementAt(lhs[k], i));
      b.push_back(elementAt(rhs[k], i));
    }
    Values results = function(a, b);
    for (size_t k = 0; k < lhs.size(); ++k) {
      int size = elementSize(lhs[k].type.scalar.kind());
      std::memcpy(outputs[k].elements<char>() + i * size, elementsOf<char>(results[k]), size);
    }
  }
  Values results;
  for (NewTile &output : outputs)
    results.push_back(std::move(output.value));
  return results;
}

} // namespace tilewright::interpreter
