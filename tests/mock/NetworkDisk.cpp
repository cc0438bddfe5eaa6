//===- NetworkDisk.cpp - A local folder that behaves like one of NFS ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a library for LD_PRELOAD that makes a process a client of a network disk. The
// folder below its root is the server's. What a client of NFS may do differs from a
// local disk so, and happens here at random, far more often than in use:
//
//   lookups    a name leads to what it led to when the client last opened the folder
//              (close-to-open): to a file that was replaced, or to nothing
//   ESTALE     a file that another client has replaced or removed may be gone while
//              it is opened or read; so may a folder's handle for a moment
//   writes     what is written reaches the server when a descriptor is closed, where
//              the disk may turn out to be full; the length is there at once
//   answers    a request whose answer was lost is sent again, and finds its own work
//              done: ENOENT of a rename or a removal, EEXIST of a new folder
//   removals   a file that the client itself has open becomes .nfs{number} instead
//   locks      work, are refused (ENOLCK), or hold among the processes of one host
//
// Renames are atomic at the server, and O_EXCL holds, as NFS promises since version 3.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {
enum Locks { locksWork, locksRefused, locksOfOneHost };

/// An open file, which several descriptors may share.
struct OpenFile {
  std::map<std::string, int> seen; ///< of a folder: its files when it was opened
  std::string unsent;              ///< written, and not at the server yet
  off_t position = 0;
  bool isDraft = false, isStale = false;
  int hostLock = -1;     ///< the same byte is locked in a file that the host alone has
  std::string sillyName; ///< to be removed with the last descriptor
  int sillyFolder = -1;
  ~OpenFile();
};

std::string root, host;
bool armed = false;
int locks = locksWork, fullOneIn = 0;
std::mt19937_64 generator;
std::map<int, std::shared_ptr<OpenFile>> files;

bool oneIn(unsigned count) { return count && generator() % count == 0; }
template <typename F> F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static auto real = next<decltype(&name)>(#name)

int realClose(int fd) {
  static auto real = next<int (*)(int)>("close");
  return real(fd);
}
int realOpenat(int directory, const char *path, int flags, mode_t mode = 0) {
  static auto real = next<int (*)(int, const char *, int, ...)>("openat");
  return real(directory, path, flags, mode);
}
OpenFile::~OpenFile() {
  for (auto &[name, fd] : seen)
    realClose(fd);
  if (hostLock >= 0)
    realClose(hostLock);
  if (sillyFolder >= 0) {
    next<int (*)(int, const char *, int)>("unlinkat")(sillyFolder, sillyName.c_str(), 0);
    realClose(sillyFolder);
  }
}

OpenFile *fileOf(int fd) {
  auto found = armed ? files.find(fd) : files.end();
  return found == files.end() ? nullptr : found->second.get();
}
bool concerns(int directory, const char *path) {
  return armed && (fileOf(directory) ||
                   (path[0] == '/' && std::strncmp(path, root.c_str(), root.size()) == 0));
}
int failing(int error) {
  errno = error;
  return -1;
}
/// Leaves the others time to act between two steps of this client.
void giveWay() {
  if (oneIn(4))
    ::usleep(generator() % 400);
}

/// The files of a folder, by handles that outlive their names.
void look(int folder, OpenFile &file) {
  int copy = realOpenat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = copy < 0 ? nullptr : ::fdopendir(copy);
  while (const dirent *item = stream ? ::readdir(stream) : nullptr)
    if (int size = std::strlen(item->d_name); size == 68) {
      int handle = realOpenat(folder, item->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
      if (handle >= 0)
        file.seen[item->d_name] = handle;
    }
  if (stream)
    ::closedir(stream);
}

/// Opens what the client believes that the name leads to.
int openCached(const OpenFile &folder, const std::string &name, int flags, bool &isStale) {
  auto found = folder.seen.find(name);
  if (found == folder.seen.end())
    return failing(ENOENT);
  struct stat status;
  bool isGone = ::fstat(found->second, &status) != 0 || status.st_nlink == 0;
  if (isGone && oneIn(3))
    return failing(ESTALE);
  isStale = isGone && oneIn(2);
  return realOpenat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(found->second)).c_str(),
                    flags & ~O_NOFOLLOW);
}

int send(OpenFile &file, int fd) {
  if (file.unsent.empty())
    return 0;
  std::string bytes;
  bytes.swap(file.unsent);
  if (oneIn(fullOneIn))
    return failing(oneIn(2) ? ENOSPC : oneIn(2) ? EDQUOT : EIO);
  if (::pwrite(fd, bytes.data(), bytes.size(), file.position) != static_cast<ssize_t>(bytes.size()))
    return -1;
  file.position += static_cast<off_t>(bytes.size());
  return 0;
}

