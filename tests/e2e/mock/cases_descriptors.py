# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptors and tuples against the recording driver; run by test_launch_mock.py."""

import collections
import os
import struct
import time

import numpy as np
import pytest

import tilewright
from harness.launch_cases import constexpr
from harness.mock_driver import FakeTensor, TensorMap
from tilewright import errors
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

DEVICE0 = 0x10000000000
Pair = collections.namedtuple("Pair", ["left", "right"])


def make_kernel():

    @tilewright.jit
    def f(x, n, BLOCK: constexpr = 1):
        pass

    return f


_next = [DEVICE0]


def describe(shape=(64, 128), block=(16, 64), dtype="float16", strides=None, address=None, **options):
    """A descriptor of memory that no other test has used, so that nothing is cached."""
    if address is None:
        _next[0] += 1 << 24
        address = _next[0]
    if strides is None:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    return TensorDescriptor(FakeTensor(address, dtype=dtype), list(shape), strides, list(block), **options)


# -- parameters -----------------------------------------------------------------


def test_parameter_block(mock, compiler):
    d = describe()
    make_kernel()[(1,)](d, 7)
    assert compiler.last["signature"] == {"x": "tensordesc<fp16[16,64]>", "n": "i32"}
    data = mock.launch().parameters
    assert struct.unpack("<QiiQQi", data[128:]) == (d.base.address, 64, 128, 128, 1, 7)
    made = TensorMap(data[:128])
    assert made.address == d.base.address and made.rank == 2
    assert made.extents == (128, 64) and made.strides == (256,) and made.box == (64, 16)
    assert (made.interleave, made.swizzle, made.fill) == (0, 3, 0)


class Size(tuple):
    """As torch.Size: a tuple of a class of its own."""


@pytest.mark.parametrize("kind", [tuple, list, Size, np.array, lambda values: [np.int64(v) for v in values]])
def test_kinds_of_shapes(mock, kind):
    d = describe()
    d.shape, d.strides, d.block_shape = kind((64, 2**29 + 8)), kind((2**36, 1)), kind((16, 64))
    make_kernel()[(1,)](d, 7)
    data = mock.launch().parameters
    assert struct.unpack("<QiiQQi", data[128:]) == (d.base.address, 64, 2**29 + 8, 2**36, 1, 7)
    d.shape = kind((64, 64, 64))
    with pytest.raises(errors.InvalidDescriptor, match="different lengths"):
        make_kernel()[(1,)](d, 7)


@pytest.mark.parametrize(
    "dtype,code",
    [
        ("int8", 0),
        ("uint8", 0),
        ("int16", 1),
        ("uint16", 1),
        ("int32", 3),
        ("uint32", 2),
        ("int64", 5),
        ("uint64", 4),
        ("float16", 6),
        ("bfloat16", 9),
        ("float32", 7),
        ("float64", 8),
        ("float8_e4m3fn", 0),
        ("float8_e5m2", 0),
    ],
)
def test_element_types(mock, dtype, code):
    make_kernel()[(1,)](describe(dtype=dtype), 7)
    assert TensorMap(mock.launch().parameters).type == code


@pytest.mark.parametrize(
    "block,box,swizzle",
    [
        ((16, 8), (8, 16), 0),
        ((16, 16), (16, 16), 1),
        ((16, 32), (32, 16), 2),
        ((16, 64), (64, 16), 3),
        ((16, 128), (64, 16), 3),
        ((512, 64), (64, 256), 3),
        ((1, 256), (64, 1), 3),
    ],
)
def test_boxes(mock, block, box, swizzle):
    make_kernel()[(1,)](describe((1024, 1024), block), 7)
    made = TensorMap(mock.launch().parameters)
    assert made.box == box and made.swizzle == swizzle


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_ranks(mock, rank):
    shape, block = (2, 3, 4, 5, 64)[-rank:], (1, 2, 4, 4, 32)[-rank:]
    d = describe(shape, block, "float32")
    make_kernel()[(1,)](d, 7)
    data = mock.launch().parameters
    made = TensorMap(data)
    assert made.extents == tuple(reversed(shape)) and made.box == tuple(reversed(block))
    assert made.strides == tuple(4 * s for s in reversed(d.strides[:-1]))
    assert struct.unpack(f"<Q{rank}i{rank}Qi", data[128:]) == (d.base.address, *shape, *d.strides, 7)


