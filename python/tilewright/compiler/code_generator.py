# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that libraries import from Triton's front end. Kernels are compiled by `tilewright.compile`.

Questions about values have answers; the classes that walk Triton's syntax trees are E0125 when they are used.
"""

from __future__ import annotations

from .. import errors, foreign
from ..language import constexpr, dtype, pointer_type, tensor, tuple as language_tuple
from .argument_access import module_of
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "CodeGenerator",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "UnsupportedLanguageConstruct",
    "ast_to_ttir",
    "check_identifier_legality",
    "flatten_values_to_ir",
    "kernel_suffix",
    "unflatten_ir_values",
]

_INSIDE = "the inside of Triton's compiler"


def ast_to_ttir(fn, src, context=None, options=None, codegen_fns=None, module_map=None, module=None):
    """A module from which others can tell which arguments are written and read, as `src.make_ir` gives it."""
    return module_of(src, None)


def kernel_suffix(signature, specialization) -> str:
    """What releases up to 3.1 put after a kernel's name: an argument's number, and how it is specialised."""
    suffix = ""
    for number, _ in enumerate(signature):
        suffix += str(number)
        if number in specialization.equal_to_1:
            suffix += "c"
        if number in specialization.divisible_by_16:
            suffix += "d"
    return suffix


def check_identifier_legality(name: str, type):
    """The name, where a symbol of PTX may have it."""
    if not name.replace("_", "a").isascii() or not name.isidentifier():
        raise errors.make("E0120", message=f"invalid {type} identifier: {name}", help="use letters, digits and '_'")
    return name


def _is_triton_tensor(value) -> bool:
    return isinstance(value, tensor)


def _is_triton_value(value) -> bool:
    return isinstance(value, (tensor, constexpr, language_tuple))


def _is_constexpr(value) -> bool:
    return value is None or isinstance(value, (constexpr, dtype, pointer_type))


def _is_list_like(value) -> bool:
    return isinstance(value, (list, tuple, language_tuple))


def _apply_to_tuple_values(value, fn):
    """A tuple of the same kind with `fn` of each element."""
    values = [fn(item) for item in value]
    if hasattr(value, "_fields"):
        return type(value)(*values)
    return language_tuple(values) if isinstance(value, language_tuple) else tuple(values)


def _refused(name):
    def function(*args, **kwargs):
        raise foreign.error(name, _INSIDE, "compile kernels by tilewright.compile")

    function.__name__ = function.__qualname__ = name
    return function


flatten_values_to_ir = _refused("flatten_values_to_ir")
unflatten_ir_values = _refused("unflatten_ir_values")
mangle_fn = _refused("mangle_fn")


class CodeGenerator:
    """E0125 when one is made."""

    def __init__(self, *args, **kwargs):
        _refused("CodeGenerator")()
