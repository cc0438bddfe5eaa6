# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers that tests of Triton, and of packages made with it, import from Triton's module of this name.

Questions about the GPU are answered for the active driver's target. Where there is none, as in the interpreter on a
machine without a GPU, each answer is False.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import tempfile
from dataclasses import dataclass

import numpy as np

from . import errors, knobs, language
from .knob_types import base_knobs, write_variables
from .runtime.driver import driver
from .runtime.tensors import TensorWrapper, reinterpret
from .scalar_types import type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = [*int_dtypes, *uint_dtypes]
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = [*integral_dtypes, *float_dtypes]
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
# Descriptors have no elements of 64 bits.
tma_dtypes = sorted(name for name in dtypes_with_bfloat16 if not name.endswith("64"))


# -- the GPU ---------------------------------------------------------------------------


def is_interpreter() -> bool:
    """Whether kernels are interpreted."""
    return bool(knobs.runtime.interpret)


def get_current_target():
    """The target of the current device; None in the interpreter and where there is no GPU."""
    if is_interpreter():
        return None
    try:
        return driver.active.get_current_target()
    except errors.TilewrightError:
        return None


def _capability() -> int:
    """The compute capability, 90 for 9.0; 0 without a GPU."""
    target = get_current_target()
    return 0 if target is None else int("".join(filter(str.isdigit, str(target.arch))))


def _generation() -> int:
    return _capability() // 10


def is_cuda() -> bool:
    """Whether kernels run on NVIDIA's GPU."""
    return get_current_target() is not None


def is_ampere_or_newer() -> bool:
    return _generation() >= 8


def is_hopper_or_newer() -> bool:
    return _generation() >= 9


def is_hopper() -> bool:
    return _generation() == 9


def is_blackwell() -> bool:
    return _generation() in (10, 11)


def is_blackwell_ultra() -> bool:
    return _capability() == 103


def is_sm12x() -> bool:
    return _generation() == 12


def is_hip() -> bool:
    """False, as everything else about GPUs of other makers."""
    return False


is_hip_cdna = is_hip_cdna2 = is_hip_cdna3 = is_hip_cdna4 = is_hip_cdna3_or_newer = is_hip
is_hip_rdna = is_hip_rdna3 = is_hip_rdna4 = is_hip_gfx11 = is_hip_gfx12 = is_hip_gfx1250 = is_xpu = is_hip
is_hip_mi200 = is_hip_mi300 = is_hip_mi350 = is_hip


def get_arch() -> str:
    """The name of the target's architecture, empty without a GPU."""
    target = get_current_target()
    return "" if target is None else str(target.arch)


def supports_tma(byval_only: bool = False) -> bool:
    """Whether descriptors can be used: on a GPU by TMA, in the interpreter without it."""
    return is_interpreter() or is_hopper_or_newer()


def supports_ws() -> bool:
    """Whether loops may ask for specialised warps."""
    return is_interpreter() or is_hopper_or_newer()


def tma_skip_msg(byval_only: bool = False) -> str:
    return "descriptors by TMA need a GPU of compute capability 9.0 or newer"


def __getattr__(name):
    # A mark of pytest, which need not be installed.
    if name == "requires_tma":
        import pytest

        return pytest.mark.skipif(not supports_tma(), reason=tma_skip_msg())
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