def test_padding_and_rounding(mock, compiler):
    make_kernel()[(1,)](describe(padding="nan"), 7)
    assert TensorMap(mock.launch().parameters).fill == 1
    assert compiler.last["signature"]["x"] == "tensordesc<fp16[16,64],nan>"
    make_kernel()[(1,)](describe(dtype="float32", block=(16, 32), round_f32_to_tf32=True), 7)
    assert TensorMap(mock.launch().parameters).type == 11
    assert compiler.last["signature"]["x"] == "tensordesc<fp32[16,32],tf32>"


# -- specialisation and caching ---------------------------------------------------


def test_what_is_a_new_specialisation(mock, compiler):
    f = make_kernel()
    f[(1,)](describe(), 7)
    f[(1,)](describe((640, 256)), 7)  # another array of the same kind
    assert len(compiler.calls) == 1
    for other in (
        describe(block=(32, 64)),
        describe(dtype="bfloat16"),
        describe(padding="nan"),
        describe((4, 64, 128), (1, 16, 64)),
    ):
        before = len(compiler.calls)
        f[(1,)](other, 7)
        assert len(compiler.calls) == before + 1


def test_rows_of_whole_chunks_are_a_specialisation(mock, compiler):
    """TMA stores chunks of 16 bytes: which form stores take is compiled in."""
    f = make_kernel()
    for columns, calls in ((128, 1), (61, 2), (120, 2), (127, 2), (60, 2), (0, 2), (128, 2)):
        d = describe((64, 128))
        d.shape = [64, columns]
        if columns:
            f[(1,)](d, 7)
        else:
            f.warmup(d, 7, grid=(1,))
        assert len(compiler.calls) == calls, columns
    assert [call["divisibility"] for call in compiler.calls] == [{"x": 16}, {}]
    f[(1,)]((describe(dtype="uint8"), describe((64, 24), dtype="uint8", strides=[32, 1])), 7)
    assert compiler.last["divisibility"] == {"x[0]": 16}

    @tilewright.jit(do_not_specialize_on_alignment=["x"])
    def g(x):
        pass

    g[(1,)](describe())
    assert compiler.last["divisibility"] == {}


def test_a_map_is_encoded_once(mock):
    f, d = make_kernel(), describe()
    for _ in range(5):
        f[(1,)](d, 7)
    again = describe(address=d.base.address)
    f[(1,)](again, 7)
    assert mock.encodes == 1
    again.shape = [32, 128]
    f[(1,)](again, 7)
    d.block_shape = [32, 64]
    f[(1,)](d, 7)
    d.block_shape[0] = 64  # the very same list
    f[(1,)](d, 7)
    d.base = FakeTensor(d.base.address + 4096, dtype="float16")
    f[(1,)](d, 7)
    assert mock.encodes == 5
    assert TensorMap(mock.launch().parameters).address == d.base.address


def test_kernels_without_tma_get_pointers(mock, compiler):
    compiler.metadata = {"tensor_maps": [False]}
    compiler.sizes = [8, 4, 4, 8, 8, 4]
    f, d = make_kernel(), describe()
    f[(1,)](d, 7)
    assert mock.encodes == 0
    assert mock.launch().unpack("QiiQQi") == (d.base.address, 64, 128, 128, 1, 7)


