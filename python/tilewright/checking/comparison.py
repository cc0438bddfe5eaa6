# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Both sides of one launch, compared element by element.

The interpreter works on copies that are taken before the launch; then the compiled kernel
runs on the arrays of the program, which goes on with its results. The results of both are
compared array by array. To find the program that wrote the first element that differs, the
launch runs in the interpreter once more, and writes of that element are noted.

Not handled: what a kernel writes outside of its arguments' elements.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from .. import errors
from ..runtime.host_arrays import DeviceCopies, size_of
from ..runtime.interpreter import InterpretedLaunch, running_frames
from .findings import Collector, Finding, frame_record, is_finding
from .saved import save
from .views import contents, decoded

#: (relative, absolute) by element type: some roundings of the type for what was summed in
#: another order, and what tf32 products lose.
TOLERANCES = {"fp64": (1e-9, 1e-12), "fp32": (2e-3, 1e-4), "fp16": (1e-2, 1e-3), "bf16": (4e-2, 1e-2)}
_FLOAT8 = (0.25, 0.05)
#: Floats this many steps of their type apart are equal whatever the tolerances say.
ULPS = 4


@dataclass
class Difference:
    """The first element of an array that differs."""

    array: str
    index: tuple
    flat: int
    interpreted: object
    compiled: object
    count: int


def first_difference(name, dtype, interpreted, computed, rtol=None, atol=None):
    """Where two arrays of one element type differ by more than they may; None where they agree."""
    a, b = decoded(interpreted, dtype), decoded(computed, dtype)
    if a.dtype.kind == "f":
        default = TOLERANCES.get(dtype, _FLOAT8)
        differs = ~_close(
            a,
            b,
            default[0] if rtol is None else rtol,
            default[1] if atol is None else atol,
            _ulps(dtype, interpreted, computed),
        )
    else:
        differs = a != b
    count = int(differs.sum())
    if not count:
        return None
    flat = int(np.flatnonzero(differs.reshape(-1))[0])
    index = tuple(int(i) for i in np.unravel_index(flat, a.shape))
    return Difference(name, index, flat, a.reshape(-1)[flat].item(), b.reshape(-1)[flat].item(), count)


def _close(a, b, rtol, atol, ulps):
    """Equal, both NaN, within the tolerances, or few steps apart."""
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        near = np.abs(a - b) <= atol + rtol * np.abs(a)
    return (a == b) | (np.isnan(a) & np.isnan(b)) | (finite & (near | ulps))


def _ulps(dtype, a, b):
    """Whether the codes of two floats are at most ULPS apart, as numbers of one sign."""
    size = size_of(dtype)
    if size == 1:
        return np.zeros(a.shape, bool)  # a step of these is a quarter of the number
    code = {2: np.int16, 4: np.int32, 8: np.int64}[size]
    x, y = (np.ascontiguousarray(v).view(code) for v in (a, b))
    # Negative floats count downwards.
    x, y = (np.where(v < 0, np.iinfo(code).min - v, v).astype(np.float64) for v in (x, y))
    return np.abs(x - y) <= ULPS


