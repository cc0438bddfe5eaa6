# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of all frameworks in the interpreter, and what happens outside of them."""

import ctypes
import sys

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs
from tilewright.runtime import host_arrays, interpreter


@tilewright.jit
def copy(x, out, n, stride, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets * stride, mask=mask), mask=mask)


@tilewright.jit
def unmasked(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


def copied(x, n, stride=1, like=None):
    out = np.zeros(n, like or x.dtype)
    copy[(4,)](x, out, n, stride, BLOCK=16)
    return out


DTYPES = [
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_every_type_is_copied_bit_by_bit(dtype):
    size = np.dtype(dtype).itemsize
    raw = np.random.default_rng(1).integers(0, 2 if dtype is np.bool_ else 256, 50 * size, np.uint8)
    x = raw.view(dtype)
    assert copied(x, 50).tobytes() == x.tobytes()


def test_strided_views():
    x = np.arange(200, dtype=np.int32)
    assert copied(x[::3], 60, 3).tolist() == list(range(0, 180, 3))
    assert copied(x[::-1], 60, -1).tolist() == list(range(199, 139, -1))
    matrix = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert copied(matrix[:, 5], 8, 8).tolist() == matrix[:, 5].tolist()


@tilewright.jit
def far_and_back(x, out, rows, pitch, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    # 64 bits hold neither product, but the sum of both, as an address, is right.
    places = rows.to(tl.int64) * pitch + offsets - (rows.to(tl.int64) - 1) * pitch - pitch
    far = rows.to(tl.int64) * pitch * 4 + offsets
    tl.store(out + offsets, tl.load(x + places) + tl.load(x + far))


def test_numbers_of_64_bits_wrap_as_addresses_do():
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    far_and_back[(1,)](x, out, 2**20, 2**42, BLOCK=16)  # 2^64 elements further
    assert np.array_equal(out, 2 * x)
    with pytest.raises(errors.OutOfBounds):
        far_and_back[(1,)](x, out, 2**20, 2**42 + 1, BLOCK=16)


def test_out_of_bounds_names_everything():
    x, out = np.zeros(40, np.float32), np.zeros(64, np.float32)
    with pytest.raises(errors.OutOfBounds) as info:
        unmasked[(4,)](x, out, BLOCK=16)
    text = str(info.value)
    assert "[E0407] load of 'x' at element 40; size is 40; program (2,0,0)" in text
    assert "in kernel 'unmasked'" in text and "tl.load(x + offsets)" in text
    assert "lane [8] of tile [16]; no mask" in text and "8 lanes are out of bounds" in text
    frame = info.value.frames[0]
    if sys.version_info >= (3, 11):  # before, Python keeps no columns
        assert frame.source_line[frame.column - 1 : frame.end_column - 1] == "tl.load(x + offsets)" and "^" in text
    assert isinstance(info.value, IndexError) and isinstance(info.value, errors.InterpreterError)


def test_out_of_bounds_of_views():
    x = np.zeros(40, np.int32)
    # Beyond the view, although inside the array that it is a view of.
    with pytest.raises(errors.OutOfBounds, match=r"'x' at element 20; size is 20"):
        copied(x[:20], 21)
    with pytest.raises(errors.OutOfBounds, match=r"'x' at element -20; size is 20"):
        copied(x[:20][::-1], 21, -1)
    with pytest.raises(errors.OutOfBounds, match=r"'x' at element 0; size is 0"):
        copied(x[:0], 1)


@tilewright.jit
def byte_before(x, out):
    tl.store(out, tl.load(x.to(tl.pointer_type(tl.int8)) - 1))


def test_a_byte_before_an_array_belongs_to_the_element_before():
    with pytest.raises(errors.OutOfBounds, match=r"'x' at element -1; size is 4"):
        byte_before[(1,)](np.zeros(4, np.float32), np.zeros(1, np.int8))


@tilewright.jit
def tail_of_tile(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n, other=offsets * 2))


def test_lanes_that_are_not_loaded_are_those_of_other():
    out = np.zeros(16, np.int32)
    tail_of_tile[(1,)](np.full(5, -1, np.int32), out, 5, BLOCK=16)
    assert out.tolist() == [-1] * 5 + list(range(10, 32, 2))


def test_nothing_is_stored_by_a_bad_store():
    x, out = np.ones(64, np.float32), np.zeros(40, np.float32)
    with pytest.raises(errors.OutOfBounds, match=r"store of 'out' at element 40; size is 40; program \(2,0,0\)"):
        unmasked[(4,)](x, out, BLOCK=16)
    assert out[:32].all() and not out[32:].any()
    unmasked[(4,)](x, np.zeros(64, np.float32), BLOCK=16)  # the next launch works


def test_read_only_arrays():
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    out.flags.writeable = False
    with pytest.raises(errors.InvalidArgument, match=r"\[E0216\] 'out' is read-only"):
        unmasked[(4,)](x, out, BLOCK=16)
    x.flags.writeable = False
    unmasked[(4,)](x, np.zeros(64, np.float32), BLOCK=16)


def test_misaligned_arrays():
    raw = np.zeros(4 * 64 + 1, np.uint8)
    x = raw[1:].view(np.float32)
    with pytest.raises(errors.TilewrightError, match="is not aligned to 4 bytes"):
        copied(x, 64)


@pytest.mark.parametrize(
    "array", [np.zeros(4, np.complex64), np.zeros(4, ">f4"), np.array([None])], ids=["complex", "byte order", "object"]
)
def test_types_that_are_refused(array):
    with pytest.raises(errors.TilewrightError, match=r"\[E0206\] argument 'x' has dtype"):
        copy[(1,)](array, np.zeros(4, np.float32), 4, 1, BLOCK=16)


# -- other frameworks ----------------------------------------------------------


class TorchLike:
    """A tensor with torch's protocol over a NumPy array."""

    def __init__(self, array, dtype, requires_grad=False):
        self.array, self.dtype, self.requires_grad, self.is_leaf = array, dtype, requires_grad, True
        self.shape = array.shape
        self.device = type("device", (), {"type": "cpu"})()

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)


class ArrayInterface:
    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


class DlpackOnly:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def launch(kernel, grid, **bound):
    interpreter.run_interpreted(kernel, grid, bound)


@pytest.mark.parametrize(
    "wrap", [lambda a: TorchLike(a, "torch.float32"), ArrayInterface, DlpackOnly], ids=["torch", "array interface", "dlpack"]
)
def test_arrays_of_other_frameworks_are_used_in_place(wrap):
    x, out = np.arange(30, dtype=np.float32), np.zeros(30, np.float32)
    launch(copy, (2,), x=wrap(x), out=TorchLike(out, "torch.float32"), n=30, stride=1, BLOCK=16)
    assert out.tolist() == x.tolist()


def test_torch_bfloat16_needs_no_numpy_type():
    x = np.arange(30).astype(ml_dtypes.bfloat16)
    out = np.zeros(30, np.float32)
    launch(copy, (2,), x=TorchLike(x.view(np.uint16), "torch.bfloat16"), out=out, n=30, stride=1, BLOCK=16)
    assert out.tolist() == list(range(30))


class FakeDriver:
    """Device memory as a NumPy buffer that is not where the kernel may look."""

    def __init__(self, size):
        self.base = 0x7F0000000000
        self.bytes = np.zeros(size, np.uint8)
        self.copies = []

    def _range(self, device, size):
        return slice(device - self.base, device - self.base + size)

    def copy_to_host(self, host, device, size):
        self.copies.append(("to host", device - self.base, size))
        source = self.bytes[self._range(device, size)]
        ctypes.memmove(host, np.ascontiguousarray(source).ctypes.data, size)

    def copy_to_device(self, device, host, size):
        self.copies.append(("to device", device - self.base, size))
        self.bytes[self._range(device, size)] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(host))


