# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs guessed launches of a kernel in the interpreter and on the PTX emulator, and compares what they leave in memory.

A launch that the interpreter refuses, or that writes nothing, says nothing about the compiler: other arguments are
tried. One that it accepts is compiled for several targets, numbers of warps and stages, with and without
optimisations. The same target and number of warps must agree at all numbers of stages but for the order of sums.
"""

import collections
import contextlib
import dataclasses
import os
import random
import signal
import sys
import time
import zlib
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent / "inside")]

from emulated_launches import compare, compiled_form, dtypes_by_storage, emulated, interpreted  # noqa: E402
from launch_copies import Copies, Uncomparable  # noqa: E402
from suites.guessed_arguments import ATTEMPTS, Arguments  # noqa: E402

GRID = (2, 2, 2)
PROGRAMS = ((0, 0, 0), (1, 1, 1))
# Launches of one kernel that are compared.
JUDGED = 2
# After so many times the limit of one run no other run of a kernel begins.
KERNEL_LIMITS = 4
# As signature_guess.VARIANTS, with small tiles first: the emulator takes its time, and loops run more often.
VARIANTS = (
    ("fp16", True, 32),
    ("bf16", False, 32),
    ("fp32", True, 32),
    ("fp16", False, 64),
    ("fp16", True, 16),
    ("i32", False, 32),
    ("u8", False, 32),
)
KEPT = os.environ.get("JUDGED_KEPT", "")  # a folder for the PTX of what differs


@dataclasses.dataclass(frozen=True)
class Configuration:
    target: str
    warps: int
    stages: int
    skipped: tuple = ()

    def __str__(self):
        skipped = {0: ""}.get(len(self.skipped), f" without {len(self.skipped)} passes")
        return f"{self.target} {self.warps} warps {self.stages} stages{skipped}"


def configurations(name, passes):
    """For each compared launch some of the product of all that there is: which ones, the kernel's name decides."""
    choose = random.Random(zlib.crc32(name.encode()))
    targets, warps, stages = ("sm_90a", "sm_80"), [1, 2, 4, 8], [1, 2, 3, 4]
    choose.shuffle(warps)
    choose.shuffle(stages)
    some = tuple(p for p in passes if choose.random() < 0.5)
    target = choose.choice(targets)
    first = [
        Configuration("sm_90a", 4, 1),
        Configuration("sm_90a", 4, choose.choice([3, 4])),
        Configuration("sm_80", warps[0], stages[0]),
        Configuration(target, warps[1], stages[1], tuple(passes)),
    ]
    second = [
        Configuration("sm_80", warps[2], stages[2]),
        Configuration("sm_80", warps[2], stages[3]),
        Configuration("sm_90a", warps[3], stages[3]),
        Configuration(target, warps[3], choose.choice([2, 3, 4]), some),
    ]
    return [first, second]


class Refused(Exception):
    """Why a launch cannot be compared, and the code of the error."""

    def __init__(self, message, code=""):
        super().__init__(message)
        self.code = code


def written(before, after) -> int:
    return sum(int((before.storages[key] != piece).sum()) for key, piece in after.storages.items())


@dataclasses.dataclass
class Launch:
    """A launch that the interpreter accepts."""

    bound: dict
    before: Copies
    after: Copies
    programs: tuple


def with_room_before(value):
    """For the interpreter, which allows what an array's strides reach: the array with as much memory before it."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        return value
    strides = (-value.nbytes, value.itemsize)
    return np.lib.stride_tricks.as_strided(value, (2, value.size), strides)


def whole_views(bound, copies):
    """For the emulator, which places the memory that a view is a part of: arrays as parts of their pieces."""
    found = dict(bound)
    for name, value in bound.items():
        for piece in copies.storages.values() if isinstance(value, np.ndarray) and value.ndim == 1 else ():
            offset = value.ctypes.data - piece.ctypes.data
            if 0 <= offset < piece.nbytes:
                found[name] = piece[offset : offset + value.nbytes].view(value.dtype)
    return found


def interpret(function, bound, copies, options, programs):
    """What these programs leave in memory; raises Refused."""
    own, after = copies.again(bound)
    own = {name: with_room_before(value) for name, value in own.items()}
    try:
        with np.errstate(all="ignore"):
            interpreted(function, GRID, own, options, list(programs))
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, this launch is none
        code = getattr(error, "code", "")
        text = f"interpreter {code or type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
        raise Refused(text, code) from None
    return after


def reference_of(function, arguments, options):
    """The launch with what the interpreter leaves in memory; where programs race, of one alone."""
    copies = Copies()
    try:
        bound = {name: copies.of(name, value) for name, value in arguments.bound.items()}
    except Uncomparable as error:
        raise Refused(str(error)) from None
    programs = PROGRAMS
    try:
        after = interpret(function, bound, copies, options, programs)
    except Refused as reason:
        if reason.code not in ("E0408", "E0409", "E0410", "E0411"):
            raise
        programs = PROGRAMS[:1]
        after = interpret(function, bound, copies, options, programs)
    if not written(copies, after):
        raise Refused("it writes nothing")
    return Launch(bound, copies, after, programs)


@contextlib.contextmanager
def without_passes(names):
    """What TILEWRIGHT_SKIP_PASSES says stays out as well."""
    before = os.environ.get("TILEWRIGHT_SKIP_PASSES")
    os.environ["TILEWRIGHT_SKIP_PASSES"] = ",".join(filter(None, [before, *names]))
    try:
        yield
    finally:
        os.environ.pop("TILEWRIGHT_SKIP_PASSES")
        if before is not None:
            os.environ["TILEWRIGHT_SKIP_PASSES"] = before


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TimeoutError after so many seconds of computing."""

    def too_long(*_):
        raise TimeoutError

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def keep(function, configuration, kernel):
    if KEPT:
        name = f"{function.__name__}.{configuration.target}.{configuration.warps}.{configuration.stages}"
        Path(KEPT, f"{name}.{len(configuration.skipped)}.ptx").write_text(kernel.asm["ptx"])


