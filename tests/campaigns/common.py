# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What campaigns share: a compiler that takes no time, a kernel, a private cache.

The stand-in for the compiler makes "machine code" that is a function of what was
asked for, so that every kernel that comes back can be checked against its request.
"""

import contextlib
import hashlib
import os
import tempfile
import time
import warnings
from pathlib import Path

import tilewright
from tilewright import _core, errors
from tilewright.compiler import disk_cache


class constexpr:
    """The annotation alone."""


@tilewright.jit
def scale(x, n, BLOCK: constexpr):
    pass


def expected_code(block, target="sm_90a") -> bytes:
    seed = hashlib.sha256(f"{block} {target}".encode()).digest()
    return b"\x7fELF" + seed * (4 + block % 61)


class StandIn:
    """Takes the place of `_core.compile_kernel`; counts, and may take its time."""

    def __init__(self, seconds=0.0, log=None):
        self.count = 0
        self.seconds, self.log = seconds, log

    def __call__(self, fn, signature, constexprs, divisibility, options, target):
        self.count += 1
        if self.seconds:
            time.sleep(self.seconds)
        block = constexprs["BLOCK"]
        if self.log is not None:
            # One short write to a file opened for appending is not torn.
            os.write(self.log, f"{block}\n".encode())
        metadata = {
            "num_warps": 4,
            "num_ctas": 1,
            "num_stages": 3,
            "shared": 0,
            "name": fn.__name__,
            "written_args": ["x"],
            "n_regs": 32,
            "n_spills": 0,
            "assembler": "stand-in",
        }
        return {
            "name": fn.__name__,
            "ttir": f"module {{ {block} }}",
            "ttgir": "module {}",
            "llir": "; text",
            "ptx": f"// {block}",
            "cubin": expected_code(block, target),
            "metadata": metadata,
            "remarks": [],
        }


def compile_block(block, target="sm_90a"):
    """The kernel for one constant, through the cache."""
    source = tilewright.ASTSource(scale, {"x": "*fp32", "n": "i32"}, {"BLOCK": block})
    return tilewright.compile(source, target)


def key_of_block(block, target="sm_90a") -> str:
    from tilewright.compiler.compiler import request_of

    return request_of(tilewright.ASTSource(scale, {"x": "*fp32", "n": "i32"}, {"BLOCK": block}), target).key


def check_block(block, kernel, target="sm_90a"):
    assert kernel.asm["cubin"] == expected_code(block, target), f"wrong code for {block}"
    assert kernel.asm["ptx"] == f"// {block}" and kernel.metadata.n_regs == 32


def forget():
    """As in a new process: no store has failed, no warning was given."""
    disk_cache._stores.clear()
    errors._warned.clear()


@contextlib.contextmanager
def private_cache(folder=None, seconds=0.0, log=None, **knobs):
    """A cache of its own and the stand-in compiler; yields (folder, compiler)."""
    made = tempfile.TemporaryDirectory(prefix="tilewright-campaign-") if folder is None else None
    folder = Path(made.name) / "cache" if made else Path(folder)
    compiler, original = StandIn(seconds, log), _core.compile_kernel
    variables = {
        "TILEWRIGHT_CACHE": "1",
        "TILEWRIGHT_CACHE_DIR": os.fspath(folder),
        **{f"TILEWRIGHT_{k}": str(v) for k, v in knobs.items()},
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    _core.compile_kernel = compiler
    forget()
    try:
        yield folder, compiler
    finally:
        _core.compile_kernel = original
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        forget()
        if made:
            made.cleanup()


@contextlib.contextmanager
def counted_warnings():
    """The warnings of the block as a list."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def files_below(folder):
    return [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]


def entries_below(folder):
    return [p for p in files_below(folder) if len(p.name) == 68 and p.suffix == ".bin" and p.parent.name != "quarantine"]


def temporaries_below(folder):
    return [p for p in files_below(folder) if p.name.startswith("tmp-")]


def damaged_entries(folder):
    """Names of the entries that a reader would refuse; they should not exist."""
    bad = []
    for path in entries_below(folder):
        with contextlib.suppress(FileNotFoundError):  # evicted meanwhile
            _, _, reason = _core.decode_entry(path.read_bytes(), path.stem)
            if reason:
                bad.append(f"{path.name}: {reason}")
    return bad
