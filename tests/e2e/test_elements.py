# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of the user on elements: functions of scalars, inline assembly."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.assemble import assemble_for
from harness.compare import assert_same
from harness.element_types import NUMPY_TYPES, exact_values, random_values
from tilewright import errors

EMULATED = True

# ---------------------------------------------------------------------------
# map_elementwise
# ---------------------------------------------------------------------------


@tilewright.jit
def collatz(n):
    """Steps until 1: another number of iterations for each element."""
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@tilewright.jit
def collatz_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.map_elementwise(collatz, tl.load(x_ptr + i)))


def collatz_steps(n):
    steps = 0
    while n > 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


@pytest.mark.parametrize("n", [1, 16, 256])
def test_map_with_branches(device, n):
    x = np.arange(1, n + 1, dtype=np.int32)
    out = device.empty(n, np.int32)
    device.run(collatz_kernel, (1,), device.array(x), out, n)
    assert_same(device.numpy(out), np.array([collatz_steps(int(v)) for v in x], np.int32))


@tilewright.jit
def order(a, b):
    if a < b:
        return a, b.to(tl.float32)
    else:
        return b, a.to(tl.float32)


@tilewright.jit
def order_kernel(x_ptr, y_ptr, low_ptr, high_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    low, high = tl.map_elementwise(order, tl.load(x_ptr + m), tl.load(y_ptr + n))
    tl.store(low_ptr + m * N + n, low)
    tl.store(high_ptr + m * N + n, high)


def test_map_broadcasts_and_returns_several(device):
    x, y = random_values("int32", 16), random_values("int32", 32, seed=1)
    low, high = device.empty((16, 32), np.int32), device.empty((16, 32), np.float32)
    device.run(order_kernel, (1,), device.array(x), device.array(y), low, high, 16, 32)
    assert_same(device.numpy(low), np.minimum(x[:, None], y[None, :]))
    assert_same(device.numpy(high), np.maximum(x[:, None], y[None, :]).astype(np.float32))


@tilewright.jit
def swap_signs(a, b, c, d):
    """Two elements of each of two arguments; what they give does not depend on the grouping."""
    return a - c, b - d, -a, -b


@tilewright.jit
def packed_kernel(x_ptr, y_ptr, out_ptr, negative_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    difference, negative = tl.map_elementwise(swap_signs, tl.load(x_ptr + i), tl.load(y_ptr + i), pack=2)
    tl.store(out_ptr + i, difference)
    tl.store(negative_ptr + i, negative)


@pytest.mark.parametrize("n", [1, 2, 64, 512])
def test_map_in_groups(device, n):
    x, y = exact_values("float32", n), exact_values("float32", n, seed=1)
    out, negative = device.empty(n, np.float32), device.empty(n, np.float32)
    device.run(packed_kernel, (1,), device.array(x), device.array(y), out, negative, n)
    assert_same(device.numpy(out), x - y)
    assert_same(device.numpy(negative), -x)


@tilewright.jit
def tripled(a, b):
    return a * 3, b * 3


@tilewright.jit
def in_a_tuple(a):
    return (a + 1,)


@tilewright.jit
def tuple_of_one_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.map_elementwise(tripled, tl.load(x_ptr + i), pack=2)[0]
    (x,) = tl.map_elementwise(in_a_tuple, x)
    tl.store(out_ptr + i, x)


def test_map_returns_a_tuple_where_its_function_does(device):
    """Also one of a single tile, as Triton does: programs take [0] of it."""
    x = exact_values("int32", 128)
    out = device.empty(128, np.int32)
    device.run(tuple_of_one_kernel, (1,), device.array(x), out, 128)
    assert_same(device.numpy(out), x * 3 + 1)


@tilewright.jit
def circle_kernel(x_ptr, sine_ptr, cosine_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sine_ptr + i, tl.sin(x))
    tl.store(cosine_ptr + i, tl.cos(x))


def test_a_function_with_a_table_of_constants(device):
    """libdevice's sine of float64 reads its polynomials from memory of the module."""
    x = np.linspace(-3, 3, 128)
    sine, cosine = device.empty(128, np.float64), device.empty(128, np.float64)
    device.run(circle_kernel, (1,), device.array(x), sine, cosine, 128)
    assert np.abs(device.numpy(sine) - np.sin(x)).max() < 1e-15
    assert np.abs(device.numpy(cosine) - np.cos(x)).max() < 1e-15


# ---------------------------------------------------------------------------
# Inline assembly
# ---------------------------------------------------------------------------


@tilewright.jit
def add_kernel(x_ptr, y_ptr, out_ptr, CODE: tl.constexpr, CONSTRAINTS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.inline_asm_elementwise(CODE, CONSTRAINTS, [x, y], x.dtype, is_pure=True, pack=PACK))


# One, two and four elements in a register; floats and 64 bits; a float named as bits.
ADDITIONS = [
    ("int32", "add.s32 $0, $1, $2;", "=r,r,r", 1),
    ("float32", "add.f32 $0, $1, $2;", "=f,f,f", 1),
    ("float32", "add.f32 $0, $1, $2;", "=r,r,r", 1),
    ("float64", "add.f64 $0, $1, $2;", "=d,d,d", 1),
    ("int64", "add.s64 $0, $1, $2;", "=l,l,l", 1),
    ("float16", "add.f16x2 $0, $1, $2;", "=r,r,r", 2),
    ("float16", "{ add.f16x2 $0, $2, $4; add.f16x2 $1, $3, $5; }", "=&r,=&r,r,r,r,r", 4),
    ("int16", "add.s16 $0, $1, $2;", "=h,h,h", 1),
    (
        "int8",
        "{ .reg .b32 s<3>; and.b32 s0, $1, 0x7f7f7f7f; and.b32 s1, $2, 0x7f7f7f7f; add.u32 s0, s0, s1; "
        "xor.b32 s1, $1, $2; and.b32 s1, s1, 0x80808080; xor.b32 $0, s0, s1; }",
        "=r,r,r",
        4,
    ),
]


@pytest.mark.parametrize("name, code, constraints, pack", ADDITIONS, ids=str)
@pytest.mark.parametrize("n", [1, 128, 1024])
def test_assembly(device, name, code, constraints, pack, n):
    if device.is_interpreter:
        pytest.skip("inline assembly is for GPUs")
    x, y = exact_values(name, n), exact_values(name, n, seed=1)
    out = device.empty(n, NUMPY_TYPES[name])
    device.run(add_kernel, (1,), device.array(x), device.array(y), out, code, constraints, pack, n)
    assert_same(device.numpy(out), x + y, signed_zeros=False)


@tilewright.jit
def immediates_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    TABLE: tl.constexpr = (0xF0 & 0xCC) | 0xAA
    arguments = [tl.load(x_ptr + i), 0x000F000F, 0x64006400, TABLE]
    bits = tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, $3, $4;", "=r,r,n,i,n", arguments, tl.int32, True, 1)
    wide = tl.inline_asm_elementwise("add.s64 $0, $1, $2;", "=l,l,n", [bits.to(tl.int64), 1 << 40], tl.int64, True, 1)
    tl.store(out_ptr + i, wide)


def test_constants_become_immediates(device):
    """A table of lop3 has to be one."""
    if device.is_interpreter:
        pytest.skip("inline assembly is for GPUs")
    x = exact_values("int32", 256) * 12345
    out = device.empty(256, np.int64)
    device.run(immediates_kernel, (1,), device.array(x), out, 256)
    assert_same(device.numpy(out), (x & 0x000F000F | 0x64006400).astype(np.int64) + (1 << 40))


@tilewright.jit
def no_immediate_kernel(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x_ptr + i, tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,n", [i, tl.load(x_ptr + i)], tl.int32, True, 1))


def test_immediates_are_constants():
    with pytest.raises(errors.InvalidArgument) as told:
        assemble_for(no_immediate_kernel, "sm_90a", [np.zeros(64, np.int32), 64], {})
    assert "[E0117] tl.inline_asm_elementwise: args[1] has a constraint for constants, 'n' or 'i'" in str(told.value)
    assert told.value.help == "pass a constant, or use h, r or l for a register"


@tilewright.jit
def unpack_kernel(x_ptr, low_ptr, high_ptr, N: tl.constexpr):
    """Nibbles of bytes as two tiles of f32: results wider than what goes in."""
    i = tl.arange(0, N)
    low, high = tl.inline_asm_elementwise(
        asm="""
        {
            .reg .b32 t<8>;
            bfe.u32 t0, $8, 0, 4;
            bfe.u32 t1, $8, 8, 4;
            bfe.u32 t2, $8, 16, 4;
            bfe.u32 t3, $8, 24, 4;
            bfe.u32 t4, $8, 4, 4;
            bfe.u32 t5, $8, 12, 4;
            bfe.u32 t6, $8, 20, 4;
            bfe.u32 t7, $8, 28, 4;
            cvt.rn.f32.u32 $0, t0;
            cvt.rn.f32.u32 $1, t1;
            cvt.rn.f32.u32 $2, t2;
            cvt.rn.f32.u32 $3, t3;
            cvt.rn.f32.u32 $4, t4;
            cvt.rn.f32.u32 $5, t5;
            cvt.rn.f32.u32 $6, t6;
            cvt.rn.f32.u32 $7, t7;
        }
        """,
        constraints="=&f,=&f,=&f,=&f,=&f,=&f,=&f,=f,r",
        args=[tl.load(x_ptr + i)],
        dtype=(tl.float32, tl.float32),
        is_pure=True,
        pack=4,
    )
    tl.store(low_ptr + i, low)
    tl.store(high_ptr + i, high)


def test_assembly_with_several_results(device):
    if device.is_interpreter:
        pytest.skip("inline assembly is for GPUs")
    x = random_values("uint8", 256)
    low, high = device.empty(256, np.float32), device.empty(256, np.float32)
    device.run(unpack_kernel, (1,), device.array(x), low, high, 256)
    assert_same(device.numpy(low), (x & 15).astype(np.float32))
    assert_same(device.numpy(high), (x >> 4).astype(np.float32))


@tilewright.jit
def machine_kernel(out_ptr):
    lane = tl.inline_asm_elementwise("mov.u32 $0, %nctaid.x;", "=r", [], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + tl.program_id(0) * 2, lane)
    tl.store(out_ptr + tl.program_id(0) * 2 + 1, tl.extra.cuda.smid() * 0 + 7)


def test_assembly_without_arguments(device):
    if device.is_interpreter:
        pytest.skip("inline assembly is for GPUs")
    out = device.empty(10, np.int32)
    device.run(machine_kernel, (5,), out)
    assert_same(device.numpy(out), np.array([5, 7] * 5, np.int32))


def test_interpreter_refuses_assembly():
    x = np.zeros(8, np.int32)
    with pytest.raises(errors.TilewrightError) as info:
        add_kernel[(1,)](x, x, x, "add.s32 $0, $1, $2;", "=r,r,r", 1, 8)
    assert "[E0120] inline assembly cannot run in the interpreter" in str(info.value)


@tilewright.jit
def clock_kernel(out_ptr):
    start = tl.extra.cuda.globaltimer()
    tl.store(out_ptr, start)
    tl.debug_barrier()
    tl.store(out_ptr + 1, tl.extra.cuda.globaltimer())
    tl.store(out_ptr + 2, tl.extra.cuda.smid().to(tl.int64))


def test_clock(device):
    if device.name.startswith("emulator"):
        pytest.skip("the emulator has no clock")
    out = device.empty(3, np.int64)
    device.run(clock_kernel, (1,), out)
    start, end, multiprocessor = device.numpy(out)
    assert 0 < start <= end and 0 <= multiprocessor < 1024
