//===- TunedDispatcher.cpp - Warm launches of tuned kernels ---------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: TunedDispatcher, the base class of Autotuner, and the call of `tuned[grid]`.
//
// How:
//   1. the arguments are read as for the kernel below, parameters that configurations
//      give staying open; with the values that the tuner's `key` names they make a key
//   2. a known key gives the configuration, and where the tuner stands directly on the
//      kernel, the values of the open parameters and the machine code
//   3. an unknown one goes to Autotuner._launch in Python, which chooses, measures where
//      nothing is known, and launches; what it chose is entered here
//
// The key of a choice holds more than the tuner's own key (the divisibility of
// arguments, say), so that one look-up gives the configuration and the machine code; a
// missing entry costs the way through Python once. Choices that Python must take part in
// (a configuration with a pre_hook, a listener) are not entered.
//
//===----------------------------------------------------------------------===//

#include "frontend/python/InternedName.h"
#include "python/bindings/launch/GridReader.h"
#include "python/bindings/launch/LaunchExecution.h"
#include "python/bindings/launch/OuterLauncher.h"

#include <algorithm>

namespace py = pybind11;

namespace tilewright {

using namespace launch;

namespace {

/// What a launch must know of the tuner; never changed once it is in use.
struct Setup {
  py::object base;    // the jit function at the bottom
  py::object inner;   // what the tuner stands on
  py::object configs; // the tuner's list
  std::vector<size_t> keyParams;
  std::vector<bool> added; // by parameter: whether configurations or heuristics give it

  DispatcherObject *dispatcher() const { return reinterpret_cast<DispatcherObject *>(base.ptr()); }
  bool isDirect() const { return base.ptr() == inner.ptr(); }
};

struct Choice {
  py::object config;
  std::vector<std::pair<py::object, py::object>> more; // what it adds to a call
  // Where the tuner stands on the kernel itself:
  Entry *entry = nullptr;
  std::vector<std::pair<size_t, py::object>> open; // values of the open parameters
  // It is void once one of these has changed.
  uint64_t generation = 0; // of the kernel's table
  Py_ssize_t numConfigs = 0;
};

struct TunedState {
  std::atomic<Setup *> setup{nullptr};
  KeyTable<Choice> table;
  std::atomic<uint64_t> generation{0}; // how often choices were forgotten
  std::atomic<PyObject *> best{nullptr};
  std::mutex mutex; // for changes of all this, and for `best` where it is not compared
  std::vector<std::unique_ptr<Setup>> setups; // launches may use an older one still
};

struct TunedObject {
  PyObject_HEAD TunedState *state;
};

TunedState &stateOf(PyObject *object) { return *reinterpret_cast<TunedObject *>(object)->state; }

void setBest(TunedState &state, PyObject *config) {
  if (state.best.load(std::memory_order_relaxed) == config)
    return;
  Py_XINCREF(config);
  PyObject *before;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    before = state.best.exchange(config);
  }
  Py_XDECREF(before);
}

void forget(TunedState &state) {
  std::lock_guard<std::mutex> lock(state.mutex);
  state.generation.fetch_add(1);
  state.table.clear();
}

bool isCurrent(const Choice &choice, const Setup &setup) {
  return choice.generation == setup.dispatcher()->state->generation.load() &&
         choice.numConfigs == PyList_GET_SIZE(setup.configs.ptr());
}

/// One call of `tuned[grid]`.
class TunedCall {
public:
  TunedCall(OuterLauncherObject &launcher, const Setup &setup, PyObject *const *args,
            size_t numArgs, PyObject *keywordNames)
      : launcher(launcher), state(stateOf(launcher.owner)), setup(setup), args(args),
        numArgs(numArgs), keywordNames(keywordNames),
        request(setup.dispatcher(), /*isWarmup=*/false) {}

  PyObject *run() {
    generation = state.generation.load();
    const Choice *choice = canBeWarm() ? find() : nullptr;
    return choice ? launchWarm(*choice) : launchInPython();
  }

private:
  bool canBeWarm() const {
    return !launchFlags.tunerListener && PyList_GET_SIZE(request.state.preRunHooks) == 0;
  }

