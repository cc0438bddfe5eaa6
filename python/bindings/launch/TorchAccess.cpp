//===- TorchAccess.cpp - Reading torch tensors and streams ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/TorchAccess.h"
#include "frontend/python/InternedName.h"
#include "python/bindings/PythonError.h"

#include <dlfcn.h>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

std::atomic<TorchAccess *> TorchAccess::known{nullptr};

TorchAccess *TorchAccess::find() {
  static const InternedName name("torch");
  // Looks into sys.modules only.
  PyObject *torch = PyImport_GetModule(name);
  if (!torch)
    return nullptr;
  auto created = std::make_unique<TorchAccess>();
  // While torch is half imported its names are missing: try again next time.
  bool isComplete = created->initialise(torch);
  Py_DECREF(torch);
  TorchAccess *before = nullptr;
  // Two threads may get here; the first one's is used.
  if (isComplete && known.compare_exchange_strong(before, created.get()))
    return created.release();
  return before;
}

/// Attribute of a dotted path as a new reference, or null without an error.
static PyObject *findPath(py::handle object, std::initializer_list<const char *> path) {
  py::object current = py::reinterpret_borrow<py::object>(object);
  for (const char *name : path) {
    PyObject *next = PyObject_GetAttrString(current.ptr(), name);
    if (!next) {
      PyErr_Clear();
      return nullptr;
    }
    current = py::reinterpret_steal<py::object>(next);
  }
  return current.release().ptr();
}

void TorchAccess::findExchangeTable() {
  auto tableOf = [](PyTypeObject *type) -> const DlpackExchangeTable * {
    py::object capsule = py::reinterpret_steal<py::object>(
        findPath(reinterpret_cast<PyObject *>(type), {"__dlpack_c_exchange_api__"}));
    if (!capsule || !PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
      return nullptr;
    return static_cast<const DlpackExchangeTable *>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  };
  const DlpackExchangeTable *table = tableOf(tensorType);
  // One function for both types, or each argument would need to know its own.
  if (table && table->majorVersion == 1 && tableOf(parameterType) == table)
    fillDlTensor = table->fillDlTensor;
}

bool TorchAccess::initialise(py::handle torch) {
  PyObject *tensor = findPath(torch, {"Tensor"});
  if (!tensor || !PyType_Check(tensor))
    return false;
  tensorType = reinterpret_cast<PyTypeObject *>(tensor);
  PyObject *parameter = findPath(torch, {"nn", "Parameter"});
  parameterType = parameter && PyType_Check(parameter) ? reinterpret_cast<PyTypeObject *>(parameter)
                                                       : tensorType;
  dataPtrMethod = findPath(tensor, {"data_ptr"});
  getDeviceMethod = findPath(tensor, {"get_device"});
  isContiguousMethod = findPath(tensor, {"is_contiguous"});
  numelMethod = findPath(tensor, {"numel"});
  elementSizeMethod = findPath(tensor, {"element_size"});
  // A getter must not be bound: take it from the dictionaries of the classes.
  py::tuple mro = py::reinterpret_borrow<py::tuple>(tensorType->tp_mro);
  for (py::handle base : mro) {
    py::object dict = base.attr("__dict__");
    if (dict.contains("dtype")) {
      dtypeDescriptor = py::object(dict["dtype"]).release().ptr();
      getDtype = Py_TYPE(dtypeDescriptor)->tp_descr_get;
      break;
    }
  }
  findExchangeTable();
  rawStream = findPath(torch, {"_C", "_cuda_getCurrentRawStream"});
  getCudaDevice = findPath(torch, {"_C", "_cuda_getDevice"});
  isInitialized = findPath(torch, {"cuda", "is_initialized"});
  return dataPtrMethod && getDeviceMethod && getDtype;
}

uint64_t TorchAccess::dataPointer(PyObject *tensor) const {
  PyObject *number = checked(PyObject_Vectorcall(dataPtrMethod, &tensor, 1, nullptr));
  uint64_t value = PyLong_AsUnsignedLongLongMask(number);
  Py_DECREF(number);
  return value;
}

int64_t TorchAccess::contiguousBytes(PyObject *tensor) const {
  auto call = [&](PyObject *method) {
    return py::reinterpret_steal<py::object>(
        checked(method ? PyObject_Vectorcall(method, &tensor, 1, nullptr) : Py_NewRef(Py_None)));
  };
  if (call(isContiguousMethod).ptr() != Py_True)
    return -1;
  py::object count = call(numelMethod), size = call(elementSizeMethod);
  return count.is_none() || size.is_none() ? -1 : count.cast<int64_t>() * size.cast<int64_t>();
}

int TorchAccess::deviceIndex(PyObject *tensor) const {
  PyObject *number = checked(PyObject_Vectorcall(getDeviceMethod, &tensor, 1, nullptr));
  long value = PyLong_AsLong(number);
  Py_DECREF(number);
  return static_cast<int>(value);
}

TorchAccess::StreamShim TorchAccess::findStreamShim() {
  // Already in the process if torch can use CUDA; never loaded by us.
  if (void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD))
    streamShim = reinterpret_cast<StreamShim>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
  lookedForShim = true;
  return streamShim;
}

uint64_t TorchAccess::currentStream(int device) {
  // A torch without CUDA has no such library, and looking for one takes the loader long.
  if (!rawStream)
    return 0;
  StreamShim shim = lookedForShim ? streamShim.load() : findStreamShim();
  if (shim) {
    void *stream = nullptr;
    if (shim(device, &stream) == 0)
      return reinterpret_cast<uint64_t>(stream);
  }
  PyObject *number = checked(PyLong_FromLong(device)); // small: Python has it ready
  PyObject *handle = PyObject_Vectorcall(rawStream, &number, 1, nullptr);
  Py_DECREF(number);
  checked(handle);
  uint64_t value = PyLong_AsUnsignedLongLongMask(handle);
  Py_DECREF(handle);
  return value;
}

int TorchAccess::currentDevice() {
  if (!isInitialized || !getCudaDevice)
    return -1;
  py::object initialised =
      py::reinterpret_steal<py::object>(checked(PyObject_CallNoArgs(isInitialized)));
  if (!PyObject_IsTrue(initialised.ptr()))
    return -1;
  py::object index = py::reinterpret_steal<py::object>(checked(PyObject_CallNoArgs(getCudaDevice)));
  return index.cast<int>();
}

} // namespace tilewright
