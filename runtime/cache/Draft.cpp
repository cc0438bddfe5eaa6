//===- Draft.cpp - Files on their way to their names ----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/Draft.h"

#include "runtime/cache/Sha256.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <string_view>
#include <unistd.h>

namespace tilewright::cache {

static constexpr std::string_view draftPrefix = "tmp-";
/// Where locks do not reach the writer, a temporary file of this age is abandoned.
static constexpr int64_t abandonedAgeInSeconds = 3600;

const std::string &temporaryPrefix() {
  static const std::string prefix = [] {
    std::string id;
    FileHandle file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (!file || !readAll(file.get(), 36, id) || id.empty())
      id = "no boot id";
    return std::string(draftPrefix) + toHex(sha256(id)).substr(0, 8) + "-";
  }();
  return prefix;
}

bool isDraftName(const std::string &name) {
  return name.compare(0, draftPrefix.size(), draftPrefix) == 0;
}

static std::string temporaryName() {
  // Unpredictable is not needed in a private directory, unused is: O_EXCL tells.
  static thread_local std::mt19937_64 generator{std::random_device{}() ^
                                                static_cast<uint64_t>(::getpid()) << 32};
  char number[20];
  std::snprintf(number, sizeof(number), "%016llx", static_cast<unsigned long long>(generator()));
  return temporaryPrefix() + number;
}

int makeDraft(const FileHandle &directory, uint64_t bytes, Draft &draft) {
  // A forked child repeats its parent's names: another one is drawn.
  for (int attempt = 0; attempt < 8 && !draft.file; ++attempt) {
    draft.name = temporaryName();
    draft.file = FileHandle(openFile(directory.get(), draft.name, O_WRONLY | O_CREAT | O_EXCL));
    if (!draft.file && errno != EEXIST)
      return errno;
  }
  if (!draft.file)
    return EEXIST;
  bool ignored;
  tryLockByte(draft.file.get(), 0, ignored); // tells a sweeper that the writer lives
  if (::ftruncate(draft.file.get(), static_cast<off_t>(bytes)) == 0)
    return 0;
  int error = errno;
  ::unlinkat(directory.get(), draft.name.c_str(), 0);
  draft.file.close();
  return error;
}

/// Sends what was written to the server of a network disk, which sees nothing of it until a
/// descriptor is closed; costs nothing on others. The lock stays: it is that of the other one.
static int flushByClosing(const FileHandle &file) {
  FileHandle copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  return copy ? copy.close() : 0; // without a descriptor to spare, the last close reports
}

int finishDraft(const FileHandle &directory, Draft &draft, const std::string &name,
                const std::string &bytes) {
  int error = writeAll(draft.file.get(), bytes) ? 0 : errno;
  if (!error) // other hosts must find all bytes where they find the name
    error = flushByClosing(draft.file);
  // The rename comes before the close gives the lock back, so no sweeper takes a
  // finished file away; a close that fails is undone.
  if (!error &&
      ::renameat(directory.get(), draft.name.c_str(), directory.get(), name.c_str()) != 0) {
    error = errno;
    // Only its writer removes the draft. If it is gone and the name is there, a network disk has
    // repeated a request whose answer was lost, and found the work done. Without the name the
    // whole folder was removed.
    struct stat status;
    if (error == ENOENT &&
        ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      error = 0;
  } else if (!error) {
    error = draft.file.close();
    if (error)
      ::unlinkat(directory.get(), name.c_str(), 0);
  }
  if (error)
    ::unlinkat(directory.get(), draft.name.c_str(), 0);
  return error;
}

bool isAbandoned(const FileHandle &directory, const std::string &name, const struct stat &status) {
  bool isOld = ::time(nullptr) - status.st_mtime > abandonedAgeInSeconds;
  // Mounts may keep locks to one host: that of another's file is free whether its writer lives or not.
  if (name.compare(0, temporaryPrefix().size(), temporaryPrefix()) != 0)
    return isOld;
  FileHandle file(openFile(directory.get(), name, O_RDWR));
  if (!file)
    return false;
  bool unsupported = false;
  if (tryLockByte(file.get(), 0, unsupported))
    return true;
  return unsupported && isOld;
}

} // namespace tilewright::cache
