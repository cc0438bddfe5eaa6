//===- Reproducer.cpp - The file that runs a failure again ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Reproducer.h"

#include "codegen/emit/NvJitLink.h"
#include "ir/support/Knobs.h"
#include "passes/pipeline/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;

namespace tilewright::codegen {

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static std::string kernelNameOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      return function.getName().str();
  return "kernel";
}

/// The names of the steps from `first` on that run, as MLIR writes a pipeline.
static std::string remainingPipeline(size_t first, const CompileOptions &options) {
  std::string names;
  const std::vector<passes::PipelineStep> &steps = passes::pipelineSteps();
  for (size_t index = first; index < steps.size(); ++index)
    if (!passes::isSkipped(steps[index], options.skippedPasses))
      names += (names.empty() ? "" : ",") + steps[index].name;
  return "builtin.module(" + names + ")";
}

static std::string printModule(ModuleOp module, const std::string &pipeline) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState state(module, OpPrintingFlags().enableDebugInfo());
  if (!pipeline.empty())
    state.attachResourcePrinter("mlir_reproducer", [&](Operation *, AsmResourceBuilder &builder) {
      builder.buildString("pipeline", pipeline);
      builder.buildBool("disable_threading", true);
      builder.buildBool("verify_each", true);
    });
  module->print(stream, state);
  return text;
}

std::string printWithLocations(ModuleOp module) { return printModule(module, ""); }

/// Runs the steps before `index` on a copy; null where one of them fails.
static OwningOpRef<ModuleOp> copyBefore(ModuleOp original, const CompileOptions &options,
                                        size_t index) {
  TargetInfo target = getTargetInfo(options.target);
  passes::PipelineOptions pipeline;
  pipeline.target = &target;
  pipeline.skipped = options.skippedPasses;
  pipeline.first = options.firstStep;
  pipeline.end = index;
  OwningOpRef<ModuleOp> module = original.clone();
  ScopedDiagnosticHandler silence(original.getContext(), [](Diagnostic &) { return success(); });
  if (failed(passes::runPipeline(*module, pipeline)))
    return nullptr;
  return module;
}

std::string moduleBefore(ModuleOp original, const CompileOptions &options, size_t index) {
  OwningOpRef<ModuleOp> module = copyBefore(original, options, index);
  return module ? printModule(*module, remainingPipeline(index, options)) : "";
}

Reproducer makeReproducer(ModuleOp original, const CompileOptions &options, const std::string &step,
                          size_t index, const std::string &message) {
  Reproducer result;
  result.kernel = kernelNameOf(original);
  result.step = step;
  result.message = message;
  result.tileLevel = printWithLocations(original);
  result.firstStep = index;
  result.module = moduleBefore(original, options, index);
  if (result.module.empty()) {
    // What failed once may fail elsewhere the next time, such as for want of memory.
    result.firstStep = options.firstStep;
    result.module = printModule(original, remainingPipeline(options.firstStep, options));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static std::string headOf(const Reproducer &reproducer, const CompileOptions &options) {
  const std::vector<passes::PipelineStep> &steps = passes::pipelineSteps();
  size_t first = reproducer.firstStep;
  llvm::json::Object head{
      {"kernel", llvm::json::fixUTF8(reproducer.kernel)},
      {"step", reproducer.step},
      {"message", llvm::json::fixUTF8(reproducer.message)},
      {"version", options.version},
      {"assembler", assemblerVersion()},
      {"target", options.target},
      {"first_step", static_cast<int64_t>(first)},
      {"first_name", first < steps.size() ? steps[first].name : "lower-to-llvm"},
      {"enable_fp_fusion", options.enableFpFusion},
      {"line_info", options.lineInfo},
      {"last_stage", options.lastStage},
      {"maxnreg", options.maxRegisters},
      {"ptx_version", options.ptxVersion},
      {"ptx_options", llvm::join(options.assemblerOptions, " ")},
      {"skip_passes", llvm::json::Array(options.skippedPasses)},
  };
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "// tilewright reproducer 1\n// " << llvm::json::Value(std::move(head)) << "\n";
  return text;
}

/// Letters that are safe in the name of a file and in a command as it is printed.
static std::string safeName(llvm::StringRef name) {
  std::string safe;
  for (char c : name.take_front(64))
    safe += llvm::isAlnum(c) || c == '_' || c == '-' ? c : '_';
  return safe;
}

/// Never through a link that somebody put there, and only for this user to read. A file of
/// the name that is ours has the content already: the name holds its hash.
static std::string writeNewFile(const std::string &path, llvm::StringRef text) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat status;
  if (file < 0 && errno == EEXIST && ::lstat(path.c_str(), &status) == 0 &&
      S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      status.st_size == static_cast<off_t>(text.size()))
    return "";
  if (file < 0)
    return std::strerror(errno);
  llvm::StringRef rest = text;
  ssize_t count = 1;
  while (!rest.empty() && count > 0) {
    count = ::write(file, rest.data(), rest.size());
    if (count > 0)
      rest = rest.drop_front(static_cast<size_t>(count));
  }
  std::string problem = rest.empty() ? "" : std::strerror(errno);
  ::close(file);
  if (!problem.empty())
    ::unlink(path.c_str());
  return problem;
}

WrittenFile writeReproducer(const Reproducer &reproducer, const CompileOptions &options) {
  std::string folder = knobText(Knob::REPRODUCER_DIR);
  std::error_code ignored;
  if (folder.empty())
    folder = std::filesystem::temp_directory_path(ignored).string();
  std::string text = headOf(reproducer, options) + reproducer.module;
  if (reproducer.module.empty() || text.back() != '\n')
    text += "\n";
  text += "// -----\n" + reproducer.tileLevel;
  std::string path =
      fmt::format("{}/{}-{}-{:08x}.mlir", folder, safeName(reproducer.kernel),
                  safeName(reproducer.step), static_cast<uint32_t>(llvm::xxh3_64bits(text)));
  std::string problem = writeNewFile(path, text);
  if (problem.empty())
    return {path, ""};
  return {"", fmt::format("{}: {}", path, problem)};
}

std::string WrittenFile::sentence() const {
  return problem.empty() ? "reproducer written to " + path
                         : "no reproducer could be written to " + problem;
}

Error internalError(const std::string &step, const std::string &message, const WrittenFile &file) {
  Error error = makeError(ErrorCode::E0900, fmt::arg("pass", step), fmt::arg("message", message),
                          fmt::arg("path", file.path));
  if (!file.problem.empty())
    error.setHelp("this is a bug; " + file.sentence() + "; set TILEWRIGHT_REPRODUCER_DIR");
  return error;
}

} // namespace tilewright::codegen
