# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the arguments of a launch reach the driver, against the recording one; run by test_launch_mock.py."""

import json
import os

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.launch_cases import DEVICE0, DEVICE1, constexpr, make_kernel, tensors
from harness.mock_driver import FakeTensor
from tilewright import _core, errors
from tilewright.runtime.interpreter import run_interpreted

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


# -- binding and the parameter block ------------------------------------------


def test_parameters_reach_the_driver(mock, compiler):
    add = make_kernel()
    kernel = add[(7, 2)](*tensors(), 1000, BLOCK=128)
    launch = mock.launch()
    assert launch.grid == (7, 2, 1)
    assert launch.threads == 128 and launch.shared == 0
    assert launch.unpack("QQQi") == (DEVICE0, DEVICE0 + 4096, DEVICE0 + 8192, 1000)
    assert compiler.last["signature"] == {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    assert compiler.last["constexprs"] == {"BLOCK": 128}
    assert compiler.last["divisibility"] == {"x": 16, "y": 16, "out": 16, "n": 8}
    assert compiler.last["target"] == "sm_90a"
    assert kernel.name == "add" and kernel.metadata.num_warps == 4


def test_warm_launch_compiles_nothing_and_returns_the_same_kernel(mock, compiler):
    add = make_kernel()
    first = add[(1,)](*tensors(), 999, BLOCK=128)
    for _ in range(5):
        assert add[(2,)](*tensors(), 1001, BLOCK=128) is first
    assert len(compiler.calls) == 1 and mock.count == 6
    assert mock.launch().unpack("QQQi")[3] == 1001


def test_keywords_defaults_and_order(mock):

    @tilewright.jit
    def f(a, b, c=5, D: constexpr = 64):
        pass

    f[(1,)](b=3, a=2)
    assert mock.launch().unpack("iii") == (2, 3, 5)
    f[(1,)](2, c=7, b=3, D=32)
    assert mock.launch().unpack("iii") == (2, 3, 7)


@pytest.mark.parametrize(
    "value,type_name,divisibility",
    [
        (17, "i32", 1),
        (32, "i32", 16),
        (0, "i32", 16),
        (-16, "i32", 16),
        (-1, "i32", 1),
        (24, "i32", 8),
        (-8, "i32", 8),
        (4, "i32", 1),
        (2**31 - 1, "i32", 1),
        (2**31, "i64", 16),
        (-(2**31) - 1, "i64", 1),
        (-(2**31) - 8, "i64", 8),
        (2**63 + 5, "u64", 1),
        (2**63 + 8, "u64", 8),
        (2.5, "fp32", 1),
        (True, "i1", 1),
        (np.int64(48), "i32", 16),
        (np.int32(40), "i32", 8),
        (np.float32(1.5), "fp32", 1),
        (np.bool_(False), "i1", 1),
    ],
)
def test_types_of_numbers(mock, compiler, value, type_name, divisibility):

    @tilewright.jit
    def f(v):
        pass

    f[(1,)](value)
    assert compiler.last["signature"] == {"v": type_name}
    assert compiler.last["divisibility"] == ({"v": divisibility} if divisibility > 1 else {})
    form = {"i32": "i", "i64": "q", "u64": "Q", "fp32": "f", "i1": "?"}[type_name]
    assert mock.launch().unpack(form)[0] == value


def test_one_and_none_are_constants(mock, compiler):

    @tilewright.jit
    def f(a, b, c):
        pass

    f[(1,)](1, None, 2)
    assert compiler.last["constexprs"] == {"a": 1, "b": None}
    assert mock.launch().unpack("i") == (2,)
    f[(1,)](True, None, 2)  # a bool is no constant
    assert compiler.last["constexprs"] == {"b": None}


@pytest.mark.parametrize(
    "first,second,compiles",
    [(5, 6, 1), (5, 16, 2), (5, 1, 2), (5, 5.0, 2), (5, True, 2), (5, None, 2), (16, 48, 1), (5, 2**40, 2)],
)
def test_what_is_a_new_specialisation(compiler, first, second, compiles):

    @tilewright.jit
    def f(v):
        pass

    f[(1,)](first)
    f[(1,)](second)
    assert len(compiler.calls) == compiles


@pytest.mark.parametrize(
    "first,second,compiles",
    [
        (1, True, 2),
        (1, 1.0, 2),
        (0.0, -0.0, 2),
        ("relu", "".join(["re", "lu"]), 1),
        ("a", "b", 2),
        ((1, 2), (1, 2), 1),
        ((1, 2), (True, 2), 2),
        (2**70, 2**70, 1),
        (None, False, 2),
    ],
)
def test_constexpr_values_are_told_apart(compiler, first, second, compiles):

    @tilewright.jit
    def f(V: constexpr):
        pass

    f[(1,)](V=first)
    f[(1,)](V=second)
    assert len(compiler.calls) == compiles


def test_functions_as_arguments(compiler):

    @tilewright.jit
    def g(a):
        pass

    @tilewright.jit
    def f(a, fn: constexpr):
        pass

    f[(1,)](2, g)
    f[(1,)](2, fn=g)
    f[(1,)](2, f)
    assert len(compiler.calls) == 2 and compiler.calls[0]["constexprs"] == {"fn": g}


def test_do_not_specialize(compiler):

    @tilewright.jit(do_not_specialize=["a"], do_not_specialize_on_alignment=["b"])
    def f(a, b):
        pass

    f[(1,)](1, 16)
    assert compiler.last["signature"] == {"a": "i32", "b": "i32"} and compiler.last["divisibility"] == {}
    f[(1,)](16, 5)
    f[(1,)](8, 24)
    assert len(compiler.calls) == 1


def test_annotated_types(mock, compiler):

    @tilewright.jit
    def f(a: "i64", b: "fp16", c: "u8", d: "fp64", e: "bf16"):
        pass

    f[(1,)](5, 1.5, 200, 0.1, 1.0)
    assert list(compiler.last["signature"].values()) == ["i64", "fp16", "u8", "fp64", "bf16"]
    assert mock.launch().unpack("qeBdH") == (5, 1.5, 200, 0.1, 0x3F80)
    with pytest.raises(errors.TilewrightError, match="E0119"):
        f[(1,)](5, 1.5, 300, 0.1, 1.0)
    # The type holds for 1, which is compiled in, and for whole numbers too.
    f[(1,)](1, 1, 1, 2, 1)
    assert compiler.last["signature"] == {"b": "fp16", "d": "fp64", "e": "bf16"}
    assert compiler.last["constexprs"] == {"a": 1, "c": 1}
    assert mock.launch().unpack("edH") == (1.0, 2.0, 0x3F80)


@pytest.mark.parametrize(
    "declared, value, code",
    [
        ("u8", 300, "E0119"),
        ("i8", -129, "E0119"),
        ("u32", -1, "E0119"),
        ("i64", 2**63, "E0119"),
        ("i1", 2, "E0119"),
        ("u64", 2**64, "E0211"),
        ("i32", 1.5, "E0204"),
    ],
)
def test_numbers_that_a_declared_type_does_not_hold(mock, declared, value, code):
    """A launch and the interpreter say the same."""

    def f(a, n):
        pass

    f.__annotations__["a"] = declared
    kernel = tilewright.jit(f)
    found = []
    for run in (lambda: kernel[(1,)](value, 3), lambda: run_interpreted(kernel, (1,), {"a": value, "n": 3})):
        with pytest.raises(errors.TilewrightError) as info:
            run()
        found.append((info.value.code, info.value.message, info.value.help, list(info.value.notes)))
    assert found[0] == found[1] and found[0][0] == code


@pytest.mark.parametrize("declared, value", [("u8", 255), ("i8", -128), ("i1", 1), ("i1", 0), ("u64", 2**64 - 1), ("fp32", 3)])
def test_numbers_that_a_declared_type_holds(mock, declared, value):

    def f(a, n):
        pass

    f.__annotations__["a"] = declared
    kernel = tilewright.jit(f)
    kernel[(1,)](value, 3)
    run_interpreted(kernel, (1,), {"a": value, "n": 3})


def test_annotated_ones_are_not_specialised_on_request(mock, compiler):

    @tilewright.jit(do_not_specialize=["a"])
    def f(a: "i64", flag: "i1"):
        pass

    f[(1,)](1, 1)
    f[(1,)](2, 0)
    assert len(compiler.calls) == 1 and compiler.last["signature"] == {"a": "i64", "flag": "i1"}
    assert mock.launch().unpack("q?") == (2, False)


def test_const_pointers(compiler):

    @tilewright.jit
    def f(a: "tl.const", b):
        pass

    f[(1,)](*tensors(2))
    assert compiler.last["signature"] == {"a": "*kfp32", "b": "*fp32"}


@pytest.mark.parametrize(
    "dtype,name",
    [
        ("float32", "fp32"),
        ("torch.bfloat16", "bf16"),
        ("float8_e4m3fn", "fp8e4nv"),
        ("uint8", "u8"),
        ("bool", "i1"),
        (np.dtype("int16"), "i16"),
        (np.dtype("float64"), "fp64"),
    ],
)
def test_pointer_types(compiler, dtype, name):

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](FakeTensor(dtype=dtype))
    assert compiler.last["signature"] == {"a": f"*{name}"}


