# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every launch of a program with its times; what `tilewright profile` shows.

    with tilewright.profiler.record() as profile:
        kernel[grid](...)
    print(profile.table())
    profile.write_trace("launches.json")

The launcher writes one record per launch (runtime/profile/LaunchLog.h): CUPTI times the
kernels where a library of it is found, events where not. Unlike sessions this calls no Python at a launch.
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import threading
from dataclasses import dataclass

from .. import _core, errors, knobs, observers
from . import launch_trace
from .launch_report import Report
from .names import label_of

# Where toolkits keep it, below their own folder.
_TOOLKIT_FOLDERS = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib")


@dataclass
class Launch:
    """One launch. Times in nanoseconds of one clock; start and end are None where the kernel was not timed."""

    kernel: int
    grid: tuple
    stream: int
    thread: int
    called: int
    submitted: int
    returned: int
    missed: int  # spent in compiling and loading
    start: int | None
    end: int | None
    is_captured: bool
    words: tuple
    device: int

    @property
    def overhead(self):
        """What the launch took of the host."""
        return self.returned - self.called

    @property
    def seconds(self):
        return None if self.start is None else (self.end - self.start) * 1e-9


@dataclass
class Tuning:
    """A choice of a tuned kernel."""

    kernel: str
    key: str
    config: str
    configurations: int  # that were measured; 0: the choice was on disk
    begin: int
    end: int
    thread: int


@dataclass
class InterpretedRun:
    kernel: str
    grid: tuple
    begin: int
    end: int
    thread: int


# ---------------------------------------------------------------------------
# CUPTI's library
# ---------------------------------------------------------------------------


