//===- KernelPlaces.cpp - Numbers for lines of kernels --------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/interpreter/KernelPlaces.h"

namespace py = pybind11;

namespace tilewright {

using interpreter::PlaceId;

bool KernelPlaces::isOfLanguage(PyFrameObject *frame, PyCodeObject *code) {
  auto known = ofLanguage.find(code);
  if (known != ofLanguage.end())
    return known->second;
  py::handle ofFrame(reinterpret_cast<PyObject *>(frame));
  py::object module = ofFrame.attr("f_globals").attr("get")("__name__", "");
  bool result = py::str(module).cast<std::string>().rfind("tilewright.", 0) == 0;
  kept.push_back(py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(code)));
  ofLanguage.emplace(code, result);
  return result;
}

static int positionIn(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

PlaceId KernelPlaces::current() {
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code); // the frame holds it
    if (!isOfLanguage(frame, code)) {
      auto [entry, isNew] = numbers.try_emplace({code, positionIn(frame)}, 0);
      if (isNew) {
        instructions.emplace_back(
            py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(code)),
            entry->first.position);
        entry->second = static_cast<PlaceId>(instructions.size());
      }
      Py_DECREF(frame);
      return entry->second;
    }
    PyFrameObject *outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return 0;
}

SourceFrame KernelPlaces::frameOf(PlaceId place) const {
  SourceFrame result;
  if (place == 0 || place > instructions.size())
    return result;
  const auto &[code, position] = instructions[place - 1];
  result.file = code.attr("co_filename").cast<std::string>();
  result.function = code.attr("co_name").cast<std::string>();
#if PY_VERSION_HEX >= 0x030B0000
  result.line = PyCode_Addr2Line(reinterpret_cast<PyCodeObject *>(code.ptr()), position);
#else
  result.line = position;
#endif
  py::object text =
      py::module_::import("linecache").attr("getline")(result.file, result.line).attr("strip")();
  result.sourceLine = text.cast<std::string>();
  return result;
}

std::string KernelPlaces::describe(PlaceId place) const {
  SourceFrame frame = frameOf(place);
  if (!frame.line)
    return "";
  size_t slash = frame.file.rfind('/');
  std::string file = slash == std::string::npos ? frame.file : frame.file.substr(slash + 1);
  std::string where = fmt::format("{}:{}", file, frame.line);
  return frame.sourceLine.empty() ? where : fmt::format("{}: {}", where, frame.sourceLine);
}

} // namespace tilewright
