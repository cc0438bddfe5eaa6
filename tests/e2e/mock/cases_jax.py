# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What XLA's calls launch on a GPU, against the recording driver; run by test_launch_mock.py."""

import os
import threading
import time

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from harness.fake_xla import FakeXla
from harness.launch_cases import DEVICE0, DEVICE1
from tilewright import _core, errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]

jax = pytest.importorskip("jax")
import tilewright.jax  # noqa: E402


@tilewright.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * factor, i < n)


@tilewright.jit
def increase_kernel(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


@pytest.fixture
def handler():
    return _core.xla_handlers(tilewright.jax._run, 5)[1]


def launch_name(kernel, *args, grid=(3,), **named):
    """The name under which a call is known, without calling XLA."""
    aliases = named.pop("input_output_aliases", None)
    made = tilewright.jax._Call(kernel, args, named, named.pop("out_shape"), aliases)
    return tilewright.jax._enter(made, made.grid(grid))


def struct(dtype=np.float32):
    return jax.ShapeDtypeStruct((70,), dtype)


def test_buffers_stream_and_numbers_reach_the_launch(mock, handler, compiler):
    name = launch_name(scale_kernel, jax.numpy.ones(70), n=70, factor=2.0, BLOCK=32, num_warps=8, out_shape=struct())
    assert FakeXla(stream=0x77).call(handler, name, [DEVICE0 + 256], [DEVICE0 + 512]) == ""
    launch = mock.launch()
    assert (launch.grid, launch.stream, launch.device, launch.threads) == ((3, 1, 1), 0x77, 0, 256)
    assert launch.unpack("QQif") == (DEVICE0 + 256, DEVICE0 + 512, 70, 2.0)
    assert compiler.last["signature"] == {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"}
    # Again, on another device: nothing is traced again, and the stream is that of the call.
    assert FakeXla(stream=0x88).call(handler, name, [DEVICE1], [DEVICE1 + 4096]) == ""
    assert (mock.count, mock.launch().device, mock.launch().stream) == (2, 1, 0x88)


@pytest.mark.parametrize(
    "dtype, kind", [("bfloat16", "*bf16"), ("float8_e4m3fn", "*fp8e4nv"), ("float16", "*fp16"), ("bool", "*i1")]
)
def test_types_of_buffers(mock, handler, compiler, dtype, kind):
    x = jax.numpy.ones(70, dtype)
    name = launch_name(scale_kernel, x, n=70, factor=2.0, BLOCK=64, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
    assert FakeXla(stream=0x77).call(handler, name, [DEVICE0], [DEVICE0 + 256]) == ""
    assert compiler.last["signature"]["x_ptr"] == compiler.last["signature"]["out_ptr"] == kind


def test_argument_that_is_a_result(mock, handler, compiler):
    compiler.metadata = {"written_args": ["x_ptr"]}
    name = launch_name(increase_kernel, jax.numpy.ones(70), BLOCK=64, out_shape=struct(), input_output_aliases={"x_ptr": 0})
    xla = FakeXla(stream=0x77)
    assert xla.call(handler, name, [DEVICE0], [DEVICE0]) == ""
    assert mock.launch().unpack("Q") == (DEVICE0,)
    told = xla.call(handler, name, [DEVICE0], [DEVICE0 + 256])
    assert (
        "[E0117] XLA gave an argument and its result different buffers\n"
        "  help: leave input_output_aliases out, and copy in the kernel" in told
    )
    assert mock.count == 1


def test_argument_that_the_compiled_kernel_writes(mock, handler, compiler):
    compiler.metadata = {"written_args": ["x_ptr", "out_ptr"]}
    name = launch_name(scale_kernel, jax.numpy.ones(70), n=70, factor=3.0, BLOCK=128, out_shape=struct())
    assert "E0216" in FakeXla(stream=0x77).call(handler, name, [DEVICE0], [DEVICE0 + 256])
    assert mock.count == 0


def test_other_threads_run_while_the_driver_launches(mock, handler, compiler):
    """XLA's thread gives up the GIL for the driver's call, which waits where the queue of the stream is full."""
    name = launch_name(scale_kernel, jax.numpy.ones(70), n=70, factor=2.0, BLOCK=64, out_shape=struct())
    told = []
    thread = threading.Thread(
        target=lambda: told.append(FakeXla(stream=0x77).call(handler, name, [DEVICE0], [DEVICE0 + 512])), daemon=True
    )
    mock.library.mockHoldLaunches(10_000)
    thread.start()
    while thread.is_alive() and not mock.library.mockHeldLaunches():
        time.sleep(0.001)
    assert mock.library.mockHeldLaunches() == 1 and told == []
    mock.library.mockHoldLaunches(0)
    thread.join()
    assert told == [""] and mock.count == 1


def test_call_without_a_stream(mock, handler):
    name = launch_name(scale_kernel, jax.numpy.ones(70), n=70, factor=2.0, BLOCK=32, out_shape=struct())
    xla = FakeXla(stream=None)
    assert xla.call(handler, name, [DEVICE0], [DEVICE0 + 256]) == "XLA has no stream for this call"
    assert xla.destroyed == [0xDEAD] and mock.count == 0


def test_unknown_launch_and_unknown_version(mock, handler):
    assert "E0117" in FakeXla(stream=0x77).call(handler, "unheard of", [], [])
    assert "does not know" in FakeXla(stream=0x77, major=1).call(handler, "unheard of", [], [])


def test_what_a_handler_says_of_itself(handler):
    answer = FakeXla().metadata(handler)
    assert (answer.version.major, answer.version.minor, answer.traits) == (0, 5, 0)


def test_array_of_jax_that_a_direct_launch_would_change(mock, compiler):
    compiler.metadata = {"written_args": ["x_ptr"]}
    x = jax.numpy.ones(64)
    mock.library.mockSetPinned(x.unsafe_buffer_pointer())  # the driver takes it for memory of the GPU's
    with pytest.raises(errors.TilewrightError, match="E0216.*x_ptr"):
        increase_kernel[(1,)](x, BLOCK=64)
    assert mock.count == 0
