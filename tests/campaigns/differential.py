# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""F3: random kernels; the compiled ones must give the interpreter's bits, and both those of an oracle in NumPy.

    python tests/campaigns/differential.py --first 0 --count 1000 --seconds 600
    python tests/campaigns/differential.py --first 0 --count 20000 --state found.json --jobs 16
    python tests/campaigns/differential.py --first 0 --count 5000 --device gpu --jobs 16
    python tests/campaigns/differential.py --seed 17 --reduce

The compiled kernels run on the PTX emulator for two targets, or on the GPU of this machine. With
--state the file remembers how far it came and what failed, and a campaign that was ended goes on
there; --first and --count may then only grow. `--seed N` runs one kernel and prints it; `--reduce`
drops lines of it while it goes on failing. Kernels that all evaluators refuse with one code are
mistakes of the grammar; they are counted. What does not fit the GPU is, too.
"""

import argparse
import importlib.util
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from campaigns import workers  # noqa: E402
from campaigns.reducer import reduced  # noqa: E402
from harness import numpy_language  # noqa: E402
from harness.devices import TARGETS, Emulator, Gpu, Interpreter  # noqa: E402
from harness.random_kernels import RandomKernel  # noqa: E402
from harness.random_loops import Loop  # noqa: E402
from tilewright import errors  # noqa: E402

# Legal, and does not fit the GPU.
DOES_NOT_FIT = ("E0301", "E0302", "E0303")
# What the check of machine code says where a kernel asks for fewer registers (maxnreg) than its products or warps need.
TOO_FEW_REGISTERS = ("insufficient register resources", "registers in")
# Every so many seeds one of loops with products, as pipelining meets them.
LOOPS_EVERY = 8


def program_of(seed):
    return Loop(seed) if seed % LOOPS_EVERY == LOOPS_EVERY - 1 else RandomKernel(seed)


def load_kernel(text, folder, name):
    path = Path(folder) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def results(device, kernel, program, options):
    """Every array after a launch."""
    given, arrays = program.arguments(device)
    device.run(kernel, program.grid, *given, **program.constants, **options)
    return {name: np.array(device.numpy(array)) for name, array in arrays.items()}


def expected_by_oracle(text, program):
    given, arrays = program.arguments(Interpreter())
    with np.errstate(all="ignore"):
        numpy_language.evaluate(text, program.grid, given, program.constants)
    return arrays


def difference(actual, expected):
    """The first element that differs, or an empty text; every NaN is like another."""
    for name, want in expected.items():
        have = actual[name]
        a, b = (part.astype(np.float64) if part.dtype.kind not in "biu" else part for part in (have, want))
        wrong = a != b
        if a.dtype.kind == "f":
            wrong &= ~(np.isnan(a) & np.isnan(b))
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            return f"{wrong.sum()} elements of {name} differ, first {list(place)}: {have[place]} instead of {want[place]}"
    return ""


def attempt(run):
    """Results, or what went wrong: an error's code first where it has one."""
    try:
        return run(), ""
    except errors.TilewrightError as problem:
        return None, str(problem)
    except (Exception, SystemExit):
        return None, traceback.format_exc(limit=-2)


def code_of(problem):
    at = problem.find("[E")
    return problem[at + 1 : at + 6] if at >= 0 and problem[at + 6 : at + 7] == "]" else ""


def compiled_devices(device):
    """Those whose results have to be the interpreter's; none, to compare that with the oracle alone, which is quick."""
    if device == "interpreter":
        return []
    return [("gpu", Gpu())] if device == "gpu" else [(target, Emulator(target)) for target in TARGETS]


