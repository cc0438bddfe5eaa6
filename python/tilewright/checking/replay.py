# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright replay FILE`: a saved launch, run again.

The launch runs in the interpreter with the checks, and compiled if there is a GPU. Then the two
results are compared. If only one side runs, the findings of that side are reported.
`--bisect` finds the optimisation with which the results differ.
"""

from __future__ import annotations

import sys

import numpy as np

from .. import _core, errors, knobs
from ..compiler.bisect import find_culprit
from ..runtime.accesses import AccessTable, program_of
from ..runtime.interpreter import InterpretedLaunch
from ..scalar_types import FRAMEWORK_NAMES, numpy_type
from . import compiled
from .comparison import first_difference
from .findings import Collector
from .report import Report
from .saved import SavedLaunch
from .saved_values import SavedArray
from .views import contents


class _Memory:
    """Copies of a launch's ranges on the host, each at the place within 256 bytes that it had."""

    def __init__(self, saved):
        self.saved, self.buffers, self.addresses = saved, [], []
        for kept, entry in zip(saved.memory, saved.record["memory"]):
            buffer = np.empty(kept.nbytes + 512, np.uint8)
            address = buffer.ctypes.data
            address += (entry["alignment"] - address) % 256
            start = address - buffer.ctypes.data
            buffer[start : start + kept.nbytes] = kept
            self.buffers.append(buffer)
            self.addresses.append(address)

    def array(self, _number, saved_array):
        """A NumPy array over its elements."""
        host = saved_array.host(self.addresses[saved_array.memory])
        array = contents(host, host.address).view(numpy_type(saved_array.dtype))
        array.flags.writeable = saved_array.writable
        return array

    def codes(self):
        """The elements of the arrays, in memory of their own."""
        return [
            contents(a.host(self.addresses[a.memory]), self.addresses[a.memory] + a.offset).copy() for a in _arrays(self.saved)
        ]


