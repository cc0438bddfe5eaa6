//===- ArgumentReader.h - Python arguments as launch arguments --*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: turns the bound Python arguments of one launch into code bytes and words
// of a key and into 8-byte slots of the parameter block.
//
// How: a switch on the exact type serves torch tensors and plain numbers without
// a look-up; everything else goes a slower way in the order data_ptr()/dtype,
// __cuda_array_interface__, DLPack, index, float.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_ARGUMENTREADER_H
#define TILEWRIGHT_PYTHON_BINDINGS_ARGUMENTREADER_H

#include "runtime/launch/ArgumentTypes.h"
#include "runtime/launch/KeyTable.h"

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace tilewright {

/// What the declaration of a parameter says, in the form a launch needs.
struct LaunchParam {
  PyObject *name = nullptr; // interned
  std::string nameText;
  bool isConstexpr = false;
  bool isConstPointer = false;
  bool noSpecialize = false;
  bool noAlignment = false;
  /// Explicit type ("i64", "fp16", "*fp32"), else empty.
  std::string annotation;
  bool annotatedFloat = false;
  bool annotatedBool = false;
  bool annotatedPointer = false;
  PyObject *defaultValue = nullptr; // null: none
};

/// Constexpr values that are no numbers get a small number each, equal for equal
/// values of one type.
class ConstTokens {
public:
  ~ConstTokens();
  uint64_t token(PyObject *value, const LaunchParam &param);
  PyObject *dict = nullptr;
};

/// Whose streams the launch follows.
enum class Framework : uint8_t { None, Torch, Cupy, ArrayInterface };

/// The arguments of one launch, read.
class ArgumentReader {
public:
  ArgumentReader(const std::vector<LaunchParam> &params, ConstTokens &tokens,
                 launch::KeyBuilder &key, uint64_t *slots, bool isWarmup)
      : params(params), tokens(tokens), key(key), slots(slots), isWarmup(isWarmup) {}

  /// Reads all of `bound`; false where a NumPy array (or, if asked for,
  /// interpret mode) sends the launch to the interpreter.
  bool readAll(PyObject *const *bound);
  /// Adds one option to the key.
  void addOption(unsigned slot, PyObject *value);

  int device() const { return deviceOrdinal; }
  Framework framework() const { return from; }
  uint64_t interfaceStream() const { return arrayStream; }
  /// Bit i: parameter i (below 64) may not be written.
  uint64_t readOnlyMask() const { return readOnly; }

private:
  void read(size_t i, PyObject *value);
  void readConstexpr(size_t i, PyObject *value);
  void readInt(size_t i, PyObject *value);
  void readFloat(size_t i, double value);
  void readBool(size_t i, bool value);
  void readTorch(size_t i, PyObject *value);
  void readOther(size_t i, PyObject *value);
  void readDataPointerObject(size_t i, PyObject *value, PyObject *method);
  void readArrayInterface(size_t i, PyObject *interface, PyObject *value);
  void readDlpack(size_t i, PyObject *value);
  void setPointer(size_t i, uint64_t address, launch::ElementType type);
  void setDevice(size_t i, int ordinal);
  uint64_t hostVisiblePointer(size_t i, uint64_t address);
  launch::ElementType elementType(size_t i, PyObject *dtype);
  uint8_t constCode(size_t i, PyObject *value, uint64_t &word);

  const std::vector<LaunchParam> &params;
  ConstTokens &tokens;
  launch::KeyBuilder &key;
  uint64_t *slots;
  bool isWarmup;
  bool sawNumpy = false;
  int deviceOrdinal = -1;
  size_t deviceFrom = 0;
  Framework from = Framework::None;
  uint64_t arrayStream = 0;
  uint64_t readOnly = 0;
  std::vector<pybind11::object> keepAlive; // DLPack capsules
};

/// `constexpr(x)` as x; anything else as it stands.
pybind11::object unwrapHostConstexpr(PyObject *value);

/// Packs one value for a parameter of this type string; raises E0204 or E0119.
uint64_t packTyped(const std::string &type, PyObject *value, const std::string &name);

/// The current stream of a framework on a device.
uint64_t currentStreamOf(Framework framework, int device, uint64_t fallback);
/// The device that a launch without tensors goes to.
int currentDeviceOrdinal();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_ARGUMENTREADER_H
