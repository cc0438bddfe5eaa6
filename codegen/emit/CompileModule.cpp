//===- CompileModule.cpp - From tile IR to a cubin ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/CompileModule.h"

#include "codegen/emit/AssemblerFaults.h"
#include "codegen/emit/EmitPtx.h"
#include "codegen/emit/NvJitLink.h"
#include "codegen/emit/WorkCount.h"
#include "codegen/lower/Lowering.h"
#include "ir/dialect/TileDialect.h"
#include "ir/support/Knobs.h"
#include "passes/pipeline/KernelFacts.h"
#include "passes/pipeline/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <fstream>

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// Locations and diagnostics
//===----------------------------------------------------------------------===//

/// Line `number` of `file`, empty where it cannot be read: a location may name
/// a file of another machine.
static std::string readSourceLine(const std::string &file, unsigned number) {
  std::ifstream stream(file);
  std::string line;
  for (unsigned index = 0; index < number; ++index)
    if (!std::getline(stream, line))
      return "";
  return line;
}

static void collectFrames(Location location, std::string function,
                          std::vector<SourceFrame> &frames) {
  if (auto site = llvm::dyn_cast<CallSiteLoc>(location)) {
    collectFrames(site.getCallee(), "", frames);
    collectFrames(site.getCaller(), "", frames);
  } else if (auto name = llvm::dyn_cast<NameLoc>(location)) {
    collectFrames(name.getChildLoc(), name.getName().str(), frames);
  } else if (auto fused = llvm::dyn_cast<FusedLoc>(location)) {
    if (!fused.getLocations().empty())
      collectFrames(fused.getLocations().front(), function, frames);
  } else if (auto place = llvm::dyn_cast<FileLineColLoc>(location)) {
    SourceFrame frame;
    frame.file = place.getFilename().str();
    frame.function = function;
    frame.line = place.getLine();
    frame.column = place.getColumn();
    frame.sourceLine = readSourceLine(frame.file, place.getLine());
    frames.push_back(std::move(frame));
  }
}

std::vector<SourceFrame> framesOfLocation(Location location) {
  std::vector<SourceFrame> frames;
  collectFrames(location, "", frames);
  return frames;
}

/// Writes `step`.mlir where reproducers are wanted; its path, or how to get one.
static std::string writeReproducer(const std::string &step,
                                   llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string directory = knobText(Knob::REPRODUCER_DIR);
  if (directory.empty())
    return "(set TILEWRIGHT_REPRODUCER_DIR to keep one)";
  std::string path = directory + "/" + step + ".mlir";
  std::error_code ignored;
  llvm::raw_fd_ostream stream(path, ignored);
  if (!ignored)
    print(stream);
  return path;
}

namespace {

/// Collects the errors that MLIR reports while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          if (message.empty()) {
            message = diagnostic.str();
            frames = framesOfLocation(diagnostic.getLocation());
            for (Diagnostic &note : diagnostic.getNotes()) {
              // MLIR adds the op itself, in words that are not the user's.
              std::string text = note.str();
              if (!llvm::StringRef(text).starts_with("see current operation"))
                notes.push_back(std::move(text));
            }
          }
          return success();
        }) {}

  /// Whether the first error is E0301.
  bool isOutOfShared() const { return llvm::StringRef(message).starts_with("[E0301]"); }

  /// The first error as an exception. A message "[E0301] ..." keeps its code;
  /// its last note becomes the help, unless there is a better one. Everything else is our
  /// fault: E0900.
  [[noreturn]] void raise(const std::string &step, ModuleOp module, const std::string &help = "") {
    if (message.size() > 8 && message[0] == '[')
      if (const ErrorEntry *entry = findErrorEntry(message.substr(1, 5))) {
        Error error(entry->code, message.substr(8),
                    !help.empty()   ? help
                    : notes.empty() ? ""
                                    : notes.back());
        for (size_t index = 0; index + 1 < notes.size(); ++index)
          error.addNote(notes[index]);
        addFrames(error);
        throw error;
      }
    Error error =
        makeError(ErrorCode::E0900, fmt::arg("pass", step),
                  fmt::arg("message", message.empty() ? "failed without a message" : message),
                  fmt::arg("path", writeReproducer(step, [&](llvm::raw_ostream &stream) {
                             module->print(stream, OpPrintingFlags().enableDebugInfo());
                           })));
    addFrames(error);
    throw error;
  }

