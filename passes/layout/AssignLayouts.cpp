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
//  1. LayoutCandidates: for each access the vector width and the coalesced layout.
//  2. LayoutChoice: which layout each value should have, forward from loads, then backward
//     from what has none.
//  3. LayoutApplication: layouts enter the types; where an op needs an operand in another
//     layout, TileMaterializer provides it.
//
// Not handled: two layouts for one loop variable (RemoveConversions).
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/ParameterAttr.h"
#include "passes/Passes.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/RegionFlow.h"
#include "passes/layout/LayoutChoice.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

using ir::LayoutAttr;

/// Registers of a thread that a computed left operand of wgmma may take, and with the
/// accumulator. Guesses: the rest is for addresses, and for what it is computed from.
constexpr int64_t maxOperandWords = 64;
constexpr int64_t maxOperandAndAccumulatorWords = 176;

/// Whether `tile` is computed, element by element, from what its loop loads for it, in elements of
/// 16 bits: those come from a ring as registers of a product take them, by ldmatrix.
bool isComputedFromLoads(Value tile, Block *body) {
  llvm::SmallVector<Value> tiles = {tile};
  bool hasLoad = false;
  while (!tiles.empty()) {
    Value value = tiles.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && llvm::isa<ir::LoadOp, ir::DescriptorLoadOp>(op)) {
      if (op->getBlock() != body || !value.hasOneUse() ||
          ir::elementBits(tileType(value).getElementType()) != 16)
        return false;
      hasLoad = true;
    } else if (op && ir::isElementwise(op) && (value == tile || value.hasOneUse())) {
      llvm::copy_if(op->getOperands(), std::back_inserter(tiles), isTile);
    } else if (!op || !llvm::isa<ir::BroadcastOp, ir::SplatOp, arith::ConstantOp>(op)) {
      return false;
    }
  }
  return hasLoad;
}

/// Whether the left operand of a product by wgmma should be computed in the product's
/// registers. In shared memory it takes a store of what may be wider than what is loaded, in
/// another order where K is not the fastest dimension, and a barrier.
bool isBetterInRegisters(ir::DotOp dot, const LinearLayout &made, const LinearLayout &layout) {
  Value a = dot.getA();
  Operation *op = a.getDefiningOp();
  auto isLeftOperand = [&](OpOperand &use) {
    auto user = llvm::dyn_cast<ir::DotOp>(use.getOwner());
    return user && user.getUnit() == ir::MatrixUnit::wgmma && use.getOperandNumber() == 0;
  };
  if (!op || !ir::isElementwise(op) || !llvm::isa<scf::ForOp>(dot->getParentOp()) ||
      !llvm::all_of(a.getUses(), isLeftOperand) || !isComputedFromLoads(a, dot->getBlock()))
    return false;
  // Wider elements that lie along K are stored as they are, and ldmatrix brings no single halfs.
  int64_t bits = ir::elementBits(tileType(a).getElementType());
  if (bits > 16 && fastestDimension(made) == 1)
    return false;
  int64_t words = layout.inSize(InDim::Register) * bits / 32;
  int64_t accumulator = accumulatorLayout(dot).inSize(InDim::Register);
  return words <= maxOperandWords && words + accumulator <= maxOperandAndAccumulatorWords;
}

class LayoutApplication {
public:
  LayoutApplication(func::FuncOp function, const PassContext &context,
                    const LayoutCandidates &candidates, const LayoutChoice &choice,
                    TileMaterializer &materializer)
      : function(function), context(context), candidates(candidates), choice(choice),
        materializer(materializer) {}

  LogicalResult run() {
    // Kernels take scalars; a function on tiles, as in tests, says what it needs
    // by its type.
    for (BlockArgument argument : function.getArguments())
      if (isTile(argument))
        setLayout(argument, choice.layoutFor(argument));
    if (failed(applyBlock(function.getBody().front())))
      return failure();
    Operation *terminator = function.getBody().front().getTerminator();
    function.setFunctionType(FunctionType::get(function.getContext(),
                                               function.getBody().getArgumentTypes(),
                                               terminator->getOperandTypes()));
    return success();
  }

private:
  func::FuncOp function;
  const PassContext &context;
  const LayoutCandidates &candidates;
  const LayoutChoice &choice;
  TileMaterializer &materializer;

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

  static LayoutAttr current(Value value) { return ir::getLayout(tileType(value)); }

  void setOperand(Operation *op, unsigned index, const LinearLayout &layout) {
    op->setOperand(index, materializer.get(op->getOperand(index), candidates.attr(layout)));
  }

