# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plugin: what a suite launches in the interpreter is compiled as well and run on the PTX emulator.

Each launch of a specialisation that was not met yet is tried in a forked process, with copies of its arguments: a few
of the grid's programs run in the interpreter and, compiled for each target at each number of stages, on the
emulator, and what they leave in memory is compared. The suite goes on meanwhile. EMULATED_OUT names the file that gets
one line of JSON per launch; EMULATED_SECONDS bounds a launch's time of computing.
"""

import collections
import json
import math
import os
import resource
import sys
import threading
import time
import traceback

import numpy as np
import pytest

OUT = os.environ.get("EMULATED_OUT", "")
SECONDS = int(os.environ.get("EMULATED_SECONDS", "30"))
KEPT = os.environ.get("EMULATED_KEPT", "")  # a folder for what differs
PROGRAMS = int(os.environ.get("EMULATED_PROGRAMS", "2"))
# Specialisations of one kernel that are tried.
PER_KERNEL = int(os.environ.get("EMULATED_PER_KERNEL", "4"))
# A launch of more programs runs in so many parts, and ends after the part in which its time is over.
PARTS = 16
LAUNCH_SECONDS = float(os.environ.get("INTERPRETED_SECONDS", "5"))
# (target, stages): None is what the launch says.
RUNS = (("sm_90a", None), ("sm_90a", 1), ("sm_90a", 3), ("sm_80", 3))
# Relative to the element, and to the root of the mean square of all that were written.
TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (4e-3, 2e-3), "float16": (1e-2, 5e-3), "bfloat16": (3e-2, 2e-2)}
seen, tries, children, cut, test_name = set(), collections.Counter(), [], {}, [""]
launching = threading.RLock()  # some suites launch on several threads


# What a launch is, for the compiler.


def divisibility(value, aligned=True):
    if hasattr(value, "block_shape"):
        return 16 if value.shape[-1] * value.base.dtype.itemsize % 16 == 0 else 1
    if isinstance(value, np.ndarray):
        return 16 if value.ctypes.data % 16 == 0 and aligned else 1
    if type(value) is int and aligned:
        return next((number for number in (16, 8) if value % number == 0), 1)
    return 1


def entry_of(name, value, constants, divisors):
    from harness.assemble import signature_type

    if isinstance(value, tuple):
        items = [entry_of(f"{name}[{i}]", item, constants, divisors) for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if hasattr(value, "value") and type(value).__name__ == "constexpr":
        constants[name] = value.value
        return "constexpr"
    if value is None or callable(value) or (type(value) is int and value == 1):
        constants[name] = value
        return "constexpr"
    if (number := divisibility(value)) > 1:
        divisors[name] = number
    return signature_type(value)


def specialise(function, bound):
    from harness.assemble import compiles_one_in, signature_type

    signature, constants, divisors = {}, {}, {}
    for param in function.params:
        value = bound[param.name]
        if hasattr(value, "value") and type(value).__name__ == "constexpr":
            value = value.value
        if isinstance(value, tuple) and not param.is_constexpr:
            signature[param.name] = entry_of(param.name, value, constants, divisors)
            continue
        is_number = type(value) is int
        is_one = is_number and value == 1 and compiles_one_in(param)
        if param.is_constexpr or value is None or callable(value) or is_one:
            constants[param.name] = value
            continue
        kind = signature_type(value)
        if kind.startswith("*") and param.is_const:
            kind = "*k" + kind[1:]
        signature[param.name] = param.annotation_type or kind
        aligned = not param.do_not_specialize_on_alignment and not (is_number and param.do_not_specialize)
        if (number := divisibility(value, aligned)) > 1:
            divisors[param.name] = number
    return signature, constants, divisors


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


def some_programs(sizes):
    """The first, the last, and some between them."""
    count = math.prod(sizes)
    numbers = sorted({round(i * (count - 1) / max(PROGRAMS - 1, 1)) for i in range(PROGRAMS)})
    return [(n % sizes[0], n // sizes[0] % sizes[1], n // sizes[0] // sizes[1]) for n in numbers]


# The two runs.


def interpreted(function, sizes, bound, options, programs):
    from tilewright.runtime.interpreter import InterpretedLaunch

    launch = InterpretedLaunch(function, sizes, bound, options)
    launch.context.choose(programs)
    launch.run()


def compiled_form(function, bound, options, target, stages):
    import tilewright
    from harness.assemble import OPTIONS

    chosen = {name: value for name, value in options.items() if name in OPTIONS}
    if stages is not None:
        chosen["num_stages"] = stages
    source = tilewright.ASTSource(function.compiled_form(), *specialise(function, bound))
    kernel = tilewright.compile(source, target, {"arguments_may_overlap": False, **chosen})
    if kernel.metadata.needs_distinct_arguments:
        kernel = tilewright.compile(source, target, {**chosen, "arguments_may_overlap": True})
    return kernel


def emulated(kernel, sizes, bound, programs):
    from harness.devices import run_time_parts
    from harness.ptx_emulator import launch

    parts = [part for name, entry in kernel.signature.items() for part in run_time_parts(entry, plain(bound[name]))]
    metadata = kernel.metadata
    launch(
        kernel.asm["ptx"],
        sizes,
        parts,
        metadata.host_tensor_maps,
        metadata.global_scratch_size,
        metadata.num_ctas,
        programs=programs,
    )


def dtypes_by_storage(bound, copies):
    """Address of a storage -> the type that the kernel sees there."""
    found = {}

    def visit(value):
        if hasattr(value, "block_shape"):
            value = value.base
        if isinstance(value, tuple):
            for item in value:
                visit(item)
        elif isinstance(value, np.ndarray):
            for key, whole in copies.storages.items():
                if whole.ctypes.data <= value.ctypes.data < whole.ctypes.data + max(whole.nbytes, 1):
                    found.setdefault(key, []).append(value.dtype)

    for value in bound.values():
        visit(value)
    return found


def difference(before, wanted, got, dtype, strict):
    """What differs between two memories, or nothing.

    `strict` is for the same kernel at other numbers of stages: the order of a sum may differ, and nothing else.
    """
    count = len(wanted) // dtype.itemsize * dtype.itemsize
    before, wanted, got = (part[:count].view(dtype) for part in (before, wanted, got))
    same_bits = (wanted.view(np.uint8).reshape(-1, dtype.itemsize) == got.view(np.uint8).reshape(-1, dtype.itemsize)).all(1)
    if same_bits.all():
        return ""
    if dtype.kind in "biu":
        bad = ~same_bits
    else:
        with np.errstate(all="ignore"):
            x, y, z = (part.astype(np.float64) for part in (wanted, got, before))
            relative, absolute = TOLERANCE.get(dtype.name, (0.15, 0.1))
            if strict:
                relative, absolute = relative / 100, absolute / 100
            written = np.isfinite(x) & ((x != z) | np.isnan(z))
            scale = float(np.sqrt(np.mean(x[written] ** 2))) if written.any() else 0.0
            close = np.abs(x - y) <= relative * np.maximum(np.abs(x), np.abs(y)) + absolute * scale
            bad = ~(same_bits | (x == y) | (np.isnan(x) & np.isnan(y)) | close)
    if not bad.any():
        return ""
    first = int(np.argmax(bad))
    return f"{int(bad.sum())} of {len(bad)} {dtype.name} differ, first [{first}] {wanted[first]} wanted, {got[first]} got"


def compare(before, wanted, got, dtypes, strict=False):
    for key, whole in wanted.storages.items():
        for dtype in dtypes.get(key, [np.dtype(np.uint8)])[:1]:
            if text := difference(before.storages[key], whole, got.storages[key], dtype, strict):
                return f"array {list(wanted.storages).index(key)}: {text}"
    return ""


def keep(function, kernel, *states):
    """For a difference: the memory before, after the interpreter and after the emulator, and the PTX."""
    if not KEPT:
        return
    path = os.path.join(KEPT, f"{function.__name__}.{os.getpid()}")
    arrays = {f"{name}{i}": whole for name, state in zip("biw", states) for i, whole in enumerate(state.storages.values())}
    np.savez(path + ".npz", **arrays)
    with open(path + ".ptx", "w") as file:
        file.write(kernel.asm["ptx"])


def tried(function, sizes, bound, options, copies, say):
    from tilewright.errors import UnsupportedType

    programs = some_programs(sizes)
    dtypes = dtypes_by_storage(bound, copies)
    reference_bound, reference = copies.again(bound)
    say(at="interpreter")
    interpreted(function, sizes, reference_bound, options, programs)
    previous = None
    for target, stages in RUNS:
        if stages == options.get("num_stages", 3) and target == "sm_90a":
            continue
        say(at=f"compile {target} {stages}")
        try:
            kernel = compiled_form(function, bound, options, target, stages)
        except UnsupportedType:
            if target != "sm_80":
                raise
            target = "sm_89"  # the first with products of 8-bit floats
            kernel = compiled_form(function, bound, options, target, stages)
        say(at=f"emulate {target} {stages}")
        own_bound, own = copies.again(bound)
        emulated(kernel, sizes, own_bound, programs)
        if text := compare(copies, reference, own, dtypes):
            keep(function, kernel, copies, reference, own)
            return {"status": "WRONG", "message": text}
        if target == "sm_90a":
            if previous is not None and (text := compare(copies, previous, own, dtypes, strict=True)):
                return {"status": "stages", "message": text}
            previous = own
    return {"status": "same"}


# Children.


def write(**line):
    with open(OUT, "a") as file:
        file.write(json.dumps(line, default=str) + "\n")


def in_child(function, sizes, bound, options, copies):
    facts = {
        "test": test_name[0],
        "kernel": function.__name__,
        "file": function.file,
        "grid": sizes,
        "options": {name: repr(value) for name, value in options.items()},
        "arguments": {name: described(value) for name, value in bound.items()},
    }

    def say(**more):
        facts.update(more)

    began = time.monotonic()
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 20, SECONDS + 25))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        import signal

        def too_long(*_):
            raise TimeoutError

        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        say(status="died")
        result = tried(function, sizes, bound, options, copies, say)
    except TimeoutError:
        result = {"status": "time"}
    except BaseException as error:  # whatever it is, it is what became of this launch
        result = {
            "status": "error",
            "kind": type(error).__name__,
            "code": getattr(error, "code", ""),
            "message": str(error)[:1500] or traceback.format_exc()[-1500:],
        }
    write(**{**facts, **result, "seconds": round(time.monotonic() - began, 2)})


def described(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{value.size}]@{value.ctypes.data % 256}"
    if isinstance(value, tuple):
        return [described(item) for item in value]
    if hasattr(value, "block_shape"):
        return f"descriptor {described(value.base)} {value.shape} {value.strides} {value.block_shape} {value.padding}"
    return repr(value)[:200]


def reap(most):
    """Waits until at most so many children are left."""
    with launching:
        while len(children) > most:
            pid, facts = children.pop(0)
            _, status = os.waitpid(pid, 0)
            if status:
                write(**facts, status="died", exit=status)


def try_launch(function, sizes, bound, options):
    if tries[id(function)] >= PER_KERNEL:
        return
    from launch_copies import Copies

    try:
        copies = Copies()
        own = {name: copies.of(name, plain(value)) for name, value in bound.items()}
        signature, constants, divisors = specialise(function, own)
        chosen = {name: value for name, value in options.items() if value is not None}
        key = (id(function), repr((signature, constants, sorted(divisors.items()), sorted(chosen.items(), key=str))))
        if key in seen:
            return
        seen.add(key)
        tries[id(function)] += 1
    except Exception as error:  # the arguments are the suite's
        write(test=test_name[0], kernel=function.__name__, status="skipped", message=repr(error)[:300])
        tries[id(function)] += 1
        return
    reap(1)
    pid = os.fork()
    if pid == 0:
        in_child(function, sizes, own, chosen, copies)
        os._exit(0)
    children.append((pid, {"test": test_name[0], "kernel": function.__name__}))


def run_in_parts(function, sizes, bound, options):
    """Runs a launch until its time is over. A test with a launch that was not finished is not judged."""
    from tilewright.errors import Deadlock
    from tilewright.runtime.interpreter import InterpretedKernel, InterpretedLaunch

    programs = [(x, y, z) for z in range(sizes[2]) for y in range(sizes[1]) for x in range(sizes[0])]
    step, end = -(-len(programs) // PARTS), time.monotonic() + LAUNCH_SECONDS
    why = ""
    for first in range(0, len(programs), step):
        launch = InterpretedLaunch(function, sizes, bound, options)
        launch.context.choose(programs[first : first + step])
        try:
            launch.run()
        except Deadlock:
            if first + step >= len(programs):
                raise
            why = f"programs of {function.__name__} wait for those of a later part"
            break
        if time.monotonic() > end and first + step < len(programs):
            why = f"{first + step} of {len(programs)} programs of {function.__name__} ran"
            break
    if why:
        cut[test_name[0]] = why
        write(test=test_name[0], kernel=function.__name__, status="cut", message=why)
    return InterpretedKernel(function, bound, options)


def observer(run):
    def observed(function, grid, bound, options):
        from tilewright.runtime.interpreter import grid_sizes

        sizes = tuple(grid_sizes(grid, bound))
        if 0 not in sizes:
            with launching:
                try_launch(function, sizes, bound, dict(options or {}))
        if math.prod(sizes) <= PARTS:
            return run(function, grid, bound, options)
        return run_in_parts(function, sizes, bound, options)

    return observed


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test one of whose launches was not finished is skipped."""
    outcome = yield
    report = outcome.get_result()
    if report.failed and item.nodeid in cut:
        report.outcome, report.longrepr = "skipped", (str(item.path), 0, f"not judged: {cut[item.nodeid]}")


def pytest_runtest_logstart(nodeid):
    test_name[0] = nodeid


def pytest_sessionfinish():
    reap(0)


def install():
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import harness.ptx_emulator  # noqa: F401
    from tilewright import observers

    observers.interpreted_launches.append(observer)


if OUT:
    install()
