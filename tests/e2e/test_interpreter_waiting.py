# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that wait for each other in the interpreter; deadlocks are planted in tests/planted/waiting_programs.py."""

import _thread
import functools
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tilewright
import tilewright.language as tl
from tilewright import errors, knobs


def zeros(n, dtype=np.int32):
    return np.zeros(n, dtype)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = _thread._count()
    yield
    limit = time.monotonic() + 10
    while _thread._count() > before and time.monotonic() < limit:
        time.sleep(0.01)
    assert _thread._count() == before


@tilewright.jit
def look_back(x, sums, flags, out):
    p = tl.program_id(0)
    total = tl.load(x + p)
    if p > 0:
        while tl.atomic_cas(flags + p - 1, 1, 1) != 1:
            pass
        total += tl.load(sums + p - 1)
    tl.store(sums + p, total)
    tl.atomic_xchg(flags + p, 1)
    tl.store(out + p, total)


@pytest.mark.parametrize("order", ["0", "reverse", "3", "4"])
def test_orders(order):
    n = 300
    x, out = np.arange(n, dtype=np.int32), zeros(n)
    with knobs.runtime.scope():
        knobs.runtime.order = order
        look_back[(n,)](x, zeros(n), zeros(n), out)
    assert (out == np.cumsum(x)).all()


@tilewright.jit
def who_is_first(turn, out):
    tl.store(out + tl.program_id(0) + 2 * tl.program_id(1), tl.atomic_add(turn, 1))


def turns(order):
    out = zeros(6)
    with knobs.runtime.scope():
        knobs.runtime.order = order
        who_is_first[(2, 3)](zeros(1), out)
    return out.tolist()


def test_what_an_order_is():
    assert turns("") == turns("0") == [0, 1, 2, 3, 4, 5]
    assert turns("reverse") == [5, 4, 3, 2, 1, 0]
    assert turns("5") == turns("5")
    assert len({tuple(turns(str(seed))) for seed in range(1, 20)}) > 10
    with pytest.raises(errors.ConfigError, match="TILEWRIGHT_ORDER='backwards': expected 0, reverse, or a seed"):
        turns("backwards")


@tilewright.jit
def ping_pong(ball, out, ROUNDS: tl.constexpr):
    p = tl.program_id(0)
    for i in range(ROUNDS):
        while tl.atomic_or(ball, 0) % 2 != p:
            pass
        tl.store(out, tl.load(out) + 1)
        tl.debug_barrier()
        tl.atomic_add(ball, 1)


def test_two_programs_take_turns():
    ball, out = zeros(1), zeros(1)
    ping_pong[(2,)](ball, out, ROUNDS=50)
    assert ball[0] == out[0] == 100


@tilewright.jit
def wait(flag):
    while tl.atomic_cas(flag, 1, 1) != 1:
        pass


@tilewright.jit
def helper_waits(flag, x, n):
    if tl.program_id(0) < 3:
        wait(flag)
    else:
        tl.load(x + n)


def test_an_error_ends_those_that_wait():
    with pytest.raises(errors.OutOfBounds) as info:
        helper_waits[(5,)](zeros(1), zeros(4), 100)
    assert "program (3,0,0)" in str(info.value)


def test_a_deadlock_says_who_waits_where():
    with pytest.raises(errors.Deadlock) as info:
        helper_waits[(3,)](zeros(1), zeros(4), 100)
    text = str(info.value)
    assert "program (0,0,0) waits for 'flag'[0], which is 0" in text
    assert "no program has changed 'flag'[0]" in text
    assert "program (2,0,0) waits for 'flag'[0], which is 0, at test_interpreter_waiting.py:" in text
    assert [frame.function for frame in info.value.frames[:2]] == ["wait", "helper_waits"]


@tilewright.jit
def asks_a_while(flag, out, TIMES: tl.constexpr):
    seen = 0
    for i in range(TIMES):
        seen += tl.load(flag, volatile=True)
    tl.store(out + tl.program_id(0), seen)


def test_a_loop_with_an_end_is_no_deadlock():
    out = zeros(3)
    asks_a_while[(3,)](zeros(1), out, TIMES=2000)
    assert out.tolist() == [0, 0, 0]


@tilewright.jit
def for_ever(flag):
    i = 0
    while tl.atomic_cas(flag, 1, 1) != 1:
        if tl.program_id(0) == 1:
            i += 1
            tl.store(flag + 1, i)


def test_control_c(request):
    # Workers of a test run ignore the signal.
    request.addfinalizer(
        functools.partial(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
    )
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for_ever[(3,)](zeros(2))
    timer.join()
    # No thread is left with a request to end: CPython 3.11 would run the first
    # instruction of a traced function for ever.
    seen = []
    sys.settrace(lambda frame, event, _: seen.append(event))
    timer.is_alive()
    sys.settrace(None)
    assert "call" in seen


@tilewright.jit
def stores_once(out):
    tl.store(out + tl.program_id(0), 1)


def test_a_grid_that_waits_for_nothing_makes_no_thread(monkeypatch):
    monkeypatch.setattr(_thread, "start_new_thread", None)
    out = zeros(4096)
    stores_once[(4096,)](out)
    assert out.all()
