# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled kernel: its stages, its resources, a function per device, and launches that look at no types."""

from __future__ import annotations

import json
import threading
import weakref
from collections import namedtuple
from typing import Optional

from .. import _core, errors, knobs
from .._version import TRITON_VERSION
from ..runtime.source import text_from_def
from ..tools.disasm import get_sass
from .disk_cache import PackedText


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
        cubin = self.get("cubin")
        if cubin is None:
            raise KeyError("sass (no assembler library was found, so there is no cubin)")
        self["sass"] = text = get_sass(cubin)
        return text


_MetadataFields = namedtuple(
    "KernelMetadata",
    [
        "name",
        "target",
        "num_warps",
        "num_ctas",
        "num_stages",
        "shared",
        "global_scratch_size",
        "global_scratch_align",
        "profile_scratch_size",
        "profile_scratch_align",
        "tmem_size",
        "cluster_dims",
        "launch_pdl",
        "launch_cooperative_grid",
        "maxnreg",
        "debug",
        "written_args",
        "read_args",
        "needs_distinct_arguments",
        "tensor_maps",
        "host_tensor_maps",
        "work",
        "n_regs",
        "n_spills",
        "assembler",
        "warp_size",
        "hash",
    ],
)


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
        return TRITON_VERSION


def _make_metadata(result, options, target, digest) -> KernelMetadata:
    given = dict(result.get("metadata") or {})
    values = {
        "name": result.get("name"),
        "target": target,
        "num_warps": options["num_warps"] or 4,
        "num_ctas": options["num_ctas"],
        "num_stages": options["num_stages"],
        "shared": 0,
        "global_scratch_size": 0,
        "global_scratch_align": 16,
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tmem_size": 0,
        "cluster_dims": (options["num_ctas"], 1, 1),
        "launch_pdl": bool(options["launch_pdl"]),
        "launch_cooperative_grid": bool(options["launch_cooperative_grid"]),
        "maxnreg": options["maxnreg"],
        "debug": bool(options["debug"]),
        "written_args": None,
        "read_args": None,
        "needs_distinct_arguments": False,
        "tensor_maps": (),
        "host_tensor_maps": (),
        "work": None,
        "n_regs": None,
        "n_spills": None,
        "assembler": None,
        "warp_size": target.warp_size,
        "hash": digest,
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
        """A type as launches of this very kernel take it: ":16" after a descriptor's that must keep it."""
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
            device,
            image if image is not None else self.asm["ptx"].encode(),
            self.metadata.name or self.name,
            [self._packed_type(name, entry) for name, entry in self.signature.items()],
            meta.num_warps * meta.warp_size,
            meta.shared,
            meta.num_ctas,
            bool(meta.launch_cooperative_grid),
            bool(meta.launch_pdl),
            meta.global_scratch_size,
            meta.global_scratch_align,
            meta.maxnreg or 0,
            list(meta.tensor_maps),
            list(meta.host_tensor_maps),
        )
        loaded.owner = weakref.ref(self)
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
        raise errors.make(
            "E0205",
            problem="missing" if len(args) < len(names) else "unexpected",
            a=names[len(args)] if len(args) < len(names) else f"#{len(args)}",
            sig=f"{self.name}({', '.join(names)})",
        )

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

    def run(self, grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
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
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    return grid + (1,) * (3 - len(grid))
