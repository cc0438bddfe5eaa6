# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling one specialisation.

`compile_for_launch` serves the launcher, `compile` serves users and tools. Both end
in one native call, `_core.compile_kernel`, which returns every stage as text or
bytes; loading into a device happens at the first launch (kernel.py).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import time

from .. import _core, errors, knobs
from .._version import compiler_key
from ..backends.compiler import GPUTarget
from ..lazy_names import deferred, lazy_names
from ..runtime.driver import driver, target_of
from ..runtime.lookups import recorded_lookups
from . import recompiles, specialization_data
from .disk_cache import load_or_compile, one_thread
from .kernel import CompilationResult, CompiledKernel
from .machine_code_files import write_for_other_launchers
from .options import DEFAULTS, is_isolated, nearest_option, parse_options
from .request import Request, knob_fields
from .sources import ASTSource, IRSource

# Under these names programs find them here, too.
from ..backends.compiler import BaseBackend, Language  # noqa: F401, E402
from ..errors import OutOfResources  # noqa: F401, E402
from ..runtime.cache import get_cache_key, get_cache_manager, get_dump_manager, get_override_manager  # noqa: F401, E402
from .kernel import AsmDict, KernelMetadata, LazyDict  # noqa: F401, E402

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "LazyDict", "compile", "compiler_key", "triton_key"]

__getattr__ = lazy_names(__name__, {"make_backend": "backends.nvidia.compiler:make_backend"})
# Few programs ask for these.
_compile_in_worker = deferred("compiler.isolated:compile_kernel")
_overridden = deferred("compiler.stage_files:overridden")
_with_override = deferred("compiler.stage_files:with_override")
_dump_stages = deferred("compiler.stage_files:dump")

# Options that name files, whose contents may change.
_OPTIONS_OF_FILES = frozenset(("ir_override", "extern_libs"))

# Triton's name; libraries hash it into keys of their own.
triton_key = compiler_key


def max_shared_mem(device) -> int:
    """Bytes of shared memory that one block may have on a device."""
    return _core.device_properties(device)["max_shared_mem"]


def _as_target(target) -> GPUTarget:
    if target is None:
        return driver.active.get_current_target()
    if isinstance(target, GPUTarget):
        return target
    if isinstance(target, str):
        return GPUTarget("cuda", target, 32)
    return GPUTarget(target.backend, target.arch, target.warp_size)


def _targeted(target: GPUTarget, options: dict) -> GPUTarget:
    return GPUTarget(target.backend, str(options["arch"]), target.warp_size) if options["arch"] else target


def _request(src, target, options) -> Request:
    request = Request(src, target, options)
    return _with_override(request) if knobs.compilation.override else request


def _compile(request: Request, known=lambda: None, keep=lambda kernel: kernel) -> CompiledKernel:
    """The kernel of a request: from another thread, from the disk, or compiled.

    `known` is asked for it once no other thread can be making it; `keep` gets what was
    made, before another thread may go on, and returns the kernel to use.
    """
    src, options = request.src, request.options
    started, compiled = time.perf_counter(), []

    def compile_now():
        with recorded_lookups() as lookups:
            if is_isolated():
                result = _compile_in_worker(src, options, request.target.name)
            else:
                result = _core.compile_kernel(
                    src.fn,
                    dict(src.runtime_signature),
                    dict(src.constants),
                    dict(src.divisibility),
                    dict(options),
                    request.target.name,
                )
            if options["ir_override"] is not None:
                result = _overridden(result, options, request.target.name)
        compiled.append(time.perf_counter())
        return result, lookups

    with one_thread(request.key) as turn:
        if turn.result is None:
            kernel = known()
            if kernel is not None:
                return kernel
            turn.result = load_or_compile(request, compile_now, refresh=knobs.compilation.always_compile)
        ended = time.perf_counter()
        result = turn.result
        kernel = keep(CompiledKernel(src, CompilationResult(result, options, request.target), request.key))
    # A launch checks the globals that the code has frozen; cached code has some, too.
    for index, name in result["globals"]:
        request.dependencies.functions[index].lookup_global(name)
    listener = knobs.compilation.listener
    if listener is not None:
        _tell(listener, request, kernel, started, compiled[-1] if compiled else None, ended)
    if knobs.compilation.dump_ir:
        _dump_stages(kernel)
    if knobs.compilation.remarks:
        for remark in kernel.remarks:
            print(remark, file=sys.stderr)
    if knobs.compilation.timing:
        total = sum(kernel.step_seconds.values())
        print(f"{kernel.name}: {total * 1e3:.2f} ms", file=sys.stderr)
        for step, seconds in kernel.step_seconds.items():
            print(f"  {seconds * 1e3:8.2f} ms  {step}", file=sys.stderr)
    return kernel


