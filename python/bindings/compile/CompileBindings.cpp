//===- CompileBindings.cpp - compile_kernel and IR entry points -----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: compiles a kernel, from a jit function or from the text of a stage, to a
// dictionary of stages. The front end needs the interpreter lock because it
// walks Python objects; everything after it runs without the lock.
//
//===----------------------------------------------------------------------===//

#include "ir/support/TargetInfo.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/compile/TileTree.h"

#include "codegen/emit/ArgumentAccess.h"
#include "codegen/emit/CompileModule.h"
#include "codegen/emit/Reproducer.h"
#include "codegen/lower/VerifyKernels.h"
#include "codegen/target/Targets.h"
#include "frontend/ast/EmitModule.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/Knobs.h"
#include "passes/pipeline/KernelFacts.h"
#include "passes/pipeline/Pipeline.h"
#include "passes/pipeline/ReduceModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <pybind11/stl.h>

#include <mutex>

namespace py = pybind11;
using namespace mlir;

namespace tilewright {

namespace {

/// Contexts that no compilation uses at the moment. Loading the dialects takes
/// about a millisecond, so contexts are kept; each serves one thread at a time.
class ContextPool {
public:
  std::unique_ptr<MLIRContext> take() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!idle.empty()) {
        std::unique_ptr<MLIRContext> context = std::move(idle.back());
        idle.pop_back();
        return context;
      }
    }
    DialectRegistry registry;
    registry.insert<ir::TWDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                    func::FuncDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
    auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    return context;
  }

  void giveBack(std::unique_ptr<MLIRContext> context) {
    std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(context));
  }

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<MLIRContext>> idle;
};

/// Leaked: modules may outlive static destruction order.
ContextPool &contextPool() {
  static ContextPool *pool = new ContextPool;
  return *pool;
}

struct PooledContext {
  std::unique_ptr<MLIRContext> context = contextPool().take();
  ~PooledContext() { contextPool().giveBack(std::move(context)); }
};

template <typename T> T optionOr(const py::dict &options, const char *name, T fallback) {
  if (!options.contains(name))
    return fallback;
  py::object value = options[name];
  return value.is_none() ? fallback : value.cast<T>();
}

codegen::CompileOptions compileOptions(const py::dict &options, const std::string &target) {
  codegen::CompileOptions result;
  result.target = target;
  result.enableFpFusion = optionOr(options, "enable_fp_fusion", true);
  result.lineInfo = !knobBool(Knob::DISABLE_LINE_INFO);
  result.lastStage = optionOr<std::string>(options, "last_stage", "cubin");
  result.maxRegisters = optionOr(options, "maxnreg", 0);
  result.ptxVersion = optionOr(options, "ptx_version", 0);
  llvm::SmallVector<llvm::StringRef> more;
  std::string assemblerOptions = optionOr<std::string>(options, "ptx_options", "");
  llvm::SplitString(assemblerOptions, more);
  result.assemblerOptions.assign(more.begin(), more.end());
  result.facts = optionOr(options, "facts", false);
  std::string skipped = knobText(Knob::SKIP_PASSES);
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(skipped).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    result.skippedPasses.push_back(name.trim().str());
  result.version = fmt::format("{} {}", TILEWRIGHT_VERSION, buildId());
  return result;
}

/// What only the worker process and 'tilewright repro' ask for.
void addReplayOptions(codegen::CompileOptions &compile, const py::dict &options) {
  compile.skippedPasses = optionOr(options, "skip_passes", compile.skippedPasses);
  compile.firstStep = optionOr(options, "first_step", size_t(0));
  compile.verifyEach = optionOr(options, "verify_each", false);
  compile.lineInfo = optionOr(options, "line_info", compile.lineInfo);
  compile.reproducerPath = optionOr<std::string>(options, "reproducer", "");
}

