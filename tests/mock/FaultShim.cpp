//===- FaultShim.cpp - File operations that fail on request ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a library for LD_PRELOAD that stands before the C library's file
// functions. While armed, it counts the calls that touch the cache (paths below
// its root, and descriptors opened from there) and lets the k-th one fail with a
// chosen errno, or write less than it was given.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {
char root[4096];
bool armed = false, fired = false, shortWrite = false;
int failAt = 0, failWith = 0, calls = 0;
bool tracked[4096];

bool isTracked(int fd) { return fd >= 0 && fd < 4096 && tracked[fd]; }
void track(int fd, bool on) {
  if (fd >= 0 && fd < 4096)
    tracked[fd] = on;
}
bool isBelow(const char *path) { return std::strncmp(path, root, std::strlen(root)) == 0; }
bool concerns(int directory, const char *path) {
  return armed && (isTracked(directory) || (path[0] == '/' && isBelow(path)));
}
/// Counts one call; whether it is the one that fails.
bool fails() {
  if (++calls != failAt)
    return false;
  fired = true;
  errno = failWith;
  return true;
}
template <typename F> F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
} // namespace

#define REAL(name) static auto real = next<decltype(&name)>(#name)

extern "C" {

void faultArm(const char *directory, int at, int error, int asShortWrite) {
  std::strncpy(root, directory, sizeof(root) - 1);
  std::memset(tracked, 0, sizeof(tracked));
  failAt = at, failWith = error, calls = 0;
  shortWrite = asShortWrite, fired = false, armed = true;
}
/// Ends the trial; whether the fault happened.
int faultDisarm() {
  armed = false;
  return fired;
}
int faultCalls() { return calls; }

int openat(int directory, const char *path, int flags, ...) {
  using Function = int (*)(int, const char *, int, ...);
  static auto real = next<Function>("openat");
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (!concerns(directory, path))
    return real(directory, path, flags, mode);
  if (fails())
    return -1;
  int fd = real(directory, path, flags, mode);
  track(fd, true);
  return fd;
}
int close(int fd) {
  REAL(close);
  bool ours = armed && isTracked(fd);
  track(fd, false);
  int result = real(fd); // a close that fails has closed all the same
  return ours && fails() ? -1 : result;
}
ssize_t read(int fd, void *to, size_t size) {
  REAL(read);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, to, size);
}
ssize_t write(int fd, const void *from, size_t size) {
  REAL(write);
  if (!armed || !isTracked(fd) || !fails())
    return real(fd, from, size);
  return shortWrite ? real(fd, from, size / 2) : -1;
}
ssize_t pread(int fd, void *to, size_t size, off_t offset) {
  REAL(pread);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, to, size, offset);
}
ssize_t pwrite(int fd, const void *from, size_t size, off_t offset) {
  REAL(pwrite);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, from, size, offset);
}
int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, size);
}
int fstat(int fd, struct stat *status) {
  REAL(fstat);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, status);
}
int fstatat(int directory, const char *path, struct stat *status, int flags) {
  REAL(fstatat);
  return concerns(directory, path) && fails() ? -1 : real(directory, path, status, flags);
}
int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return concerns(AT_FDCWD, path) && fails() ? -1 : real(path, mode);
}
int mkdirat(int directory, const char *path, mode_t mode) {
  REAL(mkdirat);
  return concerns(directory, path) && fails() ? -1 : real(directory, path, mode);
}
int renameat(int from, const char *a, int to, const char *b) {
  REAL(renameat);
  return concerns(from, a) && fails() ? -1 : real(from, a, to, b);
}
int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat);
  return concerns(directory, path) && fails() ? -1 : real(directory, path, flags);
}
int futimens(int fd, const struct timespec times[2]) {
  REAL(futimens);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, times);
}
int fcntl(int fd, int command, ...) {
  using Function = int (*)(int, int, ...);
  static auto real = next<Function>("fcntl");
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return armed && isTracked(fd) && fails() ? -1 : real(fd, command, argument);
}
// What large-file builds call.
int openat64(int directory, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openat(directory, path, flags, mode);
}
int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return fcntl(fd, command, argument);
}
}
