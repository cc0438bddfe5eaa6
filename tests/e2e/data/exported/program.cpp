//===- program.cpp - A program that launches exported kernels -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: launches vector add, softmax, matrix product and attention of the library 'ops'
// without Python. Against the recording driver it prints what was launched; on a GPU it
// reads its inputs from files of a folder and writes the results there. As a shared
// library it is what benchmarks/exported.py measures.
//
//   program record            prints launches and refusals
//   program run FOLDER        computes
//
//===----------------------------------------------------------------------===//

#include "ops.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

//===--- The driver, as the program itself uses it --------------------------===//

void *library;

template <typename Result = int, typename... Args> Result driver(const char *name, Args... args) {
  auto function = reinterpret_cast<Result (*)(Args...)>(dlsym(library, name));
  return function(args...);
}

void require(bool holds, const char *what) {
  if (holds)
    return;
  std::printf("%s: %s\n", what, ops_last_error());
  std::exit(1);
}

void openDriver() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  require(library != nullptr, "dlopen");
  void *context = nullptr;
  require(driver("cuInit", 0u) == 0, "cuInit");
  require(driver("cuDevicePrimaryCtxRetain", &context, 0) == 0, "cuDevicePrimaryCtxRetain");
  require(driver("cuCtxSetCurrent", context) == 0, "cuCtxSetCurrent");
}

//===--- The problems -------------------------------------------------------===//

constexpr int numElements = 98432, numRows = 300, numColumns = 1000, side = 1024, depth = 512;
constexpr int numHeads = 4, length = 512, headSize = 64;

struct Arrays {
  void *x, *y, *sum;           // fp32: numElements
  void *scores, *weights;      // fp32: numRows x numColumns
  void *a, *b, *c;             // fp16: side x depth, depth x side, side x side
  void *q, *k, *v, *out, *lse; // fp16: numHeads x length x headSize, fp32: numHeads x length
};

TwTensor matrix(void *data, int64_t rows, int64_t columns) {
  return {data, {rows, columns}, {columns, 1}};
}

int launchAdd(const Arrays &d, TwStream stream) {
  return add(stream, d.x, d.y, d.sum, numElements);
}
int launchSoftmax(const Arrays &d, TwStream stream) {
  return softmax(stream, TwGrid{numRows, 1, 1}, d.scores, d.weights, numColumns, numColumns,
                 numColumns);
}
int launchMatmul(const Arrays &d, TwStream stream) {
  TwTensor a = matrix(d.a, side, depth), b = matrix(d.b, depth, side), c = matrix(d.c, side, side);
  return matmul(stream, &a, &b, &c, side, side, depth);
}
int launchMatmulDevice(const Arrays &d, TwStream stream) {
  return matmul_device(stream, d.a, d.b, d.c, side, side, depth);
}
int launchAttention(const Arrays &d, TwStream stream) {
  return attention(stream, TwGrid{length / 128, numHeads, 1}, d.q, d.k, d.v, d.out, d.lse,
                   1.0f / std::sqrt(float(headSize)), length);
}

using Launch = int (*)(const Arrays &, TwStream);
const struct {
  const char *name;
  Launch launch;
} kernels[] = {{"add", launchAdd},
               {"softmax", launchSoftmax},
               {"matmul", launchMatmul},
               {"matmul_device", launchMatmulDevice},
               {"attention", launchAttention}};

/// Addresses that belong to the recording driver's first device.
Arrays inventedArrays() {
  Arrays d;
  void **places = &d.x;
  for (size_t i = 0; i < sizeof(d) / sizeof(void *); ++i)
    places[i] = reinterpret_cast<void *>(0x10000000000 + 0x1000000 * i);
  return d;
}

//===--- record -------------------------------------------------------------===//

void printLaunches() {
  char parameters[4096];
  long count = driver<long>("mockLaunchCount");
  for (long i = 0; i < count; ++i) {
    uint64_t numbers[10];
    int size = driver("mockLaunch", i, numbers, parameters);
    std::printf("launch %s", driver<const char *>("mockLaunchName", i));
    for (uint64_t number : numbers)
      std::printf(" %llu", static_cast<unsigned long long>(number));
    std::printf(" ");
    for (int byte = 0; byte < size; ++byte)
      std::printf("%02x", static_cast<unsigned char>(parameters[byte]));
    std::printf("\n");
  }
  driver<void>("mockReset");
}

