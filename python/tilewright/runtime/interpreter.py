# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a kernel on the CPU as Python, one program at a time.

The function is rewritten once (kernel_rewriter), its arguments are turned into
what the compiler would see (an int equal to 1 is a constant, other ints are i32
or i64, a float is f32, arrays are pointers that know their bounds), and each
program of the grid is one call. Tile operations are computed in C++.
"""

from __future__ import annotations

import functools
import operator
import types

import numpy as np

from .. import _core, errors, knobs
from ..language import descriptors
from ..tools.tensor_descriptor import TensorDescriptor
from ..user_objects import attribute
from . import checks, kernel_helpers, kernel_rewriter, rehearsal, unwritten
from .host_arrays import DeviceCopies, read_array
from .interface import is_kernel
from .kernel_frames import explained, remember_code, running_frames, running_place, with_frames, with_running_frames

__all__ = [
    "InterpretedLaunch",
    "grid_sizes",
    "native_function",
    "run_interpreted",
    "running_frames",
    "running_place",
    "with_frames",
    "with_running_frames",
]

_grid_limits = (2147483647, 65535, 65535)

# ---------------------------------------------------------------------------
# Functions
# ---------------------------------------------------------------------------


def native_function(jit_function):
    """The NativeFunction of a jit function; rewritten again only if its source changed."""
    cached = jit_function.__dict__.get("_native_function")
    try:
        tree = jit_function.parse()
    except errors.SourceUnavailable:
        return cached if cached is not None else _plain_function(jit_function)
    if cached is not None and jit_function._native_tree is tree:
        return cached
    function = kernel_rewriter.rewrite(jit_function)
    native = _core.NativeFunction(jit_function, function, _positional_arguments(jit_function))
    jit_function._native_tree = tree
    jit_function._native_function = native
    remember_code(function.__code__, jit_function)
    return native


class _Functions:
    """Makes the functions that a launch calls ready. In a kernel that the compiler refuses, its error stops them."""

    def __init__(self):
        self.error = None
        self.stopped = {}

    def __call__(self, jit_function):
        place = self.error.frames[0] if self.error is not None and self.error.frames else None
        if place is None or (place.file, place.function) != (jit_function.file, jit_function.__name__):
            return native_function(jit_function)
        native = self.stopped.get(jit_function)
        if native is None:
            function = kernel_rewriter.rewrite(jit_function, place, self._stop)
            native = _core.NativeFunction(jit_function, function, _positional_arguments(jit_function))
            self.stopped[jit_function] = native
            remember_code(function.__code__, jit_function)
        return native

    def _stop(self):
        """Raises the error where the calls that lead here are those that lead to it."""

        def lines(frames):
            return [(frame.file, frame.function, frame.line) for frame in frames]

        if lines(running_frames()) == lines(self.error.frames):
            raise self.error


def _plain_function(jit_function):
    """A function made by `exec`, which has no text to rewrite: as it is. Operators on tiles
    are the language's there, too; what Python does with numbers is Python's."""
    errors.warn("W0127", name=jit_function.__name__)
    fn = jit_function.fn
    code, unwrap = fn.__code__, kernel_helpers.unwrap
    # A copy, whose defaults are values.
    plain = types.FunctionType(code, fn.__globals__, fn.__name__, tuple(map(unwrap, fn.__defaults__ or ())), fn.__closure__)
    plain.__kwdefaults__ = {name: unwrap(value) for name, value in (fn.__kwdefaults__ or {}).items()}
    native = _core.NativeFunction(jit_function, plain, _positional_arguments(jit_function))
    jit_function._native_tree, jit_function._native_function = None, native
    remember_code(code, jit_function)
    return native


def _positional_arguments(jit_function):
    """(fewest, most) positional arguments of a call; most is -1 for a `*args`. No number fits where others are needed."""
    if jit_function.fn.__code__.co_kwonlyargcount:
        return 1 << 30, -1
    fewest = sum(not p.has_default for p in jit_function.params)
    if jit_function._vararg is not None:
        return fewest - 1, -1
    return fewest, len(jit_function.params)


# ---------------------------------------------------------------------------
# Grid
# ---------------------------------------------------------------------------


def grid_sizes(grid, bound):
    """The three extents of a launch's grid."""
    if callable(grid):
        grid = grid(dict(bound))
        axes = grid if isinstance(grid, (tuple, list)) else None
        if axes is None:
            try:
                axes = (operator.index(grid),)
            except TypeError:
                raise errors.make("E0208", t=type(grid).__name__, x=0, y=0, z=0) from None
    else:
        axes = grid if isinstance(grid, (tuple, list)) else (grid,)
    x, y, z = _grid_limits

    def invalid(reason):
        return errors.make("E0207", g=grid, reason=reason, x=x, y=y, z=z)

    if not 1 <= len(axes) <= 3:
        raise invalid(f"{len(axes)} dimensions")
    sizes = []
    for axis, limit in zip(axes, _grid_limits):
        try:
            size = operator.index(attribute(axis, "value", axis))
        except TypeError:
            raise invalid(f"{axis!r} is not an integer") from None
        if size < 0:
            raise invalid(f"{size} is negative")
        if size > limit:
            raise invalid(f"{size} is above the limit")
        sizes.append(size)
    return (*sizes, *(1 for _ in range(3 - len(sizes))))