def test_compiled_kernel_takes_the_same_arguments(mock):
    d = describe()
    kernel = make_kernel()[(1,)](d, 7)
    expected = mock.launch().parameters
    kernel[(1, 1, 1)](d, 7)
    assert mock.launch().parameters == expected


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: (3, d)], ids=["alone", "in a tuple"])
def test_compiled_kernel_keeps_to_its_rows(mock, wrap):
    whole, ragged = describe((64, 128)), describe((64, 128))
    ragged.shape = [64, 61]
    kernel = make_kernel()[(1,)](wrap(whole), 7)
    with pytest.raises(errors.InvalidDescriptor, match="its last extent is 61 elements"):
        kernel[(1, 1, 1)](wrap(ragged), 7)
    # One that was compiled for any rows takes both.
    kernel = make_kernel()[(1,)](wrap(ragged), 7)
    kernel[(1, 1, 1)](wrap(whole), 7)


def test_warmup(mock, compiler):
    make_kernel().warmup(describe(address=DEVICE0 + 4096), 7, grid=(1,))
    assert compiler.last["signature"]["x"] == "tensordesc<fp16[16,64]>" and mock.count == 0


def test_cost_of_a_warm_launch(mock):
    """Three descriptors against three pointers; generous, since machines are shared."""

    @tilewright.jit
    def f(a, b, c, n):
        pass

    def best(arguments):
        launcher = f[(1,)]
        for _ in range(100):
            launcher(*arguments)
        times = []
        for _ in range(30):
            start = time.perf_counter()
            for _ in range(200):
                launcher(*arguments)
            times.append((time.perf_counter() - start) / 200)
        return min(times) * 1e6

    mock.library.mockRecord(0)
    descriptors = [describe() for _ in range(3)]
    pointers = best([d.base for d in descriptors] + [7])
    described = best(descriptors + [7])
    print(f"pointers {pointers:.2f} us, descriptors {described:.2f} us")
    assert described < pointers + 4


# -- made from arguments ------------------------------------------------------------

# ir/support/RecipeOp.h
CONSTANT, A32, A64, ADD, SUB, MUL, DIV, SEXT, ZEXT = range(9)


def made_by_launch(compiler, shape, strides, sizes, **changes):
    """A kernel whose tensor map the launch makes from its arguments."""

    @tilewright.jit
    def f(x, m, n):
        pass

    compiler.metadata = {
        "host_tensor_maps": [
            {"element": "fp16", "block": [16, 64], "nan": False, "base": 0, "shape": shape, "strides": strides, **changes}
        ]
    }
    compiler.sizes = sizes
    return f[(1,)]


def test_map_made_from_arguments(mock, compiler):
    shape = [[A32, 1, A32, 2, MUL, 0, SEXT, 0], [A32, 2, CONSTANT, 63, ADD, 0, CONSTANT, 64, DIV, 0]]
    launch = made_by_launch(compiler, shape, [[A32, 2, CONSTANT, 8, SUB, 0], [CONSTANT, 1]], [8, 4, 4, 128], nan=True)
    address = describe().base.address
    kernel = launch(FakeTensor(address, dtype="float16"), 6, 136)
    data = mock.launch().parameters
    assert struct.unpack("<Qii", data[:16]) == (address, 6, 136)
    made = TensorMap(data[16:])
    assert made.address == address and made.extents == (3, 6 * 136) and made.strides == (256,)
    assert made.box == (64, 16) and made.fill == 1
    launch(FakeTensor(address, dtype="float16"), 6, 136)
    kernel[(1,)](FakeTensor(address, dtype="float16"), 6, 136)
    assert mock.launch().parameters == data and mock.encodes == 1


def test_wide_arguments(mock, compiler):
    launch = made_by_launch(compiler, [[A64, 1, ZEXT, 0], [A64, 2, SEXT, 0]], [[CONSTANT, 64], [CONSTANT, 1]], [8, 8, 8, 128])
    launch(FakeTensor(describe().base.address, dtype="float16"), 2**40 + 96, 2**40 + 64)
    assert TensorMap(mock.launch().parameters[24:]).extents == (64, 96)
    launch = made_by_launch(compiler, [[A64, 1], [CONSTANT, 64]], [[CONSTANT, 64], [CONSTANT, 1]], [8, 8, 8, 128])
    with pytest.raises(errors.InvalidDescriptor, match=r"shape\[0\] is 1099511627776"):
        launch(FakeTensor(describe().base.address, dtype="float16"), 2**40, 2**40)


