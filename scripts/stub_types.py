# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types that the declarations of the language do not say, for generate_stubs.py.

What a kernel computes with is `Any` as an argument, because a pointer, a tile, a number, a
constexpr and None all come as such. What must be known at compile time has its Python type.
What a function returns is a tensor (`_Tile`) unless it is listed here.
"""

#: The type of a parameter by its name, wherever it occurs; others are Any.
PARAMETERS = {
    **dict.fromkeys(
        (
            "axis",
            "can_reorder",
            "dim",
            "end",
            "k",
            "major",
            "max_num_imprecise_acc",
            "minor",
            "num_bins",
            "pack",
            "start",
            "timeout_ns",
        ),
        "int",
    ),
    **dict.fromkeys(
        (
            "allow_tf32",
            "bitcast",
            "can_reorder",
            "descending",
            "disable_licm",
            "disallow_acc_multi_buffer",
            "fast_math",
            "flatten",
            "hex",
            "ieee_rounding",
            "is_pure",
            "keep_dims",
            "lhs_k_pack",
            "return_indices",
            "return_indices_tie_break_left",
            "reverse",
            "rhs_k_pack",
            "sanitize_overflow",
            "tie_break_left",
            "volatile",
            "warp_specialize",
        ),
        "bool",
    ),
    **dict.fromkeys(
        (
            "asm",
            "cache_modifier",
            "constraints",
            "eviction_policy",
            "fp_downcast_rounding",
            "input_precision",
            "lhs_format",
            "padding_option",
            "prefix",
            "rhs_format",
            "scope",
            "sem",
        ),
        "str",
    ),
    **dict.fromkeys(("loop_unroll_factor", "num_stages", "num_warps", "num_ctas", "maxnreg"), "int"),
    "ir_override": "str",
    "dtype": "_dtype",
    "out_dtype": "_dtype",
    "propagate_nan": "PropagateNan",
    "shape": "Sequence[int] | int",
}

#: Parameters whose name means something else in one function.
PARAMETERS_OF = {
    # All axes.
    **dict.fromkeys(("reduce", "argmax", "argmin", "reduce_or"), {"axis": "int | None"}),
    # Several axes at once, or a shape that is given one extent at a time, or extents known at run time.
    "expand_dims": {"axis": "int | Sequence[int]"},
    "broadcast_to": {"shape": "Any"},
    "reshape": {"shape": "Any"},
    "view": {"shape": "Any"},
    "make_block_ptr": {"shape": "Any", "block_shape": "Sequence[int]", "order": "Sequence[int]"},
    "make_tensor_descriptor": {"shape": "Any", "block_shape": "Sequence[int]"},
    "inline_asm_elementwise": {"dtype": "Any"},
    "static_print": {"end": "str"},
}

_PAIR = "builtins.tuple[_Tile, _Tile]"
_FOUR = "builtins.tuple[_Tile, _Tile, _Tile, _Tile]"

#: What a function returns where it is no tensor.
RETURNS = {
    **dict.fromkeys(
        (
            "assume",
            "atomic_store",
            "debug_barrier",
            "device_assert",
            "device_print",
            "static_assert",
            "static_print",
            "store",
            "store_tensor_descriptor",
            "gdc_wait",
            "gdc_launch_dependents",
            "scatter",
        ),
        "None",
    ),
    **dict.fromkeys(("broadcast", "split", "swizzle2d", "pair_uniform_to_normal"), _PAIR),
    **dict.fromkeys(("philox", "philox_impl", "randint4x", "rand4x", "randn4x"), _FOUR),
    **dict.fromkeys(
        (
            "condition",
            "extern_elementwise",
            "inline_asm_elementwise",
            "map_elementwise",
            "reduce",
            "associative_scan",
            "to_tensor",
            "aggregate_replace",
        ),
        "Any",
    ),
    **dict.fromkeys(("cuda_capability_geq", "is_builtin", "is_cuda", "is_hip"), "bool"),
    **dict.fromkeys(("num_threads", "num_warps"), "int"),
    "advance": "_BlockPointer",
    "current_target": "Any",
    "get_int_dtype": "dtype",
    "count_words": "_Tile | None",
    "gather_words": "_Tile | None",
    "make_block_ptr": "_BlockPointer",
    "make_tensor_descriptor": "_Descriptor",
    # Marks on functions give the function back.
    **dict.fromkeys(("builtin", "extern", "must_use_result"), "Any"),
    "explain_type_error": "Any",
}

_ARGUMENTS_OF_EXTREMUM = "return_indices_tie_break_left: bool = True, keep_dims: bool = False"

#: Functions whose result depends on their arguments: what stands after the first operand, with the result.
OVERLOADS = {
    "cdiv": [("x: int, div: int", "int"), ("x: Any, div: Any", "_Tile")],
    **{
        name: [
            ("input: Any, axis: int | None = None, return_indices: Literal[False] = False, " + _ARGUMENTS_OF_EXTREMUM, "_Tile"),
            ("input: Any, axis: int | None, return_indices: Literal[True], " + _ARGUMENTS_OF_EXTREMUM, _PAIR),
            ("input: Any, axis: int | None = None, *, return_indices: Literal[True], " + _ARGUMENTS_OF_EXTREMUM, _PAIR),
        ]
        for name in ("max", "min")
    },
}

#: Attributes and properties.
ATTRIBUTES = {
    # A tensor's type is one of three; a pointer's dtype has an element_ty, which the others lack.
    "shape": "builtins.tuple[int, ...]",
    "dtype": "_pointer_type",
    "type": "Any",
    "numel": "int",
    "T": "_Tile",
    "handle": "Any",
    "scalar": "Any",
    "name": "str",
    "short_name": "str",
    "itemsize": "int",
    "primitive_bitwidth": "int",
    "int_bitwidth": "int",
    "fp_mantissa_width": "int",
    "exponent_bias": "int",
    "nbytes": "int",
    "address_space": "int",
    "const": "bool",
    "element_ty": "_pointer_type",
    "codegen_name": "str",
    "cache_key_part": "str",
    "block_shape": "builtins.tuple[int, ...]",
    "block_type": "_dtype",
}

#: What a dtype's methods return; the others are questions.
DTYPE_RETURNS = {
    "get_block_shapes": "builtins.tuple[int, ...]",
    "get_int_max_value": "int",
    "get_int_min_value": "int",
    "mangle": "str",
    "kind": "Any",
    "with_element_ty": "dtype",
}

#: Operators of tensors that give something else than a tensor.
OPERATOR_RETURNS = {
    "__bool__": "bool",
    "__int__": "int",
    "__index__": "int",
    "__float__": "float",
    "__hash__": "int",
    "__repr__": "str",
}

#: Launch options, with their types: compiler/options.py has the names, and a test compares.
LAUNCH_OPTIONS = {
    "num_warps": "int",
    "num_stages": "int",
    "num_ctas": "int",
    "maxnreg": "int | None",
    "warp_size": "int",
    "enable_fp_fusion": "bool",
    "enable_reflect_ftz": "bool",
    "launch_cooperative_grid": "bool",
    "launch_pdl": "bool",
    "debug": "bool",
    "sanitize_overflow": "bool",
    "arch": "Any",
    "ptx_version": "Any",
    "ptx_options": "Any",
    "ir_override": "Any",
    "default_dot_input_precision": "str",
    "allowed_dot_input_precisions": "Any",
    "supported_fp8_dtypes": "Any",
    "deprecated_fp8_dot_operand_dtypes": "Any",
    "max_num_imprecise_acc_default": "Any",
    "extern_libs": "Any",
    "clc": "bool",
    "instrumentation_mode": "str",
    "fpsan_homomorphic_casts": "bool",
    "min_shared_mem": "Any",
    "cluster_dims": "Any",
    "optimize_epilogue": "Any",
    "index_bits": "int | None",
    "arguments_may_overlap": "bool",
}


_JIT = """
_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)