# ---------------------------------------------------------------------------
# Arguments
# ---------------------------------------------------------------------------


def _holds(kind, value):
    """Whether the integer type `kind` has this value, as a launch asks of declared parameters."""
    bits = int(kind[1:])
    low, high = (0, 2**bits) if bits == 1 or kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return low <= value < high


class _Arguments:
    """The arguments of one launch as the kernel gets them."""

    def __init__(self, jit_function, bound):
        self.jit_function = jit_function
        self.arrays = []  # in the order of their allocation numbers
        self.spread = False  # whether the last parameter is a `*args`
        self.values = [self._read(param, bound[param.name]) for param in jit_function.params]

    def _read(self, param, value):
        """A function that makes the argument once the launch's context is there."""
        value = kernel_helpers.unwrap(value)
        if param.is_constexpr:
            return lambda context: value
        if param._param.kind is param._param.VAR_POSITIONAL:
            self.spread = True
        return self._run_time(param, param.name, value, not param.do_not_specialize)

    def _run_time(self, param, name, value, specialize):
        if value is None or is_kernel(value):
            return lambda context: value
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float)):
            return self._scalar(param, name, value, specialize)
        if isinstance(value, (tuple, list)):
            parts = [self._element(param, f"{name}[{i}]", item) for i, item in enumerate(value)]
            make = type(value)._make if hasattr(value, "_fields") else tuple
            return lambda context: make([part(context) for part in parts])
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        array = read_array(name, value)
        if array is None:
            index = attribute(value, "__index__")
            if index is None:
                raise errors.make("E0204", a=name, t=type(value).__name__)
            return self._scalar(param, name, index(), specialize)
        if param.annotation_type.startswith("*"):
            # `*kfp32`: the annotation decides what the elements are.
            array = array._replace(dtype=param.annotation_type.lstrip("*k") or array.dtype)
        self.arrays.append((name, array, param.is_const))
        number = len(self.arrays) - 1
        return lambda context: self.pointers[number]

    def _element(self, param, name, value):
        """An element of a tuple; `constexpr(4)` there is a constant of the kernel."""
        if kernel_helpers.is_constexpr_object(value):
            plain = kernel_helpers.unwrap(value)
            return lambda context: plain
        return self._run_time(param, name, value, True)

    def _descriptor(self, name, value):
        """As a compiled kernel gets it, but always by pointers."""
        value._check(name)
        array = read_array(name, value.base)
        self.arrays.append((name, array, False))
        number = len(self.arrays) - 1
        shape, strides = list(value.shape), list(value.strides)
        block_shape, padding = tuple(value.block_shape), value.padding

        def make(context):
            extents = tuple(context.scalar("i32", extent) for extent in shape)
            steps = (*(context.scalar("i64", stride) for stride in strides[:-1]), 1)
            return descriptors.tensor_descriptor(self.pointers[number], extents, steps, block_shape, padding)

        return make

    def _scalar(self, param, name, value, specialize):
        kind = param.annotation_type
        if kind.startswith("*"):
            raise errors.make("E0204", a=name, t=type(value).__name__)
        is_integer = kind.startswith(("i", "u"))
        if isinstance(value, bool):
            kind = kind or "i1"
        elif isinstance(value, float):
            if is_integer:
                raise errors.make("E0204", a=name, t="float", notes=[f"the parameter is declared as {kind}"])
            kind = kind or "fp32"
        else:
            if specialize and value == 1 and not kind:
                return lambda context: 1
            if not -(2**63) <= value < 2**64:
                raise errors.make("E0211", a=name, v=value)
            if is_integer and not _holds(kind, value):
                raise errors.make("E0119", v=value, t=kind, notes=[f"in argument '{name}'"])
            if not kind:
                kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        return lambda context: context.scalar(kind, value)

    def make(self, context, copies):
        self.pointers = [
            context.add_array(
                name, copies.host_address(array), array.dtype, list(array.shape), list(array.strides), array.writable, is_const
            )
            for name, array, is_const in self.arrays
        ]
        values = [value(context) for value in self.values]
        self.by_name = {param.name: value for param, value in zip(self.jit_function.params, values)}
        return (*values[:-1], *values[-1]) if self.spread else tuple(values)


# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------


