//===- CompileModule.cpp - From tile IR to a cubin ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/CompileModule.h"

#include "codegen/emit/ArgumentAccess.h"
#include "codegen/emit/AssembleKernel.h"
#include "codegen/emit/AssemblerFaults.h"
#include "codegen/emit/CompileDiagnostics.h"
#include "codegen/emit/EmitPtx.h"
#include "codegen/emit/NvJitLink.h"
#include "codegen/emit/Reproducer.h"
#include "codegen/emit/WorkCount.h"
#include "codegen/lower/Lowering.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/Knobs.h"
#include "passes/pipeline/KernelFacts.h"
#include "passes/pipeline/Pipeline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;

namespace tilewright::codegen {

namespace {

//===----------------------------------------------------------------------===//
// Dumps and times
//===----------------------------------------------------------------------===//

/// Serves TILEWRIGHT_DUMP and the step times, and knows which step runs.
class StepObserver {
public:
  StepObserver(CompiledModule &result, const CompileOptions &options)
      : result(result), options(options), filter(knobText(Knob::DUMP)),
        limit(knobFloat(Knob::COMPILE_TIMEOUT)) {
    if (filter != "0" && filter != "1" && filter != "all")
      llvm::StringRef(filter).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  }

  /// `place` is that of a pass in passes::pipelineSteps(), and its size after all passes.
  void begin(llvm::StringRef step, size_t place) {
    current = step.str();
    currentPlace = place;
    if (options.beforeStep)
      options.beforeStep(current, place);
    start = std::chrono::steady_clock::now();
  }
  const std::string &step() const { return current; }
  size_t place() const { return currentPlace; }

  /// The step by which the compilation has taken longer than it may; empty where it has not.
  std::string lateStep() const {
    double total = 0;
    for (const auto &[step, seconds] : result.stepSeconds)
      if (total += seconds; limit > 0 && total > limit)
        return step;
    return "";
  }
  double secondsAllowed() const { return limit; }

  void finished(llvm::StringRef step, llvm::function_ref<void(llvm::raw_ostream &)> print) {
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result.stepSeconds.emplace_back(step.str(), elapsed.count());
    if (wants(step)) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      print(stream);
      // Unchanged stages say so instead of repeating themselves.
      if (text == lastText)
        llvm::errs() << "// ----- after " << step << ": unchanged -----//\n";
      else
        llvm::errs() << "// ----- after " << step << " -----//\n" << text << "\n";
      lastText = std::move(text);
    }
  }

  /// Says which names in the filter are no step, and what would be one.
  void reportUnknownNames() const {
    for (llvm::StringRef name : names) {
      auto isIt = [&](const auto &step) { return isName(name, step.first); };
      if (llvm::any_of(result.stepSeconds, isIt))
        continue;
      llvm::errs() << "TILEWRIGHT_DUMP: no step is called '" << name << "'; there are all";
      for (const auto &[step, seconds] : result.stepSeconds)
        llvm::errs() << ", " << step;
      llvm::errs() << "\n";
    }
  }

private:
  /// Passes go by their flags, with or without our prefix.
  static bool isName(llvm::StringRef name, llvm::StringRef step) {
    return name == step || (step.consume_front("tw-") && name == step);
  }

  /// The knob is "1" or "all" for every step, or a comma-separated list.
  bool wants(llvm::StringRef step) const {
    return filter == "1" || filter == "all" || (step == "emit-ptx" && dumpsPtx) ||
           (step == "assemble" && dumpsAssemblerLog) ||
           llvm::any_of(names, [&](llvm::StringRef name) { return isName(name, step); });
  }

