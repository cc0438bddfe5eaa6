//===- CacheStoreTest.cpp - Entries in a directory ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cache/CacheStore.h"
#include "runtime/cache/Draft.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace tilewright::cache;
namespace fs = std::filesystem;

namespace {

using Status = LoadResult::Status;

class CacheStoreTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilewright-store-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
    root = (folder / "cache").string();
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  CacheStore makeStore(uint64_t capacity = 1 << 20) { return CacheStore(root, "area", capacity); }
  static Digest key(int number) { return sha256("key " + std::to_string(number)); }
  static Entry entry(int number, size_t bytes = 100) {
    return {"header " + std::to_string(number), {{"data", std::string(bytes, 'd')}}};
  }
  size_t temporaries() const {
    size_t count = 0;
    for (const auto &item : fs::recursive_directory_iterator(root))
      count += item.path().filename().string().rfind("tmp-", 0) == 0;
    return count;
  }
  /// Sets the time of an entry's last use, in seconds before now.
  void age(const CacheStore &store, int number, int seconds) {
    fs::last_write_time(store.pathOf(key(number)),
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }

  fs::path folder;
  std::string root;
};

TEST_F(CacheStoreTest, NothingIsThereAtFirst) {
  CacheStore store = makeStore();
  LoadResult result = store.load(key(1));
  EXPECT_EQ(result.status, Status::Miss);
  EXPECT_FALSE(result.problem);
  EXPECT_FALSE(fs::exists(root)) << "a read makes no directory";
}

TEST_F(CacheStoreTest, StoredIsLoaded) {
  CacheStore store = makeStore();
  EXPECT_FALSE(store.store(key(1), entry(1)).problem);
  LoadResult result = store.load(key(1));
  ASSERT_EQ(result.status, Status::Hit);
  EXPECT_EQ(result.entry.header, "header 1");
  EXPECT_EQ(store.load(key(2)).status, Status::Miss);
  EXPECT_EQ(temporaries(), 0u);
  EXPECT_EQ(fs::status(root).permissions(), fs::perms::owner_all);
  ASSERT_EQ(store.list().size(), 1u);
  EXPECT_EQ(store.list()[0].key, toHex(key(1)));
}

TEST_F(CacheStoreTest, DamagedGoesToTheQuarantineOnce) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  std::ofstream(store.pathOf(key(1)), std::ios::app) << "more";
  LoadResult result = store.load(key(1));
  EXPECT_EQ(result.status, Status::Damaged);
  EXPECT_EQ(result.damage, "a wrong length");
  EXPECT_EQ(store.load(key(1)).status, Status::Miss);
  EXPECT_TRUE(fs::exists(root + "/area/quarantine/" + toHex(key(1)) + ".bin"));
}

TEST_F(CacheStoreTest, QuarantineKeepsTheNewest) {
  CacheStore store = makeStore();
  for (int i = 0; i < 40; ++i) {
    store.store(key(i), entry(i));
    store.quarantine(key(i));
  }
  size_t kept = 0;
  for ([[maybe_unused]] const auto &item : fs::directory_iterator(root + "/area/quarantine"))
    ++kept;
  EXPECT_EQ(kept, 16u);
}

TEST_F(CacheStoreTest, ForeignThingsAreLeftAlone) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::path path = store.pathOf(key(1));
  // A link to a valid entry elsewhere is no entry.
  fs::path elsewhere = folder / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(store.load(key(1)).status, Status::Damaged);
  EXPECT_TRUE(fs::is_symlink(path));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(store.load(key(1)).status, Status::Damaged);
  fs::remove(path);
  // A FIFO must not hold the reader.
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(store.load(key(1)).status, Status::Damaged);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(store.sweep(0).evicted, 0);
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(CacheStoreTest, UnsafeDirectoriesAreRefused) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::permissions(root, fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(store.load(key(1)).problem.kind, Problem::Kind::Unsafe);
  EXPECT_EQ(store.load(key(1)).problem.reason, "writable by others");
  EXPECT_EQ(store.store(key(2), entry(2)).problem.kind, Problem::Kind::Unsafe);
  fs::permissions(root, fs::perms::owner_all);
  EXPECT_EQ(store.load(key(1)).status, Status::Hit);
  // The root, and a directory inside, behind a link.
  fs::path real = folder / "real";
  fs::rename(root, real);
  fs::create_symlink(real, root);
  EXPECT_EQ(store.load(key(1)).problem.reason, "a symbolic link");
  fs::remove(root);
  fs::rename(real, root);
  fs::rename(root + "/area", real);
  fs::create_symlink(real, root + "/area");
  EXPECT_EQ(store.load(key(1)).problem.reason, "a symbolic link");
}

