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
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaNotInitialized = 3,
  kCudaDeinitialized = 4,
  kCudaNoDevice = 100,
  kCudaInvalidDevice = 101,
  kCudaInvalidImage = 200,
  kCudaNoBinaryForGpu = 209,
  kCudaInvalidPtx = 218,
  kCudaJitCompilerNotFound = 221,
  kCudaUnsupportedPtxVersion = 222,
  kCudaNotReady = 600,
  kCudaIllegalAddress = 700,
  kCudaLaunchOutOfResources = 701,
  kCudaLaunchTimeout = 702,
  kCudaContextIsDestroyed = 709,
  kCudaAssert = 710,
  kCudaHardwareStackError = 714,
  kCudaIllegalInstruction = 715,
  kCudaMisalignedAddress = 716,
  kCudaInvalidAddressSpace = 717,
  kCudaInvalidPc = 718,
  kCudaLaunchFailed = 719,
  kCudaCooperativeLaunchTooLarge = 720,
};

enum : int { // CUdevice_attribute
  kAttrMaxThreadsPerBlock = 1,
  kAttrMaxGridX = 5,
  kAttrMaxGridY = 6,
  kAttrMaxGridZ = 7,
  kAttrSharedPerBlock = 8,
  kAttrWarpSize = 10,
  kAttrRegistersPerBlock = 12,
  kAttrClockRate = 13,
  kAttrMultiprocessorCount = 16,
  kAttrMemoryClockRate = 36,
  kAttrMemoryBusWidth = 37,
  kAttrL2CacheSize = 38,
  kAttrCapabilityMajor = 75,
  kAttrCapabilityMinor = 76,
  kAttrRegistersPerMultiprocessor = 82,
  kAttrSharedPerBlockOptin = 97,
};

enum : int { // CUfunction_attribute
  kFuncMaxThreadsPerBlock = 0,
  kFuncStaticSharedBytes = 1,
  kFuncLocalBytes = 3,
  kFuncNumRegisters = 4,
  kFuncMaxDynamicSharedBytes = 8,
  kFuncNonPortableClusterSize = 14,
};

enum : int { // CUjit_option
  kJitMaxRegisters = 0,
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSize = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSize = 6,
  kJitLogVerbose = 12,
  kJitGenerateLineInfo = 13,
};

enum : int { // CUlaunchAttributeID
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchClusterSchedulingPolicy = 5,
  kLaunchProgrammaticStreamSerialization = 6,
};

enum : int { // CUpointer_attribute
  kPointerDevicePointer = 3,
  kPointerDeviceOrdinal = 9,
};

enum : int { // CUtensorMapDataType
  kTensorMapUInt8 = 0,
  kTensorMapUInt16 = 1,
  kTensorMapUInt32 = 2,
  kTensorMapInt32 = 3,
  kTensorMapUInt64 = 4,
  kTensorMapInt64 = 5,
  kTensorMapFloat16 = 6,
  kTensorMapFloat32 = 7,
  kTensorMapFloat64 = 8,
  kTensorMapBFloat16 = 9,
  kTensorMapTFloat32 = 11,
};
enum : int { // CUtensorMapInterleave, Swizzle, L2promotion, FloatOOBfill
  kTensorMapNoInterleave = 0,
  kTensorMapNoSwizzle = 0,
  kTensorMapSwizzle32 = 1,
  kTensorMapSwizzle64 = 2,
  kTensorMapSwizzle128 = 3,
  kTensorMapPromote128 = 2,
  kTensorMapFillZero = 0,
  kTensorMapFillNan = 1,
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
