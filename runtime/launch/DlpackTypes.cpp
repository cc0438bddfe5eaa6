//===- DlpackTypes.cpp - The parts of DLPack that are read ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/DlpackTypes.h"

namespace tilewright::launch {

/// DLDataTypeCode and bits in one number, to be told apart by one switch.
static constexpr int typeKey(int code, int bits) { return code << 8 | bits; }

namespace {
enum DlTypeCode {
  kDlInt = 0,
  kDlUInt = 1,
  kDlFloat = 2,
  kDlBfloat = 4,
  kDlBool = 6,
  kDlFloat8E4M3Fn = 10,
  kDlFloat8E4M3Fnuz = 11,
  kDlFloat8E5M2 = 12,
  kDlFloat8E5M2Fnuz = 13,
};
} // namespace

ElementType elementTypeOf(const DlTensor &tensor) {
  if (tensor.lanes != 1)
    return ElementType::Invalid;
  switch (typeKey(tensor.typeCode, tensor.typeBits)) {
  case typeKey(kDlInt, 8):
    return ElementType::Int8;
  case typeKey(kDlInt, 16):
    return ElementType::Int16;
  case typeKey(kDlInt, 32):
    return ElementType::Int32;
  case typeKey(kDlInt, 64):
    return ElementType::Int64;
  case typeKey(kDlUInt, 8):
    return ElementType::UInt8;
  case typeKey(kDlUInt, 16):
    return ElementType::UInt16;
  case typeKey(kDlUInt, 32):
    return ElementType::UInt32;
  case typeKey(kDlUInt, 64):
    return ElementType::UInt64;
  case typeKey(kDlFloat, 16):
    return ElementType::Float16;
  case typeKey(kDlFloat, 32):
    return ElementType::Float32;
  case typeKey(kDlFloat, 64):
    return ElementType::Float64;
  case typeKey(kDlBfloat, 16):
    return ElementType::BFloat16;
  case typeKey(kDlBool, 8):
    return ElementType::Int1;
  case typeKey(kDlFloat8E4M3Fn, 8):
    return ElementType::Float8E4M3;
  case typeKey(kDlFloat8E4M3Fnuz, 8):
    return ElementType::Float8E4B8;
  case typeKey(kDlFloat8E5M2, 8):
    return ElementType::Float8E5M2;
  case typeKey(kDlFloat8E5M2Fnuz, 8):
    return ElementType::Float8E5B16;
  default:
    return ElementType::Invalid;
  }
}

} // namespace tilewright::launch
