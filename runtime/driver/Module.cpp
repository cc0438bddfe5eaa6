//===- Module.cpp - A kernel loaded into a device -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/driver/Module.h"
#include "ir/support/Error.h"
#include "ir/support/LogLines.h"

#include <algorithm>
#include <cstring>

namespace tilewright::driver {

/// Blocks of a cluster that every Hopper GPU accepts; more needs an opt-in.
static constexpr int portableClusterSize = 8;
/// Dynamic shared memory that needs no opt-in, on every GPU.
static constexpr int64_t defaultSharedBytes = 48 * 1024;

LoadedKernel::LoadedKernel(int device, const std::string &image,
                           const KernelRequirements &requirements)
    : target(nullptr), required(requirements) {
  Driver &driver = Driver::get();
  driver.checkNotLost();
  target = &driver.device(device);
  checkFits();
  ContextGuard guard(driver, *target);
  // Another thread, or this one on another stream, may record a graph: loading must
  // not break it.
  RelaxedCapture relaxed(driver);
  load(image);
  try {
    prepareFunction();
    prepareAttributes();
    checkClusterFits();
  } catch (...) {
    driver.api().moduleUnload(moduleHandle);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  // In a forked child the handle belongs to the parent.
  if (!moduleHandle || Driver::isAbandoned())
    return;
  if (Driver *driver = Driver::tryGet()) {
    try {
      ContextGuard guard(*driver, *target);
      RelaxedCapture relaxed(*driver);
      driver->api().moduleUnload(moduleHandle);
      // NOLINTNEXTLINE(bugprone-empty-catch): at the end of the process the driver may be gone.
    } catch (const std::exception &) {
    }
  }
}

void LoadedKernel::checkFits() const {
  if (required.sharedBytes <= target->sharedBytesPerBlockOptin)
    return;
  std::string arch = fmt::format("sm_{}", target->capability);
  throw Error(ErrorCode::E0301,
              fmt::format(errorEntry(ErrorCode::E0301).message, fmt::arg("n", required.sharedBytes),
                          fmt::arg("arch", arch), fmt::arg("m", target->sharedBytesPerBlockOptin)),
              "reduce num_stages or the block sizes");
}

[[noreturn]] static void raiseLoadError(Driver &driver, CudaResult result, Device &device,
                                        const std::string &log) {
  int version = driver.version();
  std::string cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  switch (result) {
  case cudaUnsupportedPtxVersion:
    throw makeError(ErrorCode::E0405, fmt::arg("v", version), fmt::arg("c", cuda),
                    fmt::arg("r", "a newer CUDA"));
  case cudaInvalidPtx:
  case cudaJitCompilerNotFound:
    throw makeError(ErrorCode::E0304, fmt::arg("ver", "(driver " + cuda + ")"),
                    fmt::arg("line", firstErrorLine(log)),
                    fmt::arg("path", "asm['ptx'] of the kernel"));
  case cudaNoBinaryForGpu:
  case cudaInvalidImage:
    throw makeInternalError("load",
                            fmt::format("{} on {} (sm_{})", driver.errorName(result),
                                        driver.propertiesOf(device).name, device.capability));
  default:
    driver.check(result, "cuModuleLoadDataEx");
    throw std::logic_error("check() returned for an error");
  }
}

void LoadedKernel::load(const std::string &image) {
  Driver &driver = Driver::get();
  // PTX is text that must end in a zero byte; std::string's data() does.
  bool isPtx = image.compare(0, 4,
                             "\x7f"
                             "ELF") != 0;
  std::string errorLog(8192, '\0'), infoLog(8192, '\0');
  int options[6];
  void *values[6];
  unsigned count = 0;
  auto option = [&](int id, uintptr_t value) {
    options[count] = id;
    values[count++] = reinterpret_cast<void *>(value);
  };
  option(jitErrorLogBuffer, reinterpret_cast<uintptr_t>(errorLog.data()));
  option(jitErrorLogBufferSize, errorLog.size());
  option(jitInfoLogBuffer, reinterpret_cast<uintptr_t>(infoLog.data()));
  option(jitInfoLogBufferSize, infoLog.size());
  if (isPtx) {
    option(jitGenerateLineInfo, 1);
    if (required.maxRegisters > 0)
      option(jitMaxRegisters, required.maxRegisters);
  }
  CudaResult result =
      driver.api().moduleLoadDataEx(&moduleHandle, image.data(), count, options, values);
  if (result == cudaSuccess)
    return;
  moduleHandle = nullptr;
  raiseLoadError(driver, result, *target, errorLog.c_str());
}

void LoadedKernel::prepareFunction() {
  Driver &driver = Driver::get();
  const CudaApi &api = driver.api();
  driver.check(api.moduleGetFunction(&functionHandle, moduleHandle, required.name.c_str()),
               "cuModuleGetFunction");
  api.funcGetAttribute(&registers, funcNumRegisters, functionHandle);
  api.funcGetAttribute(&localBytes, funcLocalBytes, functionHandle);
  api.funcGetAttribute(&maxThreadsPerBlock, funcMaxThreadsPerBlock, functionHandle);
  if (required.threadsPerBlock > maxThreadsPerBlock && maxThreadsPerBlock > 0) {
    const DeviceProperties &properties = driver.propertiesOf(*target);
    int warps = 1, perBlock = properties.registersPerBlock;
    while (warps * 2 * properties.warpSize <= maxThreadsPerBlock)
      warps *= 2;
    int budget = perBlock / required.threadsPerBlock / 8 * 8;
    throw makeError(ErrorCode::E0302, fmt::arg("regs", registers),
                    fmt::arg("t", required.threadsPerBlock), fmt::arg("m", perBlock),
                    fmt::arg("w", warps), fmt::arg("r", budget));
  }
  if (required.sharedBytes > defaultSharedBytes)
    driver.check(api.funcSetAttribute(functionHandle, funcMaxDynamicSharedBytes,
                                      static_cast<int>(required.sharedBytes)),
                 "cuFuncSetAttribute");
  if (required.numCtas > portableClusterSize)
    driver.check(api.funcSetAttribute(functionHandle, funcNonPortableClusterSize, 1),
                 "cuFuncSetAttribute");
}

void LoadedKernel::prepareAttributes() {
  auto attribute = [&](int id) -> LaunchAttribute & {
    LaunchAttribute &a = attributes[numAttributes++];
    std::memset(&a, 0, sizeof(a));
    a.id = id;
    return a;
  };
  if (required.programmaticLaunch)
    attribute(launchProgrammaticStreamSerialization).value.flag = 1;
  if (required.cooperative)
    attribute(launchCooperative).value.flag = 1;
  if (required.numCtas > 1) {
    LaunchAttribute &cluster = attribute(launchClusterDimension);
    cluster.value.clusterDim[0] = required.numCtas;
    cluster.value.clusterDim[1] = cluster.value.clusterDim[2] = 1;
    attribute(launchClusterSchedulingPolicy).value.flag = 1; // spread
  }
}

/// Blocks along x that a launch may have.
static constexpr int64_t maxBlocks = INT32_MAX;

LaunchConfig LoadedKernel::launchConfig(const unsigned grid[3], CudaStream stream) const {
  LaunchConfig config;
  // A program of the grid is a cluster: its blocks lie along x.
  config.gridX = grid[0] * required.numCtas;
  config.gridY = grid[1];
  config.gridZ = grid[2];
  config.blockX = required.threadsPerBlock;
  config.blockY = config.blockZ = 1;
  config.sharedBytes = static_cast<unsigned>(required.sharedBytes);
  config.stream = stream;
  config.attributes = numAttributes ? const_cast<LaunchAttribute *>(attributes) : nullptr;
  config.numAttributes = numAttributes;
  return config;
}

bool LoadedKernel::hasTooManyBlocks(const unsigned grid[3]) const {
  return int64_t(grid[0]) * required.numCtas > maxBlocks;
}

CudaResult LoadedKernel::launch(const CudaApi &api, const unsigned grid[3], CudaStream stream,
                                void **parameters) const {
  if (hasTooManyBlocks(grid))
    return cudaInvalidValue;
  LaunchConfig config = launchConfig(grid, stream);
  return api.launchKernelEx(&config, functionHandle, parameters, nullptr);
}

int LoadedKernel::maxResidentClusters() const {
  const CudaApi &api = Driver::get().api();
  unsigned grid[3] = {1, 1, 1};
  LaunchConfig config = launchConfig(grid, nullptr);
  int clusters = 0;
  if (!api.occupancyMaxActiveClusters ||
      api.occupancyMaxActiveClusters(&clusters, functionHandle, &config) != cudaSuccess)
    return -1;
  return clusters;
}

/// The blocks of a cluster run at once, near each other.
void LoadedKernel::checkClusterFits() const {
  if (required.numCtas == 1 || maxResidentClusters() != 0)
    return;
  throw Error(ErrorCode::E0209,
              fmt::format("num_ctas={}; {} cannot hold {} blocks of {} threads with {} registers "
                          "each and {} bytes of shared memory side by side",
                          required.numCtas, Driver::get().propertiesOf(*target).name,
                          required.numCtas, required.threadsPerBlock, registers,
                          required.sharedBytes),
              "use a smaller num_ctas, or fewer warps");
}

int64_t LoadedKernel::maxResidentBlocks() const {
  Driver &driver = Driver::get();
  ContextGuard guard(driver, *target);
  // Clusters do not span the groups that multiprocessors come in.
  if (required.numCtas > 1)
    if (int clusters = maxResidentClusters(); clusters >= 0)
      return clusters;
  int perMultiprocessor = 0;
  driver.api().occupancyMaxActiveBlocks(&perMultiprocessor, functionHandle,
                                        required.threadsPerBlock, required.sharedBytes);
  return int64_t(perMultiprocessor) * driver.propertiesOf(*target).multiprocessorCount /
         required.numCtas;
}

void checkStreamDevice(CudaStream stream, int ordinal) {
  // The values below 3 are the legacy and per-thread default streams: they
  // belong to whatever context is current.
  if (reinterpret_cast<uintptr_t>(stream) < 3)
    return;
  Driver &driver = Driver::get();
  CudaContext context = nullptr;
  driver.check(driver.api().streamGetContext(stream, &context), "cuStreamGetCtx");
  for (int other = 0; other < driver.deviceCount(); ++other)
    if (other != ordinal && driver.device(other).primaryContext == context)
      throw makeError(ErrorCode::E0217, fmt::arg("i", other), fmt::arg("j", ordinal));
}

void checkNotCapturing(CudaStream stream, const std::string &name) {
  int status = 0;
  CudaResult result = Driver::get().api().streamIsCapturing(stream, &status);
  // 906: asking about the legacy stream while another stream captures.
  constexpr CudaResult captureImplicit = 906;
  if ((result == cudaSuccess && status != 0) || result == captureImplicit)
    throw makeError(ErrorCode::E0214, fmt::arg("name", name));
}

} // namespace tilewright::driver
