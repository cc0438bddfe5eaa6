# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""K2N: K2 over a network disk, simulated where the cache does its file operations (tests/mock/NetworkDisk.cpp).

The processes are those of two hosts, each a client with a view of its own. They ask for the same
kernels at a barrier, remove and evict them under one another, die, and save figures to one tuning table.
With locks that work, that are refused, and that hold within a host alone, and with a disk that
is full now and then: every kernel that comes back is checked, nothing at the server is damaged or set
aside, and no warning is given but one where the disk was full.
"""

import ctypes
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tilewright.compiler import disk_cache
from tilewright.tuning.table import Table

from .common import (
    check_block,
    compile_block,
    counted_warnings,
    damaged_entries,
    entries_below,
    files_below,
    forget,
    private_cache,
    temporaries_below,
)
from .faults import ROOT, build_shim
from .sharing import _in_child, _wait

LOCKS = {"work": 0, "refused": 1, "of one host": 2}
HOSTS = 2


def run(processes=16, rounds=50, kills=50, seed=2):
    """K2N, a process with the shim loaded for each kind of locks."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        library = build_shim(folder, "NetworkDisk")
        for locks in LOCKS:
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "from campaigns import network_disk; network_disk.run_clients()",
                    library,
                    locks,
                    *map(str, (processes, rounds, kills, seed)),
                ],
                env={
                    **os.environ,
                    "LD_PRELOAD": library,
                    "TILEWRIGHT_CACHE": "0",
                    "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)]),
                },
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"locks {locks}: " + done.stdout[-2000:] + done.stderr[:1500] + done.stderr[-1500:]
            lines.append(f"locks {locks}: " + done.stdout.strip().splitlines()[-1])
    return f"K2N: {processes} processes of {HOSTS} hosts x {rounds} rounds; " + "; ".join(lines)


class Disk:
    """The network disk below one folder, as this process's children use it."""

    def __init__(self, library, locks, folder, seed):
        self.shim, self.locks, self.folder, self.seed = ctypes.CDLL(library), LOCKS[locks], folder, seed
        self.shim.diskArm.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64]
        self.machines = Path(tempfile.mkdtemp(dir=folder.parent))
        for number in range(HOSTS):
            (self.machines / str(number)).mkdir()
            (self.machines / str(number) / "boot_id").write_text(f"{number:036}")

    def client(self, number, body, full_one_in=0):
        """A child that is a client of the disk; clients with even numbers are of one host."""

        def run_body():

            self.shim.diskArm(
                os.fsencode(self.folder),
                os.fsencode(self.machines / str(number % HOSTS)),
                self.locks,
                full_one_in,
                self.seed * 1000 + number,
            )
            body(number)

        return _in_child(run_body)

    def check_server(self, what, abandoned=False):
        """Nothing at the server is damaged, was taken for damaged, or was left behind."""
        assert not (bad := damaged_entries(self.folder)), f"{what}: {bad}"
        aside = [p.name for p in files_below(self.folder) if p.parent.name == "quarantine"]
        assert not aside, f"{what}: set aside: {aside}"
        left = [p.name for p in files_below(self.folder) if p.name.startswith(".nfs")]
        assert not left, f"{what}: {left}"
        assert abandoned or not (left := temporaries_below(self.folder)), f"{what}: {left}"


def run_clients():
    library, locks = sys.argv[1:3]
    processes, rounds, kills, seed = map(int, sys.argv[3:])
    compiled = _shared(library, locks, processes, rounds, seed)
    removed = _removed_meanwhile(library, locks, processes, rounds, seed)
    left = _killed(library, locks, kills, seed)
    full = _full(library, locks, processes, rounds, seed)
    saved = _one_table(library, locks, processes, rounds, seed)
    print(
        f"{compiled} compilations of {2 * rounds} kernels, {removed} with removals, {full} with a disk that is full, "
        f"{kills} kills left {left} temporary files, {saved}"
    )


