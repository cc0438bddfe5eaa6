//===- Types.h - Types and values of the tile language ----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the language's own scalar and tile types, and a value that both
// evaluators understand. Signedness lives here: below this folder integers are
// signless and the operation says how they are read.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_FRONTEND_SEMANTIC_TYPES_H
#define TILEWRIGHT_FRONTEND_SEMANTIC_TYPES_H

#include "ir/support/ScalarTypes.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::semantic {

using tilewright::ScalarKind;

/// A scalar type. Pointers know what they point to; everything else is a kind.
class DType {
public:
  DType(ScalarKind kind = ScalarKind::Void) : scalarKind(kind) {}
  static DType pointerTo(DType pointee, bool isConst = false, int addressSpace = 1);
  static DType descriptorOf(DType element, std::vector<int64_t> block);

  ScalarKind kind() const { return scalarKind; }
  bool isPointer() const { return scalarKind == ScalarKind::Pointer; }
  const DType &pointee() const { return *pointeeType; }
  bool isDescriptor() const { return scalarKind == ScalarKind::Descriptor; }
  /// The block shape of a descriptor, whose element type is the pointee.
  const std::vector<int64_t> &block() const { return *blockShape; }
  bool isConst() const { return constPointer; }
  int addressSpace() const { return space; }

  bool isBool() const { return scalarKind == ScalarKind::Int1; }
  /// Integers, the boolean included.
  bool isInteger() const;
  bool isSigned() const;
  bool isUnsigned() const { return isInteger() && !isSigned(); }
  bool isFloating() const;
  bool isFloat8() const;
  /// Whether no evaluator converts it: Semantic does, by integer operations.
  bool isSoftwareFloat8() const {
    return scalarKind >= ScalarKind::Float8E4B15 && scalarKind <= ScalarKind::Float8E5B16;
  }
  /// Bits of one element: 1 for the boolean, 64 for a pointer.
  int bitWidth() const;
  /// Bytes of one element in memory: the boolean takes one.
  int sizeInBytes() const;
  /// Explicit mantissa bits of a floating type (23 for Float32), else 0.
  int mantissaBits() const;

  /// Triton's short name: fp32, bf16, fp8e4nv, i32, u8, i1, *fp32, *ki32 ...
  std::string name() const;
  /// The long name: float32, int32, uint8, pointer<fp32>.
  std::string longName() const;
  /// The type of a short name; false where it is none.
  static bool parse(const std::string &shortName, DType &result);

  bool operator==(const DType &other) const;
  bool operator!=(const DType &other) const { return !(*this == other); }

private:
  ScalarKind scalarKind;
  bool constPointer = false;
  int space = 1;
  std::shared_ptr<const DType> pointeeType;
  std::shared_ptr<const std::vector<int64_t>> blockShape;
};

/// A scalar (no shape) or a tile. A tile of rank 0 does not exist.
struct Type {
  DType scalar;
  std::vector<int64_t> shape;

  Type() = default;
  Type(DType scalar, std::vector<int64_t> shape = {})
      : scalar(std::move(scalar)), shape(std::move(shape)) {}

  bool isTile() const { return !shape.empty(); }
  int rank() const { return static_cast<int>(shape.size()); }
  int64_t numElements() const;
  Type withScalar(DType newScalar) const { return {std::move(newScalar), shape}; }
  Type withShape(std::vector<int64_t> newShape) const { return {scalar, std::move(newShape)}; }
  /// "fp32" or "fp32[128, 64]": the words of messages.
  std::string name() const;
  bool operator==(const Type &other) const {
    return scalar == other.scalar && shape == other.shape;
  }
  bool operator!=(const Type &other) const { return !(*this == other); }
};

/// "[128, 64]", the form of shapes in messages.
std::string shapeName(const std::vector<int64_t> &shape);

/// What a builder hands out for a value: an SSA value for the emitter (held
/// without ownership), a tile for the interpreter (owned).
using Handle = std::shared_ptr<void>;

/// A run-time value: a scalar or a tile. Copying is cheap.
struct Value {
  Type type;
  Handle handle;

  explicit operator bool() const { return static_cast<bool>(handle); }
};

} // namespace tilewright::semantic

#endif // TILEWRIGHT_FRONTEND_SEMANTIC_TYPES_H
