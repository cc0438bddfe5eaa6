//===- CompositeArguments.cpp - Tuples and descriptors of a launch --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the parts of ArgumentReader for arguments that hold others.
//
// How: in the key a tuple is its length, its class where it has named fields, and
// the code and value of each element; a descriptor is its element type, block,
// padding and whether its last extent is a multiple of 16 bytes. Both become several
// parameters of the kernel:
//   tuple        what its elements become, one after the other
//   descriptor   tensor map (where TMA is used), base, extents as i32, strides as i64
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/ArgumentReaderInternal.h"

#include <algorithm>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

void ArgumentReader::readTuple(ArgumentPlace &place, PyObject *value) {
  static const LaunchParam elementParam;
  place.code = tupleCode;
  Py_ssize_t size = PyTuple_GET_SIZE(value);
  bool hasClass = Py_TYPE(value) != &PyTuple_Type;
  key.addWord(static_cast<uint64_t>(size) << 1 | hasClass);
  // Classes give names to the elements.
  if (hasClass)
    key.addWord(tokens.token(reinterpret_cast<PyObject *>(Py_TYPE(value)), place));
  for (Py_ssize_t i = 0; i < size; ++i) {
    ArgumentPlace element{elementParam, place.index, arguments.newSlot()};
    element.outer = &place;
    element.position = static_cast<size_t>(i);
    // The elements of an element stand after it, here as in the key.
    uint8_t &code = elementCodes.push();
    size_t word = key.reserveWord();
    read(element, PyTuple_GET_ITEM(value, i));
    code = element.code;
    key.setWord(word, element.code);
    if (isScalarCode(element.code))
      arguments.add(element.slot);
  }
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

bool isTensorDescriptor(PyObject *value) {
  // Found once the program has imported the module; kept for good.
  static std::atomic<PyTypeObject *> known{nullptr};
  static const InternedName moduleName("tilewright.tools.tensor_descriptor");
  static const InternedName className("TensorDescriptor");
  PyTypeObject *type = known.load(std::memory_order_acquire);
  if (!type) {
    py::object module = py::reinterpret_steal<py::object>(PyImport_GetModule(moduleName));
    PyObject *found = module ? tryAttribute(module.ptr(), className) : nullptr;
    if (!found || !PyType_Check(found)) {
      PyErr_Clear();
      return false;
    }
    known = type = reinterpret_cast<PyTypeObject *>(found);
  }
  return Py_TYPE(value) == type || PyType_IsSubtype(Py_TYPE(value), type);
}

[[noreturn]] static void refuse(const ArgumentPlace &place, const std::string &reason,
                                const std::string &rule) {
  throw makeError(ErrorCode::E0215, fmt::arg("a", place.name()), fmt::arg("reason", reason),
                  fmt::arg("rule", rule));
}

/// The sequence as a tuple or list. PySequence_Fast copies subclasses, such as the
/// shapes of torch.
static py::object asTupleOrList(PyObject *sequence) {
  if (PyTuple_Check(sequence) || PyList_Check(sequence))
    return py::reinterpret_borrow<py::object>(sequence);
  return py::reinterpret_steal<py::object>(PySequence_Fast(sequence, ""));
}

/// Reads a tuple or list of `rank` integers.
static void readIntegers(const ArgumentPlace &place, const char *what, PyObject *sequence,
                         Py_ssize_t rank, int64_t *result) {
  py::object fast = asTupleOrList(sequence);
  if (!fast) {
    forgetException();
    refuse(place, fmt::format("{} is no list", what), "a list of integers");
  }
  if (PySequence_Fast_GET_SIZE(fast.ptr()) != rank)
    refuse(place, "shape, strides and block_shape have different lengths",
           "one entry per dimension in each");
  PyObject **items = PySequence_Fast_ITEMS(fast.ptr());
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject *item = items[i];
    py::object plain;
    long long small;
    if (PyLong_CheckExact(item)) {
      if (smallIntValue(item, small)) {
        result[i] = small;
        continue;
      }
    } else {
      plain = unwrapHostConstexpr(item);
      plain = py::reinterpret_steal<py::object>(PyNumber_Index(plain.ptr()));
      if (!plain) {
        forgetException();
        refuse(place, fmt::format("{}[{}] is no integer", what, i), "integers");
      }
      item = plain.ptr();
    }
    int overflow = 0;
    result[i] = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow)
      refuse(place, fmt::format("{}[{}] does not fit 64 bits", what, i), "smaller numbers");
  }
}