int lockInHost(OpenFile &file, int fd, struct flock *wanted) {
  static auto real = next<int (*)(int, int, ...)>("fcntl");
  if (file.hostLock < 0) {
    struct stat status;
    if (::fstat(fd, &status) != 0)
      return -1;
    std::string path = host + "/lock-" + std::to_string(status.st_ino);
    file.hostLock = realOpenat(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  return real(file.hostLock, F_OFD_SETLK, wanted);
}
} // namespace

extern "C" {

/// This process is a client from here on: `host` is a folder that stands for its machine.
void diskArm(const char *folder, const char *machine, int lockKind, int fullIn, uint64_t seed) {
  root = folder, host = machine, locks = lockKind, fullOneIn = fullIn;
  generator.seed(seed);
  armed = true;
}

int openat(int directory, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (!concerns(directory, path))
    return realOpenat(directory, path, flags, mode);
  giveWay();
  auto file = std::make_shared<OpenFile>();
  OpenFile *folder = fileOf(directory);
  int fd;
  if ((flags & O_DIRECTORY) == O_DIRECTORY && oneIn(200))
    return failing(ESTALE);
  if (folder && (flags & (O_ACCMODE | O_CREAT | O_DIRECTORY)) == O_RDONLY && oneIn(2))
    fd = openCached(*folder, path, flags, file->isStale);
  else
    fd = realOpenat(directory, path, flags, mode);
  if (fd < 0)
    return fd;
  if ((flags & O_DIRECTORY) == O_DIRECTORY)
    look(fd, *file);
  file->isDraft = std::strncmp(path, "tmp-", 4) == 0 && (flags & O_CREAT);
  files[fd] = file;
  return fd;
}
int openat64(int directory, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openat(directory, path, flags, mode);
}
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  std::string own = host + "/boot_id";
  bool asksForHost = armed && std::strcmp(path, "/proc/sys/kernel/random/boot_id") == 0;
  return realOpenat(AT_FDCWD, asksForHost ? own.c_str() : path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return open(path, flags, mode);
}
int close(int fd) {
  OpenFile *file = fileOf(fd);
  int result = file ? send(*file, fd) : 0;
  int error = errno;
  files.erase(fd);
  if (realClose(fd) != 0)
    return -1;
  errno = error;
  return result;
}
int closedir(DIR *stream) {
  REAL(closedir);
  files.erase(::dirfd(stream));
  return real(stream);
}
ssize_t read(int fd, void *to, size_t size) {
  REAL(read);
  OpenFile *file = fileOf(fd);
  if (!file)
    return real(fd, to, size);
  giveWay();
  return file->isStale ? failing(ESTALE) : real(fd, to, size);
}
ssize_t write(int fd, const void *from, size_t size) {
  REAL(write);
  OpenFile *file = fileOf(fd);
  if (!file || !file->isDraft)
    return real(fd, from, size);
  file->unsent.append(static_cast<const char *>(from), size);
  return static_cast<ssize_t>(size);
}
int fstatat(int directory, const char *path, struct stat *status, int flags) {
  REAL(fstatat);
  // A listing meets what another client has just removed.
  bool isEntry = concerns(directory, path) && std::strlen(path) == 68;
  return isEntry && oneIn(64) ? failing(ESTALE) : real(directory, path, status, flags);
}
int mkdirat(int directory, const char *path, mode_t mode) {
  REAL(mkdirat);
  int result = real(directory, path, mode);
  return result == 0 && concerns(directory, path) && oneIn(4) ? failing(EEXIST) : result;
}
int renameat(int from, const char *a, int to, const char *b) {
  REAL(renameat);
  bool ours = concerns(from, a);
  if (ours)
    giveWay();
  int result = real(from, a, to, b);
  if (ours)
    giveWay(); // what this client does next comes later at the server
  return result == 0 && ours && oneIn(8) ? failing(ENOENT) : result;
}
int unlinkat(int directory, const char *path, int flags) {
  REAL(unlinkat);
  if (!concerns(directory, path))
    return real(directory, path, flags);
  giveWay();
  struct stat removed, open;
  bool isThere = ::fstatat(directory, path, &removed, AT_SYMLINK_NOFOLLOW) == 0;
  for (auto &[fd, file] : files)
    if (isThere && ::fstat(fd, &open) == 0 && open.st_ino == removed.st_ino &&
        S_ISREG(open.st_mode)) {
      file->sillyName = ".nfs" + std::to_string(generator());
      file->sillyFolder = ::dup(directory);
      return next<int (*)(int, const char *, int, const char *)>("renameat")(
          directory, path, directory, file->sillyName.c_str());
    }
  int result = real(directory, path, flags);
  return result == 0 && oneIn(8) ? failing(ENOENT) : result;
}
int fcntl(int fd, int command, ...) {
  static auto real = next<int (*)(int, int, ...)>("fcntl");
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  OpenFile *file = fileOf(fd);
  if (file && command == F_OFD_SETLK && locks == locksRefused)
    return failing(ENOLCK);
  if (file && command == F_OFD_SETLK && locks == locksOfOneHost)
    return lockInHost(*file, fd, static_cast<struct flock *>(argument));
  int result = real(fd, command, argument);
  if (file && result >= 0 && (command == F_DUPFD_CLOEXEC || command == F_DUPFD))
    files[result] = files[fd];
  return result;
}
int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  return fcntl(fd, command, argument);
}
}
