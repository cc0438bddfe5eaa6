# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling one specialisation and the object that holds the result.

`compile_for_launch` serves the launcher, `compile` serves users and tools. Both end
in one native call, `_core.compile_kernel`, which returns every stage as text or
bytes; loading into a device happens at the first launch.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import threading
import time
from collections import namedtuple
from typing import Optional

from .. import _core, errors, knobs
from ..backends.compiler import GPUTarget
from ..runtime.driver import driver, target_of
from ..runtime.jit import _short_types, recorded_lookups
from ..runtime.source import text_from_def
from .disk_cache import PackedText, Request, load_or_compile, one_thread
from .machine_code_files import write_for_other_launchers
from .options import parse_options

# Under these names programs find them here, too.
from ..backends.compiler import BaseBackend, Language  # noqa: F401, E402
from ..errors import OutOfResources  # noqa: F401, E402
from ..runtime.cache import get_cache_key, get_cache_manager, get_dump_manager, get_override_manager  # noqa: F401, E402

__all__ = ["ASTSource", "CompiledKernel", "IRSource", "LazyDict", "compile", "compiler_key", "triton_key"]

# ---------------------------------------------------------------------------
# Sources
# ---------------------------------------------------------------------------


@functools.lru_cache(1024)
def _plain_type(text: str) -> str:
    """A type string under the one name that the compiler knows: u1 and bool are i1."""
    text = str(text).strip()
    star = "*k" if text.startswith("*k") else "*" if text.startswith("*") else ""
    base = text[len(star):]
    if base.startswith("tensordesc<"):
        return base.replace(" ", "")
    return star + ("i1" if base == "u1" else _short_types.get(base, base))


def _map_types(entry, function):
    """A signature entry with `function` applied to its types; a tuple keeps its class."""
    if isinstance(entry, (tuple, list)):
        items = [_map_types(item, function) for item in entry]
        return type(entry)(*items) if hasattr(entry, "_fields") else tuple(items)
    return function(entry)


class ASTSource:
    """A function with the types and constants of one specialisation.

    `signature` maps parameters to type strings ("constexpr" is allowed) or tuples of
    them, `constexprs` maps names, positions or paths of positions to values, `attrs`
    maps the same keys to the divisibility, or to Triton's [["tt.divisibility", 16]].
    An element of a tuple is named "t[0]", as Triton's path (position of t, 0).
    """

    ext = "ttir"

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.name = fn.__name__
        self.constants = {k if type(k) is str else self._name_of(k): v for k, v in (constexprs or {}).items()}
        self.signature = {k if type(k) is str else self._name_of(k): v for k, v in dict(signature).items()}
        self.attrs = dict(attrs or {})
        # Python orders arguments by the declaration, never by the dict given.
        self.runtime_signature = {
            p: _map_types(self.signature[p], _plain_type) for p in fn.arg_names
            if p in self.signature and p not in self.constants and self.signature[p] != "constexpr"
        }
        self.divisibility = {}
        for key, value in self.attrs.items():
            number = value if type(value) is int else self._divisibility_of(value)
            name = key if type(key) is str else self._name_of(key)
            if number > 1 and name.split("[")[0] in self.runtime_signature:
                self.divisibility[name] = number
        self._check()

    @property
    def constexprs(self):
        return self.constants

    def _name_of(self, key):
        if isinstance(key, tuple):
            return self._name_of(key[0]) + "".join(f"[{position}]" for position in key[1:])
        return self.fn.arg_names[key] if isinstance(key, int) else key

    @staticmethod
    def _divisibility_of(value) -> int:
        if isinstance(value, int):
            return value
        return next((int(entry[1]) for entry in value if entry[0] == "tt.divisibility"), 1)

    def _check(self):
        names = self.fn.arg_names
        for name in (*self.signature, *self.constants):
            if name not in names and name.split("[")[0] not in names:
                raise errors.make("E0205", problem="unexpected", a=name, sig=self._text())
        for param in self.fn.params:
            if param.name in self.constants or param.name in self.runtime_signature:
                continue
            if not param.has_default:
                raise errors.make("E0205", problem="missing", a=param.name, sig=self._text())
            self.constants[param.name] = param.default
        for param in self.fn.params:
            if param.is_constexpr and (param.do_not_specialize or param.do_not_specialize_on_alignment):
                raise errors.make("E0117", message=f"{param.name} marked as constexpr and listed in do_not_specialize: "
                                  "every value of a constexpr is a specialisation",
                                  help="drop one of the two")

    def _text(self) -> str:
        return f"{self.fn.__name__}({', '.join(self.fn.arg_names)})"

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """A module from which others can tell which arguments are written and read."""
        from .argument_access import module_of

        return module_of(self, target)

    def hash(self) -> str:
        from ..runtime.dependencies import encode_value

        constants = {k: encode_value(v) for k, v in sorted(self.constants.items())}
        text = f"{self.fn.cache_key}|{self.runtime_signature}|{constants}|{sorted(self.divisibility.items())}"
        return hashlib.sha256(text.encode()).hexdigest()


