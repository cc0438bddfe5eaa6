//===- Cupti.cpp - Times of kernels from CUPTI's activity records ---------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/profile/Cupti.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <unordered_map>

namespace tilewright::profile {

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {

using CuptiResult = int;
enum : int { cuptiSuccess = 0 };
enum : int { activityKernel = 3, activityConcurrentKernel = 10 }; // CUpti_ActivityKind
enum : uint32_t { flushForced = 1 };

using BufferRequested = void (*)(uint8_t **buffer, size_t *size, size_t *maxRecords);
using BufferCompleted = void (*)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t validSize);

struct CuptiApi {
  CuptiResult (*registerCallbacks)(BufferRequested, BufferCompleted) = nullptr;
  CuptiResult (*enable)(int kind) = nullptr;
  CuptiResult (*disable)(int kind) = nullptr;
  CuptiResult (*flushAll)(uint32_t flags) = nullptr;
  CuptiResult (*nextRecord)(uint8_t *buffer, size_t validSize, uint8_t **record) = nullptr;
  CuptiResult (*getTimestamp)(uint64_t *now) = nullptr;
  // These may be missing.
  CuptiResult (*numDropped)(void *context, uint32_t stream, size_t *dropped) = nullptr;
  CuptiResult (*resultString)(CuptiResult result, const char **text) = nullptr;
};

/// Leaked: CUPTI's own threads may call back while the process ends.
struct CuptiState {
  std::mutex mutex;
  CuptiApi api;
  std::string path; // empty: no library is open
  bool isRecording = false;
  CuptiRecords records;
  std::unordered_map<std::string, uint32_t> nameIndex;
};

CuptiState &cupti() {
  static CuptiState *state = new CuptiState;
  return *state;
}

/// A buffer holds some 40 000 kernels.
constexpr size_t bufferBytes = size_t(8) << 20;
constexpr size_t bufferAlignment = 8;

// Offsets in a kernel's record.
constexpr size_t startOffset = 16, endOffset = 24, deviceOffset = 40, streamOffset = 48,
                 gridOffset = 52, blockOffset = 64, correlationOffset = 92, nameOffset = 104,
                 graphNodeOffset = 144;

template <typename T> T fieldAt(const uint8_t *record, size_t offset) {
  T value;
  std::memcpy(static_cast<void *>(&value), record + offset, sizeof(value));
  return value;
}

} // namespace

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Called with the mutex held.
static void addRun(CuptiState &state, const uint8_t *record) {
  KernelRun run;
  run.start = fieldAt<uint64_t>(record, startOffset);
  run.end = fieldAt<uint64_t>(record, endOffset);
  run.device = fieldAt<uint32_t>(record, deviceOffset);
  run.stream = fieldAt<uint32_t>(record, streamOffset);
  run.threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    run.grid[axis] = fieldAt<uint32_t>(record, gridOffset + 4 * axis);
    run.threads *= fieldAt<uint32_t>(record, blockOffset + 4 * axis);
  }
  run.correlation = fieldAt<uint32_t>(record, correlationOffset);
  run.isReplay = fieldAt<uint64_t>(record, graphNodeOffset) != 0;
  const char *name = fieldAt<const char *>(record, nameOffset);
  auto [known, isNew] =
      state.nameIndex.emplace(name ? name : "?", static_cast<uint32_t>(state.records.names.size()));
  if (isNew)
    state.records.names.push_back(known->first);
  run.name = known->second;
  state.records.runs.push_back(run);
}

static void bufferRequested(uint8_t **buffer, size_t *size, size_t *maxRecords) {
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(bufferAlignment, bufferBytes));
  *size = *buffer ? bufferBytes : 0;
  *maxRecords = 0; // as many as fit
}

/// A thread of CUPTI's, or the one that flushes.
static void bufferCompleted(void *context, uint32_t stream, uint8_t *buffer, size_t,
                            size_t validSize) {
  CuptiState &state = cupti();
  std::lock_guard<std::mutex> lock(state.mutex);
  uint8_t *record = nullptr;
  while (validSize > 0 && state.api.nextRecord(buffer, validSize, &record) == cuptiSuccess) {
    int kind = fieldAt<int>(record, 0);
    if (kind == activityConcurrentKernel || kind == activityKernel)
      addRun(state, record);
  }
  size_t dropped = 0;
  if (state.api.numDropped && state.api.numDropped(context, stream, &dropped) == cuptiSuccess)
    state.records.dropped += dropped;
  std::free(buffer);
}

//===----------------------------------------------------------------------===//
// Start and stop
//===----------------------------------------------------------------------===//

static std::string reasonOf(const CuptiApi &api, CuptiResult result) {
  const char *text = nullptr;
  if (api.resultString && api.resultString(result, &text) == cuptiSuccess && text)
    return text;
  return "CUPTI error " + std::to_string(result);
}

static bool resolve(void *library, CuptiApi &api) {
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
    return function != nullptr;
  };
  bool found = find(api.registerCallbacks, "cuptiActivityRegisterCallbacks");
  found &= find(api.enable, "cuptiActivityEnable");
  found &= find(api.disable, "cuptiActivityDisable");
  found &= find(api.flushAll, "cuptiActivityFlushAll");
  found &= find(api.nextRecord, "cuptiActivityGetNextRecord");
  found &= find(api.getTimestamp, "cuptiGetTimestamp");
  find(api.numDropped, "cuptiActivityGetNumDroppedRecords");
  find(api.resultString, "cuptiGetResultString");
  return found;
}

/// Opens the library; it stays open, as its threads may be at work.
static std::string openLibrary(CuptiState &state, const std::vector<std::string> &candidates) {
  std::string reason = "no libcupti was found";
  for (const std::string &candidate : candidates) {
    void *library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    if (resolve(library, state.api)) {
      state.path = candidate;
      return "";
    }
    dlclose(library);
    reason = candidate + " lacks functions of CUPTI's activity interface";
  }
  return reason;
}

std::string startCupti(const std::vector<std::string> &candidates) {
  CuptiState &state = cupti();
  if (state.path.empty()) {
    std::string reason = openLibrary(state, candidates);
    if (!reason.empty())
      return reason;
  }
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    state.records = {};
    state.nameIndex.clear();
  }
  CuptiResult result = state.api.registerCallbacks(bufferRequested, bufferCompleted);
  if (result == cuptiSuccess)
    result = state.api.enable(activityConcurrentKernel);
  state.isRecording = result == cuptiSuccess;
  return state.isRecording ? "" : state.path + ": " + reasonOf(state.api, result);
}

std::string cuptiPath() { return cupti().path; }

uint64_t cuptiNow() {
  uint64_t now = 0;
  if (cupti().api.getTimestamp)
    cupti().api.getTimestamp(&now);
  return now;
}

CuptiRecords stopCupti() {
  CuptiState &state = cupti();
  if (state.isRecording) {
    // Not under the mutex: it calls bufferCompleted.
    state.api.flushAll(flushForced);
    state.api.disable(activityConcurrentKernel);
    state.isRecording = false;
  }
  std::lock_guard<std::mutex> lock(state.mutex);
  CuptiRecords taken = std::move(state.records);
  state.records = {};
  state.nameIndex.clear();
  return taken;
}

} // namespace tilewright::profile
