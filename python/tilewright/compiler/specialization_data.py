# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The data about a specialisation that compile hooks get, also as JSON, and how that JSON is read."""

from __future__ import annotations

import importlib
import json
from collections import namedtuple

from .. import knobs
from ..language import dtype, str_to_ty
from ..language._values import unwrap
from ..runtime.interface import is_kernel

__all__ = ["call_hook", "constants_from_json", "specialization_json"]

_JitFunctionInfo = namedtuple("JitFunctionInfo", ["module", "name", "jit_function"])


def call_hook(name, request, device, warmup):
    """Calls a hook of `knobs.runtime` as Triton does: it gets a description as keywords."""
    src, options, key = request.src, request.options, request.key
    fn = src.fn
    # All options are there by their names, beside what the launch found out.
    description = {
        **options,
        "extern_libs": tuple((options["extern_libs"] or {}).items()),
        "key": key,
        "signature": dict(src.signature),
        "device": device,
        "constants": dict(src.constants),
        "configs": [dict(src.divisibility)],
        "specialization_data": specialization_json(fn, src, options),
        "is_warmup": warmup,
    }
    text = (
        f"{fn.__name__}[num_warps={options['num_warps']}, num_stages={options['num_stages']}]"
        f"({', '.join(f'{k}: {v}' for k, v in src.signature.items())})"
    )
    # By the Python function, which programs that make kernels name when the kernel is there already.
    info = _JitFunctionInfo(fn.fn.__module__, fn.fn.__qualname__, fn)
    return getattr(knobs.runtime, name)(
        key=str(key),
        repr=text,
        fn=info,
        compile=description,
        is_manual_warmup=warmup,
        already_compiled=name == "jit_post_compile_hook",
    )


def _constant_as_json(value):
    """A constant of a specialisation as something that JSON has, or None with False for what has no such form."""
    value = unwrap(value)
    if value is None or type(value) in (bool, int, float, str):
        return value, True
    if isinstance(value, dtype):
        return {"dtype": value.cache_key_part}, True
    if is_kernel(value):
        return {"jit_function": f"{value.fn.__module__}:{value.fn.__qualname__}"}, True
    if type(value) in (tuple, list):
        items = [_constant_as_json(item) for item in value]
        return {"tuple": [item for item, _ in items]}, all(known for _, known in items)
    return None, False


def _constant_from_json(value):
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dtype":
        return str_to_ty(content)
    if kind == "tuple":
        return tuple(map(_constant_from_json, content))
    module, _, path = content.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def constants_from_json(constants) -> dict:
    """The constants of a specialisation as `specialization_json` has written them."""
    return {name: _constant_from_json(value) for name, value in constants.items()}


def specialization_json(fn, src, options) -> str:
    constants = {name: _constant_as_json(value) for name, value in src.constants.items()}
    return json.dumps(
        {
            "name": fn.__name__,
            "signature": src.runtime_signature,
            "constants": {name: value for name, (value, known) in constants.items() if known},
            "complete": all(known for _, known in constants.values()),
            "attrs": src.divisibility,
            "options": {k: v for k, v in options.items() if isinstance(v, (bool, int, float, str))},
        }
    )
