# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel with all launches that satisfy a condition, and how it is proved."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.tensor_core_cases import kernels

ROOT = Path(__file__).parent.parent.parent

TYPES = ("fp32", "fp16", "fp8e4nv", "i8", "i32", "i64")


@dataclass
class ProofCase:
    """All launches of a kernel that satisfy `assume`.

    arrays: extents by parameter; "fp16 [m, n]" where the elements are not fp32
    integers: the names of the i32 parameters; floats: those of the fp32 ones
    blocks: the block shapes of parameters that are descriptors
    """

    file: str
    kernel: str
    arrays: dict
    integers: str
    grid: str
    assume: str
    constants: dict = field(default_factory=dict)
    floats: str = ""
    blocks: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.file}:{self.kernel}"

    def function(self):
        if self.file[0].isdigit():
            sys.path.insert(0, str(ROOT / "tutorials"))
            spec = importlib.util.spec_from_file_location("lesson_" + self.file, ROOT / "tutorials" / f"{self.file}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.path.remove(str(ROOT / "tutorials"))
        else:
            module = kernels(self.file)
        function = getattr(module, self.kernel)
        return getattr(function, "fn", function) if type(function).__name__ == "Autotuner" else function

    def prove(self, timeout=10.0):
        from tilewright.proving import prove_conditions

        signature, extents = {}, {}
        for name, text in self.arrays.items():
            kind, _, extent = text.partition(" ")
            if kind not in TYPES:
                kind, extent = "fp32", text
            block = self.blocks.get(name)
            signature[name] = f"tensordesc<{kind}[{','.join(map(str, block))}]>" if block else "*" + kind
            extents[name] = extent
        signature |= dict.fromkeys(self.integers.split(), "i32") | dict.fromkeys(self.floats.split(), "fp32")
        return prove_conditions(self.function(), signature, self.constants, self.grid, extents, self.assume, timeout=timeout)


def alike(names, extent):
    return dict.fromkeys(names.split(), extent)


# What launches of several kernels have in common.
BLOCK = {"BLOCK": 1024}
ROWS = "0 < columns <= BLOCK, rows <= 2**30"
TILES = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8}
SIZES = "0 < M <= 2**14, 0 < N <= 2**14, 0 < K <= 2**14"
STRIDES = "stride_am == K, stride_ak == 1, stride_bk == N, stride_bn == 1, stride_cm == N, stride_cn == 1"
STRIDE_NAMES = "M N K stride_am stride_ak stride_bk stride_bn stride_cm stride_cn"
MATRICES = {"a_ptr": "fp16 [M, K]", "b_ptr": "fp16 [K, N]", "c_ptr": "fp16 [M, N]"}
DESCRIBED = {"a_desc": "fp16 [M, K]", "b_desc": "fp16 [K, N]", "c_desc": "fp16 [M, N]"}
DESCRIBED_BLOCKS = {"a_desc": (64, 32), "b_desc": (32, 64), "c_desc": (64, 64)}
MATRIX_GRID = "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)"
HEADS = "0 < length <= 2**14, heads <= 2**10"
ATTENTION = {"BLOCK_M": 64, "BLOCK_N": 32, "HEAD_DIM": 64, "CAUSAL": True}
QKV = "[heads, length, HEAD_DIM]"
