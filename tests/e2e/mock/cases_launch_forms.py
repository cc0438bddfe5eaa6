# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of a launch beyond kernel[grid](...), against the recording driver; run by test_launch_mock.py."""

import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import tilewright
from harness.launch_cases import DEVICE1, constexpr, make_kernel, tensors
from harness.mock_driver import Device, FakeTensor
from tilewright import errors, knobs

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_mock.py", allow_module_level=True)

pytest_plugins = ["harness.launch_cases"]


def tensors_on_second_device():
    return [FakeTensor(DEVICE1 + 4096 * i, device=Device("cuda", 1)) for i in range(3)]


# -- precompile --------------------------------------------------------------------


def test_precompile_makes_the_next_launch_warm(mock, compiler):
    add = make_kernel()
    kernel = add.precompile(*[np.dtype("float32")] * 3, 1004, BLOCK=128, num_warps=8)
    assert mock.count == 0 and mock.library.mockLoaded() == 1 and add._table_size() == 1
    mock.library.mockSetCapturing(1)
    assert add[(1,)](*tensors(), 1001, BLOCK=128, num_warps=8) is kernel
    assert len(compiler.calls) == 1 and add._table_size() == 1


def test_precompile_loads_on_the_device_of_the_arguments(mock):
    add = make_kernel()
    add.precompile(*tensors_on_second_device(), 1000, BLOCK=128)
    mock.library.mockSetCapturing(1)
    add[(1,)](*tensors_on_second_device(), 1000, BLOCK=128)
    assert mock.launch().device == 1
    with pytest.raises(errors.CaptureActive, match="E0214"):
        add[(1,)](*tensors(), 1000, BLOCK=128)


def test_loading_does_not_break_the_capture_of_another_thread(mock):
    add = make_kernel()
    mock.library.mockSetForeignCapture(1)
    add[(1,)](*tensors(), 1000, BLOCK=128)
    assert mock.count == 1


def test_debug_that_is_set_later(mock, compiler):
    """Launches and warm-ups with it find no kernel that was compiled without it."""
    add = make_kernel()

    def ask():
        return [add[(1,)](*tensors(), 1000, BLOCK=128), add.warmup(*tensors(), 1000, BLOCK=128, grid=(1,))]

    before = ask()
    add.debug = True
    after = ask()
    add.debug = None
    assert [call["options"]["debug"] for call in compiler.calls] == [False, True]
    assert before[0] is before[1] and after[0] is after[1] and after[0] is not before[0]
    assert ask() == before and len(compiler.calls) == 2


# -- attributes of a launch -----------------------------------------------------------


def test_cooperative_launch(mock):
    add = make_kernel()
    add[(264,)](*tensors(), 5, BLOCK=64, launch_cooperative_grid=True)
    assert mock.launch().cooperative and not mock.launch().programmatic
    add[(265,)](*tensors(), 5, BLOCK=64)
    assert not mock.launch().cooperative
    with pytest.raises(errors.InvalidGrid) as info:
        add[(265,)](*tensors(), 5, BLOCK=64, launch_cooperative_grid=True)
    assert info.value.message == (
        "grid (265, 1, 1): a cooperative launch runs all its programs at once, and this GPU holds 264 of 'add'"
    )
    add[(1,)](*tensors(), 5, BLOCK=64, launch_cooperative_grid=True)
    assert mock.count == 3


def test_programmatic_dependent_launch(mock):
    add = make_kernel()
    add[(1,)](*tensors(), 5, BLOCK=64, launch_pdl=True)
    assert mock.launch().programmatic and not mock.launch().cooperative
    add[(1,)](*tensors(), 5, BLOCK=64)
    assert not mock.launch().programmatic


def test_the_target_may_not_have_dependent_launches(mock, compiler):
    # What compile_kernel reports below sm_90.
    compiler.metadata = {"launch_pdl": False}
    make_kernel()[(1,)](*tensors(), 5, BLOCK=64, launch_pdl=True)
    assert not mock.launch().programmatic


def test_several_attributes(mock):
    make_kernel()[(3,)](*tensors(), 5, BLOCK=64, num_ctas=4, launch_pdl=True, launch_cooperative_grid=True)
    launch = mock.launch()
    assert launch.grid == (12, 1, 1) and launch.cluster == 4 and launch.programmatic and launch.cooperative


# -- waiting for launches ---------------------------------------------------------------


