# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""K5, K6: disks that fail, are full, read-only or strange. The kernel runs anyway.

K5 lets the k-th file operation of the cache fail (tests/mock/FaultShim.cpp), for
every k until the operation ends without reaching it. K6 makes the conditions for
real; those that need a right this process lacks are named as left out.
"""

import contextlib
import ctypes
import errno
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tilewright import errors
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

ROOT = Path(__file__).resolve().parents[2]
ERRORS = [
    "ENOSPC",
    "EDQUOT",
    "EIO",
    "EROFS",
    "EACCES",
    "EPERM",
    "EMFILE",
    "ENFILE",
    "EINTR",
    "ESTALE",
    "EBUSY",
    "ENAMETOOLONG",
    "short write",
]

# ---------------------------------------------------------------------------
# K5
# ---------------------------------------------------------------------------


def build_shim(folder, name="FaultShim") -> str:
    compiler = shutil.which("clang++-19") or shutil.which("c++") or shutil.which("g++")
    assert compiler, "no C++ compiler for the shim"
    library = Path(folder) / f"lib{name.lower()}.so"
    subprocess.run(
        [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", ROOT / f"tests/mock/{name}.cpp", "-o", library, "-ldl"], check=True
    )
    return str(library)


def run_injected(errors=len(ERRORS)):
    """K5, in a process of its own that the shim is loaded into."""
    with tempfile.TemporaryDirectory() as folder:
        library = build_shim(folder)
        done = subprocess.run(
            [sys.executable, "-c", "from campaigns import faults; faults.inject_all()", library, str(errors)],
            env={
                **os.environ,
                "LD_PRELOAD": library,
                "TILEWRIGHT_CACHE": "0",
                "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), *filter(None, sys.path)]),
            },
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


def _operations(folder):
    """Name -> (what comes before, the block that is asked for)."""
    small = disk_cache.Store(str(folder), disk_cache.AREA, 12_000)

    def fill():
        for block in range(100, 110):
            compile_block(block)

    def fill_small():
        disk_cache._stores[(str(folder), disk_cache.AREA, 2048 << 20)] = small
        small.can_write = True
        fill()

    return {"hit": (lambda: compile_block(7), 7), "miss": (lambda: None, 8), "first": (None, 9), "evict": (fill_small, 10)}


def inject_all():
    shim = ctypes.CDLL(sys.argv[1])
    shim.faultArm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    count, most = 0, 0
    for error in ERRORS[: int(sys.argv[2])]:
        for operation in ("hit", "miss", "first", "evict"):
            for k in range(1, 10_000):
                fired, warned = inject(shim, operation, error, k)
                if not fired:
                    break
                count += 1
                most = max(most, warned)
    print(f"K5: {count} faults in {int(sys.argv[2])} kinds of errors x 4 operations, every kernel ran, at most {most} warning")


def inject(shim, operation, error, k):
    number = 0 if error == "short write" else getattr(errno, error)
    with private_cache() as (folder, _):
        before, block = _operations(folder)[operation]
        if before is not None:
            before()
            if operation != "evict":
                forget()
        errors._warned.clear()
        with counted_warnings() as caught:
            shim.faultArm(os.fsencode(folder), k, number, error == "short write")
            try:
                kernel = compile_block(block)
            finally:
                fired = shim.faultDisarm()
        check_block(block, kernel)
        assert len(caught) <= 1, (operation, error, k, [str(w.message) for w in caught])
        assert not damaged_entries(folder), (operation, error, k)
        # The process goes on, and so does the next one.
        check_block(block + 50, compile_block(block + 50))
        forget()
        with counted_warnings() as later:
            check_block(block, compile_block(block))
        assert not later, (operation, error, k, [str(w.message) for w in later])
        disk_cache.Store(str(folder), disk_cache.AREA, 1 << 30).native.sweep(1 << 30)
        assert not temporaries_below(folder), (operation, error, k)
    return fired, len(caught)


# ---------------------------------------------------------------------------
# K6
# ---------------------------------------------------------------------------


def _as_nobody(body):
    """Runs `body` in a forked process without root's rights."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                nobody = pwd.getpwnam("nobody")
                os.setgid(nobody.pw_gid)
                os.setuid(nobody.pw_uid)
            body()
            status = 0
        finally:
            if status:
                import traceback

                traceback.print_exc()
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"K6: ended with {status}"


def _try_kernels(most_warnings, blocks=range(3), code=None):
    """Kernels run, twice, with so many warnings."""
    forget()
    with counted_warnings() as caught:
        for _ in range(2):
            for block in blocks:
                check_block(block, compile_block(block))
    texts = [str(w.message) for w in caught]
    assert len(texts) <= most_warnings, texts
    if code is not None:
        assert texts and all(code in t for t in texts), texts


