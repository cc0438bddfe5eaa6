//===- Nvtx.cpp - Ranges that NVIDIA's tools show -------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/profile/Nvtx.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace tilewright::profile {

namespace {

// Names and numbers of nvtxTypes.h.
enum : uint32_t { exportCallbacks = 1, exportVersionInfo = 3 };
enum : int { moduleCore = 1 };
enum : int { rangePushA = 9, rangePop = 11, coreFunctions = 16 };

using AnyFunction = void (*)();

/// NvtxFunctionTable: addresses of the pointers that the tool fills, by number.
using FunctionTable = AnyFunction **;

struct ExportedCallbacks {
  size_t structSize;
  int (*getModuleFunctionTable)(int module, FunctionTable *table, unsigned *size);
};

AnyFunction corePointers[coreFunctions];
AnyFunction *coreTable[coreFunctions + 1];

int getModuleFunctionTable(int module, FunctionTable *table, unsigned *size) {
  if (module != moduleCore)
    return 0;
  for (int i = 0; i < coreFunctions; ++i)
    coreTable[i] = i == 0 ? nullptr : &corePointers[i];
  if (table)
    *table = coreTable;
  if (size)
    *size = coreFunctions;
  return 1;
}

struct ExportedVersion {
  size_t structSize;
  uint32_t version, reserved;
  void (*setInjectionVersion)(uint32_t version);
};

const void *getExportTable(uint32_t id) {
  static const ExportedCallbacks callbacks = {sizeof(ExportedCallbacks), getModuleFunctionTable};
  static const ExportedVersion version = {sizeof(ExportedVersion), /*version=*/3, 0,
                                          [](uint32_t) {}};
  if (id == exportVersionInfo)
    return &version;
  return id == exportCallbacks ? &callbacks : nullptr;
}

bool findTool() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  void *library = path && *path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library)
    return false;
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  return initialize && initialize(getExportTable) && corePointers[rangePushA] &&
         corePointers[rangePop];
}

} // namespace

bool nvtxHasTool() {
  static const bool found = findTool();
  return found;
}

void nvtxPush(const char *name) {
  reinterpret_cast<int (*)(const char *)>(corePointers[rangePushA])(name);
}

void nvtxPop() { reinterpret_cast<int (*)()>(corePointers[rangePop])(); }

} // namespace tilewright::profile
