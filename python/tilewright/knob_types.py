# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of groups of knobs: descriptors that read the environment, chains of hooks.

A group is a class with one descriptor per knob, as in Triton, so that a library may
declare a group of its own. The knobs of Tilewright itself are `native_knob`s. Their value
is kept in the environment alone, which C++ reads as well. The others (`env_bool`,
`env_str` ...) keep what a program sets in the group's object, and also export it.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from contextlib import contextmanager
from typing import NamedTuple

from . import _core, errors, foreign, toolkit

_TRUE = {"1", "true", "on", "yes", "y"}


class Env:
    """Assigning `env` to a knob makes it read the environment again."""


env = Env()
_NOTHING = object()


def getenv(key, default=None):
    return os.environ.get(key, default)


def getenv_bool(key, default=False):
    text = os.environ.get(key)
    return default if text is None else text.lower() in _TRUE


def toenv(value):
    """(text,) that stands for a value in the environment; None for what has no text."""
    if value is None:
        return (None,)
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (str(value),) if isinstance(value, (str, int)) else None


#: Whether what programs set is exported: `knobs` answers with its `propagate_env`.
is_exported = [lambda: True]


def setenv(key, value):
    """Exports a value, unless `knobs.propagate_env` is off."""
    if not is_exported[0]():
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def read_variables(names):
    return {name: os.environ.get(name) for name in names}


