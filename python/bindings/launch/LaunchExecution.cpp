//===- LaunchExecution.cpp - From what was read to the driver -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/LaunchExecution.h"
#include "python/bindings/launch/GridReader.h"
#include "python/bindings/launch/LaunchProfile.h"

#include <chrono>
#include <thread>
#include <unistd.h>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

//===----------------------------------------------------------------------===//
// Hooks and scratch memory
//===----------------------------------------------------------------------===//

void runPreHooks(DispatcherState &state, PyObject *const *args, size_t numArgs,
                 PyObject *keywordNames) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(state.preRunHooks); ++i) {
    // Another thread, or a hook, may have shortened the list.
    PyObject *item = PySequence_GetItem(state.preRunHooks, i);
    if (!item) {
      PyErr_Clear();
      return;
    }
    auto hook = py::reinterpret_steal<py::object>(item);
    Py_DECREF(checked(PyObject_Vectorcall(hook.ptr(), args, numArgs, keywordNames)));
  }
}

static void callLaunchHook(const LaunchRequest &request, bool entering, const Entry &entry,
                           const Grid &grid, uint64_t stream) {
  py::handle(reinterpret_cast<PyObject *>(request.dispatcher))
      .attr("_call_launch_hook")(entering, py::handle(entry.kernel),
                                 py::make_tuple(grid.size[0], grid.size[1], grid.size[2]), stream,
                                 boundTuple(request.state, request.bound()));
}

/// Asks Python for global scratch; the object is kept until after the launch.
static py::object allocateScratch(const LoadedKernelHandle &handle, const Grid &grid,
                                  uint64_t stream, uint64_t &slot) {
  int64_t blocks =
      int64_t(grid.size[0]) * grid.size[1] * grid.size[2] * handle.kernel.requirements().numCtas;
  py::object buffer = py::module_::import("tilewright.runtime.allocation")
                          .attr("allocate")(handle.scratchBytes * blocks, handle.scratchAlignment,
                                            stream, handle.kernel.deviceOrdinal());
  slot = buffer.attr("data_ptr")().cast<uint64_t>();
  if (slot % handle.scratchAlignment)
    throw makeError(
        ErrorCode::E0117,
        fmt::arg("message", fmt::format("the allocator returned the address {:#x} for scratch "
                                        "memory that must begin at a multiple of {} bytes",
                                        slot, handle.scratchAlignment)),
        fmt::arg("help", "heed `alignment` in the function given to tilewright.set_allocator"));
  return buffer;
}

//===----------------------------------------------------------------------===//
// The driver call
//===----------------------------------------------------------------------===//

namespace {
/// Without the GIL for a C++ scope.
class GilRelease {
public:
  GilRelease() : thread(PyEval_SaveThread()) {}
  ~GilRelease() { PyEval_RestoreThread(thread); }
  GilRelease(const GilRelease &) = delete;

private:
  PyThreadState *thread;
};
} // namespace

[[noreturn]] static void raiseLaunchError(driver::CudaResult result,
                                          const LoadedKernelHandle &handle, const Grid &grid) {
  const driver::KernelRequirements &required = handle.kernel.requirements();
  std::string size = fmt::format("({}, {}, {})", grid.size[0], grid.size[1], grid.size[2]);
  driver::Driver &driver = driver::Driver::get();
  if (handle.kernel.hasTooManyBlocks(grid.size))
    raiseInvalidGrid(size,
                     fmt::format("with num_ctas={} axis 0 is above the limit", required.numCtas));
  if (result == driver::cudaCooperativeLaunchTooLarge)
    raiseInvalidGrid(size, fmt::format("a cooperative launch runs all its programs at once, and "
                                       "this GPU holds {} of '{}'",
                                       handle.kernel.maxResidentBlocks(), required.name));
  driver::LaunchSite site;
  site.kernelName = required.name;
  SourceFrame frame = currentPythonFrame(site.kernelName);
  site.file = frame.file;
  site.line = frame.line;
  site.config = fmt::format("grid={}, {} threads", size, required.threadsPerBlock);
  driver.raiseLaunchError(result, site);
}

[[noreturn]] static void raiseHang(const LoadedKernelHandle &handle, const Grid &grid) {
  const driver::KernelRequirements &required = handle.kernel.requirements();
  driver::Driver::setAbandoned(true);
  throw makeError(
      ErrorCode::E0406, fmt::arg("name", required.name),
      fmt::arg("s", double(launchFlags.watchdogSeconds)),
      fmt::arg("config", fmt::format("grid=({}, {}, {}), {} threads", grid.size[0], grid.size[1],
                                     grid.size[2], required.threadsPerBlock)),
      fmt::arg("instruction",
               fmt::format("the GPU is still busy and the process must be restarted; to see where "
                           "it stands: cuda-gdb -p {}, or start the program with "
                           "CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 and write to the pipe that the "
                           "driver makes (CUDA_COREDUMP_PIPE names it)",
                           getpid())));
}

