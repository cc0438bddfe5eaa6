//===- LaunchLog.cpp - Every launch with its times ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/profile/LaunchLog.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

namespace tilewright::profile {

using namespace driver;

/// Nanoseconds for what is on the stream before the first launch. Where that takes longer,
/// kernels are drawn so much too early; their durations are right all the same.
constexpr uint64_t originPatience = 2'000'000;

uint64_t hostNow() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

LaunchLog::LaunchLog(const std::vector<std::string> &cuptiCandidates) {
  // Without a driver CUPTI 13.2 does not fail: naming its error, it calls itself until the stack
  // is full.
  cuptiReason = Driver::tryGet() ? startCupti(cuptiCandidates) : "no CUDA driver was found";
  if (cuptiReason.empty())
    cuptiBegin = cuptiNow();
  taken.begin = hostNow(); // as near to CUPTI's time as can be
}

LaunchLog::~LaunchLog() {
  Driver *driver = pending.empty() && devices.empty() ? nullptr : Driver::tryGet();
  if (!driver || Driver::isAbandoned())
    return;
  for (PerDevice &device : devices) {
    for (CudaEvent event : device.freeEvents)
      driver->api().eventDestroy(event);
    if (device.origin)
      driver->api().eventDestroy(device.origin);
  }
}

uint32_t LaunchLog::addKernel(const LoadedKernel &kernel) {
  const KernelRequirements &required = kernel.requirements();
  kernels.push_back({required.name, kernel.deviceOrdinal(),
                     static_cast<unsigned>(required.threadsPerBlock),
                     static_cast<unsigned>(required.numCtas)});
  return static_cast<uint32_t>(kernels.size() - 1);
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

LaunchLog::PerDevice &LaunchLog::deviceOf(const LaunchRecord &record) {
  size_t ordinal = static_cast<size_t>(kernels[record.kernel].device);
  if (ordinal >= devices.size())
    devices.resize(ordinal + 1);
  return devices[ordinal];
}

CudaEvent LaunchLog::newEvent(const CudaApi &api, PerDevice &device) {
  if (!device.freeEvents.empty()) {
    CudaEvent event = device.freeEvents.back();
    device.freeEvents.pop_back();
    return event;
  }
  CudaEvent event = nullptr;
  return api.eventCreate(&event, 0) == cudaSuccess ? event : nullptr;
}

bool LaunchLog::hasOrigin(const CudaApi &api, PerDevice &device, CudaStream stream) {
  if (device.origin)
    return true;
  CudaEvent event = newEvent(api, device);
  if (!event)
    return false;
  if (api.eventRecord(event, stream) != cudaSuccess) {
    device.freeEvents.push_back(event);
    return false;
  }
  // Not for ever: what the stream waits for may be this thread.
  uint64_t asked = hostNow();
  while (api.eventQuery(event) == cudaNotReady && hostNow() - asked < originPatience)
    ;
  device.origin = event;
  device.originOnHost = hostNow();
  return true;
}

void LaunchLog::begin(const CudaApi &api, OpenLaunch &launch) {
  auto stream = reinterpret_cast<CudaStream>(launch.record.stream);
  int capturing = 0;
  launch.record.isCaptured =
      api.streamIsCapturing(stream, &capturing) == cudaSuccess && capturing != 0;
  bool needsEvents = !cuptiReason.empty() && !launch.record.isCaptured;
  if (needsEvents) {
    PerDevice &device = deviceOf(launch.record);
    launch.before = hasOrigin(api, device, stream) ? newEvent(api, device) : nullptr;
    if (launch.before && api.eventRecord(launch.before, stream) != cudaSuccess)
      drop(launch);
  }
  launch.record.submitted = hostNow();
}

void LaunchLog::drop(const OpenLaunch &launch) {
  if (launch.before)
    deviceOf(launch.record).freeEvents.push_back(launch.before);
}

void LaunchLog::finish(const CudaApi &api, OpenLaunch &launch, const std::vector<int64_t> &words) {
  launch.record.returned = hostNow();
  launch.record.firstWord = static_cast<uint32_t>(taken.words.size());
  launch.record.numWords = static_cast<uint32_t>(words.size());
  taken.words.insert(taken.words.end(), words.begin(), words.end());
  taken.launches.push_back(launch.record);
  if (!launch.before)
    return;
  CudaEvent after = newEvent(api, deviceOf(launch.record));
  if (!after ||
      api.eventRecord(after, reinterpret_cast<CudaStream>(launch.record.stream)) != cudaSuccess) {
    drop(launch);
    return;
  }
  pending.push_back({taken.launches.size() - 1, launch.before, after});
  // Where the GPU is far behind, most are asked in vain: not again for each launch.
  if (pending.size() >= readAgainAt) {
    readTimings(api);
    readAgainAt = pending.size() + mostPending;
  }
}

/// Reads the events that are over, in their order; those of a kernel that still runs stay.
void LaunchLog::readTimings(const CudaApi &api) {
  std::vector<Timing> left;
  for (const Timing &timing : pending) {
    LaunchRecord &record = taken.launches[timing.launch];
    PerDevice &device = deviceOf(record);
    if (api.eventQuery(timing.after) == cudaNotReady) {
      left.push_back(timing);
      continue;
    }
    float begin = 0, duration = 0; // milliseconds
    if (api.eventElapsedTime(&begin, device.origin, timing.before) == cudaSuccess &&
        api.eventElapsedTime(&duration, timing.before, timing.after) == cudaSuccess) {
      record.start = static_cast<int64_t>(device.originOnHost + begin * 1e6);
      record.end = record.start + static_cast<int64_t>(duration * 1e6);
    }
    device.freeEvents.push_back(timing.before);
    device.freeEvents.push_back(timing.after);
  }
  pending = std::move(left);
}

//===----------------------------------------------------------------------===//
// CUPTI's records
//===----------------------------------------------------------------------===//

int64_t LaunchLog::hostTime(uint64_t cuptiTime) const {
  return static_cast<int64_t>(cuptiTime - cuptiBegin + taken.begin);
}

void LaunchLog::addOther(const CuptiRecords &records, const KernelRun &run) {
  const std::string &name = records.names[run.name];
  auto same = [&](const OtherRuns &other) {
    return other.name == name && other.isReplay == run.isReplay;
  };
  auto found = std::find_if(taken.others.begin(), taken.others.end(), same);
  if (found == taken.others.end()) {
    taken.others.push_back({name, run.isReplay, 0, 0});
    found = taken.others.end() - 1;
  }
  ++found->count;
  found->nanoseconds += static_cast<double>(run.end - run.start);
}

/// Gives launches of one kernel with one grid their runs. Both are in the driver's order.
void LaunchLog::matchKernel(std::vector<size_t> &launches, std::vector<const KernelRun *> &runs,
                            const CuptiRecords &records) {
  std::sort(launches.begin(), launches.end(), [&](size_t a, size_t b) {
    return taken.launches[a].submitted < taken.launches[b].submitted;
  });
  std::sort(runs.begin(), runs.end(),
            [](const KernelRun *a, const KernelRun *b) { return a->correlation < b->correlation; });
  bool isExact = runs.size() == launches.size();
  size_t next = 0;
  for (size_t index : launches) {
    LaunchRecord &record = taken.launches[index];
    if (runs.size() < launches.size())
      break; // some are lost, and it is not known which
    // More runs than launches: others have launched this kernel, too. A kernel begins
    // after its launch.
    while (!isExact && next < runs.size() &&
           hostTime(runs[next]->end) < static_cast<int64_t>(record.submitted))
      addOther(records, *runs[next++]);
    if (next == runs.size())
      break;
    record.start = hostTime(runs[next]->start);
    record.end = hostTime(runs[next]->end);
    ++next;
  }
  for (; next < runs.size(); ++next)
    addOther(records, *runs[next]);
}

void LaunchLog::match(const CuptiRecords &records) {
  // Symbol, device, grid in blocks, threads of a block.
  using Key = std::tuple<std::string, int, unsigned, unsigned, unsigned, unsigned>;
  struct Group {
    std::vector<size_t> launches;
    std::vector<const KernelRun *> runs;
  };
  std::map<Key, Group> groups;
  for (size_t i = 0; i < taken.launches.size(); ++i) {
    const LaunchRecord &record = taken.launches[i];
    const LoggedKernel &kernel = kernels[record.kernel];
    if (!record.isCaptured)
      groups[{kernel.symbol, kernel.device, record.grid[0] * kernel.ctas, record.grid[1],
              record.grid[2], kernel.threads}]
          .launches.push_back(i);
  }
  for (const KernelRun &run : records.runs) {
    auto group = groups.find({records.names[run.name], static_cast<int>(run.device), run.grid[0],
                              run.grid[1], run.grid[2], run.threads});
    if (group == groups.end() || run.isReplay)
      addOther(records, run);
    else
      group->second.runs.push_back(&run);
  }
  for (auto &[key, group] : groups)
    matchKernel(group.launches, group.runs, records);
  taken.dropped = records.dropped;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void LaunchLog::synchronizeDevices() {
  Driver *driver = Driver::tryGet();
  if (!driver || Driver::isAbandoned())
    return;
  std::vector<bool> isUsed(static_cast<size_t>(driver->deviceCount()));
  for (const LoggedKernel &kernel : kernels)
    isUsed[static_cast<size_t>(kernel.device)] = true;
  for (size_t ordinal = 0; ordinal < isUsed.size(); ++ordinal)
    if (isUsed[ordinal]) {
      ContextGuard guard(*driver, driver->device(static_cast<int>(ordinal)));
      driver->api().contextSynchronize(); // after a fault there is nothing to wait for
    }
}

TakenLog LaunchLog::take() {
  if (!kernels.empty())
    synchronizeDevices();
  if (cuptiReason.empty())
    match(stopCupti());
  else if (Driver *driver = pending.empty() ? nullptr : Driver::tryGet())
    readTimings(driver->api());
  taken.end = hostNow();
  return std::move(taken);
}

} // namespace tilewright::profile
