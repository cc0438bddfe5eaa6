# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in programs of JAX: `tilewright.jax.call`.

    y = tilewright.jax.call(scale_kernel, x, n=x.size, factor=2.0, BLOCK=1024, grid=(tilewright.cdiv(x.size, 1024), ),
                            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))

The call is one of XLA's foreign functions, so that it works eagerly and in everything that JAX traces. On the
GPU XLA calls the launcher with its buffers and its stream; on the CPU the interpreter runs on them.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import math
import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import jax
import jax.ffi
import numpy as np

from . import _core, errors
from .compiler.compiler import ASTSource
from .compiler.options import DEFAULTS
from .framework_calls import function_of, written_arguments
from .runtime.interpreter import grid_sizes
from .runtime.jit import JITFunction
from .runtime.params import mangle_type
from .scalar_types import short_type

__all__ = ["call"]

_TARGET = "tilewright_launch"

# ---------------------------------------------------------------------------
# When XLA calls
# ---------------------------------------------------------------------------


class _Array(NamedTuple):
    """A parameter that is an array: which of the call's buffers it is, and what is in it."""

    name: str
    buffer: int
    shape: tuple
    dtype: np.dtype
    is_output: bool


class _Launch(NamedTuple):
    kernel: object
    grid: object
    arrays: tuple
    same: tuple  # pairs of buffers that XLA has promised to be one
    values: dict  # everything that is no array: numbers, constants, options


class _DeviceArray:
    """A buffer of XLA's on the GPU, as the launcher reads arrays."""

    def __init__(self, address, stream, array):
        self.shape, self.dtype = array.shape, array.dtype
        self.nbytes = math.prod(array.shape) * array.dtype.itemsize
        self.__cuda_array_interface__ = {
            "data": (address, not array.is_output),
            "shape": array.shape,
            "strides": None,
            "typestr": array.dtype.str,
            "version": 3,
            "stream": stream,
        }


def _host_array(address, array):
    """A buffer of XLA's on the CPU, in place."""
    size = math.prod(array.shape) * array.dtype.itemsize
    if size == 0:
        return np.empty(array.shape, array.dtype)
    made = np.frombuffer((ctypes.c_ubyte * size).from_address(address), np.uint8).view(array.dtype).reshape(array.shape)
    made.flags.writeable = array.is_output
    return made


# By the name in XLA's program. Kept for good: a program of XLA's does not tell when it ends.
_launches: dict[str, _Launch] = {}


def _run(name, addresses, stream):
    """Called by XLA: `addresses` are those of arguments and results, `stream` is None on the CPU."""
    launch = _launches.get(name)
    if launch is None:
        raise errors.make(
            "E0117",
            message="this program of XLA's launches a kernel that this process does not know",
            help="trace the function in the process that runs it",
        )
    for first, second in launch.same:
        if addresses[first] != addresses[second]:
            raise errors.make(
                "E0117",
                message="XLA gave an argument and its result different buffers",
                help="leave input_output_aliases out, and copy in the kernel",
            )
    make = _host_array if stream is None else lambda address, array: _DeviceArray(address, stream, array)
    arrays = {array.name: make(addresses[array.buffer], array) for array in launch.arrays}
    launch.kernel[launch.grid](**arrays, **launch.values)


def _minor_version() -> int:
    """Of XLA's C interface: some releases of XLA only take handlers of their own. All that is used here is in every one."""
    try:
        header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    except OSError:  # an XLA without its headers
        header = ""
    found = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header)
    return int(found[1]) if found else 0


@functools.cache
def _register():
    on_host, on_gpu = _core.xla_handlers(_run, _minor_version())
    jax.ffi.register_ffi_target(_TARGET, on_host, platform="cpu")
    jax.ffi.register_ffi_target(_TARGET, on_gpu, platform="CUDA")


# ---------------------------------------------------------------------------
# When the program calls
# ---------------------------------------------------------------------------


def _signature_text(function) -> str:
    return f"{function.__name__}({', '.join(function.arg_names)})"


def _is_array(value) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


