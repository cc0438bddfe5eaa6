//===- CacheStore.cpp - Entries in a directory ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/CacheStore.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <thread>
#include <unistd.h>

namespace tilewright::cache {

static constexpr const char *kQuarantine = "quarantine";
static constexpr const char *kSizeFile = "size";
static constexpr const char *kLockFile = "locks";
static constexpr std::string_view kTemporary = "tmp-";
static constexpr std::string_view kSuffix = ".bin";
static constexpr int kKeptDamaged = 16;
/// A use is noted at most this often: a warm start should not write.
static constexpr int64_t kUseGranularityInSeconds = 600;
/// Where locks do not work, a temporary file of this age is abandoned.
static constexpr int64_t kAbandonedAgeInSeconds = 3600;

static std::string prefixOf(const Digest &key) { return toHex(key).substr(0, 2); }
static std::string fileNameOf(const Digest &key) { return toHex(key) + std::string(kSuffix); }

static bool isEntryName(const std::string &name) {
  Digest ignored;
  return name.size() == 64 + kSuffix.size() && name.substr(64) == kSuffix &&
         fromHex(std::string_view(name).substr(0, 64), ignored);
}

static bool isPrefixName(const std::string &name) {
  auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && isDigit(name[0]) && isDigit(name[1]);
}

static int openFile(int parent, const std::string &name, int flags, mode_t mode = 0600) {
  int descriptor;
  do
    // O_NONBLOCK: a planted FIFO must not hold the reader.
    descriptor = ::openat(parent, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

CacheStore::CacheStore(std::string root, std::string area, uint64_t capacityInBytes)
    : root(std::move(root)), area(std::move(area)), capacity(capacityInBytes) {}

std::string CacheStore::pathOf(const Digest &key) const {
  return root + "/" + area + "/" + prefixOf(key) + "/" + fileNameOf(key);
}

FileHandle CacheStore::openArea(bool create, Problem &problem) const {
  FileHandle top = openRoot(root, create, problem);
  if (!top)
    return {};
  return openInside(top, area.c_str(), create, problem);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Notes the use of an entry in its time of modification.
static void noteUse(const FileHandle &file, const struct stat &status) {
  if (::time(nullptr) - status.st_mtime > kUseGranularityInSeconds)
    ::futimens(file.get(), nullptr); // read-only disks refuse; then age decides
}

LoadResult CacheStore::load(const Digest &key) const {
  LoadResult result;
  FileHandle top = openArea(/*create=*/false, result.problem);
  if (!top)
    return result;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/false, result.problem);
  if (!prefix)
    return result;
  auto damaged = [&](std::string reason, bool aside) {
    result.status = LoadResult::Status::Damaged;
    result.damage = std::move(reason);
    if (aside)
      setAside(top, prefix, fileNameOf(key));
  };

  FileHandle file(openFile(prefix.get(), fileNameOf(key), O_RDONLY));
  struct stat status;
  if (!file) {
    if (errno == ELOOP)
      damaged("it is a symbolic link", /*aside=*/false);
    else if (errno != ENOENT)
      damaged("it cannot be read: " + errnoName(errno), /*aside=*/false);
    return result;
  }
  // What is no plain file of ours was put there by somebody else: it stays.
  if (::fstat(file.get(), &status) != 0)
    damaged("it cannot be read: " + errnoName(errno), /*aside=*/false);
  else if (!S_ISREG(status.st_mode))
    damaged("it is no plain file", /*aside=*/false);
  else if (status.st_uid != ::geteuid())
    damaged("it belongs to uid " + std::to_string(status.st_uid), /*aside=*/false);
  else if (static_cast<uint64_t>(status.st_size) > kMaxEntryBytes)
    damaged("it is too large", /*aside=*/true);
  if (result.status == LoadResult::Status::Damaged)
    return result;

  std::string bytes;
  if (!readAll(file.get(), static_cast<size_t>(status.st_size), bytes)) {
    damaged("it cannot be read: " + errnoName(errno), /*aside=*/false);
    return result;
  }
  std::string problem = decodeEntry(bytes, key, result.entry);
  if (!problem.empty()) {
    damaged(std::move(problem), /*aside=*/true);
    return result;
  }
  noteUse(file, status);
  result.status = LoadResult::Status::Hit;
  return result;
}

/// Renames a damaged file into the quarantine, of which only the newest stay.
void CacheStore::setAside(const FileHandle &top, const FileHandle &prefix,
                          const std::string &name) const {
  Problem ignored;
  FileHandle quarantined = openInside(top, kQuarantine, /*create=*/true, ignored);
  if (!quarantined || ::renameat(prefix.get(), name.c_str(), quarantined.get(), name.c_str()) != 0)
    return; // a read-only disk: the next reader will find it again
  std::vector<std::pair<int64_t, std::string>> kept;
  for (const std::string &other : namesIn(quarantined)) {
    struct stat status;
    if (isEntryName(other) &&
        ::fstatat(quarantined.get(), other.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      kept.emplace_back(status.st_ctime, other);
  }
  std::sort(kept.rbegin(), kept.rend());
  for (size_t i = kKeptDamaged; i < kept.size(); ++i)
    ::unlinkat(quarantined.get(), kept[i].second.c_str(), 0);
}

void CacheStore::quarantine(const Digest &key) const {
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  if (!top)
    return;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/false, ignored);
  if (prefix)
    setAside(top, prefix, fileNameOf(key));
}

bool CacheStore::remove(const Digest &key) const {
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  if (!top)
    return false;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/false, ignored);
  return prefix && ::unlinkat(prefix.get(), fileNameOf(key).c_str(), 0) == 0;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string temporaryName() {
  // Unpredictable is not needed in a private directory, unused is: O_EXCL tells.
  static thread_local std::mt19937_64 generator{std::random_device{}() ^
                                                static_cast<uint64_t>(::getpid()) << 32};
  char name[32];
  std::snprintf(name, sizeof(name), "%.*s%016llx", static_cast<int>(kTemporary.size()),
                kTemporary.data(), static_cast<unsigned long long>(generator()));
  return name;
}

/// Writes a file aside and renames it; 0 or an errno. Leaves nothing on errors.
static int writeAndRename(const FileHandle &directory, const std::string &name,
                          const std::string &bytes) {
  std::string temporary;
  FileHandle file;
  // A forked child repeats its parent's names: another one is drawn.
  for (int attempt = 0; attempt < 8 && !file; ++attempt) {
    temporary = temporaryName();
    file = FileHandle(openFile(directory.get(), temporary, O_WRONLY | O_CREAT | O_EXCL));
    if (!file && errno != EEXIST)
      return errno;
  }
  if (!file)
    return EEXIST;
  bool ignored;
  tryLockByte(file.get(), 0, ignored); // tells a sweeper that the writer lives
  int error = writeAll(file.get(), bytes) ? 0 : errno;
  // The rename comes before the close gives the lock back, so no sweeper takes a
  // finished file away; a close that fails is undone.
  if (!error && ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0)
    error = errno;
  else if (!error && (error = file.close()) != 0)
    ::unlinkat(directory.get(), name.c_str(), 0);
  if (error)
    ::unlinkat(directory.get(), temporary.c_str(), 0);
  return error;
}

StoreResult CacheStore::publish(const FileHandle &top, const Digest &key,
                                const std::string &file) const {
  StoreResult result;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/true, result.problem);
  if (!prefix)
    return result;
  if (int error = writeAndRename(prefix, fileNameOf(key), file))
    result.problem = problemOf(error);
  return result;
}

StoreResult CacheStore::store(const Digest &key, const Entry &entry) const {
  StoreResult result;
  std::string file = encodeEntry(key, entry);
  // Something larger than the whole cache would only push everything out.
  if (file.size() > capacity)
    return result;
  FileHandle top = openArea(/*create=*/true, result.problem);
  if (!top)
    return result;
  int evicted = reserve(top, file.size());
  result = publish(top, key, file);
  if (result.problem.kind == Problem::Kind::NoSpace) {
    // The disk is smaller than the capacity: make room among our own.
    SweepResult swept = sweepArea(top, 0, 0);
    evicted += swept.evicted;
    if (swept.evicted || swept.abandoned)
      result = publish(top, key, file);
  }
  result.evicted = evicted;
  return result;
}

/// Adds to the shared count of bytes and evicts where it exceeds the capacity;
/// the number of entries evicted. Any failure leaves the count as it is.
int CacheStore::reserve(const FileHandle &top, uint64_t bytes) const {
  FileHandle file(openFile(top.get(), kSizeFile, O_RDWR | O_CREAT));
  if (!file)
    return 0;
  bool unsupported = false;
  bool locked = false;
  for (int attempt = 0; attempt < 1000 && !locked && !unsupported; ++attempt) {
    locked = tryLockByte(file.get(), 0, unsupported);
    if (!locked && !unsupported)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  uint64_t used = 0;
  bool known = ::pread(file.get(), &used, sizeof(used), 0) == sizeof(used);
  int evicted = 0;
  if (!known || used + bytes > capacity) {
    // Before the file is there: what the others see never exceeds the capacity.
    uint64_t wanted = capacity - std::min(capacity, bytes);
    // The slack makes evictions rare; a count that was only unknown evicts nothing.
    SweepResult swept = sweepArea(top, wanted, wanted / 10 * 9);
    evicted = swept.evicted;
    used = swept.bytes;
  }
  used += bytes;
  if (::pwrite(file.get(), &used, sizeof(used), 0) != sizeof(used))
    return evicted; // the next writer counts anew, or one too few
  return evicted;
}

//===----------------------------------------------------------------------===//
// Sweeping
//===----------------------------------------------------------------------===//

namespace {
struct FoundEntry {
  int64_t lastUse;
  uint64_t bytes;
  std::string prefix, name;
};
} // namespace

/// Whether nobody writes this temporary file any more.
static bool isAbandoned(const FileHandle &directory, const std::string &name,
                        const struct stat &status) {
  FileHandle file(openFile(directory.get(), name, O_RDWR));
  if (!file)
    return false;
  bool unsupported = false;
  if (tryLockByte(file.get(), 0, unsupported))
    return true;
  return unsupported && ::time(nullptr) - status.st_mtime > kAbandonedAgeInSeconds;
}

/// Visits every file of a known form: `visit(directory, prefix, name, status)`.
static void visitFiles(const FileHandle &top,
                       const std::function<void(const FileHandle &, const std::string &,
                                                const std::string &, const struct stat &)> &visit) {
  for (const std::string &prefix : namesIn(top)) {
    if (!isPrefixName(prefix))
      continue;
    Problem ignored;
    FileHandle directory = openInside(top, prefix.c_str(), /*create=*/false, ignored);
    if (!directory)
      continue;
    for (const std::string &name : namesIn(directory)) {
      bool isTemporary = name.compare(0, kTemporary.size(), kTemporary) == 0;
      struct stat status;
      if ((isTemporary || isEntryName(name)) &&
          ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(status.st_mode))
        visit(directory, prefix, name, status);
    }
  }
}

SweepResult CacheStore::sweepArea(const FileHandle &top, uint64_t limit, uint64_t wanted) const {
  SweepResult result;
  std::vector<FoundEntry> found;
  visitFiles(top, [&](const FileHandle &directory, const std::string &prefix,
                      const std::string &name, const struct stat &status) {
    if (isEntryName(name)) {
      result.bytes += static_cast<uint64_t>(status.st_size);
      found.push_back({status.st_mtime, static_cast<uint64_t>(status.st_size), prefix, name});
    } else if (isAbandoned(directory, name, status) &&
               ::unlinkat(directory.get(), name.c_str(), 0) == 0) {
      ++result.abandoned;
    }
  });
  if (result.bytes <= limit)
    return result;
  std::sort(found.begin(), found.end(),
            [](const FoundEntry &a, const FoundEntry &b) { return a.lastUse < b.lastUse; });
  for (const FoundEntry &entry : found) {
    if (result.bytes <= wanted)
      break;
    Problem ignored;
    FileHandle directory = openInside(top, entry.prefix.c_str(), /*create=*/false, ignored);
    // Gone already is as good as removed.
    if (directory && ::unlinkat(directory.get(), entry.name.c_str(), 0) != 0 && errno != ENOENT)
      continue;
    result.bytes -= entry.bytes;
    ++result.evicted;
  }
  return result;
}

SweepResult CacheStore::sweep(uint64_t wanted) const {
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  if (!top)
    return {};
  SweepResult result = sweepArea(top, wanted, wanted);
  FileHandle size(openFile(top.get(), kSizeFile, O_RDWR));
  if (size && ::pwrite(size.get(), &result.bytes, sizeof(result.bytes), 0) < 0)
    ::unlinkat(top.get(), kSizeFile, 0); // the next writer counts anew
  return result;
}

std::vector<ListedEntry> CacheStore::list() const {
  std::vector<ListedEntry> entries;
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  if (!top)
    return entries;
  visitFiles(top, [&](const FileHandle &, const std::string &, const std::string &name,
                      const struct stat &status) {
    if (isEntryName(name))
      entries.push_back(
          {name.substr(0, 64), static_cast<uint64_t>(status.st_size), status.st_mtime});
  });
  return entries;
}

int CacheStore::clear() const {
  int removed = sweep(0).evicted;
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  if (!top)
    return removed;
  FileHandle quarantined = openInside(top, kQuarantine, /*create=*/false, ignored);
  if (quarantined)
    for (const std::string &name : namesIn(quarantined))
      if (isEntryName(name))
        ::unlinkat(quarantined.get(), name.c_str(), 0);
  return removed;
}

//===----------------------------------------------------------------------===//
// The lock of a key
//===----------------------------------------------------------------------===//

FileHandle CacheStore::lock(const Digest &key, double timeoutInSeconds) const {
  Problem ignored;
  FileHandle top = openArea(/*create=*/true, ignored);
  if (!top)
    return {};
  FileHandle file(openFile(top.get(), kLockFile, O_RDWR | O_CREAT));
  if (!file)
    return {};
  // 62 bits: an offset is signed. Two keys with one offset only wait in turn.
  uint64_t offset;
  std::memcpy(&offset, key.data(), sizeof(offset));
  offset >>= 2;
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::duration<double>(timeoutInSeconds);
  for (;;) {
    bool unsupported = false;
    if (tryLockByte(file.get(), offset, unsupported))
      return file;
    if (unsupported || Clock::now() >= end)
      return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

} // namespace tilewright::cache
