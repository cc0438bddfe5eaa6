//===- Driver.cpp - The CUDA driver, opened when first needed -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/driver/Driver.h"
#include "ir/support/Error.h"
#include "ir/support/Knobs.h"

#include <atomic>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace tilewright::driver {

//===----------------------------------------------------------------------===//
// Fork detection
//===----------------------------------------------------------------------===//

// The pid that initialised CUDA, 0 before that. A handler marks the child, so
// that a launch pays for one load and not for a system call.
static std::atomic<int> initialisedBy{0};
static std::atomic<bool> forkedChild{false};

static void markForkedChild() {
  if (initialisedBy.load() != 0)
    forkedChild.store(true);
}

bool Driver::isForkedChild() { return forkedChild.load(std::memory_order_relaxed); }

static std::atomic<bool> abandoned{false};

void Driver::setAbandoned(bool on) { abandoned.store(on); }

bool Driver::isAbandoned() { return isForkedChild() || abandoned.load(); }

static void checkNotForked() {
  if (Driver::isForkedChild())
    throw makeError(ErrorCode::E0213, fmt::arg("p", initialisedBy.load()));
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static std::mutex driverMutex;
// Never freed: kernels may outlive statics.
static std::atomic<Driver *> theDriver{nullptr};

Driver &Driver::get() {
  checkNotForked();
  Driver *known = theDriver.load(std::memory_order_acquire);
  if (known)
    return *known;
  std::lock_guard<std::mutex> lock(driverMutex);
  known = theDriver.load(std::memory_order_relaxed);
  if (!known) {
    std::unique_ptr<Driver> driver(new Driver());
    driver->open();
    known = driver.release();
    theDriver.store(known, std::memory_order_release);
  }
  return *known;
}

Driver *Driver::tryGet() noexcept {
  try {
    return &get();
  } catch (const std::exception &) {
    return nullptr;
  }
}

/// Candidates in order: the knob (a file or a directory), the loader's path.
static std::vector<std::string> libraryCandidates() {
  std::string configured = knobText(Knob::LIBCUDA_PATH);
  if (!configured.empty())
    return {configured, configured + "/libcuda.so.1"};
  return {"libcuda.so.1", "libcuda.so"};
}

void Driver::open() {
  for (const std::string &candidate : libraryCandidates()) {
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    path = candidate;
    if (library)
      break;
  }
  if (!library)
    throw makeError(ErrorCode::E0404);
  resolveFunctions();
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, markForkedChild); });
  CudaResult result = functions.init(0);
  // What the driver says in the child of a process in which another library used it.
  if (result == cudaNotInitialized)
    throw makeError(ErrorCode::E0213, fmt::arg("p", static_cast<int>(getppid())));
  if (result != cudaSuccess)
    throw makeError(ErrorCode::E0404).addNote("cuInit returned " + errorName(result));
  initialisedBy.store(getpid());
  functions.driverGetVersion(&driverVersion);
  findDevices();
}

void Driver::resolveFunctions() {
  const char *missing = nullptr;
#define TILEWRIGHT_RESOLVE(NAME, SYMBOL, ARGS)                                                     \
  functions.NAME = reinterpret_cast<decltype(functions.NAME)>(dlsym(library, SYMBOL));             \
  if (!functions.NAME)                                                                             \
    missing = SYMBOL;
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_RESOLVE)
#undef TILEWRIGHT_RESOLVE
#define TILEWRIGHT_RESOLVE_OPTIONAL(NAME, SYMBOL, ARGS)                                            \
  functions.NAME = reinterpret_cast<decltype(functions.NAME)>(dlsym(library, SYMBOL));
  TILEWRIGHT_CUDA_OPTIONAL_FUNCTIONS(TILEWRIGHT_RESOLVE_OPTIONAL)