class _DeviceArray:
    """An array in a range of GPU memory, with what a launch asks of a tensor."""

    def __init__(self, base, alignment, array):
        self.address = base.data_ptr() + alignment + array.offset
        self.base, self.dtype, self.shape = base, FRAMEWORK_NAMES.get(array.dtype, array.dtype), array.shape
        self.strides = tuple(s // numpy_type(array.dtype).itemsize for s in array.strides)
        self.device = type("device", (), {"type": "cuda", "index": base.device})()

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides


def _arrays(saved):
    return [SavedArray.of(record, saved.memory) for record in saved.record["arrays"]]


def _bound(saved, make_array):
    """The arguments by parameter, and the options."""
    arguments, options = saved.launch(make_array)
    return {name: arguments[name] for name in saved.kernel.arg_names}, options


def run_interpreted(saved, check="", program=None):
    """(findings, codes of the arrays afterwards, accesses of the one program)."""
    memory = _Memory(saved)
    bound, options = _bound(saved, memory.array)
    launch = InterpretedLaunch(saved.kernel, saved.grid, bound, {**options, "check": check} if check else options)
    collector = Collector(saved.kernel, 1)
    collector.listen_to(launch.context)
    table = None
    if program is not None:
        launch.context.choose([program_of(program, saved.grid)])
        table = AccessTable()
        table.listen_to(launch.context)
    collector.run(launch)
    return collector.findings, memory.codes(), table


def run_compiled(saved):
    """The codes of the arrays after the compiled kernel has run on the GPU."""
    if not compiled.has_gpu():
        raise errors.make("E0707", name=saved.name, reason="no CUDA driver, or no GPU that it shows")
    buffers = []
    for kept, entry in zip(saved.memory, saved.record["memory"]):
        padded = np.zeros(entry["alignment"] + kept.nbytes, np.uint8)
        padded[entry["alignment"] :] = kept
        buffers.append(_core.DeviceBuffer(max(padded.nbytes, 1), "int8", 0))
        if padded.nbytes:
            buffers[-1].copy_from(padded)
    entries = saved.record["memory"]
    bound, options = _bound(saved, lambda _, a: _DeviceArray(buffers[a.memory], entries[a.memory]["alignment"], a))
    compiled.run_compiled(saved.kernel, saved.grid, bound, options)
    _core.synchronize(0)
    result = _Memory(saved)
    for buffer, entry, address, host in zip(buffers, entries, result.addresses, result.buffers):
        padded = np.empty(entry["alignment"] + entry["size"], np.uint8)
        if padded.nbytes:
            buffer.copy_to(padded)
        start = address - host.ctypes.data
        host[start : start + entry["size"]] = padded[entry["alignment"] :]
    return result.codes()


def differences(saved, interpreted, computed, rtol=None, atol=None):
    """The first difference of each array."""
    found = [first_difference(a.name, a.dtype, x, y, rtol, atol) for a, x, y in zip(_arrays(saved), interpreted, computed)]
    return [difference for difference in found if difference is not None]


def _position(text):
    try:
        parts = tuple(int(part) for part in text.strip("() ").split(","))
    except ValueError:
        parts = ()
    if not 1 <= len(parts) <= 3:
        raise SystemExit(f"tilewright replay: '{text}' is no program of a grid: 3 or 3,0,0")
    return (*parts, *(0 for _ in range(3 - len(parts))))


def replay_command(arguments) -> int:
    saved = SavedLaunch(arguments.file)
    versions = saved.record["versions"]
    print(f"{saved.name}{list(saved.grid)}, saved by Tilewright {versions['tilewright']}, Python {versions['python']}")
    if arguments.bisect:
        return _bisect(arguments)
    program = _position(arguments.program) if arguments.program else None
    status, interpreted, computed = 0, None, None
    if not arguments.compiled:
        findings, interpreted, table = run_interpreted(saved, arguments.check, program)
        records = [{"kind": "finding", **finding.record()} for finding in findings]
        launch = {
            "kind": "launch",
            "kernel": saved.name,
            "file": arguments.file,
            "line": 0,
            "status": "checked",
            "programs": 1 if program else int(np.prod(saved.grid)),
            "process": 0,
            "reason": "",
        }
        report = Report([launch, *records], [], 0)
        print(report.text())
        status = report.exit_status
        if table is not None:
            print(table)
            return status
    if arguments.compiled or (not arguments.interpret and compiled.has_gpu()):
        computed = run_compiled(saved)
        print("compiled: ran to its end")
    if interpreted is not None and computed is not None:
        status |= _tell_differences(differences(saved, interpreted, computed, arguments.rtol, arguments.atol))
    elif not arguments.interpret and not arguments.compiled:
        print("compiled: not run, as there is no GPU", file=sys.stderr)
    return status


def _bisect(arguments) -> int:
    """Compiles without the later optimisations, again and again, and compares with the interpreter."""
    _, interpreted, _ = run_interpreted(SavedLaunch(arguments.file))
    given = [name.strip() for name in (knobs.compilation.skip_passes or "").split(",") if name.strip()]

    def differs(skipped):
        with knobs.compilation.scope():
            knobs.compilation.skip_passes = ",".join([*given, *skipped])
            saved = SavedLaunch(arguments.file)  # a kernel that is compiled anew
            return bool(differences(saved, interpreted, run_compiled(saved), arguments.rtol, arguments.atol))

    if not differs([]):
        print("compared: both sides agree")
        return 0
    culprit, _ = find_culprit(differs)
    if culprit is None:
        print("results differ without any optimisation, so none of them is the cause")
        return 1
    print(f"first pass with which results differ: {culprit}")
    if not differs([culprit]):
        print(f"TILEWRIGHT_SKIP_PASSES={','.join([*given, culprit])} computes the interpreter's results (tried)")
    return 1


def _tell_differences(found) -> int:
    for difference in found:
        index = f"[{', '.join(map(str, difference.index))}]" if difference.index else ""
        print(
            f"'{difference.array}'{index}: {difference.interpreted!r} interpreted, {difference.compiled!r} compiled; "
            f"{difference.count:,} elements differ"
        )
    if not found:
        print("compared: both sides agree")
    return 1 if found else 0
