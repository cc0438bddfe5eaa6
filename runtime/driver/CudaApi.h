//===- CudaApi.h - The CUDA driver functions that are used ------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: own declarations of the few driver types and functions that Tilewright
// calls, and the table of their addresses. No CUDA header is needed to build and
// no library is linked: libcuda.so.1 is opened at the first use.
//
// The numbers are the driver's ABI, which NVIDIA keeps stable.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_DRIVER_CUDAAPI_H
#define TILEWRIGHT_RUNTIME_DRIVER_CUDAAPI_H

#include <cstddef>
#include <cstdint>

namespace tilewright::driver {

using CudaResult = int;
using CudaDevice = int;
using CudaContext = struct OpaqueContext *;
using CudaModule = struct OpaqueModule *;
using CudaFunction = struct OpaqueFunction *;
using CudaStream = struct OpaqueStream *;
using CudaEvent = struct OpaqueEvent *;
using CudaPointer = uint64_t;

enum : CudaResult {
  cudaSuccess = 0,
  cudaInvalidValue = 1,
  cudaOutOfMemory = 2,
  cudaNotInitialized = 3,
  cudaDeinitialized = 4,
  cudaNoDevice = 100,
  cudaInvalidDevice = 101,
  cudaInvalidImage = 200,
  cudaNoBinaryForGpu = 209,
  cudaInvalidPtx = 218,
  cudaJitCompilerNotFound = 221,
  cudaUnsupportedPtxVersion = 222,
  cudaNotReady = 600,
  cudaIllegalAddress = 700,
  cudaLaunchOutOfResources = 701,
  cudaLaunchTimeout = 702,
  cudaContextIsDestroyed = 709,
  cudaAssert = 710,
  cudaHardwareStackError = 714,
  cudaIllegalInstruction = 715,
  cudaMisalignedAddress = 716,
  cudaInvalidAddressSpace = 717,
  cudaInvalidPc = 718,
  cudaLaunchFailed = 719,
  cudaCooperativeLaunchTooLarge = 720,
};

enum : int { // CUdevice_attribute
  attrMaxThreadsPerBlock = 1,
  attrMaxGridX = 5,
  attrMaxGridY = 6,
  attrMaxGridZ = 7,
  attrSharedPerBlock = 8,
  attrWarpSize = 10,
  attrRegistersPerBlock = 12,
  attrClockRate = 13,
  attrMultiprocessorCount = 16,
  attrMemoryClockRate = 36,
  attrMemoryBusWidth = 37,
  attrL2CacheSize = 38,
  attrCapabilityMajor = 75,
  attrCapabilityMinor = 76,
  attrRegistersPerMultiprocessor = 82,
  attrSharedPerBlockOptin = 97,
};

enum : int { // CUfunction_attribute
  funcMaxThreadsPerBlock = 0,
  funcStaticSharedBytes = 1,
  funcLocalBytes = 3,
  funcNumRegisters = 4,
  funcMaxDynamicSharedBytes = 8,
  funcNonPortableClusterSize = 14,
};

enum : int { // CUjit_option
  jitMaxRegisters = 0,
  jitInfoLogBuffer = 3,
  jitInfoLogBufferSize = 4,
  jitErrorLogBuffer = 5,
  jitErrorLogBufferSize = 6,
  jitLogVerbose = 12,
  jitGenerateLineInfo = 13,
};

enum : int { // CUlaunchAttributeID
  launchCooperative = 2,
  launchClusterDimension = 4,
  launchClusterSchedulingPolicy = 5,
  launchProgrammaticStreamSerialization = 6,
};

enum : int { // CUpointer_attribute
  pointerDevicePointer = 3,
  pointerDeviceOrdinal = 9,
};

enum : int { // CUtensorMapDataType
  tensorMapUInt8 = 0,
  tensorMapUInt16 = 1,
  tensorMapUInt32 = 2,
  tensorMapInt32 = 3,
  tensorMapUInt64 = 4,
  tensorMapInt64 = 5,
  tensorMapFloat16 = 6,
  tensorMapFloat32 = 7,
  tensorMapFloat64 = 8,
  tensorMapBFloat16 = 9,
  tensorMapTFloat32 = 11,
};
enum : int { // CUtensorMapInterleave, Swizzle, L2promotion, FloatOOBfill
  tensorMapNoInterleave = 0,
  tensorMapNoSwizzle = 0,
  tensorMapSwizzle32 = 1,
  tensorMapSwizzle64 = 2,
  tensorMapSwizzle128 = 3,
  tensorMapPromote128 = 2,
  tensorMapFillZero = 0,
  tensorMapFillNan = 1,
};

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char reserved[64];
    unsigned clusterDim[3];
    int flag;
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "the driver's ABI");

struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  CudaStream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56, "the driver's ABI");

