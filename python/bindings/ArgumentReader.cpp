//===- ArgumentReader.cpp - Python arguments as launch arguments ----------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/ArgumentReader.h"
#include "ir/support/Error.h"
#include "python/bindings/PythonError.h"
#include "python/bindings/TorchAccess.h"
#include "runtime/driver/Driver.h"

#include <cstring>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

static PyObject *interned(const char *text) { return PyUnicode_InternFromString(text); }

/// Attribute as a new reference, or null without an error set.
static PyObject *tryAttribute(PyObject *object, PyObject *name) {
  PyObject *result = PyObject_GetAttr(object, name);
  if (!result)
    PyErr_Clear();
  return result;
}

static bool moduleStartsWith(PyTypeObject *type, const char *prefix) {
  static PyObject *moduleName = interned("__module__");
  py::object module = py::reinterpret_steal<py::object>(
      tryAttribute(reinterpret_cast<PyObject *>(type), moduleName));
  if (!module || !PyUnicode_Check(module.ptr()))
    return false;
  const char *text = PyUnicode_AsUTF8(module.ptr());
  size_t length = std::strlen(prefix);
  return text && std::strncmp(text, prefix, length) == 0 &&
         (text[length] == '\0' || text[length] == '.');
}

static std::string typeNameOf(PyObject *value) { return Py_TYPE(value)->tp_name; }

[[noreturn]] static void raiseArgumentType(const std::string &name, PyObject *value) {
  throw makeError(ErrorCode::E0204, fmt::arg("a", name), fmt::arg("t", typeNameOf(value)));
}

/// The part of a type's name after the last dot.
static const char *shortTypeName(PyTypeObject *type) {
  const char *dot = std::strrchr(type->tp_name, '.');
  return dot ? dot + 1 : type->tp_name;
}

py::object unwrapHostConstexpr(PyObject *value) {
  static PyTypeObject *constexprType = nullptr;
  static PyObject *valueName = interned("value");
  PyTypeObject *type = Py_TYPE(value);
  if (!constexprType && !std::strcmp(shortTypeName(type), "constexpr") &&
      moduleStartsWith(type, "tilewright")) {
    Py_INCREF(type);
    constexprType = type;
  }
  if (type != constexprType)
    return py::reinterpret_borrow<py::object>(value);
  return py::reinterpret_steal<py::object>(checked(PyObject_GetAttr(value, valueName)));
}

//===----------------------------------------------------------------------===//
// Constexpr values
//===----------------------------------------------------------------------===//

ConstTokens::~ConstTokens() { Py_XDECREF(dict); }

std::string ArgumentPlace::name() const {
  return outer ? fmt::format("{}[{}]", outer->name(), position) : param.nameText;
}

uint64_t ConstTokens::token(PyObject *value, const ArgumentPlace &place) {
#ifdef Py_GIL_DISABLED
  std::lock_guard<std::recursive_mutex> lock(mutex);
#endif
  if (!dict)
    dict = checked(PyDict_New());
  py::object dictKey;
  if (PyUnicode_CheckExact(value)) {
    dictKey = py::reinterpret_borrow<py::object>(value);
  } else if (PyTuple_Check(value) || PyList_Check(value) || PyDict_Check(value)) {
    // 1, 1.0 and True are equal inside a tuple but compile differently.
    dictKey = py::make_tuple(py::handle(reinterpret_cast<PyObject *>(Py_TYPE(value))),
                             py::module_::import("tilewright.runtime.dependencies")
                                 .attr("encode_value")(py::handle(value)));
  } else {
    dictKey =
        py::make_tuple(py::handle(reinterpret_cast<PyObject *>(Py_TYPE(value))), py::handle(value));
  }
  PyObject *found = PyDict_GetItemWithError(dict, dictKey.ptr());
  if (found)
    return PyLong_AsUnsignedLongLong(found);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    throw makeError(ErrorCode::E0204, fmt::arg("a", place.name()), fmt::arg("t", typeNameOf(value)))
        .addNote("a constexpr argument must be hashable: it is part of the "
                 "key of the compiled kernel");
  }
  uint64_t next = static_cast<uint64_t>(PyDict_Size(dict));
  py::int_ number(next);
  if (PyDict_SetItem(dict, dictKey.ptr(), number.ptr()) < 0)
    throw py::error_already_set();
  return next;
}

