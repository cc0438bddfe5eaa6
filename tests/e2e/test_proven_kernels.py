# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the benchmarks and lessons are proved, for all sizes and for the launches of the lessons."""

import contextlib
import io
import os
import runpy
import sys

import pytest

from harness.native import ROOT
from harness.proof_cases import CASES

pytest.importorskip("z3", reason="proofs need z3-solver")

# Addresses that were loaded, and locks: (not known to be in bounds, not known to be free of races).
OUTSIDE = {
    "in_use_kernels:cross_entropy_kernel": (1, 0),
    "in_use_kernels:embedding_kernel": (1, 0),
    "products_in_use_kernels:gathered_rows_kernel": (1, 0),
    "05_layer_norm:backward_rows_kernel": (0, 4),
    "08_grouped_gemm:pointer_kernel": (3, 1),
    "08_grouped_gemm:descriptor_kernel": (3, 1),
    "13_paged_attention:part_kernel": (3, 0),
    "15_mixture_of_experts:count_kernel": (1, 0),
    "15_mixture_of_experts:sort_kernel": (1, 1),
}


# Each third kernel in an ordinary run; `PROVE_ALL=1` runs all.
STEP = 1 if os.environ.get("PROVE_ALL") == "1" else 3


@pytest.mark.parametrize("case", CASES[::STEP], ids=str)
def test_all_sizes(case):
    proof = case.prove()
    assert not proof.refuted, proof
    for question, outside in zip(("bounds", "races"), OUTSIDE.get(str(case), (0, 0))):
        verdicts = [getattr(finding, question).verdict for finding in proof.findings]
        assert verdicts.count("outside") == outside and verdicts.count("proved") == len(verdicts) - outside, str(proof)


# Those about a framework are run where it is (test_tutorials.py).
@pytest.mark.parametrize("lesson", sorted(path.name for path in (ROOT / "tutorials").glob("[01]*.py")))
def test_launches_of_a_lesson(lesson, monkeypatch):
    from tilewright.proving.command import proving_launches

    monkeypatch.setattr(sys, "argv", [lesson, "--quick"])
    monkeypatch.syspath_prepend(str(ROOT / "tutorials"))
    with proving_launches(most=1, timeout=30) as proofs, contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(ROOT / "tutorials" / lesson), run_name="__main__")
    if lesson.startswith("12"):  # four wrong kernels, and their mended forms; the last ones wait for a lock
        assert [proof.kernel for proof in proofs if proof.refuted] == ["scale_kernel", "sum_kernel", "first_of_row_kernel"]
        assert [proof.kernel for proof in proofs if proof.proved] == [
            "scale_kernel_mended",
            "sum_kernel_mended",
            "first_of_row_kernel_mended",
        ]
        return
    assert proofs and not any(proof.refuted for proof in proofs)
    undecided = [
        str(proof)
        for proof in proofs
        for finding in proof.findings
        if "undecided" in (finding.bounds.verdict, finding.races.verdict)
    ]
    assert not undecided
    if lesson[:2] not in ("05", "08", "13", "15", "17"):  # locks; sizes, places and addresses that are loaded
        assert all(proof.proved for proof in proofs), "\n".join(map(str, proofs))
