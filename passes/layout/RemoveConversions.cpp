//===- RemoveConversions.cpp - Fewer layout conversions -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: removes or cheapens conversions that AssignLayouts left because it looks
// at one op at a time.
//
// How:
//  1. loop variables: where a variable of a loop is converted inside the loop to
//     one layout by all its users, or on the way round, it takes that layout; the
//     conversions move before the loop and after it.
//  2. folding: conversions of conversions, of cheap values and of broadcasts and
//     widening casts (TileMaterializer) are redone on what they come from.
//  3. sinking: a conversion whose only user narrows the value (truncation)
//     happens after it, on fewer bits.
//  4. loading: what all users of a load, or of what is computed from loads, want in one
//     layout is loaded in it where that costs less (LoadsAsUsed).
//  5. raising: in a loop, what an elementwise op makes is converted by way of its operands
//     where that is less work per iteration, as where all but a row come from outside.
//  6. waiting: outside of loops, a conversion or what is computed from one loaded tile
//     follows later loads, or a loop or a branch that loads, if it is needed only after them.
//     Its barrier, or its need of what was loaded, would keep them from starting together.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/layout/LoadsAsUsed.h"
#include "passes/layout/LoopRaiser.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_REMOVECONVERSIONS
#include "passes/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// 1. Loop variables
//===----------------------------------------------------------------------===//

/// The layout in which all users of `value` want it, null where they differ or one
/// takes it as it is; the yield that carries a loop variable on does not count.
ir::LayoutAttr layoutOfUsers(Value value, const OpOperand *yielded = nullptr) {
  ir::LayoutAttr wanted;
  for (OpOperand &use : value.getUses()) {
    if (&use == yielded)
      continue;
    auto convert = llvm::dyn_cast<ir::ConvertLayoutOp>(use.getOwner());
    if (!convert || (wanted && layoutOf(convert.getResult()) != wanted))
      return {};
    wanted = layoutOf(convert.getResult());
  }
  return wanted;
}

/// Conversions per iteration that go away if variable `index` takes `layout`,
/// less those that come.
bool shouldRetype(BlockArgument argument, OpOperand &yielded, ir::LayoutAttr layout) {
  int saved = layoutOfUsers(argument, &yielded) == layout ? 1 : 0;
  if (auto convert = yielded.get().getDefiningOp<ir::ConvertLayoutOp>();
      convert && layoutOf(convert.getSource()) == layout)
    ++saved;
  else if (yielded.get() != argument)
    --saved;
  return saved > 0;
}

void retypeVariable(scf::ForOp loop, unsigned index, ir::LayoutAttr layout) {
  BlockArgument argument = loop.getRegionIterArg(index);
  OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(index);
  OpOperand &init = loop.getInitArgsMutable()[index];
  Value result = loop.getResult(index);
  ir::LayoutAttr old = layoutOf(argument);

  init.set(convertBefore(loop, init.get(), layout));
  if (yielded.get() != argument)
    yielded.set(convertBefore(yielded.getOwner(), yielded.get(), layout));
  setLayout(argument, layout);
  setLayout(result, layout);
  // Whoever knew the old layout gets it by conversion; folding removes most.
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  auto restore = [&](Value value) {
    auto convert = builder.create<ir::ConvertLayoutOp>(value.getLoc(),
                                                       ir::withLayout(tileType(value), old), value);
    value.replaceUsesWithIf(
        convert, [&](OpOperand &use) { return use.getOwner() != convert && &use != &yielded; });
  };
  restore(argument);
  builder.setInsertionPointAfter(loop);
  restore(result);
}

struct LoopVariables {
  int moved = 0, refused = 0;
};

LoopVariables retypeLoopVariables(scf::ForOp loop) {
  LoopVariables variables;
  for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index) {
    BlockArgument argument = loop.getRegionIterArg(index);
    if (!isTile(argument))
      continue;
    OpOperand &yielded = loop.getBody()->getTerminator()->getOpOperand(index);
    llvm::SmallVector<ir::LayoutAttr, 2> candidates;
    if (auto convert = yielded.get().getDefiningOp<ir::ConvertLayoutOp>())
      candidates.push_back(layoutOf(convert.getSource()));
    if (ir::LayoutAttr users = layoutOfUsers(argument, &yielded))
      candidates.push_back(users);
    llvm::erase(candidates, layoutOf(argument));
    auto *chosen = llvm::find_if(
        candidates, [&](ir::LayoutAttr layout) { return shouldRetype(argument, yielded, layout); });
    if (chosen != candidates.end()) {
      retypeVariable(loop, index, *chosen);
      ++variables.moved;
    } else {
      variables.refused += !candidates.empty();
    }
  }
  return variables;
}

