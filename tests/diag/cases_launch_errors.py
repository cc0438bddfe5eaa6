# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of every error of a launch; run by test_launch_errors.py on the mock driver."""

import os
import warnings

import pytest

import tilewright
from harness.mock_driver import Device, FakeCompiler, FakeTensor, Mock
from tilewright import _core, errors

if "MOCK_CASES" not in os.environ:
    pytest.skip("needs the mock driver; see test_launch_errors.py", allow_module_level=True)

DEVICE0, DEVICE1 = 0x10000000000, 0x20000000000


class constexpr:
    """The annotation alone."""


@tilewright.jit
def add(x, y, n, BLOCK: constexpr = 64):
    pass


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    Mock().reset()
    fake = FakeCompiler()
    monkeypatch.setattr(_core, "compile_kernel", fake, raising=False)
    add.device_caches.clear()
    return fake


def caught(action):
    with pytest.raises(errors.TilewrightError) as info:
        action()
    return info.value


def check(error, first_line, help, class_name=None, bases=(), is_launch=True):
    lines = str(error).splitlines()
    assert lines[0] == first_line
    if is_launch:
        assert lines[1].startswith(f"  at {__file__}:") and lines[1].endswith(f" in kernel '{error.frames[0].function}'")
    assert lines[-1] == f"  help: {help}"
    assert error.code == first_line[1:6] and error.message == first_line[8:] and error.help == help
    if class_name:
        assert type(error).__name__ == class_name
    for base in bases:
        assert isinstance(error, base)
    # After any error the next valid launch works.
    before = Mock().count
    add[(1,)](FakeTensor(DEVICE0), FakeTensor(DEVICE0), 5)
    assert Mock().count == before + 1


SIGNATURE = "signature is add(x, y, n, BLOCK: constexpr=64)"


def test_place_of_the_launch():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor()))
    assert error.frames[0].file == __file__ and error.frames[0].function == "add"
    lines = str(error).splitlines()
    assert lines[1].startswith(f"  at {__file__}:") and lines[1].endswith(" in kernel 'add'")
    assert lines[2].strip() == "error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor()))"


def test_place_through_run_is_the_users_line():
    error = caught(lambda: add.run(FakeTensor(), grid=(1,), warmup=False))
    assert error.frames[0].file == __file__


def test_cpu_tensor():
    error = caught(lambda: add[(1,)](FakeTensor(64, device=Device("cpu")), FakeTensor(), 5))
    check(
        error, "[E0201] argument 'x' is on the CPU", "move it to CUDA, or use interpret mode", "InvalidArgument", (ValueError,)
    )


def test_two_devices():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(DEVICE1, device=Device("cuda", 1)), 5))
    check(
        error,
        "[E0202] arguments are on different devices: 'x' on cuda:0, 'y' on cuda:1",
        "move them to one device",
        "InvalidArgument",
    )


def test_device_that_does_not_exist():
    error = caught(lambda: add[(1,)](*[FakeTensor(device=Device("cuda", 7))] * 2, 5))
    check(error, "[E0203] device 7 does not exist; 2 visible", "check CUDA_VISIBLE_DEVICES", "InvalidDevice")


@pytest.mark.parametrize("value,name", [("text", "str"), ({}, "dict"), (object(), "object"), (1j, "complex")])
def test_argument_type(value, name):
    error = caught(lambda: add[(1,)](FakeTensor(), value, 5))
    check(
        error,
        f"[E0204] argument 'y' has type {name}",
        "pass a tensor, int, float, bool, or declare it constexpr",
        "InvalidArgument",
        (TypeError,),
    )


def test_unhashable_constexpr():

    class Unhashable:
        __hash__ = None

    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, BLOCK=Unhashable()))
    assert error.code == "E0204" and "must be hashable" in error.notes[0]


@pytest.mark.parametrize(
    "args,kwargs,first",
    [
        ((1, 2), {}, "[E0205] missing argument 'n'"),
        ((1, 2, 3, 4, 5), {}, "[E0205] unexpected argument '#5'"),
        ((1, 2, 3), {"x": 4}, "[E0205] duplicate argument 'x'"),
    ],
)
def test_missing_unexpected_duplicate(args, kwargs, first):
    check(caught(lambda: add[(1,)](*args, **kwargs)), first, SIGNATURE, "InvalidArgument", (TypeError,))


def test_dtype():
    error = caught(lambda: add[(1,)](FakeTensor(dtype="torch.complex64"), FakeTensor(), 5))
    check(error, "[E0206] argument 'x' has dtype torch.complex64", "view it as a real type", "UnsupportedType", (TypeError,))


LIMITS = "limits are 2147483647,65535,65535"


