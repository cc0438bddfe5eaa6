# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by scripts/generate_stubs.py: do not edit; `make stubs` writes it again.
"""`@jit` and the object it makes."""

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from ..compiler.kernel import CompiledKernel
from ..language.core import must_use_result as must_use_result
from .interface import KernelInterface as KernelInterface
from .mathematics import constexpr_function as constexpr_function
from .params import KernelParam as KernelParam
from .tensors import MockTensor as MockTensor, TensorWrapper as TensorWrapper, reinterpret as reinterpret

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

class _Launch(Generic[_P]):
    """`kernel[grid]`: a call with the kernel's arguments launches it.

    A call without options of the launch is checked against the parameters of the kernel. One that has an
    option is checked for that option alone, since types cannot say "these parameters and those options".
    """
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, num_warps: int, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, num_stages: int, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, num_ctas: int, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, maxnreg: int | None, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, warp_size: int, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, enable_fp_fusion: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, enable_reflect_ftz: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, launch_cooperative_grid: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, launch_pdl: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, debug: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, sanitize_overflow: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, arch: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, ptx_version: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, ptx_options: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, ir_override: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, default_dot_input_precision: str, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, allowed_dot_input_precisions: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, supported_fp8_dtypes: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, deprecated_fp8_dot_operand_dtypes: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, max_num_imprecise_acc_default: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, extern_libs: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, clc: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, instrumentation_mode: str, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, fpsan_homomorphic_casts: bool, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, min_shared_mem: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, cluster_dims: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, optimize_epilogue: Any, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, index_bits: int | None, **kwargs: Any) -> CompiledKernel: ...
    @overload
    def __call__(self, *args: Any, arguments_may_overlap: bool, **kwargs: Any) -> CompiledKernel: ...
    def bind(self, *args: Any, **kwargs: Any) -> Any: ...


class JITFunction(Generic[_P, _R]):
    """A Python function that is compiled per specialisation and launched on a grid."""
    @property
    def file(self) -> str:
        """Path of the file that holds the function."""
    @property
    def cache_key(self) -> str:
        """Digest of the text, of everything it reaches by name, and of the line it begins in.

        The line counts for programs that keep what they make of a kernel, with its places,
        under this key; the cache on disk does not look at it."""
    @property
    def type(self) -> Any:
        """The type of a function as a constexpr argument, under Triton's name."""
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        ...
    def __getitem__(self, grid: Any, /) -> _Launch[_P]:
        ...
    fn: Callable[_P, _R]
    arg_names: list[str]
    params: list[KernelParam]
    src: Any
    raw_src: Any
    file_name: Any
    def_file_line_number: Any
    def_file_col_number: Any
    starting_line_number: Any
    def parse(self) -> Any:
        """The `ast.FunctionDef` with the file's own line and column numbers; cached."""
    def source_line(self, number: Any) -> Any:
        """One line of the file, for messages."""
    def lookup_global(self, name: Any) -> Any:
        """The value a free name has: closure, then module globals, then builtins.

        Raises KeyError for an unknown name. Values that a kernel may freeze are
        remembered: later launches check that they are still the same."""
    def is_annotated_constexpr(self, name: Any) -> Any:
        """Whether the module annotates the name as one: `N: tl.constexpr = 4`."""
    debug: Any
    ASTSource: Any
    CompiledKernel: Any
    compile: Any
    def __init__(self, fn: Any, version: Any = None, do_not_specialize: Any = None, do_not_specialize_on_alignment: Any = None, debug: Any = None, noinline: Any = None, repr: Any = None, launch_metadata: Any = None, source: Any = None) -> None:
        ...
    def repr(self, proxy: Any) -> Any:
        """The symbol name of a specialisation."""
    def is_gluon(self) -> Any:
        ...
    run: Any
    def compiled_form(self) -> Any:
        """The function as a kernel that is compiled; in a checked program every kernel is interpreted."""
    def precompile(self, *args: Any, **kwargs: Any) -> Any:
        """Compiles and loads for these arguments, on their device, without launching.

        dtypes may stand for tensors. A launch while a stream is captured into a graph
        needs this, or one earlier run. Returns the compiled kernel."""
    def interpret(self, *args: Any, grid: Any, program: Any = None, check: Any = None, **kwargs: Any) -> Any:
        """Runs the kernel in the interpreter, wherever its arrays lie; returns the table of its loads and stores.

        `program` is one program of the grid, as an int or a tuple, and no other runs then. `check` is what
        TILEWRIGHT_CHECK may be."""
    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What the compiler makes of the kernel for these arguments, line by line; launches nothing.

        The result has `text()`, `page()` (HTML) and `write(path)`."""
    def bind(self, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """The launch with these arguments, frozen: calling the result launches.

        Values, addresses and the choice of the kernel are taken now; only the stream is
        looked up by each call. The arguments are kept alive. `kernel[grid].bind(...)` is the same."""
    def get_capture_scope(self) -> Any:
        """What free names of the function mean: its module's globals and the variables it closes over."""
    def add_pre_run_hook(self, hook: Any) -> Any:
        """`hook(*args, **kwargs)` runs before each launch."""
    def preload(self, specialization_data: Any) -> Any:
        """Compiles a specialisation that a compile hook recorded as JSON."""


JITCallable = JITFunction


def get_full_name(fn: Any) -> Any: ...


@overload
def jit(fn: Callable[_P, _R]) -> JITFunction[_P, _R]:
    """Decorator: the function becomes a kernel (or a helper that kernels call).

    Use it bare or with keywords. `source` gives the text of the function where
    Python cannot find it."""

@overload
def jit(fn: None = None, *, version: Any = None, repr: Callable[..., str] | None = None, launch_metadata: Callable[..., Any] | None = None, do_not_specialize: Any = None, do_not_specialize_on_alignment: Any = None, debug: bool | None = None, noinline: bool | None = None, source: str | None = None) -> Callable[[Callable[_P, _R]], JITFunction[_P, _R]]:
    """Decorator: the function becomes a kernel (or a helper that kernels call).

    Use it bare or with keywords. `source` gives the text of the function where
    Python cannot find it."""

__all__ = [
    "JITFunction", "KernelInterface", "KernelParam", "MockTensor", "TensorWrapper", "constexpr_function", "jit",
    "must_use_result", "reinterpret",
]
