//===- AxisInfo.cpp - Facts along each dimension, over the IR -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: one walk in program order. Control flow is structured, so a loop is a
// fixpoint of its own: its variables start with the facts of their initial
// values and are joined with what the body yields until nothing changes. All
// numbers are powers of two and only fall, so that takes few rounds; the general
// sparse framework would visit each op through a worklist instead.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AxisInfo.h"

#include "passes/analysis/RegionFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes {

/// A loop variable whose facts still fall after this many rounds (a divisibility
/// that halves each time) is given up. A guess.
constexpr int maxLoopRounds = 6;

int64_t powerOfTwoDivisor(int64_t value) {
  return value == 0 ? maxDivisibility : std::min(maxDivisibility, value & -value);
}

AxisInfo AxisInfo::unknown(Type type) {
  auto tile = llvm::dyn_cast<RankedTensorType>(type);
  size_t rank = tile ? std::max<int64_t>(1, tile.getRank()) : 1;
  AxisInfo info;
  info.contiguity.assign(rank, 1);
  info.divisibility.assign(rank, 1);
  info.constancy.assign(rank, 1);
  info.run.assign(rank, 1);
  return info;
}

AxisInfo AxisInfo::join(const AxisInfo &lhs, const AxisInfo &rhs) {
  AxisInfo result = lhs;
  for (int dim = 0; dim < lhs.rank(); ++dim) {
    int64_t contiguity = std::min(lhs.contiguity[dim], rhs.contiguity[dim]);
    // A shorter group has firsts that are not firsts of the longer one.
    auto divisibility = [&](const AxisInfo &info) {
      return info.contiguity[dim] == contiguity ? info.divisibility[dim]
                                                : std::min(info.divisibility[dim], contiguity);
    };
    result.divisibility[dim] = std::min(divisibility(lhs), divisibility(rhs));
    result.contiguity[dim] = contiguity;
    result.constancy[dim] = std::min(lhs.constancy[dim], rhs.constancy[dim]);
    result.run[dim] = std::min(lhs.run[dim], rhs.run[dim]);
  }
  if (lhs.constant != rhs.constant)
    result.constant.reset();
  result.nonNegative = lhs.nonNegative && rhs.nonNegative;
  return result;
}

bool AxisInfo::operator==(const AxisInfo &other) const {
  return contiguity == other.contiguity && divisibility == other.divisibility &&
         constancy == other.constancy && run == other.run && constant == other.constant &&
         nonNegative == other.nonNegative;
}

std::string AxisInfo::toString() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto list = [&](const char *name, llvm::ArrayRef<int64_t> numbers) {
    stream << name << " = [";
    llvm::interleaveComma(numbers, stream);
    stream << "]";
  };
  list("contiguity", contiguity);
  list(", divisibility", divisibility);
  list(", constancy", constancy);
  if (constant)
    stream << ", constant = " << *constant;
  return text;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

AxisAnalysis::AxisAnalysis(func::FuncOp function) {
  if (function.isExternal())
    return;
  for (BlockArgument argument : function.getArguments()) {
    AxisInfo info = AxisInfo::unknown(argument.getType());
    if (auto attr =
            function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), ir::divisibilityAttr))
      info.divisibility[0] = powerOfTwoDivisor(attr.getInt());
    facts[argument] = info;
  }
  for (Block &block : function.getBody())
    visitBlock(block);
}

AxisInfo AxisAnalysis::get(Value value) const {
  auto found = facts.find(value);
  return found == facts.end() ? AxisInfo::unknown(value.getType()) : found->second;
}

void AxisAnalysis::copy(Value original, Value value) { facts[value] = get(original); }

