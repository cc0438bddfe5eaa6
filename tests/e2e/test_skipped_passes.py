# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TILEWRIGHT_SKIP_PASSES: a kernel is right without any optimisation, and lowering steps stay."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.benchmark_launches import attention_arrays, attention_reference, multiply, run_forward
from harness.compare import assert_near, assert_same
from harness.devices import Emulator
from tilewright import _core, errors
from tilewright.compiler.bisect import optimisations

PASSES = _core.pipeline_passes()
EMPTY = "func.func @empty() { return }"


@tilewright.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * n + offsets, mask=offsets < n, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + offsets, numerator / tl.sum(numerator, axis=0), mask=offsets < n)


def check_product(device):
    actual, expected = multiply(device, "float16", 128, 64, 160, (64, 64, 32, 4, 3), False, "pointers")
    assert_same(actual, expected, signed_zeros=False)


def check_described_product(device):
    actual, expected = multiply(device, "float16", 128, 128, 96, (64, 64, 32, 4, 3), False, "descriptors")
    assert_same(actual, expected, signed_zeros=False)


def check_attention(device):
    arrays = attention_arrays(1, 128, 64)
    out, _ = run_forward(device, arrays, True, (64, 64, 4, 2), False)
    assert_near(out, attention_reference(*arrays, True)[0], absolute=2e-3)


def check_softmax(device):
    x = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
    out = device.empty(x.shape, np.float32)
    device.run(softmax, (2,), device.array(x), out, 1000, BLOCK=1024)
    expected = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert_near(device.numpy(out), expected / expected.sum(axis=1, keepdims=True), absolute=1e-6)


@tilewright.jit
def take_rows(x_ptr, rows_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    place = i[:, None] * BLOCK + i[None, :]
    tl.store(out_ptr + place, tl.gather(tl.load(x_ptr + place), tl.load(rows_ptr + place), axis=0))


def check_gather(device):
    random = np.random.default_rng(0)
    x = random.standard_normal((32, 32)).astype(np.float32)
    rows = random.integers(0, 32, (32, 32)).astype(np.int32)
    out = device.empty(x.shape, np.float32)
    device.run(take_rows, (1,), device.array(x), device.array(rows), out, BLOCK=32)
    assert_same(device.numpy(out), np.take_along_axis(x, rows, 0))


# Copies by cp.async and mma.sync; TMA and wgmma; chained products; long rows and reductions; gathers.
CHECKS = [
    (check_product, "sm_80"),
    (check_described_product, "sm_90a"),
    (check_attention, "sm_90a"),
    (check_softmax, "sm_90a"),
    (check_gather, "sm_80"),
]


@pytest.mark.parametrize("check, target", CHECKS)
@pytest.mark.parametrize(
    "skipped", [*optimisations(), ",".join(optimisations())], ids=lambda names: names if "," not in names else "all"
)
def test_results_without(monkeypatch, skipped, check, target):
    monkeypatch.setenv("TILEWRIGHT_SKIP_PASSES", skipped)
    check(Emulator(target))


@tilewright.jit
def product(a_ptr, b_ptr, c_ptr, k, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        a = tl.load(a_ptr + rows * k + start + columns)
        b = tl.load(b_ptr + (start + rows) * BLOCK + columns)
        total += tl.dot(a, b)
    tl.store(c_ptr + rows * BLOCK + columns, total)


def test_a_skipped_pass_does_nothing(monkeypatch):
    """Else the tests above would show nothing."""

    def compiled():
        source = tilewright.ASTSource(
            product,
            {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "k": "i32"},
            {"BLOCK": 64},
            {"a_ptr": 16, "b_ptr": 16, "c_ptr": 16, "k": 16},
        )
        return tilewright.compile(source, "sm_80", {"num_warps": 4})

    usual = compiled()
    assert "cp.async" in usual.asm["ptx"] and "tw-pipeline-loops" in usual.step_seconds
    monkeypatch.setenv("TILEWRIGHT_SKIP_PASSES", "pipeline-loops, tw-stage-loads")
    other = compiled()
    assert "cp.async" not in other.asm["ptx"]
    assert set(usual.step_seconds) - set(other.step_seconds) == {"tw-pipeline-loops", "tw-stage-loads"}
    monkeypatch.delenv("TILEWRIGHT_SKIP_PASSES")
    assert compiled().asm["ptx"] == usual.asm["ptx"]


@pytest.mark.parametrize(
    "skipped, problem, help",
    [
        ("tw-combine-opps", "tw-combine-opps' is no pass of the pipeline", "did you mean 'tw-combine-ops'?"),
        ("cse,nothing", "nothing' is no pass of the pipeline", "did you mean '"),
        ("assign-layouts", "assign-layouts' is no optimisation: what follows needs it", "'tilewright passes' lists those"),
        ("tw-verify-layouts", "tw-verify-layouts' is no optimisation", "'tilewright passes' lists those"),
    ],
)
def test_refused(monkeypatch, skipped, problem, help):
    monkeypatch.setenv("TILEWRIGHT_SKIP_PASSES", skipped)
    with pytest.raises(errors.ConfigError) as info:
        _core.compile_ir(EMPTY, "ttir", {}, "sm_90a")
    assert str(info.value).startswith(f"[E0708] TILEWRIGHT_SKIP_PASSES: '{problem}") and f"help: {help}" in str(info.value)


def test_every_lowering_step_is_refused(monkeypatch):
    needed = {name for name, may_be_skipped in PASSES if not may_be_skipped}
    assert "tw-assign-layouts" in needed and len(needed) > 8
    for name in needed:
        monkeypatch.setenv("TILEWRIGHT_SKIP_PASSES", name)
        with pytest.raises(errors.ConfigError, match=r"\[E0708\][\s\S]*'tilewright passes' lists those that can be skipped"):
            _core.compile_ir(EMPTY, "ttir", {}, "sm_90a")


def test_passes_are_listed(capsys):
    from tilewright import cli

    assert cli.main(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(PASSES) and {line.split()[0] for line in lines} == {name for name, _ in PASSES}
    assert {line.split()[0] for line in lines if line.endswith("may be skipped")} == set(optimisations())
