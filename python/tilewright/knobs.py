# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Switches: `knobs.<group>.<name>`, mirrored from one native table.

Reading a knob reads the environment (TILEWRIGHT_X, then Triton's name, then the
default). Setting one writes the environment. `with knobs.runtime.scope(): ...`
puts all knobs of a group back at the end; `del knobs.runtime.debug` goes back to what the
environment said before, and None unsets one.

Groups also hold Python-only values, such as hooks, which have no variable, and the
knobs of Triton that mean nothing here: they can be read, set and exported, so that
programs which pass them on go on working.
"""

from __future__ import annotations

import os
from typing import Callable, NamedTuple

from . import _core, errors, foreign, knob_types
from .knob_types import (  # noqa: F401 - programs find Triton's names here
    Env,
    HookChain,
    NvidiaTool,
    base_knobs,
    env,
    env_base,
    env_bool,
    env_class,
    env_int,
    env_nvidia_tool,
    env_opt_bool,
    env_opt_str,
    env_str,
    env_str_callable_default,
    getenv,
    getenv_bool,
    native_knob,
    setenv,
    toenv,
)

# What hooks and listeners are called with stands in docs/launch.md and docs/autotuner.md.
LaunchHook = InitHandleHook = JITHook = CompilationListener = AutotuneListener = PipelineStagesHook = BuildImpl = Callable
JITHookCompileInfo = dict

# Whether what is set in Python is exported; knobs of Tilewright itself always are.
propagate_env: bool = True
knob_types.is_exported[0] = lambda: propagate_env

_entries = [native_knob(index, row) for index, row in enumerate(_core.knob_table())]


class _LiveKnobs(base_knobs):
    """A group whose changes the launcher hears of."""

    def _changed(self):
        _knobs_changed()


def _group(name, **members):
    """The class of one group: Tilewright's knobs of that name, and more members."""
    native = {entry.attribute: entry for entry in _entries if entry.group == name}
    made = type(
        f"{name}_knobs", (_LiveKnobs,), {"__module__": __name__, "__doc__": f"The group `{name}`.", **members, **native}
    )
    for attribute, entry in native.items():
        entry.name = attribute
    return made


class CompileTimes(NamedTuple):
    """How long one compilation took, in microseconds; `compilation.listener` gets it."""

    ir_initialization: int
    lowering_stages: list
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(duration for _, duration in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results


def _triton_dir(self, dirname):
    """A folder below Triton's home, where the dumps of its compiler would lie."""
    return os.path.join(self.home_dir, ".triton", dirname)


class _CacheDirectory(native_knob):
    """The folder of compiled kernels, which has a name also where it was not set."""

    def __get__(self, group, owner=None):
        if group is None:
            return self
        named = configured("CACHE_DIR")
        if named:
            return os.path.abspath(os.path.expanduser(named))
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser("~"), ".cache")
        return os.path.join(base, "tilewright")


_backend_dirs = property(
    lambda self: {p for p in (self.cudacrt_path, self.cudart_path) if p is not None},
    doc="Folders of CUDA headers that the environment names.",
)

build_knobs = _group(
    "build",
    impl=None,
    cc=env_opt_str("CC"),
    cudacrt_path=env_opt_str("TRITON_CUDACRT_PATH"),
    cudart_path=env_opt_str("TRITON_CUDART_PATH"),
    backend_dirs=_backend_dirs,
)
redis_knobs = _group(
    "redis",
    host=env_str("TRITON_REDIS_HOST", "localhost"),
    port=env_int("TRITON_REDIS_PORT", 6379),
    key_format=env_str("TRITON_REDIS_KEY_FORMAT", "tilewright:{key}:{filename}"),
)
cache_knobs = _group(
    "cache",
    home_dir=env_str("TRITON_HOME", os.path.expanduser("~/")),
    dump_dir=env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump")),
    override_dir=env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override")),
    manager_class=env_class("TRITON_CACHE_MANAGER", "CacheManager"),
    remote_manager_class=env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend"),
    get_triton_dir=_triton_dir,
)
cache_knobs.dir.__class__ = _CacheDirectory
compilation_knobs = _group(
    "compilation",
    listener=None,
    dump_ir_extract_di_local_variables=env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES"),
    use_ir_loc=env_opt_str("USE_IR_LOC"),
    enable_asan=env_bool("TRITON_ENABLE_ASAN"),
    front_end_debugging=env_bool("TRITON_FRONT_END_DEBUGGING"),
    instrumentation_mode=env_str("TRITON_INSTRUMENTATION_MODE", ""),
    fpsan_homomorphic_casts=env_bool("TRITON_FPSAN_HOMOMORPHIC_CASTS"),
    enable_experimental_consan=False,
)
autotuning_knobs = _group("autotuning", cache=env_bool("TRITON_CACHE_AUTOTUNING"), listener=None)


def _fp_fusion_enabled(self, requested=None):
    """Whether a * b + c may become fma, for a launch that asks for `requested`."""
    return not self.force_disable_fp_fusion and (self.default_fp_fusion if requested is None else bool(requested))


