//===- PythonError.cpp - Coded errors as Python exceptions ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/PythonError.h"

namespace py = pybind11;

namespace tilewright {

/// File names may hold bytes that are no UTF-8.
static py::str toStr(const std::string &text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

py::object exceptionOf(const Error &error) {
  py::list frames;
  for (const SourceFrame &f : error.frames())
    frames.append(py::make_tuple(toStr(f.file), toStr(f.function), f.line, f.column, f.endLine,
                                 f.endColumn, toStr(f.sourceLine)));
  py::list notes;
  for (const std::string &note : error.notes())
    notes.append(toStr(note));
  const ErrorEntry &entry = error.catalogueEntry();
  return py::module_::import("tilewright.errors")
      .attr("from_native")(entry.codeName, entry.className, toStr(error.message()),
                           toStr(error.help()), frames, notes, toStr(error.what()),
                           toStr(error.sentence()));
}

void setPythonError(const Error &error) {
  // The exception that led here, if any, is kept as the cause.
  PyObject *causeType, *cause, *causeTrace;
  PyErr_Fetch(&causeType, &cause, &causeTrace);
  if (causeType)
    PyErr_NormalizeException(&causeType, &cause, &causeTrace);
  if (cause && causeTrace)
    PyException_SetTraceback(cause, causeTrace);
  try {
    py::object exception = exceptionOf(error);
    if (cause)
      exception.attr("__cause__") = py::handle(cause);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (py::error_already_set &failed) {
    failed.restore();
  }
  Py_XDECREF(causeType);
  Py_XDECREF(cause);
  Py_XDECREF(causeTrace);
}

void setPythonErrorFromCurrentException() noexcept {
  try {
    throw;
  } catch (py::error_already_set &error) {
    error.restore();
  } catch (const Error &error) {
    setPythonError(error);
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    setPythonError(makeInternalError("native code", error.what()));
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "unknown C++ exception");
  }
}

/// The innermost frame outside this package: `run`, the tuner and others stand
/// between a user's line and the launcher. Null where there is none.
static py::object userFrame() {
  py::object frame =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(PyEval_GetFrame()));
  while (frame && !frame.is_none()) {
    py::object name = py::dict(frame.attr("f_globals")).attr("get")("__name__", "");
    std::string module = py::str(name);
    bool isOurs = module == "tilewright" || module.rfind("tilewright.", 0) == 0;
    // A thread's own frames are no line of the user's: candidates compile in threads of the tuner.
    bool isThread = module == "threading" || module == "concurrent.futures.thread";
    if (!isOurs && !isThread)
      return frame;
    frame = frame.attr("f_back");
  }
  return py::object();
}

SourceFrame currentPythonFrame(const std::string &kernel) {
  // An exception on its way (the cause of our error) must not meet Python calls.
  py::error_scope pending;
  SourceFrame result;
  result.function = kernel;
  py::object owned = userFrame();
  if (!owned)
    return result;
  auto *frame = reinterpret_cast<PyFrameObject *>(owned.ptr());
  PyCodeObject *code = PyFrame_GetCode(frame);
  result.line = PyFrame_GetLineNumber(frame);
  result.file = py::str(py::handle(code->co_filename));
#if PY_VERSION_HEX >= 0x030B0000
  int startLine, startColumn, endLine, endColumn;
  if (PyCode_Addr2Location(code, PyFrame_GetLasti(frame), &startLine, &startColumn, &endLine,
                           &endColumn) &&
      startColumn >= 0) {
    result.line = startLine;
    result.column = startColumn + 1;
    result.endLine = endLine;
    result.endColumn = endColumn + 1;
  }
#endif
  Py_DECREF(code);
  try {
    py::object line = py::module_::import("linecache").attr("getline")(result.file, result.line);
    result.sourceLine = py::str(line.attr("rstrip")("\n"));
  } catch (py::error_already_set &) {
    return result; // without the source line it still names the place
  }
  return result;
}

} // namespace tilewright