class IRSource:
    """A file with one stage's text, which is compiled from there on."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.ext = os.path.splitext(self.path)[1].lstrip(".")
        with open(self.path) as file:
            self.src = file.read()
        self.name = os.path.basename(self.path).split(".")[0]

    def hash(self) -> str:
        return hashlib.sha256(f"{self.ext}|{self.src}".encode()).hexdigest()


def compiler_key() -> str:
    """Identity of this compiler build, part of every key."""
    from .. import __version__

    return f"tilewright-{__version__}-{_core.build_id()}"


# Triton's name; libraries hash it into keys of their own.
triton_key = compiler_key


def max_shared_mem(device) -> int:
    """Bytes of shared memory that one block may have on a device."""
    return _core.device_properties(device)["max_shared_mem"]


def make_backend(target):
    from ..backends.nvidia.compiler import CUDABackend

    return CUDABackend(target)


# ---------------------------------------------------------------------------
# The compiled kernel
# ---------------------------------------------------------------------------


class LazyDict(dict):
    """A dict whose launch metadata is added when somebody reads it."""

    def __init__(self, data):
        super().__init__(data)
        self.data = self
        self.extras = []

    def get(self, *args):
        if not args:
            for function, arguments in self.extras:
                self.update(function(*arguments))
            self.extras.clear()
            return self
        return super().get(*args)

    def add(self, function, args):
        self.extras.append((function, args))


class _LaterText:
    """A text that is made when somebody reads it: a first launch does not."""

    def __init__(self, make):
        self.text = make


class AsmDict(dict):
    """Stages by name. Those of a cached kernel are unpacked, and `sass` is
    disassembled, when first read."""

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if isinstance(value, (PackedText, _LaterText)):
            value = self[key] = value.text()
        return value

    def get(self, key, default=None):
        return self[key] if key in self else default

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]

    def __missing__(self, key):
        if key != "sass":
            raise KeyError(key)
        from ..tools.disasm import get_sass

        cubin = self.get("cubin")
        if cubin is None:
            raise KeyError("sass (no assembler library was found, so there is no cubin)")
        self["sass"] = text = get_sass(cubin)
        return text


_MetadataFields = namedtuple("KernelMetadata", [
    "name", "target", "num_warps", "num_ctas", "num_stages", "shared", "global_scratch_size", "global_scratch_align",
    "profile_scratch_size", "profile_scratch_align", "tmem_size", "cluster_dims", "launch_pdl",
    "launch_cooperative_grid", "maxnreg", "debug", "written_args", "read_args", "needs_distinct_arguments", "tensor_maps",
    "host_tensor_maps", "n_regs", "n_spills", "assembler", "warp_size", "hash"])


class KernelMetadata(_MetadataFields):
    """What is known of a compiled kernel; under Triton's names where it has one."""

    __slots__ = ()

    @property
    def arch(self) -> str:
        return f"sm{self.target.arch}"

    @property
    def backend_name(self) -> str:
        return self.target.backend

    @property
    def triton_version(self) -> str:
        from ..triton_alias import TRITON_VERSION

        return TRITON_VERSION


def _make_metadata(result, options, target, digest) -> KernelMetadata:
    given = dict(result.get("metadata") or {})
    values = {
        "name": result.get("name"), "target": target, "num_warps": options["num_warps"] or 4,
        "num_ctas": options["num_ctas"], "num_stages": options["num_stages"], "shared": 0, "global_scratch_size": 0,
        "global_scratch_align": 16, "profile_scratch_size": 0, "profile_scratch_align": 1, "tmem_size": 0,
        "cluster_dims": (options["num_ctas"], 1, 1), "launch_pdl": bool(options["launch_pdl"]),
        "launch_cooperative_grid": bool(options["launch_cooperative_grid"]), "maxnreg": options["maxnreg"],
        "debug": bool(options["debug"]), "written_args": None, "read_args": None, "needs_distinct_arguments": False, "tensor_maps": (),
        "host_tensor_maps": (), "n_regs": None, "n_spills": None, "assembler": None,
        "warp_size": target.warp_size, "hash": digest,
    }
    # The target stays an object; the compiler reports its name.
    values.update({k: v for k, v in given.items() if k in values and k != "target"})
    return KernelMetadata(**values)


