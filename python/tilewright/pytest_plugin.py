# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pytest plugin: one test of a kernel, run in the interpreter and on the GPU.

    def test_add(kernel_mode):
        x, out = kernel_mode.array(np.ones(1000, np.float32)), kernel_mode.empty(1000, "float32")
        add_kernel[(8,)](x, x, out, 1000, BLOCK=128)
        assert (kernel_mode.numpy(out) == 2).all()

The test runs twice: `interpreted`, on NumPy arrays and with the interpreter's checks, and
`compiled`, on the GPU, or skipped with the reason where there is none. `--kernel-checks`
names checks beside the defaults, as TILEWRIGHT_CHECK does. pytest loads this module in every
run of an environment that has Tilewright, so the fixture alone loads more than the native library.
"""

from __future__ import annotations


import pytest

from . import _core


class KernelMode:
    """Where kernels run, and the arrays that they take there."""

    name = "interpreted"
    is_compiled = False

    def array(self, array):
        """A copy of a NumPy array, as a kernel's argument."""
        import numpy as np

        return np.array(array, order="C", copy=True)

    def empty(self, shape, dtype):
        """An array for results; its bytes are a pattern, so that elements without a write show."""
        import numpy as np

        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[...] = 0xA5 if array.dtype != np.bool_ else 1
        return self.array(array)

    def zeros(self, shape, dtype):
        import numpy as np

        return self.array(np.zeros(shape, dtype))

    def numpy(self, array):
        """The elements of an array of this mode, as NumPy's."""
        return array

    def __repr__(self):
        return f"KernelMode({self.name})"


class _DeviceArray:
    """A NumPy array's elements on the GPU, with what a launch asks of a tensor."""

    def __init__(self, array):
        import numpy as np

        self._host = np.ascontiguousarray(array)
        self._buffer = _core.DeviceBuffer(max(self._host.nbytes, 1), self._host.dtype.name, 0)
        if self._host.nbytes:
            self._buffer.copy_from(self._host.reshape(-1).view(np.uint8))
        self.dtype, self.shape, self.device = self._host.dtype, self._host.shape, _Device()

    def data_ptr(self):
        return self._buffer.data_ptr()

    def stride(self, axis=None):
        strides = tuple(s // self._host.itemsize for s in self._host.strides)
        return strides if axis is None else strides[axis]

    def numpy(self):
        import numpy as np

        _core.synchronize(0)
        result = np.empty_like(self._host)
        if result.nbytes:
            self._buffer.copy_to(result.reshape(-1).view(np.uint8))
        return result


class _Device:
    type, index = "cuda", 0


class CompiledMode(KernelMode):
    name = "compiled"
    is_compiled = True

    def array(self, array):
        return _DeviceArray(array)

    def numpy(self, array):
        return array.numpy()


def pytest_addoption(parser):
    group = parser.getgroup("tilewright")
    group.addoption(
        "--kernel-checks",
        default=None,
        metavar="NAMES",
        help="checks of the interpreter beside its defaults, for tests with the fixture kernel_mode: nan,overflow,... or all",
    )
    parser.addini("kernel_checks", "as --kernel-checks", default="")


def _checks(config) -> str:
    given = config.getoption("--kernel-checks")
    return config.getini("kernel_checks") if given is None else given


def _gpu_problem() -> str:
    """Why no kernel can run compiled here, or nothing."""
    return "" if _core.driver_available() else "no GPU: the compiled kernel did not run"


@pytest.fixture(params=["interpreted", "compiled"])
def kernel_mode(request):
    """The test in both modes: the interpreter with its checks, and the compiled kernel on a GPU."""
    from . import knobs

    if request.param == "compiled":
        problem = "kernels are interpreted in this run (TILEWRIGHT_INTERPRET)" if knobs.runtime.interpret else _gpu_problem()
        if problem:
            pytest.skip(problem)
        yield CompiledMode()
        return
    checks = _checks(request.config)
    with knobs.runtime.scope():
        if checks:
            given = knobs.runtime.check
            knobs.runtime.check = f"{given},{checks}" if given else checks
        yield KernelMode()
