//===- LaunchBindings.cpp - kernel[grid](*args) ---------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: KernelDispatcher, the base class of JITFunction, and Launcher, what its
// subscript returns. A warm launch is one vectorcall from the arguments to
// cuLaunchKernelEx: no Python frame, no dict, no string.
//
// How a launch goes:
//   1. bind positional and keyword arguments to parameters (binder)
//   2. read each into code, words and slot (ArgumentReader)
//   3. probe the table of specialisations
//   4. a miss: Python compiles and loads (JITFunction._compile_specialization)
//   5. evaluate the grid, find stream and context, launch
//
//===----------------------------------------------------------------------===//

#include "python/bindings/ArgumentReader.h"
#include "python/bindings/Bindings.h"
#include "python/bindings/LoadedKernelHandle.h"
#include "python/bindings/PythonError.h"
#include "runtime/launch/Grid.h"

#include <cstddef>
#include <structmember.h>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

namespace {

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// One specialisation, ready to launch on one device.
struct Entry {
  PyObject *kernel = nullptr; // the CompiledKernel
  PyObject *handleObject = nullptr;
  LoadedKernelHandle *handle = nullptr; // owned by handleObject
  std::vector<bool> tensorMaps;         // which descriptors it takes as tensor maps
  uint64_t writtenMask = 0;

  Entry() = default;
  Entry(const Entry &) = delete;
  ~Entry() {
    Py_XDECREF(kernel);
    Py_XDECREF(handleObject);
  }
};

/// A global that some compiled code has frozen.
struct WatchedGlobal {
  PyObject *owner; // dict of a module, or a closure cell
  PyObject *name;
  PyObject *value;
};

struct DispatcherState {
  std::string kernelName;
  std::vector<LaunchParam> params;
  size_t maxWords = 0;             // of a key: constexpr values
  PyObject *preRunHooks = nullptr; // list
  bool interpreted = false;
  ConstTokens tokens;
  KeyTable<Entry> table;
  std::vector<WatchedGlobal> watched;

  ~DispatcherState();
  void clearWatched();
  void clearParams();
};

struct DispatcherObject {
  PyObject_HEAD DispatcherState *state;
};

struct LauncherObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  DispatcherObject *dispatcher;
  PyObject *grid; // as given, for callables and the interpreter
  bool gridIsCallable;
  Grid size;
};

/// Switches that a warm launch looks at; set by the knobs module.
struct LaunchFlags {
  bool hooks = false;
  bool sync = false;
  bool debug = false;
};

LaunchFlags flags;
PyTypeObject *dispatcherType = nullptr;
PyTypeObject *launcherType = nullptr;

} // namespace

void DispatcherState::clearWatched() {
  // Empty before the first object dies: destructors may come back.
  std::vector<WatchedGlobal> old;
  old.swap(watched);
  for (WatchedGlobal &w : old) {
    Py_DECREF(w.owner);
    Py_DECREF(w.name);
    Py_DECREF(w.value);
  }
}

void DispatcherState::clearParams() {
  for (LaunchParam &p : params) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.defaultValue);
  }
  params.clear();
}

DispatcherState::~DispatcherState() {
  clearWatched();
  clearParams();
  Py_XDECREF(preRunHooks);
}

//===----------------------------------------------------------------------===//
// Binding of arguments
//===----------------------------------------------------------------------===//

namespace {

/// Launch options found among the keywords, sorted by slot so that their order
/// in the call does not matter.
struct OptionList {
  static constexpr size_t kMax = 40;
  struct Item {
    unsigned slot;
    PyObject *name, *value; // borrowed from the call
  } items[kMax];
  size_t count = 0;

  void insert(unsigned slot, PyObject *name, PyObject *value) {
    size_t at = count++;
    for (; at > 0 && items[at - 1].slot > slot; --at)
      items[at] = items[at - 1];
    items[at] = {slot, name, value};
  }
};

} // namespace

static py::dict optionDict(const OptionList &options) {
  py::dict dict;
  for (size_t i = 0; i < options.count; ++i)
    dict[py::handle(options.items[i].name)] = unwrapHostConstexpr(options.items[i].value);
  return dict;
}

