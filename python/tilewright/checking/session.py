# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each launch of a process of a checked program, run under the checks.

A launch runs in the interpreter under the checks. The findings go to the journal, and the
program goes on with what the kernel wrote. A launch that cannot be interpreted, or is left
out, runs compiled if there is a GPU, and is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import errors
from ..user_objects import attribute, has_attribute
from ..runtime.host_arrays import lies_on_gpu
from ..runtime.interpreter import InterpretedLaunch, grid_sizes
from ..tools.tensor_descriptor import TensorDescriptor
from . import compiled
from .comparison import Comparison
from .findings import Collector
from .journal import Journal

#: Codes of errors with which the interpreter says that it has no way to run a kernel.
_NO_SOURCE = "E0101"
_NO_ASSEMBLY = "inline assembly cannot run in the interpreter"


@dataclass
class Options:
    """Of the command, for all processes of the program."""

    check: str = ""
    only: tuple = ()
    limit: int = 0  # programs per launch; 0: all
    compare: bool = False
    rtol: float | None = None
    atol: float | None = None
    save: str = ""


class Session:
    """The checks of one process; `run_other_side` is how a launch runs compiled."""

    def __init__(self, folder, run_other_side=None):
        self.journal = Journal(folder)
        self.options = Options(**self.journal.options())
        self._run_other_side = run_other_side

    @property
    def has_other_side(self) -> bool:
        return self._run_other_side is not None or compiled.has_gpu()

    def run_other_side(self, *launch):
        return (self._run_other_side or compiled.run_compiled)(*launch)

    def launch(self, jit_function, grid, bound, options):
        """One launch of the program; what it returns is the compiled kernel, made where somebody looks at it."""
        sizes = grid_sizes(grid, bound)
        if 0 in sizes:
            return None
        number = self.journal.next_launch()
        launch = _Launch(self, number, jit_function, sizes, bound, options)
        if self.options.only and jit_function.__name__ not in self.options.only:
            launch.run_unchecked("left out by --only")
        elif compiled.is_capturing():
            launch.run_unchecked("recorded into a graph")
        else:
            launch.run_checked()
        return compiled.CheckedKernel(jit_function, bound, options)


class _Launch:
    """One launch on its way."""

    def __init__(self, session, number, jit_function, sizes, bound, options):
        self.session, self.number = session, number
        self.jit_function, self.sizes, self.bound, self.options = jit_function, sizes, bound, options
        self.total = sizes[0] * sizes[1] * sizes[2]

    @property
    def call(self):
        return self.jit_function, self.sizes, self.bound, self.options

    def run_checked(self):
        collector = Collector(self.jit_function, self.number)
        options = self.session.options
        chosen = None if options.compare else chosen_programs(self.sizes, options.limit)
        try:
            launch = self._prepared(collector, chosen)
            comparison = self._comparison(launch)
            collector.run(launch)
        except errors.TilewrightError as error:
            self._tell_findings(collector)
            reason = reason_not_interpreted(error)
            if reason is None or not self._can_run_compiled():
                self._tell("failed", reason=f"{error.code}: {error.message}")
                raise
            return self.run_unchecked(reason)
        if self._can_run_compiled() and collector.drop(
            lambda finding: finding.address is not None and lies_on_gpu(finding.address)
        ):
            self._tell_findings(collector)
            return self.run_unchecked("reaches GPU memory by addresses that it finds in memory")
        self._tell_findings(collector)
        self._finish(launch, comparison, chosen)

    def _prepared(self, collector, chosen):
        check = self.session.options.check
        launch = InterpretedLaunch(*self.call[:3], {**self.options, "check": check} if check else self.options)
        collector.listen_to(launch.context)
        if chosen is not None:
            launch.context.choose(chosen)
        return launch

    def _comparison(self, launch):
        if not self.session.options.compare or not self._can_run_compiled():
            return None
        return Comparison(self.call, launch)

    def _finish(self, launch, comparison, chosen):
        """Gives the program the results: those of the interpreter, or of the other side where they are whole."""
        programs = self.total if chosen is None else len(chosen)
        if comparison is not None:
            self._tell("compared", programs=programs)
            difference = comparison.run(self.session, self.number)
            if difference is not None:
                self.session.journal.write("finding", **difference.record())
            return
        if chosen is None:
            launch.write_back()
            if self.session.options.compare:
                self._tell("uncompared", programs=programs, reason="its arrays are the host's")
            else:
                self._tell("checked", programs=programs)
        elif self._can_run_compiled():
            self.session.run_other_side(*self.call)
            self._tell("checked", programs=programs)
        else:
            launch.write_back()
            self._tell("cut", programs=programs)

    def run_unchecked(self, reason):
        self._tell("unchecked", reason=reason)
        if self._can_run_compiled():
            self.session.run_other_side(*self.call)
            return
        # What needs no GPU still has to give the program its results.
        launch = InterpretedLaunch(*self.call[:3], {**self.options, "check": "none"})
        unheard = Collector(self.jit_function, self.number)
        unheard.listen_to(launch.context)
        unheard.run(launch)
        launch.write_back()

    def _can_run_compiled(self) -> bool:
        """Whether the other side is there, and the arguments are where it can reach them."""
        if self.session._run_other_side is not None:
            return True
        return compiled.has_gpu() and not _has_host_arrays(self.bound)

    def _tell(self, status, programs=0, reason=""):
        function = self.jit_function
        self.session.journal.write(
            "launch",
            number=self.number,
            kernel=function.__name__,
            file=function.file,
            line=function.starting_line_number if function.fn is not None else 0,
            grid=list(self.sizes),
            status=status,
            programs=programs,
            reason=reason,
        )

    def _tell_findings(self, collector):
        for finding in collector.findings:
            self.session.journal.write("finding", **finding.record())


def reason_not_interpreted(error) -> str | None:
    """Why the interpreter could not run a kernel that the compiler may know how to; None for other errors."""
    if error.code == _NO_SOURCE:
        return "no Python source"
    return "inline assembly" if _NO_ASSEMBLY in error.message else None


def chosen_programs(sizes, limit):
    """Up to `limit` programs spread over the grid, the first and the last among them; None for all."""
    total = sizes[0] * sizes[1] * sizes[2]
    if not limit or total <= limit:
        return None
    numbers = [0] if limit == 1 else [round(i * (total - 1) / (limit - 1)) for i in range(limit)]
    return [(n % sizes[0], n // sizes[0] % sizes[1], n // (sizes[0] * sizes[1])) for n in numbers]


def _has_host_arrays(value) -> bool:
    """Whether any array among the arguments lies in the host's memory."""
    if isinstance(value, dict):
        return any(map(_has_host_arrays, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(_has_host_arrays, value))
    if isinstance(value, TensorDescriptor):
        return _has_host_arrays(value.base)
    if has_attribute(value, "data_ptr"):
        # What has no shape cannot be read here, but a launch asks for no more than the address.
        return attribute(attribute(value, "device"), "type", "cuda") == "cpu"
    if has_attribute(value, "__cuda_array_interface__") or isinstance(value, np.generic):
        return False
    return has_attribute(value, "__array_interface__") or has_attribute(value, "__dlpack__")