#undef TILEWRIGHT_RESOLVE_OPTIONAL
  if (!missing)
    return;
  int version = 0;
  if (functions.driverGetVersion)
    functions.driverGetVersion(&version);
  // cuLaunchKernelEx, the newest function used, came with CUDA 11.8.
  throw makeError(ErrorCode::E0405, fmt::arg("v", path),
                  fmt::arg("c", fmt::format("{}.{}", version / 1000, version % 1000 / 10)),
                  fmt::arg("r", "11.8"))
      .addNote(std::string(missing) + " is missing from the driver");
}

void Driver::findDevices() {
  int count = 0;
  CudaResult result = functions.deviceGetCount(&count);
  if (result != cudaSuccess || count == 0)
    throw makeError(ErrorCode::E0404).addNote("the driver is present, but no GPU is visible to it");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    auto device = std::make_unique<Device>();
    device->ordinal = ordinal;
    check(functions.deviceGet(&device->handle, ordinal), "cuDeviceGet");
    device->capability =
        attributeOf(*device, attrCapabilityMajor) * 10 + attributeOf(*device, attrCapabilityMinor);
    device->sharedBytesPerBlockOptin = attributeOf(*device, attrSharedPerBlockOptin);
    devices.push_back(std::move(device));
  }
}

int Driver::attributeOf(const Device &device, int which) const {
  int value = 0;
  functions.deviceGetAttribute(&value, which, device.handle);
  return value;
}

const DeviceProperties &Driver::propertiesOf(Device &device) const {
  std::call_once(device.described, [&] { readProperties(device); });
  return device.properties;
}

