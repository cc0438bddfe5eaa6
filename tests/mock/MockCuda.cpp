//===- MockCuda.cpp - A CUDA driver that records --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a shared library with the driver functions that runtime/driver resolves.
// It runs nothing: it records each launch with the bytes of its parameters, so
// that the path from Python arguments to the driver call can be checked, and its
// host cost measured, on a machine without a GPU. TILEWRIGHT_LIBCUDA_PATH points
// to it.
//
// A module image is "\x7fELF|parameter sizes with commas|registers|max threads";
// of a real cubin the sizes are read (CubinParameters.h); every other image counts as
// PTX and takes no parameters. MOCK_CAPABILITY=80 makes it another GPU than a 9.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/driver/CudaApi.h"
#include "tests/mock/CubinParameters.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

using namespace tilewright::driver;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct MockContext {
  int device;
};
struct MockModule {
  std::vector<size_t> parameterSizes;
  int registers = 32, maxThreads = 1024;
  int fault = 0; // what its launches return; -1: they never end
  bool isPtx = false;
  std::string name;
};
struct MockLaunch {
  unsigned grid[3], threads, shared, numAttributes;
  unsigned clusterX;
  uint64_t stream;
  int device;
  std::string parameters;
  bool cooperative, programmatic;
  std::string name;
  uint64_t time; // nanoseconds of the host's steady clock
};

uint64_t steadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr int numDevices = 2;
MockContext contexts[numDevices] = {{0}, {1}};
thread_local std::vector<MockContext *> stack;
constexpr int relaxedCapture = 2;
thread_local int captureMode = 0; // global, as in the driver
std::mutex mutex;                 // launches come from many threads: the GIL is released

std::vector<MockLaunch> launches;
bool recording = true;
long launchCount = 0;
int nextLaunchResult = 0, capturing = 0, loaded = 0, unloaded = 0;
int dynamicSharedLimit = 0;
bool failAllocation = false;
bool hanging = false;
std::atomic<int> holdMilliseconds{0}, held{0};
long blocked = 0; // calls that would not come back, as they wait for what hangs

int waits() {
  blocked += hanging;
  return 0;
}

long queries = 0; // how often the state of a stream was asked for
long clockQueries = 0;
uint64_t pinnedAddress = 0;
bool foreignCapture = false;
long encodeCount = 0;
int nextEncodeResult = 0;

int capability() {
  const char *value = std::getenv("MOCK_CAPABILITY");
  return value ? std::atoi(value) : 90;
}

MockContext *current() { return stack.empty() ? nullptr : stack.back(); }

} // namespace

//===--- What tests ask -----------------------------------------------------===//

EXPORT void mockReset() {
  launches.clear();
  launchCount = nextLaunchResult = capturing = loaded = unloaded = 0;
  dynamicSharedLimit = 0;
  encodeCount = nextEncodeResult = 0;
  pinnedAddress = 0;
  recording = true;
  foreignCapture = hanging = false;
  blocked = holdMilliseconds = 0;
  queries = 0;
}
/// From now on no event is reached.
EXPORT void mockHang(int on) { hanging = on; }
/// Launches wait in the driver, as those of a full queue do, for so long or until this is 0.
EXPORT void mockHoldLaunches(int milliseconds) { holdMilliseconds = milliseconds; }
EXPORT int mockHeldLaunches() { return held; }
EXPORT long mockBlocked() { return blocked; }
EXPORT long mockQueries() { return queries; }
/// How often the clocks were asked for, which takes a real driver long; never reset.
EXPORT long mockClockQueries() { return clockQueries; }
EXPORT void mockRecord(int on) { recording = on; }
EXPORT long mockLaunchCount() { return launchCount; }
EXPORT void mockFailNextLaunch(int result) { nextLaunchResult = result; }
EXPORT long mockEncodeCount() { return encodeCount; }
EXPORT void mockFailNextEncode(int result) { nextEncodeResult = result; }
EXPORT void mockFailNextAllocation() { failAllocation = true; }
EXPORT void mockSetCapturing(int on) { capturing = on; }
/// Another thread records a graph in the global mode.
EXPORT void mockSetForeignCapture(int on) { foreignCapture = on; }
EXPORT void mockSetPinned(uint64_t address) { pinnedAddress = address; }
EXPORT int mockLoaded() { return loaded; }
EXPORT int mockUnloaded() { return unloaded; }
EXPORT int mockDynamicSharedLimit() { return dynamicSharedLimit; }
/// Fills ten numbers of a launch and returns the bytes of its parameters.
EXPORT int mockLaunch(long index, uint64_t *numbers, char *parameters) {
  const MockLaunch &l = launches.at(index);
  uint64_t values[] = {l.grid[0],
                       l.grid[1],
                       l.grid[2],
                       l.threads,
                       l.shared,
                       l.stream,
                       static_cast<uint64_t>(l.device),
                       l.clusterX,
                       l.cooperative,
                       l.programmatic};
  std::memcpy(numbers, values, sizeof(values));
  std::copy(l.parameters.begin(), l.parameters.end(), parameters);
  return static_cast<int>(l.parameters.size());
}