  /// The choice for these arguments; null where it is not known, or where they cannot be
  /// read, which may change until the launch: hooks of configurations complete descriptors.
  const Choice *find() {
    if (!bind())
      return nullptr;
    try {
      if (!request.read() || !request.addValues(setup.keyParams))
        return nullptr;
    } catch (const Error &) {
      return nullptr;
    } catch (const py::error_already_set &) {
      return nullptr;
    }
    isRead = true;
    key = &request.finishedKey(hash);
    const Choice *choice = state.table.find(*key, hash);
    return choice && isCurrent(*choice, setup) && !hasHook(*choice) ? choice : nullptr;
  }

  /// Wrong names and missing arguments are the call's mistake, not a configuration's.
  /// They are raised where nothing stands between that may mend them; false elsewhere.
  bool bind() {
    try {
      request.bindGiven(args, numArgs, keywordNames, setup.added);
      checkMissing(request.state, request.bound(), setup.added);
      return true;
    } catch (const std::exception &) { // ours, or one of Python's
      if (setup.isDirect())
        throw;
      return false;
    }
  }

  /// A hook may have been given to the configuration since.
  static bool hasHook(const Choice &choice) {
    static const InternedName hookName("pre_hook");
    PyObject *hook = checked(PyObject_GetAttr(choice.config.ptr(), hookName));
    Py_DECREF(hook);
    return hook != Py_None;
  }

  PyObject *launchWarm(const Choice &choice) {
    setBest(state, choice.config.ptr());
    if (!choice.entry)
      return callInner(setup.inner.ptr(), launcher.grid, args, numArgs, keywordNames,
                       addedBy(choice));
    request.checkProcess();
    for (const auto &[param, value] : choice.open)
      request.fill(param, value.ptr());
    // The kernel has another form for these arguments, which its own launch finds.
    if (!request.suits(*choice.entry))
      return callInner(setup.inner.ptr(), launcher.grid, args, numArgs, keywordNames,
                       addedBy(choice));
    request.checkArguments(*choice.entry);
    PyObject *grid = launcher.grid;
    bool isFunction = !PyTuple_CheckExact(grid) && PyCallable_Check(grid);
    Grid size = isFunction ? callGrid(grid, boundDict(request.state, request.bound()).ptr())
                           : parseGrid(grid);
    if (!size.isEmpty()) {
      finishParameters(request, *choice.entry);
      launchEntry(request, *choice.entry, size);
    }
    Py_INCREF(choice.entry->kernel);
    return choice.entry->kernel;
  }

  PyObject *launchInPython() {
    py::tuple answer =
        py::handle(launcher.owner)
            .attr("_launch")(py::handle(launcher.grid), positionalArguments(args, numArgs),
                             keywordArguments(args, numArgs, keywordNames));
    py::object kernel = answer[0], config = answer[1];
    if (isRead && !config.is_none())
      enter(config);
    return kernel.release().ptr();
  }

  static AddedArguments addedBy(const Choice &choice) {
    AddedArguments added;
    for (const auto &[name, value] : choice.more)
      added.push_back({name.ptr(), value.ptr()});
    return added;
  }

  /// Enters what Python chose for this call, unless choices were forgotten meanwhile.
  void enter(const py::object &config) {
    auto choice = std::make_unique<Choice>();
    choice->config = config;
    choice->numConfigs = PyList_GET_SIZE(setup.configs.ptr());
    choice->generation = setup.dispatcher()->state->generation.load();
    for (auto item : py::dict(config.attr("all_kwargs")()))
      choice->more.push_back({py::reinterpret_borrow<py::object>(item.first),
                              py::reinterpret_borrow<py::object>(item.second)});
    if (setup.isDirect() && !resolve(*choice))
      return;
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.generation.load() != generation)
      return;
    if (const Choice *known = state.table.find(*key, hash)) {
      if (isCurrent(*known, setup))
        return;
      state.table.clear(); // all of that time are void
    }
    state.table.insert(*key, hash, std::move(choice));
  }

