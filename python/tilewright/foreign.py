# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that programs for other releases, other GPUs or other languages use, and what to use here.

One table for each place where such a name can stand. All of them end in E0125, but variables of
the environment in a warning (W0715).
"""

from __future__ import annotations

from . import errors

_OLD = "a release of Triton before 2.1"
_EXPERIMENTAL = "an experiment of Triton 3.0 to 3.3"
_AMD = "AMD GPUs"
_OTHER_WARPS = "another fork's warp specialisation"

#: Attributes of `tilewright.language`: whose they are, and what to use.
NAMES = {
    "_experimental_reinterpret_tensor_descriptor": (_EXPERIMENTAL, "use tl.make_tensor_descriptor"),
    "async_dot": (_OTHER_WARPS, "use tl.dot: products run asynchronously where that pays"),
    "async_task": (_OTHER_WARPS, "use tl.range(..., warp_specialize=True), or plain code"),
    "buffer_load": (_AMD, "use tl.load"),
    "buffer_store": (_AMD, "use tl.store"),
    "printf": (_OLD, "use tl.device_print"),
    "tcgen05_mma": ("Blackwell GPUs", "use tl.dot"),
}

#: Keyword arguments of functions of the language.
KEYWORDS = {
    ("dot", "trans_a"): (_OLD, "transpose the operand: tl.dot(tl.trans(a), b)"),
    ("dot", "trans_b"): (_OLD, "transpose the operand: tl.dot(a, tl.trans(b))"),
    ("load", "is_volatile"): (_OLD, "use volatile="),
    ("load", "cache"): (_OLD, "use cache_modifier="),
    ("store", "cache"): (_OLD, "use cache_modifier="),
}

#: Options of launches and configurations.
OPTIONS = {
    "waves_per_eu": (_AMD, "leave it out on NVIDIA GPUs; maxnreg= limits the registers"),
    "matrix_instr_nonkdim": (_AMD, "leave it out on NVIDIA GPUs"),
    "kpack": (_AMD, "leave it out on NVIDIA GPUs"),
    "schedule_hint": (_AMD, "leave it out on NVIDIA GPUs"),
    "instruction_sched_variant": (_AMD, "leave it out on NVIDIA GPUs"),
    "num_consumer_groups": (_OTHER_WARPS, "leave it out: num_warps is all that is needed"),
    "num_buffers_warp_spec": (_OTHER_WARPS, "use num_stages"),
    "reg_dec_producer": (_OTHER_WARPS, "leave it out"),
    "reg_inc_consumer": (_OTHER_WARPS, "leave it out"),
    "enable_warp_specialization": (_OTHER_WARPS, "use tl.range(..., warp_specialize=True)"),
    "enable_persistent": (_OTHER_WARPS, "loop over tiles in the kernel"),
}

_CHECKS = "'tilewright check' finds accesses out of bounds and races, and compute-sanitizer runs on the kernels"
_PASSES = "TILEWRIGHT_DUMP=all prints the IR after each pass"

#: Variables of the environment that Triton reads (and a knob without one), and what to use.
VARIABLES = {
    "LLVM_EXTRACT_DI_LOCAL_VARIABLES": "there are line tables, and no variables in debug information",
    "LLVM_IR_ENABLE_DUMP": _PASSES,
    "MLIR_ENABLE_DIAGNOSTICS": "messages are whole as they are",
    "MLIR_ENABLE_DUMP": _PASSES,
    "TRITON_ENABLE_ASAN": _CHECKS,
    "TRITON_FPSAN_HOMOMORPHIC_CASTS": _CHECKS,
    "TRITON_FRONT_END_DEBUGGING": "messages are whole as they are",
    "TRITON_INSTRUMENTATION_MODE": _CHECKS,
    "TRITON_LLVM_DEBUG_ONLY": _PASSES,
    "TRITON_MOCK_PTX_VERSION": "the option ptx_version= of a launch says the version",
    "TRITON_REPRODUCER_PATH": "TILEWRIGHT_REPRODUCER_DIR is the folder of reproducers",
    "USE_IR_LOC": "line tables name the lines of the Python source",
    "add_stages_inspection_hook": "the stages are no Python functions; the option ir_override= takes a file instead of one",
}

#: Modules below the package, and what is in them.
MODULES = {
    "experimental": ("Gluon", "write the kernel in tilewright.language, which chooses layouts itself"),
    "language.extra.intel": ("Intel GPUs", "use tilewright.language.extra.cuda or extra.libdevice"),
    "language.extra.tlx": ("another fork", "use tilewright.language"),
    "tools.experimental_descriptor": (_EXPERIMENTAL, "use tilewright.tools.tensor_descriptor.TensorDescriptor"),
}


def error(what, owner, alternative):
    """E0125 for a name of `owner`."""
    return errors.make("E0125", name=what, owner=owner, alternative=alternative)


class ForeignModule(errors.TilewrightError, ModuleNotFoundError):
    """E0125 for a module: programs that try an import go on where it is not there."""


def module_error(name):
    """The E0125 of a module below the package, or None."""
    if name not in MODULES:
        return None
    found = error(name, *MODULES[name])
    problem = ForeignModule(str(found))
    problem.code, problem.message, problem.help = found.code, found.message, found.help
    return problem


def check_attribute(module, name):
    """What a module's __getattr__ does with a name that it lacks: E0125, or Python's AttributeError."""
    if name in NAMES:
        raise error(f"tl.{name}", *NAMES[name])
    raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'", name=name, obj=module)