TEST_F(CacheStoreTest, AFileIsNoDirectory) {
  std::ofstream(root) << "text";
  EXPECT_EQ(makeStore().load(key(1)).problem.kind, Problem::Kind::NotADirectory);
  EXPECT_EQ(makeStore().store(key(1), entry(1)).problem.kind, Problem::Kind::NotADirectory);
}

TEST_F(CacheStoreTest, LeastRecentlyUsedIsEvicted) {
  CacheStore store = makeStore(/*capacity=*/5000);
  for (int i = 0; i < 8; ++i) {
    store.store(key(i), entry(i, 300));
    age(store, i, 1000 * (10 - i));
  }
  EXPECT_EQ(store.load(key(0)).status, Status::Hit); // used now
  for (int i = 8; i < 14; ++i)
    store.store(key(i), entry(i, 300));
  uint64_t bytes = 0;
  for (const ListedEntry &listed : store.list())
    bytes += listed.bytes;
  EXPECT_LE(bytes, 5000u);
  EXPECT_EQ(store.load(key(0)).status, Status::Hit);
  EXPECT_EQ(store.load(key(1)).status, Status::Miss);
  EXPECT_EQ(store.load(key(13)).status, Status::Hit);
}

TEST_F(CacheStoreTest, LargerThanTheCacheIsNotKept) {
  CacheStore store = makeStore(/*capacity=*/1000);
  store.store(key(1), entry(1, 300));
  EXPECT_FALSE(store.store(key(2), entry(2, 2000)).problem);
  EXPECT_EQ(store.load(key(1)).status, Status::Hit);
  EXPECT_EQ(store.load(key(2)).status, Status::Miss);
}

TEST_F(CacheStoreTest, FilesBeingWrittenCount) {
  CacheStore store = makeStore(/*capacity=*/5000);
  store.store(key(1), entry(1, 300));
  fs::path prefix = fs::path(store.pathOf(key(1))).parent_path();
  FileHandle writer(
      ::open((prefix / (temporaryPrefix() + "busy")).c_str(), O_RDWR | O_CREAT, 0600));
  bool unsupported = false;
  ASSERT_TRUE(tryLockByte(writer.get(), 0, unsupported));
  ASSERT_EQ(::ftruncate(writer.get(), 4800), 0);
  std::ofstream(root + "/area/size", std::ios::trunc) << "x"; // so that it is counted anew
  // Nothing is left to evict but the entry, and that would not be enough.
  EXPECT_FALSE(store.store(key(2), entry(2, 300)).problem);
  EXPECT_EQ(store.load(key(2)).status, Status::Miss);
  writer.close();
  store.sweep(5000);
  EXPECT_FALSE(store.store(key(2), entry(2, 300)).problem);
  EXPECT_EQ(store.load(key(2)).status, Status::Hit);
}

TEST_F(CacheStoreTest, AFailedWriteLeavesNothing) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::create_directory(fs::path(store.pathOf(key(2))).parent_path());
  fs::create_directory(store.pathOf(key(2))); // the rename will fail
  EXPECT_TRUE(store.store(key(2), entry(2)).problem);
  EXPECT_EQ(temporaries(), 0u);
  EXPECT_EQ(store.load(key(1)).status, Status::Hit);
}

TEST_F(CacheStoreTest, ADraftWhoseFolderIsRemovedIsNotKept) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::path prefix = fs::path(store.pathOf(key(1))).parent_path();
  FileHandle directory(::open(prefix.c_str(), O_RDONLY | O_DIRECTORY));
  // A network disk may repeat a rename that was done.
  Draft repeated;
  ASSERT_EQ(makeDraft(directory, 4, repeated), 0);
  fs::rename(prefix / repeated.name, prefix / "name");
  EXPECT_EQ(finishDraft(directory, repeated, "name", "data"), 0);
  EXPECT_EQ(fs::file_size(prefix / "name"), 4u);

  Draft lost;
  ASSERT_EQ(makeDraft(directory, 4, lost), 0);
  fs::remove_all(root);
  EXPECT_EQ(finishDraft(directory, lost, "other", "data"), ENOENT);
  EXPECT_FALSE(store.store(key(1), entry(1)).problem) << "the folders are made anew";
  EXPECT_EQ(store.load(key(1)).status, Status::Hit);
}

