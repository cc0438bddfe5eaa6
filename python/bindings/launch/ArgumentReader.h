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

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADER_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADER_H

#include "runtime/launch/ArgumentTypes.h"
#include "runtime/launch/KeyTable.h"
#include "runtime/launch/TensorMapRecipe.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class TorchAccess;

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
  /// Slot of the launch option of the same name (num_warps), which a keyword sets as well;
  /// noOption: there is none. Asked for when a keyword first names the parameter.
  static constexpr int noOption = -1, notAsked = -2;
  int option = notAsked;

  /// No type is declared and the value counts in every way: nearly every parameter.
  bool isPlain() const { return annotation.empty() && !noSpecialize && !noAlignment; }
};

/// One value on its way into the key: a parameter's, or an element of a tuple,
/// which is always specialised, whatever the declaration of the parameter says.
struct ArgumentPlace {
  const LaunchParam &param;
  size_t index = 0; ///< of the parameter
  uint64_t *slot = nullptr;
  uint8_t code = 0; ///< the result
  const ArgumentPlace *outer = nullptr;
  size_t position = 0; ///< in `outer`

  /// "x", or "x[2]".
  std::string name() const;
};

/// Constexpr values that are no numbers get a small number each, equal for equal
/// values of one type.
class ConstTokens {
public:
  ConstTokens();
  ~ConstTokens();
  uint64_t token(PyObject *value, const ArgumentPlace &place);
  PyObject *dict;

private:
  std::atomic<uint64_t> next{0};
};

/// A list whose elements stay where they are; the first ones need no allocation.
template <typename T, size_t inlineCount> class StableList {
public:
  T &push() {
    size_t position = count++;
    if (position < inlineCount)
      return inlineItems[position];
    if (!more)
      more = std::make_unique<std::deque<T>>();
    return more->emplace_back();
  }
  T &operator[](size_t i) { return i < inlineCount ? inlineItems[i] : (*more)[i - inlineCount]; }
  const T &operator[](size_t i) const {
    return i < inlineCount ? inlineItems[i] : (*more)[i - inlineCount];
  }
  size_t size() const { return count; }

private:
  size_t count = 0;
  T inlineItems[inlineCount];
  std::unique_ptr<std::deque<T>> more;
};

/// What the kernel takes, in order: the addresses of its parameters.
class LaunchArguments {
public:
  LaunchArguments() = default;
  LaunchArguments(const LaunchArguments &) = delete;

  void add(void *address) {
    if (count == capacity)
      grow();
    addresses[count++] = address;
  }
  size_t size() const { return count; }
  void **parameters() const { return addresses; }

  /// A descriptor, before whose base, shape and strides stands its tensor map
  /// where the kernel takes one.
  launch::DescriptorArgument &addDescriptor(size_t param) {
    Descriptor &descriptor = descriptors.push();
    descriptor.position = count;
    descriptor.param = param;
    add(nullptr);
    return descriptor.argument;
  }
  size_t numDescriptors() const { return descriptors.size(); }
  const launch::DescriptorArgument &descriptor(size_t i) const { return descriptors[i].argument; }
  /// The parameter that descriptor i was given for.
  size_t descriptorParam(size_t i) const { return descriptors[i].param; }
  uint64_t *newSlot() { return &extra.push(); }

  /// Once all are added: puts a tensor map in the place of descriptor i where bit i of
  /// `tensorMaps` is set, closes the place elsewhere, and adds those of `recipes`.
  void makeTensorMaps(const std::vector<bool> &tensorMaps,
                      const std::vector<launch::TensorMapRecipe> &recipes,
                      const std::vector<LaunchParam> &params);

private:
  static constexpr size_t maxInline = 80;
  struct Descriptor {
    launch::DescriptorArgument argument;
    size_t position; ///< among the addresses
    size_t param;
  };
  void grow();

  void *inlineAddresses[maxInline];
  std::unique_ptr<void *[]> heap;
  void **addresses = inlineAddresses;
  size_t capacity = maxInline, count = 0;
  StableList<uint64_t, 64> extra;
  StableList<Descriptor, 4> descriptors;
  StableList<launch::TensorMap, 4> maps;
};

/// Whose streams the launch follows.
enum class Framework : uint8_t { None, Torch, Cupy, ArrayInterface };

/// The arguments of one launch, read.
class ArgumentReader {
public:
  ArgumentReader(const std::vector<LaunchParam> &params, ConstTokens &tokens,
                 launch::KeyBuilder &key, uint64_t *slots, LaunchArguments &arguments,
                 bool isWarmup)
      : params(params), tokens(tokens), key(key), slots(slots), arguments(arguments),
        isWarmup(isWarmup) {}

