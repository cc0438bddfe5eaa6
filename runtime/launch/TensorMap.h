//===- TensorMap.h - Tensor maps for TMA ------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a host-side tensor descriptor as a launch reads it, its rules, and its
// encoding into the 128 bytes that TMA takes.
//
// How: encoding costs the driver hundreds of nanoseconds, so results are kept by
// all that goes into them. A map is a function of these values alone: one made for
// memory that was freed serves whatever lies at that address later.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAP_H
#define TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAP_H

#include "runtime/launch/ArgumentTypes.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::launch {

constexpr int maxDescriptorRank = 5;

/// What a tensor map is made from. Plain words and zero where unused, so that two
/// are compared as bytes. Dimensions are outermost first; strides are in elements.
struct DescriptorArgument {
  uint64_t address;
  uint8_t rank;
  ScalarKind type;
  uint8_t padsWithNan;
  uint8_t roundsToTf32;
  uint32_t reserved;
  int64_t shape[maxDescriptorRank];
  int64_t strides[maxDescriptorRank];
  int64_t block[maxDescriptorRank];
};
static_assert(sizeof(DescriptorArgument) == 16 + 3 * 8 * maxDescriptorRank, "no padding bytes");

/// The 128 bytes of CUtensorMap.
struct alignas(64) TensorMap {
  uint8_t bytes[128];
};

/// A rule that a descriptor breaks: "a stride of 40 bytes", "strides divisible by
/// 16 bytes".
struct DescriptorProblem {
  std::string reason, rule;
};
/// The first rule that the array breaks, or nothing. `isOnGpu` is false for arrays
/// of the interpreter, which may begin anywhere.
std::optional<DescriptorProblem> checkArray(const DescriptorArgument &descriptor, bool isOnGpu);
/// That, and the rules for blocks, which programs may set just before a launch.
std::optional<DescriptorProblem> checkDescriptor(const DescriptorArgument &descriptor,
                                                 bool isOnGpu = true);

/// Whether the last extent is a multiple of 16 bytes. TMA stores whole chunks of 16 bytes,
/// so other arrays are stored to by pointers: it would overwrite what follows each row.
bool hasWholeRows(const DescriptorArgument &descriptor);

/// What the driver is told of a tensor map beside the array, in its own numbers.
/// The box counts from the innermost dimension.
struct TensorMapForm {
  int dataType;
  uint32_t box[maxDescriptorRank];
  int swizzle;
  int promotion;
  int fill;
};
TensorMapForm tensorMapForm(const DescriptorArgument &descriptor);

/// Copies the tensor map of `descriptor` to `result`, encoding it unless it is
/// known. Raises E0215, naming the argument `name`. Callable from many threads.
void findTensorMap(const DescriptorArgument &descriptor, const std::string &name,
                   TensorMap &result);

/// "tensordesc<fp16[128,64]>", with ",nan" and ",tf32" before the end where asked
/// for: the type of such an argument.
std::string descriptorTypeString(const DescriptorArgument &descriptor);

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_TENSORMAP_H