language_knobs = _group(
    "language", force_disable_fp_fusion=env_bool("TRITON_FORCE_DISABLE_FP_FUSION"), fp_fusion_enabled=_fp_fusion_enabled
)
development_knobs = _group("development")
nvidia_knobs = _group(
    "nvidia",
    use_meta_ws=False,
    ptxas=env_nvidia_tool("ptxas"),
    ptxas_blackwell=env_nvidia_tool("ptxas-blackwell"),
    mock_ptx_version=env_opt_str("TRITON_MOCK_PTX_VERSION"),
)
# The toolkit's programs are objects with a path and a version, as Triton's are.
for _name in ("cuobjdump", "nvdisasm"):
    setattr(nvidia_knobs, _name, env_nvidia_tool(_name))
    getattr(nvidia_knobs, _name).name = _name
amd_knobs = _group(
    "amd",
    codegen_path=env_opt_str("TRITON_AMD_CODEGEN_PATH"),
    use_buffer_ops=env_bool("AMDGCN_USE_BUFFER_OPS", True),
    use_buffer_atomics=env_bool("AMDGCN_USE_BUFFER_ATOMICS", True),
    buffer_ops_analyze_small_tensor_range=env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE"),
    dump_amdgcn=env_bool("AMDGCN_ENABLE_DUMP"),
    libhip_path=env_opt_str("TRITON_LIBHIP_PATH"),
    use_block_pingpong=env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG"),
    use_in_thread_transpose=env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE"),
    use_async_copy=env_opt_bool("TRITON_HIP_USE_ASYNC_COPY"),
    use_coexec_scheduler=env_opt_bool("TRITON_HIP_USE_COEXEC_SCHEDULER"),
    use_expert_scheduling=env_opt_bool("TRITON_HIP_USE_EXPERT_SCHEDULING"),
    scalarize_packed_fops=env_bool("AMDGCN_SCALARIZE_PACKED_FOPS"),
    dump_mir=env_opt_str("TRITON_DUMP_MIR"),
    swap_mir=env_opt_str("TRITON_SWAP_MIR"),
    swap_mir_enable_misched=env_bool("TRITON_SWAP_MIR_ENABLE_MISCHED"),
)
proton_knobs = _group(
    "proton",
    disable=env_bool("TRITON_PROTON_DISABLE"),
    cupti_lib_dir=env_opt_str("TRITON_CUPTI_LIB_PATH"),
    cupti_lib_blackwell_dir=env_opt_str("TRITON_CUPTI_LIB_BLACKWELL_PATH"),
    profile_buffer_size=env_int("TRITON_PROFILE_BUFFER_SIZE", 64 << 20),
    profile_metric_buffer_size=env_int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 << 20),
    enable_nvtx=env_bool("TRITON_ENABLE_NVTX", True),
    enable_hw_trace=env_bool("TRITON_ENABLE_HW_TRACE"),
)
runtime_knobs = _group(
    "runtime",
    launch_enter_hook=HookChain(on_change=lambda: _knobs_changed()),
    launch_exit_hook=HookChain(reversed=True, on_change=lambda: _knobs_changed()),
    kernel_load_start_hook=HookChain(),
    kernel_load_end_hook=HookChain(reversed=True),
    kernel_unload_hook=HookChain(),
    jit_cache_hook=None,
    jit_post_compile_hook=None,
    add_stages_inspection_hook=None,
)

build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
language = language_knobs()
development = development_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()
runtime = runtime_knobs()


def _knobs_changed():
    """Tells the launcher what a warm launch must look at."""
    hooks = bool(runtime.launch_enter_hook) or bool(runtime.launch_exit_hook)
    _core.set_launch_flags(
        hooks=hooks, sync=bool(runtime.sync), debug=bool(runtime.debug), watchdog=float(runtime.watchdog), tuner_listener=False
    )


_knobs_changed()


def refresh_knobs():
    """Looks at the environment again, for the knobs that launches do not read there."""
    _knobs_changed()


def configured(variable):
    """What the environment says for one of Tilewright's knobs, by its name there: a text or None."""
    return next(entry for entry in _entries if entry.variable == variable).get()


def is_set(variable) -> bool:
    """Whether the environment says anything for one of Tilewright's knobs."""
    return _core.knob_setting(next(entry for entry in _entries if entry.variable == variable).index) is not None


def switches() -> dict:
    """What the environment sets of all knobs: for a process that is to see what this one sees now."""
    return {name: os.environ[name] for entry in _entries for name in entry.variables if name in os.environ}


def table():
    """(variable, type, default, meaning) of every knob, for documents and `doctor`."""
    return [(entry.key, entry.type, entry.default, entry.doc) for entry in _entries]


def check_environment(environment=None):
    """Warns of variables with our prefix that no knob has (W0702), and of Triton's that do nothing here (W0715)."""
    known = {variable for entry in _entries for variable in entry.variables} | {
        variable for tool in ("ptxas", "ptxas_blackwell") for variable in getattr(nvidia_knobs, tool).variables
    }
    for variable in os.environ if environment is None else environment:
        if variable.startswith("TILEWRIGHT_") and variable not in known:
            name = variable[len("TILEWRIGHT_") :]
            errors.warn("W0702", X=name, near=f"TILEWRIGHT_{_core.nearest_knob(name)}")
        elif variable in foreign.VARIABLES and os.environ.get(variable) not in ("", "0"):
            errors.warn("W0715", X=variable, instead=foreign.VARIABLES[variable])


check_environment()
