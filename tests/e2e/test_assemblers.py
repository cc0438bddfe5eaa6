# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with the oldest assembler that is supported, and what assemblers are known to get wrong.

The other tests use the newest nvJitLink. `make setup` puts the oldest one into .venv/assemblers;
each runs in a process of its own, since a process opens one library.
"""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.native import ROOT
from harness.tensor_core_cases import all_cases
from harness.element_types import FP8, NUMPY_TYPES, exact_values
from tilewright import _core
from tilewright.tools import disasm

EMULATED = True
OLDEST = "12.5"


@tilewright.jit
def hinted_kernel(a_ptr, b_ptr, out_ptr, trips, B: tl.constexpr, HINT: tl.constexpr):
    rows, columns = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tile = rows * B + columns
    acc = tl.zeros((B, B), tl.float32)
    for trip in range(trips):
        a = tl.load(a_ptr + trip * B * B + tile, eviction_policy=HINT)
        b = tl.load(b_ptr + trip * B * B + tile, eviction_policy=HINT)
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + tile, acc)


def hinted_arguments():
    size, trips = 64, 3
    a, b = (exact_values("float16", (trips, size, size), seed=seed) % 3 for seed in (0, 1))
    return a, b, trips, size


@pytest.mark.parametrize("hint", ["evict_first", "evict_last"])
def test_copies_with_eviction_hints(device, hint):
    a, b, trips, size = hinted_arguments()
    out = device.empty((size, size), np.float32)
    device.run(hinted_kernel, (1,), device.array(a), device.array(b), out, trips, B=size, HINT=hint, num_stages=2)
    expected = sum(a[trip].astype(np.float64) @ b[trip] for trip in range(trips))
    assert_same(device.numpy(out), expected.astype(np.float32), signed_zeros=False)


def compile_hinted(target):
    a, b, trips, size = hinted_arguments()
    return assemble_for(
        hinted_kernel,
        target,
        (a, b, np.zeros((size, size), np.float32), trips),
        {"B": size, "HINT": "evict_first", "num_stages": 2},
    )


def uniform_registers_never_written(sass):
    """Uniform registers that an instruction reads and none writes, as text of the first reader."""
    instruction = re.compile(r"^\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s+(.*?);", re.MULTILINE)
    written, readers = {"URZ"}, {}
    for opcode, operands in instruction.findall(sass):
        # The result comes first, where the opcode has a uniform one; wide ones take several registers.
        first, _, rest = operands.partition(",")
        if target := re.fullmatch(r"UR(\d+)", first.strip()):
            written |= {f"UR{int(target[1]) + more}" for more in range(4)}
            operands = rest
        for register in re.findall(r"\bUR\d+\b", operands):
            readers.setdefault(register, f"{opcode} {operands}")
    return {register: text for register, text in readers.items() if register not in written}


def test_the_check_of_machine_code_notices():
    faulty = "/*0100*/  LDGSTS.E.BYPASS.128 [R9+UR0], desc[UR1][R2.64] ;"
    assert set(uniform_registers_never_written(faulty)) == {"UR0", "UR1"}
    assert not uniform_registers_never_written("ULDC.64 UR4, c[0x0][0x208] ;\nLDG.E R2, desc[UR4][R2.64] ;")


@pytest.mark.skipif(
    not (disasm.path_to_binary("nvdisasm") or disasm.path_to_binary("cuobjdump")), reason="needs nvdisasm or cuobjdump"
)
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_90a"])
def test_machine_code_reads_what_was_written(target):
    compiled = [compile_hinted(target)]
    compiled += [case.compile() for case in first_cases() if case.target == target]
    for kernel in compiled:
        assert not uniform_registers_never_written(kernel.asm["sass"]), kernel.name
        assert not odd_constants_unpacked(kernel.asm["sass"]), kernel.name


def test_hints_are_left_out_where_the_assembler_gets_them_wrong():
    version = tuple(int(part) for part in _core.assembler_info()[0].split()[-1].split("."))
    assert "L2::cache_hint" in compile_hinted("sm_80").asm["ptx"]
    assert ("L2::cache_hint" in compile_hinted("sm_90a").asm["ptx"]) == (version >= (13, 4))


# -- zeros of eight bits -----------------------------------------------------------


@tilewright.jit
def padded_kernel(x_ptr, out_ptr, columns, FIRST: tl.constexpr, ROWS: tl.constexpr):
    """Of the block of 64 rows the last ones do not exist: the assembler sees that they are zero."""
    block = tl.make_block_ptr(
        x_ptr, shape=(ROWS, columns), strides=(32, 1), offsets=(FIRST, 0), block_shape=(64, 32), order=(1, 0)
    )
    tile = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    index = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out_ptr + index, tile.to(tl.bfloat16) * 2)


PADDED = {"FIRST": 29, "ROWS": 69}


@pytest.mark.parametrize("dtype", FP8)
def test_rows_of_eight_bits_that_do_not_exist(device, dtype):
    x = exact_values(dtype, (PADDED["ROWS"], 32), seed=6)
    out = device.empty((64, 32), NUMPY_TYPES["bfloat16"])
    device.run(padded_kernel, (1,), device.array(x), out, 32, **PADDED, num_warps=1)
    expected = np.concatenate([x[PADDED["FIRST"] :], np.zeros((64 - 40, 32), x.dtype)]).astype(np.float32) * 2
    assert_same(device.numpy(out), expected.astype(NUMPY_TYPES["bfloat16"]), signed_zeros=False)


@pytest.mark.parametrize("dtype", FP8)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_no_upper_half_is_unpacked(target, dtype):
    """Each conversion reads the lower half of a register of its own, or there is none."""
    arrays = np.zeros((PADDED["ROWS"], 32), NUMPY_TYPES[dtype]), np.zeros((64, 32), NUMPY_TYPES["bfloat16"])
    compiled = assemble_for(padded_kernel, target, (*arrays, 32), {**PADDED, "num_warps": 1})
    conversions = re.findall(r".*cvt\.rn\.f16x2\.e\dm\dx2.*", compiled.asm["ptx"])
    assert len(conversions) == (32 if dtype == "float8e4nv" else 0)
    assert all(re.search(r"mov\.b32 \{pair, rest\}, %r\d+; cvt\S+ %r\d+, pair;", text) for text in conversions)
    if disasm.path_to_binary("nvdisasm") or disasm.path_to_binary("cuobjdump"):
        assert not odd_constants_unpacked(compiled.asm["sass"])


def odd_constants_unpacked(sass):
    """UNPACK_B of the constant 1, which stands for the upper half of RZ."""
    return re.findall(r"UNPACK_B R\d+, (?:1\.40129\S*e-45|0x1)\b", sass)


def test_the_check_of_unpacked_constants_notices():
    assert odd_constants_unpacked("F2FP.F16.E5M2.UNPACK_B R34, 1.4012984643248170709e-45 ;")
    assert not odd_constants_unpacked("F2FP.F16.E5M2.UNPACK_B R11, RZ ;\nF2FP.F16.E4M3.UNPACK_B R7, R2.H1 ;")


# -- the oldest one -------------------------------------------------------------


def first_cases():
    """The first launch of each kernel of benchmarks and lessons, for each target."""
    cases = {}
    for case in all_cases():
        cases.setdefault((case.kernel, case.target), case)
    return list(cases.values())


def oldest_library():
    found = sorted((ROOT / ".venv" / "assemblers" / OLDEST).rglob("libnvJitLink.so*"))
    if not found:
        pytest.skip(f"needs nvJitLink {OLDEST}; `make setup` installs it where it can be had")
    return found[0]


def report():
    """Printed by a process that uses another assembler."""
    hinted = {target: "L2::cache_hint" in compile_hinted(target).asm["ptx"] for target in ("sm_80", "sm_90", "sm_90a")}
    registers = {f"{case.name} {case.target}": case.compile().n_regs for case in first_cases()}
    print(json.dumps({"assembler": _core.assembler_info()[0], "hinted": hinted, "registers": registers}))


def test_the_oldest_assembler():
    environment = {**os.environ, "TILEWRIGHT_NVJITLINK": str(oldest_library()), "TILEWRIGHT_CACHE": "0",
                   "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "tests" / "e2e"), *sys.path]))}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", "import test_assemblers; test_assemblers.report()"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    # With -verbose it would print "@O@info" lines for each kernel of the user's.
    assert "@O@" not in done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["assembler"] == f"nvJitLink {OLDEST}"
    assert found["hinted"] == {"sm_80": True, "sm_90": False, "sm_90a": False}
    assert len(found["registers"]) >= 20 and all(0 < count <= 255 for count in found["registers"].values())


@tilewright.jit
def large_product_kernel(out_ptr, SIZE: tl.constexpr):
    tile = tl.full((SIZE, SIZE), 1.0, tl.float16)
    tl.store(out_ptr, tl.sum(tl.dot(tile, tile)))


def test_remark_on_an_accumulator_that_cannot_fit():
    made = assemble_for(large_product_kernel, "sm_80", (np.zeros(1, np.float32),), {"SIZE": 128, "num_warps": 1})
    remarks = " ".join(made.remarks)
    assert (
        "assembler-effort: refused, accumulatorRegisters=512, limit=255 (the accumulator needs over twice the registers "
        "of a thread, so the code is not optimised; more warps or a smaller tile would help)" in remarks
    )
    assert "(mma: the target has no wgmma)" in remarks


@tilewright.jit
def long_lived_kernel(x_ptr, out_ptr, trips, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    x = tl.load(x_ptr + offsets)
    for trip in range(trips):
        tl.store(out_ptr + trip + offsets, x)


def test_remark_on_spills():
    arrays = np.zeros(2048, np.float32), np.zeros(2050, np.float32)
    made = assemble_for(long_lived_kernel, "sm_80", (*arrays, 2), {"SIZE": 2048, "num_warps": 1, "maxnreg": 32})
    assert made.metadata.n_spills > 0
    assert any(
        re.fullmatch(
            r"register-spills: refused, spillBytes=\d+, registers=32 \(the values alive at once do not fit the "
            r"registers; more warps or a smaller tile would help\)",
            remark,
        )
        for remark in made.remarks
    )
