//===- DlpackTypes.h - The parts of DLPack that are read --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: own declarations of DLPack's tensor and of its C exchange table (DLPack
// 1.3, `__dlpack_c_exchange_api__` of a tensor's type), whose layouts are a stable
// ABI, and what its type codes mean here.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_DLPACKTYPES_H
#define TILEWRIGHT_RUNTIME_LAUNCH_DLPACKTYPES_H

#include "runtime/launch/ArgumentTypes.h"

namespace tilewright::launch {

enum : int32_t { // DLDeviceType
  dlCpu = 1,
  dlCuda = 2,
  dlCudaHost = 3,
  dlCudaManaged = 13,
};

/// Shape and strides belong to whoever filled it.
struct DlTensor {
  void *data;
  int32_t deviceType, deviceId;
  int32_t ndim;
  uint8_t typeCode, typeBits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byteOffset;

  uint64_t address() const { return reinterpret_cast<uint64_t>(data) + byteOffset; }
  /// Memory that the CPU owns; the GPU may see it all the same.
  bool isOnHost() const { return deviceType == dlCpu || deviceType == dlCudaHost; }
};

struct DlpackExchangeTable {
  uint32_t majorVersion, minorVersion;
  const DlpackExchangeTable *previous;
  void *allocate, *exportManaged, *importManaged;
  /// Borrowed view of a tensor object; -1 and a Python exception where it fails.
  int (*fillDlTensor)(void *object, DlTensor *result);
  void *currentStream;
};

/// The element type of a tensor; Void for types of several lanes and for those
/// that the language has not.
ScalarKind elementTypeOf(const DlTensor &tensor);

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_DLPACKTYPES_H
