# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of a launch by Triton's rules, in the form in which it keeps them for each device.

Libraries that compile a kernel before they launch it, perhaps in a child process, take it from
`kernel.device_caches[device]`. Launches themselves bind and classify in C++ (docs/launch.md).
"""

from __future__ import annotations

from ..backends.nvidia.compiler import make_backend
from ..compiler.compiler import target_of
from .driver import driver
from .specialization import native_specialize_impl


def binder_of(kernel, device):
    """(target, backend, binder) of a device; `binder` takes the arguments of a launch.

    A device that is no number, such as a `torch.device`, stands for the current one, as does -1.
    """
    numbered = isinstance(device, int) and device >= 0
    target = target_of(driver.active, device if numbered else None)
    backend = make_backend(target)

    def binder(*args, **kwargs):
        """The value of each parameter by its name, its (type, key), and the options of the call.

        Raises TypeError where the arguments do not fit the parameters.
        """
        names = {param.name for param in kernel.params}
        bound = kernel.signature.bind(*args, **{name: value for name, value in kwargs.items() if name in names})
        bound.apply_defaults()
        values = dict(bound.arguments)
        facts = [_facts(backend, param, values[param.name]) for param in kernel.params]
        return values, facts, {name: value for name, value in kwargs.items() if name not in names}

    return target, backend, binder


def _facts(backend, param, value):
    if param.is_constexpr:
        return "constexpr", value
    align = not param.do_not_specialize_on_alignment
    declared = param.annotation_type
    # Values of these types say nothing that code could be specialised on.
    if declared in ("u1", "i1") or declared[:2] in ("fp", "bf"):
        return declared, None
    kind, key = native_specialize_impl(backend, value, param.is_const, not param.do_not_specialize, align)
    return declared or kind, key
