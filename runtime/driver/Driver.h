//===- Driver.h - The CUDA driver, opened when first needed -----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: one process-wide driver: library, devices, primary contexts, the memory
// of a fault. Importing, compiling and interpreting never open it.
//
// How errors arise: a missing library or GPU is E0404, a child of a process that
// had initialised CUDA is E0213, an ordinal out of range E0203, a driver without
// a needed function E0405. A sticky error (illegal address and the like) is
// reported once as E0401 with the kernel; later calls are E0402.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_DRIVER_DRIVER_H
#define TILEWRIGHT_RUNTIME_DRIVER_DRIVER_H

#include "runtime/driver/CudaApi.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::driver {

/// What a user wants to know of a GPU. Sizes in bytes.
struct DeviceProperties {
  std::string name;
  int64_t totalMemory = 0;
  int multiprocessorCount = 0;
  int warpSize = 32;
  int maxThreadsPerBlock = 0;
  int registersPerBlock = 0;
  int registersPerMultiprocessor = 0;
  int sharedBytesPerBlock = 0;
  int l2CacheBytes = 0;
  int clockRateInKHz = 0;
  int memoryClockRateInKHz = 0;
  int memoryBusWidthInBits = 0;
  int maxGrid[3] = {0, 0, 0};
};

struct Device {
  int ordinal = 0;
  CudaDevice handle = 0;
  // What every launch needs. The rest is read when somebody asks: the driver takes
  // the clocks from the board, which is slow, and a first launch should not wait.
  int capability = 0; // 90 for 9.0
  int sharedBytesPerBlockOptin = 0;
  /// Retained at the first use and never released: the framework uses the same.
  std::atomic<CudaContext> primaryContext{nullptr};

private:
  friend class Driver;
  std::once_flag described;
  DeviceProperties properties;
};

/// Where a kernel was launched; kept for messages.
struct LaunchSite {
  std::string kernelName;
  std::string file;
  int line = 0;
  std::string config; // "num_warps=4, grid=(64, 1, 1)"
};

class Driver {
public:
  /// The driver, opened and initialised; raises E0404, E0405 or E0213.
  static Driver &get();
  /// As get(), but null where there is no usable driver.
  static Driver *tryGet() noexcept;

  const CudaApi &api() const { return functions; }
  int version() const { return driverVersion; } // 12040 for 12.4
  const std::string &libraryPath() const { return path; }
  int deviceCount() const { return static_cast<int>(devices.size()); }
  /// Raises E0203. The primary context is retained by the first call.
  Device &device(int ordinal);
  /// All that is known of a device; read by the first call.
  const DeviceProperties &propertiesOf(Device &device) const;

  /// Ordinal of this thread's current context; 0 where there is none.
  int currentDevice();
  /// "CUDA_ERROR_ILLEGAL_ADDRESS".
  std::string errorName(CudaResult result) const;
  std::string errorSentence(CudaResult result) const;

  /// Raises the coded error of a failed call; `what` says what was tried.
  void check(CudaResult result, const char *what);
  /// Raises the coded error of a failed launch or of a fault that it met.
  [[noreturn]] void raiseLaunchError(CudaResult result, const LaunchSite &site);
  /// Raises E0402 once a fault was seen.
  void checkNotLost() const;
  /// True after a fork in the child: the parent's CUDA state is unusable.
  static bool isForkedChild();
  /// A kernel never ends (E0406): from now on nothing is freed, as freeing waits for it,
  /// and the process could not even end.
  static void setAbandoned(bool on);
  /// Whether what a process holds of the GPU is left to its end.
  static bool isAbandoned();

private:
  Driver() = default;
  void open();
  void resolveFunctions();
  void findDevices();
  int attributeOf(const Device &device, int which) const;
  void readProperties(Device &device) const;

  void *library = nullptr;
  std::string path;
  CudaApi functions;
  int driverVersion = 0;
  std::vector<std::unique_ptr<Device>> devices;
  std::mutex retainMutex;
  void noteLoss(CudaResult result, const std::string &kernel);

  mutable std::mutex lossMutex;
  CudaResult lostWith = cudaSuccess;
  std::string lostBy;
};

/// Whether the context is unusable after this result.
bool isStickyError(CudaResult result);

/// Makes a device's primary context current for a C++ scope. Free where it is
/// current already, which is the case in nearly every launch.
class ContextGuard {
public:
  ContextGuard(Driver &driver, Device &device);
  ~ContextGuard();
  ContextGuard(const ContextGuard &) = delete;

private:
  const CudaApi &api;
  bool pushed = false;
};

/// Lets this thread do for a C++ scope what a graph capture in progress forbids, here
/// to load and unload kernels: a capture in the default, global mode would otherwise
/// be broken by whatever thread loads one.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  const CudaApi &api;
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED; inside the scope the one before
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_RUNTIME_DRIVER_DRIVER_H
