# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator notices when a barrier, fence or wait of a kernel is missing.

One of them after the other is deleted: from the kernel's IR, by the pass that is made
for it, what passes have inserted; and from its PTX what there is in all, barriers inside
of reductions and conversions included. A deletion is noticed when the emulator refuses to
run what is left, or the result is wrong. One that is not noticed is superfluous (at the
end of a kernel, two in a row, a fence whose registers nobody wrote) or a hole in the
emulator; there are not to be more of them per kernel than are counted here.
"""

import re
import subprocess

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.devices import Emulator
from harness.native import program
from harness.ptx_words import EmulationError
from harness.ptx_program import parse
from harness.tensor_core_runs import attend, multiply, segments

ORDERING = re.compile(
    r"\b(bar\.sync|barrier\.sync|fence\.proxy\.async|wgmma\.fence|wgmma\.wait_group|"
    r"cp\.async\.wait_group|cp\.async\.bulk\.wait_group|mbarrier\.try_wait|mbarrier\.arrive\.shared|"
    r"fence\.proxy\.tensormap|tensormap\.cp_fenceproxy|bar\.warp\.sync|barrier\.cluster\.arrive)\b"
)


def deletions(ptx):
    """The numbers of the lines to delete: those that ran."""
    parsed = parse(ptx)
    lines = [number for number, line in enumerate(ptx.splitlines()) if ORDERING.search(line)]
    instructions = [n for n, instruction in enumerate(parsed.instructions) if ORDERING.search(instruction.text)]
    assert len(lines) == len(instructions)
    return [line for line, number in zip(lines, instructions) if number in parsed.executed]


def without(ptx, number):
    lines = ptx.splitlines()
    lines[number] = ORDERING.sub(lambda match: "// " + match[0], lines[number], count=1)
    # What stands before, such as a predicate, goes too, and the loop of a wait.
    lines[number] = lines[number][lines[number].index("//") :]
    if "done bra" in lines[number + 1]:
        lines[number + 1] = ""
    if "cluster.arrive" in lines[number]:
        # Arrivals and waits take turns.
        wait = next(n for n in range(number, len(lines)) if "cluster.wait" in lines[n])
        lines[wait] = ""
    return "\n".join(lines)


@tilewright.jit
def exchange_kernel(x_ptr, out_ptr, sums_ptr, ROUNDS: tl.constexpr, N: tl.constexpr):
    """Row sums and transposes, which pass through scratch that is used again and again."""
    index = tl.arange(0, N)
    tile = tl.load(x_ptr + index[:, None] * N + index[None, :])
    total = tl.zeros((N,), tl.float32)
    for _ in range(ROUNDS):
        total += tl.sum(tile, 1)
        tile = tile.T + total[:, None]
    tl.store(out_ptr + index[:, None] * N + index[None, :], tile)
    tl.store(sums_ptr + index, total)


def exchange(device, rounds=3, n=32):
    x = np.random.default_rng(0).integers(-2, 3, (n, n)).astype(np.float32)
    out, sums = np.zeros_like(x), np.zeros(n, np.float32)
    device.run(exchange_kernel, (1,), x, out, sums, rounds, n, num_warps=4)
    tile, total = x, np.zeros(n, np.float32)
    for _ in range(rounds):
        total = total + tile.sum(1)
        tile = tile.T + total[:, None]
    return np.array_equal(out, tile) and np.array_equal(sums, total)


@tilewright.jit
def blocks_kernel(x_ptr, out_ptr, count_ptr, ROUNDS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Rows of several blocks: extremes and scans along what they share, transposed."""
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    for _ in range(ROUNDS):
        x = x - tl.max(x, 0)[None, :]
        x = x + tl.cumsum(x, 0)
    x += tl.atomic_add(count_ptr, 1)
    where = out_ptr + j[:, None] * M + i[None, :]
    tl.store(where, tl.trans(x))
    tl.store(where, tl.load(out_ptr + (N - 1 - j)[:, None] * M + i[None, :]))


def clusters(device, rounds=2, m=64, n=8):
    x = np.random.default_rng(0).integers(-2, 3, (m, n)).astype(np.float32)
    out, count = np.zeros((n, m), np.float32), np.array([7], np.int32)
    device.run(blocks_kernel, (1,), x, out, count, rounds, m, n, num_warps=2, num_ctas=2)
    for _ in range(rounds):
        x = x - x.max(0)
        x = x + np.cumsum(x, 0)
    return np.array_equal(out, (x + 7).T[::-1]) and count[0] == 8


@tilewright.jit
def normalise_kernel(x_ptr, out_ptr, rows, N: tl.constexpr):
    offsets = tl.arange(0, N)
    for row in range(rows):
        x = tl.load(x_ptr + row * N + offsets)
        x -= tl.sum(x, 0) / N
        tl.store(out_ptr + row * N + offsets, x / tl.sqrt(tl.sum(x * x, 0) / N + 1e-5))


