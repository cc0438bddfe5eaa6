# ===- assemble.py - Compile a kernel for a target without a GPU -------------===#
#
# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What: from the arguments of a launch to the machine code for a target, through
# the public tilewright.compile. Equal launches are assembled once per session.
#
# ===----------------------------------------------------------------------===#
import numpy as np

from harness.devices import signature_type

OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion"}
_done: dict[tuple, object] = {}


def split_arguments(kernel, args, options):
    """Signature, constants and alignment of a launch, as the launcher sees them."""
    parameters = kernel.params
    bound = dict(zip([p.name for p in parameters], args))
    bound.update({name: value for name, value in options.items() if name not in OPTIONS})
    for parameter in parameters:
        if parameter.name not in bound and parameter.has_default:
            bound[parameter.name] = parameter.default
    signature, constants, aligned = {}, {}, {}
    for index, parameter in enumerate(parameters):
        value = bound[parameter.name]
        is_array = isinstance(value, np.ndarray)
        if parameter.is_constexpr or value is None or callable(value) or (value is not True and type(value) is int and value == 1):
            signature[parameter.name] = "constexpr"
            constants[(index,)] = value
            continue
        signature[parameter.name] = signature_type(value)
        if is_array or (type(value) is int and value % 16 == 0):
            aligned[(index,)] = [["tt.divisibility", 16]]
    return signature, constants, aligned


def assemble_for(kernel, target, args, options):
    """The compiled kernel for `target`; its cubin is there and not empty."""
    import tilewright
    from tilewright.backends.compiler import GPUTarget

    signature, constants, aligned = split_arguments(kernel, args, options)
    compile_options = {name: value for name, value in options.items() if name in OPTIONS}
    key = (kernel, target, repr(signature), repr(constants), repr(aligned), repr(compile_options))
    if key not in _done:
        source = tilewright.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
        arch = target.removeprefix("sm_")
        compiled = tilewright.compile(source, target=GPUTarget("cuda", int(arch.rstrip("a")), 32), options=compile_options)
        assert len(compiled.asm["cubin"]) > 0
        _done[key] = compiled
    return _done[key]
