//===- NvJitLink.h - PTX to cubin in this process ---------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: assembles PTX with NVIDIA's nvJitLink library, opened with dlopen. No
// child process, no temporary file, no GPU. Where no library is found the
// caller keeps the PTX and the driver assembles it at load.
//
// Where the library is looked for: (1) the knob TILEWRIGHT_NVJITLINK (a file, or
// "off"), (2) the nvidia-nvjitlink wheels in the folders that Python names,
// (3) CUDA toolkits (CUDA_HOME, CUDA_PATH, /usr/local/cuda*), (4) the loader's
// own path. The newest found in the first place that has one is taken.
//
// Thread-safe: the library is, and opening happens once.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CODEGEN_EMIT_NVJITLINK_H
#define TILEWRIGHT_CODEGEN_EMIT_NVJITLINK_H

#include <string>
#include <vector>

namespace tilewright {

struct AssembleOptions {
  /// Most registers per thread; 0 leaves it to the assembler.
  int maxRegisters = 0;
  bool lineInfo = true;
  /// 0 or 3, as -O.
  int optimizationLevel = 3;
  /// More options of ptxas, as a user gives them.
  std::vector<std::string> more;
  /// Name of the kernel, for the reproducer's file name.
  std::string kernelName = "kernel";
};

struct AssembleResult {
  /// Empty where no assembler library was found.
  std::string cubin;
  /// The assembler's whole report.
  std::string log;
  /// Resources of the kernel; -1 where the report does not say.
  int registers = -1;
  int spillStoreBytes = -1;
  int spillLoadBytes = -1;
  int stackBytes = -1;
  /// "nvJitLink 13.0", empty where none was found.
  std::string assembler;
  /// Warnings of the report, one per line (wgmma serialisation and the like).
  std::vector<std::string> warnings;
};

/// Assembles `ptx` for `arch` ("sm_90a"). Raises E0304 with a reproducer written
/// where the PTX is refused, E0306 where the library does not know the target.
AssembleResult assemblePtx(const std::string &ptx, const std::string &arch,
                           const AssembleOptions &options = {});

/// "nvJitLink 13.0" of the library that would be used, empty where there is none.
std::string assemblerVersion();
/// Its path, empty where there is none.
std::string assemblerPath();

/// Path of libdevice.10.bc: the knob, wheels, toolkits; empty where none is.
std::string findLibdevice();

/// What tells one assembler and libdevice from another without opening them (that
/// takes longer than a cached kernel may): names and sizes of the files that would
/// be used. Part of the keys of the cache on disk.
std::string toolchainIdentity();

/// The folders named `nvidia`, which hold wheels, in those of Python's search path.
/// Python names it before a compilation; from then on libraries are looked for there.
std::vector<std::string> findWheelFolders(std::vector<std::string> searchPath);

} // namespace tilewright

#endif // TILEWRIGHT_CODEGEN_EMIT_NVJITLINK_H
