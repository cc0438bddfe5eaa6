# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collects all that decides the meaning of a kernel: its text, the functions it calls, the values it freezes.

Line numbers, paths and object addresses are left out. Values are
encoded with their type, because `1`, `True` and `1.0` compile differently.

Names come from Python's own compiled code, which is there already: a kernel that
is in the cache needs no syntax tree. A value that has no encoding that is the same
in every process makes the result inexact; such a kernel stays out of the cache on
disk.
"""

from __future__ import annotations

import ast
import dataclasses
import dis
import enum
import functools
import os
import re
import sys
import types

from .. import _core
from ..annotations import class_annotations
from ..user_objects import attribute, has_attribute, text_of
from .interface import KernelInterface, is_kernel, kernel_inside

_MAX_VALUES = 10_000  # of one kernel; beyond it is data, not configuration


def digest_of_text(text: str) -> str:
    # Ours, which reading an entry needs anyway: hashlib's first digest takes longer.
    return _core.sha256(text.encode("utf-8", "surrogatepass"))


class Dependencies:
    """Everything that one kernel's meaning rests on.

    `fields` maps what a person can read ("text of helper", "SIZE in kernel") to
    digests or short texts, `functions` lists the jit functions reached, `inexact`
    says which value has no stable encoding, or is empty.
    """

    def __init__(self, jit_function=None):
        self.fields: dict[str, str] = {}
        self.functions: list = []
        self.names: set = set()  # (index of the function, name) that were resolved
        self.inexact = ""
        self._index: dict[int, int] = {}
        self._modules: set = set()
        self._values = 0
        if jit_function is not None:
            self.add_function(jit_function)

    def index_of(self, jit_function):
        return self._index.get(id(jit_function))

    def digest(self) -> str:
        return digest_of_text("\n".join(f"{name}={text}" for name, text in sorted(self.fields.items())))

    # -- functions of the tile language ---------------------------------------

    def add_function(self, function) -> int:
        """Adds a jit function and what it reaches; its index."""
        known = self._index.get(id(function))
        if known is not None:
            return known
        index = self._index[id(function)] = len(self.functions)
        self.functions.append(function)
        label = function.__qualname__ if index == 0 else f"{function.__qualname__} #{index}"
        self.fields[f"text of {label}"] = _text_digest(function)
        parameters = ", ".join(
            f"{p.name}:{p.annotation}{'=' + self.encode(p.default) if p.has_default else ''}" for p in function.params
        )
        self.fields[f"parameters of {label}"] = f"{parameters}; noinline={function.noinline}"
        names, attributes = _names_of(function)
        for name in names:
            try:
                value = _lookup(function.fn, name)
            except KeyError:
                continue  # a builtin, or an error that the front end reports
            self.names.add((index, name))
            self._add_value(f"{name} in {label}", value, attributes)
        return index

    def _add_value(self, label, value, attributes):
        if isinstance(value, types.ModuleType):
            self._add_module(label, value, attributes)
        elif not _is_ours(value):
            self.fields[label] = self.encode(value)

    def _add_module(self, label, module, attributes):
        """The attributes of a module that the code may mean."""
        # Modules may name each other: each is looked into once for one set of names.
        key = (module.__name__, tuple(sorted(attributes)))
        if _is_package(module.__name__) or key in self._modules:
            return
        self._modules.add(key)
        self.fields[label] = f"module {module.__name__}"
        for name in attributes:
            value = vars(module).get(name)
            if value is not None:
                self._add_value(f"{module.__name__}.{name} in {label}", value, attributes)

    # -- values ---------------------------------------------------------------

    def encode(self, value) -> str:
        """A text that is equal for equal values of one type, in every process."""
        self._values += 1
        if self._values > _MAX_VALUES:
            return self._no_encoding(value, "a value with too many parts")
        kind = type(value)
        if value is None or value is ... or kind in (bool, int, str, bytes, complex, range, slice):
            return f"{kind.__name__}:{value!r}"
        if kind is float:
            return f"float:{value.hex()}"
        function = _jit_function(value)
        if function is not None:
            return f"jit #{self.add_function(function)}"
        if kind.__name__ == "constexpr" and hasattr(value, "value"):
            return f"constexpr:{self.encode(value.value)}"
        if isinstance(value, enum.Enum):
            return f"{_name(kind)}.{value.name}:{self.encode(value.value)}"
        if isinstance(value, (tuple, list)):
            return f"{_name(kind)}:(" + ",".join(self.encode(v) for v in value) + ")"
        if isinstance(value, (set, frozenset)):
            return f"{_name(kind)}:{{" + ",".join(sorted(self.encode(v) for v in value)) + "}"
        if isinstance(value, dict):
            return "dict:{" + ",".join(f"{self.encode(k)}={self.encode(v)}" for k, v in value.items()) + "}"
        return self._encode_object(value, kind)

    def _encode_object(self, value, kind) -> str:
        if isinstance(value, types.ModuleType):
            return f"module:{value.__name__}"
        if isinstance(value, types.FunctionType):
            return f"function:{_name(value)}:{self._function_digest(value)}"
        if isinstance(value, type):
            return f"type:{_name(value)}:{self._class_digest(value)}"
        if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            return f"builtin:{getattr(value, '__module__', None)}.{value.__qualname__}"
        if isinstance(value, types.MethodType):
            return f"method:{self.encode(value.__func__)}:{self.encode(value.__self__)}"
        if has_attribute(value, "cache_key_part"):  # the element types of the language
            return f"dtype:{value.cache_key_part}"
        named = _named_by_package(value)
        if named:
            return named
        if isinstance(value, (int, float, str, bytes)) or kind.__module__.split(".")[0] in ("numpy", "ml_dtypes", "torch"):
            text = text_of(value)
            if 0 < len(text) < 200 and " at 0x" not in text:
                return f"{_name(kind)}:{text}"
            return self._no_encoding(value)
        if dataclasses.is_dataclass(value):
            parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return f"{_name(kind)}:{self.encode(parts)}:{self._class_digest(kind)}"
        if isinstance(value, functools.partial):
            return f"partial:{self.encode(value.func)}:{self.encode(value.args)}:{self.encode(value.keywords)}"
        if has_attribute(value, "__dict__") and not _has_hidden_state(kind) and not _is_package(kind.__module__):
            if id(value) in self._index:
                return f"same as {self._index[id(value)]}"
            self._index[id(value)] = -self._values
            return f"{_name(kind)}:{self.encode(vars(value))}:{self._class_digest(kind)}"
        text = text_of(value)
        if text and _is_package(kind.__module__) and " at 0x" not in text:
            return f"{_name(kind)}:{text}"
        return self._no_encoding(value)

    def _no_encoding(self, value, what=None) -> str:
        self.inexact = self.inexact or what or f"a value of type {_name(type(value))}"
        return f"{_name(type(value))}:object {id(value):#x}"

    def _function_digest(self, function) -> str:
        """Of a Python function that runs at compile time: code, defaults, globals."""
        if id(function) in self._index or _is_package(function.__module__ or ""):
            return ""
        version = _installed_version(function.__module__)
        if version:
            return version
        self._index[id(function)] = -1
        parts = [
            _code_text(function.__code__),
            self.encode(function.__defaults__ or ()),
            self.encode(function.__kwdefaults__ or {}),
        ]
        names, attributes = _code_names(function.__code__)
        for name in names:
            try:
                value = _lookup(function, name)
            except KeyError:
                continue
            if isinstance(value, types.ModuleType):
                self._add_module(f"{name} in {function.__qualname__}", value, attributes)
            elif not _is_ours(value):
                parts.append(f"{name}={self.encode(value)}")
        return digest_of_text("|".join(parts))

    def _class_digest(self, cls) -> str:
        """Of a user's class: records and their methods take part in kernels."""
        root = cls.__module__.split(".")[0]
        if id(cls) in self._index or root in _STABLE_MODULES or _is_package(cls.__module__):
            return ""
        version = _installed_version(cls.__module__)
        if version:
            return version
        self._index[id(cls)] = -1
        parts = [
            f"{k}={self.encode(v)}"
            for k, v in sorted(vars(cls).items())
            if isinstance(v, (types.FunctionType, int, str, float, bool, tuple)) and not k.startswith("__")
        ]
        parts.append(str(sorted(map(str, class_annotations(cls).items()))))
        # Records of the language have these members: methods that are jit functions, constructors, operators.
        parts.append(self.encode(vars(cls).get("__tilewright_members__", {})))
        if "__tilewright_members__" in vars(cls):
            parts.append(self.encode(cls._defaults_of))
            parts += [self._class_digest(base) for base in cls.__bases__]
        return digest_of_text("|".join(parts))


