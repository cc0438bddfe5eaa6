//===- AssignLayouts.cpp - Gives every tile a layout ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: takes tile level to layout level. Memory accesses decide; everything
// else follows them.
//
// Why here: after all simplification at tile level, where fewer ops are to be
// placed, and before anything that counts registers or shared memory.
//
// How:
//  1. analyse: for each access the vector width and the coalesced layout.
//  2. forward: loads have a preferred layout, and so has what is computed from
//     loaded values, by the rules of LayoutRules.h. Where preferences meet, the
//     one with the least cost of conversion wins. Values that are cheap to
//     compute again and broadcasts have no preference. Loops are repeated until
//     their variables settle.
//  3. backward: values without a preference take what their users want; a store
//     wants its value's layout or the coalesced one, whichever costs less.
//  4. apply: layouts enter the types; where an op needs an operand in another
//     layout, TileMaterializer provides it.
//
// Blocks: a program of several blocks splits its tiles among them (makeCoalesced); only
// tiles as large as the largest that it loads or stores, since smaller ones mostly go
// with all parts of a larger one, and loading them again costs less than exchanging
// them. Products and descriptors need their tiles whole: then every block
// has copies of all tiles, and no layout mentions blocks.
//
// Not handled: two layouts for one loop variable (RemoveConversions).
//
//===----------------------------------------------------------------------===//

#include "ir/layout/LayoutConstructors.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/transform/Passes.h"
#include "passes/transform/TileMaterializer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tw-assign-layouts"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/transform/Passes.h.inc"

namespace {

/// How often a loop body is visited until its variables must have settled.
constexpr int maxLoopVisits = 3;
/// Elements per thread of tiles that no access decides: enough for packed
/// arithmetic, few enough for small tiles.
constexpr int defaultVectorElements = 4;

using ir::LayoutAttr;

class LayoutAssignment {
public:
  LayoutAssignment(func::FuncOp function, const PassContext &context, int numWarps, int numBlocks)
      : function(function), context(context), axes(function), log2Warps(llvm::Log2_32(numWarps)),
        log2Blocks(splitsTiles(function) ? llvm::Log2_32(numBlocks) : 0) {}

  LogicalResult run() {
    collectAccesses();
    forwardBlock(function.getBody().front());
    backwardBlock(function.getBody().front());
    // Kernels take scalars; a function on tiles, as in tests, says what it needs
    // by its type.
    for (BlockArgument argument : function.getArguments())
      if (isTile(argument))
        setLayout(argument, layoutFor(argument));
    if (failed(applyBlock(function.getBody().front())))
      return failure();
    Operation *terminator = function.getBody().front().getTerminator();
    function.setFunctionType(FunctionType::get(function.getContext(),
                                               function.getBody().getArgumentTypes(),
                                               terminator->getOperandTypes()));
    return success();
  }

  TileMaterializer materializer;

private:
  func::FuncOp function;
  const PassContext &context;
  AxisAnalysis axes;
  int log2Warps;
  /// The number of blocks that share tiles; 0 where all have copies.
  int log2Blocks;
  /// The size of the largest tile that is loaded or stored.
  int64_t mostElements = 0;
  llvm::DenseMap<Operation *, MemoryAccess> accesses;
  /// Forward: what a value has by itself. Backward: what users want of a value
  /// that has none.
  llvm::DenseMap<Value, LayoutAttr> preferred, wanted;
  /// The layout decided for a store or an atomic.
  llvm::DenseMap<Operation *, LayoutAttr> decided;

  //===--- layouts -------------------------------------------------------===//
  LayoutAttr attr(const LinearLayout &layout) {
    return LayoutAttr::fromLinear(function.getContext(), layout);
  }
  static LinearLayout linear(LayoutAttr layout, Value tile) {
    return layout.toLinear(tileType(tile).getShape());
  }