def test_unaligned_pointer(compiler):

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](FakeTensor(DEVICE0 + 4))
    assert compiler.last["divisibility"] == {}


def test_array_interface(mock, compiler):

    class Array:
        shape = (4,)

        def __init__(self, read_only=False, stream=None):
            self.__cuda_array_interface__ = {
                "data": (DEVICE1 + 64, read_only),
                "typestr": "<f2",
                "shape": (4,),
                "version": 3,
                "stream": stream,
            }

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](Array(stream=77))
    assert compiler.last["signature"] == {"a": "*fp16"}
    launch = mock.launch()
    assert launch.device == 1 and launch.stream == 77 and launch.unpack("Q") == (DEVICE1 + 64,)
    f[(1,)](Array(read_only=True))  # not written: fine
    compiler.metadata = {"written_args": ["a"]}

    @tilewright.jit
    def g(a):
        pass

    with pytest.raises(errors.InvalidArgument, match=r"\[E0216\] 'a' is read-only and the kernel writes it"):
        g[(1,)](Array(read_only=True))


def test_device_buffer(mock, compiler):
    data = np.arange(8, dtype=np.float32)
    buffer = _core.DeviceBuffer(data.nbytes)
    buffer.copy_from(data)
    back = np.empty_like(data)
    buffer.copy_to(back)
    assert (back == data).all()

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](buffer)
    assert compiler.last["signature"] == {"a": "*fp32"}
    assert mock.launch().unpack("Q") == (buffer.data_ptr(),)