void printStatus(const char *what, int status) {
  std::printf("%s: %d %s | %s\n", what, status, ops_error_text(status),
              status ? ops_last_error() : "");
}

void *shifted(void *address, int bytes) { return static_cast<char *>(address) + bytes; }

/// What is refused, and that nothing is launched then.
void recordRefusals(const Arrays &d) {
  TwTensor a = matrix(d.a, side, depth), b = matrix(d.b, depth, side), c = matrix(d.c, side, side);
  auto product = [&](const TwTensor *left) {
    return matmul(nullptr, left, &b, &c, side, side, depth);
  };
  TwTensor wrong = a;
  wrong.data = shifted(a.data, 8);
  printStatus("misaligned tensor", product(&wrong));
  wrong = a;
  wrong.shape[1] = depth - 3;
  printStatus("extent", product(&wrong));
  wrong.shape[1] = depth;
  wrong.shape[0] = -1;
  printStatus("negative extent", product(&wrong));
  wrong = a;
  wrong.strides[0] = depth + 4;
  printStatus("stride", product(&wrong));
  wrong.strides[0] = depth;
  wrong.strides[1] = 2;
  printStatus("last stride", product(&wrong));
  printStatus("null", product(nullptr));
  printStatus("same array", product(&c));
  wrong = a;
  wrong.shape[0] = 0;
  printStatus("empty tensor", product(&wrong));
  printStatus("misaligned", matmul_device(nullptr, shifted(d.a, 2), d.b, d.c, 64, 64, 64));
  printStatus("not divisible", matmul_device(nullptr, d.a, d.b, d.c, 64, 60, 64));
  printStatus("negative grid", add(nullptr, d.x, d.y, d.sum, -5000));
  printStatus("large grid", softmax(nullptr, TwGrid{1, 70000, 1}, d.scores, d.weights, 1, 1, 1));
  printStatus("configuration", add_with(7, nullptr, d.x, d.y, d.sum, numElements));
  driver<void>("mockFailNextLaunch", 700);
  printStatus("driver", launchAdd(d, nullptr));
  wrong = matrix(d.q, side, depth);
  driver<void>("mockFailNextEncode", 1);
  printStatus("encoding", product(&wrong));
  driver<void>("mockFailNextAllocation");
  printStatus("memory", grouped(nullptr, TwGrid{3, 1, 1}, d.x, d.sum, 64));
  printStatus("empty grid", softmax(nullptr, TwGrid{0, 1, 1}, d.scores, d.weights, 1, 1, 1));
  std::printf("launched %ld\n", driver<long>("mockLaunchCount"));
}

/// One context after the other makes room for the next; only so many fit at a time.
void recordContexts(const Arrays &d) {
  // The recording driver looks for the number of the device there.
  static int contexts[300][16];
  int launched = 0;
  auto launchIn = [&](size_t number) {
    driver("cuCtxSetCurrent", static_cast<void *>(contexts[number]));
    int status = launchAdd(d, nullptr);
    launched += status == TW_OK;
    return status;
  };
  for (size_t i = 0; i < 200; ++i) {
    launchIn(i);
    ops_unload();
  }
  std::printf("contexts in turn %d\n", launched);
  int status = TW_OK;
  for (size_t i = 200; status == TW_OK; ++i)
    status = launchIn(i);
  printStatus("too many contexts", status);
}

