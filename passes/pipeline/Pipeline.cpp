//===- Pipeline.cpp - The ordered list of passes --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the order of the passes. The list below is the only one: the pipeline, the passes
// of tilewright-opt, what may be skipped and where a reproducer begins all follow from it.
//
//      tile IR of the front end         tiles have a shape and no layout
//               |
//        [ tile level ]                 fewer and smaller ops; numbers of warps and the
//               |                       units of products are chosen
//        [ layout level ]               every tile says which thread holds which element
//               |  tw-verify-layouts    ... and no op sees two layouts of one tile
//               |
//        [ asynchrony ]                 loads are copies into rings; descriptors are TMA or
//               |  tw-verify-async      pointers; what is started is waited for
//               |
//        [ resources ]                  scratch and buffers have offsets, barriers stand
//               |  tw-verify-fences     between accesses; wgmma and TMA see what is written
//               |  tw-verify-resources  ... and what is alive together has its own bytes
//               v
//        codegen/lower
//
// What breaks if a step is moved stands beside it: its comment says what it finds done, and
// what it has to come before.
// Lowering steps cannot be left out; optimisations can (TILEWRIGHT_SKIP_PASSES), and a
// kernel is right without any of them, which tests/e2e/test_skipped_passes.py checks.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/Pipeline.h"

#include "ir/dialect/TileDialect.h"
#include "ir/support/Error.h"
#include "ir/support/Knobs.h"
#include "passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace tilewright::passes {

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

namespace {

enum class Role {
  Lowering,     ///< what follows cannot do without it
  Optimisation, ///< the module is right without it, so it can be skipped by name
  Verifier      ///< changes nothing
};

struct Step {
  std::unique_ptr<Pass> (*create)(PassContext context);
  Role role;
};

} // namespace

static std::unique_ptr<Pass> createCSE(PassContext) { return createCSEPass(); }

/// The whole way from tile level to what code generation takes, in order.
static constexpr Step steps[] = {
    //===--- tile level ----------------------------------------------------===//
    // Before every pass that asks whether a load is plain: this one decides it.
    {createMarkWaits, Role::Lowering},
    // Before anything that deletes ops without users: a promise that stands as a statement has
    // none until this step.
    {createExtendHints, Role::Optimisation},
    // Before whatever a mask that is known makes simpler; later both bodies would be alike.
    {createVersionMasks, Role::Optimisation},
    // Constants and broadcasts first: all that follows sees fewer and smaller ops.
    {createCombineOps, Role::Optimisation},
    // Equal addresses and masks become one value. Analyses compare values, so without it they
    // take an access and its mask for unrelated.
    {createCSE, Role::Optimisation},
    // Equal masks are one value now; before, it would find few.
    {createSimplifyMasked, Role::Optimisation},
    // Makes variables of loops constant, and what advanced them invariant.
    {createCompactLoads, Role::Optimisation},
    // Before layouts, so that an invariant tile is converted once, outside; later each of its
    // conversions would stand in the loop.
    {createHoistInvariants, Role::Optimisation},
    // Bounds of inner loops are outside now, where they do not change; it refuses those inside.
    {createFlattenLoops, Role::Optimisation},
    // Variables are what they will be; afterwards their layouts would be chosen.
    {createCarryScalars, Role::Optimisation},
    // Casts stand outside of loops now, where they can. Before warps are counted by tiles.
    {createNarrowProducts, Role::Optimisation},
    // Only tiles that are left count; earlier, ones that are never loaded would ask for warps.
    {createChooseNumWarps, Role::Lowering},
    // Divides results among the warps, whose number is known now. Layouts follow from it.
    {createSelectMatrixUnit, Role::Lowering},
    // Invariant tiles are outside of loops now, and are stored there. Before layouts, so that what
    // reads the buffer may have any. No later step knows the gathers that it replaces.
    {createPromoteGathers, Role::Lowering},

    //===--- layout level --------------------------------------------------===//
    // Everything below reads layouts from the types; an op that is made later comes with its own.
    {createAssignLayouts, Role::Lowering},
    // Values recomputed for several users in one layout become one again.
    {createCSE, Role::Optimisation},
    // After CSE has shown which conversions are the same.
    {createRemoveConversions, Role::Optimisation},
    // Whether an operand is in its registers already is known now. Before, it would store
    // operands whose conversion goes away.
    {createPromoteShared, Role::Lowering},
    // Which elements of an axis a thread holds does not change any more. PipelineLoops moves the
    // arithmetic of loops about, in which it would not find reductions again.
    {createDeferReductions, Role::Optimisation},
    // Registers per thread follow from the layouts, and casts are where conversions left them.
    {createNarrowLiveTiles, Role::Optimisation},
    // The phase ends: no op may see two layouts of one tile.
    {createVerifyLayouts, Role::Verifier},

    //===--- asynchrony ----------------------------------------------------===//
    // Copies instead of loads and rings instead of buffers. Layouts are final; whatever counts
    // shared memory has to see the rings.
    {createPipelineLoops, Role::Optimisation},
    // Reads the rings that are there now, one slot further.
    {createPrefetchOperands, Role::Optimisation},
    // What stays in flight round a loop is decided; all else is waited for where it is used. The
    // operands of a product live until its wait, which AllocateShared has to see.
    {createOverlapProducts, Role::Optimisation},
    // The expander repeats address arithmetic per stage.
    {createCSE, Role::Optimisation},
    // What no loop has taken into its pipeline: earlier, it would take all, and wait for each.
    {createLowerDescriptors, Role::Lowering},
    // Knows which loads are left, and how much shared memory: all other buffers are there.
    {createStageLoads, Role::Optimisation},
    // What is still a load stays one. Before barriers, of which one serves all that is stored
    // together.
    {createGatherLoads, Role::Optimisation},
    // How many maps are in use together follows from the rings; makes a buffer.
    {createPlaceTensorMaps, Role::Lowering},
    // The phase ends: nothing that was started may be left alone.
    {createVerifyAsync, Role::Verifier},

    //===--- resources -----------------------------------------------------===//
    // Which reductions cross blocks does not change any more; makes barriers, which get a place.
    {createPrepareExchanges, Role::Lowering},
    // The set of ops with scratch does not change any more: one that came later had no place.
    {createAllocateShared, Role::Lowering},
    // Needs the offsets: disjoint scratch needs no barrier.
    {createInsertBarriers, Role::Lowering},
    // Barriers and fences are final: what wgmma and TMA read must have both, and no slot of a
    // ring may be filled while it is read.
    {createVerifyFences, Role::Verifier},
    // Attributes of existing ops only; last, so that no pass has to keep them.
    {createMarkConstancy, Role::Optimisation},
    // The phase ends: no two pieces that are alive together may share bytes.
    {createVerifyResources, Role::Verifier},
};

