//===- LaunchProfile.cpp - Launches that a profile hears of ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/LaunchProfile.h"

#include "frontend/python/InternedName.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/PythonError.h"
#include "runtime/profile/Nvtx.h"

#include <pybind11/stl.h>

#include <limits>
#include <thread>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

/// The word of an argument that is neither integer nor array.
constexpr int64_t noNumber = std::numeric_limits<int64_t>::min();

namespace {

struct ProfiledKernel {
  py::object kernel; // the CompiledKernel
  int device = 0;
  std::string label; // of its ranges
};

struct Profile {
  std::mutex mutex;
  std::unique_ptr<profile::LaunchLog> log;
  uint64_t session = 0; // counts profiles
  std::vector<ProfiledKernel> kernels;
  PyObject *labelOf = nullptr; // a function of the kernel
  bool hasRanges = false;
};

/// Leaked: launches may outlive static destruction order.
Profile &current() {
  static Profile *profile = new Profile;
  return *profile;
}

} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// An attribute, or nothing, whatever the object does on being asked.
static py::object attributeOf(PyObject *value, const InternedName &name) {
  PyObject *found = PyObject_GetAttr(value, name);
  if (!found)
    forgetException();
  return py::reinterpret_steal<py::object>(found);
}

static int64_t asNumber(PyObject *value) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow ? noNumber : number;
}