py::dict resultDict(const codegen::CompiledModule &compiled, const py::dict &options,
                    const std::string &target) {
  py::dict metadata;
  metadata["name"] = compiled.kernelName;
  metadata["target"] = target;
  metadata["num_warps"] = compiled.numWarps;
  metadata["num_ctas"] = optionOr(options, "num_ctas", 1);
  // Elsewhere launches are complete before the next one starts, which is always right.
  metadata["launch_pdl"] =
      optionOr(options, "launch_pdl", false) && getTargetInfo(target).hasProgrammaticLaunch;
  metadata["num_stages"] = optionOr(options, "num_stages", 3);
  metadata["shared"] = compiled.sharedBytes;
  metadata["global_scratch_size"] = compiled.globalScratchBytes;
  metadata["global_scratch_align"] = codegen::globalScratchAlignment;
  metadata["written_args"] = compiled.access.written;
  metadata["read_args"] = compiled.access.read;
  metadata["work"] = compiled.work;
  metadata["needs_distinct_arguments"] = compiled.needsDistinctArguments;
  metadata["tensor_maps"] = compiled.tensorMaps;
  py::list recipes;
  for (const codegen::HostTensorMap &map : compiled.hostTensorMaps)
    recipes.append(py::dict(py::arg("element") = map.element, py::arg("block") = map.block,
                            py::arg("nan") = map.padsWithNan, py::arg("base") = map.base,
                            py::arg("shape") = map.shape, py::arg("strides") = map.strides));
  metadata["host_tensor_maps"] = recipes;
  metadata["n_regs"] =
      compiled.registers < 0 ? py::object(py::none()) : py::int_(compiled.registers);
  metadata["n_spills"] =
      compiled.spillBytes < 0 ? py::object(py::none()) : py::int_(compiled.spillBytes);
  metadata["assembler"] = compiled.assembler;

  py::dict times;
  for (const auto &[step, seconds] : compiled.stepSeconds)
    times[py::str(step)] = times.contains(step.c_str())
                               ? py::float_(times[step.c_str()].cast<double>() + seconds)
                               : py::float_(seconds);
  py::list remarks;
  for (const Remark &remark : compiled.remarks.remarks())
    remarks.append(remark.render());

  py::dict result;
  result["name"] = compiled.kernelName;
  result["ttir"] = compiled.ttir;
  result["ttgir"] = compiled.ttgir;
  result["llir"] = compiled.llir;
  result["ptx"] = compiled.ptx;
  result["cubin"] =
      compiled.cubin.empty() ? py::object(py::none()) : py::object(py::bytes(compiled.cubin));
  result["metadata"] = metadata;
  result["remarks"] = remarks;
  result["step_seconds"] = times;
  if (!compiled.facts.empty()) {
    result["facts"] = compiled.facts;
    result["remark_facts"] = passes::describeRemarks(compiled.remarks);
  }
  return result;
}

py::dict compileWithoutLock(ModuleOp module, const codegen::CompileOptions &compile,
                            const py::dict &options, const std::string &target) {
  codegen::CompiledModule compiled;
  {
    py::gil_scoped_release release;
    compiled = codegen::compileModule(module, compile);
  }
  return resultDict(compiled, options, target);
}

void checkClusterSize(const py::dict &options, const std::string &target) {
  int numCtas = optionOr(options, "num_ctas", 1);
  TargetInfo info = getTargetInfo(target);
  if (numCtas > info.maxBlocksPerCluster)
    throw Error(
        ErrorCode::E0209,
        fmt::format("num_ctas > 1 requires NVIDIA SM90+ (Hopper): num_ctas={}; {} has no programs "
                    "of several blocks (clusters)",
                    numCtas, info.name),
        "use num_ctas=1");
}

py::dict compileKernel(py::handle function, const py::dict &signature, const py::dict &constexprs,
                       const py::dict &divisibility, const py::dict &options,
                       const std::string &target) {
  checkClusterSize(options, target);
  PooledContext pooled;
  OwningOpRef<ModuleOp> module =
      emitModule(*pooled.context, function, signature, constexprs, divisibility, options, target);
  return compileWithoutLock(*module, compileOptions(options, target), options, target);
}

/// What the front end makes of a kernel, before any pass; for tests and for
/// people who want to read it.
std::string emitTtir(py::handle function, const py::dict &signature, const py::dict &constexprs,
                     const py::dict &divisibility, const py::dict &options,
                     const std::string &target, bool locations) {
  PooledContext pooled;
  OwningOpRef<ModuleOp> module =
      emitModule(*pooled.context, function, signature, constexprs, divisibility, options, target);
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(stream, flags);
  return text;
}

void rehearse(py::handle function, const py::dict &arguments, py::dict options) {
  PooledContext pooled;
  rehearseKernel(*pooled.context, function, arguments, std::move(options));
}

/// What the front end makes of a kernel as plain Python objects (TileTree.h).
py::dict emitTree(py::handle function, const py::dict &signature, const py::dict &constexprs,
                  const py::dict &divisibility, const py::dict &options,
                  const std::string &target) {
  PooledContext pooled;
  OwningOpRef<ModuleOp> module =
      emitModule(*pooled.context, function, signature, constexprs, divisibility, options, target);
  return tileTree(*module);
}

/// (names of the parameters a kernel may write, of those it may read); compiles nothing.
py::tuple argumentAccess(py::handle function, const py::dict &signature, const py::dict &constexprs,
                         const py::dict &divisibility, const py::dict &options,
                         const std::string &target) {
  PooledContext pooled;
  OwningOpRef<ModuleOp> module =
      emitModule(*pooled.context, function, signature, constexprs, divisibility, options, target);
  codegen::ArgumentAccess access = codegen::findArgumentAccess(*module);
  return py::make_tuple(access.written, access.read);
}

