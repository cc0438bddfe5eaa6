//===- CompactLoads.cpp - One load for elements of one address ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a load in a loop with products whose elements have one address in groups along a
// dimension loads one element of each group, and repeats it in registers:
//
//     row = range 0 to 64; load p + (row / 8) * n     : 64 x N
//  => row = range 0 to 8;  load p + row * n           : 8 x N
//     expand_dims, broadcast, reshape                 : 8 x 8 x N as 64 x N
//
// Words of several weights are read like that: each row takes its bits from the word that it
// shares with seven others. A loop copies tiles ahead to shared memory, all of their elements.
//
// Why here: the loads that loops copy are those of tiles as they are now. Invariants are not
// hoisted yet, so that the variable of the larger tile, which advances no more, goes away.
//
// How: AxisInfo says which groups have one address, mask and other value. The tiles that these
// are computed from are computed again with every n-th element of them, through the variables of
// loops too. In i / n of a range the division goes away.
//
// Not handled: addresses from reshaped or loaded tiles.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/AxisInfo.h"
#include "passes/analysis/LayoutRules.h"

#include "ir/dialect/IntegerBounds.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_COMPACTLOADS
#include "passes/Passes.h.inc"

namespace {

/// The most weights that a word has: of two bits each.
constexpr int64_t maxRepeatsInThread = 16;

/// Every how manyth element of a tile along which dimension.
struct Sampling {
  int dim;
  int64_t step;
};

RankedTensorType withExtent(RankedTensorType type, int dim, int64_t extent) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
}

/// The first element of each group of some tiles, made from the ops that make the tiles.
class Sampler {
public:
  explicit Sampler(const AxisAnalysis &axes) : axes(axes) {}

  /// Whether `tile` can be sampled. Changes nothing, but notes the variables of loops on the way.
  bool canSample(Value tile, Sampling sampling) {
    if (!isTile(tile) || !visited.insert({tile, sampling.dim}).second)
      return true;
    if (auto argument = llvm::dyn_cast<BlockArgument>(tile)) {
      auto loop = llvm::dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop)
        return false;
      OpOperand *init = loop.getTiedLoopInit(argument);
      Variable variable{loop, init->getOperandNumber() - loop.getNumControlOperands(), sampling};
      // Outer loops first, from whose variables inner ones start.
      variables.insert(llvm::upper_bound(variables, variable, isOuter), variable);
      return canSample(init->get(), sampling) &&
             canSample(loop.getTiedLoopYieldedValue(argument)->get(), sampling);
    }
    Operation *op = tile.getDefiningOp();
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      return canSample(loop.getTiedLoopRegionIterArg(llvm::cast<OpResult>(tile)), sampling);
    if (llvm::isa<ir::SplatOp, ir::RangeOp>(op))
      return true;
    if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op))
      return llvm::isa<SplatElementsAttr>(constant.getValue());
    if (auto expand = llvm::dyn_cast<ir::ExpandDimsOp>(op))
      return static_cast<int>(expand.getAxis()) != sampling.dim &&
             canSample(expand.getSource(), behindExpand(expand, sampling));
    if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op))
      return isStretched(broadcast, sampling) || canSample(broadcast.getSource(), sampling);
    if (isQuotient(op, sampling)) {
      quotients.insert(op);
      return true;
    }
    return ir::isElementwise(op) && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
           op->getNumResults() == 1 && llvm::all_of(op->getOperands(), [&](Value operand) {
             return canSample(operand, sampling);
           });
  }

  /// Makes the variables that `canSample` has found.
  void addVariables(IRRewriter &rewriter) {
    for (size_t index = 0; index < variables.size(); ++index)
      addVariable(rewriter, variables[index],
                  llvm::MutableArrayRef<Variable>(variables).take_front(index));
    for (Variable &variable : variables) {
      Value next = sample(variable.loop.getYieldedValues()[variable.index], variable.sampling);
      variable.loop.getBody()->getTerminator()->setOperand(variable.added, next);
    }
  }

  Value sample(Value tile, Sampling sampling) {
    if (!isTile(tile))
      return tile;
    Value &known = samples[{tile, sampling.dim}];
    if (known)
      return known;
    Value made = make(tile, sampling);
    return samples[{tile, sampling.dim}] = made;
  }

  /// The variables of larger tiles that only advanced for the load stay what they are at first, so
  /// that HoistInvariants drops them.
  void stopUnusedVariables() {
    for (Variable &variable : variables) {
      BlockArgument argument = variable.loop.getRegionIterArg(variable.index);
      OpOperand &yielded = variable.loop.getBody()->getTerminator()->getOpOperand(variable.index);
      llvm::SetVector<Operation *> users;
      users.insert(argument.getUsers().begin(), argument.getUsers().end());
      bool onlyAdvances = variable.loop.getResult(variable.index).use_empty();
      for (size_t index = 0; index < users.size() && onlyAdvances; ++index) {
        Operation *user = users[index];
        if (user == yielded.getOwner())
          onlyAdvances = llvm::all_of(user->getOpOperands(), [&](OpOperand &operand) {
            return operand.getOperandNumber() == variable.index ||
                   (operand.get() != argument && !users.contains(operand.get().getDefiningOp()));
          });
        else if (user->getNumRegions() == 0 && isMemoryEffectFree(user))
          users.insert(user->getUsers().begin(), user->getUsers().end());
        else
          onlyAdvances = false;
      }
      if (onlyAdvances)
        yielded.set(variable.loop.getInitArgs()[variable.index]);
    }
  }