  CompiledModule &result;
  const CompileOptions &options;
  std::string current = "frontend";
  size_t currentPlace = 0;
  std::string filter;
  llvm::SmallVector<llvm::StringRef> names; // in `filter`
  bool dumpsPtx = knobBool(Knob::DUMP_PTX), dumpsAssemblerLog = knobBool(Knob::DUMP_PTXAS_LOG);
  double limit;
  std::string lastText;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

/// For each descriptor of the launch, whether its tensor map is an argument.
std::vector<bool> findTensorMaps(ModuleOp module) {
  std::vector<bool> result;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (auto of = function.getArgAttrOfType<IntegerAttr>(index, ir::descriptorBaseAttr))
        result.push_back(of.getInt() >= 0);
  return result;
}

std::vector<std::vector<int64_t>> expressions(DictionaryAttr recipe, llvm::StringRef name) {
  std::vector<std::vector<int64_t>> result;
  for (auto steps : recipe.getAs<ArrayAttr>(name).getAsRange<DenseI64ArrayAttr>())
    result.push_back(steps.asArrayRef().vec());
  return result;
}

std::vector<HostTensorMap> findHostTensorMaps(ModuleOp module) {
  std::vector<HostTensorMap> result;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto recipe =
              function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), ir::tensorMapAttr))
        result.push_back({recipe.getAs<StringAttr>("element").str(),
                          llvm::cast<ir::DescriptorType>(argument.getType()).getShape().vec(),
                          recipe.getAs<BoolAttr>("nan").getValue(),
                          recipe.getAs<IntegerAttr>("base").getInt(), expressions(recipe, "shape"),
                          expressions(recipe, "strides")});
  return result;
}

} // namespace

//===----------------------------------------------------------------------===//
// Too much shared memory
//===----------------------------------------------------------------------===//

/// What fits, tried; empty where fewer stages do not help.
static std::string adviseStages(ModuleOp tileLevel, const passes::PipelineOptions &options) {
  std::optional<passes::FittingStages> found = passes::findFittingStages(tileLevel, options);
  if (!found)
    return "";
  return fmt::format("num_stages={}{} would need {} bytes", found->stages,
                     found->changesLoops ? ", in tl.range too," : "", found->sharedBytes);
}

//===----------------------------------------------------------------------===//
// The stages
//===----------------------------------------------------------------------===//

namespace {

/// One compilation. Each stage leaves its results in `result`, or raises.
class Compilation {
public:
  Compilation(ModuleOp module, const CompileOptions &options)
      : module(module), options(options), target(getTargetInfo(options.target)),
        original(module.clone()), diagnostics(module.getContext()), observer(result, options) {
    if (options.ptxVersion)
      target.ptxVersion = options.ptxVersion;
  }

  CompiledModule run();

private:
  void describeTileLevel();
  void runPasses();
  void lower();
  void emit();
  void assemble();

  bool reached(llvm::StringRef stage) const { return options.lastStage == stage; }
  void begin(llvm::StringRef step) { observer.begin(step, passes::pipelineSteps().size()); }
  void checkTime();
  [[noreturn]] void raise();
  WrittenFile reproducer(const std::string &step, size_t place, const std::string &message);

  ModuleOp module;
  const CompileOptions &options;
  TargetInfo target;
  OwningOpRef<ModuleOp> original; // passes leave nothing of what they were given
  CompiledModule result;
  DiagnosticCollector diagnostics;
  StepObserver observer;
  RegisterNeeds needs;
};

} // namespace

/// Where the failure can be run again: in the file that it comes from, or in a new one.
WrittenFile Compilation::reproducer(const std::string &step, size_t place,
                                    const std::string &message) {
  if (!options.reproducerPath.empty())
    return {options.reproducerPath, ""};
  return writeReproducer(makeReproducer(*original, options, step, place, message), options);
}

/// The first diagnostic as an exception: its code, or E0900 for what is our fault.
void Compilation::raise() {
  diagnostics.raiseCoded();
  Error error = internalError(observer.step(), diagnostics.text(),
                              reproducer(observer.step(), observer.place(), diagnostics.text()));
  diagnostics.addFrames(error);
  throw error;
}

/// E0305 where the steps so far took longer than they may. Between stages only:
/// passes know no exceptions, and a finished kernel is no failure.
void Compilation::checkTime() {
  std::string late = observer.lateStep();
  if (late.empty())
    return;
  WrittenFile file = reproducer(late, options.firstStep, "timeout");
  Error error =
      makeError(ErrorCode::E0305, fmt::arg("s", fmt::format("{:g}", observer.secondsAllowed())),
                fmt::arg("stage", late), fmt::arg("path", file.path));
  error.setHelp(file.sentence());
  throw error;
}

