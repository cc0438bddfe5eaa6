//===- LaunchRequest.cpp - One call of a kernel, read ---------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/bindings/launch/LaunchRequest.h"
#include "python/bindings/launch/ArgumentOverlap.h"

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

void LaunchRequest::checkProcess() const {
  // Before anything that a thread of the parent may have locked when it was forked.
  if (driver::Driver::isForkedChild())
    driver::Driver::get();
  state.watched.check(reinterpret_cast<PyObject *>(dispatcher));
}

uint64_t LaunchRequest::finishKey() {
  if (deviceOrdinal < 0)
    deviceOrdinal = currentDeviceOrdinal();
  key.setHeader(static_cast<uint64_t>(deviceOrdinal) << 2 | uint64_t(overlaps) << 1 |
                launchFlags.debug);
  return key.hash();
}

bool LaunchRequest::suits(const Entry &entry) const {
  if (!entry.needsDistinctArguments)
    return true;
  // A kernel that needs this writes something: no bit means that it is not known what.
  uint64_t written = entry.writtenMask ? entry.writtenMask : ~uint64_t(0);
  return !argumentsOverlap({state.params, arguments, storage.bound, key.codes(), storage.slots},
                           written);
}

Entry *LaunchRequest::knownEntry() {
  overlaps = false;
  Entry *entry = state.table.find(key, finishKey());
  if (!entry || suits(*entry))
    return entry;
  overlaps = true;
  return state.table.find(key, finishKey());
}

Entry *LaunchRequest::findEntry() {
  checkProcess();
  uint64_t hash = finishKey();
  Entry *entry = state.table.find(key, hash);
  if (!entry)
    entry = handleMiss(hash);
  if (!entry)
    return nullptr;
  if (!suits(*entry)) {
    overlaps = true;
    hash = finishKey();
    entry = state.table.find(key, hash);
    if (!entry)
      entry = handleMiss(hash);
    if (!entry)
      return nullptr;
  }
  checkArguments(*entry);
  return entry;
}

void LaunchRequest::checkArguments(const Entry &entry) const {
  if (uint64_t wrong = reader.readOnlyMask() & entry.writtenMask)
    for (size_t i = 0; i < state.params.size(); ++i)
      if (wrong >> i & 1)
        throw makeError(ErrorCode::E0216, fmt::arg("a", state.params[i].nameText));
  if (entry.checksSpans)
    py::handle(reinterpret_cast<PyObject *>(dispatcher))
        .attr("_check_spans")(boundDict(state, storage.bound));
}

bool LaunchRequest::addValues(const std::vector<size_t> &params) {
  for (size_t i : params) {
    uint8_t code = plainCode(key.codes()[i]);
    // Open, or a constant whose value the key has.
    if (!storage.bound[i] || isConstCode(code))
      continue;
    if (code > annotatedScalarCode)
      return false;
    key.addWord(storage.slots[i]);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Warm-ups
//===----------------------------------------------------------------------===//

py::object LaunchRequest::warm() {
  state.watched.check(reinterpret_cast<PyObject *>(dispatcher));
  if (deviceOrdinal < 0 && driver::Driver::tryGet())
    deviceOrdinal = currentDeviceOrdinal();
  // Knobs count as they are at each warm-up, and may name another target.
  py::object circumstances = py::handle(reinterpret_cast<PyObject *>(dispatcher))
                                 .attr("_circumstances")(optionDict(options), deviceOrdinal);
  if (circumstances.is_none())
    return compile(/*isWarmup=*/true);
  key.addWord(circumstances.cast<uint64_t>());
  key.setHeader(static_cast<uint64_t>(deviceOrdinal));
  uint64_t hash = key.hash();
  if (const py::object *known = state.warmed.find(key, hash))
    return *known;
  uint64_t generation = state.generation.load();
  py::object kernel = compile(/*isWarmup=*/true);
  if (kernel.is_none())
    return kernel;
  auto entry = std::make_unique<py::object>(kernel);
  std::lock_guard<std::mutex> lock(state.mutex);
  // Compiling let other threads run: the table may have been cleared, or have this key.
  if (state.generation.load() == generation && !state.warmed.find(key, hash))
    state.warmed.insert(key, hash, std::move(entry));
  return kernel;
}

//===----------------------------------------------------------------------===//
// The miss
//===----------------------------------------------------------------------===//

/// Compiles, or finds, the kernel without loading it.
py::object LaunchRequest::compile(bool isWarmup) {
  py::dict given = optionDict(options);
  if (overlaps)
    given["arguments_may_overlap"] = true;
  return py::handle(reinterpret_cast<PyObject *>(dispatcher))
      .attr("_compile_specialization")(reader.describe(storage.bound), given, deviceOrdinal,
                                       isWarmup);
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
Entry *LaunchRequest::handleMiss(uint64_t hash) {
  uint64_t began = launchFlags.profiled ? profile::hostNow() : 0;
  py::object kernel = compile(/*isWarmup=*/false);
  if (kernel.is_none())
    return nullptr;
  py::object handle = kernel.attr("load")(deviceOrdinal);
  auto entry = std::make_unique<Entry>();
  entry->handle = handle.cast<LoadedKernelHandle *>();
  missed += began ? profile::hostNow() - began : 0;
  py::object metadata = kernel.attr("metadata");
  entry->writtenMask = writtenMaskOf(state, metadata.attr("written_args"));
  entry->needsDistinctArguments = py::bool_(metadata.attr("needs_distinct_arguments"));
  py::dict given = optionDict(options);
  entry->checksSpans =
      given.contains("index_bits") && py::object(given["index_bits"]).equal(py::int_(32));
  entry->kernel = kernel.release().ptr();
  entry->handleObject = handle.release().ptr();
  std::lock_guard<std::mutex> lock(state.mutex);
  // Compiling let other threads run: one may have entered the same key. Ours is
  // dropped after the lock: that may call Python.
  if (Entry *other = state.table.find(key, hash))
    return other;
  return state.table.insert(key, hash, std::move(entry));
}

} // namespace tilewright
