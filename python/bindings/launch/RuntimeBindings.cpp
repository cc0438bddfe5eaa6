//===- RuntimeBindings.cpp - Errors, knobs, driver, assembler -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/AssemblerFaults.h"
#include "codegen/emit/NvJitLink.h"
#include "frontend/python/InternedName.h"
#include "ir/support/Knobs.h"
#include "ir/support/TargetInfo.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/PythonError.h"
#include "python/bindings/launch/LoadedKernelHandle.h"

#include <pybind11/stl.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace py = pybind11;

namespace tilewright {

//===----------------------------------------------------------------------===//
// Errors and knobs
//===----------------------------------------------------------------------===//

static void bindErrors(py::module_ &module) {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 says how it is called.
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer)
        std::rethrow_exception(pointer);
    } catch (const Error &error) {
      setPythonError(error);
    }
  });
  module.def("error_catalogue", [] {
    // Built once: errors.make looks rows up by code.
    static std::atomic<PyObject *> catalogue{nullptr};
    PyObject *built = madeOnce(
        catalogue,
        [] {
          py::dict rows;
#define TILEWRIGHT_ERROR(CODE, CLASS, MESSAGE, HELP)                                               \
  rows[#CODE] = py::make_tuple(CLASS, MESSAGE, HELP);
#include "ir/support/ErrorCatalogue.def"
          return rows.release().ptr();
        },
        [](PyObject *unused) { Py_DECREF(unused); });
    return py::reinterpret_borrow<py::dict>(built);
  });
}

static const char *knobTypeName(KnobType type) {
  switch (type) {
  case KnobType::Bool:
    return "bool";
  case KnobType::Int:
    return "int";
  case KnobType::Float:
    return "float";
  case KnobType::String:
    return "str";
  case KnobType::Path:
    return "path";
  }
  return "str";
}

