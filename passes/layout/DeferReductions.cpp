//===- DeferReductions.cpp - Running reductions across threads at the end -===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a variable of a loop that only gathers reductions, as
//
//     total = total * scale + sum(tile, axis)        or  largest = max(largest, max(tile))
//
// keeps what each thread has gathered. The shuffles and the exchange through shared
// memory, which each iteration would wait for, happen once after the loop.
//
// Why here: after RemoveConversions, when it is known which elements a thread
// holds; before PipelineLoops, which moves the loop's arithmetic about.
//
// How: the axis is split into the index bits that a thread holds in registers and
// those that tell threads apart. Each iteration reduces the former; the variable
// becomes a tile with the latter as its axis:
//
//     partial = partial * broadcast(scale) + reduce(reshape(tile), register axes)
//     ...
//     total = reduce(partial, axis)
//
// Sums are thereby added in another order, which a reduction leaves open. What a sum
// starts with is added at the end.
//
// Not handled: scaled sums that do not start at zero, swizzled layouts, reductions
// of several tiles, `while`.
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutTransforms.h"
#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "passes/Passes.h.inc"

namespace {

/// variable = combine(variable [* scale], reduce)
struct Recurrence {
  Operation *combine = nullptr;
  ir::ReduceOp reduce;
  Value scale;
};

/// A stretch of an axis' index bits.
struct Run {
  int log2Extent;
  bool isInRegisters;
};

bool isSum(Operation *op) { return llvm::isa<arith::AddFOp, arith::AddIOp, arith::XOrIOp>(op); }

/// Whether a value may be combined any number of times.
bool isIdempotent(Operation *op) {
  return llvm::isa<arith::MaxNumFOp, arith::MaximumFOp, arith::MinNumFOp, arith::MinimumFOp,
                   arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp, arith::AndIOp,
                   arith::OrIOp>(op);
}

bool combinesWith(ir::ReduceOp reduce, Operation *combine) {
  Block &block = reduce.getCombine().front();
  return block.getOperations().size() == 2 && block.front().getName() == combine->getName() &&
         block.front().getOperand(0) != block.front().getOperand(1) &&
         llvm::all_of(block.front().getOperands(), llvm::IsaPred<BlockArgument>) &&
         block.getTerminator()->getOperand(0) == block.front().getResult(0);
}

std::optional<Recurrence> findRecurrence(scf::ForOp loop, unsigned index) {
  BlockArgument variable = loop.getRegionIterArg(index);
  Block *body = loop.getBody();
  Operation *combine = body->getTerminator()->getOperand(index).getDefiningOp();
  if (!variable.hasOneUse() || !combine || combine->getBlock() != body || !combine->hasOneUse() ||
      (!isSum(combine) && !isIdempotent(combine)))
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    auto reduce = combine->getOperand(1 - side).getDefiningOp<ir::ReduceOp>();
    if (!reduce || reduce->getBlock() != body || reduce->getNumResults() != 1 ||
        !reduce->hasOneUse() || !combinesWith(reduce, combine))
      continue;
    Value before = combine->getOperand(side);
    if (before == variable)
      return Recurrence{combine, reduce, Value()};
    auto product = before.getDefiningOp<arith::MulFOp>();
    if (!llvm::isa<arith::AddFOp>(combine) || !product || !product->hasOneUse() ||
        product->getBlock() != body)
      continue;
    if (product.getLhs() == variable)
      return Recurrence{combine, reduce, product.getRhs()};
    if (product.getRhs() == variable)
      return Recurrence{combine, reduce, product.getLhs()};
  }
  return std::nullopt;
}

/// The axis from its highest index bit to its lowest; nothing where threads hold all
/// there is to reduce, or share bits in a way that cannot be told apart.
std::optional<llvm::SmallVector<Run>> splitAxis(const LinearLayout &layout, int axis) {
  if (!layout.isPermutationLike())
    return std::nullopt;
  llvm::SmallVector<Run> runs;
  bool areThreads = false;
  for (int bit = layout.log2Shape()[axis] - 1; bit >= 0; --bit) {
    uint32_t column = uint32_t(1) << (layout.dimStartBit(axis) + bit);
    bool isInRegisters = llvm::is_contained(layout.columns(InDim::Register), column);
    areThreads |= !isInRegisters;
    if (runs.empty() || runs.back().isInRegisters != isInRegisters)
      runs.push_back({0, isInRegisters});
    ++runs.back().log2Extent;
  }
  return areThreads ? std::optional(runs) : std::nullopt;
}

class Deferral {
public:
  Deferral(scf::ForOp loop, unsigned index, Recurrence found, llvm::ArrayRef<Run> runs)
      : loop(loop), index(index), found(found), runs(runs), axis(found.reduce.getAxis()),
        builder(found.reduce), loc(found.reduce.getLoc()) {}

  void run() {
    Value partial = reduceRegisters();
    type = tileType(partial);
    Value init = loop.getInitArgs()[index];
    builder.setInsertionPoint(loop);
    Value start = isIdempotent(found.combine) ? spread(init) : zeros();

    BlockArgument variable = loop.getRegionIterArg(index);
    OpResult result = loop->getResult(index);
    Type wholeType = result.getType();
    builder.setInsertionPoint(found.combine);
    variable.setType(type);
    Value before = variable;
    if (found.scale)
      before = builder.create<arith::MulFOp>(loc, variable, spread(found.scale));
    Operation *after =
        builder.create(loc, found.combine->getName().getIdentifier(), {before, partial}, {type});
    loop.getBody()->getTerminator()->setOperand(index, after->getResult(0));
    loop.getInitArgsMutable()[index].set(start);
    result.setType(type);

    builder.setInsertionPointAfter(loop);
    llvm::SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses())
      uses.push_back(&use);
    Value whole = reduceAxis(result, axis, wholeType);
    if (isSum(after) && !ir::isZero(init))
      whole = builder.create(loc, after->getName().getIdentifier(), {init, whole}, {wholeType})
                  ->getResult(0);
    for (OpOperand *use : uses)
      use->set(whole);
    eraseOld();
  }

