//===- PrivateDirectory.h - Directories only the user writes ----*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: opens the directories of a cache so that the directory that was checked
// is the one that is used. A directory is opened without following a link, its
// owner and mode are read from the descriptor, and everything below goes
// through that descriptor: exchanging a path after the check leads nowhere.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CACHE_PRIVATEDIRECTORY_H
#define TILEWRIGHT_RUNTIME_CACHE_PRIVATEDIRECTORY_H

#include <cstdint>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tilewright::cache {

/// A descriptor that closes itself.
class FileHandle {
public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor(descriptor) {}
  FileHandle(FileHandle &&other) noexcept : descriptor(other.release()) {}
  FileHandle &operator=(FileHandle &&other) noexcept;
  ~FileHandle() { close(); }

  explicit operator bool() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  int release();
  /// 0, or the errno of the close: a full network disk reports itself here.
  int close();

private:
  int descriptor = -1;
};

/// What keeps the cache from working; `reason` completes the catalogue's text.
struct Problem {
  enum class Kind { None, NotWritable, Unsafe, NoSpace, NotADirectory };
  Kind kind = Kind::None;
  std::string reason;
  /// A network disk has lost a handle, or somebody has removed a folder: opening anew may help.
  bool isStale = false;

  explicit operator bool() const { return kind != Kind::None; }
};

/// "ENOSPC" of an errno.
std::string errnoName(int number);
/// NoSpace for full disks and quotas, else NotWritable.
Problem problemOf(int number);

/// Opens the root of a cache, with `create` also making it and its parents. An
/// empty handle without a problem: it does not exist.
FileHandle openRoot(const std::string &path, bool create, Problem &problem);
/// Opens a directory inside one that was opened so.
FileHandle openInside(const FileHandle &parent, const char *name, bool create, Problem &problem);

/// Names in a directory, without the dots. Nothing where it cannot be read.
std::vector<std::string> namesIn(const FileHandle &directory);

/// Opens a file of a directory, never through a link; -1 and errno where that fails.
int openFile(int parent, const std::string &name, int flags, mode_t mode = 0600);
/// Whether every byte went to the file; errno says why not.
bool writeAll(int descriptor, const std::string &bytes);
/// Reads up to `size` bytes; false on an error, which errno names.
bool readAll(int descriptor, size_t size, std::string &bytes);

/// An exclusive lock on one byte of an open file, which the kernel releases with
/// the descriptor, also when the process dies. False where it is taken, or the
/// file system has no locks: `unsupported` tells which.
bool tryLockByte(int descriptor, uint64_t offset, bool &unsupported);

} // namespace tilewright::cache

#endif // TILEWRIGHT_RUNTIME_CACHE_PRIVATEDIRECTORY_H