def _name_by_repr(src) -> str:
    """What the `repr` of `@jit` calls a specialisation; empty where nothing was given, or what was given fails."""
    fn = getattr(src, "fn", None)
    if getattr(fn, "_repr", None) is None:
        return ""
    # Triton's proxy: constants have the type "constexpr".
    signature = {name: src.runtime_signature.get(name, "constexpr") for name in fn.arg_names}
    try:
        return str(fn.repr(_SpecializationProxy(dict(src.constants), signature)))
    except Exception:  # the user's function, for a name only
        return ""


_SpecializationProxy = namedtuple("SpecializationProxy", ["constants", "signature"])


def _metadata_json(metadata) -> str:
    values = metadata._asdict()
    values["target"] = {"backend": "cuda", "arch": values["target"].arch, "warp_size": values["target"].warp_size}
    return json.dumps(values, default=str)


class CompilationResult(dict):
    """What the compiler has made, by name, with the options and the target that it was made for."""

    def __init__(self, result, options, target):
        super().__init__(result)
        self.options, self.target = options, target


class CompiledKernel:
    """One specialisation: every stage, its resources, and a function per device.

    `kernel[grid](*args)` launches it without looking at argument types: pass what
    the kernel was compiled for, with or without the constexpr arguments.
    """

    # Libraries copy the `__dict__` and send it to other processes: what belongs to this
    # one is in slots.
    __slots__ = ("__dict__", "__weakref__", "_loaded", "_load_lock")

    def __new__(cls, *args, **kwargs):
        kernel = super().__new__(cls)
        kernel._loaded, kernel._load_lock = {}, threading.Lock()
        return kernel

    def __getstate__(self):
        return dict(self.__dict__)

    def __setstate__(self, state):
        self.__dict__.update(state)

    # The parameters are Triton's: libraries put a function of their own in place of this one.
    def __init__(self, src, metadata_group, hash):
        self.src = src
        self.hash = hash
        result = metadata_group
        self.metadata = _make_metadata(result, result.options, result.target, hash)
        self.name = _name_by_repr(src) or self.metadata.name or src.name
        self.remarks = list(result.get("remarks") or ())
        # Seconds of each stage and pass of the compilation.
        self.step_seconds = dict(result.get("step_seconds") or {})
        self.asm = AsmDict()
        source = getattr(src, "fn", None)
        if source is not None:
            # The text as it is now: `_unsafe_update_src` may change the function's.
            text = source._source.text
            self.asm["source"] = _LaterText(lambda: text_from_def(text, source.__name__))
        for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            if result.get(stage) is not None:
                self.asm[stage] = result[stage]
        metadata = self.metadata  # not the kernel: it goes with its last reference
        self.asm["json"] = _LaterText(lambda: _metadata_json(metadata))
        spilled = self.metadata.n_spills
        self._n_regs, self._n_spills = self.metadata.n_regs, None if spilled is None else spilled // 4
        self._n_max_threads = None
        self.signature = dict(getattr(src, "runtime_signature", {}))
        self.constants = dict(getattr(src, "constants", {}))
        self.divisibility = dict(getattr(src, "divisibility", {}))

    @property
    def shared(self) -> int:
        """Bytes of shared memory of one block."""
        return self.metadata.shared

    # -- loading ------------------------------------------------------------

    def load(self, device: Optional[int] = None):
        """Loads the kernel into a device and returns the native handle; idempotent."""
        if device is None:
            device = _core.current_device()
        loaded = self._loaded.get(device)
        if loaded is not None:
            return loaded
        with self._load_lock:  # threads that launch first at once load it once
            return self._loaded.get(device) or self._load(device)

    def _packed_type(self, name, entry):
        """A type as launches of this very kernel take it: ":16" behind a descriptor's that must keep it."""
        if isinstance(entry, (tuple, list)):
            return tuple(self._packed_type(f"{name}[{position}]", item) for position, item in enumerate(entry))
        if entry.startswith("tensordesc<") and self.divisibility.get(name, 1) % 16 == 0:
            return entry + ":16"
        return None if entry == "constexpr" else entry

    def _load(self, device):
        _core.check_not_capturing(device, self.name)
        image = self.asm.get("cubin")
        starting, ending = knobs.runtime.kernel_load_start_hook, knobs.runtime.kernel_load_end_hook
        if starting:
            starting(None, None, self.name, self.metadata._asdict(), self.hash)
        meta = self.metadata
        loaded = _core.load_kernel(
            device, image if image is not None else self.asm["ptx"].encode(), self.metadata.name or self.name,
            [self._packed_type(name, entry) for name, entry in self.signature.items()],
            meta.num_warps * meta.warp_size, meta.shared, meta.num_ctas, bool(meta.launch_cooperative_grid),
            bool(meta.launch_pdl), meta.global_scratch_size, meta.global_scratch_align, meta.maxnreg or 0,
            list(meta.tensor_maps), list(meta.host_tensor_maps))
        self._loaded[device] = loaded
        self._n_regs = loaded.n_regs
        self._n_spills = loaded.n_spills if self._n_spills is None else self._n_spills
        self._n_max_threads = loaded.n_max_threads
        if ending:
            ending(loaded.module, loaded.function, self.name, self.metadata._asdict(), self.hash)
        return loaded

    def _init_handles(self):
        # torch puts None there in kernels that it sends, and expects this to mend it.
        self.__dict__.pop("run", None)
        return self.load()

    @property
    def kernel(self):
        """The machine code; None where nothing assembled it."""
        return self.asm.get("cubin")

    @property
    def n_regs(self):
        """Registers per thread, from the assembler's report or the loaded function."""
        return self._n_regs if self._n_regs is not None else self.load().n_regs

    @property
    def n_spills(self):
        """Spills per thread in words of 4 bytes; `metadata.n_spills` is in bytes."""
        return self._n_spills if self._n_spills is not None else self.load().n_spills

    @property
    def n_max_threads(self):
        return self._n_max_threads if self._n_max_threads is not None else self.load().n_max_threads

    @property
    def module(self):
        return self.load().module

    @property
    def function(self):
        return self.load().function

    # -- launching ----------------------------------------------------------

    def _runtime_arguments(self, args):
        """`args` without the constants: all parameters, those not declared constexpr, or the run-time ones."""
        names = list(self.signature)
        if len(args) == len(names):
            return args
        params = self.src.fn.params if hasattr(self.src, "fn") else ()
        for given in ([p.name for p in params], [p.name for p in params if not p.is_constexpr]):
            if len(args) == len(given):
                return tuple(a for name, a in zip(given, args) if name in self.signature)
        raise errors.make("E0205", problem="missing" if len(args) < len(names) else "unexpected",
                          a=names[len(args)] if len(args) < len(names) else f"#{len(args)}",
                          sig=f"{self.name}({', '.join(names)})")

    def __getitem__(self, grid):

        def runner(*args, stream=None):
            device = _core.current_device()
            if stream is None:
                stream = _core.current_stream(device)
            entering, leaving = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
            metadata = self.launch_metadata(grid, stream, *args) if entering or leaving else None
            if entering:
                entering(metadata)
            _core.launch_loaded(self.load(device), _grid3(grid), stream, self._runtime_arguments(args))
            if leaving:
                leaving(metadata)

        return runner

    def run(self, grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook,
            *args):
        """Triton's low-level entry; the handles are our own, so they are not needed."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        _core.launch_loaded(self.load(), (grid_0, grid_1, grid_2), stream, self._runtime_arguments(args))
        if exit_hook is not None:
            exit_hook(launch_metadata)

    @property
    def packed_metadata(self):
        meta = self.metadata
        return (meta.num_warps, meta.num_ctas, meta.shared)

    def launch_metadata(self, grid, stream, *args):
        """What profilers are told about a launch."""
        data = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        function = getattr(getattr(self.src, "fn", None), "launch_metadata", None)
        if function is not None:
            named = dict(zip(self.src.fn.arg_names, args))
            data.add(function, (grid, self.metadata, named))
        return data

    def __repr__(self):
        return f"CompiledKernel({self.name!r}, {self.metadata.target.name}, num_warps={self.metadata.num_warps})"


def _grid3(grid):
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid, )
    return grid + (1, ) * (3 - len(grid))


# ---------------------------------------------------------------------------
# Compiling
# ---------------------------------------------------------------------------


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


def _compile(request: Request, known=lambda: None, keep=lambda kernel: kernel) -> CompiledKernel:
    """The kernel of a request: from another thread, from the disk, or compiled.

    `known` is asked for it once no other thread can be making it; `keep` gets what was
    made, before another thread may go on, and returns the kernel to use.
    """
    src, options = request.src, request.options
    started, compiled = time.perf_counter(), []

    def compile_now():
        with recorded_lookups() as lookups:
            result = _core.compile_kernel(src.fn, dict(src.runtime_signature), dict(src.constants),
                                          dict(src.divisibility), dict(options), request.target.name)
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
    listener(src=request.src, metadata={**kernel.metadata._asdict(), "hash": request.key}, metadata_group={},
             times=times, cache_hit=compiled is None)


def _set_default_precision(options):
    """The environment's precision of dot on fp32, where the options name none."""
    if knobs.language.fp32_default:
        options.setdefault("default_dot_input_precision", knobs.language.fp32_default)