@pytest.mark.parametrize(
    "grid,reason",
    [
        ((-1,), "size -1 of axis 0 is negative"),
        ((1, 65536), "size 65536 of axis 1 is above the limit"),
        ((1, 1, 2**40), f"size {2**40} of axis 2 is above the limit"),
        ((1.5,), "size 1.5 of axis 0 is no integer"),
        ((1, 2, 3, 4), "it has 4 dimensions"),
        ((), "it has 0 dimensions"),
        (5, "a tuple of 1 to 3 integers is needed"),
    ],
)
def test_grid(grid, reason):
    error = caught(lambda: add[grid](FakeTensor(), FakeTensor(), 5))
    check(error, f"[E0207] grid {grid}: {reason}", LIMITS, "InvalidGrid", (ValueError,))
    if grid != 5:
        error = caught(lambda: add[lambda meta: grid](FakeTensor(), FakeTensor(), 5))
        check(error, f"[E0207] grid {grid}: {reason}", LIMITS)


def test_grid_function_returns_a_wrong_type():
    error = caught(lambda: add[lambda meta: 5](FakeTensor(), FakeTensor(), 5))
    check(error, "[E0208] grid function returned int (5)", "return a tuple of 1 to 3 ints", "InvalidGrid")


def test_grid_function_raises():
    error = caught(lambda: add[lambda meta: (meta["M"],)](FakeTensor(), FakeTensor(), 5))
    check(error, "[E0208] grid function returned the exception KeyError: 'M'", "return a tuple of 1 to 3 ints")
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize("warps", [0, 3, 96, -4, 2.0, "4"])
def test_num_warps(warps):
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, num_warps=warps))
    check(
        error,
        f"[E0209] num_warps must be a power of 2, got {warps!r}",
        "use a power of two from 1 to 32",
        "InvalidOption",
        (ValueError, KeyError, AssertionError),
    )


def test_more_threads_than_a_block_has():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, num_warps=128))
    check(error, "[E0308] 4096 threads of num_warps=128 exceed 1024", "use num_warps of at most 32", "OutOfResources")
    assert (error.required, error.limit, error.name) == (4096, 1024, "threads")
    assert "out of resource: threads, Required: 4096, Hardware limit: 1024" in str(error)


def test_num_stages():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, num_stages=-1))
    check(error, "[E0209] num_stages=-1; use an integer of at least 0", "use an integer of at least 0")


@pytest.mark.parametrize("name,near", [("num_warp", "num_warps"), ("BLOK", "BLOCK"), ("enable_fp_fuson", "enable_fp_fusion")])
def test_unknown_option(name, near):
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, **{name: 4}))
    check(error, f"[E0210] unknown option '{name}'", f"did you mean '{near}'?", "InvalidOption", (KeyError,))


def test_unknown_option_like_nothing():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, zzzzzz=4))
    check(error, "[E0210] unknown option 'zzzzzz'", "parameters are x, y, n, BLOCK")


def test_stream_keyword():
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, stream=4))
    assert error.code == "E0210" and "framework" in error.help


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**30])
def test_integer_too_large(value):
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), value))
    check(
        error,
        f"[E0211] argument 'n'={value} does not fit int64",
        "split it into two integers",
        "InvalidArgument",
        (OverflowError,),
    )


def test_capture():
    Mock().library.mockSetCapturing(1)
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5))
    Mock().library.mockSetCapturing(0)
    check(
        error,
        "[E0214] 'add' is not ready and the stream is capturing",
        "call add.precompile(...) or run once before capture",
        "CaptureActive",
    )


def test_capture_when_compiled_but_not_loaded():
    add.warmup(FakeTensor(), FakeTensor(), 5, grid=(1,))
    Mock().library.mockSetCapturing(1)
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5))
    Mock().library.mockSetCapturing(0)
    assert error.code == "E0214"


def test_capture_after_precompile():
    assert add.precompile(FakeTensor(), FakeTensor(), 5) is not None
    Mock().library.mockSetCapturing(1)
    add[(1,)](FakeTensor(), FakeTensor(), 5)
    assert Mock().count == 1


def test_shared_memory(compiler):
    compiler.metadata = {"shared": 327680}
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5))
    compiler.metadata = {}
    add.device_caches.clear()
    check(
        error,
        "[E0301] needs 327680 bytes of shared memory; sm_90 allows 232448",
        "reduce num_stages or the block sizes",
        "OutOfResources",
    )
    assert (error.required, error.limit, error.name) == (327680, 232448, "shared memory")


def test_registers(compiler):
    compiler.registers, compiler.max_threads = 200, 320
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5, num_warps=16))
    compiler.registers, compiler.max_threads = 32, 1024
    check(error, "[E0302] 200 registers x 512 threads exceed 65536", "num_warps=8 or maxnreg=128", "OutOfResources")


def test_invalid_launch_is_not_sticky():
    add[(1,)](FakeTensor(), FakeTensor(), 5)
    Mock().library.mockFailNextLaunch(1)
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5))
    assert error.code == "E0900" and "CUDA_ERROR_INVALID_VALUE" in error.message
    add[(1,)](FakeTensor(), FakeTensor(), 5)


def test_out_of_memory():
    Mock().library.mockFailNextAllocation()
    error = caught(lambda: _core.DeviceBuffer(64))
    check(
        error,
        "[E0307] no device memory is left for cuMemAlloc",
        "free device memory and try again",
        "OutOfMemory",
        is_launch=False,
    )


