# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The comparison of kernels between two builds notices what changed, and nothing else."""

import tilewright
import tilewright.language as tl
from harness import ptx_hashes


@tilewright.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, offsets < n) * 2, offsets < n)


def record(folder, block):
    specialised = ({"x_ptr": "*fp32", "n": "i32"}, {"BLOCK": block}, {"x_ptr": 16})
    ptx_hashes.record(folder, double_kernel, specialised, {"num_warps": 4}, "sm_80")


def test_equal_kernels_are_equal(tmp_path):
    record(tmp_path, 128)
    record(tmp_path, 256)
    lines = ptx_hashes.hash_folder(tmp_path, 1, "", None)
    assert len(lines) == 2 and lines[0].split()[0] != lines[1].split()[0]
    assert ptx_hashes.compare(lines, ptx_hashes.hash_folder(tmp_path, 1, "", None)) == []
    assert len(ptx_hashes.hash_folder(tmp_path, 1, "<256x", None)) == 1


def test_changes_are_named(tmp_path):
    record(tmp_path, 128)
    (line,) = ptx_hashes.hash_folder(tmp_path, 1, "", tmp_path / "ptx")
    ptx, remarks, name = line.split()
    assert ".visible .entry" in (tmp_path / "ptx" / f"{name.removesuffix('.mlir')}.ptx").read_text()
    assert ptx_hashes.compare([f"other {remarks} {name}"], [line]) == [f"ptx      {name}"]
    assert ptx_hashes.compare([f"{ptx} other {name}"], [line]) == [f"remarks  {name}"]
    assert ptx_hashes.compare([], [line]) == [f"new      {name}"]


def test_what_does_not_compile_is_a_line_too(tmp_path):
    (tmp_path / "broken.sm_80.mlir").write_text(ptx_hashes.HEADER + '{"target": "sm_80"}\nno module')
    (line,) = ptx_hashes.hash_folder(tmp_path, 1, "", None)
    assert line.endswith("broken.sm_80.mlir") and "Error" in line