def _options_of_compile(options) -> dict:
    """The options of a compilation without a launch: nobody looks at the arguments, which may then overlap."""
    given = {k: v for k, v in dict(options or {}).items() if k != "backend_name"}
    given.setdefault("arguments_may_overlap", True)
    _set_default_precision(given)
    return parse_options(given)


def request_of(src: ASTSource, target=None, options=None) -> Request:
    """The request that `compile` would make; compiles nothing."""
    parsed = _options_of_compile(options)
    return Request(src, _targeted(_as_target(target), parsed), parsed)


def compile(src, target=None, options=None, _env_vars=None) -> CompiledKernel:
    """Compiles an ASTSource, or a file of one stage, for a target; needs no GPU.

    `target` is a GPUTarget or a name such as "sm_90a"; the current device where None.
    Nobody looks at the arguments of what comes of it, so they may overlap unless the
    option `arguments_may_overlap` says False.
    """
    target = _as_target(target)
    parsed = _options_of_compile(options)
    if isinstance(src, ASTSource):
        kernel = _compile(Request(src, _targeted(target, parsed), parsed))
        write_for_other_launchers(kernel)
        return kernel
    source = src if isinstance(src, IRSource) else IRSource(src)
    _core.find_wheel_folders(sys.path)
    result = _core.compile_ir(source.src, source.ext, parsed, target.name)
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


