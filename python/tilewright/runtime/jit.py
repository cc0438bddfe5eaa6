# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@jit` and the object it makes.

`JITFunction` derives from the native `KernelDispatcher`: `kernel[grid](...)` is C++ from the subscript to the driver call
as long as the specialisation is known. This module is the rest: source, signature, and the slow path that compiles.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from collections import defaultdict
from types import SimpleNamespace
from typing import Callable, Optional

from .. import _core, errors, foreign, knobs, observers, wiring
from ..annotations import signature
from ..compiler.compiler import ASTSource, CompiledKernel, circumstances_of, compile, compile_for_launch, preload
from ..compiler.options import DEFAULTS, parse_options
from ..language import constexpr_type
from ..language.core import must_use_result
from ..lazy_names import deferred, lazy_names
from . import checks
from .arguments import elements_spanned
from .dependencies import digest, digest_of_text
from .interface import KernelInterface, T, compiled_by
from .launch_method import LaunchableType
from .lookups import compilation_of
from .mathematics import ConstexprFunction, constexpr_function  # noqa: F401 - libraries look for them here
from .params import KernelParam, mangle_type, type_canonicalisation_dict  # noqa: F401 - libraries look for them here
from .source import FunctionSource
from .sourced_function import SourcedFunction
from .specialization import native_specialize_impl
from .tensors import MockTensor, TensorWrapper, reinterpret

_explain_call = deferred("explaining.facts:explain_call")  # few programs ask
_binder_of = deferred("runtime.launch_binder:binder_of")  # as above

__all__ = [
    "JITFunction",
    "KernelInterface",
    "KernelParam",
    "MockTensor",
    "TensorWrapper",
    "constexpr_function",
    "jit",
    "must_use_result",
    "reinterpret",
]

if knobs.runtime.profile_session:
    wiring.ask("recording of a profiled program's child")()

# Triton's module has these as well, and programs take them from it.
__getattr__ = lazy_names(
    __name__,
    {
        name: f"{home}:{name}"
        for name, home in (
            ("find_paths_if", "_utils"),
            ("get_iterable_path", "_utils"),
            ("DependenciesFinder", "runtime.dependencies"),
        )
    },
)


def _async_mode():
    """The AsyncCompileMode around this call, if any."""
    module = sys.modules.get(_async_module)
    return module.active_mode.get() if module is not None else None


_async_module = __name__.rpartition(".")[0] + "._async_compile"


def _interpreter():
    # It brings NumPy, which compiled programs do without.
    from . import interpreter

    return interpreter


def _hook(knob):
    """A hook of all kernels as releases up to 3.2 have it, an attribute of the class: the knob of later ones."""
    return property(lambda cls: getattr(knobs.runtime, knob), lambda cls, function: setattr(knobs.runtime, knob, function))


class _DeviceCaches(defaultdict):
    """device -> (kernels by specialisation, {}, target, backend, binder), in Triton's form.

    To clear it is to have kernels looked for again. What launches do without, and libraries
    that compile ahead of a launch ask for, is made when an entry is first read.
    """

    def __init__(self, function):
        super().__init__(lambda: ({}, {}, None, None, None))
        self._function = weakref.ref(function)

    def __getitem__(self, device):
        entry = super().__getitem__(device)
        if entry[-1] is None:
            entry = self[device] = (*entry[:2], *_binder_of(self._function(), device))
        return entry

    def clear(self):
        super().clear()
        self._function()._clear_table()


class _JITFunctionType(LaunchableType):
    cache_hook = _hook("jit_cache_hook")
    compiled_hook = _hook("jit_post_compile_hook")


