//===- LaunchBindings.cpp - What Python sees of a launch ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"
#include "python/bindings/launch/LaunchExecution.h"
#include "python/bindings/launch/OuterLauncher.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright {

/// The numbers of the driver for descriptors of a type; None where a block breaks a rule.
static py::object describeTensorMap(const std::string &element, const std::vector<int64_t> &block,
                                    bool padsWithNan, bool roundsToTf32) {
  launch::DescriptorArgument d = {};
  d.type = launch::parseElementType(element);
  d.padsWithNan = padsWithNan;
  d.roundsToTf32 = roundsToTf32;
  if (d.type == ScalarKind::Void || block.empty() || block.size() > launch::maxDescriptorRank)
    return py::none();
  d.rank = static_cast<uint8_t>(block.size());
  std::copy(block.begin(), block.end(), d.block);
  d.strides[d.rank - 1] = 1;
  if (launch::checkDescriptor(d, /*isOnGpu=*/true))
    return py::none();
  launch::TensorMapForm form = launch::tensorMapForm(d);
  return py::dict(py::arg("data_type") = form.dataType,
                  py::arg("element_bytes") = scalarFacts(d.type).bytes(),
                  py::arg("box") = std::vector<uint32_t>(form.box, form.box + d.rank),
                  py::arg("swizzle") = form.swizzle, py::arg("promotion") = form.promotion,
                  py::arg("fill") = form.fill);
}

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
      "tensor_map_form", &describeTensorMap, py::arg("element"), py::arg("block"), py::arg("nan"),
      py::arg("tf32"),
      "What cuTensorMapEncodeTiled is told of such descriptors beside the array, the box from "
      "the innermost dimension on; None where no descriptor is so.");
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