def test_recipes_that_read_past_a_parameter_are_refused_before_the_launch(mock, compiler):
    """A package or a cache entry may hold any recipe: reading 8 bytes of an i32 would read what lies after it."""
    launch = made_by_launch(compiler, [[A64, 1], [A32, 2]], [[CONSTANT, 64], [CONSTANT, 1]], [8, 4, 4, 128])
    with pytest.raises(errors.InvalidDescriptor, match=r"\[E0215\].*its recipe reads 8 bytes of parameter 1, which has 4"):
        launch(FakeTensor(describe().base.address, dtype="float16"), 6, 136)
    launch = made_by_launch(compiler, [[A32, 1], [A32, 2]], [[CONSTANT, 64], [CONSTANT, 1]], [8, 4, 4, 128], base=2)
    with pytest.raises(errors.InvalidDescriptor, match="its recipe reads 8 bytes of parameter 2, which has 4"):
        launch(FakeTensor(describe().base.address, dtype="float16"), 6, 136)
    assert mock.count == 0


@pytest.mark.parametrize(
    "m,n,reason", [(0, 64, "shape[0] is 0"), (-5, 64, "shape[0] is -5"), (5, 0, "an extent or stride is divided by 0")]
)
def test_arguments_that_describe_nothing(mock, compiler, m, n, reason):
    launch = made_by_launch(
        compiler, [[A32, 1], [CONSTANT, 640, A32, 2, DIV, 0]], [[CONSTANT, 64], [CONSTANT, 1]], [8, 4, 4, 128]
    )
    with pytest.raises(errors.InvalidDescriptor) as caught:
        launch(FakeTensor(describe().base.address, dtype="float16"), m, n)
    assert f"[E0215] 'tl.make_tensor_descriptor': {reason}" in str(caught.value)
    assert mock.count == 0


# -- rules --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change,reason,rule",
    [
        ({"base": FakeTensor(DEVICE0 + 8, dtype="float16")}, "the base address is not aligned", "a base divisible by 16 bytes"),
        ({"strides": [100, 1]}, "a stride of 200 bytes", "strides divisible by 16 bytes"),
        ({"strides": [128, 2]}, "the last stride is 2", "a last stride of 1"),
        ({"strides": [-128, 1]}, "strides[0] is -128", "strides from 0 to 2^40 bytes"),
        ({"strides": [2**40, 1]}, "strides[0] is 1099511627776", "strides from 0 to 2^40 bytes"),
        ({"shape": [2**31, 128]}, "shape[0] is 2147483648", "extents from 0 to 2147483647"),
        ({"shape": [0, 128]}, "shape[0] is 0", "an array with elements (or an empty grid, which launches nothing)"),
        ({"block_shape": [24, 64]}, "block_shape[0] is 24", "block extents that are powers of two"),
        ({"block_shape": [16, 4]}, "the last dimension of its block has 8 bytes", "16 bytes or more"),
        ({"block_shape": [1 << 15, 64]}, "a block of more than 1048576 elements", "a smaller block_shape"),
        ({"block_shape": [64]}, "shape, strides and block_shape have different lengths", "one entry per dimension in each"),
        ({"shape": [1] * 6}, "it has 6 dimensions", "1 to 5 dimensions"),
        ({"shape": [64, "x"]}, "shape[1] is no integer", "integers"),
        ({"padding": "one"}, "padding 'one'", "padding 'zero' or 'nan'"),
    ],
)
def test_rules(mock, change, reason, rule):
    d = describe()
    for name, value in change.items():
        setattr(d, name, value)
    with pytest.raises(errors.InvalidDescriptor) as caught:
        make_kernel()[(1,)](d, 7)
    assert str(caught.value).splitlines()[0].endswith(f"[E0215] 'x': {reason}")
    assert caught.value.help == f"needs {rule}"
    assert mock.count == 0


