//===- ArrayArguments.cpp - Arrays as launch arguments --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the parts of ArgumentReader for what has an address: torch's tensors, objects
// with data_ptr() and dtype, __cuda_array_interface__, DLPack.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/ArgumentReader.h"
#include "python/bindings/launch/ArgumentReaderInternal.h"
#include "python/bindings/launch/TorchAccess.h"
#include "runtime/driver/Driver.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

/// Element types by identity of the dtype object. torch's and NumPy's dtypes are
/// singletons, so a hit needs no comparison; the table keeps them alive. Without an
/// interpreter lock each thread has its own.
namespace {
struct DtypeCache {
  static constexpr size_t tableSize = 64;
  PyObject *objects[tableSize] = {};
  ScalarKind types[tableSize] = {};

  static size_t slot(PyObject *object) {
    return (reinterpret_cast<uintptr_t>(object) >> 4) * 0x9e3779b1u >> 7 & (tableSize - 1);
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
  static const InternedName nameAttribute("name");
  if (moduleStartsWith(Py_TYPE(dtype), "numpy")) {
    py::object name = py::reinterpret_steal<py::object>(tryAttribute(dtype, nameAttribute));
    if (name && PyUnicode_Check(name.ptr()))
      return py::str(name);
  }
  return py::str(py::handle(dtype));
}

ScalarKind ArgumentReader::elementType(const ArgumentPlace &place, PyObject *dtype) {
  size_t slot = DtypeCache::slot(dtype);
  if (dtypeCache.objects[slot] == dtype)
    return dtypeCache.types[slot];
  std::string text = dtypeText(dtype);
  ScalarKind type = parseElementType(text);
  if (type == ScalarKind::Void)
    throw makeError(ErrorCode::E0206, fmt::arg("a", place.name()), fmt::arg("d", text));
  // A newer dtype takes the slot of an older one that hashes the same.
  Py_INCREF(dtype);
  Py_XDECREF(dtypeCache.objects[slot]);
  dtypeCache.objects[slot] = dtype;
  dtypeCache.types[slot] = type;
  return type;
}

inline void ArgumentReader::setPointer(ArgumentPlace &place, uint64_t address, ScalarKind type) {
  const LaunchParam &param = place.param;
  *place.slot = address;
  uint8_t code = param.annotatedPointer
                     ? static_cast<uint8_t>(annotatedPointerCode)
                     : static_cast<uint8_t>(pointerCode + static_cast<uint8_t>(type));
  if (address % 16 == 0 && !param.noSpecialize && !param.noAlignment)
    code |= divisibleBy16Flag;
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
      driver->api().pointerGetAttribute(&visible, driver::pointerDevicePointer, address) ==
          driver::cudaSuccess &&
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
    ScalarKind type = elementTypeOf(facts);
    if (type != ScalarKind::Void) {
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
  ScalarKind type = ScalarKind::Void;
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
  static const InternedName deviceName("device");
  static const InternedName typeName("type");
  static const InternedName indexName("index");
  static const InternedName idName("id");
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
  static const InternedName dtypeName("dtype");
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
  static const InternedName dtypeName("dtype");
  if (!PyDict_Check(interface))
    raiseArgumentType(place.name(), value);
  py::dict dict = py::reinterpret_borrow<py::dict>(interface);
  py::tuple data = dict["data"];
  uint64_t address = data[0].cast<uint64_t>();
  if (data.size() > 1 && data[1].cast<bool>() && place.index < 64)
    readOnly |= uint64_t(1) << place.index;
  std::string text = py::str(dict["typestr"]);
  ScalarKind type = parseElementType(text);
  if (type == ScalarKind::Void) {
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
    if (driver->api().pointerGetAttribute(&found, driver::pointerDeviceOrdinal, address) ==
            driver::cudaSuccess &&
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
  ScalarKind type = elementTypeOf(*tensor);
  if (type == ScalarKind::Void)
    throw makeError(ErrorCode::E0206, fmt::arg("a", place.name()),
                    fmt::arg("d", fmt::format("DLPack type {} of {} bits", tensor->typeCode,
                                              tensor->typeBits)));
  uint64_t address = tensor->address();
  if (tensor->deviceType == dlCuda || tensor->deviceType == dlCudaManaged)
    setDevice(place, tensor->deviceId);
  else if (tensor->isOnHost())
    address = hostVisiblePointer(place, address);
  else
    raiseArgumentType(place.name(), value);
  // Arrays of JAX never change; DLPack in the form that all releases have does not tell.
  if (moduleStartsWith(Py_TYPE(value), "jaxlib") && place.index < 64)
    readOnly |= uint64_t(1) << place.index;
  // Its destructor gives the buffer back; the launch must come first.
  keepAlive.push_back(std::move(capsule));
  setPointer(place, address, type);
}

} // namespace tilewright
