# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs one after another in this process and writes one line of JSON for each.

A line {"start": name} precedes each program, so that whoever reads the file knows
which one took the process down.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import sys
import time
import traceback
from pathlib import Path

import torch
from torch.utils._pytree import tree_flatten, tree_map

from .registry import Program, Work, load_all
from .training import Steps

# (relative, absolute): kernels keep intermediate values in float32 where eager mode rounds each one.
TOLERANCES = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1e-4, 2e-5),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (5e-2, 5e-2),
}


class Differs(Exception):
    """A result is not that of eager mode."""


def fresh(value):
    """A copy of arguments that keeps dtype, strides and requires_grad."""

    def one(x):
        return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x

    return tree_map(one, value)


def compare(expected, got, tolerance, what):
    wanted, structure = tree_flatten(expected)
    found, other = tree_flatten(got)
    if len(wanted) != len(found):
        raise Differs(f"{what}: {len(found)} values, not {len(wanted)} ({structure} and {other})")
    for place, (a, b) in enumerate(zip(wanted, found)):
        if not isinstance(a, torch.Tensor):
            if a != b:
                raise Differs(f"{what}[{place}]: {b!r}, not {a!r}")
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Differs(f"{what}[{place}]: {b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}")
        relative, absolute = tolerance or TOLERANCES.get(a.dtype, (0, 0))
        if not a.dtype.is_floating_point:
            relative = absolute = 0
        if a.dtype.itemsize == 1 and a.dtype.is_floating_point:
            a, b = a.float(), b.float()
        try:
            torch.testing.assert_close(b, a, rtol=relative, atol=absolute, equal_nan=True)
        except AssertionError as error:
            raise Differs(f"{what}[{place}]: " + " ".join(str(error).split())) from None


def weighed(out):
    """A scalar of all float results, in which each element has its own weight."""
    total = 0
    for x in tree_flatten(out)[0]:
        if isinstance(x, torch.Tensor) and x.requires_grad and x.is_floating_point():
            weights = torch.linspace(0.5, 1.5, x.numel(), device=x.device).reshape(x.shape)
            total = total + (x.float() * weights).sum()
    return total


def detached(out):
    return tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, out)


def call(function, arguments, train):
    """(results, arguments afterwards, gradients)."""
    arguments = fresh(arguments)
    parameters = [p for p in function.parameters() if p.requires_grad] if isinstance(function, torch.nn.Module) else []
    for parameter in parameters:
        parameter.grad = None
    if torch.cuda.is_available():
        torch.compiler.cudagraph_mark_step_begin()
    out = function(*arguments)
    gradients = []
    if train:
        weighed(out).backward()
        leaves = [x for x in tree_flatten(arguments)[0] if isinstance(x, torch.Tensor) and x.requires_grad]
        gradients = [None if x.grad is None else x.grad.clone() for x in (*leaves, *parameters)]
    after = [x for x in tree_flatten(arguments)[0] if isinstance(x, torch.Tensor) and not x.requires_grad]
    return detached(out), detached(after), gradients


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def milliseconds(function, calls=20):
    """The median over some calls, each waited for."""
    times = []
    for _ in range(calls):
        synchronize()
        start = time.perf_counter()
        function()
        synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[calls // 2] * 1e3


def run_steps(program: Program, steps: Steps, compiled, record):
    """Training: losses and parameters after some steps."""
    expected = steps.run(lambda function: function)
    if program.timed:
        record["eager_ms"] = milliseconds(steps.again)
    start = time.perf_counter()
    got = steps.run(compiled)
    synchronize()
    record["first_seconds"] = time.perf_counter() - start
    compare(expected, got, program.tolerance, "losses and parameters")
    if program.timed:
        record["warm_ms"] = milliseconds(steps.again)


def run_calls(program: Program, work: Work, compiled, record):
    eager = work.reference or copy.deepcopy(work.function)
    expected = [call(eager, arguments, program.train) for arguments in work.calls for _ in range(program.repeats)]
    function = compiled(work.function)
    start = time.perf_counter()
    got = []
    for arguments in work.calls:
        for _ in range(program.repeats):
            got.append(call(function, arguments, program.train))
            synchronize()
            record.setdefault("first_seconds", time.perf_counter() - start)
    for place, (wanted, found) in enumerate(zip(expected, got)):
        if work.check is not None:
            work.check(wanted[0], found[0])
            continue
        for a, b, what in zip(wanted, found, ("result", "argument", "gradient")):
            compare(a, b, program.tolerance, f"call {place}, {what}")
    if program.timed:
        record["warm_ms"] = milliseconds(lambda: call(function, work.calls[0], program.train))
        record["eager_ms"] = milliseconds(lambda: call(eager, work.calls[0], program.train))


def run_program(program: Program, device: str, backend: str) -> dict:
    import torch._inductor.config as config
    from torch._inductor import metrics

    record = {"name": program.name, "group": program.group}
    torch._dynamo.reset()
    torch.manual_seed(0)
    metrics.reset()
    begin = time.perf_counter()
    try:
        known = {key: value for key, value in program.config.items() if _has_setting(config, key)}
        if known != program.config:
            record["without"] = sorted(set(program.config) - set(known))
            if not known:
                return {**record, "status": "skipped", "message": f"torch has no setting {record['without']}"}
        with config.patch(known), contextlib.ExitStack() as stack:
            stack.callback(torch.set_grad_enabled, torch.is_grad_enabled())
            work = program.make(device)

            def compiled(function):
                if backend != "inductor":  # the programs themselves are tried
                    return torch.compile(function, backend=backend, dynamic=program.compile.get("dynamic"))
                return torch.compile(function, **program.compile)

            if isinstance(work.function, Steps):
                run_steps(program, work.function, compiled, record)
            else:
                run_calls(program, work, compiled, record)
        record["status"] = "passed"
    except Differs as error:
        record.update(status="differs", message=str(error))
    except AssertionError as error:
        record.update(status="differs", message=f"AssertionError: {error}")
    except Exception as error:  # noqa: BLE001 - one program's failure must not end the others
        text = traceback.format_exc()
        record.update(status="failed", message=f"{type(error).__name__}: {error}"[:2000], traceback=text[-6000:])
    record["kernels"] = metrics.generated_kernel_count
    record["seconds"] = time.perf_counter() - begin
    return record


def _has_setting(config, key) -> bool:
    value = config
    for part in key.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def describe() -> dict:
    """What `triton` and the device are in this process."""
    import triton

    facts = {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "file": str(getattr(triton, "__file__", "")),
        "implementation": type(triton.jit(_nothing)).__module__.split(".")[0],
    }
    if torch.cuda.is_available():
        facts["device"] = torch.cuda.get_device_name()
    return facts


def _nothing():
    pass


def main(names, out, device, backend):
    if device == "cpu" and backend == "inductor":
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        from harness import inductor_cpu

        inductor_cpu.install()
    programs = load_all()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with open(out, "a") as file:

        def write(record):
            file.write(json.dumps(record, default=str) + "\n")
            file.flush()

        write({"facts": describe()})
        for name in names:
            write({"start": name})
            record = run_program(programs[name], device, backend)
            record["message"] = re.sub(r"\s+", " ", record.get("message", ""))
            write(record)
            if record["status"] == "failed" and re.search(
                r"CUDA error|E040[1-6]|illegal (memory|instruction)|device-side assert", record["message"]
            ):
                return  # the context is lost: what is left runs in another process
