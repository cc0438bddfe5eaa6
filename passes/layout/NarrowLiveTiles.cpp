//===- NarrowLiveTiles.cpp - Rows wait for reductions as they came --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a tile of 32 bits that is used on both sides of a reduction, and that little
// arithmetic makes from a tile of 16 or 8 bits, is made again after the reduction:
//
//     x = load : f16                        x = load : f16
//     wide = cast x : f32                   wide = cast x : f32
//     m = max(wide)                   =>    m = max(wide)
//     exp(wide - m)                         y = opaque x
//                                           exp((cast y) - m)
//
// So the row takes half the registers while the threads wait for each other. Done
// where a multiprocessor then holds more blocks, of which one computes while another
// loads (tw.wanted_threads tells code generation how many threads those are). A store
// counts as a reduction does where the wide tile takes half of a thread's registers:
// it is then made again behind the store, and need not be kept from before. Done as well
// where more is alive than a thread has registers, since spills go through memory.
//
// What a loop alone reads of tiles from before it, as the weights of a norm, is made in each
// iteration where it is first read:
//
//     wide = cast w : f32                   for i:
//     for i:                          =>        x = load
//         x = load                              m = max(x)
//         m = max(x)                            y = opaque w for i
//         store(x / m * wide)                   store(x / m * (cast y))
//
// Why here: how many registers a tile takes follows from the layouts, and casts are
// where layout conversions have left them.
//
// How: for each reduction or store in turn, the tiles that live across it. tw.opaque keeps
// LLVM and the assembler from finding the equal casts and sharing them again.
//
// H200, softmax of 32768 f16 columns with 16 warps: 4065 instead of 3430 GB/s, which 32
// warps gave; layer norm 4048 instead of 3360 (November 2026). H100, the gradient of norms
// and rotary embeddings of 32 heads of 128 in one warp: 0.71 of the time (November 2026). H200,
// norms of rows in loops: of 2048 bf16 columns 0.91 of the time, with quantisation to fp8 0.80; of
// 8192 columns 0.93 and 0.97 (2026-11-29).
//
// Not handled: scans; tiles from several narrow ones that take more registers together; loops that
// end by a condition.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/analysis/CostModel.h"
#include "passes/analysis/LayoutRules.h"
#include "passes/analysis/Resources.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::passes {

#define GEN_PASS_DEF_NARROWLIVETILES
#include "passes/Passes.h.inc"

namespace {

/// With more blocks on a multiprocessor one more gains nothing, and making tiles again
/// costs: softmax of 4096 f16 columns, of which 9 blocks fit, was at 0.997 of Triton's with
/// it and at 1.008 without (H200, November 2026).
constexpr int64_t manyBlocks = 4;
/// With up to so many the assembler is held to the registers that another one leaves. A guess.
constexpr int64_t fewBlocks = 2;

/// Where registers overflow, larger tiles are better left as they are: the assembler works row
/// by row then. Of four kernels with tiles of 64 registers three spill 104 bytes instead of 400,
/// 1160 instead of 1360 and 680 instead of 900, and one 364 instead of 228; two with larger tiles
/// would spill 5500 instead of 4768 and 8100 instead of 7436.
constexpr int64_t overflowingWords = 64;

/// Registers that a loop lacks by which its tiles are better made again in each iteration. Gradients
/// of norms of 1024 and 4096 bf16 columns, which lack 31, take 1.03 and 1.04 of the time then, quantisation
/// that lacks 41 takes 1.08, and a gradient of 8192 columns, which lacks 108, 0.90 (H200,
/// 2026-11-29). The number between is a guess.
constexpr int64_t manyMissingWords = 64;

/// How a tile is made from narrow ones.
struct Recipe {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> narrow;
  double instructions = 0;
  /// Whether tiles may be views of what is made: for those that are used in a loop.
  bool hasViews = false;
};

/// Wide tiles from before a loop that only the loop uses, each with what makes it there.
struct Invariants {
  llvm::MapVector<Value, Recipe> recipes;
  /// Registers that a thread needs less while the loop runs.
  int64_t savedWords = 0;
};

class NarrowLiveTilesPass : public impl::NarrowLiveTilesBase<NarrowLiveTilesPass> {
public:
  explicit NarrowLiveTilesPass(PassContext context) : context(std::move(context)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    threads = int64_t(ir::numWarps(module)) << context.target.log2WarpSize;
    for (auto function : module.getOps<func::FuncOp>()) {
      registers.reset();
      llvm::SmallVector<Operation *> places;
      function.walk([&](Operation *op) {
        if (llvm::isa<ir::ReduceOp, ir::StoreOp>(op))
          places.push_back(op);
      });
      // Outer loops first: what is made in each of their iterations may wait for an inner one.
      function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { narrowDuring(loop); });
      for (Operation *place : places)
        narrowAcross(place);
    }
    if (wantedThreads != 0)
      module->setAttr(ir::wantedThreadsAttr,
                      IntegerAttr::get(IntegerType::get(&getContext(), 32), wantedThreads));
  }

private:
  PassContext context;
  int64_t threads = 0, wantedThreads = 0;
  /// What is alive in the function as it is now; made when it is asked for.
  std::optional<RegisterAnalysis> registers;