/// Slot of an option name, or -1. The names come from compiler/options.py.
static int optionSlot(PyObject *name) {
  static PyObject *slots = nullptr;
  if (!slots) {
    py::dict built;
    int next = 0;
    for (auto item : py::dict(py::module_::import("tilewright.compiler.options").attr("DEFAULTS")))
      built[item.first] = next++;
    if (next > static_cast<int>(OptionList::kMax))
      throw std::length_error("more options than OptionList holds");
    slots = built.release().ptr();
  }
  PyObject *found = PyDict_GetItem(slots, name);
  return found ? static_cast<int>(PyLong_AsLong(found)) : -1;
}

static std::string signatureText(const DispatcherState &state) {
  std::string text = state.kernelName + "(";
  for (size_t i = 0; i < state.params.size(); ++i) {
    const LaunchParam &p = state.params[i];
    text += (i ? ", " : "") + p.nameText;
    if (p.isConstexpr)
      text += ": constexpr";
    if (p.defaultValue)
      text += "=" + std::string(py::repr(py::handle(p.defaultValue)));
  }
  return text + ")";
}

/// An error about the call, with the line of the call.
static Error callError(const DispatcherState &state, Error error) {
  error.addFrame(currentPythonFrame(state.kernelName));
  return error;
}

static Error argumentError(const DispatcherState &state, const char *problem,
                           const std::string &argument) {
  return makeError(ErrorCode::E0205, fmt::arg("problem", problem), fmt::arg("a", argument),
                   fmt::arg("sig", signatureText(state)));
}

/// Index of the parameter with this name, or -1. Names in a call are interned,
/// so the pointer nearly always decides.
static int findParam(const DispatcherState &state, PyObject *name) {
  size_t n = state.params.size();
  for (size_t i = 0; i < n; ++i)
    if (state.params[i].name == name)
      return static_cast<int>(i);
  for (size_t i = 0; i < n; ++i)
    if (PyUnicode_Compare(state.params[i].name, name) == 0)
      return static_cast<int>(i);
  return -1;
}

static void bindKeyword(DispatcherObject *self, PyObject *name, PyObject *value, PyObject **bound,
                        OptionList &options) {
  DispatcherState &state = *self->state;
  // The slow comparison is only for names that are no interned parameter.
  for (size_t i = 0; i < state.params.size(); ++i)
    if (state.params[i].name == name) {
      if (bound[i])
        throw argumentError(state, "duplicate", state.params[i].nameText);
      bound[i] = value;
      return;
    }
  int slot = optionSlot(name);
  int param = slot < 0 ? findParam(state, name) : -1;
  if (param >= 0) {
    if (bound[param])
      throw argumentError(state, "duplicate", state.params[param].nameText);
    bound[param] = value;
    return;
  }
  if (slot >= 0) {
    options.insert(static_cast<unsigned>(slot), name, value);
    return;
  }
  py::handle(reinterpret_cast<PyObject *>(self)).attr("_reject_keyword")(py::handle(name));
  throw argumentError(state, "unexpected", py::str(py::handle(name)));
}

/// Fills `bound` (zeroed by the caller) with borrowed references.
static void bindArguments(DispatcherObject *self, PyObject *const *args, size_t numArgs,
                          PyObject *keywordNames, PyObject **bound, OptionList &options) {
  DispatcherState &state = *self->state;
  size_t n = state.params.size();
  if (numArgs > n)
    throw argumentError(state, "unexpected", fmt::format("#{}", n + 1))
        .addNote(fmt::format("{} positional arguments for {} parameters", numArgs, n));
  for (size_t i = 0; i < numArgs; ++i)
    bound[i] = args[i];
  if (keywordNames) {
    Py_ssize_t count = PyTuple_GET_SIZE(keywordNames);
    for (Py_ssize_t k = 0; k < count; ++k)
      bindKeyword(self, PyTuple_GET_ITEM(keywordNames, k), args[numArgs + k], bound, options);
  }
  for (size_t i = numArgs; i < n; ++i) {
    if (bound[i])
      continue;
    bound[i] = state.params[i].defaultValue;
    if (!bound[i])
      throw argumentError(state, "missing", state.params[i].nameText);
  }
}