static int64_t wordOf(PyObject *value) {
  static const InternedName bytesName("nbytes"), baseName("base");
  if (!value || value == Py_None || PyFloat_Check(value))
    return noNumber;
  if (PyLong_Check(value))
    return asNumber(value);
  py::object bytes;
  // A descriptor has none of its own, and to be told so by an exception takes longer than the launch.
  if (!isTensorDescriptor(value))
    bytes = attributeOf(value, bytesName);
  if (!bytes) // also tensors seen with another element type
    if (py::object base = attributeOf(value, baseName))
      bytes = attributeOf(base.ptr(), bytesName);
  return bytes && PyLong_Check(bytes.ptr()) ? asNumber(bytes.ptr()) : noNumber;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static py::object kernelOf(const LoadedKernelHandle &handle) {
  py::object kernel = handle.owner && !handle.owner.is_none() ? handle.owner() : py::none();
  return kernel;
}

/// Enters the kernel of a handle into the log where it is not there; false without a profile.
static bool enterKernel(const LoadedKernelHandle &handle) {
  Profile &profile = current();
  uint64_t session;
  py::object labelOf;
  {
    std::lock_guard<std::mutex> lock(profile.mutex);
    if (!profile.log)
      return false;
    session = profile.session;
    if (handle.profile.load(std::memory_order_relaxed) == session)
      return true;
    labelOf = py::reinterpret_borrow<py::object>(profile.labelOf);
  }
  ProfiledKernel entered;
  entered.kernel = kernelOf(handle);
  entered.device = handle.kernel.deviceOrdinal();
  entered.label = labelOf(entered.kernel).cast<std::string>();
  std::lock_guard<std::mutex> lock(profile.mutex);
  if (profile.session != session || !profile.log)
    return false;
  if (handle.profile.load(std::memory_order_relaxed) == session)
    return true; // another thread was faster
  handle.profileNumber = profile.log->addKernel(handle.kernel);
  profile.kernels.push_back(std::move(entered));
  handle.profile.store(session, std::memory_order_relaxed);
  return true;
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

ProfiledLaunch::ProfiledLaunch(const LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                               const LaunchRequest &request)
    : handle(handle) {
  open.record.called = request.called ? request.called : profile::hostNow();
  open.record.missed = request.missed;
  for (size_t i = 0; i < request.state.params.size(); ++i)
    if (!request.state.params[i].isConstexpr)
      words.push_back(wordOf(request.bound()[i]));
  prepare(grid, stream);
}

ProfiledLaunch::ProfiledLaunch(const LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                               const py::sequence &arguments)
    : handle(handle) {
  open.record.called = profile::hostNow();
  for (py::handle value : arguments)
    words.push_back(wordOf(value.ptr()));
  prepare(grid, stream);
}

void ProfiledLaunch::prepare(const Grid &grid, uint64_t stream) {
  if (!enterKernel(handle))
    return;
  session = handle.profile.load(std::memory_order_relaxed);
  open.record.kernel = handle.profileNumber;
  std::copy(grid.size, grid.size + 3, open.record.grid);
  open.record.stream = stream;
  open.record.thread = PyThread_get_thread_ident();
}

void ProfiledLaunch::begin() {
  Profile &profile = current();
  std::lock_guard<std::mutex> lock(profile.mutex);
  if (!session || profile.session != session || !profile.log)
    return;
  hasRange = profile.hasRanges;
  if (hasRange)
    profile::nvtxPush(profile.kernels[open.record.kernel].label.c_str());
  if (!profile.log->isFull())
    profile.log->begin(driver::Driver::get().api(), open);
}

void ProfiledLaunch::end(bool isLaunched) {
  if (hasRange)
    profile::nvtxPop();
  Profile &profile = current();
  std::lock_guard<std::mutex> lock(profile.mutex);
  if (!session || profile.session != session || !profile.log)
    return;
  if (!isLaunched)
    profile.log->drop(open);
  else if (profile.log->isFull())
    profile.log->countOnly();
  else if (open.record.submitted)
    profile.log->finish(driver::Driver::get().api(), open, words);
}

//===----------------------------------------------------------------------===//
// What Python asks
//===----------------------------------------------------------------------===//

/// profile_start(libraries, label_of, ranges): why CUPTI is not used, or "".
static std::string startProfile(const std::vector<std::string> &libraries, py::object labelOf,
                                bool ranges) {
  Profile &profile = current();
  std::lock_guard<std::mutex> lock(profile.mutex);
  if (profile.log)
    throw py::value_error("launches are being profiled already");
  profile.log = std::make_unique<profile::LaunchLog>(libraries);
  ++profile.session;
  profile.hasRanges = ranges && profile::nvtxHasTool();
  profile.labelOf = labelOf.release().ptr();
  launchFlags.profiled = true;
  return profile.log->reasonAgainstCupti();
}

static py::tuple launchTuple(const profile::LaunchRecord &record, const profile::TakenLog &log) {
  py::tuple words(record.numWords);
  for (uint32_t i = 0; i < record.numWords; ++i) {
    int64_t word = log.words[record.firstWord + i];
    words[i] = word == noNumber ? py::object(py::none()) : py::object(py::int_(word));
  }
  return py::make_tuple(
      record.kernel, py::make_tuple(record.grid[0], record.grid[1], record.grid[2]), record.stream,
      record.thread, record.called, record.submitted, record.returned, record.missed, record.start,
      record.end, record.isCaptured, words);
}

/// profile_stop(): the log, and the kernels by number.
static py::dict stopProfile() {
  Profile &profile = current();
  std::unique_ptr<profile::LaunchLog> log;
  std::vector<ProfiledKernel> kernels;
  {
    std::lock_guard<std::mutex> lock(profile.mutex);
    if (!profile.log)
      throw py::value_error("no launches are being profiled");
    launchFlags.profiled = false;
    log = std::move(profile.log);
    kernels = std::move(profile.kernels);
    profile.kernels.clear();
  }
  Py_CLEAR(profile.labelOf);
  profile::TakenLog taken;
  {
    py::gil_scoped_release release; // kernels may wait for Python
    taken = log->take();
  }
  py::list launches, others, objects, devices;
  for (const profile::LaunchRecord &record : taken.launches)
    launches.append(launchTuple(record, taken));
  for (const profile::OtherRuns &other : taken.others)
    others.append(py::make_tuple(other.name, other.isReplay, other.count, other.nanoseconds));
  for (const ProfiledKernel &kernel : kernels) {
    objects.append(kernel.kernel);
    devices.append(kernel.device);
  }
  py::dict result;
  result["launches"] = launches;
  result["others"] = others;
  result["kernels"] = objects;
  result["devices"] = devices;
  result["uncounted"] = taken.uncounted;
  result["dropped"] = taken.dropped;
  result["begin"] = taken.begin;
  result["end"] = taken.end;
  return result;
}

void bindProfile(py::module_ &module) {
  module.def("profile_start", &startProfile, py::arg("libraries"), py::arg("label_of"),
             py::arg("ranges"));
  module.def("profile_stop", &stopProfile);
  module.def("profile_now", &profile::hostNow, "Nanoseconds of the clock of profiles.");
  module.def("cupti_path", &profile::cuptiPath);
}

} // namespace tilewright