def row_of_blocks(device, n=1024, rows=3):
    """Two sums in turn round a loop."""
    x = np.random.default_rng(0).standard_normal((rows, n)).astype(np.float32)
    out = np.zeros_like(x)
    device.run(normalise_kernel, (1,), x, out, rows, n, num_warps=4, num_ctas=4)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return bool(np.abs(out - expected).max() < 1e-3)


def product(form, trips, tile=(64, 32, 32, 4, 3), rows=64, **more):
    def run(device):
        actual, expected = multiply(device, form, rows, 32, trips, tile, **more)
        return np.array_equal(actual, expected)

    return run


def attention(described, tile=(64, 64, 4, 2)):
    def run(device):
        q, k, v, out, _ = attend(device, 256, 32, False, described, tile)
        scores = q.astype(np.float64) @ k.T.astype(np.float64) / np.sqrt(32)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        right = weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)
        return bool(np.abs(out - right).max() < 2e-3)

    return run


def made_maps(device):
    return np.array_equal(*segments(device, 5))


# Kernel, target, how many deletions nothing notices at most: from the IR, from the PTX.
CASES = {
    # All of its barriers belong to reductions and conversions.
    "exchange": (exchange, "sm_80", None, 0),
    # Not noticed: where a warp's lanes meet before what the first one sends.
    "clusters": (clusters, "sm_90a", 0, 1),
    "a row of four blocks": (row_of_blocks, "sm_90a", 0, 2),
    "mma, pointers": (product("pointers", 4), "sm_80", 3, 3),
    "wgmma, pointers": (product("pointers", 4), "sm_90a", 2, 2),
    "wgmma, descriptors": (product("descriptors", 4), "sm_90a", 0, 1),
    "wgmma, persistent": (product("persistent", 3, rows=5 * 64, programs=2, FLATTEN=True, SPLIT_C=False), "sm_90a", 4, 7),
    # What lets a warp's lanes finish a copy before they write its source again.
    "maps of the program": (made_maps, "sm_90a", 1, 9),
    "attention, mma": (attention(False), "sm_80", 2, 2),
    # Before the loop the barrier of the first copies and that of the stored left side follow each
    # other, with the fence of the latter between them: without either the other is left.
    "attention, pointers": (attention(False), "sm_90a", 5, 7),
    "attention, descriptors": (attention(True), "sm_90a", 3, 11),
    # Two warpgroups that do not meet: slots are released one by one.
    "attention, two warpgroups": (attention(True, (128, 32, 8, 2)), "sm_90a", 3, 11),
}  # fmt: skip


def check(name, run, target, unnoticed, edits):
    """Runs every edited kernel: (what was deleted, the PTX that is left)."""
    missed, count = [], 0
    for deleted, ptx in edits:
        count += 1
        try:
            right = run(Emulator(target, lambda _, ptx=ptx: ptx))
        except EmulationError:
            continue
        if right:
            missed.append(deleted)
    print(f"{name}: {count - len(missed)} of {count} deletions noticed", *missed, sep="\n  ")
    assert count and len(missed) <= unnoticed, missed


def ran(run, target, ptx):
    """Runs a kernel as it is, so that parse(ptx) knows what it executes here."""
    # Other tests may have run the same text on other inputs.
    parse(ptx).executed.clear()
    assert run(Emulator(target, lambda _: ptx))
    return ptx


@pytest.mark.parametrize("name", CASES)
def test_each_deletion_is_noticed(name):
    run, target, _, unnoticed = CASES[name]
    texts = []
    assert run(Emulator(target, lambda ptx: texts.append(ptx) or ptx))
    ptx = ran(run, target, texts[0])
    lines = ptx.splitlines()
    check(
        name,
        run,
        target,
        unnoticed,
        ((f"{number}: {lines[number].strip()}", without(ptx, number)) for number in deletions(ptx)),
    )


def through_passes(ir, *passes):
    """(what is printed, what is remarked)."""
    run = subprocess.run([program("tools/tilewright-opt"), *passes], input=ir, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout, run.stderr


def lines_that_ran(ptx):
    """The lines of the IR whose barriers, fences and waits ran, of PTX that says where it is from."""
    lines = ptx.splitlines()
    return {
        int(next(line.split()[2] for line in reversed(lines[:number]) if line.startswith("\t.loc")))
        for number in deletions(ptx)
    }


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_each_deletion_from_the_ir_is_noticed(name):
    run, target, unnoticed, _ = CASES[name]
    kernels = []
    assert run(Emulator(target, inspect=kernels.append))
    ir = kernels[0].asm["ttgir"]
    lines, emit = ir.splitlines(), f"--tw-emit-ptx=target={target}"
    places = re.findall(r":(\d+):\d+: remark: number (\d+)", through_passes(ir, "--tw-delete-barrier")[1])
    running = lines_that_ran(ran(run, target, through_passes(ir, emit + " lines=true")[0]))
    check(
        name,
        run,
        target,
        unnoticed,
        (
            (f"{number}: {lines[int(line) - 1].strip()}", through_passes(ir, f"--tw-delete-barrier=number={number}", emit)[0])
            for line, number in places
            if int(line) in running
        ),
    )
