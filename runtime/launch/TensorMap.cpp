//===- TensorMap.cpp - Tensor maps for TMA --------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/TensorMap.h"

#include "ir/support/Error.h"
#include "ir/support/TmaBox.h"
#include "runtime/driver/Driver.h"

#include <cstring>
#include <memory>
#include <mutex>

namespace tilewright::launch {

using namespace driver;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

// What the hardware's descriptors can express.
static constexpr int64_t alignment = 16;
static constexpr int64_t maxStrideBytes = int64_t(1) << 40;
/// The language's coordinates are 32-bit integers.
static constexpr int64_t maxExtent = INT32_MAX;
/// Elements of one tile.
static constexpr int64_t maxBlockElements = int64_t(1) << 20;

static std::optional<DescriptorProblem> checkBlock(const DescriptorArgument &d) {
  int64_t bytes = scalarFacts(d.type).bytes(), elements = 1;
  for (int dim = 0; dim < d.rank; ++dim) {
    int64_t extent = d.block[dim];
    if (extent < 1 || (extent & (extent - 1)))
      return DescriptorProblem{fmt::format("block_shape[{}] is {}", dim, extent),
                               "block extents that are powers of two"};
    if (extent > maxBlockElements / elements)
      return DescriptorProblem{fmt::format("a block of more than {} elements", maxBlockElements),
                               "a smaller block_shape"};
    elements *= extent;
  }
  if (int64_t row = d.block[d.rank - 1] * bytes; row < minRowBytes)
    return DescriptorProblem{fmt::format("the last dimension of its block has {} bytes", row),
                             fmt::format("{} bytes or more", minRowBytes)};
  return std::nullopt;
}

std::optional<DescriptorProblem> checkArray(const DescriptorArgument &d, bool isOnGpu) {
  int64_t bytes = scalarFacts(d.type).bytes();
  if (isOnGpu && d.address % alignment)
    return DescriptorProblem{"the base address is not aligned",
                             fmt::format("a base divisible by {} bytes", alignment)};
  if (d.strides[d.rank - 1] != 1)
    return DescriptorProblem{fmt::format("the last stride is {}", d.strides[d.rank - 1]),
                             "a last stride of 1"};
  for (int dim = 0; dim < d.rank; ++dim) {
    if (d.shape[dim] < 0 || d.shape[dim] > maxExtent)
      return DescriptorProblem{fmt::format("shape[{}] is {}", dim, d.shape[dim]),
                               fmt::format("extents from 0 to {}", maxExtent)};
    int64_t stride = d.strides[dim];
    if (dim == d.rank - 1)
      continue;
    if (stride < 0 || stride >= maxStrideBytes / bytes)
      return DescriptorProblem{fmt::format("strides[{}] is {}", dim, stride),
                               "strides from 0 to 2^40 bytes"};
    if (stride * bytes % alignment)
      return DescriptorProblem{fmt::format("a stride of {} bytes", stride * bytes),
                               fmt::format("strides divisible by {} bytes", alignment)};
  }
  if (d.padsWithNan && !scalarFacts(d.type).isFloating())
    return DescriptorProblem{
        fmt::format("padding 'nan' with elements of type {}", scalarFacts(d.type).name),
        "a floating type, or padding 'zero'"};
  if (d.roundsToTf32 && d.type != ScalarKind::Float32)
    return DescriptorProblem{
        fmt::format("round_f32_to_tf32 with elements of type {}", scalarFacts(d.type).name),
        "elements of type fp32"};
  return std::nullopt;
}

std::optional<DescriptorProblem> checkDescriptor(const DescriptorArgument &d, bool isOnGpu) {
  std::optional<DescriptorProblem> problem = checkArray(d, isOnGpu);
  return problem ? problem : checkBlock(d);
}

bool hasWholeRows(const DescriptorArgument &d) {
  return d.shape[d.rank - 1] * scalarFacts(d.type).bytes() % alignment == 0;
}

[[noreturn]] static void raiseProblem(const std::string &name, const DescriptorProblem &problem) {
  throw makeError(ErrorCode::E0215, fmt::arg("a", name), fmt::arg("reason", problem.reason),
                  fmt::arg("rule", problem.rule));
}

std::string descriptorTypeString(const DescriptorArgument &d) {
  std::string text = fmt::format("tensordesc<{}[", scalarFacts(d.type).name);
  for (int dim = 0; dim < d.rank; ++dim)
    text += (dim ? "," : "") + std::to_string(d.block[dim]);
  return text + "]" + (d.padsWithNan ? ",nan" : "") + (d.roundsToTf32 ? ",tf32" : "") + ">";
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// Types without one of their own travel as unsigned integers: only reductions
/// and NaN padding look at the type, and neither is used for those.
static int dataType(const DescriptorArgument &d) {
  switch (d.type) {
  case ScalarKind::Int32:
    return tensorMapInt32;
  case ScalarKind::Int64:
    return tensorMapInt64;
  case ScalarKind::Float16:
    return tensorMapFloat16;
  case ScalarKind::BFloat16:
    return tensorMapBFloat16;
  case ScalarKind::Float32:
    return d.roundsToTf32 ? tensorMapTFloat32 : tensorMapFloat32;
  case ScalarKind::Float64:
    return tensorMapFloat64;
  default:
    break;
  }
  switch (scalarFacts(d.type).bytes()) {
  case 8:
    return tensorMapUInt64;
  case 4:
    return tensorMapUInt32;
  case 2:
    return tensorMapUInt16;
  default:
    return tensorMapUInt8;
  }
}

static int swizzleMode(int swizzleBytes) {
  return swizzleBytes == 128  ? tensorMapSwizzle128
         : swizzleBytes == 64 ? tensorMapSwizzle64
         : swizzleBytes == 32 ? tensorMapSwizzle32
                              : tensorMapNoSwizzle;
}

TensorMapForm tensorMapForm(const DescriptorArgument &d) {
  TmaBox box = tmaBox({d.block, d.block + d.rank}, scalarFacts(d.type).bytes());
  TensorMapForm form = {};
  form.dataType = dataType(d);
  for (int dim = 0; dim < d.rank; ++dim)
    form.box[dim] = static_cast<uint32_t>(box.extents[d.rank - 1 - dim]);
  form.swizzle = swizzleMode(box.swizzleBytes);
  form.promotion = tensorMapPromote128;
  form.fill = d.padsWithNan ? tensorMapFillNan : tensorMapFillZero;
  return form;
}

static void encode(const DescriptorArgument &d, const std::string &name, TensorMap &result) {
  if (std::optional<DescriptorProblem> problem = checkDescriptor(d))
    raiseProblem(name, *problem);
  for (int dim = 0; dim < d.rank; ++dim)
    if (d.shape[dim] == 0)
      raiseProblem(name, {fmt::format("shape[{}] is 0", dim),
                          "an array with elements (or an empty grid, which launches nothing)"});
  Driver &driver = Driver::get();
  if (!driver.api().tensorMapEncodeTiled)
    throw makeError(
        ErrorCode::E0405, fmt::arg("v", driver.libraryPath()),
        fmt::arg("c", fmt::format("{}.{}", driver.version() / 1000, driver.version() % 1000 / 10)),
        fmt::arg("r", "12.0"))
        .addNote("cuTensorMapEncodeTiled is missing from the driver");

  int64_t bytes = scalarFacts(d.type).bytes();
  TensorMapForm form = tensorMapForm(d);
  uint64_t extents[maxDescriptorRank], strides[maxDescriptorRank];
  uint32_t elementStrides[maxDescriptorRank];
  // The driver counts dimensions from the innermost one; its stride is implied.
  for (int dim = 0; dim < d.rank; ++dim) {
    int from = d.rank - 1 - dim;
    extents[dim] = d.shape[from];
    elementStrides[dim] = 1;
    if (dim > 0)
      strides[dim - 1] = d.strides[from] * bytes;
  }
  CudaResult status = driver.api().tensorMapEncodeTiled(
      result.bytes, form.dataType, d.rank, reinterpret_cast<void *>(d.address), extents, strides,
      form.box, elementStrides, tensorMapNoInterleave, form.swizzle, form.promotion, form.fill);
  if (status != cudaSuccess)
    raiseProblem(name, {"the driver cannot encode it: " + driver.errorName(status),
                        "an address, shape and strides that describe memory of the GPU"});
}

//===----------------------------------------------------------------------===//
// Cache
//===----------------------------------------------------------------------===//

namespace {

/// Direct-mapped: a launch compares one entry. Two descriptors on one place take
/// turns, which costs an encoding each time and is unlikely with this many.
class TensorMapCache {
public:
  void find(const DescriptorArgument &d, const std::string &name, TensorMap &result) {
    Entry &entry = entries[hash(d) & (numEntries - 1)];
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (entry.isUsed && std::memcmp(&entry.key, &d, sizeof(d)) == 0) {
        result = entry.map;
        return;
      }
    }
    encode(d, name, result);
    std::lock_guard<std::mutex> lock(mutex);
    entry.key = d;
    entry.map = result;
    entry.isUsed = true;
  }

private:
  static constexpr size_t numEntries = 1024;
  struct Entry {
    DescriptorArgument key;
    TensorMap map;
    bool isUsed = false;
  };

  static uint64_t hash(const DescriptorArgument &d) {
    uint64_t words[sizeof(d) / 8], h = 0;
    std::memcpy(words, &d, sizeof(d));
    for (uint64_t word : words) {
      h = (h ^ word) * 0x9e3779b97f4a7c15ull;
      h ^= h >> 32;
    }
    return h;
  }

  std::mutex mutex;
  std::unique_ptr<Entry[]> entries{new Entry[numEntries]};
};

} // namespace

void findTensorMap(const DescriptorArgument &descriptor, const std::string &name,
                   TensorMap &result) {
  // Never freed: launches may come from static destructors.
  static auto *cache = new TensorMapCache();
  cache->find(descriptor, name, result);
}

} // namespace tilewright::launch