def run_configuration(function, launch, configuration, options, earlier):
    """(kind, text) of a difference or of why there is none to see; earlier runs of target and warps are compared too."""
    copies = launch.before
    chosen = {**options, "num_warps": configuration.warps}
    try:
        with without_passes(configuration.skipped):
            kernel = compiled_form(function, launch.bound, chosen, configuration.target, configuration.stages)
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001
        code = getattr(error, "code", "") or type(error).__name__
        return "refused", f"{code}: {str(error).splitlines()[0][:160]}"
    own_bound, own = copies.again(launch.bound)
    try:
        with np.errstate(all="ignore"):
            emulated(kernel, GRID, whole_views(own_bound, own), list(launch.programs))
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001
        keep(function, configuration, kernel)
        return "fault", f"{type(error).__name__}: {str(error)[:300]}"
    dtypes = dtypes_by_storage(launch.bound, copies)
    if text := compare(copies, launch.after, own, dtypes):
        keep(function, configuration, kernel)
        return "WRONG", text
    if not configuration.skipped:
        previous = earlier.setdefault((configuration.target, configuration.warps), own)
        if text := compare(copies, previous, own, dtypes, strict=True):
            keep(function, configuration, kernel)
            return "stages", text
    return "same", ""


def judge_launch(function, launch, chosen, options, seconds, result, say):
    """Compares one launch at the configurations, and adds what was seen to the result."""
    earlier = {}
    for configuration in chosen:
        if time.process_time() > result["until"]:
            result["counts"]["time"] += 1
            continue
        say(at=f"{result['attempt']}, {configuration}")
        try:
            with time_limit(seconds):
                kind, text = run_configuration(function, launch, configuration, options, earlier)
        except TimeoutError:
            kind, text = "time", ""
        result["counts"][kind] += 1
        if kind != "same":
            result["seen"].append([kind, str(configuration), result["attempt"], text])


def status_of(counts) -> str:
    """What became of a kernel: the worst of its comparisons."""
    for kind in ("WRONG", "stages", "fault"):
        if counts[kind]:
            return kind
    return "same" if counts["same"] else "not compiled" if counts["refused"] else "time" if counts["time"] else "not judged"


def judge(function, guesses, facts, passes, seconds, say=lambda **facts: None) -> dict:
    """What became of the launches of a kernel, for JSON."""
    result = {"counts": collections.Counter(), "seen": [], "reasons": [], "judged": 0, "attempt": ""}
    result["until"] = time.process_time() + KERNEL_LIMITS * seconds
    plans = configurations(function.__name__, passes)
    left = dict(enumerate(guesses))
    for number, attempt in enumerate(ATTEMPTS):
        for choice, guess in list(left.items()):
            result["attempt"] = f"guess {choice} of attempt {number}"
            say(at=result["attempt"])
            options = {name: value for name, value in guess.options.items() if name == "num_warps"}
            try:
                with time_limit(seconds):
                    launch = reference_of(function, Arguments(function, guess, facts, attempt), options)
            except Refused as reason:
                result["reasons"].append(str(reason))
                if reason.code.startswith("E01"):  # a kernel that does not compile so does not with other values
                    del left[choice]
                continue
            except TimeoutError:
                result["reasons"].append("interpreter: time")
                del left[choice]
                continue
            judge_launch(function, launch, plans[result["judged"]], options, seconds, result, say)
            result["judged"] += 1
            if len(left) > 1:
                del left[choice]
            break
        if result["judged"] == JUDGED or not left or time.process_time() > result["until"]:
            break
    del result["until"]
    result["status"] = status_of(result["counts"])
    result["reasons"] = list(dict.fromkeys(result["reasons"]))[:6]
    return result


def summary(results) -> str:
    """Kernels by what became of them, comparisons by theirs, and what differs, line by line."""
    kernels, runs = collections.Counter(r["status"] for r in results), collections.Counter()
    for line in results:
        runs.update(line.get("counts", {}))
    lines = [f"{len(results)} kernels: " + ", ".join(f"{count} {name}" for name, count in kernels.most_common())]
    lines.append("compilations: " + ", ".join(f"{count} {name}" for name, count in runs.most_common()))
    for line in results:
        for kind, where, attempt, text in line.get("seen", ()):
            if kind in ("WRONG", "stages", "fault"):
                lines.append(f"{kind}  {line['repository']}/{line['file']}:{line['kernel']} {where}, {attempt}: {text}")
    return "\n".join(lines)