  static bool splitsTiles(func::FuncOp function) {
    return !function
                .walk([](Operation *op) {
                  bool needsWhole = llvm::isa<ir::DotOp, ir::DescriptorLoadOp,
                                              ir::DescriptorStoreOp, ir::AllocSharedOp>(op);
                  return needsWhole ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted();
  }

  LayoutAttr makeLayout(RankedTensorType type, const std::vector<int> &order, int vector,
                        const std::vector<int> &log2Repeats = {}) {
    bool isSplit = type.getNumElements() >= mostElements;
    LinearLayout layout =
        makeCoalesced(ir::log2Shape(type.getShape()), order, vector, context.target.log2WarpSize,
                      log2Warps, isSplit ? log2Blocks : 0, log2Repeats);
    // Copies.
    layout.columns(InDim::Block).resize(log2Blocks, 0);
    return attr(layout);
  }

  LayoutAttr coalesced(const MemoryAccess &access) {
    // What has one address is loaded once (MarkConstancy); stores and atomics happen for each.
    return makeLayout(access.type, access.order, access.maxVectorElements,
                      access.isLoad() ? access.log2Repeats : std::vector<int>());
  }

  /// For a block that comes through shared memory, where rows lie in 16-byte
  /// chunks.
  LayoutAttr coalescedRows(RankedTensorType type) {
    int vector = context.target.maxVectorBytes * 8 / ir::elementBits(type.getElementType());
    return makeLayout(type, rowMajorOrder(type.getRank()), vector);
  }

  LayoutAttr defaultLayout(RankedTensorType type) {
    return makeLayout(type, rowMajorOrder(type.getRank()), defaultVectorElements);
  }

  /// The layout a value is known to prefer or to be wanted in; null for none.
  LayoutAttr known(Value value) {
    if (LayoutAttr layout = preferred.lookup(value))
      return layout;
    return wanted.lookup(value);
  }

  /// Without a preference of its own: computed again wherever it is needed.
  bool isFlexible(Value value) { return materializer.isCheap(value); }

  void prefer(Value value, LayoutAttr layout) {
    if (layout)
      preferred[value] = layout;
    else
      preferred.erase(value);
  }

  void want(Value value, LayoutAttr layout) {
    if (isTile(value) && !preferred.count(value))
      wanted.try_emplace(value, layout);
  }

  void wantOperand(Operation *op, unsigned index, LayoutAttr result, Value resultTile) {
    Value operand = op->getOperand(index);
    if (!isTile(operand))
      return;
    if (std::optional<LinearLayout> layout = operandLayout(op, index, linear(result, resultTile)))
      want(operand, attr(*layout));
  }

  //===--- 1. analyse ----------------------------------------------------===//
  void collectAccesses() {
    function.walk([&](Operation *op) {
      if (std::optional<MemoryAccess> access = analyzeAccess(op, axes, context.target))
        accesses.try_emplace(op, std::move(*access));
    });
    for (const auto &[op, access] : accesses)
      mostElements = std::max(mostElements, access.type.getNumElements());
  }

  /// The cheapest layout for all operands with a preference, the access
  /// included; `candidates` come in order of merit where costs are equal.
  LayoutAttr cheapest(llvm::ArrayRef<LayoutAttr> candidates, ValueRange operands,
                      const MemoryAccess *access) {
    LayoutAttr best;
    double bestCost = 0;
    for (LayoutAttr candidate : candidates) {
      double cost = access ? accessCycles(*access, linear(candidate, access->pointer)) : 0;
      for (Value operand : operands) {
        LayoutAttr own = isTile(operand) ? preferred.lookup(operand) : LayoutAttr();
        if (own && own != candidate)
          cost += conversionCycles(linear(own, operand), linear(candidate, operand),
                                   ir::elementBits(getElementTypeOrSelf(operand)));
      }
      if (!best || cost < bestCost) {
        best = candidate;
        bestCost = cost;
      }
    }
    return best;
  }

  /// What a Same op should have: one of its operands' preferences, or for an
  /// access the coalesced layout.
  LayoutAttr chooseSame(Operation *op) {
    llvm::SmallVector<LayoutAttr> candidates;
    auto access = accesses.find(op);
    const MemoryAccess *memory = access == accesses.end() ? nullptr : &access->second;
    // What an atomic gives back would be wanted as its value is.
    bool followsValue =
        memory && memory->isAtomic() &&
        llvm::any_of(op->getResults(), [](Value result) { return !result.use_empty(); });
    if (memory && !followsValue)
      candidates.push_back(coalesced(*memory));
    for (Value operand : op->getOperands())
      if (LayoutAttr own = preferred.lookup(operand); own && !llvm::is_contained(candidates, own))
        candidates.push_back(own);
    if (followsValue && candidates.empty())
      candidates.push_back(coalesced(*memory));
    if (candidates.size() == 1)
      return candidates.front();
    return cheapest(candidates, op->getOperands(), memory);
  }

  //===--- 2. forward ----------------------------------------------------===//
  void forwardBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      forward(&op);
  }

  void forward(Operation *op) {
    switch (layoutRule(op)) {
    case LayoutRule::Source:
      if (auto load = llvm::dyn_cast<ir::DescriptorLoadOp>(op))
        prefer(load.getResult(), coalescedRows(load.getType()));
      return;
    case LayoutRule::Same:
      return forwardSame(op);
    case LayoutRule::Shape:
      return forwardShape(op);
    case LayoutRule::Reduce:
      return forwardReduce(llvm::cast<ir::ReduceOp>(op));
    case LayoutRule::Dot:
      return prefer(op->getResult(0), attr(accumulatorLayout(llvm::cast<ir::DotOp>(op))));
    case LayoutRule::Region:
      return forwardRegion(op);
    default:
      return;
    }
  }

  void forwardSame(Operation *op) {
    if (llvm::isa<ir::StoreOp>(op))
      return;
    LayoutAttr layout = chooseSame(op);
    if (layout && llvm::isa<ir::ScanOp>(op))
      layout = attr(acceptableOperandLayout(op, linear(layout, op->getOperand(0))));
    for (Value result : op->getResults())
      if (isTile(result))
        prefer(result, isFlexible(result) ? LayoutAttr() : layout);
  }

  void forwardShape(Operation *op) {
    LayoutAttr operand = preferred.lookup(op->getOperand(0));
    if (!operand || llvm::isa<ir::BroadcastOp>(op))
      return;
    LinearLayout source = acceptableOperandLayout(op, linear(operand, op->getOperand(0)));
    if (std::optional<LinearLayout> layout = resultLayout(op, source))
      for (Value result : op->getResults())
        prefer(result, attr(*layout));
  }

  /// A reduction decides the layout of a source that has none: no later op
  /// can say what it should be.
  void forwardReduce(ir::ReduceOp reduce) {
    LayoutAttr layout;
    for (Value source : reduce.getSources())
      if (!layout)
        layout = preferred.lookup(source);
    if (!layout) {
      layout = defaultLayout(tileType(reduce.getSources().front()));
      for (Value source : reduce.getSources())
        want(source, layout);
    }
    LinearLayout source =
        acceptableOperandLayout(reduce, linear(layout, reduce.getSources().front()));
    std::optional<LinearLayout> result = resultLayout(reduce, source);
    for (Value value : reduce.getResults())
      if (isTile(value))
        prefer(value, attr(*result));
  }

  void forwardRegion(Operation *op) {
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op))
      return forwardFor(loop);
    if (auto loop = llvm::dyn_cast<scf::WhileOp>(op))
      return forwardWhile(loop);
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op)) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          forwardBlock(block);
      if (op->getNumResults() == 0)
        return;
      for (auto [result, lhs, rhs] : llvm::zip(op->getResults(), branch.thenYield()->getOperands(),
                                               branch.elseYield()->getOperands())) {
        LayoutAttr layout = preferred.lookup(lhs);
        if (isTile(result))
          prefer(result, layout ? layout : preferred.lookup(rhs));
      }
    }
  }

  /// Gives each variable the preference of what is carried into it; what comes
  /// round the loop counts more than what comes in once. True if any changed.
  bool carry(ValueRange variables, ValueRange carried) {
    bool changed = false;
    for (auto [variable, value] : llvm::zip(variables, carried)) {
      LayoutAttr layout = preferred.lookup(value);
      if (!layout || layout == preferred.lookup(variable))
        continue;
      preferred[variable] = layout;
      changed = true;
    }
    return changed;
  }

  void forwardFor(scf::ForOp loop) {
    carry(loop.getRegionIterArgs(), loop.getInitArgs());
    for (int visit = 0; visit < maxLoopVisits; ++visit) {
      forwardBlock(*loop.getBody());
      if (!carry(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOperands()))
        break;
    }
    carry(loop.getResults(), loop.getRegionIterArgs());
  }

  void forwardWhile(scf::WhileOp loop) {
    carry(loop.getBeforeArguments(), loop.getInits());
    for (int visit = 0; visit < maxLoopVisits; ++visit) {
      forwardBlock(*loop.getBeforeBody());
      carry(loop.getAfterArguments(), loop.getConditionOp().getArgs());
      forwardBlock(*loop.getAfterBody());
      if (!carry(loop.getBeforeArguments(), loop.getYieldOp()->getOperands()))
        break;
    }
    carry(loop.getResults(), loop.getConditionOp().getArgs());
  }

  //===--- 3. backward ---------------------------------------------------===//
  void backwardBlock(Block &block) {
    for (Operation &op : llvm::reverse(block.without_terminator()))
      backward(&op);
  }

  void backward(Operation *op) {
    switch (layoutRule(op)) {
    case LayoutRule::Same: {
      Value tile = tileOf(op);
      LayoutAttr layout = op->getNumResults() ? known(tile) : LayoutAttr();
      if (accesses.count(op) && !layout)
        layout = decided[op] = chooseSame(op);
      if (layout)
        for (unsigned index = 0; index < op->getNumOperands(); ++index)
          wantOperand(op, index, layout, tile);
      return;
    }
    case LayoutRule::Shape:
      for (Value result : op->getResults())
        if (LayoutAttr layout = known(result))
          for (unsigned index = 0; index < op->getNumOperands(); ++index)
            wantOperand(op, index, layout, result);
      return;
    case LayoutRule::Dot: {
      auto dot = llvm::cast<ir::DotOp>(op);
      want(dot.getAcc(), attr(accumulatorLayout(dot)));
      // What is computed from indices alone is made as the unit takes it.
      for (unsigned index : {0, 1})
        if (isFlexible(dot->getOperand(index)) &&
            (dot.getUnit() == ir::MatrixUnit::wgmma || !readsOperandsFromShared(dot)))
          want(dot->getOperand(index), attr(dotOperandLayout(dot, index)));
      return;
    }
    case LayoutRule::Region:
      return backwardRegion(op);
    default:
      return;
    }
  }

  /// A tile of the shape that a Same op works on.
  static Value tileOf(Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result))
        return result;
    for (Value operand : op->getOperands())
      if (isTile(operand))
        return operand;
    return {};
  }

  /// Makes all values of one loop variable want what any of them has.
  void tie(llvm::ArrayRef<Value> values) {
    LayoutAttr layout;
    for (Value value : values)
      if (!layout)
        layout = preferred.lookup(value);
    for (Value value : values)
      if (!layout)
        layout = wanted.lookup(value);
    if (layout)
      for (Value value : values)
        want(value, layout);
  }

  void backwardRegion(Operation *op) {
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op)) {
      // Twice: what the body wants of a variable concerns what it yields.
      for (int visit = 0; visit < 2; ++visit) {
        tieFor(loop);
        backwardBlock(*loop.getBody());
      }
      return tieFor(loop);
    }
    if (auto loop = llvm::dyn_cast<scf::WhileOp>(op)) {
      for (int visit = 0; visit < 2; ++visit) {
        tieWhile(loop);
        backwardBlock(*loop.getAfterBody());
        backwardBlock(*loop.getBeforeBody());
      }
      return tieWhile(loop);
    }
    if (auto branch = llvm::dyn_cast<scf::IfOp>(op)) {
      if (op->getNumResults() != 0)
        for (auto [result, lhs, rhs] :
             llvm::zip(op->getResults(), branch.thenYield()->getOperands(),
                       branch.elseYield()->getOperands()))
          if (LayoutAttr layout = known(result)) {
            want(lhs, layout);
            want(rhs, layout);
          }
      for (Region &region : op->getRegions())
        for (Block &block : region)
          backwardBlock(block);
    }
  }

  void tieFor(scf::ForOp loop) {
    for (auto [result, argument, init, yielded] :
         llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs(),
                   loop.getBody()->getTerminator()->getOperands()))
      if (isTile(result))
        tie({argument, Value(result), yielded, init});
  }

  void tieWhile(scf::WhileOp loop) {
    for (auto [argument, init, yielded] :
         llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp()->getOperands()))
      if (isTile(argument))
        tie({argument, yielded, init});
    for (auto [argument, result, passed] :
         llvm::zip(loop.getAfterArguments(), loop.getResults(), loop.getConditionOp().getArgs()))
      if (isTile(argument))
        tie({argument, Value(result), passed});
  }

  //===--- 4. apply ------------------------------------------------------===//
  LogicalResult applyBlock(Block &block) {
    // Copies made on the way already have layouts: not visited.
    llvm::SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (failed(apply(op)))
        return failure();
    return success();
  }

  LayoutAttr layoutFor(Value value) {
    LayoutAttr layout = known(value);
    return layout ? layout : defaultLayout(tileType(value));
  }

  static LayoutAttr current(Value value) { return ir::getLayout(tileType(value)); }

  void setOperand(Operation *op, unsigned index, const LinearLayout &layout) {
    op->setOperand(index, materializer.get(op->getOperand(index), attr(layout)));
  }

  LogicalResult apply(Operation *op) {
    switch (layoutRule(op)) {
    case LayoutRule::NoTiles:
    case LayoutRule::Free:
    case LayoutRule::Convert:
      return success();
    case LayoutRule::Source:
      setLayout(op->getResult(0), layoutFor(op->getResult(0)));
      return success();
    case LayoutRule::Fixed:
      for (Value result : op->getResults())
        if (!current(result))
          setLayout(result, layoutFor(result));
      return success();
    case LayoutRule::Same:
      applySame(op);
      return success();
    case LayoutRule::Shape:
      applyShape(op);
      return success();
    case LayoutRule::Reduce:
      applyReduce(llvm::cast<ir::ReduceOp>(op));
      return success();
    case LayoutRule::Dot:
      applyDot(llvm::cast<ir::DotOp>(op));
      return success();
    case LayoutRule::Region:
      return applyRegion(op);
    case LayoutRule::Unknown:
      return op->emitError("no layout rule for this operation on tiles");
    }
    return success();
  }

  void applySame(Operation *op) {
    Value tile = tileOf(op);
    LayoutAttr layout = decided.lookup(op);
    // Nobody wants the result: as its operands are.
    if (!layout)
      layout = known(tile);
    if (!layout && op->getNumResults())
      for (Value operand : op->getOperands())
        if (!layout && isTile(operand))
          layout = current(operand);
    if (!layout)
      layout = defaultLayout(tileType(tile));
    LinearLayout wantedLayout = acceptableOperandLayout(op, linear(layout, tile));
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      if (isTile(op->getOperand(index)))
        setOperand(op, index, wantedLayout);
    for (Value result : op->getResults())
      if (isTile(result))
        setLayout(result, attr(wantedLayout));
    if (auto access = accesses.find(op); access != accesses.end())
      annotateAccess(access->second, wantedLayout);
  }

  void annotateAccess(const MemoryAccess &access, const LinearLayout &layout) {
    int vector = setVectorWidth(access, layout);
    if (!context.wantsRemarks())
      return;
    std::string limit = access.limit;
    if (vector < access.maxVectorElements)
      limit = "layout: " + std::to_string(layout.inSize(InDim::Register)) + " elements per thread";
    WarpTraffic traffic = warpTraffic(access, layout);
    context.remark(access.op, {"vector-width",
                               vector > 1,
                               {},
                               {{"widthInBits", vector * access.elementBytes * 8},
                                {"elements", vector},
                                {"sectorsPerWarpAccess", traffic.sectors}},
                               "limited by " + limit});
  }

  void applyShape(Operation *op) {
    Value result = op->getResult(0);
    LinearLayout wantedLayout = linear(layoutFor(result), result);
    std::optional<LinearLayout> operand = operandLayout(op, 0, wantedLayout);
    // Not every result can be had without moving data; then the operand as it is
    // decides, and users convert.
    if (!operand || (!llvm::isa<ir::BroadcastOp>(op) && !resultLayout(op, *operand)))
      operand = acceptableOperandLayout(op, linear(current(op->getOperand(0)), op->getOperand(0)));
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      setOperand(op, index, *operand);
    std::optional<LinearLayout> layout =
        llvm::isa<ir::BroadcastOp>(op) ? std::optional(wantedLayout) : resultLayout(op, *operand);
    for (Value value : op->getResults())
      setLayout(value, attr(*layout));
  }

  void applyReduce(ir::ReduceOp reduce) {
    Value first = reduce.getSources().front();
    LayoutAttr layout;
    for (Value source : reduce.getSources())
      if (!layout && !isFlexible(source))
        layout = current(source);
    LinearLayout source =
        acceptableOperandLayout(reduce, linear(layout ? layout : current(first), first));
    for (unsigned index = 0; index < reduce->getNumOperands(); ++index)
      setOperand(reduce, index, source);
    std::optional<LinearLayout> result = resultLayout(reduce, source);
    for (Value value : reduce.getResults())
      if (isTile(value))
        setLayout(value, attr(*result));
  }

  /// Operands that are read from shared memory keep their layout; only wgmma's `a`
  /// that is in its registers already stays there.
  void applyDot(ir::DotOp dot) {
    LinearLayout accumulator = accumulatorLayout(dot);
    setOperand(dot, 2, accumulator);
    setLayout(dot.getResult(), attr(accumulator));
    for (unsigned index : {0, 1}) {
      LinearLayout wantedLayout = dotOperandLayout(dot, index);
      if (!readsOperandsFromShared(dot) ||
          (dot.getUnit() == ir::MatrixUnit::wgmma && index == 0 &&
           isRenaming(linear(current(dot.getA()), dot.getA()), wantedLayout)))
        setOperand(dot, index, wantedLayout);
    }
  }

  static bool isRenaming(const LinearLayout &from, const LinearLayout &to) {
    return planRegisters(from, to).has_value();
  }

  /// Operands [first, ...) of `op` as the values they are carried into.
  void carryOperands(Operation *op, unsigned first, ValueRange targets) {
    for (auto [index, target] : llvm::enumerate(targets))
      if (isTile(target))
        op->setOperand(first + index,
                       materializer.get(op->getOperand(first + index), current(target)));
  }

  void setLayouts(ValueRange values, ValueRange like) {
    for (auto [value, other] : llvm::zip(values, like))
      if (isTile(value))
        setLayout(value, current(other) ? current(other) : layoutFor(other));
  }

  LogicalResult applyRegion(Operation *op) {
    if (auto loop = llvm::dyn_cast<scf::ForOp>(op)) {
      for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
        if (isTile(argument))
          setLayout(argument, known(argument) ? known(argument) : current(init));
      setLayouts(loop.getResults(), loop.getRegionIterArgs());
      carryOperands(op, loop.getNumControlOperands(), loop.getRegionIterArgs());
      if (failed(applyBlock(*loop.getBody())))
        return failure();
      carryOperands(loop.getBody()->getTerminator(), 0, loop.getRegionIterArgs());
      return success();
    }
    if (auto loop = llvm::dyn_cast<scf::WhileOp>(op)) {
      for (auto [argument, init] : llvm::zip(loop.getBeforeArguments(), loop.getInits()))
        if (isTile(argument))
          setLayout(argument, known(argument) ? known(argument) : current(init));
      for (Value argument : loop.getAfterArguments())
        if (isTile(argument))
          setLayout(argument, layoutFor(argument));
      setLayouts(loop.getResults(), loop.getAfterArguments());
      carryOperands(op, 0, loop.getBeforeArguments());
      if (failed(applyBlock(*loop.getBeforeBody())))
        return failure();
      carryOperands(loop.getConditionOp(), 1, loop.getAfterArguments());
      if (failed(applyBlock(*loop.getAfterBody())))
        return failure();
      carryOperands(loop.getYieldOp(), 0, loop.getBeforeArguments());
      return success();
    }
    if (llvm::isa<scf::IfOp>(op)) {
      for (Value result : op->getResults())
        if (isTile(result))
          setLayout(result, layoutFor(result));
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          if (failed(applyBlock(block)))
            return failure();
          if (op->getNumResults())
            carryOperands(block.getTerminator(), 0, op->getResults());
        }
      return success();
    }
    if (llvm::any_of(op->getResults(), isTile) || llvm::any_of(op->getOperands(), isTile))
      return op->emitError("no layout rule for this control flow on tiles");
    return success();
  }
};

