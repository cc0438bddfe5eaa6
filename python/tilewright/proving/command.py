# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright prove FILE:KERNEL ...` for all sizes, `tilewright prove SCRIPT ...` for the launches of a script."""

from __future__ import annotations

import contextlib
import json
import sys

from .. import errors, knobs
from ..kernel_arguments import load_function, parse_signature
from ..run_program import Misuse, check_program, run_program
from ..runtime import interpreter
from .encode import solver_library
from .proof import prove_conditions, prove_launch

__all__ = ["prove_command", "proving_launches"]


def prove_command(arguments) -> int:
    solver_library()
    path, _, name = arguments.kernel.rpartition(":")
    proofs, status = (_prove_kernel(arguments), 0) if path and name.isidentifier() else _prove_script(arguments)
    if arguments.json:
        _write_json(arguments.json, proofs)
    if arguments.json != "-" and proofs:
        print("\n\n".join(map(str, proofs)))
    if not proofs:
        print(f"tilewright prove: nothing was proved, as '{arguments.kernel}' launched no kernel", file=sys.stderr)
    return 1 if not proofs or any(proof.refuted for proof in proofs) else status


def _prove_kernel(arguments):
    if not arguments.signature or not arguments.grid:
        raise Misuse("a kernel needs --signature and --grid")
    kernel = load_function(arguments.kernel)
    signature, constants, _ = parse_signature(kernel, arguments.signature)
    arrays = dict(item.partition("=")[::2] for item in arguments.array)
    return [prove_conditions(kernel, signature, constants, arguments.grid, arrays, arguments.assume, timeout=arguments.timeout)]


def _prove_script(arguments):
    """The proofs of a script's launches, and 1 where it ended with an error or a launch could not be proved."""
    program, status = [arguments.kernel, *arguments.rest], 0
    check_program(program)
    with proving_launches(arguments.launches, arguments.timeout) as proofs, contextlib.redirect_stdout(sys.stderr):
        try:
            run_program(program)
        except SystemExit as ended:
            if ended.code not in (None, 0):
                print(f"tilewright prove: the script ended with {ended.code}", file=sys.stderr)
                status = 1
    return proofs, status or int(proofs.has_gaps)


class _Proofs(list):
    """The proofs of the launches of a program."""

    has_gaps = False  # whether there was a launch of which none could be made


@contextlib.contextmanager
def proving_launches(most=3, timeout=10.0):
    """Inside the block launches run in the interpreter; the list it gives collects the proofs of them.

    At most so many of each kernel, those with equal arguments once.
    """
    proofs, seen, run = _Proofs(), {}, interpreter.run_interpreted

    def prove_and_run(kernel, grid, bound, options=None):
        known = seen.setdefault(kernel, set())
        key = _likeness(grid, bound)
        if len(known) < most and key not in known:
            known.add(key)
            try:
                proofs.append(prove_launch(kernel, grid, bound, options, timeout))
            except errors.TilewrightError as error:
                if error.code == "E0429":
                    raise
                # The kernel's own mistake, which running it tells; the script goes on.
                proofs.has_gaps = True
                print(f"tilewright prove: {kernel.__name__} was not proved: {error}", file=sys.stderr)
        return run(kernel, grid, bound, options)

    interpreter.run_interpreted = prove_and_run
    try:
        with knobs.runtime.scope():
            knobs.runtime.interpret = True
            yield proofs
    finally:
        interpreter.run_interpreted = run


def _likeness(grid, bound):
    """Equal for launches whose proofs are: arrays by their shape, numbers by their value."""

    def of(value):
        if isinstance(value, (tuple, list)):
            return tuple(of(item) for item in value)
        if isinstance(value, (bool, int, float, str, type(None))):
            return value
        return type(value).__name__, str(getattr(value, "dtype", "")), str(getattr(value, "shape", ""))

    return repr(grid if not callable(grid) else grid(dict(bound))), repr([(name, of(v)) for name, v in bound.items()])


def _write_json(path, proofs):
    content = [
        {"kernel": proof.kernel, "about": proof.about, "seconds": round(proof.seconds, 3), "accesses": proof.rows()}
        for proof in proofs
    ]
    if path == "-":
        print(json.dumps(content, indent=1))
        return
    with open(path, "w") as file:
        json.dump(content, file, indent=1)