class InterpretedLaunch:
    """One launch, made ready: the arrays, what the kernel gets of them, and the context it runs in.

    Whoever wants to look in gives `context` its listeners before run(). What a kernel wrote to
    copies of GPU arrays reaches them by write_back().
    """

    def __init__(self, jit_function, sizes, bound, options=None, memory=None):
        """`memory` says where else the arrays lie than in themselves or in copies of GPU memory."""
        self.jit_function, self.sizes, self.bound = jit_function, sizes, bound
        options = dict(options or {})
        if knobs.language.fp32_default:
            options.setdefault("default_dot_input_precision", knobs.language.fp32_default)
        if jit_function.debug is not None:
            options.setdefault("debug", jit_function.debug)
        if knobs.runtime.debug:
            options["debug"] = True
        self.options = options
        self.functions = _Functions()
        self.native = native_function(jit_function)
        self.arguments = _Arguments(jit_function, bound)
        self.copies = memory or DeviceCopies(self.arrays)
        self.context = _core.InterpreterContext(self.functions, options)
        for name, is_on in checks.selected(options.get("check") or knobs.runtime.check or "").items():
            self.context.look_for(name, is_on)
        self.context.set_order(*checks.order_of_programs(knobs.runtime.order or ""))
        self.values = self.arguments.make(self.context, self.copies)
        unwritten.watch_arguments(self.context, self.arrays, self.copies)

    @property
    def arrays(self):
        """The arrays of the launch, by their numbers in the context."""
        return [array for _, array, _ in self.arguments.arrays]

    def run(self):
        if (error := rehearsal.refusal(self.jit_function, self.arguments.by_name, self.options)) is not None:
            errors.found_by_interpreter(error)
            self._run_up_to(error)
            raise error
        try:
            self._run_programs(self.native)
        except errors.TilewrightError as error:
            errors.found_by_interpreter(error)
            raise with_frames(error, self.jit_function)
        except (NameError, AttributeError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            better = explained(error)
            if better is None:
                raise
            errors.found_by_interpreter(better)
            raise better from error

    def _run_programs(self, native):
        values = self.values
        if count := self.jit_function.fn.__code__.co_kwonlyargcount:
            named = dict(zip(self.jit_function.arg_names[-count:], values[-count:]))
            native = _core.NativeFunction(self.jit_function, functools.partial(native.function, **named), (0, -1))
            values = values[:-count]
        self.context.run(native, values, self.sizes)

    def _run_up_to(self, refusal):
        """Runs the first program to where the compiler's error is, which then is raised there: what the kernel prints
        before is seen, and a debugger looks into the kernel. Whatever else happens is not said: the kernel is wrong."""
        self.functions.error = refusal
        if not self.context.has_choice:
            self.context.choose([(0, 0, 0)])
        try:
            self._run_programs(self.functions(self.jit_function))
        except Exception as met:  # noqa: BLE001 - see above
            if met is refusal:
                raise

    def write_back(self):
        self.copies.write_back([a for number, a in enumerate(self.arrays) if self.context.was_written(number)])


class InterpretedKernel:
    """What an interpreted launch returns: `kernel[grid](*args)` launches again with the same constants and options.

    Programs that keep the compiled kernel of a launch for the next one can do so here. As of a CompiledKernel, all
    arguments are passed, or those that are not declared constexpr.
    """

    def __init__(self, jit_function, bound, options):
        self.fn, self.name = jit_function, jit_function.__name__
        self.options = dict(options or {})
        self.constants = {param.name: bound[param.name] for param in jit_function.params if param.is_constexpr}

    def __getitem__(self, grid):
        def launch(*args, stream=None):
            self.fn._run_interpreted(grid, self._bound(args), self.options)

        return launch

    def _bound(self, args):
        names = [param.name for param in self.fn.params]
        passed = [name for name in names if name not in self.constants]
        given = names if len(args) == len(names) else passed
        if len(args) != len(given):
            problem, near = "unexpected", f"#{len(args)}"
            if len(args) < len(passed):
                problem, near = "missing", passed[len(args)]
            raise errors.make("E0205", problem=problem, a=near, sig=f"{self.name}({', '.join(passed)})")
        values = {**dict(zip(given, args)), **self.constants}
        return {name: values[name] for name in names}

    def __repr__(self):
        return f"InterpretedKernel({self.name!r})"


def run_interpreted(jit_function, grid, bound, options=None):
    """Runs `jit_function` over `grid`; `bound` maps every parameter to its value."""
    sizes = grid_sizes(grid, bound)
    if 0 not in sizes:
        launch = InterpretedLaunch(jit_function, sizes, bound, options)
        launch.run()
        launch.write_back()
    return InterpretedKernel(jit_function, bound, options)


def do_nothing():
    """What C++ calls to let Python raise an exception that this thread was sent."""
