# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that wait for what never comes."""

import numpy as np

import tilewright as tw
import tilewright.language as tl
from planted.case import Case


@tw.jit
def lock_kept(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:  # fault
        pass
    tl.store(total, tl.load(total) + 1)


@tw.jit
def lock_kept_corrected(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def launch_lock(kernel):
    kernel[(4,)](np.zeros(1, np.int32), np.zeros(1, np.int32))


@tw.jit
def kept_on_one_path(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:  # fault
        pass
    value = tl.load(x + tl.program_id(0))
    if value > 0:
        tl.store(total, tl.load(total) + value)
        tl.atomic_xchg(lock, 0)


@tw.jit
def kept_on_one_path_corrected(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(x + tl.program_id(0))
    if value > 0:
        tl.store(total, tl.load(total) + value)
    tl.atomic_xchg(lock, 0)


def launch_paths(kernel):
    kernel[(4,)](np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([3, 0, 2, 1], np.int32))


@tw.jit
def wrong_expected(flag, data, out):
    # The flag is raised to 1, and the reader waits for 2.
    if tl.program_id(0) == 0:
        tl.store(data, 42)
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_cas(flag, 2, 2) != 2:  # fault
            pass
        tl.store(out, tl.load(data))


@tw.jit
def wrong_expected_corrected(flag, data, out):
    if tl.program_id(0) == 0:
        tl.store(data, 42)
        tl.atomic_xchg(flag, 1)
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:
            pass
        tl.store(out, tl.load(data))


def launch_flag(kernel):
    kernel[(2,)](*(np.zeros(1, np.int32) for _ in range(3)))


@tw.jit
def two_locks(locks, turns, out):
    # Each holds one lock before it asks for the other; the turns make sure of it.
    p = tl.program_id(0)
    while tl.atomic_cas(locks + p, 0, 1) == 1:
        pass
    tl.atomic_add(turns, 1)
    while tl.atomic_or(turns, 0) < 2:
        pass
    while tl.atomic_cas(locks + 1 - p, 0, 1) == 1:  # fault
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(locks + 1 - p, 0)
    tl.atomic_xchg(locks + p, 0)


@tw.jit
def two_locks_corrected(locks, turns, out):
    tl.atomic_add(turns, 1)
    while tl.atomic_or(turns, 0) < 2:
        pass
    while tl.atomic_cas(locks, 0, 1) == 1:
        pass
    while tl.atomic_cas(locks + 1, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(locks + 1, 0)
    tl.atomic_xchg(locks, 0)


def launch_two_locks(kernel):
    kernel[(2,)](np.zeros(2, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))


@tw.jit
def look_back(x, sums, flags, out):
    # Each waits for the program before it, and the first for itself.
    p = tl.program_id(0)
    before = tl.maximum(p - 1, 0)
    while tl.atomic_cas(flags + before, 1, 1) != 1:  # fault
        pass
    total = tl.load(sums + before) + tl.load(x + p)
    tl.store(sums + p, total)
    tl.atomic_xchg(flags + p, 1)
    tl.store(out + p, total)


@tw.jit
def look_back_corrected(x, sums, flags, out):
    p = tl.program_id(0)
    total = tl.load(x + p)
    if p > 0:
        while tl.atomic_cas(flags + p - 1, 1, 1) != 1:
            pass
        total += tl.load(sums + p - 1)
    tl.store(sums + p, total)
    tl.atomic_xchg(flags + p, 1)
    tl.store(out + p, total)


def launch_look_back(kernel):
    x, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    kernel[(16,)](x, np.zeros(16, np.int32), np.zeros(16, np.int32), out)
    assert (out == np.cumsum(x)).all()


@tw.jit
def grid_barrier(count, x, out, COUNT: tl.constexpr):
    # One program too many is waited for.
    p = tl.program_id(0)
    tl.store(x + p, p)
    tl.atomic_add(count, 1)
    while tl.atomic_or(count, 0) < COUNT + 1:  # fault
        pass
    tl.store(out + p, tl.load(x + (p + 1) % COUNT))


@tw.jit
def grid_barrier_corrected(count, x, out, COUNT: tl.constexpr):
    p = tl.program_id(0)
    tl.store(x + p, p)
    tl.atomic_add(count, 1)
    while tl.atomic_or(count, 0) < COUNT:
        pass
    tl.store(out + p, tl.load(x + (p + 1) % COUNT))


def launch_barrier(kernel):
    kernel[(8,)](np.zeros(1, np.int32), np.zeros(8, np.int32), np.zeros(8, np.int32), COUNT=8)


@tw.jit
def nobody_produces(flags, data, out):
    # Programs of an even number produce, those of an odd one consume what the one after them makes.
    p = tl.program_id(0)
    if p % 2 == 0:
        tl.store(data + p, p * 10)
        tl.atomic_xchg(flags + p, 1, sem="release")
    else:
        while tl.load(flags + p + 1, volatile=True) == 0:  # fault
            pass
        tl.store(out + p, tl.load(data + p + 1))


@tw.jit
def nobody_produces_corrected(flags, data, out):
    p = tl.program_id(0)
    if p % 2 == 0:
        tl.store(data + p, p * 10)
        tl.atomic_xchg(flags + p, 1, sem="release")
    else:
        while tl.load(flags + p - 1, volatile=True) == 0:
            pass
        tl.store(out + p, tl.load(data + p - 1))


def launch_producers(kernel):
    kernel[(4,)](*(np.zeros(5, np.int32) for _ in range(3)))


@tw.jit
def semaphore(turns, out):
    # Each waits for its turn, and hands it on by an atomic that leaves it where it is.
    p = tl.program_id(0)
    while tl.atomic_or(turns, 0) != p:  # fault
        pass
    tl.store(out + p, p)
    tl.atomic_max(turns, p)


@tw.jit
def semaphore_corrected(turns, out):
    p = tl.program_id(0)
    while tl.atomic_or(turns, 0) != p:
        pass
    tl.store(out + p, p)
    tl.atomic_max(turns, p + 1)


def launch_semaphore(kernel):
    kernel[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32))


@tw.jit
def without_release(flag, data, out):
    # A plain store raises the flag: it orders nothing, and the reader asks by an atomic.
    if tl.program_id(0) == 0:
        tl.store(data, 42)
        tl.store(flag, 1)
    else:
        while tl.atomic_cas(flag, 1, 1) != 1:  # fault
            pass
        tl.store(out, tl.load(data))


@tw.jit
def unlocked_by_store(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:  # fault
        pass
    tl.store(total, tl.load(total) + 1)
    tl.store(lock, 0)


CASES = [
    Case("lock-kept", "deadlock", "E0414", lock_kept, lock_kept_corrected, launch_lock),
    Case("kept-on-one-path", "deadlock", "E0414", kept_on_one_path, kept_on_one_path_corrected, launch_paths),
    Case("wrong-expected", "deadlock", "E0414", wrong_expected, wrong_expected_corrected, launch_flag),
    Case("two-locks", "deadlock", "E0414", two_locks, two_locks_corrected, launch_two_locks),
    Case("look-back", "deadlock", "E0414", look_back, look_back_corrected, launch_look_back),
    Case("grid-barrier", "deadlock", "E0414", grid_barrier, grid_barrier_corrected, launch_barrier),
    Case("nobody-produces", "deadlock", "E0414", nobody_produces, nobody_produces_corrected, launch_producers),
    Case("semaphore", "deadlock", "E0414", semaphore, semaphore_corrected, launch_semaphore),
    Case("without-release", "atomics", "E0411", without_release, wrong_expected_corrected, launch_flag),
    Case("unlocked-by-store", "atomics", "E0411", unlocked_by_store, lock_kept_corrected, launch_lock),
]