static const InternedName baseName("base"), shapeName("shape"), stridesName("strides"),
    blockName("block_shape"), paddingName("padding"), roundName("round_f32_to_tf32"),
    zeroName("zero");

static py::object attribute(PyObject *object, PyObject *name) {
  return py::reinterpret_steal<py::object>(checked(PyObject_GetAttr(object, name)));
}

/// All but address and type.
static void readDescriptorFields(const ArgumentPlace &place, PyObject *value,
                                 DescriptorArgument &d) {
  py::object shape = attribute(value, shapeName);
  Py_ssize_t rank = PySequence_Size(shape.ptr());
  if (rank < 1 || rank > maxDescriptorRank) {
    forgetException();
    refuse(place, rank < 0 ? "shape is no list" : fmt::format("it has {} dimensions", rank),
           fmt::format("1 to {} dimensions", maxDescriptorRank));
  }
  d.rank = static_cast<uint8_t>(rank);
  readIntegers(place, "shape", shape.ptr(), rank, d.shape);
  readIntegers(place, "strides", attribute(value, stridesName).ptr(), rank, d.strides);
  readIntegers(place, "block_shape", attribute(value, blockName).ptr(), rank, d.block);
  py::object padding = attribute(value, paddingName);
  d.padsWithNan = 0;
  if (padding.ptr() != zeroName) {
    std::string text = py::str(padding);
    if (text != "zero" && text != "nan")
      refuse(place, fmt::format("padding '{}'", text), "padding 'zero' or 'nan'");
    d.padsWithNan = text == "nan";
  }
  d.roundsToTf32 = PyObject_IsTrue(attribute(value, roundName).ptr()) == 1;
}

/// What a kernel is specialised for, as for numbers that are divisible by 16.
static bool isDivisible(const LaunchParam &param, const DescriptorArgument &d) {
  return hasWholeRows(d) && !param.noSpecialize && !param.noAlignment;
}

void ArgumentReader::readDescriptor(ArgumentPlace &place, PyObject *value) {
  static const LaunchParam baseParam;
  DescriptorArgument &d = arguments.addDescriptor(place.index);
  d = DescriptorArgument();
  ArgumentPlace base{baseParam, place.index, arguments.newSlot()};
  base.outer = place.outer;
  base.position = place.position;
  py::object array = attribute(value, baseName);
  bool wasNumpy = sawNumpy;
  sawNumpy = false;
  read(base, array.ptr());
  bool isNumpy = sawNumpy;
  sawNumpy |= wasNumpy;
  place.code = descriptorCode;
  if (isNumpy)
    return;
  uint8_t code = plainCode(base.code);
  if (code <= pointerCode)
    throw makeError(ErrorCode::E0204, fmt::arg("a", place.name() + ".base"),
                    fmt::arg("t", std::string(Py_TYPE(array.ptr())->tp_name)));
  d.address = *base.slot;
  d.type = static_cast<ScalarKind>(code - pointerCode);
  readDescriptorFields(place, value, d);

  key.addWord(uint64_t(d.type) | uint64_t(d.rank) << 8 | uint64_t(d.padsWithNan) << 16 |
              uint64_t(d.roundsToTf32) << 24 | uint64_t(isDivisible(place.param, d)) << 32);
  arguments.add(base.slot);
  for (int dim = 0; dim < d.rank; ++dim)
    key.addWord(static_cast<uint64_t>(d.block[dim]));
  for (int64_t *list : {d.shape, d.strides})
    for (int dim = 0; dim < d.rank; ++dim)
      arguments.add(&list[dim]);
  if (!isWarmup)
    if (std::optional<DescriptorProblem> problem = checkDescriptor(d))
      refuse(place, problem->reason, problem->rule);
}

void checkTensorDescriptor(py::handle value, const std::string &name, uint64_t address,
                           const std::string &dtype, bool isOnGpu, bool withBlock) {
  LaunchParam param;
  param.nameText = name;
  ArgumentPlace place{param};
  DescriptorArgument d = {};
  d.address = address;
  d.type = parseElementType(dtype);
  if (d.type == ScalarKind::Void)
    throw makeError(ErrorCode::E0206, fmt::arg("a", name), fmt::arg("d", dtype));
  readDescriptorFields(place, value.ptr(), d);
  if (std::optional<DescriptorProblem> problem =
          withBlock ? checkDescriptor(d, isOnGpu) : checkArray(d, isOnGpu))
    refuse(place, problem->reason, problem->rule);
}