def test_watchdog_names_the_kernel(mock):
    add = make_kernel()
    with knobs.runtime.scope():
        knobs.runtime.watchdog = 0.1
        add[(1,)](*tensors(), 5, BLOCK=64)
        mock.library.mockHang(1)
        start = time.monotonic()
        with pytest.raises(errors.KernelHang) as info:
            add[(3, 2)](*tensors(), 5, BLOCK=64)
    assert 0.1 < time.monotonic() - start < 5
    assert info.value.message == "'add' ran longer than 0.1 s with grid=(3, 2, 1), 128 threads"
    assert f"cuda-gdb -p {os.getpid()}" in info.value.help
    before = mock.library.mockQueries()
    add[(1,)](*tensors(), 5, BLOCK=64)  # it waits no more
    assert mock.library.mockQueries() == before


def test_sync_waits_for_each_launch_and_lets_signals_in(mock):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs in the background ignore it
    add = make_kernel()
    with knobs.runtime.scope():
        knobs.runtime.sync = True
        add[(1,)](*tensors(), 5, BLOCK=64)
        assert mock.library.mockQueries() == 1
        mock.library.mockHang(1)
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            add[(1,)](*tensors(), 5, BLOCK=64)
        timer.join()


def test_sync_does_not_disturb_a_capture(mock):
    add = make_kernel()
    add[(1,)](*tensors(), 5, BLOCK=64)
    mock.library.mockSetCapturing(1)
    mock.library.mockHang(1)
    with knobs.runtime.scope():
        knobs.runtime.sync = True
        add[(1,)](*tensors(), 5, BLOCK=64)
    assert mock.library.mockQueries() == 0 and mock.count == 2


# -- index_bits ------------------------------------------------------------------------


class Shaped(FakeTensor):
    def __init__(self, shape, strides):
        super().__init__()
        self.shape, self.strides_in_elements = shape, strides

    def stride(self):
        return self.strides_in_elements


@pytest.mark.parametrize("shape,strides,count", [((2**31 + 1,), (1,), 2**31 + 1), ((2, 5), (2**31, 1), 2**31 + 5)])
def test_too_large_for_32_bit_offsets(mock, shape, strides, count):

    @tilewright.jit
    def f(a):
        pass

    f[(1,)](Shaped(shape, strides))
    for _ in range(2):  # cold and warm
        with pytest.raises(errors.OffsetOverflow) as info:
            f[(1,)](Shaped(shape, strides), index_bits=32)
        assert str(info.value).splitlines()[0] == (f"[E0212] 'a' spans {count} elements; 32-bit offsets cannot reach it")
        assert info.value.help == "remove index_bits=32"
    f[(1,)](Shaped(shape, strides), index_bits=64)
    assert mock.count == 2


@pytest.mark.parametrize("shape,strides", [((2**31,), (1,)), ((0, 2**40), (2**40, 1)), ((2, 2**30), (2**30, 1))])
def test_fits_32_bit_offsets(mock, shape, strides):

    @tilewright.jit
    def f(a, n):
        pass

    f[(1,)](Shaped(shape, strides), 2**40, index_bits=32)
    assert mock.count == 1


# -- the launcher that a kernel keeps ----------------------------------------------------


def test_launchers_of_different_grids_live_side_by_side(mock):
    add = make_kernel()
    first, second, same = add[(1,)], add[(2,)], add[(2,)]
    for launcher in (first, second, same, first):
        launcher(*tensors(), 5, BLOCK=64)
    assert [mock.launch(i).grid[0] for i in range(4)] == [1, 2, 2, 1]
    assert (first.grid, second.grid, same.grid) == ((1,), (2,), (2,))


def test_grids_that_change_in_a_loop(mock):
    add = make_kernel()
    for size in range(1, 6):
        add[(size,)](*tensors(), 5, BLOCK=64)
        add[[size, 2]](*tensors(), 5, BLOCK=64)
    assert [mock.launch(i).grid[:2] for i in range(10)] == [(size, y) for size in range(1, 6) for y in (1, 2)]


def test_a_wrong_grid_leaves_the_kept_launcher_alone(mock):
    add = make_kernel()
    add[(3,)](*tensors(), 5, BLOCK=64)
    with pytest.raises(errors.InvalidGrid):
        add[(-1,)]
    add[(3,)](*tensors(), 5, BLOCK=64)
    assert mock.launch().grid == (3, 1, 1)


def test_numbers_that_can_change_are_read_each_time(mock):

    class Size:
        value = 2

        def __index__(self):
            return self.value

    add, size = make_kernel(), Size()
    grid = (size,)
    add[grid](*tensors(), 5, BLOCK=64)
    size.value = 5
    add[grid](*tensors(), 5, BLOCK=64)
    assert [mock.launch(i).grid[0] for i in range(2)] == [2, 5]