def _shared(library, locks, processes, rounds, seed, keys=2):
    """Every client asks for the same keys at the same moment; afterwards all kernels are there."""
    with tempfile.TemporaryDirectory() as logs:
        log = os.open(os.path.join(logs, "compiled"), os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        with private_cache(seconds=0.002, log=log) as (folder, _):
            disk, barrier = Disk(library, locks, folder, seed), multiprocessing.get_context("fork").Barrier(processes)

            def body(number):
                with counted_warnings() as caught:
                    for turn in range(rounds):
                        forget()
                        barrier.wait(timeout=120)
                        if number == turn % processes:  # takes away what the others are writing, if it can
                            store.native.sweep(1 << 30)
                        for block in range(turn * keys, (turn + 1) * keys):
                            check_block(block, compile_block(block))
                assert not caught, [str(w.message) for w in caught]

            store = disk_cache.Store(str(folder), disk_cache.AREA, 1 << 30)
            _wait([disk.client(n, body) for n in range(processes)], "K2N")
            disk.check_server("K2N shared")
            compiled = Counter(Path(logs, "compiled").read_text().split())
            assert len(compiled) == len(entries_below(folder)) == rounds * keys
        os.close(log)
    return sum(compiled.values())


def _removed_meanwhile(library, locks, processes, rounds, seed):
    """Clients remove and evict what others are reading."""
    count = 0
    with private_cache() as (folder, _):
        disk = Disk(library, locks, folder, seed + 1)
        store = disk_cache.Store(str(folder), disk_cache.AREA, 1 << 30)

        def body(number):
            rng = random.Random(seed * 100 + number)
            with counted_warnings() as caught:
                for _ in range(4 * rounds):
                    forget()
                    block = rng.randrange(6)
                    check_block(block, compile_block(block))
                    if number % 4 == 0:
                        for key, _, _ in store.native.list()[:2]:
                            store.native.remove(key)
                    elif number % 4 == 1 and rng.random() < 0.2:
                        store.native.sweep(rng.randrange(20_000))
            assert not caught, [str(w.message) for w in caught]

        _wait([disk.client(n, body) for n in range(processes)], "K2N removals")
        disk.check_server("K2N removals")
        count = 4 * rounds * processes
    return count


def _killed(library, locks, kills, seed):
    """Clients die while they compile and publish; the others go on."""
    rng = random.Random(seed)
    with private_cache() as (folder, _):
        disk = Disk(library, locks, folder, seed + 2)

        def endless(number):
            for step in range(10**6):
                forget()
                compile_block((number * 7 + step) % 50)

        def once(number):
            with counted_warnings() as caught:
                for block in range(50):
                    check_block(block, compile_block(block))
            assert not caught, [str(w.message) for w in caught]

        for number in range(kills):
            pid = disk.client(number, endless)
            time.sleep(rng.random() * 0.03)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            disk.check_server(f"K2N kill {number}", abandoned=True)
        _wait([disk.client(n, once) for n in range(2 * HOSTS)], "K2N after kills")
        left = len(temporaries_below(folder))
        # Each host sweeps what its own processes have left, and lets the others' be.
        for number in range(HOSTS):
            pid = disk.client(number, lambda _: disk_cache.Store(str(folder), disk_cache.AREA, 1 << 30).native.sweep(1 << 30))
            _wait([pid], "K2N sweep")
        if locks != "refused":
            disk.check_server("K2N after sweeps")
    return left


def _full(library, locks, processes, rounds, seed):
    """Every tenth time the disk has no space, as a client learns when it closes a file."""
    with private_cache() as (folder, _):
        disk = Disk(library, locks, folder, seed + 3)

        def body(number):
            with counted_warnings() as caught:
                for block in range(rounds):
                    check_block(block, compile_block(block))
            assert len(caught) <= 1, [str(w.message) for w in caught]

        _wait([disk.client(n, body, full_one_in=10) for n in range(processes)], "K2N full")
        disk.check_server("K2N full")
    return rounds * processes


def _one_table(library, locks, processes, rounds, seed):
    """Clients save figures to one tuning table: with locks none is lost, without them what is there is whole."""
    with private_cache() as (folder, _):
        disk = Disk(library, locks, folder, seed + 4)

        def body(number):
            with counted_warnings() as caught:
                mine = table_of_nobody()
                for turn in range(rounds):
                    mine.save({f"{number}-{turn}": {"config": "c", "status": "ok", "median": 1.0}})
            assert not caught, [str(w.message) for w in caught]

        _wait([disk.client(n, body) for n in range(processes)], "K2N table")
        disk.check_server("K2N table")
        forget()
        last = table_of_nobody()
        assert last.load(), "K2N: the table is gone"
        wanted = {f"{number}-{turn}" for number in range(processes) for turn in range(rounds)}
        assert set(last.records) <= wanted and (locks != "work" or set(last.records) == wanted), len(last.records)
        return f"{len(last.records)} of {len(wanted)} figures in one table"


def table_of_nobody():
    """A table without a kernel, on the disk in force."""
    table = Table.__new__(Table)
    table.fields, table.name, table.key_text, table.known = {"kernel": "none", "key": "none"}, "none", "()", {}
    table.key, table.store = disk_cache.key_of(table.fields), disk_cache.store_of("tuning-1", 64 << 20)
    table.records, table.mine, table.pinned, table.best, table.circumstances = {}, {}, None, None, {}
    return table