@contextlib.contextmanager
def _mounted(folder, *arguments):
    """A mount, or None where this process may not mount."""
    mount = shutil.which("mount")
    done = subprocess.run([mount, *arguments, str(folder)], capture_output=True) if mount else None
    try:
        yield done is not None and done.returncode == 0
    finally:
        if done is not None and done.returncode == 0:
            subprocess.run([shutil.which("umount"), str(folder)], capture_output=True)


def _condition(name, folder=None, most=1, code=None, nobody=False, environment=None, works=False):
    """Kernels run with a cache folder of one kind; with `works`, entries are kept there. Returns the name."""
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o777)
        place = folder(Path(base)) if folder else Path(base) / "cache"
        before = dict(os.environ)
        with private_cache(place) as _:
            os.environ.update(environment(Path(base)) if environment else {})
            for name_ in [n for n, v in os.environ.items() if v == "(unset)"]:
                del os.environ[name_]
            try:
                _as_nobody(lambda: _try_kernels(most, code=code)) if nobody else _try_kernels(most, code=code)
            finally:
                os.environ.clear()
                os.environ.update(before)
            if works:
                assert entries_below(place), f"K6 {name}: nothing was kept"
        for path in sorted(Path(base).rglob("*")):
            with contextlib.suppress(OSError):
                path.chmod(0o700)
    return name


def _made(name, mode):
    def make(base):
        path = base / name
        path.mkdir()
        path.chmod(mode)
        return path

    return make


def _linked(base):
    (base / "real").mkdir(mode=0o700)
    (base / "link").symlink_to(base / "real")
    return base / "link"


def _strange_folders():
    """Names, rights, owners and homes; the names of the conditions, one after the other."""
    unset_dir = {"TILEWRIGHT_CACHE_DIR": "(unset)", "TRITON_CACHE_DIR": "(unset)", "XDG_CACHE_HOME": "(unset)"}
    yield _condition("plain", most=0, works=True)
    yield _condition(
        "spaces, newline, not UTF-8",
        lambda base: Path(os.fsdecode(os.fsencode(base) + b"/a b\nc\xff\xfe'\"$(x)")),
        0,
        works=True,
    )
    yield _condition("parents missing", lambda base: base / "a" / "b" / "c", 0, works=True)
    yield _condition("writable by others", _made("open", 0o777), code="W0503")
    yield _condition("home 0500", _made("home", 0o500), code="W0502", nobody=True)
    yield _condition("no HOME", environment=lambda base: {**unset_dir, "HOME": "(unset)"}, nobody=True)
    for name, home in (("HOME no directory", "/dev/null"), ("HOME missing", "/proc/none")):
        yield _condition(name, environment=lambda base, home=home: {**unset_dir, "HOME": home}, nobody=True, code="W0502")
    if os.geteuid() == 0:
        yield _condition("owned by another user", _made("roots", 0o755), nobody=True, code="W0503")
    yield _condition("a symbolic link", _linked, code="W0503")
    for mask in (0o000, 0o077, 0o777):
        old = os.umask(mask)
        try:
            yield _condition(f"umask {mask:03o}", most=0 if mask != 0o777 else 1, works=mask != 0o777)
        finally:
            os.umask(old)


def _try_mounts(done, left_out):
    """Adds to one of both lists the name of each mount, by whether this machine may make it."""
    for name, arguments in (
        ("1 MiB tmpfs", ("-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs")),
        ("noexec mount", ("-t", "tmpfs", "-o", "noexec,mode=700", "tmpfs")),
        ("read-only mount", ("-t", "tmpfs", "-o", "ro,mode=700", "tmpfs")),
    ):
        with tempfile.TemporaryDirectory() as base, _mounted(base, *arguments) as mounted:
            if not mounted:
                left_out.append(name)
                continue
            with private_cache(base):
                _try_kernels(1, range(2000 if "1 MiB" in name else 3), "W0502" if "read-only" in name else None)
                if "noexec" in name:
                    assert entries_below(base)
            done.append(name)


def run_conditions():
    """K6: each condition for real."""
    done, left_out = list(_strange_folders()), []
    _clock_set_back()
    done.append("clock set back")
    _try_mounts(done, left_out)
    _configured_file()
    done.append("the directory is a file")
    return f"K6: {len(done)} conditions" + (f"; not possible here: {', '.join(left_out)}" if left_out else "")


def _clock_set_back():
    """Files of the future are entries like all others, and evicted last."""
    with private_cache() as (folder, compiler):
        compile_block(1)
        for path in entries_below(folder):
            os.utime(path, (time.time() + 10**8, time.time() + 10**8))
        forget()
        with counted_warnings() as caught:
            check_block(1, compile_block(1))
        assert compiler.count == 1 and not caught


def _configured_file():
    with tempfile.TemporaryDirectory() as base:
        place = Path(base) / "file"
        place.write_text("text")
        with private_cache(place):
            try:
                compile_block(1)
            except errors.ConfigError as error:
                assert "E0505" in str(error)
            else:
                raise AssertionError("K6: a file was taken for a directory")
