//===- Types.cpp - Types and values of the tile language ------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/semantic/Types.h"

namespace tilewright::semantic {

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

bool DType::isSigned() const { return isInteger() && scalarFacts(scalarKind).isSigned; }

bool DType::isFloating() const { return scalarFacts(scalarKind).isFloating(); }

bool DType::isFloat8() const { return isFloating() && bitWidth() == 8; }

int DType::bitWidth() const { return scalarFacts(scalarKind).bits; }

int DType::sizeInBytes() const { return scalarFacts(scalarKind).bytes(); }

int DType::mantissaBits() const { return scalarFacts(scalarKind).mantissa; }

std::string DType::name() const {
  if (isPointer())
    return (constPointer ? "*k" : "*") + pointeeType->name();
  if (isDescriptor())
    return "tensordesc<" + pointeeType->name() + shapeName(*blockShape) + ">";
  return scalarFacts(scalarKind).name;
}

std::string DType::longName() const {
  if (isPointer())
    return (constPointer ? "const_pointer<" : "pointer<") + pointeeType->name() + ">";
  return scalarFacts(scalarKind).longName;
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
  for (const ScalarFacts &facts : scalarTable) {
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