uint8_t ArgumentReader::constCode(const ArgumentPlace &place, PyObject *value, uint64_t &word) {
  if (value == Py_None)
    return kConstNone;
  if (value == Py_True)
    return kConstTrue;
  if (value == Py_False)
    return kConstFalse;
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) {
      word = static_cast<uint64_t>(number);
      return kConstInt;
    }
  } else if (PyFloat_CheckExact(value)) {
    double number = PyFloat_AS_DOUBLE(value);
    std::memcpy(&word, &number, sizeof(word));
    return kConstFloat;
  }
  word = tokens.token(value, place);
  return kConstToken;
}

/// Whether the value can be no `constexpr(x)`; decided without looking at names.
static bool isPlainConstant(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  return type == &PyLong_Type || type == &PyBool_Type || type == &PyUnicode_Type ||
         type == &PyFloat_Type || value == Py_None;
}

void ArgumentReader::readConstexpr(ArgumentPlace &place, PyObject *value) {
  uint64_t word = 0;
  place.code = isPlainConstant(value) ? constCode(place, value, word)
                                      : constCode(place, unwrapHostConstexpr(value).ptr(), word);
  if (hasConstWord(place.code))
    key.addWord(word);
}

void ArgumentReader::addOption(unsigned slot, PyObject *value) {
  static const LaunchParam option;
  uint64_t word = 0;
  uint8_t code = isPlainConstant(value)
                     ? constCode({option}, value, word)
                     : constCode({option}, unwrapHostConstexpr(value).ptr(), word);
  // The high bit keeps an option's word apart from any small value.
  key.addWord((uint64_t(1) << 63) | (uint64_t(slot) << 8) | code);
  key.addWord(word);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The value of an int of one digit, without a call.
static bool smallIntValue(PyObject *value, long long &number) {
#if PY_VERSION_HEX >= 0x030C0000
  auto *object = reinterpret_cast<PyLongObject *>(value);
  if (!PyUnstable_Long_IsCompact(object))
    return false;
  number = PyUnstable_Long_CompactValue(object);
  return true;
#else
  Py_ssize_t size = Py_SIZE(value);
  if (size < -1 || size > 1)
    return false;
  number = size * static_cast<long long>(reinterpret_cast<PyLongObject *>(value)->ob_digit[0]);
  return true;
#endif
}

void ArgumentReader::readInt(ArgumentPlace &place, PyObject *value) {
  long long number;
  if (!place.param.isPlain() || !smallIntValue(value, number))
    return readIntAsDeclared(place, value);
  if (number == 1) {
    place.code = kIntOne;
    return;
  }
  *place.slot = static_cast<uint64_t>(number);
  // A digit has 30 bits, or 15.
  place.code = number % 16 == 0 ? kInt32 | kDivisible : kInt32;
}

void ArgumentReader::readIntAsDeclared(ArgumentPlace &place, PyObject *value) {
  const LaunchParam &param = place.param;
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  bool isUnsigned64 = false;
  if (overflow) {
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value) : ~0ull;
    if (overflow < 0 || (large == ~0ull && PyErr_Occurred())) {
      PyErr_Clear();
      throw makeError(ErrorCode::E0211, fmt::arg("a", place.name()),
                      fmt::arg("v", std::string(py::str(py::handle(value)))));
    }
    isUnsigned64 = true;
    number = static_cast<long long>(large);
  }
  if (param.annotatedFloat)
    return readFloat(place, PyLong_AsDouble(value));
  if (param.annotatedPointer)
    raiseArgumentType(place.name(), value);
  if (param.annotatedBool && !isUnsigned64 && (number == 0 || number == 1))
    return readBool(place, number != 0);
  if (number == 1 && !param.noSpecialize && !isUnsigned64) {
    place.code = kIntOne;
    return;
  }
  uint8_t code;
  *place.slot = static_cast<uint64_t>(number);
  if (!param.annotation.empty()) {
    if (!packInt(param.annotation, number, isUnsigned64, *place.slot))
      throw makeError(ErrorCode::E0119, fmt::arg("v", std::string(py::str(py::handle(value)))),
                      fmt::arg("t", param.annotation))
          .addNote("in argument '" + place.name() + "'");
    code = kAnnotatedScalar;
  } else if (isUnsigned64) {
    code = kUInt64;
  } else {
    code = number >= INT32_MIN && number <= INT32_MAX ? kInt32 : kInt64;
  }
  if (number % 16 == 0 && !param.noSpecialize && !param.noAlignment)
    code |= kDivisible;
  place.code = code;
}

