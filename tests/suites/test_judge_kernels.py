# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guessed launches of kernels: what is compared, and that wrong code is found."""

import json
import re
import types

import numpy as np
import pytest
import tilewright
import tilewright.language as tl
from suites import judge_kernels
from suites.compile_kernels import main, read_results
from suites.guessed_arguments import ATTEMPTS, Arguments, strides_of
from suites.judge_kernels import configurations, judge
from suites.signature_guess import Guesser
from tilewright.compiler.bisect import optimisations

PASSES = optimisations()


@tilewright.jit
def product(a_ptr, b_ptr, c_ptr, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    a = a_ptr + rows[:, None] * stride_am + columns[None, :] * stride_ak
    b = b_ptr + columns[:, None] * stride_bk + columns[None, :] * stride_bn
    for k in range(0, K, BLOCK):
        x = tl.load(a, mask=k + columns[None, :] < K, other=0.0)
        y = tl.load(b, mask=k + columns[:, None] < K, other=0.0)
        total += tl.dot(x, y)
        a += BLOCK * stride_ak
        b += BLOCK * stride_bk
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn, total)


@tilewright.jit
def reads(x_ptr, n, BLOCK: tl.constexpr):
    tl.load(x_ptr + tl.arange(0, BLOCK))


@tilewright.jit
def far(x_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + (1 << 30) + tl.arange(0, BLOCK), 1.0)


