//===- NvJitLink.cpp - PTX to cubin in this process -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/NvJitLink.h"
#include "ir/support/Error.h"
#include "ir/support/Knobs.h"
#include "ir/support/LogLines.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {

namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Where things are
//===----------------------------------------------------------------------===//

static std::mutex searchMutex;
static std::vector<std::string> knownSearchPath, wheelFolders;

static bool isFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> findWheelFolders(std::vector<std::string> searchPath) {
  std::lock_guard<std::mutex> lock(searchMutex);
  if (searchPath == knownSearchPath)
    return wheelFolders;
  wheelFolders.clear();
  for (const std::string &folder : searchPath) {
    std::string candidate = folder.empty() ? "nvidia" : folder + "/nvidia";
    if (isFolder(candidate))
      wheelFolders.push_back(std::move(candidate));
  }
  knownSearchPath = std::move(searchPath);
  return wheelFolders;
}

/// Files of `folder` whose name starts with `prefix`, newest version first.
static std::vector<std::string> filesStartingWith(const std::string &folder,
                                                  const std::string &prefix) {
  std::vector<std::string> found;
  // Not std::filesystem: this is on the way of a first launch.
  DIR *stream = ::opendir(folder.c_str());
  if (!stream)
    return found;
  while (const dirent *item = ::readdir(stream))
    if (std::strncmp(item->d_name, prefix.c_str(), prefix.size()) == 0)
      found.push_back(folder + "/" + item->d_name);
  ::closedir(stream);
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// Toolkit roots that variables name.
static std::vector<std::string> toolkitVariables() {
  std::vector<std::string> roots;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable))
      if (*value)
        roots.push_back(value);
  return roots;
}

/// Toolkit roots: the variables that name one, then /usr/local/cuda.
static std::vector<std::string> usualToolkits() {
  std::vector<std::string> roots = toolkitVariables();
  roots.push_back("/usr/local/cuda");
  return roots;
}

/// Versioned siblings of /usr/local/cuda, highest first; looked at after the usual ones.
static std::vector<std::string> versionedToolkits() {
  return filesStartingWith("/usr/local", "cuda-");
}

static std::vector<std::string> snapshotWheelFolders() {
  std::lock_guard<std::mutex> lock(searchMutex);
  return wheelFolders;
}

static void append(std::vector<std::string> &to, std::vector<std::string> from) {
  to.insert(to.end(), from.begin(), from.end());
}

static constexpr const char *nvJitLinkPrefix = "libnvJitLink.so";

/// Candidates for nvJitLink in the folders of Python wheels.
static std::vector<std::string> wheelCandidates() {
  std::vector<std::string> candidates;
  // Wheels of CUDA 13 share one folder, those of CUDA 12 have one each. Under the usual
  // name nothing is listed: such a folder has all the libraries of a framework.
  static constexpr const char *places[][2] = {{"cu13/lib", ".13"}, {"nvjitlink/lib", ".12"}};
  for (const std::string &folder : snapshotWheelFolders())
    for (auto [sub, version] : places) {
      std::string usual = folder + "/" + sub + "/" + nvJitLinkPrefix + version;
      if (::access(usual.c_str(), F_OK) == 0)
        candidates.push_back(usual);
      else
        append(candidates, filesStartingWith(folder + "/" + sub, nvJitLinkPrefix));
    }
  return candidates;
}

static std::vector<std::string> toolkitCandidates() {
  std::vector<std::string> candidates, roots = usualToolkits();
  append(roots, versionedToolkits());
  for (const std::string &root : roots)
    for (const char *sub : {"lib64", "lib", "targets/x86_64-linux/lib"})
      append(candidates, filesStartingWith(root + "/" + sub, nvJitLinkPrefix));
  return candidates;
}

/// Candidates for nvJitLink in the order of the header.
static std::vector<std::string> nvJitLinkCandidates() {
  std::vector<std::string> candidates = wheelCandidates();
  append(candidates, toolkitCandidates());
  candidates.push_back("libnvJitLink.so.13");
  candidates.push_back("libnvJitLink.so.12");
  return candidates;
}

