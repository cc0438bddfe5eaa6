# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of torch: `tilewright.torch.custom_op`.

    scale = tilewright.torch.custom_op(
        "mine::scale", scale_kernel, lambda meta: (tilewright.cdiv(meta["n"], meta["BLOCK"]), ),
        "*fp32,*fp32,i32,fp32", outputs={"out_ptr": lambda x_ptr, n, factor: torch.empty_like(x_ptr)}, BLOCK=1024)

    y = scale(x, x.numel(), 2.0)

Which arguments the operator changes is not said: it follows from the kernel. torch is
imported here and nowhere else in the package.
"""

from __future__ import annotations

from typing import Callable, Optional

import torch

from . import errors
from .compiler.argument_access import argument_access
from .compiler.compiler import ASTSource
from .compiler.options import DEFAULTS
from .runtime.jit import JITFunction

__all__ = ["custom_op"]


def _function_of(kernel) -> tuple[JITFunction, dict]:
    """The jit function inside tuners and heuristics, and the constants of the first configuration."""
    constants = {}
    while not isinstance(kernel, JITFunction):
        configurations = getattr(kernel, "configs", None)
        if configurations:
            constants.update(configurations[0].kwargs)
        values = getattr(kernel, "values", None)
        if isinstance(values, dict):  # of heuristics; any value will do, the accesses are those of all branches
            constants.update({name: constants.get(name, True) for name in values})
        kernel = kernel.fn
    return kernel, constants


def _types_of(function, signature, constants) -> dict:
    """The types by parameter: of a mapping as it is, of a text in the order of the parameters that are no constants."""
    if not isinstance(signature, str):
        return dict(signature)
    names = [parameter.name for parameter in function.params if not parameter.is_constexpr and parameter.name not in constants]
    kinds = [kind.strip() for kind in signature.split(",")] if signature.strip() else []
    if len(kinds) > len(names):
        raise errors.make("E0205", problem="unexpected", a=kinds[len(names)], sig=f"{function.__name__}({', '.join(names)})")
    return dict(zip(names, kinds))


def _schema_type(name, kind) -> str:
    if isinstance(kind, str) and kind.startswith("*"):
        return "Tensor"
    if kind in ("i1", "u1", "bool"):
        return "bool"
    if isinstance(kind, str) and kind[:1] in "iu" and kind[1:].isdigit():
        return "SymInt"
    if isinstance(kind, str) and (kind.startswith("fp") or kind == "bf16"):
        return "float"
    raise errors.make("E0206", a=name, d=kind)


def _schema(types, written, outputs) -> str:
    """The operator's schema: what the kernel writes and the caller passes is marked as changed."""
    parameters = []
    for position, (name, kind) in enumerate((n, k) for n, k in types.items() if n not in outputs):
        text = _schema_type(name, kind)
        if text == "Tensor" and name in written:
            text = f"Tensor(a{position}!)"
        parameters.append(f"{text} {name}")
    results = ["Tensor"] * len(outputs)
    return f"({', '.join(parameters)}) -> " + (results[0] if len(results) == 1 else f"({', '.join(results)})")


def custom_op(name: str, kernel, grid, signature, outputs: Optional[dict[str, Callable]] = None, **constants):
    """Registers `kernel` as the operator `name` ("library::operator") and returns torch's object for it.

    `signature` has the types of the parameters, as a text in their order ("*fp32,*fp32,i32") or as a mapping;
    `constants` are constexpr arguments and launch options. The operator takes the other parameters in the
    kernel's order. `outputs` names those that are results instead: each is made by a function of
    the operator's arguments, by name, which also runs where shapes are only traced. Gradients are registered as for
    any operator (`register_autograd`).
    """
    outputs = dict(outputs or {})
    function, known = _function_of(kernel)
    options = {key: value for key, value in constants.items() if key in DEFAULTS and key not in function.arg_names}
    given = {key: value for key, value in constants.items() if key not in options}
    source = ASTSource(function, _types_of(function, signature, given), {**known, **given})
    written, _ = argument_access(source)
    for output in outputs:
        if output not in written:
            raise errors.make("E0205", problem="unexpected", a=output, sig=f"the arguments that {function.__name__} "
                              f"writes ({', '.join(sorted(written))})")
    passed = [parameter for parameter in source.runtime_signature if parameter not in outputs]

    def make_outputs(arguments):
        made = {}
        for output, make in outputs.items():
            made[output] = make(**arguments)
        return made

    def results(made):
        return next(iter(made.values())) if len(made) == 1 else tuple(made.values()) if made else None

    def implementation(*values):
        arguments = dict(zip(passed, values))
        made = make_outputs(arguments)
        kernel[grid](**arguments, **made, **constants)
        return results(made)

    def fake(*values):
        return results(make_outputs(dict(zip(passed, values))))

    operator = torch.library.custom_op(name, implementation, mutates_args=[p for p in passed if p in written],
                                       schema=_schema(source.runtime_signature, written, outputs))
    operator.register_fake(fake)
    return operator