void ArgumentReader::readFloat(ArgumentPlace &place, double value) {
  const LaunchParam &param = place.param;
  if (param.annotation.empty()) {
    packFloat("fp32", value, *place.slot);
    place.code = kFloat32;
    return;
  }
  if (!packFloat(param.annotation, value, *place.slot))
    throw makeError(ErrorCode::E0204, fmt::arg("a", place.name()), fmt::arg("t", "float"))
        .addNote("the parameter is declared as " + param.annotation);
  place.code = kAnnotatedScalar;
}

void ArgumentReader::readBool(ArgumentPlace &place, bool value) {
  const LaunchParam &param = place.param;
  *place.slot = value;
  if (param.annotatedFloat)
    return readFloat(place, value ? 1.0 : 0.0);
  place.code = param.annotation.empty() ? kBool : kAnnotatedScalar;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// Element types by identity of the dtype object. torch's and NumPy's dtypes are
/// singletons, so a hit needs no comparison; the table keeps them alive.
namespace {
struct DtypeCache {
  static constexpr size_t kSize = 64;
  PyObject *objects[kSize] = {};
  ElementType types[kSize] = {};

  static size_t slot(PyObject *object) {
    return (reinterpret_cast<uintptr_t>(object) >> 4) * 0x9e3779b1u >> 7 & (kSize - 1);
  }
};
#ifdef Py_GIL_DISABLED
thread_local
#endif
    DtypeCache dtypeCache;
} // namespace

static std::string dtypeText(PyObject *dtype) {
  // NumPy's str is "float32" for native types and "<f4" forms for others; its
  // name is always plain. torch and the language have a good str.
  static PyObject *nameAttribute = interned("name");
  if (moduleStartsWith(Py_TYPE(dtype), "numpy")) {
    py::object name = py::reinterpret_steal<py::object>(tryAttribute(dtype, nameAttribute));
    if (name && PyUnicode_Check(name.ptr()))
      return py::str(name);
  }
  return py::str(py::handle(dtype));
}

ElementType ArgumentReader::elementType(const ArgumentPlace &place, PyObject *dtype) {
  size_t slot = DtypeCache::slot(dtype);
  if (dtypeCache.objects[slot] == dtype)
    return dtypeCache.types[slot];
  std::string text = dtypeText(dtype);
  ElementType type = parseElementType(text);
  if (type == ElementType::Invalid)
    throw makeError(ErrorCode::E0206, fmt::arg("a", place.name()), fmt::arg("d", text));
  // A newer dtype takes the slot of an older one that hashes the same.
  Py_INCREF(dtype);
  Py_XDECREF(dtypeCache.objects[slot]);
  dtypeCache.objects[slot] = dtype;
  dtypeCache.types[slot] = type;
  return type;
}

inline void ArgumentReader::setPointer(ArgumentPlace &place, uint64_t address, ElementType type) {
  const LaunchParam &param = place.param;
  *place.slot = address;
  uint8_t code = param.annotatedPointer
                     ? static_cast<uint8_t>(kAnnotatedPointer)
                     : static_cast<uint8_t>(kPointer + static_cast<uint8_t>(type));
  if (address % 16 == 0 && !param.noSpecialize && !param.noAlignment)
    code |= kDivisible;
  place.code = code;
}

inline void ArgumentReader::setDevice(const ArgumentPlace &place, int ordinal) {
  if (deviceOrdinal != ordinal)
    setOtherDevice(place, ordinal);
}

void ArgumentReader::setOtherDevice(const ArgumentPlace &place, int ordinal) {
  if (deviceOrdinal < 0) {
    deviceOrdinal = ordinal;
    deviceFrom = place.index;
    return;
  }
  throw makeError(
      ErrorCode::E0202,
      fmt::arg("list", fmt::format("'{}' on cuda:{}, '{}' on cuda:{}", params[deviceFrom].nameText,
                                   deviceOrdinal, place.name(), ordinal)));
}

/// A CPU tensor in pinned memory has an address that the GPU can use.
uint64_t ArgumentReader::hostVisiblePointer(const ArgumentPlace &place, uint64_t address) {
  uint64_t visible = 0;
  driver::Driver *driver = address ? driver::Driver::tryGet() : nullptr;
  if (driver &&
      driver->api().pointerGetAttribute(&visible, driver::kPointerDevicePointer, address) ==
          driver::kCudaSuccess &&
      visible)
    return visible;
  throw makeError(ErrorCode::E0201, fmt::arg("a", place.name()));
}

/// Where the tensor is; its address as the GPU sees it.
inline uint64_t ArgumentReader::placeTorch(const ArgumentPlace &place, uint64_t address,
                                           int ordinal) {
  if (ordinal >= 0) {
    from = Framework::Torch;
    setDevice(place, ordinal);
    return address;
  }
  return isWarmup ? address : hostVisiblePointer(place, address);
}

void ArgumentReader::readTorch(ArgumentPlace &place, const TorchAccess &torch, PyObject *value) {
  DlTensor facts;
  if (torch.describe(value, facts)) {
    ElementType type = elementTypeOf(facts);
    if (type != ElementType::Invalid) {
      int ordinal = facts.isOnHost() ? -1 : facts.deviceId;
      return setPointer(place, placeTorch(place, facts.address(), ordinal), type);
    }
  }
  readTorchByCalls(place, torch, value);
}

void ArgumentReader::readTorchByCalls(ArgumentPlace &place, const TorchAccess &torch,
                                      PyObject *value) {
  uint64_t address = torch.dataPointer(value);
  address = placeTorch(place, address, torch.deviceIndex(value));
  PyObject *dtype = checked(torch.dtype(value));
  ElementType type = ElementType::Invalid;
  try {
    type = elementType(place, dtype);
  } catch (...) {
    Py_DECREF(dtype);
    throw;
  }
  Py_DECREF(dtype);
  setPointer(place, address, type);
}

namespace {
enum class DeviceKind { Unknown, Cpu, Cuda };
}

/// Reads what frameworks put under `.device`: torch.device (type, index),
/// cupy.cuda.Device (id), an int, or a text such as "cuda:1".
static DeviceKind readDeviceAttribute(PyObject *value, int &ordinal) {
  static PyObject *deviceName = interned("device");
  static PyObject *typeName = interned("type");
  static PyObject *indexName = interned("index");
  static PyObject *idName = interned("id");
  auto get = [](PyObject *o, PyObject *n) {
    return py::reinterpret_steal<py::object>(tryAttribute(o, n));
  };
  py::object device = get(value, deviceName);
  if (!device || device.is_none())
    return DeviceKind::Unknown;
  if (PyLong_Check(device.ptr())) {
    ordinal = device.cast<int>();
    return DeviceKind::Cuda;
  }
  std::string text;
  if (PyUnicode_Check(device.ptr())) {
    text = py::str(device);
  } else if (py::object type = get(device.ptr(), typeName); type && PyUnicode_Check(type.ptr())) {
    text = py::str(type);
    py::object index = get(device.ptr(), indexName);
    if (index && PyLong_Check(index.ptr()))
      text += ":" + std::to_string(index.cast<int>());
  } else if (py::object id = get(device.ptr(), idName); id && PyLong_Check(id.ptr())) {
    ordinal = id.cast<int>();
    return DeviceKind::Cuda;
  }
  if (text.rfind("cpu", 0) == 0)
    return DeviceKind::Cpu;
  if (text.rfind("cuda", 0) != 0)
    return DeviceKind::Unknown;
  size_t colon = text.find(':');
  ordinal =
      colon == std::string::npos ? currentDeviceOrdinal() : std::atoi(text.c_str() + colon + 1);
  return DeviceKind::Cuda;
}

void ArgumentReader::readDataPointerObject(ArgumentPlace &place, PyObject *value,
                                           PyObject *method) {
  static PyObject *dtypeName = interned("dtype");
  PyObject *number = checked(PyObject_CallNoArgs(method));
  uint64_t address = PyLong_AsUnsignedLongLongMask(number);
  Py_DECREF(number);
  if (PyErr_Occurred())
    throw py::error_already_set();
  int ordinal = 0;
  DeviceKind kind = readDeviceAttribute(value, ordinal);
  if (kind == DeviceKind::Cuda)
    setDevice(place, ordinal);
  else if (kind == DeviceKind::Cpu && !isWarmup)
    address = hostVisiblePointer(place, address);
  py::object dtype = py::reinterpret_steal<py::object>(tryAttribute(value, dtypeName));
  if (!dtype)
    raiseArgumentType(place.name(), value);
  if (from == Framework::None && moduleStartsWith(Py_TYPE(value), "torch"))
    from = Framework::Torch;
  setPointer(place, address, elementType(place, dtype.ptr()));
}

void ArgumentReader::readArrayInterface(ArgumentPlace &place, PyObject *interface,
                                        PyObject *value) {
  static PyObject *dtypeName = interned("dtype");
  py::dict dict = py::reinterpret_borrow<py::dict>(interface);
  py::tuple data = dict["data"];
  uint64_t address = data[0].cast<uint64_t>();
  if (data.size() > 1 && data[1].cast<bool>() && place.index < 64)
    readOnly |= uint64_t(1) << place.index;
  std::string text = py::str(dict["typestr"]);
  ElementType type = parseElementType(text);
  if (type == ElementType::Invalid) {
    // bfloat16 and fp8 have no type string of their own.
    py::object dtype = py::reinterpret_steal<py::object>(tryAttribute(value, dtypeName));
    if (!dtype)
      throw makeError(ErrorCode::E0206, fmt::arg("a", place.name()), fmt::arg("d", text));
    type = elementType(place, dtype.ptr());
  }
  int ordinal = 0;
  if (readDeviceAttribute(value, ordinal) == DeviceKind::Cuda) {
    setDevice(place, ordinal);
  } else if (driver::Driver *driver = address ? driver::Driver::tryGet() : nullptr) {
    int found = -1;
    if (driver->api().pointerGetAttribute(&found, driver::kPointerDeviceOrdinal, address) ==
            driver::kCudaSuccess &&
        found >= 0)
      setDevice(place, found);
  }
  if (from == Framework::None) {
    bool isCupy = moduleStartsWith(Py_TYPE(value), "cupy");
    from = isCupy ? Framework::Cupy : Framework::ArrayInterface;
    if (dict.contains("stream") && !dict["stream"].is_none())
      arrayStream = dict["stream"].cast<uint64_t>();
  }
  setPointer(place, address, type);
}

//===--- DLPack -----------------------------------------------------------===//

void ArgumentReader::readDlpack(ArgumentPlace &place, PyObject *value) {
  py::object capsule = py::reinterpret_borrow<py::object>(value).attr("__dlpack__")();
  auto *tensor = static_cast<DlTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!tensor)
    throw py::error_already_set();
  ElementType type = elementTypeOf(*tensor);
  if (type == ElementType::Invalid)
    throw makeError(ErrorCode::E0206, fmt::arg("a", place.name()),
                    fmt::arg("d", fmt::format("DLPack type {} of {} bits", tensor->typeCode,
                                              tensor->typeBits)));
  uint64_t address = tensor->address();
  if (tensor->deviceType == kDlCuda || tensor->deviceType == kDlCudaManaged)
    setDevice(place, tensor->deviceId);
  else if (tensor->isOnHost())
    address = hostVisiblePointer(place, address);
  else
    raiseArgumentType(place.name(), value);
  // Its destructor gives the buffer back; the launch must come first.
  keepAlive.push_back(std::move(capsule));
  setPointer(place, address, type);
}