/// For TILEWRIGHT_SYNC and TILEWRIGHT_WATCHDOG: waits until the stream is done. Looks
/// often at first, as most kernels are over in microseconds, and lets Ctrl-C in, which
/// a wait inside the driver would not.
static driver::CudaResult waitFor(const LoadedKernelHandle &handle, const Grid &grid,
                                  driver::CudaStream stream) {
  using Clock = std::chrono::steady_clock;
  const driver::CudaApi &api = driver::Driver::get().api();
  int capturing = 0;
  // Nothing runs while a graph is recorded, and asking would end the recording.
  if (api.streamIsCapturing(stream, &capturing) != driver::cudaSuccess || capturing)
    return driver::cudaSuccess;
  auto start = Clock::now();
  for (;;) {
    driver::CudaResult result;
    {
      GilRelease release;
      auto asked = Clock::now();
      while ((result = api.streamQuery(stream)) == driver::cudaNotReady &&
             Clock::now() - asked < std::chrono::milliseconds(20))
        if (Clock::now() - start > std::chrono::milliseconds(5))
          std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (result != driver::cudaNotReady)
      return result;
    if (PyErr_CheckSignals() < 0)
      throw py::error_already_set();
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (launchFlags.watchdogSeconds > 0 && seconds > launchFlags.watchdogSeconds)
      raiseHang(handle, grid);
  }
}

/// Context, GIL, result. `profiled` is null where no log is kept.
static void launchNow(const LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                      void **parameters, ProfiledLaunch *profiled) {
  driver::Driver &driver = driver::Driver::get(); // raises E0213 after a fork
  auto streamHandle = reinterpret_cast<driver::CudaStream>(stream);
  driver::CudaResult result;
  {
    driver::ContextGuard guard(driver, handle.kernel.device());
    if (profiled)
      profiled->begin();
    {
      // A full queue blocks in the driver; other Python threads must run then.
      GilRelease release;
      result = handle.kernel.launch(driver.api(), grid.size, streamHandle, parameters);
    }
    if (profiled)
      profiled->end(result == driver::cudaSuccess);
    if (launchFlags.waits && result == driver::cudaSuccess)
      result = waitFor(handle, grid, streamHandle);
  }
  if (result != driver::cudaSuccess)
    raiseLaunchError(result, handle, grid);
}

/// Launches with scratch memory after the other parameters.
static void launchWithScratch(const LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                              const LaunchArguments &arguments, ProfiledLaunch *profiled) {
  // A copy: the address differs from launch to launch of one bound request.
  std::vector<void *> parameters(arguments.parameters(), arguments.parameters() + arguments.size());
  uint64_t slot = 0;
  py::object scratch = allocateScratch(handle, grid, stream, slot);
  parameters.push_back(&slot);
  launchNow(handle, grid, stream, parameters.data(), profiled);
}

static void launchAnyhow(const LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                         const LaunchArguments &arguments, ProfiledLaunch *profiled) {
  if (handle.scratchBytes > 0)
    launchWithScratch(handle, grid, stream, arguments, profiled);
  else
    launchNow(handle, grid, stream, arguments.parameters(), profiled);
}

void finishParameters(LaunchRequest &request, const Entry &entry) {
  const LoadedKernelHandle &handle = *entry.handle;
  if (request.arguments.numDescriptors() > 0 || !handle.recipes.empty())
    request.arguments.makeTensorMaps(handle.tensorMaps, handle.recipes, request.state.params);
}

void launchEntry(const LaunchRequest &request, const Entry &entry, const Grid &grid) {
  if (grid.isEmpty())
    return;
  uint64_t stream = request.currentStream();
  const LoadedKernelHandle &handle = *entry.handle;
  // Asked once: a hook may change it.
  bool hasHooks = launchFlags.hooks;
  if (hasHooks)
    callLaunchHook(request, /*entering=*/true, entry, grid, stream);
  if (launchFlags.profiled) {
    ProfiledLaunch profiled(handle, grid, stream, request);
    launchAnyhow(handle, grid, stream, request.arguments, &profiled);
  } else {
    launchAnyhow(handle, grid, stream, request.arguments, nullptr);
  }
  if (hasHooks)
    callLaunchHook(request, /*entering=*/false, entry, grid, stream);
}

//===----------------------------------------------------------------------===//
// Direct launches of a loaded kernel
//===----------------------------------------------------------------------===//

void launchLoaded(LoadedKernelHandle &handle, const py::object &gridObject, uint64_t stream,
                  const py::sequence &arguments) {
  Grid grid = parseGrid(gridObject.ptr());
  if (grid.isEmpty())
    return;
  // The caller names the stream here; the launcher takes the framework's own.
  driver::checkStreamDevice(reinterpret_cast<driver::CudaStream>(stream),
                            handle.kernel.deviceOrdinal());
  size_t count = handle.types.size();
  if (arguments.size() != count)
    throw py::value_error("the number of arguments differs from the kernel's");
  LaunchArguments packed;
  std::vector<LaunchParam> params(count);
  for (size_t i = 0; i < count; ++i) {
    py::object value = arguments[i];
    params[i].nameText = fmt::format("#{}", i);
    packTyped(handle.types[i], value.ptr(), i, params[i].nameText, packed);
  }
  packed.makeTensorMaps(handle.tensorMaps, handle.recipes, params);
  if (launchFlags.profiled) {
    ProfiledLaunch profiled(handle, grid, stream, arguments);
    launchAnyhow(handle, grid, stream, packed, &profiled);
  } else {
    launchAnyhow(handle, grid, stream, packed, nullptr);
  }
}

} // namespace tilewright