//===----------------------------------------------------------------------===//
// 2. and 3. Folding and sinking
//===----------------------------------------------------------------------===//

/// Moves a conversion before a narrowing cast to after it.
bool sinkAfterNarrowing(ir::ConvertLayoutOp convert) {
  if (!convert->hasOneUse())
    return false;
  Operation *user = *convert->getUsers().begin();
  if (user->getNumOperands() != 1 || user->getNumResults() != 1 || !ir::isElementwise(user) ||
      user->getBlock() != convert->getBlock())
    return false;
  Value narrow = user->getResult(0);
  if (ir::elementBits(getElementTypeOrSelf(narrow)) >=
      ir::elementBits(getElementTypeOrSelf(convert.getSource())))
    return false;
  ir::LayoutAttr layout = layoutOf(narrow);
  user->setOperand(0, convert.getSource());
  setLayout(narrow, layoutOf(convert.getSource()));
  OpBuilder builder(user->getContext());
  builder.setInsertionPointAfter(user);
  auto after = builder.create<ir::ConvertLayoutOp>(
      convert.getLoc(), ir::withLayout(tileType(narrow), layout), narrow);
  narrow.replaceAllUsesExcept(after, after);
  convert.erase();
  return true;
}

/// Erases `op` and then whatever only it used.
void eraseWithInputs(Operation *op, int &removed) {
  llvm::SmallVector<Value> operands(op->getOperands());
  removed += llvm::isa<ir::ConvertLayoutOp>(op);
  op->erase();
  for (Value operand : operands)
    if (Operation *producer = operand.getDefiningOp();
        producer && producer->getNumRegions() == 0 && isOpTriviallyDead(producer))
      eraseWithInputs(producer, removed);
}

class RemoveConversionsPass : public impl::RemoveConversionsBase<RemoveConversionsPass> {
public:
  explicit RemoveConversionsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) {
      auto [moved, refused] = retypeLoopVariables(loop);
      numMoved += moved;
      numRefused += refused;
      if (moved)
        context.remark(loop, {"loop-variable-layout",
                              true,
                              {},
                              {{"variables", moved}},
                              "conversions moved out of the loop"});
    });
    getOperation().walk([&](func::FuncOp function) { raiseInLoops(function); });
    foldConversions();
    getOperation().walk([&](func::FuncOp function) {
      LoadsAsUsed loads(function, context);
      loads.run();
      numRemoved += loads.numRemoved();
      numRefused += loads.numRefused();
      moveAfterLoads(function);
    });
  }