//===----------------------------------------------------------------------===//
// The switch
//===----------------------------------------------------------------------===//

/// numpy.ndarray, once the program has imported NumPy; its subclasses count too.
static PyTypeObject *numpyArrayType() {
  static PyTypeObject *type = nullptr;
  static PyObject *numpyName = interned("numpy");
  static PyObject *arrayName = interned("ndarray");
  if (type)
    return type;
  py::object numpy = py::reinterpret_steal<py::object>(PyImport_GetModule(numpyName));
  PyObject *found = numpy ? tryAttribute(numpy.ptr(), arrayName) : nullptr;
  if (found && PyType_Check(found))
    type = reinterpret_cast<PyTypeObject *>(found); // kept for good
  return type;
}

/// Functions, dtypes and constexpr objects are compile-time values wherever they
/// are passed.
static bool isCompileTimeObject(PyObject *value) {
  PyTypeObject *type = Py_TYPE(value);
  if (!moduleStartsWith(type, "tilewright"))
    return false;
  const char *name = shortTypeName(type);
  return !std::strcmp(name, "dtype") || !std::strcmp(name, "JITFunction") ||
         !std::strcmp(name, "constexpr") || !std::strcmp(name, "pointer_type");
}

void ArgumentReader::readOther(ArgumentPlace &place, PyObject *value) {
  static PyObject *dataPtrName = interned("data_ptr");
  static PyObject *interfaceName = interned("__cuda_array_interface__");
  static PyObject *dlpackName = interned("__dlpack__");
  PyTypeObject *type = Py_TYPE(value);
  if (PyLong_Check(value))
    return readInt(place, value);
  if (PyFloat_Check(value))
    return readFloat(place, PyFloat_AS_DOUBLE(value));
  PyTypeObject *ndarray = numpyArrayType();
  if (ndarray && PyType_IsSubtype(type, ndarray)) {
    sawNumpy = true;
    return;
  }
  if (moduleStartsWith(type, "numpy")) {
    if (!std::strncmp(type->tp_name, "numpy.bool", 10))
      return readBool(place, PyObject_IsTrue(value) == 1);
  }
  if (isCompileTimeObject(value))
    return readConstexpr(place, value);
  if (py::object method = py::reinterpret_steal<py::object>(tryAttribute(value, dataPtrName)))
    return readDataPointerObject(place, value, method.ptr());
  if (py::object interface = py::reinterpret_steal<py::object>(tryAttribute(value, interfaceName)))
    return readArrayInterface(place, interface.ptr(), value);
  if (PyObject_HasAttr(value, dlpackName))
    return readDlpack(place, value);
  if (PyIndex_Check(value)) {
    py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(value));
    if (number)
      return readInt(place, number.ptr());
    PyErr_Clear();
  }
  if (type->tp_as_number && type->tp_as_number->nb_float) {
    double number = PyFloat_AsDouble(value);
    if (!PyErr_Occurred())
      return readFloat(place, number);
    PyErr_Clear();
  }
  raiseArgumentType(place.name(), value);
}