class DeviceArray:
    def __init__(self, driver, offset, count, typestr="<f4", strides=None):
        self.__cuda_array_interface__ = {
            "data": (driver.base + offset, False),
            "shape": (count,),
            "typestr": typestr,
            "strides": strides,
            "version": 3,
        }


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver(4096)
    monkeypatch.setattr(host_arrays, "_Driver", lambda: fake)
    return fake


def test_gpu_arrays_are_copied_in_and_back(driver):
    memory = driver.bytes.view(np.float32)
    memory[:] = np.arange(1024)
    x, out = DeviceArray(driver, 256, 32), DeviceArray(driver, 1024, 32)
    launch(copy, (2,), x=x, out=out, n=32, stride=1, BLOCK=16)
    assert memory[256:288].tolist() == list(range(64, 96))
    assert memory[:256].tolist() == list(range(256)) and memory[288:].tolist() == list(range(288, 1024))
    # What was only read is not copied back.
    assert [c[0] for c in driver.copies] == ["to host", "to host", "to device"]


def test_overlapping_gpu_views_share_one_copy(driver):
    memory = driver.bytes.view(np.float32)
    memory[:] = np.arange(1024)
    x, out = DeviceArray(driver, 0, 32, strides=(8,)), DeviceArray(driver, 4, 32, strides=(8,))
    launch(strided_copy, (1,), x=x, out=out, BLOCK=32)
    assert memory[0:64:2].tolist() == memory[1:64:2].tolist()
    assert len([c for c in driver.copies if c[0] == "to host"]) == 1