bool checkNewDescriptor(PyObject *value) {
  static const std::vector<LaunchParam> params = [] {
    std::vector<LaunchParam> one(1);
    one[0].nameText = "descriptor";
    return one;
  }();
  if (!isTensorDescriptor(value))
    return false;
  ConstTokens tokens;
  KeyBuilder key(1, 2 + maxDescriptorRank);
  LaunchArguments arguments;
  // As for a warm-up: the array may be the interpreter's.
  ArgumentReader reader(params, tokens, key, /*slots=*/nullptr, arguments, /*isWarmup=*/true);
  if (!reader.readOne(params[0], 0, value))
    return false;
  bool isOnGpu = reader.device() >= 0;
  if (std::optional<DescriptorProblem> problem = checkArray(arguments.descriptor(0), isOnGpu))
    refuse(ArgumentPlace{params[0]}, problem->reason, problem->rule);
  return true;
}

void LaunchArguments::grow() {
  std::unique_ptr<void *[]> larger(new void *[2 * capacity]);
  std::copy(addresses, addresses + count, larger.get());
  heap = std::move(larger);
  addresses = heap.get();
  capacity *= 2;
}

void LaunchArguments::makeTensorMaps(const std::vector<bool> &tensorMaps,
                                     const std::vector<TensorMapRecipe> &recipes,
                                     const std::vector<LaunchParam> &params) {
  bool hasGaps = false;
  for (size_t i = 0; i < descriptors.size(); ++i) {
    if (i >= tensorMaps.size() || !tensorMaps[i]) {
      hasGaps = true;
      continue;
    }
    TensorMap &map = maps.push();
    const Descriptor &descriptor = descriptors[i];
    findTensorMap(descriptor.argument, params[descriptor.param].nameText, map);
    addresses[descriptor.position] = &map;
  }
  if (hasGaps)
    count = std::remove(addresses, addresses + count, nullptr) - addresses;
  // Recipes name the kernel's own parameters: the maps made here are none of them.
  size_t parameters = count;
  for (const TensorMapRecipe &recipe : recipes) {
    TensorMap &map = maps.push();
    makeTensorMap(recipe, addresses, parameters, map);
    add(&map);
  }
}

//===----------------------------------------------------------------------===//
// For the compiler
//===----------------------------------------------------------------------===//

py::object ArgumentReader::describeValue(const ArgumentPlace &place, PyObject *value,
                                         size_t &element, size_t &descriptor) const {
  uint8_t code = place.code;
  if (code == intOneCode)
    return py::make_tuple("c", 1);
  if (isConstCode(code))
    return py::make_tuple("c", unwrapHostConstexpr(value));
  if (code == descriptorCode) {
    const DescriptorArgument &d = arguments.descriptor(descriptor++);
    // A warm-up has no address; all else is checked as a launch would.
    if (std::optional<DescriptorProblem> problem = checkDescriptor(d, !isWarmup))
      refuse(place, problem->reason, problem->rule);
    return py::make_tuple("t", descriptorTypeString(d), isDivisible(place.param, d) ? 16 : 1);
  }
  if (code != tupleCode)
    return py::make_tuple("t", typeString(code, place.param.isConstPointer, place.param.annotation),
                          divisibilityOf(code));
  static const LaunchParam elementParam;
  py::list items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    ArgumentPlace inner{elementParam, place.index};
    inner.outer = &place;
    inner.position = static_cast<size_t>(i);
    inner.code = elementCodes[element++];
    items.append(describeValue(inner, PyTuple_GET_ITEM(value, i), element, descriptor));
  }
  return py::make_tuple("tuple", py::handle(reinterpret_cast<PyObject *>(Py_TYPE(value))), items);
}

py::list ArgumentReader::describe(PyObject *const *bound) const {
  py::list specs;
  size_t element = 0, descriptor = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    ArgumentPlace place{params[i], i};
    place.code = key.codes()[i];
    specs.append(describeValue(place, bound[i], element, descriptor));
  }
  return specs;
}

} // namespace tilewright
