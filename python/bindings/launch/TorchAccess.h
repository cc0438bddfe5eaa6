//===- TorchAccess.h - Reading torch tensors and streams --------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: reads three facts of a tensor (address, element type, device) and the
// current stream, in the cheapest way that needs no torch header.
//
// How: recent versions of torch offer DLPack's C exchange table: one C call fills a
// DLTensor without owning anything. What that cannot express, and older versions,
// go through unbound method descriptors and getters of torch's own C types, fetched
// once: three Python calls, of about 40 ns each. The stream comes from the C shim
// that torch keeps stable for compiled models.
//
// torch is never imported here: it is used when the program has imported it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_TORCHACCESS_H
#define TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_TORCHACCESS_H

#include "python/bindings/PythonError.h"
#include "runtime/launch/DlpackTypes.h"

#include <pybind11/pybind11.h>

#include <atomic>

namespace tilewright {

class TorchAccess {
public:
  /// Null until the program has imported torch.
  static TorchAccess *get() {
    TorchAccess *access = known.load(std::memory_order_acquire);
    return access ? access : find();
  }

  /// torch.Tensor or torch.nn.Parameter themselves; subclasses may change what
  /// the methods mean and go the general way.
  bool isPlainTensor(PyTypeObject *type) const {
    return type == tensorType || type == parameterType;
  }
  /// Fills `facts` by the exchange table; false, without an error set, where there is
  /// none or where it cannot express this tensor.
  bool describe(PyObject *tensor, launch::DlTensor &facts) const {
    if (!fillDlTensor)
      return false;
    if (fillDlTensor(tensor, &facts) == 0)
      return true;
    forgetException();
    return false;
  }
  uint64_t dataPointer(PyObject *tensor) const;
  /// Bytes of a contiguous tensor, by torch's methods; -1 for others.
  int64_t contiguousBytes(PyObject *tensor) const;
  /// New reference.
  PyObject *dtype(PyObject *tensor) const {
    return getDtype(dtypeDescriptor, tensor, reinterpret_cast<PyObject *>(Py_TYPE(tensor)));
  }
  /// Ordinal, or -1 for the CPU.
  int deviceIndex(PyObject *tensor) const;
  /// The handle of torch's current stream on a device.
  uint64_t currentStream(int device);
  /// torch's current device; -1 where torch has not initialised CUDA.
  int currentDevice();

private:
  static TorchAccess *find();
  bool initialise(pybind11::handle torch);
  void findExchangeTable();

  static std::atomic<TorchAccess *> known; // kept for good

  PyTypeObject *tensorType = nullptr;
  PyTypeObject *parameterType = nullptr;
  PyObject *dataPtrMethod = nullptr, *getDeviceMethod = nullptr;
  PyObject *isContiguousMethod = nullptr, *numelMethod = nullptr, *elementSizeMethod = nullptr;
  PyObject *dtypeDescriptor = nullptr;
  descrgetfunc getDtype = nullptr;
  int (*fillDlTensor)(void *, launch::DlTensor *) = nullptr;
  PyObject *rawStream = nullptr;     // torch._C._cuda_getCurrentRawStream
  PyObject *getCudaDevice = nullptr; // torch._C._cuda_getDevice
  PyObject *isInitialized = nullptr; // torch.cuda.is_initialized
  using StreamShim = int32_t (*)(int32_t, void **);
  StreamShim findStreamShim();
  std::atomic<bool> lookedForShim{false};
  std::atomic<StreamShim> streamShim{nullptr};
};

} // namespace tilewright

#endif // TILEWRIGHT_PYTHON_BINDINGS_LAUNCH_TORCHACCESS_H