void AxisAnalysis::visitBlock(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void AxisAnalysis::visit(Operation *op) {
  if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (auto loop = llvm::dyn_cast<scf::WhileOp>(op))
    return visitWhile(loop);
  if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
    return visitIf(branch);
  if (op->getNumResults() == 0)
    return;
  // Combine regions hold scalars that no access uses; other regions are unknown.
  if (op->getNumRegions() != 0 || op->getNumResults() != 1) {
    for (Value result : op->getResults())
      facts[result] = AxisInfo::unknown(result.getType());
    if (auto split = llvm::dyn_cast<ir::SplitOp>(op)) {
      // What holds along a dimension holds in both halves.
      AxisInfo info = get(split.getSource());
      for (auto *list : {&info.contiguity, &info.divisibility, &info.constancy, &info.run})
        list->pop_back();
      if (info.rank() > 0)
        facts[split.getLhs()] = facts[split.getRhs()] = info;
    }
    return;
  }
  llvm::SmallVector<AxisInfo, 3> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  facts[op->getResult(0)] = transferAxisInfo(op, operands);
}

// Loops are walked by hand: what holds for a variable is joined over rounds, while RegionFlow
// says where values go and not when, and the index of scf.for comes from no operand.
void AxisAnalysis::visitFor(scf::ForOp loop) {
  AxisInfo index = AxisInfo::unknown(loop.getInductionVar().getType());
  AxisInfo lower = get(loop.getLowerBound()), step = get(loop.getStep());
  index.divisibility[0] = std::min(lower.divisibility[0], step.divisibility[0]);
  index.nonNegative = lower.nonNegative;
  facts[loop.getInductionVar()] = index;

  llvm::SmallVector<AxisInfo> variables;
  for (Value init : loop.getInitArgs())
    variables.push_back(get(init));
  for (int round = 0;; ++round) {
    for (auto [argument, info] : llvm::zip(loop.getRegionIterArgs(), variables))
      facts[argument] = round < maxLoopRounds ? info : AxisInfo::unknown(argument.getType());
    visitBlock(*loop.getBody());
    bool changed = false;
    for (auto [yielded, argument, info] : llvm::zip(loop.getBody()->getTerminator()->getOperands(),
                                                    loop.getRegionIterArgs(), variables)) {
      info = AxisInfo::join(facts[argument], get(yielded));
      changed |= info != facts[argument];
    }
    if (!changed || round >= maxLoopRounds)
      break;
  }
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    facts[result] = AxisInfo(facts[argument]);
}

void AxisAnalysis::visitWhile(scf::WhileOp loop) {
  llvm::SmallVector<AxisInfo> variables;
  for (Value init : loop.getInits())
    variables.push_back(get(init));
  for (int round = 0;; ++round) {
    for (auto [argument, info] : llvm::zip(loop.getBeforeArguments(), variables))
      facts[argument] = round < maxLoopRounds ? info : AxisInfo::unknown(argument.getType());
    visitBlock(*loop.getBeforeBody());
    for (auto [argument, passed] :
         llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs()))
      facts[argument] = AxisInfo(get(passed));
    visitBlock(*loop.getAfterBody());
    bool changed = false;
    for (auto [yielded, argument, info] :
         llvm::zip(loop.getYieldOp()->getOperands(), loop.getBeforeArguments(), variables)) {
      info = AxisInfo::join(facts[argument], get(yielded));
      changed |= info != facts[argument];
    }
    if (!changed || round >= maxLoopRounds)
      break;
  }
  for (auto [result, passed] : llvm::zip(loop.getResults(), loop.getConditionOp().getArgs()))
    facts[result] = AxisInfo(get(passed));
}

void AxisAnalysis::visitIf(scf::IfOp branch) {
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
    for (Block &block : *region)
      visitBlock(block);
  for (Value result : branch.getResults()) {
    llvm::SmallVector<Value> sources;
    carriedFrom(result, sources);
    AxisInfo info = get(sources.front());
    for (Value source : llvm::drop_begin(sources))
      info = AxisInfo::join(info, get(source));
    facts[result] = info;
  }
}

} // namespace tilewright::passes