private:
  PassContext context;

  void raiseInLoops(func::FuncOp function) {
    // A conversion of a conversion is one of its source afterwards, which can be raised as well.
    while (true) {
      llvm::SmallVector<ir::ConvertLayoutOp> converts;
      function.walk([&](ir::ConvertLayoutOp convert) {
        if (convert->getParentOfType<LoopLikeOpInterface>())
          converts.push_back(convert);
      });
      if (converts.empty() || !raiseAll(function, converts))
        return;
      eraseDead(function);
    }
  }

  bool raiseAll(func::FuncOp function, llvm::ArrayRef<ir::ConvertLayoutOp> converts) {
    llvm::DenseSet<Value> copiedAhead;
    AxisAnalysis axes(function);
    function.walk([&](ir::LoadOp load) {
      if (canBeCopiedAhead(load, axes, context.target))
        copiedAhead.insert(load.getResult());
    });
    function.walk([&](ir::DescriptorLoadOp load) {
      if (llvm::isa<scf::ForOp>(load->getParentOp()))
        copiedAhead.insert(load.getResult());
    });
    TileMaterializer materializer;
    bool changed = false;
    for (ir::ConvertLayoutOp convert : llvm::reverse(converts)) {
      auto loop = convert->getParentOfType<LoopLikeOpInterface>();
      changed |= raise(convert, LoopRaiser(loop, copiedAhead, materializer));
    }
    return changed;
  }

  bool raise(ir::ConvertLayoutOp convert, LoopRaiser raiser) {
    if (!raiser.shouldRaise(convert))
      return false;
    context.remark(convert, {"conversion-raised",
                             true,
                             {},
                             {{"bytes", tileBytes(tileType(convert.getResult()))}},
                             "its operands are less work per iteration"});
    raiser.raise(convert);
    ++numMoved;
    return true;
  }

  void moveAfterLoads(func::FuncOp function) {
    llvm::SmallVector<Operation *> waiting;
    // The one load that a tile is computed from, in as many bits at least: to hold what was
    // loaded instead takes no more registers.
    llvm::DenseMap<Value, Value> origins;
    TileMaterializer materializer;
    function.walk([&](Operation *op) {
      if (op->getParentOfType<LoopLikeOpInterface>() || op->getNumResults() != 1)
        return;
      Value result = op->getResult(0);
      if (llvm::isa<ir::LoadOp>(op)) {
        origins[result] = result;
        return;
      }
      Value origin = originOf(op, origins, materializer);
      if (origin)
        origins[result] = origin;
      if (origin || llvm::isa<ir::ConvertLayoutOp>(op))
        waiting.push_back(op);
    });
    // From the last one, so that each makes way for what it is computed from.
    for (Operation *op : llvm::reverse(waiting)) {
      Operation *first = nullptr;
      for (Operation *user : op->getUsers()) {
        Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
        if (!first || here->isBeforeInBlock(first))
          first = here;
      }
      auto delays = [&](Operation &between) {
        return llvm::isa<ir::LoadOp>(between) ||
               (waitsInFewerRegisters(op) && loadsInside(between));
      };
      if (first && llvm::any_of(llvm::make_range(op->getIterator(), first->getIterator()), delays))
        op->moveBefore(first);
    }
  }

  static bool loadsInside(Operation &op) {
    if (op.getNumRegions() == 0)
      return false;
    auto interruptAtLoad = [](Operation *inner) {
      return llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(inner) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
    };
    return op.walk(interruptAtLoad).wasInterrupted();
  }

  /// Whether the tiles that `op` takes are no more, in registers, than what it makes: a loop has
  /// to keep them instead.
  static bool waitsInFewerRegisters(Operation *op) {
    int64_t words = 0;
    for (Value operand : op->getOperands())
      if (RankedTensorType type = tileType(operand))
        words += wordsPerThread(type);
    return words <= wordsPerThread(tileType(op->getResult(0)));
  }

  static Value originOf(Operation *op, const llvm::DenseMap<Value, Value> &origins,
                        TileMaterializer &materializer) {
    bool isComputation = ir::isElementwise(op) && isMemoryEffectFree(op);
    bool isRenamed = llvm::isa<ir::ExpandDimsOp, ir::BroadcastOp, ir::ConvertLayoutOp>(op);
    if (!isTile(op->getResult(0)) || !(isComputation || isRenamed))
      return {};
    Value origin;
    for (Value operand : op->getOperands()) {
      if (!isTile(operand) || materializer.isCheap(operand))
        continue;
      Value own = origins.lookup(operand);
      if (!own || (origin && own != origin))
        return {};
      origin = own;
    }
    bool isNarrower = origin && tileBytes(tileType(op->getResult(0))) < tileBytes(tileType(origin));
    return isNarrower ? Value() : origin;
  }

  void foldConversions() {
    TileMaterializer materializer;
    llvm::SmallVector<ir::ConvertLayoutOp> converts;
    getOperation().walk([&](ir::ConvertLayoutOp convert) { converts.push_back(convert); });
    for (ir::ConvertLayoutOp convert : converts) {
      Value source = convert.getSource();
      bool isChain = static_cast<bool>(source.getDefiningOp<ir::ConvertLayoutOp>());
      bool isIdentity = layoutOf(source) == layoutOf(convert.getResult());
      if (!isChain && !isIdentity && !materializer.isRemade(source)) {
        numMoved += sinkAfterNarrowing(convert);
        continue;
      }
      Value value = materializer.get(source, layoutOf(convert.getResult()));
      if (value == convert.getResult())
        continue;
      convert.getResult().replaceAllUsesWith(value);
    }
    int removed = 0;
    getOperation().walk([&](Block *block) {
      llvm::SmallVector<Operation *> dead;
      for (Operation &op : llvm::reverse(*block))
        if (llvm::isa<ir::ConvertLayoutOp>(op) && isOpTriviallyDead(&op))
          dead.push_back(&op);
      for (Operation *op : dead)
        if (op->use_empty())
          eraseWithInputs(op, removed);
    });
    numRemoved += removed;
  }
};

} // namespace

std::unique_ptr<Pass> createRemoveConversions(PassContext context) {
  return std::make_unique<RemoveConversionsPass>(std::move(context));
}

} // namespace tilewright::passes
