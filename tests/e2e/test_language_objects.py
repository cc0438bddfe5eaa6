# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The objects of the language on the host: dtypes, constexpr, names, import time."""

import copy
import inspect
import pickle
import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright.runtime.interpreter import run_interpreted

# What kernels for Triton 3.5 to 3.8 may name.
NAMES = """
PropagateNan TRITON_MAX_TENSOR_NUMEL abs add advance arange argmax argmin associative_scan assume atomic_add atomic_and
atomic_cas atomic_max atomic_min atomic_or atomic_poll atomic_xchg atomic_xor bfloat16 bitonic_merge block_type broadcast
broadcast_to cast cat cdiv ceil clamp condition const constexpr constexpr_type cos cumprod cumsum debug_barrier
device_assert device_print div_rn dot dot_scaled dtype erf exp exp2 expand_dims expect_zero extra fdiv flip float16
float32 float64 float8e4b15 float8e4b8 float8e4nv float8e5 float8e5b16 floor fma full gather histogram
inline_asm_elementwise int1 int16 int32 int64 int8 interleave join load load_tensor_descriptor log log2 make_block_ptr
make_tensor_descriptor map_elementwise math max max_constancy max_contiguous maximum min minimum mul multiple_of
num_programs pair_uniform_to_normal permute philox philox_impl pi32_t pointer_type program_id rand rand4x randint
randint4x randn randn4x range ravel reduce reduce_or reshape rsqrt sigmoid sin slice slice_type softmax sort split sqrt
sqrt_rn squeeze static_assert static_print static_range store store_tensor_descriptor sub sum swizzle2d target_info
tensor tensor_descriptor tensor_descriptor_type to_tensor topk trans tuple tuple_type uint16 uint32 uint64 uint8
uint_to_uniform_float umulhi unsqueeze view void where xor_sum zeros zeros_like
""".split()

METHODS = """
to cast item broadcast_to trans permute split view reshape expand_dims ravel store atomic_add atomic_and atomic_cas
atomic_max atomic_min atomic_or atomic_poll atomic_xchg atomic_xor exp exp2 log log2 cos sin sqrt sqrt_rn rsqrt abs erf
floor ceil reduce associative_scan gather histogram cdiv sigmoid softmax max argmax min argmin sum xor_sum reduce_or
cumsum cumprod sort flip logical_and logical_or shape dtype type numel handle T
""".split()


def test_names():
    assert [n for n in NAMES if not hasattr(tl, n)] == []
    assert [n for n in METHODS if not hasattr(tl.tensor, n)] == []


def test_functions_are_documented_builtins():
    for name in NAMES:
        value = getattr(tl, name)
        if inspect.isfunction(value):
            assert value.__tilewright_builtin__, name
            assert value.__doc__, name