class _Call:
    """One call: what each parameter of the kernel is given."""

    def __init__(self, kernel, args, named, out_shape, aliases):
        self.kernel = kernel
        self.function, self.known = function_of(kernel)
        self.options = {key: value for key, value in named.items() if key in DEFAULTS and key not in self.function.arg_names}
        self.aliases = dict(aliases or {})
        self._read_outputs(out_shape)
        self._bind(args, {key: value for key, value in named.items() if key not in self.options})
        self._name_outputs()
        self._sort()

    def _error(self, problem, name):
        return errors.make("E0205", problem=problem, a=name, sig=_signature_text(self.function))

    def _read_outputs(self, out_shape):
        """The declared results by their key, a name or a position; `rebuild` gives them the form of the declaration."""
        if isinstance(out_shape, Mapping):
            self.outputs = dict(out_shape)
            self.rebuild = lambda results: dict(zip(self.outputs, results))
        elif isinstance(out_shape, Sequence):
            self.outputs = dict(enumerate(out_shape))
            self.rebuild = type(out_shape) if type(out_shape) in (list, tuple) else tuple
        else:
            self.outputs = {0: out_shape}
            self.rebuild = lambda results: results[0]
        for key, shape in self.outputs.items():
            if not hasattr(shape, "shape") or not hasattr(shape, "dtype"):
                raise errors.make(
                    "E0204",
                    a=f"out_shape[{key!r}]",
                    t=type(shape).__name__,
                    help="declare results by jax.ShapeDtypeStruct(shape, dtype)",
                )
        for name, key in self.aliases.items():
            if key not in self.outputs:
                raise self._error("unexpected", f"input_output_aliases[{name!r}] = {key!r}")
        # Those with a parameter of their own; the others share an argument's.
        self.fresh = [key for key in self.outputs if key not in self.aliases.values()]

    def _bind(self, args, named):
        """The values by parameter; positions are those that no result takes by its name."""
        places = [name for name in self.function.arg_names if name not in self.fresh]
        if len(args) > len(places):
            raise self._error("unexpected", f"number {len(places) + 1}")
        self.given = dict(zip(places, args))
        for name, value in named.items():
            if name not in self.function.arg_names:
                self.function._reject_keyword(name)
            if name in self.given or name in self.fresh:
                raise self._error("repeated", name)
            self.given[name] = value
        self.given = {name: value.item() if isinstance(value, np.generic) else value for name, value in self.given.items()}

    def _name_outputs(self):
        """Which parameter each result is: named, or in order those that have no value."""
        open_ones = [
            param.name
            for param in self.function.params
            if not param.is_constexpr and not param.has_default and param.name not in self.given
        ]
        for param in self.function.params:
            if param.is_constexpr and not param.has_default and param.name not in {**self.given, **self.known}:
                raise self._error("missing", param.name)
        by_position = [key for key in self.fresh if isinstance(key, int)]
        self.parameter_of = {key: name for name, key in self.aliases.items()}
        self.parameter_of.update({key: key for key in self.fresh if not isinstance(key, int)})
        open_ones = [name for name in open_ones if name not in self.fresh]
        if len(open_ones) > len(by_position):
            raise self._error("missing", open_ones[len(by_position)])
        if len(open_ones) < len(by_position):
            raise errors.make(
                "E0205",
                problem="unexpected",
                a=f"out_shape[{by_position[len(open_ones)]}]",
                sig=f"the parameters without a value ({', '.join(open_ones)})",
            )
        self.parameter_of.update(zip(by_position, open_ones))
        for key, name in self.parameter_of.items():
            if name not in self.function.arg_names:
                raise self._error("unexpected", name)
            if key not in self.fresh and not _is_array(self.given.get(name)):
                raise self._error("unexpected", f"input_output_aliases[{name!r}]")

    def _sort(self):
        """Arrays, numbers and constants apart; the types of all that a launch passes."""
        self.arrays, self.values, self.types, self.constants = {}, {}, {}, dict(self.known)
        for param in self.function.params:
            name, value = param.name, self.given.get(param.name, param.default if param.has_default else None)
            if name not in self.given and (name in self.known or not param.has_default):
                continue
            if not _is_array(value):
                self._sort_value(param, value)
            elif param.is_constexpr:
                raise errors.make(
                    "E0204",
                    a=name,
                    t=f"{type(value).__name__}, and is a constant of the kernel",
                    help="pass a value of Python's; in jax.jit, name the argument in static_argnums",
                )
            else:
                self.arrays[name] = jax.numpy.asarray(value)
                self.types[name] = param.annotation_type or "*" + short_type(name, self.arrays[name].dtype)
        for key, name in self.parameter_of.items():
            declared = self.outputs[key]
            if key in self.fresh:
                self.types[name] = "*" + short_type(name, np.dtype(declared.dtype))
            elif (declared.shape, np.dtype(declared.dtype)) != (self.arrays[name].shape, np.dtype(self.arrays[name].dtype)):
                raise errors.make(
                    "E0121",
                    message=f"'{name}' is {self.arrays[name].dtype}{list(self.arrays[name].shape)} and "
                    f"its result {declared.dtype}{list(declared.shape)}",
                    help="an argument and its result are one buffer",
                )

    def _sort_value(self, param, value):
        if param.name in self.given:
            self.values[param.name] = value
        kind = "constexpr" if param.is_constexpr or value is None else param.annotation_type or mangle_type(value)
        if kind == "constexpr":
            self.constants[param.name] = value
        elif not isinstance(value, (bool, int, float)):
            raise errors.make("E0204", a=param.name, t=type(value).__name__)
        else:
            self.types[param.name] = kind

    def grid(self, grid):
        """The extents, where the function's configuration is known here; else what the launch will ask."""
        shapes = {name: self.outputs[key] for key, name in self.parameter_of.items()}
        meta = {**shapes, **self.arrays, **self.constants, **self.values}
        return grid_sizes(grid, meta) if isinstance(self.kernel, JITFunction) or not callable(grid) else grid

    def check(self):
        """Refuses a kernel that writes an array which is no result; returns what is to be compiled."""
        source = ASTSource(self.function, self.types, self.constants)
        written = written_arguments(source, self.parameter_of.values())
        for name in self.arrays:
            if name in written and name not in self.aliases:
                raise errors.make(
                    "E0216",
                    a=name,
                    help="arrays of JAX do not change: declare a result in out_shape and "
                    f"name it, as in input_output_aliases={{'{name}': 0}}",
                )
        return source

    def launch(self, grid) -> _Launch:
        names, keys = list(self.arrays), list(self.outputs)
        arrays = [
            _Array(name, number, array.shape, np.dtype(array.dtype), False)
            for number, (name, array) in enumerate(self.arrays.items())
            if name not in self.aliases
        ]
        for number, key in enumerate(keys):
            declared = self.outputs[key]
            arrays.append(
                _Array(self.parameter_of[key], len(names) + number, tuple(declared.shape), np.dtype(declared.dtype), True)
            )
        same = tuple((names.index(name), len(names) + keys.index(key)) for name, key in self.aliases.items())
        return _Launch(self.kernel, grid, tuple(arrays), same, {**self.values, **self.options})

    def key(self, grid):
        """What tells calls apart in this process, by values and kinds: 1, 1.0 and True are three, 0.0 and -0.0 two."""

        def typed(values):
            return tuple((name, type(value), repr(value), value) for name, value in values.items())

        return (
            self.kernel,
            grid,
            tuple(self.types.items()),
            typed(self.values),
            typed(self.options),
            tuple(self.aliases.items()),
            tuple((name, array.shape) for name, array in self.arrays.items()),
            tuple((self.parameter_of[key], key, tuple(shape.shape), str(shape.dtype)) for key, shape in self.outputs.items()),
        )


