# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which arguments a specialisation writes, without compiling it.

The front end makes tile IR, and the answer comes from there: it may name too many
arguments, never too few (codegen/emit/ArgumentAccess.h).
"""

from __future__ import annotations

from .. import _core, errors
from .._C.libtriton import ir
from ..scalar_types import map_types, plain_type
from .options import parse_options


def _runtime_signature(source) -> dict:
    """The types of all parameters that a launch passes, also of those that `source` has fixed values for.

    torch gives the scalars of a launch as constants; a store that one value of them
    avoids is a store nevertheless.
    """
    return {
        name: map_types(source.signature[name], plain_type)
        for name in source.fn.arg_names
        if source.signature.get(name, "constexpr") != "constexpr"
    }


def argument_access(source, target=None) -> tuple[set, set]:
    """Names of the parameters of an ASTSource whose memory may be written, and of those whose may be read."""
    arch = "sm_90a" if target is None else target.name
    signature = _runtime_signature(source)
    constants = {name: value for name, value in source.constants.items() if name not in signature}

    def ask(signature, constants):
        divisibility = {k: v for k, v in source.divisibility.items() if k.split("[")[0] in signature}
        written, read = _core.argument_access(source.fn, signature, constants, divisibility, parse_options({}), arch)
        return set(written), set(read)

    try:
        return ask(signature, constants)
    except errors.TilewrightError:
        if signature == source.runtime_signature:
            raise
        # A kernel that needs one of the given values to be known.
        return ask(dict(source.runtime_signature), dict(source.constants))


def module_of(source, target):
    """The module for torch, whose arguments are the parameters that `source` has no value for.

    A descriptor is followed by its extents and strides, as in Triton's modules.
    """
    written, read = argument_access(source, target)
    arguments = []
    for name, kind in source.runtime_signature.items():
        arguments.append((name, name in written, name in read))
        if isinstance(kind, str) and kind.startswith("tensordesc<"):
            rank = kind.count(",", kind.index("[")) + 1
            arguments += [(f"{name}.{i}", False, False) for i in range(2 * rank)]
    text = f"{source.fn.__name__} writes {', '.join(sorted(written)) or 'nothing'}"
    return ir.module(source.fn.__name__, arguments, text)