def test_more_than_64_parameters(mock):
    names = [f"a{i}" for i in range(100)]
    source = f"def wide({', '.join(names)}):\n    pass\n"
    space = {}
    exec(source, space)
    wide = tilewright.jit(space["wide"], source=source)
    wide[(1,)](*range(2, 102))
    assert mock.launch().unpack("100i") == tuple(range(2, 102))


# -- options, grids, devices ---------------------------------------------------


def test_options_are_part_of_the_key(mock, compiler):
    add = make_kernel()
    args = tensors()
    add[(1,)](*args, 5, BLOCK=64, num_warps=8)
    assert mock.launch().threads == 256 and compiler.last["options"]["num_warps"] == 8
    add[(1,)](*args, 5, BLOCK=64)
    add[(1,)](*args, 5, BLOCK=64, num_stages=2, num_warps=8)
    add[(1,)](*args, 5, num_warps=8, num_stages=2, BLOCK=64)
    assert len(compiler.calls) == 3


def test_a_parameter_that_is_named_like_an_option_is_both(mock, compiler):
    @tilewright.jit
    def kernel(x, num_warps: tl.constexpr, num_stages: tl.constexpr = 7):
        pass

    x = FakeTensor()
    # Keys of a file are not interned, unlike names in a program's text.
    for options in ({"num_warps": 8}, json.loads('{"num_warps": 8}')):
        assert kernel[(1,)](x, **options).constants == {"num_warps": 8, "num_stages": 7}
        assert mock.launch(-1).threads == 256 and compiler.last["options"]["num_warps"] == 8
    # As with Triton, the option is what a keyword says: not what is given by place, nor a default.
    kernel[(1,)](x, 2)
    assert compiler.last["options"].get("num_warps") is None and compiler.last["options"].get("num_stages") != 7
    with pytest.raises(tilewright.errors.InvalidArgument, match="duplicate argument 'num_warps'"):
        kernel[(1,)](x, 8, num_warps=8)


# -- arguments that raise when they are asked -----------------------------------------


class Touchy:
    """Raises whatever it is asked."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__"):
            return object.__getattribute__(self, name)
        raise RuntimeError(f"do not ask for {name}")


class NeedsDetach(FakeTensor):
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("call detach() first")

    @property
    def __dlpack__(self):
        raise RuntimeError("call detach() first")


class NoDict:
    __cuda_array_interface__ = 7


def test_what_cannot_be_asked_is_not_there(mock):
    add = make_kernel()
    x = NeedsDetach(DEVICE0)
    add[(1,)](x, x, x, 5, BLOCK=64)
    assert mock.count == 1
    for value in (Touchy(), NoDict()):
        with pytest.raises(errors.InvalidArgument, match=r"\[E0204\]"):
            add[(1,)](value, x, x, 5, BLOCK=64)
