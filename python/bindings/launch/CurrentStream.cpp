//===- CurrentStream.cpp - Streams and devices of the frameworks ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/ArgumentReaderInternal.h"
#include "python/bindings/launch/TorchAccess.h"
#include "runtime/driver/Driver.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

static uint64_t cupyStream() {
  static const InternedName cupyName("cupy");
  py::object cupy = py::reinterpret_steal<py::object>(PyImport_GetModule(cupyName));
  if (!cupy)
    return 0;
  return cupy.attr("cuda").attr("get_current_stream")().attr("ptr").cast<uint64_t>();
}

uint64_t currentStreamOf(Framework framework, int device, uint64_t fallback) {
  if (framework == Framework::Cupy)
    return cupyStream();
  if (framework == Framework::ArrayInterface && fallback)
    return fallback;
  TorchAccess *torch = TorchAccess::get();
  if (torch && (framework == Framework::Torch || torch->currentDevice() >= 0))
    return torch->currentStream(device);
  return framework == Framework::None ? cupyStream() : 0;
}

int currentDeviceOrdinal() {
  if (TorchAccess *torch = TorchAccess::get()) {
    int ordinal = torch->currentDevice();
    if (ordinal >= 0)
      return ordinal;
  }
  return driver::Driver::get().currentDevice();
}

} // namespace tilewright