/// {parameter: value} for grid functions and the interpreter.
static py::dict boundDict(const DispatcherState &state, PyObject *const *bound) {
  py::dict dict;
  for (size_t i = 0; i < state.params.size(); ++i)
    if (PyDict_SetItem(dict.ptr(), state.params[i].name, bound[i]) < 0)
      throw py::error_already_set();
  return dict;
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

static std::string reprOf(PyObject *object) {
  PyObject *text = PyObject_Repr(object);
  if (!text) {
    PyErr_Clear();
    return Py_TYPE(object)->tp_name;
  }
  return py::str(py::reinterpret_steal<py::object>(text));
}

static Grid parseGrid(PyObject *object) {
  Grid grid;
  bool isTuple = PyTuple_Check(object), isList = PyList_Check(object);
  if (!isTuple && !isList)
    raiseInvalidGrid(reprOf(object), "a tuple of 1 to 3 integers is needed");
  Py_ssize_t count = isTuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
  if (count < 1 || count > 3)
    raiseInvalidGrid(reprOf(object), fmt::format("it has {} dimensions", count));
  for (Py_ssize_t axis = 0; axis < count; ++axis) {
    PyObject *item = isTuple ? PyTuple_GET_ITEM(object, axis) : PyList_GET_ITEM(object, axis);
    if (PyLong_CheckExact(item)) {
      // The way of nearly every grid: no text is made unless it is wrong.
      int overflow = 0;
      long long size = PyLong_AsLongLongAndOverflow(item, &overflow);
      if (!overflow && size >= 0 && size <= kGridLimits[axis]) {
        grid.size[axis] = static_cast<unsigned>(size);
        continue;
      }
    }
    py::object plain = unwrapHostConstexpr(item);
    if (!PyIndex_Check(plain.ptr()))
      raiseInvalidGrid(reprOf(object),
                       fmt::format("size {} of axis {} is no integer", reprOf(item), axis));
    py::object number = py::reinterpret_steal<py::object>(checked(PyNumber_Index(plain.ptr())));
    int overflow = 0;
    long long size = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    setGridAxis(grid, static_cast<int>(axis),
                overflow ? (overflow > 0 ? INT64_MAX : INT64_MIN) : size, reprOf(object));
  }
  return grid;
}

static Grid evaluateGrid(const LauncherObject &launcher, PyObject *const *bound) {
  if (!launcher.gridIsCallable)
    return launcher.size;
  py::dict meta = boundDict(*launcher.dispatcher->state, bound);
  PyObject *argument = meta.ptr();
  PyObject *result = PyObject_Vectorcall(launcher.grid, &argument, 1, nullptr);
  if (!result) {
    // The function's own exception stays visible as the cause.
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
      PyException_SetTraceback(value, trace);
    std::string text = fmt::format("the exception {}: {}", Py_TYPE(value)->tp_name,
                                   std::string(py::str(py::handle(value))));
    PyErr_Restore(type, value, trace);
    throw makeError(ErrorCode::E0208, fmt::arg("t", text));
  }
  py::object owned = py::reinterpret_steal<py::object>(result);
  if (!PyTuple_Check(result) && !PyList_Check(result))
    throw makeError(ErrorCode::E0208, fmt::arg("t", fmt::format("{} ({})", Py_TYPE(result)->tp_name,
                                                                reprOf(result))));
  return parseGrid(result);
}

//===----------------------------------------------------------------------===//
// The miss
//===----------------------------------------------------------------------===//

static py::object compileSpecialization(DispatcherObject *self, PyObject *const *bound,
                                        const ArgumentReader &reader, const OptionList &options,
                                        int device, bool warmup) {
  return py::handle(reinterpret_cast<PyObject *>(self))
      .attr("_compile_specialization")(reader.describe(bound), optionDict(options), device, warmup);
}

/// Parameters that the kernel writes, from the names in metadata.written_args.
static uint64_t writtenMaskOf(const DispatcherState &state, const py::object &written) {
  if (written.is_none())
    return 0;
  uint64_t mask = 0;
  for (py::handle item : written)
    for (size_t i = 0; i < state.params.size() && i < 64; ++i)
      if (item.cast<std::string>() == state.params[i].nameText)
        mask |= uint64_t(1) << i;
  return mask;
}

/// Compiles, loads and enters; null where a compile hook cancelled.
static std::shared_ptr<Entry> handleMiss(DispatcherObject *self, PyObject *const *bound,
                                         const ArgumentReader &reader, KeyBuilder &key,
                                         uint64_t hash, const OptionList &options, int device) {
  DispatcherState &state = *self->state;
  py::object kernel = compileSpecialization(self, bound, reader, options, device, /*warmup=*/false);
  if (kernel.is_none())
    return nullptr;
  py::object handle = kernel.attr("load")(device);
  // Compiling let other threads run: one may have entered the same key.
  if (std::shared_ptr<Entry> other = state.table.find(key, hash))
    return other;
  auto entry = std::make_shared<Entry>();
  entry->handle = handle.cast<LoadedKernelHandle *>();
  entry->tensorMaps = entry->handle->tensorMaps;
  entry->writtenMask = writtenMaskOf(state, kernel.attr("metadata").attr("written_args"));
  entry->kernel = kernel.release().ptr();
  entry->handleObject = handle.release().ptr();
  state.table.insert(key, hash, entry);
  return entry;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Compares the globals that compiled code has frozen; raises (in Python) where
/// one has another value.
static void checkWatchedGlobals(DispatcherObject *self) {
  // By index: the Python call may append.
  DispatcherState &state = *self->state;
  for (size_t i = 0; i < state.watched.size(); ++i) {
    WatchedGlobal w = state.watched[i];
    PyObject *now = PyDict_Check(w.owner) ? PyDict_GetItem(w.owner, w.name) : PyCell_GET(w.owner);
    if (now == w.value)
      continue;
    py::handle(reinterpret_cast<PyObject *>(self))
        .attr("_global_changed")(py::handle(w.name), py::handle(w.value),
                                 now ? py::reinterpret_borrow<py::object>(now) : py::none());
    if (!now)
      continue;
    // Equal by value: watch the new object from now on.
    Py_INCREF(now);
    Py_DECREF(state.watched[i].value);
    state.watched[i].value = now;
  }
}

static py::tuple boundTuple(const DispatcherState &state, PyObject *const *bound) {
  py::tuple tuple(state.params.size());
  for (size_t i = 0; i < state.params.size(); ++i)
    tuple[i] = py::handle(bound[i]);
  return tuple;
}

static void callLaunchHook(DispatcherObject *self, bool entering, PyObject *kernel,
                           const Grid &grid, uint64_t stream, PyObject *const *bound) {
  py::handle(reinterpret_cast<PyObject *>(self))
      .attr("_call_launch_hook")(entering, py::handle(kernel),
                                 py::make_tuple(grid.size[0], grid.size[1], grid.size[2]), stream,
                                 boundTuple(*self->state, bound));
}

/// Asks Python for global scratch; the object is kept until after the launch.
static py::object allocateScratch(const LoadedKernelHandle &handle, const Grid &grid,
                                  uint64_t stream, uint64_t &slot) {
  int64_t blocks =
      int64_t(grid.size[0]) * grid.size[1] * grid.size[2] * handle.kernel.requirements().numCtas;
  py::object buffer =
      py::module_::import("tilewright.runtime.allocation")
          .attr("allocate")(handle.scratchBytes * blocks, handle.scratchAlignment, stream);
  slot = buffer.attr("data_ptr")().cast<uint64_t>();
  return buffer;
}

static driver::LaunchSite launchSite(const LoadedKernelHandle &handle, const Grid &grid) {
  driver::LaunchSite site;
  site.kernelName = handle.kernel.requirements().name;
  SourceFrame frame = currentPythonFrame(site.kernelName);
  site.file = frame.file;
  site.line = frame.line;
  site.config = fmt::format("grid=({}, {}, {}), {} threads", grid.size[0], grid.size[1],
                            grid.size[2], handle.kernel.requirements().threadsPerBlock);
  return site;
}

/// The driver call: context, GIL, result.
static void launchNow(LoadedKernelHandle &handle, const Grid &grid, uint64_t stream,
                      void **parameters) {
  driver::Driver &driver = driver::Driver::get();
  auto streamHandle = reinterpret_cast<driver::CudaStream>(stream);
  driver::CudaResult result;
  {
    driver::ContextGuard guard(driver, driver.device(handle.kernel.deviceOrdinal()));
    // A full queue blocks in the driver; other Python threads must run then.
    py::gil_scoped_release release;
    result = handle.kernel.launch(grid.size, streamHandle, parameters);
    if (flags.sync && result == driver::kCudaSuccess)
      result = driver.api().streamSynchronize(streamHandle);
  }
  if (result != driver::kCudaSuccess)
    driver.raiseLaunchError(result, launchSite(handle, grid));
}

static void launchEntry(LauncherObject &launcher, Entry &entry, const ArgumentReader &reader,
                        LaunchArguments &arguments, PyObject *const *bound, int device) {
  DispatcherObject *self = launcher.dispatcher;
  Grid grid = evaluateGrid(launcher, bound);
  if (grid.isEmpty())
    return;
  uint64_t stream = currentStreamOf(reader.framework(), device, reader.interfaceStream());
  LoadedKernelHandle &handle = *entry.handle;

  void *inlineParameters[64];
  std::vector<void *> heapParameters;
  void **parameters = inlineParameters;
  if (size_t most = arguments.size() + handle.recipes.size() + 1; most > 64) {
    heapParameters.resize(most);
    parameters = heapParameters.data();
  }
  size_t count = arguments.fill(parameters, entry.tensorMaps, handle.recipes,
                                launcher.dispatcher->state->params);
  uint64_t scratchSlot = 0;
  py::object scratch;
  if (handle.scratchBytes > 0) {
    scratch = allocateScratch(handle, grid, stream, scratchSlot);
    parameters[count] = &scratchSlot;
  }
  if (flags.hooks)
    callLaunchHook(self, true, entry.kernel, grid, stream, bound);
  launchNow(handle, grid, stream, parameters);
  if (flags.hooks)
    callLaunchHook(self, false, entry.kernel, grid, stream, bound);
}

static void runPreHooks(DispatcherState &state, PyObject *const *args, size_t numArgs,
                        PyObject *keywordNames) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(state.preRunHooks); ++i) {
    py::object hook = py::reinterpret_borrow<py::object>(PyList_GET_ITEM(state.preRunHooks, i));
    Py_DECREF(checked(PyObject_Vectorcall(hook.ptr(), args, numArgs, keywordNames)));
  }
}