  static bool isBehind(Operation *op, Operation *place) {
    Operation *inBlock = place->getBlock()->findAncestorOpInBlock(*op);
    return inBlock && place->isBeforeInBlock(inBlock);
  }

  static bool livesAcross(Value value, Operation *place) {
    return llvm::any_of(value.getUsers(), [&](Operation *op) { return isBehind(op, place); });
  }

  //===--- legality and cost ---------------------------------------------===//

  static bool isNarrow(Value value) {
    auto type = llvm::dyn_cast<FloatType>(tileType(value).getElementType());
    return type && type.getWidth() <= 16;
  }

  static bool isView(Operation *op) {
    return llvm::isa_and_nonnull<ir::BroadcastOp, ir::ExpandDimsOp>(op);
  }

  /// What makes `value` again; false where that is not a little arithmetic on narrow
  /// tiles, truth values and scalars.
  static bool findRecipe(Value value, Recipe &recipe) {
    Operation *op = value.getDefiningOp();
    if (recipe.hasViews && isTile(value) && isView(op)) {
      if (!findRecipe(op->getOperand(0), recipe))
        return false;
      recipe.ops.insert(op);
      return true;
    }
    if (!isTile(value) ||
        llvm::isa_and_nonnull<ir::SplatOp, ir::BroadcastOp, arith::ConstantOp>(op) ||
        tileType(value).getElementType().isInteger(1))
      return true;
    if (isNarrow(value)) {
      recipe.narrow.insert(value);
      return true;
    }
    if (!op || !ir::isElementwise(op))
      return false;
    if (recipe.ops.contains(op))
      return true;
    std::optional<double> cost = recomputeInstructions(op);
    if (!cost || !llvm::all_of(op->getOperands(),
                               [&](Value operand) { return findRecipe(operand, recipe); }))
      return false;
    recipe.ops.insert(op);
    recipe.instructions += *cost;
    return recipe.instructions <= maxRecomputeInstructions;
  }

  int64_t residentBlocks(int64_t words) {
    return forecastBlocks(context.target, threads, words, RegisterContext::Row, /*sharedBytes=*/0);
  }

  static const char *whyRefused(int64_t blocks) {
    return blocks > manyBlocks ? "a multiprocessor holds many blocks already"
                               : "a multiprocessor would hold no more blocks";
  }

  /// Whether more is alive at `place` than a thread has registers.
  bool overflows(Operation *place) {
    if (!registers)
      registers.emplace(place->getParentOfType<func::FuncOp>());
    return registers->at(place).total() > registerLimit(getOperation(), context.target);
  }

