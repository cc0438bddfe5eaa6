# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that programs use although they look like mistakes: each has a meaning."""

import warnings

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.compare import assert_same
from harness.element_types import exact_values
from tilewright import errors

EMULATED = True

# ---------------------------------------------------------------------------
# constexpr as an annotation that does not bind
# ---------------------------------------------------------------------------


@tilewright.jit
def scaled(x, factor: tl.constexpr, LIMIT: tl.constexpr = 4):
    if factor > LIMIT:
        result = x * factor
    else:
        result = x + factor
    return result


@tilewright.jit
def annotated_helper_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, scaled(x, n) + scaled(x, 2, LIMIT=n))


@pytest.mark.parametrize("n", [3, 7])
def test_run_time_value_for_a_constexpr_parameter(device, n):
    x = exact_values("int32", 16)
    out = device.empty(16, np.int32)
    device.run(annotated_helper_kernel, (1,), out, device.array(x), n, BLOCK=16)
    expected = (x * n if n > 4 else x + n) + (x + 2 if n >= 2 else x * 2)
    assert_same(device.numpy(out), expected.astype(np.int32))


@tilewright.jit
def annotated_name_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets: tl.constexpr = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    bits: tl.constexpr = tl.cast(x, tl.int32, bitcast=True)
    half: tl.constexpr = BLOCK // 2
    late: tl.constexpr
    late = tl.constexpr(tl.where(offsets < half, bits, -1))
    for _ in range(tl.constexpr(tl.minimum(n, 3))):
        late += 1
    tl.store(out_ptr + offsets, late)


@pytest.mark.parametrize("n", [0, 5])
def test_run_time_value_for_a_name_annotated_constexpr(device, n):
    x = exact_values("float32", 16)
    out = device.empty(16, np.int32)
    device.run(annotated_name_kernel, (1,), out, device.array(x), n, BLOCK=16)
    assert_same(device.numpy(out), (np.where(np.arange(16) < 8, x.view(np.int32), -1) + min(n, 3)).astype(np.int32))


# ---------------------------------------------------------------------------
# Subscripts, ranges
# ---------------------------------------------------------------------------


