# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches: `knobs.<group>.<name>`, mirrored from one native table.

Reading a knob reads the environment (TILEWRIGHT_X, then Triton's name, then the
default). Setting one writes the environment. `with knobs.runtime.scope(): ...`
puts all knobs of a group back at the end; `del knobs.runtime.debug` unsets one.

Groups also hold Python-only values, such as hooks, which have no variable.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from . import _core, errors

_TRUE = {"1", "true", "on", "yes", "y"}


class _Entry:
    __slots__ = ("index", "name", "type", "default", "default_value", "group", "attribute", "triton_name", "doc")

    def __init__(self, index, row):
        self.index = index
        (self.name, self.type, self.default, self.group, self.attribute, self.triton_name, self.doc) = row
        self.default_value = self._parse(self.default)

    def get(self):
        # Asked a dozen times by a first launch; os.environ takes longer to say no.
        text = _core.knob_setting(self.index)
        if text is None:
            return self.default_value
        if self.type not in ("str", "path"):  # there any text will do, also a path that is not UTF-8
            if text != "" or self.type == "bool":
                _core.check_knob(self.name, text)
        return self._parse(text)

    def _parse(self, text):
        if self.type == "bool":
            return text.lower() in _TRUE
        if text == "":
            return None
        return int(text, 0) if self.type == "int" else float(text) if self.type == "float" else text

    def set(self, value):
        if value is None:
            return self.unset()
        text = ("1" if value else "0") if isinstance(value, bool) else str(value)
        _core.check_knob(self.name, text)
        os.environ[f"TILEWRIGHT_{self.name}"] = text

    def unset(self):
        for variable in (f"TILEWRIGHT_{self.name}", self.triton_name):
            if variable:
                os.environ.pop(variable, None)


_entries = [_Entry(index, row) for index, row in enumerate(_core.knob_table())]


class HookChain:
    """Callables that run in the order in which they were added."""

    def __init__(self, on_change=None, reversed=False):
        self.calls: list = []
        self._on_change = on_change
        self._reversed = reversed

    def add(self, hook):
        if hook not in self.calls:
            self.calls.append(hook)
            self._changed()

    def remove(self, hook):
        if hook in self.calls:
            self.calls.remove(hook)
            self._changed()

    def _changed(self):
        if self._on_change is not None:
            self._on_change()

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for call in (reversed(self.calls) if self._reversed else list(self.calls)):
            call(*args, **kwargs)


class Group:
    """The knobs of one group as attributes."""

    def __init__(self, name, **plain):
        entries = {e.attribute: e for e in _entries if e.group == name}
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_entries", entries)
        object.__setattr__(self, "_plain", dict(plain))
        object.__setattr__(self, "_initial", dict(plain))

    def __getattr__(self, attribute):
        if attribute in self._entries:
            return self._entries[attribute].get()
        try:
            return self._plain[attribute]
        except KeyError:
            raise AttributeError(f"knobs.{self._name} has no '{attribute}'") from None

    def __setattr__(self, attribute, value):
        if attribute in self._entries:
            self._entries[attribute].set(value)
        elif attribute in self._plain:
            current = self._plain[attribute]
            if isinstance(current, HookChain) and not isinstance(value, HookChain):
                # Triton allowed assigning one callable, or None, to a chain.
                current.calls[:] = [] if value is None else [value]
                current._changed()
                return
            self._plain[attribute] = value
        else:
            raise AttributeError(f"knobs.{self._name} has no '{attribute}'")
        _knobs_changed()

    def __delattr__(self, attribute):
        if attribute in self._entries:
            self._entries[attribute].unset()
        else:
            self._plain[attribute] = self._initial[attribute]
        _knobs_changed()

    def __dir__(self):
        return [*self._entries, *self._plain, "scope", "copy", "reset", "knobs"]

    @property
    def knobs(self):
        """All values of the group."""
        return {**{name: getattr(self, name) for name in self._entries}, **self._plain}

    @contextmanager
    def scope(self):
        """Restores the whole group at the end of the block."""
        variables = [v for e in self._entries.values() for v in (f"TILEWRIGHT_{e.name}", e.triton_name) if v]
        saved = {v: os.environ.get(v) for v in variables}
        plain = dict(self._plain)
        calls = {k: list(v.calls) for k, v in plain.items() if isinstance(v, HookChain)}
        try:
            yield self
        finally:
            for variable, value in saved.items():
                if value is None:
                    os.environ.pop(variable, None)
                else:
                    os.environ[variable] = value
            self._plain.update(plain)
            for name, hooks in calls.items():
                plain[name].calls[:] = hooks
            _knobs_changed()

    def reset(self):
        for entry in self._entries.values():
            entry.unset()
        for name, value in self._initial.items():
            if isinstance(value, HookChain):
                value.calls.clear()
            self._plain[name] = value
        _knobs_changed()
        return self

    def copy(self):
        """A snapshot of the values; changing it changes nothing else."""
        return _Snapshot(self.knobs)


class _Snapshot:
    def __init__(self, values):
        self.__dict__.update(values)


def _knobs_changed():
    """Tells the launcher what a warm launch must look at."""
    hooks = bool(runtime._plain["launch_enter_hook"]) or bool(runtime._plain["launch_exit_hook"])
    _core.set_launch_flags(hooks=hooks, sync=bool(runtime.sync), debug=bool(runtime.debug),
                           watchdog=float(runtime.watchdog), tuner_listener=autotuning._plain["listener"] is not None)


build = Group("build", impl=None, cc=None)
redis = Group("redis", host="localhost", port=6379, key_format="tilewright:{key}:{filename}")
cache = Group("cache", manager_class=None, remote_manager_class=None)
compilation = Group("compilation", listener=None, store_binary_only=False, front_end_debugging=False,
                    instrumentation_mode="", enable_experimental_consan=False)
autotuning = Group("autotuning", cache=False, listener=None)
language = Group("language")
development = Group("development")
nvidia = Group("nvidia", use_meta_ws=False)
amd = Group("amd")
proton = Group("proton")
runtime = Group(
    "runtime",
    launch_enter_hook=HookChain(lambda: _knobs_changed()),
    launch_exit_hook=HookChain(lambda: _knobs_changed(), reversed=True),
    kernel_load_start_hook=HookChain(),
    kernel_load_end_hook=HookChain(reversed=True),
    kernel_unload_hook=HookChain(),
    jit_cache_hook=None,
    jit_post_compile_hook=None,
    add_stages_inspection_hook=None,
)
_knobs_changed()


def table():
    """(variable, type, default, meaning) of every knob, for documents and `doctor`."""
    return [(f"TILEWRIGHT_{e.name}", e.type, e.default, e.doc) for e in _entries]


def check_environment(environment=None):
    """Warns (W0702) of variables with our prefix that no knob has."""
    known = {f"TILEWRIGHT_{e.name}" for e in _entries}
    for variable in (os.environ if environment is None else environment):
        if variable.startswith("TILEWRIGHT_") and variable not in known:
            name = variable[len("TILEWRIGHT_"):]
            errors.warn("W0702", X=name, near=f"TILEWRIGHT_{_core.nearest_knob(name)}")


check_environment()