class _Launch(Generic[_P]):
    \"\"\"`kernel[grid]`: a call with the kernel's arguments launches it.

    A call without options of the launch is checked against the parameters of the kernel. One that has an
    option is checked for that option alone, since types cannot say "these parameters and those options".
    \"\"\"
    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> CompiledKernel: ...
{overloads}    def bind(self, *args: Any, **kwargs: Any) -> Any: ...
"""


def _launch_class() -> str:
    """`kernel[grid]` with one overload per option that makes the call a launch with options."""
    overloads = "".join(
        f"    @overload\n    def __call__(self, *args: Any, {name}: {kind}, **kwargs: Any) -> CompiledKernel: ...\n"
        for name, kind in LAUNCH_OPTIONS.items()
    )
    return _JIT.format(overloads=overloads)


_ANY_CALL = "(self, *args: Any, **kwargs: Any) -> Any"

#: Modules of the runtime that get a stub: what stands before their definitions, and
#: members and functions whose types do more than name what they take.
RUNTIME = {
    "runtime.jit": (
        """
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from ..compiler.kernel import CompiledKernel
from ..language.core import must_use_result as must_use_result
from .interface import KernelInterface as KernelInterface
from .mathematics import constexpr_function as constexpr_function
from .params import KernelParam as KernelParam
from .tensors import MockTensor as MockTensor, TensorWrapper as TensorWrapper, reinterpret as reinterpret
"""
        + _launch_class(),
        {
            "JITFunction": "class JITFunction(Generic[_P, _R]):",
            **{f"JITFunction.{name}": "property str" for name in ("file", "cache_key")},
            "JITFunction.type": "property Any",
            "JITFunction.__call__": "(self, *args: _P.args, **kwargs: _P.kwargs) -> _R",
            "JITFunction.__getitem__": "(self, grid: Any, /) -> _Launch[_P]",
            "JITFunction.fn": "Callable[_P, _R]",
            "JITFunction.arg_names": "list[str]",
            "JITFunction.params": "list[KernelParam]",
            "jit": [
                "(fn: Callable[_P, _R]) -> JITFunction[_P, _R]",
                "(fn: None = None, *, version: Any = None, repr: Callable[..., str] | None = None, "
                "launch_metadata: Callable[..., Any] | None = None, do_not_specialize: Any = None, "
                "do_not_specialize_on_alignment: Any = None, debug: bool | None = None, noinline: bool | None = None, "
                "source: str | None = None) -> Callable[[Callable[_P, _R]], JITFunction[_P, _R]]",
            ],
        },
    ),
    "runtime.autotuner": (
        """