  /// Whether a multiprocessor holds more blocks for it, or less is spilled.
  bool isWorthwhile(Value value, const Recipe &recipe, Operation *place) {
    int64_t wide = wordsPerThread(tileType(value)), narrow = 0;
    bool isLarge = wide * 2 >= context.target.maxRegistersPerThread;
    if (recipe.narrow.empty() || (!isLarge && !llvm::isa<ir::ReduceOp>(place)))
      return false;
    for (Value from : recipe.narrow)
      if (!livesAcross(from, place))
        narrow += wordsPerThread(tileType(from));
    int64_t before = residentBlocks(wide), after = residentBlocks(narrow);
    if (before > manyBlocks || after <= before) {
      if (narrow < wide && wide <= overflowingWords && overflows(place))
        return true;
      ++numRefused;
      context.remark(place, {"narrow-live-tile",
                             false,
                             {},
                             {{"words", wide}, {"blocks", before}, {"blocksThen", after}},
                             whyRefused(before)});
      return false;
    }
    if (before <= fewBlocks)
      wantedThreads = std::max(wantedThreads, after * threads);
    return true;
  }

  //===--- the change ----------------------------------------------------===//

  void narrowAcross(Operation *place) {
    // Results only: what a loop carries is wide on its way round.
    llvm::SmallVector<Value> wide;
    for (Operation &op : *place->getBlock()) {
      if (&op == place)
        break;
      for (Value result : op.getResults())
        if (isTile(result) && ir::elementBits(tileType(result).getElementType()) == 32 &&
            livesAcross(result, place))
          wide.push_back(result);
    }
    llvm::MapVector<Value, Value> opaque;
    for (Value value : wide) {
      Recipe recipe;
      // A recipe may use what another tile's has been replaced by: from this block all
      // the same.
      if (livesAcross(value, place) && findRecipe(value, recipe) &&
          isWorthwhile(value, recipe, place))
        makeAgain(value, recipe, place, opaque);
    }
  }

  //===--- loops ---------------------------------------------------------===//

  static bool livesInto(Value value, scf::ForOp loop) {
    return livesAcross(value, loop) || llvm::any_of(value.getUsers(), [&](Operation *user) {
             return loop->isProperAncestor(user);
           });
  }

  /// Whether nothing that is wide is needed behind the loop.
  static bool isForLoopAlone(const Recipe &recipe, scf::ForOp loop) {
    return llvm::all_of(recipe.ops, [&](Operation *op) {
      Value result = op->getResult(0);
      return op->getBlock() == loop->getBlock() && (isNarrow(result) || !livesAcross(result, loop));
    });
  }

  static Invariants findInvariants(scf::ForOp loop) {
    Invariants found;
    llvm::DenseSet<Value> wide, narrow;
    loop.getBody()->walk([&](Operation *op) {
      for (Value value : op->getOperands()) {
        Operation *maker = value.getDefiningOp();
        if (!isTile(value) || !maker || maker->getBlock() != loop->getBlock() ||
            ir::elementBits(tileType(value).getElementType()) != 32 ||
            found.recipes.contains(value))
          continue;
        Recipe recipe;
        recipe.hasViews = true;
        if (!findRecipe(value, recipe) || recipe.narrow.empty() || !isForLoopAlone(recipe, loop))
          continue;
        Value root = value;
        while (isView(root.getDefiningOp()))
          root = root.getDefiningOp()->getOperand(0);
        if (wide.insert(root).second)
          found.savedWords += wordsPerThread(tileType(root));
        for (Value from : recipe.narrow)
          if (narrow.insert(from).second && !livesInto(from, loop))
            found.savedWords -= wordsPerThread(tileType(from));
        found.recipes.insert({value, std::move(recipe)});
      }
    });
    return found;
  }

