# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""K2, K3, K4, K7: many processes and threads on one cache, and processes that die.

Processes are forked from one that has imported everything: none of them has touched
a GPU, and a start takes milliseconds.
"""

import contextlib
import fcntl
import multiprocessing
import os
import random
import signal
import struct
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

from tilewright.compiler import disk_cache

from .common import (
    check_block,
    compile_block,
    counted_warnings,
    damaged_entries,
    entries_below,
    forget,
    private_cache,
    temporaries_below,
)

context = multiprocessing.get_context("fork")
_OFD_SETLKW = 38  # of Linux; the fcntl module of some builds has no name for it


def _in_child(body):
    """Forks; the child runs `body`, and its exit status is 0 when that went well."""
    pid = os.fork()
    if pid:
        return pid
    try:
        body()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _wait(pids, what):
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"{what}: a process ended with {status}"


# ---------------------------------------------------------------------------
# K2
# ---------------------------------------------------------------------------


def run_shared(processes=16, rounds=50, keys=2):
    """K2: every process asks for the same keys at the same moment."""
    with tempfile.TemporaryDirectory() as logs:
        log = os.open(os.path.join(logs, "compiled"), os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        with private_cache(seconds=0.002, log=log) as (folder, _):
            barrier = context.Barrier(processes)

            def body():
                with counted_warnings() as caught:
                    for number in range(rounds):
                        forget()
                        barrier.wait(timeout=120)
                        for block in range(number * keys, (number + 1) * keys):
                            check_block(block, compile_block(block))
                assert not caught, [str(w.message) for w in caught]

            _wait([_in_child(body) for _ in range(processes)], "K2")
            compiled = Counter(Path(logs, "compiled").read_text().split())
            assert len(compiled) == rounds * keys
            assert not damaged_entries(folder) and not temporaries_below(folder)
            assert len(entries_below(folder)) == rounds * keys
        os.close(log)
    worst = max(compiled.values())
    assert worst <= processes
    return (
        f"K2: {processes} processes x {rounds} rounds x {keys} keys, 0 errors, {sum(compiled.values())} compilations of "
        f"{len(compiled)} kernels (at most {worst} of one)"
    )


# ---------------------------------------------------------------------------
# K3
# ---------------------------------------------------------------------------


def run_threads(threads=64, rounds=20):
    """K3: one kernel asked for by many threads at once is compiled once."""
    with private_cache(seconds=0.005) as (_, compiler):
        for number in range(rounds):
            barrier, problems = threading.Barrier(threads), []

            def body():
                try:
                    barrier.wait(60)
                    check_block(number, compile_block(number))
                except BaseException as error:
                    problems.append(error)

            workers = [threading.Thread(target=body, daemon=True) for _ in range(threads)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join(60)
                assert not worker.is_alive(), "K3: deadlock"
            assert not problems, problems
            assert compiler.count == number + 1, f"K3: compiled {compiler.count - number} times"
    return f"K3: {threads} threads x {rounds} kernels, each compiled once"


# ---------------------------------------------------------------------------
# K4
# ---------------------------------------------------------------------------


def run_kills(kills=500, seed=4):
    """K4: a process that compiles, publishes and evicts dies at any moment."""
    rng = random.Random(seed)
    left_behind = 0
    with private_cache(CACHE_SIZE_MB=1) as (folder, _):
        # A small capacity, so that evictions go on all the time.
        small = disk_cache.Store(str(folder), disk_cache.AREA, 60_000)
        for number in range(kills):

            def body():
                disk_cache._stores[(str(folder), disk_cache.AREA, 1 << 20)] = small
                for step in range(10**6):
                    compile_block((number * 7 + step) % 200)

            pid = _in_child(body)
            time.sleep(rng.random() * 0.03)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            assert not (bad := damaged_entries(folder)), f"K4 kill {number}: {bad}"
            left_behind += len(temporaries_below(folder))
            small.native.sweep(60_000)
            assert not temporaries_below(folder), f"K4 kill {number}: temporary files outlive a sweep"
        forget()
        with counted_warnings() as caught:
            for block in range(50):
                check_block(block, compile_block(block))
        assert not caught, [str(w.message) for w in caught]
    return f"K4: {kills} kills, no partial entry, {left_behind} temporary files left behind and swept"


# ---------------------------------------------------------------------------
# K7
# ---------------------------------------------------------------------------


def _bytes_at_one_moment(area):
    """(bytes of all entries, with those being written): the writers are held meanwhile."""
    with open(area / "size", "rb+") as file:
        # An open file description lock, as the writers take: whence, start, length.
        fcntl.fcntl(file, _OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        return (
            sum(p.stat().st_size for p in entries_below(area)),
            sum(p.stat().st_size for p in entries_below(area) + temporaries_below(area)),
        )


def run_eviction(writers=16, rounds=20, capacity=100_000):
    """K7: the capacity holds while many write; what is not ours stays."""
    largest_entry = 8_000
    with private_cache() as (folder, _):
        native = disk_cache.Store(str(folder), disk_cache.AREA, capacity).native
        native.store("00" * 32, "{}", {})
        area = folder / disk_cache.AREA
        outside = folder.parent / "outside"
        outside.mkdir()
        (outside / ("f" * 64 + ".bin")).write_text("precious")
        (area / "00" / "notes.txt").write_text("somebody's")
        (area / "ab").symlink_to(outside)
        (area / "00" / ("00" * 31 + "ff.bin")).mkdir()
        entries, files = 0, 0

        def body(writer):
            rng = random.Random(writer)
            for _ in range(rounds):
                key = f"{rng.randrange(256):02x}" + rng.randbytes(31).hex()
                native.store(key, "{}", {"data": rng.randbytes(rng.randrange(largest_entry))})

        pids = [_in_child(lambda w=w: body(w)) for w in range(writers)]
        deadline = time.monotonic() + 600
        running = set(pids)
        while running and time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):  # renamed while it was listed
                now = _bytes_at_one_moment(area)
                entries, files = max(entries, now[0]), max(files, now[1])
            for pid in list(running):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    running.discard(pid)
                    assert status == 0, "K7: a writer failed"
            time.sleep(0.02)  # leaves the lock to the writers
        assert not running, "K7: a writer hangs"
        assert 0 < entries <= files <= capacity, (entries, files)
        final = sum(size for _, size, _ in native.list())
        assert final <= capacity, final
        assert (outside / ("f" * 64 + ".bin")).read_text() == "precious"
        assert (area / "00" / "notes.txt").exists() and (area / "00" / ("00" * 31 + "ff.bin")).is_dir()
        assert not damaged_entries(folder) and not temporaries_below(folder)
    return (
        f"K7: {writers} writers x {rounds} entries into {capacity} bytes, at most {entries} in entries, "
        f"{files} with those being written, {final} at the end"
    )
