# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of CuPy on a GPU: results, types, and order on CuPy's and torch's streams."""

import pytest

import tilewright
import tilewright.language as tl
from harness import devices

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def cupy():
    if problem := devices.gpu_problem():
        pytest.skip(problem)
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@tilewright.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + tl.load(y_ptr + i, i < n), i < n)


def add(x, y, out):
    add_kernel[(tilewright.cdiv(x.size, 1024),)](x, y, out, x.size, BLOCK=1024)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "float64"])
def test_results(cupy, dtype):
    x = cupy.arange(5000).astype(dtype)
    out = cupy.empty_like(x)
    add(x, x, out)
    assert (out == x + x).all()
    add(x, x[1:], out[1:-1])  # views, one of them misaligned
    assert (out[1:-1] == (x[:-1] + x[1:])[:-1]).all()


@pytest.mark.parametrize("non_blocking", [False, True])
def test_launches_are_in_order_on_the_current_stream(cupy, non_blocking):
    n = 1 << 22
    stream = cupy.cuda.Stream(non_blocking=non_blocking)
    with stream:
        x, one = cupy.zeros(n, cupy.float32), cupy.ones(n, cupy.float32)
        for _ in range(50):
            x *= 1
            add(x, one, x)
            x += 1
    stream.synchronize()
    assert (x == 100).all()


def test_order_on_a_stream_of_torch(cupy):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    n, stream = 1 << 22, torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x, one = torch.zeros(n, device="cuda"), torch.ones(n, device="cuda")
        for _ in range(50):
            x *= 1
            add_kernel[(tilewright.cdiv(n, 1024),)](x, one, x, n, BLOCK=1024)
            x += 1
    stream.synchronize()
    assert (x == 100).all()