# ---------------------------------------------------------------------------
# Helpers
# ---------------------------------------------------------------------------


_POINTER = tuple.__itemsize__


def _has_hidden_state(kind) -> bool:
    """Whether objects of a class have state beside their dictionary: slots, or C code's."""
    known = (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)  # where these lie inside
    return kind.__basicsize__ > object.__basicsize__ + known * _POINTER


_STABLE_MODULES = ("builtins", "enum", "types", "collections", "math", "numpy", "ml_dtypes", "torch")


def _name(thing) -> str:
    """The name of a class or function; a user's module is only a place, and may be
    `__main__` the next time."""
    module = thing.__module__ or ""
    stable = module.split(".")[0] in _STABLE_MODULES or _is_package(module)
    return f"{module}.{thing.__qualname__}" if stable else thing.__qualname__


_versions: dict = {}


def _installed_version(module_name) -> str:
    """A name and version, as "torch 2.11", where a Python function comes from an installed package, or from
    Python itself; empty where it is the user's own, and its code is what counts.

    Such code changes by an installation, which changes the version; to walk through
    it would mean to walk through most of the package. An editable installation lies
    elsewhere, and a package without a version has none to go by: both are walked.
    """
    root = (module_name or "").partition(".")[0]
    known = _versions.get(root)
    if known is None:
        known = _versions[root] = _find_version(root)
    return known