/// The module of a text that `file` holds. Raises E0801 where it does not parse and E0802
/// where it breaks a rule, `isKernel` adding those of kernels.
OwningOpRef<ModuleOp> parseModule(MLIRContext *context, const std::string &text,
                                  const std::string &file = "<text>", bool isKernel = false) {
  std::string message;
  SourceFrame place;
  place.file = file;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (message.empty()) {
      message = diagnostic.str();
      std::vector<SourceFrame> frames = codegen::framesOfLocation(diagnostic.getLocation());
      if (!frames.empty())
        place = frames[0];
    }
    return success();
  });
  ParserConfig config(context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config, file);
  if (!module)
    throw makeError(ErrorCode::E0801, fmt::arg("file", place.file), fmt::arg("l", place.line),
                    fmt::arg("c", place.column), fmt::arg("message", message));
  if (failed(verify(*module)) || (isKernel && failed(codegen::verifyKernels(*module))))
    throw makeError(ErrorCode::E0802,
                    fmt::arg("op", fmt::format("{}:{}:{}", place.file, place.line, place.column)),
                    fmt::arg("message", message));
  return module;
}

/// Compiles tile IR given as text. `onStep` is called with the name of each step before it
/// runs, and its place.
py::dict compileIr(const std::string &text, const std::string &stage, const py::dict &options,
                   const std::string &target, const py::object &onStep, const std::string &file) {
  if (stage != "ttir" && stage != "mlir")
    throw makeError(ErrorCode::E0117,
                    fmt::arg("message", "cannot compile from stage '" + stage + "'"),
                    fmt::arg("help", "give tile IR as a .ttir file"));
  checkClusterSize(options, target);
  PooledContext pooled;
  codegen::CompileOptions compile = compileOptions(options, target);
  addReplayOptions(compile, options);
  // What a reproducer holds may be lowered already.
  bool isKernel = compile.firstStep == 0;
  OwningOpRef<ModuleOp> module = parseModule(pooled.context.get(), text, file, isKernel);
  if (!onStep.is_none())
    compile.beforeStep = [&](const std::string &step, size_t place) {
      py::gil_scoped_acquire acquire;
      onStep(step, place);
    };
  return compileWithoutLock(*module, compile, options, target);
}

//===----------------------------------------------------------------------===//
// Reproducers
//===----------------------------------------------------------------------===//

/// Writes the reproducer of a compilation whose process is gone. (path, problem).
py::tuple writeReproducer(const std::string &text, const py::dict &options,
                          const std::string &target, const std::string &step, size_t place,
                          const std::string &message, bool runsPasses) {
  PooledContext pooled;
  OwningOpRef<ModuleOp> module = parseModule(pooled.context.get(), text);
  codegen::CompileOptions compile = compileOptions(options, target);
  addReplayOptions(compile, options);
  codegen::Reproducer reproducer = codegen::makeReproducer(
      *module, compile, step, runsPasses ? place : compile.firstStep, message);
  codegen::WrittenFile file = codegen::writeReproducer(reproducer, compile);
  return py::make_tuple(file.path, file.problem);
}

/// (name, whether it may be skipped) of every pass of the pipeline.
std::vector<std::pair<std::string, bool>> pipelinePasses() {
  std::vector<std::pair<std::string, bool>> result;
  for (const passes::PipelineStep &step : passes::pipelineSteps())
    result.emplace_back(step.name, step.isOptional);
  return result;
}

/// The module without ops [first, first + count), or None where those cannot go.
py::object shrinkModule(const std::string &text, size_t first, size_t count) {
  PooledContext pooled;
  OwningOpRef<ModuleOp> module = parseModule(pooled.context.get(), text);
  if (!passes::eraseOps(*module, first, count))
    return py::none();
  return py::str(codegen::printWithLocations(*module));
}

size_t countOps(const std::string &text) {
  PooledContext pooled;
  return passes::countOps(*parseModule(pooled.context.get(), text));
}

} // namespace