static void bindKnobs(py::module_ &module) {
  module.def("knob_table", [] {
    py::list rows;
    for (const KnobEntry *e = knobTableBegin(); e != knobTableEnd(); ++e)
      rows.append(py::make_tuple(e->name, knobTypeName(e->type), e->defaultText, e->group,
                                 e->attribute, e->tritonName, e->doc));
    return rows;
  });
  module.def("check_knob", [](const std::string &name, const std::string &text) {
    for (const KnobEntry *e = knobTableBegin(); e != knobTableEnd(); ++e)
      if (name == e->name)
        checkKnobText(*e, text);
  });
  module.def(
      "knob_setting",
      [](size_t index) -> py::object {
        const char *text = knobSetting(knobTableBegin()[index]);
        return text ? py::reinterpret_steal<py::object>(checked(PyUnicode_DecodeFSDefault(text)))
                    : py::none();
      },
      "What the environment says of a row of knob_table(), or None.");
  module.def("nearest_knob", &nearestKnobName);
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

static py::dict deviceProperties(int ordinal) {
  driver::Driver &driver = driver::Driver::get();
  driver::Device &device = driver.device(ordinal);
  const driver::DeviceProperties &p = driver.propertiesOf(device);
  py::dict d;
  d["name"] = p.name;
  d["capability"] = device.capability;
  d["total_memory"] = p.totalMemory;
  // Names that existing programs read.
  d["max_shared_mem"] = device.sharedBytesPerBlockOptin;
  d["max_num_regs"] = p.registersPerBlock;
  d["multiprocessor_count"] = p.multiprocessorCount;
  d["warpSize"] = p.warpSize;
  d["sm_clock_rate"] = p.clockRateInKHz;
  d["mem_clock_rate"] = p.memoryClockRateInKHz;
  d["mem_bus_width"] = p.memoryBusWidthInBits;
  d["max_threads_per_block"] = p.maxThreadsPerBlock;
  d["l2_cache_size"] = p.l2CacheBytes;
  return d;
}

/// Device memory for programs without a framework: self-tests and examples.
namespace {
/// Threads that have no context get the first device's.
void ensureContext(driver::Driver &driver) {
  driver::CudaContext current = nullptr;
  driver.api().contextGetCurrent(&current);
  if (!current)
    driver.check(driver.api().contextSetCurrent(driver.device(0).primaryContext),
                 "cuCtxSetCurrent");
}

class DeviceBuffer {
public:
  DeviceBuffer(size_t bytes, std::string dtype, int ordinal)
      : bytes(bytes), dtype(std::move(dtype)), ordinal(ordinal) {
    driver::Driver &driver = driver::Driver::get();
    driver::ContextGuard guard(driver, driver.device(ordinal));
    driver.check(driver.api().memAlloc(&pointer, std::max<size_t>(bytes, 1)), "cuMemAlloc");
  }
  ~DeviceBuffer() {
    driver::Driver *driver = pointer ? driver::Driver::tryGet() : nullptr;
    if (!driver || driver::Driver::isAbandoned())
      return;
    ensureContext(*driver);
    driver->api().memFree(pointer);
  }
  DeviceBuffer(const DeviceBuffer &) = delete;

  void copyFrom(const py::buffer &source) {
    py::buffer_info info = source.request();
    checkSize(info);
    run([&](driver::Driver &driver) {
      driver.check(driver.api().memcpyHtoD(pointer, info.ptr, bytes), "cuMemcpyHtoD");
    });
  }
  void copyTo(const py::buffer &target) const {
    py::buffer_info info = target.request(/*writable=*/true);
    checkSize(info);
    run([&](driver::Driver &driver) {
      driver.check(driver.api().memcpyDtoH(info.ptr, pointer, bytes), "cuMemcpyDtoH");
    });
  }

  driver::CudaPointer pointer = 0;
  size_t bytes;
  std::string dtype;
  int ordinal;

private:
  template <typename Body> void run(Body body) const {
    driver::Driver &driver = driver::Driver::get();
    driver::ContextGuard guard(driver, driver.device(ordinal));
    body(driver);
  }
  void checkSize(const py::buffer_info &info) const {
    if (static_cast<size_t>(info.size * info.itemsize) != bytes)
      throw py::value_error("the buffer has another number of bytes");
  }
};

class Event {
public:
  Event() {
    driver::Driver &driver = driver::Driver::get();
    ensureContext(driver);
    driver.check(driver.api().eventCreate(&event, 0), "cuEventCreate");
  }
  ~Event() {
    if (driver::Driver *driver = driver::Driver::tryGet())
      driver->api().eventDestroy(event);
  }
  Event(const Event &) = delete;
  void record(uint64_t stream) {
    driver::Driver &driver = driver::Driver::get();
    driver.check(driver.api().eventRecord(event, reinterpret_cast<driver::CudaStream>(stream)),
                 "cuEventRecord");
  }
  void synchronize() {
    driver::Driver &driver = driver::Driver::get();
    py::gil_scoped_release release;
    driver.check(driver.api().eventSynchronize(event), "cuEventSynchronize");
  }
  /// Waits so many seconds at most; whether the event was reached. Looks often at
  /// first: most kernels are over in microseconds.
  bool waitFor(double seconds) {
    driver::Driver &driver = driver::Driver::get();
    using Clock = std::chrono::steady_clock;
    auto start = Clock::now(), end = start + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(seconds));
    driver::CudaResult result;
    {
      py::gil_scoped_release release;
      while ((result = driver.api().eventQuery(event)) == driver::cudaNotReady &&
             Clock::now() < end)
        if (Clock::now() - start > std::chrono::milliseconds(5))
          std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (result != driver::cudaNotReady)
      driver.check(result, "cuEventQuery");
    return result != driver::cudaNotReady;
  }
  /// Milliseconds since `start` was reached on the GPU.
  float elapsedSince(const Event &start) const {
    driver::Driver &driver = driver::Driver::get();
    float milliseconds = 0;
    driver.check(driver.api().eventElapsedTime(&milliseconds, start.event, event),
                 "cuEventElapsedTime");
    return milliseconds;
  }

private:
  driver::CudaEvent event = nullptr;
};
} // namespace

static void synchronize(int ordinal) {
  driver::Driver &driver = driver::Driver::get();
  driver::ContextGuard guard(driver, driver.device(ordinal));
  driver::CudaResult result;
  {
    py::gil_scoped_release release;
    result = driver.api().contextSynchronize();
  }
  if (driver::isStickyError(result)) {
    SourceFrame here = currentPythonFrame("");
    driver.raiseLaunchError(result,
                            {"an earlier one", here.file, here.line, "its own configuration"});
  }
  driver.check(result, "cuCtxSynchronize");
}

static void bindDevices(py::module_ &module) {
  // A forked child cannot use what its parent has opened, but it is there: a worker that only
  // compiles must not take the machine for one without a GPU.
  module.def("driver_available",
             [] { return driver::Driver::isForkedChild() || driver::Driver::tryGet() != nullptr; });
  module.def("driver_info", [] {
    driver::Driver &driver = driver::Driver::get();
    return py::make_tuple(driver.libraryPath(), driver.version(), driver.deviceCount());
  });
  module.def("device_count", [] { return driver::Driver::get().deviceCount(); });
  module.def("device_properties", &deviceProperties);
  module.def(
      "device_capability",
      [](int ordinal) { return driver::Driver::get().device(ordinal).capability; },
      "90 for 9.0; device_properties takes longer.");
  module.def("synchronize", &synchronize, py::arg("device") = 0);
  module.def("set_abandoned", &driver::Driver::setAbandoned, py::arg("on"),
             "Whether a kernel never ends, so that nothing on the GPU can be freed any more.");
  module.def("set_current_device", [](int ordinal) {
    driver::Driver &driver = driver::Driver::get();
    driver.check(driver.api().contextSetCurrent(driver.device(ordinal).primaryContext),
                 "cuCtxSetCurrent");
  });
  module.def("set_printf_fifo_size", [](size_t bytes) {
    driver::Driver &driver = driver::Driver::get();
    driver::ContextGuard guard(driver, driver.device(driver.currentDevice()));
    constexpr int limitPrintfFifoSize = 1;
    driver.check(driver.api().contextSetLimit(limitPrintfFifoSize, bytes), "cuCtxSetLimit");
  });
}

static void bindDeviceMemory(py::module_ &module) {
  module.def("memset_async", [](uint64_t address, int value, size_t bytes, uint64_t stream) {
    driver::Driver &driver = driver::Driver::get();
    ensureContext(driver);
    driver.check(driver.api().memsetD8Async(address, static_cast<unsigned char>(value), bytes,
                                            reinterpret_cast<driver::CudaStream>(stream)),
                 "cuMemsetD8Async");
  });
  module.def("copy_device", [](uint64_t to, uint64_t from, size_t bytes, uint64_t stream) {
    driver::Driver &driver = driver::Driver::get();
    ensureContext(driver);
    driver.check(
        driver.api().memcpyDtoDAsync(to, from, bytes, reinterpret_cast<driver::CudaStream>(stream)),
        "cuMemcpyDtoDAsync");
  });
  module.def("read_device", [](uint64_t from, size_t bytes) {
    driver::Driver &driver = driver::Driver::get();
    ensureContext(driver);
    std::string data(bytes, '\0');
    driver.check(driver.api().memcpyDtoH(data.data(), from, bytes), "cuMemcpyDtoH");
    return py::bytes(data);
  });
  py::class_<DeviceBuffer>(module, "DeviceBuffer",
                           "Device memory for programs without a framework.")
      .def(py::init<size_t, std::string, int>(), py::arg("nbytes"), py::arg("dtype") = "float32",
           py::arg("device") = 0)
      .def("data_ptr", [](const DeviceBuffer &b) { return b.pointer; })
      .def_readonly("dtype", &DeviceBuffer::dtype)
      .def_readonly("device", &DeviceBuffer::ordinal)
      .def_readonly("nbytes", &DeviceBuffer::bytes)
      .def("copy_from", &DeviceBuffer::copyFrom)
      .def("copy_to", &DeviceBuffer::copyTo);
}

static void bindLoadedKernels(py::module_ &module) {
  py::class_<LoadedKernelHandle>(module, "LoadedKernel")
      .def_property_readonly(
          "module",
          [](const LoadedKernelHandle &h) { return reinterpret_cast<uint64_t>(h.kernel.module()); })
      .def_property_readonly("function",
                             [](const LoadedKernelHandle &h) {
                               return reinterpret_cast<uint64_t>(h.kernel.function());
                             })
      .def_readwrite("owner", &LoadedKernelHandle::owner)
      .def_property_readonly("n_regs",
                             [](const LoadedKernelHandle &h) { return h.kernel.numRegisters(); })
      .def_property_readonly("n_spills",
                             [](const LoadedKernelHandle &h) { return h.kernel.numSpills(); })
      .def_property_readonly("n_max_threads",
                             [](const LoadedKernelHandle &h) { return h.kernel.maxThreads(); });
  module.def(
      "load_kernel",
      [](int device, const py::bytes &image, const std::string &name, std::vector<py::object> types,
         int threads, int64_t shared, int numCtas, bool cooperative, bool programmatic,
         int64_t scratchBytes, int64_t scratchAlignment, int maxRegisters,
         std::vector<bool> tensorMaps, const py::list &recipes) {
        driver::KernelRequirements required;
        required.name = name;
        required.threadsPerBlock = threads;
        required.sharedBytes = shared;
        required.numCtas = numCtas;
        required.cooperative = cooperative;
        required.programmaticLaunch = programmatic;
        required.maxRegisters = maxRegisters;
        std::string text = image;
        std::unique_ptr<LoadedKernelHandle> handle;
        {
          // The driver may take its own locks and assemble PTX for long.
          py::gil_scoped_release release;
          handle = std::make_unique<LoadedKernelHandle>(device, text, required);
        }
        handle->types = std::move(types);
        handle->tensorMaps = std::move(tensorMaps);
        handle->recipes = recipesOf(recipes, *handle);
        handle->scratchBytes = scratchBytes;
        handle->scratchAlignment = scratchAlignment;
        return handle;
      },
      py::arg("device"), py::arg("image"), py::arg("name"), py::arg("types"), py::arg("threads"),
      py::arg("shared"), py::arg("num_ctas"), py::arg("cooperative"), py::arg("programmatic"),
      py::arg("scratch_bytes"), py::arg("scratch_alignment"), py::arg("max_registers"),
      py::arg("tensor_maps") = std::vector<bool>(), py::arg("recipes") = py::list());
}

static void bindEvents(py::module_ &module) {
  py::class_<Event>(module, "Event")
      .def(py::init<>())
      .def("record", &Event::record, py::arg("stream") = 0)
      .def("synchronize", &Event::synchronize)
      .def("wait_for", &Event::waitFor, py::arg("seconds"))
      .def("elapsed_since", &Event::elapsedSince);
}

//===----------------------------------------------------------------------===//
// Assembler
//===----------------------------------------------------------------------===//

static std::vector<std::string> wheelFolders(const py::iterable &searchPath) {
  std::vector<std::string> folders;
  for (py::handle folder : searchPath) {
    // As the file system spells it; what is no path cannot hold wheels.
    PyObject *bytes = nullptr;
    if (PyUnicode_FSConverter(folder.ptr(), static_cast<void *>(&bytes)))
      folders.emplace_back(py::reinterpret_steal<py::bytes>(bytes));
    else
      PyErr_Clear();
  }
  return findWheelFolders(std::move(folders));
}

static void bindAssembler(py::module_ &module) {
  module.def(
      "find_wheel_folders", &wheelFolders, py::arg("search_path"),
      "Folders named nvidia in those of sys.path; libraries are looked for there from now on.");
  module.def("assembler_info", [] { return py::make_tuple(assemblerVersion(), assemblerPath()); });
  module.def(
      "assembler_faults",
      [] {
        codegen::AssemblerVersion version = codegen::parseAssemblerVersion(assemblerVersion());
        py::list found;
        for (const codegen::AssemblerFault &fault : codegen::assemblerFaults())
          if (version < fault.fixedIn)
            found.append(
                py::make_tuple(fault.name, fault.pattern, fault.consequence, fault.avoidedBy));
        return found;
      },
      "Known faults of the assembler in use: name, pattern, consequence, how it is avoided.");
  module.def("find_libdevice", &findLibdevice);
  module.def("toolchain_identity", &toolchainIdentity);
  module.def(
      "assemble_ptx",
      [](const std::string &ptx, const std::string &arch, int maxRegisters, bool lineInfo,
         const std::string &name, std::vector<std::string> more) {
        AssembleOptions options;
        options.maxRegisters = maxRegisters;
        options.lineInfo = lineInfo;
        options.kernelName = name;
        options.more = std::move(more);
        AssembleResult result;
        {
          py::gil_scoped_release release;
          result = assemblePtx(ptx, arch, options);
        }
        py::dict d;
        d["cubin"] =
            result.cubin.empty() ? py::object(py::none()) : py::object(py::bytes(result.cubin));
        d["log"] = result.log;
        d["n_regs"] = result.registers;
        d["spill_stores"] = result.spillStoreBytes;
        d["spill_loads"] = result.spillLoadBytes;
        d["stack"] = result.stackBytes;
        d["assembler"] = result.assembler;
        d["warnings"] = result.warnings;
        return d;
      },
      py::arg("ptx"), py::arg("arch"), py::arg("max_registers") = 0, py::arg("line_info") = true,
      py::arg("name") = "kernel", py::arg("more") = std::vector<std::string>());
  module.def("target_name",
             [](int capability) { return getTargetInfo(std::to_string(capability)).name; });
}

void bindRuntime(py::module_ &module) {
  bindErrors(module);
  bindKnobs(module);
  bindDevices(module);
  bindDeviceMemory(module);
  bindLoadedKernels(module);
  bindEvents(module);
  bindAssembler(module);
  module.def("build_id", &buildId);
  module.def("version", [] { return std::string(TILEWRIGHT_VERSION); });
}

} // namespace tilewright