/// Passes that only tests run, each alone.
static constexpr std::unique_ptr<Pass> (*testingPasses[])(PassContext) = {
    createDeleteBarrier, createPrintAxisInfo, createPrintLoopSchedule, createPrintResources,
    createTestFault};

const std::vector<PipelineStep> &pipelineSteps() {
  static const std::vector<PipelineStep> names = [] {
    std::vector<PipelineStep> result;
    for (const Step &step : steps)
      result.push_back(
          {step.create(PassContext())->getArgument().str(), step.role == Role::Optimisation});
    return result;
  }();
  return names;
}

//===----------------------------------------------------------------------===//
// Skipping
//===----------------------------------------------------------------------===//

/// Passes go by their flags, with or without our prefix.
static bool isName(llvm::StringRef name, llvm::StringRef step) {
  return name == step || (step.consume_front("tw-") && name == step);
}

bool isSkipped(const PipelineStep &step, llvm::ArrayRef<std::string> skipped) {
  return llvm::any_of(skipped, [&](llvm::StringRef name) { return isName(name, step.name); });
}

void checkSkippedPasses(llvm::ArrayRef<std::string> skipped) {
  for (const std::string &name : skipped) {
    auto found =
        llvm::find_if(pipelineSteps(), [&](auto &step) { return isName(name, step.name); });
    if (found != pipelineSteps().end() && found->isOptional)
      continue;
    bool isKnown = found != pipelineSteps().end();
    std::string nearest;
    unsigned least = ~0u;
    for (const PipelineStep &step : pipelineSteps()) {
      unsigned distance = llvm::StringRef(step.name).edit_distance(name);
      if (step.isOptional && distance < least) {
        least = distance;
        nearest = step.name;
      }
    }
    throw makeError(ErrorCode::E0708, fmt::arg("p", name),
                    fmt::arg("problem", isKnown ? "is no optimisation: what follows needs it"
                                                : "is no pass of the pipeline"),
                    fmt::arg("help", isKnown ? "'tilewright passes' lists those that can be skipped"
                                             : "did you mean '" + nearest + "'?"));
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// For tests of what happens when a pass fails: TILEWRIGHT_TEST_FAULT is "kind@pass", and
/// the faulty pass stands before that one. Only builds with tests read it.
static std::unique_ptr<Pass> faultBefore(llvm::StringRef step) {
#ifdef TILEWRIGHT_TEST_FAULTS
  std::string wanted = knobText(Knob::TEST_FAULT);
  auto [kind, place] = llvm::StringRef(wanted).split('@');
  if (!kind.empty() && isName(place, step)) {
    std::unique_ptr<Pass> fault = createTestFault(PassContext());
    if (succeeded(fault->initializeOptions("kind=" + kind.str(),
                                           [](const Twine &) { return failure(); })))
      return fault;
  }
#endif
  (void)step;
  return nullptr;
}

/// Adds the steps that `options` asks for; `positions` gets the place in the list of each.
static void buildPipeline(OpPassManager &manager, const PassContext &context,
                          const PipelineOptions &options, std::vector<size_t> &positions) {
  for (size_t index = options.first; index < std::min(options.end, std::size(steps)); ++index) {
    if (isSkipped(pipelineSteps()[index], options.skipped))
      continue;
    if (std::unique_ptr<Pass> fault = faultBefore(pipelineSteps()[index].name)) {
      manager.addPass(std::move(fault));
      positions.push_back(index);
    }
    manager.addPass(steps[index].create(context));
    positions.push_back(index);
  }
}

namespace {

/// Tells the caller of each step that runs.
class StepCallback : public PassInstrumentation {
public:
  StepCallback(const PipelineOptions &options, const std::vector<size_t> &positions)
      : options(options), positions(positions) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (options.beforeStep && llvm::isa<ModuleOp>(op))
      options.beforeStep(pass->getArgument(), positions[numBegun++]);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto module = llvm::dyn_cast<ModuleOp>(op); module && options.afterStep)
      options.afterStep(pass->getArgument(), module);
  }

private:
  const PipelineOptions &options;
  const std::vector<size_t> &positions;
  size_t numBegun = 0;
};

} // namespace

