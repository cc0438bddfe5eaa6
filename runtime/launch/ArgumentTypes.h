//===- ArgumentTypes.h - What a launch argument can be ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the one-byte code of an argument in a specialisation key, and element
// types under the names that NumPy, torch and the language give them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCH_ARGUMENTTYPES_H
#define TILEWRIGHT_RUNTIME_LAUNCH_ARGUMENTTYPES_H

#include "ir/support/ScalarTypes.h"

#include <cstdint>
#include <string>

namespace tilewright::launch {

/// The type of elements that "float32", "torch.float32", "<f4", "fp32" or "tl.float32"
/// names; Void where the language has no such type.
ScalarKind parseElementType(const std::string &text);

/// Code of one argument in the key. Constexpr codes from Int to Token are
/// followed by one word with the value; pointers are pointerCode + ScalarKind.
enum ArgumentCode : uint8_t {
  constNoneCode = 1,
  constTrueCode,
  constFalseCode,
  constIntCode,
  constFloatCode,
  constTokenCode,
  /// An int equal to 1 in a run-time position: compiled in as a constant.
  intOneCode,

  int32Code = 16,
  int64Code,
  uint64Code,
  boolCode,
  float32Code,
  /// The parameter's annotation gives the type.
  annotatedScalarCode,
  annotatedPointerCode,

  /// Followed by words that describe what is inside.
  tupleCode = 24,
  descriptorCode,

  pointerCode = 32,

  /// Flags: the integer is divisible by 8, but not by 16; the address or the integer is
  /// divisible by 16. Eight, since so many halfs are the largest vector.
  divisibleBy8Flag = 0x40,
  divisibleBy16Flag = 0x80,
};

/// A code without flags.
inline uint8_t plainCode(uint8_t code) {
  return static_cast<uint8_t>(code & ~(divisibleBy8Flag | divisibleBy16Flag));
}
/// The flag of an integer, or none.
inline uint8_t divisibilityFlag(int64_t number) {
  return number % 16 == 0 ? divisibleBy16Flag : number % 8 == 0 ? divisibleBy8Flag : 0;
}
/// What the flags say: 16, 8 or 1.
inline int divisibilityOf(uint8_t code) {
  return code & divisibleBy16Flag ? 16 : code & divisibleBy8Flag ? 8 : 1;
}

/// One 8-byte slot holds the argument.
inline bool isScalarCode(uint8_t code) {
  return code >= int32Code && code != tupleCode && code != descriptorCode;
}
inline bool isConstCode(uint8_t code) { return code < int32Code; }
inline bool hasConstWord(uint8_t code) { return code >= constIntCode && code <= constTokenCode; }

/// The type string of a run-time code: "i32", "*fp32", "*kfp32".
std::string typeString(uint8_t code, bool isConstPointer, const std::string &annotation);

/// Bits of a double as the annotated scalar type wants them ("fp16", "bf16",
/// "fp32", "fp64"), rounded to nearest even; false for any other type.
bool packFloat(const std::string &type, double value, uint64_t &bits);
/// Range check and bits of an integer for "i8" ... "u64", "i1". `isUnsigned64`
/// says that `value` holds a uint64 above the int64 range.
bool packInt(const std::string &type, int64_t value, bool isUnsigned64, uint64_t &bits);

} // namespace tilewright::launch

#endif // TILEWRIGHT_RUNTIME_LAUNCH_ARGUMENTTYPES_H