_names: dict[tuple, str] = {}
_process = uuid.uuid4().hex
_numbers = itertools.count()


def _name_of(source, launch) -> str:
    """The name of a launch in XLA's programs. JAX keeps those on disk: another process that reads one has
    traced the same call, so that a name means the same in both. Where that cannot be told it is this process's own."""
    plain = isinstance(launch.kernel, JITFunction) and all(
        value is None or isinstance(value, (bool, int, float, str)) for value in launch.values.values()
    )
    if not plain:
        return f"{source.fn.__name__}-{_process}-{next(_numbers)}"
    text = f"{source.hash()}|{launch.grid}|{launch.arrays}|{launch.same}|{sorted(launch.values.items())}"
    return f"{source.fn.__name__}-{hashlib.sha256(text.encode()).hexdigest()}"


def _enter(made: _Call, grid) -> str:
    """The name of the call's launch; what the kernel writes is looked at once for equal calls."""
    try:
        key = made.key(grid)
        name = _names.get(key)
    except TypeError:  # a value that cannot be hashed
        key = name = None
    if name is None:
        launch = made.launch(grid)
        name = _name_of(made.check(), launch)
        _launches[name] = launch
        if key is not None:
            _names[key] = name
    return name


def call(
    kernel,
    *args,
    grid,
    out_shape,
    input_output_aliases: Optional[Mapping] = None,
    vmap_method: Optional[str] = "sequential",
    **named,
):
    """Launches `kernel` and returns the arrays that it writes, eagerly or in a function that JAX traces.

    `out_shape` declares the results: one `jax.ShapeDtypeStruct`, a list or tuple of them for the array parameters
    that are given no value, in their order, or a dict by parameter. What is returned has its form. The
    positional arguments are the kernel's other parameters in order; numbers and constants are Python's, arrays JAX's.
    Results begin with arbitrary contents.

    Arrays of JAX do not change. A kernel that updates an argument names the result that this is,
    `input_output_aliases={"total_ptr": 0}`, by its position or name in `out_shape`: XLA then copies the argument
    unless it may be overwritten.
    """
    _register()
    made = _Call(kernel, args, named, out_shape, input_output_aliases)
    name = _enter(made, made.grid(tuple(grid) if isinstance(grid, list) else grid))
    arrays, keys = list(made.arrays), list(made.outputs)
    aliases = {arrays.index(argument): keys.index(key) for argument, key in made.aliases.items()}
    results = [jax.ShapeDtypeStruct(tuple(shape.shape), shape.dtype) for shape in made.outputs.values()]
    run = jax.ffi.ffi_call(_TARGET, results, input_output_aliases=aliases, vmap_method=vmap_method)
    return made.rebuild(run(*made.arrays.values(), launch=name))