private:
  void addFrames(Error &error) {
    for (SourceFrame &frame : frames)
      error.addFrame(frame);
  }

  std::string message;
  std::vector<SourceFrame> frames;
  std::vector<std::string> notes;
  ScopedDiagnosticHandler handler;
};

//===----------------------------------------------------------------------===//
// Dumps and times
//===----------------------------------------------------------------------===//

/// Serves TILEWRIGHT_DUMP and the step times.
class StepObserver {
public:
  StepObserver(CompiledModule &result)
      : result(result), filter(knobText(Knob::DUMP)), limit(knobFloat(Knob::COMPILE_TIMEOUT)) {
    if (filter != "0" && filter != "1" && filter != "all")
      llvm::StringRef(filter).split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    restart();
  }

  /// E0305 where the steps so far took longer than they may. Between stages only:
  /// passes know no exceptions, and a finished kernel is no failure.
  void checkTime() const {
    double total = 0;
    for (const auto &[step, seconds] : result.stepSeconds) {
      total += seconds;
      if (limit > 0 && total > limit)
        throw makeError(ErrorCode::E0305, fmt::arg("s", fmt::format("{:g}", limit)),
                        fmt::arg("stage", step),
                        fmt::arg("path", writeReproducer("timeout", [&](llvm::raw_ostream &stream) {
                                   stream << result.ttir;
                                 })));
    }
  }

  void restart() { start = std::chrono::steady_clock::now(); }

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
    restart();
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
    return filter == "1" || filter == "all" ||
           llvm::any_of(names, [&](llvm::StringRef name) { return isName(name, step); });
  }

  CompiledModule &result;
  std::string filter;
  llvm::SmallVector<llvm::StringRef> names; // in `filter`
  double limit;
  std::string lastText;
  std::chrono::steady_clock::time_point start;
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
// Registers against occupancy
//===----------------------------------------------------------------------===//

// Measured on an H200, November 2026: a layer norm of 16384 f16 columns with 16
// warps takes 91 registers and one block per multiprocessor, 2494 GB/s; held to
// 64 registers two blocks overlap, 3916 GB/s. The assembler spends registers on
// loads in flight that a second block provides for nothing.

/// Threads that should be resident on a multiprocessor, unless a pass says otherwise.
constexpr int64_t usualThreads = 1024;
/// A few spilled bytes (four registers of 32 bits) cost less than the missing
/// block; beyond that the measurements turn.
constexpr int acceptedSpillBytes = 16;

/// The directive goes behind the block size: an assembler given a block size
/// ignores a limit among its options.
static std::string withRegisterLimit(const std::string &ptx, int limit) {
  size_t directive = ptx.find(".reqntid");
  if (directive == std::string::npos)
    return ptx;
  size_t lineEnd = ptx.find('\n', directive);
  return ptx.substr(0, lineEnd + 1) + ".maxnreg " + std::to_string(limit) + "\n" +
         ptx.substr(lineEnd + 1);
}

/// Products that wait for each other lose most of the tensor cores' speed.
static bool isSerializedProduct(const std::string &warning) {
  return warning.find("wgmma") != std::string::npos;
}
static bool serializesProducts(const AssembleResult &assembled) {
  return llvm::any_of(assembled.warnings, isSerializedProduct);
}

