# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The texts of what the interpreter's checks find: the sentence, both places, the scalars, what to do."""

import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs, testing


def report_of(kernel, *args, checks="", grid=(1,), **constants):
    """The text of a report without paths; carets only since Python 3.11."""
    with knobs.runtime.scope(), pytest.raises(errors.InterpreterError) as info:
        knobs.runtime.check = checks
        kernel[grid](*args, **constants)
    lines = str(info.value).replace(__file__, "FILE").splitlines()
    return "\n".join(line for line in lines if set(line) - set(" ^"))


def line_of(function, text):
    return next(
        number
        for number, line in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text in line and number > function.starting_line_number
    )


def expect(kernel, text, *args, mark, place, **options):
    """`LINE` is the line that holds `mark`, `NEXT` the one after it; places give columns only since Python 3.11."""
    report = report_of(kernel, *args, **options)
    column = place if sys.version_info >= (3, 11) else 1
    text = text.strip("\n").replace("LINE", f"{line_of(kernel, mark)}:{column}")
    assert report == text.replace("NEXT", str(line_of(kernel, mark) + 1))


@tilewright.jit
def wraps(codes, table, out, scale, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    places = tl.load(codes + offsets) * 8
    tl.store(out + offsets, tl.load(table + places))


def test_wrapped_address():
    expect(wraps, """
[E0415] 16 * 8 is 128, which i8 makes -128; it becomes the address of a load of 'table'; program (0,0,0)
  at FILE:LINE in kernel 'wraps'
      places = tl.load(codes + offsets) * 8
  note: the load is at FILE:NEXT: tl.store(out + offsets, tl.load(table + places))
  note: lane [16] of tile [32]
  note: scale = 5, BLOCK = 32
  help: compute it in 64 bits: cast an operand with .to(tl.int64)
""", np.arange(32, dtype=np.int8), np.zeros(300, np.int8), np.zeros(32, np.int8), 5, BLOCK=32,
           mark="places = ", place=1)  # fmt: skip


@tilewright.jit
def promises(x, start, BLOCK: tl.constexpr):
    offsets = tl.max_contiguous(start + tl.arange(0, BLOCK) * 2, 4)
    tl.store(x + offsets, 0.0)


@tilewright.jit
def promised_multiple(x, start):
    tl.store(x + tl.multiple_of(start, 16), 0.0)


@tilewright.jit
def promised_groups(x, BLOCK: tl.constexpr):
    tl.store(x + tl.max_constancy(tl.arange(0, BLOCK) // 2, 4), 0.0)


@tilewright.jit
def assumption(x, n):
    tl.assume(n > 5)
    tl.store(x, 0.0)


def test_false_hints():
    x = np.zeros(100, np.float32)
    expect(promises, """
[E0416] tl.max_contiguous 4 does not hold: element [1] is 5 after 3; program (0,0,0)
  at FILE:LINE in kernel 'promises'
      offsets = tl.max_contiguous(start + tl.arange(0, BLOCK) * 2, 4)
  note: start = 3, BLOCK = 8
  help: the compiler believes it and may read or write other elements; drop it or mend the offsets
""", x, 3, BLOCK=8, mark="offsets = tl.max_c", place=15)  # fmt: skip
    assert "[E0416] tl.multiple_of 16 does not hold: the value is 24; program (0,0,0)" in report_of(promised_multiple, x, 24)
    assert "tl.max_constancy 4 does not hold: element [2] is 1 after 0;" in report_of(promised_groups, x, BLOCK=8)
    assert "tl.assume does not hold: the condition is false;" in report_of(assumption, x, 3)
    with knobs.runtime.scope():
        knobs.runtime.check = "-hints"
        assumption[(1,)](x, 3)
        promised_multiple[(1,)](x, 24)


@tilewright.jit
def promised_addresses(x, start, BLOCK: tl.constexpr):
    tl.store(tl.multiple_of(x + start + tl.arange(0, BLOCK), 256), 0.0)


def test_addresses_are_counted_from_an_aligned_start():
    """Arrays are aligned to 512 bytes on a GPU and to 16 here, of which a kernel knows nothing."""
    memory = np.zeros(1000, np.float32)
    first = -memory.ctypes.data % 256 // 4
    for shift in (0, 4, 16, 60):
        promised_addresses[(1,)](memory[first + shift :], 64, BLOCK=32)
    said = "[E0416] tl.multiple_of 256 does not hold: the address of element [0] is {} bytes past an aligned one; program"
    assert said.format(4) in report_of(promised_addresses, memory[first + 1 :], 0, BLOCK=32)
    assert said.format(80) in report_of(promised_addresses, memory[first:], 20, BLOCK=32)


@tilewright.jit
def accumulate(x, total, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))


def test_unwritten_read():
    x = np.ones(20, np.float32)
    expect(accumulate, """
[E0417] atomic of 'total' at element 0, which nobody has written; program (0,0,0)
  at FILE:LINE in kernel 'accumulate'
      tl.atomic_add(total, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0), axis=0))
  note: scalar access
  note: n = 20, BLOCK = 32
  help: write it before, or leave it out by a mask
""", x, testing.uninitialized(1), 20, BLOCK=32, mark="tl.atomic_add(total", place=5)  # fmt: skip
    for total in (testing.uninitialized(1), testing.uninitialized((2, 2), "float16")):
        total[:] = 0  # by the host, of which nobody tells
        accumulate[(1,)](x, total, 20, BLOCK=32)
        accumulate[(1,)](x, total, 20, BLOCK=32)  # what the kernel wrote stays written
        assert total.reshape(-1)[0] == 40
    plain = np.ones(1, np.float32)
    accumulate[(1,)](x, plain, 20, BLOCK=32)
    assert "[E0417]" in report_of(accumulate, x, testing.forget(plain), 20, BLOCK=32)
    with testing.watch_empty():
        empty = np.empty(1, np.float32)
    assert "[E0417]" in report_of(accumulate, x, empty, 20, BLOCK=32)


@tilewright.jit
def block(x, out, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(source))


@tilewright.jit
def described(x, out, start, stride, BLOCK: tl.constexpr):
    desc = tl.make_tensor_descriptor(x + start, [BLOCK, BLOCK], [stride, 1], [BLOCK, BLOCK])
    desc.store([start - 8, start], desc.load([0, 0]))


def test_invalid_blocks():
    x, out = np.ones(40, np.float32), np.zeros(32, np.float32)
    expect(block, """
[E0418] load of a block pointer leaves its array: coordinates 0 to 31 of dimension 0, whose extent is 20; program (0,0,0)
  at FILE:LINE in kernel 'block'
      tl.store(out + tl.arange(0, BLOCK), tl.load(source))
  note: n = 20, BLOCK = 32
  help: name the dimension in boundary_check
""", x, out, 20, BLOCK=32, mark="tl.load(source)", place=41)  # fmt: skip
    x = np.ones((16, 16), np.float32)
    for start, stride, text in [
        (2, 16, "the base is 8 bytes into 'x', which is no multiple of 16"),
        (4, 18, "stride 0 of 'x' is 18 elements of 4 bytes, which is no multiple of 16 bytes"),
        (4, 16, "store of a descriptor at the negative coordinate -4 of dimension 0"),
    ]:
        assert text in report_of(described, x, out, start, stride, checks="portable", BLOCK=4)


@tilewright.jit
def spoil(x, out, n, KIND: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    if KIND == "nan":
        value = tl.sqrt(value - 5.0)
    elif KIND == "pole":
        value = 1.0 / value
    elif KIND == "overflow":
        value = tl.exp(value * 100.0)
    elif KIND == "division":
        value = (7 // value.to(tl.int32)).to(tl.float32)
    elif KIND == "portable":
        value = (value * 1e10).to(tl.int32).to(tl.float32)
    tl.store(out + offsets, value, mask=offsets < n + (KIND == "poison"))


@pytest.mark.parametrize("kind,check,text", [
    ("nan", "nan", "[E0419] sqrt(-5) is nan in fp32; it reaches the value of a store of 'out'; program (0,0,0)"),
    ("pole", "nan", "[E0419] 1 / 0 is inf in fp32; it reaches the value of a store of 'out'; program (0,0,0)"),
    ("overflow", "overflow", "[E0420] exp(100) is inf in fp32; it reaches the value of a store of 'out'; program (0,0,0)"),
    ("division", "", "[E0421] 7 // 0 divides by zero; the result reaches the value of a store of 'out'; program (0,0,0)"),
    ("poison", "poison", "[E0422] the load has a mask and no `other`: lanes that it leaves out reach the value of a store of "
     "'out'; program (0,0,0)"),
    ("portable", "portable", "[E0423] 1e+10, cast to i32, is 2147483647; Triton leaves that undefined; it reaches the value "
     "of a store of 'out'; program (0,0,0)"),
])  # fmt: skip
def test_spoiled_lanes(kind, check, text):
    x, out = np.arange(7, dtype=np.float32), np.zeros(8, np.float32)
    report = report_of(spoil, x, out, 7, checks=check, KIND=kind, BLOCK=8)
    assert report.startswith(text + "\n  at FILE:")
    assert "\n  note: " in report and "n = 7, BLOCK = 8\n  help: " in report.replace(f"KIND = {kind}, ", "")
    if check:
        spoil[(1,)](x, out, 7, KIND=kind, BLOCK=8)  # on request only


@tilewright.jit
def careful(x, out, n, BLOCK: tl.constexpr):
    """Lanes are spoiled, and none is used."""
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    inverse = tl.where(value == 0.0, 0.0, 1.0 / value)
    quotient = tl.where(value == 0.0, 0, 7 // value.to(tl.int32))
    hashed = (offsets * 1103515245 + 12345) & 7
    there_and_back = (offsets + 2147483647) - 2147483647
    positive = (value > 0.0) & (offsets < n)
    result = inverse + quotient + tl.load(x + hashed % n) + tl.load(x + there_and_back, mask=positive, other=0.0)
    tl.store(out + offsets, result, mask=offsets < n)


def test_what_is_not_used_is_no_mistake():
    with knobs.runtime.scope():
        knobs.runtime.check = "all"
        careful[(1,)](np.arange(7, dtype=np.float32), np.zeros(8, np.float32), 7, BLOCK=8)


@tilewright.jit
def harmonic(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, 1.0 / (1.0 / tl.load(x + offsets) + 1.0))


def test_infinities_that_become_numbers_again_are_silent():
    out = np.ones(4, np.float32)
    with knobs.runtime.scope():
        knobs.runtime.check = "nan,overflow"
        harmonic[(1,)](np.array([0, 1, 3, 0], np.float32), out, BLOCK=4)
    assert out.tolist() == [0, 0.5, 0.75, 0]
