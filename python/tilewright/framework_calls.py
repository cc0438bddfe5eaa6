# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions that operators of torch and calls from JAX ask about a kernel before a launch."""

from __future__ import annotations

from . import errors
from .compiler.argument_access import argument_access
from .runtime.jit import JITFunction


def function_of(kernel) -> tuple[JITFunction, dict]:
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


def written_arguments(source, outputs) -> set:
    """The parameters of an ASTSource that the kernel writes; E0205 for an output that is none of them."""
    written, _ = argument_access(source)
    for output in outputs:
        if output not in written:
            raise errors.make(
                "E0205",
                problem="unexpected",
                a=output,
                sig=f"the arguments that {source.fn.__name__} writes ({', '.join(sorted(written))})",
            )
    return written
