# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensor-core kernels of the benchmarks and lessons, assembled for each target without a GPU.

Each must come out with its products on the tensor cores, its operands loaded
asynchronously, no spilled register and no wgmma that the assembler serialised.
"""

import re
from types import SimpleNamespace

import pytest

from harness.tensor_core_cases import all_cases, product, shortcomings


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case.target} {case.name}")
def test_assembles_well(case):
    assert shortcomings(case, case.compile()) == []


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    "tile", [(128, 128, 32, 4, 4), (128, 256, 32, 8, 4), (256, 128, 32, 8, 4), (64, 128, 32, 4, 5)], ids=str
)
def test_general_path_reads_ahead(target, tile):
    """The loop is one block: barrier, copies and reads of the next operands stand among the products."""
    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages")
    case = product(target, "fp16", "pointers", dict(zip(names, tile), GROUP_M=8))
    compiled = case.compile()
    assert shortcomings(case, compiled) == []
    assert any("prefetch: applied" in remark for remark in compiled.remarks)
    blocks = re.split(r"(?m)^\$L__BB\w+:", compiled.asm["ptx"])
    loop = next(block for block in blocks if "mma.sync" in block)
    for instruction in ("bar.sync", "cp.async.cg", "ldmatrix", "mma.sync"):
        assert instruction in loop.split("bra")[0], instruction


def test_what_is_looked_for_is_found():
    """The check itself: each shortcoming in a made-up result is named."""
    compiled = SimpleNamespace(
        asm={"ptx": "", "cubin": b"text"},
        n_spills=3,
        metadata=SimpleNamespace(shared=300000),
        remarks=["kernel.py:7:3: pipeline: applied", "wgmma-serialized: refused (Potential Performance Loss: ...)"],
    )
    case = next(case for case in all_cases() if case.target == "sm_90a" and "pointers" in case.name)
    found = "; ".join(shortcomings(case, compiled))
    for part in (
        "no machine code",
        "spills 3",
        "300000 bytes",
        "wgmma-serialized",
        "no wgmma.mma_async",
        "no asynchronous copies",
    ):
        assert part in found
    assert "pipeline" not in found