private:
  struct Variable {
    scf::ForOp loop;
    unsigned index;
    Sampling sampling;
    unsigned added = 0;
  };

  const AxisAnalysis &axes;
  llvm::DenseSet<std::pair<Value, int>> visited;
  llvm::SmallVector<Variable> variables;
  llvm::DenseMap<std::pair<Value, int>, Value> samples;
  /// Divisions that makeQuotient makes; what AxisInfo says of their operands may be of values that
  /// go away with their loops.
  llvm::DenseSet<Operation *> quotients;

  static bool isOuter(const Variable &left, const Variable &right) {
    auto depth = [](Operation *op) {
      int depth = 0;
      for (; op; op = op->getParentOp())
        ++depth;
      return depth;
    };
    return depth(left.loop) < depth(right.loop);
  }

  /// What a variable is in its loop and behind it.
  void note(const Variable &variable) {
    scf::ForOp loop = variable.loop;
    int dim = variable.sampling.dim;
    samples[{loop.getRegionIterArg(variable.index), dim}] = loop.getRegionIterArg(variable.added);
    samples[{loop.getResult(variable.index), dim}] = loop.getResult(variable.added);
  }
  void forget(const Variable &variable) {
    scf::ForOp loop = variable.loop;
    samples.erase({loop.getRegionIterArg(variable.index), variable.sampling.dim});
    samples.erase({loop.getResult(variable.index), variable.sampling.dim});
  }

  /// The loop is made anew, and with it the arguments of what `earlier` ones have added to it.
  void addVariable(IRRewriter &rewriter, Variable &variable,
                   llvm::MutableArrayRef<Variable> earlier) {
    scf::ForOp old = variable.loop;
    Value init = sample(old.getInitArgs()[variable.index], variable.sampling);
    for (Variable &other : earlier)
      if (other.loop == old)
        forget(other);
    // What the next iteration has is filled in when all variables are there.
    auto keeps = [](OpBuilder &, Location, llvm::ArrayRef<BlockArgument> arguments) {
      return llvm::SmallVector<Value>{arguments.front()};
    };
    rewriter.setInsertionPoint(old);
    LoopLikeOpInterface replaced =
        *llvm::cast<LoopLikeOpInterface>(old.getOperation())
             .replaceWithAdditionalYields(rewriter, init, /*replaceInitOperandUsesInLoop=*/false,
                                          keeps);
    for (Variable &other : variables)
      if (other.loop == old)
        other.loop = llvm::cast<scf::ForOp>(replaced.getOperation());
    variable.added = variable.loop.getNumRegionIterArgs() - 1;
    note(variable);
    for (Variable &other : earlier)
      if (other.loop == variable.loop)
        note(other);
  }

  static Sampling behindExpand(ir::ExpandDimsOp expand, Sampling sampling) {
    int axis = expand.getAxis();
    return {sampling.dim < axis ? sampling.dim : sampling.dim - 1, sampling.step};
  }

  static bool isStretched(ir::BroadcastOp broadcast, Sampling sampling) {
    return tileType(broadcast.getSource()).getDimSize(sampling.dim) == 1;
  }

  /// Whether an op divides by the step what is a multiple of it in each first element.
  bool isQuotient(Operation *op, Sampling sampling) const {
    if (!llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
      return false;
    std::optional<uint64_t> divisor = ir::constantInteger(op->getOperand(1));
    return divisor && static_cast<int64_t>(*divisor) == sampling.step &&
           tileType(op->getResult(0)).getRank() == 1 &&
           isMultiple(op->getOperand(0), sampling.step);
  }

  /// Sums of ranges and scalars that are divisible by `step`.
  bool isMultiple(Value tile, int64_t step) const {
    if (auto range = tile.getDefiningOp<ir::RangeOp>())
      return range.getStart() % step == 0;
    if (auto splat = tile.getDefiningOp<ir::SplatOp>())
      return axes.get(splat.getSource()).divisibility[0] % step == 0;
    auto sum = tile.getDefiningOp<arith::AddIOp>();
    return sum && isMultiple(sum.getLhs(), step) && isMultiple(sum.getRhs(), step);
  }

  /// The first element of each group, divided by the step.
  Value makeQuotient(OpBuilder &builder, Operation *division, Value tile, int64_t step) {
    RankedTensorType old = tileType(tile), type = withExtent(old, 0, old.getDimSize(0) / step);
    Location loc = division->getLoc();
    if (auto range = tile.getDefiningOp<ir::RangeOp>())
      return builder.create<ir::RangeOp>(loc, type, uint32_t(range.getStart() / step),
                                         uint32_t(range.getStart() / step + type.getDimSize(0)));
    if (auto splat = tile.getDefiningOp<ir::SplatOp>()) {
      Value divisor = builder.create<arith::ConstantOp>(
          loc, builder.getIntegerAttr(type.getElementType(), step));
      llvm::SmallVector<Value> operands{splat.getSource(), divisor};
      OperationState state(loc, division->getName(), operands, {type.getElementType()});
      return builder.create<ir::SplatOp>(loc, type, builder.create(state)->getResult(0));
    }
    auto sum = tile.getDefiningOp<arith::AddIOp>();
    return builder.create<arith::AddIOp>(loc, makeQuotient(builder, division, sum.getLhs(), step),
                                         makeQuotient(builder, division, sum.getRhs(), step));
  }

  Value make(Value tile, Sampling sampling) {
    Operation *op = tile.getDefiningOp();
    RankedTensorType old = tileType(tile),
                     type = withExtent(old, sampling.dim,
                                       old.getDimSize(sampling.dim) / sampling.step);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Location loc = op->getLoc();
    if (auto splat = llvm::dyn_cast<ir::SplatOp>(op))
      return builder.create<ir::SplatOp>(loc, type, splat.getSource());
    if (auto constant = llvm::dyn_cast<arith::ConstantOp>(op))
      return builder.create<arith::ConstantOp>(
          loc, llvm::cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
    if (auto range = llvm::dyn_cast<ir::RangeOp>(op)) {
      auto splat = [&](int64_t value) {
        return builder.create<arith::ConstantOp>(
            loc, DenseElementsAttr::get(type, builder.getI32IntegerAttr(value)));
      };
      Value index = builder.create<ir::RangeOp>(loc, type, 0u, uint32_t(type.getDimSize(0)));
      Value offset = builder.create<arith::MulIOp>(loc, index, splat(sampling.step));
      return builder.create<arith::AddIOp>(loc, offset, splat(range.getStart()));
    }
    if (auto expand = llvm::dyn_cast<ir::ExpandDimsOp>(op))
      return builder.create<ir::ExpandDimsOp>(
          loc, type, sample(expand.getSource(), behindExpand(expand, sampling)), expand.getAxis());
    if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) {
      Value source = broadcast.getSource();
      if (!isStretched(broadcast, sampling))
        source = sample(source, sampling);
      return source.getType() == type ? source : builder.create<ir::BroadcastOp>(loc, type, source);
    }
    if (quotients.contains(op))
      return makeQuotient(builder, op, op->getOperand(0), sampling.step);
    // What was promised of its groups need not hold of every n-th element.
    if (llvm::isa<ir::HintOp>(op))
      return sample(op->getOperand(0), sampling);
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, sample(operand, sampling));
    Operation *clone = builder.clone(*op, mapping);
    clone->getResult(0).setType(type);
    return clone->getResult(0);
  }
};