def test_a_grid_function_is_not_kept():

    class Large:
        pass

    add, large = make_kernel(), Large()
    seen = weakref.ref(large)
    add[lambda meta, large=large: (1,)](*tensors(), 5, BLOCK=64)
    del large
    assert seen() is None


def test_launch_looks_again_where_a_program_clears_the_kernels(compiler):
    add = make_kernel()
    for calls in (1, 1, 2):
        if calls == 2:
            add.device_caches.clear()
        add[(1,)](*tensors(), 1000, BLOCK=128)
        assert len(compiler.calls) == calls and add._table_size() == 1


# -- torch's tensors, read through DLPack where torch has it ------------------------------


@pytest.mark.parametrize(
    "dtype,name",
    [
        ("float32", "fp32"),
        ("float16", "fp16"),
        ("bfloat16", "bf16"),
        ("float64", "fp64"),
        ("int8", "i8"),
        ("uint8", "u8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("bool", "i1"),
        ("float8_e4m3fn", "fp8e4nv"),
        ("float8_e5m2", "fp8e5"),
        ("float8_e4m3fnuz", "fp8e4b8"),
        ("float8_e5m2fnuz", "fp8e5b16"),
    ],
)
def test_types_of_torch_tensors(mock, compiler, dtype, name):
    torch = pytest.importorskip("torch", reason="torch is not installed")

    @tilewright.jit
    def f(a):
        pass

    # In pinned memory, as far as the mock knows.
    tensor = torch.zeros(64, dtype=torch.uint8).view(getattr(torch, dtype))[1:]
    mock.library.mockSetPinned(tensor.data_ptr())
    f[(1,)](tensor)
    assert compiler.last["signature"] == {"a": f"*{name}"}
    assert compiler.last["divisibility"] == ({"a": 16} if tensor.data_ptr() % 16 == 0 else {})
    assert mock.launch().unpack("Q") == (tensor.data_ptr() + 0x1000,)


@pytest.mark.parametrize("dtype", ["complex64", "float8_e8m0fnu", "float4_e2m1fn_x2", "qint8"])
def test_types_of_torch_tensors_that_the_language_has_not(mock, dtype):
    torch = pytest.importorskip("torch", reason="torch is not installed")

    @tilewright.jit
    def f(a):
        pass

    if not hasattr(torch, dtype):
        pytest.skip(f"this torch has no {dtype}")
    tensor = (
        torch.quantize_per_tensor(torch.zeros(8), 0.1, 0, torch.qint8)
        if dtype == "qint8"
        else torch.zeros(64, dtype=torch.uint8).view(getattr(torch, dtype))
    )
    mock.library.mockSetPinned(tensor.data_ptr())
    with pytest.raises(errors.TilewrightError, match=rf"\[E0206\] argument 'a' has dtype torch.{dtype}"):
        f[(1,)](tensor)


def test_other_torch_tensors(mock):
    torch = pytest.importorskip("torch", reason="torch is not installed")

    @tilewright.jit
    def f(a):
        pass

    class Subclass(torch.Tensor):
        def data_ptr(self):
            return super().data_ptr() + 64

    plain = torch.zeros(64)
    for tensor in (plain.requires_grad_(), torch.nn.Parameter(plain.detach()), plain.detach().as_subclass(Subclass)):
        mock.library.mockSetPinned(tensor.data_ptr())
        f[(1,)](tensor)
        assert mock.launch().unpack("Q") == (tensor.data_ptr() + 0x1000,)
    with pytest.raises(errors.InvalidArgument, match="E0201"):
        f[(1,)](torch.zeros(3, device="meta"))
    with pytest.raises(errors.InvalidArgument, match="E0201"):
        f[(1,)](torch.zeros(3))


# -- functions as constants --------------------------------------------------------------


def test_a_replaced_function_is_compiled_anew(compiler):
    """A jit function given as a constant is the same object when its text has changed."""

    @tilewright.jit
    def helper():
        return 0

    @tilewright.jit
    def kernel(x, function: constexpr):
        pass

    x = tensors(1)[0]
    kernel[(1,)](x, helper)
    kernel[(1,)](x, helper)
    assert len(compiler.calls) == 1
    helper._unsafe_update_src(helper.src.replace("0", "1"))
    kernel[(1,)](x, helper)
    kernel[(1,)](x, helper)
    assert len(compiler.calls) == 2
