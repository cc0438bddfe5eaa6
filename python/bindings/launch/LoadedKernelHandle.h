//===- LoadedKernelHandle.h - A loaded kernel as Python sees it -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LOADEDKERNELHANDLE_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LOADEDKERNELHANDLE_H

#include "runtime/driver/Module.h"
#include "runtime/launch/TensorMapRecipe.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <string>
#include <vector>

namespace tilewright {

/// The object that `_core.load_kernel` returns.
struct LoadedKernelHandle {
  driver::LoadedKernel kernel;
  /// Types of the run-time parameters in order: strings, or tuples of types, in
  /// which None stands for a constant.
  std::vector<pybind11::object> types;
  /// Which descriptors the kernel takes as tensor maps, in order.
  std::vector<bool> tensorMaps;
  /// Tensor maps that the launch makes, after all other parameters.
  std::vector<launch::TensorMapRecipe> recipes;
  int64_t scratchBytes = 0; ///< global scratch of one block
  int64_t scratchAlignment = 1;
  /// A weak reference to the CompiledKernel.
  pybind11::object owner;
  /// Its number in the log of that profile (LaunchProfile.h); 0 is none.
  mutable std::atomic<uint64_t> profile{0};
  mutable uint32_t profileNumber = 0;

  LoadedKernelHandle(int device, const std::string &image,
                     const driver::KernelRequirements &requirements)
      : kernel(device, image, requirements) {}
};

/// The entries of metadata.host_tensor_maps as recipes for a kernel whose types and tensor maps
/// are set. Raises E0215 where one cannot be run.
std::vector<launch::TensorMapRecipe> recipesOf(const pybind11::list &entries,
                                               const LoadedKernelHandle &handle);

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LOADEDKERNELHANDLE_H