class CompactLoadsPass : public impl::CompactLoadsBase<CompactLoadsPass> {
public:
  explicit CompactLoadsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      llvm::DenseSet<Operation *> aroundProducts;
      function.walk([&](ir::DotOp dot) {
        for (Operation *parent = dot->getParentOp(); parent; parent = parent->getParentOp())
          aroundProducts.insert(parent);
      });
      llvm::SmallVector<ir::LoadOp> loads;
      function.walk([&](ir::LoadOp load) {
        auto loop = load->getParentOfType<scf::ForOp>();
        if (loop && aroundProducts.contains(loop) && isTile(load.getResult()) &&
            !load.mayChangeMeanwhile())
          loads.push_back(load);
      });
      for (ir::LoadOp load : loads)
        for (int dim = 0; dim < tileType(load.getResult()).getRank(); ++dim)
          load = compact(load, dim);
      axes.reset();
    }
  }

private:
  PassContext context;
  /// Facts of the function as it is now; made when they are asked for.
  std::optional<AxisAnalysis> axes;

  /// How many elements along `dim` have one address.
  int64_t repeats(ir::LoadOp load, int dim) const {
    int64_t count = tileType(load.getResult()).getDimSize(dim);
    for (Value operand : load->getOperands())
      if (isTile(operand))
        count = std::min(count, axes->get(operand).constancy[dim]);
    return llvm::bit_floor(uint64_t(count));
  }

  /// The load that has taken its place, or itself.
  ir::LoadOp compact(ir::LoadOp load, int dim) {
    RankedTensorType type = tileType(load.getResult());
    // A vector is as short as what its threads have to exchange.
    if (type.getRank() < 2 || type.getDimSize(dim) == 1)
      return load;
    if (!axes)
      axes.emplace(load->getParentOfType<func::FuncOp>());
    Sampling sampling{dim, repeats(load, dim)};
    Sampler sampler(*axes);
    if (sampling.step == 1 || !llvm::all_of(load->getOperands(), [&](Value operand) {
          return sampler.canSample(operand, sampling);
        }))
      return load;
    IRRewriter rewriter(&getContext());
    sampler.addVariables(rewriter);
    llvm::SmallVector<Value> operands;
    for (Value operand : load->getOperands())
      operands.push_back(sampler.sample(operand, sampling));
    OpBuilder builder(load);
    auto compacted = llvm::cast<ir::LoadOp>(builder.clone(*load));
    compacted->setOperands(operands);
    int64_t groups = type.getDimSize(dim) / sampling.step;
    compacted.getResult().setType(withExtent(type, dim, groups));
    load.getResult().replaceAllUsesWith(repeat(builder, compacted.getResult(), type, sampling));
    load.erase();
    sampler.stopUnusedVariables();
    axes.reset();
    ++numCompacted;
    context.remark(compacted, {"compact-load",
                               true,
                               {},
                               {{"dimension", dim}, {"repeats", sampling.step}},
                               "elements of one address are loaded once"});
    return compacted;
  }

  static Value repeat(OpBuilder &builder, Value groups, RankedTensorType type, Sampling sampling) {
    Location loc = groups.getLoc();
    RankedTensorType small = tileType(groups);
    if (small.getDimSize(sampling.dim) == 1)
      return builder.create<ir::BroadcastOp>(loc, type, groups);
    llvm::SmallVector<int64_t> shape(small.getShape());
    shape.insert(shape.begin() + sampling.dim + 1, 1);
    auto expanded =
        builder.create<ir::ExpandDimsOp>(loc, RankedTensorType::get(shape, type.getElementType()),
                                         groups, uint32_t(sampling.dim + 1));
    shape[sampling.dim + 1] = sampling.step;
    auto stretched = builder.create<ir::BroadcastOp>(
        loc, RankedTensorType::get(shape, type.getElementType()), expanded);
    // A word is taken apart where it is; a scale goes to where its weights are.
    if (type.getElementType().isInteger() && sampling.step <= maxRepeatsInThread)
      stretched->setAttr(ir::repeatsAttr, builder.getUnitAttr());
    return builder.create<ir::ReshapeOp>(loc, type, stretched, /*mayReorder=*/false);
  }
};

} // namespace

std::unique_ptr<Pass> createCompactLoads(PassContext context) {
  return std::make_unique<CompactLoadsPass>(std::move(context));
}

} // namespace tilewright::passes
