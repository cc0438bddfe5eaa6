//===- LaunchLog.h - Every launch with its times ----------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: while a profile is on, one record per launch: what was launched, when the call
// began and ended on the host, what it took to compile, and when the kernel ran.
//
// How: a launch appends a record. Where CUPTI does not work, it also records an event before and
// one after the kernel; the events are read in batches. CUPTI's records are matched when the log
// is taken: the runs of a kernel (by symbol, device, grid and threads) are in the order of its
// launches, as CUPTI numbers the calls of the driver. If a kernel has more launches than runs,
// CUPTI has lost some, and it is not known which; none of that kernel is matched then.
//
// Not handled: launches beyond maxLaunches, which are counted only. Kernels of others are known
// from CUPTI alone.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_PROFILE_LAUNCHLOG_H
#define TILEWRIGHT_RUNTIME_PROFILE_LAUNCHLOG_H

#include "runtime/driver/Module.h"
#include "runtime/profile/Cupti.h"

#include <memory>

namespace tilewright::profile {

/// Nanoseconds of the host's steady clock.
uint64_t hostNow();

/// Records of 160 bytes; a program that launches more gets totals of the first ones.
constexpr size_t maxLaunches = size_t(2) << 20;
constexpr int64_t notTimed = -1;

struct LaunchRecord {
  uint32_t kernel = 0; // number that the caller gives kernels
  unsigned grid[3] = {1, 1, 1};
  uint64_t stream = 0;
  uint64_t thread = 0;
  /// Times of the host: the call begins, the driver is called, the driver has returned.
  uint64_t called = 0, submitted = 0, returned = 0;
  uint64_t missed = 0;                      // time in which the call compiled and loaded
  int64_t start = notTimed, end = notTimed; // of the kernel, in the host's clock
  bool isCaptured = false;                  // into a graph: it runs when that is launched
  uint32_t firstWord = 0, numWords = 0;     // of LaunchLog::words
};

/// Runs that no launch of the log explains: other people's kernels, and nodes of graphs.
struct OtherRuns {
  std::string name;
  bool isReplay = false;
  uint64_t count = 0;
  double nanoseconds = 0;
};

struct TakenLog {
  std::vector<LaunchRecord> launches;
  std::vector<int64_t> words;
  std::vector<OtherRuns> others;
  uint64_t uncounted = 0; // launches beyond the limit
  uint64_t dropped = 0;   // records that CUPTI lost
  uint64_t begin = 0, end = 0;
};

/// A kernel that was launched. Launches name it by its position.
struct LoggedKernel {
  std::string symbol;
  int device = 0;
  unsigned threads = 0, ctas = 1;
};

/// A launch between begin() and finish().
struct OpenLaunch {
  LaunchRecord record;
  driver::CudaEvent before = nullptr;
};

/// Launches whose events wait, after which they are asked again.
constexpr size_t mostPending = 4096;

/// One profile. All methods are called by one thread at a time (under the caller's lock).
class LaunchLog {
public:
  /// With CUPTI where one of the libraries works; reasonAgainstCupti() says why not.
  explicit LaunchLog(const std::vector<std::string> &cuptiCandidates);
  ~LaunchLog();
  LaunchLog(const LaunchLog &) = delete;

  const std::string &reasonAgainstCupti() const { return cuptiReason; }
  /// The number of a kernel that is not in the log yet.
  uint32_t addKernel(const driver::LoadedKernel &kernel);
  bool isFull() const { return taken.launches.size() >= maxLaunches; }
  void countOnly() { ++taken.uncounted; }

  /// Before the driver is called, in the context of the kernel's device.
  void begin(const driver::CudaApi &api, OpenLaunch &launch);
  /// After it has taken the launch; `words` are numbers that the caller wants back.
  void finish(const driver::CudaApi &api, OpenLaunch &launch, const std::vector<int64_t> &words);
  /// Forgets what begin() noted, as the launch has failed.
  void drop(const OpenLaunch &launch);
  /// Waits for the kernels and hands the log over.
  TakenLog take();

private:
  struct Timing {
    size_t launch;
    driver::CudaEvent before, after;
  };
  struct PerDevice {
    std::vector<driver::CudaEvent> freeEvents;
    driver::CudaEvent origin = nullptr;
    uint64_t originOnHost = 0;
  };

  PerDevice &deviceOf(const LaunchRecord &record);
  driver::CudaEvent newEvent(const driver::CudaApi &api, PerDevice &device);
  /// Whether there is an event of the device whose time on the host is known.
  bool hasOrigin(const driver::CudaApi &api, PerDevice &device, driver::CudaStream stream);
  void readTimings(const driver::CudaApi &api);
  void synchronizeDevices();
  void match(const CuptiRecords &records);
  void matchKernel(std::vector<size_t> &launches, std::vector<const KernelRun *> &runs,
                   const CuptiRecords &records);
  void addOther(const CuptiRecords &records, const KernelRun &run);
  int64_t hostTime(uint64_t cuptiTime) const;

  std::string cuptiReason;
  uint64_t cuptiBegin = 0;
  TakenLog taken;
  std::vector<LoggedKernel> kernels;
  std::vector<Timing> pending;
  /// Launches in `pending` at which their events are asked next.
  size_t readAgainAt = mostPending;
  std::vector<PerDevice> devices;
};

} // namespace tilewright::profile

#endif // TILEWRIGHT_RUNTIME_PROFILE_LAUNCHLOG_H