/// Scratch space of one call, on the stack for up to 64 parameters.
namespace {
struct CallStorage {
  PyObject *inlineBound[64];
  uint64_t inlineSlots[64];
  std::unique_ptr<PyObject *[]> heapBound;
  std::unique_ptr<uint64_t[]> heapSlots;
  PyObject **bound = inlineBound;
  uint64_t *slots = inlineSlots;

  explicit CallStorage(size_t n) {
    if (n > 64) {
      heapBound.reset(new PyObject *[n]);
      heapSlots.reset(new uint64_t[n]);
      bound = heapBound.get();
      slots = heapSlots.get();
    }
    std::fill(bound, bound + n, nullptr);
  }
};
} // namespace

static py::object runInterpreted(LauncherObject &launcher, PyObject *const *bound,
                                 const OptionList &options) {
  DispatcherObject *self = launcher.dispatcher;
  return py::handle(reinterpret_cast<PyObject *>(self))
      .attr("_run_interpreted")(py::handle(launcher.grid), boundDict(*self->state, bound),
                                optionDict(options));
}

static PyObject *launchCall(LauncherObject &launcher, PyObject *const *args, size_t numArgs,
                            PyObject *keywordNames) {
  DispatcherObject *self = launcher.dispatcher;
  DispatcherState &state = *self->state;
  CallStorage storage(state.params.size());
  OptionList options;
  if (PyList_GET_SIZE(state.preRunHooks) > 0)
    runPreHooks(state, args, numArgs, keywordNames);
  bindArguments(self, args, numArgs, keywordNames, storage.bound, options);
  if (state.interpreted)
    return runInterpreted(launcher, storage.bound, options).release().ptr();

  KeyBuilder key(state.params.size(), state.maxWords + 2 * options.count);
  LaunchArguments arguments;
  ArgumentReader reader(state.params, state.tokens, key, storage.slots, arguments,
                        /*isWarmup=*/false);
  if (!reader.readAll(storage.bound))
    return runInterpreted(launcher, storage.bound, options).release().ptr();
  for (size_t i = 0; i < options.count; ++i)
    reader.addOption(options.items[i].slot, options.items[i].value);
  if (!state.watched.empty())
    checkWatchedGlobals(self);

  int device = reader.device() >= 0 ? reader.device() : currentDeviceOrdinal();
  key.setHeader(static_cast<uint64_t>(device) << 1 | flags.debug);
  uint64_t hash = key.hash();
  // Shared: the table may be cleared while the grid function, a hook or another
  // thread runs.
  std::shared_ptr<Entry> entry = state.table.find(key, hash);
  if (!entry) {
    entry = handleMiss(self, storage.bound, reader, key, hash, options, device);
    if (!entry)
      Py_RETURN_NONE;
  }
  if (uint64_t wrong = reader.readOnlyMask() & entry->writtenMask)
    for (size_t i = 0; i < state.params.size(); ++i)
      if (wrong >> i & 1)
        throw makeError(ErrorCode::E0216, fmt::arg("a", state.params[i].nameText));
  py::object kernel = py::reinterpret_borrow<py::object>(entry->kernel);
  launchEntry(launcher, *entry, reader, arguments, storage.bound, device);
  return kernel.release().ptr();
}