DTYPES = {
    "int1": (tl.int1, 1, 1), "int8": (tl.int8, 8, 1), "uint16": (tl.uint16, 16, 2), "int32": (tl.int32, 32, 4),
    "uint64": (tl.uint64, 64, 8), "fp8e4nv": (tl.float8e4nv, 8, 1), "fp8e5": (tl.float8e5, 8, 1),
    "fp16": (tl.float16, 16, 2), "bf16": (tl.bfloat16, 16, 2), "fp32": (tl.float32, 32, 4),
    "fp64": (tl.float64, 64, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_dtype(name):
    dtype, bits, size = DTYPES[name]
    assert (dtype.name, str(dtype), dtype.primitive_bitwidth, dtype.itemsize) == (name, name, bits, size)
    assert dtype.scalar is dtype
    assert tl.dtype(name) == dtype and hash(tl.dtype(name)) == hash(dtype)
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert dtype != tl.void and dtype != name
    assert dtype.is_floating() == (name.startswith(("fp", "bf")))
    assert dtype.is_int() != dtype.is_floating()
    predicates = [p for p in dir(dtype) if p.startswith("is_") and p != "is_dtype" and getattr(dtype, p)() is True]
    assert f"is_{name}" in predicates
    if dtype.is_int():
        assert dtype.int_bitwidth == bits
        signed = dtype.int_signedness == tl.dtype.SIGNEDNESS.SIGNED
        assert signed == dtype.is_int_signed() == (name.startswith("int") and name != "int1")
        assert dtype.get_int_max_value() - dtype.get_int_min_value() == 2**bits - 1
    else:
        assert dtype.kind() == tl.dtype.KIND.FLOATING


def test_mantissa_and_bias():
    facts = [
        (t.fp_mantissa_width, t.exponent_bias)
        for t in (tl.float8e4nv, tl.float8e5, tl.float16, tl.bfloat16, tl.float32, tl.float64)
    ]
    assert facts == [(3, 7), (2, 15), (10, 15), (7, 127), (23, 127), (52, 1023)]


def test_pointer_and_block_types():
    pointer = tl.pointer_type(tl.float16)
    assert pointer.is_ptr() and pointer.element_ty is tl.float16 and not pointer.is_const()
    assert str(pointer) == "pointer<fp16>" and pointer == tl.pointer_type(tl.float16)
    assert tl.pointer_type(tl.float16, const=True).is_const()
    block = tl.block_type(tl.int8, [4, 8])
    assert (block.shape, block.numel, block.nbytes, block.get_block_shapes()) == ((4, 8), 32, 32, (4, 8))
    assert block.is_block() and block.scalar is tl.int8 and block.element_ty is tl.int8
    assert block != tl.block_type(tl.int8, [8, 4]) and str(block) == "<[4, 8], int8>"
    for value in (pointer, block):
        assert pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(ValueError, match="tile dimension 1 is 3"):
        tl.block_type(tl.int8, [4, 3])
    with pytest.raises(TypeError, match="there is no dtype 'fp31'"):
        tl.dtype("fp31")


BINARY = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">="]


@pytest.mark.parametrize("operator", BINARY)
def test_constexpr_operators(operator):
    a, b = tl.constexpr(13), tl.constexpr(3)
    expected = eval(f"13 {operator} 3")
    for text in (f"a {operator} b", f"a {operator} 3", f"13 {operator} b"):
        result = eval(text, {"a": a, "b": b})
        assert isinstance(result, tl.constexpr) and result.value == expected, text


def test_constexpr_protocol():
    x = tl.constexpr(tl.constexpr(5))
    assert x.value == 5 and int(x) == 5 and float(x) == 5.0 and [0] * x == [0] * 5 and bool(x) and hash(x) == hash(5)
    assert (-x).value == -5 and (~x).value == -6 and abs(-x).value == 5
    assert repr(x) == "constexpr[5]" and pickle.loads(pickle.dumps(x)).value == 5
    assert x.logical_and(0).value == 0 and tl.constexpr(0).logical_or(7).value == 7
    items = tl.constexpr((1, 2, 3))
    assert items[1].value == 2 and len(items) == 3 and list(items) == [1, 2, 3]
    assert tl.constexpr(max)(1, tl.constexpr(4)).value == 4
    assert np.zeros(tl.constexpr(3)).shape == (3,)


def test_tuple():
    t = tl.tuple([1, 2, 3])
    assert t[tl.constexpr(1)] == 2 and t[tl.constexpr(1) :] == (2, 3) and isinstance(t[:2], tl.tuple)
    assert t + (4,) == (1, 2, 3, 4) and len(t * tl.constexpr(2)) == 6


def test_ranges():
    assert list(tl.static_range(2, tl.constexpr(8), 3)) == [2, 5]
    r = tl.range(0, 10, 2, num_stages=tl.constexpr(3), warp_specialize=True)
    assert (r.start, r.end, r.step, r.num_stages, r.warp_specialize, r.flatten) == (0, 10, 2, 3, True, False)
    assert (tl.range(7).start, tl.range(7).end, tl.range(7).step) == (0, 7, 1)


def test_tensors_are_not_made_by_hand():
    with pytest.raises(TypeError, match="tl.load"):
        tl.tensor(None, tl.float32)


# ---------------------------------------------------------------------------
# Values of a natively running kernel
# ---------------------------------------------------------------------------


@tilewright.jit
def probe_kernel(x_ptr, i_ptr, PROBE: tl.constexpr):
    # A compiled kernel has no numbers to look at.
    repr(PROBE(tl.load(x_ptr + tl.arange(0, 4)), tl.load(x_ptr + 1), tl.load(i_ptr)))


def probe(body):
    """Calls `body(tile, float scalar, int scalar)` inside a kernel."""
    done = []

    def run(*values):
        body(*values)
        done.append(True)

    x = np.array([0.5, 1.5, -2.0, 4.0], np.float32)
    arguments = {"x_ptr": x, "i_ptr": np.array([3], np.int32), "PROBE": tl.core.builtin(run)}
    run_interpreted(probe_kernel, (1,), arguments)
    assert done


def test_scalars_are_numbers():

    def body(tile, x, i):
        assert float(x) == 1.5 and int(x) == 1 and bool(x) and int(i) == 3 and [0, 1, 2, 9][i] == 9
        assert f"{x:.2f} {i:04d}" == "1.50 0003" and str(i) == "3" and repr(i) == "i32(3)"
        assert repr(tile) == "fp32[4]([ 0.5  1.5 -2.   4. ])" and str(tile) == "[ 0.5  1.5 -2.   4. ]"
        assert not bool(x - x)
        with pytest.raises(TypeError, match="only an integer can be an index"):
            [0, 1][x]
        with pytest.raises(TypeError, match="one element is required"):
            bool(tile > 0)

    probe(body)


def test_operands_of_python_and_numpy():

    def body(tile, x, i):
        assert float(np.float32(2) * x) == 3.0 and float(x * np.float64(2)) == 3.0
        assert (np.int64(2) + i).dtype is tl.int32 and (i + np.bool_(True)).dtype is tl.int32
        assert int(i + tl.constexpr(4)) == 7 and int(tl.constexpr(4) - i) == 1 and int(2**31 - 1 - i) == 2**31 - 4
        assert (i == None) is False and (i != "3") is True  # noqa: E711
        with pytest.raises(TypeError, match="unsupported operand"):
            i + "3"
        with pytest.raises(TypeError, match="unsupported operand"):
            i + None
        with pytest.raises(ValueError, match="value 18446744073709551616 is out of range"):
            i + 2**64
        with pytest.raises(TypeError):
            iter(tile)

    probe(body)


def test_shape_and_type_of_values():

    def body(tile, x, i):
        assert tile.shape == (4,) and x.shape == () and tile.numel == 4 and tile.dtype is tl.float32
        assert tile.type == tl.block_type(tl.float32, [4]) and x.type is tl.float32 and isinstance(x, tl.tensor)
        assert tile[None, :, None].shape == (1, 4, 1) and tile[:, None].T.shape == (1, 4)
        assert hash(x) != hash(i) and len({x, i, x}) == 2

    probe(body)


def test_import_is_quick():
    """The language takes some 30 ms on top of NumPy, torch and the driver stay out."""
    code = (
        "import numpy, time; t = time.process_time(); import tilewright.language; "
        "print(time.process_time() - t); import sys; assert 'torch' not in sys.modules"
    )
    # As of an installed package: its modules are compiled to bytecode once.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    times = [
        float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment).stdout)
        for _ in range(5)
    ]
    # Time of the processor, and the fastest of five: 26 to 31 ms were measured, the rest is for a busy machine.
    assert min(times) < 0.1, times
