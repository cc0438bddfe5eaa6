//===- LaunchBindings.cpp - What Python sees of a launch ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"
#include "python/bindings/launch/LaunchExecution.h"
#include "python/bindings/launch/OuterLauncher.h"

namespace py = pybind11;

namespace tilewright {

void bindLaunch(py::module_ &module) {
  auto addType = [&](const char *name, PyTypeObject *type) {
    module.attr(name) = py::handle(reinterpret_cast<PyObject *>(type));
  };
  addType("Launcher", makeLauncherType());
  addType("BoundLaunch", makeBoundLaunchType());
  addType("KernelDispatcher", makeDispatcherType());
  addType("OuterLauncher", makeOuterLauncherType());
  addType("TunedDispatcher", makeTunedDispatcherType());
  addType("HeuristicDispatcher", makeHeuristicDispatcherType());
  module.def("launch_loaded", &launchLoaded);
  module.def("check_tensor_descriptor", &checkTensorDescriptor, py::arg("value"), py::arg("name"),
             py::arg("address"), py::arg("dtype"), py::arg("on_gpu"), py::arg("with_block"));
  module.def("check_new_descriptor",
             [](py::handle value) { return checkNewDescriptor(value.ptr()); });
  module.def(
      "set_launch_flags",
      [](bool hooks, bool sync, bool debug, double watchdog, bool tunerListener) {
        launchFlags.hooks = hooks;
        launchFlags.debug = debug;
        launchFlags.watchdogSeconds = watchdog;
        launchFlags.waits = sync || watchdog > 0;
        launchFlags.tunerListener = tunerListener;
      },
      py::arg("hooks"), py::arg("sync"), py::arg("debug"), py::arg("watchdog"),
      py::arg("tuner_listener"));
  module.def("current_device", &currentDeviceOrdinal);
  module.def("current_stream",
             [](int device) { return currentStreamOf(Framework::None, device, 0); });
  module.def("check_not_capturing", [](int device, const std::string &name) {
    driver::Driver &driver = driver::Driver::get();
    driver::ContextGuard guard(driver, driver.device(device));
    driver::checkNotCapturing(
        reinterpret_cast<driver::CudaStream>(currentStreamOf(Framework::None, device, 0)), name);
  });
}

} // namespace tilewright