@tilewright.jit
def collides(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i // 2, i.to(tl.float32))


@tilewright.jit
def mirrors(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr - i, tl.load(x_ptr + n - BLOCK + i) + tl.load(x_ptr - i))


def judged(kernel):
    guesser = Guesser(kernel, [], tl)
    guesses = [guesser.guess(variant) for variant in judge_kernels.VARIANTS[:2]]
    return judge(kernel, guesses, guesser.facts, PASSES, 60)


def seen(result):
    return {kind for kind, *_ in result["seen"]}


def spoil(monkeypatch, pattern, replacement, wanted=lambda kernel: True):
    """Compiled kernels are run with their PTX changed, as a wrong compiler would have made it."""
    real, changes = judge_kernels.emulated, []

    def spoiled(kernel, sizes, bound, programs):
        ptx = kernel.asm["ptx"]
        if wanted(kernel):
            ptx, count = re.subn(pattern, replacement, ptx)
            changes.append(count)
        real(
            types.SimpleNamespace(asm={"ptx": ptx}, metadata=kernel.metadata, signature=kernel.signature),
            sizes,
            bound,
            programs,
        )

    monkeypatch.setattr(judge_kernels, "emulated", spoiled)
    return changes


def test_right_code_is_the_same():
    result = judged(product)
    assert result["status"] == "same" and not result["seen"], result
    assert result["counts"] == {"same": 8} and result["judged"] == 2


def test_a_missing_barrier_is_found(monkeypatch):
    changes = spoil(monkeypatch, r"bar(rier)?\.sync[^;]*;", "")
    result = judged(product)
    assert sum(changes) > 0 and result["status"] == "fault" and seen(result) == {"fault"}, result
    assert any("since the last barrier" in text for *_, text in result["seen"])


def test_a_wrong_wait_of_the_pipeline_is_found(monkeypatch):
    """Only where copies are waited for by groups: the other compilations of the same launches stay right."""
    changes = spoil(monkeypatch, r"cp\.async\.wait_group \d+;", "cp.async.wait_group 9;")
    result = judged(product)
    assert sum(changes) > 0 and result["status"] == "fault" and result["counts"]["same"] > 0, result
    assert any("a copy in flight" in text for *_, text in result["seen"])


def test_a_wrong_result_is_found(monkeypatch):
    """A sum that is a difference, for one target."""
    changes = spoil(
        monkeypatch, r"\badd(\.rn)?\.(b?f16(x2)?|f32)", r"sub\1.\2", lambda kernel: ".target sm_80" in kernel.asm["ptx"]
    )
    result = judged(mirrors)
    assert sum(changes) > 0 and result["status"] == "WRONG" and result["counts"]["same"] > 0, result
    assert all(kind == "WRONG" and where.startswith("sm_80") for kind, where, *_ in result["seen"])


def test_a_difference_between_stages_is_found(monkeypatch):
    real, runs = judge_kernels.emulated, []

    def drifting(kernel, sizes, bound, programs):
        real(kernel, sizes, bound, programs)
        runs.append(kernel)
        changed = bound["c_ptr"].reshape(-1)
        changed[:64] *= np.array(1 + 1e-3 * (len(runs) % 2), changed.dtype)

    monkeypatch.setattr(judge_kernels, "emulated", drifting)
    result = judged(product)
    assert "stages" in seen(result) and "WRONG" not in seen(result), result


@pytest.mark.parametrize(
    "kernel, reason", [(reads, "it writes nothing"), (far, "E0407"), (collides, "E0412")], ids=["reads", "far", "collides"]
)
def test_a_launch_that_says_nothing_is_not_judged(kernel, reason):
    result = judged(kernel)
    assert result["status"] == "not judged" and result["judged"] == 0, result
    assert all(reason in text for text in result["reasons"]) and result["reasons"]


def test_all_configurations_occur():
    found = [c for i in range(40) for plan in configurations(f"kernel{i}", PASSES) for c in plan]
    assert {c.target for c in found} == {"sm_80", "sm_90a"}
    for target in ("sm_80", "sm_90a"):
        mine = [c for c in found if c.target == target]
        assert {c.warps for c in mine} == {1, 2, 4, 8} and {c.stages for c in mine} == {1, 2, 3, 4}
    assert any(len(c.skipped) == len(PASSES) for c in found) and any(0 < len(c.skipped) < len(PASSES) for c in found)


def test_strides_are_those_of_contiguous_tensors():
    names = ["q", "stride_qb", "stride_qm", "stride_qk", "stride_ob", "stride_om", "n", "stride"]
    assert strides_of(names, ATTEMPTS[0]) == {
        "stride_qk": 1, "stride_qm": 192, "stride_qb": 192 * 192, "stride_om": 1, "stride_ob": 192, "stride": 192,
    }  # fmt: skip


def test_there_is_memory_before_arrays():
    assert judged(mirrors)["status"] == "same"


def test_values_fit_their_parameters():
    guesser = Guesser(product, [], tl)
    arguments = Arguments(product, guesser.guess(judge_kernels.VARIANTS[0]), guesser.facts, ATTEMPTS[1]).bound
    assert arguments["K"] == 77 and arguments["stride_am"] == 128 and arguments["stride_ak"] == 1
    assert arguments["a_ptr"].size == ATTEMPTS[1].elements and np.isfinite(arguments["a_ptr"]).all()


FILE = """
import os
import triton
import triton.language as tl

@triton.jit
def doubles(x_ptr, n, BLOCK: tl.constexpr):
    for i in range(0, n, BLOCK):
        offsets = i + tl.arange(0, BLOCK)
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) * 2, offsets < n)

@triton.jit
def no_loop(x_ptr):
    tl.store(x_ptr, 1.0)

@triton.constexpr_function
def end_process(n):
    os.abort()

@triton.jit
def crashes(x_ptr, n):
    for i in range(0, n):
        tl.store(x_ptr + i, end_process(0))
"""


@pytest.mark.slow
def test_kernels_of_a_checkout(tmp_path, capsys):
    (tmp_path / "sources" / "owner+name").mkdir(parents=True)
    (tmp_path / "sources" / "owner+name" / "kernels.py").write_text(FILE)
    results = tmp_path / "results"
    arguments = ["--sources", str(tmp_path / "sources"), "--results", str(results), "--judge", "--containing", "for "]
    for _ in range(2):
        assert main(arguments) == 1, "a crash fails the campaign"
    line, crash = read_results(results)
    assert (line["kernel"], line["status"], line["counts"]) == ("doubles", "same", {"same": 8}), json.dumps(line)
    assert (crash["kernel"], crash["status"], crash["message"]) == ("crashes", "crash", "SIGABRT")
    assert "2 kernels: 1 same, 1 crash\ncompilations: 8 same" in capsys.readouterr().out