TEST_F(CacheStoreTest, ManyWritersStayBelowTheCapacity) {
  const uint64_t capacity = 20000;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      CacheStore store = makeStore(capacity);
      for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(store.store(key(t * 100 + i), entry(i, 500 + i * 13)).problem);
    });
  std::thread observer([&] {
    CacheStore store = makeStore(capacity);
    while (!done)
      EXPECT_LE(store.sweep(~uint64_t(0)).bytes, capacity); // counts under the lock
  });
  for (std::thread &thread : threads)
    thread.join();
  done = true;
  observer.join();
  EXPECT_EQ(temporaries(), 0u);
  EXPECT_GT(makeStore(capacity).list().size(), 5u);
}

TEST_F(CacheStoreTest, AWrongCountIsRepaired) {
  CacheStore store = makeStore(/*capacity=*/5000);
  store.store(key(1), entry(1, 300));
  std::ofstream(root + "/area/size", std::ios::trunc) << "x";
  store.store(key(2), entry(2, 300));
  uint64_t huge = ~uint64_t(0) >> 1;
  std::ofstream(root + "/area/size", std::ios::trunc).write(reinterpret_cast<char *>(&huge), 8);
  EXPECT_EQ(store.store(key(3), entry(3, 300)).evicted, 0) << "there is room";
  EXPECT_EQ(store.list().size(), 3u);
}

TEST_F(CacheStoreTest, OnlyAbandonedTemporariesGo) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::path prefix = fs::path(store.pathOf(key(1))).parent_path();
  std::ofstream(prefix / (temporaryPrefix() + "abandoned")) << "half";
  std::ofstream(prefix / "notes.txt") << "somebody's";
  FileHandle writer(
      ::open((prefix / (temporaryPrefix() + "busy")).c_str(), O_RDWR | O_CREAT, 0600));
  bool unsupported = false;
  ASSERT_TRUE(tryLockByte(writer.get(), 0, unsupported));
  SweepResult result = store.sweep(1 << 20);
  EXPECT_EQ(result.abandoned, 1);
  EXPECT_EQ(result.evicted, 0);
  EXPECT_TRUE(fs::exists(prefix / (temporaryPrefix() + "busy")));
  EXPECT_TRUE(fs::exists(prefix / "notes.txt"));
  EXPECT_FALSE(fs::exists(prefix / (temporaryPrefix() + "abandoned")));
}

TEST_F(CacheStoreTest, TemporariesOfOtherHostsGoByAge) {
  CacheStore store = makeStore();
  store.store(key(1), entry(1));
  fs::path prefix = fs::path(store.pathOf(key(1))).parent_path();
  std::ofstream(prefix / "tmp-00000000-young") << "half"; // nobody holds a lock that is seen here
  std::ofstream(prefix / "tmp-00000000-old") << "half";
  fs::last_write_time(prefix / "tmp-00000000-old",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(store.sweep(1 << 20).abandoned, 1);
  EXPECT_TRUE(fs::exists(prefix / "tmp-00000000-young"));
  EXPECT_EQ(temporaryPrefix().size(), std::string("tmp-00000000-").size());
  EXPECT_NE(temporaryPrefix(), "tmp-00000000-");
}

TEST_F(CacheStoreTest, LocksAreOnePerKey) {
  CacheStore store = makeStore();
  FileHandle held = store.lock(key(1), 1);
  ASSERT_TRUE(held);
  EXPECT_FALSE(store.lock(key(1), 0.02));
  EXPECT_TRUE(store.lock(key(2), 0.02));
  std::thread waiting([&] { EXPECT_TRUE(store.lock(key(1), 30)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  held.close();
  waiting.join();
}

TEST_F(CacheStoreTest, ClearLeavesNothing) {
  CacheStore store = makeStore();
  for (int i = 0; i < 5; ++i)
    store.store(key(i), entry(i));
  store.quarantine(key(0));
  EXPECT_EQ(store.clear(), 4);
  EXPECT_TRUE(store.list().empty());
  EXPECT_TRUE(fs::is_empty(root + "/area/quarantine"));
}

TEST_F(CacheStoreTest, ManyThreadsOneKey) {
  CacheStore store = makeStore();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        EXPECT_FALSE(store.store(key(round % 3), entry(round % 3, 5000)).problem);
        LoadResult result = store.load(key((round + t) % 3));
        EXPECT_NE(result.status, Status::Damaged) << result.damage;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(temporaries(), 0u);
  EXPECT_EQ(store.list().size(), 3u);
}

} // namespace
