//===- Reproducer.h - The file that runs a failure again --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: everything that a failed compilation needs to fail again, in one file that
// 'tilewright repro' takes:
//
//     // tilewright reproducer 1
//     // {"kernel":"add","step":"tw-insert-barriers","version":"0.1.0 2f...", ...}
//     module ... the module before that step, with locations ...
//     {-# external_resources: { mlir_reproducer: ... } #-}
//     // -----
//     module ... as the front end made it, for --bisect ...
//
// The resource is that of MLIR's own reproducers, so that tilewright-opt
// --split-input-file --run-reproducer runs the passes too.
//
// Why not MLIR's own crash reproducer: to catch signals it installs handlers for the whole
// process, but the process belongs to the user. And it knows the module before a pass only
// if it copies the module before each pass. Passes are deterministic, so this code makes
// that module again from the front end's when it is needed. A worker process catches
// crashes (python/tilewright/compiler/isolated.py) and writes the same file.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_REPRODUCER_H
#define TILEWRIGHT_CODEGEN_EMIT_REPRODUCER_H

#include "codegen/emit/CompileModule.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tilewright::codegen {

struct Reproducer {
  std::string kernel;    ///< its name
  std::string step;      ///< that failed, as "tw-insert-barriers" or "emit-ptx"
  std::string message;   ///< what the step said
  size_t firstStep = 0;  ///< where to begin with `module`, in passes::pipelineSteps()
  std::string module;    ///< before that step, with locations
  std::string tileLevel; ///< as the front end made it, with locations
};

/// The reproducer of a failure in `step`, which is the pass of index `index` or comes after
/// all passes. `original` is the module at options.firstStep.
Reproducer makeReproducer(mlir::ModuleOp original, const CompileOptions &options,
                          const std::string &step, size_t index, const std::string &message);

/// Where a reproducer was written, or why it was not.
struct WrittenFile {
  std::string path, problem;
  /// What an error says of it: "reproducer written to ...".
  std::string sentence() const;
};

/// Writes `<kernel>-<step>-<hash>.mlir` into the folder of TILEWRIGHT_REPRODUCER_DIR, or the
/// temporary folder. The hash is that of the content, so an equal failure has one file.
WrittenFile writeReproducer(const Reproducer &reproducer, const CompileOptions &options);

/// E0900 for a failure in `step`, with the file or without.
Error internalError(const std::string &step, const std::string &message, const WrittenFile &file);

/// The module of `text` at its start brought to before step `index`, as text with locations;
/// empty where it cannot be.
std::string moduleBefore(mlir::ModuleOp original, const CompileOptions &options, size_t index);

/// A module with its locations.
std::string printWithLocations(mlir::ModuleOp module);

} // namespace tilewright::codegen

#endif // TILEWRIGHT_CODEGEN_EMIT_REPRODUCER_H
