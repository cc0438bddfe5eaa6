//===- LaunchProfile.h - Launches that a profile hears of -------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the part of profiling that knows Python: which CompiledKernel a launch belongs to, and
// which of its arguments the counts of bytes and operations need. Each run-time parameter gives
// one number: an integer its value, an array its bytes, anything else noNumber.
//
// How threads meet here: one mutex around the log. Nothing that holds it calls Python.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHPROFILE_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHPROFILE_H

#include "python/bindings/launch/LaunchRequest.h"

namespace tilewright {

/// One launch while a profile is on; begin() and end() stand around the driver's call.
class ProfiledLaunch {
public:
  ProfiledLaunch(const LoadedKernelHandle &handle, const launch::Grid &grid, uint64_t stream,
                 const LaunchRequest &request);
  /// For a kernel that is launched directly, on its run-time arguments.
  ProfiledLaunch(const LoadedKernelHandle &handle, const launch::Grid &grid, uint64_t stream,
                 const pybind11::sequence &arguments);

  void begin();
  void end(bool isLaunched);

private:
  void prepare(const launch::Grid &grid, uint64_t stream);

  const LoadedKernelHandle &handle;
  profile::OpenLaunch open;
  std::vector<int64_t> words;
  uint64_t session = 0; // 0: there is none any more
  bool hasRange = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_LAUNCHPROFILE_H
