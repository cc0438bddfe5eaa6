//===- CacheStore.h - Entries in a directory --------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a map from keys to entries (EntryFormat.h) on disk, shared by any number
// of threads, processes and hosts, that never raises for what it finds there.
//
//   {root}/{area}/{2 digits}/{64 digits}.bin   an entry
//   {root}/{area}/{2 digits}/tmp-{host}-{random}  being written; its writer holds
//                                              a lock on it
//   {root}/{area}/quarantine/{64 digits}.bin   damaged entries, the newest few
//   {root}/{area}/size                         bytes of all of the above but the
//                                              quarantine; byte 0 is its lock
//   {root}/{area}/locks                        empty; byte n is the lock of key n
//
// How it stays whole without locks: an entry appears by one rename and never
// changes afterwards. A reader opens the final name directly (no listing), reads
// once, verifies, and uses the bytes from memory. A writer that loses a race has
// written the same content. The locks only save duplicate work and keep the
// capacity. Where they fail, a kernel is compiled twice, and the count of bytes
// is wrong until a sweep.
//
// On network disks: every operation opens its directories anew, because that is when
// a client learns of changes (close-to-open). The content is at the server before
// the rename. A file that has disappeared meanwhile (ESTALE) is asked for again.
// Temporary files of another host are judged by their age, because each host may
// have locks of its own. Two hosts may then compile the same kernel, and the count
// is wrong until a sweep.
//
// Eviction: a writer takes the lock of `size`, adds the bytes of its entry, makes
// the file with its final length under another name, and gives the lock back. The
// content and the rename follow without it. If the sum would exceed the capacity,
// the writer first scans, removes the least recently used entries down to nine
// tenths, and takes the true sum, which includes the files of other writers. So the
// files never exceed the capacity, and an entry that does not fit beside those being
// written is not kept. Readers take no lock. A file that is gone already counts as
// removed. Only names of the forms above are touched, and never through a link.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CACHE_CACHESTORE_H
#define TILEWRIGHT_RUNTIME_CACHE_CACHESTORE_H

#include "runtime/cache/EntryFormat.h"
#include "runtime/cache/PrivateDirectory.h"

#include <memory>

namespace tilewright::cache {

struct LoadResult {
  enum class Status { Hit, Miss, Damaged };
  Status status = Status::Miss;
  Entry entry;
  std::string damage;   ///< why the file was set aside
  bool isStale = false; ///< it went away while it was read: ask again
  Problem problem;      ///< the directory cannot be used at all
};

struct StoreResult {
  Problem problem; ///< none: the entry is there
  int evicted = 0;
};

struct ListedEntry {
  std::string key;
  uint64_t bytes = 0;
  int64_t lastUse = 0; ///< seconds since 1970
};

struct SweepResult {
  int evicted = 0;   ///< entries above the capacity
  int abandoned = 0; ///< temporary files whose writer is gone
  uint64_t bytes = 0;
};

class CacheStore {
public:
  /// `area` is one directory name below the root; touches nothing yet.
  CacheStore(std::string root, std::string area, uint64_t capacityInBytes);

  const std::string &rootPath() const { return root; }
  std::string pathOf(const Digest &key) const;

  LoadResult load(const Digest &key) const;
  StoreResult store(const Digest &key, const Entry &entry) const;
  /// Moves an entry aside: its header told a reader above that it is wrong.
  void quarantine(const Digest &key) const;
  bool remove(const Digest &key) const;

  std::vector<ListedEntry> list() const;
  /// Evicts down to `capacity` and removes what dead writers left.
  SweepResult sweep(uint64_t capacity) const;
  /// Removes every entry, temporary and quarantined file; the count of entries.
  int clear() const;

  /// The lock of a key, to compile it once among processes; an empty handle when
  /// it is not free within the time, or locks do not work here.
  FileHandle lock(const Digest &key, double timeoutInSeconds) const;

private:
  LoadResult loadOnce(const Digest &key) const;
  FileHandle openArea(bool create, Problem &problem) const;
  StoreResult publish(const FileHandle &top, const Digest &key, const std::string &file) const;
  /// Where the files exceed `limit` bytes, evicts down to `wanted`.
  SweepResult sweepArea(const FileHandle &top, uint64_t limit, uint64_t wanted) const;
  SweepResult sweepAndCount(const FileHandle &top, uint64_t wanted) const;
  void setAside(const FileHandle &top, const FileHandle &prefix, const std::string &name) const;

  std::string root, area;
  uint64_t capacity;
};

} // namespace tilewright::cache

#endif // TILEWRIGHT_RUNTIME_CACHE_CACHESTORE_H
