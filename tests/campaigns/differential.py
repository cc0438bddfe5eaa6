# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""F3: random kernels with products in loops; the compiled ones, on the PTX emulator, must give the interpreter's bits.

    python tests/campaigns/differential.py --first 0 --count 1000 --seconds 600
    python tests/campaigns/differential.py --first 0 --count 20000 --state found.json

With --state the file remembers how far it came and what failed, and a campaign that was ended goes on there.
A seed that fails prints its kernel, options and the first differing element; `--seed N` runs it
alone and `--reduce` drops lines of it while it goes on failing. Whatever ends without a wrong
result but with an error that the interpreter does not raise counts as a failure, too.
"""

import argparse
import importlib.util
import json
import os
import random
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from harness.devices import Emulator, Interpreter  # noqa: E402
from harness.random_loops import SIZE, TILES, Loop  # noqa: E402
from tilewright import errors  # noqa: E402

# Legal, and does not fit the GPU.
DOES_NOT_FIT = ("E0301", "E0303")


def load_kernel(text, folder, name):
    path = Path(folder) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def results(device, kernel, loop_seed, trips, options):
    loop = Loop(loop_seed)  # the same arrays each time
    arrays = loop.arguments(device)
    device.run(kernel, (1,), *arrays, trips, B=SIZE, T=TILES, **options)
    return [np.array(device.numpy(array)) for array in arrays]


def problem_of(seed, text, folder):
    """What is wrong with one kernel, or an empty text."""
    source = random.Random(seed * 7 + 1)
    kernel = load_kernel(text, folder, f"kernel_{seed}_{random.randrange(1 << 40)}")
    trips = source.choice([0, 1, 2, 3, 4, 5])
    try:
        expected = results(Interpreter(), kernel, seed, trips, {})
    except errors.TilewrightError as problem:
        return f"interpreter: {problem}"
    for target in ("sm_80", "sm_90a"):
        options = Loop(seed).options(source)
        try:
            actual = results(Emulator(target), kernel, seed, trips, options)
        except errors.TilewrightError as problem:
            if problem.code in DOES_NOT_FIT:
                continue
            return f"{target} {options} trips={trips}: {problem}"
        except Exception:
            return f"{target} {options} trips={trips}: {traceback.format_exc(limit=-2)}"
        for name, have, want in zip(("a", "b", "c", "d", "index", "out"), actual, expected):
            wrong = np.argwhere(~((have == want) | (np.isnan(have) & np.isnan(want))))
            if len(wrong):
                place = tuple(wrong[0])
                return (f"{target} {options} trips={trips}: {len(wrong)} elements of {name} differ, first {place}: "
                        f"{have[place]} instead of {want[place]}")
    return ""


def problem_in_child(seed, text, folder):
    """The same in a forked process, which a crash of the compiler ends instead of the campaign."""
    answer = Path(folder) / "answer"
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(problem_of(seed, text, folder))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"crash: signal {os.WTERMSIG(status)}"
    return answer.read_text() if answer.exists() else "crash: no answer"


def kind_of(problem):
    """What stays the same while a kernel is made smaller."""
    code = re.search(r"E\d{4}", problem)
    return code[0] if code else "differ" if "differ" in problem else problem.splitlines()[-1][:40]


def reduced(seed, text, folder):
    """Fewer lines with the same kind of problem."""
    kind, lines = kind_of(problem_in_child(seed, text, folder)), text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("    for trip"))
    at = len(lines) - 1
    while at > first:
        shorter = "\n".join(lines[:at] + lines[at + 1:])
        problem = problem_in_child(seed, shorter, folder)
        if problem and kind_of(problem) == kind and not problem.startswith(("interpreter", "crash: no")):
            del lines[at]
        at -= 1
    return "\n".join(lines)


def run(count=20, first=0, seconds=1e9, keep=0, report=print, state=None):
    """Campaign F3 over `count` seeds; raises AssertionError with the failing ones. `state` is a file to go on from."""
    start, done, failed = time.monotonic(), 0, []
    if state is not None and state.exists():
        known = json.loads(state.read_text())
        first, done, failed = known["first"], known["done"], known["failed"]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first + done, first + count):
            if time.monotonic() - start > seconds:
                break
            problem = problem_in_child(seed, Loop(seed).text, folder)
            done += 1
            if problem:
                failed.append(seed)
                report(f"seed {seed}: {problem}", flush=True)
            if state is not None:
                state.write_text(json.dumps({"first": first, "done": done, "failed": failed}))
    assert not failed, f"F3: seeds {failed} of {first} to {first + done - 1} fail"
    return f"F3: {done} kernels from seed {first}, each for two targets, no difference"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--state", type=Path, help="a file that remembers how far the campaign came")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--reduce", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        try:
            print(run(options.count, options.first, options.seconds, state=options.state))
        except AssertionError as error:
            print(error)
            return 1
        return 0
    with tempfile.TemporaryDirectory() as folder:
        text = Loop(options.seed).text
        if options.reduce:
            text = reduced(options.seed, text, folder)
        print(text)
        print(problem_in_child(options.seed, text, folder) or "no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