def _call_hook(name, request, device, warmup):
    from .specialization_data import call_hook  # few programs have a hook

    return call_hook(name, request, device, warmup)


def compile_for_launch(fn, specs, given_options, device, warmup) -> CompiledKernel:
    """The slow path of a launch: compile once per specialisation, load for `device`."""
    options = dict(given_options)
    if fn.debug is not None and "debug" not in options:
        options["debug"] = fn.debug
    if knobs.runtime.debug:
        options["debug"] = True
    options.setdefault("enable_fp_fusion", knobs.language.default_fp_fusion)
    _set_default_precision(options)
    options = parse_options(options)
    target = target_of(driver.active, device if device >= 0 else None)
    src = source_of_specialization(fn, specs)
    request = Request(src, _targeted(target, options), options)
    key = request.key
    # Not by the default: of two threads that meet here one would fill a cache nobody keeps.
    kernels = fn.device_caches.setdefault(device, fn.device_caches.default_factory())[0]
    kernel = kernels.get(key)
    if kernel is None or knobs.compilation.always_compile:
        if device >= 0 and not warmup:
            _core.check_not_capturing(device, fn.__name__)
        if knobs.runtime.jit_cache_hook and _call_hook("jit_cache_hook", request, device, warmup):
            return None

        def known():
            # One device's kernel serves another of the same target. A copy: another thread
            # may launch on a new device.
            caches = () if knobs.compilation.always_compile else list(fn.device_caches.values())
            return next((cache[0][key] for cache in caches if key in cache[0]), None)

        kernel = known()
        if kernel is None:
            kernel = _compile(request, known, lambda made: kernels.setdefault(key, made))
        # Another thread may have been faster; one kernel object serves all.
        kernel = kernels.setdefault(key, kernel)
        if knobs.runtime.jit_post_compile_hook:
            _call_hook("jit_post_compile_hook", request, device, warmup)
    return kernel