/// What reports ask about chips.
static void bindTargets(py::module_ &module) {
  module.def("target_names", &codegen::knownTargets,
             "The targets that code is made for, the oldest first.");
  module.def(
      "peak_rates",
      [](int capability, int multiprocessors, int64_t clockRateInKHz) {
        codegen::PeakRates rates = codegen::peakRates(capability, multiprocessors, clockRateInKHz);
        return py::dict(
            py::arg("products8") = rates.products8, py::arg("products16") = rates.products16,
            py::arg("products_tf32") = rates.productsTf32, py::arg("products64") = rates.products64,
            py::arg("elements32") = rates.elements32);
      },
      py::arg("capability"), py::arg("multiprocessors"), py::arg("clock_rate"),
      "Operations per second of a chip at best; `clock_rate` in kHz, 0 what is not known.");
  module.def(
      "target_limits",
      [](const std::string &name) {
        TargetInfo target = getTargetInfo(name);
        return py::dict(py::arg("shared") = target.maxSharedBytesPerBlock,
                        py::arg("registers") = target.multiprocessor.registers,
                        py::arg("registers_per_thread") = target.maxRegistersPerThread,
                        py::arg("threads") = target.multiprocessor.threads);
      },
      py::arg("target"),
      "What a target allows: bytes of shared memory of a block, registers of a multiprocessor and "
      "of "
      "a thread, threads of a multiprocessor.");
  module.def(
      "resident_blocks",
      [](const std::string &name, int64_t threads, int64_t registers, int64_t sharedBytes) {
        TargetInfo target = getTargetInfo(name);
        const Multiprocessor &machine = target.multiprocessor;
        ResidentBlocks blocks = residentBlocks(machine, {threads, registers, sharedBytes});
        int64_t unit = machine.registerUnit;
        int64_t more = blocks.least() + 1;
        auto row = [](int64_t count, int64_t takes, int64_t has, int64_t limit) {
          return py::dict(py::arg("blocks") = count, py::arg("takes") = takes, py::arg("has") = has,
                          py::arg("limit") = limit);
        };
        int64_t each = (registers + unit - 1) / unit * unit;
        return py::dict(
            py::arg("registers") =
                row(blocks.byRegisters, each * threads, machine.registers,
                    std::min(target.registersFor(more * threads), target.maxRegistersPerThread)),
            py::arg("shared_memory") =
                row(blocks.bySharedMemory, sharedBytes + machine.reservedSharedBytes,
                    machine.sharedBytes, machine.sharedBytes / more - machine.reservedSharedBytes),
            py::arg("threads") =
                row(blocks.byThreads, threads, machine.threads, machine.threads / more),
            py::arg("blocks") = row(blocks.byBlocks, 1, machine.blocks, 1));
      },
      py::arg("target"), py::arg("threads"), py::arg("registers"), py::arg("shared"),
      "By resource: the blocks that a multiprocessor can hold at once, what a block takes, what "
      "the "
      "multiprocessor has, and the most that a block may ask for (registers: each thread) so that "
      "one block more fits.");
}

void bindCompile(py::module_ &module) {
  bindTargets(module);
  module.def("compile_kernel", &compileKernel, py::arg("function"), py::arg("signature"),
             py::arg("constexprs"), py::arg("divisibility"), py::arg("options"), py::arg("target"),
             "Compiles one specialisation of a jit function; returns the text of every stage.");
  module.def("emit_ttir", &emitTtir, py::arg("function"), py::arg("signature"),
             py::arg("constexprs") = py::dict(), py::arg("divisibility") = py::dict(),
             py::arg("options") = py::dict(), py::arg("target") = "", py::arg("locations") = false,
             "The tile IR that the front end makes of one specialisation, as text.");
  module.def("rehearse_kernel", &rehearse, py::arg("function"), py::arg("arguments"),
             py::arg("options"),
             "Raises what the compiler would say of a kernel that the interpreter is to run.");
  module.def("emit_tree", &emitTree, py::arg("function"), py::arg("signature"),
             py::arg("constexprs"), py::arg("divisibility"), py::arg("options"), py::arg("target"),
             "The tile IR that the front end makes of one specialisation, as nested tuples.");
  module.def("argument_access", &argumentAccess, py::arg("function"), py::arg("signature"),
             py::arg("constexprs"), py::arg("divisibility"), py::arg("options"), py::arg("target"),
             "The parameters that one specialisation may write, and those that it may read.");
  module.def("compile_ir", &compileIr, py::arg("text"), py::arg("stage"), py::arg("options"),
             py::arg("target"), py::arg("on_step") = py::none(), py::arg("file") = "<text>",
             "Compiles tile IR given as text, which `file` holds.");
  module.def("write_reproducer", &writeReproducer, py::arg("text"), py::arg("options"),
             py::arg("target"), py::arg("step"), py::arg("place"), py::arg("message"),
             py::arg("runs_passes"),
             "Writes the reproducer of a compilation that ended its process.");
  module.def("pipeline_passes", &pipelinePasses,
             "(name, whether it may be skipped) of every pass, in order.");
  module.def("shrink_module", &shrinkModule, py::arg("text"), py::arg("first"), py::arg("count"),
             "The module without some of its operations, or None.");
  module.def("count_operations", &countOps, py::arg("text"),
             "How many operations shrink_module may leave out.");
}

} // namespace tilewright
