//===- ArgumentAccess.cpp - Which arguments a kernel writes ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/ArgumentAccess.h"

#include "ir/dialect/ParameterAttr.h"
#include "ir/dialect/TileDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::codegen {

/// A pointer, a tile of pointers, or a descriptor of memory.
static bool isAddress(Type type) {
  return llvm::isa<ir::PointerType, ir::DescriptorType>(getElementTypeOrSelf(type));
}

namespace {

/// Follows addresses back to the arguments of the function.
class BaseFinder {
public:
  /// Adds the arguments that `address` may come from; false where it may come from
  /// somewhere else.
  bool follow(Value address, llvm::DenseSet<unsigned> &bases) {
    if (!visited.insert(address).second)
      return true;
    if (auto argument = llvm::dyn_cast<BlockArgument>(address))
      return followBlockArgument(argument, bases);
    Operation *op = address.getDefiningOp();
    unsigned number = llvm::cast<OpResult>(address).getResultNumber();
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      return follow(loop.getInitArgs()[number], bases) &&
             follow(loop.getYieldedValues()[number], bases);
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op))
      return branch.elseBlock() && follow(branch.thenYield().getOperand(number), bases) &&
             follow(branch.elseYield().getOperand(number), bases);
    // Address arithmetic and selections have the base among their operands; what
    // has none (a load, a cast from an integer) hides it.
    if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
      return false;
    bool found = false;
    for (Value operand : op->getOperands())
      if (isAddress(operand.getType())) {
        found = true;
        if (!follow(operand, bases))
          return false;
      }
    return found;
  }

private:
  bool followBlockArgument(BlockArgument argument, llvm::DenseSet<unsigned> &bases) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = llvm::dyn_cast<func::FuncOp>(parent)) {
      // A descriptor that the launch makes is one of another argument's array.
      auto recipe =
          function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), ir::tensorMapAttr);
      bases.insert(recipe ? recipe.getAs<IntegerAttr>("base").getInt() : argument.getArgNumber());
      return true;
    }
    auto loop = llvm::dyn_cast<scf::ForOp>(parent);
    if (!loop || argument.getArgNumber() == 0)
      return false;
    unsigned number = argument.getArgNumber() - 1; // after the induction variable
    return follow(loop.getInitArgs()[number], bases) &&
           follow(loop.getYieldedValues()[number], bases);
  }

  llvm::DenseSet<Value> visited;
};

struct Flags {
  bool written = false, read = false;
};

} // namespace

/// What an operation may do to the memory behind its addresses.
static Flags effectsOf(Operation *op) {
  Flags flags;
  auto interface = llvm::dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return {true, true};
  flags.written = interface.hasEffect<MemoryEffects::Write>();
  flags.read = interface.hasEffect<MemoryEffects::Read>();
  // An atomic load is ordered as what writes, and changes nothing.
  if (auto atomic = llvm::dyn_cast<ir::AtomicRmwOp>(op))
    flags.written &= atomic.getKind() != ir::AtomicKind::load;
  // A reduction into memory reads what is there.
  if (auto store = llvm::dyn_cast<ir::DescriptorStoreOp>(op))
    flags.read |= store.getReduction().has_value();
  return flags;
}

std::string parameterName(BlockArgument argument) {
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto names = function->getAttrOfType<ArrayAttr>(ir::parametersAttr);
  unsigned number = argument.getArgNumber();
  return names && number < names.size() ? llvm::cast<StringAttr>(names[number]).str()
                                        : std::to_string(number);
}

std::string baseParameter(Value address) {
  llvm::DenseSet<unsigned> bases;
  if (!BaseFinder().follow(address, bases) || bases.size() != 1)
    return "";
  auto function = address.getParentRegion()->getParentOfType<func::FuncOp>();
  return parameterName(function.getArgument(*bases.begin()));
}

void nameAccesses(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!llvm::isa<ir::LoadOp, ir::StoreOp, ir::AtomicRmwOp, ir::AtomicCasOp>(op))
      return;
    std::string name = baseParameter(op->getOperand(0));
    if (!name.empty())
      op->setAttr(ir::accessedParameterAttr, StringAttr::get(op->getContext(), name));
  });
}

ArgumentAccess findArgumentAccess(ModuleOp module) {
  ArgumentAccess access;
  for (auto function : module.getOps<func::FuncOp>()) {
    std::vector<Flags> flags(function.getNumArguments());
    function.walk([&](Operation *op) {
      // Structured control flow only hands values on; its insides are walked, too.
      if (llvm::isa<func::FuncOp>(op) || op->getNumRegions() != 0 ||
          op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op))
        return;
      Flags effects = effectsOf(op);
      for (Value operand : op->getOperands()) {
        if (!isAddress(operand.getType()))
          continue;
        llvm::DenseSet<unsigned> bases;
        bool known = BaseFinder().follow(operand, bases);
        for (BlockArgument argument : function.getArguments())
          if (known ? bases.contains(argument.getArgNumber()) : isAddress(argument.getType())) {
            flags[argument.getArgNumber()].written |= effects.written;
            flags[argument.getArgNumber()].read |= effects.read;
          }
      }
    });
    auto add = [](std::vector<std::string> &names, std::string name) {
      if (names.empty() || names.back() != name) // a tuple has several arguments
        names.push_back(std::move(name));
    };
    for (unsigned i = 0; i < flags.size(); ++i) {
      std::string name = parameterName(function.getArgument(i));
      if (flags[i].written)
        add(access.written, name);
      if (flags[i].read)
        add(access.read, name);
    }
  }
  return access;
}

} // namespace tilewright::codegen
