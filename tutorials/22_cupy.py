# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 22: kernels on arrays of CuPy, and whose stream a launch is on.

Arguments by __cuda_array_interface__, and order without waiting.

    python tutorials/22_cupy.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl

cupy = lesson.framework("cupy", "pip install cupy-cuda13x", has_gpu=lambda module: module.cuda.is_available())

# Nothing has to be converted: an array of CuPy tells its address, its type and its device
# by __cuda_array_interface__, and so does any other library's that has it.


@tw.jit
def axpy_kernel(a, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    y = a * tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask)
    tl.store(y_ptr + offsets, y, mask)


def axpy(a: float, x, y):
    """y += a x"""
    axpy_kernel[(tw.cdiv(x.size, 1024),)](a, x, y, x.size, BLOCK=1024)


def check(n: int):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    on_gpu = cupy.asarray(y)
    axpy(2.0, cupy.asarray(x), on_gpu)
    lesson.check(f"{n} elements", cupy.asnumpy(on_gpu), 2 * x + y, tolerance=1e-6)


def check_streams(n: int):
    # A launch is on the stream that is current for the arrays' library, here and at this
    # moment. So inside `with stream` it comes after what CuPy has put there, without waiting.
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        y = cupy.zeros(n, cupy.float32)
        for _ in range(100):
            y += 1
        axpy(1.0, cupy.ones(n, cupy.float32), y)
        y *= 2
    stream.synchronize()
    lesson.check("in order on a stream", cupy.asnumpy(y), np.full(n, 202.0), tolerance=0.0)


def sweep():
    """Bandwidth against the size, beside a kernel that CuPy makes: two reads and one write per element."""
    fused = cupy.ElementwiseKernel("float32 a, float32 x", "float32 y", "y = a * x + y", "axpy")
    sizes = [2**i for i in range(14, 29, 2)]
    ours, theirs = [], []
    for n in sizes:
        x, y = cupy.ones(n, cupy.float32), cupy.ones(n, cupy.float32)
        wait = cupy.cuda.Device().synchronize
        ours.append(lesson.gigabytes_per_second_with_waiting(lambda: (axpy(1.0, x, y), wait()), 3 * x.nbytes))
        theirs.append(lesson.gigabytes_per_second_with_waiting(lambda: (fused(1.0, x, y), wait()), 3 * x.nbytes))
    lesson.show("axpy on CuPy arrays", "elements", sizes, {"Tilewright": ours, "CuPy": theirs})


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0], on_gpu=True)
    for n in (1, 98432):
        check(n)
    check_streams(1 << 20)
    if not options.quick:
        sweep()
