# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lost updates, and atomics that are missing, relaxed, of the wrong scope, or mixed with plain accesses."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def counter(out):
    tl.store(out, tl.load(out) + 1)  # fault


@tw.jit
def counter_corrected(out):
    tl.atomic_add(out, 1)


def launch_counter(kernel):
    kernel[(8,)](np.zeros(1, np.int32))


@tw.jit
def column_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    old = tl.load(out + offsets)  # fault
    tl.store(out + offsets, old + tl.load(x + row * columns + offsets))


@tw.jit
def column_sums_corrected(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    tl.atomic_add(out + offsets, tl.load(x + row * columns + offsets))


def launch_sums(kernel):
    kernel[(8,)](np.ones((8, 64), np.float32), np.zeros(64, np.float32), 64, BLOCK=64)


@tw.jit
def split_k(a, b, c, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    ks = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    i = tl.arange(0, BLOCK)
    product = tl.dot(tl.load(a + i[:, None] * K + ks[None, :]), tl.load(b + ks[:, None] * BLOCK + i[None, :]))
    tile = c + i[:, None] * BLOCK + i[None, :]
    tl.store(tile, tl.load(tile) + product)  # fault


@tw.jit
def split_k_corrected(a, b, c, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    ks = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    i = tl.arange(0, BLOCK)
    product = tl.dot(tl.load(a + i[:, None] * K + ks[None, :]), tl.load(b + ks[:, None] * BLOCK + i[None, :]))
    tl.atomic_add(c + i[:, None] * BLOCK + i[None, :], product)


def launch_split_k(kernel):
    a, b = np.ones((16, 64), np.float32), np.ones((64, 16), np.float32)
    kernel[(4,)](a, b, np.zeros((16, 16), np.float32), 64, BLOCK=16, BLOCK_K=16)


@tw.jit
def largest(x, out, BLOCK: tl.constexpr):
    mine = tl.max(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    if mine > tl.load(out):  # fault
        tl.store(out, mine)


@tw.jit
def largest_corrected(x, out, BLOCK: tl.constexpr):
    mine = tl.max(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.atomic_max(out, mine)


def launch_largest(kernel):
    kernel[(4,)](np.arange(64, dtype=np.int32), np.zeros(1, np.int32), BLOCK=16)


@tw.jit
def plain_beside_atomic(x, out, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    total = tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK)))
    if p == 0:
        tl.store(out, total)
    else:
        tl.atomic_add(out, total)  # fault


@tw.jit
def plain_beside_atomic_corrected(x, out, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.atomic_add(out, total)


def launch_totals(kernel):
    kernel[(4,)](np.ones(64, np.float32), np.zeros(1, np.float32), BLOCK=16)


@tw.jit
def reads_while_counted(count, out):
    tl.store(out + tl.program_id(0), tl.load(count))  # fault
    tl.atomic_add(count, 1)


@tw.jit
def reads_while_counted_corrected(count, out):
    tl.store(out + tl.program_id(0), tl.atomic_add(count, 1))


def launch_count(kernel):
    kernel[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32))


@tw.jit
def block_scope(out):
    tl.atomic_add(out, 1, scope="cta")  # fault


@tw.jit
def block_scope_corrected(out):
    tl.atomic_add(out, 1, scope="gpu")


@tw.jit
def last_program_relaxed(x, partial, count, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(count, 1, sem="relaxed") == COUNT - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT))))  # fault


@tw.jit
def last_program_relaxed_corrected(x, partial, count, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(count, 1) == COUNT - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, COUNT))))


def launch_last(kernel):
    x, count = np.ones(256, np.float32), np.zeros(1, np.int32)
    kernel[(4,)](x, np.zeros(4, np.float32), count, np.zeros(1, np.float32), COUNT=4, BLOCK=64)


@tw.jit
def acquires_alone(data, flag, out):
    # The writer raises its flag by an atomic that releases nothing.
    if tl.program_id(0) == 0:
        tl.store(data, 42)
        tl.atomic_xchg(flag, 1, sem="acquire")
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:
            pass
        tl.store(out, tl.load(data))  # fault


@tw.jit
def acquires_alone_corrected(data, flag, out):
    if tl.program_id(0) == 0:
        tl.store(data, 42)
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:
            pass
        tl.store(out, tl.load(data))


def launch_message(kernel):
    kernel[(2,)](*(np.zeros(1, np.int32) for _ in range(3)))


CASES = [
    Case("counter", "updates", "E0410", counter, counter_corrected, launch_counter),
    Case("column-sums", "updates", "E0410", column_sums, column_sums_corrected, launch_sums),
    Case("split-k", "updates", "E0410", split_k, split_k_corrected, launch_split_k),
    Case("largest", "updates", "E0410", largest, largest_corrected, launch_largest),
    Case("plain-beside-atomic", "atomics", "E0411", plain_beside_atomic, plain_beside_atomic_corrected, launch_totals),
    Case("reads-while-counted", "atomics", "E0411", reads_while_counted, reads_while_counted_corrected, launch_count),
    Case("block-scope", "atomics", "E0411", block_scope, block_scope_corrected, launch_counter),
    Case("last-program-relaxed", "atomics", "E0409", last_program_relaxed, last_program_relaxed_corrected, launch_last),
    Case("acquires-alone", "atomics", "E0409", acquires_alone, acquires_alone_corrected, launch_message),
]
