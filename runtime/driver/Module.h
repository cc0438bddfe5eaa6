//===- Module.h - A kernel loaded into a device -----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a cubin, or PTX for the driver's own assembler, becomes a function that
// can be launched, with its resources read back and its shared memory opted in.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_DRIVER_MODULE_H
#define TILEWRIGHT_RUNTIME_DRIVER_MODULE_H

#include "runtime/driver/Driver.h"

namespace tilewright::driver {

/// What the compiler knows about a kernel's launch.
struct KernelRequirements {
  std::string name; ///< symbol of the entry
  int threadsPerBlock = 128;
  int64_t sharedBytes = 0; ///< dynamic shared memory
  int numCtas = 1;         ///< blocks of a cluster
  bool cooperative = false;
  bool programmaticLaunch = false;
  int maxRegisters = 0; ///< for PTX images; 0: no limit
};

/// A loaded kernel. Unloads its module when destroyed.
class LoadedKernel {
public:
  /// Loads `image`; raises E0301, E0302, E0304, E0405 or E0900.
  LoadedKernel(int device, const std::string &image, const KernelRequirements &requirements);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;

  Device &device() const { return *target; }
  int deviceOrdinal() const { return target->ordinal; }
  CudaModule module() const { return moduleHandle; }
  CudaFunction function() const { return functionHandle; }
  const KernelRequirements &requirements() const { return required; }
  int numRegisters() const { return registers; }
  /// Words of 4 bytes that a thread keeps in local memory.
  int numSpills() const { return localBytes / 4; }
  int maxThreads() const { return maxThreadsPerBlock; }

  /// Launches on a stream of the kernel's device. `parameters` points to one
  /// slot per kernel parameter. Returns the driver's result: the caller knows
  /// the launch site.
  CudaResult launch(const CudaApi &api, const unsigned grid[3], CudaStream stream,
                    void **parameters) const;
  /// Whether a grid of programs has more blocks than a launch may have.
  bool hasTooManyBlocks(const unsigned grid[3]) const;
  /// Programs that the GPU holds at once: the most that a cooperative launch may have.
  int64_t maxResidentBlocks() const;

private:
  void load(const std::string &image);
  void checkFits() const;
  void prepareFunction();
  void prepareAttributes();
  /// Clusters that the GPU holds at once; -1 where the driver cannot tell.
  int maxResidentClusters() const;
  void checkClusterFits() const;
  LaunchConfig launchConfig(const unsigned grid[3], CudaStream stream) const;

  Device *target; // never freed
  KernelRequirements required;
  CudaModule moduleHandle = nullptr;
  CudaFunction functionHandle = nullptr;
  int registers = 0, localBytes = 0, maxThreadsPerBlock = 0;
  LaunchAttribute attributes[4];
  unsigned numAttributes = 0;
};

/// Raises E0217 if `stream` belongs to another device than `ordinal`.
void checkStreamDevice(CudaStream stream, int ordinal);

/// Raises E0214 if `stream` records a graph: `name` cannot be compiled or loaded
/// now.
void checkNotCapturing(CudaStream stream, const std::string &name);

} // namespace tilewright::driver

#endif // TILEWRIGHT_RUNTIME_DRIVER_MODULE_H