@tilewright.jit
def subscript_kernel(out_ptr, x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    scalar = tl.load(x_ptr)
    one = scalar[:, None]
    tl.static_assert(one.shape == (1,))
    tl.static_assert(scalar[None, :].shape == (1,))
    tl.static_assert(scalar[:].shape == ())
    tl.static_assert(scalar[None, None].shape == (1, 1))
    x = tl.load(x_ptr + offsets)[:, :]
    tl.static_assert(x.shape == (BLOCK,))
    tl.store(out_ptr + offsets, x + one)


def test_slices_beyond_the_last_dimension(device):
    x = exact_values("int32", 16)
    out = device.empty(16, np.int32)
    device.run(subscript_kernel, (1,), out, device.array(x), BLOCK=16)
    assert_same(device.numpy(out), x + x[0])


@tilewright.jit
def range_hints_kernel(out_ptr, n, FLATTEN: tl.constexpr):
    total = 0
    for i in range(n, flatten=FLATTEN, num_stages=2):
        total += i
    for i in range(0, n, 2, loop_unroll_factor=2, warp_specialize=False):
        total += 100
    tl.store(out_ptr, total)


def test_hints_on_pythons_range(device):
    out = device.empty(1, np.int32)
    device.run(range_hints_kernel, (1,), out, 5, FLATTEN=False)
    assert device.numpy(out)[0] == 310


# ---------------------------------------------------------------------------
# Returns in unrolled loops
# ---------------------------------------------------------------------------


@tilewright.jit
def first_above(x_ptr, limit, N: tl.constexpr):
    for i in tl.static_range(N):
        value = tl.load(x_ptr + i)
        if value > limit:
            return i * 1000 + value
    return -1


@tilewright.jit
def search_kernel(out_ptr, x_ptr, N: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(out_ptr + pid, first_above(x_ptr, pid * 2, N))


def test_return_of_a_value_in_an_unrolled_loop(device):
    x = np.array([1, 0, 3, 9, 5, 2], np.int32)
    out = device.empty(6, np.int32)
    device.run(search_kernel, (6,), out, device.array(x), N=6)
    expected = [next((i * 1000 + v for i, v in enumerate(x) if v > limit), -1) for limit in range(0, 12, 2)]
    assert device.numpy(out).tolist() == expected


@tilewright.jit
def stop_kernel(out_ptr, n):
    for i in tl.static_range(3):
        for j in tl.static_range(2):
            if i * 2 + j >= n:
                return
            tl.store(out_ptr + i * 2 + j, 1)
        if n == 3:
            tl.store(out_ptr + 6, i)
        else:
            tl.store(out_ptr + 7, i)
    tl.store(out_ptr + 8, 1)


@pytest.mark.parametrize("n", [0, 3, 4, 6])
def test_return_in_nested_unrolled_loops(device, n):
    out = device.array(np.full(9, -1, np.int32))
    device.run(stop_kernel, (1,), out, n)
    expected = np.full(9, -1, np.int32)

    def reference():
        for i in range(3):
            for j in range(2):
                if i * 2 + j >= n:
                    return
                expected[i * 2 + j] = 1
            expected[6 if n == 3 else 7] = i
        expected[8] = 1

    reference()
    assert_same(device.numpy(out), expected)


# ---------------------------------------------------------------------------
# Shifts
# ---------------------------------------------------------------------------


@tilewright.jit
def whole_shift_kernel(out_ptr, x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x << 32)
    tl.store(out_ptr + BLOCK + offsets, x >> 40)
    tl.store(out_ptr + 2 * BLOCK + offsets, x.to(tl.uint32) >> 33)


def test_shift_by_the_width_or_more(device):
    x = np.array([1, -1, 5, -(2**31)], np.int32)
    out = device.empty((3, 4), np.int32)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        device.run(whole_shift_kernel, (1,), out, device.array(x), BLOCK=4)
    assert_same(device.numpy(out), np.array([x * 0, x >> 31, x * 0], np.int32))


@tilewright.jit
def narrow_shift_kernel(out_ptr):
    tl.store(out_ptr, tl.load(out_ptr) << 70)


def test_shift_by_the_width_warns():
    with pytest.warns(errors.LanguageWarning, match=r"\[W0124\] value 70 exceeds the maximum bitwidth \(8\) for type 'int8'"):
        narrow_shift_kernel[(1,)](np.ones(1, np.int8))


# ---------------------------------------------------------------------------
# Products of higher rank
# ---------------------------------------------------------------------------


@tilewright.jit
def batches_kernel(out_ptr, a_ptr, b_ptr, FIRST: tl.constexpr, SECOND: tl.constexpr, N: tl.constexpr):
    shape: tl.constexpr = (FIRST, SECOND, N, N)
    offsets = tl.reshape(tl.arange(0, FIRST * SECOND * N * N), shape)
    a = tl.load(a_ptr + offsets)
    b = tl.load(b_ptr + offsets)
    c = tl.dot(a, b, tl.full(shape, 1.0, tl.float32))
    tl.store(out_ptr + offsets, c)


def test_dot_of_rank_four(device):
    a, b = (exact_values("float16", (2, 2, 16, 16)) for _ in range(2))
    out = device.empty((2, 2, 16, 16), np.float32)
    device.run(batches_kernel, (1,), out, device.array(a), device.array(b), FIRST=2, SECOND=2, N=16)
    expected = a.astype(np.float32) @ b.astype(np.float32) + 1
    np.testing.assert_allclose(device.numpy(out), expected, rtol=1e-3)


# ---------------------------------------------------------------------------
# Comparisons in a row, parameters by name only
# ---------------------------------------------------------------------------


@tilewright.jit
def chained_kernel(out_ptr, x_ptr, low, high, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    inside = low <= x < high
    if 0 <= low < high < 100:
        inside = inside | (x == -1)
    if 0 < BLOCK <= 4:
        inside = x == x
    tl.static_assert(1 < BLOCK != 3)
    tl.store(out_ptr + offsets, inside.to(tl.int32))


@pytest.mark.parametrize("low, high", [(2, 9), (9, 2), (-3, 4)])
def test_comparisons_in_a_row(device, low, high):
    x = np.arange(-8, 8).astype(np.int32)
    out = device.empty(16, np.int32)
    device.run(chained_kernel, (1,), out, device.array(x), low, high, BLOCK=16)
    expected = (low <= x) & (x < high) | ((0 <= low < high) & (x == -1))
    assert_same(device.numpy(out), expected.astype(np.int32))


@tilewright.jit
def named_only(x, *, factor, offset=3):
    return x * factor + offset


@tilewright.jit
def named_parameters_kernel(out_ptr, x, *, y, BLOCK: tl.constexpr = 4):
    tl.store(out_ptr + tl.arange(0, BLOCK), named_only(x, factor=y) + named_only(x, offset=0, factor=2))


def test_parameters_by_name_only(device):
    out = device.empty(4, np.int32)
    device.run(named_parameters_kernel, (1,), out, 5, y=7)
    assert device.numpy(out).tolist() == [5 * 7 + 3 + 10] * 4


@tilewright.jit
def named_by_position_kernel(out_ptr):
    tl.store(out_ptr, named_only(1, 2))


def test_parameters_by_name_only_need_their_names():
    for run in (
        lambda: named_by_position_kernel[(1,)](np.zeros(1, np.int32)),
        lambda: tilewright.compile(tilewright.ASTSource(named_by_position_kernel, {"out_ptr": "*i32"}), "sm_80"),
    ):
        with pytest.raises(errors.TilewrightError) as info:
            run()
        assert info.value.code == "E0122" and "missing argument 'factor'" in info.value.message


# ---------------------------------------------------------------------------
# Branches that are never taken
# ---------------------------------------------------------------------------


@tilewright.jit
def dead_branches_kernel(out_ptr, MODE: tl.constexpr):
    if MODE == "double":
        value = 2
    elif MODE == "triple":
        value = 3
    else:
        raise ValueError("unknown mode")
    if MODE is None:
        with open("file") as values:
            value = {1: 2}[len(values)]
    tl.store(out_ptr, value)


def test_unsupported_syntax_in_a_dead_branch(device):
    out = device.empty(1, np.int32)
    device.run(dead_branches_kernel, (1,), out, MODE="triple")
    assert device.numpy(out)[0] == 3


def test_unsupported_syntax_that_is_reached():
    for run in (
        lambda: dead_branches_kernel[(1,)](np.zeros(1, np.int32), MODE="other"),
        lambda: tilewright.compile(tilewright.ASTSource(dead_branches_kernel, {"out_ptr": "*i32"}, {"MODE": "other"}), "sm_80"),
    ):
        with pytest.raises(errors.UnsupportedSyntax, match="'raise' is not supported in a kernel") as info:
            run()
        assert info.value.code == "E0102" and info.value.frames[0].source_line.strip().startswith("raise ")


@tl.core.builtin
def doubled(n, *, _builder=None):
    """As libraries write them: a constant comes as an object of the language."""
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(2 * n.value)


@tilewright.jit
def library_function_kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, doubled(N)), tl.full((doubled(N),), doubled(3), tl.float32))


def test_functions_of_libraries_get_constants_as_objects(device):
    out = device.empty((16,), np.float32)
    device.run(library_function_kernel, (1,), out, N=8)
    assert (device.numpy(out) == 6).all()


@tl.core.extern
def thread_index(axis: tl.constexpr, _semantic=None):
    """What Triton gives to its functions, functions of libraries hand on by name."""
    register = "xyz"[axis.value]
    return tl.core.inline_asm_elementwise(
        f"mov.u32 $0, %tid.{register};", "=r", [], dtype=tl.int32, is_pure=True, pack=1, _semantic=_semantic
    )


@tl.core.builtin
def tripled(x, *, _semantic, _generator):
    twice = tl.core.add(x, x, _semantic=_semantic)
    return tl.core.where(twice > 0, twice + x, tl.core.cast(0, twice.dtype, _semantic=_semantic), _semantic=_semantic)


@tl.core.extern
def half(x, _builder=None):
    return x.to(tl.float16, _builder=_builder)


@tilewright.jit
def handing_on_kernel(out_ptr, index_ptr):
    tl.store(out_ptr, tripled(half(tl.load(out_ptr))).to(tl.float32))
    tl.store(index_ptr + thread_index(0), thread_index(0))


def test_functions_of_libraries_hand_the_compilers_objects_on():
    source = tilewright.ASTSource(handing_on_kernel, {"out_ptr": "*fp32", "index_ptr": "*i32"})
    text = tilewright.compile(source, "sm_80").asm["ptx"]
    assert "mov.u32" in text and "%tid.x" in text and "cvt.rn.f16.f32" in text


@tilewright.jit
def tripling_kernel(out_ptr):
    tl.store(out_ptr, tripled(half(tl.load(out_ptr))).to(tl.float32))


def test_functions_of_libraries_with_the_compilers_objects_run(device):
    out = device.array(np.array([2.5], np.float32))
    device.run(tripling_kernel, (1,), out)
    assert device.numpy(out)[0] == 7.5


# ---------------------------------------------------------------------------
# Functions that return on one way only
# ---------------------------------------------------------------------------


@tilewright.jit
def below(x, pointer, limit):
    if limit > 0:
        if limit > 100:
            return x + 1, 7, pointer + 1
        elif limit > 10:
            return x + 2, 7, pointer + 2


@tilewright.jit
def one_sided_return_kernel(out_ptr, x_ptr, limit, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tile, number, pointer = below(tl.load(x_ptr + offsets), x_ptr, limit)
    tl.store(out_ptr + offsets, tile + tl.load(pointer) + number)


@pytest.mark.parametrize("limit, added", [(101, 1), (50, 2)])
def test_function_that_may_end_without_a_return(device, limit, added):
    x = exact_values("int32", 16)
    out = device.empty(16, np.int32)
    device.run(one_sided_return_kernel, (1,), out, device.array(x), limit, BLOCK=16)
    assert_same(device.numpy(out), x + added + x[added] + 7)


def test_interpreter_stops_where_there_is_no_value():
    """On a GPU the value is undefined then."""
    x = np.arange(16, dtype=np.int32)
    with pytest.raises(errors.TilewrightError, match="cannot unpack None into 3 names"):
        one_sided_return_kernel[(1,)](np.empty_like(x), x, 0, BLOCK=16)


@tilewright.jit
def explicit_none(x, limit):
    if limit > 0:
        return x
    return None


@tilewright.jit
def explicit_none_kernel(out_ptr, limit):
    tl.store(out_ptr, explicit_none(limit, limit))


def test_none_that_is_returned_is_another_type():
    with pytest.raises(tilewright.CompilationError, match="Return type mismatch: .* i32 in one branch and None in the other"):
        tilewright.compile(tilewright.ASTSource(explicit_none_kernel, {"out_ptr": "*i32", "limit": "i32"}), "sm_80")


# ---------------------------------------------------------------------------
# Types of constants, constants in tuples
# ---------------------------------------------------------------------------


@tilewright.jit
def type_of_constant_kernel(out_ptr, pair, NUMBER: tl.constexpr, TEXT: tl.constexpr):
    known: tl.constexpr = 32.5
    tl.static_assert(known.type == tl.constexpr_type(32.5))
    tl.static_assert(NUMBER.type == tl.constexpr_type(10))
    tl.static_assert(TEXT.type == tl.constexpr_type("text"))
    tl.static_assert((5, 6, 7).type == tl.constexpr_type((5, 6, 7)))
    assigned = NUMBER
    tl.static_assert(assigned.type == tl.int32)
    # Of a tuple that the launch got, what is 1 or was wrapped is a constant.
    tl.static_assert(isinstance(pair[1].type, tl.constexpr_type))
    tl.static_assert(pair[2][0] == 4)
    tl.store(out_ptr, assigned + pair[0] + pair[1] + pair[2][0])


def test_type_of_a_constant(device):
    out = device.empty(1, np.int32)
    device.run(type_of_constant_kernel, (1,), out, (30, 1, (tl.constexpr(4),)), NUMBER=10, TEXT="text")
    assert device.numpy(out)[0] == 45


# ---------------------------------------------------------------------------
# Tuples and lists whose numbers an assignment has made run-time values
# ---------------------------------------------------------------------------


@tilewright.jit
def compared_sequences_kernel(out_ptr, n, BLOCK: tl.constexpr):
    x = tl.arange(0, BLOCK)
    shape = x.shape
    found = 0
    if shape == [BLOCK]:
        found += 1
    if (BLOCK,) == shape:
        found += 2
    if shape != x.shape:
        found += 4
    pair = (n, BLOCK)
    if pair == [3, BLOCK]:
        found += 8
    if pair != (3, BLOCK):
        found += 16
    if pair == (n, BLOCK, 1):
        found += 32
    if (shape, pair) == ([BLOCK], (n, BLOCK)):
        found += 64
    if pair == (n, None):
        found += 128
    tl.store(out_ptr, found)


@pytest.mark.parametrize("n, expected", [(3, 1 + 2 + 8 + 64), (5, 1 + 2 + 16 + 64)])
def test_sequences_with_run_time_values_are_compared(device, n, expected):
    out = device.empty(1, np.int32)
    device.run(compared_sequences_kernel, (1,), out, n, BLOCK=16)
    assert device.numpy(out)[0] == expected
