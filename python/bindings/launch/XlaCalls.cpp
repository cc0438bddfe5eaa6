//===- XlaCalls.cpp - Launches that XLA asks for --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the handlers that serve tilewright.jax.call. XLA calls a handler with the addresses of
// buffers, on the GPU also with the stream to launch on. The attribute `launch` says which launch
// it is, and Python's function of that name in tilewright.jax does the rest.
//
// How errors travel: a handler may return nothing but a pointer. So the text of an exception
// becomes an error of XLA's, which JAX raises in the program's thread.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"
#include "python/bindings/PythonError.h"
#include "runtime/launch/XlaFfi.h"

#include <cstring>

namespace py = pybind11;

namespace tilewright {

/// `run(launch, addresses, stream)` of tilewright.jax. Leaked: XLA may call until the process ends.
static PyObject *runLaunch = nullptr;
/// The version of the interface that XLA has: some releases ask for exactly theirs.
static int minorVersion = 0;

static xla::Error *errorOf(const xla::CallFrame &frame, const char *message) {
  xla::ErrorCreateArguments arguments{sizeof(arguments), nullptr, message, xla::internalError};
  return frame.api->createError(&arguments);
}

/// Answers the question with which XLA registers a handler; false where it is a call.
static bool answerMetadata(const xla::CallFrame &frame) {
  for (xla::Extension *asked = frame.extensions; asked; asked = asked->next) {
    if (asked->type != xla::metadataExtension)
      continue;
    xla::Metadata &metadata = *reinterpret_cast<xla::MetadataExtension *>(asked)->metadata;
    metadata.version = {sizeof(xla::Version), nullptr, xla::majorVersion, minorVersion};
    metadata.traits = 0;
    return true;
  }
  return false;
}

static std::string launchOf(const xla::CallFrame &frame) {
  const xla::Attributes &attributes = frame.attributes;
  for (int64_t i = 0; i < attributes.size; ++i) {
    const xla::ByteSpan &name = *attributes.names[i];
    if (attributes.types[i] != xla::stringAttribute ||
        std::string(name.data, name.size) != "launch")
      continue;
    const auto *value = static_cast<const xla::ByteSpan *>(attributes.values[i]);
    return std::string(value->data, value->size);
  }
  return "";
}

/// The stream of the call; None with the error destroyed where there is none.
static py::object streamOf(const xla::CallFrame &frame) {
  xla::StreamGetArguments arguments{sizeof(arguments), nullptr, frame.context, nullptr};
  if (xla::Error *error = frame.api->getStream(&arguments)) {
    xla::ErrorDestroyArguments destroy{sizeof(destroy), nullptr, error};
    frame.api->destroyError(&destroy);
    throw std::runtime_error("XLA has no stream for this call");
  }
  return py::int_(reinterpret_cast<uint64_t>(arguments.stream));
}

static void addAddresses(py::list &addresses, const xla::Buffers &buffers) {
  for (int64_t i = 0; i < buffers.size; ++i)
    addresses.append(reinterpret_cast<uint64_t>(buffers.buffers[i]->data));
}

static xla::Error *callPython(const xla::CallFrame &frame, bool isOnGpu) {
  py::gil_scoped_acquire gil;
  try {
    py::list addresses;
    addAddresses(addresses, frame.arguments);
    addAddresses(addresses, frame.results);
    py::object stream = isOnGpu ? streamOf(frame) : py::none();
    py::reinterpret_borrow<py::object>(runLaunch)(launchOf(frame), addresses, stream);
    return nullptr;
  } catch (py::error_already_set &error) {
    // The exception's own text: what() adds the traceback of our part. Ctrl-C reaches the program, too.
    if (error.matches(PyExc_KeyboardInterrupt))
      PyErr_SetInterrupt();
    py::object text = py::reinterpret_steal<py::object>(PyObject_Str(error.value().ptr()));
    PyErr_Clear();
    const char *words = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
    PyErr_Clear();
    return errorOf(frame, words && *words ? words : Py_TYPE(error.value().ptr())->tp_name);
  } catch (const std::exception &error) {
    return errorOf(frame, error.what());
  } catch (...) {
    return errorOf(frame, "unknown C++ exception");
  }
}

// Without memory for the words of an error XLA can be told nothing, and the process had better
// end. NOLINTNEXTLINE(bugprone-exception-escape)
static xla::Error *answer(xla::CallFrame *frame, bool isOnGpu) noexcept {
  if (answerMetadata(*frame))
    return nullptr;
  if (frame->api->version.major != xla::majorVersion)
    return errorOf(*frame,
                   "this version of XLA calls handlers in a way that Tilewright does not know");
  return callPython(*frame, isOnGpu);
}

extern "C" {
static xla::Error *tilewrightXlaHostCall(xla::CallFrame *frame) { return answer(frame, false); }
static xla::Error *tilewrightXlaGpuCall(xla::CallFrame *frame) { return answer(frame, true); }
}

static py::capsule handlerCapsule(xla::Error *(*handler)(xla::CallFrame *)) {
  return py::capsule(reinterpret_cast<void *>(handler));
}

void bindXlaCalls(py::module_ &module) {
  module.def(
      "xla_handlers",
      [](py::object run, int minor) {
        minorVersion = minor;
        // The one before is left alive: a call may be on its way to it.
        runLaunch = run.release().ptr();
        return py::make_tuple(handlerCapsule(&tilewrightXlaHostCall),
                              handlerCapsule(&tilewrightXlaGpuCall));
      },
      py::arg("run"), py::arg("minor_version"),
      "Handlers for calls on the CPU and on CUDA; both end in run(launch, addresses, stream).");
}

} // namespace tilewright