# -- arrays ----------------------------------------------------------------------------


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """A random array of `shape`; `dtype_str` is a name such as "int8", "float16", "bfloat16" or "bool".

    Integers lie in [low, high), or anywhere, and are never 0, so that one may divide by them. bfloat16 is float32 with
    numbers that bfloat16 has. Raises ValueError for another name.
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        low = limits.min if low is None else max(low, limits.min)
        high = limits.max if high is None else min(high, limits.max)
        values = rs.randint(low, high, shape, dtype=dtype_str)
        values[values == 0] = 1
        return values
    if "float8" in dtype_str:
        # Bits of numbers that all formats have.
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return rs.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = rs.normal(0, 1, shape).astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32)
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0
    raise ValueError(f"no random numbers of '{dtype_str}'")


def to_triton(x, device, dst_type=None):
    """A NumPy array as a tensor of torch on `device`, or as a wrapper of one where torch lacks the type."""
    import torch

    name = x.dtype.name
    if name in uint_dtypes and name != "uint8":
        return reinterpret(torch.tensor(x.view(name[1:]), device=device), getattr(language, name))
    if dst_type and "float8" in dst_type:
        return reinterpret(torch.tensor(x, device=device), getattr(language, dst_type))
    tensor = torch.tensor(x, device=device)
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def to_numpy(x):
    """A tensor, or a wrapper of one, as a NumPy array; bfloat16 as float32. Raises ValueError for anything else."""
    import torch

    if isinstance(x, TensorWrapper):
        return x.base.cpu().numpy().view(torch_dtype_name(x.dtype))
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"neither a tensor nor a wrapper of one: {x!r}")
    return (x.float() if x.dtype is torch.bfloat16 else x).cpu().numpy()


def unwrap_tensor(t):
    """The tensor of a wrapper, or the tensor itself."""
    return t.base if isinstance(t, TensorWrapper) else t


def str_to_triton_dtype(x: str):
    """The element type of a name such as "float16", "int8" or "fp32". Raises KeyError for another."""
    return language.str_to_ty(type_canonicalisation_dict[x])


def torch_dtype_name(dtype) -> str:
    """ "float32" for a type of this language or of torch. Raises TypeError for anything else."""
    if isinstance(dtype, language.dtype):
        return {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}.get(dtype.name, dtype.name)
    name = str(dtype)
    if not name.startswith("torch."):
        raise TypeError(f"no type of elements: {type(dtype).__name__}")
    return name.removeprefix("torch.")


def default_alloc_fn(size: int, align: int, _):
    """Scratch memory of `size` bytes for kernels, from torch."""
    import torch

    return torch.empty(size, dtype=torch.int8, device="cuda")


# -- processes -------------------------------------------------------------------------


@dataclass
class ProcessResult:
    """How a function ended in a process of its own: with which exception, and what it wrote to standard error."""

    exc: Exception | None
    driver_stderr_output: str


def _run_and_tell(connection, function, args, kwargs, env, stderr):
    os.environ.update(env)
    with open(stderr, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 2)
    error = None
    try:
        function(*args, **kwargs)
    except Exception as caught:  # noqa: BLE001 - the parent looks at it
        error = caught
    try:
        connection.send(error)
    except Exception:  # noqa: BLE001 - not every exception can be sent
        connection.send(RuntimeError(f"{type(error).__name__}: {error}"))


def run_in_process(client_fn, args=(), kwargs=None, env=None) -> ProcessResult:
    """Calls a function of a module in a new process with more variables, as what it does may spoil the device.

    A process that ends without a word has a RuntimeError with its exit code.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        stderr = os.path.join(folder, "stderr")
        process = context.Process(target=_run_and_tell, args=(sender, client_fn, args, kwargs or {}, env or {}, stderr))
        process.start()
        sender.close()
        try:
            error = receiver.recv()
            process.join()
        except Exception:  # noqa: BLE001 - it has ended, or what it sent cannot be read
            process.join()
            error = RuntimeError(f"the process ended with exit code {process.exitcode}")
        try:
            with open(stderr, encoding="utf-8", errors="replace") as file:
                written = file.read()
        except FileNotFoundError:
            written = ""
    return ProcessResult(error, written)


# -- knobs -----------------------------------------------------------------------------


def _fresh_knobs_impl(skipped_attr=None):
    """Two functions: one gives all groups of knobs their defaults, whatever the environment says; the other undoes it.

    `skipped_attr` names groups that stay as they are. The first function returns the module of the knobs.
    """
    stack = contextlib.ExitStack()

    def fresh():
        for name, group in vars(knobs).items():
            if isinstance(group, base_knobs) and name not in (skipped_attr or ()):
                stack.enter_context(group.scope())
                write_variables({v: None for knob in group.knob_descriptors.values() for v in knob.variables})
                group.reset()
        return knobs

    return fresh, stack.close
