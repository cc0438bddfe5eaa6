# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch and compile options: names, defaults, checks."""

from __future__ import annotations

import contextvars
import os

from .. import errors, foreign, knobs

# None as a default means that the compiler chooses. Those that only other GPU
# families or later releases use are accepted, and part of the key.
DEFAULTS = {
    "num_warps": None,
    "num_stages": 3,
    "num_ctas": 1,
    "maxnreg": None,
    "warp_size": 32,
    "enable_fp_fusion": True,
    "enable_reflect_ftz": True,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "debug": False,
    "sanitize_overflow": True,
    "arch": None,
    "ptx_version": None,
    "ptx_options": None,
    "ir_override": None,
    "default_dot_input_precision": "tf32",
    "allowed_dot_input_precisions": ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    "supported_fp8_dtypes": ("fp8e5", "fp8e4nv"),
    "deprecated_fp8_dot_operand_dtypes": (),
    "max_num_imprecise_acc_default": None,
    "extern_libs": None,
    "clc": False,
    "instrumentation_mode": "",
    "fpsan_homomorphic_casts": False,
    "min_shared_mem": None,
    "cluster_dims": None,
    "optimize_epilogue": None,
    "index_bits": None,
    "arguments_may_overlap": False,
}

# Every GPU that the compiler knows has these.
THREADS_PER_WARP, MOST_WARPS = 32, 32


# The version of PTX that has what is written for Hopper.
OLDEST_PTX = 80

#: Kinds of files that a kernel can be taken from (stage_files.py), the last stage first.
STAGES_OF_FILES = ("cubin", "ptx", "ttir")


def stage_of_file(path) -> str:
    return os.path.splitext(path)[1][1:]


def nearest_option(name) -> str:
    """The option that a wrong name is likely to mean, or nothing."""
    import difflib  # for a mistake alone

    return next(iter(difflib.get_close_matches(name, DEFAULTS, n=1)), "")


def _reject(name):
    if name in foreign.OPTIONS:
        raise foreign.error(name, *foreign.OPTIONS[name])
    near = nearest_option(name)
    help = None if near else "pass it as a parameter of the kernel, or remove it"
    raise errors.make("E0210", o=name, near=near, help=help)


def _plain(value):
    return value.value if type(value).__name__ == "constexpr" else value


def parse_options(given: dict) -> dict:
    """All options with their values; E0209, E0210 and E0308 for what cannot be."""
    options = dict(DEFAULTS)
    for name, value in given.items():
        if name not in DEFAULTS:
            _reject(name)
        options[name] = _plain(value)
    warps = options["num_warps"]
    if warps is not None:
        if isinstance(warps, bool) or not isinstance(warps, int) or warps < 1 or warps & (warps - 1):
            raise errors.make("E0209", n=repr(warps))
        if warps > MOST_WARPS:
            raise errors.make("E0308", t=warps * THREADS_PER_WARP, w=warps, m=MOST_WARPS * THREADS_PER_WARP)
    _check_int(options, "num_stages", 0, "an integer of at least 0")
    _check_int(options, "num_ctas", 1, "a power of two from 1 to 16")
    if options["num_ctas"] > 16 or options["num_ctas"] & (options["num_ctas"] - 1):
        _wrong(options, "num_ctas", "a power of two from 1 to 16")
    if options["cluster_dims"] is not None and set(options["cluster_dims"]) != {1}:
        _wrong(options, "cluster_dims", "num_ctas")
    if options["index_bits"] not in (None, 32, 64):
        _wrong(options, "index_bits", "32, 64 or None")
    if options["ptx_version"] is not None:
        _check_int(options, "ptx_version", OLDEST_PTX, f"an integer of at least {OLDEST_PTX}, which is PTX 8.0, or None")
    if not isinstance(options["ptx_options"], (str, type(None))):
        _wrong(options, "ptx_options", "a str with options of ptxas, with spaces between")
    path = options["ir_override"]
    # A number would be taken for an open file.
    is_path = isinstance(path, (str, os.PathLike))
    if path is not None and not (is_path and os.path.isfile(path) and stage_of_file(path) in STAGES_OF_FILES):
        _wrong(options, "ir_override", "the path of a .ttir, .ptx or .cubin file")
    if options["maxnreg"] is not None:
        _check_int(options, "maxnreg", 1, "an integer of at least 1, or None")
    return options


def _check_int(options, name, least, rule):
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        _wrong(options, name, rule)


def _wrong(options, name, rule):
    # E0209 names num_warps in its pattern; the other options share its code.
    message = f"{name}={options[name]!r}; use {rule}"
    raise errors.from_native("E0209", "InvalidOption", message, f"use {rule}")


# ---------------------------------------------------------------------------
# Where it is compiled
# ---------------------------------------------------------------------------

#: Whether what this thread compiles has to be compiled in a worker process; the tuner asks for it after a crash.
must_isolate = contextvars.ContextVar("tilewright_must_isolate", default=False)


def is_isolated() -> bool:
    """Whether to compile in a worker process (isolated.py)."""
    mode = knobs.compilation.mode
    if mode not in (None, "isolated"):
        raise errors.make("E0701", X="COMPILE", v=mode, type="'isolated', or nothing")
    return mode is not None or must_isolate.get()