class JITFunction(_core.KernelDispatcher, SourcedFunction, KernelInterface[T], metaclass=_JITFunctionType):
    """A Python function that is compiled per specialisation and launched on a grid."""

    __tilewright_kernel__ = True
    debug = compiled_by("debug")
    # What such libraries compile with, where Triton has it.
    ASTSource, CompiledKernel, compile = ASTSource, CompiledKernel, staticmethod(compile)

    def __init__(
        self,
        fn,
        version=None,
        do_not_specialize=None,
        do_not_specialize_on_alignment=None,
        debug=None,
        noinline=None,
        repr=None,
        launch_metadata=None,
        source=None,
    ):
        if not inspect.isfunction(fn):
            raise errors.make("E0123", n=getattr(fn, "__name__", type(fn).__name__))
        self.fn = fn
        self.module = fn.__module__
        self.version = version
        self.debug = debug
        self.noinline = bool(noinline)
        self.launch_metadata = launch_metadata
        self._repr = repr
        self._source = FunctionSource(fn, source)
        # In a program that `tilewright check` runs, each launch goes through its session.
        self.interpreted = knobs.runtime.interpret or bool(knobs.runtime.check_session)
        self.signature = signature(fn)
        self.do_not_specialize = list(do_not_specialize or [])
        self.do_not_specialize_on_alignment = list(do_not_specialize_on_alignment or [])
        # `**kwargs` is no parameter: the compiler refuses it (E0102) in a kernel that is used.
        declared = [p for p in self.signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        self.params = [self._make_param(i, p) for i, p in enumerate(declared)]
        self.arg_names = [p.name for p in self.params]
        kinds = {p.kind: name for name, p in self.signature.parameters.items()}
        self._vararg = kinds.get(inspect.Parameter.VAR_POSITIONAL)
        self._keyword_only = fn.__code__.co_kwonlyargcount
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.pre_run_hooks: list = []
        self.used_global_vals: dict = {}
        self.device_caches = _DeviceCaches(self)
        self._watched_keys: set = set()
        self._constants_before: dict = {}  # id -> (constexpr whose value a program has replaced, what it was)
        self.hash: Optional[str] = None
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__doc__ = fn.__doc__
        self.__module__ = fn.__module__
        self.__globals__ = fn.__globals__
        self._tell_native_side()

    def _tell_native_side(self):
        # None marks "no default" in the native table, so the value is boxed.
        rows = [
            (
                p.name,
                p.is_constexpr,
                p.annotation_type,
                p.is_const,
                p.do_not_specialize,
                p.do_not_specialize_on_alignment,
                (p.default,) if p.has_default else None,
            )
            for p in self.params
        ]
        self._configure(self.fn.__name__, rows, self.pre_run_hooks, self.interpreted)

    def _make_param(self, num, param):
        def listed(names):
            return num in names or param.name in names

        return KernelParam(num, param, listed(self.do_not_specialize), listed(self.do_not_specialize_on_alignment))

    # -- identity -----------------------------------------------------------

    @property
    def cache_key(self) -> str:
        """Digest of the text, of everything it reaches by name, and of the line it begins in.

        The line counts for programs that keep what they make of a kernel, with its places,
        under this key; the cache on disk does not look at it.
        """
        # A description has no globals to look at: what they were, and else the text, tells it from others.
        if self.fn is None:
            return self.hash or digest_of_text(self._source.text)
        # Not kept: globals may change. The texts, which cost most, are.
        self.hash = digest_of_text(f"{digest(self)} {self._source.first_line}")
        return self.hash

    @property
    def type(self):
        """The type of a function as a constexpr argument, under Triton's name."""
        return constexpr_type(self)

    def repr(self, proxy) -> str:
        """The symbol name of a specialisation."""
        return self.__name__ if self._repr is None else self._repr(proxy)

    def is_gluon(self) -> bool:
        return False

    def __repr__(self):
        return f"JITFunction({self.module}:{self.__qualname__})"

    # -- other processes ----------------------------------------------------

    def __reduce__(self):
        """As functions are sent: by its name. A library that has taken the function out sends a description."""
        if self.fn is not None:
            return self.__qualname__
        source = SimpleNamespace(
            text=self._source.text, src=self._source.src, file=self._source.file, first_line=self._source.first_line
        )
        return _described, ({name: self.__dict__[name] for name in _DESCRIPTION if name in self.__dict__}, source)

    # -- running ------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        # Inside a natively running kernel a helper is called like any function.
        result = _core.call_in_context(self, args, kwargs)
        if result is NotImplemented:
            raise RuntimeError(f"a kernel cannot be called directly from the host; give it a grid: {self.__name__}[grid](...)")
        return result

    def run(self, *args, grid, warmup, **kwargs):
        """Launches, or only compiles with `warmup`; returns the compiled kernel."""
        for old in ("device", "device_type", "stream"):
            if old in kwargs and old not in self.arg_names:
                self._reject_keyword(old)
        if warmup:
            if (compiled := self._compiled_form_if_checked()) is not self:
                return compiled.run(*args, grid=grid, warmup=True, **kwargs)
            args, kwargs = self._types_of_constants(args, kwargs)
            mode = _async_mode()
            if mode is not None:
                return mode.submit(lambda: self._warm(args, kwargs, False), self._key_of_request(args, kwargs))
            return self._warm(args, kwargs, False)
        return _core.KernelDispatcher.__getitem__(self, grid)(*args, **kwargs)

    def _types_of_constants(self, args, kwargs):
        """Arguments of a warm-up: a dtype stands for a tensor, but for a constexpr for itself."""
        constants = {p.name for p in self.params if p.is_constexpr}

        def bare(name, value):
            return value.dtype if name in constants and isinstance(value, MockTensor) else value

        return (
            tuple(map(bare, self.arg_names, args)) + tuple(args[len(self.arg_names) :]),
            {name: bare(name, value) for name, value in kwargs.items()},
        )

    def _key_of_request(self, args, kwargs):
        """What tells requests for a specialisation apart without the launcher; None where nothing does."""
        params = {p.name: p for p in self.params}

        def part(name, value):
            param = params.get(name)
            if param is None or param.is_constexpr:
                return name, type(value), value
            align = not param.do_not_specialize_on_alignment
            facts = native_specialize_impl(None, value, param.is_const, not param.do_not_specialize, align)
            return name, facts, isinstance(value, int) and value % 8 == 0

        try:
            key = (self, tuple(map(part, self.arg_names, args)), frozenset(part(*item) for item in kwargs.items()))
            hash(key)
        except Exception:  # the arguments are the user's
            return None
        return key

    def _compiled_form_if_checked(self):
        """In a program that `tilewright check` runs, the function as others have it; else this one."""
        if not self.interpreted or checks.session() is None:
            return self
        return self.compiled_form()

    def compiled_form(self):
        """The function as a kernel that is compiled; in a checked program every kernel is interpreted."""
        form = self.__dict__.get("_compiled_form")
        if form is None:
            form = JITFunction(
                self.fn,
                version=self.version,
                do_not_specialize=self.do_not_specialize,
                do_not_specialize_on_alignment=self.do_not_specialize_on_alignment,
                debug=self.debug,
                noinline=self.noinline,
                repr=self._repr,
                launch_metadata=self.launch_metadata,
            )
            form._source = self._source
            form.interpreted = False
            form._tell_native_side()
            self._compiled_form = form
        return form

    def precompile(self, *args, **kwargs):
        """Compiles and loads for these arguments, on their device, without launching.

        dtypes may stand for tensors. A launch while a stream is captured into a graph
        needs this, or one earlier run. Returns the compiled kernel.
        """
        kwargs.pop("grid", None)
        if (compiled := self._compiled_form_if_checked()) is not self:
            return compiled.precompile(*args, **kwargs)
        args, kwargs = self._types_of_constants(
            tuple(MockTensor.wrap_dtype(a) for a in args), {k: MockTensor.wrap_dtype(v) for k, v in kwargs.items()}
        )
        return self._warm(args, kwargs, _core.driver_available())

    def interpret(self, *args, grid, program=None, check=None, **kwargs):
        """Runs the kernel in the interpreter, wherever its arrays lie; returns the table of its loads and stores.

        `program` is one program of the grid, as an int or a tuple, and no other runs then. `check` is what
        TILEWRIGHT_CHECK may be.
        """
        from .accesses import interpret  # as above

        return interpret(self, args, kwargs, grid, program, check)

    def explain(self, *args, **kwargs):
        """What the compiler makes of the kernel for these arguments, line by line; launches nothing.

        The result has `text()`, `page()` (HTML) and `write(path)`.
        """
        return _explain_call(self, args, kwargs)

    def bind(self, *args, grid, **kwargs):
        """The launch with these arguments, frozen: calling the result launches.

        Values, addresses and the choice of the kernel are taken now; only the stream is
        looked up by each call. The arguments are kept alive. `kernel[grid].bind(...)` is the same.
        """
        return self[grid].bind(*args, **kwargs)

    def get_capture_scope(self) -> dict:
        """What free names of the function mean: its module's globals and the variables it closes over."""
        return {**self.__globals__, **inspect.getclosurevars(self.fn).nonlocals}

    def add_pre_run_hook(self, hook: Callable):
        """`hook(*args, **kwargs)` runs before each launch."""
        if not callable(hook):
            raise TypeError("a pre-run hook must be callable")
        self.pre_run_hooks.append(hook)

    def preload(self, specialization_data: str):
        """Compiles a specialisation that a compile hook recorded as JSON."""
        return preload(self, specialization_data)

    # -- slow paths, called from C++ ----------------------------------------

    def _compile_specialization(self, specs, options, device, warmup):
        """Compiles what a launch needs and did not find.

        `specs` has one entry per parameter: ("c", value) for a constexpr, ("t", type
        string, divisibility), or ("tuple", class, [entries]). `device` is the ordinal or -1 for none.
        """
        self._check_constants()
        with compilation_of(self):
            return compile_for_launch(self, specs, options, device, warmup)

    def _circumstances(self, options, device):
        """What tells warm-ups with equal arguments apart; None where one has to look for its kernel."""
        self._check_constants()
        return circumstances_of(self, options, device)

    def _reject_keyword(self, name):
        """Raises the error of a keyword that is no parameter and no option."""
        if name in foreign.OPTIONS:
            raise foreign.error(name, *foreign.OPTIONS[name])
        if name in ("grid", "warmup", "stream", "device", "device_type"):
            raise errors.make(
                "E0210",
                o=name,
                help="device and stream come from the framework; the grid goes in brackets before the call",
                near="",
            )
        import difflib  # for a mistake alone

        near = difflib.get_close_matches(name, [*self.arg_names, *DEFAULTS], n=1)
        raise errors.make(
            "E0210", o=name, near=near[0] if near else "", help=None if near else f"parameters are {', '.join(self.arg_names)}"
        )

    def _check_spans(self, bound):
        """For index_bits=32: every array can be reached by 32-bit offsets."""
        for name, value in bound.items():
            count = elements_spanned(value)
            if count > 2**31:
                raise errors.make("E0212", a=name, n=count)

    def _call_launch_hook(self, entering, kernel, grid, stream, args):
        """Runs the global hooks around a launch."""
        chain = knobs.runtime.launch_enter_hook if entering else knobs.runtime.launch_exit_hook
        if chain:
            chain(kernel.launch_metadata(grid, stream, *args))

    def _run_interpreted(self, grid, bound, options):
        """Runs the function on the CPU: `bound` maps every parameter to its value."""
        parse_options(options)  # the same mistakes are refused as on the GPU
        checked = checks.session()
        launch = _interpreter().run_interpreted if checked is None else checked.launch
        return observers.observed(launch)(self, grid, bound, options)


# What torch asks of the function of a kernel that another process has compiled.
_DESCRIPTION = (
    "fn",
    "module",
    "version",
    "debug",
    "noinline",
    "repr",
    "used_global_vals",
    "interpreted",
    "params",
    "arg_names",
    "constexprs",
    "do_not_specialize",
    "do_not_specialize_on_alignment",
    "hash",
    "_hash_lock",
    "__name__",
    "__qualname__",
    "__doc__",
    "__module__",
    "__globals__",
)


def _described(description, source):
    """A function that is known by what it says of itself, and cannot be compiled."""
    function = JITFunction.__new__(JITFunction)
    function.__dict__.update(description, _source=source)
    return function


#: Triton's base class of what kernels call.
JITCallable = JITFunction


def get_full_name(fn) -> str:
    """A function's module and qualified name."""
    return f"{fn.__module__}.{fn.__qualname__}"


def jit(
    fn: Optional[Callable] = None,
    *,
    version=None,
    repr=None,
    launch_metadata=None,
    do_not_specialize=None,
    do_not_specialize_on_alignment=None,
    debug=None,
    noinline=None,
    source=None,
):
    """Decorator: the function becomes a kernel (or a helper that kernels call).

    Use it bare or with keywords. `source` gives the text of the function where
    Python cannot find it.
    """

    def decorate(function):
        return JITFunction(
            function,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
            source=source,
        )

    return decorate if fn is None else decorate(fn)