@pytest.mark.parametrize("block,position", [((24, 64), 0), ((16, 0), 1)])
def test_blocks_that_no_tile_can_be(mock, block, position):
    """Refused when the descriptor is made, in the words that programs look for."""
    with pytest.raises(ValueError, match=f"Shape element {position} must be a power of 2"):
        describe(block=block)


def test_padding_with_integers(mock):
    with pytest.raises(errors.InvalidDescriptor, match=r"padding 'nan' with elements of type i32"):
        describe(dtype="int32", padding="nan")


def test_driver_refuses(mock):
    mock.library.mockFailNextEncode(1)
    with pytest.raises(errors.InvalidDescriptor, match="the driver cannot encode it: CUDA_ERROR_INVALID_VALUE"):
        make_kernel()[(1,)](describe(), 7)
    make_kernel()[(1,)](describe(), 7)


def test_base_must_be_an_array(mock):
    d = describe()
    d.base = 5
    with pytest.raises(errors.InvalidArgument, match=r"\[E0204\] argument 'x\.base' has type int"):
        make_kernel()[(1,)](d, 7)


# -- tuples ---------------------------------------------------------------------------


def test_tuple(mock, compiler):
    f = make_kernel()
    f[(1,)]((FakeTensor(), 48, 2.5, None, 1, (True,)), 7)
    call = compiler.last
    assert call["signature"] == {"x": ("*fp32", "i32", "fp32", "constexpr", "constexpr", ("i1",)), "n": "i32"}
    assert call["constexprs"] == {"x[3]": None, "x[4]": 1, "BLOCK": 1}
    assert call["divisibility"] == {"x[0]": 16, "x[1]": 16}
    assert mock.launch().unpack("Qif?i") == (DEVICE0, 48, 2.5, True, 7)


@pytest.mark.parametrize(
    "other,compiles",
    [
        ((FakeTensor(), 32), 0),
        ((FakeTensor(), 33), 1),
        ((FakeTensor(), 1), 1),
        ((FakeTensor(), None), 1),
        ((FakeTensor(), 16, 16), 1),
        ((FakeTensor(), (16,)), 1),
        (Pair(FakeTensor(), 16), 1),
        ((FakeTensor(dtype="int32"), 16), 1),
        ((FakeTensor(DEVICE0 + 4), 16), 1),
    ],
)
def test_what_is_a_new_specialisation_of_a_tuple(mock, compiler, other, compiles):
    f = make_kernel()
    f[(1,)]((FakeTensor(), 16), 7)
    f[(1,)](other, 7)
    assert len(compiler.calls) == 1 + compiles


def test_names_are_kept(mock, compiler):
    make_kernel()[(1,)](Pair(describe(), Pair(3, 1)), 7)
    entry = compiler.last["signature"]["x"]
    assert isinstance(entry, Pair) and entry.left == "tensordesc<fp16[16,64]>"
    assert entry.right == Pair("i32", "constexpr")
    assert struct.unpack("<i", mock.launch().parameters[-8:-4]) == (3,)


def test_empty_and_long_tuples(mock, compiler):
    f = make_kernel()
    f[(1,)]((), 7)
    assert mock.launch().unpack("i") == (7,)
    f[(1,)](tuple(range(2, 302)), 7)
    assert mock.launch().unpack("301i") == (*range(2, 302), 7)


def test_element_of_a_wrong_type(mock):
    with pytest.raises(errors.InvalidArgument, match=r"\[E0204\] argument 'x\[1\]\[0\]' has type dict"):
        make_kernel()[(1,)]((1, ({},)), 7)


def test_written_elements_are_protected(mock, compiler):
    """The kernel writes an element of the tuple in parameter x: all of it is protected."""
    compiler.metadata = {"written_args": ["x"]}
    read_only = {"shape": (4,), "typestr": "<f4", "data": (DEVICE0, True), "version": 3}
    array = type("Array", (), {"__cuda_array_interface__": read_only, "dtype": "float32"})()
    with pytest.raises(errors.InvalidArgument, match=r"\[E0216\] 'x' is read-only"):
        make_kernel()[(1,)]((FakeTensor(), array), 7)
