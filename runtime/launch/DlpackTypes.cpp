//===- DlpackTypes.cpp - The parts of DLPack that are read ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/DlpackTypes.h"

#include <array>

namespace tilewright::launch {

/// Types by DLDataTypeCode and logarithm of the bytes.
static constexpr size_t numCodes = 16, numSizes = 4;

static constexpr size_t logOfBytes(int bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

static constexpr auto kindsByCode = [] {
  std::array<std::array<ScalarKind, numSizes>, numCodes> kinds = {};
  for (const ScalarFacts &facts : scalarTable)
    if (facts.dlpackCode != noDlpackCode)
      kinds[facts.dlpackCode][logOfBytes(facts.bytes())] = facts.kind;
  return kinds;
}();

ScalarKind elementTypeOf(const DlTensor &tensor) {
  int bytes = tensor.typeBits / 8;
  bool isKnown = tensor.lanes == 1 && tensor.typeCode < numCodes && bytes * 8 == tensor.typeBits;
  if (!isKnown)
    return ScalarKind::Void;
  ScalarKind kind = kindsByCode[tensor.typeCode][logOfBytes(bytes)];
  return scalarFacts(kind).bytes() == bytes ? kind : ScalarKind::Void;
}

} // namespace tilewright::launch
