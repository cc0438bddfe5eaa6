# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile a kernel for a target without a GPU.

From the arguments of a launch to the machine code for a target, through the
public `tilewright.compile`. Equal launches are assembled once per session.
"""

import re

import numpy as np

from tilewright import _core
from tilewright.tools.tensor_descriptor import TensorDescriptor

from harness.element_types import SIGNATURE_NAMES, name_of

# Names that a launch may give beside the kernel's own parameters.
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "sanitize_overflow"}
# Room for one block of threads, in bytes.
SHARED_LIMIT = {name: _core.target_limits(name)["shared"] for name in ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a")}
_done: dict[tuple, object] = {}


def check_resources(compiled, target):
    """The assembler's report: that there is one, and that the kernel can be launched."""
    metadata, limits = compiled.metadata, _core.target_limits(target)
    assert metadata.n_regs is not None and 0 < metadata.n_regs <= limits["registers_per_thread"], f"{metadata.n_regs} registers"
    assert metadata.n_spills is not None, "no word of spills"
    units = -(-metadata.n_regs // 8) * 8 * 32 * metadata.num_warps
    assert units <= limits["registers"], f"{metadata.n_regs} registers in {metadata.num_warps} warps"
    assert metadata.shared <= SHARED_LIMIT[target], f"{metadata.shared} bytes of shared memory"


def signature_type(value) -> str:
    """How a signature writes a host value."""
    if isinstance(value, TensorDescriptor):
        block = ",".join(map(str, value.block_shape))
        padding = ",nan" if value.padding == "nan" else ""
        return f"tensordesc<{SIGNATURE_NAMES[name_of(value.base.dtype)]}[{block}]{padding}>"
    if isinstance(value, np.ndarray):
        return "*" + SIGNATURE_NAMES[name_of(value.dtype)]
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "i64" if value < 2**63 else "u64"
    if isinstance(value, float):
        return "fp32"
    raise TypeError(f"no signature for {type(value).__name__}")


def divisibility_of(value) -> int:
    """Arrays lie anywhere that is a multiple of 16; of descriptors the last extent counts, in bytes."""
    if isinstance(value, TensorDescriptor):
        return 16 if value.shape[-1] * value.base.dtype.itemsize % 16 == 0 else 1
    if isinstance(value, np.ndarray):
        return 16
    return next((number for number in (16, 8) if type(value) is int and value % number == 0), 1)


def _entry(name, value, constants, divisibility):
    """The entry of an element of a tuple, which is always specialised."""
    if isinstance(value, tuple):
        items = [_entry(f"{name}[{i}]", item, constants, divisibility) for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    is_number = type(value) is int
    if value is None or callable(value) or (is_number and value == 1):
        constants[name] = value
        return "constexpr"
    if (number := divisibility_of(value)) > 1:
        divisibility[name] = number
    return signature_type(value)


def bound_arguments(kernel, args, options) -> dict:
    """The value of every parameter of a launch."""
    bound = {parameter.name: parameter.default for parameter in kernel.params if parameter.has_default}
    bound.update(zip(kernel.arg_names, args))
    bound.update({name: value for name, value in options.items() if name not in OPTIONS})
    return bound


def compiles_one_in(parameter) -> bool:
    """Whether a launch compiles a 1 in: the parameter declares an integer type, or none."""
    return not parameter.do_not_specialize and bool(re.fullmatch("([iu](8|16|32|64))?", parameter.annotation_type))


def specialise(kernel, args, options):
    """Signature, constants and divisibility of a launch, as the launcher would find them."""
    bound = bound_arguments(kernel, args, options)
    signature, constants, divisibility = {}, {}, {}
    for parameter in kernel.params:
        value = bound[parameter.name]
        is_number = type(value) is int and not parameter.do_not_specialize
        is_one = is_number and value == 1 and compiles_one_in(parameter)
        if isinstance(value, tuple) and not parameter.is_constexpr:
            signature[parameter.name] = _entry(parameter.name, value, constants, divisibility)
            continue
        if parameter.is_constexpr or value is None or callable(value) or is_one:
            constants[parameter.name] = value
            continue
        signature[parameter.name] = parameter.annotation_type or signature_type(value)
        if (number := divisibility_of(value)) > 1 and (is_number or type(value) is not int):
            divisibility[parameter.name] = number
    return signature, constants, divisibility


def arrays_overlap(args) -> bool:
    """Whether two arrays among the arguments share memory, as a launch would find it."""
    arrays = [value.base if isinstance(value, TensorDescriptor) else value for value in args]
    arrays = [value for value in arrays if isinstance(value, np.ndarray)]
    return any(np.may_share_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def assemble_for(kernel, target, args, options):
    """The compiled kernel for `target` that a launch would run; its cubin is there and not empty."""
    signature, constants, divisibility = specialise(kernel, args, options)
    compile_options = {name: value for name, value in options.items() if name in OPTIONS}
    compiled = _assembled(kernel, target, (signature, constants, divisibility), compile_options)
    if compiled.metadata.needs_distinct_arguments and arrays_overlap(args):
        compile_options["arguments_may_overlap"] = True
        compiled = _assembled(kernel, target, (signature, constants, divisibility), compile_options)
    return compiled


def _assembled(kernel, target, specialised, options):
    import tilewright

    signature, constants, divisibility = specialised
    compile_options = {"arguments_may_overlap": False, **options}
    key = (kernel, target, repr((signature, constants, divisibility, compile_options)))
    if key not in _done:
        source = tilewright.ASTSource(kernel, signature, constants, divisibility)
        compiled = tilewright.compile(source, target, compile_options)
        assert compiled.asm["cubin"][:4] == b"\x7fELF", "no machine code"
        # Beside calls that are not inlined, which a kernel may ask for, products follow one another.
        serialized = [remark for remark in compiled.remarks if "wgmma-serialized" in remark and "Extern calls" not in remark]
        assert not serialized, serialized
        # A plan that its own verifier refuses is safe and slow.
        assert not [remark for remark in compiled.remarks if "[internal]" in remark], compiled.remarks
        check_resources(compiled, target)
        _done[key] = compiled
    return _done[key]
