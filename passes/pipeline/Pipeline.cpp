//===- Pipeline.cpp - The ordered list of passes --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/Pipeline.h"

#include "ir/dialect/TileDialect.h"
#include "passes/transform/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/CommandLine.h"

using namespace mlir;

namespace tilewright::passes {

/// The whole way from tile level to what code generation takes.
static void buildPipeline(OpPassManager &manager, const PassContext &context) {
  //===--- tile level ------------------------------------------------------===//
  // Before anything deletes a promise that stands as a statement.
  manager.addPass(createExtendHints(context));
  // Before whatever a mask that is known makes simpler.
  manager.addPass(createVersionMasks(context));
  // Constants and broadcasts first: all that follows sees fewer and smaller ops.
  manager.addPass(createCombineOps(context));
  // Equal addresses and masks become one value, which analyses rely on.
  manager.addPass(createCSEPass());
  // Equal masks are one value now.
  manager.addPass(createSimplifyMasked(context));
  // Before layouts, so that an invariant tile is converted once, outside.
  manager.addPass(createHoistInvariants(context));
  // Bounds of inner loops are outside now, where they do not change.
  manager.addPass(createFlattenLoops(context));
  // Only tiles that are left count.
  manager.addPass(createChooseNumWarps(context));
  // Layouts follow from what computes the products.
  manager.addPass(createSelectMatrixUnit(context));
  // Invariant tiles are outside of loops now; they are stored there.
  manager.addPass(createPromoteGathers(context));

  //===--- layout level ----------------------------------------------------===//
  // Everything below reads layouts from the types.
  manager.addPass(createAssignLayouts(context));
  // Values recomputed for several users in one layout become one again.
  manager.addPass(createCSEPass());
  // After CSE has shown which conversions are the same.
  manager.addPass(createRemoveConversions(context));
  // Whether an operand is in its registers already is known now.
  manager.addPass(createPromoteShared(context));
  // Which elements of an axis a thread holds is known now.
  manager.addPass(createDeferReductions(context));
  // Registers per thread are known now.
  manager.addPass(createNarrowLiveTiles(context));
  // The phase ends: no op may see two layouts of one tile.
  manager.addPass(createVerifyLayouts(context));

  //===--- asynchrony ------------------------------------------------------===//
  // Copies instead of loads and rings instead of buffers, before they are placed.
  manager.addPass(createPipelineLoops(context));
  // Reads the rings that are there now, one slot further.
  manager.addPass(createPrefetchOperands(context));
  // What is not in flight round a loop is waited for where it is used.
  manager.addPass(createOverlapProducts(context));
  // The expander repeats address arithmetic per stage.
  manager.addPass(createCSEPass());
  // What no loop has taken into its pipeline; makes buffers.
  manager.addPass(createLowerDescriptors(context));
  // Knows which loads are left, and how much shared memory.
  manager.addPass(createStageLoads(context));
  // How many maps are in use together follows from the rings; makes a buffer.
  manager.addPass(createPlaceTensorMaps(context));

  //===--- resources -------------------------------------------------------===//
  // Which reductions cross blocks does not change any more; makes barriers.
  manager.addPass(createPrepareExchanges(context));
  // Last change of the set of ops with scratch is behind us.
  manager.addPass(createAllocateShared(context));
  // Needs the offsets: disjoint scratch needs no barrier.
  manager.addPass(createInsertBarriers(context));
  // All fences are there now.
  manager.addPass(createMergeFences());
  // Attributes of existing ops only; last, so that no pass has to keep them.
  manager.addPass(createMarkConstancy(context));
}

namespace {

/// Tells the caller of each step that has run.
class StepCallback : public PassInstrumentation {
public:
  explicit StepCallback(const PipelineOptions &options) : options(options) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto module = llvm::dyn_cast<ModuleOp>(op))
      options.afterStep(pass->getArgument(), module);
  }

private:
  const PipelineOptions &options;
};

} // namespace

LogicalResult runPipeline(ModuleOp module, const PipelineOptions &options) {
  PassContext context;
  if (options.target)
    context.target = *options.target;
  context.remarks = options.remarks;

  PassManager manager(module->getContext(), ModuleOp::getOperationName());
  // Upstream's verifier costs as much as the passes; VerifyLayouts closes the
  // phase, and the module is verified once at the end in debug builds.
#ifdef NDEBUG
  manager.enableVerifier(false);
#endif
  if (options.afterStep)
    manager.addInstrumentation(std::make_unique<StepCallback>(options));
  buildPipeline(manager, context);
  return manager.run(module);
}