std::string findLibdevice() {
  std::string configured = knobText(Knob::LIBDEVICE_PATH);
  if (!configured.empty())
    return configured;
  auto firstIn = [](const std::vector<std::string> &roots) -> std::string {
    for (const std::string &root : roots) {
      std::string candidate = root + "/nvvm/libdevice/libdevice.10.bc";
      if (::access(candidate.c_str(), F_OK) == 0)
        return candidate;
    }
    return "";
  };
  std::vector<std::string> roots;
  for (const std::string &folder : snapshotWheelFolders())
    for (const char *sub : {"cu13", "cuda_nvcc"})
      roots.push_back(folder + "/" + sub);
  append(roots, usualToolkits());
  std::string found = firstIn(roots);
  return found.empty() ? firstIn(versionedToolkits()) : found;
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {

/// nvJitLink's functions. The library exports them with its version in the name
/// (__nvJitLinkCreate_13_0); its header maps the plain names to them.
struct Library {
  void *handle = nullptr;
  std::string path;
  unsigned major = 0, minor = 0;

  int (*create)(void **, uint32_t, const char **) = nullptr;
  int (*destroy)(void **) = nullptr;
  int (*addData)(void *, int, const void *, size_t, const char *) = nullptr;
  int (*complete)(void *) = nullptr;
  int (*cubinSize)(void *, size_t *) = nullptr;
  int (*cubin)(void *, void *) = nullptr;
  int (*errorLogSize)(void *, size_t *) = nullptr;
  int (*errorLog)(void *, char *) = nullptr;
  int (*infoLogSize)(void *, size_t *) = nullptr;
  int (*infoLog)(void *, char *) = nullptr;

  bool open(const std::string &candidate);
  bool resolve();
  std::string version() const { return fmt::format("{}.{}", major, minor); }
};

constexpr int success = 0;
constexpr int unrecognizedOption = 1;
constexpr int unrecognizedArch = 16, unsupportedArch = 17;
constexpr int inputPtx = 2;

} // namespace

bool Library::open(const std::string &candidate) {
  handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return false;
  path = candidate;
  auto getVersion =
      reinterpret_cast<int (*)(unsigned *, unsigned *)>(dlsym(handle, "nvJitLinkVersion"));
  if (getVersion && getVersion(&major, &minor) == success && resolve())
    return true;
  dlclose(handle);
  handle = nullptr;
  return false;
}

bool Library::resolve() {
  auto symbol = [&](const char *name, auto &function) {
    std::string mangled = fmt::format("__nvJitLink{}_{}_{}", name, major, minor);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, mangled.c_str()));
    return function != nullptr;
  };
  return symbol("Create", create) && symbol("Destroy", destroy) && symbol("AddData", addData) &&
         symbol("Complete", complete) && symbol("GetLinkedCubinSize", cubinSize) &&
         symbol("GetLinkedCubin", cubin) && symbol("GetErrorLogSize", errorLogSize) &&
         symbol("GetErrorLog", errorLog) && symbol("GetInfoLogSize", infoLogSize) &&
         symbol("GetInfoLog", infoLog);
}

/// The library, opened once; null where none is found or the knob says "off".
/// A miss is not kept: wheel folders may become known later.
static const Library *getLibrary() {
  static std::mutex mutex;
  static const Library *library = nullptr;
  static std::string libraryKnob;
  std::string configured = knobText(Knob::NVJITLINK);
  if (configured == "off" || configured == "0")
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (library && libraryKnob == configured)
    return library;
  std::vector<std::string> candidates =
      configured.empty() ? nvJitLinkCandidates() : std::vector<std::string>{configured};
  for (const std::string &candidate : candidates) {
    auto opened = std::make_unique<Library>();
    if (opened->open(candidate)) {
      library = opened.release(); // lives as long as the process
      libraryKnob = configured;
      return library;
    }
  }
  if (!configured.empty())
    throw Error(ErrorCode::E0701,
                fmt::format("TILEWRIGHT_NVJITLINK='{}': expected the path of an "
                            "nvJitLink library, or 'off'",
                            configured),
                "unset it or name a library");
  return nullptr;
}