void record() {
  Arrays d = inventedArrays();
  printStatus("no context", launchAdd(d, nullptr));
  openDriver();
  for (const auto &kernel : kernels)
    printStatus(kernel.name, kernel.launch(d, nullptr));
  printLaunches();
  recordRefusals(d);
  // The general signature, another configuration, another stream; maps are kept.
  long encoded = driver<long>("mockEncodeCount");
  printStatus("odd", add(nullptr, shifted(d.x, 4), d.y, d.sum, 1001));
  printStatus("second", add_with(1, reinterpret_cast<TwStream>(16), d.x, d.y, d.sum, numElements));
  printStatus("again", launchMatmul(d, nullptr));
  std::printf("encoded %ld\n", driver<long>("mockEncodeCount") - encoded);
  printStatus("scratch", grouped(nullptr, TwGrid{3, 1, 1}, d.x, d.sum, 64));
  printLaunches();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      void *context = nullptr;
      driver("cuDevicePrimaryCtxRetain", &context, 1);
      driver("cuCtxSetCurrent", context);
      for (int launch = 0; launch < 200; ++launch)
        require(kernels[launch % 5].launch(d, nullptr) == TW_OK, "thread");
      driver("cuCtxSetCurrent", static_cast<void *>(nullptr));
    });
  for (std::thread &thread : threads)
    thread.join();
  std::printf("threads %ld\n", driver<long>("mockLaunchCount"));
  driver<void>("mockReset");
  ops_unload();
  printStatus("load", ops_load());
  std::printf("unloaded %d, loaded %d\n", driver("mockUnloaded"), driver("mockLoaded"));
  recordContexts(d);
}

//===--- run ----------------------------------------------------------------===//

struct File {
  const char *name;
  void *Arrays::*place;
  size_t bytes;
  bool isResult;
};
const File arrayFiles[] = {
    {"x", &Arrays::x, numElements * 4, false},
    {"y", &Arrays::y, numElements * 4, false},
    {"sum", &Arrays::sum, numElements * 4, true},
    {"scores", &Arrays::scores, numRows *numColumns * 4, false},
    {"weights", &Arrays::weights, numRows *numColumns * 4, true},
    {"a", &Arrays::a, side *depth * 2, false},
    {"b", &Arrays::b, depth *side * 2, false},
    {"c", &Arrays::c, side *side * 2, true},
    {"q", &Arrays::q, numHeads *length *headSize * 2, false},
    {"k", &Arrays::k, numHeads *length *headSize * 2, false},
    {"v", &Arrays::v, numHeads *length *headSize * 2, false},
    {"out", &Arrays::out, numHeads *length *headSize * 2, true},
    {"lse", &Arrays::lse, numHeads *length * 4, true},
};

Arrays readArrays(const std::string &folder) {
  Arrays d;
  for (const File &file : arrayFiles) {
    std::vector<char> content(file.bytes);
    if (!file.isResult) {
      std::ifstream stream(folder + "/" + file.name, std::ios::binary);
      content.assign(std::istreambuf_iterator<char>(stream), {});
      require(content.size() == file.bytes, file.name);
    }
    unsigned long long pointer = 0;
    require(driver("cuMemAlloc_v2", &pointer, file.bytes) == 0, "cuMemAlloc");
    require(driver("cuMemcpyHtoD_v2", pointer, static_cast<const void *>(content.data()),
                   file.bytes) == 0,
            "cuMemcpyHtoD");
    d.*file.place = reinterpret_cast<void *>(pointer);
  }
  return d;
}

void run(const std::string &folder) {
  openDriver();
  Arrays d = readArrays(folder);
  for (const auto &kernel : kernels)
    require(kernel.launch(d, nullptr) == TW_OK, kernel.name);
  require(driver("cuCtxSynchronize") == 0, "cuCtxSynchronize");
  for (const File &file : arrayFiles)
    if (file.isResult) {
      std::vector<char> content(file.bytes);
      require(driver("cuMemcpyDtoH_v2", static_cast<void *>(content.data()),
                     reinterpret_cast<unsigned long long>(d.*file.place), file.bytes) == 0,
              "cuMemcpyDtoH");
      std::ofstream(folder + "/" + file.name, std::ios::binary)
          .write(content.data(), content.size());
    }
}

} // namespace

//===--- For benchmarks/exported.py -----------------------------------------===//

/// Launches a kernel by its number; the arrays are in the order of Arrays.
extern "C" int launchExported(int kernel, const Arrays *arrays, TwStream stream) {
  return kernels[kernel].launch(*arrays, stream);
}

/// Host time of one of so many launches in a row, in nanoseconds; -1 where one fails.
extern "C" double timeExported(int kernel, const Arrays *arrays, TwStream stream, int count) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    if (kernels[kernel].launch(*arrays, stream) != TW_OK)
      return -1;
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / count;
}

int main(int count, char **arguments) {
  std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "record")
    record();
  else if (mode == "run" && count == 3)
    run(arguments[2]);
  else
    return 2;
  return 0;
}
