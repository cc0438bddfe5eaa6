//===- SemanticAtomic.cpp - Read-modify-write on memory -------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How floats get max and min: IEEE numbers of one sign order like their bits,
// read as signed integers for positive ones and in reverse for negative ones. So
// max is a signed max on the lanes with a positive value and an unsigned min on
// those with a negative one; each lane takes part in exactly one of the two. The
// floats of 16 bits, which have no integer atomics, are compared as numbers instead.
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/SemanticInternal.h"

namespace tilewright::semantic {

static const char *nameOf(Semantic::AtomicName op) {
  static const char *const names[] = {"add", "max", "min", "and", "or", "xor", "xchg"};
  return names[static_cast<int>(op)];
}

static void checkAtomicType(Semantic::AtomicName op, const Value &pointer) {
  using Name = Semantic::AtomicName;
  if (!pointer.type.scalar.isPointer())
    throwTypeMismatch("pass a pointer argument plus offsets",
                      "tl.atomic_{} needs a pointer, got {}", nameOf(op), pointer.type.name());
  if (pointer.type.scalar.isConst())
    throwTypeMismatch("drop tl.const from the parameter", "Cannot store to a constant pointer: {}",
                      pointer.type.name());
  const DType &type = pointer.type.scalar.pointee();
  bool isWide = type.bitWidth() >= 32;
  bool isArithmetic = op == Name::Add || op == Name::Max || op == Name::Min;
  bool isBitwise = op == Name::And || op == Name::Or || op == Name::Xor;
  bool supported = isWide && !type.isPointer();
  if (isArithmetic)
    supported = supported || isHalfPrecision(type);
  if (isBitwise)
    supported = supported && type.isInteger();
  if (!supported)
    throwUnsupportedType(isArithmetic ? "use 32- or 64-bit integers or floats of 16 to 64 bits"
                         : isBitwise  ? "use 32- or 64-bit integers"
                                      : "use 32- or 64-bit integers or floats",
                         "tl.atomic_{} does not support {}", nameOf(op), type.name());
}

static AtomicOp primitiveOf(Semantic::AtomicName op, const DType &type) {
  using Name = Semantic::AtomicName;
  switch (op) {
  case Name::Add:
    return type.isFloating() ? AtomicOp::FloatAdd : AtomicOp::Add;
  case Name::Max:
    return type.isFloating() ? AtomicOp::FloatMax
           : type.isSigned() ? AtomicOp::MaxSigned
                             : AtomicOp::MaxUnsigned;
  case Name::Min:
    return type.isFloating() ? AtomicOp::FloatMin
           : type.isSigned() ? AtomicOp::MinSigned
                             : AtomicOp::MinUnsigned;
  case Name::And:
    return AtomicOp::And;
  case Name::Or:
    return AtomicOp::Or;
  case Name::Xor:
    return AtomicOp::Xor;
  case Name::Exchange:
    return AtomicOp::Exchange;
  }
  return AtomicOp::Add;
}

static DType integerOfWidth(int bits, bool isSigned) {
  if (bits <= 8)
    return isSigned ? ScalarKind::Int8 : ScalarKind::UInt8;
  if (bits == 16)
    return isSigned ? ScalarKind::Int16 : ScalarKind::UInt16;
  if (bits == 32)
    return isSigned ? ScalarKind::Int32 : ScalarKind::UInt32;
  return isSigned ? ScalarKind::Int64 : ScalarKind::UInt64;
}

static Value reinterpret(TileBuilder &builder, const Value &value, const DType &type) {
  if (value.type.scalar == type)
    return value;
  CastOp op = type.isPointer() ? CastOp::PointerCast : CastOp::Bitcast;
  return builder.cast(op, value, type, Rounding::NearestEven);
}

Value Semantic::floatExtremumAtomic(bool isMaximum, const Value &pointer, const Value &value,
                                    const std::optional<Value> &mask, MemorySemantic semantic,
                                    MemoryScope scope) {
  const DType type = value.type.scalar;
  DType signedType = integerOfWidth(type.bitWidth(), true);
  DType unsignedType = integerOfWidth(type.bitWidth(), false);
  Value signedBits = reinterpret(builder, value, signedType);
  Value zero = splatLike(builder.constantInt(signedType, 0), value);
  // The sign bit decides, so -0.0 and a negative NaN count as negative.
  Value isNegative = builder.compare(ComparePredicate::LessSigned, signedBits, zero);
  Value isPositive = invert(isNegative);
  auto restrict = [&](const Value &lanes) {
    return mask ? builder.binary(BinaryOp::And, *mask, lanes) : lanes;
  };
  int space = pointer.type.scalar.addressSpace();
  Value positive =
      builder.atomicRmw(isMaximum ? AtomicOp::MaxSigned : AtomicOp::MinSigned,
                        reinterpret(builder, pointer, DType::pointerTo(signedType, false, space)),
                        signedBits, restrict(isPositive), semantic, scope);
  Value negative = builder.atomicRmw(
      isMaximum ? AtomicOp::MinUnsigned : AtomicOp::MaxUnsigned,
      reinterpret(builder, pointer, DType::pointerTo(unsignedType, false, space)),
      reinterpret(builder, signedBits, unsignedType), restrict(isNegative), semantic, scope);
  Value old = builder.select(isPositive, positive, reinterpret(builder, negative, signedType));
  return reinterpret(builder, old, type);
}

Value Semantic::atomicRmw(AtomicName op, const Value &pointer, const Operand &operand,
                          const std::optional<Operand> &mask, MemorySemantic semantic,
                          MemoryScope scope) {
  checkAtomicType(op, pointer);
  std::string name = std::string("atomic_") + nameOf(op);
  const DType type = pointer.type.scalar.pointee();
  Value value = broadcastTo(cast(operand, type), pointer.type.shape);
  std::optional<Value> laneMask = maskLanes(mask, pointer, name.c_str());
  bool isExtremum = op == AtomicName::Max || op == AtomicName::Min;
  if (!type.isFloating() || op == AtomicName::Add || (isExtremum && isHalfPrecision(type)))
    return builder.atomicRmw(primitiveOf(op, type), pointer, value, laneMask, semantic, scope);
  if (isExtremum)
    return floatExtremumAtomic(op == AtomicName::Max, pointer, value, laneMask, semantic, scope);
  // An exchange moves bits, whatever they mean.
  DType bits = integerOfWidth(type.bitWidth(), true);
  DType bitsPointer = DType::pointerTo(bits, false, pointer.type.scalar.addressSpace());
  Value old = builder.atomicRmw(AtomicOp::Exchange, reinterpret(builder, pointer, bitsPointer),
                                reinterpret(builder, value, bits), laneMask, semantic, scope);
  return reinterpret(builder, old, type);
}

bool Semantic::canReduceByTma(AtomicName op, const Value &descriptor) {
  const DType type = descriptor.type.scalar.pointee();
  // 32-bit integers in every way; of floats, sums, and of those of 16 bits extrema.
  // Other types are left to pointers: the tensor map's type decides what the hardware
  // computes, and these are the ones it is sure to have.
  bool isWord = type.isInteger() && type.bitWidth() == 32 && op != AtomicName::Exchange;
  bool isSum = op == AtomicName::Add && type.isFloating() && !type.isFloat8() &&
               type.kind() != ScalarKind::Float64;
  bool isExtremumOfHalf = (op == AtomicName::Max || op == AtomicName::Min) && isHalfPrecision(type);
  return isWord || isSum || isExtremumOfHalf;
}

void Semantic::descriptorReduce(AtomicName op, const Value &descriptor,
                                const std::vector<Operand> &offsets, const Operand &operand) {
  const DType type = descriptor.type.scalar.pointee();
  Value value = broadcastTo(cast(operand, type), descriptor.type.scalar.block());
  builder.descriptorStore(descriptor, castAll(offsets, ScalarKind::Int32), value,
                          primitiveOf(op, type));
}

Value Semantic::atomicCas(const Value &pointer, const Operand &expected, const Operand &desired,
                          MemorySemantic semantic, MemoryScope scope) {
  if (!pointer.type.scalar.isPointer())
    throwTypeMismatch("pass a pointer argument plus offsets",
                      "tl.atomic_cas needs a pointer, got {}", pointer.type.name());
  if (pointer.type.scalar.isConst())
    throwTypeMismatch("drop tl.const from the parameter", "Cannot store to a constant pointer: {}",
                      pointer.type.name());
  const DType type = pointer.type.scalar.pointee();
  if (type.bitWidth() < 16 || type.isPointer())
    throwUnsupportedType("use a type of 16, 32 or 64 bits", "tl.atomic_cas does not support {}",
                         type.name());
  DType bits = type.isFloating() ? integerOfWidth(type.bitWidth(), true) : type;
  auto prepare = [&](const Operand &operand, const char *name) {
    // A cast would compare something else than what the user holds.
    if (const Value *value = std::get_if<Value>(&operand))
      if (value->type.scalar != type)
        throwTypeMismatch(fmt::format("cast it to {}", type.name()),
                          "tl.atomic_cas: {} is {}, the pointer points to {}", name,
                          value->type.name(), type.name());
    return reinterpret(builder, broadcastTo(cast(operand, type), pointer.type.shape), bits);
  };
  Value compareBits = prepare(expected, "cmp");
  Value valueBits = prepare(desired, "val");
  DType bitsPointer = DType::pointerTo(bits, false, pointer.type.scalar.addressSpace());
  Value old = builder.atomicCas(reinterpret(builder, pointer, bitsPointer), compareBits, valueBits,
                                semantic, scope);
  return reinterpret(builder, old, type);
}

/// The pointer to the bits of what an atomic load or store moves.
static Value pointerToBits(TileBuilder &builder, const Value &pointer, const char *name) {
  if (!pointer.type.scalar.isPointer())
    throwTypeMismatch("pass a pointer argument plus offsets", "tl.{} needs a pointer, got {}", name,
                      pointer.type.name());
  const DType &type = pointer.type.scalar.pointee();
  if (type.isPointer())
    throwUnsupportedType("cast the pointer to one to 64-bit integers", "tl.{} does not support {}",
                         name, type.name());
  DType bits = integerOfWidth(type.bitWidth(), true);
  return reinterpret(builder, pointer,
                     DType::pointerTo(bits, false, pointer.type.scalar.addressSpace()));
}

Value Semantic::atomicLoad(const Value &pointer, const std::optional<Operand> &mask,
                           MemorySemantic semantic, MemoryScope scope) {
  Value bitsPointer = pointerToBits(builder, pointer, "atomic_load");
  if (semantic != MemorySemantic::Acquire && semantic != MemorySemantic::Relaxed)
    throwInvalidArgument("choose 'acquire' or 'relaxed': it only reads",
                         "tl.atomic_load cannot release");
  std::optional<Value> lanes = maskLanes(mask, pointer, "atomic_load");
  DType bits = bitsPointer.type.scalar.pointee();
  Value zero = broadcastTo(builder.constantInt(bits, 0), pointer.type.shape);
  Value old = builder.atomicRmw(AtomicOp::Load, bitsPointer, zero, lanes, semantic, scope);
  const DType &type = pointer.type.scalar.pointee();
  // A stored boolean is any non-zero byte.
  return type.isBool() ? cast(Operand(old), type) : reinterpret(builder, old, type);
}

void Semantic::atomicStore(const Value &pointer, const Operand &operand,
                           const std::optional<Operand> &mask, MemorySemantic semantic,
                           MemoryScope scope) {
  Value bitsPointer = pointerToBits(builder, pointer, "atomic_store");
  if (pointer.type.scalar.isConst())
    throwTypeMismatch("drop tl.const from the parameter", "Cannot store to a constant pointer: {}",
                      pointer.type.name());
  if (semantic != MemorySemantic::Release && semantic != MemorySemantic::Relaxed)
    throwInvalidArgument("choose 'release' or 'relaxed': it only writes",
                         "tl.atomic_store cannot acquire");
  std::optional<Value> lanes = maskLanes(mask, pointer, "atomic_store");
  const DType &type = pointer.type.scalar.pointee();
  DType bits = bitsPointer.type.scalar.pointee();
  Value value = broadcastTo(cast(operand, type), pointer.type.shape);
  Value moved = type.isBool() ? cast(Operand(value), bits) : reinterpret(builder, value, bits);
  builder.atomicRmw(AtomicOp::Store, bitsPointer, moved, lanes, semantic, scope);
}

Value Semantic::atomicPoll(const Value &pointer, const Operand &expected,
                           const std::optional<Operand> &timeout, MemorySemantic semantic,
                           MemoryScope scope) {
  if (!pointer.type.scalar.isPointer() || pointer.type.isTile())
    throwTypeMismatch("pass a pointer argument plus a scalar offset",
                      "tl.atomic_poll needs a scalar pointer, got {}", pointer.type.name());
  const DType type = pointer.type.scalar.pointee();
  if (!type.isInteger() || type.bitWidth() < 16)
    throwUnsupportedType("use an integer type of 16, 32 or 64 bits",
                         "tl.atomic_poll does not support {}", type.name());
  if (semantic != MemorySemantic::Acquire && semantic != MemorySemantic::Relaxed)
    throwInvalidArgument("choose 'acquire' or 'relaxed': it only reads",
                         "tl.atomic_poll cannot release");
  Value wanted = cast(expected, type);
  if (wanted.type.isTile())
    throwTypeMismatch("compare with one value", "tl.atomic_poll needs a scalar to wait for, got {}",
                      wanted.type.name());
  std::optional<Value> limit;
  if (timeout)
    limit = cast(*timeout, DType(ScalarKind::Int64));
  return builder.atomicPoll(pointer, wanted, limit, semantic, scope);
}

} // namespace tilewright::semantic