def _find_version(root) -> str:
    module = sys.modules.get(root)
    if module is None or root == "__main__":
        return ""
    file = attribute(module, "__file__")
    if root in sys.stdlib_module_names:
        # A user's file may have the name of one; Python's own lie beside os.
        own = file is None or os.path.dirname(file).startswith(os.path.dirname(os.__file__))
        return f"Python {sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}" if own else ""
    version = attribute(module, "__version__")
    is_installed = file is not None and re.search(r"[\\/](site|dist)-packages[\\/]", file)
    return f"{root} {version}" if is_installed and isinstance(version, str) and version else ""


def _named_by_package(value) -> str:
    """A thing that an installed module has under the name that it bears, else empty."""
    module, name = attribute(value, "__module__"), attribute(value, "__name__")
    if not isinstance(module, str) or not isinstance(name, str) or not callable(value):
        return ""
    version = _installed_version(module)
    if not version or attribute(sys.modules.get(module), name) is not value:
        return ""
    return f"{module}.{name} of {version}"


def _is_package(module_name: str) -> bool:
    """Our own code: the digest of the package stands for it (compiler/disk_cache.py)."""
    return module_name == "tilewright" or module_name.startswith("tilewright.")


def _is_ours(value) -> bool:
    """A function or class of the language, but not a jit function of a user's file."""
    if attribute(value, "fn") is not None and not _is_package(attribute(value, "__module__") or ""):
        return False
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)) and _is_package(value.__module__ or "")


def _jit_function(value):
    """The jit function inside tuners and heuristics, or None."""
    # A record of the user's that holds a kernel is more than the kernel.
    return kernel_inside(value) if is_kernel(value) or isinstance(value, KernelInterface) else None


def _lookup(function, name):
    """The value of a free name: closure, then globals; KeyError for builtins."""
    free = function.__code__.co_freevars
    if name in free:
        try:
            return function.__closure__[free.index(name)].cell_contents
        except ValueError:
            raise KeyError(name) from None
    return function.__globals__[name]