/// Adds the line of the launch to errors that have no place yet.
template <typename Body> static PyObject *withLaunchSite(const DispatcherState &state, Body body) {
  return guarded([&]() -> PyObject * {
    try {
      return body();
    } catch (Error &error) {
      // A fault names its launch site in its first line already.
      bool hasPlace = !error.frames().empty() || error.code() == ErrorCode::E0401 ||
                      error.code() == ErrorCode::E0403;
      throw hasPlace ? error : callError(state, error);
    }
  });
}

//===----------------------------------------------------------------------===//
// Launcher type
//===----------------------------------------------------------------------===//

static PyObject *launcherVectorcall(PyObject *object, PyObject *const *args, size_t flaggedCount,
                                    PyObject *keywordNames) {
  auto &launcher = *reinterpret_cast<LauncherObject *>(object);
  return withLaunchSite(*launcher.dispatcher->state, [&] {
    return launchCall(launcher, args, PyVectorcall_NARGS(flaggedCount), keywordNames);
  });
}

static int launcherTraverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->dispatcher);
  Py_VISIT(self->grid);
  return 0;
}

static int launcherClear(PyObject *object) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  Py_CLEAR(self->grid);
  return 0;
}

static void launcherDealloc(PyObject *object) {
  auto *self = reinterpret_cast<LauncherObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->dispatcher);
  Py_XDECREF(self->grid);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

