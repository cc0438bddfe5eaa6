//===- MemoryEntries.h - Loads, stores, descriptors, atomics ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the entries of LanguageBindings.cpp that touch memory. Each takes the bound
// arguments of one call.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_MEMORYENTRIES_H
#define TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_MEMORYENTRIES_H

#include "python/bindings/language/LanguageArguments.h"

namespace tilewright {

pybind11::object load(const Arguments &a);
pybind11::object store(const Arguments &a);
pybind11::object makeDescriptor(const Arguments &a);
pybind11::object descriptorLoad(const Arguments &a);
pybind11::object descriptorStore(const Arguments &a);
pybind11::object descriptorReduce(const Arguments &a);
/// Whether TMA does an access: "load", "store" or the name of a reduction.
pybind11::object descriptorByTma(const Arguments &a);
pybind11::object atomicCas(const Arguments &a);
pybind11::object atomicLoad(const Arguments &a);
pybind11::object atomicStore(const Arguments &a);
pybind11::object atomicPoll(const Arguments &a);

template <semantic::Semantic::AtomicName op> pybind11::object atomicRmw(const Arguments &a) {
  return wrapValue(a.language().atomicRmw(
      op, a.value(0, "pointer"), a.operand(1, "val"), a.optionalOperand(2, "mask"),
      semantic::Semantic::parseSemantic(a.string(3)), semantic::Semantic::parseScope(a.string(4))));
}

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LANGUAGE_MEMORYENTRIES_H
