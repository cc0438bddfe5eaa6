//===- PackedArguments.cpp - Arguments of a given type --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: arguments for a kernel that is known, and with it the type of each.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/ArgumentReaderInternal.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

/// Reads a value that says its own type: a tensor or a descriptor.
static void packAny(PyObject *value, size_t index, const std::string &name,
                    LaunchArguments &arguments) {
  std::vector<LaunchParam> params(1);
  params[0].nameText = name;
  ConstTokens tokens;
  KeyBuilder key(1, 2);
  ArgumentReader reader(params, tokens, key, /*slots=*/nullptr, arguments, /*isWarmup=*/false);
  if (!reader.readOne(params[0], index, value))
    throw makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", typeNameOf(value)));
}

/// A kernel for rows of whole chunks would overwrite what follows others.
static void checkRows(const std::string &type, const LaunchArguments &arguments,
                      const std::string &name) {
  bool needsWholeRows = type.size() > 3 && type.compare(type.size() - 3, 3, ":16") == 0;
  if (!needsWholeRows || arguments.numDescriptors() == 0)
    return;
  const DescriptorArgument &d = arguments.descriptor(arguments.numDescriptors() - 1);
  if (!hasWholeRows(d))
    throw makeError(
        ErrorCode::E0215, fmt::arg("a", name),
        fmt::arg("reason", fmt::format("its last extent is {} elements", d.shape[d.rank - 1])),
        fmt::arg("rule", "a multiple of 16 bytes, for which this kernel was compiled"));
}

static uint64_t packNumber(const std::string &type, PyObject *value, const std::string &name) {
  uint64_t bits = 0;
  bool packed = false;
  if (PyFloat_Check(value)) {
    packed = packFloat(type, PyFloat_AS_DOUBLE(value), bits);
  } else if (PyLong_Check(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0)
      number = static_cast<long long>(PyLong_AsUnsignedLongLongMask(value));
    packed =
        packInt(type, number, overflow > 0, bits) || packFloat(type, PyLong_AsDouble(value), bits);
  }
  if (!packed)
    throw makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", typeNameOf(value)))
        .addNote("the kernel was compiled for " + type);
  return bits;
}

void packTyped(const py::object &type, PyObject *value, size_t param, const std::string &name,
               LaunchArguments &arguments) {
  py::object plain = unwrapHostConstexpr(value);
  value = plain.ptr();
  if (type.is_none())
    return;
  if (PyTuple_Check(type.ptr())) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != PyTuple_GET_SIZE(type.ptr()))
      throw makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", typeNameOf(value)))
          .addNote("the kernel was compiled for " + std::string(py::str(type)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i)
      packTyped(py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(type.ptr(), i)),
                PyTuple_GET_ITEM(value, i), param, fmt::format("{}[{}]", name, i), arguments);
    return;
  }
  std::string text = py::str(type);
  bool isPointer = !text.empty() && text[0] == '*';
  if (text.rfind("tensordesc<", 0) == 0) {
    packAny(value, param, name, arguments);
    return checkRows(text, arguments, name);
  }
  if (isPointer && !PyLong_Check(value))
    return packAny(value, param, name, arguments);
  uint64_t *slot = arguments.newSlot();
  *slot = isPointer ? PyLong_AsUnsignedLongLongMask(value) : packNumber(text, value, name);
  arguments.add(slot);
}

} // namespace tilewright