  /// Finds machine code and open values of a choice that was launched just now; false
  /// where a launch needs more than constants from it.
  bool resolve(Choice &choice) {
    std::vector<PyObject *> values(args, args + numArgs);
    std::vector<PyObject *> names;
    Py_ssize_t given = keywordNames ? PyTuple_GET_SIZE(keywordNames) : 0;
    for (Py_ssize_t k = 0; k < given; ++k) {
      names.push_back(PyTuple_GET_ITEM(keywordNames, k));
      values.push_back(args[numArgs + k]);
    }
    for (const auto &[name, value] : choice.more) {
      names.push_back(name.ptr());
      values.push_back(value.ptr());
    }
    py::tuple allNames(names.size());
    for (size_t k = 0; k < names.size(); ++k)
      allNames[k] = py::handle(names[k]);
    LaunchRequest whole(setup.dispatcher(), /*isWarmup=*/false);
    whole.bind(values.data(), numArgs, allNames.ptr());
    if (!whole.read())
      return false;
    choice.entry = whole.knownEntry();
    for (size_t i = 0; i < request.state.params.size(); ++i) {
      if (request.bound()[i])
        continue;
      if (!request.state.params[i].isConstexpr)
        return false;
      choice.open.push_back({i, py::reinterpret_borrow<py::object>(whole.bound()[i])});
    }
    return choice.entry != nullptr;
  }

  OuterLauncherObject &launcher;
  TunedState &state;
  const Setup &setup;
  PyObject *const *args;
  size_t numArgs;
  PyObject *keywordNames;
  LaunchRequest request;
  bool isRead = false;
  const KeyBuilder *key = nullptr;
  uint64_t hash = 0, generation = 0;
};

} // namespace

static PyObject *tunedCall(PyObject *object, PyObject *const *args, size_t flaggedCount,
                           PyObject *keywordNames) {
  auto &launcher = *reinterpret_cast<OuterLauncherObject *>(object);
  size_t numArgs = PyVectorcall_NARGS(flaggedCount);
  const Setup *setup = stateOf(launcher.owner).setup.load(std::memory_order_acquire);
  if (!setup)
    return guarded([&]() -> PyObject * {
      py::tuple answer =
          py::handle(launcher.owner)
              .attr("_launch")(py::handle(launcher.grid), positionalArguments(args, numArgs),
                               keywordArguments(args, numArgs, keywordNames));
      return py::object(answer[0]).release().ptr();
    });
  return withLaunchSite(*setup->dispatcher()->state, [&] {
    return TunedCall(launcher, *setup, args, numArgs, keywordNames).run();
  });
}

//===----------------------------------------------------------------------===//
// What Python asks
//===----------------------------------------------------------------------===//

/// _set_up(base, inner, configs, keys, added): `base` is the jit function, or None where
/// every launch is Python's; `keys` and `added` name parameters.
static PyObject *tunedSetUp(PyObject *object, PyObject *args) {
  TunedState &state = stateOf(object);
  return guarded([&]() -> PyObject * {
    auto given = py::reinterpret_borrow<py::tuple>(args);
    std::unique_ptr<Setup> setup;
    if (!given[0].is_none()) {
      setup = std::make_unique<Setup>();
      setup->base = given[0];
      setup->inner = given[1];
      setup->configs = given[2];
      const std::vector<LaunchParam> &params = setup->dispatcher()->state->params;
      for (size_t i = 0; i < params.size(); ++i) {
        py::str name(params[i].nameText);
        if (given[3].contains(name))
          setup->keyParams.push_back(i);
        setup->added.push_back(given[4].contains(name));
      }
    }
    std::lock_guard<std::mutex> lock(state.mutex);
    state.generation.fetch_add(1);
    state.table.clear();
    state.setup.store(setup.get(), std::memory_order_release);
    if (setup)
      state.setups.push_back(std::move(setup));
    Py_RETURN_NONE;
  });
}