  /// Whether a multiprocessor holds more blocks while `loop` runs, or much would be spilled.
  bool isWorthwhile(const Invariants &found, scf::ForOp loop) {
    if (!registers)
      registers.emplace(loop->getParentOfType<func::FuncOp>());
    RegisterUse most;
    loop.getBody()->walk([&](Operation *op) {
      RegisterUse use = registers->at(op);
      if (use.total() > most.total())
        most = use;
    });
    RegisterUse then = most;
    then.data -= found.savedWords;
    int64_t limit = registerLimit(getOperation(), context.target);
    auto blocks = [&](const RegisterUse &use) {
      int64_t held = std::min(forecastRegisters(use), limit);
      return context.target.residentBlocks(threads, held, /*sharedBytes=*/0);
    };
    int64_t before = blocks(most), after = blocks(then), missing = most.total() - limit;
    bool isBetter = (before <= manyBlocks && after > before) || missing > manyMissingWords;
    context.remark(loop, {"narrow-live-tile",
                          isBetter,
                          {},
                          {{"words", found.savedWords}, {"blocks", before}, {"blocksThen", after}},
                          isBetter ? "made again in each iteration from a narrower tile"
                                   : whyRefused(before)});
    return isBetter;
  }

  void narrowDuring(scf::ForOp loop) {
    // Not tried where products set the pace.
    bool hasProduct = false;
    loop->walk([&](Operation *op) { hasProduct |= isProduct(op); });
    if (hasProduct)
      return;
    Invariants found = findInvariants(loop);
    if (found.savedWords <= 0)
      return;
    if (!isWorthwhile(found, loop)) {
      ++numRefused;
      return;
    }
    for (const auto &[value, recipe] : found.recipes)
      makeAgainIn(loop, value, recipe);
    registers.reset();
  }

  void makeAgainIn(scf::ForOp loop, Value value, const Recipe &recipe) {
    Operation *first = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
      if (inBody && (!first || inBody->isBeforeInBlock(first)))
        first = inBody;
    }
    OpBuilder builder(first);
    IRMapping mapping;
    for (Value narrow : recipe.narrow)
      mapping.map(narrow, builder.create<ir::OpaqueOp>(loop.getLoc(), narrow.getType(), narrow,
                                                       loop.getInductionVar()));
    for (Operation *op : recipe.ops)
      builder.clone(*op, mapping);
    value.replaceUsesWithIf(mapping.lookup(value),
                            [&](OpOperand &use) { return loop->isProperAncestor(use.getOwner()); });
    ++numNarrowed;
  }

  void makeAgain(Value value, const Recipe &recipe, Operation *place,
                 llvm::MapVector<Value, Value> &opaque) {
    OpBuilder builder(place->getContext());
    builder.setInsertionPointAfter(place);
    IRMapping mapping;
    for (Value narrow : recipe.narrow) {
      Value &copy = opaque[narrow];
      if (!copy) {
        copy = builder.create<ir::OpaqueOp>(place->getLoc(), narrow.getType(), narrow,
                                            /*iteration=*/Value());
        narrow.replaceUsesWithIf(copy, [&](OpOperand &use) {
          return use.getOwner() != copy.getDefiningOp() && isBehind(use.getOwner(), place);
        });
      }
      mapping.map(narrow, copy);
    }
    // It goes before the first user.
    Operation *first = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *inBlock = place->getBlock()->findAncestorOpInBlock(*user);
      if (isBehind(user, place) && (!first || inBlock->isBeforeInBlock(first)))
        first = inBlock;
    }
    builder.setInsertionPoint(first);
    for (Operation *op : recipe.ops)
      builder.clone(*op, mapping);
    Value again = mapping.lookup(value);
    value.replaceUsesWithIf(again, [&](OpOperand &use) {
      return use.getOwner() != again.getDefiningOp() && isBehind(use.getOwner(), place);
    });
    registers.reset();
    ++numNarrowed;
    context.remark(place, {"narrow-live-tile",
                           true,
                           {},
                           {{"words", wordsPerThread(tileType(value))},
                            {"instructions", int64_t(recipe.instructions)}},
                           llvm::isa<ir::ReduceOp>(place)
                               ? "made again after the reduction from a narrower tile"
                               : "made again after the store from a narrower tile"});
  }
};

} // namespace

std::unique_ptr<Pass> createNarrowLiveTiles(PassContext context) {
  return std::make_unique<NarrowLiveTilesPass>(std::move(context));
}

} // namespace tilewright::passes