LogicalResult runPipeline(ModuleOp module, const PipelineOptions &options) {
  PassContext context;
  if (options.target)
    context.target = *options.target;
  context.remarks = options.remarks;

  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  // Upstream's verifier costs as much as the passes; ours close their phases, and the
  // module is verified after each step in debug builds, and where somebody asks for it.
#ifdef NDEBUG
  manager.enableVerifier(options.verifyEach);
#endif
  std::vector<size_t> positions;
  manager.addInstrumentation(std::make_unique<StepCallback>(options, positions));
  buildPipeline(manager, context, options, positions);
  return manager.run(module);
}

//===----------------------------------------------------------------------===//
// Fewer stages
//===----------------------------------------------------------------------===//

std::optional<FittingStages> findFittingStages(ModuleOp module, const PipelineOptions &options) {
  PipelineOptions quiet;
  quiet.target = options.target;
  quiet.skipped = options.skipped;
  quiet.first = options.first;
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  int64_t most = ir::numStages(module);
  module.walk([&](Operation *op) {
    if (auto stages = op->getAttrOfType<IntegerAttr>(ir::loopStagesAttr))
      most = std::max(most, stages.getInt());
  });
  for (int64_t stages = most - 1; stages >= 1; --stages) {
    OwningOpRef<ModuleOp> trial = module.clone();
    FittingStages found;
    found.stages = static_cast<int>(stages);
    auto fewer = IntegerAttr::get(IntegerType::get(module.getContext(), 32), stages);
    if (ir::numStages(*trial) > stages)
      (*trial)->setAttr(ir::numStagesAttr, fewer);
    trial->walk([&](Operation *op) {
      auto asked = op->getAttrOfType<IntegerAttr>(ir::loopStagesAttr);
      if (asked && asked.getInt() > stages) {
        op->setAttr(ir::loopStagesAttr, fewer);
        found.changesLoops = true;
      }
    });
    if (failed(runPipeline(*trial, quiet)))
      continue;
    if (auto bytes = (*trial)->getAttrOfType<IntegerAttr>(ir::sharedBytesAttr))
      found.sharedBytes = bytes.getInt();
    return found;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// tilewright-opt
//===----------------------------------------------------------------------===//

/// Without a target at hand tests see this GPU.
static PassContext testContext() {
  static llvm::cl::opt<bool> remarks("tw-remarks",
                                     llvm::cl::desc("print remarks of passes as diagnostics"));
  PassContext context;
  context.target = getTargetInfo("sm_90a");
  context.remarksAsDiagnostics = remarks;
  return context;
}

void registerPasses() {
  // The option must exist before the command line is read.
  (void)testContext();
  for (const Step &step : steps)
    registerPass([create = step.create] { return create(testContext()); });
  for (auto *create : testingPasses)
    registerPass([create] { return create(testContext()); });
  PassPipelineRegistration<>("tw-pipeline", "the whole pipeline from tile level",
                             [](OpPassManager &manager) {
                               std::vector<size_t> positions;
                               buildPipeline(manager, testContext(), PipelineOptions(), positions);
                             });
}

} // namespace tilewright::passes
