//===- MockNvtx.cpp - A tool that takes NVTX ranges -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: what Nsight Systems injects by NVTX_INJECTION64_PATH, as far as ranges of a thread go. It
// writes them down for the tests: "push NAME" and "pop", a line each.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

static std::string lines;

static int push(const char *name) {
  lines += std::string("push ") + name + "\n";
  return 0;
}
static int pop() {
  lines += "pop\n";
  return 0;
}

EXPORT const char *mockRanges() { return lines.c_str(); }

EXPORT int InitializeInjectionNvtx2(const void *(*getExportTable)(uint32_t)) {
  struct Callbacks {
    size_t size;
    int (*getTable)(int, void ****, unsigned *);
  };
  auto *callbacks = static_cast<const Callbacks *>(getExportTable(1));
  void ***table = nullptr;
  unsigned size = 0;
  // Module 1 is the core; 9 and 11 are nvtxRangePushA and nvtxRangePop.
  if (!callbacks || !callbacks->getTable(1, &table, &size) || size < 12)
    return 0;
  *table[9] = reinterpret_cast<void *>(push);
  *table[11] = reinterpret_cast<void *>(pop);
  return 1;
}