/// "libnvJitLink.so.13:98123456" of an existing file, else empty.
static std::string nameAndSize(const fs::path &file) {
  std::error_code failed;
  uintmax_t size = fs::file_size(file, failed);
  return failed ? "" : fmt::format("{}:{}", file.filename().string(), size);
}

static std::string findToolchainIdentity() {
  std::string assembler, configured = knobText(Knob::NVJITLINK);
  if (configured != "off" && configured != "0") {
    std::vector<std::string> candidates =
        configured.empty() ? wheelCandidates() : std::vector<std::string>{configured};
    // Looking through toolkits takes a millisecond, so only where it is needed.
    if (candidates.empty())
      candidates = toolkitCandidates();
    for (const std::string &candidate : candidates)
      if (assembler.empty())
        assembler = nameAndSize(candidate);
    // Only the loader knows where it is: its version has to do.
    if (assembler.empty())
      assembler = assemblerVersion();
  }
  std::string libdevice = findLibdevice();
  return fmt::format("{}|{}", assembler.empty() ? "driver" : assembler,
                     libdevice.empty() ? "none" : nameAndSize(libdevice));
}

std::string toolchainIdentity() {
  // Part of every key, and a walk through folders: kept for what it depends on. A
  // toolkit that is exchanged is noticed by the next process; this one has opened
  // the library that it found.
  std::string inputs = knobText(Knob::NVJITLINK) + "|" + knobText(Knob::LIBDEVICE_PATH);
  for (const std::string &root : toolkitVariables())
    inputs += "|" + root;
  for (const std::string &folder : snapshotWheelFolders())
    inputs += "|" + folder;
  static std::mutex mutex;
  static std::string knownInputs, known;
  std::lock_guard<std::mutex> lock(mutex);
  if (known.empty() || inputs != knownInputs) {
    known = findToolchainIdentity();
    knownInputs = inputs;
  }
  return known;
}

std::string assemblerVersion() {
  const Library *library = getLibrary();
  return library ? "nvJitLink " + library->version() : "";
}