void ArgumentReader::read(ArgumentPlace &place, PyObject *value) {
  if (place.param.isConstexpr)
    return readConstexpr(place, value);
  PyTypeObject *type = Py_TYPE(value);
  if (type == &PyLong_Type)
    return readInt(place, value);
  if (type == &PyFloat_Type)
    return readFloat(place, PyFloat_AS_DOUBLE(value));
  if (type == &PyBool_Type)
    return readBool(place, value == Py_True);
  if (value == Py_None) {
    place.code = kConstNone;
    return;
  }
  TorchAccess *torch = TorchAccess::get();
  if (torch && torch->isPlainTensor(type))
    return readTorch(place, *torch, value);
  if (PyTuple_Check(value))
    return readTuple(place, value);
  if (isTensorDescriptor(value))
    return readDescriptor(place, value);
  readOther(place, value);
}

bool ArgumentReader::readOne(const LaunchParam &param, size_t index, PyObject *value) {
  ArgumentPlace place{param, index, arguments.newSlot()};
  read(place, value);
  if (isScalarCode(place.code))
    arguments.add(place.slot);
  return !sawNumpy;
}

bool ArgumentReader::readAll(PyObject *const *bound) {
  for (size_t i = 0; i < params.size(); ++i) {
    ArgumentPlace place{params[i], i, &slots[i]};
    read(place, bound[i]);
    key.codes()[i] = place.code;
    if (isScalarCode(place.code))
      arguments.add(&slots[i]);
  }
  return !sawNumpy;
}