static PyMemberDef launcherMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {"grid", T_OBJECT, offsetof(LauncherObject, grid), READONLY, "the grid as it was given"},
    {"kernel", T_OBJECT, offsetof(LauncherObject, dispatcher), READONLY,
     "the function that is launched"},
    {nullptr, 0, 0, 0, nullptr}};

static PyType_Slot launcherSlots[] = {
    {Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void *>(launcherTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(launcherClear)},
    {Py_tp_dealloc, reinterpret_cast<void *>(launcherDealloc)},
    {Py_tp_members, launcherMembers},
    {Py_tp_doc, const_cast<char *>("A kernel with its grid; call it to launch.")},
    {0, nullptr}};

static PyType_Spec launcherSpec = {"tilewright._core.Launcher", sizeof(LauncherObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                       Py_TPFLAGS_HAVE_VECTORCALL |
                                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   launcherSlots};

//===----------------------------------------------------------------------===//
// Dispatcher type
//===----------------------------------------------------------------------===//

static PyObject *dispatcherNew(PyTypeObject *type, PyObject *, PyObject *) {
  return guarded([&] {
    PyObject *object = checked(type->tp_alloc(type, 0));
    auto *self = reinterpret_cast<DispatcherObject *>(object);
    self->state = new DispatcherState();
    self->state->preRunHooks = PyList_New(0);
    return object;
  });
}

static int dispatcherTraverse(PyObject *object, visitproc visit, void *arg) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  Py_VISIT(Py_TYPE(object));
  if (!self->state)
    return 0;
  DispatcherState &state = *self->state;
  for (LaunchParam &p : state.params)
    Py_VISIT(p.defaultValue);
  for (WatchedGlobal &w : state.watched) {
    Py_VISIT(w.owner);
    Py_VISIT(w.value);
  }
  Py_VISIT(state.preRunHooks);
  Py_VISIT(state.tokens.dict);
  int result = 0;
  state.table.forEach([&](Entry &entry) {
    if (result == 0 && entry.kernel)
      result = visit(entry.kernel, arg);
    if (result == 0 && entry.handleObject)
      result = visit(entry.handleObject, arg);
  });
  return result;
}

static int dispatcherClear(PyObject *object) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  if (!self->state)
    return 0;
  self->state->table.clear();
  self->state->clearWatched();
  Py_CLEAR(self->state->tokens.dict);
  return 0;
}

static void dispatcherDealloc(PyObject *object) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  delete self->state;
  self->state = nullptr;
  type->tp_free(object);
  Py_DECREF(type);
}

