# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the programs of a witness in the interpreter, which must find the mistake as well.

Arrays are copies: of one launch with what they hold, for conditions with random numbers. Views of one buffer
stay views of one copy.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _core, errors, language
from ..runtime import checks, interpreter
from ..runtime.host_arrays import DeviceCopies, read_array
from ..scalar_types import numpy_type
from ..tools.tensor_descriptor import TensorDescriptor
from .numbers import evaluated

__all__ = ["BOUNDS", "RACES", "Replay", "arguments_of_conditions", "copies_of_launch"]

BOUNDS = ("E0407",)
RACES = ("E0408", "E0409", "E0410", "E0411")

#: Arrays are copies, so addresses that a launch keeps in a table lead to none of them, and say nothing of its accesses.
_ELSEWHERE = "the address lies in no array of this launch"
#: From so many bytes on an array is left as it comes, so that only the pages in question are ever touched.
_FILLED = 1 << 26
#: What is larger than this is not run. Memory that is not touched costs nothing; a program that is passed over does.
_MOST_BYTES = 1 << 34
_MOST_PROGRAMS = 1 << 21


# ---------------------------------------------------------------------------
# Arguments
# ---------------------------------------------------------------------------


def copies_of_launch(bound, regions):
    """The arguments of a launch with copies of its arrays; `regions`: lists of (name, HostArray) that overlap."""
    copied = {}
    for arrays in regions:
        spans = [array.span() for _, array in arrays]
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        buffer = np.empty(high - low, np.uint8)
        if 0 < high - low < _FILLED:
            host = DeviceCopies([array for _, array in arrays])
            shift = host.host_address(arrays[0][1]) - arrays[0][1].address
            source = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_uint8 * (high - low)).from_address(low + shift))
            buffer[:] = source
        for name, array in arrays:
            kind = numpy_type(array.dtype)
            copied[name] = np.ndarray(array.shape, kind, buffer.data, array.address - low, array.strides)

    def replaced(name, value):
        if name in copied and isinstance(value, TensorDescriptor):
            return TensorDescriptor(
                copied[name], list(value.shape), list(value.strides), list(value.block_shape), value.padding
            )
        if name in copied:
            return copied[name]
        if isinstance(value, (tuple, list)):
            parts = [replaced(f"{name}[{i}]", item) for i, item in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value

    return {name: replaced(name, value) for name, value in bound.items()}


def arguments_of_conditions(setting, value):
    """Arguments for a witness: its sizes, and arrays of random numbers; `value` gives that of a polynomial."""
    generator, bound = np.random.default_rng(0), {}
    leaves = iter(setting.leaves)
    for param in setting.kernel.params:
        kind = setting.signature.get(param.name)
        if kind is None:
            bound[param.name] = setting.constants.get(param.name, param.default)
            continue
        leaf = next(leaves)
        if kind.startswith(("*", "tensordesc<")):
            array = setting.arrays[leaf]
            short = kind.lstrip("*k") if kind.startswith("*") else kind[len("tensordesc<") : kind.index("[")]
            data = _array(generator, numpy_type(short), value(array.high) // array.element_bytes)
            if kind.startswith("*"):
                bound[param.name] = data
                continue
            block = [int(extent) for extent in kind[kind.index("[") + 1 : kind.index("]")].split(",")]
            extents = [value(next(leaves)) for _ in block]
            strides = [value(next(leaves)) for _ in block]
            bound[param.name] = TensorDescriptor(data.reshape(extents), extents, strides, block)
        elif leaf is None:
            bound[param.name] = 1.0
        else:
            number = value(leaf) if not hasattr(leaf, "kind") else 1
            bound[param.name] = bool(number) if kind == "i1" else number
    return bound


def _array(generator, kind, count):
    if count * kind.itemsize >= _FILLED:
        return np.empty(count, kind)
    return generator.integers(0, 4, count).astype(np.float32).astype(kind)


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


def is_small_enough(witness, setting):
    """Whether a witness can be run: its arrays in memory, and its grid walked through."""
    programs = math.prod(witness["grid"])
    sizes = setting.symbols_of(witness["sizes"])
    size = sum(evaluated(array.high - array.low, sizes) for array in setting.arrays.values())
    return programs <= _MOST_PROGRAMS and size <= _MOST_BYTES


class Replay:
    """One kernel with arguments that may be spoiled."""

    def __init__(self, kernel, grid, bound, options=None):
        self.kernel, self.grid, self.bound = kernel, grid, bound
        self.options = {k: v for k, v in (options or {}).items() if k != "check"}

    def finds(self, programs, codes):
        """(the first error of one of these codes that the interpreter reports in these programs, the first other one)."""
        wanted, found = {tuple(program) for program in programs}, []

        def ended(error):
            # A program that goes out of bounds ends there, and may not have come to the race.
            found.append(error)
            return True

        try:
            self._run(wanted, found.append, ended)
        except errors.TilewrightError as error:
            found.append(error)
        known = [error for error in found if isinstance(error, errors.TilewrightError)]
        meant = [e for e in known if e.code in codes and _ELSEWHERE not in e.notes]
        return next(iter(meant), None), next((e for e in known if e not in meant), None)

    def _run(self, wanted, reported, ended):
        native = interpreter.native_function(self.kernel)
        arguments = interpreter._Arguments(self.kernel, self.bound)
        copies = DeviceCopies([array for _, array, _ in arguments.arrays])
        context = _core.InterpreterContext(interpreter.native_function, self.options)
        for name, is_on in checks.selected("none,bounds,races").items():
            context.look_for(name, is_on)
        values = arguments.make(context, copies)

        def only_these(*args):
            if tuple(int(language.program_id(axis)) for axis in range(3)) in wanted:
                native.function(*args)

        only = _core.NativeFunction(self.kernel, only_these, (0, -1))
        context.collect(reported, ended)
        context.run(only, values, self.grid)


def overlapping(setting, arrays):
    """Lists of the (name, HostArray) that share a region."""
    regions = {}
    for name, array in arrays:
        regions.setdefault(setting.arrays[name].region, []).append((name, array))
    return list(regions.values())


def host_arrays(bound):
    """(name, HostArray) of every array among the arguments of a launch."""
    found = []

    def visit(name, value):
        if isinstance(value, TensorDescriptor):
            found.append((name, read_array(name, value.base)))
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                visit(f"{name}[{i}]", item)
        elif not isinstance(value, (bool, int, float, str, type(None))) and not callable(value):
            array = read_array(name, value)
            if array is not None:
                found.append((name, array))

    for name, value in bound.items():
        visit(name, value)
    return found