@tilewright.jit
def strided_copy(x, out, BLOCK: tl.constexpr):
    offsets = 2 * tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


# -- atomics and races ---------------------------------------------------------


@tilewright.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.atomic_add(counts + tl.load(x + offsets, mask=mask), 1, mask=mask)


@pytest.mark.parametrize(
    "dtype",
    [np.int32, np.int64, np.uint32, np.float16, np.float32, np.float64, ml_dtypes.bfloat16],
    ids=lambda d: np.dtype(d).name,
)
def test_atomic_add(dtype):
    x = np.random.default_rng(0).integers(0, 8, 100).astype(np.int32)
    counts = np.zeros(8, dtype)
    histogram[(7,)](x, counts, 100, BLOCK=16)
    assert counts.astype(np.int64).tolist() == np.bincount(x, minlength=8).tolist()


@tilewright.jit
def locked_sum(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


def test_a_lock():
    lock, total, x = np.zeros(1, np.int32), np.zeros(1, np.float32), np.arange(10, dtype=np.float32)
    locked_sum[(10,)](lock, total, x)
    assert total[0] == 45 and lock[0] == 0


@tilewright.jit
def extremes(x, out, N: tl.constexpr):
    values = tl.load(x + tl.arange(0, N))
    zero = tl.zeros((N,), tl.int32)
    tl.atomic_max(out + zero, values)
    tl.atomic_min(out + 1 + zero, values)
    tl.atomic_and(out + 2 + zero, values)
    tl.atomic_or(out + 3 + zero, values)
    tl.atomic_xor(out + 4 + zero, values)


def test_integer_atomics():
    x = np.array([5, -9, 12, 7], np.int32)
    out = np.array([0, 0, -1, 0, 0], np.int32)
    extremes[(1,)](x, out, N=4)
    assert out.tolist() == [12, -9, 5 & -9 & 12 & 7, 5 | -9 | 12 | 7, 5 ^ -9 ^ 12 ^ 7]


@tilewright.jit
def through_integers(x, out):
    address = x.to(tl.int64) + 4
    tl.store(out, tl.load(address.to(tl.pointer_type(tl.float32))))
    tl.store(out + 1, tl.load((x + 2).to(tl.pointer_type(tl.int32)), mask=True))


def test_pointers_made_of_integers():
    out = np.zeros(2, np.float32)
    through_integers[(1,)](np.array([1, 2, 3], np.float32), out)
    assert out[0] == 2 and out[1] == np.float32(3).view(np.int32)


@tilewright.jit
def wild_pointer(out):
    null = tl.full((), 64, tl.int64).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(null))


def test_wild_pointers_do_not_crash():
    with pytest.raises(errors.OutOfBounds, match="the address lies in no array of this launch"):
        wild_pointer[(1,)](np.zeros(1, np.float32))


@tilewright.jit
def divide(x, y, out):
    i = tl.arange(0, 4)
    tl.store(out + i, tl.load(x + i) // tl.load(y + i))


def test_division_by_zero():
    x, y, out = np.array([7, -7, 5, 9], np.int32), np.array([2, 2, 0, 3], np.int32), np.zeros(4, np.int32)
    with pytest.raises(errors.DivisionByZero, match=r"5 // 0 divides by zero; .* program \(0,0,0\)"):
        divide[(1,)](x, y, out)
    with knobs.runtime.scope():
        knobs.runtime.check = "races, -division"
        divide[(1,)](x, y, out)
    assert out.tolist() == [3, -3, 0, 3]


@tilewright.jit
def gather_rows(out, *tables):
    for t in tl.static_range(len(tables)):
        tl.store(out + t, tl.load(tables[t] + tl.program_id(0)))


def test_a_variadic_kernel():
    out = np.zeros(2, np.int32)
    tables = (np.array([1, 2], np.int32), np.array([3, 4], np.int32))
    launch(gather_rows, (1,), out=out, tables=tables)
    assert out.tolist() == [1, 3]
