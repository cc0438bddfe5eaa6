//===- AliasInfo.cpp - Which memory a pointer may point into --------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How: follows each pointer back over pointer operands and loop variables to its
// sources, with a worklist per query.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/AliasInfo.h"

#include "passes/analysis/RegionFlow.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

namespace tilewright::passes {

static bool isPointer(Value value) {
  return llvm::isa<ir::PointerType, ir::DescriptorType>(getElementTypeOrSelf(value));
}

/// The argument that names the array behind `argument`: a descriptor's is the one
/// with its base, where the kernel takes that, too.
static Value arrayOf(BlockArgument argument) {
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  int64_t index = argument.getArgNumber();
  if (!llvm::isa<ir::DescriptorType>(argument.getType()))
    return argument;
  if (auto recipe = function.getArgAttrOfType<DictionaryAttr>(index, ir::tensorMapAttr))
    return function.getArgument(recipe.getAs<IntegerAttr>("base").getInt());
  for (BlockArgument other : function.getArguments())
    if (auto of =
            function.getArgAttrOfType<IntegerAttr>(other.getArgNumber(), ir::descriptorBaseAttr);
        of && of.getInt() == index)
      return other;
  return argument;
}

AliasInfo::AliasInfo(ModuleOp module)
    : module(module), argumentsOverlap(module->hasAttr(ir::argumentsOverlapAttr)) {}

bool AliasInfo::mayAliasAcrossThreads(Value lhs, Value rhs) {
  // Copies: the second query may move what the first one's reference refers to.
  PointerBases first = bases(lhs);
  const PointerBases &second = bases(rhs);
  if (first.anywhere || second.anywhere)
    return true;
  // Without an argument it is a null pointer, which nothing is accessed through.
  if (argumentsOverlap)
    return !first.arguments.empty() && !second.arguments.empty();
  return llvm::any_of(first.arguments,
                      [&](Value argument) { return second.arguments.contains(argument); });
}

bool AliasInfo::mayAlias(Value lhs, Value rhs) {
  if (mayAliasAcrossThreads(lhs, rhs))
    return true;
  if (!argumentsOverlap)
    module->setAttr(ir::needsDistinctArgumentsAttr, UnitAttr::get(module.getContext()));
  return false;
}

const PointerBases &AliasInfo::bases(Value pointer) {
  if (auto found = known.find(pointer); found != known.end())
    return found->second;
  PointerBases bases;
  llvm::SmallPtrSet<Value, 8> seen;
  llvm::SmallVector<Value> worklist = {pointer};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    if (argument && llvm::isa<func::FuncOp>(argument.getOwner()->getParentOp())) {
      bases.arguments.insert(arrayOf(argument));
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (argument || op->getNumRegions() != 0) {
      bases.anywhere |= !carriedFrom(value, worklist);
      continue;
    }
    // What a variable is before anything was assigned to it.
    if (auto null = llvm::dyn_cast<ir::IntToPtrOp>(op);
        null && matchPattern(null.getSource(), m_Zero()))
      continue;
    // Pointers come from pointers, unless loaded or made from an integer.
    auto operands = llvm::make_filter_range(op->getOperands(), isPointer);
    if (op->getNumOperands() == 0 || operands.empty() || !isMemoryEffectFree(op))
      bases.anywhere = true;
    else
      worklist.append(operands.begin(), operands.end());
  }
  return known[pointer] = std::move(bases);
}

} // namespace tilewright::passes
