# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Volatile loads: each element is read by one thread, so that all threads of a program go on with one value.

Otherwise a program that waits for others (a scan with decoupled look-back) may leave its loop in one warp
earlier than in another, and the barriers of its threads no longer meet. A plain load by which a `while` loop
waits is taken for volatile.
"""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.devices import Emulator
from harness.element_types import NUMPY_TYPES, exact_values

EMULATED = True


@tilewright.jit
def copies_kernel(x_ptr, out_ptr, rows_ptr, scalar_ptr, count, CACHE: tl.constexpr, VOLATILE: tl.constexpr, N: tl.constexpr):
    index = tl.arange(0, N)
    is_there = index < count
    x = tl.load(x_ptr + index, mask=is_there, other=1, volatile=VOLATILE, cache_modifier=CACHE)
    row = tl.load(x_ptr + index[None, :], mask=is_there[None, :], other=1, volatile=VOLATILE, cache_modifier=CACHE)
    scalar = tl.load(x_ptr + 3, volatile=VOLATILE, cache_modifier=CACHE)
    tl.store(out_ptr + index, x)
    tl.store(rows_ptr + index[:, None] * N + index[None, :], tl.broadcast_to(row, [N, N]))
    tl.store(scalar_ptr + index, tl.zeros([N], scalar.dtype) + scalar if scalar.dtype != tl.int1 else scalar)


@pytest.mark.parametrize("name", ["int1", "int8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "float8e5"])
@pytest.mark.parametrize("cache, volatile", [("", True), (".cv", False)])
@pytest.mark.parametrize("warps", [1, 4])
def test_copies_of_elements(device, name, cache, volatile, warps):
    x = exact_values(name, 32)
    arrays = [device.empty(shape, NUMPY_TYPES[name]) for shape in (32, (32, 32), 32)]
    device.run(copies_kernel, (1,), device.array(x), *arrays, 20, CACHE=cache, VOLATILE=volatile, N=32, num_warps=warps)
    wanted = np.concatenate([x[:20], np.ones(12, x.dtype)])
    assert_same(device.numpy(arrays[0]), wanted)
    assert_same(device.numpy(arrays[1]), np.tile(wanted, (32, 1)))
    assert_same(device.numpy(arrays[2]), np.full(32, x[3]))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_one_thread_reads(target):
    texts = []
    device = Emulator(target, inspect=lambda compiled: texts.append(compiled.asm["ptx"]))
    x = exact_values("float32", 32)
    arrays = [device.empty(shape, np.float32) for shape in (32, (32, 32), 32)]
    device.run(copies_kernel, (1,), device.array(x), *arrays, 32, CACHE="", VOLATILE=True, N=32, num_warps=4)
    loads = re.findall(r"^\s*(@%p\d+ )?ld\.volatile", texts[0], re.MULTILINE)
    assert loads and all(loads)


@tilewright.jit
def look_back_kernel(
    keys_ptr, places_ptr, first_ptr, status_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr, VOLATILE: tl.constexpr
):
    program = tl.program_id(0)
    index = program * BLOCK + tl.arange(0, BLOCK)
    keys = tl.load(keys_ptr + index, mask=index < n, other=BINS)
    for key in range(BINS):
        matches = (keys == key).to(tl.int32)
        count = tl.sum(matches)
        status = status_ptr + program * BINS + key
        tl.store(status, count | (1 << 30), cache_modifier=".cg")
        before = 0
        other = program - 1
        while other >= 0:
            found = tl.load(status_ptr + other * BINS + key, volatile=VOLATILE)
            while found == 0:
                found = tl.load(status_ptr + other * BINS + key, volatile=VOLATILE)
            before += found & 0x1FFFFFFF
            other = tl.where((found & (1 << 29)) != 0, -1, other - 1)
        tl.store(status, (before + count) | (1 << 30) | (1 << 29), cache_modifier=".cg")
        places = tl.load(first_ptr + key) + before + tl.cumsum(matches) - 1
        tl.store(places_ptr + index, places, mask=matches != 0)


@tilewright.jit
def all_flags_kernel(flags_ptr, sums_ptr, out_ptr, FLAGS: tl.constexpr, BLOCK: tl.constexpr, VOLATILE: tl.constexpr):
    program = tl.program_id(0)
    index = tl.arange(0, FLAGS)
    tl.store(sums_ptr + program, program * program)
    tl.debug_barrier()
    tl.atomic_xchg(flags_ptr + program, 1)
    rounds = 0
    while tl.sum(tl.load(flags_ptr + index, volatile=VOLATILE)) < FLAGS:
        rounds += 1
    total = tl.sum(tl.load(sums_ptr + index, volatile=True))
    wide = tl.arange(0, BLOCK)
    tl.store(out_ptr + program * BLOCK + wide, total + tl.cumsum(tl.zeros([BLOCK], tl.int32) + (rounds >= 0)))


@tilewright.jit
def wait_kernel(flag_ptr, data_ptr, out_ptr, N: tl.constexpr):
    index = tl.arange(0, N)
    while tl.load(flag_ptr) != 1:
        pass
    tl.store(out_ptr + index, tl.load(data_ptr + index) + 1)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("warps", [1, 4])
def test_plain_load_in_a_wait_is_repeated(target, warps):
    texts = []
    device = Emulator(target, inspect=lambda compiled: texts.append(compiled.asm["ptx"]))
    data, out = device.array(np.arange(64, dtype=np.int32)), device.empty((64,), np.int32)
    device.run(wait_kernel, (1,), device.array(np.ones(1, np.int32)), data, out, N=64, num_warps=warps)
    assert_same(device.numpy(out), np.arange(1, 65, dtype=np.int32))
    # From the loop's label to the branch back to it: the flag is read there, and the data behind it.
    loop = re.search(r"^(\$L__BB\w+):\n(.*?)@\S+ bra\s+\1;(.*)", texts[0], re.MULTILINE | re.DOTALL)
    assert "ld.volatile" in loop[2]
    assert "ld.global" in loop[3] and "ld.global" not in texts[0][: loop.end(2)]


@tilewright.jit
def doubled_address_kernel(flags_ptr, out_ptr):
    done = False
    while not done:
        place = tl.program_id(0)
        for _ in tl.static_range(60):
            place = place * 3 + place
        done = tl.load(flags_ptr + place) == 1
    tl.store(out_ptr, 1)


def test_long_addresses_of_a_wait_take_linear_time():
    # Each step uses the one before twice: 2^60 ways lead to its start.
    source = tilewright.ASTSource(doubled_address_kernel, {"flags_ptr": "*i32", "out_ptr": "*i32"})
    assert tilewright.compile(source, "sm_90a").asm["ptx"].count("ld.volatile") == 1


@pytest.mark.gpu
@pytest.mark.parametrize("volatile", [True, False])
@pytest.mark.parametrize("warps", [4, 8, 16])
def test_look_back(gpu, warps, volatile):
    n, block, bins = 200_003, 1024, 16
    programs = -(-n // block)
    for seed in range(12):
        keys = np.random.default_rng(seed).integers(0, bins, n).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=bins))[:-1]]).astype(np.int32)
        places = gpu.array(np.full(n, -1, np.int32))
        status = gpu.array(np.zeros(programs * bins, np.int32))
        arguments = gpu.array(keys), places, gpu.array(first), status, n
        constants = {"BINS": bins, "BLOCK": block, "VOLATILE": volatile}
        gpu.run(look_back_kernel, (programs,), *arguments, **constants, num_warps=warps)
        wanted = np.empty(n, np.int32)
        wanted[np.argsort(keys, kind="stable")] = np.arange(n)
        assert_same(gpu.numpy(places), wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("volatile", [True, False])
def test_flags_of_all_programs(gpu, volatile):
    programs, block = 64, 512
    constants = {"FLAGS": programs, "BLOCK": block, "VOLATILE": volatile}
    for _ in range(12):
        flags, sums = (gpu.array(np.zeros(programs, np.int32)) for _ in range(2))
        out = gpu.array(np.zeros((programs, block), np.int32))
        gpu.run(all_flags_kernel, (programs,), flags, sums, out, **constants, num_warps=8)
        total = sum(program * program for program in range(programs))
        assert_same(gpu.numpy(out), np.tile(total + np.arange(1, block + 1, dtype=np.int32), (programs, 1)))