/// What MockCupti tells of launches: how many are known, their symbol, and when they were.
EXPORT long mockRecordedCount() { return static_cast<long>(launches.size()); }
EXPORT const char *mockLaunchName(long index) { return launches.at(index).name.c_str(); }
EXPORT uint64_t mockLaunchTime(long index) { return launches.at(index).time; }

//===--- The driver's functions ---------------------------------------------===//

/// MOCK_INIT_RESULT: what cuInit returns.
EXPORT int cuInit(unsigned) {
  const char *result = std::getenv("MOCK_INIT_RESULT");
  return result ? std::atoi(result) : 0;
}
EXPORT int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
EXPORT int cuGetErrorName(int result, const char **name) {
  *name = result == 700   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == 1   ? "CUDA_ERROR_INVALID_VALUE"
          : result == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS"
                          : "CUDA_ERROR_OTHER";
  return 0;
}
EXPORT int cuGetErrorString(int result, const char **text) {
  *text = result == 700   ? "an illegal memory access was encountered"
          : result == 710 ? "device-side assert triggered"
                          : "mock";
  return 0;
}
EXPORT int cuDeviceGetCount(int *count) {
  *count = numDevices;
  return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return 0;
}
EXPORT int cuDeviceGetName(char *name, int size, int) {
  std::strncpy(name, "Mock GPU", size);
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = size_t(1) << 34;
  return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int) {
  clockQueries += attribute == attrClockRate || attribute == attrMemoryClockRate;
  switch (attribute) {
  case attrMaxThreadsPerBlock:
    *value = 1024;
    break;
  case attrSharedPerBlock:
    *value = 49152;
    break;
  case attrSharedPerBlockOptin:
    *value = 232448;
    break;
  case attrWarpSize:
    *value = 32;
    break;
  case attrRegistersPerBlock:
  case attrRegistersPerMultiprocessor:
    *value = 65536;
    break;
  case attrCapabilityMajor:
    *value = capability() / 10;
    break;
  case attrCapabilityMinor:
    *value = capability() % 10;
    break;
  case attrMultiprocessorCount:
    *value = 132;
    break;
  default:
    *value = 1;
  }
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(MockContext **context, int device) {
  *context = &contexts[device];
  return 0;
}
EXPORT int cuCtxGetCurrent(MockContext **context) {
  *context = current();
  return 0;
}
EXPORT int cuCtxSetCurrent(MockContext *context) {
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(context);
  return 0;
}
EXPORT int cuCtxGetDevice(int *device) {
  if (!current())
    return 201;
  *device = current()->device;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(MockContext *context) {
  stack.push_back(context);
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(MockContext **context) {
  *context = current();
  stack.pop_back();
  return 0;
}
EXPORT int cuCtxSynchronize() { return waits(); }
EXPORT int cuCtxSetLimit(int, size_t) { return 0; }

EXPORT int cuModuleLoadDataEx(MockModule **module, const void *image, unsigned, int *, void **) {
  if (!current())
    return 201;
  if (foreignCapture && captureMode != relaxedCapture)
    return 900;
  auto *result = new MockModule();
  const char *text = static_cast<const char *>(image);
  if (std::strncmp(text,
                   "\x7f"
                   "ELF|",
                   5) == 0) {
    std::string rest = text + 5;
    size_t bar = rest.find('|');
    const char *at = rest.c_str();
    while (bar != std::string::npos && at < rest.c_str() + bar) {
      char *end;
      result->parameterSizes.push_back(std::strtoul(at, &end, 10));
      if (end == at)
        break;
      at = end + 1;
    }
    if (bar != std::string::npos)
      std::sscanf(rest.c_str() + bar, "|%d|%d|%d", &result->registers, &result->maxThreads,
                  &result->fault);
  } else if (isCubin(text)) {
    result->parameterSizes = cubinParameterSizes(text);
  } else {
    result->isPtx = true;
  }
  *module = result;
  ++loaded;
  return 0;
}
EXPORT int cuModuleUnload(MockModule *module) {
  waits();
  delete module;
  ++unloaded;
  return 0;
}
EXPORT int cuModuleGetFunction(MockModule **function, MockModule *module, const char *name) {
  module->name = name;
  *function = module;
  return 0;
}
EXPORT int cuFuncGetAttribute(int *value, int attribute, MockModule *function) {
  *value = attribute == funcNumRegisters         ? function->registers
           : attribute == funcMaxThreadsPerBlock ? function->maxThreads
           : attribute == funcLocalBytes         ? 16
                                                 : 0;
  return 0;
}
EXPORT int cuFuncSetAttribute(MockModule *, int attribute, int value) {
  if (attribute == funcMaxDynamicSharedBytes)
    dynamicSharedLimit = value;
  return 0;
}
static bool isCooperative(const LaunchConfig &config) {
  for (unsigned i = 0; i < config.numAttributes; ++i)
    if (config.attributes[i].id == launchCooperative)
      return config.attributes[i].value.flag != 0;
  return false;
}
static void readAttributes(const LaunchConfig &config, MockLaunch &launch) {
  launch.cooperative = isCooperative(config);
  for (unsigned i = 0; i < config.numAttributes; ++i) {
    const LaunchAttribute &attribute = config.attributes[i];
    if (attribute.id == launchClusterDimension)
      launch.clusterX = attribute.value.clusterDim[0];
    if (attribute.id == launchProgrammaticStreamSerialization)
      launch.programmatic = attribute.value.flag != 0;
  }
}
EXPORT int cuLaunchKernelEx(const LaunchConfig *config, MockModule *function, void **parameters,
                            void **) {
  if (!current())
    return 201;
  while (function->fault < 0)
    ::pause();
  if (function->fault)
    return function->fault;
  ++held;
  for (int waited = 0; waited < holdMilliseconds; ++waited)
    ::usleep(1000);
  --held;
  std::lock_guard<std::mutex> lock(mutex);
  if (nextLaunchResult) {
    int result = nextLaunchResult;
    nextLaunchResult = 0;
    return result;
  }
  // Two blocks fit on each of the 132 multiprocessors.
  if (config->numAttributes && isCooperative(*config) && config->gridX * config->gridY > 264)
    return cudaCooperativeLaunchTooLarge;
  ++launchCount;
  if (!recording)
    return 0;
  MockLaunch l = {{config->gridX, config->gridY, config->gridZ},
                  config->blockX,
                  config->sharedBytes,
                  config->numAttributes,
                  1,
                  reinterpret_cast<uint64_t>(config->stream),
                  current()->device,
                  {},
                  false,
                  false,
                  function->name,
                  steadyNow()};
  readAttributes(*config, l);
  for (size_t i = 0; i < function->parameterSizes.size(); ++i)
    l.parameters.append(static_cast<const char *>(parameters[i]), function->parameterSizes[i]);
  launches.push_back(l);
  return 0;
}
/// Two blocks on each of the 132 multiprocessors; more than 8 do not make a cluster.
EXPORT int cuOccupancyMaxActiveClusters(int *clusters, MockModule *, const LaunchConfig *config) {
  MockLaunch l{};
  readAttributes(*config, l);
  *clusters = l.clusterX > 8 ? 0 : 264 / l.clusterX;
  return 0;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, MockModule *, int, size_t) {
  *blocks = 2;
  return 0;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return 0;
}
/// The lowest bit of a stream's handle is its device.
EXPORT int cuStreamGetCtx(void *stream, MockContext **context) {
  *context = &contexts[reinterpret_cast<uintptr_t>(stream) & 1];
  return 0;
}
EXPORT int cuStreamSynchronize(void *) { return waits(); }
EXPORT int cuStreamQuery(void *) {
  ++queries;
  return hanging ? 600 : 0;
}
EXPORT int cuStreamIsCapturing(void *, int *status) {
  *status = capturing;
  return 0;
}
/// Addresses say where they are: device d owns [0x10000000000 * (d + 1), ...).
EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  uint64_t owner = address >> 40;
  if (attribute == pointerDeviceOrdinal && owner >= 1 && owner <= numDevices) {
    *static_cast<int *>(value) = static_cast<int>(owner) - 1;
    return 0;
  }
  if (attribute == pointerDevicePointer && address == pinnedAddress) {
    *static_cast<uint64_t *>(value) = address + 0x1000;
    return 0;
  }
  return 1;
}
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  if (failAllocation) {
    failAllocation = false;
    return cudaOutOfMemory;
  }
  *pointer = reinterpret_cast<uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *pointer ? 0 : 2;
}
EXPORT int cuMemAllocAsync(uint64_t *pointer, size_t bytes, void *) {
  return cuMemAlloc_v2(pointer, bytes);
}
EXPORT int cuMemFreeAsync(uint64_t pointer, void *) {
  std::free(reinterpret_cast<void *>(pointer));
  return 0;
}
EXPORT int cuMemFree_v2(uint64_t pointer) {
  waits();
  std::free(reinterpret_cast<void *>(pointer));
  return 0;
}
/// The map holds what it was made from: address, 5 extents, 4 strides (8 bytes each),
/// 5 box extents, type, rank, interleave, swizzle, promotion, fill (4 bytes each).
EXPORT int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                                  const uint64_t *extents, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *elementStrides,
                                  int interleave, int swizzle, int promotion, int fill) {
  std::lock_guard<std::mutex> lock(mutex);
  ++encodeCount;
  if (nextEncodeResult) {
    int result = nextEncodeResult;
    nextEncodeResult = 0;
    return result;
  }
  uint64_t wide[10] = {reinterpret_cast<uint64_t>(address)};
  uint32_t narrow[11] = {};
  for (uint32_t i = 0; i < rank; ++i) {
    wide[1 + i] = extents[i];
    narrow[i] = box[i];
    if (elementStrides[i] != 1)
      return 1;
  }
  for (uint32_t i = 0; i + 1 < rank; ++i)
    wide[6 + i] = strides[i];
  int rest[] = {type, static_cast<int>(rank), interleave, swizzle, promotion, fill};
  std::memcpy(&narrow[5], rest, sizeof(rest));
  std::memset(map, 0, 128);
  std::memcpy(map, wide, sizeof(wide));
  std::memcpy(static_cast<char *>(map) + sizeof(wide), narrow, sizeof(narrow));
  return 0;
}
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  waits();
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  waits();
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *) {
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return 0;
}
EXPORT int cuMemsetD8Async(uint64_t, unsigned char, size_t, void *) { return 0; }
EXPORT int cuEventCreate(void **event, unsigned) {
  *event = reinterpret_cast<void *>(1);
  return 0;
}
EXPORT int cuEventDestroy_v2(void *) { return 0; }
EXPORT int cuEventRecord(void *, void *) { return 0; }
EXPORT int cuEventSynchronize(void *) { return waits(); }
EXPORT int cuEventQuery(void *) { return hanging ? 600 : 0; }
EXPORT int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1.0f;
  return 0;
}