def _tell(listener, request, kernel, started, compiled, ended):
    """Calls `knobs.compilation.listener`; `compiled` is when the compiler ended, None where it did not run."""

    def microseconds(seconds):
        return max(1, round(seconds * 1e6))

    stages = [(step, microseconds(seconds)) for step, seconds in kernel.step_seconds.items()] if compiled else []
    rest = (compiled or ended) - started - sum(duration for _, duration in stages) * 1e-6
    times = knobs.CompileTimes(microseconds(rest), stages, microseconds(ended - compiled) if compiled else 0)
    listener(
        src=request.src,
        metadata={**kernel.metadata._asdict(), "hash": request.key},
        metadata_group={},
        times=times,
        cache_hit=compiled is None,
    )


def _set_from_environment(options):
    """What the environment says of precision and assembler, where the options do not."""
    if knobs.language.fp32_default:
        options.setdefault("default_dot_input_precision", knobs.language.fp32_default)
    if knobs.nvidia.ptxas_options:
        options.setdefault("ptx_options", knobs.nvidia.ptxas_options)
    if knobs.nvidia.disable_ptxas_opt:
        options["ptx_options"] = f"--opt-level=0 {options.get('ptx_options') or ''}".rstrip()


def _options_of_compile(options) -> dict:
    """The options of a compilation without a launch: no launch looks at the arguments, so they may overlap.

    Programs pass on what they have of other families and releases, so unknown ones are left out with a warning.
    """
    given = {k: v for k, v in dict(options or {}).items() if k != "backend_name"}
    for name in [name for name in given if name not in DEFAULTS]:
        del given[name]
        near = nearest_option(name)
        errors.warn("W0716", o=name, help=f"did you mean '{near}'?" if near else "remove it")
    given.setdefault("arguments_may_overlap", True)
    _set_from_environment(given)
    return parse_options(given)


def request_of(src: ASTSource, target=None, options=None) -> Request:
    """The request that `compile` would make; compiles nothing."""
    parsed = _options_of_compile(options)
    return _request(src, _targeted(_as_target(target), parsed), parsed)


def compile(src, target=None, options=None, _env_vars=None) -> CompiledKernel:
    """Compiles an ASTSource, or a file of one stage, for a target; needs no GPU.

    `target` is a GPUTarget or a name such as "sm_90a"; the current device where None.
    Launches of the result do not look at their arguments, so these may overlap unless the
    option `arguments_may_overlap` says False.
    """
    target = _as_target(target)
    parsed = _options_of_compile(options)
    if isinstance(src, ASTSource):
        kernel = _compile(_request(src, _targeted(target, parsed), parsed))
        write_for_other_launchers(kernel)
        return kernel
    source = src if isinstance(src, IRSource) else IRSource(src)
    _core.find_wheel_folders(sys.path)
    result = _core.compile_ir(source.src, source.ext, parsed, target.name, file=source.path)
    digest = hashlib.sha256(f"{compiler_key()}|{source.hash()}|{target.name}".encode()).hexdigest()
    return CompiledKernel(source, CompilationResult(result, parsed, target), digest)


def source_of_specialization(fn, specs) -> ASTSource:
    """The ASTSource of what the launcher found out about its arguments."""
    signature, constexprs, divisibility = {}, {}, {}

    def entry_of(name, spec):
        if spec[0] == "c":
            constexprs[name] = spec[1]
            return "constexpr"
        if spec[0] == "t":
            if spec[2] > 1:
                divisibility[name] = spec[2]
            return spec[1]
        items = [entry_of(f"{name}[{position}]", item) for position, item in enumerate(spec[2])]
        return spec[1](*items) if hasattr(spec[1], "_fields") else tuple(items)

    for name, spec in zip(fn.arg_names, specs):
        entry = entry_of(name, spec)
        if entry != "constexpr":
            signature[name] = entry
    return ASTSource(fn, signature, constexprs, divisibility)


