//===- CacheStore.cpp - Entries in a directory ----------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/CacheStore.h"
#include "runtime/cache/Draft.h"

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

static constexpr const char *quarantineFolder = "quarantine";
static constexpr const char *sizeFile = "size";
static constexpr const char *lockFile = "locks";
static constexpr std::string_view entrySuffix = ".bin";
static constexpr int keptDamaged = 16;
/// A use is noted at most this often: a warm start should not write.
static constexpr int64_t useGranularityInSeconds = 600;
/// A holder of the count works for microseconds, or evicts for milliseconds.
static constexpr std::chrono::seconds patienceForTheCount{10};
/// A network disk says ESTALE where another host has replaced or evicted what was just opened.
static constexpr int mostStaleTries = 10;

static std::string prefixOf(const Digest &key) { return toHex(key).substr(0, 2); }
static std::string fileNameOf(const Digest &key) { return toHex(key) + std::string(entrySuffix); }

static bool isEntryName(const std::string &name) {
  Digest ignored;
  return name.size() == 64 + entrySuffix.size() && name.substr(64) == entrySuffix &&
         fromHex(std::string_view(name).substr(0, 64), ignored);
}

static bool isPrefixName(const std::string &name) {
  auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && isDigit(name[0]) && isDigit(name[1]);
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
  if (::time(nullptr) - status.st_mtime > useGranularityInSeconds)
    ::futimens(file.get(), nullptr); // read-only disks refuse; then age decides
}

LoadResult CacheStore::load(const Digest &key) const {
  LoadResult result = loadOnce(key);
  for (int attempt = 1; attempt < mostStaleTries && result.isStale; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(attempt)); // others replace it just now
    result = loadOnce(key);
  }
  return result;
}

LoadResult CacheStore::loadOnce(const Digest &key) const {
  LoadResult result;
  FileHandle top = openArea(/*create=*/false, result.problem);
  if (!top)
    return result;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/false, result.problem);
  if (!prefix)
    return result;
  auto damaged = [&](std::string reason, bool aside) {
    result.isStale = !aside && errno == ESTALE;
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
  errno = 0;
  if (::fstat(file.get(), &status) != 0)
    damaged("it cannot be read: " + errnoName(errno), /*aside=*/false);
  else if (!S_ISREG(status.st_mode))
    damaged("it is no plain file", /*aside=*/false);
  else if (status.st_uid != ::geteuid())
    damaged("it belongs to uid " + std::to_string(status.st_uid), /*aside=*/false);
  else if (static_cast<uint64_t>(status.st_size) > maxEntryBytes)
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
  FileHandle quarantined = openInside(top, quarantineFolder, /*create=*/true, ignored);
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
  for (size_t i = keptDamaged; i < kept.size(); ++i)
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

namespace {
/// The shared count of bytes, held while this lives.
class SizeCount {
public:
  explicit SizeCount(const FileHandle &top)
      : file(openFile(top.get(), sizeFile, O_RDWR | O_CREAT)) {
    if (!file)
      return;
    auto end = std::chrono::steady_clock::now() + patienceForTheCount;
    bool unsupported = false;
    for (auto pause = std::chrono::microseconds(50); !tryLockByte(file.get(), 0, unsupported);
         pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
      if (unsupported)
        return; // two writers may then forget each other until the next sweep
      if (std::chrono::steady_clock::now() >= end) {
        busy = true;
        return;
      }
      std::this_thread::sleep_for(pause);
    }
  }
  explicit operator bool() const { return bool(file); }
  /// Somebody has held it all the time: a stopped process, say.
  bool isBusy() const { return busy; }
  bool read(uint64_t &used) const {
    return ::pread(file.get(), &used, sizeof(used), 0) == sizeof(used);
  }
  /// What cannot be written would be one too few: then the next writer counts anew.
  void write(uint64_t used) const {
    if (::pwrite(file.get(), &used, sizeof(used), 0) != sizeof(used))
      (void)!::ftruncate(file.get(), 0);
  }

private:
  FileHandle file;
  bool busy = false;
};
} // namespace

StoreResult CacheStore::publish(const FileHandle &top, const Digest &key,
                                const std::string &file) const {
  StoreResult result;
  FileHandle prefix = openInside(top, prefixOf(key).c_str(), /*create=*/true, result.problem);
  if (!prefix)
    return result;
  Draft draft;
  int error = 0;
  {
    SizeCount count(top);
    if (count.isBusy())
      return result; // not kept, as the capacity is a promise
    uint64_t used = 0;
    if (count && (!count.read(used) || used + file.size() > capacity)) {
      // Before the file is there: what the others see never exceeds the capacity.
      uint64_t wanted = capacity - file.size();
      // The slack makes evictions rare; a count that was only unknown evicts nothing.
      SweepResult swept = sweepArea(top, wanted, wanted / 10 * 9);
      result.evicted = swept.evicted;
      used = swept.bytes;
      if (used + file.size() > capacity) {
        // What others write at this moment leaves no room: this one is not kept.
        count.write(used);
        return result;
      }
    }
    error = makeDraft(prefix, file.size(), draft);
    if (count)
      count.write(used + (error ? 0 : file.size()));
  }
  if (!error)
    error = finishDraft(prefix, draft, fileNameOf(key), file);
  if (error)
    result.problem = problemOf(error); // the count is too high now, until the next sweep
  return result;
}

StoreResult CacheStore::store(const Digest &key, const Entry &entry) const {
  StoreResult result;
  std::string file = encodeEntry(key, entry);
  // Something larger than the whole cache would only push everything out.
  if (file.size() > capacity)
    return result;
  FileHandle top;
  for (int attempt = 0; attempt == 0 || (attempt < mostStaleTries && result.problem.isStale);
       ++attempt) {
    result.problem = {};
    top = openArea(/*create=*/true, result.problem);
    if (top)
      result = publish(top, key, file);
  }
  if (!top)
    return result;
  if (result.problem.kind == Problem::Kind::NoSpace) {
    // The disk is smaller than the capacity: make room among our own.
    int evicted = result.evicted;
    SweepResult swept = sweepAndCount(top, 0);
    evicted += swept.evicted;
    if (swept.evicted || swept.abandoned)
      result = publish(top, key, file);
    result.evicted += evicted;
  }
  return result;
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
      bool isTemporary = isDraftName(name);
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
    } else if (!isAbandoned(directory, name, status)) {
      result.bytes += static_cast<uint64_t>(status.st_size); // somebody is writing it
    } else if (::unlinkat(directory.get(), name.c_str(), 0) == 0) {
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

SweepResult CacheStore::sweepAndCount(const FileHandle &top, uint64_t wanted) const {
  SizeCount count(top);
  SweepResult result = sweepArea(top, wanted, wanted);
  if (count && !count.isBusy())
    count.write(result.bytes);
  return result;
}

SweepResult CacheStore::sweep(uint64_t capacity) const {
  Problem ignored;
  FileHandle top = openArea(/*create=*/false, ignored);
  return top ? sweepAndCount(top, capacity) : SweepResult();
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
  FileHandle quarantined = openInside(top, quarantineFolder, /*create=*/false, ignored);
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
  FileHandle file(openFile(top.get(), lockFile, O_RDWR | O_CREAT));
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