// NAME in the table, symbol in the library, result and arguments. Symbols with
// _v2 are the current forms; the plain ones are kept for programs of CUDA 3.
#define TILEWRIGHT_CUDA_FUNCTIONS(X)                                                               \
  X(init, "cuInit", (unsigned))                                                                    \
  X(driverGetVersion, "cuDriverGetVersion", (int *))                                               \
  X(getErrorName, "cuGetErrorName", (CudaResult, const char **))                                   \
  X(getErrorString, "cuGetErrorString", (CudaResult, const char **))                               \
  X(deviceGetCount, "cuDeviceGetCount", (int *))                                                   \
  X(deviceGet, "cuDeviceGet", (CudaDevice *, int))                                                 \
  X(deviceGetName, "cuDeviceGetName", (char *, int, CudaDevice))                                   \
  X(deviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CudaDevice))                                 \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CudaDevice))                          \
  X(primaryContextRetain, "cuDevicePrimaryCtxRetain", (CudaContext *, CudaDevice))                 \
  X(contextGetCurrent, "cuCtxGetCurrent", (CudaContext *))                                         \
  X(contextSetCurrent, "cuCtxSetCurrent", (CudaContext))                                           \
  X(contextGetDevice, "cuCtxGetDevice", (CudaDevice *))                                            \
  X(contextPush, "cuCtxPushCurrent_v2", (CudaContext))                                             \
  X(contextPop, "cuCtxPopCurrent_v2", (CudaContext *))                                             \
  X(contextSynchronize, "cuCtxSynchronize", ())                                                    \
  X(contextSetLimit, "cuCtxSetLimit", (int, size_t))                                               \
  X(moduleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (CudaModule *, const void *, unsigned, int *, void **))                                        \
  X(moduleUnload, "cuModuleUnload", (CudaModule))                                                  \
  X(moduleGetFunction, "cuModuleGetFunction", (CudaFunction *, CudaModule, const char *))          \
  X(funcGetAttribute, "cuFuncGetAttribute", (int *, int, CudaFunction))                            \
  X(funcSetAttribute, "cuFuncSetAttribute", (CudaFunction, int, int))                              \
  X(launchKernelEx, "cuLaunchKernelEx", (const LaunchConfig *, CudaFunction, void **, void **))    \
  X(occupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                       \
    (int *, CudaFunction, int, size_t))                                                            \
  X(streamGetContext, "cuStreamGetCtx", (CudaStream, CudaContext *))                               \
  X(streamSynchronize, "cuStreamSynchronize", (CudaStream))                                        \
  X(streamQuery, "cuStreamQuery", (CudaStream))                                                    \
  X(streamIsCapturing, "cuStreamIsCapturing", (CudaStream, int *))                                 \
  X(pointerGetAttribute, "cuPointerGetAttribute", (void *, int, CudaPointer))                      \
  X(memAlloc, "cuMemAlloc_v2", (CudaPointer *, size_t))                                            \
  X(memFree, "cuMemFree_v2", (CudaPointer))                                                        \
  X(memcpyHtoD, "cuMemcpyHtoD_v2", (CudaPointer, const void *, size_t))                            \
  X(memcpyDtoH, "cuMemcpyDtoH_v2", (void *, CudaPointer, size_t))                                  \
  X(memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CudaPointer, CudaPointer, size_t, CudaStream))       \
  X(memsetD8Async, "cuMemsetD8Async", (CudaPointer, unsigned char, size_t, CudaStream))            \
  X(eventCreate, "cuEventCreate", (CudaEvent *, unsigned))                                         \
  X(eventDestroy, "cuEventDestroy_v2", (CudaEvent))                                                \
  X(eventRecord, "cuEventRecord", (CudaEvent, CudaStream))                                         \
  X(eventSynchronize, "cuEventSynchronize", (CudaEvent))                                           \
  X(eventQuery, "cuEventQuery", (CudaEvent))                                                       \
  X(eventElapsedTime, "cuEventElapsedTime", (float *, CudaEvent, CudaEvent))

// Functions that an older driver may lack: null there.
#define TILEWRIGHT_CUDA_OPTIONAL_FUNCTIONS(X)                                                      \
  X(threadExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *))                       \
  X(occupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters",                                    \
    (int *, CudaFunction, const LaunchConfig *))                                                   \
  X(tensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                                \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,          \
     const uint32_t *, int, int, int, int))

/// Addresses of the driver's functions; all but the optional ones are set once the library is open.
struct CudaApi {
#define TILEWRIGHT_DECLARE(NAME, SYMBOL, ARGS) CudaResult(*NAME) ARGS = nullptr;
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_DECLARE)
  TILEWRIGHT_CUDA_OPTIONAL_FUNCTIONS(TILEWRIGHT_DECLARE)
#undef TILEWRIGHT_DECLARE
};

} // namespace tilewright::driver

#endif // TILEWRIGHT_RUNTIME_DRIVER_CUDAAPI_H
