# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rehearsal: the front end walks a kernel that the interpreter is about to run, and raises its errors.

Only the front end has the rules about statements: what may be called, which globals may be read,
where a `return` may stand, which types meet after an `if`, how long loops may be unrolled. It walks
each kernel once per set of argument types and constants before the kernel runs natively, and again
when a global or function that the kernel reaches by name has changed. It makes no IR of it; it only
raises what a compilation would raise. So neither a branch that is not taken nor a loop that does not
run hides a mistake.

A refused kernel still runs up to the line of the mistake, in the first program of the grid. So its
prints are seen, breakpoints stop, and a debugger finds the error in the kernel's own frame.
"""

from __future__ import annotations

from .. import _core, errors
from . import dependencies

#: Rehearsals that a kernel remembers: one per set of types and constants.
_most_remembered = 256


def _key(value):
    """Equal for values of which the front end makes the same."""
    if _core.kernel.is_tensor(value):
        return _core.kernel.describe(value)
    if isinstance(value, tuple):
        return (type(value), *map(_key, value))
    flatten = getattr(type(value), "__tilewright_flatten__", None)
    if flatten is not None:
        return (type(value), *map(_key, flatten(value)))
    return (type(value), value)


def refusal(jit_function, arguments, options):
    """The compiler's error for a kernel with these arguments (by name); None where it takes it."""
    try:
        jit_function.parse()
        # The helpers and globals of now: another one may be refused.
        state = dependencies.digest(jit_function)
        key = (tuple(map(_key, arguments.values())), tuple(sorted((name, repr(o)) for name, o in options.items())))
        known = jit_function.__dict__.setdefault("_rehearsed", {})
        if known.get(key) == state:
            return None
    except errors.SourceUnavailable:
        return None  # runs as it is (W0127)
    except TypeError:
        key = None  # a constant without a hash
    try:
        _core.rehearse_kernel(jit_function, arguments, options)
    except errors.SourceUnavailable:
        return None  # of a function that the kernel calls
    except errors.TilewrightError as error:
        return error
    if key is not None:
        if len(known) >= _most_remembered:
            known.clear()
        known[key] = state
    return None