def preload(fn, text) -> CompiledKernel | None:
    """Compiles what `specialization_json` says of a specialisation, for launches on the current device.

    Hooks are called as for a warmup; None where one objects.
    """
    data = json.loads(text)
    if data["name"] != fn.__name__:
        raise RuntimeError(f"Specialization data is for '{data['name']}', not for '{fn.__name__}'")
    device = driver.active.get_current_device() if _core.driver_available() else -1
    constants = specialization_data.constants_from_json(data["constants"])
    src = ASTSource(fn, data["signature"], constants, data["attrs"])
    return _compile_for_device(request_of(src, None, data["options"]), device, warmup=True)


def compile_for_launch(fn, specs, given_options, device, warmup) -> CompiledKernel:
    """The slow path of a launch: compile once per specialisation, load for `device`."""
    options = dict(given_options)
    if fn.debug is not None and "debug" not in options:
        options["debug"] = fn.debug
    if knobs.runtime.debug:
        options["debug"] = True
    options.setdefault("enable_fp_fusion", knobs.language.default_fp_fusion)
    _set_from_environment(options)
    options = parse_options(options)
    target = target_of(driver.active, device if device >= 0 else None)
    request = _request(source_of_specialization(fn, specs), _targeted(target, options), options)
    return _compile_for_device(request, device, warmup)


_circumstances: dict = {}  # what was seen -> its number
_numbers = itertools.count()


def circumstances_of(fn, given_options, device):
    """A number for what, beside arguments and options, decides on the kernel of a warm-up.

    None where files take part, and where nothing is known: a program may have cleared the cache of the device.
    """
    has_files = knobs.compilation.override or not given_options.keys().isdisjoint(_OPTIONS_OF_FILES)
    if has_files or knobs.compilation.always_compile or not (fn.device_caches.get(device) or [None])[0]:
        return None
    _core.find_wheel_folders(sys.path)
    seen = (
        target_of(driver.active, device if device >= 0 else None),
        _core.toolchain_identity(),
        knobs.runtime.debug,
        knobs.nvidia.ptxas_options,
        knobs.nvidia.disable_ptxas_opt,
        *knob_fields().items(),
    )
    # setdefault, for threads; the numbers that it does not take are lost.
    return _circumstances.setdefault(seen, next(_numbers))


def _compile_for_device(request, device, warmup):
    """The kernel of a request in the cache of `device`, with the hooks called as for a launch; None if one objects."""
    fn, key = request.src.fn, request.key
    # setdefault, not the dict's own default: of two threads here one would fill a cache that is not kept.
    kernels = fn.device_caches.setdefault(device, fn.device_caches.default_factory())[0]
    kernel = kernels.get(key)
    if kernel is None or knobs.compilation.always_compile:
        if device >= 0 and not warmup:
            _core.check_not_capturing(device, fn.__name__)
        if knobs.runtime.jit_cache_hook and specialization_data.call_hook("jit_cache_hook", request, device, warmup):
            return None

        def known():
            # One device's kernel serves another of the same target. A copy: another thread
            # may launch on a new device.
            caches = () if knobs.compilation.always_compile else list(fn.device_caches.values())
            return next((cache[0][key] for cache in caches if key in cache[0]), None)

        kernel = known()
        if kernel is None:
            started = time.perf_counter()
            kernel = _compile(request, known, lambda made: kernels.setdefault(key, made))
            if recompiles.is_on():
                recompiles.note_specialization(request, time.perf_counter() - started, bool(kernel.step_seconds))
            write_for_other_launchers(kernel)
        # Another thread may have been faster; one kernel object serves all.
        kernel = kernels.setdefault(key, kernel)
        if knobs.runtime.jit_post_compile_hook:
            specialization_data.call_hook("jit_post_compile_hook", request, device, warmup)
    return kernel
