//===- MockCupti.cpp - CUPTI's activity interface over the mock driver ----===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: records of kernels for the launches that MockCuda has recorded since recording was
// enabled, given at a flush, as CUPTI gives them. Launch n (from 0) began a microsecond after it
// was made and took 1000 * (n + 1) ns, in a clock that is clockOffset ahead of the host's. The
// records of CUPTI come in any order: here they come last first.
//
// MOCK_CUPTI says what goes wrong: "fails" (cannot be enabled), "loses" (the first record), "more"
// (a kernel of someone else, one of the same name that ran before, and a node of a graph).
//
//===----------------------------------------------------------------------===//

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint64_t clockOffset = 1'000'000'000'000;
constexpr size_t recordBytes = 208;

using Requested = void (*)(uint8_t **, size_t *, size_t *);
using Completed = void (*)(void *, uint32_t, uint8_t *, size_t, size_t);

Requested requested = nullptr;
Completed completed = nullptr;
bool enabled = false;
long firstLaunch = 0;

struct Driver {
  long (*count)();
  int (*launch)(long, uint64_t *, char *);
  const char *(*name)(long);
  uint64_t (*time)(long);
};

Driver driver() {
  void *library = dlopen(std::getenv("TILEWRIGHT_LIBCUDA_PATH"), RTLD_NOW);
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
  };
  Driver found;
  find(found.count, "mockRecordedCount");
  find(found.launch, "mockLaunch");
  find(found.name, "mockLaunchName");
  find(found.time, "mockLaunchTime");
  return found;
}

bool mode(const char *wanted) {
  const char *given = std::getenv("MOCK_CUPTI");
  return given && std::strcmp(given, wanted) == 0;
}

template <typename T> void put(uint8_t *record, size_t offset, T value) {
  std::memcpy(record + offset, static_cast<const void *>(&value), sizeof(value));
}

/// The layout of CUpti_ActivityKernel9.
void fill(uint8_t *record, const char *name, const uint64_t *launch, uint64_t start, uint64_t end,
          uint32_t correlation, uint64_t graphNode) {
  std::memset(record, 0, recordBytes);
  put<int>(record, 0, 10);
  put<uint64_t>(record, 16, start);
  put<uint64_t>(record, 24, end);
  put<uint32_t>(record, 40, static_cast<uint32_t>(launch[6]));
  put<uint32_t>(record, 48, 7);
  for (int axis = 0; axis < 3; ++axis)
    put<uint32_t>(record, 52 + 4 * axis, static_cast<uint32_t>(launch[axis]));
  put<uint32_t>(record, 64, static_cast<uint32_t>(launch[3]));
  put<uint32_t>(record, 68, 1);
  put<uint32_t>(record, 72, 1);
  put<uint32_t>(record, 92, correlation);
  put<const char *>(record, 104, name);
  put<uint64_t>(record, 144, graphNode);
}

} // namespace

EXPORT int cuptiActivityRegisterCallbacks(Requested request, Completed complete) {
  requested = request;
  completed = complete;
  return 0;
}
EXPORT int cuptiActivityEnable(int kind) {
  if (mode("fails"))
    return 15;
  firstLaunch = driver().count();
  enabled = kind == 10;
  return 0;
}
EXPORT int cuptiActivityDisable(int) {
  enabled = false;
  return 0;
}
EXPORT int cuptiGetTimestamp(uint64_t *now) {
  *now = std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
             .count() +
         clockOffset;
  return 0;
}
EXPORT int cuptiGetResultString(int, const char **text) {
  *text = "CUPTI_ERROR_NOT_INITIALIZED";
  return 0;
}
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t validSize, uint8_t **record) {
  uint8_t *next = *record ? *record + recordBytes : buffer;
  if (next + recordBytes > buffer + validSize)
    return 12;
  *record = next;
  return 0;
}
EXPORT int cuptiActivityFlushAll(uint32_t) {
  if (!enabled)
    return 0;
  Driver cuda = driver();
  std::vector<std::string> records;
  auto add = [&](auto... arguments) {
    std::string record(recordBytes, '\0');
    fill(reinterpret_cast<uint8_t *>(record.data()), arguments...);
    records.push_back(record);
  };
  std::vector<char> parameters(4096);
  for (long i = firstLaunch; i < cuda.count(); ++i) {
    uint64_t launch[10];
    cuda.launch(i, launch, parameters.data());
    uint64_t start = cuda.time(i) + clockOffset + 1000;
    uint64_t number = static_cast<uint64_t>(i - firstLaunch);
    add(cuda.name(i), launch, start, start + 1000 * (number + 1),
        static_cast<uint32_t>(100 + 2 * number), uint64_t(0));
    if (mode("more") && number == 0) {
      add("cutlass_gemm", launch, start, start + 50000, uint32_t(90), uint64_t(0));
      add(cuda.name(i), launch, start - 900000, start - 890000, uint32_t(91), uint64_t(0));
      add(cuda.name(i), launch, start, start + 7000, uint32_t(300), uint64_t(5));
    }
  }
  if (mode("loses") && !records.empty())
    records.erase(records.begin());
  uint8_t *buffer = nullptr;
  size_t size = 0, most = 0;
  requested(&buffer, &size, &most);
  size_t used = 0;
  for (auto record = records.rbegin(); record != records.rend(); ++record, used += recordBytes)
    std::memcpy(buffer + used, record->data(), recordBytes);
  completed(nullptr, 0, buffer, size, used);
  return 0;
}
