//===- CompileModule.h - From tile IR to a cubin ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the whole way after the front end, in this process: passes, lowering,
// LLVM, PTX, assembler. It keeps the text of every stage, the remarks and the
// time of every step, and turns MLIR diagnostics into coded errors.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_COMPILEMODULE_H
#define TILEWRIGHT_CODEGEN_EMIT_COMPILEMODULE_H

#include "codegen/emit/ArgumentAccess.h"
#include "ir/support/Error.h"
#include "ir/support/Remark.h"
#include "ir/support/TargetInfo.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::codegen {

struct CompileOptions {
  std::string target;
  bool enableFpFusion = true;
  bool lineInfo = true;
  /// Whether CompiledModule::facts is wanted.
  bool facts = false;
  /// Where to stop: "ttir", "ttgir", "llir", "ptx" or "cubin".
  std::string lastStage = "cubin";
  /// Most registers per thread; 0 leaves it to the assembler.
  int maxRegisters = 0;
  /// The version of PTX in the head of the text, 85 for 8.5; 0 is the target's.
  int ptxVersion = 0;
  /// More options of ptxas, after those of the compiler.
  std::vector<std::string> assemblerOptions;
  /// Optimisations to leave out, by the names of their passes.
  std::vector<std::string> skippedPasses;
  /// Where the module is already, in passes::pipelineSteps().
  size_t firstStep = 0;
  /// Runs MLIR's verifier after each pass.
  bool verifyEach = false;
  /// The reproducer that the module comes from; empty where a failure is to write one.
  std::string reproducerPath;
  /// The version of this build, for reproducers.
  std::string version;
  /// Called with the name of each step before it runs and its place among the passes;
  /// may be empty.
  std::function<void(const std::string &, size_t)> beforeStep;
};

/// A tensor map that the launch makes from other arguments and passes after them
/// (runtime/launch/TensorMapRecipe.h).
struct HostTensorMap {
  std::string element;
  std::vector<int64_t> block;
  bool padsWithNan = false;
  int64_t base = 0;
  std::vector<std::vector<int64_t>> shape, strides;
};

/// How each program's part of the scratch memory is aligned: as its tensor maps must be.
constexpr int64_t globalScratchAlignment = 128;

struct CompiledModule {
  std::string kernelName;
  std::string ttir, ttgir, llir, ptx;
  std::string cubin; // empty where no assembler library was found
  int numWarps = 0;
  int64_t sharedBytes = 0;
  /// What the assembler reports; -1 where there was no report.
  int registers = -1, spillBytes = -1;
  std::string assembler;
  std::string assemblerLog;
  ArgumentAccess access;
  /// Bytes and operations of a launch, as WorkCount.h says.
  std::string work;
  /// The decisions of the passes, in the form of KernelFacts.h; empty unless asked for.
  std::string facts;
  /// The code is right only where no array that the kernel writes overlaps the array of
  /// another argument (passes/analysis/AliasInfo.h).
  bool needsDistinctArguments = false;
  /// For each tensor descriptor of the launch, whether the kernel takes its tensor
  /// map beside base, shape and strides.
  std::vector<bool> tensorMaps;
  std::vector<HostTensorMap> hostTensorMaps;
  /// Global memory that each program needs beside its arguments.
  int64_t globalScratchBytes = 0;
  RemarkCollector remarks;
  std::vector<std::pair<std::string, double>> stepSeconds;
};

/// Compiles a kernel module of tile level. Raises Error: E0301 where shared
/// memory does not fit, E0304 from the assembler, E0305 after too long, E0708 for a pass
/// that cannot be skipped, E0900 for our own faults.
CompiledModule compileModule(mlir::ModuleOp module, const CompileOptions &options);

/// The frame that an MLIR location of the front end stands for, innermost
/// first.
std::vector<SourceFrame> framesOfLocation(mlir::Location location);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_COMPILEMODULE_H