def _text_digest(function) -> str:
    """Digest of a function's meaning; kept, as the text never changes unseen."""
    source = function._source
    if getattr(source, "meaning_digest", None) is None or source.meaning_digest[0] is not source.meaning:
        source.meaning_digest = (source.meaning, digest_of_text(source.meaning))
    return source.meaning_digest[1]


def _names_of(function):
    """(free names, attribute names) of a jit function."""
    if function._source.is_own:
        return _code_names(function.fn.__code__)
    tree = function.parse()  # another text than Python compiled
    names = {n.id: None for n in ast.walk(tree) if isinstance(n, ast.Name)}
    attributes = {n.attr: None for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    return list(names), list(attributes)


_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_EXTENDED_ARG = dis.EXTENDED_ARG
# From 3.11 on the lowest bit of the argument asks for a null on the stack.
_GLOBAL_SHIFT = 1 if "CACHE" in dis.opmap else 0
_names_cache: dict = {}


def _code_names(code):
    """(names of globals and closures, other names) that a code object reads."""
    known = _names_cache.get(code)
    if known is not None:
        return known
    names = dict.fromkeys(code.co_freevars)
    # Operations and the lowest bytes of their arguments alternate.
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    position = operations.find(_LOAD_GLOBAL)
    while position >= 0:
        argument, shift, before = arguments[position], 8, position - 1
        while before >= 0 and operations[before] == _EXTENDED_ARG:
            argument |= arguments[before] << shift
            before, shift = before - 1, shift + 8
        names[code.co_names[argument >> _GLOBAL_SHIFT]] = None
        position = operations.find(_LOAD_GLOBAL, position + 1)
    attributes = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, more = _code_names(constant)
            names.update(dict.fromkeys(n for n in inner if n not in code.co_cellvars))
            attributes.update(dict.fromkeys(more))
    result = (list(names), list(attributes))
    if len(_names_cache) > 4096:
        _names_cache.clear()
    _names_cache[code] = result
    return result


def _constant_text(constant) -> str:
    if isinstance(constant, types.CodeType):
        return _code_text(constant)
    if isinstance(constant, (tuple, frozenset)):  # a set has no order of its own
        texts = list(map(_constant_text, constant))
        return f"{type(constant).__name__}:{texts if isinstance(constant, tuple) else sorted(texts)}"
    return f"{type(constant).__name__}:{constant!r}"


def _code_text(code) -> str:
    """The code of a Python function without its place."""
    constants = [_constant_text(c) for c in code.co_consts]
    return f"{code.co_code.hex()}|{constants}|{code.co_names}|{code.co_varnames}|{code.co_freevars}|{code.co_flags}"


def encode_value(value) -> str:
    """The encoding of one value outside of a kernel; functions by their digest."""
    function = _jit_function(value)
    if function is not None:
        # A description has no globals, nor have its places changed.
        return f"jit:{function.cache_key if function.fn is None else digest(function)}"
    return Dependencies().encode(value)


def digest(jit_function) -> str:
    return Dependencies(jit_function).digest()


class DependenciesFinder(ast.NodeVisitor):
    """Triton's class, for programs that make keys of a kernel's text: `visit(tree)`, then `ret`.

    It takes in the text, and the meaning of the jit functions that it names, as far as
    `globals` and `nonlocals` have them.
    """

    def __init__(self, name, globals, nonlocals=None, src=""):
        super().__init__()
        self.name, self.globals, self.nonlocals = name, globals, nonlocals or {}
        self.used_global_vals = {}
        self._parts = [src]

    @property
    def ret(self) -> str:
        return digest_of_text("|".join(self._parts))

    def visit_Name(self, node):
        for scope in (self.nonlocals, self.globals):
            if node.id in scope:
                value = scope[node.id]
                if is_kernel(value):
                    self._parts.append(value.cache_key)
                elif scope is self.globals:
                    self.used_global_vals[node.id, id(scope)] = (value, scope)
                return