/// Assembles with a limit, and keeps what came before where that is worse.
static AssembleResult assembleWithLimit(CompiledModule &compiled, const TargetInfo &target,
                                        const AssembleOptions &options, int limit, int spillBytes,
                                        AssembleResult assembled) {
  // What spills with all registers spills more with fewer, and large kernels that spill are
  // those that take the assembler seconds.
  if (assembled.spillStoreBytes > spillBytes)
    return assembled;
  std::string limitedPtx = withRegisterLimit(compiled.ptx, limit);
  AssembleResult limited;
  bool isPossible = true;
  try {
    limited = assemblePtx(limitedPtx, target.name, options);
  } catch (const Error &) {
    // An instruction may need more registers than that by itself.
    isPossible = false;
  }
  // Accumulators that do not fit make products wait for each other.
  bool isSerialized = serializesProducts(limited) && !serializesProducts(assembled);
  bool isBetter = isPossible && !isSerialized && limited.spillStoreBytes <= spillBytes;
  Remark remark;
  remark.kind = "register-limit";
  remark.applied = isBetter;
  remark.numbers = {{"registers", assembled.registers},
                    {"limit", limit},
                    {"spillBytes", std::max(limited.spillStoreBytes, 0)}};
  remark.reason = isBetter       ? "more blocks overlap on a multiprocessor"
                  : !isPossible  ? "an instruction needs more registers"
                  : isSerialized ? "the limit would serialize products"
                                 : "the limit would spill too much";
  compiled.remarks.add(std::move(remark));
  if (!isBetter)
    return assembled;
  compiled.ptx = std::move(limitedPtx);
  return limited;
}

static int64_t wantedThreads(ModuleOp module) {
  auto wanted = module->getAttrOfType<IntegerAttr>(ir::wantedThreadsAttr);
  return wanted ? wanted.getInt() : usualThreads;
}

/// Registers that each of so many resident threads can have: multiples of eight, as the
/// hardware hands them out.
static int registersFor(int64_t threads, const TargetInfo &target) {
  return static_cast<int>(target.registersPerMultiprocessor / threads / 8 * 8);
}

/// Assembles; where the kernel's registers leave too few threads resident and
/// nobody asked for a limit, tries again with a limit and keeps the better one.
static AssembleResult assembleForOccupancy(CompiledModule &compiled, const TargetInfo &target,
                                           AssembleOptions options, int64_t wanted) {
  AssembleResult assembled = assemblePtx(compiled.ptx, target.name, options);
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  if (options.maxRegisters || assembled.registers < 0)
    return assembled;
  int64_t resident = target.residentBlocks(threads, assembled.registers, 0) * threads;
  int limit = registersFor(wanted, target);
  // Twice the limit was never met without heavy spills, and assembling a large kernel again
  // for nothing would double its compile time.
  if (threads <= wanted / 2 && resident < wanted && assembled.registers <= 2 * limit)
    return assembleWithLimit(compiled, target, options, limit, acceptedSpillBytes,
                             std::move(assembled));
  // One block more may be near. nvJitLink makes code that could be linked with other code,
  // and is then generous with registers: a layer norm of 4096 columns with 8 warps takes 56
  // of them and does with 48, 78.8 and 72.9 us; its backward pass of 8192 columns takes 144
  // and does with 128, 153.7 and 112.4 us (H200, November 2026). That kernels without
  // barriers and blocks of less than 8 warps do better as they are is a guess.
  limit = registersFor(resident + threads, target);
  bool isNear = limit * 4 >= assembled.registers * 3;
  bool isEnough = resident >= wanted && threads < usualThreads / 4;
  bool isFull = resident + threads > target.maxThreadsPerMultiprocessor;
  if (compiled.sharedBytes == 0 || !isNear || isEnough || isFull)
    return assembled;
  return assembleWithLimit(compiled, target, options, limit,
                           resident < wanted ? acceptedSpillBytes : 0, std::move(assembled));
}