class Comparison:
    """A launch that the interpreter is about to run, with what it needs to run twice more."""

    def __init__(self, call, launch):
        self.call, self.launch = call, launch
        self.before = Snapshot(launch)

    def run(self, session, number):
        """Runs the other side and compares; a finding for the first difference, or None."""
        interpreted = self.launch.copies
        names = [name for name, _, _ in self.launch.arguments.arrays]
        if not interpreted.blocks:
            # The arrays are the host's own, which the interpreter has written: they get their
            # contents back, and what it wrote is kept.
            own = Snapshot(self.launch)
            self.before.put_back()
            wrote = own.views()
        else:
            wrote = [contents(a, interpreted.host_address(a)) for a in self.launch.arrays]
        try:
            session.run_other_side(*self.call)
        except errors.TilewrightError as error:
            if is_finding(error):
                session.journal.write("finding", **self._failed(error, number).record())
            raise  # the program may know what to do
        after = DeviceCopies(self.launch.arrays)
        options = session.options
        for position, (name, array) in enumerate(zip(names, self.launch.arrays)):
            computed = contents(array, after.host_address(array))
            found = first_difference(name, array.dtype, wrote[position], computed, options.rtol, options.atol)
            if found is not None:
                return self._finding(session, number, position, found)
        return None

    def _failed(self, error, number):
        made = errors.make("E0426", code=error.code, message=error.message)
        return Finding("E0426", made.message, made.help, [], [], self.call[0].__name__, number, [0, 0, 0])

    def _finding(self, session, number, position, found):
        program, frames = self._writer(position, found)
        at = "" if not found.index else f"[{', '.join(map(str, found.index))}]"
        made = errors.make("E0425", a=found.array, i=at, v=repr(found.interpreted), c=repr(found.compiled))
        notes = [f"{found.count:,} elements of '{found.array}' differ"] if found.count > 1 else []
        if program is None:
            notes.append("no program wrote the element in the interpreter")
        finding = Finding(
            "E0425", made.message, made.help, notes, frames, self.call[0].__name__, number, list(program or (0, 0, 0))
        )
        if session.options.save:
            self._save(session.options.save, finding)
        return finding

    def _save(self, path, finding):
        if os.path.exists(path):
            return  # the first launch that differs is the one to look at
        try:
            save(path, self.call, self.before, finding)
            finding.notes.append(f"saved: tilewright replay {path}")
        except errors.TilewrightError as error:
            finding.notes.append(error.message)

    def _writer(self, position, found):
        """(program, frames) of the last store to the element in the interpreter."""
        launch = self.before.interpreted_again(self.call)
        last: list = [None, []]

        def wrote(_kind, _lane):
            last[:] = launch.context.program, [frame_record(f) for f in running_frames()]

        unheard = Collector(self.call[0], 0)
        unheard.listen_to(launch.context)
        array = launch.arrays[position]
        offsets = sum(i * s for i, s in zip(found.index, array.strides))
        launch.context.watch_element(position, offsets // size_of(array.dtype), wrote)
        unheard.run(launch)
        return last


class Snapshot:
    """The bytes of a launch's arrays at one time, on the host."""

    def __init__(self, launch):
        self.launch = launch
        self.ranges = _ranges(launch)  # (address on the host, size)
        self.kept = [bytes_at(address, size).copy() for address, size in self.ranges]

    def put_back(self):
        for (address, size), kept in zip(self.ranges, self.kept):
            bytes_at(address, size)[...] = kept

    def place(self, array):
        """(range, offset in it) of an array's element [0, ..., 0]."""
        there = self.launch.copies.host_address(array)
        number = next(n for n, (address, size) in enumerate(self.ranges) if address <= there <= address + size)
        return number, there - self.ranges[number][0]

    def address(self, array, memory=None):
        """Where an array's element [0, ..., 0] lies in what is kept, or in copies of that."""
        number, offset = self.place(array)
        return (memory or self.kept)[number].ctypes.data + offset

    def views(self):
        return [contents(array, self.address(array)) for array in self.launch.arrays]

    def interpreted_again(self, call):
        """The launch on copies of what is kept, which stays as it is."""
        return InterpretedLaunch(*call[:3], {**call[3], "check": "none"}, memory=_KeptMemory(self))


class _KeptMemory:
    """Takes the place of a launch's DeviceCopies: all its arrays lie in copies of a snapshot."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self.copies = [kept.copy() for kept in snapshot.kept]

    def host_address(self, array):
        return self.snapshot.address(array, self.copies)


def _ranges(launch):
    """The bytes that the arrays reach on the host, arrays that overlap in one range."""
    spans = []
    for array in launch.arrays:
        low, high = array.span()
        start = launch.copies.host_address(array) + low - array.address
        spans.append((start, start + high - low))
    merged: list = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return [(low, high - low) for low, high in merged]


def bytes_at(address, size):
    """The bytes of a range as a NumPy array that shares them."""
    import ctypes

    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