from collections.abc import Callable
from typing import Any

from ..errors import AutotunerError as AutotunerError, OutOfResources as OutOfResources
from ..errors import AssemblerError as PTXASError
from ..tuning.config import Config as Config
from .heuristic_arguments import Heuristics as Heuristics, heuristics as heuristics
""",
        {
            "Autotuner.__call__": _ANY_CALL,
            "Autotuner.__getitem__": "(self, grid: Any, /) -> Callable[..., Any]",
            "Autotuner.configs": "list[Config]",
            "Autotuner.best_config": "Config",
            "Autotuner.fn": "Any",
            "Autotuner.arg_names": "list[str]",
            # What programs pass on as `**options` has one type for all, so there is none.
            "autotune": [
                "(configs: Any, key: Any, prune_configs_by: Any = None, reset_to_zero: Any = None, restore_value: Any = None, "
                "pre_hook: Any = None, post_hook: Any = None, warmup: Any = None, rep: Any = None, "
                "use_cuda_graph: Any = False, do_bench: Any = None, cache_results: Any = False, *, "
                "budget: Any = None, check: Any = None, "
                "reference: Any = None, tolerance: Any = None, tune_memory: Any = 'device', isolate: Any = None) "
                "-> Callable[[Any], Autotuner]"
            ],
        },
    ),
    "runtime.heuristic_arguments": (
        """
from collections.abc import Callable
from typing import Any
""",
        {
            "Heuristics.__call__": _ANY_CALL,
            "Heuristics.__getitem__": "(self, grid: Any, /) -> Callable[..., Any]",
            "Heuristics.fn": "Any",
            "Heuristics.values": "dict[str, Callable[[dict[str, Any]], Any]]",
            "Heuristics.arg_names": "list[str]",
            "heuristics": ["(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]"],
        },
    ),
    "tuning.config": (
        """
from collections.abc import Callable
from typing import Any
""",
        {
            "Config.__init__": "(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, num_ctas: int = 1, "
            "maxnreg: int | None = None, pre_hook: Callable[..., Any] | None = None, ir_override: str | None = None) -> None",
            "Config.all_kwargs": "(self) -> dict[str, Any]",
            "Config.kwargs": "dict[str, Any]",
            **{f"Config.{name}": "int" for name in ("num_warps", "num_stages", "num_ctas")},
            "Config.maxnreg": "int | None",
            "Config.pre_hook": "Callable[..., Any] | None",
            "Config.ir_override": "str | None",
            "check_conflicts": ["(config: Config, kwargs: dict[str, Any]) -> None"],
        },
    ),
}