//===----------------------------------------------------------------------===//
// Typed packing, streams, devices
//===----------------------------------------------------------------------===//

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
  if (text.rfind("tensordesc<", 0) == 0 || (isPointer && !PyLong_Check(value)))
    return packAny(value, param, name, arguments);
  uint64_t *slot = arguments.newSlot();
  *slot = isPointer ? PyLong_AsUnsignedLongLongMask(value) : packNumber(text, value, name);
  arguments.add(slot);
}

static uint64_t cupyStream() {
  static PyObject *cupyName = interned("cupy");
  py::object cupy = py::reinterpret_steal<py::object>(PyImport_GetModule(cupyName));
  if (!cupy)
    return 0;
  return cupy.attr("cuda").attr("get_current_stream")().attr("ptr").cast<uint64_t>();
}

uint64_t currentStreamOf(Framework framework, int device, uint64_t fallback) {
  if (framework == Framework::Cupy)
    return cupyStream();
  if (framework == Framework::ArrayInterface && fallback)
    return fallback;
  TorchAccess *torch = TorchAccess::get();
  if (torch && (framework == Framework::Torch || torch->currentDevice() >= 0))
    return torch->currentStream(device);
  return framework == Framework::None ? cupyStream() : 0;
}

int currentDeviceOrdinal() {
  if (TorchAccess *torch = TorchAccess::get()) {
    int ordinal = torch->currentDevice();
    if (ordinal >= 0)
      return ordinal;
  }
  return driver::Driver::get().currentDevice();
}

} // namespace tilewright
