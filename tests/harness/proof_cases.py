# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the benchmarks and lessons, with the conditions under which they are launched.

What is proved of each stands in docs/proving.md; `PYTHONPATH=tests python -m harness.proof_cases` prints that table.
"""

from __future__ import annotations

import sys
import time

from harness.proof_benchmarks import BENCHMARKS
from harness.proof_lessons import LESSONS


CASES = BENCHMARKS + LESSONS


def table(wanted=""):
    """The table of docs/proving.md."""
    lines = [
        "| kernel | accesses | in bounds | outside | undecided | no races | outside | undecided | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if wanted not in str(case):
            continue
        start = time.process_time()
        proof = case.prove()
        seconds = time.process_time() - start
        if "-v" in sys.argv:
            print(proof)
        counts = []
        for question in ("bounds", "races"):
            verdicts = [getattr(finding, question).verdict for finding in proof.findings]
            counts += [verdicts.count(verdict) for verdict in ("proved", "outside", "undecided")]
            if "refuted" in verdicts:
                print(proof, file=sys.stderr)
        lines.append(f"| {case} | {len(proof.findings)} | {' | '.join(map(str, counts))} | {seconds:.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(next((argument for argument in sys.argv[1:] if argument[0] != "-"), "")))