/// The remarks on what was placed: made after dead originals are gone.
void remarkConversions(func::FuncOp function, const PassContext &context) {
  if (!context.wantsRemarks())
    return;
  function.walk([&](ir::ConvertLayoutOp convert) {
    auto from = llvm::cast<RankedTensorType>(convert.getSource().getType());
    int bits = ir::elementBits(from.getElementType());
    ConversionPlan plan =
        planConversion(ir::getLinearLayout(from),
                       ir::getLinearLayout(llvm::cast<RankedTensorType>(convert.getType())), bits);
    context.remark(convert, {"layout-conversion",
                             true,
                             {},
                             {{"bytes", from.getNumElements() * bits / 8}},
                             std::string(conversionKindName(plan.kind)) + ": " + plan.reason});
  });
}

/// Erases pure ops without users, last first.
void eraseDead(func::FuncOp function) {
  llvm::SmallVector<Operation *> ops;
  function.walk([&](Operation *op) { ops.push_back(op); });
  // Users come after their operands in the walk. Ops with regions stay: erasing
  // one would leave its inner ops dangling in the list.
  for (Operation *op : llvm::reverse(ops))
    if (op->getNumRegions() == 0 && isOpTriviallyDead(op))
      op->erase();
}

class AssignLayoutsPass : public impl::AssignLayoutsBase<AssignLayoutsPass> {
public:
  explicit AssignLayoutsPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    int numWarps = ir::numWarps(getOperation()), numBlocks = ir::numBlocks(getOperation());
    // A barrier that the kernel asks for holds all blocks. Later passes add barriers of one block.
    if (numBlocks > 1)
      getOperation().walk([](ir::BarrierOp barrier) { barrier.setAllBlocks(true); });
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      LayoutAssignment assignment(function, context, numWarps, numBlocks);
      if (failed(assignment.run()))
        return signalPassFailure();
      eraseDead(function);
      numConversions += assignment.materializer.numConversions();
      numRecomputed += assignment.materializer.numRecomputed();
      if (int count = assignment.materializer.numRecomputed())
        context.remark(
            function, {"recomputed", true, {}, {{"operations", count}}, "cheaper than converting"});
      remarkConversions(function, context);
    }
  }

private:
  PassContext context;
};

} // namespace

std::unique_ptr<Pass> createAssignLayouts(PassContext context) {
  return std::make_unique<AssignLayoutsPass>(std::move(context));
}

} // namespace tilewright::passes