def outcome_of(program, text, folder, device="emulator"):
    """(what came of one kernel, what is wrong with it): same, refused, unfit, or wrong."""
    source = random.Random(program.seed * 7 + 1)
    kernel = load_kernel(text, folder, f"kernel_{program.seed}_{random.randrange(1 << 40)}")
    oracle, oracle_problem = attempt(lambda: expected_by_oracle(text, program))
    expected, problem = attempt(lambda: results(Interpreter(), kernel, program, {}))
    refusal, problems, unfit = code_of(problem), [], False
    if problem:
        problems.append(f"interpreter: {problem}")
    elif oracle_problem:
        problems.append(f"oracle: {oracle_problem}")
    elif found := difference(expected, oracle):
        problems.append(f"interpreter, not as the oracle: {found}")
    for name, compiled in compiled_devices(device):
        options = program.options(source)
        actual, failure = attempt(lambda: results(compiled, kernel, program, options))
        if failure and (
            code_of(failure) in DOES_NOT_FIT
            or f"on {name}" in failure.split("\n")[0]
            or any(text in failure.strip().rpartition("\n")[2] for text in TOO_FEW_REGISTERS)
        ):
            unfit = True
        elif failure and refusal and code_of(failure) == refusal:
            return "refused", problem
        elif failure:
            problems.append(f"{name} {options}: {failure}")
        elif not problem and (found := difference(actual, expected)):
            problems.append(f"{name} {options}: {found}")
    if problems:
        return "wrong", "\n".join(problems)
    return ("unfit", "") if unfit else ("same", "")


def outcome_of_seed(seed, device="emulator"):
    """For a worker: everything of one seed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = program_of(seed)
            return outcome_of(program, program.text, folder, device)
        except Exception:
            return "wrong", f"grammar: {traceback.format_exc(limit=-2)}"


def run(count=20, first=0, seconds=1e9, report=print, state=None, jobs=1, device="emulator"):
    """Campaign F3 over `count` seeds; raises AssertionError with the failing ones. `state` is a file to go on from."""
    campaign = workers.Campaign(first, count, state)
    started, done = time.monotonic(), len(campaign.done)
    with workers.Pool([sys.executable, __file__, "--worker", "--device", device], jobs) as pool:
        pool.go_through(campaign, seconds, report)
    elapsed = time.monotonic() - started
    new = len(campaign.done) - done
    report(
        f"{campaign.summary()}; {new} in {elapsed:.0f} s, {new / max(elapsed, 0.1):.2f} kernels a second with {jobs} processes",
        flush=True,
    )
    assert not campaign.failed, f"F3: seeds {sorted(campaign.failed)} of {first} to {first + count - 1} fail"
    return f"F3: {len(campaign.done)} kernels from seed {first}, no difference ({campaign.summary()})"


def described(argument):
    if hasattr(argument, "block_shape"):
        return f"descriptor of {described(argument.base)} in blocks of {list(argument.block_shape)}"
    return f"{argument.dtype}{list(argument.shape)}" if isinstance(argument, np.ndarray) else repr(argument)


def show(seed, device, is_reduced):
    program = program_of(seed)
    with tempfile.TemporaryDirectory() as folder:
        text = program.text
        if is_reduced:

            def problem_of(smaller):
                return workers.in_child(lambda: outcome_of(program, smaller, folder, device))[1]

            text = reduced(text, problem_of)
        print(text)
        print(f"grid {program.grid}, arguments {', '.join(map(described, program.arguments(Interpreter())[0]))}")
        print(*workers.in_child(lambda: outcome_of(program, text, folder, device)), sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=1, help="processes that work at once")
    parser.add_argument(
        "--device",
        choices=["emulator", "gpu", "interpreter"],
        default="emulator",
        help="what is compared with the interpreter; `interpreter` compares with the oracle only",
    )
    parser.add_argument("--state", type=Path, help="a file that remembers how far the campaign came")
    parser.add_argument("--seed", type=int, help="one kernel, which is printed")
    parser.add_argument("--reduce", action="store_true", help="with --seed: a smaller kernel that fails alike")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return workers.serve(lambda seed: outcome_of_seed(seed, options.device), ends_when_wrong=options.device == "gpu")
    if options.seed is not None:
        show(options.seed, options.device, options.reduce)
        return 0
    try:
        run(options.count, options.first, options.seconds, state=options.state, jobs=options.jobs, device=options.device)
    except AssertionError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