/// Accumulators of products fill the registers by design. But where shared memory has
/// room for one block more and the registers nearly have, assemblers often manage
/// with those as well: an epilogue with an address per element took 181 of them and does
/// with 128. With 512 threads resident a block more gains little.
static AssembleResult assembleProducts(CompiledModule &compiled, const TargetInfo &target,
                                       const AssembleOptions &options) {
  AssembleResult assembled = assemblePtx(compiled.ptx, target.name, options);
  if (options.maxRegisters || assembled.registers <= 0 || compiled.sharedBytes == 0)
    return assembled;
  int64_t threads = int64_t(compiled.numWarps) << target.log2WarpSize;
  int64_t blocks = target.residentBlocks(threads, assembled.registers, 0);
  int64_t limit = target.registersPerMultiprocessor / ((blocks + 1) * threads) / 8 * 8;
  if (blocks * threads >= usualThreads / 2)
    return assembled;
  bool isNear = limit * 3 >= int64_t(assembled.registers) * 2;
  if (blocks >= target.maxSharedBytesPerBlock / compiled.sharedBytes || !isNear)
    return assembled;
  return assembleWithLimit(compiled, target, options, static_cast<int>(limit), /*spillBytes=*/0,
                           std::move(assembled));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Registers of 32 bits that a thread can have.
constexpr int64_t registersPerThread = 255;

/// The most registers of 32 bits that an accumulator takes of a thread; nothing
/// where there is no product.
static std::optional<int64_t> largestAccumulator(ModuleOp module) {
  std::optional<int64_t> largest;
  module.walk([&](Operation *op) {
    if (!llvm::isa<ir::DotOp, ir::SharedDotOp, ir::WgmmaOp>(op))
      return;
    auto type = llvm::cast<RankedTensorType>(op->getResult(0).getType());
    int64_t elements = int64_t(1) << ir::getLinearLayout(type).numInBits(InDim::Register);
    int64_t registers = elements * ir::elementBits(type.getElementType()) / 32;
    largest = std::max(largest.value_or(0), registers);
  });
  return largest;
}

/// An accumulator of twice the registers is spilled whatever the assembler tries,
/// and it tries for minutes: ptxas needs 125 s for a 128x128x64 product in one warp
/// with -O3, 3 s with -O0. The levels in between spill as much and take 10 s.
static void limitEffort(CompiledModule &compiled, int64_t accumulator, AssembleOptions &options) {
  if (accumulator <= 2 * registersPerThread)
    return;
  options.optimizationLevel = 0;
  Remark remark;
  remark.kind = "assembler-effort";
  remark.applied = false;
  remark.numbers = {{"accumulatorRegisters", accumulator}, {"limit", registersPerThread}};
  remark.reason = "the accumulator is twice what fits the registers, so the code is not "
                  "optimised; more warps or a smaller tile would help";
  compiled.remarks.add(std::move(remark));
}

//===----------------------------------------------------------------------===//
// Too much shared memory
//===----------------------------------------------------------------------===//

/// What fits, tried; empty where fewer stages do not help. The passes have left nothing of
/// the module that they were given, but its text is there.
static std::string adviseStages(const std::string &tileLevel, MLIRContext *context,
                                const passes::PipelineOptions &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(tileLevel, context);
  if (!module)
    return "";
  std::optional<passes::FittingStages> found = passes::findFittingStages(*module, options);
  if (!found)
    return "";
  return fmt::format("num_stages={}{} would need {} bytes", found->stages,
                     found->changesLoops ? ", in tl.range too," : "", found->sharedBytes);
}

//===----------------------------------------------------------------------===//
// The stages
//===----------------------------------------------------------------------===//

CompiledModule compileModule(ModuleOp module, const CompileOptions &options) {
  CompiledModule result;
  TargetInfo target = getTargetInfo(options.target);
  DiagnosticCollector diagnostics(module.getContext());
  StepObserver observer(result);
  auto reached = [&](llvm::StringRef stage) { return options.lastStage == stage; };

  result.ttir = printModule(module);
  result.access = findArgumentAccess(module);
  result.work = countWork(module);
  result.tensorMaps = findTensorMaps(module);
  result.hostTensorMaps = findHostTensorMaps(module);
  observer.finished("frontend", [&](llvm::raw_ostream &stream) { stream << result.ttir; });
  if (reached("ttir"))
    return result;

  passes::PipelineOptions pipelineOptions;
  pipelineOptions.target = &target;
  pipelineOptions.remarks = &result.remarks;
  pipelineOptions.afterStep = [&](llvm::StringRef step, ModuleOp current) {
    observer.finished(step, [&](llvm::raw_ostream &stream) { current->print(stream); });
  };
  if (failed(passes::runPipeline(module, pipelineOptions)))
    diagnostics.raise("pipeline", module,
                      diagnostics.isOutOfShared()
                          ? adviseStages(result.ttir, module.getContext(), pipelineOptions)
                          : "");
  result.ttgir = printModule(module);
  if (options.facts)
    result.facts = passes::describeKernel(module);
  result.numWarps = ir::numWarps(module);
  std::optional<int64_t> accumulator = largestAccumulator(module);
  if (auto bytes = module->getAttrOfType<IntegerAttr>(ir::sharedBytesAttr))
    result.sharedBytes = bytes.getInt();
  if (auto bytes = module->getAttrOfType<IntegerAttr>(ir::globalScratchAttr))
    result.globalScratchBytes = bytes.getInt();
  if (reached("ttgir"))
    return result;

  observer.checkTime();
  observer.restart();
  target = withoutFaults(target, parseAssemblerVersion(assemblerVersion()));
  if (failed(lowerToLLVM(module, target, &result.remarks)))
    diagnostics.raise("lower-to-llvm", module);
  observer.finished("lower-to-llvm", [&](llvm::raw_ostream &stream) { module->print(stream); });

  observer.checkTime();
  EmitOptions emitOptions;
  emitOptions.enableFpFusion = options.enableFpFusion;
  emitOptions.lineInfo = options.lineInfo;
  emitOptions.libdevicePath = findLibdevice();
  // One block alone would wait for each load in turn; of many, some always run.
  int64_t wanted = wantedThreads(module), threads = int64_t(result.numWarps) << target.log2WarpSize;
  bool argumentsOverlap = module->hasAttr(ir::argumentsOverlapAttr);
  if (!accumulator && !argumentsOverlap && threads <= wanted / 2 && threads >= wanted / 4)
    emitOptions.orderRegisters = registersFor(wanted, target);
  FailureOr<EmittedKernel> emitted = emitPtx(module, target, emitOptions);
  if (failed(emitted))
    diagnostics.raise("emit-ptx", module);
  result.kernelName = std::move(emitted->kernelName);
  result.llir = std::move(emitted->llvmIR);
  result.needsDistinctArguments =
      module->hasAttr(ir::needsDistinctArgumentsAttr) || emitted->movesLoadsAfterStores;
  result.ptx = std::move(emitted->ptx);
  observer.finished("emit-ptx",
                    [&](llvm::raw_ostream &stream) { stream << result.llir << result.ptx; });
  if (reached("llir") || reached("ptx"))
    return result;

  observer.checkTime();
  AssembleOptions assembleOptions;
  assembleOptions.lineInfo = options.lineInfo;
  assembleOptions.maxRegisters = options.maxRegisters;
  assembleOptions.kernelName = result.kernelName;
  if (accumulator)
    limitEffort(result, *accumulator, assembleOptions);
  AssembleResult assembled = accumulator
                                 ? assembleProducts(result, target, assembleOptions)
                                 : assembleForOccupancy(result, target, assembleOptions, wanted);
  result.cubin = std::move(assembled.cubin);
  result.registers = assembled.registers;
  result.spillBytes = assembled.spillStoreBytes;
  result.assembler = assembled.assembler;
  for (std::string &warning : assembled.warnings) {
    Remark remark;
    // Tests look for the first kind.
    remark.kind = isSerializedProduct(warning) ? "wgmma-serialized" : "assembler-warning";
    remark.applied = false;
    remark.reason = std::move(warning);
    result.remarks.add(std::move(remark));
  }
  if (result.spillBytes > 0) {
    Remark remark;
    remark.kind = "register-spills";
    remark.applied = false;
    remark.numbers = {{"spillBytes", result.spillBytes}, {"registers", result.registers}};
    remark.reason = "the values alive at once do not fit the registers; more warps or a smaller "
                    "tile would help";
    result.remarks.add(std::move(remark));
  }
  observer.finished("assemble", [](llvm::raw_ostream &) {});
  observer.reportUnknownNames();
  return result;
}

} // namespace tilewright::codegen