void Compilation::describeTileLevel() {
  result.ttir = printModule(module);
  result.access = findArgumentAccess(module);
  result.work = countWork(module);
  result.tensorMaps = findTensorMaps(module);
  result.hostTensorMaps = findHostTensorMaps(module);
  observer.finished("frontend", [&](llvm::raw_ostream &stream) { stream << result.ttir; });
  if (options.facts)
    nameAccesses(module);
}

void Compilation::runPasses() {
  passes::PipelineOptions pipeline;
  pipeline.target = &target;
  pipeline.remarks = &result.remarks;
  pipeline.skipped = options.skippedPasses;
  pipeline.first = options.firstStep;
  pipeline.verifyEach = options.verifyEach;
  pipeline.beforeStep = [&](llvm::StringRef step, size_t place) { observer.begin(step, place); };
  pipeline.afterStep = [&](llvm::StringRef step, ModuleOp current) {
    observer.finished(step, [&](llvm::raw_ostream &stream) { current->print(stream); });
  };
  if (failed(passes::runPipeline(module, pipeline))) {
    if (diagnostics.isOutOfShared())
      diagnostics.raiseCoded(adviseStages(*original, pipeline));
    raise();
  }
  result.ttgir = printModule(module);
  if (options.facts)
    result.facts = passes::describeKernel(module, target);
  result.numWarps = ir::numWarps(module);
  needs = registerNeeds(module);
  if (auto bytes = module->getAttrOfType<IntegerAttr>(ir::sharedBytesAttr))
    result.sharedBytes = bytes.getInt();
  if (auto bytes = module->getAttrOfType<IntegerAttr>(ir::globalScratchAttr))
    result.globalScratchBytes = bytes.getInt();
}

void Compilation::lower() {
  begin("lower-to-llvm");
  target = withoutFaults(target, parseAssemblerVersion(assemblerVersion()));
  if (failed(lowerToLLVM(module, target, &result.remarks)))
    raise();
  observer.finished("lower-to-llvm", [&](llvm::raw_ostream &stream) { module->print(stream); });
}

void Compilation::emit() {
  begin("emit-ptx");
  EmitOptions emitOptions;
  emitOptions.enableFpFusion = options.enableFpFusion;
  emitOptions.lineInfo = options.lineInfo;
  emitOptions.libdevicePath = findLibdevice();
  // Not measured with products, whose accumulators fill the registers by design.
  emitOptions.ordersByStores = !needs.accumulator;
  // One block alone would wait for each load in turn; of many, some always run.
  int64_t wanted = needs.wantedThreads;
  int64_t threads = int64_t(result.numWarps) << target.log2WarpSize;
  bool argumentsOverlap = module->hasAttr(ir::argumentsOverlapAttr);
  if (!needs.accumulator && !argumentsOverlap && threads <= wanted / 2 && threads >= wanted / 4)
    emitOptions.orderRegisters = static_cast<int>(target.registersFor(wanted));
  FailureOr<EmittedKernel> emitted = emitPtx(module, target, emitOptions);
  if (failed(emitted))
    raise();
  result.kernelName = std::move(emitted->kernelName);
  result.llir = std::move(emitted->llvmIR);
  result.needsDistinctArguments =
      module->hasAttr(ir::needsDistinctArgumentsAttr) || emitted->movesLoadsAfterStores;
  result.ptx = std::move(emitted->ptx);
  observer.finished("emit-ptx",
                    [&](llvm::raw_ostream &stream) { stream << result.llir << result.ptx; });
}

void Compilation::assemble() {
  begin("assemble");
  assembleKernel(result, target, options, needs);
  observer.finished("assemble", [&](llvm::raw_ostream &stream) { stream << result.assemblerLog; });
}

CompiledModule Compilation::run() {
  describeTileLevel();
  if (reached("ttir"))
    return std::move(result);
  runPasses();
  if (reached("ttgir"))
    return std::move(result);
  checkTime();
  lower();
  checkTime();
  emit();
  if (reached("llir") || reached("ptx"))
    return std::move(result);
  checkTime();
  assemble();
  observer.reportUnknownNames();
  return std::move(result);
}

CompiledModule compileModule(ModuleOp module, const CompileOptions &options) {
  passes::checkSkippedPasses(options.skippedPasses);
  return Compilation(module, options).run();
}

} // namespace tilewright::codegen
