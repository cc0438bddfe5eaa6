//===- OldGlibc.cpp - Functions that older glibc releases lack -*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: the functions that LLVM, libstdc++, libgcc and our own code call and
// that glibc 2.28 did not have, written with those that it had. They are for the
// extension alone: nothing of this file is visible outside of it.
//
// Why here: LLVM's and GCC's static libraries were compiled with the headers of
// the machine that builds, so that no source of ours decides what they call. The
// extension is linked against the symbols of glibc 2.28 (cmake/OldGlibc.cmake);
// each function without such a symbol needs an entry here.
// tests/tools/test_extension.py names those that are missing.
//
// How: where a later glibc does more than can be done here, its function is
// looked up by name and called.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>

/// The function of that name that this machine's glibc has, or null.
template <typename Function> static Function *newerFunction(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

//===----------------------------------------------------------------------===//
// Files: until 2.33 the stat functions took the version of `struct stat`, and
// the names without it were inline functions.
//===----------------------------------------------------------------------===//

// Declared by the headers of older releases only.
extern "C" int __xstat(int version, const char *path, struct stat *status);
extern "C" int __lxstat(int version, const char *path, struct stat *status);
extern "C" int __fxstat(int version, int file, struct stat *status);
extern "C" int __fxstatat(int version, int folder, const char *path, struct stat *status,
                          int flags);

#if !defined(__x86_64__)
#error "the version of struct stat is known for x86-64 only"
#endif
static constexpr int statVersion = 1;

extern "C" int stat(const char *path, struct stat *status) noexcept {
  return __xstat(statVersion, path, status);
}

extern "C" int lstat(const char *path, struct stat *status) noexcept {
  return __lxstat(statVersion, path, status);
}

extern "C" int fstat(int file, struct stat *status) noexcept {
  return __fxstat(statVersion, file, status);
}

extern "C" int fstatat(int folder, const char *path, struct stat *status, int flags) noexcept {
  return __fxstatat(statVersion, folder, path, status, flags);
}

// The same structure where addresses have 64 bits.
extern "C" int fstat64(int file, struct stat64 *status) noexcept {
  return __fxstat(statVersion, file, reinterpret_cast<struct stat *>(status));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// 2.32; true would let libstdc++ leave out the atomic forms of its operations.
extern "C" {
extern char __libc_single_threaded;
char __libc_single_threaded = 0;
}

static constexpr int64_t nanosecondsPerSecond = 1'000'000'000;

static int64_t nanosecondsOf(const timespec &time) {
  return time.tv_sec * nanosecondsPerSecond + time.tv_nsec;
}

static int64_t nanosecondsNow(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return nanosecondsOf(now);
}

/// 2.30. Without it the moment is converted to the clock that the condition has,
/// and is looked at again when that clock says that it has come.
extern "C" int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                      clockid_t clock, const timespec *until) {
  static auto *newer =
      newerFunction<int(pthread_cond_t *, pthread_mutex_t *, clockid_t, const timespec *)>(
          "pthread_cond_clockwait");
  if (newer)
    return newer(condition, mutex, clock, until);
  for (;;) {
    int64_t left = nanosecondsOf(*until) - nanosecondsNow(clock);
    int64_t moment = nanosecondsNow(CLOCK_REALTIME) + left;
    timespec deadline{static_cast<time_t>(moment / nanosecondsPerSecond),
                      static_cast<long>(moment % nanosecondsPerSecond)};
    int result = pthread_cond_timedwait(condition, mutex, &deadline);
    if (result != ETIMEDOUT || nanosecondsNow(clock) >= nanosecondsOf(*until))
      return result;
  }
}

//===----------------------------------------------------------------------===//
// Unwinding
//===----------------------------------------------------------------------===//

namespace {
/// The loaded object that holds an address.
struct ObjectSearch {
  uintptr_t address;
  dl_find_object *result;
};
} // namespace

static int visitObject(dl_phdr_info *object, size_t, void *data) {
  auto *search = static_cast<ObjectSearch *>(data);
  bool holdsAddress = false;
  void *unwindTable = nullptr;
  for (int index = 0; index < object->dlpi_phnum; ++index) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[index];
    uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search->address - begin < segment.p_memsz) {
      holdsAddress = true;
      search->result->dlfo_map_start = reinterpret_cast<void *>(begin);
      search->result->dlfo_map_end = reinterpret_cast<void *>(begin + segment.p_memsz);
    }
    if (segment.p_type == PT_GNU_EH_FRAME)
      unwindTable = reinterpret_cast<void *>(begin);
  }
  if (!holdsAddress || !unwindTable)
    return 0;
  search->result->dlfo_eh_frame = unwindTable;
  return 1;
}

/// 2.35; libgcc asks it for the unwind table of each frame that an exception
/// passes through. Without it all loaded objects are looked at.
extern "C" int _dl_find_object(void *address, dl_find_object *result) noexcept {
  static auto *newer = newerFunction<int(void *, dl_find_object *)>("_dl_find_object");
  if (newer)
    return newer(address, result);
  std::memset(result, 0, sizeof(*result));
  ObjectSearch search{reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(visitObject, &search) ? 0 : -1;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// 2.33, for LLVM's statistics; the fields of mallinfo wrap at 4 GiB.
extern "C" struct mallinfo2 mallinfo2() noexcept {
  static auto *newer = newerFunction<struct mallinfo2()>("mallinfo2");
  if (newer)
    return newer();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
  struct mallinfo2 wide = {};
  wide.arena = static_cast<unsigned>(narrow.arena);
  wide.ordblks = static_cast<unsigned>(narrow.ordblks);
  wide.hblks = static_cast<unsigned>(narrow.hblks);
  wide.hblkhd = static_cast<unsigned>(narrow.hblkhd);
  wide.uordblks = static_cast<unsigned>(narrow.uordblks);
  wide.fordblks = static_cast<unsigned>(narrow.fordblks);
  wide.keepcost = static_cast<unsigned>(narrow.keepcost);
  return wide;
}

/// 2.36, for std::random_device.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number;
  if (getentropy(&number, sizeof(number)) != 0)
    abort(); // the kernel has no random numbers: none may be made up
  return number;
}

/// 2.32; null for what it does not know, as there. Without it the errors of file
/// systems have names.
extern "C" const char *strerrorname_np(int number) noexcept {
  static auto *newer = newerFunction<const char *(int)>("strerrorname_np");
  if (newer)
    return newer(number);
  struct Name {
    int number;
    const char *text;
  };
#define NAME(code) {code, #code}
  static constexpr Name names[] = {
      NAME(EPERM),        NAME(ENOENT), NAME(EINTR),  NAME(EIO),       NAME(EBADF),
      NAME(ENOMEM),       NAME(EACCES), NAME(EBUSY),  NAME(EEXIST),    NAME(EXDEV),
      NAME(ENOTDIR),      NAME(EISDIR), NAME(EINVAL), NAME(ENFILE),    NAME(EMFILE),
      NAME(ETXTBSY),      NAME(EFBIG),  NAME(ENOSPC), NAME(EROFS),     NAME(EMLINK),
      NAME(ENAMETOOLONG), NAME(ENOSYS), NAME(ELOOP),  NAME(EOVERFLOW), NAME(EOPNOTSUPP),
      NAME(ETIMEDOUT),    NAME(ESTALE), NAME(EDQUOT),
  };
#undef NAME
  for (const Name &name : names)
    if (name.number == number)
      return name.text;
  return nullptr;
}
