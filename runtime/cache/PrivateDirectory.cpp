//===- PrivateDirectory.cpp - Directories only the user writes ------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/PrivateDirectory.h"

#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace tilewright::cache {

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

FileHandle &FileHandle::operator=(FileHandle &&other) noexcept {
  if (this != &other) {
    close();
    descriptor = other.release();
  }
  return *this;
}

int FileHandle::release() {
  int result = descriptor;
  descriptor = -1;
  return result;
}

int FileHandle::close() {
  if (descriptor < 0)
    return 0;
  // Not repeated on EINTR: Linux has closed the descriptor by then.
  int result = ::close(release());
  return result == 0 || errno == EINTR ? 0 : errno;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

std::string errnoName(int number) {
  if (const char *name = strerrorname_np(number))
    return name;
  return fmt::format("errno {}", number);
}

Problem problemOf(int number) {
  bool isFull = number == ENOSPC || number == EDQUOT;
  return {isFull ? Problem::Kind::NoSpace : Problem::Kind::NotWritable, errnoName(number),
          number == ESTALE || number == ENOENT};
}

/// Why a directory cannot be trusted; empty where it can.
static std::string unsafeReason(const struct stat &status) {
  if (status.st_uid != ::geteuid())
    return fmt::format("owned by uid {}", status.st_uid);
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return "writable by others";
  return "";
}

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

static int openRetrying(int parent, const char *name, int flags) {
  int descriptor, staleTries = 0;
  do
    descriptor = ::openat(parent, name, flags);
  while (descriptor < 0 && (errno == EINTR || (errno == ESTALE && ++staleTries < 4)));
  return descriptor;
}

/// Checks what was opened; the handle comes back empty where it is refused.
static FileHandle checkOpened(FileHandle handle, Problem &problem) {
  struct stat status;
  if (::fstat(handle.get(), &status) != 0) {
    problem = problemOf(errno);
    return {};
  }
  std::string reason = unsafeReason(status);
  if (reason.empty())
    return handle;
  problem = {Problem::Kind::Unsafe, reason, false};
  return {};
}

static FileHandle openChecked(int parent, const char *name, bool create, Problem &problem) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  FileHandle handle(openRetrying(parent, name, flags));
  if (!handle && errno == ENOENT) {
    if (!create)
      return {};
    if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST) {
      problem = problemOf(errno);
      return {};
    }
    handle = FileHandle(openRetrying(parent, name, flags));
  }
  if (handle)
    return checkOpened(std::move(handle), problem);
  int error = errno;
  struct stat status;
  bool exists = ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
  // O_NOFOLLOW with O_DIRECTORY reports a link as ENOTDIR or as ELOOP.
  if (exists && S_ISLNK(status.st_mode))
    problem = {Problem::Kind::Unsafe, "a symbolic link", false};
  else if (exists && !S_ISDIR(status.st_mode))
    problem = {Problem::Kind::NotADirectory, "not a directory", false};
  else
    problem = problemOf(error);
  return {};
}

/// Makes the parents of a path; the last component is made where it is opened.
static bool makeParents(const std::string &path, Problem &problem) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    std::string parent = path.substr(0, at);
    // Most exist. Errors that come before an existing directory is noticed
    // (EROFS, EACCES) do not matter: opening the root decides.
    if (::mkdir(parent.c_str(), 0700) == 0 || errno == EEXIST)
      continue;
    int error = errno;
    struct stat status;
    if (::stat(parent.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      continue;
    problem = problemOf(error);
    return false;
  }
  return true;
}

FileHandle openRoot(const std::string &path, bool create, Problem &problem) {
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/')
    plain.pop_back();
  FileHandle handle = openChecked(AT_FDCWD, plain.c_str(), /*create=*/false, problem);
  if (handle || problem || !create)
    return handle;
  if (!makeParents(plain, problem))
    return {};
  return openChecked(AT_FDCWD, plain.c_str(), /*create=*/true, problem);
}

FileHandle openInside(const FileHandle &parent, const char *name, bool create, Problem &problem) {
  return openChecked(parent.get(), name, create, problem);
}

std::vector<std::string> namesIn(const FileHandle &directory) {
  std::vector<std::string> names;
  // A descriptor of its own: the stream closes it, and it starts at the front.
  int descriptor = openRetrying(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return names;
  DIR *stream = ::fdopendir(descriptor);
  if (!stream) {
    ::close(descriptor);
    return names;
  }
  while (const dirent *item = ::readdir(stream))
    if (std::strcmp(item->d_name, ".") != 0 && std::strcmp(item->d_name, "..") != 0)
      names.push_back(item->d_name);
  ::closedir(stream);
  return names;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

int openFile(int parent, const std::string &name, int flags, mode_t mode) {
  int descriptor;
  do
    // O_NONBLOCK: a planted FIFO must not hold the reader.
    descriptor = ::openat(parent, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

bool writeAll(int descriptor, const std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0)
      errno = EIO; // no progress and no reason: do not loop for ever
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool readAll(int descriptor, size_t size, std::string &bytes) {
  bytes.resize(size);
  size_t done = 0;
  while (done < size) {
    ssize_t count = ::read(descriptor, bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return false;
    if (count == 0)
      break; // shorter than it was: the digest will tell
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return true;
}

bool tryLockByte(int descriptor, uint64_t offset, bool &unsupported) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = 1;
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0)
    return true;
  unsupported = errno != EAGAIN && errno != EACCES && errno != EINTR;
  return false;
}

} // namespace tilewright::cache
