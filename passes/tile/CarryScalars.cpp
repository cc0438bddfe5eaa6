//===- CarryScalars.cpp - Loop variables that advance as a whole ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a row of integers that a loop carries and uses both as rows and as columns of tiles,
// as offsets are, and to all of which each iteration adds one number, becomes its first value
// and the sum of those numbers, a scalar:
//
//   for iter_args(offsets = range)          for iter_args(sum = 0)
//     use(offsets)                            use(range + splat sum)
//     yield offsets + splat step              yield sum + step
//
// Why here: before layouts. The first value is computed from nothing, so that each layout in
// which the row is used can have it computed; a carried one has one layout, and would go
// through shared memory to the other in each iteration. After FlattenLoops, which knows
// variables by how they advance.
//
// How: integers wrap, so the order of additions does not matter.
//
// Not handled: rows that are loaded at first, which would take the registers twice; tiles of
// more dimensions, of which a thread holds many elements; addresses.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_CARRYSCALARS
#include "passes/Passes.h.inc"

namespace {

/// What a first value is computed from at most: more would be worth its registers. A guess.
constexpr int maxOps = 8;

/// Whether `value` is computed from ranges, constants and scalars with so many ops at most.
bool isComputedFromNothing(Value value, int &opsLeft) {
  if (!isTile(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || --opsLeft < 0)
    return false;
  if (layoutRule(op) == LayoutRule::Source)
    return isMemoryEffectFree(op);
  return ir::isElementwise(op) && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isComputedFromNothing(operand, opsLeft); });
}

/// What each iteration adds to all elements of `argument`; null where it does anything else.
Value stepOf(BlockArgument argument, scf::ForOp loop) {
  auto add = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp<arith::AddIOp>();
  if (!add)
    return {};
  Value step = add.getLhs() == argument ? add.getRhs() : add.getLhs();
  bool isAdded = add.getLhs() == argument || add.getRhs() == argument;
  return isAdded && isSplat(step) && loop.isDefinedOutsideOfLoop(step) ? step : Value();
}

bool isRow(RankedTensorType type) {
  return type && type.getElementType().isIntOrIndex() && !type.getElementType().isInteger(1) &&
         llvm::count_if(type.getShape(), [](int64_t extent) { return extent > 1; }) == 1;
}

/// Whether `row`, or what is computed from it, becomes rows of one tile and columns of another.
bool isUsedAlongTwoAxes(Value row) {
  llvm::SmallDenseSet<uint32_t, 2> axes;
  llvm::SetVector<Value> values;
  values.insert(row);
  for (size_t next = 0; next < values.size(); ++next)
    for (Operation *user : values[next].getUsers())
      if (auto expand = llvm::dyn_cast<ir::ExpandDimsOp>(user))
        axes.insert(expand.getAxis());
      else if (ir::isElementwise(user))
        values.insert(user->getResult(0));
  return axes.size() > 1;
}

struct Row {
  unsigned index;
  Value step; ///< of its elements, a splat
};

llvm::SmallVector<Row> rowsOf(scf::ForOp loop) {
  llvm::SmallVector<Row> rows;
  for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    int opsLeft = maxOps;
    if (!isRow(tileType(argument)) || !isUsedAlongTwoAxes(argument) ||
        !isComputedFromNothing(loop.getInitArgs()[index], opsLeft))
      continue;
    if (Value step = stepOf(argument, loop))
      rows.push_back({static_cast<unsigned>(index), step});
  }
  return rows;
}

/// `init` with `sum` added to each element.
Value advanced(OpBuilder &builder, Value init, Value sum) {
  Value all = builder.create<ir::SplatOp>(init.getLoc(), init.getType(), sum);
  return builder.create<arith::AddIOp>(init.getLoc(), init, all);
}

/// Carries the sums of `rows` instead of them.
scf::ForOp carrySums(scf::ForOp loop, llvm::ArrayRef<Row> rows) {
  IRRewriter rewriter(loop);
  llvm::SmallVector<Value> steps, zeros;
  for (const Row &row : rows) {
    steps.push_back(splatScalar(row.step, rewriter));
    zeros.push_back(rewriter.create<arith::ConstantOp>(
        loop.getLoc(), rewriter.getIntegerAttr(steps.back().getType(), 0)));
  }
  auto addSteps = [&](OpBuilder &builder, Location location, ArrayRef<BlockArgument> sums) {
    llvm::SmallVector<Value> next;
    for (auto [sum, step] : llvm::zip(sums, steps))
      next.push_back(builder.create<arith::AddIOp>(location, sum, step));
    return next;
  };
  auto carrying = llvm::cast<scf::ForOp>(
      *loop.replaceWithAdditionalYields(rewriter, zeros, /*replaceInitOperandUsesInLoop=*/false,
                                        addSteps)
           .value());
  unsigned firstSum = carrying.getNumRegionIterArgs() - rows.size();
  for (auto [number, row] : llvm::enumerate(rows)) {
    Value init = carrying.getInitArgs()[row.index];
    BlockArgument argument = carrying.getRegionIterArg(row.index);
    rewriter.setInsertionPointToStart(carrying.getBody());
    argument.replaceAllUsesWith(
        advanced(rewriter, init, carrying.getRegionIterArg(firstSum + number)));
    // The variable is one no more, and goes.
    carrying.getBody()->getTerminator()->setOperand(row.index, argument);
    rewriter.setInsertionPointAfter(carrying);
    Value result = carrying.getResult(row.index);
    if (!result.use_empty())
      result.replaceAllUsesWith(advanced(rewriter, init, carrying.getResult(firstSum + number)));
  }
  return carrying;
}

class CarryScalarsPass : public impl::CarryScalarsBase<CarryScalarsPass> {
public:
  explicit CarryScalarsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    llvm::SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    llvm::SmallVector<Operation *> changed;
    for (scf::ForOp loop : loops)
      if (llvm::SmallVector<Row> rows = rowsOf(loop); !rows.empty()) {
        changed.push_back(carrySums(loop, rows));
        numCarried += rows.size();
      }
    if (changed.empty())
      return;
    // Upstream's patterns remove variables that nothing changes.
    RewritePatternSet patterns(&getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.strictMode = GreedyRewriteStrictness::ExistingOps;
    (void)applyOpPatternsAndFold(changed, std::move(patterns), config);
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createCarryScalars(PassContext context) {
  return std::make_unique<CarryScalarsPass>(std::move(context));
}

} // namespace tilewright::passes