static PyObject *dispatcherSubscript(PyObject *object, PyObject *grid) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return withLaunchSite(*self->state, [&]() -> PyObject * {
    bool callable = !PyTuple_CheckExact(grid) && PyCallable_Check(grid);
    Grid size;
    if (!callable)
      size = parseGrid(grid);
    auto *launcher = PyObject_GC_New(LauncherObject, launcherType);
    if (!launcher)
      throw py::error_already_set();
    launcher->vectorcall = launcherVectorcall;
    Py_INCREF(self);
    launcher->dispatcher = self;
    Py_INCREF(grid);
    launcher->grid = grid;
    launcher->gridIsCallable = callable;
    launcher->size = size;
    PyObject_GC_Track(launcher);
    return reinterpret_cast<PyObject *>(launcher);
  });
}

/// _configure(name, params, pre_run_hooks, interpreted)
static PyObject *dispatcherConfigure(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return guarded([&]() -> PyObject * {
    auto tuple = py::reinterpret_borrow<py::tuple>(args);
    DispatcherState &state = *self->state;
    state.kernelName = tuple[0].cast<std::string>();
    state.clearParams();
    for (py::handle item : tuple[1]) {
      auto row = py::reinterpret_borrow<py::tuple>(item);
      LaunchParam p;
      p.nameText = row[0].cast<std::string>();
      p.name = PyUnicode_InternFromString(p.nameText.c_str());
      p.isConstexpr = row[1].cast<bool>();
      p.annotation = row[2].cast<std::string>();
      p.isConstPointer = row[3].cast<bool>();
      p.noSpecialize = row[4].cast<bool>();
      p.noAlignment = row[5].cast<bool>();
      p.annotatedPointer = !p.annotation.empty() && p.annotation[0] == '*';
      p.annotatedFloat = p.annotation.rfind("fp", 0) == 0 || p.annotation.rfind("bf", 0) == 0;
      p.annotatedBool = p.annotation == "i1" || p.annotation == "u1";
      if (!row[6].is_none())
        p.defaultValue = py::object(row[6].cast<py::tuple>()[0]).release().ptr();
      state.params.push_back(std::move(p));
    }
    state.maxWords = state.params.size();
    py::object hooks = tuple[2];
    Py_XSETREF(state.preRunHooks, hooks.release().ptr());
    state.interpreted = tuple[3].cast<bool>();
    Py_RETURN_NONE;
  });
}

/// _warm(args, kwargs): compiles for these arguments, launches nothing.
static PyObject *dispatcherWarm(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return withLaunchSite(*self->state, [&]() -> PyObject * {
    auto call = py::reinterpret_borrow<py::tuple>(args);
    py::tuple positional = call[0];
    py::dict keywords = call[1];
    DispatcherState &state = *self->state;
    std::vector<PyObject *> values;
    for (py::handle value : positional)
      values.push_back(value.ptr());
    py::tuple names(keywords.size());
    size_t k = 0;
    for (auto item : keywords) {
      names[k++] = item.first;
      values.push_back(item.second.ptr());
    }
    CallStorage storage(state.params.size());
    OptionList options;
    bindArguments(self, values.data(), positional.size(), names.ptr(), storage.bound, options);
    if (state.interpreted)
      Py_RETURN_NONE;
    KeyBuilder key(state.params.size(), state.maxWords);
    LaunchArguments arguments;
    ArgumentReader reader(state.params, state.tokens, key, storage.slots, arguments,
                          /*isWarmup=*/true);
    if (!reader.readAll(storage.bound))
      Py_RETURN_NONE;
    int device = reader.device();
    if (device < 0 && driver::Driver::tryGet())
      device = currentDeviceOrdinal();
    return compileSpecialization(self, storage.bound, reader, options, device, /*warmup=*/true)
        .release()
        .ptr();
  });
}

/// _watch_global(name, value, owner)
static PyObject *dispatcherWatch(PyObject *object, PyObject *args) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  PyObject *name, *value, *owner;
  if (!PyArg_ParseTuple(args, "UOO", &name, &value, &owner))
    return nullptr;
  if (!PyDict_Check(owner) && !PyCell_Check(owner)) {
    PyErr_SetString(PyExc_TypeError, "owner must be a dict or a cell");
    return nullptr;
  }
  Py_INCREF(name);
  Py_INCREF(value);
  Py_INCREF(owner);
  self->state->watched.push_back({owner, name, value});
  Py_RETURN_NONE;
}