def test_stream_of_another_device():
    kernel = add[(1,)](FakeTensor(), FakeTensor(), 5)
    # The mock's streams name their device in the lowest bits: 0x101 is of device 1.
    error = caught(lambda: kernel[(1,)](FakeTensor(), FakeTensor(), 5, stream=0x101))
    check(
        error,
        "[E0217] stream is on device 1, tensors on 0",
        "use a stream of the device that holds the tensors",
        "InvalidArgument",
        is_launch=False,
    )
    kernel[(1,)](FakeTensor(), FakeTensor(), 5, stream=0x100)
    assert Mock().launch().stream == 0x100


class DescribedTensor(FakeTensor):
    shape = (64, 64)

    def __init__(self, address=DEVICE0, strides=(64, 1)):
        super().__init__(address)
        self.strides = strides

    def stride(self):
        return self.strides

    def element_size(self):
        return 4


@pytest.mark.parametrize(
    "tensor,reason,rule",
    [
        (DescribedTensor(DEVICE0 + 4), "the base address is not aligned", "a base divisible by 16 bytes"),
        (DescribedTensor(strides=(65, 1)), "a stride of 260 bytes", "strides divisible by 16 bytes"),
        (DescribedTensor(strides=(64, 2)), "the last stride is 2", "a last stride of 1"),
    ],
)
def test_descriptor(tensor, reason, rule):
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    assert TensorDescriptor.from_tensor(DescribedTensor(), [16, 16]).strides == (64, 1)
    error = caught(lambda: TensorDescriptor.from_tensor(tensor, [16, 16]))
    check(error, f"[E0215] 'descriptor': {reason}", f"needs {rule}", "InvalidDescriptor", (ValueError,), is_launch=False)


def test_direct_call():
    with pytest.raises(RuntimeError, match=r"give it a grid: add\[grid\]"):
        add(1, 2, 3)


def test_unknown_tuning_key():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tilewright.autotune(configs=[tilewright.Config({})], key=["m"])(add)
    assert str(seen[0].message) == (
        "[E0602] autotune key 'm' is not an argument of 'add'\n  help: arguments are x, y, n, BLOCK"
    )


def test_configuration_repeats_a_keyword():
    tuned = tilewright.autotune(configs=[tilewright.Config({"BLOCK": 32})], key=[])(add)
    error = caught(lambda: tuned[(1,)](FakeTensor(), FakeTensor(), 5, BLOCK=64))
    check(
        error,
        "[E0603] 'BLOCK' is set by the configuration and by the call",
        "remove it from one of the two",
        "InvalidOption",
        (ValueError,),
    )


def test_no_configuration_works(compiler):
    compiler.metadata = {"shared": 10**6}
    tuned = tilewright.autotune(
        configs=[tilewright.Config({"BLOCK": b}) for b in (32, 64)], key=["n"], do_bench=lambda call, quantiles: call()
    )(add)
    error = caught(lambda: tuned[(1,)](FakeTensor(), FakeTensor(), 5))
    assert error.code == "E0601" and error.message == "none of 2 configurations ran"
    assert len(error.notes) == 2 and "[E0301]" in error.notes[0]


def test_prune_function_returns_nothing():
    tuned = tilewright.autotune(
        configs=[tilewright.Config({"BLOCK": b}) for b in (32, 64)],
        key=["n"],
        prune_configs_by={"early_config_prune": lambda configs, named, **kw: []},
    )(add)
    error = caught(lambda: tuned[(1,)](FakeTensor(), FakeTensor(), 5))
    check(error, "[E0605] prune function returned no configuration", "return a non-empty list of configurations")


# Last: a fault loses the context for the rest of the process.
def test_fault_and_what_follows():
    add[(1,)](FakeTensor(), FakeTensor(), 5)
    Mock().library.mockFailNextLaunch(700)
    error = caught(lambda: add[(3, 2)](FakeTensor(), FakeTensor(), 5))
    assert error.code == "E0401" and type(error).__name__ == "DeviceFault"
    assert error.message.startswith("CUDA_ERROR_ILLEGAL_ADDRESS in or before kernel 'add' launched at ")
    assert f"{__file__}:" in error.message and error.message.endswith("with grid=(3, 2, 1), 128 threads")
    assert error.help == ("the process must be restarted; rerun with TILEWRIGHT_SYNC=1 or TILEWRIGHT_CHECK=bounds")
    assert error.notes == ("CUDA error: an illegal memory access was encountered",)
    add.device_caches.clear()
    error = caught(lambda: add[(1,)](FakeTensor(), FakeTensor(), 5))
    assert error.code == "E0402"
    assert error.message == "the CUDA context was lost by 'add' (CUDA_ERROR_ILLEGAL_ADDRESS)"
    assert error.help == "restart the process"
    assert error.notes == ("CUDA error: an illegal memory access was encountered",)
