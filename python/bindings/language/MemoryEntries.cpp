//===- MemoryEntries.cpp - Loads, stores, descriptors, atomics ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/language/MemoryEntries.h"

namespace py = pybind11;

namespace tilewright {

using semantic::Operand;
using semantic::Semantic;
using semantic::Value;

py::object load(const Arguments &a) {
  return wrapValue(a.language().load(
      a.value(0, "pointer"), a.optionalOperand(1, "mask"), a.optionalOperand(2, "other"),
      Semantic::parseLoadOptions(a.string(3), a.string(4), a.flag(5))));
}

py::object store(const Arguments &a) {
  a.language().store(a.value(0, "pointer"), a.operand(1, "value"), a.optionalOperand(2, "mask"),
                     Semantic::parseStoreOptions(a.string(3), a.string(4)));
  return py::none();
}

py::object makeDescriptor(const Arguments &a) {
  std::optional<Value> made = a.language().makeDescriptor(
      a.value(0, "base"), a.operandTuple(1, "shape"), a.operandTuple(2, "strides"),
      a.integers(3, "block_shape"), a.flag(4));
  return made ? wrapValue(*made) : py::none();
}

py::object descriptorLoad(const Arguments &a) {
  return wrapValue(a.language().descriptorLoad(
      a.value(0, "descriptor"), a.operandTuple(1, "offset"),
      Semantic::parseLoadOptions(a.string(2), a.string(3), /*isVolatile=*/false)));
}

py::object descriptorStore(const Arguments &a) {
  a.language().descriptorStore(a.value(0, "descriptor"), a.operandTuple(1, "offset"),
                               a.operand(2, "value"));
  return py::none();
}

static Semantic::AtomicName descriptorReduction(const std::string &wanted) {
  using Name = Semantic::AtomicName;
  static const std::pair<const char *, Name> names[] = {{"add", Name::Add}, {"max", Name::Max},
                                                        {"min", Name::Min}, {"and", Name::And},
                                                        {"or", Name::Or},   {"xor", Name::Xor}};
  for (const auto &[name, op] : names)
    if (wanted == name)
      return op;
  throw py::value_error("no reduction: " + wanted);
}

py::object descriptorReduce(const Arguments &a) {
  a.language().descriptorReduce(descriptorReduction(a.string(0)), a.value(1, "descriptor"),
                                a.operandTuple(2, "offset"), a.operand(3, "value"));
  return py::none();
}

py::object descriptorByTma(const Arguments &a) {
  std::string access = a.string(0);
  Value descriptor = a.value(1, "descriptor");
  std::vector<Operand> offsets = a.operandTuple(2, "offset");
  if (access == "load")
    return py::bool_(a.language().canLoadByTma(descriptor, offsets));
  bool hasOp =
      access == "store" || Semantic::canReduceByTma(descriptorReduction(access), descriptor);
  return py::bool_(hasOp && a.language().canStoreByTma(descriptor, offsets, a.operand(3, "extent"),
                                                       a.operandTuple(4, "strides")));
}

py::object atomicCas(const Arguments &a) {
  return wrapValue(a.language().atomicCas(a.value(0, "pointer"), a.operand(1, "cmp"),
                                          a.operand(2, "val"), Semantic::parseSemantic(a.string(3)),
                                          Semantic::parseScope(a.string(4))));
}

/// What orders an atomic load or store where the program does not say it.
static semantic::MemorySemantic semanticOr(const Arguments &a, int index,
                                           semantic::MemorySemantic other) {
  return a.isNone(index) ? other : Semantic::parseSemantic(a.string(index));
}

py::object atomicLoad(const Arguments &a) {
  return wrapValue(a.language().atomicLoad(a.value(0, "pointer"), a.optionalOperand(1, "mask"),
                                           semanticOr(a, 2, semantic::MemorySemantic::Acquire),
                                           Semantic::parseScope(a.string(3))));
}

py::object atomicStore(const Arguments &a) {
  a.language().atomicStore(a.value(0, "pointer"), a.operand(1, "val"), a.optionalOperand(2, "mask"),
                           semanticOr(a, 3, semantic::MemorySemantic::Release),
                           Semantic::parseScope(a.string(4)));
  return py::none();
}

py::object atomicPoll(const Arguments &a) {
  auto semantic = semanticOr(a, 2, semantic::MemorySemantic::Acquire);
  return wrapValue(a.language().atomicPoll(a.value(0, "pointer"), a.operand(1, "expected_value"),
                                           a.optionalOperand(4, "timeout_ns"), semantic,
                                           Semantic::parseScope(a.string(3))));
}

} // namespace tilewright