//===----------------------------------------------------------------------===//
// tilewright-opt
//===----------------------------------------------------------------------===//

/// Without a target at hand tests see a GPU of ordinary size.
std::optional<FittingStages> findFittingStages(ModuleOp module, const PipelineOptions &options) {
  PipelineOptions quiet;
  quiet.target = options.target;
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  auto launch = module->getAttrOfType<IntegerAttr>(ir::numStagesAttr);
  int64_t most = launch ? launch.getInt() : 1;
  module.walk([&](Operation *op) {
    if (auto stages = op->getAttrOfType<IntegerAttr>(ir::loopStagesAttr))
      most = std::max(most, stages.getInt());
  });
  for (int64_t stages = most - 1; stages >= 1; --stages) {
    OwningOpRef<ModuleOp> trial = module.clone();
    FittingStages found;
    found.stages = static_cast<int>(stages);
    auto fewer = IntegerAttr::get(IntegerType::get(module.getContext(), 32), stages);
    trial->walk([&](Operation *op) {
      for (llvm::StringRef name : {ir::numStagesAttr, ir::loopStagesAttr})
        if (auto asked = op->getAttrOfType<IntegerAttr>(name); asked && asked.getInt() > stages) {
          op->setAttr(name, fewer);
          found.changesLoops |= name == ir::loopStagesAttr;
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

static PassContext testContext() {
  static llvm::cl::opt<bool> remarks("tw-remarks",
                                     llvm::cl::desc("print remarks of passes as diagnostics"));
  PassContext context;
  context.target.name = "sm_90a";
  context.target.maxSharedBytesPerBlock = 232448;
  context.target.hasCpAsync = context.target.hasWgmma = context.target.hasTma = true;
  context.target.hasMma = true;
  context.target.maxBlocksPerCluster = 16;
  context.remarksAsDiagnostics = remarks;
  return context;
}

void registerPasses() {
  // The option must exist before the command line is read.
  (void)testContext();
  registerPass([] { return createExtendHints(testContext()); });
  registerPass([] { return createVersionMasks(testContext()); });
  registerPass([] { return createCombineOps(testContext()); });
  registerPass([] { return createSimplifyMasked(testContext()); });
  registerPass([] { return createHoistInvariants(testContext()); });
  registerPass([] { return createFlattenLoops(testContext()); });
  registerPass([] { return createChooseNumWarps(testContext()); });
  registerPass([] { return createSelectMatrixUnit(testContext()); });
  registerPass([] { return createPromoteGathers(testContext()); });
  registerPass([] { return createAssignLayouts(testContext()); });
  registerPass([] { return createRemoveConversions(testContext()); });
  registerPass([] { return createPromoteShared(testContext()); });
  registerPass([] { return createNarrowLiveTiles(testContext()); });
  registerPass([] { return createVerifyLayouts(testContext()); });
  registerPass([] { return createPipelineLoops(testContext()); });
  registerPass([] { return createPrefetchOperands(testContext()); });
  registerPass([] { return createDeferReductions(testContext()); });
  registerPass([] { return createOverlapProducts(testContext()); });
  registerPass([] { return createLowerDescriptors(testContext()); });
  registerPass([] { return createStageLoads(testContext()); });
  registerPass([] { return createPlaceTensorMaps(testContext()); });
  registerPass([] { return createPrepareExchanges(testContext()); });
  registerPass([] { return createAllocateShared(testContext()); });
  registerPass([] { return createInsertBarriers(testContext()); });
  registerPass(createMergeFences);
  registerPass([] { return createMarkConstancy(testContext()); });
  registerPass([] { return createDeleteBarrier(testContext()); });
  registerPass([] { return createPrintAxisInfo(testContext()); });
  registerPass([] { return createPrintLoopSchedule(testContext()); });
  PassPipelineRegistration<>("tw-pipeline", "the whole pipeline from tile level",
                             [](OpPassManager &manager) { buildPipeline(manager, testContext()); });
}

} // namespace tilewright::passes
