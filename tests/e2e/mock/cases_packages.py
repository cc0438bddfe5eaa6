# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a package launched against the recording driver, beside what Python compiles for the same arguments.

Run by test_packages.py in a process of its own; $EXPORTED_PACKAGE names the package.
"""

import os

import pytest

import tilewright
from harness.mock_driver import Device, FakeTensor, Mock
from tilewright import errors
from tilewright.tools.tensor_descriptor import TensorDescriptor

if "MOCK_CASES" not in os.environ:
    pytest.skip("run by test_packages.py", allow_module_level=True)

mock = Mock()


@pytest.fixture
def package():
    mock.reset()
    return tilewright.load(os.environ["EXPORTED_PACKAGE"])


def array(number, dtype="float32"):
    return FakeTensor(0x10000000000 + 0x1000000 * number, dtype)


class Sized(FakeTensor):
    """64 rows of 64 halves, `step` apart."""

    shape = (64, 64)

    def __init__(self, address, step=64):
        super().__init__(address, "float16")
        self.step = step

    def stride(self):
        return (self.step, 1)

    def element_size(self):
        return 2


def halves():
    return [array(number, "float16") for number in range(3)]


def descriptor(number, rows, columns, block):
    return TensorDescriptor(array(number, "float16"), [rows, columns], [columns, 1], block)


def test_own_grid(package):
    x, y, out = map(array, range(3))
    kernel = package.add(x, y, out, n=98432)
    made = mock.launch()
    assert made.grid == (97, 1, 1) and made.threads == 256 and made.unpack("3Qi") == (x.address, y.address, out.address, 98432)
    assert kernel.metadata.target.arch == "sm_90a" and kernel.constants == {"BLOCK": 1024}


def test_signatures_and_configurations(package):
    x, y, out = map(array, range(3))
    assert package.add.parameters == ["x_ptr", "y_ptr", "out_ptr", "n"] and len(package.add.configurations) == 2
    assert package.add[3,](x, y, out, 96).divisibility == {"x_ptr": 16, "y_ptr": 16, "out_ptr": 16, "n": 16}
    assert package.add[3,](x, y, out, 97).divisibility == {}
    assert package.add(x, y, FakeTensor(out.address + 4), 96, configuration=1).constants == {"BLOCK": 256}
    assert mock.launch().grid == (1, 1, 1) and mock.launch().threads == 128
    assert package.add[lambda meta: (meta["n"] // meta["BLOCK"],)](x, y, out, 4096) and mock.launch().grid == (4, 1, 1)


def test_tensor_maps(package):
    a, b, c = descriptor(5, 1024, 512, [128, 64]), descriptor(6, 512, 1024, [64, 128]), descriptor(7, 1024, 1024, [128, 64])
    package.matmul(a, b, c, 1024, 1024, 512)
    made = mock.launch()
    assert made.grid == (64, 1, 1) and made.shared == 114736 and mock.encodes == 3
    assert len(made.parameters) > 3 * 128


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda p, a: p.softmax[3,](FakeTensor(a[0].address + 4), a[1], 8, 8, 8),
            r"\[E0117\] softmax: 'x_ptr' does not begin at a multiple of 16",
        ),
        (
            lambda p, a: p.add(a[0], array(1, "int32"), a[2], 64),
            r"\[E0117\] add: 'y_ptr' holds i32, and was exported for fp32\s+help: convert it, or export a kernel for \*i32",
        ),
        (
            lambda p, a: p.add(*a[:2], FakeTensor(a[2].address, device=Device("cuda", 1)), 64),
            r"\[E0117\] add: 'out_ptr' lies on device 1, and the current device is 0",
        ),
        (
            lambda p, a: p.matmul(
                TensorDescriptor(array(5, "bfloat16"), [64, 64], [64, 1], [128, 64]),
                descriptor(6, 512, 1024, [64, 128]),
                descriptor(7, 1024, 1024, [128, 64]),
                *(64, 64, 64),
            ),
            r"\[E0117\] matmul: '\w+' holds bf16, and was exported for fp16",
        ),
        (
            lambda p, a: p.matmul_device(Sized(2**40), halves()[1], Sized(2**40 + 128 * 63), 64, 64, 64),
            r"\[E0117\] matmul_device: 'a_ptr' and 'c_ptr' overlap, and one is written",
        ),
        (
            lambda p, a: p.matmul_device(Sized(2**40 + 512), halves()[1], Sized(2**40, step=80), 64, 64, 64),
            r"\[E0117\] matmul_device: 'a_ptr' and 'c_ptr' overlap, and one is written",
        ),
        (lambda p, a: p.matmul_device(*halves(), 64, 60, 64), r"\[E0117\] matmul_device: 'N' is 60, no multiple of 16"),
        (
            lambda p, a: p.matmul_device(*halves()[:2], halves()[0], 64, 64, 64),
            r"\[E0117\] matmul_device: 'a_ptr' and 'c_ptr' are the same array, and one is written\s+"
            "help: pass arrays of their own, or export with --option arguments_may_overlap=True",
        ),
        (lambda p, a: p.add(*a, 64, configuration=2), r"\[E0117\] add has no configuration 2"),
        (lambda p, a: p.softmax(*a[:2], 8, 8, 8), r"\[E0117\] 'softmax' was exported without a grid"),
        (lambda p, a: p.add(*a), r"\[E0205\] missing argument 'n'"),
        (lambda p, a: p.add(*a, 4, m=3), r"\[E0205\] unexpected argument 'm'"),
        (lambda p, a: p.add(*a, 4, 5), r"\[E0205\] unexpected argument '#4'"),
        (lambda p, a: p.add(a[0], a[1], "out", 4), r"\[E0204\]"),
    ],
)
def test_refusals(package, call, words):
    with pytest.raises(errors.TilewrightError, match=words):
        call(package, [array(number) for number in range(3)])
    assert mock.count == 0


def test_arrays_that_adjoin(package):
    package.matmul_device(Sized(2**40), halves()[1], Sized(2**40 + 64 * 128), 64, 64, 64)
    assert mock.count == 1


def test_rows_that_are_not_whole(package):
    a, b, c = descriptor(5, 1024, 512, [128, 64]), descriptor(6, 512, 1024, [64, 128]), descriptor(7, 1024, 1024, [128, 64])
    b.shape[1] = 1020
    with pytest.raises(errors.TilewrightError, match=r"\[E0215\].*its last extent is 1020 elements"):
        package.matmul(a, b, c, 1024, 1024, 512)
    assert mock.count == 0


def test_another_gpu(package, monkeypatch):
    monkeypatch.setattr(tilewright._core, "device_capability", lambda device: 75)
    with pytest.raises(errors.UnsupportedTarget, match=r"\[E0306\] 'add' has no code for a GPU of capability 7\.5"):
        package.add(*map(array, range(3)), 64)
    monkeypatch.setattr(tilewright._core, "device_capability", lambda device: 120)
    assert "ptx" in package.add(*map(array, range(3)), 64).asm