static PyObject *tunedForget(PyObject *object, PyObject *) {
  forget(stateOf(object));
  Py_RETURN_NONE;
}

static PyObject *tunedTableSize(PyObject *object, PyObject *) {
  return PyLong_FromSize_t(stateOf(object).table.size());
}

static PyObject *tunedSubscript(PyObject *object, PyObject *grid) {
  return guarded([&] { return makeOuterLauncher(object, grid, tunedCall); });
}

static PyObject *tunedBest(PyObject *object, void *) {
  TunedState &state = stateOf(object);
  std::lock_guard<std::mutex> lock(state.mutex);
  PyObject *best = state.best.load();
  best = best ? best : Py_None;
  Py_INCREF(best);
  return best;
}

static int tunedSetBest(PyObject *object, PyObject *value, void *) {
  setBest(stateOf(object), value == Py_None ? nullptr : value);
  return 0;
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

static PyObject *tunedNew(PyTypeObject *type, PyObject *, PyObject *) {
  return guarded([&] {
    PyObject *object = checked(type->tp_alloc(type, 0));
    reinterpret_cast<TunedObject *>(object)->state = new TunedState();
    return object;
  });
}

static int tunedTraverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(object));
  if (!reinterpret_cast<TunedObject *>(object)->state)
    return 0;
  TunedState &state = stateOf(object);
  Py_VISIT(state.best.load());
  for (const std::unique_ptr<Setup> &setup : state.setups) {
    Py_VISIT(setup->base.ptr());
    Py_VISIT(setup->inner.ptr());
    Py_VISIT(setup->configs.ptr());
  }
  int result = 0;
  state.table.forEach([&](const Choice &choice) {
    auto visitOne = [&](const py::object &held) {
      if (result == 0)
        result = visit(held.ptr(), arg);
    };
    visitOne(choice.config);
    for (const auto &item : choice.more)
      visitOne(item.second);
    for (const auto &item : choice.open)
      visitOne(item.second);
  });
  return result;
}

static int tunedClear(PyObject *object) {
  if (!reinterpret_cast<TunedObject *>(object)->state)
    return 0;
  // Unreachable: no launch is under way, and none will come.
  TunedState &state = stateOf(object);
  state.setup = nullptr;
  state.table.reclaim();
  std::vector<std::unique_ptr<Setup>> setups;
  setups.swap(state.setups);
  Py_XDECREF(state.best.exchange(nullptr));
  return 0;
}

static void tunedDealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  tunedClear(object);
  auto *self = reinterpret_cast<TunedObject *>(object);
  delete self->state;
  self->state = nullptr;
  type->tp_free(object);
  Py_DECREF(type);
}

static PyMethodDef tunedMethods[] = {{"_set_up", tunedSetUp, METH_VARARGS, nullptr},
                                     {"_forget", tunedForget, METH_NOARGS, nullptr},
                                     {"_table_size", tunedTableSize, METH_NOARGS, nullptr},
                                     {nullptr, nullptr, 0, nullptr}};

static PyGetSetDef tunedGetters[] = {
    {"best_config", tunedBest, tunedSetBest, "the configuration of the latest launch", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

static PyType_Slot tunedSlots[] = {
    {Py_tp_new, reinterpret_cast<void *>(tunedNew)},
    {Py_tp_dealloc, reinterpret_cast<void *>(tunedDealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(tunedTraverse)},
    {Py_tp_clear, reinterpret_cast<void *>(tunedClear)},
    {Py_mp_subscript, reinterpret_cast<void *>(tunedSubscript)},
    {Py_tp_methods, tunedMethods},
    {Py_tp_getset, tunedGetters},
    {Py_tp_doc, const_cast<char *>("The native side of a tuned kernel.")},
    {0, nullptr}};

static PyType_Spec tunedSpec = {"tilewright._core.TunedDispatcher", sizeof(TunedObject), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                tunedSlots};

PyTypeObject *makeTunedDispatcherType() {
  return reinterpret_cast<PyTypeObject *>(checked(PyType_FromSpec(&tunedSpec)));
}

} // namespace tilewright