std::string assemblerPath() {
  const Library *library = getLibrary();
  return library ? library->path : "";
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// The number just before `words` in `line`, or -1: "Used 40 registers".
static int numberBefore(const std::string &line, const char *words) {
  size_t end = line.find(words);
  if (end == std::string::npos)
    return -1;
  while (end > 0 && line[end - 1] == ' ')
    --end;
  size_t start = end;
  while (start > 0 && std::isdigit(static_cast<unsigned char>(line[start - 1])))
    --start;
  return start == end ? -1 : std::atoi(line.substr(start, end - start).c_str());
}

/// Reads resources and warnings. A module has one kernel; functions that were
/// not inlined report before it and their stack is part of the kernel's, so the
/// largest number of each kind is the one that matters.
static void readReport(AssembleResult &result) {
  for (const std::string &line : splitLines(result.log)) {
    auto keepLargest = [&](int &value, const char *words) {
      value = std::max(value, numberBefore(line, words));
    };
    keepLargest(result.registers, "registers");
    keepLargest(result.stackBytes, "bytes stack frame");
    keepLargest(result.spillStoreBytes, "bytes spill stores");
    keepLargest(result.spillLoadBytes, "bytes spill loads");
    if (line.find("warning") != std::string::npos ||
        line.find("Potential Performance Loss") != std::string::npos)
      result.warnings.push_back(line);
  }
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

/// Writes the PTX with the options in a comment; the path, or why there is none.
static std::string writeReproducer(const std::string &ptx, const std::string &arch,
                                   const std::vector<std::string> &options,
                                   const std::string &kernelName) {
  std::string folder = knobText(Knob::REPRODUCER_DIR);
  std::error_code error;
  if (folder.empty())
    folder = fs::temp_directory_path(error).string();
  std::string safe;
  for (char c : kernelName.substr(0, 64))
    safe += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  static std::atomic<int> counter{0};
  std::string path = fmt::format("{}/tilewright-{}-{}-{}.ptx", folder, safe, getpid(), counter++);
  // O_EXCL: never write through a link that somebody put there.
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return fmt::format("(nothing: {} {})", path, std::strerror(errno));
  std::string text = "// ptxas -arch=" + arch;
  for (const std::string &option : options)
    text += " " + option;
  text += "\n" + ptx;
  size_t written = 0;
  while (written < text.size()) {
    ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count <= 0)
      break;
    written += static_cast<size_t>(count);
  }
  ::close(file);
  return path;
}

namespace {

/// One run of the library; destroys its handle at the end of the scope.
struct Run {
  const Library &library;
  void *handle = nullptr;

  explicit Run(const Library &library) : library(library) {}
  ~Run() {
    if (handle)
      library.destroy(&handle);
  }

  std::string log(int (*getSize)(void *, size_t *), int (*getText)(void *, char *)) const {
    size_t size = 0;
    if (!handle || getSize(handle, &size) != success || size == 0)
      return "";
    std::string text(size, '\0');
    if (getText(handle, text.data()) != success)
      return "";
    text.resize(std::strlen(text.c_str()));
    return text;
  }
};

} // namespace

static std::vector<std::string> commandOptions(const std::string &arch,
                                               const AssembleOptions &options) {
  std::vector<std::string> list = {"-arch=" + arch, fmt::format("-O{}", options.optimizationLevel),
                                   // Not -verbose: old ones then print to the user's stderr.
                                   "-Xptxas=-v",
                                   // What comes from its cache comes without a word of spills.
                                   "-no-cache"};
  if (options.lineInfo)
    list.push_back("-lineinfo");
  if (options.maxRegisters > 0)
    list.push_back(fmt::format("-maxrregcount={}", options.maxRegisters));
  // The last value of an option counts.
  for (const std::string &option : options.more)
    list.push_back("-Xptxas=" + option);
  return list;
}

[[noreturn]] static void raiseUnsupportedTarget(const Library &library, const std::string &arch) {
  throw makeError(ErrorCode::E0306, fmt::arg("arch", arch), fmt::arg("ver", library.version()),
                  fmt::arg("v", library.major + 1));
}

AssembleResult assemblePtx(const std::string &ptx, const std::string &arch,
                           const AssembleOptions &options) {
  AssembleResult result;
  const Library *library = getLibrary();
  if (!library)
    return result;
  result.assembler = "nvJitLink " + library->version();

  std::vector<std::string> list = commandOptions(arch, options);
  std::vector<const char *> arguments;
  for (const std::string &option : list)
    arguments.push_back(option.c_str());

  Run run(*library);
  int status =
      library->create(&run.handle, static_cast<uint32_t>(arguments.size()), arguments.data());
  if (status == unrecognizedArch || status == unsupportedArch)
    raiseUnsupportedTarget(*library, arch);
  if (status == success)
    status = library->addData(run.handle, inputPtx, ptx.c_str(), ptx.size() + 1,
                              options.kernelName.c_str());
  if (status == success)
    status = library->complete(run.handle);
  size_t size = 0;
  if (status == success)
    status = library->cubinSize(run.handle, &size);
  if (status == success) {
    result.cubin.resize(size);
    status = library->cubin(run.handle, result.cubin.data());
  }
  result.log = run.log(library->infoLogSize, library->infoLog);
  if (status == success) {
    readReport(result);
    return result;
  }

  std::string errors = run.log(library->errorLogSize, library->errorLog);
  if (status == unrecognizedArch || status == unsupportedArch)
    raiseUnsupportedTarget(*library, arch);
  if (errors.empty())
    errors = fmt::format("nvJitLink returned {}{}", status,
                         status == unrecognizedOption ? " (option)" : "");
  // Where no line of the text stands before this, ptxas complains of its command line.
  if (!options.more.empty() && errors.rfind("ptxas fatal", 0) == 0)
    throw Error(ErrorCode::E0209,
                fmt::format("ptx_options='{}': {}", fmt::join(options.more, " "),
                            errors.substr(0, errors.find('\n'))),
                "'ptxas --help' lists the options of an assembler");
  throw makeError(ErrorCode::E0304, fmt::arg("ver", library->version()),
                  fmt::arg("line", firstErrorLine(errors)),
                  fmt::arg("path", writeReproducer(ptx, arch, list, options.kernelName)))
      .addNote(errors);
}

} // namespace tilewright
