//===- ArgumentOverlap.cpp - Arrays that share memory ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentOverlap.h"
#include "python/bindings/launch/TorchAccess.h"

#include <cstdlib>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

namespace {

constexpr int64_t unknownExtent = -1;

/// Bytes from the first to the last element, both included.
template <typename Shape>
int64_t spanBytes(const Shape *shape, const int64_t *strides, int rank, int64_t elementBytes) {
  int64_t span = 1;
  for (int dim = rank - 1; dim >= 0; --dim) {
    if (shape[dim] == 0)
      return 0;
    // Without strides the array is contiguous.
    span = strides ? span + (shape[dim] - 1) * std::abs(strides[dim]) : span * shape[dim];
  }
  return span * elementBytes;
}

struct Array {
  uint64_t address;
  bool isWritten;
  PyObject *value;
  const DescriptorArgument *descriptor;

  int64_t extent() const {
    if (descriptor)
      return spanBytes(descriptor->shape, descriptor->strides, descriptor->rank,
                       scalarFacts(descriptor->type).bytes());
    TorchAccess *torch = TorchAccess::get();
    if (torch && torch->isPlainTensor(Py_TYPE(value))) {
      DlTensor facts;
      if (torch->describe(value, facts) && facts.shape)
        return spanBytes(facts.shape, facts.strides, facts.ndim, (facts.typeBits + 7) / 8);
      if (int64_t bytes = torch->contiguousBytes(value); bytes >= 0)
        return bytes;
    }
    py::object bytes = py::module_::import("tilewright.runtime.arguments")
                           .attr("extent_in_bytes")(py::handle(value));
    return bytes.is_none() ? unknownExtent : bytes.cast<int64_t>();
  }
};

/// Whether anything but numbers, texts and None is inside a tuple, at any depth.
bool mayHoldArray(PyObject *tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    bool isPlain = item == Py_None || PyLong_Check(item) || PyFloat_Check(item) ||
                   PyUnicode_Check(item) || (PyTuple_Check(item) && !mayHoldArray(item));
    if (!isPlain)
      return true;
  }
  return false;
}

/// Whether two arrays share a byte, or may.
bool overlap(const Array &lhs, const Array &rhs) {
  if (lhs.address == rhs.address)
    return true;
  const Array &lower = lhs.address < rhs.address ? lhs : rhs;
  const Array &upper = lhs.address < rhs.address ? rhs : lhs;
  int64_t extent = lower.extent();
  return extent == unknownExtent || uint64_t(extent) > upper.address - lower.address;
}

} // namespace

bool argumentsOverlap(const ReadArguments &read, uint64_t writtenMask) {
  std::vector<Array> arrays;
  auto isWritten = [&](size_t param) { return param >= 64 || (writtenMask >> param & 1); };
  for (size_t i = 0; i < read.params.size(); ++i) {
    uint8_t code = plainCode(read.codes[i]);
    // It is not known which of the arrays inside a tuple the kernel writes.
    if (code == tupleCode && (!PyTuple_Check(read.bound[i]) || mayHoldArray(read.bound[i])))
      return true;
    bool isPointer = code >= pointerCode || code == annotatedPointerCode;
    if (isPointer && read.slots[i] != 0)
      arrays.push_back({read.slots[i], isWritten(i), read.bound[i], nullptr});
  }
  for (size_t i = 0; i < read.arguments.numDescriptors(); ++i) {
    const DescriptorArgument &descriptor = read.arguments.descriptor(i);
    arrays.push_back(
        {descriptor.address, isWritten(read.arguments.descriptorParam(i)), nullptr, &descriptor});
  }
  for (const Array &written : arrays)
    for (const Array &other : arrays)
      if (written.isWritten && &written != &other && overlap(written, other))
        return true;
  return false;
}

} // namespace tilewright