  LogicalResult apply(Operation *op) {
    switch (layoutRule(op)) {
    case LayoutRule::NoTiles:
    case LayoutRule::Free:
    case LayoutRule::Convert:
      return success();
    case LayoutRule::Source:
      setLayout(op->getResult(0), choice.layoutFor(op->getResult(0)));
      return success();
    case LayoutRule::Fixed:
      for (Value result : op->getResults())
        if (!current(result))
          setLayout(result, choice.layoutFor(result));
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
    LayoutAttr layout = choice.decidedFor(op);
    // No user wants the result in a layout: it takes the one of its operands.
    if (!layout)
      layout = choice.known(tile);
    if (!layout && op->getNumResults())
      for (Value operand : op->getOperands())
        if (!layout && isTile(operand))
          layout = current(operand);
    if (!layout)
      layout = candidates.defaultLayout(tileType(tile));
    LinearLayout wantedLayout = acceptableOperandLayout(op, linearLayout(layout, tile));
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      if (isTile(op->getOperand(index)))
        setOperand(op, index, wantedLayout);
    for (Value result : op->getResults())
      if (isTile(result))
        setLayout(result, candidates.attr(wantedLayout));
    if (const MemoryAccess *access = candidates.accessOf(op))
      annotateAccess(*access, wantedLayout);
  }

  void annotateAccess(const MemoryAccess &access, const LinearLayout &layout) {
    int vector = setVectorWidth(access, layout);
    if (!context.wantsRemarks())
      return;
    std::string limit = access.limit;
    if (vector < access.maxVectorElements)
      limit = "layout: " + std::to_string(layout.inSize(InDim::Register)) + " elements per thread";
    WarpTraffic traffic = warpTraffic(access, layout);
    auto parameter = access.op->getAttrOfType<StringAttr>(ir::accessedParameterAttr);
    context.remark(access.op, {"vector-width",
                               vector > 1,
                               {},
                               {{"widthInBits", vector * access.elementBytes * 8},
                                {"elements", vector},
                                {"sectorsPerWarpAccess", traffic.sectors}},
                               "limited by " + limit,
                               parameter ? parameter.str() : ""});
  }

  void applyShape(Operation *op) {
    Value result = op->getResult(0);
    LinearLayout wantedLayout = linearLayout(choice.layoutFor(result), result);
    std::optional<LinearLayout> operand = operandLayout(op, 0, wantedLayout);
    // Not every result can be had without moving data; then the operand as it is
    // decides, and users convert.
    if (!operand || (!llvm::isa<ir::BroadcastOp>(op) && !resultLayout(op, *operand)))
      operand =
          acceptableOperandLayout(op, linearLayout(current(op->getOperand(0)), op->getOperand(0)));
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      setOperand(op, index, *operand);
    std::optional<LinearLayout> layout =
        llvm::isa<ir::BroadcastOp>(op) ? std::optional(wantedLayout) : resultLayout(op, *operand);
    for (Value value : op->getResults())
      setLayout(value, candidates.attr(*layout));
  }

  void applyReduce(ir::ReduceOp reduce) {
    Value first = reduce.getSources().front();
    LayoutAttr layout;
    for (Value source : reduce.getSources())
      if (!layout && !choice.isFlexible(source))
        layout = current(source);
    LinearLayout source =
        acceptableOperandLayout(reduce, linearLayout(layout ? layout : current(first), first));
    for (unsigned index = 0; index < reduce->getNumOperands(); ++index)
      setOperand(reduce, index, source);
    std::optional<LinearLayout> result = resultLayout(reduce, source);
    for (Value value : reduce.getResults())
      if (isTile(value))
        setLayout(value, candidates.attr(*result));
  }

  /// Operands that are read from shared memory keep their layout; only wgmma's `a` stays in
  /// registers where it is in its own already, or can be computed there.
  void applyDot(ir::DotOp dot) {
    LinearLayout accumulator = accumulatorLayout(dot);
    setOperand(dot, 2, accumulator);
    setLayout(dot.getResult(), candidates.attr(accumulator));
    for (unsigned index : {0, 1}) {
      LinearLayout wantedLayout = dotOperandLayout(dot, index);
      if (!readsOperandsFromShared(dot) ||
          (dot.getUnit() == ir::MatrixUnit::wgmma && index == 0 &&
           (isRenaming(linearLayout(current(dot.getA()), dot.getA()), wantedLayout) ||
            isBetterInRegisters(dot, linearLayout(current(dot.getA()), dot.getA()), wantedLayout))))
        setOperand(dot, index, wantedLayout);
    }
  }

  static bool isRenaming(const LinearLayout &from, const LinearLayout &to) {
    return planRegisters(from, to).has_value();
  }

  /// The operands of a region op, or of the end of one of its regions, in the layouts of what
  /// they are carried into.
  void carryOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (llvm::SmallVector<Value> targets = carriedTo(operand);
          !targets.empty() && isTile(targets.front()))
        operand.set(materializer.get(operand.get(), current(targets.front())));
  }

  /// All block arguments and results of one variable in one layout: what it is known to
  /// have, or what it comes in with.
  void setLayouts(const FlowVariable &variable, Operation *op) {
    Value first = variable.targets.front();
    if (!isTile(first))
      return;
    LayoutAttr layout = choice.known(first);
    for (OpOperand *source : variable.sources)
      if (!layout && source->getOwner() == op)
        layout = current(source->get());
    for (Value target : variable.targets)
      setLayout(target, layout ? layout : choice.layoutFor(first));
  }

  LogicalResult applyRegion(Operation *op) {
    // Those that code generation lowers.
    if (llvm::isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op)) {
      for (const FlowVariable &variable : flowVariables(op))
        setLayouts(variable, op);
      carryOperands(op);
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          if (failed(applyBlock(block)))
            return failure();
          carryOperands(block.getTerminator());
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
      TileMaterializer materializer;
      LayoutCandidates candidates(function, context.target, numWarps, numBlocks);
      LayoutChoice choice(function, candidates, materializer);
      if (failed(LayoutApplication(function, context, candidates, choice, materializer).run()))
        return signalPassFailure();
      eraseDead(function);
      numConversions += materializer.numConversions();
      numRecomputed += materializer.numRecomputed();
      if (int count = materializer.numRecomputed())
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