static PyObject *dispatcherClearTable(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  self->state->table.clear();
  self->state->clearWatched();
  Py_RETURN_NONE;
}

static PyObject *dispatcherTableSize(PyObject *object, PyObject *) {
  auto *self = reinterpret_cast<DispatcherObject *>(object);
  return PyLong_FromSize_t(self->state->table.size());
}

static PyMethodDef dispatcherMethods[] = {
    {"_configure", dispatcherConfigure, METH_VARARGS, nullptr},
    {"_warm", dispatcherWarm, METH_VARARGS, nullptr},
    {"_watch_global", dispatcherWatch, METH_VARARGS, nullptr},
    {"_clear_table", dispatcherClearTable, METH_NOARGS, nullptr},
    {"_table_size", dispatcherTableSize, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

static PyType_Slot dispatcherSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(dispatcherNew)},
    {Py_tp_dealloc, reinterpret_cast<void *>(dispatcherDealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(dispatcherTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(dispatcherClear)},
    {Py_mp_subscript, reinterpret_cast<void *>(dispatcherSubscript)},
    {Py_tp_methods, dispatcherMethods},
    {Py_tp_doc, const_cast<char *>("The native side of a jit function.")},
    {0, nullptr}};

static PyType_Spec dispatcherSpec = {
    "tilewright._core.KernelDispatcher", sizeof(DispatcherObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, dispatcherSlots};

//===----------------------------------------------------------------------===//
// Direct launches of a loaded kernel
//===----------------------------------------------------------------------===//

static void launchLoaded(LoadedKernelHandle &handle, const py::object &gridObject, uint64_t stream,
                         const py::sequence &arguments) {
  Grid grid = parseGrid(gridObject.ptr());
  if (grid.isEmpty())
    return;
  // The caller names the stream here; the launcher takes the framework's own.
  driver::checkStreamDevice(reinterpret_cast<driver::CudaStream>(stream),
                            handle.kernel.deviceOrdinal());
  size_t count = handle.types.size();
  if (arguments.size() != count)
    throw py::value_error("the number of arguments differs from the kernel's");
  LaunchArguments packed;
  std::vector<LaunchParam> params(count);
  for (size_t i = 0; i < count; ++i) {
    py::object value = arguments[i];
    params[i].nameText = fmt::format("#{}", i);
    packTyped(handle.types[i], value.ptr(), i, params[i].nameText, packed);
  }
  std::vector<void *> parameters(packed.size() + handle.recipes.size() + 1);
  size_t used = packed.fill(parameters.data(), handle.tensorMaps, handle.recipes, params);
  uint64_t scratchSlot = 0;
  py::object scratch;
  if (handle.scratchBytes > 0) {
    scratch = allocateScratch(handle, grid, stream, scratchSlot);
    parameters[used] = &scratchSlot;
  }
  launchNow(handle, grid, stream, parameters.data());
}

void bindLaunch(py::module_ &module) {
  launcherType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&launcherSpec)));
  dispatcherType = reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&dispatcherSpec)));
  module.attr("Launcher") = py::handle(reinterpret_cast<PyObject *>(launcherType));
  module.attr("KernelDispatcher") = py::handle(reinterpret_cast<PyObject *>(dispatcherType));
  module.def("launch_loaded", &launchLoaded);
  module.def("check_tensor_descriptor", &checkTensorDescriptor, py::arg("value"), py::arg("name"),
             py::arg("address"), py::arg("dtype"), py::arg("on_gpu"), py::arg("with_block"));
  module.def(
      "set_launch_flags",
      [](bool hooks, bool sync, bool debug) {
        flags.hooks = hooks;
        flags.sync = sync;
        flags.debug = debug;
      },
      py::arg("hooks"), py::arg("sync"), py::arg("debug"));
  module.def("current_device", &currentDeviceOrdinal);
  module.def("current_stream",
             [](int device) { return currentStreamOf(Framework::None, device, 0); });
  module.def("check_not_capturing", [](int device, const std::string &name) {
    driver::Driver &driver = driver::Driver::get();
    driver::ContextGuard guard(driver, driver.device(device));
    driver::checkNotCapturing(
        reinterpret_cast<driver::CudaStream>(currentStreamOf(Framework::None, device, 0)), name);
  });
}

} // namespace tilewright
