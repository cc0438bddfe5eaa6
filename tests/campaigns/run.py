# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs campaigns at full counts and prints one line of figures each.

    python tests/campaigns/run.py            # all
    python tests/campaigns/run.py K1 K5      # some
    python tests/campaigns/run.py --gpu      # T1 to T4 on the GPU of this machine
    python tests/campaigns/run.py --gpu T2 --trials 5 --kinds fault hang

The ordinary tests run the same programs with the small counts (test_campaigns.py).
"""

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from campaigns import corruption, differential, faults, keys, network_disk, sharing  # noqa: E402
from harness.mock_driver import run_in_mock_process  # noqa: E402


def tuning(name, cases, selection, trials):
    """Cases of the tuner's tests, so many times, on the recording driver."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CAMPAIGN_TRIALS"] = str(trials)
        try:
            code, output = run_in_mock_process(TESTS / "e2e" / "mock" / cases, folder, "-s", "-k", selection)
        finally:
            del os.environ["CAMPAIGN_TRIALS"]
    assert code == 0, output[-3000:]
    figures = re.findall(r"figures: (.*)", output)  # what a case has counted
    return f"{name}: {'; '.join([output.strip().splitlines()[-1], *figures])}, {trials} trials"


# Name: (program, small counts, full counts).
CAMPAIGNS = {
    "K1": (corruption.run, {"count": 400}, {"count": 2000}),
    "K2": (sharing.run_shared, {"processes": 8, "rounds": 10}, {"processes": 16, "rounds": 50}),
    "K2N": (network_disk.run, {"processes": 4, "rounds": 5, "kills": 5}, {"processes": 16, "rounds": 50, "kills": 50}),
    "K3": (sharing.run_threads, {"threads": 16, "rounds": 5}, {"threads": 64, "rounds": 20}),
    "K4": (sharing.run_kills, {"kills": 30}, {"kills": 500}),
    "K5": (faults.run_injected, {"errors": 3}, {}),
    "K6": (faults.run_conditions, {}, {}),
    "K7": (sharing.run_eviction, {"writers": 8, "rounds": 20}, {"writers": 16, "rounds": 1000}),
    "K8": (keys.run, {"seeds": 4, "semantic": 120, "incidental": 60}, {"seeds": 100, "semantic": 500, "incidental": 200}),
    "T1": (
        tuning,
        {"name": "T1", "cases": "cases_tuning_safety.py", "selection": "in_place", "trials": 20},
        {"name": "T1", "cases": "cases_tuning_safety.py", "selection": "in_place", "trials": 500},
    ),
    "T2": (
        tuning,
        {"name": "T2", "cases": "cases_tuning_failures.py", "selection": "bad_candidates or isolated_candidates", "trials": 2},
        {
            "name": "T2",
            "cases": "cases_tuning_failures.py",
            "selection": "bad_candidates or isolated_candidates",
            "trials": 200,
        },
    ),
    "T3": (
        tuning,
        {"name": "T3", "cases": "cases_tuning.py", "selection": "noise", "trials": 20},
        {"name": "T3", "cases": "cases_tuning.py", "selection": "noise", "trials": 1000},
    ),
    "T4": (
        tuning,
        {"name": "T4", "cases": "cases_tuning.py", "selection": "killed", "trials": 5},
        {"name": "T4", "cases": "cases_tuning.py", "selection": "killed", "trials": 200},
    ),
    "F3": (differential.run, {"count": 64, "jobs": 2}, {"count": 20000, "jobs": os.cpu_count()}),
    "K9": (corruption.run, {"count": 100, "seed": 9, "kind": "K9"}, {"count": 20000, "seed": 9, "kind": "K9"}),
}


def campaigns_on_gpu(trials, kinds) -> dict:
    from campaigns.tuning_gpu import GPU_CAMPAIGNS

    return {
        name: (program, {"trials": trials or count, **({"kinds": kinds} if kinds and name == "T2" else {})})
        for name, (program, count) in GPU_CAMPAIGNS.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="campaigns; all where none is named")
    parser.add_argument("--gpu", action="store_true", help="T1 to T4 on the GPU instead")
    parser.add_argument("--trials", type=int, default=0, help="with --gpu: another count")
    parser.add_argument("--kinds", nargs="*", help="with --gpu T2: some of fault hang wrong crash slow resources memory")
    options = parser.parse_args()
    known = (
        campaigns_on_gpu(options.trials, options.kinds)
        if options.gpu
        else {n: (p, full) for n, (p, _, full) in CAMPAIGNS.items()}
    )
    failed = 0
    for name in options.names or known:
        program, counts = known[name]
        start = time.monotonic()
        try:
            line = program(**counts)
        except AssertionError as error:
            failed += 1
            line = f"{name}: FAILED: {error}"
        print(f"{line} ({time.monotonic() - start:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
