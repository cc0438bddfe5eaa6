# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lesson 12: four bugs, and what the interpreter says of each.

An access past the end, a race, an index that wraps, a lock that nobody releases.

    python tutorials/12_finding_a_bug.py [--quick]
"""

import lesson
import numpy as np

import tilewright as tw
import tilewright.language as tl
from tilewright import errors

# On a GPU these four kernels give wrong numbers now and then, or hang. The interpreter runs
# the same functions on the CPU, one operation at a time, and knows of each pointer which
# array it belongs to, of each element who wrote it, and of each integer whether it wrapped.
# Arrays of NumPy are all it takes; a whole program is run under its checks, without a change, by
#
#     tilewright check my_script.py
#     tilewright check -m pytest tests


def find(what: str, launch, *args, expected: type):
    """Launches a wrong kernel in the interpreter and prints what is said of it."""
    print(f"\n{what}")
    try:
        launch(*args)
    except errors.InterpreterError as error:
        print("\n".join("    " + line for line in str(error).splitlines()))
        if not isinstance(error, expected):
            raise SystemExit(f"{what}: expected {expected.__name__}") from error
        return
    raise SystemExit(f"{what}: nothing was found")


# 1. A mask that is one too wide. The last program reads element n, which is not there. On a
# GPU the next allocation begins right after it, so this goes unnoticed for months.


@tw.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets <= n, other=0.0)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


@tw.jit
def scale_kernel_mended(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


def scale(kernel, x):
    out = lesson.empty_like(x) if not isinstance(x, np.ndarray) else np.empty_like(x)
    kernel[(tw.cdiv(x.shape[0], 128),)](x, out, x.shape[0], BLOCK=128)
    return out


# 2. A sum over all programs, kept in one element. Each program loads it, adds its part and
# stores it: where two do so at the same time, one part is lost. An atomic is one step.


@tw.jit
def sum_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))
    tl.store(total_ptr, tl.load(total_ptr) + part)


@tw.jit
def sum_kernel_mended(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))
    tl.atomic_add(total_ptr, part)


def total(kernel, x):
    out = np.zeros(1, np.float32) if isinstance(x, np.ndarray) else lesson.zeros(1, "float32")
    kernel[(tw.cdiv(x.shape[0], 128),)](x, out, x.shape[0], BLOCK=128)
    return out


# 3. Numbers of 32 bits. A stride is an int32 as long as it fits, and so is its product with
# the number of a row: the fourth row of this matrix begins beyond 2^31. Small tests pass.


@tw.jit
def first_of_row_kernel(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    start = row * stride
    tl.store(out_ptr + row, tl.load(x_ptr + start))


@tw.jit
def first_of_row_kernel_mended(x_ptr, out_ptr, stride):
    row = tl.program_id(0)
    start = row.to(tl.int64) * stride
    tl.store(out_ptr + row, tl.load(x_ptr + start))


def first_of_rows(kernel):
    # The system gives memory to the pages of zeros only when somebody writes them.
    stride = 800_000_000
    x, out = np.zeros(3 * stride + 1, np.int8), np.full(4, 7, np.int8)
    x[3 * stride] = 5
    kernel[(4,)](x, out, stride)
    return out


# 4. A lock. Programs with nothing to add leave it locked, and all others wait. On a GPU that
# is a process to be killed; the interpreter sees that nothing changes any more.


@tw.jit
def largest_kernel(x_ptr, lock_ptr, largest_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if x > tl.load(largest_ptr):
        tl.store(largest_ptr, x)
        tl.debug_barrier()
        tl.atomic_xchg(lock_ptr, 0)


@tw.jit
def largest_kernel_mended(x_ptr, lock_ptr, largest_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if x > tl.load(largest_ptr):
        tl.store(largest_ptr, x)
    # The barrier lets all threads of the program finish before the lock is released.
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def largest(kernel, x):
    on_host = isinstance(x, np.ndarray)
    lock, out = (np.zeros(1, np.int32) if on_host else lesson.zeros(1, "int32") for _ in range(2))
    kernel[(x.shape[0],)](x, lock, out)
    return out


def show_accesses(x):
    """What one program touches, without a mistake to find."""
    table = scale_kernel_mended.interpret(x, np.empty_like(x), x.shape[0], BLOCK=128, grid=(8,), program=7)
    print("\nthe last program's loads and stores")
    print("\n".join("    " + line for line in str(table).splitlines()))


if __name__ == "__main__":
    options = lesson.arguments(__doc__.splitlines()[0])
    x = np.arange(1000, dtype=np.float32)
    numbers = np.array([3, 1, 4, 1, 5], np.int32)
    find("a mask that is one too wide", scale, scale_kernel, x, expected=errors.OutOfBounds)
    find("a sum in one element", total, sum_kernel, x, expected=errors.DataRace)
    find("an index of 32 bits", first_of_rows, first_of_row_kernel, expected=errors.WrappedAddress)
    find("a lock", largest, largest_kernel, numbers, expected=errors.Deadlock)
    show_accesses(x)
    print("\nthe same, mended")
    lesson.check("scaled", scale(scale_kernel_mended, lesson.to_device(x)), 2 * x, tolerance=0.0)
    lesson.check("sum", total(sum_kernel_mended, lesson.to_device(x)), x.sum(), tolerance=1e-6)
    # Of NumPy on a GPU, too: the matrix is too large to be copied for four elements.
    if list(first_of_rows(first_of_row_kernel_mended)) != [0, 0, 0, 5]:
        raise SystemExit("the rows begin elsewhere: WRONG")
    lesson.check("largest", largest(largest_kernel_mended, lesson.to_device(numbers)), 5, tolerance=0.0)