private:
  scf::ForOp loop;
  unsigned index;
  Recurrence found;
  llvm::ArrayRef<Run> runs;
  int axis;
  OpBuilder builder;
  Location loc;
  RankedTensorType type;

  Value reshape(Value tile, llvm::ArrayRef<int64_t> shape) {
    RankedTensorType from = tileType(tile);
    LinearLayout layout = reshapeLayout(ir::getLinearLayout(from), ir::log2Shape(shape));
    Type to = ir::withLayout(RankedTensorType::get(shape, from.getElementType()), layout);
    return to == from ? tile : builder.create<ir::ReshapeOp>(loc, to, tile, /*mayReorder=*/false);
  }

  Value reduceAxis(Value tile, int dim, Type result) {
    auto reduce = builder.create<ir::ReduceOp>(loc, TypeRange{result}, ValueRange{tile}, dim);
    IRMapping mapping;
    found.reduce.getCombine().cloneInto(&reduce.getCombine(), mapping);
    return reduce.getResult(0);
  }

  /// What each thread makes of its own elements: the tile with the threads' index
  /// bits left of the axis.
  Value reduceRegisters() {
    Value tile = found.reduce.getSources().front();
    llvm::ArrayRef<int64_t> shape = tileType(tile).getShape();
    llvm::SmallVector<int64_t> split(shape.take_front(axis));
    int64_t left = 1;
    for (const Run &run : runs) {
      split.push_back(int64_t(1) << run.log2Extent);
      left *= run.isInRegisters ? 1 : split.back();
    }
    llvm::append_range(split, shape.drop_front(axis + 1));
    llvm::SmallVector<int64_t> merged(shape);
    merged[axis] = left;
    tile = reshape(tile, split);
    for (int number = int(runs.size()) - 1; number >= 0; --number) {
      if (!runs[number].isInRegisters)
        continue;
      RankedTensorType from = tileType(tile);
      llvm::SmallVector<int64_t> smaller(from.getShape());
      smaller.erase(smaller.begin() + axis + number);
      LinearLayout layout = sliceDim(ir::getLinearLayout(from), axis + number, /*keepDim=*/false);
      tile =
          reduceAxis(tile, axis + number,
                     ir::withLayout(RankedTensorType::get(smaller, from.getElementType()), layout));
    }
    return reshape(tile, merged);
  }

  /// One value per result for all threads that share it.
  Value spread(Value value) {
    if (!isTile(value))
      return builder.create<ir::SplatOp>(loc, type, value);
    RankedTensorType from = tileType(value);
    llvm::SmallVector<int64_t> shape(from.getShape());
    shape.insert(shape.begin() + axis, 1);
    LinearLayout layout = expandDims(ir::getLinearLayout(from), axis);
    Type expanded = ir::withLayout(RankedTensorType::get(shape, from.getElementType()), layout);
    value = builder.create<ir::ExpandDimsOp>(loc, expanded, value, axis);
    return builder.create<ir::BroadcastOp>(loc, type, value);
  }

  Value zeros() {
    return builder.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  }

  void eraseOld() {
    llvm::SmallVector<Operation *, 3> old = {found.combine, found.reduce};
    for (Value operand : found.combine->getOperands())
      if (found.scale && operand.getDefiningOp() != found.reduce)
        old.insert(old.begin() + 1, operand.getDefiningOp());
    for (Operation *op : old)
      op->erase();
  }
};

class DeferReductionsPass : public impl::DeferReductionsBase<DeferReductionsPass> {
public:
  explicit DeferReductionsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    getOperation().walk([&](scf::ForOp loop) {
      for (unsigned index = 0; index < loop.getNumResults(); ++index)
        defer(loop, index);
    });
  }

private:
  PassContext context;

  void refuse(ir::ReduceOp reduce, llvm::StringRef reason) {
    ++numRefused;
    context.remark(reduce, {"defer-reductions", false, {}, {}, reason.str()});
  }

  void defer(scf::ForOp loop, unsigned index) {
    std::optional<Recurrence> found = findRecurrence(loop, index);
    if (!found)
      return;
    RankedTensorType source = tileType(found->reduce.getSources().front());
    std::optional<llvm::SmallVector<Run>> runs =
        splitAxis(ir::getLinearLayout(source), found->reduce.getAxis());
    if (!runs)
      return refuse(found->reduce, "its threads hold whole rows, or elements twice");
    if (found->scale && !ir::isZero(loop.getInitArgs()[index]))
      return refuse(found->reduce, "the sum is scaled, and does not begin at zero");
    context.remark(found->reduce,
                   {"defer-reductions", true, {}, {}, "threads reduce after the loop"});
    Deferral deferral(loop, index, *found, *runs);
    deferral.run();
    ++numDeferred;
  }
};

} // namespace

std::unique_ptr<Pass> createDeferReductions(PassContext context) {
  return std::make_unique<DeferReductionsPass>(std::move(context));
}

} // namespace tilewright::passes
