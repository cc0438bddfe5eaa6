//===- CacheBindings.cpp - The cache on disk ------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: CacheStore for Python. Keys are hexadecimal text. Problems come back as
// (kind, reason); Python knows which of them are warnings and issues each once.
//
//===----------------------------------------------------------------------===//

#include "python/bindings/Bindings.h"

#include "frontend/python/SourceBlock.h"
#include "runtime/cache/CacheStore.h"

#include <pybind11/stl.h>

#include <fcntl.h>
#include <sys/stat.h>

namespace py = pybind11;

namespace tilewright {

using namespace cache;

namespace {

Digest digestOf(const std::string &text) {
  Digest digest;
  if (!fromHex(text, digest))
    throw py::value_error("a key is 64 lower-case hexadecimal digits");
  return digest;
}

py::object problemTuple(const Problem &problem) {
  switch (problem.kind) {
  case Problem::Kind::None:
    return py::none();
  case Problem::Kind::NotWritable:
    return py::make_tuple("not-writable", problem.reason);
  case Problem::Kind::Unsafe:
    return py::make_tuple("unsafe", problem.reason);
  case Problem::Kind::NoSpace:
    return py::make_tuple("no-space", problem.reason);
  case Problem::Kind::NotADirectory:
    return py::make_tuple("not-a-directory", problem.reason);
  }
  return py::none();
}

py::dict sectionDict(const Entry &entry) {
  py::dict sections;
  for (const Section &section : entry.sections)
    sections[py::str(section.name)] = py::bytes(section.bytes);
  return sections;
}

Entry entryOf(const std::string &header, const py::dict &sections) {
  Entry entry;
  entry.header = header;
  for (auto item : sections)
    entry.sections.push_back({item.first.cast<std::string>(), item.second.cast<std::string>()});
  return entry;
}

/// (header or None, sections, damage or "", problem or None)
py::tuple load(const CacheStore &store, const std::string &key) {
  Digest digest = digestOf(key);
  LoadResult result;
  {
    py::gil_scoped_release release;
    result = store.load(digest);
  }
  bool isHit = result.status == LoadResult::Status::Hit;
  return py::make_tuple(isHit ? py::object(py::bytes(result.entry.header)) : py::none(),
                        sectionDict(result.entry), result.damage, problemTuple(result.problem));
}

/// (problem or None, number of evicted entries)
py::tuple store(const CacheStore &store, const std::string &key, const std::string &header,
                const py::dict &sections) {
  Digest digest = digestOf(key);
  Entry entry = entryOf(header, sections);
  StoreResult result;
  {
    py::gil_scoped_release release;
    result = store.store(digest, entry);
  }
  return py::make_tuple(problemTuple(result.problem), result.evicted);
}

py::list list(const CacheStore &store) {
  std::vector<ListedEntry> entries;
  {
    py::gil_scoped_release release;
    entries = store.list();
  }
  py::list rows;
  for (const ListedEntry &entry : entries)
    rows.append(py::make_tuple(entry.key, entry.bytes, entry.lastUse));
  return rows;
}

//===----------------------------------------------------------------------===//
// The text of a kernel
//===----------------------------------------------------------------------===//

constexpr off_t maxSourceBytes = 16 << 20;

/// The content of a file that Python reads byte for byte: UTF-8 without a mark or a
/// declared encoding, and with plain line ends. Of all others false.
bool readPlainSource(const char *path, std::string &text) {
  // O_NONBLOCK: no FIFO holds us.
  FileHandle file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > maxSourceBytes ||
      !readAll(file.get(), static_cast<size_t>(status.st_size), text))
    return false;
  // Where an encoding may be declared.
  size_t firstEnd = text.find('\n');
  size_t secondEnd = firstEnd == std::string::npos ? firstEnd : text.find('\n', firstEnd + 1);
  return text.compare(0, 3, "\xef\xbb\xbf") != 0 && text.find('\r') == std::string::npos &&
         std::string_view(text).substr(0, secondEnd).find("coding") == std::string_view::npos;
}

/// The position after `count` lines from `at` on, at most the end.
size_t skipLines(const std::string &text, size_t at, size_t count) {
  for (; count > 0 && at < text.size(); --count) {
    size_t end = text.find('\n', at);
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return at;
}

py::object decoded(const std::string &text) {
  PyObject *result =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (!result)
    PyErr_Clear();
  return py::reinterpret_steal<py::object>(result);
}

/// (text, meaning) of the function that starts at a line of a file, or None.
py::object readSourceBlock(const py::object &path, size_t firstLine) {
  PyObject *name = nullptr;
  if (!PyUnicode_FSConverter(path.ptr(), static_cast<void *>(&name))) {
    PyErr_Clear();
    return py::none();
  }
  py::bytes nameBytes = py::reinterpret_steal<py::bytes>(name);
  std::string text, lines;
  SourceBlock block;
  {
    py::gil_scoped_release release;
    bool isPlain = readPlainSource(PyBytes_AS_STRING(nameBytes.ptr()), text);
    size_t start = isPlain ? skipLines(text, 0, firstLine - 1) : 0;
    if (isPlain && start < text.size()) {
      block = scanSourceBlock(std::string_view(text).substr(start));
      lines = text.substr(start, skipLines(text, start, block.lineCount) - start);
      if (lines.back() != '\n')
        lines += '\n';
    }
  }
  py::object pyLines = decoded(lines), meaning = decoded(block.meaning);
  if (lines.empty() || !pyLines || !meaning)
    return py::none();
  return py::make_tuple(pyLines, meaning);
}

/// A lock that is held until `release()`, or until the object dies.
struct KeyLock {
  FileHandle file;
};

} // namespace

void bindCache(py::module_ &module) {
  py::class_<KeyLock>(module, "KeyLock").def("release", [](KeyLock &lock) { lock.file.close(); });
  py::class_<CacheStore>(module, "CacheStore", "Entries in a directory; see CacheStore.h.")
      .def(py::init<std::string, std::string, uint64_t>(), py::arg("root"), py::arg("area"),
           py::arg("capacity"))
      .def_property_readonly("root", &CacheStore::rootPath)
      .def("path",
           [](const CacheStore &s, const std::string &key) { return s.pathOf(digestOf(key)); })
      .def("load", &load)
      .def("store", &store)
      .def("quarantine",
           [](const CacheStore &s, const std::string &key) { s.quarantine(digestOf(key)); })
      .def("remove",
           [](const CacheStore &s, const std::string &key) { return s.remove(digestOf(key)); })
      .def("list", &list)
      .def("clear", &CacheStore::clear, py::call_guard<py::gil_scoped_release>())
      .def("sweep",
           [](const CacheStore &s, uint64_t capacity) {
             SweepResult result;
             {
               py::gil_scoped_release release;
               result = s.sweep(capacity);
             }
             return py::make_tuple(result.evicted, result.abandoned, result.bytes);
           })
      .def("lock", [](const CacheStore &s, const std::string &key, double timeout) -> py::object {
        Digest digest = digestOf(key);
        FileHandle file;
        {
          py::gil_scoped_release release;
          file = s.lock(digest, timeout);
        }
        return file ? py::cast(KeyLock{std::move(file)}) : py::none();
      });
  module.def(
      "scan_source_block",
      [](std::string_view text) {
        SourceBlock block = scanSourceBlock(text);
        return py::make_tuple(block.lineCount, py::bytes(block.meaning));
      },
      "(number of lines, meaning) of the function that the text starts with; both in UTF-8.");
  module.def("read_source_block", &readSourceBlock, py::arg("path"), py::arg("first_line"),
             "(text, meaning) of the function at a line of a file; None where the file cannot be "
             "read, or Python would not take its bytes as they are.");
  module.def(
      "sha256", [](std::string_view text) { return toHex(sha256(text)); },
      "The digest of bytes, or of a text's UTF-8, in hexadecimal.");
  module.def("encode_entry",
             [](const std::string &key, const std::string &header, const py::dict &sections) {
               return py::bytes(encodeEntry(digestOf(key), entryOf(header, sections)));
             });
  module.def("decode_entry", [](const py::bytes &file, const std::string &key) {
    Entry entry;
    std::string problem = decodeEntry(std::string_view(file), digestOf(key), entry);
    return py::make_tuple(py::bytes(entry.header), sectionDict(entry), problem);
  });
}

} // namespace tilewright