void Driver::readProperties(Device &device) const {
  auto attribute = [&](int which) { return attributeOf(device, which); };
  DeviceProperties &p = device.properties;
  char name[256] = "";
  functions.deviceGetName(name, sizeof(name), device.handle);
  p.name = name;
  size_t bytes = 0;
  functions.deviceTotalMem(&bytes, device.handle);
  p.totalMemory = static_cast<int64_t>(bytes);
  p.multiprocessorCount = attribute(attrMultiprocessorCount);
  p.warpSize = attribute(attrWarpSize);
  p.maxThreadsPerBlock = attribute(attrMaxThreadsPerBlock);
  p.registersPerBlock = attribute(attrRegistersPerBlock);
  p.registersPerMultiprocessor = attribute(attrRegistersPerMultiprocessor);
  p.sharedBytesPerBlock = attribute(attrSharedPerBlock);
  p.l2CacheBytes = attribute(attrL2CacheSize);
  p.clockRateInKHz = attribute(attrClockRate);
  p.memoryClockRateInKHz = attribute(attrMemoryClockRate);
  p.memoryBusWidthInBits = attribute(attrMemoryBusWidth);
  p.maxGrid[0] = attribute(attrMaxGridX);
  p.maxGrid[1] = attribute(attrMaxGridY);
  p.maxGrid[2] = attribute(attrMaxGridZ);
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

Device &Driver::device(int ordinal) {
  if (ordinal < 0 || ordinal >= deviceCount())
    throw makeError(ErrorCode::E0203, fmt::arg("i", ordinal), fmt::arg("n", deviceCount()));
  Device &device = *devices[ordinal];
  if (!device.primaryContext) {
    std::lock_guard<std::mutex> lock(retainMutex);
    CudaContext context = device.primaryContext;
    if (!context) {
      check(functions.primaryContextRetain(&context, device.handle), "cuDevicePrimaryCtxRetain");
      device.primaryContext = context;
    }
  }
  return device;
}

int Driver::currentDevice() {
  CudaContext context = nullptr;
  if (functions.contextGetCurrent(&context) != cudaSuccess || !context)
    return 0;
  CudaDevice handle = 0;
  if (functions.contextGetDevice(&handle) != cudaSuccess)
    return 0;
  for (const auto &device : devices)
    if (device->handle == handle)
      return device->ordinal;
  return 0;
}

ContextGuard::ContextGuard(Driver &driver, Device &device) : api(driver.api()) {
  CudaContext current = nullptr;
  api.contextGetCurrent(&current);
  if (current == device.primaryContext)
    return;
  driver.check(api.contextPush(device.primaryContext), "cuCtxPushCurrent");
  pushed = true;
}

ContextGuard::~ContextGuard() {
  CudaContext popped;
  if (pushed)
    api.contextPop(&popped);
}

RelaxedCapture::RelaxedCapture(const Driver &driver) : api(driver.api()) {
  if (api.threadExchangeCaptureMode)
    api.threadExchangeCaptureMode(&mode);
}

RelaxedCapture::~RelaxedCapture() {
  if (api.threadExchangeCaptureMode)
    api.threadExchangeCaptureMode(&mode);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

bool isStickyError(CudaResult result) {
  switch (result) {
  case cudaIllegalAddress:
  case cudaLaunchTimeout:
  case cudaContextIsDestroyed:
  case cudaAssert:
  case cudaHardwareStackError:
  case cudaIllegalInstruction:
  case cudaMisalignedAddress:
  case cudaInvalidAddressSpace:
  case cudaInvalidPc:
  case cudaLaunchFailed:
    return true;
  default:
    return false;
  }
}

std::string Driver::errorName(CudaResult result) const {
  const char *name = nullptr;
  if (functions.getErrorName)
    functions.getErrorName(result, &name);
  return name ? name : fmt::format("CUDA error {}", result);
}

/// The driver's own sentence, which programs look for: "device-side assert triggered".
std::string Driver::errorSentence(CudaResult result) const {
  const char *sentence = nullptr;
  if (functions.getErrorString)
    functions.getErrorString(result, &sentence);
  return fmt::format("CUDA error: {}", sentence ? sentence : errorName(result).c_str());
}

/// The first loss counts: what fails later fails because of it.
void Driver::noteLoss(CudaResult result, const std::string &kernel) {
  std::lock_guard<std::mutex> lock(lossMutex);
  if (lostWith != cudaSuccess)
    return;
  lostWith = result;
  lostBy = kernel;
}

void Driver::checkNotLost() const {
  std::lock_guard<std::mutex> lock(lossMutex);
  if (lostWith != cudaSuccess)
    throw makeError(ErrorCode::E0402, fmt::arg("first", lostBy),
                    fmt::arg("code", errorName(lostWith)))
        .addNote(errorSentence(lostWith));
}

void Driver::check(CudaResult result, const char *what) {
  if (result == cudaSuccess)
    return;
  checkNotLost();
  if (isStickyError(result)) {
    // Met outside a launch: the kernel that caused it is not known.
    noteLoss(result, "an earlier kernel");
    checkNotLost();
  }
  if (result == cudaOutOfMemory)
    throw makeError(ErrorCode::E0307, fmt::arg("what", what));
  if (result == cudaNotInitialized || result == cudaDeinitialized)
    throw makeError(ErrorCode::E0404)
        .addNote(fmt::format("{} returned {}", what, errorName(result)));
  throw makeInternalError(what, errorName(result));
}

void Driver::raiseLaunchError(CudaResult result, const LaunchSite &site) {
  checkNotLost();
  if (!isStickyError(result))
    check(result, "cuLaunchKernelEx");
  noteLoss(result, site.kernelName);
  if (result == cudaAssert)
    throw Error(ErrorCode::E0403,
                fmt::format("a device assertion failed in or before kernel '{}' "
                            "launched at {}:{} with {}",
                            site.kernelName, site.file, site.line, site.config),
                "the process must be restarted; run with TILEWRIGHT_INTERPRET=1 "
                "to stop at the assertion")
        .addNote(errorSentence(result));
  throw makeError(ErrorCode::E0401, fmt::arg("error", errorName(result)),
                  fmt::arg("name", site.kernelName), fmt::arg("file", site.file),
                  fmt::arg("line", site.line), fmt::arg("config", site.config))
      .addNote(errorSentence(result));
}

} // namespace tilewright::driver
