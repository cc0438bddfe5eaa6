//===- LaunchRequest.cpp - One call of a kernel, read ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/LaunchRequest.h"

namespace py = pybind11;

namespace tilewright {

using namespace launch;

bool LaunchRequest::read() {
  if (state.interpreted || !reader.readAll(storage.bound))
    return false;
  for (size_t i = 0; i < options.count; ++i)
    reader.addOption(options.items[i].slot, options.items[i].value);
  deviceOrdinal = reader.device();
  return true;
}

std::shared_ptr<Entry> LaunchRequest::findEntry() {
  // Before anything that a thread of the parent may have locked when it was forked.
  if (driver::Driver::isForkedChild())
    driver::Driver::get();
  if (!state.watched.empty())
    checkWatchedGlobals();
  if (deviceOrdinal < 0)
    deviceOrdinal = currentDeviceOrdinal();
  key.setHeader(static_cast<uint64_t>(deviceOrdinal) << 1 | launchFlags.debug);
  uint64_t hash = key.hash();
  // Shared: the table may be cleared while the grid function, a hook or another
  // thread runs.
  std::shared_ptr<Entry> entry;
  {
    StateLock lock(state);
    entry = state.table.find(key, hash);
  }
  if (!entry && !(entry = handleMiss(hash)))
    return nullptr;
  if (uint64_t wrong = reader.readOnlyMask() & entry->writtenMask)
    for (size_t i = 0; i < state.params.size(); ++i)
      if (wrong >> i & 1)
        throw makeError(ErrorCode::E0216, fmt::arg("a", state.params[i].nameText));
  if (entry->checksSpans)
    py::handle(reinterpret_cast<PyObject *>(dispatcher))
        .attr("_check_spans")(boundDict(state, storage.bound));
  return entry;
}

//===----------------------------------------------------------------------===//
// The miss
//===----------------------------------------------------------------------===//

py::object LaunchRequest::compile(bool isWarmup) {
  if (deviceOrdinal < 0 && driver::Driver::tryGet())
    deviceOrdinal = currentDeviceOrdinal();
  return py::handle(reinterpret_cast<PyObject *>(dispatcher))
      .attr("_compile_specialization")(reader.describe(storage.bound), optionDict(options),
                                       deviceOrdinal, isWarmup);
}

/// Parameters that the kernel writes, from the names in metadata.written_args.
static uint64_t writtenMaskOf(const DispatcherState &state, const py::object &written) {
  if (written.is_none())
    return 0;
  uint64_t mask = 0;
  for (py::handle item : written)
    for (size_t i = 0; i < state.params.size() && i < 64; ++i)
      if (item.cast<std::string>() == state.params[i].nameText)
        mask |= uint64_t(1) << i;
  return mask;
}

/// Compiles, loads and enters; null where a compile hook cancelled.
std::shared_ptr<Entry> LaunchRequest::handleMiss(uint64_t hash) {
  py::object kernel = compile(/*isWarmup=*/false);
  if (kernel.is_none())
    return nullptr;
  py::object handle = kernel.attr("load")(deviceOrdinal);
  auto entry = std::make_shared<Entry>();
  entry->handle = handle.cast<LoadedKernelHandle *>();
  entry->writtenMask = writtenMaskOf(state, kernel.attr("metadata").attr("written_args"));
  py::dict given = optionDict(options);
  entry->checksSpans =
      given.contains("index_bits") && py::object(given["index_bits"]).equal(py::int_(32));
  entry->kernel = kernel.release().ptr();
  entry->handleObject = handle.release().ptr();
  StateLock lock(state);
  // Compiling let other threads run: one may have entered the same key.
  if (std::shared_ptr<Entry> other = state.table.find(key, hash))
    return other;
  state.table.insert(key, hash, entry);
  return entry;
}

//===----------------------------------------------------------------------===//
// Watched globals
//===----------------------------------------------------------------------===//

/// Compares the globals that compiled code has frozen; raises (in Python) where
/// one has another value.
void LaunchRequest::checkWatchedGlobals() {
  StateLock lock(state);
  // By index: the Python call may append.
  for (size_t i = 0; i < state.watched.size(); ++i) {
    WatchedGlobal w = state.watched[i];
    PyObject *now = PyDict_Check(w.owner) ? PyDict_GetItem(w.owner, w.name) : PyCell_GET(w.owner);
    if (now == w.value)
      continue;
    auto current = now ? py::reinterpret_borrow<py::object>(now) : py::none();
    py::handle(reinterpret_cast<PyObject *>(dispatcher))
        .attr("_global_changed")(py::handle(w.name), py::handle(w.value), current);
    // Equal by value: watch the new object from now on, unless the list is another now.
    if (now && i < state.watched.size() && state.watched[i].value == w.value) {
      Py_DECREF(w.value);
      state.watched[i].value = current.release().ptr();
    }
  }
}

} // namespace tilewright