def _loaded_already():
    """The copy that some other part of the process uses: two would be in each other's way."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return sorted({"/" + line.partition("/")[2].rstrip() for line in maps if "/libcupti.so" in line})
    except OSError:
        return []


def _version_of_library(path):
    digits = path.rpartition("libcupti.so.")[2].split(".")[0]
    return int(digits) if digits.isdigit() else 0


def cupti_candidates() -> list:
    """Paths under which the library may be, best first; none where the knob says off."""
    configured = knobs.nvidia.cupti
    if configured:
        if configured == "off":
            return []
        is_folder = os.path.isdir(configured)
        return sorted(glob.glob(os.path.join(configured, "libcupti.so*")), reverse=True) if is_folder else [configured]
    folders = []
    for wheels in _core.find_wheel_folders(sys.path):
        folders += glob.glob(os.path.join(wheels, "cu*", "lib")) + [os.path.join(wheels, "cuda_cupti", "lib")]
    for home in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        folders += [os.path.join(home, folder) for folder in _TOOLKIT_FOLDERS]
    newest = _core.driver_info()[1] // 1000 if _core.driver_available() else 99
    found = [
        path
        for folder in folders
        for path in sorted(glob.glob(os.path.join(folder, "libcupti.so.*")))
        if _version_of_library(path) <= newest
    ]
    found.sort(key=_version_of_library, reverse=True)  # stable: wheels before toolkits
    return [*_loaded_already(), *found, *(f"libcupti.so.{version}" for version in (13, 12) if version <= newest), "libcupti.so"]


# ---------------------------------------------------------------------------
# Recording
# ---------------------------------------------------------------------------


class Recording:
    """What is kept while launches are recorded, and what became of them after stop()."""

    #: Those between start() and stop().
    running: list = []

    def __init__(self):
        self.tunings: list = []
        self.interpreted: list = []
        self.launches: list = []
        self.kernels: list = []
        self.others: list = []
        self.cupti = ""  # path of the library that timed the kernels
        self.begin = self.end = 0
        self.uncounted = self.dropped = 0
        self.is_forked = False

    # -- what happens meanwhile ---------------------------------------------

    def _note_choice(self, tuner, nargs, kwargs, key, config):
        self.tunings.append(
            Tuning(
                tuner.base_fn.__qualname__,
                str(key),
                str(config),
                len(tuner.tuner.candidates),
                observers.tuning_began(),
                _core.profile_now(),
                threading.get_ident(),
            )
        )

    def _timed_interpreter(self, run):

        def timed(function, grid, bound, options):
            sizes = [] if callable(grid) else [grid]

            def remembered(meta):
                sizes.append(grid(meta))
                return sizes[0]

            begin = _core.profile_now()
            try:
                return run(function, remembered if callable(grid) else grid, bound, options)
            finally:
                if sizes:  # else the program's function has failed
                    self.interpreted.append(
                        InterpretedRun(
                            function.__qualname__, _grid3(sizes[0]), begin, _core.profile_now(), threading.get_ident()
                        )
                    )

        return timed

    # -- start and stop -----------------------------------------------------

    def start(self, ranges):
        candidates = cupti_candidates()
        try:
            reason = _core.profile_start(candidates, label_of, ranges)
        except ValueError:
            raise errors.make("E0714") from None
        self.begin = _core.profile_now()
        self.cupti = "" if reason else _core.cupti_path()
        observers.choices.append(self._note_choice)
        observers.interpreted_launches.append(self._timed_interpreter)
        Recording.running.append(self)
        if reason and knobs.nvidia.cupti != "off" and _core.driver_available():
            try:
                errors.warn("W0711", reason=reason)
            except Warning:  # a program may make errors of warnings
                self.stop()
                raise

    def forget(self):
        """In a forked child: what was recorded is the parent's, and so is the log of launches."""
        self.is_forked = True
        self.tunings.clear()
        self.interpreted.clear()
        self.cupti = ""
        self.begin = self.end = _core.profile_now()

    def stop(self):
        Recording.running.remove(self)
        observers.interpreted_launches.remove(self._timed_interpreter)
        observers.choices.remove(self._note_choice)
        if self.is_forked:
            self.end = _core.profile_now()
            return
        log = _core.profile_stop()
        self.kernels, self.others = log["kernels"], log["others"]
        self.uncounted, self.dropped, self.end = log["uncounted"], log["dropped"], log["end"]
        devices = log["devices"]  # by kernel
        self.launches = [
            Launch(*row[:8], *((None, None) if row[8] < 0 else row[8:10]), *row[10:], devices[row[0]])
            for row in sorted(log["launches"], key=lambda row: row[5])
        ]
        untimed = sum(launch.start is None and not launch.is_captured for launch in self.launches)
        if self.uncounted or untimed:
            errors.warn(
                "W0712",
                n=self.uncounted + untimed,
                m=self.uncounted + len(self.launches),
                reason=f"{self.uncounted} beyond the limit of the log, {untimed} without a time "
                f"({self.dropped} records were lost)",
            )

    # -- what it shows -------------------------------------------------------

    def values_of(self, launch) -> dict:
        """Numbers of a launch's arguments by name: integers, and bytes of arrays."""
        kernel = self.kernels[launch.kernel]
        if kernel is None:
            return {}
        fn = getattr(kernel.src, "fn", None)
        declared = [p.name for p in fn.params if not p.is_constexpr] if fn is not None else []
        names = declared if len(declared) == len(launch.words) else list(kernel.signature)
        return dict(zip(names, launch.words))

    def is_of_tuning(self, launch) -> bool:
        return any(t.thread == launch.thread and t.begin <= launch.submitted <= t.end for t in self.tunings)

    def table(self, **options) -> str:
        return Report(self).text(**options)

    def as_json(self) -> dict:
        return Report(self).as_json()

    def write_trace(self, path):
        """Writes a file for chrome://tracing or Perfetto."""
        launch_trace.write(self, path)


def _grid3(grid):
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    return (*grid, *(1,) * (3 - len(grid)))


@contextlib.contextmanager
def record(ranges=None):
    """Records every launch inside; `ranges` puts NVTX ranges around them for a tool that watches (TRITON_ENABLE_NVTX)."""
    recording = Recording()
    recording.start(knobs.proton.enable_nvtx if ranges is None else ranges)
    try:
        yield recording
    finally:
        recording.stop()
