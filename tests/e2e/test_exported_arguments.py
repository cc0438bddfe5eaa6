# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments and attributes of exported kernels that the program of test_exporting.py does not have."""

import json

import pytest

from harness.exported import lines_of
from tilewright import cli

KERNELS = """
import tilewright as tw
import tilewright.language as tl

@tw.jit
def numbers(out, stream, flag, status, register, step):
    tl.store(out, stream + status + register * step)
    if flag:
        tl.store(out + 1, 1.0)

@tw.jit
def fill(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1.0, mask=i < n)
"""
FILE = {
    "targets": ["sm_90a"],
    "kernels": [
        {
            "kernel": "kernels.py:numbers",
            "grid": "1",
            "signature": ["*fp64,fp64,i1,u64,register=i8,step=i32:8", "*fp64,fp64,i1,u64,register=i8,step=7"],
        },
        {"kernel": "kernels.py:fill", "name": "pairs", "signature": "*fp32:16,i32,64", "options": {"num_ctas": 2}},
        {"kernel": "kernels.py:fill", "name": "many", "signature": "*fp32:16,i32,64", "options": {"num_ctas": 16}},
        {
            "kernel": "kernels.py:fill",
            "name": "together",
            "signature": "*fp32:16,i32,64",
            "options": {"launch_cooperative_grid": True, "launch_pdl": True, "num_warps": 2},
        },
    ],
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "kernels.json").write_text(json.dumps(FILE))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TILEWRIGHT_INTERPRET", raising=False)
        assert cli.main(["export", str(folder / "kernels.json"), "-o", str(folder / "out")]) == 0
    return lines_of(
        folder,
        "out",
        """
def numbers(flag, step):
    return library.numbers(stream, pointer, ctypes.c_double(2.5), flag, ctypes.c_uint64(2**63), -3, step)
for flag, step in ((4, 16), (0, 7)):
    print(numbers(flag, step), launch()[1].hex())
print(numbers(1, 9), library.out_last_error().decode())
class Grid(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]
pairs, together, many = library.pairs, library.together, library.many
for function, programs in ((pairs, 5), (together, 5), (together, 265), (pairs, 2**30), (many, 1)):
    status = function(stream, Grid(programs, 1, 1), pointer, 100)
    print(status, *(launch()[0] if status == 0 else [library.out_last_error().decode()]))
""",
    )


def test_numbers_of_all_kinds(lines):
    # A truth value is 0 or 1, whatever C passes; -3 has eight bits; the step is in the code of the second signature.
    common = "0000000000010000" + "0000000000000440"
    first, second = lines[0].split(), lines[1].split()
    assert first[0] == second[0] == "0"
    assert first[1].startswith(common + "01") and second[1].startswith(common + "00")
    assert first[1].endswith("0000000000000080" + "fd" + "10000000") and second[1].endswith("0000000000000080" + "fd")


def test_a_constant_that_an_argument_is_not(lines):
    assert lines[2] == "10003 numbers: step is 9, and 7 is compiled in"


def test_attributes(lines):
    pairs, together, too_many, too_large, no_room = (line.split(" ", 1) for line in lines[3:])
    # Grid, threads, shared memory, stream, device; then blocks of a cluster, cooperative, programmatic.
    assert pairs[0] == "0" and pairs[1].split()[0] == "10" and pairs[1].split()[-3:] == ["2", "0", "0"]
    assert (
        together[0] == "0"
        and together[1].split()[0] == "5"
        and together[1].split()[3] == "64"
        and together[1].split()[-3:] == ["1", "1", "1"]
    )
    assert too_many[0] == "720"  # more programs than run at once: the driver's own number
    assert too_large == ["10006", "pairs: a grid of 1073741824 x 1 x 1 programs"]
    assert no_room == ["10010", "many: the GPU cannot hold 16 blocks side by side"]
