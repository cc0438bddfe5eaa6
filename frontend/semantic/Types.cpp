//===- Types.cpp - Types and values of the tile language ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/Types.h"

namespace tilewright::semantic {

namespace {

/// All that is known about a scalar kind but the pointer, in one row.
struct KindFacts {
  ScalarKind kind;
  const char *name;
  const char *longName;
  int bits;
  int mantissa; // explicit bits; 0 marks a type that is not floating
  bool isSigned;
};

constexpr KindFacts kindTable[] = {
    {ScalarKind::Void, "void", "void", 0, 0, false},
    {ScalarKind::Int1, "i1", "int1", 1, 0, false},
    {ScalarKind::Int8, "i8", "int8", 8, 0, true},
    {ScalarKind::Int16, "i16", "int16", 16, 0, true},
    {ScalarKind::Int32, "i32", "int32", 32, 0, true},
    {ScalarKind::Int64, "i64", "int64", 64, 0, true},
    {ScalarKind::UInt8, "u8", "uint8", 8, 0, false},
    {ScalarKind::UInt16, "u16", "uint16", 16, 0, false},
    {ScalarKind::UInt32, "u32", "uint32", 32, 0, false},
    {ScalarKind::UInt64, "u64", "uint64", 64, 0, false},
    {ScalarKind::Float8E4M3, "fp8e4nv", "float8e4nv", 8, 3, true},
    {ScalarKind::Float8E5M2, "fp8e5", "float8e5", 8, 2, true},
    {ScalarKind::Float8E4B15, "fp8e4b15", "float8e4b15", 8, 3, true},
    {ScalarKind::Float8E4B8, "fp8e4b8", "float8e4b8", 8, 3, true},
    {ScalarKind::Float8E5B16, "fp8e5b16", "float8e5b16", 8, 2, true},
    {ScalarKind::Float16, "fp16", "float16", 16, 10, true},
    {ScalarKind::BFloat16, "bf16", "bfloat16", 16, 7, true},
    {ScalarKind::Float32, "fp32", "float32", 32, 23, true},
    {ScalarKind::Float64, "fp64", "float64", 64, 52, true},
    {ScalarKind::Pointer, "*", "pointer", 64, 0, false},
    {ScalarKind::Descriptor, "tensordesc", "tensordesc", 64, 0, false},
};

const KindFacts &factsOf(ScalarKind kind) { return kindTable[static_cast<size_t>(kind)]; }

// The table is indexed by the enum; a row out of order would corrupt all facts.
constexpr bool tableIsOrdered() {
  for (size_t i = 0; i < sizeof(kindTable) / sizeof(kindTable[0]); ++i)
    if (static_cast<size_t>(kindTable[i].kind) != i)
      return false;
  return true;
}
static_assert(tableIsOrdered(), "kindTable must follow ScalarKind");

} // namespace

DType DType::pointerTo(DType pointee, bool isConst, int addressSpace) {
  DType result(ScalarKind::Pointer);
  result.constPointer = isConst;
  result.space = addressSpace;
  result.pointeeType = std::make_shared<const DType>(std::move(pointee));
  return result;
}

DType DType::descriptorOf(DType element, std::vector<int64_t> block) {
  DType result(ScalarKind::Descriptor);
  result.pointeeType = std::make_shared<const DType>(std::move(element));
  result.blockShape = std::make_shared<const std::vector<int64_t>>(std::move(block));
  return result;
}

bool DType::isInteger() const {
  return scalarKind >= ScalarKind::Int1 && scalarKind <= ScalarKind::UInt64;
}

bool DType::isSigned() const { return isInteger() && factsOf(scalarKind).isSigned; }

bool DType::isFloating() const { return factsOf(scalarKind).mantissa != 0; }

bool DType::isFloat8() const { return isFloating() && bitWidth() == 8; }

int DType::bitWidth() const { return factsOf(scalarKind).bits; }

int DType::sizeInBytes() const { return (bitWidth() + 7) / 8; }

int DType::mantissaBits() const { return factsOf(scalarKind).mantissa; }

std::string DType::name() const {
  if (isPointer())
    return (constPointer ? "*k" : "*") + pointeeType->name();
  if (isDescriptor())
    return "tensordesc<" + pointeeType->name() + shapeName(*blockShape) + ">";
  return factsOf(scalarKind).name;
}

std::string DType::longName() const {
  if (isPointer())
    return (constPointer ? "const_pointer<" : "pointer<") + pointeeType->name() + ">";
  return factsOf(scalarKind).longName;
}

bool DType::parse(const std::string &shortName, DType &result) {
  if (!shortName.empty() && shortName[0] == '*') {
    // No scalar name starts with k, so *k... can only mean a const pointer.
    bool isConst = shortName.size() > 1 && shortName[1] == 'k';
    DType pointee;
    if (!parse(shortName.substr(isConst ? 2 : 1), pointee))
      return false;
    result = pointerTo(pointee, isConst);
    return true;
  }
  for (const KindFacts &facts : kindTable) {
    // Both hold other types; a descriptor has no name that parses.
    if (facts.kind == ScalarKind::Pointer || facts.kind == ScalarKind::Descriptor)
      continue;
    if (shortName == facts.name || shortName == facts.longName) {
      result = DType(facts.kind);
      return true;
    }
  }
  return false;
}

bool DType::operator==(const DType &other) const {
  if (scalarKind != other.scalarKind)
    return false;
  if (isDescriptor())
    return *pointeeType == *other.pointeeType && *blockShape == *other.blockShape;
  if (!isPointer())
    return true;
  return constPointer == other.constPointer && space == other.space &&
         (pointeeType == other.pointeeType || *pointeeType == *other.pointeeType);
}

int64_t Type::numElements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string Type::name() const {
  return isTile() ? scalar.name() + shapeName(shape) : scalar.name();
}

std::string shapeName(const std::vector<int64_t> &shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

} // namespace tilewright::semantic
