# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The answers about a kernel, with every witness confirmed by the interpreter."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field

from .. import errors
from . import replay, report
from .conditions import setting_of_conditions
from .encode import now, solver_library
from .launch import setting_of_launch
from .numbers import evaluated
from .questions import OUTSIDE, REFUTED, Prover, expressions
from .rebuild import divisors

__all__ = ["Proof", "prove_conditions", "prove_launch"]

#: Seconds for one question.
DEFAULT_TIMEOUT = 10.0


@dataclass
class Proof:
    """What is known of each access of a kernel.

    findings: questions.Finding, in program order
    about: the launch or the conditions, in words
    """

    kernel: str
    about: str
    findings: list = field(default_factory=list)
    seconds: float = 0.0

    @property
    def refuted(self):
        """Whether the interpreter confirms a mistake."""
        return any(outcome.verdict == REFUTED for finding in self.findings for outcome in (finding.bounds, finding.races))

    @property
    def proved(self):
        """Whether every access is in bounds and no two programs race."""
        return all(outcome.verdict == "proved" for finding in self.findings for outcome in (finding.bounds, finding.races))

    def rows(self):
        """A dict of plain values per access, for tables and JSON."""
        return [report.row(finding) for finding in self.findings]

    def __str__(self):
        return report.text(self)


@contextlib.contextmanager
def _deep_expressions():
    """An unrolled loop makes expressions as deep as it is long, and they are walked by recursion."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@_deep_expressions()
def prove_launch(kernel, grid, bound, options=None, timeout=DEFAULT_TIMEOUT):
    """Proves or refutes for `kernel[grid](...)`; `bound` maps every parameter to its value."""
    solver_library()
    start = now()
    setting = setting_of_launch(kernel, grid, bound, options)
    prover = Prover(setting, timeout)
    findings = prover.findings()

    def arguments(_):
        regions = replay.overlapping(setting, replay.host_arrays(bound))
        return replay.copies_of_launch(bound, regions)

    _confirm(setting, findings, arguments)
    sizes = tuple(extent.constant for extent in setting.grid)
    return Proof(kernel.__name__, f"a launch of {' x '.join(map(str, sizes))} programs", findings, now() - start)


@_deep_expressions()
def prove_conditions(kernel, signature, constants, grid, arrays, assume="", options=None, timeout=DEFAULT_TIMEOUT):
    """Proves or refutes for all launches that satisfy `assume`; see conditions.setting_of_conditions."""
    solver_library()
    start = now()
    setting = setting_of_conditions(kernel, signature, constants, grid, arrays, assume, options)
    findings = Prover(setting, timeout).findings()

    def arguments(witness):
        sizes = setting.symbols_of(witness["sizes"])
        return replay.arguments_of_conditions(setting, lambda poly: evaluated(poly, sizes))

    _confirm(setting, findings, arguments)
    return Proof(kernel.__name__, f"all launches with {assume or 'any sizes'}, grid ({grid})", findings, now() - start)


def _confirm(setting, findings, arguments):
    """Every witness is run; one that the interpreter does not see is no witness.

    For all sizes the data are made up, so what depends on them is not refuted by running it.
    """
    for finding in findings:
        for outcome, codes in ((finding.bounds, replay.BOUNDS), (finding.races, replay.RACES)):
            witness = outcome.witness
            if setting.sizes and outcome.verdict == OUTSIDE:
                continue
            if witness is None or "confirmed" in witness:  # a pair of accesses shares its witness
                continue
            if not replay.is_small_enough(witness, setting):
                witness["confirmed"] = None
                continue
            programs = [witness["program"], *([witness["other program"]] if "other program" in witness else [])]
            run = replay.Replay(setting.kernel, witness["grid"], arguments(witness), setting.options)
            error, other = run.finds(programs, codes)
            witness["confirmed"] = error is not None
            if error is not None:
                witness["report"] = f"{error.code}: {error.message}"
                outcome.verdict, outcome.reason = REFUTED, ""
            elif outcome.verdict == REFUTED:
                _not_confirmed(finding, outcome, witness, other)


def _not_confirmed(finding, outcome, witness, other):
    """A refutation without its error: equal values may be stored twice, anything else is a mistake in here.

    other: another error that ended one of the programs
    """
    kinds = {finding.access.kind, witness.get("other kind", "")}
    if divisors(expressions([finding.access])):
        outcome.verdict, outcome.reason = OUTSIDE, "a division that may be by zero"
    elif outcome is finding.races and kinds == {"store"}:
        outcome.verdict, outcome.reason = OUTSIDE, "two programs store one element; the replay found equal values"
    elif other is not None:
        outcome.verdict, outcome.reason = OUTSIDE, f"a program of the witness ends earlier, with {other.code}"
    else:
        raise errors.make(
            "E0429", line=finding.access.frames[0][2], p=witness["program"], a=witness["array"], i=witness["element"]
        )