def write_variables(values):
    """Gives variables of the environment these values; None removes one."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class env_base:
    """A knob behind one environment variable."""

    def __init__(self, key):
        self.key = key

    def __set_name__(self, owner, name):
        self.name = name

    @property
    def variables(self):
        return (self.key,)

    def __get__(self, group, owner=None):
        if group is None:
            return self
        value = group.__dict__.get(self.name, _NOTHING)
        return self.get() if value is _NOTHING else self.transform(value)

    def __set__(self, group, value):
        if isinstance(value, Env):
            group.__dict__.pop(self.name, None)
            return
        group.__dict__[self.name] = value
        text = toenv(value)
        if text is not None:
            setenv(self.key, text[0])

    def __delete__(self, group):
        group.__dict__.pop(self.name, None)

    def get(self):
        raise NotImplementedError

    def transform(self, value):
        """What reading gives for a value that was set."""
        return value


class env_str(env_base):
    def __init__(self, key, default):
        super().__init__(key)
        self.default = default

    def get(self):
        return getenv(self.key, self.default)


class env_str_callable_default(env_base):
    def __init__(self, key, default_factory):
        super().__init__(key)
        self.default_factory = default_factory

    def get(self):
        text = getenv(self.key)
        return self.default_factory() if text is None else text


class env_bool(env_base):
    def __init__(self, key, default=False):
        super().__init__(key)
        self.default = default

    def get(self):
        return getenv_bool(self.key, self.default)


class env_int(env_base):
    def __init__(self, key, default=0):
        super().__init__(key)
        self.default = default

    def get(self):
        text = getenv(self.key)
        if text is None:
            return self.default
        try:
            return int(text)
        except ValueError as error:
            raise RuntimeError(f"{self.key}={text} is no integer") from error


class env_opt_str(env_base):
    def get(self):
        return getenv(self.key)


class env_opt_bool(env_base):
    def get(self):
        return getenv_bool(self.key, None)


class env_class(env_base):
    """A class by "module:name", which has a class called `type` among its bases."""

    def __init__(self, key, type):
        super().__init__(key)
        self.type = type

    def get(self):
        text = getenv(self.key)
        if text is None:
            return None
        module, colon, name = text.partition(":")
        if not colon:
            raise RuntimeError(f"{self.key}={text}: expected MODULE:CLASS")
        found = getattr(importlib.import_module(module), name)
        if not any(base.__name__ == self.type for base in found.mro()):
            raise RuntimeError(f"{self.key}={text} is no {self.type}")
        return found


class NvidiaTool(NamedTuple):
    """A program of the CUDA toolkit."""

    path: str
    version: str

    @staticmethod
    @functools.lru_cache
    def from_path(path):
        """The tool at a path; None where there is none that tells its version."""
        import subprocess  # a first launch does not wait for it

        try:
            text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        version = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, version[1]) if version else None


class env_nvidia_tool(env_base):
    """A program of the toolkit: where the variable says, on PATH, in toolkits and wheels."""

    def __init__(self, binary):
        self.binary = binary
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH")

    @property
    def variables(self):
        return (self.key, self.key.replace("TRITON_", "TILEWRIGHT_", 1))

    def get(self):
        return self.transform(getenv(self.variables[1]) or getenv(self.key))

    def transform(self, value):
        for path in (value, toolkit.find_tool(self.binary)):
            tool = NvidiaTool.from_path(str(path)) if path else None
            if tool is not None:
                return tool
        if self.binary.startswith("ptxas"):
            # What assembles here is a library, whose version says the same to a program that asks.
            version, path = _core.assembler_info()
            if path:
                return NvidiaTool(path, ".".join(str(version).split(".")[:2]))
        raise RuntimeError(f"{self.binary} was not found; install the CUDA toolkit's programs or set {self.key}")


class native_knob(env_base):
    """A knob of Tilewright: TILEWRIGHT_X, then Triton's name, then the default.

    What is set is written to the environment, where C++ and child processes find it.
    """

    def __init__(self, index, row):
        self.index = index
        (self.variable, self.type, self.default, self.group, self.attribute, self.triton_name, self.doc) = row
        super().__init__(f"TILEWRIGHT_{self.variable}")
        self.default_value = self._parse(self.default)
        self.before = None  # what the environment said when a program set it first

    @property
    def variables(self):
        return tuple(filter(None, (self.key, self.triton_name)))

    def __get__(self, group, owner=None):
        return self if group is None else self.get()

    def get(self):
        # Asked a dozen times by a first launch; os.environ takes longer to say no.
        text = _core.knob_setting(self.index)
        if text is None:
            return self.default_value
        if self.type not in ("str", "path"):  # there any text will do, also a path that is not UTF-8
            if text != "" or self.type == "bool":
                _core.check_knob(self.variable, text)
        return self._parse(text)

    def _parse(self, text):
        if self.type == "bool":
            return text.lower() in _TRUE
        if text == "":
            return None
        return int(text, 0) if self.type == "int" else float(text) if self.type == "float" else text

    def __set__(self, group, value):
        if isinstance(value, Env):
            return self.__delete__(group)
        if value is not None:
            text = toenv(bool(value) if self.type == "bool" and isinstance(value, int) else value) or (str(value),)
            _core.check_knob(self.variable, text[0])
        if self.before is None:
            self.before = read_variables(self.variables)
        if value is None:
            write_variables(dict.fromkeys(self.variables))
        else:
            os.environ[self.key] = text[0]

    def __delete__(self, group):
        """Back to what the environment said before the program set it."""
        if self.before is not None:
            write_variables(self.before)
            self.before = None


class HookChain:
    """Callables that run in the order in which they were added, or in reverse."""

    def __init__(self, reversed=False, on_change=None):
        self.calls: list = []
        self.reversed = reversed
        self._on_change = on_change

    def add(self, func):
        if func not in self.calls:
            self.calls.append(func)
            self._changed()

    def remove(self, func):
        if func in self.calls:
            self.calls.remove(func)
            self._changed()

    def _changed(self):
        if self._on_change is not None:
            self._on_change()

    def __bool__(self):
        return bool(self.calls)

    def __call__(self, *args, **kwargs):
        for call in reversed(self.calls) if self.reversed else list(self.calls):
            call(*args, **kwargs)


class base_knobs:
    """The knobs of one group as attributes."""

    def _changed(self):
        """Called after a knob was set; the groups of `knobs` tell the launcher."""

    @property
    def knob_descriptors(self):
        """The descriptors by name, those of base classes included."""
        return {
            name: member
            for cls in reversed(type(self).__mro__)
            for name, member in vars(cls).items()
            if isinstance(member, env_base)
        }

    def _plain(self):
        """Values without a variable, such as hooks: name -> initial value."""
        return {
            name: member
            for cls in reversed(type(self).__mro__)
            for name, member in vars(cls).items()
            if not name.startswith("_") and not isinstance(member, (env_base, property)) and not _is_method(member)
        }

    @property
    def knobs(self):
        """All values that have a variable."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def __setattr__(self, name, value):
        for variable in getattr(self.knob_descriptors.get(name), "variables", (name,)) if value else ():
            if variable in foreign.VARIABLES:
                place = f"knobs.{type(self).__name__.removesuffix('_knobs')}.{name}"
                errors.warn("W0715", X=place, instead=foreign.VARIABLES[variable])
        if name not in self.knob_descriptors:
            plain = self._plain()
            if name not in plain:
                raise AttributeError(f"knobs.{type(self).__name__.removesuffix('_knobs')} has no '{name}'")
            current = getattr(self, name)
            if isinstance(current, HookChain) and not isinstance(value, HookChain):
                # Triton allowed assigning one callable, or None, to a chain.
                current.calls[:] = [] if value is None else [value]
                current._changed()
                return
        super().__setattr__(name, value)
        self._changed()

    def __delattr__(self, name):
        if name in self.knob_descriptors:
            super().__delattr__(name)
        else:
            self.__dict__.pop(name, None)
        self._changed()

    def __getattr__(self, name):
        raise AttributeError(f"knobs.{type(self).__name__.removesuffix('_knobs')} has no '{name}'")

    def copy(self):
        """Another group with the same values; what is set in it is exported all the same."""
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self):
        """Back to what the environment says; hooks go."""
        for name in self.knob_descriptors:
            super().__delattr__(name)
        for name, initial in self._plain().items():
            self.__dict__.pop(name, None)
            if isinstance(initial, HookChain):
                initial.calls.clear()
        self._changed()
        return self

    @contextmanager
    def scope(self):
        """Restores the whole group at the end of the block."""
        knobs = list(self.knob_descriptors.values())
        saved = read_variables([v for knob in knobs for v in knob.variables])
        before = [getattr(knob, "before", None) for knob in knobs]
        own = dict(self.__dict__)
        calls = {name: list(getattr(self, name).calls) for name in self._plain() if isinstance(getattr(self, name), HookChain)}
        try:
            yield self
        finally:
            write_variables(saved)
            for knob, value in zip(knobs, before):
                if isinstance(knob, native_knob):
                    knob.before = value
            self.__dict__.clear()
            self.__dict__.update(own)
            for name, hooks in calls.items():
                getattr(self, name).calls[:] = hooks
            self._changed()


def _is_method(member) -> bool:
    return isinstance(member, (staticmethod, classmethod)) or (callable(member) and not isinstance(member, HookChain))