  /// Reads all of `bound` that is not null; false where a NumPy array (or, if asked
  /// for, interpret mode) sends the launch to the interpreter.
  bool readAll(PyObject *const *bound);
  /// Reads one value as parameter `index`; false as above.
  bool readOne(const LaunchParam &param, size_t index, PyObject *value);
  /// Adds one option to the key.
  void addOption(unsigned slot, PyObject *value);

  int device() const { return deviceOrdinal; }
  Framework framework() const { return from; }
  uint64_t interfaceStream() const { return arrayStream; }
  /// Bit i: parameter i (below 64) may not be written.
  uint64_t readOnlyMask() const { return readOnly; }

  /// What was found out about each parameter, for the compiler: ("c", value),
  /// ("t", type, divisibility), or ("tuple", class, [...]). Raises E0215 for a
  /// descriptor that breaks a rule.
  pybind11::list describe(PyObject *const *bound) const;

private:
  void read(ArgumentPlace &place, PyObject *value);
  void readConstexpr(ArgumentPlace &place, PyObject *value);
  void readInt(ArgumentPlace &place, PyObject *value);
  void readIntAsDeclared(ArgumentPlace &place, PyObject *value);
  void readFloat(ArgumentPlace &place, double value);
  void readBool(ArgumentPlace &place, bool value);
  void readTorch(ArgumentPlace &place, const TorchAccess &torch, PyObject *value);
  void readTorchByCalls(ArgumentPlace &place, const TorchAccess &torch, PyObject *value);
  uint64_t placeTorch(const ArgumentPlace &place, uint64_t address, int ordinal);
  void readTuple(ArgumentPlace &place, PyObject *value);
  void readDescriptor(ArgumentPlace &place, PyObject *value);
  void readOther(ArgumentPlace &place, PyObject *value);
  void readDataPointerObject(ArgumentPlace &place, PyObject *value, PyObject *method);
  void readArrayInterface(ArgumentPlace &place, PyObject *interface, PyObject *value);
  void readDlpack(ArgumentPlace &place, PyObject *value);
  void setPointer(ArgumentPlace &place, uint64_t address, ScalarKind type);
  void setDevice(const ArgumentPlace &place, int ordinal);
  void setOtherDevice(const ArgumentPlace &place, int ordinal);
  uint64_t hostVisiblePointer(const ArgumentPlace &place, uint64_t address);
  ScalarKind elementType(const ArgumentPlace &place, PyObject *dtype);
  uint8_t constCode(const ArgumentPlace &place, PyObject *value, uint64_t &word);
  pybind11::object describeValue(const ArgumentPlace &place, PyObject *value, size_t &element,
                                 size_t &descriptor) const;

  const std::vector<LaunchParam> &params;
  ConstTokens &tokens;
  launch::KeyBuilder &key;
  uint64_t *slots;
  LaunchArguments &arguments;
  bool isWarmup;
  bool sawNumpy = false;
  int deviceOrdinal = -1;
  size_t deviceFrom = 0;
  Framework from = Framework::None;
  uint64_t arrayStream = 0;
  uint64_t readOnly = 0;
  std::vector<pybind11::object> keepAlive; // DLPack capsules
  /// Codes of the elements of tuples, in order.
  StableList<uint8_t, 64> elementCodes;
};

/// How often the text of a jit function was replaced; nothing for other objects.
std::optional<uint64_t> versionOfFunction(PyObject *value);

/// A host-side tensor descriptor: tools.tensor_descriptor.TensorDescriptor.
bool isTensorDescriptor(PyObject *value);
/// Raises E0215 for a rule that such an object breaks, read with this address and
/// element type; without its block where that may still change.
void checkTensorDescriptor(pybind11::handle value, const std::string &name, uint64_t address,
                           const std::string &dtype, bool isOnGpu, bool withBlock);

/// The same for a descriptor that is being made, without its block, read as a launch
/// would; false where a launch cannot read it.
bool checkNewDescriptor(PyObject *value);

/// `constexpr(x)` as x; anything else as it stands.
pybind11::object unwrapHostConstexpr(PyObject *value);

/// Adds one value for a parameter of this type: a string, or a tuple of them with
/// None for constants. Raises E0204, E0119 or E0215.
void packTyped(const pybind11::object &type, PyObject *value, size_t param, const std::string &name,
               LaunchArguments &arguments);

/// The current stream of a framework on a device.
uint64_t currentStreamOf(Framework framework, int device, uint64_t fallback);
/// The device that a launch without tensors goes to.
int currentDeviceOrdinal();

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_ARGUMENTREADER_H
